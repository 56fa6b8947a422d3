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
    reports = [
        pde.check(problem.domain or problem.space, scale=scale, unknowns=unknowns) for pde in problem.physics
    ]
    for report in reports:
        say("\n".join(report.lines))
    errors = [sentence for report in reports for sentence in report.errors]
    warnings = [sentence for report in reports for sentence in report.warnings]
    if not quick and not errors:
        say(_first_suggestion(problem))
    for kind, sentences in (("error", errors), ("warning", warnings)):
        for sentence in sentences:
            say(f"{kind}: {sentence}")
    if not errors and not warnings:
        say("nothing to complain of")
    return 1 if errors or warnings else 0


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
