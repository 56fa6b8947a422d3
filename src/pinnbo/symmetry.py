"""Symmetries in one word each: knowledge that goes into the list beside equations.

    Optimizer(space, [PDE(laplacian), even("x"), odd("y", about=0.5)])
    Optimizer(space, even("x", "y"))                     without an equation
    Optimizer(space, radial("x", "y"))                   f depends on the distance from (0, 0) alone
    Space(angle=periodic(0.0, 360.0), r=(1.0, 2.0))      the ends of an axis are one place

``even`` and ``odd`` are exact: the field is modelled by the part of a process that has the symmetry
(`pinnbo.physics.images`). ``radial`` is the equation x_i df/dx_j = x_j df/dx_i. Like an equation, a symmetry is put to
the test by the measurements.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import jax.numpy as jnp

from pinnbo import naming
from pinnbo.axis import Axis
from pinnbo.equations.symmetries import Line
from pinnbo.operators import Point, ScalarField, gradient
from pinnbo.pde import PDE

__all__ = ["Reflection", "even", "odd", "periodic", "radial"]


@dataclass(frozen=True)
class Reflection:
    """f does not change, or changes its sign alone, if one axis is reflected about a place."""

    axis: str
    about: float
    sign: float


def even(*axes: str, about: float | Sequence[float] = 0.0, field: str | None = None) -> PDE:
    """f(2 about - x) = f(x) in each of the axes; ``field`` names one of several."""
    return _reflected("even", 1.0, axes, about, field)


def odd(*axes: str, about: float | Sequence[float] = 0.0, field: str | None = None) -> PDE:
    """f(2 about - x) = -f(x) in each of the axes; ``field`` names one of several."""
    return _reflected("odd", -1.0, axes, about, field)


def radial(*axes: str, about: float | Sequence[float] = 0.0, field: str | None = None) -> PDE:
    """f depends on these axes through the distance from ``about`` alone: no rotation changes it."""
    centre = _places("radial", axes, about)
    if len(axes) < 2:
        raise ValueError(f"radial: expected two axes or more, got {', '.join(axes) or 'none'}")

    def rotations(f: ScalarField) -> Callable[[Point], Any]:
        indices = [naming.index_of(axis) for axis in axes]
        slope = gradient(f)

        def value(x: Point) -> Any:
            own = slope(x)
            arms = [x[i] - c for i, c in zip(indices, centre, strict=True)]
            pairs = [(i, j) for j in range(len(axes)) for i in range(j)]
            found = [arms[i] * own[indices[j]] - arms[j] * own[indices[i]] for i, j in pairs]
            return found[0] if len(found) == 1 else jnp.stack(found)

        return value

    return PDE(
        rotations, name=str(Line("radial", axes, tuple(centre))), fields=None if field is None else [field]
    )


def periodic(low: float, high: float, **options: Any) -> Axis:
    """An axis whose ends are the same place, as of an angle: ``Axis(low, high, periodic=True)``."""
    return Axis(low, high, periodic=True, **options)


def _reflected(
    word: str, sign: float, axes: tuple[str, ...], about: float | Sequence[float], field: str | None
) -> PDE:
    centre = _places(word, axes, about)

    def gaps(f: ScalarField) -> Callable[[Point], Any]:
        indices = [naming.index_of(axis) for axis in axes]

        def value(x: Point) -> Any:
            pairs = zip(indices, centre, strict=True)
            return jnp.stack([f(x) - sign * f(x.at[i].set(2.0 * c - x[i])) for i, c in pairs])

        return value

    found = PDE(gaps, name=str(Line(word, axes, tuple(centre))), fields=None if field is None else [field])
    found.reflections = tuple(Reflection(axis, c, sign) for axis, c in zip(axes, centre, strict=True))
    return found


def _places(word: str, axes: tuple[str, ...], about: float | Sequence[float]) -> list[float]:
    if not axes or any(not isinstance(axis, str) for axis in axes) or len(set(axes)) < len(axes):
        raise ValueError(f"{word}: expected the names of different axes, as {word}('x'), got {axes!r:.60}")
    places = [about] * len(axes) if isinstance(about, Real) else list(about)  # type: ignore[arg-type]
    if len(places) != len(axes) or any(
        isinstance(p, bool) or not isinstance(p, Real) or not math.isfinite(p) for p in places
    ):
        raise ValueError(
            f"{word}: about must be a number, or one for each of {len(axes)} axes, got {about!r:.60}"
        )
    return [float(p) for p in places]


def stated(line: Line) -> PDE:
    """What a line of a text says."""
    return {"even": even, "odd": odd, "radial": radial}[line.word](*line.axes, about=line.about)
