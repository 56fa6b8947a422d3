"""Whole functions drawn from a posterior, with all derivatives, and the covariance of what they are made of.

On features, h = phi . w; w given the measurements is normal. A draw of w is a whole function, of which any derivative
at any place is a product, and the covariance of two functionals of it is closed form:

    L[h] = phi(L) . w,      cov(L[h], L'[h]) = phi(L) . A phi(L'),

    A = sum_j p_j a_j^2 (I - Psi^T B diag(1 / (e + lambda_j)) B^T Psi)          over hyper-parameter samples j,

Psi the features at the measured points and B, e the basis and eigenvalues of `pinnbo.gp.posterior`. A process that is
not on features is interpolated between inducing points first (`Process.on_features`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray

from pinnbo.data import Data
from pinnbo.gp.posterior import Posterior, condition
from pinnbo.physics.functionals import Functionals
from pinnbo.space import Space


@dataclass(frozen=True, eq=False)
class Draws:
    """Functions drawn from one posterior, which is on features."""

    posterior: Posterior
    weights: Float[ndarray, "r s"]  # of all features, the mean's included

    @classmethod
    def of(
        cls,
        posterior: Posterior,
        data: Data,
        space: Space,
        inducing: Float[ndarray, "i d"],
        n: int,
        rng: np.random.Generator,
    ) -> Draws:
        """n functions; ``inducing`` are scaled points that fill what is searched."""
        if posterior.process.rank is None:
            points = np.concatenate([space.scale(data.points), inducing])
            posterior = condition(posterior.process.on_features(points), data, space)
        mean = posterior.process.mean_weights(posterior.standard)
        pairs = [_pair(posterior, rng) for _ in range((n + 1) // 2)]
        drawn = np.stack([weights for pair in pairs for weights in pair], axis=1)
        found = np.repeat(mean[:, None], drawn.shape[1], axis=1)
        found[: len(drawn)] += drawn
        return cls(posterior, found)

    def features(self, keys: Int[ndarray, "a e"], scaled: Float[ndarray, "c d"]) -> Float[ndarray, "a c r"]:
        """Features of derivatives, field and multi-index each, in the coordinates of the process."""
        process = self.posterior.process
        points, orders = process.coordinates.of(scaled), keys[:, 1:].sum(axis=1)
        if not keys[:, 0].any() and orders.max(initial=0) <= 1:
            values, slopes = process.features(points, bool(orders.any()))
            along = [
                int(np.argmax(key[1:])) if order else None for key, order in zip(keys, orders, strict=True)
            ]
            return np.stack([values if axis is None or slopes is None else slopes[:, axis] for axis in along])
        ones, zeros = np.ones((len(points), 1)), np.zeros(len(points))
        return np.stack(
            [
                process.features.of(
                    Functionals(points, ones, key[None, 1:], zeros, zeros, key[:1] if key[0] else None)
                )
                for key in keys
            ]
        )

    def jets(self, keys: Int[ndarray, "a e"], features: Float[ndarray, "a c r"]) -> Float[ndarray, "s c a"]:
        """Derivatives of f in the user's units, of every draw."""
        shift, scale = self.posterior.standard
        found = scale * np.einsum("acr,rs->sca", features, self.weights, optimize=True)
        found[:, :, ~keys.any(axis=1)] += shift
        return found

    @cached_property
    def covariance(self) -> Float[ndarray, "r r"]:
        """scale^2 A, of the features that vary."""
        posterior, samples = self.posterior, self.posterior.samples
        seen = posterior.basis.T @ posterior.psi  # (i, r)
        shares = np.exp(samples.log_weight) * samples.square
        found = np.sum(shares) * np.eye(seen.shape[1]) - (seen.T * (shares @ posterior.shrink)) @ seen
        return np.asarray(posterior.standard.scale**2 * found)

    @property
    def n_features(self) -> int:
        """That vary; they come first."""
        return self.posterior.process.n_features


def _pair(
    posterior: Posterior, rng: np.random.Generator
) -> tuple[Float[ndarray, " r"], Float[ndarray, " r"]]:
    """A draw of the weights and its mirror image about the mean: what is linear in them then has its exact mean.

    By conditioning a draw of the prior (Matheron), as `Posterior.draw`.
    """
    psi, samples = posterior.psi, posterior.samples
    j = rng.choice(len(samples.square), p=np.exp(samples.log_weight))
    amplitude = np.sqrt(samples.square[j])
    start = amplitude * rng.standard_normal(psi.shape[1])
    noise = np.sqrt(samples.ratio[j]) * rng.standard_normal(len(posterior.scores))
    noise = amplitude * (noise + posterior.drawn_offsets(rng))

    def learnt(scores: Float[ndarray, " i"]) -> Float[ndarray, " r"]:
        return np.asarray(psi.T @ (posterior.basis @ (posterior.shrink[j] * scores)))

    mean = learnt(posterior.scores)
    deviation = start - learnt(posterior.basis.T @ (psi @ start) + noise)
    return mean + deviation, mean - deviation
