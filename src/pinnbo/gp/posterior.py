"""The posterior of f under one model: a process given the measurements, amplitude and noise averaged.

In units of the measured values' mean and standard deviation (y = shift + scale * t) the model is

    t ~ N(m, a^2 (K + lambda D)),    a^2 lambda = sigma^2,                                                    (Lemma 1)

m and K being mean and covariance of h at the measured points, a the amplitude, D the relative noise variances. One
eigendecomposition of D^-1/2 K D^-1/2 = Q diag(e) Q^T serves every pair (a, lambda):

    -2 log p(t | U) = sum log(e_i + lambda) + log det D + n log(2 pi a^2) + 1/a^2 sum z_i^2 / (e_i + lambda)

with z = Q^T D^-1/2 (t - m). The pairs are hyper-parameter samples, weighted by p(t | U) times a log-normal prior: with
few observations no single amplitude is right, and intervals made from the most likely one are too narrow.

**What a model leaves unexplained.** Where the noise is stated, the measurements may still differ by more from every
function of the model: the solution of a true equation has details that no prior and no row of ours resolves. Such a
rest is part of f. With f = model + r, r independent from place to place with variance (c^2 - 1) sigma^2, the formulas
above hold with c^2 lambda in place of lambda, and (c^2 - 1) sigma^2 is added to the variance of f. c is averaged over
like the amplitude: a priori it is 1 with probability 1/2, and half-normal in log c otherwise. So intervals that the
measurements have shown to be too narrow are widened by as much as they show. The evidence is that of c = 1: a rest
speaks against a model, and a wrong equation must not hide behind it.

Where K = Phi Phi^T has a lower rank r than there are observations, the same e and z come from feature space,

    Phi^T D^-1 Phi = V diag(e) V^T,    z = e^-1/2 V^T Phi^T D^-1 (t - m);

the other n - r eigenvalues vanish, and their z^2 sum to |D^-1/2 (t - m)|^2 - |z|^2.

The evidence is that of the observations given the physics, log p(Y | U). That of the physics itself is left out: with
g = 0 it rewards priors whose rows are small, whatever was measured.

=================  ==============================================  =======================================
in the paper       here                                            in the code
=================  ==============================================  =======================================
phi(x)             features of h at x                              `Located.features`
omega(z), U_r      rows of the PDE, already in the process         `Process`
lambda_1           lambda, noise over amplitude                    `Samples.ratio`
mu_t, sigma_t      mean and standard deviation                     `Posterior.moments`
I(f; Y | U)        information                                     `Posterior.information`
=================  ==============================================  =======================================
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float
from numpy import ndarray

from pinnbo.data import Data, Standard
from pinnbo.gp.instrument import Loading, loading
from pinnbo.gp.process import Located, Process
from pinnbo.gp.statistics import Statistics
from pinnbo.physics.functionals import Functionals
from pinnbo.space import Space

N_SAMPLES = 6

_AMPLITUDES = np.geomspace(1 / 30, 30.0, 25)
_AMPLITUDE_SD = 1.2
_NOISES = np.geomspace(1e-4, 1.0, 17)
NOISE_CENTRE, _NOISE_SD = 0.02, 1.5
_NOISE_PRIOR = -0.5 * (np.log(_NOISES / NOISE_CENTRE) / _NOISE_SD) ** 2
_EXCESSES = 2.0 ** np.arange(0.0, 3.5, 0.5)  # c
_EXCESS_SD = 0.5
_SLAB = -0.5 * (np.log(_EXCESSES[1:]) / _EXCESS_SD) ** 2
_EXCESS_PRIOR = np.append(0.0, _SLAB - np.logaddexp.reduce(_SLAB))
_BLOCK = 32
_LEAST = 1e-9
_FLOOR = 1e-10  # of lambda: the algebra's own precision
_PRECISION = 1e-14


class Samples(NamedTuple):
    """Amplitudes and noise levels that the evidence does not rule out."""

    log_weight: Float[ndarray, " j"]
    square: Float[ndarray, " j"]  # a^2
    ratio: Float[ndarray, " j"]  # lambda, times c^2
    rest: Float[ndarray, " j"]  # (c^2 - 1) sigma^2, in the units of t


class Moments(NamedTuple):
    """Means and variances of f at points under each sample, in user units, with slopes if asked for."""

    mean: Float[ndarray, "b j"]
    variance: Float[ndarray, "b j"]
    mean_slope: Float[ndarray, "b d j"] | None
    variance_slope: Float[ndarray, "b d j"] | None


@dataclass(frozen=True, eq=False)
class Posterior:
    """Posterior of f under one model, with the evidence log p(Y | U) of the model."""

    process: Process
    anchors: Located | None  # the measured points; None in feature space
    basis: Float[ndarray, "n i"]  # D^-1/2 Q, or V diag(e)^1/2
    eigenvalues: Float[ndarray, " i"]
    scores: Float[ndarray, " i"]  # z
    samples: Samples
    standard: Standard
    log_evidence: float
    instrument: Loading | None = None

    def moments(self, scaled: Float[ndarray, "b d"], slopes: bool = False) -> Moments:
        """Mean m + sum c_i z_i / (e_i + lambda), variance a^2 (k - sum c_i^2 / (e_i + lambda))."""
        process, (shift, scale) = self.process, self.standard
        at = process.locate(scaled, slopes)
        own, own_slope = process.variance(at)
        # every row of features, a value's or a slope's, is multiplied once; in sample space every covariance, too
        combined = at.rows @ self._of_features
        if process.kernel is not None:
            combined += process.weight * process.kernel_rows(at, self._anchored) @ self._of_values
        j = len(self.samples.square)
        combined = combined.reshape(len(scaled), 1 + scaled.shape[1] if slopes else 1, combined.shape[1])
        projected = combined[:, 0, j:]
        left = own[:, None] - projected**2 @ self.shrink.T
        mean = shift + scale * combined[:, 0, :j]
        # what is left of a variance is known to the precision of the algebra
        square = scale**2 * self.samples.square
        variance = square * np.maximum(left, _LEAST) + scale**2 * self.samples.rest
        if own_slope is None:
            return Moments(mean, variance, None, None)
        along = (combined[:, 1:, j:] * projected[:, None]).reshape(own_slope.size, projected.shape[1])
        left_slope = own_slope[..., None] - 2.0 * (along @ self.shrink.T).reshape(*own_slope.shape, j)
        counts = square * np.where(left > _LEAST, 1.0, 0.0)
        return Moments(mean, variance, scale * combined[:, 1:, :j], counts[:, None] * left_slope)

    def of(self, functionals: Functionals) -> Moments:
        """Means and variances of functionals of the fields, in the coordinates of the process."""
        process, (shift, scale) = self.process, self.standard
        at = process.read(np.zeros((len(functionals), process.dim)), functionals)
        across, _ = self.across(at)
        signed = at.features * (process.sign if process.holds is None else process.holds)
        own = np.einsum("br,br->b", signed, at.features)
        if process.kernel is not None:
            starts = range(0, len(functionals), _BLOCK)
            some = [functionals.taken(np.arange(i, min(i + _BLOCK, len(functionals)))) for i in starts]
            alone = [np.diag(process.kernel.covariance(block, block)) for block in some]
            own = own + process.weight * np.concatenate(alone)
        mean = (at.features @ self._mean_weights)[:, None] + across @ self.weights
        left = own[:, None] - (across @ self.basis) ** 2 @ self.shrink.T
        # what a reading is more than linear was taken off
        level = shift * functionals.constant - functionals.values
        return Moments(
            level[:, None] + scale * mean,
            scale**2 * self.samples.square * np.maximum(left, _LEAST),
            None,
            None,
        )

    def measured(self) -> Float[ndarray, "n j"]:
        """Means of what was measured under each sample, of f at points or of readings; only in sample space."""
        assert self.anchors is not None
        shift, scale = self.standard
        across = self.process.covariance(self.anchors, self.anchors)[0]
        mean = self.process.mean(self.anchors, self.standard)[:, None] + across @ self.weights
        if self.anchors.functionals is None:
            return shift + scale * mean
        readings = self.anchors.functionals
        return (shift * readings.constant - readings.values)[:, None] + scale * mean

    def across(self, at: Located) -> tuple[Float[ndarray, "b n"], Float[ndarray, "b d n"] | None]:
        """Covariances with the measured values, or features, and their slopes."""
        if self.anchors is not None:
            return self.process.covariance(at, self.anchors)
        r = self.process.rank
        return at.features[:, :r], None if at.slopes is None else at.slopes[:, :, :r]

    def covariance(
        self, scaled: Float[ndarray, "q d"]
    ) -> tuple[Float[ndarray, "q q j"], Float[ndarray, "q d q j"]]:
        """Of f at points under each sample, and its slopes in the first: a^2 (k - sum_i c_i c_i' / (e_i + lambda))."""
        at = self.process.locate(scaled, slopes=True)
        own, own_slope = self.process.covariance(at, at)
        across, across_slope = self.across(at)
        assert own_slope is not None
        assert across_slope is not None
        projected, along = across @ self.basis, across_slope @ self.basis
        square = self.standard.scale**2 * self.samples.square
        learnt = np.einsum("ik,jk,lk->ijl", projected, projected, self.shrink, optimize=True)
        learnt_slope = np.einsum("idk,jk,lk->idjl", along, projected, self.shrink, optimize=True)
        symmetric = 0.5 * (own + own.T)
        # of a point with itself: features may stand in for less than the variance
        variance, variance_slope = self.process.variance(at)
        assert variance_slope is not None
        each = np.arange(len(scaled))
        symmetric[each, each], own_slope[each, :, each] = variance, 0.5 * variance_slope
        found = square * (symmetric[..., None] - learnt)
        found[each, each] += self.standard.scale**2 * self.samples.rest
        return found, square * (own_slope[..., None] - learnt_slope)

    @property
    def information(self) -> float:
        """I(f; Y | U) = 1/2 sum log(1 + e_i / lambda), averaged over the samples."""
        gains = 0.5 * np.sum(np.log1p(self.eigenvalues / self.samples.ratio[:, None]), axis=1)
        return float(np.exp(self.samples.log_weight) @ gains)

    @property
    def noise(self) -> float:
        """sigma^2 = a^2 lambda in user units, averaged: of a measurement without a noise of its own."""
        samples = self.samples
        return float(self.standard.scale**2 * (np.exp(samples.log_weight) @ (samples.square * samples.ratio)))

    def mean_of_features(self) -> Float[ndarray, " r"]:
        """Weights of the features of the mean of h given Y, beside its mean given U, at the most likely sample."""
        return np.asarray(self.psi.T @ (self.basis @ (self.shrink[0] * self.scores)))

    def draw(self, rng: np.random.Generator) -> Float[ndarray, " r"]:
        """Weights w of the features of a draw of h; the draw is all of h where the process is on features alone.

        By conditioning a draw of the prior (Matheron): w = w_0 + Phi^T basis shrink (z - basis^T Phi w_0 - noise).
        """
        psi = self.psi
        sample = rng.choice(len(self.samples.square), p=np.exp(self.samples.log_weight))
        amplitude, ratio = np.sqrt(self.samples.square[sample]), self.samples.ratio[sample]
        start = amplitude * rng.standard_normal(psi.shape[1])
        noise = amplitude * (np.sqrt(ratio) * rng.standard_normal(len(self.scores)) + self.drawn_offsets(rng))
        gap = self.scores - self.basis.T @ (psi @ start) - noise
        return np.asarray(start + psi.T @ (self.basis @ (self.shrink[sample] * gap)))

    def drawn_offsets(self, rng: np.random.Generator) -> Float[ndarray, " i"] | float:
        """What the instrument adds to the scores, drawn from its prior at amplitude one."""
        if self.instrument is None:
            return 0.0
        matrix = self.instrument.matrix
        return np.asarray(self.basis.T @ (matrix @ rng.standard_normal(matrix.shape[1])))

    def of_instrument(
        self, columns: Float[ndarray, " q"]
    ) -> tuple[Float[ndarray, " j"], Float[ndarray, " j"]]:
        """Means and variances of what the instrument adds, a combination of its columns, under each sample."""
        assert self.instrument is not None
        across = self.instrument.matrix @ columns
        left = columns @ columns - (across @ self.basis) ** 2 @ self.shrink.T
        scale = self.standard.scale
        return scale * (across @ self.weights), scale**2 * self.samples.square * np.maximum(left, 0.0)

    @property
    def psi(self) -> Float[ndarray, "n r"]:
        """Features at the measured points, or the identity in feature space."""
        r = self.process.n_features
        return np.eye(r) if self.anchors is None else self.anchors.features[:, :r]

    @cached_property
    def weights(self) -> Float[ndarray, "n j"]:
        """b with mean of h given Y = its mean given U + across . b, a column per sample."""
        return np.asarray(self.basis @ (self.scores * self.shrink).T)

    @cached_property
    def shrink(self) -> Float[ndarray, "j i"]:
        """1 / (e_i + lambda)."""
        return 1.0 / (self.eigenvalues + self.samples.ratio[:, None])

    @cached_property
    def _of_values(self) -> Float[ndarray, "n c"]:
        """What covariances with the measured values are multiplied with: weights of the means, then the basis."""
        return np.hstack([self.weights, self.basis])

    @cached_property
    def _of_features(self) -> Float[ndarray, "r c"]:
        """The same for features."""
        found = np.zeros((len(self.process.sign), self._of_values.shape[1]))
        if self.anchors is None:
            found[: len(self._of_values)] = self._of_values
        else:
            found += (self.anchors.features * self.process.sign).T @ self._of_values
        found[:, : len(self.samples.square)] += self._mean_weights[:, None]
        return found

    @property
    def _anchored(self) -> Located:
        assert self.anchors is not None
        return self.anchors

    @cached_property
    def _mean_weights(self) -> Float[ndarray, " r"]:
        return self.process.mean_weights(self.standard)


def condition(
    process: Process,
    data: Data,
    space: Space,
    before: Posterior | None = None,
    statistics: Statistics | None = None,
    lasting: int = 0,
) -> Posterior:
    """The posterior after the observations, in the smaller of sample space and feature space.

    ``before`` is a posterior of the same process after the first of these observations, ``statistics`` may know the
    sums of earlier ones already, and may remember those of the first ``lasting``: what they know is not computed again.
    """
    if data.is_summable and process.rank is not None and len(data.values) > process.rank:
        return _in_feature_space(process, data, statistics or Statistics(process, space), lasting)
    anchors = None if before is None or before.process is not process else before.anchors
    if anchors is None or len(anchors.scaled) > len(data.values):
        anchors = anchored(process, data, space)
    for i in range(len(anchors.scaled), len(data.values)):
        # one by one, so that a restored study computes the same bits however many were told at once
        anchors = anchors.joined(anchored(process, data.where(slice(i, i + 1)), space))
    return _in_sample_space(process, data, anchors)


def anchored(process: Process, data: Data, space: Space) -> Located:
    """What follows from the measurements for a process."""
    scaled = space.scale(data.points)
    if data.is_plain:
        return process.locate(scaled)
    return process.read(scaled, data.functionals(process.coordinates, scaled))


def deviations(data: Data, standard: Standard) -> tuple[Float[ndarray, " n"], float | None]:
    """Noise of every reading in units of the scale, and the mean variance of a value's, where any is known.

    A measurement without a noise of its own is as noisy as the others; if none has one, the evidence decides. Of
    different sensors that is meant in units of what the readings of each differ by. An outlier is so many times as
    noisy, and tells nothing about the noise of others.
    """
    scale = standard.scale
    known = ~np.isnan(data.noise)
    if data.is_plain:
        typical = np.sqrt(np.mean(data.noise[known] ** 2)) / scale if known.any() else 1.0
        deviation = np.maximum(np.where(known, data.noise / scale, typical), 1e-6)
        noise = float(np.mean(deviation**2)) if known.any() else None
        return deviation * data.noise_times, noise
    units = data.units / scale
    typical = np.sqrt(np.mean((data.noise / scale / units)[known] ** 2)) if known.any() else 1.0
    share = np.maximum(np.where(known, data.noise / scale / units, typical), 1e-6)
    direct = data.kinds == 0 if np.any(data.kinds == 0) else np.full(len(units), True)
    return share * units * data.noise_times, float(np.mean(share[direct] ** 2)) if known.any() else None


def residuals(process: Process, data: Data, anchors: Located, standard: Standard) -> Float[ndarray, " n"]:
    """t - m, of readings what they are more than linear taken off."""
    shift, scale = standard
    centred = data.values - shift * anchors.constant
    if anchors.functionals is not None:
        centred += anchors.functionals.values
    return np.asarray(centred / scale - process.mean(anchors, standard))


def _in_sample_space(process: Process, data: Data, anchors: Located) -> Posterior:
    standard = process.standard_of(data)
    deviation, noise = deviations(data, standard)
    residual = residuals(process, data, anchors, standard) / deviation
    covariance = process.covariance(anchors, anchors)[0]
    instrument = loaded(process, data, standard)
    if instrument is not None:
        covariance = covariance + instrument.matrix @ instrument.matrix.T
    covariance = covariance / np.outer(deviation, deviation)
    eigenvalues, vectors = np.linalg.eigh(0.5 * (covariance + covariance.T))
    eigenvalues = np.maximum(eigenvalues, 0.0)
    scores = vectors.T @ residual
    rest = Vanishing(0.0, 0.0, float(np.sum(np.log(deviation))) + len(residual) * np.log(standard.scale))
    samples, evidence = _samples(eigenvalues, scores, rest, noise, process.expected_variation(standard))
    basis = vectors / deviation[:, None]
    return Posterior(process, anchors, basis, eigenvalues, scores, samples, standard, evidence, instrument)


def loaded(process: Process, data: Data, standard: Standard) -> Loading | None:
    """What the instrument adds to the readings, in units of the amplitude; None where it adds nothing."""
    if data.taken is None:
        return None
    root = np.sqrt(process.expected_variation(standard))
    units = np.ones(len(data.values)) if data.is_plain else data.units / standard.scale
    return loading(data.taken, data.kinds, units, data.sizes, float(root))


def _in_feature_space(process: Process, data: Data, statistics: Statistics, lasting: int) -> Posterior:
    shift, scale = standard = process.standard_of(data)
    sums, reference = statistics.sums(data, lasting)
    typical = np.sqrt(sums.square_noise / sums.n_known) / scale if sums.n_known else 1.0
    products = scale**2 * sums.known + sums.unknown / typical**2
    residual = np.concatenate(
        [-process.mean_weights(standard), [(reference - shift) / scale, 1.0 / scale]]
    )  # t - m = (e(x), 1, y - reference) . residual
    r = process.rank
    eigenvalues, vectors = np.linalg.eigh(products[:r, :r])
    told = eigenvalues > _PRECISION * eigenvalues[-1]
    eigenvalues, vectors = eigenvalues[told], vectors[:, told]
    root = np.sqrt(eigenvalues)
    scores = vectors.T @ (products[:r] @ residual) / root
    square = max(float(residual @ products @ residual - scores @ scores), 0.0)
    n = sums.n_known + sums.n_unknown
    log_deviation = sums.log_noise + sums.n_unknown * float(np.log(typical * scale))
    rest = Vanishing(n - len(scores), square, log_deviation)
    noise = typical**2 if sums.n_known else None
    samples, evidence = _samples(eigenvalues, scores, rest, noise, process.expected_variation(standard))
    return Posterior(process, None, vectors * root, eigenvalues, scores, samples, standard, evidence)


class Vanishing(NamedTuple):
    """What log p needs besides eigenvalues and z: those that vanish, and log det D^1/2 in the values' units."""

    vanishing: float
    square: float  # sum of their z^2
    log_deviation: float


class Levels(NamedTuple):
    """All amplitudes and noise levels, with log prior + log p(t | U)."""

    log_weight: Float[ndarray, " g"]
    square: Float[ndarray, " g"]
    ratio: Float[ndarray, " g"]
    excess: Float[ndarray, " g"]  # c; where the noise is unknown, its level
    counts: Bool[ndarray, " g"]  # towards the evidence
    log_mass: float  # prior of those that count


def levels(
    eigenvalues: ndarray, scores: ndarray, rest: Vanishing, known: float | None, typical: float
) -> Levels:
    """Of all amplitudes and noises; ``known`` is the mean noise variance."""
    amplitude = _AMPLITUDES / np.sqrt(max(typical, 1e-12))
    amplitude_prior = -0.5 * (np.log(_AMPLITUDES) / _AMPLITUDE_SD) ** 2
    n = len(scores) + rest.vanishing
    noise, noise_prior = (_NOISES, _NOISE_PRIOR) if known is None else (_EXCESSES, _EXCESS_PRIOR)
    if n == 0:
        noise, noise_prior = np.ones(1), np.zeros(1)
    square = np.repeat(amplitude**2, len(noise))
    excess = np.tile(noise, len(amplitude))
    ratio = np.maximum(excess**2 / square, _FLOOR)
    prior = (amplitude_prior[:, None] + noise_prior).ravel()
    prior -= np.logaddexp.reduce(prior)
    spread = eigenvalues + ratio[:, None]
    likelihood = -0.5 * (
        np.sum(np.log(spread) + scores**2 / (square[:, None] * spread), axis=1)
        + rest.vanishing * np.log(ratio)
        + rest.square / (square * ratio)
        + n * np.log(2 * np.pi * square)
    )
    counts = excess == 1.0 if known is not None else np.full(len(prior), True)
    return Levels(
        prior + likelihood, square, ratio, excess, counts, float(np.logaddexp.reduce(prior[counts]))
    )


def _samples(
    eigenvalues: ndarray, scores: ndarray, rest: Vanishing, known: float | None, typical: float
) -> tuple[Samples, float]:
    """Weights of amplitudes and noises, and log p(y | U) averaged over them."""
    found = levels(eigenvalues, scores, rest, known, typical)
    n = len(scores) + rest.vanishing
    mass = np.logaddexp.reduce(found.log_weight[found.counts]) - found.log_mass
    evidence = float(mass) - rest.log_deviation if n else 0.0
    best = np.argsort(-found.log_weight, kind="stable")[:N_SAMPLES]
    weight = found.log_weight[best] - np.logaddexp.reduce(found.log_weight[best])
    unexplained = (known or 0.0) * (found.excess[best] ** 2 - 1.0)
    return Samples(weight, found.square[best], found.ratio[best], unexplained), evidence
