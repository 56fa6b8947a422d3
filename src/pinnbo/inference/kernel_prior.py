"""A Gaussian process given the physics, in sample space: functionals applied to both arguments of the kernel.

=======  ==========================================================================================  ==========
symbol   meaning                                                                                     shape
=======  ==========================================================================================  ==========
k        kernel of h, its constant included
L_j      functional of row j: a combination of derivatives at a collocation point (`pinnbo.inference.jets`)
G        L_i L_j' k, the rows' covariance; r_j^2 = G_jj                                               (m, m)
D        noise variances of the rows, r_j^2 tau^2 + (noise_j / scale)^2                               (m,)
C        Cholesky factor of I + D^-1/2 G D^-1/2, whose eigenvalues are 1 to m / tau^2                  (m, m)
v(t)     C^-1 D^-1/2 L k(., t)                                                                        (m,)
=======  ==========================================================================================  ==========

Given the rows, h has mean v(t) . C^-1 D^-1/2 target and covariance k(s, t) - v(s) . v(t): no basis, no truncation.

Derivatives of the RBF kernel are Hermite polynomials: with u = (s - t) / l,

    (d/ds)^p (d/dt)^q exp(-u^2 / 2) = (-1)^p l^-(p+q) He_{p+q}(u) exp(-u^2 / 2).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray
from scipy.linalg import cholesky, solve_triangular

from pinnbo.inference.jets import Rows
from pinnbo.inference.prior import Codes, Informed
from pinnbo.models.kernels import CONSTANT, Kernel

_BLOCK = 256


@dataclass(frozen=True, eq=False)
class KernelAndRows:
    """What priors that are made of a kernel have in common."""

    kernel: Kernel
    rows: Rows

    @property
    def dim(self) -> int:
        """Number of coordinates."""
        return len(self.kernel.scale)

    @property
    def has_physics(self) -> bool:
        """Whether any equation acts on it."""
        return len(self.rows.own) > 0


@dataclass(frozen=True, eq=False)
class InformedKernel(KernelAndRows, Informed):
    """The prior of h given the physics; the code of a point is v(t)."""

    factor: Float[ndarray, "m m"]  # C
    unit: Float[ndarray, " m"]  # D^1/2

    def codes(self, points: Float[ndarray, "b d"], slopes: bool = False) -> Codes:
        """v(t), and its slopes in t."""
        values, along = rows_at(self.kernel, points, self.rows, slopes)
        if not self.has_physics:
            return Codes(points, values, along)
        if along is None:
            return Codes(points, self.whitened(values.T).T, None)
        together = np.concatenate([values[:, None], along], axis=1)  # one solve for all
        white = self.whitened(together.reshape(-1, values.shape[1]).T).T.reshape(together.shape)
        return Codes(points, white[:, 0], white[:, 1:])

    def mean_weights(self, shift: float, scale: float) -> Float[ndarray, " m"]:
        """C^-1 D^-1/2 target."""
        return self.whitened((self.rows.own - shift * self.rows.constant) / scale)

    def whitened(self, right: Float[ndarray, "m ..."]) -> Float[ndarray, "m ..."]:
        """C^-1 D^-1/2 right."""
        if not self.has_physics:
            return right
        scaled = (right.T / self.unit).T
        return np.asarray(solve_triangular(self.factor, scaled, lower=True, check_finite=False))

    def back(self, right: Float[ndarray, "m ..."]) -> Float[ndarray, "m ..."]:
        """D^-1/2 C^-T right."""
        solved = solve_triangular(self.factor, right, lower=True, trans="T", check_finite=False)
        return np.asarray((solved.T / self.unit).T)

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
    return InformedKernel(kernel, none, np.zeros((0, 0)), np.zeros(0))


def inform(
    kernel: Kernel,
    rows: Rows,
    scale: float,
    row_noise: float,
    gram: Float[ndarray, "m m"] | None = None,
    misfit: float = 0.0,
) -> InformedKernel:
    """Condition an RBF kernel on the physics; ``row_noise`` is tau, relative to the rows' prior sizes.

    ``gram``, the rows' covariance, may be given if it is known; it is overwritten. With a ``misfit`` eps the equation
    is taken to be N[f] = g + e with a smooth unknown e, whose standard deviation is a share eps of what N[f] is
    expected to be: eps^2 r_i r_j exp(-|z_i - z_j|^2 / 2), distances in length scales, is added to G.
    """
    gram = covariance_of_rows(kernel, rows, rows) if gram is None else gram
    size = np.sqrt(np.maximum(np.diag(gram), 0.0))
    if not size.any():  # nothing is said about h
        return uninformed(kernel)
    # a row on which the operator is degenerate is not blown up
    size = np.maximum(size, 1e-6 * size.max())
    if misfit > 0:
        gram += misfit**2 * np.outer(size, size) * (kernel.values(rows.points, rows.points) - CONSTANT**2)
    unit = size * np.sqrt(row_noise**2 + (rows.noise / (scale * size)) ** 2)
    gram /= np.outer(unit, unit)
    gram[np.diag_indices_from(gram)] += 1.0
    factor = cholesky(gram, lower=True, overwrite_a=True, check_finite=False)
    return InformedKernel(kernel, rows, factor, unit)


def unbound(prior: InformedKernel, held_out: Rows) -> float:
    """Share of the prior variance that the equation keeps at points between the rows: 0 where they bind it there."""
    if not prior.has_physics:
        return 1.0
    alone = np.diag(covariance_of_rows(prior.kernel, held_out, held_out))
    told = prior.whitened(covariance_of_rows(prior.kernel, prior.rows, held_out))
    counts = alone > 0
    return float(np.mean(1.0 - np.sum(told**2, axis=0)[counts] / alone[counts])) if counts.any() else 0.0


def source_error(prior: InformedKernel, held_out: Rows) -> float:
    """Error of the source predicted at points between the rows, relative to its size; 0 where it vanishes."""
    size = float(np.sqrt(np.mean(held_out.own**2)))
    if size == 0.0 or not prior.has_physics:
        return 0.0
    told = prior.whitened(covariance_of_rows(prior.kernel, prior.rows, held_out))
    gap = told.T @ prior.mean_weights(0.0, 1.0) - held_out.own
    return float(np.sqrt(np.mean(gap**2))) / size


def covariance_of_rows(kernel: Kernel, some: Rows, others: Rows) -> Float[ndarray, "n m"]:
    """L_i L_j' k, by blocks of rows: the tables of derivatives are many times larger."""
    parts = []
    for start in range(0, len(some.own), _BLOCK):
        block = slice(start, start + _BLOCK)
        tables = _Tables(kernel.scale, some.points[block], others, int(some.indices.max()))
        part = np.zeros((len(some.own[block]), len(others.own)))
        for index, column in zip(some.indices, some.coefficients.T, strict=True):
            part += column[block, None] * tables.derivative(index)
        parts.append(part)
    return np.concatenate(parts)


def pairs_of_derivatives(
    kernel: Kernel, points: Float[ndarray, "m d"], indices: Int[ndarray, "a d"]
) -> list[list[Float[ndarray, "m m"]]]:
    """(d/ds)^a (d/dt)^b k(s, t) between all points, for all pairs of derivatives."""
    tables = _Tables(kernel.scale, points, values_as_rows(points), 2 * int(indices.max()))
    return [[tables.pair(a, b) for b in indices] for a in indices]


def derivative_of_rows(
    scale: Float[ndarray, " d"], at: Float[ndarray, "n d"], index: Int[ndarray, " d"], rows: Rows
) -> Float[ndarray, "n m"]:
    """(d/ds)^index L_j k(s, .) at s: one index of the rows' covariance, and of the jet of a posterior mean."""
    return _Tables(scale, at, rows, int(index.max())).derivative(index)


def rows_at(
    kernel: Kernel, points: Float[ndarray, "b d"], rows: Rows, slopes: bool
) -> tuple[Float[ndarray, "b m"], Float[ndarray, "b d m"] | None]:
    """L_j k(s, .) at points, and its slopes in s if asked for."""
    b, d = points.shape
    if len(rows.own) == 0:
        return np.zeros((b, 0)), np.zeros((b, d, 0)) if slopes else None
    tables = _Tables(kernel.scale, points, rows, int(slopes))
    values = tables.derivative(np.zeros(d, dtype=int))
    if not slopes:
        return values, None
    return values, np.stack([tables.derivative(index) for index in np.eye(d, dtype=int)], axis=1)


class _Tables:
    """Derivatives of one-dimensional kernels between points and rows, from which all of the kernel's are products."""

    def __init__(
        self, scale: Float[ndarray, " d"], at: Float[ndarray, "n d"], rows: Rows, highest: int
    ) -> None:
        order = int(rows.indices.max()) + highest
        gaps = [
            np.subtract.outer(s, t) / length for s, t, length in zip(at.T, rows.points.T, scale, strict=True)
        ]
        self._rows = rows
        self._tables = [_hermite(u, float(length), order) for u, length in zip(gaps, scale, strict=True)]
        self._bump = np.exp(-0.5 * sum(u * u for u in gaps))

    def pair(self, index: Int[ndarray, " d"], other: Int[ndarray, " d"]) -> Float[ndarray, "n m"]:
        """(d/ds)^index (d/dt)^other k(s, t)."""
        term = (-1.0) ** index.sum() * self._bump
        for axis in np.flatnonzero(index + other):
            term = term * self._tables[axis][index[axis] + other[axis]]
        return term if index.any() or other.any() else term + CONSTANT**2

    def derivative(self, index: Int[ndarray, " d"]) -> Float[ndarray, "n m"]:
        """(d/ds)^index L_j k(s, .)."""
        rows = self._rows
        total = np.zeros_like(self._bump)
        for other, column in zip(rows.indices, rows.coefficients.T, strict=True):
            term = np.broadcast_to(column, total.shape)
            for axis in np.flatnonzero(index + other):
                term = term * self._tables[axis][index[axis] + other[axis]]
            total += term
        total *= (-1.0) ** index.sum() * self._bump
        return total if index.any() else total + CONSTANT**2 * rows.constant


def values_as_rows(points: Float[ndarray, "n d"]) -> Rows:
    """Plain values at points, as rows."""
    n, d = points.shape
    return Rows(points, np.ones((n, 1)), np.zeros(n), np.zeros(n), np.zeros((1, d), dtype=int))


def _hermite(u: Float[ndarray, "n m"], length: float, order: int) -> list[Float[ndarray, "n m"]]:
    """l^-n He_n(u), n up to an order, by He_{n+1} = u He_n - n He_{n-1}."""
    step = u / length
    found = [np.ones_like(u), step]
    for n in range(1, order):
        found.append(step * found[n] - (n / length**2) * found[n - 1])
    return found
