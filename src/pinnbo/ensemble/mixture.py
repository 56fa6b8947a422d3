"""Posteriors under several models, averaged with their evidence.

p(f | Y, U) = sum_k w_k p(f | Y, U, k),   w_k ~ p(k) p(Y | U, k): families, length scales, physics on or off.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from pinnbo.gp.posterior import Moments, Posterior
from pinnbo.physics.coordinates import Coordinates
from pinnbo.physics.functionals import Functionals

_BATCH = 1024


@dataclass(frozen=True, eq=False)
class Mixture:
    """The averaged posterior."""

    posteriors: Sequence[Posterior]
    log_weights: Float[ndarray, " k"]

    @cached_property
    def component_log_weights(self) -> Float[ndarray, " c"]:
        """One weight per posterior and hyper-parameter sample."""
        pairs = zip(self.posteriors, self.log_weights, strict=True)
        return np.concatenate([weight + posterior.samples.log_weight for posterior, weight in pairs])

    @property
    def quick_slopes(self) -> bool:
        """Whether slopes cost about as much as values, under every model."""
        return all(posterior.process.features.quick_slopes for posterior in self.posteriors)

    def measured(self) -> Float[ndarray, " n"] | None:
        """Mean of what was measured, f at points or readings; None where they are no longer kept."""
        if any(posterior.anchors is None for posterior in self.posteriors):
            return None
        means = np.concatenate([posterior.measured() for posterior in self.posteriors], axis=1)
        return _averaged(means, np.exp(self.component_log_weights))

    def remember(self, scaled: Float[ndarray, "n d"]) -> None:
        """These points will be asked for again, as the same array."""
        for posterior in self.posteriors:
            posterior.process.remember(scaled)

    def moments(self, scaled: Float[ndarray, "b d"], slopes: bool = False) -> Moments:
        """Moments of all normal components."""
        found = [posterior.moments(scaled, slopes) for posterior in self.posteriors]
        mean, variance, mean_slope, variance_slope = zip(*found, strict=True)
        return Moments(
            np.concatenate(mean, axis=-1),
            np.concatenate(variance, axis=-1),
            np.concatenate(mean_slope, axis=-1) if slopes else None,
            np.concatenate(variance_slope, axis=-1) if slopes else None,
        )

    def total(
        self, scaled: Float[ndarray, "n d"]
    ) -> tuple[Float[ndarray, " n"], Float[ndarray, "n d"], Float[ndarray, " n"], Float[ndarray, "n d"]]:
        """Mean and variance of f with their slopes."""
        mean, variance, mean_slope, variance_slope = self.moments(scaled, slopes=True)
        assert mean_slope is not None
        assert variance_slope is not None
        weights = np.exp(self.component_log_weights)
        middle = _averaged(mean, weights)
        gap = mean - middle[:, None]
        # the slope of the mixture's mean drops out of the variance's: the weighted gaps sum to zero
        slope = variance_slope @ weights + 2.0 * np.einsum("bk,bdk->bd", gap * weights, mean_slope)
        return middle, mean_slope @ weights, (variance + gap**2) @ weights, slope

    def predict(self, scaled: Float[ndarray, "n d"]) -> tuple[Float[ndarray, " n"], Float[ndarray, " n"]]:
        """Mean and standard deviation of f."""
        weights = np.exp(self.component_log_weights)
        parts = []
        for some in batches(scaled):
            means, variances, _, _ = self.moments(some)
            mean = _averaged(means, weights)
            parts.append((mean, np.sqrt((variances + (means - mean[:, None]) ** 2) @ weights)))
        mean, std = (np.concatenate(part) for part in zip(*parts, strict=True))
        return mean, std

    def predict_of(
        self, functionals: Callable[[Coordinates], Functionals]
    ) -> tuple[Float[ndarray, " n"], Float[ndarray, " n"]]:
        """Mean and standard deviation of functionals, given in the coordinates of every process."""
        found = [posterior.of(functionals(posterior.process.coordinates)) for posterior in self.posteriors]
        means = np.concatenate([moments.mean for moments in found], axis=1)
        variances = np.concatenate([moments.variance for moments in found], axis=1)
        weights = np.exp(self.component_log_weights)
        mean = _averaged(means, weights)
        return mean, np.sqrt((variances + (means - mean[:, None]) ** 2) @ weights)

    @property
    def information(self) -> float:
        """I(f; Y | U) in nats, averaged."""
        parts = [posterior.information for posterior in self.posteriors]
        return float(np.exp(self.log_weights) @ parts)


def _averaged(means: Float[ndarray, "n k"], weights: Float[ndarray, " k"]) -> Float[ndarray, " n"]:
    """Of components. Weights sum to one up to rounding, which must not be multiplied by an offset of the values."""
    return np.asarray(means[:, 0] + (means - means[:, :1]) @ weights)


def batches(scaled: Float[ndarray, "n d"]) -> list[Float[ndarray, "b d"]]:
    """In bounded memory; an array that is small enough as it is."""
    if len(scaled) <= _BATCH:
        return [scaled]
    return [scaled[start : start + _BATCH] for start in range(0, len(scaled), _BATCH)]
