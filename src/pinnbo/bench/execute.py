"""Computing one run, in whichever process: ask, evaluate, tell, send the record.

The noise of the n-th evaluation depends on the problem, the seed and n alone: every method sees the same,
and a run that is taken up again goes on as if it had not been interrupted.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pinnbo.bench.records import Assignment, Evaluation, Event, Finished, Work

if TYPE_CHECKING:
    from pinnbo import Optimizer
    from pinnbo.problems import Problem

_ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
}


class Unheard(Exception):
    """Raised by ``send`` when nobody listens any more."""


def use_one_thread() -> None:
    """For a process of its own: runs share the processors, and sums of one thread are the same everywhere.

    Read when libraries are loaded, and by every process that is started later.
    """
    for name, value in _ONE_THREAD.items():
        os.environ.setdefault(name, value)


def execute(work: Work, send: Callable[[Event], None]) -> None:
    """Compute what is missing of a run and send it, evaluation by evaluation; an error ends this run only."""
    from threadpoolctl import threadpool_limits

    error = None
    try:
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _evaluate(work, send)
    except Unheard:
        raise
    except Exception as failure:
        error = f"{type(failure).__name__}: {failure}"
    send(Finished(work.assignment.run, error))


def start(assignment: Assignment) -> tuple[Optimizer, Problem]:
    """The optimizer of a run at its beginning, and its problem."""
    from pinnbo import Optimizer
    from pinnbo.bench import names

    run = assignment.run
    problem, contender = names.problem(run.problem, run.seed), names.contender(run.method)
    optimizer = Optimizer(
        problem.space,
        problem.pde if contender.physics else None,
        goal=problem.goal,
        method=contender.settings,
        seed=run.seed,
        noise=problem.noise,
        n_initial=assignment.initial if contender.common_start else None,
    )
    return optimizer, problem


def resumed(work: Work) -> tuple[Optimizer, Problem]:
    """The optimizer of a run as it was after its last record, and its problem."""
    from pinnbo import Optimizer

    optimizer, problem = start(work.assignment)
    if not work.values:
        return optimizer, problem
    told = zip(work.points, work.values, strict=True)
    records = [{"x": x, "y": y, "noise": None, "dropped": False, "replaced": []} for x, y in told]
    stored: dict[str, Any] = {
        **optimizer.to_dict(),
        "asked": len(records),
        "records": records,
        "engine": json.loads(work.state),
    }
    physics = problem.pde if stored["physics"] else None
    return Optimizer.from_dict(stored, physics), problem


def noise(problem: str, seed: int, n: int) -> float:
    """A standard normal number for the n-th evaluation; which PDE is stated makes no difference."""
    import numpy as np

    measured = problem.replace(":printed", "")
    name = int.from_bytes(hashlib.sha256(measured.encode()).digest()[:8])
    return float(np.random.default_rng([name, seed, n]).standard_normal())


def _evaluate(work: Work, send: Callable[[Event], None]) -> None:
    optimizer, problem = resumed(work)
    run = work.assignment.run
    for n in range(len(work.values) + 1, work.assignment.budget + 1):
        began = time.perf_counter()
        x = optimizer.ask()
        asked = time.perf_counter()
        truth = float(problem.truth(x)[0])
        y = truth + problem.noise * noise(run.problem, run.seed, n)
        measured = time.perf_counter()
        optimizer.tell(x, y)
        told = time.perf_counter()
        state = json.dumps(optimizer.to_dict()["engine"])
        send(Evaluation(run, n, x.tolist(), y, truth, asked - began, told - measured, state))
