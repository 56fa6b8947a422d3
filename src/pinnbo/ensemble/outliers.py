"""Outliers: readings that are far from what everything else says they should be.

**The model.** A reading i has the noise that is stated, or found from the data, times k_i,

    P(k_i = 1) = 1 - p,     P(k_i = k) = p / 5 for k = 4, 16, 64, 256, 1024,

so that with a small probability p it is a gross error of an unknown size. Given all k the models are Gaussian as ever:
an outlier is a reading with a larger noise, and if there are none, nothing at all changes.

**Which are outliers.** The most probable k, found by changing one reading at a time. With C the covariance of all
readings under one model, amplitude and noise, and t their distances from the prior mean, leaving reading i out

    t_i - E[t_i | the others] = [C^-1 t]_i / [C^-1]_ii,     var[t_i | the others] = 1 / [C^-1]_ii,

the ratio of the evidence with k_i = k to that with the present k_i is, exactly,

    B_i(k) = sum_c w_c N(r_i; 0, v_i + (k^2 - k_i^2) sigma^2) / N(r_i; 0, v_i),

w_c being the posterior weights of all models (every family and length scale under every hypothesis: an equation is not
saved by calling what contradicts it outliers, unless that is more probable), amplitudes and noise levels. The reading
with the largest posterior odds of being an outlier is made one, and so on: also while the odds are against it, as long
as the evidence is for it, because several outliers hide behind a noise that they themselves make seem large. Of all
sets on this path the most probable is taken, and then readings are taken back whose odds say so. At most a quarter of
the readings can be outliers; more are not outliers but the noise.

**What is not an outlier.** A peak of f too narrow for the other readings looks the same from a single reading. A priori
such a deviation of f is a tenth as probable as an outlier, so that an outlier on its own is never surer than 91%. But
errors are independent, and f is not: where outliers are near one another, the same readings are compared with a
deviation that they share, a smooth function of a short length scale,

    r ~ N(0, V + k^2 sigma^2 K_l + sigma^2)    beside    r ~ N(0, V + sigma^2 diag(k_i^2)),

and are believed if that is more probable: two readings that agree within their noise are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy import ndarray

from pinnbo.data import Data, Standard
from pinnbo.ensemble.family import Family
from pinnbo.ensemble.hypotheses import Hypothesis, knows
from pinnbo.gp.instrument import TYPICAL, Sizes, levels
from pinnbo.gp.posterior import Vanishing, anchored, deviations, loaded, residuals
from pinnbo.gp.posterior import levels as noise_levels
from pinnbo.gp.process import Located, Process
from pinnbo.space import Space

PRIOR = 0.02  # p: of a reading being an outlier
MOST = 500  # readings that are looked at: the first ones

_TIMES = 4.0 ** np.arange(1, 6)  # k
_PEAK = 0.1  # probability of a narrow peak of f beside that of an outlier
_MOST_SHARE = 4  # one in so many may be an outlier
_PATIENCE = 3  # steps without a gain: so many outliers may hide one another
_MOST_ROUNDS = 8
_WORTH_IT = 0.1  # of log evidence, to change a k
_MOST_SETTINGS = 24  # of a family
_NEGLIGIBLE = -7.0  # log weight beside the best
_MANY, _KEPT = 128, 8  # readings beyond which only the best models are looked at
_SHORT = 2.0 ** np.arange(-5.0, -2.0)  # length scales of a peak, times the root of the dimension
_ONE_PEAK = 0.5  # of its length scale: readings further apart are not on one peak


class Found(NamedTuple):
    """By how much the noise of each reading is larger, and how probable it is that it is."""

    times: Float[ndarray, " n"]
    probability: Float[ndarray, " n"]


@dataclass(eq=False)
class _Candidate:
    """A process with its prior weight, and what follows from the readings for it."""

    process: Process
    log_prior: float
    sizes: Sizes = TYPICAL  # of what the instrument adds
    kinds: Int[ndarray, " n"] = field(default_factory=lambda: np.zeros(0, dtype=int))
    anchors: Located | None = None
    covariance: Float[ndarray, "n n"] = field(default_factory=lambda: np.zeros((0, 0)))

    def anew(self) -> _Candidate:
        """Before it has seen any reading."""
        return _Candidate(self.process, self.log_prior, self.sizes)


class _Component(NamedTuple):
    """One process, amplitude and noise: readings left out one by one, in units of their deviations."""

    log_weight: Float[ndarray, " c"]
    residual: Float[ndarray, "c n"]
    variance: Float[ndarray, "c n"]  # of the residual, noise included
    own: Float[ndarray, " c"]  # sigma^2
    inverse: tuple[ndarray, ndarray, ndarray]  # C = a^2 vectors (eigenvalues + ratio) vectors^T


class Outliers:
    """Finds outliers among readings, with the models of some hypotheses."""

    def __init__(self, hypotheses: Sequence[Hypothesis], space: Space, prior: float = PRIOR) -> None:
        self._hypotheses, self._space = hypotheses, space
        self._log_odds = np.log(prior) - np.log1p(-prior) - np.log(len(_TIMES))  # of one k, beside 1
        self._candidates: tuple[Data, list[_Candidate]] | None = None

    def found(self, data: Data, settled: Data) -> Found:
        """Of all readings; models are those that the first of them, ``settled``, would be tried with."""
        some = data.first(MOST)
        times, probability = np.ones(len(data.values)), np.zeros(len(data.values))
        n = len(some.values)
        if n >= _MOST_SHARE:
            candidates = self._tried(some, settled.first(MOST))
            if candidates:
                times[:n], probability[:n] = self._searched(some, candidates)
        return Found(times, probability)

    def _searched(self, data: Data, candidates: Sequence[_Candidate]) -> Found:
        trusted = np.zeros(len(data.values), dtype=bool)
        view = _View(data, data.standard, candidates, self._space)
        times = np.ones(len(data.values))
        for _ in range(_MOST_ROUNDS):
            earlier, times = times, self._settled(view, self._path(view, times, trusted))
            confirmed = self._confirmed(view, times)
            trusted |= confirmed
            times = np.where(trusted, 1.0, times)
            if np.array_equal(times, earlier):
                break
            # what is an outlier says nothing about the unit of the values
            view = _View(data, data._replace(times=times).standard, candidates, self._space)
        odds = np.exp(np.minimum(self._log_odds_at(view, times), 700.0))
        return Found(times, np.where(times > 1, odds / (odds + 1.0 + _PEAK * odds), odds / (1.0 + odds)))

    def _path(
        self, view: _View, times: Float[ndarray, " n"], trusted: Bool[ndarray, " n"]
    ) -> Float[ndarray, " n"]:
        """One more outlier after the other; the most probable of all sets that are met."""
        best, best_total, total, waited = times, 0.0, 0.0, 0
        most = len(times) // _MOST_SHARE
        while waited < _PATIENCE and np.sum(times > 1) < most:
            ratios = view.ratios(times)
            gains = self._gains(ratios, times)
            gains[trusted & (times == 1)] = -np.inf
            gains[times > 1] = -np.inf
            i = int(np.argmax(gains))
            if not gains[i] > self._log_odds + np.log(len(_TIMES)):
                break  # not even the evidence is for it
            times = times.copy()
            times[i] = _TIMES[np.argmax(ratios[i, 1:])]
            times, more = self._resized(view, times)
            total += gains[i] + more
            if total > best_total + 1e-9:
                best, best_total, waited = times, total, 0
            else:
                waited += 1
        return best

    def _resized(self, view: _View, times: Float[ndarray, " n"]) -> tuple[Float[ndarray, " n"], float]:
        """Every outlier with its most probable k, which is larger where the noise turned out smaller; what it gains."""
        total = 0.0
        for _ in range(_MOST_ROUNDS):
            ratios = view.ratios(times)[:, 1:]
            gains = np.where(times > 1, np.max(ratios, axis=1), 0.0)
            i = int(np.argmax(gains))
            if gains[i] < _WORTH_IT:
                break
            times = times.copy()
            times[i] = _TIMES[np.argmax(ratios[i])]
            total += float(gains[i])
        return times, total

    def _settled(self, view: _View, times: Float[ndarray, " n"]) -> Float[ndarray, " n"]:
        """Every outlier with its most probable k, or taken back."""
        for _ in range(_MOST_ROUNDS * int(np.sum(times > 1))):
            ratios = view.ratios(times)
            likeliest = np.where(
                self._gains(ratios, times) > 0, 1.0, _TIMES[np.argmax(ratios[:, 1:], axis=1)]
            )
            changed = np.where(times > 1, likeliest, 1.0)
            if np.array_equal(changed, times):
                break
            i = int(np.flatnonzero(changed != times)[0])
            times = times.copy()
            times[i] = changed[i]
        return times

    def _gains(self, ratios: Float[ndarray, "n k"], times: Float[ndarray, " n"]) -> Float[ndarray, " n"]:
        """Log posterior odds of a change: to an outlier of any size, or back."""
        odds = np.logaddexp.reduce(ratios[:, 1:], axis=1) + self._log_odds - ratios[:, 0]
        return np.where(times > 1, -odds, odds)

    def _log_odds_at(self, view: _View, times: Float[ndarray, " n"]) -> Float[ndarray, " n"]:
        gains = self._gains(view.ratios(times), times)
        return np.where(times > 1, -gains, gains)

    # ---------------------------------------------------------------- what readings confirm

    def _confirmed(self, view: _View, times: Float[ndarray, " n"]) -> Bool[ndarray, " n"]:
        """Outliers that are a deviation of f more probably than so many errors."""
        found = np.zeros(len(times), dtype=bool)
        outliers = np.flatnonzero(times > 1)
        if len(outliers) < 2:
            return found
        scaled = self._space.scale(view.data.points)
        root = np.sqrt(self._space.dim)
        for i in outliers:
            gaps = np.linalg.norm(scaled[outliers] - scaled[i], axis=1)
            alike = view.data.kinds[outliers] == view.data.kinds[i]
            group = outliers[(gaps <= _ONE_PEAK * _SHORT[-1] * root) & alike]
            if len(group) > 1 and self._shared(view, times, group, scaled[group] / root):
                found[group] = True
        return found

    def _shared(
        self, view: _View, times: Float[ndarray, " n"], group: Int[ndarray, " g"], at: Float[ndarray, "g d"]
    ) -> bool:
        square = np.sum((at[:, None] - at[None]) ** 2, axis=-1)
        lengths = _SHORT[np.sqrt(square.max()) * (1.0 - 1e-9) <= _ONE_PEAK * _SHORT]
        if len(lengths) == 0:
            return False
        shapes = [np.exp(-0.5 * square / length**2) for length in lengths]
        shared, apart = [], []
        for weight, residual, covariance, own in view.left_out(times, group):
            rest = covariance - np.diag(own)  # own: sigma^2 k^2 in the units of the residual
            stated = own / times[group] ** 2
            apart.append(weight + _log_normal(residual, covariance))
            unit = np.sqrt(np.outer(stated, stated))
            shared += [
                weight + _log_normal(residual, rest + np.diag(stated) + k**2 * unit * shape)
                for k in _TIMES
                for shape in shapes
            ]
        prior = np.log(_PEAK) + self._log_odds - np.log(len(_SHORT))
        together = np.logaddexp.reduce(shared) + prior
        return bool(together > np.logaddexp.reduce(apart) + len(group) * self._log_odds)

    # ---------------------------------------------------------------- which models

    def _tried(self, data: Data, settled: Data) -> list[_Candidate]:
        """All families at their settings, as of the stage; with what follows from all readings."""
        if self._candidates is None or not (
            settled.extends(self._candidates[0]) and self._candidates[0].extends(settled)
        ):
            self._candidates = (
                settled,
                [
                    _Candidate(process, log_prior, sizes)
                    for process, log_prior in self._processes(settled)
                    for sizes in levels(settled.taken)
                ],
            )
        candidates = self._candidates[1]
        if len(data.values) > _MANY and len(candidates) > _KEPT:
            first = data.first(_MANY)
            evidence = _View(first, first.standard, candidates, self._space).evidence()
            kept = np.sort(np.argsort(-evidence, kind="stable")[:_KEPT])
            candidates = [candidates[i].anew() for i in kept]
            self._candidates = settled, candidates
        return candidates

    def _processes(self, data: Data) -> Iterator[tuple[Process, float]]:
        for hypothesis in self._hypotheses:
            if len(data.values) < hypothesis.least:
                continue
            groups = [(group, self._of_group(group, data)) for group in hypothesis.groups.values()]
            groups = [(group, found) for group, found in groups if found]
            for _, families in groups:
                for settings in families:
                    mass = np.logaddexp.reduce([log_prior for _, log_prior in settings])
                    share = np.log(hypothesis.odds) - np.log(len(groups) * len(families)) - mass
                    yield from ((process, log_prior + share) for process, log_prior in settings)

    @staticmethod
    def _of_group(group: Sequence[Family], data: Data) -> list[list[tuple[Process, float]]]:
        found = []
        for family in group:
            settings = [
                (process, log_prior)
                for scales, log_prior in family.settings(data)[:_MOST_SETTINGS]
                if (process := family.process(scales, data)) is not None and knows(process, data, family)
            ]
            found += [settings] if settings else []
        return found


class _View:
    """Readings under all candidates, with one unit of the values."""

    def __init__(
        self, data: Data, standard: Standard, candidates: Sequence[_Candidate], space: Space
    ) -> None:
        # one unit for all: where some are symmetric about zero, zero is in the middle
        standard = standard.about_zero if any(c.process.about_zero for c in candidates) else standard
        self.data, self._standard, self._candidates = data, standard, candidates
        self._deviation, self._known = deviations(data._replace(times=None), standard)
        for candidate in candidates:
            _extend(candidate, data, space)
        self._residuals = [residuals(c.process, data, _located(c), standard) for c in candidates]
        self._latest: tuple[bytes, list[_Component]] | None = None

    def ratios(self, times: Float[ndarray, " n"]) -> Float[ndarray, "n k"]:
        """Log evidence with k_i = 1, 4, ..., 1024 beside that with the present k_i, of every reading."""
        factors = np.concatenate([[1.0], _TIMES])[None, :] / times[:, None]
        parts, masses = [], []
        for part in self._components(times):
            variance = part.variance[:, :, None]
            other = variance + part.own[:, None, None] * (factors**2 - 1.0)
            other = np.maximum(other, 1e-12 * variance)
            square = part.residual[:, :, None] ** 2
            ratio = 0.5 * (np.log(variance / other) + square * (1.0 / variance - 1.0 / other))
            parts.append(np.logaddexp.reduce(part.log_weight[:, None, None] + ratio, axis=0))
            masses.append(np.logaddexp.reduce(part.log_weight))
        return np.logaddexp.reduce(parts, axis=0) - np.logaddexp.reduce(masses)

    def evidence(self) -> Float[ndarray, " m"]:
        """Of every candidate, with its prior."""
        return np.array(
            [
                float(np.logaddexp.reduce(self._all_of(i, np.ones(len(self.data.values)))[0]))
                for i in range(len(self._candidates))
            ]
        )

    def left_out(
        self, times: Float[ndarray, " n"], group: Int[ndarray, " g"]
    ) -> Iterator[tuple[float, ndarray, ndarray, ndarray]]:
        """Weight, residual and covariance of some readings given all others, and their noise variances."""
        components = self._components(times)
        best = max(float(part.log_weight.max()) for part in components)
        for part in components:
            vectors, inverses, scores = part.inverse
            for c in np.flatnonzero(part.log_weight > best + _NEGLIGIBLE):
                some = vectors[group]
                covariance = np.linalg.inv((some * inverses[c]) @ some.T)
                residual = covariance @ (some @ (inverses[c] * scores))
                # the group itself counts by what is said of it here, not by its own part of the evidence
                weight = part.log_weight[c] - _log_normal(residual, covariance)
                yield float(weight), residual, covariance, np.full(len(group), part.own[c])

    def _components(self, times: Float[ndarray, " n"]) -> list[_Component]:
        key = times.tobytes()
        if self._latest is None or self._latest[0] != key:
            everything = [self._all_of(i, times) for i in range(len(self._candidates))]
            best = max(float(weights.max()) for weights, *_ in everything)
            # what a reading's being an outlier can add to the evidence is at most half its squared distance
            found = [_pruned(best, *one) for one in everything]
            self._latest = key, [part for part in found if part is not None]
        return self._latest[1]

    def _all_of(
        self, number: int, times: Float[ndarray, " n"]
    ) -> tuple[ndarray, ndarray, ndarray, ndarray, ndarray, ndarray]:
        """Log weights of all amplitudes and noise levels of a candidate, and its eigendecomposition."""
        candidate = self._candidates[number]
        deviation = self._deviation * times
        n = len(deviation)
        covariance = candidate.covariance[:n, :n]
        instrument = loaded(candidate.process, self.data._replace(sizes=candidate.sizes), self._standard)
        if instrument is not None:
            covariance = covariance + instrument.matrix @ instrument.matrix.T
        covariance = covariance / np.outer(deviation, deviation)
        eigenvalues, vectors = np.linalg.eigh(0.5 * (covariance + covariance.T))
        eigenvalues = np.maximum(eigenvalues, 0.0)
        scores = vectors.T @ (self._residuals[number] / deviation)
        rest = Vanishing(0.0, 0.0, float(np.sum(np.log(deviation))))
        typical = candidate.process.expected_variation(self._standard)
        every = noise_levels(eigenvalues, scores, rest, self._known, typical)
        weights = every.log_weight - every.log_mass - rest.log_deviation + candidate.log_prior
        counts = every.counts
        return weights[counts], every.square[counts], every.ratio[counts], eigenvalues, vectors, scores


def _pruned(
    best: float,
    weights: ndarray,
    square: ndarray,
    ratio: ndarray,
    eigenvalues: ndarray,
    vectors: ndarray,
    scores: ndarray,
) -> _Component | None:
    inverses = 1.0 / (square[:, None] * (eigenvalues + ratio[:, None]))
    precision = inverses @ (vectors**2).T
    residual = (inverses * scores) @ vectors.T / precision
    variance = 1.0 / precision
    bound = weights + 0.5 * np.max(residual**2 / variance, axis=1)
    kept = bound > best + _NEGLIGIBLE
    if not kept.any():
        return None
    return _Component(
        weights[kept],
        residual[kept],
        variance[kept],
        (square * ratio)[kept],
        (vectors, inverses[kept], scores),
    )


def _located(candidate: _Candidate) -> Located:
    assert candidate.anchors is not None
    return candidate.anchors


def _extend(candidate: _Candidate, data: Data, space: Space) -> None:
    """With what follows from further readings, one by one as in `pinnbo.gp.posterior.condition`."""
    process, n = candidate.process, len(data.values)
    anchors = candidate.anchors
    known = 0 if anchors is None else len(anchors.scaled)
    if not (
        anchors is not None
        and np.array_equal(anchors.scaled, space.scale(data.points[:known]))
        and np.array_equal(candidate.kinds, data.kinds[:known])
    ):
        anchors, known = None, 0
    if known >= n and anchors is not None:
        return
    for i in range(known, n):
        one = anchored(process, data.where(slice(i, i + 1)), space)
        anchors = one if anchors is None else anchors.joined(one)
    assert anchors is not None
    candidate.kinds, candidate.anchors = data.kinds, anchors
    candidate.covariance = process.covariance(anchors, anchors)[0]


def _log_normal(residual: Float[ndarray, " g"], covariance: Float[ndarray, "g g"]) -> float:
    """log N(residual; 0, covariance), but for the power of 2 pi."""
    factor = np.linalg.cholesky(0.5 * (covariance + covariance.T))
    solved = np.linalg.solve(factor, residual)
    return float(-np.sum(np.log(np.diag(factor))) - 0.5 * solved @ solved)
