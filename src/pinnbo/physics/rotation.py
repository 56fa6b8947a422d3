"""Linear coordinates in which the source of an equation is a sum, where those of the box are not such.

If g(x) = sum_i g_i(a_i . x) its second derivatives are

    H(x) = A^T diag(g_i''(a_i . x)) A,      a_i the rows of A,

at every x. Two combinations of them with random weights, H' and H'', hence have H'^-1 H'' = A^-1 (diagonal) A: the
columns of A^-1 are its eigenvectors. Whether g is such a sum is seen by whether A^-T H A^-1 is diagonal for all H. For
the box' own coordinates this is seen without derivatives: g(x, y) - g(x, y') - g(x', y) + g(x', y') vanishes wherever
they are divided into x and y.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from pinnbo.pde import PDE
from pinnbo.physics.coordinates import Rotated
from pinnbo.space import Space

_N_POINTS = 16
_SUM = 1e-9
_DIAGONAL = 1e-7  # of the largest entry: what is off the diagonal of a matrix that is diagonal
_WORST_CONDITION = 1e8


def separating_rotation(space: Space, physics: Sequence[PDE]) -> Rotated | None:
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
    return Rotated(matrix / np.sum(np.abs(matrix), axis=1, keepdims=True))


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
