"""Where a measurement is possible: a Gaussian-process classifier of the points with a value and of those without.

A place s is possible where a latent function is positive, but for a blur that is small beside its variation,

    P(possible at s | g) = Phi(g(s) / blur),     g = m + c + h(s),   c ~ N(0, 1),   h ~ GP(0, Matern-5/2 of length l),

so that the rim of the possible region is the zero set of g: unknown where nobody has looked, pinned down between a
value and a NaN that are close. The constant m + c says that most of a box is possible, weakly; the length scales of a
small grid are averaged by their evidence.

The posterior of g at the n points comes from expectation propagation. It is N(mu, Sigma) with Sigma = (K^-1 + T)^-1 and
mu = Sigma nu, T = diag(tau), where every pair (tau_i, nu_i) is matched to the moments of its own likelihood under the
cavity distribution, the posterior without that pair. With B = I + T^1/2 K T^1/2 = L L^T, W = L^-1 T^1/2 and
k = cov(g(s), g at the points), g(s) is normal with

    mean = m + k . (nu - W^T W K nu),      variance = k(s, s) - |W k|^2.

A normal distribution never vanishes, not even where a label forbids half of it: beside a NaN P would still be a tenth.
The label i of the nearest point is therefore taken exactly. Given h_i, g(s) is normal with mean + beta (h_i - mu_i) and
rest = variance - beta^2 Sigma_ii, beta = cov(g(s), h_i) / Sigma_ii; h_i has its cavity distribution, cut off at the
sign that was seen, and is averaged over by Gauss-Legendre quantiles:

    P(possible at s) = E[Phi((mean + beta (h_i - mu_i)) / sqrt(blur^2 + rest))].

The gain of a measurement is weighed by P^2 (`Weighed`): what is far better than all that is known is tried beside the
rim too, and each try, possible or not, cuts down what is unknown of it. P alone is what one measurement is expected to
gain. Its square is for the measurements that follow: a try that succeeds is learnt from and built upon, while P alone
goes for a large gain deep in what is likely impossible, again and again. Where P falls evenly between a value and a NaN
and the gain grows evenly, the square asks at a third of the way. Of the powers 1, 1.5, 2 and 3 it took the fewest
evaluations to the optimum on 120 random regions (half planes, discs, squares, holes) with known fields.

References
----------
C. E. Rasmussen, C. K. I. Williams, "Gaussian Processes for Machine Learning", MIT Press (2006), section 3.6.
J. P. Cunningham, P. Hennig, S. Lacoste-Julien, "Gaussian probabilities and expectation propagation" (2011).
M. A. Gelbart, J. Snoek, R. P. Adams, "Bayesian optimization with unknown constraints", UAI 2014.
"""

from __future__ import annotations

import functools
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float
from numpy import ndarray
from scipy.special import log_ndtr, ndtri_exp

from pinnbo.acquisition.search import Objective

_SCALES = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2)  # lengths in scaled coordinates, multiplied by sqrt(d)
_MEAN, _CONSTANT = 2.0, 1.0  # m, and the variance of c, in units of h: nine tenths of a box are possible
_BLUR = 1e-3  # of h: a rim is sharp
_SWEEPS, _SETTLED = 30, 1e-3
_MOST, _EARLIEST = 128, 32  # points that are learnt from, and those of them that were measured first
_BATCH = 256
_LOG_ROOT = 0.5 * math.log(2.0 * math.pi)
_SHARPNESS = 100.0
_CAUTION = 2.0  # the power of P
_LEGENDRE = np.polynomial.legendre.leggauss(16)
_LOG_NODES, _LOG_SHARES = np.log(0.5 * (1.0 + _LEGENDRE[0])), np.log(0.5 * _LEGENDRE[1])

_Points = Float[ndarray, "k d"]
_Values = Float[ndarray, " k"]


class Feasibility(ABC):
    """How likely it is that a measurement is possible."""

    @property
    def is_learnt(self) -> bool:
        """Whether any place is more likely than another."""
        return True

    @abstractmethod
    def log_probability(self, points: _Points, slopes: bool = False) -> tuple[_Values, _Points]:
        """log P(possible) at scaled points with its slopes, which are zero unless asked for."""

    def probability(self, points: _Points) -> _Values:
        """P(possible) at scaled points."""
        return np.exp(self.log_probability(points)[0])


@dataclass(frozen=True, eq=False)
class Everywhere(Feasibility):
    """No place is known to be impossible."""

    @property
    def is_learnt(self) -> bool:
        """No."""
        return False

    def log_probability(self, points: _Points, slopes: bool = False) -> tuple[_Values, _Points]:
        """Zero."""
        return np.zeros(len(points)), np.zeros_like(points)


@dataclass(frozen=True, eq=False)
class Classifier(Feasibility):
    """The Gaussian-process classifier, averaged over length scales; scaled points."""

    points: Float[ndarray, "n d"]
    scales: Float[ndarray, " s"]
    log_weights: Float[ndarray, " s"]
    alpha: Float[ndarray, "s n"]  # nu - W^T W K nu
    explaining: Float[ndarray, "s n n"]  # W
    left: Float[ndarray, "s n n"]  # I - W^T W K: the covariance with point i is k . left[:, i]
    variance: Float[ndarray, "s n"]  # Sigma_ii
    departures: Float[ndarray, "s n q"]  # h_i - mu_i, as quantiles of its exact distribution

    @classmethod
    def learn(cls, points: Float[ndarray, "n d"], possible: Bool[ndarray, " n"]) -> Classifier:
        """From points with their labels; of very many, from those that tell most of the rim."""
        kept = _telling(points, possible)
        points, sign = points[kept], np.where(possible[kept], 1.0, -1.0)
        scales = np.sqrt(points.shape[1]) * np.array(_SCALES)
        covariance = _covariance(_distances(points, points), scales)[0]
        tau, nu, log_evidence = propagate(covariance, sign, _MEAN, _BLUR**2)
        root = np.sqrt(tau)
        factor = np.linalg.cholesky(_regularised(covariance, root))
        explaining = np.linalg.solve(factor, np.eye(len(points))[None] * root[:, None])
        left = np.eye(len(points)) - np.swapaxes(explaining, 1, 2) @ (explaining @ covariance)
        mu = np.einsum("sij,sjk,sk->si", covariance, left, nu)
        variance = np.einsum("sij,sji->si", covariance, left)
        cavity = _cavity(variance, mu, tau, nu)
        return cls(
            points,
            scales,
            log_evidence - np.logaddexp.reduce(log_evidence),
            np.einsum("sij,sj->si", left, nu),
            explaining,
            left,
            variance,
            _quantiles(*cavity, sign, _MEAN) - mu[:, :, None],
        )

    def log_probability(self, points: _Points, slopes: bool = False) -> tuple[_Values, _Points]:
        """In bounded memory."""
        parts = [self._of_some(points[i : i + _BATCH], slopes) for i in range(0, len(points), _BATCH)]
        if not parts:
            return np.zeros(0), np.zeros_like(points)
        return np.concatenate([p for p, _ in parts]), np.concatenate([s for _, s in parts])

    def _of_some(self, points: _Points, slopes: bool) -> tuple[_Values, _Points]:
        distances = _distances(points, self.points)
        nearest = np.argmin(distances, axis=1)
        cross, steep = _covariance(distances, self.scales)
        mean = _MEAN + np.einsum("skn,sn->sk", cross, self.alpha)
        seen = cross @ np.swapaxes(self.explaining, 1, 2)
        left, own = np.swapaxes(self.left[:, :, nearest], 1, 2), self.variance[:, nearest]
        beta = np.einsum("skn,skn->sk", cross, left) / own
        rest = 1.0 + _CONSTANT - np.sum(seen**2, axis=2) - beta**2 * own
        std = np.sqrt(np.maximum(rest, 0.0) + _BLUR**2)
        departures = self.departures[:, nearest]
        z = (mean[:, :, None] + beta[:, :, None] * departures) / std[:, :, None]
        parts = self.log_weights[:, None, None] + _LOG_SHARES + log_ndtr(z)
        total = np.logaddexp.reduce(np.logaddexp.reduce(parts, axis=2), axis=0)
        if not slopes:
            return total, np.zeros_like(points)
        # derivatives of log P in mean, beta and rest, of these in k, and of k in s: steep * (s - point)
        rising = np.exp(parts - total[:, None] + _log_density(z) - log_ndtr(z)) / std[:, :, None]
        by_mean, by_beta = np.sum(rising, axis=2), np.sum(rising * departures, axis=2)
        by_rest = -0.5 * np.sum(rising * z, axis=2) / std
        pull = by_mean[:, :, None] * self.alpha[:, None] - 2.0 * by_rest[:, :, None] * (
            seen @ self.explaining
        )
        pull = (pull + (by_beta / own - 2.0 * by_rest * beta)[:, :, None] * left) * steep
        return total, np.einsum("skn->k", pull)[:, None] * points - np.einsum("skn->kn", pull) @ self.points


def learnt(good: Float[ndarray, "n d"], bad: Float[ndarray, "m d"]) -> Feasibility:
    """What scaled points that gave values and points that did not tell about the places between them."""
    if len(bad) == 0:
        return Everywhere()
    dim = bad.shape[1]
    return _remembered(np.ascontiguousarray(good).tobytes(), np.ascontiguousarray(bad).tobytes(), dim)


@functools.lru_cache(maxsize=4)
def _remembered(good: bytes, bad: bytes, dim: int) -> Classifier:
    # several searches between two measurements ask for the same
    both = [np.frombuffer(part).reshape(-1, dim) for part in (good, bad)]
    return Classifier.learn(np.concatenate(both), np.repeat([True, False], [len(b) for b in both]))


@dataclass(frozen=True, eq=False)
class Weighed(Objective):
    """An objective with the gain weighed by the probability that a measurement is possible.

    Where the objective is -log of a gain the weight is added, -log gain - 2 log P. A function to be minimised, a draw
    or a mean, promises the gain u = ``known`` - value over the best known point, which counts from zero on:
    -log softplus(u / ``unit``) - 2 log P, a smooth maximum of u and 0.
    """

    objective: Objective
    possible: Feasibility
    known: float
    unit: float

    @classmethod
    def of(
        cls,
        objective: Objective,
        possible: Feasibility,
        candidates: Float[ndarray, "c d"],
        favourites: Float[ndarray, "b d"],
    ) -> Weighed:
        """With the differences that the objective has over the candidates as the unit, and the best of favourites."""
        if objective.is_log:
            return cls(objective, possible, 0.0, 1.0)
        values = objective.values(candidates)
        spread = float(np.std(values[np.isfinite(values)])) if np.isfinite(values).any() else 0.0
        return cls(
            objective, possible, float(np.min(objective.values(favourites))), spread / _SHARPNESS or 1.0
        )

    @property
    def one_shape(self) -> bool:
        """As of the objective."""
        return self.objective.one_shape

    @property
    def quick_slopes(self) -> bool:
        """As of the objective."""
        return self.objective.quick_slopes

    @property
    def is_log(self) -> bool:
        """Yes."""
        return True

    def values(self, points: _Points) -> _Values:
        """The sum of the two."""
        log_p, _ = self.possible.log_probability(points)
        return self._logarithm(self.objective.values(points))[0] - _CAUTION * log_p

    def values_and_slopes(self, points: _Points) -> tuple[_Values, _Points]:
        """By the chain rule."""
        value, slope = self.objective.values_and_slopes(points)
        value, factor = self._logarithm(value)
        log_p, log_p_slope = self.possible.log_probability(points, slopes=True)
        return value - _CAUTION * log_p, factor[:, None] * slope - _CAUTION * log_p_slope

    def _logarithm(self, values: _Values) -> tuple[_Values, _Values]:
        """-log of the gain, and its derivative in the objective."""
        if self.objective.is_log:
            return values, np.ones_like(values)
        u = (self.known - values) / self.unit
        gain = np.logaddexp(0.0, u)
        # softplus(u) is exp(u) but for a part of its own size
        log_gain = np.where(u < -30.0, u, np.log(np.maximum(gain, 1e-300)))
        rise = np.where(u < -30.0, 1.0, np.exp(-np.logaddexp(0.0, -u)) / np.maximum(gain, 1e-300))
        return -log_gain, rise / self.unit


def propagate(
    covariance: Float[ndarray, "s n n"], sign: Float[ndarray, " n"], mean: float, noise: float
) -> tuple[Float[ndarray, "s n"], Float[ndarray, "s n"], Float[ndarray, " s"]]:
    """Sites (tau, nu) and log evidence of expectation propagation, for many covariances at once.

    h ~ N(0, K), and sign_i (mean + h_i) is positive but for noise of that variance.
    """
    s, n, _ = covariance.shape
    tau, nu, log_z = np.zeros((s, n)), np.zeros((s, n)), np.full(s, -np.inf)
    sigma, mu = covariance.copy(), np.zeros((s, n))
    for _ in range(_SWEEPS):
        for i in range(n):
            cavity = _cavity(sigma[:, i, i], mu[:, i], tau[:, i], nu[:, i])
            new_tau, new_nu, _ = _matched(*cavity, sign[i], mean, noise)
            change, column = new_tau - tau[:, i], sigma[:, :, i].copy()
            tau[:, i], nu[:, i] = new_tau, new_nu
            sigma -= (
                (change / (1.0 + change * column[:, i]))[:, None, None] * column[:, :, None] * column[:, None]
            )
            mu = np.einsum("sij,sj->si", sigma, nu)
        # afresh, without the rounding of n updates
        root = np.sqrt(tau)
        b = _regularised(covariance, root)
        sigma = covariance - covariance * root[:, None] @ np.linalg.solve(b, root[:, :, None] * covariance)
        mu = np.einsum("sij,sj->si", sigma, nu)
        old, log_z = log_z, _log_evidence(b, sigma, mu, tau, nu, sign, mean, noise)
        if np.all(np.abs(log_z - old) < _SETTLED):
            break
    return tau, nu, log_z


def _cavity(variance: ndarray, mu: ndarray, tau: ndarray, nu: ndarray) -> tuple[ndarray, ndarray]:
    """Mean and variance of h_i without its own site."""
    precision = np.maximum(1.0 / variance - tau, 1e-12)
    return (mu / variance - nu) / precision, 1.0 / precision


def _matched(
    mu: ndarray, variance: ndarray, sign: ndarray | float, mean: float, noise: float
) -> tuple[ndarray, ndarray, ndarray]:
    """The site that gives the moments of N(h; mu, variance) Phi(sign (mean + h) / sqrt(noise)), and log of its mass."""
    total = noise + variance
    z = sign * (mean + mu) / np.sqrt(total)
    log_mass = log_ndtr(z)
    ratio = np.exp(_log_density(z) - log_mass)
    shrink = np.clip(ratio * (z + ratio), 0.0, 1.0 - 1e-12)
    tau = shrink / (noise + variance * (1.0 - shrink))
    moved = sign * variance * ratio / np.sqrt(total)
    return tau, mu * tau + moved * (1.0 / variance + tau), log_mass


def _quantiles(
    mu: Float[ndarray, "s n"], variance: Float[ndarray, "s n"], sign: Float[ndarray, " n"], mean: float
) -> Float[ndarray, "s n q"]:
    """Of h ~ N(mu, variance) given that sign (mean + h) > 0."""
    std = np.sqrt(variance)
    inside = log_ndtr(sign * (mean + mu) / std)[:, :, None] + _LOG_NODES
    return mu[:, :, None] - (sign * std)[:, :, None] * ndtri_exp(inside)


def _log_evidence(
    b: Float[ndarray, "s n n"],
    sigma: Float[ndarray, "s n n"],
    mu: Float[ndarray, "s n"],
    tau: Float[ndarray, "s n"],
    nu: Float[ndarray, "s n"],
    sign: Float[ndarray, " n"],
    mean: float,
    noise: float,
) -> Float[ndarray, " s"]:
    """log of the integral of N(h; 0, K) prod_i t_i; sites t_i = exp(log_c - tau h^2 / 2 + nu h) of the right mass."""
    centre, variance = _cavity(np.einsum("sii->si", sigma), mu, tau, nu)
    _, _, log_mass = _matched(centre, variance, sign, mean, noise)
    together = (nu + centre / variance) ** 2 / (tau + 1.0 / variance) - centre**2 / variance
    log_c = log_mass + 0.5 * np.log1p(tau * variance) - 0.5 * together
    return np.sum(log_c, axis=1) - 0.5 * np.linalg.slogdet(b)[1] + 0.5 * np.sum(nu * mu, axis=1)


def _regularised(covariance: Float[ndarray, "s n n"], root: Float[ndarray, "s n"]) -> Float[ndarray, "s n n"]:
    """B = I + T^1/2 K T^1/2."""
    return np.eye(root.shape[1]) + root[:, :, None] * covariance * root[:, None]


def _distances(points: Float[ndarray, "k d"], others: Float[ndarray, "n d"]) -> Float[ndarray, "k n"]:
    return np.linalg.norm(points[:, None] - others, axis=2)


def _covariance(
    distances: Float[ndarray, "k n"], scales: Float[ndarray, " s"]
) -> tuple[Float[ndarray, "s k n"], Float[ndarray, "s k n"]]:
    """1 + (1 + r + r^2 / 3) exp(-r), r = sqrt(5) |s - t| / l, and the factor of s - t in its slope."""
    rate = np.sqrt(5.0) / scales[:, None, None]
    r = rate * distances
    decay = np.exp(-r)
    return _CONSTANT + (1.0 + r + r**2 / 3.0) * decay, -(rate**2) / 3.0 * (1.0 + r) * decay


def _telling(points: Float[ndarray, "n d"], possible: Bool[ndarray, " n"]) -> ndarray:
    """Which points to learn from: all, or those that are closest to one of the other kind and the earliest."""
    n = len(points)
    if n <= _MOST:
        return np.arange(n)
    gap = np.full(n, np.inf)
    if possible.any() and not possible.all():
        between = _distances(points[possible], points[~possible])
        gap[possible], gap[~possible] = between.min(axis=1), between.min(axis=0)
    gap[:_EARLIEST] = -1.0
    return np.sort(np.argsort(gap, kind="stable")[:_MOST])


def _log_density(z: ndarray) -> ndarray:
    return -0.5 * z**2 - _LOG_ROOT
