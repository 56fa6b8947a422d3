"""A particular solution of an equation with constant coefficients: P(d/ds) psi = g, psi a polynomial.

psi is a sum of Chebyshev products c_n T_n of a total degree that meets the equation at scattered places in the
least-squares sense. Adding any solution without source would do as well; a small and smooth one is wanted, with the
least sum of (1 + |n|)^4 c_n^2, since a prior of waves would have to take away what is large in it (a ridge that goes to
zero, by iterated Tikhonov steps). Whether the polynomial follows the source between the places is seen at others that
were held out. A source that is smooth on the box is met to many digits; one with edges is not, and has no particular
solution here.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray
from numpy.polynomial import chebyshev
from scipy.linalg import cho_factor, cho_solve

from pinnbo.physics.symbol import Symbol

_DEGREES = {1: (48, 96), 2: (20, 40), 3: (10, 16)}  # total, by dimension: up to some 900 polynomials
_HELD_OUT = 0.25  # of the places
_FOLLOWS = 1e-3  # of the source's size may be missed between the places
_RIDGE = 1e-12  # of the mean square
_STEPS = 4  # each takes away what the ridge has left of the residual


@dataclass(frozen=True, eq=False)
class Polynomial:
    """A sum of Chebyshev products."""

    degrees: Int[ndarray, "k d"]
    coefficients: Float[ndarray, " k"]

    @classmethod
    def zero(cls, dim: int) -> Polynomial:
        """Without terms."""
        return cls(np.zeros((0, dim), dtype=int), np.zeros(0))

    def __call__(
        self, points: Float[ndarray, "b d"], derivative: Int[ndarray, " d"] | None = None
    ) -> Float[ndarray, " b"]:
        """A derivative at points."""
        if len(self.coefficients) == 0:
            return np.zeros(len(points))
        order = np.zeros(points.shape[1], dtype=int) if derivative is None else derivative
        return np.asarray(_products(points, self.degrees, order) @ self.coefficients)


def particular(symbol: Symbol) -> Polynomial | None:
    """A solution of P psi = g; None where no polynomial follows the source."""
    if not symbol.source.any():
        return Polynomial.zero(symbol.dim)
    found = (_of_degree(symbol, degree) for degree in _DEGREES[symbol.dim])
    return next((psi for psi in found if psi is not None), None)


def _of_degree(symbol: Symbol, limit: int) -> Polynomial | None:
    grid = np.stack(np.meshgrid(*[np.arange(limit + 1)] * symbol.dim, indexing="ij"), axis=-1)
    degrees = grid.reshape(-1, symbol.dim)
    degrees = degrees[degrees.sum(axis=1) <= limit]
    image = np.zeros((len(symbol.places), len(degrees)))
    for index, coefficient in zip(symbol.derivatives, symbol.coefficients, strict=True):
        image += coefficient * _products(symbol.places, degrees, index)
    # the places are a Sobol sequence: its end fills the box as its beginning does, every fourth of it would not
    held_out = np.arange(len(image)) >= (1.0 - _HELD_OUT) * len(image)
    size = (1.0 + degrees.sum(axis=1)) ** 2
    table, coefficients = image[~held_out] / size, np.zeros(len(degrees))
    square = table.T @ table
    square[np.diag_indices_from(square)] += _RIDGE * np.trace(square) / len(square)
    factor = cho_factor(square, overwrite_a=True, check_finite=False)
    for _ in range(_STEPS):
        gap = symbol.source[~held_out] - image[~held_out] @ coefficients
        coefficients = coefficients + cho_solve(factor, table.T @ gap, check_finite=False) / size
    gap = image[held_out] @ coefficients - symbol.source[held_out]
    if np.linalg.norm(gap) > _FOLLOWS * np.linalg.norm(symbol.source[held_out]):
        return None
    return Polynomial(degrees, coefficients)


def _products(
    points: Float[ndarray, "b d"], degrees: Int[ndarray, "k d"], order: Int[ndarray, " d"]
) -> Float[ndarray, "b k"]:
    """Derivatives of Chebyshev products at points."""
    found = np.ones((len(points), len(degrees)))
    for axis, times in enumerate(order):
        highest = int(degrees[:, axis].max())
        lower = chebyshev.chebder(np.eye(highest + 1), int(times))
        table = chebyshev.chebvander(points[:, axis], len(lower) - 1) @ lower
        found = found * table[:, degrees[:, axis]]
    return found
