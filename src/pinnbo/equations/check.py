"""An equation looked at before the first experiment.

What is compared is the size of the terms over the box, for a field that changes once over it:

    f(x) = A cos( sum_i +- pi x_i / L_i + phase ),     so that |d f / dx_i| ~ A pi / L_i,

L_i the extent of the box along axis i and A the typical size of the field. The terms of an equation add up to zero:
the largest one needs a partner of about its size. Where there is none, the field has to be about constant (or varies on
another scale than the box), which is what a mistake in units looks like.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray

from pinnbo.equations import compiled
from pinnbo.equations.printer import as_text
from pinnbo.equations.scope import TIMES
from pinnbo.operators import Point, ScalarField
from pinnbo.pde import PDE
from pinnbo.space import Space

_PARTNERLESS = 30.0  # a factor that no choice of the typical length (1/5 to 5 boxes, squared) explains
_POINTS = 64
_MOST_AXES = 6  # beyond, a list of all derivatives helps nobody, nor do all corners
_TOLERANCE = 1e-6  # residual of a solution, relative to the largest term


class _Rows(NamedTuple):
    """Multi-indices, and the coefficients of the derivatives in user units at points."""

    derivatives: Int[ndarray, "a d"]
    coefficients: Float[ndarray, "n a"]


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
    solution: Callable[[Any], Any] | Mapping[str, Callable[[Any], Any]] | None = None,
    unknowns: Mapping[str, tuple[float, float]] | None = None,
) -> Report:
    """Look at one equation; ``scale`` is the typical size of the field, ``solution`` a function that obeys it."""
    report = Report()
    if pde.points is not None and pde.equation is not None:
        report.say(
            "condition",
            f"{pde.equation.line}, at {len(pde.points)} point{'s' if len(pde.points) > 1 else ''}",
        )
        _check_place(pde, space, report)
        return report
    report.say("equation", str(pde).replace("\n", "\n" + " " * 14))
    coefficients = _middle(pde, unknowns)
    if coefficients is None and len(_fields_of(pde)) == 1:
        try:
            pde.validate(space)
        except (TypeError, ValueError) as error:
            report.errors.append(str(error))
            return report
    fields = _fields_of(pde)
    report.say("is", _described(pde, space, fields))
    if pde.points is not None:
        report.say("holds at", f"{len(pde.points)} points")
        _check_place(pde, space, report)
        return report
    single = (
        coefficients is None and len(fields) == 1 and space.dim <= _MOST_AXES and pde.n_equations(space) == 1
    )
    rows = _linearised(pde, space, scale) if single else None
    terms = _terms(pde, space, scale, coefficients or {}, rows)
    if terms is not None:
        _report_terms(terms, pde, scale, report)
    if coefficients is None and len(fields) == 1:
        if rows is not None:
            _report_numbers(pde, space, rows, report)
            _report_axes(space, rows, report)
        _report_poles(pde, space, report)
    if solution is not None:
        _report_solution(pde, space, solution, coefficients or {}, report)
    return report


def _fields_of(pde: PDE) -> tuple[str, ...]:
    return ("f",) if pde.equation is None else pde.equation.fields


def _middle(pde: PDE, unknowns: Mapping[str, tuple[float, float]] | None) -> dict[str, float] | None:
    """Unknown coefficients in the middle of their ranges, of the logarithm where they are positive; 1 without range."""
    names = () if pde.equation is None else pde.equation.unknowns
    if not names:
        return None
    middle = {}
    for name in names:
        low, high = (unknowns or {}).get(name, (1.0, 1.0))
        middle[name] = math.sqrt(low * high) if low > 0 else 0.5 * (low + high)
    return middle


def _described(pde: PDE, space: Space, fields: Sequence[str]) -> str:
    equation = pde.equation
    unknowns: tuple[str, ...] = ()
    if equation is None:
        order, linear = pde.order(space), pde.is_linear(space)
    else:
        order, linear, unknowns = equation.order, equation.is_linear, equation.unknowns
    parts = [
        f"of order {order}",
        "linear" if linear else "nonlinear (linearised where the solution is, again and again)",
    ]
    if equation is not None:
        parts.append(("for the field " if len(fields) == 1 else "for the fields ") + ", ".join(fields))
        if equation.scope.time is not None:
            parts.append(f"with {equation.scope.time} as time")
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


def _waves(space: Space, scale: float, number: int) -> list[ScalarField]:
    """Fields of typical size that change once over the box."""
    centre, wave = jnp.asarray(space.centre), jnp.asarray(0.5 * np.pi / space.half_width)
    rng = np.random.default_rng(number)
    fields: list[ScalarField] = []
    for phase in np.linspace(0.0, np.pi, 4, endpoint=False):
        signs = jnp.asarray(rng.choice([-1.0, 1.0], space.dim))

        def field_of(x: Point, phase: float = float(phase), signs: Any = signs) -> Any:
            return scale * jnp.cos(jnp.dot(signs * wave, x - centre) + phase)

        fields.append(field_of)
    return fields


def _rms(values: Iterable[ndarray]) -> float:
    array = np.concatenate([np.ravel(v) for v in values])
    array = array[np.isfinite(array)]
    return float(np.sqrt(np.mean(array**2))) if array.size else math.nan


def _terms(
    pde: PDE, space: Space, scale: float, coefficients: Mapping[str, float], rows: _Rows | None
) -> list[tuple[str, float, bool]] | None:
    """Each term with its size and whether a field is in it; for operators in Python their derivatives."""
    points = jnp.asarray(space.sobol(_POINTS, seed=23))
    if pde.equation is None:
        return None if rows is None else _python_terms(pde, space, scale, rows)
    equation = pde.equation
    names = equation.fields
    waves = [_waves(space, scale, i) for i in range(len(names))]
    found = []
    for of_field, part in ((True, equation.terms), (False, equation.source_terms)):
        for sign, term in part:
            sizes = []
            for i in range(4 if of_field else 1):
                fields = {name: waves[j][i] for j, name in enumerate(names)}
                environment = compiled.Environment(equation.scope, fields, coefficients)
                sizes.append(np.asarray(jax.jit(jax.vmap(compiled.function(term, environment)))(points)))
            found.append((("-" if sign < 0 else "") + as_text(term), _rms(sizes), of_field))
    return found


def _python_terms(pde: PDE, space: Space, scale: float, rows: _Rows) -> list[tuple[str, float, bool]]:
    """The coefficient of every derivative, times the typical size of this derivative."""
    derivatives, coefficients = rows
    wave = 0.5 * np.pi / space.half_width
    found = []
    for index, column in zip(derivatives, coefficients.T, strict=True):
        axes = [name for name, times in zip(space.names, index, strict=True) for _ in range(times)]
        size = _rms([column]) * scale * float(np.prod(wave**index)) / math.sqrt(2)
        if size > 0:
            found.append((f"d(f, {', '.join(axes)})" if axes else "f", size, True))
    source = _rms([pde.source_at(space.sobol(_POINTS, seed=23))])
    return [*found, *([("source", source, False)] if source else [])]


def _linearised(pde: PDE, space: Space, scale: float) -> _Rows:
    """The equation at points, linearised at a field of typical size."""
    from pinnbo.physics.jets import JetPDE

    jet = JetPDE(space, pde)
    points = space.scale(space.sobol(_POINTS, seed=23))
    wave = np.prod((0.5 * np.pi) ** jet.derivatives, axis=1)
    signs = np.random.default_rng(3).choice([-1.0, 1.0], (len(points), len(wave)))
    rows = jet.rows(points, np.zeros((len(points), 1)), scale * wave * signs / math.sqrt(2))
    return _Rows(jet.derivatives, rows.coefficients * np.prod(space.half_width**jet.derivatives, axis=1))


def _report_terms(terms: list[tuple[str, float, bool]], pde: PDE, scale: float, report: Report) -> None:
    largest = max((size for _, size, _ in terms), default=0.0)
    width = min(48, max(len(text) for text, _, _ in terms))
    report.say("terms", f"their size over the box, for a field of size {scale:g} that changes once over it")
    for text, size, of_field in terms:
        shown = text if len(text) <= width else text[: width - 3] + "..."
        share = f"{size / largest:.2g} of the largest" if largest and np.isfinite(size) else ""
        kind = "" if of_field else " (source)"
        report.say("", f"{shown:<{width}}  {size:<9.3g} {share}{kind}")
        if not np.isfinite(size):
            report.warnings.append(f"{shown} is nowhere a finite number on this box")
    sizes = sorted((size for _, size, of_field in terms if of_field), reverse=True)
    if len(sizes) > 1 and sizes[0] > _PARTNERLESS * sizes[1]:
        top = max((t for t in terms if t[2]), key=lambda t: t[1])[0]
        ratio = sizes[0] / sizes[1] if sizes[1] else math.inf
        report.warnings.append(
            f"{top} is {ratio:.2g} times larger than any other term over this box, so that nothing balances it: "
            "are the bounds of the box and the coefficients in the same units?"
        )


def _report_numbers(pde: PDE, space: Space, rows: _Rows, report: Report) -> None:
    """Times, lengths and ratios that a physicist compares with the box."""
    derivatives, columns = rows
    typical = {tuple(i.tolist()): float(np.median(c)) for i, c in zip(derivatives, columns.T, strict=True)}
    time = (
        pde.equation.scope.time
        if pde.equation is not None
        else next((a for a in space.names if a in TIMES), None)
    )
    extent = 2 * space.half_width

    def c(**orders: int) -> float:
        value = typical.get(tuple(orders.get(name, 0) for name in space.names), 0.0)
        return value if math.isfinite(value) else 0.0

    for name, length in zip(space.names, extent.tolist(), strict=True):
        if name == time:
            continue
        second, first = c(**{name: 2}), c(**{name: 1})
        over = f"{name} extends over {length:.4g}"
        if time is not None and second and c(**{time: 1}):
            duration = float(extent[space.names.index(time)])
            diffusion = length**2 * abs(c(**{time: 1}) / second)
            report.say(
                "diffusion",
                f"across {name} takes about L^2/D = {diffusion:.3g}; {time} extends over {duration:.4g}",
            )
        if time is not None and second * c(**{time: 2}) < 0:
            speed = math.sqrt(-second / c(**{time: 2}))
            duration = float(extent[space.names.index(time)])
            report.say(
                "waves",
                f"travel at {speed:.3g}: across {name} in {length / speed:.3g}; {time} extends over {duration:.4g}",
            )
        if first and second:
            report.say("Peclet number", f"(Reynolds number) along {name}: {abs(first / second) * length:.3g}")
        if second * c() > 0:
            report.say("wavelength", f"along {name}: {2 * math.pi * math.sqrt(second / c()):.3g}; {over}")
        elif second and c():
            report.say("decay length", f"along {name}: {math.sqrt(abs(second / c())):.3g}; {over}")
    if time is not None and c() and c(**{time: 1}):
        report.say(
            "time constant",
            f"{abs(c(**{time: 1}) / c()):.3g}; {time} extends over {float(extent[space.names.index(time)]):.4g}",
        )


def _report_axes(space: Space, rows: _Rows, report: Report) -> None:
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
    pde: PDE,
    space: Space,
    solution: Callable[[Any], Any] | Mapping[str, Callable[[Any], Any]],
    coefficients: Mapping[str, float],
    report: Report,
) -> None:
    names = _fields_of(pde)
    fields = [solution[name] for name in names] if isinstance(solution, Mapping) else [solution]
    points = space.sobol(_POINTS, seed=23)
    sizes = [np.abs(jax.vmap(f)(jnp.asarray(points))).max() for f in fields]

    def image(functions: Sequence[Callable[[Any], Any]]) -> ndarray:
        found = jax.vmap(pde.operator(*functions, **coefficients))(jnp.asarray(points))
        return np.asarray(found).reshape(len(points), -1)

    residual = np.abs(image(fields) - pde.source_at(points)).max()
    # N of the solution itself may be small because its terms cancel: that of another field of its size does not
    others = [_waves(space, float(size) or 1.0, i)[0] for i, size in enumerate(sizes)]
    worst = float(residual / max(_rms([image(others)]), _rms([image(fields)]), 1e-300))
    report.say("solution", f"leaves a residual of at most {worst:.2g} of the operator's size")
    if not worst <= _TOLERANCE:
        report.warnings.append(
            f"the function given does not obey the equation: it leaves {worst:.2g} of the operator's size"
        )
