"""The benchmark: every case recorded once, whatever happens to the runner, its workers and the methods."""

import functools
import json
import os
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

from pinnbo import cli, problems
from pinnbo.bench import local, names, presets, provenance, records, runner
from pinnbo.bench.records import Record
from pinnbo.bench.runner import Outcome
from pinnbo.bench.search import case, search

ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def bench(*arguments, cwd, **environment):
    return subprocess.Popen(
        [sys.executable, "-m", "pinnbo.cli", "bench", *arguments],
        cwd=cwd,
        env={**os.environ, **ONE_THREAD, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finished(*arguments, cwd, expect=0, **environment):
    process = bench(*arguments, cwd=cwd, **environment)
    out, err = process.communicate(timeout=600)
    assert process.returncode == expect, err
    return out, err


def rows(path):
    """All that is recorded, times aside, by case."""
    found = {}
    for record in records.read(path):
        result = {name: value for name, value in (record.result or {}).items() if name != "seconds"}
        found[records.key(record.case)] = (result, record.error)
    return found


# ---------------------------------------------------------------- names and presets


def test_variants_of_problems():
    plain = names.problem("rastrigin-3", 0)
    printed = names.problem("rastrigin-3:printed", 0)
    x = plain.space.sobol(5, 0)
    np.testing.assert_array_equal(plain.truth(x), printed.truth(x))
    assert plain.pde.fingerprint(plain.space) != printed.pde.fingerprint(plain.space)
    quiet = names.problem("rastrigin-3:noise=0.01", 0)
    assert quiet.noise == pytest.approx(0.01 * plain.range)
    assert plain.noise == problems.get("rastrigin-3").noise
    boxes = [names.problem("rastrigin-3:shifted", seed).space for seed in (0, 0, 1)]
    assert boxes[0] == boxes[1] != boxes[2]
    np.testing.assert_allclose(boxes[0].upper - boxes[0].lower, plain.space.upper - plain.space.lower)
    inside = names.problem("beam-1:shifted", 4).space
    assert inside.lower[0] > 0.0
    assert inside.upper[0] < 1.0
    together = names.problem("rastrigin-3:printed:shifted:noise=0.02", 1)
    assert together.space == boxes[2]
    assert together.noise == pytest.approx(0.02 * together.range)


def test_variants_of_methods():
    assert names.contender("gp-ei") == (names.contender("gp-ei").settings, True, True)
    assert names.contender("auto").common_start is False
    assert names.contender("auto:design")[1:] == (True, True)
    assert names.contender("auto:plain")[1:] == (False, True)
    assert names.contender("pinn-bo:paper").settings.rule == "sgd"
    assert names.contender("pinn-bo").settings.rule == "adam"
    changed = names.contender("turbo:plain:length=0.5:candidates=7")
    assert (changed.settings.length, changed.settings.candidates, changed.physics) == (0.5, 7, False)


def test_problems_of_a_script():
    names.add({"beam, again": lambda seed: problems.get("beam-1")})
    found = names.problem("beam, again:shifted:noise=0.5", 3)
    assert found.noise == pytest.approx(0.5 * found.range)
    assert found.space == names.problem("beam-1:shifted", 3).space
    with pytest.raises(ValueError, match="expected variants of shifted"):
        names.problem("beam, again:printed", 3)


def test_the_papers_noise_is_that_of_the_box():
    shifted = names.problem("rastrigin-3:shifted", 0)
    assert shifted.noise == pytest.approx(np.sqrt(0.01 * shifted.range))


@pytest.mark.parametrize(
    ("look", "complaint"),
    [
        (lambda: names.contender("magic"), "expected a method of auto, .*, got 'magic'"),
        (
            lambda: names.contender("gp-ei:paper"),
            "expected variants of design, plain, each once, in 'gp-ei:paper'",
        ),
        (lambda: names.contender("auto:plain:design"), "in the order design, plain, got 'auto:plain:design'"),
        (lambda: names.contender("turbo:size=3"), "expected settings of turbo in 'turbo:size=3'"),
        (lambda: names.contender("turbo:length=9.5"), "turbo: length must lie between"),
        (
            lambda: names.problem("beam-1:upside-down", 0),
            "variants of printed, shifted, each once, in 'beam-1",
        ),
        (lambda: names.problem("beam-1:shifted:shifted", 0), "each once"),
        (lambda: names.problem("beam-1:noise=loud", 0), "expected a noise from 0 to 1, such as noise=0.01"),
        (lambda: names.problem("beam-1:noise=1.5", 0), "expected a noise from 0 to 1, such as noise=0.01"),
        (lambda: names.problem("chess-8", 0), "unknown problem 'chess-8'"),
    ],
)
def test_names_that_make_no_sense(look, complaint):
    with pytest.raises(ValueError, match=complaint):
        look()


@pytest.mark.parametrize("name", presets.PRESETS)
def test_presets_name_what_there_is(name):
    planned = presets.cases(presets.PRESETS[name])
    assert len({(c["problem"], c["method"], c["seed"]) for c in planned}) == len(planned)
    for c in planned:
        assert c["initial"] < c["n"]
        names.contender(c["method"])
        assert names.problem(c["problem"], c["seed"]).space.dim >= 1
    # whatever their budgets, all methods begin alike
    families = {(c["problem"].split(":")[0], c["initial"]) for c in planned}
    assert len({family for family, _ in families}) == len(families)


def test_presets_are_complete():
    laptop = presets.cases(presets.PRESETS["laptop"])
    wanted = {*problems.available(), *presets.PRINTED, *presets.SHIFTED_LOW}
    assert {c["problem"] for c in laptop} >= wanted
    assert {c["seed"] for c in laptop} == {0, 1, 2}
    assert {c["method"] for c in laptop} >= {"auto", "pinn-bo", "random", "cma-es", "turbo", *presets.PAPER}
    paper = presets.cases(presets.PRESETS["paper"])
    assert {c["n"] for c in paper if c["problem"] == "rastrigin-20"} == {1000}
    assert {c["seed"] for c in paper} == set(range(10))


def test_a_preset_is_narrowed_and_extended():
    smoke = presets.PRESETS["smoke"]
    few = presets.cases(smoke, ["beam-1"], ["random", "ntk"], seeds=3, budget=30, initial=4)
    assert few == [case("beam-1", m, s, 30, 4) for s in range(3) for m in ("random", "ntk")]
    other = presets.cases(smoke, ["heat-1"], ["random"], seeds=1)
    assert other == [case("heat-1", "random", 0, 12, 5)]


def test_what_a_preset_does_not_have_begins_like_the_rest():
    laptop = presets.PRESETS["laptop"]
    known = presets.cases(laptop)
    added = presets.cases(laptop, methods=["optuna-gp"])
    assert {c["problem"] for c in added} == set(problems.available())
    for new in added:
        alike = [c for c in known if c["problem"] == new["problem"]]
        assert {c["initial"] for c in alike} == {new["initial"]}
        assert min(c["n"] for c in alike) == new["n"]
    # a method that it has stays where it is
    assert presets.cases(laptop, methods=["pinn-bo"]) == [c for c in known if c["method"] == "pinn-bo"]
    new = presets.cases(laptop, problems=["heat-1:shifted"], seeds=1)
    assert {c["method"] for c in new} == {c["method"] for c in known}


# ---------------------------------------------------------------- one run


def test_the_common_points_and_the_common_noise(monkeypatch):
    """All methods of a seed begin alike and see the same noise at the same n; another seed begins elsewhere."""
    problem = names.problem("dropwave-2", 0)
    noises, observe = {}, type(problem).observe

    def watched(self, x, rng):
        y = observe(self, x, rng)
        noises.setdefault(method, []).append(y - self.truth(x)[0])
        return y

    monkeypatch.setattr(type(problem), "observe", watched)
    points = {}
    for method in ("random", "cma-es", "optuna-tpe"):
        points[method] = search(case("dropwave-2", method, 0, 6, 3))["points"]
    assert points["random"][:3] == points["cma-es"][:3] == points["optuna-tpe"][:3]
    assert points["random"][4] != points["cma-es"][4]
    np.testing.assert_allclose(noises["random"], noises["cma-es"])
    expected = problem.noise * np.random.default_rng([0, 99]).standard_normal(6)
    np.testing.assert_allclose(noises["random"], expected)
    assert search(case("dropwave-2", "random", 1, 1, 3))["points"][0] != points["random"][0]


def test_what_is_recorded_of_a_search():
    found = search(case("dropwave-2:noise=0.01", "gp-logei", 0, 6, 4))
    problem = problems.get("dropwave-2")
    truth = problem.truth(found["points"])
    np.testing.assert_allclose(found["regret"], (truth - problem.optimum) / problem.range)
    assert found["recommended"] == {"6": pytest.approx(min(found["regret"]), abs=0.05)}
    assert 0.0 <= found["coverage"] <= 1.0
    assert found["trust"] == {}
    assert len(found["seconds"]) == 6
    assert min(found["seconds"]) > 0
    assert "points" not in search(case("rastrigin-3", "random", 0, 2))
    assert json.loads(json.dumps(found)) == found


def test_auto_is_followed_and_does_not_notice():
    """Recommendation and trust after every evaluation; the suggestions are those of a run that nobody watches."""
    from pinnbo import Optimizer

    found = search(case("beam-1:noise=0.01", "auto", 2, 3))
    assert list(found["recommended"]) == list(found["trust"]) == ["1", "2", "3"]
    problem, rng = names.problem("beam-1:noise=0.01", 2), np.random.default_rng([2, 99])
    alone = Optimizer(problem.space, problem.pde, goal=problem.goal, seed=2, noise=problem.noise)
    for expected in found["points"]:
        x = alone.ask()
        assert x.tolist() == expected
        alone.tell(x, problem.observe(x, rng))
    best = alone.best.x
    assert found["recommended"]["3"] == abs(problem.truth(best)[0] - problem.optimum) / problem.range
    assert found["trust"]["3"] == alone.diagnostics()["trust"]


def test_warnings_are_recorded_with_their_evaluation(monkeypatch):
    import warnings

    problem = type(names.problem("beam-1", 0))
    observe, calls = problem.observe, []

    def loud(self, x, rng):
        calls.append(x)
        if len(calls) >= 3:
            warnings.warn("it smokes", stacklevel=1)
        return observe(self, x, rng)

    monkeypatch.setattr(problem, "observe", loud)
    assert search(case("beam-1", "random", 0, 5))["warnings"] == [[3, "UserWarning: it smokes"]]


# ---------------------------------------------------------------- records


def a_record(seed=0, error=None):
    result = None if error else {"regret": [0.1 + 0.2, 1e-17]}
    return Record(case("beam-1", "random", seed, 2), result, error, 0.25, "abc", "python 3")


def test_records_come_back_bit_by_bit_and_the_later_one_counts(tmp_path):
    path = tmp_path / "records.jsonl"
    for record in (a_record(0), a_record(1, "ValueError: no"), a_record(2), a_record(1)):
        records.append(path, record)
    assert records.read(path) == [a_record(0), a_record(1), a_record(2)]
    with path.open("a") as file:
        file.write('{"case": {"problem": "cut sh')
    assert records.read(path) == [a_record(0), a_record(1), a_record(2)]
    records.append(path, a_record(3))
    assert records.read(path) == [a_record(0), a_record(1), a_record(2), a_record(3)]


def test_files_that_are_no_records(tmp_path):
    with pytest.raises(ValueError, match="there are no records in"):
        records.read(tmp_path / "none")
    for text in (b"not a record", b"SQLite format 3\x00\x82", b"[1]", b'{"case": {}}'):
        (tmp_path / "text").write_bytes(text + b"\n")
        with pytest.raises(ValueError, match=r"expected a JSON object with the keys case, .* in line 1 of"):
            records.read(tmp_path / "text")


def test_a_second_runner_is_refused(tmp_path):
    path = tmp_path / "records.jsonl"
    with records.only_writer(path):
        second = records.only_writer(path)
        with pytest.raises(ValueError, match="another runner is writing"):
            second.__enter__()
    with records.only_writer(path):
        pass


# ---------------------------------------------------------------- the runner


def halved(case):
    if case["seed"] == 1:
        raise OSError("odd")
    return {"half": case["seed"] / 2}


@pytest.mark.parametrize("backend", [runner.here, functools.partial(local.outcomes, jobs=2)])
def test_what_is_missing_is_computed_once(tmp_path, backend, capsys):
    path, cases = tmp_path / "records.jsonl", [{"seed": seed} for seed in range(4)]
    made = runner.complete(path, cases[:3], halved, backend)
    assert {r.case["seed"]: (r.result, r.error) for r in made} == {
        0: ({"half": 0.0}, None),
        1: (None, "OSError: odd"),
        2: ({"half": 1.0}, None),
    }
    assert {r.commit for r in made} == {provenance.commit()}
    assert all("numpy" in r.versions for r in made)
    assert "seed 1 failed: OSError: odd" in capsys.readouterr().err
    assert [r.case for r in runner.complete(path, cases, halved, backend)] == [{"seed": 3}]
    # a failure stays, unless it is asked for
    assert runner.complete(path, cases, halved, backend) == []
    assert [r.case for r in runner.complete(path, cases, halved, backend, retry=True)] == [{"seed": 1}]
    assert len(records.read(path)) == 4


# ---------------------------------------------------------------- the runner, killed

QUICK = [
    "--problems",
    "dropwave-2",
    "beam-1",
    "--methods",
    "random",
    "cma-es",
    "optuna-tpe",
    "--initial",
    "3",
]


def recorded(path):
    return len(records.read(path)) if path.exists() else 0


def killed_at(path, process, count, pause):
    """Kill the runner, and nothing but the runner, some time after it has made as many records."""
    until = time.monotonic() + 300
    while recorded(path) < count and process.poll() is None:
        assert time.monotonic() < until
        time.sleep(0.02)
    time.sleep(pause)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    return process.returncode == -signal.SIGKILL


def check_kills(tmp_path, arguments, total, moments, rng):
    finished("run", *arguments, "--jobs", "2", "--records", "whole.jsonl", cwd=tmp_path)
    path, survived = tmp_path / "killed.jsonl", []
    for count in moments:
        process = bench("run", *arguments, "--jobs", "2", "--records", path.name, cwd=tmp_path)
        assert killed_at(path, process, count, rng.uniform(0.0, 0.05))
        survived.append(recorded(path))
    assert survived == sorted(survived)
    assert survived[-1] < total
    finished("run", *arguments, "--jobs", "2", "--records", path.name, cwd=tmp_path)
    assert len(rows(path)) == len(path.read_text().splitlines()) == total
    assert rows(path) == rows(tmp_path / "whole.jsonl")


def test_a_killed_runner_goes_on_where_it_stopped(tmp_path, rng):
    arguments = [*QUICK, "--seeds", "3", "--budget", "60"]
    check_kills(tmp_path, arguments, 18, [6], rng)


@pytest.mark.slow
def test_five_kills_at_random_moments(tmp_path, rng):
    """With models that are fitted, trust regions, and weights that are trained further and further."""
    chosen = ["random", "cma-es", "gp-logei", "turbo", "neural-bo", "pinn-bo:paper"]
    arguments = ["--problems", "beam-1", "--methods", *chosen, "--seeds", "3", "--budget", "12"]
    moments = sorted(rng.integers(1, 16, 5).tolist())
    check_kills(tmp_path, [*arguments, "--initial", "6"], 18, moments, rng)


# ---------------------------------------------------------------- methods and workers that fail

TROUBLE = """
    import math, os, signal
    from dataclasses import dataclass
    from typing import ClassVar

    import numpy as np
    from pinnbo import methods
    from pinnbo.methods.base import Method
    from pinnbo.methods.random_search import _RandomEngine


    class Engine(_RandomEngine):
        def __init__(self, task, act):
            super().__init__(task)
            self.act = act

        def suggest(self, data, pending, n, index):
            if self._task.seed == 0 and len(data.values) == 4:
                return self.act()
            return super().suggest(data, pending, n, index)


    def crash():
        raise OSError("out of luck")


    @dataclass(frozen=True)
    class Crash(Method):
        name: ClassVar[str] = "crash"

        def start(self, task):
            return Engine(task, crash)


    @dataclass(frozen=True)
    class Nan(Method):
        name: ClassVar[str] = "nan"

        def start(self, task):
            return Engine(task, lambda: np.full((1, task.space.dim), math.nan))


    @dataclass(frozen=True)
    class Die(Method):
        name: ClassVar[str] = "die"

        def start(self, task):
            return Engine(task, lambda: os.kill(os.getpid(), signal.SIGKILL))


    for kind in (Crash, Nan, Die):
        methods._HOME[kind.name] = ("sitecustomize", kind.__name__)
"""


@pytest.fixture
def trouble(tmp_path):
    """An environment in which every process knows three methods that fail with seed 0 at the fifth evaluation."""
    folder = tmp_path / "trouble"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(textwrap.dedent(TROUBLE))
    return {"PYTHONPATH": os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])}


def test_a_failure_costs_one_run_and_is_recorded(tmp_path, trouble):
    wanted = ["crash", "nan", "die", "random"]
    arguments = ["run", "--problems", "dropwave-2", "--methods", *wanted, "--seeds", "2", "--budget", "7"]
    arguments += ["--initial", "3", "--records", "records.jsonl", "--jobs", "2"]
    out, err = finished(*arguments, cwd=tmp_path, expect=1, **trouble)
    found = {(r.case["method"], r.case["seed"]): r for r in records.read(tmp_path / "records.jsonl")}
    assert {name: r.error for name, r in found.items() if r.error} == {
        ("crash", 0): "OSError: out of luck",
        ("die", 0): "the process ended with exit code -9",
        ("nan", 0): "ValueError: dropwave-2: expected finite coordinates, got [nan, nan]",
    }
    assert len(found) == 8
    assert all(len(r.result["regret"]) == 7 for r in found.values() if r.result)
    assert "method crash, seed 0, initial 3, n 7 failed: OSError: out of luck" in err
    assert "5 runs recorded, 3 failed" in out
    # failed runs are left alone, unless they are asked for
    out, _ = finished(*arguments, cwd=tmp_path, **trouble)
    assert "0 runs recorded, 0 failed" in out
    out, _ = finished(*arguments, "--retry", cwd=tmp_path, expect=1, **trouble)
    assert "0 runs recorded, 3 failed" in out


def endless(case):
    time.sleep(1.0)
    return {}


def test_workers_end_with_their_caller():
    """One that has nobody to send to does not stay behind."""
    worker = local._hired(endless, {"seed": 0})
    assert isinstance(worker.connection.recv(), Outcome)
    worker.connection.send({"seed": 1})
    worker.connection.close()
    worker.process.join(30)
    assert worker.process.exitcode == 0


# ---------------------------------------------------------------- a cluster


def test_a_cluster_gives_the_same_records(tmp_path, monkeypatch):
    """A scheduler and workers in processes of their own, two of them, over TCP."""
    distributed = pytest.importorskip("distributed")
    for name, value in ONE_THREAD.items():
        monkeypatch.setenv(name, value)
    arguments = ["--problems", "dropwave-2", "--methods", "random", "cma-es"]
    arguments += ["--seeds", "3", "--budget", "7", "--initial", "4"]
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=2, processes=True, dashboard_address=None, protocol="tcp"
    ) as cluster:
        out, _ = finished(
            "run", *arguments, "--records", "far.jsonl", "--dask", cluster.scheduler_address, cwd=tmp_path
        )
    assert "6 runs recorded" in out
    finished("run", *arguments, "--records", "near.jsonl", cwd=tmp_path)
    assert rows(tmp_path / "far.jsonl") == rows(tmp_path / "near.jsonl")


def test_a_missing_library_is_one_sentence(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "distributed", None)
    monkeypatch.chdir(tmp_path)
    asked = ["--problems", "beam-1", "--methods", "random", "--dask", "tcp://127.0.0.1:1"]
    assert cli.main(["bench", "run", *asked]) == 1
    _, err = capsys.readouterr()
    assert err.endswith("needs distributed, which is not installed: pip install 'pinnbo[bench]'\n")
    assert err.count("\n") == 1


def test_no_cluster_is_one_sentence(tmp_path):
    _, err = finished("run", "--dask", "tcp://127.0.0.1:1", cwd=tmp_path, expect=2)
    assert "no Dask scheduler answers at 'tcp://127.0.0.1:1'" in err
    assert err.count("\n") == 1


def test_a_run_leaves_the_environment_of_its_caller_alone():
    """What it sets would reach every process that is started later: sums of other numbers of threads differ."""
    before = {name: os.environ.get(name) for name in runner.ONE_THREAD}
    runner.attempt(search, case("dropwave-2", "random", 0, 3))
    assert {name: os.environ.get(name) for name in runner.ONE_THREAD} == before


def test_a_commit_is_marked_when_code_differs_from_it_and_not_when_pages_or_records_do(tmp_path):
    def git(*arguments):
        name = ["-c", "user.name=someone", "-c", "user.email=someone@example.org"]
        subprocess.run(["git", *name, *arguments], cwd=tmp_path, check=True, capture_output=True)

    assert provenance.commit(tmp_path) == "unknown"
    git("init")
    (tmp_path / "docs").mkdir()
    (tmp_path / "benchmarks" / "records").mkdir(parents=True)
    written = ("docs/page.md", "benchmarks/records/runs.jsonl")
    for file in ("code.py", *written):
        (tmp_path / file).write_text("one")
    git("add", ".")
    git("commit", "-m", "first")
    clean = provenance.commit(tmp_path)
    assert len(clean) == 7
    for file in written:
        (tmp_path / file).write_text("two")
    assert provenance.commit(tmp_path / "docs") == clean
    (tmp_path / "code.py").write_text("two")
    assert provenance.commit(tmp_path / "docs") == f"{clean}, with changes"
