"""An equation looked at before the first experiment: what it says, how large its terms are, what it leaves open."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy import ndarray

from pinnbo import values
from pinnbo.equations import dimensions, remaining, sizes
from pinnbo.equations.names import TIMES
from pinnbo.equations.scales import scales
from pinnbo.equations.typical import waves
from pinnbo.knowledge import Unknown
from pinnbo.pde import PDE
from pinnbo.space import Space

_POINTS = 64
_MOST_AXES = 6  # beyond, a list of all derivatives helps nobody, nor do all corners
_TOLERANCE = 1e-6  # residual of a solution, relative to the largest term

Solution = Callable[[Any], Any] | Mapping[str, Callable[[Any], Any]]


@dataclass
class Report:
    """What was found; ``warnings`` are reasons to look again, ``errors`` reasons why it cannot be used."""

    lines: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether there is nothing to look at again."""
        return not self.warnings and not self.errors

    def say(self, label: str, text: str) -> None:
        """One line."""
        self.lines.append(f"{label:<14}{text}")

    def __str__(self) -> str:
        found = [*(f"error: {e}" for e in self.errors), *(f"warning: {w}" for w in self.warnings)]
        return "\n".join([*self.lines, *(found or ["nothing to complain of"])])

    __repr__ = __str__


def check(
    pde: PDE,
    space: Space,
    *,
    scale: float = 1.0,
    solution: Solution | None = None,
    unknowns: Mapping[str, tuple[float, float]] | None = None,
) -> Report:
    """Look at one equation by itself, and at what it leaves open."""
    report = of_equation(pde, space, scale=scale, solution=solution, unknowns=unknowns)
    if not report.errors and pde.points is None:
        report_remaining([pde], space, len(pde.indices), scale, report)
    return report


def of_equation(
    pde: PDE,
    space: Space,
    *,
    scale: float = 1.0,
    solution: Solution | None = None,
    unknowns: Mapping[str, tuple[float, float]] | None = None,
) -> Report:
    """Look at one of the equations of a problem."""
    report = Report()
    if pde.points is not None and pde.equation is not None:
        report.say("condition", f"{pde.equation.line}, at {_points(len(pde.points))}")
    else:
        report.say("equation", str(pde).replace("\n", "\n" + " " * 14))
    fields = _fields_of(pde)
    if not values.deviation(scale, "scale") > 0.0:
        raise ValueError(f"scale: expected the typical size of the field, a number > 0, got {scale!r:.60}")
    ranges = {name: pair for name, pair in (unknowns or {}).items() if name in pde.coefficients}
    if pde.equation is not None:
        report.warnings += dimensions.complaints(pde.equation)
    stated = pde.among(fields, [Unknown.of(name, pair) for name, pair in ranges.items()])
    try:
        stated.validate(space)
        stated.check_local(space)
    except (TypeError, ValueError) as error:
        report.errors.append(str(error))
        return report
    if pde.points is not None:
        if pde.equation is None:
            report.say("holds at", _points(len(pde.points)))
        _check_place(pde, space, report)
        return report
    report.say("is", _described(pde, space, fields))
    middle = {**dict.fromkeys(pde.unknowns, 1.0), **{n: sizes.middle(*pair) for n, pair in ranges.items()}}
    rows = None
    if space.dim <= _MOST_AXES and pde.n_equations(space) == 1:
        rows = sizes.linearised(stated, space, scale)
    if pde.equation is not None:
        terms = sizes.terms(pde, space, scale, middle)
    else:
        terms = [] if rows is None else sizes.python_terms(stated, space, scale, rows, fields)
    _report_terms(terms, scale, report)
    _report_units(terms, stated, space, scale, ranges, report)
    if rows is not None:
        for label, sentence in scales(rows, space, _time_of(pde, space), fields):
            report.say(label, sentence)
        _report_axes(space, rows, report)
    _report_poles(stated, space, report)
    if solution is not None:
        _report_solution(stated, space, solution, middle, report)
    return report


def report_remaining(
    physics: Sequence[PDE], space: Space, n_fields: int, scale: float, report: Report
) -> None:
    """Say how much of the measured field equations and conditions leave to measurements."""
    found = remaining.count(physics, space, n_fields, scale)
    if found is None:
        return
    without, given = round(found.without), max(0, round(found.given))
    n_unknown = len({name for pde in physics for name in pde.unknowns})
    more = f", and {n_unknown} unknown coefficient{'s' if n_unknown > 1 else ''}" if n_unknown else ""
    if given == 0 and report.warnings:
        return  # polynomials cannot obey an equation whose terms are far from each other's size
    if given == 0:
        left = "none of them: the conditions say it all"
    else:
        left = f"about {given} of them{more} to be measured for a map of all of it"
    report.say("leaves", f"a smooth field here is about {without} numbers, to 1%; {left}")


def _points(n: int) -> str:
    return f"{n} point{'s' if n > 1 else ''}"


def _fields_of(pde: PDE) -> tuple[str, ...]:
    if pde.equation is not None:
        return pde.equation.fields
    return pde.fields or ("f",)


def _time_of(pde: PDE, space: Space) -> str | None:
    if pde.equation is not None:
        return pde.equation.scope.time or next((a for a in space.names if a in TIMES), None)
    return next((axis for axis in space.names if axis in TIMES), None)


def _described(pde: PDE, space: Space, fields: Sequence[str]) -> str:
    equation = pde.equation
    if equation is None:
        order, linear = pde.order(space), pde.is_linear(space)
    else:
        order, linear = equation.order, equation.is_linear
    parts = [
        f"of order {order}",
        "linear" if linear else "nonlinear (linearised where the solution is, again and again)",
        ("for the field " if len(fields) == 1 else "for the fields ") + ", ".join(fields),
    ]
    if equation is not None and equation.scope.time is not None:
        parts.append(f"with {equation.scope.time} as time")
    unknowns = pde.unknowns
    if unknowns:
        few = (
            "one or two more measurements"
            if len(unknowns) == 1
            else f"some {2 * len(unknowns)} more measurements"
        )
        parts.append(f"{', '.join(unknowns)} unknown: expect {few} than with known ones")
    return ", ".join(parts)


def _check_place(pde: PDE, space: Space, report: Report) -> None:
    assert pde.points is not None
    outside = [tuple(np.round(p, 6).tolist()) for p in pde.points if not space.contains(p)]
    if outside:
        report.warnings.append(
            f"{pde.name} holds outside the box, such as at {outside[0]}: is the box in the units of the condition?"
        )


def _report_terms(terms: Sequence[sizes.Term], scale: float, report: Report) -> None:
    if not terms:
        return
    largest = max((term.size for term in terms if not math.isnan(term.size)), default=0.0)
    width = min(48, max(len(term.text) for term in terms))
    report.say("terms", f"their size over the box, for a field of size {scale:g} that changes once over it")
    for term in terms:
        shown = term.text if len(term.text) <= width else term.text[: width - 3] + "..."
        share = f"{term.size / largest:.2g} of the largest" if largest and np.isfinite(term.size) else ""
        kind = "" if term.of_field else " (source)"
        report.say("", f"{shown:<{width}}  {term.size:<9.3g} {share}{kind}")
        if not np.isfinite(term.size):
            report.warnings.append(f"{shown} is nowhere a finite number on this box")


def _report_units(
    terms: Sequence[sizes.Term],
    pde: PDE,
    space: Space,
    scale: float,
    ranges: Mapping[str, tuple[float, float]],
    report: Report,
) -> None:
    found, little = sizes.excess(terms), sizes.negligible(terms)
    if pde.equation is not None and ranges and (found.is_suspicious or little):
        # with another value of an unknown coefficient it may be as usual
        found, little = sizes.least_excess(pde, space, scale, ranges), []
    for term, share in little:
        report.warnings.append(
            f"{term} is {share:.1g} of the largest term over this box and makes no difference: "
            "are the bounds of the box and the coefficients in the same units?"
        )
    if found.is_suspicious and not little:
        report.warnings.append(
            f"{found.text} is {found.ratio:.2g} times larger than any other term over this box, so that nothing "
            "balances it: are the bounds of the box and the coefficients in the same units?"
        )


def _report_axes(space: Space, rows: sizes.Rows, report: Report) -> None:
    """Axes that the equation does not differentiate along."""
    used = rows.derivatives[np.nan_to_num(np.abs(rows.coefficients), nan=1.0).max(axis=0) > 0].sum(axis=0) > 0
    dead = [name for name, alive in zip(space.names, used, strict=True) if not alive]
    if dead:
        report.say("note", f"no derivative along {', '.join(dead)}: values there are tied by the model alone")


def _report_poles(pde: PDE, space: Space, report: Report) -> None:
    """Places where the equation is not finite, corners among them."""
    corners = (
        np.array(list(product(*zip(space.lower, space.upper, strict=True))))
        if space.dim <= _MOST_AXES
        else np.zeros((0, space.dim))
    )
    points = np.concatenate([space.sobol(256, seed=29), corners])
    _, finite = pde.evaluate(space, points, pde.n_equations(space))
    if not finite.all():
        worst = np.round(points[~finite][0], 6).tolist()
        where = ", ".join(
            f"{name} = {value:g}" for name, value in list(zip(space.names, worst, strict=True))[:6]
        )
        edge = " (corners of the box only)" if finite[:256].all() else ""
        report.warnings.append(
            f"operator or source is not finite at {(~finite).sum()} of {len(points)} points, such as {where}{edge}"
        )


def _report_solution(
    pde: PDE, space: Space, solution: Solution, coefficients: Mapping[str, float], report: Report
) -> None:
    names = _fields_of(pde)
    if isinstance(solution, Mapping):
        missing = [name for name in names if name not in solution]
        if missing:
            raise ValueError(
                f"solution: expected a function for each of {', '.join(names)}, got none of {missing[0]}"
            )
        functions = [solution[name] for name in names]
    elif len(names) > 1:
        raise ValueError(
            f"solution: expected a function for each of {', '.join(names)} by name, got one function"
        )
    else:
        functions = [solution]
    points = space.sobol(_POINTS, seed=23)
    typical = [float(np.abs(jax.vmap(f)(jnp.asarray(points))).max()) or 1.0 for f in functions]

    def image(some: Sequence[Callable[[Any], Any]]) -> ndarray:
        return np.asarray(jax.vmap(pde.apply(*some, **coefficients))(jnp.asarray(points)))

    residual = np.abs(image(functions) - pde.source_at(points, **coefficients)).max()
    # N of the solution itself may be small because its terms cancel: that of another field of its size does not
    others = [waves(space.dim, size, i)[0].function(space) for i, size in enumerate(typical)]
    worst = float(residual / max(sizes.rms([image(others)]), sizes.rms([image(functions)]), 1e-300))
    report.say("solution", f"leaves a residual of at most {worst:.2g} of the operator's size")
    if not worst <= _TOLERANCE:
        report.warnings.append(
            f"the function given does not obey the equation: it leaves {worst:.2g} of the operator's size"
        )
