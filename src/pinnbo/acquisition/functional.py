"""An objective that is a function of the fields, J(x) = n(x, derivatives of the fields at x): what is known of it, and
which measurement of f tells most about its optimum.

Under one model the fields are normal and J is not, unless it is linear. It is evaluated on functions drawn from the
posterior (`pinnbo.gp.draws`). What a measurement y of f at x tells about J(c) follows without further draws from
Stein's lemma: for normal fields

    cov(J(c), f(x)) = sum_a E[dn/dJ_a] cov((d/du)^a f(c), f(x)),

the expectation over the draws. Given y the mean of J moves by beta(c, x) z, z standard normal,
beta = cov(J(c), f(x)) / sqrt(var f(x) + noise), and the knowledge gradient is

    KG(x) = E_z max_c (mean J(c) + beta(c, x) z) - max_c mean J(c)                               (for maximisation)

over candidates c (Frazier, Powell, Dayanik 2009; z by Gauss-Hermite quadrature), averaged over the models. Where no
measurement is expected to change the choice, the variance that it takes off J counts, at the places that may be best.

References
----------
Frazier, Powell, Dayanik, "The knowledge-gradient policy for correlated normal beliefs", INFORMS J. Computing 21 (2009).
Stein, "Estimation of the mean of a multivariate normal distribution", Ann. Statist. 9 (1981).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from numpy import ndarray
from scipy.special import ndtr

from pinnbo.acquisition.feasibility import Feasibility
from pinnbo.acquisition.search import Objective
from pinnbo.data import Data
from pinnbo.ensemble.mixture import Mixture
from pinnbo.gp.draws import Draws
from pinnbo.gp.posterior import Posterior
from pinnbo.objective import Limit, Target
from pinnbo.physics.coordinates import Coordinates
from pinnbo.physics.jets import JetPDE
from pinnbo.space import Space
from pinnbo.thresholds import LIKELY, NEGLIGIBLE, WITHIN_NOISE

_N_DRAWS = 128  # in all, in pairs
_LEAST_DRAWS = 12  # of a model
_MOST_MODELS = 6
_N_INDUCING = 256
_N_PLACES = 384  # c
_NODES, _SHARES = np.polynomial.hermite_e.hermegauss(11)
_WEIGHTS = _SHARES / np.sum(_SHARES)
_LITTLE = 1e-3  # weight of what is learnt beside what is gained
_STEP = 1e-4

_Points = Float[ndarray, "n d"]
_Values = Float[ndarray, " n"]


class Seen(NamedTuple):
    """J at points: under every draw, and the features of its average linearisation."""

    values: Float[ndarray, "s c"]
    features: Float[ndarray, "c r"]


class Fields:
    """Functions drawn from the models of a mixture, and what functions of the fields are on them."""

    def __init__(
        self,
        mixture: Mixture,
        data: Data,
        space: Space,
        sign: float,
        candidates: _Points,
        rng: np.random.Generator,
    ) -> None:
        self.space, self.sign = space, sign
        self._jets: dict[tuple[int, int], JetPDE] = {}
        weights = np.exp(mixture.log_weights)
        order = [i for i in np.argsort(-weights, kind="stable")[:_MOST_MODELS] if weights[i] > NEGLIGIBLE]
        share = weights[order] / np.sum(weights[order])
        self.models: list[tuple[float, Draws]] = []
        for w, i in zip(share, order, strict=True):
            n = max(_LEAST_DRAWS, round(_N_DRAWS * float(w)))
            try:
                drawn = Draws.of(mixture.posteriors[i], data, space, candidates[:_N_INDUCING], n, rng)
            except NotImplementedError:  # its readings are known, but not on features
                continue
            self.models.append((float(w), drawn))

    def able(self, targets: Sequence[Target]) -> Fields:
        """With the models that know the derivatives that are needed; raises if none does."""
        probe = np.zeros((1, self.space.dim))
        found = []
        for weight, draws in self.models:
            try:
                for target in targets:
                    draws.features(self._jet(target, draws).keys, probe)
            except NotImplementedError:
                continue
            found.append((weight, draws))
        if not found:
            raise ValueError(
                "objective: no model of the measurements knows the derivatives or fields that it is made of"
            )
        total = sum(weight for weight, _ in found)
        self.models = [(weight / total, draws) for weight, draws in found]
        return self

    def _jet(self, target: Target, draws: Draws) -> JetPDE:
        coordinates: Coordinates = draws.posterior.process.coordinates
        key = id(target), id(coordinates)
        if key not in self._jets:
            self._jets[key] = JetPDE(self.space, target.pde, coordinates)
        return self._jets[key]

    def seen(self, target: Target, draws: Draws, scaled: _Points, linearised: bool) -> Seen:
        """J at points, aggregated over a coordinate if it says so."""
        jet = self._jet(target, draws)
        places = target.places(self.space, scaled)
        c, k, d = places.shape
        flat = places.reshape(-1, d)
        features = draws.features(jet.keys, flat)
        jets = draws.jets(jet.keys, features)
        s = len(jets)
        at = np.tile(draws.posterior.process.coordinates.of(flat), (s, 1))
        n, slopes = jet.linearised(at, jets.reshape(s * c * k, -1))
        values = n[:, 0].reshape(s, c, k)
        if target.axis is not None:
            inside = self.space.is_inside(self.space.unscale(flat)).reshape(c, k)
            values = np.where(inside, values, np.nan)
        counts = _counted(values, target, self.sign)
        value = np.nansum(values * counts, axis=2)
        if not linearised:
            return Seen(value, np.zeros((c, 0)))
        weights = np.mean(counts[..., None] * slopes[:, 0].reshape(s, c, k, -1), axis=0)  # (c, k, a)
        return Seen(value, np.einsum("cka,ackr->cr", weights, features.reshape(len(jet.keys), c, k, -1)))

    def moments(self, target: Target, scaled: _Points) -> tuple[_Values, _Values]:
        """Mean and standard deviation of J, averaged over the models."""
        parts = [(w, self.seen(target, draws, scaled, False).values) for w, draws in self.models]
        mean = sum(w * np.mean(values, axis=0) for w, values in parts)
        square = sum(w * np.mean((values - mean) ** 2, axis=0) for w, values in parts)
        return np.asarray(mean), np.sqrt(np.asarray(square))


def _counted(values: Float[ndarray, "s c k"], target: Target, sign: float) -> Float[ndarray, "s c k"]:
    """How much every place counts: one alone, all alike, or the worst."""
    known = ~np.isnan(values)
    if target.axis is None or target.how == "mean":
        return known / np.maximum(known.sum(axis=2, keepdims=True), 1)
    worst = np.argmax(np.where(known, sign * values, -np.inf), axis=2)
    return (np.arange(values.shape[2]) == worst[..., None]).astype(float)


@dataclass(frozen=True, eq=False)
class MeanOf(Objective):
    """The mean of J, least where J is best."""

    fields: Fields
    target: Target

    @property
    def quick_slopes(self) -> bool:
        """Slopes are not known."""
        return False

    def values(self, points: _Points) -> _Values:
        """Over the draws of all models."""
        return self.fields.sign * self.fields.moments(self.target, points)[0]

    def values_and_slopes(self, points: _Points) -> tuple[_Values, _Points]:
        """Not known."""
        raise NotImplementedError("slopes of drawn functionals are not known")


@dataclass(frozen=True, eq=False)
class Allowed(Objective):
    """An objective where the limits are likely enough to hold, and infinite elsewhere."""

    objective: Objective
    limits: WithinLimits
    least: float

    @property
    def quick_slopes(self) -> bool:
        """Slopes are not known."""
        return False

    def values(self, points: _Points) -> _Values:
        """Of the objective."""
        chance = self.limits.probability(points)
        return np.where(chance >= self.least - 1e-9, self.objective.values(points), np.inf)

    def values_and_slopes(self, points: _Points) -> tuple[_Values, _Points]:
        """Not known."""
        raise NotImplementedError("slopes of drawn functionals are not known")


class KnowledgeGradient(Objective):
    """-log of what a measurement of f is expected to gain for J; see the top of the file."""

    def __init__(
        self, fields: Fields, target: Target, candidates: _Points, noise: float, limits: Sequence[Limit] = ()
    ) -> None:
        self._fields, self._noise = fields, noise
        places = candidates[:_N_PLACES]
        allowed = np.ones(len(places), dtype=bool)
        if limits:
            chance = WithinLimits(fields, limits).probability(places)
            allowed = chance >= min(LIKELY, float(np.max(chance)))
        self._parts = []
        for weight, draws in fields.models:
            seen = fields.seen(target, draws, places[allowed], True)
            gain = -fields.sign * np.mean(seen.values, axis=0)
            spread = np.std(seen.values, axis=0)
            promising = gain + WITHIN_NOISE * spread >= np.max(gain)
            known = seen.features[:, : draws.n_features] @ draws.covariance
            self._parts.append((weight, draws, gain, promising, known))

    @property
    def quick_slopes(self) -> bool:
        """Slopes are not known."""
        return False

    @property
    def is_log(self) -> bool:
        """Yes."""
        return True

    def values(self, points: _Points) -> _Values:
        """Averaged over the models."""
        total = np.zeros(len(points))
        value = np.zeros((1, 1 + self._fields.space.dim), dtype=int)
        for weight, draws, gain, promising, known in self._parts:
            own = draws.features(value, points)[0][:, : draws.n_features]
            variance = np.einsum("xr,rq,xq->x", own, draws.covariance, own, optimize=True)
            told = np.sqrt(np.maximum(variance, 0.0) + self._noise)
            beta = (known @ own.T) / told  # (c, x)
            best = np.max(gain[:, None, None] + beta[:, :, None] * _NODES, axis=0) @ _WEIGHTS - np.max(gain)
            learnt = np.sqrt(np.mean(beta[promising] ** 2, axis=0))
            total += weight * (np.maximum(best, 0.0) + _LITTLE * learnt)
        return -np.log(np.maximum(total, 1e-300))

    def values_and_slopes(self, points: _Points) -> tuple[_Values, _Points]:
        """Not known."""
        raise NotImplementedError("slopes of drawn functionals are not known")


@dataclass(frozen=True, eq=False)
class WithinLimits(Feasibility):
    """The probability that all limits hold: of each under every model by the mean and spread of its draws."""

    fields: Fields
    limits: Sequence[Limit]

    def log_probability(self, points: _Points, slopes: bool = False) -> tuple[_Values, _Points]:
        """The sum over the limits; slopes by differences."""
        value = self._log_probability(points)
        slope = np.zeros_like(points)
        if slopes:
            for axis in range(points.shape[1]):
                step = np.zeros(points.shape[1])
                step[axis] = _STEP
                up, down = (self._log_probability(points + s * step) for s in (1.0, -1.0))
                slope[:, axis] = (up - down) / (2.0 * _STEP)
        return value, slope

    def _log_probability(self, points: _Points) -> _Values:
        total = np.zeros(len(points))
        for limit in self.limits:
            chance = np.zeros(len(points))
            for weight, draws in self.fields.models:
                values = self.fields.seen(limit.target, draws, points, False).values
                mean, spread = np.mean(values, axis=0), np.maximum(np.std(values, axis=0), 1e-12)
                chance += weight * (ndtr((limit.high - mean) / spread) - ndtr((limit.low - mean) / spread))
            total += np.log(np.clip(chance, 1e-12, 1.0))
        return total


@dataclass(frozen=True, eq=False)
class Both(Feasibility):
    """Two reasons why a measurement may not count, independent of each other."""

    first: Feasibility
    second: Feasibility

    def log_probability(self, points: _Points, slopes: bool = False) -> tuple[_Values, _Points]:
        """The sum."""
        (one, its), (other, others) = (p.log_probability(points, slopes) for p in (self.first, self.second))
        return one + other, its + others


class MapVariance(Objective):
    """-log of the variance that a measurement takes off the map, on average over candidates c.

        sum_c cov(f(c), f(x))^2 / (var f(x) + noise)

    (Cohn 1996), covariances of the average over all models: between their means, and within each.
    """

    def __init__(self, mixture: Mixture, candidates: _Points, noise: float) -> None:
        self._mixture, self._noise, self._places = mixture, noise, candidates[:_N_PLACES]
        weights = np.exp(mixture.log_weights)
        counts = [i for i in np.argsort(-weights, kind="stable")[:_MOST_MODELS] if weights[i] > NEGLIGIBLE]
        self._models = [(float(weights[i] / np.sum(weights[counts])), mixture.posteriors[i]) for i in counts]
        self._means = np.stack([_mean(p, self._places) for _, p in self._models])

    @property
    def quick_slopes(self) -> bool:
        """Slopes are not known."""
        return False

    @property
    def is_log(self) -> bool:
        """Yes."""
        return True

    def values(self, points: _Points) -> _Values:
        """Of the covariance at the most likely sample of every model."""
        weights = np.array([w for w, _ in self._models])
        means = np.stack([_mean(p, points) for _, p in self._models])
        gaps, others = means - weights @ means, self._means - weights @ self._means
        across = np.einsum("k,kx,kc->xc", weights, gaps, others)
        for weight, posterior in self._models:
            at, there = (posterior.process.locate(some) for some in (points, self._places))
            prior = posterior.process.covariance(at, there)[0]
            seen, known = (posterior.across(some)[0] @ posterior.basis for some in (at, there))
            size = posterior.standard.scale**2 * posterior.samples.square[0]
            across += weight * size * (prior - (seen * posterior.shrink[0]) @ known.T)
        variance = self._mixture.predict(points)[1] ** 2
        return -np.log(np.mean(across**2, axis=1) / (variance + self._noise) + 1e-300)

    def values_and_slopes(self, points: _Points) -> tuple[_Values, _Points]:
        """Not known."""
        raise NotImplementedError("slopes of the map's variance are not known")


def _mean(posterior: Posterior, points: _Points) -> _Values:
    """Of f under one model."""
    return np.asarray(posterior.moments(points).mean @ np.exp(posterior.samples.log_weight))


@dataclass(frozen=True, eq=False)
class Telling(Objective):
    """-log of the information of a measurement about which model is right: least where they differ most.

    1/2 log (var f + noise) / (E var_k f + noise): of a normal with the mixture's variance, at most (Lindley 1956).
    Models differ by the values of unknown coefficients, where there are any.
    """

    mixture: Mixture
    noise: float

    @property
    def quick_slopes(self) -> bool:
        """Slopes are not known."""
        return False

    @property
    def is_log(self) -> bool:
        """Yes."""
        return True

    def values(self, points: _Points) -> _Values:
        """By the law of total variance."""
        mean, variance, _, _ = self.mixture.moments(points)
        weights = np.exp(self.mixture.component_log_weights)
        within = variance @ weights
        between = (mean - (mean @ weights)[:, None]) ** 2 @ weights
        gain = 0.5 * np.log1p(between / (within + self.noise))
        return -np.log(gain + 1e-300)

    def values_and_slopes(self, points: _Points) -> tuple[_Values, _Points]:
        """Not known."""
        raise NotImplementedError("slopes of the information are not known")
