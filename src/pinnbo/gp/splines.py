"""Tensor-product B-splines on [-1, 1]^d: n equal cells an axis, n + p functions of degree p, smooth to order p - 1.

In a cell, with t in [0, 1] across it, p + 1 of the functions of an axis differ from zero. They are the pieces of one
function, the cardinal B-spline, and polynomials in t: B_j(t) = sum_i M_ij t^i, with M from

    B^0 = 1,      B^p_j(t) = ((t + p - j) B^{p-1}_{j-1}(t) + (1 + j - t) B^{p-1}_j(t)) / p,      j = 0, ..., p.

So a functional has (p + 1)^d coefficients for each of its cells, and a list of functionals is a sparse matrix.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import perm

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray
from scipy.sparse import csr_array

from pinnbo.physics.functionals import Functionals


@dataclass(frozen=True)
class Splines:
    """The basis; coefficients are numbered with the last axis running first."""

    dim: int
    n_cells: int  # along an axis
    degree: int

    @property
    def size(self) -> int:
        """Number of functions of an axis."""
        return self.n_cells + self.degree

    def matrix(self, functionals: Functionals) -> csr_array:
        """L_j of every basis function, a row for each functional."""
        cell, t = self._located(functionals.points)
        local = np.zeros((len(t), (self.degree + 1) ** self.dim))
        for _, index, column in functionals.terms:
            local += column[:, None] * self._products(t, index)
        if functionals.starts is None:
            row = np.arange(len(t))
        else:
            row = np.repeat(
                np.arange(len(functionals)), np.diff(functionals.starts, append=len(functionals.points))
            )
        columns = self._columns(cell)
        shape = (len(functionals), self.size**self.dim)
        rows = np.repeat(row, local.shape[1])
        return csr_array((local.ravel(), (rows, columns.ravel())), shape=shape)

    def field(
        self, points: Float[ndarray, "b d"], coefficients: Float[ndarray, " q"], index: tuple[int, ...]
    ) -> Float[ndarray, " b"]:
        """A derivative of the function with these coefficients."""
        cell, t = self._located(points)
        return np.einsum("bl,bl->b", self._products(t, index), coefficients[self._columns(cell)])

    def _located(self, points: Float[ndarray, "b d"]) -> tuple[Int[ndarray, "b d"], Float[ndarray, "b d"]]:
        """The cell of a point, and where in it: beyond the box its polynomials go on."""
        place = 0.5 * (points + 1.0) * self.n_cells
        cell = np.clip(np.floor(place).astype(int), 0, self.n_cells - 1)
        return cell, place - cell

    def _products(self, t: Float[ndarray, "b d"], index: tuple[int, ...]) -> Float[ndarray, "b l"]:
        """A derivative of the functions that are not zero in a cell."""
        found = np.ones((len(t), 1))
        for axis, order in enumerate(index):
            along = _derivative(self.degree, order, t[:, axis]) * (0.5 * self.n_cells) ** order
            products = found[:, :, None] * along[:, None, :]
            found = products.reshape(len(t), found.shape[1] * along.shape[1])  # also of no points
        return found

    def _columns(self, cell: Int[ndarray, "b d"]) -> Int[ndarray, "b l"]:
        """The numbers of the functions that are not zero in a cell."""
        found = np.zeros((len(cell), 1), dtype=int)
        for axis in range(self.dim):
            along = cell[:, axis, None] + np.arange(self.degree + 1)
            numbers = found[:, :, None] * self.size + along[:, None, :]
            found = numbers.reshape(len(cell), found.shape[1] * along.shape[1])
        return found


def _derivative(degree: int, order: int, t: Float[ndarray, " b"]) -> Float[ndarray, "b l"]:
    """(d/dt)^order of the pieces of the cardinal B-spline."""
    if order > degree:
        return np.zeros((len(t), degree + 1))
    powers = t[:, None] ** np.arange(degree + 1 - order)
    factors = np.array([perm(i, order) for i in range(order, degree + 1)])
    return powers @ (factors[:, None] * _pieces(degree)[order:])


@lru_cache
def _pieces(degree: int) -> Float[ndarray, "i l"]:
    """M: a row for every power of t, a column for every function of the cell."""
    found = np.ones((1, 1))
    for p in range(1, degree + 1):
        grown = np.zeros((p + 1, p + 1))
        for j in range(p + 1):
            for other, constant, slope in ((j - 1, p - j, 1.0), (j, 1 + j, -1.0)):
                if 0 <= other < p:
                    grown[:-1, j] += constant * found[:, other] / p
                    grown[1:, j] += slope * found[:, other] / p
        found = grown
    return found
