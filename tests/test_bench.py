"""The benchmark: every evaluation recorded once, whatever happens to the runner, its workers and the methods."""

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
from pinnbo.bench import local, names, presets, provenance, runner, store
from pinnbo.bench.execute import execute, noise, resumed
from pinnbo.bench.records import Assignment, Evaluation, Finished, Run, Work

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
    """All that is recorded, times aside."""
    with store.opened(path) as records:
        return [row[:5] for row in records.rows()]


def collected(work):
    events = []
    execute(work, events.append)
    return events


def fresh(problem="dropwave-2", method="random", seed=0, initial=3, budget=6):
    return Work(Assignment(Run(problem, method, seed), initial, budget), [], [], "{}")


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


@pytest.mark.parametrize(
    ("look", "complaint"),
    [
        (lambda: names.contender("magic"), "expected a method of auto, .*, got 'magic'"),
        (
            lambda: names.contender("gp-ei:paper"),
            "expected variants of design, plain, each once, in 'gp-ei:paper'",
        ),
        (lambda: names.contender("auto:plain:design"), "in the order design, plain, got 'auto:plain:design'"),
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
    planned = presets.assignments(presets.PRESETS[name])
    assert len({a.run for a in planned}) == len(planned)
    for run, initial, budget in planned:
        assert initial < budget
        names.contender(run.method)
        assert names.problem(run.problem, run.seed).space.dim >= 1
    # whatever their budgets, all methods begin alike
    assert len({a.run.problem.split(":")[0] for a in planned}) == len(
        {(a.run.problem.split(":")[0], a.initial) for a in planned}
    )


def test_presets_are_complete():
    laptop = presets.assignments(presets.PRESETS["laptop"])
    assert {a.run.problem for a in laptop} >= {*problems.available(), *presets.PRINTED, *presets.SHIFTED_LOW}
    assert {a.run.seed for a in laptop} == {0, 1, 2}
    assert {a.run.method for a in laptop} >= {"auto", "pinn-bo", "random", "cma-es", "turbo", *presets.PAPER}
    paper = presets.assignments(presets.PRESETS["paper"])
    assert {a.budget for a in paper if a.run.problem == "rastrigin-20"} == {1000}
    assert {a.run.seed for a in paper} == set(range(10))


def test_a_preset_is_narrowed_and_extended():
    smoke = presets.PRESETS["smoke"]
    few = presets.assignments(smoke, ["beam-1"], ["random", "ntk"], seeds=3, budget=30, initial=4)
    assert [a.run for a in few] == [Run("beam-1", m, s) for s in range(3) for m in ("random", "ntk")]
    assert {a[1:] for a in few} == {(4, 30)}
    other = presets.assignments(smoke, ["heat-1"], ["random"], seeds=1)
    assert other == [Assignment(Run("heat-1", "random", 0), 5, 12)]


def test_what_a_preset_does_not_have_begins_like_the_rest():
    laptop = presets.PRESETS["laptop"]
    known = {a.run: a for a in presets.assignments(laptop)}
    added = presets.assignments(laptop, methods=["optuna-gp"])
    assert {a.run.problem for a in added} == set(problems.available())
    for run, initial, budget in added:
        alike = [a for a in known.values() if a.run.problem == run.problem]
        assert {a.initial for a in alike} == {initial}
        assert min(a.budget for a in alike) == budget
    # a method that it has stays where it is
    again = presets.assignments(laptop, methods=["pinn-bo"])
    assert again == [a for a in known.values() if a.run.method == "pinn-bo"]
    new = presets.assignments(laptop, problems=["heat-1:shifted"], seeds=1)
    assert {a.run.method for a in new} == {run.method for run in known}


# ---------------------------------------------------------------- one run


def test_the_common_points_and_the_common_noise():
    """All methods of a seed begin alike, see the same noise at the same n, and another seed begins elsewhere."""
    made = {m: collected(fresh(method=m)) for m in ("random", "cma-es", "optuna-tpe")}
    starts = {m: [e.x for e in events[:3]] for m, events in made.items()}
    assert starts["random"] == starts["cma-es"] == starts["optuna-tpe"]
    assert made["random"][4].x != made["cma-es"][4].x
    problem = problems.get("dropwave-2")
    for events in made.values():
        assert [type(e) for e in events] == [Evaluation] * 6 + [Finished]
        assert [e.n for e in events[:-1]] == [1, 2, 3, 4, 5, 6]
        assert events[-1] == Finished(events[0].run, None)
        for e in events[:-1]:
            assert e.truth == problem.truth(np.array(e.x))[0]
            assert e.y == e.truth + problem.noise * noise("dropwave-2", 0, e.n)
            assert e.ask_seconds > 0
            assert e.tell_seconds > 0
    assert collected(fresh(seed=1))[0].x != starts["random"][0]


def test_noise_is_standard_normal_and_the_same_for_another_pde():
    drawn = np.array([noise("beam-1", seed, n) for seed in range(20) for n in range(50)])
    assert abs(drawn.mean()) < 0.1
    assert abs(drawn.std() - 1.0) < 0.07
    assert len(set(drawn)) == 1000
    assert noise("rastrigin-20:printed", 1, 2) == noise("rastrigin-20", 1, 2)
    assert noise("heat-1", 1, 2) != noise("heat-2", 1, 2)


@pytest.mark.parametrize("method", ["random", "cma-es", "turbo", "pinn-bo:paper"])
def test_a_run_taken_up_again_is_the_run(method):
    """Through all that is stored of it; the last one has a state besides its measurements."""
    work = fresh("beam-1", method, initial=4, budget=12)
    whole = collected(work)
    half = whole[:11]
    again = work._replace(points=[e.x for e in half], values=[e.y for e in half], state=half[-1].state)
    (rest,) = collected(json_round_trip(again))[:-1]
    assert rest[:5] == whole[11][:5]
    assert (whole[-2].state != "{}") == (method == "pinn-bo:paper")
    assert len(resumed(again)[0].to_dict()["records"]) == 11


def json_round_trip(work):
    assignment, *rest = json.loads(json.dumps(work))
    return Work(Assignment(Run(*assignment[0]), *assignment[1:]), *rest)


# ---------------------------------------------------------------- records


BEAM = Run("beam-1", "random", 0)


def an_evaluation(n, run=BEAM, y=1.0):
    return Evaluation(run, n, [0.1 + 0.2, 1e-17], y, 0.5, 0.25, 0.125, json.dumps({"n": n}))


def test_records_come_back_bit_by_bit(tmp_path):
    path = tmp_path / "records.sqlite"
    with store.opened(path, create=True) as records:
        records.begin("now", "abc", "pinnbo bench run", {"python": "3"})
        for n in (1, 2):
            records.write(an_evaluation(n), 4)
        # a record that is there stays as it is
        records.write(an_evaluation(1, y=99.0), 4)
        records.write(Finished(Run("beam-1", "gp-ei", 3), "ValueError: no"), 4)
    with store.opened(path) as records:
        assert list(records.rows()) == [an_evaluation(n)._replace(state=None) for n in (1, 2)]
        work = records.load(Assignment(Run("beam-1", "random", 0), 4, 10))
        assert (work.points, work.values, work.state) == ([[0.1 + 0.2, 1e-17]] * 2, [1.0, 1.0], '{"n": 2}')
        assert records.load(Assignment(Run("beam-1", "random", 1), 4, 10)).values == []
        assert records.counts() == {Run("beam-1", "random", 0): 2}
        assert records.failures() == {Run("beam-1", "gp-ei", 3): "ValueError: no"}
        assert records.seconds() == {("beam-1", "random"): (0.75, 2)}
        assert records.sessions() == [store.Session("now", "abc", "pinnbo bench run", {"python": "3"}, 2)]
        with pytest.raises(
            ValueError, match="beam-1, random, seed 0 was recorded with 4 initial points, got 5"
        ):
            records.load(Assignment(Run("beam-1", "random", 0), 5, 10))
        records.forgive([Run("beam-1", "gp-ei", 3)])
        assert records.failures() == {}


def test_files_that_are_no_records(tmp_path):
    with pytest.raises(ValueError, match="there are no records in"), store.opened(tmp_path / "none"):
        pass
    (tmp_path / "text").write_text("not a database, but long enough to be looked at as one" * 20)
    with pytest.raises(ValueError, match="is not a file of records"), store.opened(tmp_path / "text"):
        pass
    with store.opened(tmp_path / "later", create=True) as records:
        records._connection.execute("PRAGMA user_version = 7")
    with pytest.raises(ValueError, match=r"expected records of version 1 in .*, got 7"):
        store.opened(tmp_path / "later").__enter__()


def test_a_second_runner_is_refused(tmp_path):
    path = tmp_path / "records.sqlite"
    with store.only_writer(path):
        second = store.only_writer(path)
        with pytest.raises(ValueError, match="another pinnbo bench run is writing"):
            second.__enter__()
    with store.only_writer(path):
        pass


def test_time_left(tmp_path):
    slow, quick = Run("beam-1", "gp-ei", 0), Run("beam-1", "random", 0)
    planned = [Assignment(slow, 2, 10), Assignment(quick, 2, 100), Assignment(quick._replace(seed=1), 2, 100)]
    with store.opened(tmp_path / "records.sqlite", create=True) as records:
        left = runner.Left(planned, records, workers=2)
        assert left.evaluations == 210
        assert left.text() == "time left unknown"
        left.made(an_evaluation(1, slow)._replace(ask_seconds=60.0, tell_seconds=0.0))
        left.made(an_evaluation(1, quick)._replace(ask_seconds=1.0, tell_seconds=0.0))
        assert left.seconds() == pytest.approx((9 * 60 + 199 * 1) / 2)
        assert left.text() == "about 6 min left"
        left.ended(slow)
        assert left.seconds() == pytest.approx(199 / 2)
        left.made(an_evaluation(1, quick)._replace(ask_seconds=1e5, tell_seconds=0.0))
        assert left.text().startswith("about 1375 h")


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
    try:
        with store.opened(path) as records:
            return sum(records.counts().values())
    except ValueError:
        return 0


def killed_at(path, process, count, pause):
    """Kill the runner, and nothing but the runner, some time after it has made as many records."""
    until = time.monotonic() + 300
    while recorded(path) < count and process.poll() is None:
        assert time.monotonic() < until
        time.sleep(0.05)
    time.sleep(pause)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    return process.returncode == -signal.SIGKILL


def check_kills(tmp_path, arguments, total, moments, rng):
    finished("run", *arguments, "--jobs", "2", "--records", "whole.sqlite", cwd=tmp_path)
    path, survived = tmp_path / "killed.sqlite", []
    for count in moments:
        process = bench("run", *arguments, "--jobs", "2", "--records", path.name, cwd=tmp_path)
        assert killed_at(path, process, count, rng.uniform(0.0, 0.2))
        survived.append(recorded(path))
    assert survived == sorted(survived)
    assert survived[-1] < total
    finished("run", *arguments, "--jobs", "2", "--records", path.name, cwd=tmp_path)
    assert len(rows(path)) == total
    assert rows(path) == rows(tmp_path / "whole.sqlite")


def test_a_killed_runner_goes_on_where_it_stopped(tmp_path, rng):
    arguments = [*QUICK, "--seeds", "1", "--budget", "40"]
    check_kills(tmp_path, arguments, 240, [20, 150], rng)


@pytest.mark.slow
def test_five_kills_at_random_moments(tmp_path, rng):
    """With models that are fitted, trust regions, and weights that are trained further and further."""
    chosen = ["random", "cma-es", "gp-logei", "turbo", "neural-bo", "pinn-bo:paper"]
    arguments = [
        "--problems",
        "beam-1",
        "--methods",
        *chosen,
        "--seeds",
        "2",
        "--budget",
        "24",
        "--initial",
        "6",
    ]
    moments = sorted(rng.integers(1, 250, 5).tolist())
    check_kills(tmp_path, arguments, 288, moments, rng)


def test_a_larger_budget_continues_the_runs(tmp_path):
    once = [*QUICK, "--seeds", "1", "--records", "records.sqlite"]
    finished("run", *once, "--budget", "6", cwd=tmp_path)
    before = rows(tmp_path / "records.sqlite")
    out, _ = finished("run", *once, "--budget", "6", cwd=tmp_path)
    assert "6 runs, 6 of them complete or failed" in out
    assert "0 evaluations recorded" in out
    finished("run", *once, "--budget", "9", cwd=tmp_path)
    after = rows(tmp_path / "records.sqlite")
    assert len(after) == 54
    assert [row for row in after if row[1] <= 6] == before
    with store.opened(tmp_path / "records.sqlite") as records:
        assert [session.evaluations for session in records.sessions()] == [36, 18]


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
    return {"PYTHONPATH": str(folder)}


def test_a_failure_costs_one_run_and_is_recorded(tmp_path, trouble):
    wanted = ["crash", "nan", "die", "random"]
    arguments = ["run", "--problems", "dropwave-2", "--methods", *wanted, "--seeds", "2", "--budget", "7"]
    arguments += ["--initial", "3", "--records", "records.sqlite", "--jobs", "2"]
    out, err = finished(*arguments, cwd=tmp_path, expect=1, **trouble)
    path = tmp_path / "records.sqlite"
    with store.opened(path) as records:
        counts, failures = records.counts(), records.failures()
    assert counts == {
        Run("dropwave-2", m, s): 4 if s == 0 and m != "random" else 7 for m in wanted for s in (0, 1)
    }
    assert failures == {
        Run("dropwave-2", "crash", 0): "OSError: out of luck",
        Run("dropwave-2", "die", 0): "the process ended with exit code -9",
        Run("dropwave-2", "nan", 0): "ValueError: dropwave-2: expected finite coordinates, got [nan, nan]",
    }
    assert "dropwave-2, crash, seed 0 failed: OSError: out of luck" in err
    assert "3 failed runs" in out
    # failed runs are left alone, unless they are asked for
    out, _ = finished(*arguments, cwd=tmp_path, **trouble)
    assert "0 evaluations recorded; 3 failed runs" in out
    finished(*arguments, "--retry", cwd=tmp_path, expect=1, **trouble)
    with store.opened(path) as records:
        assert (records.counts(), records.failures()) == (counts, failures)


def test_workers_end_with_their_caller():
    """One that has nobody to send to does not stay behind."""
    worker = local._hired(fresh(budget=100_000))
    assert isinstance(worker.connection.recv(), Evaluation)
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
            "run", *arguments, "--records", "far.sqlite", "--dask", cluster.scheduler_address, cwd=tmp_path
        )
    assert "42 evaluations recorded" in out
    finished("run", *arguments, "--records", "near.sqlite", cwd=tmp_path)
    assert rows(tmp_path / "far.sqlite") == rows(tmp_path / "near.sqlite")


@pytest.mark.parametrize(
    ("library", "arguments"), [("threadpoolctl", []), ("distributed", ["--dask", "tcp://127.0.0.1:1"])]
)
def test_a_missing_library_is_one_sentence(library, arguments, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, library, None)
    monkeypatch.chdir(tmp_path)
    assert cli.main(["bench", "run", "--problems", "beam-1", "--methods", "random", *arguments]) == 1
    _, err = capsys.readouterr()
    assert err.endswith(f"needs {library}, which is not installed: pip install 'pinnbo[bench]'\n")
    assert err.count("\n") == 1


def test_no_cluster_is_one_sentence(tmp_path):
    _, err = finished("run", "--dask", "tcp://127.0.0.1:1", cwd=tmp_path, expect=2)
    assert "no Dask scheduler answers at 'tcp://127.0.0.1:1'" in err
    assert err.count("\n") == 1


def test_a_run_leaves_the_environment_of_its_caller_alone():
    """What it sets would reach every process that is started later: sums of other numbers of threads differ."""
    threads = ("XLA_FLAGS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    before = {name: os.environ.get(name) for name in threads}
    collected(fresh(method="random"))
    assert {name: os.environ.get(name) for name in threads} == before


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
