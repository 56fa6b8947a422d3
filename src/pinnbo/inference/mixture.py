"""Beliefs under several settings, averaged with their evidence.

p(f | Y, U) = sum_k w_k p(f | Y, U, k),   w_k ~ p(k) p(Y | U, k): families, length scales, physics on or off.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from pinnbo.acquisition.improvement import log_expected_improvement
from pinnbo.acquisition.search import Objective
from pinnbo.inference.belief import Belief, Moments, Reference

_BATCH = 512
_STILL = 1e-9  # of a measurement's deviation: what the incumbent itself moves by, so that logarithms exist


@dataclass(frozen=True, eq=False)
class Mixture:
    """The averaged belief."""

    beliefs: Sequence[Belief]
    log_weights: Float[ndarray, " k"]

    @property
    def component_log_weights(self) -> Float[ndarray, " c"]:
        """One weight per belief and level."""
        pairs = zip(self.beliefs, self.log_weights, strict=True)
        return np.concatenate([weight + belief.levels.log_weight for belief, weight in pairs])

    def moments(self, points: Float[ndarray, "b d"], slopes: bool = False) -> Moments:
        """Moments of all normal components."""
        return _joined([belief.moments(points, slopes) for belief in self.beliefs])

    def total(
        self, points: Float[ndarray, "n d"]
    ) -> tuple[Float[ndarray, " n"], Float[ndarray, "n d"], Float[ndarray, " n"], Float[ndarray, "n d"]]:
        """Mean and variance of f with their slopes."""
        mean, variance, mean_slope, variance_slope = self.moments(points, slopes=True)
        assert mean_slope is not None
        assert variance_slope is not None
        weights = np.exp(self.component_log_weights)
        middle = mean @ weights
        gap = mean - middle[:, None]
        # the slope of the mixture's mean drops out of the variance's: the weighted gaps sum to zero
        slope = variance_slope @ weights + 2.0 * np.einsum("bk,bdk->bd", gap * weights, mean_slope)
        return middle, mean_slope @ weights, (variance + gap**2) @ weights, slope

    @property
    def information(self) -> float:
        """I(f; Y | U) in nats, averaged over the beliefs."""
        parts = [belief.information for belief in self.beliefs]
        return float(np.exp(self.log_weights) @ parts)

    def predict(self, points: Float[ndarray, "n d"]) -> tuple[Float[ndarray, " n"], Float[ndarray, " n"]]:
        """Mean and standard deviation of f at scaled points."""
        weights = np.exp(self.component_log_weights)
        mean, std = np.zeros(len(points)), np.zeros(len(points))
        for start in range(0, len(points), _BATCH):
            batch = slice(start, start + _BATCH)
            means, variances, _, _ = self.moments(points[batch])
            mean[batch] = means @ weights
            std[batch] = np.sqrt((variances + (means - mean[batch, None]) ** 2) @ weights)
        return mean, std


def _in_pieces(
    function: Callable[[Float[ndarray, "b d"]], Float[ndarray, " b"]], points: Float[ndarray, "n d"]
) -> Float[ndarray, " n"]:
    return np.concatenate([function(points[i : i + _BATCH]) for i in range(0, len(points), _BATCH)])


def _joined(found: Sequence[Moments]) -> Moments:
    mean, variance, mean_slope, variance_slope = zip(*found, strict=True)
    slopes = mean_slope[0] is not None
    return Moments(
        np.concatenate(mean, axis=-1),
        np.concatenate(variance, axis=-1),
        np.concatenate(mean_slope, axis=-1) if slopes else None,
        np.concatenate(variance_slope, axis=-1) if slopes else None,
    )


class Gain(Objective):
    """-log of what a measurement is expected to gain, for every component of a mixture."""

    noise: float  # variance of a measurement

    def values(self, points: Float[ndarray, "n d"]) -> Float[ndarray, " n"]:
        """In bounded memory."""
        return _in_pieces(lambda some: self._improvement(some, False)[0], points)

    def values_and_slopes(
        self, points: Float[ndarray, "n d"]
    ) -> tuple[Float[ndarray, " n"], Float[ndarray, "n d"]]:
        """By the chain rule through the moments."""
        return self._improvement(points, True)

    @abstractmethod
    def _improvement(self, points: Float[ndarray, "b d"], slopes: bool) -> tuple[ndarray, ndarray]:
        """Values, and slopes if asked for."""


@dataclass(frozen=True, eq=False)
class Improvement(Gain):
    """-log of the expected improvement of the posterior mean where it is measured, for every component of a mixture.

    A measurement with noise of variance v moves the mean of a component by sigma' = sigma^2 / sqrt(sigma^2 + v) in the
    root mean square, which takes the place of sigma in EI: what is known to within the noise is not measured again.
    """

    mixture: Mixture
    sign: float
    best: float
    noise: float  # variance of a measurement

    def _improvement(self, points: Float[ndarray, "b d"], slopes: bool) -> tuple[ndarray, ndarray]:
        mean, variance, mean_slope, variance_slope = self.mixture.moments(points, slopes)
        told = np.sqrt(variance + self.noise)
        weights = self.mixture.component_log_weights
        value, by_mean, by_std = log_expected_improvement(
            weights, self.sign * mean, variance / told, self.best
        )
        if mean_slope is None or variance_slope is None:
            return -value, np.zeros_like(points)
        slope = self.sign * np.einsum("bk,bdk->bd", by_mean, mean_slope)
        by_variance = by_std * (0.5 * variance + self.noise) / told**3
        slope += np.einsum("bk,bdk->bd", by_variance, variance_slope)
        return -value, -slope


@dataclass(frozen=True, eq=False)
class Gradient(Gain):
    """-log of the knowledge gradient of a point and the incumbent, for every component of a mixture.

    A measurement at x with noise of variance v moves the difference of the means at x and at the incumbent x* by

        sigma' = |sigma^2(x) - c(x, x*)| / sqrt(sigma^2(x) + v)

    in the root mean square, c being the covariance of f at both. It takes the place of sigma in EI, and the difference
    that of the mean. To measure the incumbent's valley once more, and find it lower or higher by what noise does, gains
    nothing.
    """

    mixture: Mixture
    sign: float
    incumbent: Float[ndarray, " d"]
    noise: float  # variance of a measurement

    @cached_property
    def _references(self) -> list[Reference]:
        return [belief.reference(self.incumbent) for belief in self.mixture.beliefs]

    @cached_property
    def _at_incumbent(self) -> Float[ndarray, " k"]:
        return np.asarray(self.mixture.moments(self.incumbent[None]).mean[0])

    def _improvement(self, points: Float[ndarray, "b d"], slopes: bool) -> tuple[ndarray, ndarray]:
        pairs = zip(self.mixture.beliefs, self._references, strict=True)
        moments, shared = zip(*(b.compared(points, r, slopes) for b, r in pairs), strict=True)
        mean, variance, mean_slope, variance_slope = _joined(moments)
        told = np.sqrt(variance + self.noise)
        left = variance - np.concatenate([part.values for part in shared], axis=-1)
        std = np.abs(left) / told + _STILL * told
        weights = self.mixture.component_log_weights
        value, by_mean, by_std = log_expected_improvement(
            weights, self.sign * (mean - self._at_incumbent), std, 0.0
        )
        if mean_slope is None or variance_slope is None:
            return -value, np.zeros_like(points)
        slope = self.sign * np.einsum("bk,bdk->bd", by_mean, mean_slope)
        shared_slope = np.concatenate([part.slopes for part in shared], axis=-1)
        slope += np.einsum("bk,bdk->bd", by_std * np.sign(left) / told, variance_slope - shared_slope)
        by_told = by_std * (_STILL - np.abs(left) / told**2)
        slope += np.einsum("bk,bdk->bd", by_told / (2.0 * told), variance_slope)
        return -value, -slope


@dataclass(frozen=True, eq=False)
class Spread(Objective):
    """-log of the variance of a mixture: least where a measurement tells most."""

    mixture: Mixture

    def values(self, points: Float[ndarray, "n d"]) -> Float[ndarray, " n"]:
        """In bounded memory."""
        return -2.0 * np.log(self.mixture.predict(points)[1])

    def values_and_slopes(
        self, points: Float[ndarray, "n d"]
    ) -> tuple[Float[ndarray, " n"], Float[ndarray, "n d"]]:
        """By the chain rule through the moments."""
        _, _, variance, slope = self.mixture.total(points)
        return -np.log(variance), -slope / variance[:, None]


@dataclass(frozen=True, eq=False)
class Contest(Objective):
    """-log of the ratio of variances: least where one mixture foretells a measurement and the other does not."""

    sure: Mixture
    unsure: Mixture
    noise: float  # variance of a measurement

    def values(self, points: Float[ndarray, "n d"]) -> Float[ndarray, " n"]:
        """In bounded memory."""
        sure, unsure = (mixture.predict(points)[1] ** 2 for mixture in (self.sure, self.unsure))
        return np.log(sure + self.noise) - np.log(unsure + self.noise)

    def values_and_slopes(
        self, points: Float[ndarray, "n d"]
    ) -> tuple[Float[ndarray, " n"], Float[ndarray, "n d"]]:
        """By the chain rule through the moments."""
        (_, _, sure, sure_slope), (_, _, unsure, unsure_slope) = (
            mixture.total(points) for mixture in (self.sure, self.unsure)
        )
        sure, unsure = sure + self.noise, unsure + self.noise
        return np.log(sure / unsure), sure_slope / sure[:, None] - unsure_slope / unsure[:, None]


@dataclass(frozen=True, eq=False)
class Bound(Objective):
    """The lower confidence bound sign * mean - width * sd of a mixture."""

    mixture: Mixture
    sign: float
    width: float

    def values(self, points: Float[ndarray, "n d"]) -> Float[ndarray, " n"]:
        """In bounded memory."""
        mean, std = self.mixture.predict(points)
        return self.sign * mean - self.width * std

    def values_and_slopes(
        self, points: Float[ndarray, "n d"]
    ) -> tuple[Float[ndarray, " n"], Float[ndarray, "n d"]]:
        """By the chain rule through the moments."""
        mean, mean_slope, variance, slope = self.mixture.total(points)
        std = np.sqrt(variance)
        return self.sign * mean - self.width * std, self.sign * mean_slope - self.width * slope / (
            2.0 * std[:, None]
        )


@dataclass(frozen=True, eq=False)
class Drawn(Objective):
    """A function drawn from a belief whose prior has features."""

    belief: Belief
    weights: Float[ndarray, " r"]
    sign: float

    def values(self, points: Float[ndarray, "n d"]) -> Float[ndarray, " n"]:
        """In bounded memory."""
        values = _in_pieces(lambda some: self.belief.prior.codes(some).values @ self._of_code, points)
        return self.sign * self.belief.standard.shift + values

    def values_and_slopes(
        self, points: Float[ndarray, "n d"]
    ) -> tuple[Float[ndarray, " n"], Float[ndarray, "n d"]]:
        """Linear in the codes."""
        codes = self.belief.prior.codes(points, slopes=True)
        assert codes.slopes is not None
        return (
            self.sign * self.belief.standard.shift + codes.values @ self._of_code,
            codes.slopes @ self._of_code,
        )

    @cached_property
    def _of_code(self) -> Float[ndarray, " m"]:
        shift, scale = self.belief.standard
        combined = self.belief.prior.mean_weights(shift, scale)
        combined[: len(self.weights)] += self.weights
        return self.sign * scale * combined
