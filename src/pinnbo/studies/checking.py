"""``pinnbo check``: the equations of a problem file looked at before the first experiment."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from pinnbo.equations import check as checks
from pinnbo.equations.errors import EquationError
from pinnbo.studies.errors import StudyError
from pinnbo.studies.problem_file import ProblemFile

if TYPE_CHECKING:
    from pinnbo.stated import Problem


def check(
    problem: ProblemFile,
    scale: float,
    say: Callable[[str], None],
    *,
    quick: bool,
    solution: checks.Solution | None = None,
) -> int:
    """Say what is known of the equations; 0 if there is nothing to look at again, 1 otherwise."""
    if not problem.physics:
        say("there is no equation in this file: pinnbo optimises without one")
        return 0
    say(f"{'box':<14}{problem.space!r}")
    try:
        reports = [
            checks.of_equation(
                pde,
                problem.domain or problem.space,
                scale=scale,
                solution=solution,
                unknowns=problem.unknowns,
            )
            for pde in problem.physics
            if not pde.reflections
        ]
    except ValueError as error:
        raise StudyError(str(error)) from None
    for report in reports:
        say("\n".join(report.lines))
    for pde in problem.physics:
        if pde.reflections:
            say(f"{'symmetry':<14}{pde}")
    errors = [sentence for report in reports for sentence in report.errors]
    warnings = [sentence for report in reports for sentence in report.warnings]
    if not errors:
        for line in _together(problem, scale, quick):
            say(line)
    for kind, sentences in (("error", errors), ("warning", warnings)):
        for sentence in sentences:
            say(f"{kind}: {sentence}")
    if not errors and not warnings:
        say("nothing to complain of")
    return 1 if errors or warnings else 0


def solution_of(problem: ProblemFile, given: Sequence[str]) -> checks.Solution | None:
    """Functions from formulas, one alone or NAME=FORMULA for each field."""
    if not given:
        return None
    from pinnbo.equations.text import function

    constants = {} if problem.equation is None else problem.equation.constants
    named = dict(_named(text) for text in given)
    if len(named) < len(given) or (len(given) > 1 and None in named):
        raise StudyError("--solution: expected one formula, or NAME=FORMULA once for each field")
    found = {}
    for name, text in named.items():
        try:
            found[name] = function(text, problem.space, constants)
        except EquationError as error:
            raise StudyError(f"--solution: {error}") from None
    return found[None] if None in found else {name: f for name, f in found.items() if name is not None}


def _named(text: str) -> tuple[str | None, str]:
    name, equals, formula = text.partition("=")
    # definitions may follow a formula, as in sin(k*x); k = 3
    return (name.strip(), formula) if equals and name.strip().isidentifier() else (None, text)


def _together(problem: ProblemFile, scale: float, quick: bool) -> list[str]:
    """What equations and conditions leave open together, how long the first suggestion takes, who can use them."""
    from pinnbo.stated import as_problem

    report, space = checks.Report(), problem.space
    stated = as_problem(problem.physics, problem.options.get("measures"), problem.options.get("unknowns"))
    stated.check(space)
    checks.report_remaining(stated.physics, space, len(stated.fields), scale, report)
    if not quick:
        report.say("suggestion", f"the first one takes {_first_suggestion(problem):.1f} s here")
        families = _families(problem, stated)
        if families is not None:
            used = ", ".join(families) or "none: pinnbo optimises as without an equation"
            report.say("is used by", f"the families of models {used}" if families else used)
    return report.lines


def _first_suggestion(problem: ProblemFile) -> float:
    """Seconds to the first suggestion here, tried out."""
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
    return time.perf_counter() - start


def _families(problem: ProblemFile, stated: Problem) -> list[str] | None:
    """The families of models that can use the equations, of the method that has families."""
    from pinnbo import methods
    from pinnbo.ensemble.hypotheses import EXACT
    from pinnbo.methods import Task
    from pinnbo.methods.auto import Auto, hypotheses

    method = methods.get(problem.method)
    if not isinstance(method, Auto):
        return None
    sign = 1.0 if problem.goal == "minimize" else -1.0
    task = Task(
        problem.space, stated.physics, sign, problem.seed or 0, problem.noise, stated.fields, stated.unknowns
    )
    return [name for h in hypotheses(method, task) if h.name == EXACT for name in h.groups]
