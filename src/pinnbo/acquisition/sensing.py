"""Which sensor to read where: the knowledge gradient of a reading, by what it costs.

A reading L of any sensor, with noise variance v, moves the mean of f at a place c by beta(c) z, z standard normal:

    beta(c) = cov(f(c), L) / sqrt(var L + v),        KG(L) = E_z max_c (mean(c) + beta(c) z) - max_c mean(c)

(for maximisation; the places c are candidates, z by Gauss-Hermite quadrature). Averaged over the models, and divided by
the cost, it compares a value here with a flux there. Where no reading is expected to change which place is best, what
counts is how much of the uncertainty at places that may be best it takes away, by a thousandth of its size.

References
----------
Frazier, Powell, Dayanik, "The knowledge-gradient policy for correlated normal beliefs", INFORMS J. Computing 21 (2009).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from pinnbo.ensemble.mixture import Mixture
from pinnbo.gp.posterior import Posterior
from pinnbo.gp.readings import Instrument
from pinnbo.physics.functionals import Functionals
from pinnbo.thresholds import NEGLIGIBLE, WITHIN_NOISE

_NODES, _SHARES = np.polynomial.hermite_e.hermegauss(11)
_WEIGHTS = _SHARES / np.sum(_SHARES)
_LITTLE = 1e-3


@dataclass(frozen=True, eq=False)
class Option:
    """A sensor that may be read; None is the measured field itself."""

    sensor: Instrument | None
    cost: float
    noise: float  # variance of a reading

    def fits(self, points: Float[ndarray, "n d"]) -> ndarray:
        """Where it can be used."""
        return np.full(len(points), True) if self.sensor is None else self.sensor.fits(points)


def gains(
    mixture: Mixture,
    sign: float,
    option: Option,
    points: Float[ndarray, "n d"],
    scaled: Float[ndarray, "n d"],
    places: Float[ndarray, "c d"],
) -> Float[ndarray, " n"]:
    """What a reading at each point is worth, by its cost; ``points`` are in user units, the others scaled."""
    total, weight_of_all = np.zeros(len(points)), 0.0
    for posterior, log_weight in zip(mixture.posteriors, mixture.log_weights, strict=True):
        weight = float(np.exp(log_weight))
        process = posterior.process
        readings = (
            Functionals.at(process.coordinates.of(scaled))
            if option.sensor is None
            else option.sensor.functionals(points, process.coordinates)
        )
        if weight < NEGLIGIBLE or not (option.sensor is None or process.knows(readings)):
            continue
        total += weight * _gain(posterior, sign, option, scaled, readings, places)
        weight_of_all += weight
    return total / (weight_of_all * option.cost) if weight_of_all else total


def _gain(
    posterior: Posterior,
    sign: float,
    option: Option,
    scaled: Float[ndarray, "n d"],
    readings: Functionals,
    places: Float[ndarray, "c d"],
) -> Float[ndarray, " n"]:
    """Under one model, at its most likely amplitude and noise."""
    process = posterior.process
    at = process.locate(places)
    if option.sensor is None:
        read = process.locate(scaled)
        variance = posterior.moments(scaled).variance[:, 0]
    else:
        read = process.read(scaled, readings)
        variance = posterior.of(readings).variance[:, 0]
    # cov(f(c), L): of a point with a functional, the functional's side is the other one
    own = process.covariance(at, read)[0]
    learnt = (posterior.across(at)[0] @ posterior.basis * posterior.shrink[0]) @ (
        posterior.across(read)[0] @ posterior.basis
    ).T
    square = posterior.standard.scale**2 * posterior.samples.square[0]
    moved = square * (own - learnt) / np.sqrt(variance + option.noise)
    moments = posterior.moments(places)
    mean, std = -sign * moments.mean[:, 0], np.sqrt(moments.variance[:, 0])
    best = np.max(mean)
    ahead = np.max(mean[:, None, None] + moved[:, :, None] * _NODES, axis=0) @ _WEIGHTS - best
    promising = mean + WITHIN_NOISE * std >= best
    taken = std[promising, None] - np.sqrt(np.maximum(std[promising, None] ** 2 - moved[promising] ** 2, 0.0))
    return np.asarray(np.maximum(ahead, 0.0) + _LITTLE * np.mean(taken, axis=0))


def best_reading(
    mixture: Mixture,
    sign: float,
    options: Sequence[Option],
    points: Float[ndarray, "n d"],
    scaled: Float[ndarray, "n d"],
    places: Float[ndarray, "c d"],
) -> tuple[int, int] | None:
    """The option and the point with the largest gain by cost; None where no option fits anywhere."""
    best: tuple[float, int, int] | None = None
    for number, option in enumerate(options):
        fit = np.flatnonzero(option.fits(points))
        if len(fit) == 0:
            continue
        found = gains(mixture, sign, option, points[fit], scaled[fit], places)
        i = int(np.argmax(found))
        if best is None or found[i] > best[0]:
            best = float(found[i]), number, int(fit[i])
    return None if best is None else best[1:]
