"""A black box with everything that is known about it: box, PDE, truth, best value, range, noise."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from numbers import Real
from typing import Literal

import numpy as np
from jaxtyping import Float
from numpy import ndarray
from numpy.typing import ArrayLike

from pinnbo.operators import ScalarField
from pinnbo.pde import PDE
from pinnbo.space import Space

# points that an optimiser pushed over the edge by rounding still count as inside
_EDGE = 1e-9


@dataclasses.dataclass(frozen=True, eq=False)
class Problem:
    """One optimisation problem.

    ``optimum`` is the best value over the box, taken at ``x_best``; ``range`` is the largest value minus the
    smallest; ``noise`` is the standard deviation of an observation. ``field`` is the solution of the PDE as a
    JAX function of a 1-D array, or None where no closed form is known. ``evaluate`` is the black box behind
    `truth`, and ``rebuild`` makes the same problem on another box.
    """

    name: str
    space: Space
    pde: PDE = dataclasses.field(repr=False)
    goal: Literal["minimize", "maximize"]
    optimum: float
    range: float
    noise: float
    x_best: Float[ndarray, " d"] = dataclasses.field(repr=False)
    evaluate: Callable[[Float[ndarray, "n d"]], Float[ndarray, " n"]] = dataclasses.field(repr=False)
    rebuild: Callable[[Space], Problem] = dataclasses.field(repr=False)
    field: ScalarField | None = dataclasses.field(default=None, repr=False)

    def __post_init__(self) -> None:
        number = isinstance(self.noise, Real) and not isinstance(self.noise, bool)
        if not (number and math.isfinite(self.noise) and self.noise >= 0):
            raise ValueError(
                f"{self.name}: noise must be a finite standard deviation >= 0, got {self.noise!r}"
            )
        self.x_best.flags.writeable = False

    def truth(self, points: ArrayLike) -> Float[ndarray, " n"]:
        """Values without noise at points (n, d) of the box."""
        array = self.space.as_points(points, self.name)
        margin = _EDGE * (self.space.upper - self.space.lower)
        outside = ((array < self.space.lower - margin) | (array > self.space.upper + margin)).any(axis=1)
        if outside.any():
            raise ValueError(
                f"{self.name}: expected points of {self.space}, got {array[outside][0].tolist()}"
            )
        return np.asarray(self.evaluate(np.clip(array, self.space.lower, self.space.upper)), dtype=float)

    def observe(self, x: ArrayLike, rng: np.random.Generator) -> float:
        """One measurement at one point: the truth plus normal noise."""
        values = self.truth(x)
        if len(values) != 1:
            raise ValueError(f"{self.name}: observe takes one point at a time, got {len(values)}")
        return float(values[0] + self.noise * rng.standard_normal())

    def shifted(self, lower: ArrayLike, upper: ArrayLike) -> Problem:
        """The same field, PDE and noise on another box, with the best value and the range of that box."""
        bounds = np.broadcast_to(lower, self.space.dim), np.broadcast_to(upper, self.space.dim)
        pairs = zip(self.space.names, bounds[0].tolist(), bounds[1].tolist(), strict=True)
        space = Space(**{name: (low, high) for name, low, high in pairs})
        return dataclasses.replace(self.rebuild(space), noise=self.noise)


def paper_noise(span: float) -> float:
    """Standard deviation of the paper's noise, whose variance is 1% of the range."""
    return math.sqrt(0.01 * span)
