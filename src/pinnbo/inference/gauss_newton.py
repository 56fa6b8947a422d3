"""Gauss-Newton for a PDE that is not linear, with the kernel in sample space.

Linearise at a function m, condition on the rows and on the observations, go from m towards the posterior mean, repeat.
The functions are known by their jets at the collocation points and their values at the measured points, all that the
equation and the data see. A step is shortened until the misfit of the equation itself falls:

    misfit = mean ((N[f](z_j) - g(z_j)) / s_j)^2 + mean ((f(x_i) - y_i) / sigma_i)^2,

s_j being the standard deviation that row j is allowed.

**What a linearisation leaves out.** For f = m + d the row at z is wrong by q = 1/2 d_J^T H d_J, with H the Hessian of
n(z, J) in the jet and d_J the jet of d, of covariance S given rows and data. With few data S is large, and rows taken
as exact would give a posterior that is far too sure of itself. Its mean square is added to the variance of the row:

    E[q^2] = 1/2 tr((H S)^2) + 1/4 tr(H S)^2.

q changes over the length scale of d, not from row to row: m rows in a box of side 2 are m prod_i (sqrt(pi) l_i / 2)
times as many as its correlation allows for, and its variance is raised by that factor. S is at first that of the
observations alone, so that the fixed point is reached from the side of doubt; it falls as the rows agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray

from pinnbo.data import Data, Standard
from pinnbo.inference.belief import Belief, fit
from pinnbo.inference.jets import JetPDE, Rows, concatenate, places
from pinnbo.inference.kernel_prior import (
    InformedKernel,
    derivative_of_rows,
    inform,
    pairs_of_derivatives,
    uninformed,
    values_as_rows,
)
from pinnbo.models.kernels import Kernel
from pinnbo.space import Space

_MOST_STEPS = 12
_LENGTHS = (1.0, 0.5, 0.25, 0.1)
_ASSUMED_NOISE = 0.02
_TILT = 0.3
_SETTLED = 0.02


class Physics:
    """All PDEs at their collocation points, as functions of one table of jets."""

    def __init__(self, equations: Sequence[tuple[JetPDE, ndarray, ndarray]]) -> None:
        self._equations = equations
        self.at_zero = concatenate([pde.rows(points, source) for pde, points, source in equations])
        self._columns = [places(pde.indices, self.at_zero.indices) for pde, _, _ in equations]

    def linearised(self, jets: Float[ndarray, "m a"]) -> Rows:
        """The rows at a function with these jets, one per row."""
        pairs = zip(self._equations, self._split(jets), strict=True)
        return concatenate([pde.rows(points, source, mine) for (pde, points, source), mine in pairs])

    def residual(self, jets: Float[ndarray, "m a"]) -> Float[ndarray, " m"]:
        """N[f] - g."""
        gaps = [
            (pde.values(points, mine) - source).ravel()
            for (pde, points, source), mine in zip(self._equations, self._split(jets), strict=True)
        ]
        return np.concatenate(gaps)

    def curvature(self, jets: Float[ndarray, "m a"]) -> Float[ndarray, "m a a"]:
        """H, the second derivatives of every row in the jet."""
        a = self.at_zero.coefficients.shape[1]
        found = []
        for (pde, points, source), mine, columns in zip(
            self._equations, self._split(jets), self._columns, strict=True
        ):
            hessian = np.zeros((source.size, a, a))
            hessian[:, np.array(columns)[:, None], columns] = pde.curvature(points, mine)
            found.append(hessian)
        return np.concatenate(found)

    def _split(self, jets: Float[ndarray, "m a"]) -> list[ndarray]:
        """The jets of each PDE: one per point, though a system has several rows there."""
        parts, start = [], 0
        for (_, _, source), columns in zip(self._equations, self._columns, strict=True):
            parts.append(jets[start : start + source.size : source.shape[1], columns])
            start += source.size
        return parts


def solve(
    physics: Physics, kernel: Kernel, data: Data, space: Space, row_noise: float
) -> InformedKernel | None:
    """The kernel given the physics, linearised near the posterior mean; None if no full step was good."""
    shift, scale = Standard.of(data.values)
    noise = np.where(np.isnan(data.noise), _ASSUMED_NOISE * scale, np.maximum(data.noise, 1e-3 * scale))
    here = _Here(physics.at_zero, kernel, space.scale(data.points))
    alone = fit(uninformed(kernel), data, space)
    jets, values = _start(physics, here.measured, shift, scale)
    neglected = _neglected(physics.curvature(jets), here.covariance(None, alone), kernel)
    best = None
    for _ in range(_MOST_STEPS):
        rows = physics.linearised(jets)
        rows = replace(rows, noise=np.sqrt(rows.noise**2 + neglected))
        prior = inform(kernel, rows, scale * _amplitude(alone), row_noise, here.gram(rows))
        belief = fit(prior, data, space)
        target, predicted = here.mean(prior, belief)
        allowed = np.sqrt(
            (row_noise * scale * np.sum(np.abs(rows.coefficients), axis=1)) ** 2 + rows.noise**2
        )

        def misfit(jets: ndarray, values: ndarray, allowed: ndarray = allowed) -> float:
            equation = np.mean((physics.residual(jets) / np.maximum(allowed, 1e-12)) ** 2)
            return float(equation + (np.mean(((values - data.values) / noise) ** 2) if len(values) else 0.0))

        before = misfit(jets, values)
        for length in _LENGTHS:
            trial, trial_values = jets + length * (target - jets), values + length * (predicted - values)
            found = misfit(trial, trial_values)
            if found < before:
                break
        else:
            break
        moved = float(np.max(np.abs(trial[:, 0] - jets[:, 0])))
        jets, values = trial, trial_values
        # the mean given a linearisation is its full step: one that was refused is not to be believed
        best = prior if length == 1.0 else best
        doubt = _neglected(physics.curvature(jets), here.covariance(prior, belief), kernel)
        settled = np.mean(np.abs(np.sqrt(doubt) - np.sqrt(neglected))) < _SETTLED * np.mean(allowed)
        neglected = doubt
        if moved < _SETTLED * scale and settled:
            break
    return best


def at_start(physics: Physics) -> Rows:
    """The rows at the function that Gauss-Newton begins with; those of a linear PDE are the same everywhere."""
    return physics.linearised(_start(physics, np.zeros((0, physics.at_zero.points.shape[1])), 0.0, 1.0)[0])


def _amplitude(belief: Belief) -> float:
    return float(np.sqrt(belief.levels.square[0]))


def _neglected(
    hessian: Float[ndarray, "m a a"], covariance: Float[ndarray, "m a a"], kernel: Kernel
) -> Float[ndarray, " m"]:
    """E[q^2] of every row, raised by the number of rows that share a q."""
    product = hessian @ covariance
    trace = np.einsum("maa->m", product)
    square = 0.5 * np.einsum("mab,mba->m", product, product) + 0.25 * trace**2
    sharing = len(hessian) * float(np.prod(np.minimum(np.sqrt(np.pi) * kernel.scale / 2.0, 1.0)))
    return np.maximum(square, 0.0) * max(1.0, sharing)


def _start(
    physics: Physics, measured: Float[ndarray, "n d"], shift: float, scale: float
) -> tuple[Float[ndarray, "m a"], Float[ndarray, " n"]]:
    """The constant, or a tilted plane where the equation has no slope at a constant."""
    rows = physics.at_zero
    jets = np.zeros_like(rows.coefficients)
    jets[:, 0] = shift
    if np.any(physics.linearised(jets).coefficients):
        return jets, np.full(len(measured), shift)
    tilt = _TILT * scale * np.random.default_rng(0).standard_normal((rows.points.shape[1],))
    jets[:, 0] += rows.points @ tilt
    for column, index in enumerate(rows.indices):
        if index.sum() == 1:
            jets[:, column] = tilt[np.argmax(index)]
    return jets, shift + measured @ tilt


class _Here:
    """Jets at the rows' points under one kernel: covariances of all derivatives are computed once."""

    def __init__(self, rows: Rows, kernel: Kernel, measured: Float[ndarray, "n d"]) -> None:
        self.measured = measured
        self._kernel, self._points, self._indices = kernel, rows.points, rows.indices
        self._pairs = pairs_of_derivatives(kernel, rows.points, rows.indices)
        self._to_values = [self._values_at(rows.points, index) for index in rows.indices]

    def gram(self, rows: Rows) -> Float[ndarray, "m m"]:
        """L_i L_j' k."""
        c = rows.coefficients
        return sum(c[:, a, None] * self._with_rows(a, rows) for a in range(c.shape[1]))

    def mean(
        self, prior: InformedKernel, belief: Belief
    ) -> tuple[Float[ndarray, "m a"], Float[ndarray, " n"]]:
        """Jets of the posterior mean of f at the rows' points, and its values at the measured points."""
        assert belief.anchors is not None
        shift, scale = belief.standard
        at_values = belief.weights[:, 0]  # at the most likely level
        on_rows = prior.back(prior.mean_weights(shift, scale) - belief.anchors.values.T @ at_values)
        jets = [
            self._with_rows(a, prior.rows) @ on_rows + to_values @ at_values
            for a, to_values in enumerate(self._to_values)
        ]
        jets[0] = jets[0] + shift / scale
        constant = np.zeros(len(self._kernel.scale), dtype=int)
        values = derivative_of_rows(self._kernel.scale, self.measured, constant, prior.rows) @ on_rows
        values += self._values_at(self.measured, constant) @ at_values
        return scale * np.stack(jets, axis=1), shift + scale * values

    def covariance(self, prior: InformedKernel | None, belief: Belief) -> Float[ndarray, "m a a"]:
        """Of the jets of f at every row's point, given the rows (if any) and the data, at the most likely level."""
        assert belief.anchors is not None
        shrink = 1.0 / (belief.eigenvalues + belief.levels.ratio[0])
        told, turned = [], []
        for a, to_values in enumerate(self._to_values):
            across = to_values
            if prior is not None:
                told.append(prior.whitened(self._with_rows(a, prior.rows).T))
                across = across - told[-1].T @ belief.anchors.values.T
            turned.append(across @ belief.turn)
        n = len(self._indices)
        found = np.empty((len(self._points), n, n))
        for a in range(n):
            for b in range(a + 1):
                left = np.diag(self._pairs[a][b]) - np.sum(turned[a] * turned[b] * shrink, axis=1)
                if prior is not None:
                    left = left - np.sum(told[a] * told[b], axis=0)
                found[:, a, b] = found[:, b, a] = left
        return belief.standard.scale**2 * float(belief.levels.square[0]) * found

    def _with_rows(self, a: int, rows: Rows) -> Float[ndarray, "m m"]:
        """Covariance of derivative a at the points with every row."""
        return sum(pair * column for pair, column in zip(self._pairs[a], rows.coefficients.T, strict=True))

    def _values_at(self, points: Float[ndarray, "k d"], index: Int[ndarray, " d"]) -> Float[ndarray, "k n"]:
        return derivative_of_rows(self._kernel.scale, points, index, values_as_rows(self.measured))
