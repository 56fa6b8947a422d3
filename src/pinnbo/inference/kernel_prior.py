"""A Gaussian process given the physics, in sample space: functionals applied to both arguments of the kernel.

=======  ==========================================================================================  ==========
symbol   meaning                                                                                     shape
=======  ==========================================================================================  ==========
k        kernel of h, its constant included
L_j      functional of row j: a combination of derivatives at a collocation point (`pinnbo.inference.jets`)
G        L_i L_j' k, the rows' covariance; r_j^2 = G_jj                                               (m, m)
D        noise variances of the rows, r_j^2 tau^2 + (noise_j / scale)^2                               (m,)
V, e     eigenvectors and eigenvalues of D^-1/2 G D^-1/2
W        (1 + e)^-1/2 V^T D^-1/2, so that W^T W = (G + D)^-1                                          (m, m)
v(t)     W L k(., t)                                                                                  (m,)
=======  ==========================================================================================  ==========

Given the rows, h has mean v(t) . W target and covariance k(s, t) - v(s) . v(t): no basis, no truncation.

Derivatives of the RBF kernel are Hermite polynomials: with u = (s - t) / l,

    (d/ds)^p (d/dt)^q exp(-u^2 / 2) = (-1)^p l^-(p+q) He_{p+q}(u) exp(-u^2 / 2).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray
from scipy.linalg import eigh

from pinnbo.inference.jets import Rows
from pinnbo.inference.prior import Codes, Informed
from pinnbo.models.kernels import CONSTANT, Kernel

_NOTHING = 1e-3


@dataclass(frozen=True, eq=False)
class InformedKernel(Informed):
    """The prior of h given the physics; the code of a point is v(t)."""

    kernel: Kernel
    rows: Rows
    whiten: Float[ndarray, "m m"]  # W

    @property
    def dim(self) -> int:
        """Number of coordinates."""
        return len(self.kernel.scale)

    def codes(self, points: Float[ndarray, "b d"], slopes: bool = False) -> Codes:
        """v(t), and its slopes in t."""
        nothing = np.zeros(points.shape[1], dtype=int)
        values = derivative_of_rows(self.kernel.scale, points, nothing, self.rows) @ self.whiten.T
        if not slopes:
            return Codes(points, values, None)
        along = [
            derivative_of_rows(self.kernel.scale, points, index, self.rows)
            for index in np.eye(points.shape[1], dtype=int)
        ]
        return Codes(points, values, np.stack(along, axis=1) @ self.whiten.T)

    def mean_weights(self, shift: float, scale: float) -> Float[ndarray, " m"]:
        """W target."""
        return self.whiten @ (self.rows.own - shift * self.rows.constant) / scale

    def covariance(
        self, at: Codes, anchors: Codes
    ) -> tuple[Float[ndarray, "b n"], Float[ndarray, "b d n"] | None]:
        """k(s, t) - v(s) . v(t)."""
        values = self.kernel.values(at.points, anchors.points) - at.values @ anchors.values.T
        if at.slopes is None:
            return values, None
        return values, self.kernel.slopes(at.points, anchors.points) - at.slopes @ anchors.values.T

    def variance(self, at: Codes) -> tuple[Float[ndarray, " b"], Float[ndarray, "b d"] | None]:
        """k(s, s) - |v(s)|^2."""
        values = self.kernel.variance - np.sum(at.values**2, axis=1)
        return values, None if at.slopes is None else -2.0 * np.einsum("bm,bdm->bd", at.values, at.slopes)


def uninformed(kernel: Kernel) -> InformedKernel:
    """The prior without physics."""
    d = len(kernel.scale)
    none = Rows(np.zeros((0, d)), np.zeros((0, 1)), np.zeros(0), np.zeros(0), np.zeros((1, d), dtype=int))
    return InformedKernel(kernel, none, np.zeros((0, 0)))


def inform(kernel: Kernel, rows: Rows, scale: float, row_noise: float) -> InformedKernel:
    """Condition an RBF kernel on the physics; ``row_noise`` is tau, relative to the rows' prior sizes."""
    gram = sum(
        column[:, None] * derivative_of_rows(kernel.scale, rows.points, index, rows)
        for index, column in zip(rows.indices, rows.coefficients.T, strict=True)
    )
    size = np.sqrt(np.maximum(np.diag(gram), 0.0))
    if not size.any():  # nothing is said about h
        return InformedKernel(kernel, rows, np.zeros((0, len(rows.own))))
    # a row on which the operator is degenerate is not blown up
    size = np.maximum(size, 1e-6 * size.max())
    noise = row_noise**2 + (rows.noise / (scale * size)) ** 2
    # in units of its noise a row combination counts by its eigenvalue e: those far below the noise tell nothing
    unit = size * np.sqrt(noise)
    eigenvalues, vectors = eigh(gram / np.outer(unit, unit), check_finite=False)
    told = eigenvalues > _NOTHING
    whiten = vectors[:, told].T / np.sqrt(1.0 + eigenvalues[told])[:, None] / unit
    return InformedKernel(kernel, rows, whiten)


def derivative_of_rows(
    scale: Float[ndarray, " d"], at: Float[ndarray, "n d"], index: Int[ndarray, " d"], rows: Rows
) -> Float[ndarray, "n m"]:
    """(d/ds)^index L_j k(s, .) at s: one index of the rows' covariance, and of the jet of a posterior mean."""
    highest = int(rows.indices.max()) + int(index.max())
    u = (at.T[:, :, None] - rows.points.T[:, None, :]) / scale[:, None, None]
    tables = _hermite(u, highest) / (scale ** np.arange(highest + 1)[:, None])[:, :, None, None]
    total = np.zeros((len(at), len(rows.points)))
    for other, column in zip(rows.indices, rows.coefficients.T, strict=True):
        term = np.broadcast_to(column, total.shape)
        for axis in np.flatnonzero(index + other):
            term = term * tables[index[axis] + other[axis], axis]
        total += term
    total *= (-1.0) ** index.sum() * np.exp(-0.5 * np.sum(u**2, axis=0))
    return total if index.any() else total + CONSTANT**2 * rows.constant


def values_as_rows(points: Float[ndarray, "n d"]) -> Rows:
    """Plain values at points, as rows."""
    n, d = points.shape
    return Rows(points, np.ones((n, 1)), np.zeros(n), np.zeros(n), np.zeros((1, d), dtype=int))


def _hermite(u: Float[ndarray, ...], order: int) -> Float[ndarray, "o ..."]:
    """He_0 .. He_order of u, by He_{n+1} = u He_n - n He_{n-1}."""
    found = [np.ones_like(u), u]
    for n in range(1, order):
        found.append(u * found[n] - n * found[n - 1])
    return np.stack(found[: order + 1])
