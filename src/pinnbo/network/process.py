"""Lemma 1: the network linearised at some weights, given the PDE data, as one more process on features.

    f(x) = f_ref(x) + a scale phi(x) . w,   w ~ N(0, I),   phi = grad_theta f / scale of unit mean square over the box,

=========  ==============================================================================  ========
symbol     meaning                                                                         shape
=========  ==============================================================================  ========
f_ref      the network at the weights where it is linearised
omega_j    d/dw of N[f](z_j), of norm r_j                                                  (p,)
D          noise variances of the rows, r_j^2 row_noise^2 + (noise of the source / scale)^2  (m,)
B          D^-1/2 omega                                                                    (m, p)
C          Cholesky factor of I + B B^T                                                    (m, m)
v(x)       C^-1 B phi(x): covariance of phi(x) . w given the rows is phi . phi' - v . v'   (m,)
=========  ==============================================================================  ========

The process' features are (phi, v, f_ref, 1), with signs (+, -, 0, 0); amplitude a, noise and observations are the
posterior's (`pinnbo.gp.posterior`). A draw is a whole function, known by its weights.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Float
from numpy import ndarray
from scipy.linalg import cholesky, solve_triangular

from pinnbo.gp.posterior import Posterior
from pinnbo.gp.process import FeatureMap, Process
from pinnbo.network.features import observation_rows, physics_rows, physics_values
from pinnbo.network.field import Parametrised, Units
from pinnbo.pde import PDE, Collocation
from pinnbo.space import Space

Physics = Sequence[tuple[PDE, Collocation]]


@dataclass(frozen=True, eq=False)
class LinearisedNetwork(FeatureMap):
    """The features of a network given PDE data; ``targets`` are what the rows are to be, D^-1/2 (u - N[f_ref])."""

    space: Space
    model: Parametrised
    parameters: Any
    units: Units
    factor: float
    rows: Float[ndarray, "m p"]  # B
    triangle: Float[ndarray, "m m"]  # C
    targets: Float[ndarray, " m"]
    sizes: Float[ndarray, " m"]  # D^1/2

    @classmethod
    def at(
        cls,
        space: Space,
        model: Parametrised,
        parameters: Any,
        units: Units,
        physics: Physics,
        row_noise: float,
        scale: float,
    ) -> LinearisedNetwork:
        """Linearise at parameters, and condition on the PDEs at their collocation points."""
        phi = observation_rows(model, parameters, units, space.sobol(64, seed=3)).matrix
        factor = float(1.0 / np.sqrt(np.mean(np.sum(phi**2, axis=1))))
        p = int(ravel_pytree(parameters)[0].size)
        if not physics:
            none = np.zeros((0, p)), np.zeros((0, 0)), np.zeros(0), np.zeros(0)
            return cls(space, model, parameters, units, factor, *none)
        omega, norm, noise, gap = pde_rows(model, parameters, units, physics)
        sizes = np.sqrt((row_noise * factor * norm) ** 2 + (noise / scale) ** 2)
        rows = factor * omega / sizes[:, None]
        triangle = cholesky(np.eye(len(rows)) + rows @ rows.T, lower=True)
        return cls(space, model, parameters, units, factor, rows, triangle, gap / sizes, sizes)

    def shifted(self, units: Units, physics: Physics) -> LinearisedNetwork:
        """The same rows around another shift of f; only for PDEs that are linear."""
        if not physics:
            return replace(self, units=units)
        pairs = [
            data.source.ravel() - physics_values(self.model, pde, self.parameters, units, data.points)
            for pde, data in physics
        ]
        return replace(self, units=units, targets=np.concatenate(pairs) / self.sizes)

    def process(self) -> Process:
        """Lemma 1 given the PDE data alone."""
        m, p = self.rows.shape
        sign = np.concatenate([np.ones(p), -np.ones(m), [0.0, 0.0]])
        means = np.zeros((p + m + 2, 2))
        means[p : p + m, 0] = self._solve(self.targets)
        means[-2:] = np.eye(2)
        return Process(self.space.dim, self, sign, means, has_physics=m > 0)

    def __call__(
        self, points: Float[ndarray, "b d"], slopes: bool
    ) -> tuple[Float[ndarray, "b r"], Float[ndarray, "b d r"] | None]:
        """phi, v, f_ref and a constant; slopes are had from whole functions, by automatic differentiation."""
        if slopes:
            raise TypeError("linearised network: expected slopes of a drawn function, not of all features")
        found = observation_rows(self.model, self.parameters, self.units, self.space.unscale(points))
        phi = self.factor * found.matrix
        told = self._solve(self.rows @ phi.T).T
        return np.column_stack([phi, told, found.values, np.ones(len(points))]), None

    @property
    def information(self) -> float:
        """I(f; U) = log det C."""
        return float(np.sum(np.log(np.diag(self.triangle))))

    def mean_weights(self, posterior: Posterior) -> Float[ndarray, " p"]:
        """Weights of the posterior mean of f, at the most likely amplitude: f = f_ref + (d f / d theta) . weights."""
        return self._weights(posterior, 0, np.zeros)

    def draw(self, posterior: Posterior, rng: np.random.Generator) -> Float[ndarray, " p"]:
        """Weights of a draw of the whole function (Matheron): perturb the prior and the targets, and solve."""
        sample = rng.choice(len(posterior.samples.square), p=np.exp(posterior.samples.log_weight))
        return self._weights(posterior, sample, rng.standard_normal)

    def explained(self, posterior: Posterior) -> Float[ndarray, "k p"]:
        """E with variance of f = a^2 scale^2 (|phi|^2 - |E phi|^2), at the most likely amplitude."""
        seen = posterior.basis.T @ self._given_rows(posterior.psi.T).T
        return np.concatenate([self._solve(self.rows), np.sqrt(posterior.shrink[0])[:, None] * seen])

    def _weights(
        self, posterior: Posterior, sample: int, normal: Callable[[int], Float[ndarray, " k"]]
    ) -> Float[ndarray, " p"]:
        """Condition a function on the rows, then on the observations."""
        m, p = self.rows.shape
        scale, samples = posterior.standard.scale, posterior.samples
        amplitude = np.sqrt(samples.square[sample])
        start, row_noise = amplitude * normal(p), amplitude * normal(m)
        noise = amplitude * np.sqrt(samples.ratio[sample]) * normal(len(posterior.scores))
        mean = self.rows.T @ self._back(self._solve(self.targets / scale))
        w = start - self.rows.T @ self._back(self._solve(self.rows @ start + row_noise))
        # scores are those of the observations minus the mean given the rows
        gap = posterior.scores - posterior.basis.T @ (posterior.psi @ w) - noise
        w = w + self._given_rows(posterior.psi.T @ (posterior.basis @ (posterior.shrink[sample] * gap)))
        return np.asarray(scale * self.factor * (mean + w))

    def _given_rows(self, right: Float[ndarray, "p ..."]) -> Float[ndarray, "p ..."]:
        """(I + B^T B)^-1 right: covariance of the weights given the rows, over a^2."""
        return np.asarray(right - self.rows.T @ self._back(self._solve(self.rows @ right)))

    def _solve(self, right: Float[ndarray, "m ..."]) -> Float[ndarray, "m ..."]:
        """C^-1 right."""
        return np.asarray(solve_triangular(self.triangle, right, lower=True, check_finite=False))

    def _back(self, right: Float[ndarray, "m ..."]) -> Float[ndarray, "m ..."]:
        """C^-T right."""
        return np.asarray(solve_triangular(self.triangle, right, lower=True, trans="T", check_finite=False))


def pde_rows(
    model: Parametrised, parameters: Any, units: Units, physics: Physics
) -> tuple[ndarray, ndarray, ndarray, ndarray]:
    """omega of all PDEs at their collocation points, its norms, the source's noise, and u - N[f_ref]."""
    found = [physics_rows(model, pde, parameters, units, data.points) for pde, data in physics]
    omega = np.concatenate([rows.matrix for rows in found])
    norm = np.linalg.norm(omega, axis=1)
    noise = np.concatenate([np.full(data.source.size, pde.noise) for pde, data in physics])
    gap = np.concatenate([data.source.ravel() for _, data in physics])
    # a row on which the operator is degenerate is not blown up
    return omega, np.maximum(norm, 1e-6 * norm.max()), noise, gap - np.concatenate([r.values for r in found])
