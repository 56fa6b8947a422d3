"""What is optimised, where it is not the measured field itself: a function of the fields and of x, and limits.

    Optimizer(space, pde, objective=lambda h: lambda x: jnp.linalg.norm(gradient(h)(x)))      the largest gradient
    Optimizer(space, pde, objective=lambda T: lambda x: T(x) - 0.3 * x[0])                    less a cost
    Optimizer(space, pde, objective=worst("t"))                                               at the worst time
    Optimizer(space, pde, limits={"wall": (lambda T: lambda x: -partial(T, 1)(x), None, 5.0)})

It is written as the operator of a `PDE`: required positional parameters are fields by name, one alone stands for the
measured field. `worst` and `mean_over` take the worst or the mean over one coordinate.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from pinnbo.pde import PDE
from pinnbo.space import Space
from pinnbo.stated import Problem

Operator = Callable[..., Callable[[Any], Any]]

_PLACES = 17  # along a coordinate that is taken the worst or the mean over


@dataclass(frozen=True)
class Over:
    """An objective that is the worst, or the mean, of another over one coordinate."""

    axis: str
    how: str  # "worst" or "mean"
    of: Operator | None


def worst(over: str, of: Operator | None = None) -> Over:
    """The worst over a coordinate of the measured field, or of an operator: the highest where one minimises."""
    return Over(over, "worst", of)


def mean_over(over: str, of: Operator | None = None) -> Over:
    """The mean over a coordinate of the measured field, or of an operator."""
    return Over(over, "mean", of)


@dataclass(frozen=True, eq=False)
class Target:
    """A function of the fields at x: an operator, and the coordinate it is aggregated over, if any."""

    pde: PDE
    axis: int | None = None
    how: str = ""

    def places(self, space: Space, points: Float[ndarray, "c d"]) -> Float[ndarray, "c k d"]:
        """Where the operator is looked at for every point, in scaled coordinates."""
        if self.axis is None:
            return points[:, None]
        found = np.repeat(points[:, None], _PLACES, axis=1)
        found[:, :, self.axis] = np.linspace(-1.0, 1.0, _PLACES)
        return found

    def fingerprint(self, space: Space) -> list[float]:
        """What it is recognised by after a restart."""
        over = [] if self.axis is None else [float(self.axis), float(self.how == "mean")]
        return [*over, *self.pde.fingerprint(space)]


@dataclass(frozen=True, eq=False)
class Limit:
    """low <= a function of the fields <= high."""

    name: str
    target: Target
    low: float
    high: float

    def fingerprint(self, space: Space) -> list[float]:
        """What it is recognised by after a restart."""
        ends = np.nan_to_num([self.low, self.high], posinf=1e301, neginf=-1e301).tolist()
        return [*ends, *self.target.fingerprint(space)]


def as_target(stated: Any, problem: Problem, space: Space, who: str = "objective") -> Target:
    """Check an objective: an operator, the name of a field, or `worst` and `mean_over` of one."""
    axis, how = None, ""
    if isinstance(stated, Over):
        if stated.axis not in space.names:
            raise ValueError(
                f"{who}: no coordinate is called {stated.axis!r}; expected one of {list(space.names)[:6]}"
            )
        axis, how, stated = space.names.index(stated.axis), stated.how, stated.of
        if stated is None:
            stated = problem.fields[0]
    options: dict[str, Any] = {}
    if isinstance(stated, str):
        if stated not in problem.fields:
            raise ValueError(
                f"{who}: {stated!r} is no field that is measured or that an equation contains; "
                f"expected one of {', '.join(problem.fields)}"
            )
        options, stated = {"fields": [stated]}, _itself
    if not callable(stated):
        raise TypeError(f"{who}: expected a function such as lambda T: lambda x: ..., got {stated!r:.60}")
    pde = PDE(stated, name=who, **options)
    for name in pde.fields or ():
        if name not in problem.fields:
            raise ValueError(
                f"{who}: {name!r} is no field that is measured or that an equation contains; "
                f"expected some of {', '.join(problem.fields)}"
            )
    if pde.coefficients:
        raise ValueError(f"{who}: expected no unknown coefficients, got {', '.join(pde.coefficients)}")
    pde = pde.among(problem.fields, ())
    pde.validate(space)
    pde.check_local(space)
    if pde.n_equations(space) != 1:
        raise ValueError(f"{who}: expected one number at a point, got {pde.n_equations(space)}")
    return Target(pde, axis, how)


def as_limits(stated: Any, problem: Problem, space: Space) -> tuple[Limit, ...]:
    """Check limits, a table from names to (what, low, high)."""
    if stated is None:
        return ()
    example = "{'wall': (lambda T: lambda x: ..., None, 5.0)}"
    if not isinstance(stated, Mapping):
        raise TypeError(f"limits: expected a table such as {example}, got {stated!r:.60}")
    found = []
    for name, entry in stated.items():
        who = f"limits: {name}"
        if not isinstance(entry, Sequence) or isinstance(entry, str) or len(entry) != 3:
            raise ValueError(f"{who}: expected (what, low, high), as in {example}, got {entry!r:.60}")
        what, low, high = entry
        ends = [_end(low, -np.inf, who), _end(high, np.inf, who)]
        if not ends[0] < ends[1] or np.isinf(ends).all():
            raise ValueError(
                f"{who}: expected low < high, one of which may be None, got {low!r} and {high!r}"
            )
        found.append(Limit(str(name), as_target(what, problem, space, who), *ends))
    return tuple(found)


def _end(value: Any, without: float, who: str) -> float:
    if value is None:
        return without
    if isinstance(value, bool) or not isinstance(value, Real) or not np.isfinite(float(value)):
        raise ValueError(f"{who}: expected a number or None as a limit, got {value!r:.60}")
    return float(value)


def _itself(f: Any) -> Any:
    return f
