"""Lemma 1 at work: the Gaussian posterior of a linearised parametrised function, in the user's units.

=============  ==================================================================================
symbol         meaning
=============  ==================================================================================
f              f_ref(x) + s * phi(x) . w, w ~ N(0, I), phi scaled to |phi|^2 = 1 on average
f_ref          the parametrised function at the parameters where it is linearised
s              prior standard deviation of f around f_ref, in the user's units (`spread`)
omega_j, r_j   d/dw of N[f](z_j) / s, and its norm; rows are divided by r_j
lambda1        (noise of an observation / s)^2
lambda2        (noise of the source / (s r_j))^2 + row_noise^2
=============  ==================================================================================

The physics is conditioned on once; observations enter by updates of the factor. The spread s, which
conditioning shrinks, and the noise where it is not known maximise log p(Y | U): given the physics,

    y - m ~ N(0, s^2 (C + lambda1 I)),   C = covariance of phi . w given U, m = mean of f given U,

and one eigendecomposition of C serves every s and lambda1. A log-normal prior of spread e^1.5 around the
standard deviation of the values keeps a few observations from deciding.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Float
from numpy import ndarray

from pinnbo.data import Data
from pinnbo.inference.gaussian import Posterior, SampleSpace, condition
from pinnbo.inference.rows import observation_rows, physics_rows, physics_values
from pinnbo.models.field import Parametrised, Units
from pinnbo.pde import PDE, Collocation
from pinnbo.space import Space

Physics = Sequence[tuple[PDE, Collocation]]

_SPREADS = np.geomspace(1e-2, 1e2, 49)
_RELATIVE_NOISE = np.geomspace(1e-3, 1.0, 25)
_LOG_SPREAD_SD = 1.5


class PhysicsRows:
    """Normalised rows of all PDEs at their collocation points, at one linearisation, and their factor."""

    def __init__(
        self,
        space: Space,
        model: Parametrised,
        parameters: Any,
        units: Units,
        physics: Physics,
        factor: float,
        row_noise: float,
    ) -> None:
        self._model, self._parameters, self._physics = model, parameters, physics
        self._is_linear = all(pde.is_linear(space) for pde, _ in physics)
        self._row_noise = row_noise
        rows = [physics_rows(model, pde, parameters, units, data.points) for pde, data in physics]
        omega = np.concatenate([r.matrix for r in rows]) * factor
        size = np.linalg.norm(omega, axis=1)
        # a row on which the operator is degenerate is not blown up
        self.size = np.maximum(size, 1e-6 * size.max())
        self.matrix = omega / self.size[:, None]
        self._source = np.concatenate([data.source.ravel() for _, data in physics])
        self._target = (self._source - np.concatenate([r.values for r in rows])) / self.size
        noise = np.concatenate([np.full(data.source.size, pde.noise) for pde, data in physics])
        self.variance = (noise / self.size) ** 2
        self._factorised: Posterior | None = None

    def shifted(self, units: Units) -> PhysicsRows | None:
        """The rows around another shift of f, if they are the same there: N is linear."""
        if not self._is_linear:
            return None
        values = [
            physics_values(self._model, pde, self._parameters, units, data.points)
            for pde, data in self._physics
        ]
        other = copy.copy(self)
        other._target = (self._source - np.concatenate(values)) / self.size
        return other

    def condition(self, spread: float) -> Posterior:
        """Lemma 1 given the PDE data alone; factorised once unless the source is noisy."""
        target = self._target / spread
        if np.any(self.variance):
            return condition(self.matrix, target, self.variance / spread**2 + self._row_noise**2)
        if self._factorised is None:
            self._factorised = condition(self.matrix, target, self._row_noise**2)
        if isinstance(self._factorised, SampleSpace):
            return self._factorised.with_targets(target, self._row_noise**2)
        return condition(self.matrix, target, self._row_noise**2)


@dataclass(frozen=True, eq=False)
class Surrogate:
    """Posterior of f given physics and observations. It never changes: `observed` returns a new one."""

    model: Parametrised
    parameters: Any
    units: Units
    factor: float
    spread: float
    noise: float
    """sd assumed of an observation that came without one."""
    physics_log_det: float
    posterior: Posterior
    log_evidence: float
    """log p(Y | U) at the chosen spread and noise."""

    @classmethod
    def fit(
        cls,
        space: Space,
        model: Parametrised,
        parameters: Any,
        units: Units,
        equations: PhysicsRows | None,
        factor: float,
        data: Data,
    ) -> Surrogate:
        """Condition on the physics, set spread and noise by the evidence, condition on the observations.

        ``factor`` is `unit_factor` of the same function, ``equations`` its rows.
        """
        values = data.values
        spread = (float(np.std(values)) if len(values) else 0.0) or 1.0
        informed = _informed(equations, parameters, spread)
        surrogate = cls(model, parameters, units, factor, spread, 0.0, informed.log_det, informed, 0.0)
        if len(values) == 0:
            return surrogate
        spread, noise, evidence = surrogate._choose(data)
        informed = _informed(equations, parameters, spread)
        surrogate = replace(
            surrogate,
            spread=spread,
            noise=noise,
            physics_log_det=informed.log_det,
            posterior=informed,
            log_evidence=evidence,
        )
        return surrogate.observed(data.points, values, data.noise)

    def observed(
        self, points: Float[ndarray, "n d"], values: Float[ndarray, " n"], noise: Float[ndarray, " n"]
    ) -> Surrogate:
        """The surrogate after further observations."""
        phi, reference = self._rows(points)
        deviation = np.where(np.isnan(noise), self.noise, noise)
        # a measurement is never trusted beyond a millionth of the spread, the algebra's own precision
        variance = (deviation / self.spread) ** 2 + 1e-12
        return replace(
            self, posterior=self.posterior.append(phi, (values - reference) / self.spread, variance)
        )

    def predict(self, points: Float[ndarray, "n d"]) -> tuple[ndarray, ndarray]:
        """Mean and standard deviation of f (Lemma 1)."""
        phi, reference = self._rows(points)
        mean = reference + self.spread * self.posterior.mean(phi)
        return mean, self.spread * np.sqrt(self.posterior.variance(phi))

    def function_weights(self, w: Float[ndarray, " p"]) -> Float[ndarray, " p"]:
        """Deviation of the parameters that makes the linearised function f_ref + s * phi . w."""
        return self.spread * self.factor * w

    @property
    def conditional_information(self) -> float:
        """I(f; Y | U) of the observations so far."""
        return max(0.0, 0.5 * (self.posterior.log_det - self.physics_log_det))

    def _rows(self, points: ndarray) -> tuple[ndarray, ndarray]:
        rows = observation_rows(self.model, self.parameters, self.units, points)
        return self.factor * rows.matrix, rows.values

    def _choose(self, data: Data) -> tuple[float, float, float]:
        """Spread, noise of the observations that came without, and log p(Y | U) there."""
        points, values, noise, _ = data
        phi, reference = self._rows(points)
        covariance = self.posterior.covariance(phi)
        residual = values - reference - self.spread * self.posterior.mean(phi)
        known = not np.isnan(noise).any()
        # one noise level for the choice: the eigenvectors then serve all settings
        level = np.sqrt(np.mean(noise[~np.isnan(noise)] ** 2)) if known else np.nan
        eigenvalues, vectors = np.linalg.eigh(covariance)
        energy = (vectors.T @ residual) ** 2
        centre = max(float(np.std(values)), level if known else 0.0) or 1.0
        best = (-np.inf, self.spread, 0.0)
        for spread in centre * _SPREADS:
            for deviation in [level] if known else spread * _RELATIVE_NOISE:
                variances = spread**2 * np.maximum(eigenvalues, 0.0) + deviation**2 + 1e-12 * spread**2
                evidence = -0.5 * np.sum(energy / variances + np.log(2 * np.pi * variances))
                prior = -0.5 * (np.log(spread / centre) / _LOG_SPREAD_SD) ** 2
                if evidence + prior > best[0]:
                    best = (evidence + prior, spread, deviation)
        return float(best[1]), float(best[2]), float(best[0])


def unit_factor(space: Space, model: Parametrised, parameters: Any, units: Units) -> float:
    """What phi has to be multiplied by for a mean prior variance of one over the box."""
    phi = observation_rows(model, parameters, units, space.sobol(64, seed=3)).matrix
    return float(1.0 / np.sqrt(np.mean(np.sum(phi**2, axis=1))))


def _informed(equations: PhysicsRows | None, parameters: Any, spread: float) -> Posterior:
    if equations is not None:
        return equations.condition(spread)
    return SampleSpace.prior(int(ravel_pytree(parameters)[0].size))
