"""Linear coordinates in which the source of an equation is a sum, where those of the box are not such.

If g(x) = sum_i g_i(a_i . x) its second derivatives are

    H(x) = A^T diag(g_i''(a_i . x)) A,      a_i the rows of A,

at every x. Two combinations of them with random weights, H' and H'', hence have H'^-1 H'' = A^-1 (diagonal) A: the
columns of A^-1 are its eigenvectors. Whether g is such a sum is seen by whether A^-T H A^-1 is diagonal for all H. For
the box' own coordinates this is seen without derivatives: g(x, y) - g(x, y') - g(x', y) + g(x', y') vanishes wherever
they are divided into x and y.

Coordinates y = A s are scaled such that the box is within [-1, 1]^d and touches its faces: |a_i|_1 = 1. The box is not
all of that cube, and the equation is stated on the box alone. A line along which only y_i changes therefore leaves it
soon; `Turn.chords` are lines that together reach most of what y_i is on the box, from corner to corner.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from pinnbo.pde import PDE, Coordinates
from pinnbo.space import Space

_N_POINTS = 16
_SUM = 1e-9
_DIAGONAL = 1e-7  # of the largest entry: what is off the diagonal of a matrix that is diagonal
_WORST_CONDITION = 1e8
_N_CHORDS = 5


@dataclass(frozen=True, eq=False)
class Turn:
    """y = A s."""

    matrix: Float[ndarray, "d d"]

    @classmethod
    def of(cls, space: Space, physics: Sequence[PDE]) -> Turn | None:
        """The coordinates that the sources ask for; None if the box' own will do, or none would."""
        everywhere = [pde for pde in physics if pde.points is None]
        if space.dim == 1 or all(_has_sum_as_source(pde, space) for pde in everywhere):
            return None
        points = space.sobol(_N_POINTS, seed=19)
        found = [h for pde in everywhere for h in pde.source_curvature(points) if np.isfinite(h).all()]
        half = space.half_width
        curvatures = np.array(found).reshape(-1, space.dim, space.dim) * np.outer(half, half)
        if len(curvatures) < 2:
            return None
        weights = np.random.default_rng(0).standard_normal((2, len(curvatures)))
        first, second = np.tensordot(weights, curvatures, axes=1)
        if np.linalg.cond(first) > _WORST_CONDITION:
            return None
        inverse = np.linalg.eig(np.linalg.solve(first, second))[1]
        if np.iscomplexobj(inverse) or np.linalg.cond(inverse) > _WORST_CONDITION:
            return None
        if not _is_diagonal(inverse.T @ curvatures @ inverse):
            return None
        matrix = np.linalg.inv(inverse)
        return cls(matrix / np.sum(np.abs(matrix), axis=1, keepdims=True))

    @cached_property
    def inverse(self) -> Float[ndarray, "d d"]:
        """s = A^-1 y."""
        return np.asarray(np.linalg.inv(self.matrix))

    def coordinates(self, space: Space) -> Coordinates:
        """y of the user's coordinates, and back."""
        return Coordinates(
            lambda x: self.matrix @ ((x - space.centre) / space.half_width),
            lambda y: space.centre + space.half_width * (self.inverse @ y),
        )

    def to_box(self, turned: Float[ndarray, "*n d"]) -> Float[ndarray, "*n d"]:
        """s of y, the nearest in the box."""
        return np.clip(turned @ self.inverse.T, -1.0, 1.0)

    def chords(self, axis: int) -> tuple[Float[ndarray, "c d"], Float[ndarray, "c 2"]]:
        """The middle of every chord, and from where to where y_axis is on it; through points between two corners."""
        through = np.linspace(-1.0, 1.0, _N_CHORDS)[:, None] * np.sign(self.matrix[axis])
        direction = self.inverse[:, axis]
        ends = (np.array([[-1.0], [1.0]]) - through[:, None]) / np.where(direction == 0, np.inf, direction)
        still = direction == 0
        low = np.where(still, -np.inf, ends.min(axis=1)).max(axis=1)
        high = np.where(still, np.inf, ends.max(axis=1)).min(axis=1)
        middle = (through + 0.5 * (low + high)[:, None] * direction) @ self.matrix.T
        half = 0.5 * (high - low)
        return middle, middle[:, [axis]] + half[:, None] * np.array([-1.0, 1.0])


class TurnedSpace(Space):
    """The cube that y is in."""

    turn: Turn

    @classmethod
    def of(cls, turn: Turn) -> TurnedSpace:
        """Of the box that is turned."""
        space = cls(**{f"y{i}": (-1.0, 1.0) for i in range(len(turn.matrix))})
        space.turn = turn
        return space

    def sobol(self, n: int, seed: int | Sequence[int]) -> Float[ndarray, "n d"]:
        """Points of the box."""
        return np.asarray(super().sobol(n, seed) @ self.turn.matrix.T)


def _has_sum_as_source(pde: PDE, space: Space) -> bool:
    """Whether the source is a sum of functions of one of the box' own coordinates, where it is finite."""
    rng = np.random.default_rng(3)
    x, other = space.sobol(_N_POINTS, seed=19), space.sobol(_N_POINTS, seed=23)
    first = rng.random(x.shape) < 0.5
    corners = [x, np.where(first, x, other), np.where(first, other, x), other]
    values = pde.source_at(np.concatenate(corners)).reshape(4, _N_POINTS, -1)
    with np.errstate(invalid="ignore"):
        left = values[0] - values[1] - values[2] + values[3]
    size = np.max(np.abs(values), axis=0)
    return not np.any(np.abs(left) > _SUM * size)


def _is_diagonal(matrices: Float[ndarray, "n d d"]) -> bool:
    """Of all matrices, against the sizes that their entries have in any of them."""
    size = np.sqrt(np.mean(np.diagonal(matrices, axis1=1, axis2=2) ** 2, axis=0))
    off = matrices * (1.0 - np.eye(matrices.shape[1]))
    return bool(np.max(np.abs(off)) <= _DIAGONAL * np.max(size, initial=1e-300))
