"""Gauss-Newton for a PDE that is not linear, with the kernel in sample space.

Linearise at a function, condition on the rows and on the observations, go from the function towards the posterior
mean, repeat. The functions are known by their jets at the collocation points and their values at the measured points,
all that the equation and the data see. A step is shortened until the misfit of the equation itself falls:

    misfit = mean ((N[f](z_j) - g(z_j)) / (tau s r_j))^2 + mean ((f(x_i) - y_i) / sigma_i)^2,

r_j being the sum of a row's coefficients and s the scale of the values.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray

from pinnbo.data import Data, Standard
from pinnbo.inference.belief import Belief, fit
from pinnbo.inference.jets import JetPDE, Rows, concatenate, places
from pinnbo.inference.kernel_prior import InformedKernel, derivative_of_rows, inform, values_as_rows
from pinnbo.models.kernels import Kernel
from pinnbo.space import Space

_MOST_STEPS = 12
_LENGTHS = (1.0, 0.5, 0.25, 0.1)
_ASSUMED_NOISE = 0.02
_TILT = 0.3


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

    def misfit(jets: Float[ndarray, "m a"], values: Float[ndarray, " n"], rows: Rows) -> float:
        sizes = np.maximum(np.sum(np.abs(rows.coefficients), axis=1), 1e-12)
        equation = np.mean((physics.residual(jets) / (row_noise * scale * sizes)) ** 2)
        return float(equation + (np.mean(((values - data.values) / noise) ** 2) if len(values) else 0.0))

    jets, values = _start(physics, space.scale(data.points), shift, scale)
    reached, best = np.inf, None
    for _ in range(_MOST_STEPS):
        rows = physics.linearised(jets)
        prior = inform(kernel, rows, scale, row_noise)
        target, predicted = _mean_jets(prior, fit(prior, data, space))
        for length in _LENGTHS:
            trial, trial_values = jets + length * (target - jets), values + length * (predicted - values)
            found = misfit(trial, trial_values, rows)
            if found < reached:
                break
        else:
            break
        converged = found > 0.98 * reached
        jets, values, reached = trial, trial_values, found
        # the mean given a linearisation is its full step: one that was refused is not to be believed
        best = prior if length == 1.0 else best
        if converged:
            break
    return best


def at_start(physics: Physics) -> Rows:
    """The rows at the function that Gauss-Newton begins with; those of a linear PDE are the same everywhere."""
    return physics.linearised(_start(physics, np.zeros((0, physics.at_zero.points.shape[1])), 0.0, 1.0)[0])


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


def _mean_jets(prior: InformedKernel, belief: Belief) -> tuple[Float[ndarray, "m a"], Float[ndarray, " n"]]:
    """Jets of the posterior mean of f at the rows' points, and its values at the measured points."""
    shift, scale = belief.standard
    rows, lengths = prior.rows, prior.kernel.scale
    at_values = belief.weights[:, 0]  # at the most likely level
    assert belief.anchors is not None
    on_rows = prior.back(prior.mean_weights(shift, scale) - belief.anchors.values.T @ at_values)
    measured = belief.anchors.points

    def mean(at: Float[ndarray, "k d"], index: Int[ndarray, " d"]) -> Float[ndarray, " k"]:
        through_rows = derivative_of_rows(lengths, at, index, rows) @ on_rows
        return through_rows + derivative_of_rows(lengths, at, index, values_as_rows(measured)) @ at_values

    jets = scale * np.stack([mean(rows.points, index) for index in rows.indices], axis=1)
    jets[:, 0] += shift
    return jets, shift + scale * mean(measured, np.zeros(measured.shape[1], dtype=int))
