"""Acquisitions: functions of a point that are least where to measure next. They see a posterior and nothing else.

=================  ==========================================================  ======================================
objective          least where                                                 reference
=================  ==========================================================  ======================================
`Improvement`      a measurement is expected to improve the best mean most     Ament et al., NeurIPS 2023 (log EI)
`Spread`           f is least known
`Discrimination`   one mixture predicts a measurement and another does not     Box, Hill, Technometrics 9 (1967)
`Draw`             a function drawn from the posterior is least                Thompson, Biometrika 25 (1933)
=================  ==========================================================  ======================================
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from pinnbo.acquisition.improvement import log_expected_improvement
from pinnbo.acquisition.search import Objective
from pinnbo.ensemble.mixture import Mixture, batches
from pinnbo.gp.posterior import Posterior

_Values = Float[ndarray, " n"]
_Points = Float[ndarray, "n d"]


@dataclass(frozen=True, eq=False)
class Improvement(Objective):
    """-log of the expected improvement of the posterior mean where it is measured, for every component of a mixture.

    A measurement with noise of variance v moves the mean of a component by sigma' = sigma^2 / sqrt(sigma^2 + v) in the
    root mean square, which takes the place of sigma in EI: what is known to within the noise is not measured again.
    """

    mixture: Mixture
    sign: float
    best: float
    noise: float  # variance of a measurement

    @property
    def is_log_gain(self) -> bool:
        """Yes."""
        return True

    @property
    def quick_slopes(self) -> bool:
        """As of the models."""
        return self.mixture.quick_slopes

    def values(self, points: _Points) -> _Values:
        """In bounded memory."""
        return np.concatenate([self._improvement(some, False)[0] for some in batches(points)])

    def values_and_slopes(self, points: _Points) -> tuple[_Values, _Points]:
        """By the chain rule through the moments."""
        return self._improvement(points, True)

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
class Spread(Objective):
    """-log of the variance of a mixture: least where a measurement tells most."""

    mixture: Mixture

    @property
    def is_log(self) -> bool:
        """Yes."""
        return True

    @property
    def quick_slopes(self) -> bool:
        """As of the models."""
        return self.mixture.quick_slopes

    def values(self, points: _Points) -> _Values:
        """In bounded memory."""
        return -2.0 * np.log(self.mixture.predict(points)[1])

    def values_and_slopes(self, points: _Points) -> tuple[_Values, _Points]:
        """By the chain rule through the moments."""
        _, _, variance, slope = self.mixture.total(points)
        return -np.log(variance), -slope / variance[:, None]


@dataclass(frozen=True, eq=False)
class Discrimination(Objective):
    """-log of the ratio of variances: least where one mixture predicts a measurement and the other does not."""

    sure: Mixture
    unsure: Mixture
    noise: float  # variance of a measurement

    @property
    def is_log(self) -> bool:
        """Yes."""
        return True

    @property
    def quick_slopes(self) -> bool:
        """As of the models."""
        return self.sure.quick_slopes and self.unsure.quick_slopes

    def values(self, points: _Points) -> _Values:
        """In bounded memory."""
        sure, unsure = (mixture.predict(points)[1] ** 2 for mixture in (self.sure, self.unsure))
        return np.log(sure + self.noise) - np.log(unsure + self.noise)

    def values_and_slopes(self, points: _Points) -> tuple[_Values, _Points]:
        """By the chain rule through the moments."""
        (_, _, sure, sure_slope), (_, _, unsure, unsure_slope) = (
            mixture.total(points) for mixture in (self.sure, self.unsure)
        )
        sure, unsure = sure + self.noise, unsure + self.noise
        return np.log(sure / unsure), sure_slope / sure[:, None] - unsure_slope / unsure[:, None]


@dataclass(frozen=True, eq=False)
class Draw(Objective):
    """A whole function drawn from a posterior whose process is on features."""

    posterior: Posterior
    weights: Float[ndarray, " r"]
    sign: float

    @property
    def quick_slopes(self) -> bool:
        """As of the models."""
        return self.posterior.process.features.quick_slopes

    def values(self, points: _Points) -> _Values:
        """In bounded memory."""
        located = (self.posterior.process.locate(some).features for some in batches(points))
        return self.sign * self.posterior.standard.shift + np.concatenate(
            [f @ self._of_features for f in located]
        )

    def values_and_slopes(self, points: _Points) -> tuple[_Values, _Points]:
        """Linear in the features."""
        at = self.posterior.process.locate(points, slopes=True)
        assert at.slopes is not None
        shift = self.sign * self.posterior.standard.shift
        return shift + at.features @ self._of_features, at.slopes @ self._of_features

    @cached_property
    def _of_features(self) -> Float[ndarray, " r"]:
        combined = self.posterior.process.mean_weights(self.posterior.standard)
        combined[: len(self.weights)] += self.weights
        return self.sign * self.posterior.standard.scale * combined
