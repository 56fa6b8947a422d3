"""Is a suggestion of `auto` quick enough? Beside BoTorch (GP + LogEI) and Optuna's GP sampler, in one run.

    python benchmarks/speed.py                              # writes docs/benchmarks/speed.md
    python benchmarks/speed.py --quick                      # a few minutes, prints only; after each change
    python benchmarks/speed.py --quick --rows beam-1 burgers

Only ratios are kept: the methods take turns in one process, in another order each time. A step tells one new
measurement at a random point and asks for the next suggestion. The first step of each compiles and imports, and is left
out. Every method has one thread and what counts is the time of the processor: on the clock, PyTorch's two threads take
ten times as long on two processors that have other work to do, and the ratio would say nothing.
"""

import argparse
import dataclasses
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import fields
import numpy as np
from peers import Auto, BoTorch, OptunaGP

from pinnbo import PDE, Space, problems
from pinnbo.bench.provenance import commit
from pinnbo.bench.runner import ONE_THREAD
from pinnbo.operators import laplacian
from pinnbo.problems import Problem

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "benchmarks" / "speed.md"
SHARE = 0.01  # noise, of the range


class Row(NamedTuple):
    """A problem after n measurements, and how many times quicker than BoTorch a step is to be."""

    problem: str
    n: int
    required: float

    def __str__(self) -> str:
        return f"{self.problem}, n = {self.n}"


ROWS = (
    Row("heat-1", 25, 2),
    Row("heat-1", 100, 2),
    Row("dropwave-2", 25, 2),
    Row("beam-1", 15, 2),
    Row("burgers", 15, 1),
    Row("styblinski-tang-10", 50, 2),
    Row("rastrigin-20", 100, 10),
)
SEARCHES = ("heat-1", "dropwave-2", "burgers")
SEARCH_LENGTH, SEARCH_START = 25, 5
LARGEST = 2.0  # a single suggestion after the first, in medians of BoTorch
MANY = (1_000, 10_000, 100_000)
FLAT = 1.5  # the last of these in units of the first, that is: no growth beyond the scatter of a median
TRIALS = 1_000  # in the storage of the sampler

Times = dict[str, list[float]]


def problem_of(name: str) -> Problem:
    known = fields.TRUE | fields.NONLINEAR
    problem = known[name](0) if name in known else problems.get(name)
    return dataclasses.replace(problem, noise=SHARE * problem.range)


def measured(problem: Problem, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Random points of the box, with noise."""
    points = rng.uniform(problem.space.lower, problem.space.upper, (n, problem.space.dim))
    return points, problem.truth(points) + problem.noise * rng.standard_normal(n)


def contestants(problem: Problem) -> dict:
    box = problem.space.lower, problem.space.upper
    return {
        "auto": Auto(problem.space, problem.pde, problem.goal, problem.noise),
        "BoTorch": BoTorch(*box, problem.goal),
        "Optuna": OptunaGP(*box, problem.goal),
    }


def clocked(action: Callable) -> tuple[float, object]:
    """Seconds of the processor, and what the action returned."""
    begin = time.process_time()
    outcome = action()
    return time.process_time() - begin, outcome


def stepped(peer, points: np.ndarray, values: np.ndarray) -> float:
    """Seconds of a tell and the ask after it; the suggestion is not kept."""

    def step():
        peer.tell(points, values)
        return peer.ask()

    seconds, x = clocked(step)
    peer.withdraw(x)
    return seconds


def turns(peers: dict, draw: Callable[[int], tuple], n: int, repeats: int) -> Times:
    """Seconds of every step, the first left out; all are told the same."""
    told = draw(n)
    for peer in peers.values():
        peer.tell(*told)
    times: Times = {name: [] for name in peers}
    for repeat in range(repeats + 1):
        new = draw(1)
        names = list(peers)
        for name in names[repeat % len(names) :] + names[: repeat % len(names)]:
            times[name].append(stepped(peers[name], *new))
    return {name: seconds[1:] for name, seconds in times.items()}


def row(case: Row, repeats: int) -> Times:
    problem, rng = problem_of(case.problem), np.random.default_rng([case.n, 61])
    return turns(contestants(problem), lambda n: measured(problem, n, rng), case.n, repeats)


def search(name: str) -> Times:
    """Every suggestion of a search that each makes for itself. BoTorch and Optuna need measurements to begin with."""
    problem, rng = problem_of(name), np.random.default_rng(62)
    peers = contestants(problem)
    start = measured(problem, SEARCH_START, rng)
    for other in ("BoTorch", "Optuna"):
        peers[other].tell(*start)
    times: Times = {other: [] for other in peers}
    for n in range(SEARCH_LENGTH):
        for other, peer in peers.items():
            if n < SEARCH_START and other != "auto":
                continue
            asking, x = clocked(peer.ask)
            peer.withdraw(x)
            y = problem.truth(x) + problem.noise * rng.standard_normal(1)
            telling, _ = clocked(lambda peer=peer, x=x, y=y: peer.tell(np.array([x]), y))
            times[other].append(asking + telling)
    return {other: seconds[1:] for other, seconds in times.items()}


def starts(repeats: int) -> dict[str, Times]:
    """Seconds of a process that makes its first suggestion, with caches on disk and without."""
    problem, rng = problem_of("heat-1"), np.random.default_rng(63)
    points, values = measured(problem, 25, rng)
    told = {
        "lower": problem.space.lower.tolist(),
        "upper": problem.space.upper.tolist(),
        "points": points.tolist(),
        "values": values.tolist(),
        "noise": problem.noise,
    }
    times: dict[str, Times] = {kind: {"auto": [], "BoTorch": []} for kind in ("warm", "cold")}
    with tempfile.TemporaryDirectory() as kept:
        for repeat in range(repeats + 1):
            for name in ("auto", "BoTorch"):
                seconds = started(name, told, kept)
                if repeat:  # the first fills the cache
                    times["warm"][name].append(seconds)
                    with tempfile.TemporaryDirectory() as empty:
                        times["cold"][name].append(started(name, told, empty))
    return times


def started(name: str, told: dict, cache: str) -> float:
    """Seconds of the processor until a process has its first suggestion; what it keeps on disk goes to the folder."""
    # a cache of its own, and not the level of messages that JAX has set here
    ours = {
        key: value
        for key, value in os.environ.items()
        if "COMPILATION_CACHE" not in key and key != "TF_CPP_MIN_LOG_LEVEL"
    }
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("peers.py")), name],
        input=json.dumps(told),
        stdout=subprocess.PIPE,
        text=True,
        env={**ours, "XDG_CACHE_HOME": cache},
        check=True,
    )
    if done.stdout != "suggested\n":
        raise RuntimeError(f"speed: {name} made no suggestion in a process of its own")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def many(repeats: int) -> Times:
    """Seconds of a step with more and more measurements."""
    problem, times = problem_of("rastrigin-20"), {}
    for n in MANY:
        rng = np.random.default_rng([n, 64])
        peers = {"auto": Auto(problem.space, problem.pde, problem.goal, problem.noise)}
        times[str(n)] = turns(peers, lambda n, rng=rng: measured(problem, n, rng), n, repeats)["auto"]
    return times


def sampler(repeats: int) -> Times:
    """`PINNSampler` with a file as storage beside the plain optimizer."""
    import optuna

    from pinnbo.optuna import PINNSampler

    space = Space(x0=(0.0, 3.0))
    pde = PDE(lambda f: lambda x: laplacian(f)(x) + 4.0 * f(x), name="Helmholtz")
    rng = np.random.default_rng(65)

    def draw(n: int) -> tuple[np.ndarray, np.ndarray]:
        points = rng.uniform(0.0, 3.0, (n, 1))
        return points, np.cos(2.0 * points[:, 0] + 0.5) + SHARE * rng.standard_normal(n)

    with tempfile.TemporaryDirectory() as folder:
        storage = optuna.storages.RDBStorage(f"sqlite:///{folder}/study.db")
        ours = PINNSampler(space, pde, seed=0, noise=SHARE)
        peers = {
            "sampler": OptunaGP(space.lower, space.upper, "minimize", ours, storage),
            "optimizer": Auto(space, pde, "minimize", SHARE),
        }
        times = turns(peers, draw, TRIALS, repeats)
        storage.engine.dispose()
    return times


class Page:
    """A table of ratios with what is required of them, printed as it grows."""

    def __init__(self) -> None:
        self.lines = ["| | measured | required | holds |", "|---|---|---|---|"]
        self.show(*self.lines)

    def show(self, *lines: str) -> None:
        for line in lines:
            print(line, flush=True)

    def ratio(self, what: str, value: float, bound: float, at_least: bool, scatter: str = "") -> None:
        holds = value >= bound if at_least else value <= bound
        sign = "at least" if at_least else "at most"
        line = f"| {what} | {value:.2f}{scatter} | {sign} {bound:g} | {'yes' if holds else '**no**'} |"
        self.lines.append(line)
        self.show(line)


def quicker(page: Page, what: str, times: Times, required: float | None) -> None:
    """The ratios of a run of steps."""
    middle = {name: statistics.median(seconds) for name, seconds in times.items()}
    if required is not None:
        for other, bound in (("BoTorch", required), ("Optuna", 1.0)):
            each = [b / a for a, b in zip(times["auto"], times[other], strict=True)]
            scatter = f" ({min(each):.2f} to {max(each):.2f})"
            page.ratio(f"{what}: {other} / `auto`", middle[other] / middle["auto"], bound, True, scatter)
    page.ratio(
        f"{what}: largest of `auto` / BoTorch's median",
        max(times["auto"]) / middle["BoTorch"],
        LARGEST,
        False,
    )


def measure(arguments: argparse.Namespace) -> Page:
    page, repeats = Page(), 3 if arguments.quick else 7
    for case in ROWS:
        if not arguments.rows or case.problem in arguments.rows:
            quicker(page, str(case), row(case, repeats), case.required)
    if arguments.quick and arguments.rows:
        return page
    for name in SEARCHES[:1] if arguments.quick else SEARCHES:
        quicker(page, f"{name}, a search of {SEARCH_LENGTH}", search(name), None)
    for (kind, times), bound in zip(starts(1 if arguments.quick else 3).items(), (1.0, 2.0), strict=True):
        mine, its = (statistics.median(times[name]) for name in ("auto", "BoTorch"))
        page.ratio(
            f"process start to first suggestion, {kind} cache: `auto` / BoTorch", mine / its, bound, False
        )
    grown = {n: statistics.median(seconds) for n, seconds in many(3).items()}
    first, last = str(MANY[0]), str(MANY[-1])
    page.ratio(
        f"rastrigin-20, {MANY[-1]:,} measurements / {MANY[0]:,}", grown[last] / grown[first], FLAT, False
    )
    if not arguments.quick:
        times = sampler(repeats)
        mine, plain = (statistics.median(times[name]) for name in ("sampler", "optimizer"))
        page.ratio(
            f"`PINNSampler`, SQLite, {TRIALS:,} trials / plain `ask` and `tell`", mine / plain, 2.0, False
        )
    return page


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--rows", nargs="+", choices=sorted({case.problem for case in ROWS}))
    arguments = parser.parse_args()
    if any(os.environ.get(name) != value for name, value in ONE_THREAD.items()):
        # libraries read these when they are loaded
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **ONE_THREAD})
    warnings.filterwarnings("ignore")
    page = measure(arguments)
    if arguments.quick or arguments.rows:
        return
    text = f"""# Time of a suggestion

Ratios of times in one run, the methods taking turns in one process with one thread each: time of the processor, which
on a quiet machine is that on the clock and on a busy one does not depend on what else it does.

A step is a `tell` of one new measurement at a random point (noise of 1% of the range) and the `ask` after it; medians
of 7 steps after a first one that is left out, and the least and largest ratio of the same step. BoTorch: SingleTaskGP
with its defaults, LogEI, 10 restarts, 512 raw samples. Optuna: `GPSampler` with its defaults. A search measures what it
suggests; every suggestion after the first counts. Process start: 25 measurements of heat-1, from the start of Python,
to its end; a warm cache has been filled by an earlier process, a cold one is an empty folder. The bounds of the last
two rows are this project's own: no growth beyond the scatter of a median, and no doubling by the storage.

{chr(10).join(page.lines)}

Command: `python benchmarks/speed.py`, commit {commit()}. `--quick` prints a shorter one in a few minutes.
"""
    PAGE.write_text(text)


if __name__ == "__main__":
    main()
