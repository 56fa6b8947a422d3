"""``pinnbo check``: the equations of a problem file looked at before the first experiment."""

from __future__ import annotations

import time
from collections.abc import Callable

from pinnbo.studies.problem_file import ProblemFile


def check(problem: ProblemFile, scale: float, say: Callable[[str], None], *, quick: bool) -> int:
    """Say what is known of the equations; 0 if there is nothing to look at again, 1 otherwise."""
    if not problem.physics:
        say("there is no equation in this file: pinnbo optimises without one")
        return 0
    unknowns = {} if problem.equation is None else problem.equation.unknowns
    say(f"{'box':<14}{problem.space!r}")
    ok = True
    for number, pde in enumerate(problem.physics):
        report = pde.check(problem.space, scale=scale, unknowns=unknowns)
        ok = ok and report.ok
        if number:
            say("")
        say(str(report))
        if report.errors:
            quick = True
    if not quick:
        say(_first_suggestion(problem))
    return 0 if ok else 1


def _first_suggestion(problem: ProblemFile) -> str:
    """How long the first suggestion takes here, tried out."""
    from pinnbo.optimizer import Optimizer

    start = time.perf_counter()
    Optimizer(
        problem.space,
        problem.physics,
        goal=problem.goal,
        method=problem.method,
        seed=problem.seed or 0,
        noise=problem.noise,
        **problem.options,
    ).ask()
    return f"{'suggestion':<14}the first one takes {time.perf_counter() - start:.1f} s here"
