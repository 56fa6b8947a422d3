"""What is believed of f under one setting: prior given physics, observations, amplitude and noise averaged.

In units of the measured values' mean and standard deviation (y = shift + scale * t) the model is

    t ~ N(m, a^2 (K + lambda D)),    a^2 lambda = sigma^2,

m and K being mean and covariance of h given the physics at the measured points, a the amplitude, D the relative noise
variances. One eigendecomposition of D^-1/2 K D^-1/2 = Q diag(e) Q^T serves every pair (a, lambda):

    -2 log p(t | U) = sum log(e_i + lambda) + log det D + n log(2 pi a^2) + 1/a^2 sum z_i^2 / (e_i + lambda)

with z = Q^T D^-1/2 (t - m). The pairs are averaged with weights p(t | U) times a log-normal prior: with few
observations no single amplitude is right, and intervals made from the most likely one are too narrow.

Where K = Psi Psi^T has a lower rank r than there are observations, the same e and z come from feature space,

    Psi^T D^-1 Psi = V diag(e) V^T,    z = e^-1/2 V^T Psi^T D^-1 (t - m);

the other n - r eigenvalues vanish, and their z^2 sum to |D^-1/2 (t - m)|^2 - |z|^2.

The evidence is that of the observations given the physics. The evidence of the physics itself is left out: with g = 0
it rewards priors whose rows are small, whatever was measured.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from numpy import ndarray
from scipy.special import logsumexp

from pinnbo.data import Data, Standard
from pinnbo.inference.prior import Codes, Informed
from pinnbo.inference.stream import Stream
from pinnbo.space import Space

N_LEVELS = 6

_AMPLITUDES = np.geomspace(1 / 30, 30.0, 25)
_AMPLITUDE_SD = 1.2
_NOISES = np.geomspace(1e-4, 1.0, 17)
_NOISE_CENTRE, _NOISE_SD = 0.02, 1.5
_LEAST = 1e-9
_FLOOR = 1e-10  # of lambda: the algebra's own precision
_PRECISION = 1e-14


class Levels(NamedTuple):
    """Amplitudes and noise levels that the evidence does not rule out."""

    log_weight: Float[ndarray, " j"]
    square: Float[ndarray, " j"]  # a^2
    ratio: Float[ndarray, " j"]  # lambda


class Moments(NamedTuple):
    """Means and variances of f at points under each level, in user units, with slopes if asked for."""

    mean: Float[ndarray, "b j"]
    variance: Float[ndarray, "b j"]
    mean_slope: Float[ndarray, "b d j"] | None
    variance_slope: Float[ndarray, "b d j"] | None


class Shared(NamedTuple):
    """Covariances of f at points with f at a reference under each level, in user units, with slopes if asked for."""

    values: Float[ndarray, "b j"]
    slopes: Float[ndarray, "b d j"] | None


class Reference(NamedTuple):
    """A point that others are compared with."""

    codes: Codes
    pull: Float[ndarray, "n j"]  # the covariance that the measured values explain is across . pull


@dataclass(frozen=True, eq=False)
class Belief:
    """Posterior of f under one setting, with the evidence log p(Y | U) of the setting."""

    prior: Informed
    anchors: Codes | None  # the measured points; None in feature space
    turn: Float[ndarray, "n i"]  # D^-1/2 Q, or V diag(e)^1/2
    eigenvalues: Float[ndarray, " i"]
    scores: Float[ndarray, " i"]  # z
    levels: Levels
    standard: Standard
    log_evidence: float

    def moments(self, points: Float[ndarray, "b d"], slopes: bool = False) -> Moments:
        """Lemma 1, physics in the prior: mean m + sum c_i z_i / (e_i + lambda), variance a^2 (k - sum c_i^2 / ...)."""
        at = self.prior.codes(points, slopes)
        return self._moments(at, *self.across(at))

    def reference(self, point: Float[ndarray, " d"]) -> Reference:
        """To compare points with."""
        codes = self.prior.codes(point[None])
        turned = self.across(codes)[0][0] @ self.turn
        return Reference(codes, np.asarray(self.turn @ (turned * self._shrink).T))

    def compared(
        self, points: Float[ndarray, "b d"], reference: Reference, slopes: bool = False
    ) -> tuple[Moments, Shared]:
        """Moments, and covariances with the reference, a^2 (k(x, x*) - sum c_i(x) c_i(x*) / (e_i + lambda))."""
        at = self.prior.codes(points, slopes)
        across, across_slope = self.across(at)
        square = self.standard.scale**2 * self.levels.square
        own, own_slope = self.prior.covariance(at, reference.codes)
        values = square * (own - across @ reference.pull)
        if own_slope is None or across_slope is None:
            return self._moments(at, across, None), Shared(values, None)
        shared = Shared(values, square * (own_slope - across_slope @ reference.pull))
        return self._moments(at, across, across_slope), shared

    def _moments(
        self, at: Codes, across: Float[ndarray, "b n"], across_slope: Float[ndarray, "b d n"] | None
    ) -> Moments:
        shift, scale = self.standard
        own, own_slope = self.prior.variance(at)
        u, shrink = self._mean_weights, self._shrink
        turned = across @ self.turn
        mean = shift + scale * ((at.values @ u)[:, None] + across @ self.weights)
        left = own[:, None] - turned**2 @ shrink.T
        # what is left of a variance is known to the precision of the algebra
        square = scale**2 * self.levels.square
        variance = square * np.maximum(left, _LEAST)
        if at.slopes is None or across_slope is None or own_slope is None:
            return Moments(mean, variance, None, None)
        mean_slope = scale * ((at.slopes @ u)[..., None] + across_slope @ self.weights)
        pull = np.matmul(self.turn, turned[:, :, None] * shrink.T)
        left_slope = own_slope[..., None] - 2.0 * across_slope @ pull
        return Moments(
            mean, variance, mean_slope, square * np.where(left > _LEAST, 1.0, 0.0)[:, None] * left_slope
        )

    def across(self, at: Codes) -> tuple[Float[ndarray, "b n"], Float[ndarray, "b d n"] | None]:
        """Covariances with the measured values, or features, and their slopes."""
        if self.anchors is not None:
            return self.prior.covariance(at, self.anchors)
        r = self.prior.rank
        return at.values[:, :r], None if at.slopes is None else at.slopes[:, :, :r]

    @property
    def information(self) -> float:
        """I(f; Y | U) = 1/2 sum log(1 + e_i / lambda), averaged over the levels."""
        gains = 0.5 * np.sum(np.log1p(self.eigenvalues / self.levels.ratio[:, None]), axis=1)
        return float(np.exp(self.levels.log_weight) @ gains)

    @property
    def noise(self) -> float:
        """sigma^2 = a^2 lambda in user units, averaged over the levels: of a measurement without a noise of its own."""
        levels = self.levels
        return float(self.standard.scale**2 * (np.exp(levels.log_weight) @ (levels.square * levels.ratio)))

    def mean_of_features(self) -> Float[ndarray, " r"]:
        """Weights of the features of the mean of f, at the most likely level."""
        psi = self._features
        return np.asarray(psi.T @ (self.turn @ (self._shrink[0] * self.scores)))

    def draw(self, rng: np.random.Generator) -> Float[ndarray, " r"]:
        """Weights w of the features of a draw of f.

        By conditioning a draw of the prior (Matheron): w = w_0 + Psi^T turn shrink (z - turn^T Psi w_0 - noise).
        """
        psi = self._features
        level = rng.choice(len(self.levels.square), p=np.exp(self.levels.log_weight))
        amplitude, ratio = np.sqrt(self.levels.square[level]), self.levels.ratio[level]
        start = amplitude * rng.standard_normal(psi.shape[1])
        noise = amplitude * np.sqrt(ratio) * rng.standard_normal(len(self.scores))
        gap = self.scores - self.turn.T @ (psi @ start) - noise
        return np.asarray(start + psi.T @ (self.turn @ (self._shrink[level] * gap)))

    @property
    def _features(self) -> Float[ndarray, "n r"]:
        """Psi at the measured points, or the identity in feature space."""
        r = self.prior.rank
        assert r is not None
        return np.eye(r) if self.anchors is None else self.anchors.values[:, :r]

    @cached_property
    def weights(self) -> Float[ndarray, "n j"]:
        """b with mean of h given Y = its mean given U + across . b, a column per level."""
        return np.asarray(self.turn @ (self.scores * self._shrink).T)

    @cached_property
    def _shrink(self) -> Float[ndarray, "j n"]:
        return 1.0 / (self.eigenvalues + self.levels.ratio[:, None])

    @cached_property
    def _mean_weights(self) -> Float[ndarray, " m"]:
        return self.prior.mean_weights(*self.standard)


def fit(prior: Informed, data: Data, space: Space, stream: Stream | None = None, lasting: int = 0) -> Belief:
    """Belief after the observations.

    In feature space where that is smaller, by way of a ``stream`` that may know the sums of earlier observations
    already, and may remember those of the first ``lasting``.
    """
    if prior.rank is not None and len(data.values) > prior.rank:
        return _in_feature_space(prior, data, stream or Stream(prior, space), lasting)
    return _in_sample_space(prior, data, space)


def _in_sample_space(prior: Informed, data: Data, space: Space) -> Belief:
    shift, scale = standard = Standard.of(data.values)
    anchors = prior.codes(space.scale(data.points))
    means = anchors.values @ prior.mean_weights(shift, scale)
    cross = prior.covariance(anchors, anchors)[0]
    known = ~np.isnan(data.noise)
    # a measurement without a noise of its own is as noisy as the others; if none has one, the evidence decides
    typical = np.sqrt(np.mean(data.noise[known] ** 2)) / scale if known.any() else 1.0
    deviation = np.maximum(np.where(known, data.noise / scale, typical), 1e-6)
    residual = ((data.values - shift) / scale - means) / deviation
    covariance = cross / np.outer(deviation, deviation)
    eigenvalues, vectors = np.linalg.eigh(0.5 * (covariance + covariance.T))
    eigenvalues = np.maximum(eigenvalues, 0.0)
    scores = vectors.T @ residual
    rest = _Rest(0.0, 0.0, float(np.sum(np.log(deviation))) + len(known) * np.log(scale))
    is_known = bool(known.any()) or len(known) == 0
    levels, evidence = _levels(eigenvalues, scores, rest, is_known, prior.variation)
    turn = vectors / deviation[:, None]
    return Belief(prior, anchors, turn, eigenvalues, scores, levels, standard, evidence)


def _in_feature_space(prior: Informed, data: Data, stream: Stream, lasting: int) -> Belief:
    shift, scale = standard = Standard.of(data.values)
    sums, reference = stream.sums(data, lasting)
    typical = np.sqrt(sums.square_noise / sums.n_known) / scale if sums.n_known else 1.0
    products = scale**2 * sums.known + sums.unknown / typical**2
    residual = np.concatenate(
        [-prior.mean_weights(shift, scale), [(reference - shift) / scale, 1.0 / scale]]
    )  # t - m = (e(x), 1, y - reference) . residual
    r = prior.rank
    eigenvalues, vectors = np.linalg.eigh(products[:r, :r])
    told = eigenvalues > _PRECISION * eigenvalues[-1]
    eigenvalues, vectors = eigenvalues[told], vectors[:, told]
    root = np.sqrt(eigenvalues)
    scores = vectors.T @ (products[:r] @ residual) / root
    square = max(float(residual @ products @ residual - scores @ scores), 0.0)
    n = sums.n_known + sums.n_unknown
    log_deviation = sums.log_noise + sums.n_unknown * float(np.log(typical * scale))
    rest = _Rest(n - len(scores), square, log_deviation)
    levels, evidence = _levels(eigenvalues, scores, rest, sums.n_known > 0, prior.variation)
    return Belief(prior, None, vectors * root, eigenvalues, scores, levels, standard, evidence)


class _Rest(NamedTuple):
    """What log p needs besides eigenvalues and z: those that vanish, and log det D^1/2 in the values' units."""

    vanishing: float
    square: float  # sum of their z^2
    log_deviation: float


def _levels(
    eigenvalues: ndarray, scores: ndarray, rest: _Rest, known: bool, typical: float
) -> tuple[Levels, float]:
    """Weights of amplitudes and noises, and log p(y | U) averaged over them."""
    amplitude = _AMPLITUDES / np.sqrt(max(typical, 1e-12))
    amplitude_prior = -0.5 * (np.log(_AMPLITUDES) / _AMPLITUDE_SD) ** 2
    noise = np.ones(1) if known else _NOISES
    noise_prior = np.zeros(1) if known else -0.5 * (np.log(_NOISES / _NOISE_CENTRE) / _NOISE_SD) ** 2
    square = np.repeat(amplitude**2, len(noise))
    ratio = np.maximum(np.tile(noise**2, len(amplitude)) / square, _FLOOR)
    prior = (amplitude_prior[:, None] + noise_prior).ravel()
    prior -= logsumexp(prior)
    spread = eigenvalues + ratio[:, None]
    n = len(scores) + rest.vanishing
    likelihood = -0.5 * (
        np.sum(np.log(spread) + scores**2 / (square[:, None] * spread), axis=1)
        + rest.vanishing * np.log(ratio)
        + rest.square / (square * ratio)
        + n * np.log(2 * np.pi * square)
    )
    posterior = prior + likelihood
    evidence = float(logsumexp(posterior)) - rest.log_deviation if n else 0.0
    best = np.argsort(-posterior, kind="stable")[:N_LEVELS]
    weight = posterior[best] - logsumexp(posterior[best])
    return Levels(weight, square[best], ratio[best]), evidence
