"""What is asked for, checked against the space: a larger domain, the places of conditions, fixed coordinates."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np

from pinnbo.ensemble.outliers import PRIOR
from pinnbo.pde import PDE
from pinnbo.region import Region
from pinnbo.space import Space


def checked_domain(domain: Any, space: Space) -> Space:
    """The domain, if it is a space with the same axes that holds the searched one."""
    if not isinstance(domain, Space):
        raise TypeError(f"Optimizer: domain must be a Space, got {type(domain).__name__}")
    if domain.names != space.names:
        raise ValueError(
            f"Optimizer: domain must have the axes {list(space.names)[:6]}, got {list(domain.names)[:6]}"
        )
    for name, inner, outer in zip(space.names, space.axes, domain.axes, strict=True):
        if inner.low < outer.low or inner.high > outer.high:
            raise ValueError(
                f"Optimizer: domain must hold the searched space, but {name} is searched from {inner.low:g} to "
                f"{inner.high:g} and the domain has it from {outer.low:g} to {outer.high:g}"
            )
        if inner.log != outer.log:
            raise ValueError(f"Optimizer: {name} must be log in both space and domain, or in neither")
        if inner.periodic:
            raise ValueError(f"Optimizer: {name} is periodic; expected that of the domain alone")
    return domain


def check_places(pde: PDE, domain: Space) -> None:
    """Raise if a PDE has points of its own outside: a condition there acts on nothing that is looked at."""
    if pde.points is None:
        return
    margin = 1e-6 * domain.half_width
    outside = np.any((pde.points < domain.lower - margin) | (pde.points > domain.upper + margin), axis=1)
    if outside.any():
        where = np.round(pde.points[outside][0], 6).tolist()
        raise ValueError(
            f"{pde.name}: the point {where} lies outside {domain}; state a larger one, "
            "Optimizer(..., domain=Space(...)), if the equations hold there"
        )


def as_probability(robust: Any) -> float | None:
    """The prior probability of a reading being an outlier; None where there are none."""
    if isinstance(robust, bool):
        return PRIOR if robust else None
    if not isinstance(robust, Real) or not 0 < float(robust) < 0.5:
        raise ValueError(
            f"Optimizer: robust must be True, False or the probability of a reading being an outlier, between 0 and "
            f"0.5, got {robust!r:.60}"
        )
    return float(robust)


def with_fixed(domain: Space, space: Space, fixed: Mapping[str, float]) -> Region:
    """What is left of a space to be searched with some coordinates held."""
    if not isinstance(fixed, Mapping):
        raise TypeError(f"ask: fixed must be a table such as {{'t': 3.0}}, got {fixed!r:.60}")
    held: dict[str, float] = {}
    for name, value in fixed.items():
        if name not in space.names:
            raise ValueError(f"ask: fixed names {name!r}; expected some of {list(space.names)[:6]}")
        axis = space.axes[space.names.index(name)]
        if (
            isinstance(value, bool)
            or not isinstance(value, Real)
            or not axis.low <= float(value) <= axis.high
        ):
            raise ValueError(
                f"ask: fixed {name} must be a number from {axis.low:g} to {axis.high:g}, got {value!r:.60}"
            )
        nearest = float(axis.on_grid(np.array([float(value)]))[0])
        if axis.step is not None and abs(nearest - float(value)) > 1e-9 * axis.step:
            raise ValueError(
                f"ask: fixed {name} must be on its grid of step {axis.step:g}, got {value!r:.60}; "
                f"the nearest is {nearest:g}"
            )
        held[name] = nearest if axis.step is not None else float(value)
    return Region(domain, None if domain is space else space, held)
