"""How much of a field an equation leaves open: a rough count of numbers that measurements have to find.

A smooth field is taken for a sum of Legendre polynomials P_k(z_1) P_l(z_2) ... of total degree K <= p, in scaled
coordinates, with independent coefficients of standard deviation r^K. Its Karhunen-Loeve modes over the box have the
mean squares l_i, the eigenvalues of the covariance of its values at n even points divided by n, and

    gamma = sum_i l_i / (l_i + s^2)

counts those that matter at the accuracy s, here 1% of the field's size. Conditioned on rows of the equation, linearised
at a field of typical size, the covariance is smaller, and so is gamma.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray
from numpy.polynomial import legendre

from pinnbo.equations.typical import reference
from pinnbo.pde import PDE
from pinnbo.physics.jets import JetPDE
from pinnbo.space import Space

_DEGREES = {
    1: 20,
    2: 12,
    3: 7,
}  # about a hundred polynomials each; by then r^K is below the noise in the plane
_DECAY = 0.6  # r: a field that changes about once over the box
_ACCURACY = 0.01
# of the size of a row under the prior: polynomials solve an equation only nearly, while a condition can be met
_ROW_NOISE, _CONDITION_NOISE = 1e-3, 1e-6


class Count(NamedTuple):
    """Numbers that a map of the measured field to 1% needs, without the equations and with them."""

    without: float
    given: float


def count(physics: Sequence[PDE], space: Space, n_fields: int, scale: float) -> Count | None:
    """Of the first field; None in more than three dimensions, where polynomials are too many."""
    if space.dim not in _DEGREES:
        return None
    degree = _DEGREES[space.dim]
    indices = np.array([k for k in product(range(degree + 1), repeat=space.dim) if sum(k) <= degree])
    weights = _DECAY ** indices.sum(axis=1)
    points = space.scale(space.sobol(4 * len(indices), seed=31))
    values = _features(points, indices, np.zeros(space.dim, dtype=int)) * weights
    size = np.sqrt(np.mean(np.sum(values**2, axis=1)))
    # the posterior of the coefficients of all fields, of which the first are those of the measured one
    precision = np.eye(n_fields * len(indices))
    for pde in physics:
        rows = _rows(pde, space, indices, weights, n_fields, scale)
        spread = np.sqrt(np.sum(rows**2, axis=1))
        usable = np.isfinite(spread) & (spread > 0)
        noise = _ROW_NOISE if pde.points is None else _CONDITION_NOISE
        scaled = rows[usable] / (noise * spread[usable, None])
        precision += scaled.T @ scaled
    covariance = np.linalg.inv(precision)[: len(indices), : len(indices)]
    return Count(_modes(values, np.eye(len(indices)), size), _modes(values, covariance, size))


def _modes(values: Float[ndarray, "n p"], covariance: Float[ndarray, "p p"], size: float) -> float:
    """gamma, for polynomials with these values and coefficients with this covariance."""
    # the eigenvalues of V C V^T are those of L^T V^T V L, with C = L L^T
    eigenvalues, vectors = np.linalg.eigh(0.5 * (covariance + covariance.T))
    root = vectors * np.sqrt(np.clip(eigenvalues, 0.0, None))
    found = np.linalg.svd(values @ root / np.sqrt(len(values)), compute_uv=False) ** 2
    return float(np.sum(found / (found + (_ACCURACY * size) ** 2)))


def _rows(
    pde: PDE,
    space: Space,
    indices: Int[ndarray, "p d"],
    weights: Float[ndarray, " p"],
    n_fields: int,
    scale: float,
) -> Float[ndarray, "m c"]:
    """The rows of an equation, as functions of the coefficients of all polynomials of all fields."""
    jet = JetPDE(space, pde)
    points = space.scale(space.sobol(2 * len(indices), seed=37) if pde.points is None else pde.points)
    found = jet.rows(points, np.zeros((len(points), pde.n_equations(space))), reference(jet, points, scale))
    numbers = jet.fields
    rows = np.zeros((len(found.points), n_fields, len(indices)))
    for number, derivative, coefficient in zip(numbers, jet.derivatives, found.coefficients.T, strict=True):
        rows[:, number] += coefficient[:, None] * _features(found.points, indices, derivative) * weights
    return rows.reshape(len(rows), -1)


def _features(
    points: Float[ndarray, "n d"], indices: Int[ndarray, "p d"], derivative: Int[ndarray, " d"]
) -> Float[ndarray, "n p"]:
    """A derivative of all polynomials at scaled points; each has a mean square of one over its axis."""
    found = np.ones((len(points), len(indices)))
    degree = int(indices.max())
    for axis, order in enumerate(derivative.tolist()):
        identity = np.diag(np.sqrt(2 * np.arange(degree + 1) + 1))
        slopes = legendre.legder(identity, order) if order else identity
        values = legendre.legval(points[:, axis], slopes).T  # (n, degree + 1)
        found *= values[:, indices[:, axis]]
    return found
