"""Length scales without physics: the most likely ones, per axis, and what choosing them costs.

With K = a^2 k + diag(noise^2), the log posterior density of log l, log a and, where it is not known, log noise is
maximised by L-BFGS-B; its slope in a parameter p is -1/2 tr((K^-1 - K^-1 t t^T K^-1) dK/dp) plus the prior's. The prior
of a length scale is log-normal and grows with the square root of the dimension, so that functions do not become rougher
with every further axis.

Scales that were fitted to the data explain them better than they deserve. What they count as is the evidence averaged
over the prior, by Laplace's method around the most likely l*: with u = log l in units of the prior around its centre,

    p(Y) ~ p(Y | l*) exp(-|u*|^2 / 2) |C|^1/2,

C the posterior covariance of u: the inverse of the Hessian, of which no direction is known less well than a priori.

References
----------
Hvarfner, Hellsten, Nardi, "Vanilla Bayesian optimization performs great in high dimensions", ICML 2024.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from numpy import ndarray
from scipy.linalg.lapack import dpotrf, dpotri, dpotrs
from scipy.optimize import minimize

from pinnbo.data import Data
from pinnbo.gp.kernels import Kernel
from pinnbo.physics.images import Images
from pinnbo.space import Space

_SCALE_SD = np.sqrt(3.0)
_AMPLITUDE_SD = 1.2
_ENOUGH = 200  # observations
_LOG_NOISE, _NOISE_SD = np.log(0.02), 1.5
_STEP = 0.05  # of finite differences of the slope

Loss = Callable[[Float[ndarray, " p"]], tuple[float, Float[ndarray, " p"]]]


class Likely(NamedTuple):
    """The most likely length scales, and log p(Y) - log p(Y | scales): how much less they are to count."""

    scales: Float[ndarray, " d"]
    log_share: float


def likely_scales(
    kind: type[Kernel], centre: float, space: Space, data: Data, images: Images | None = None
) -> Likely:
    """The most likely length scales of a kind of kernel; ``centre`` is the prior's, of log l."""
    d = space.dim
    data = data.first(_ENOUGH)
    points = space.scale(data.points)
    standard = data.standard
    shift, scale = standard if images is None or images.of_one == 1.0 else standard.about_zero
    values, noise = (data.values - shift) / scale, data.noise / scale
    times = data.noise_times

    def kernel(scales: Float[ndarray, " d"]) -> Kernel:
        return kind(scales, periodic=space.periodic, images=images)

    def loss(parameters: Float[ndarray, " p"]) -> tuple[float, Float[ndarray, " p"]]:
        return _loss(kernel, points, values, noise, centre, parameters, times)

    bounds = [(np.log(0.02), centre + 6.0)] * d + [(-4.0, 4.0), (np.log(1e-4), np.log(2.0))]
    runs = []
    for offset in (0.0, -1.5):
        start = np.concatenate([np.full(d, centre + offset), [0.0, _LOG_NOISE]])
        runs.append(
            minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 60})
        )
    best = min(runs, key=lambda run: run.fun).x
    offsets = (best[:d] - centre) / _SCALE_SD
    return Likely(np.exp(best[:d]), float(-0.5 * offsets @ offsets + _log_volume(loss, best, d)))


def _log_volume(loss: Loss, best: Float[ndarray, " p"], d: int) -> float:
    """1/2 log |C| of the first d parameters, in units of the prior."""
    middle = loss(best)[1]
    units = _prior_sd(d)
    columns = [(loss(best + _STEP * axis)[1] - middle) / _STEP for axis in np.eye(len(best))]
    hessian = np.stack(columns) * np.outer(units, units)
    eigenvalues, vectors = np.linalg.eigh(0.5 * (hessian + hessian.T))
    covariance = (vectors / np.maximum(eigenvalues, 1.0)) @ vectors.T
    return float(0.5 * np.linalg.slogdet(covariance[:d, :d])[1])


def _loss(
    kernel_of: Callable[[Float[ndarray, " d"]], Kernel],
    points: Float[ndarray, "n d"],
    values: Float[ndarray, " n"],
    noise: Float[ndarray, " n"],
    centre: float,
    parameters: Float[ndarray, " p"],
    times: Float[ndarray, " n"] | float = 1.0,
) -> tuple[float, Float[ndarray, " p"]]:
    """Negative log posterior density of (log l, log a, log noise) and its slope."""
    d = points.shape[1]
    kernel = kernel_of(np.exp(parameters[:d]))
    square, own = np.exp(2 * parameters[d]), np.exp(2 * parameters[d + 1])
    unknown = np.isnan(noise)
    unit_gram, slopes = kernel.gram(points)
    gram = square * unit_gram
    covariance = gram + np.diag(times**2 * np.where(unknown, own, noise**2) + 1e-8 * square)
    factor, _ = dpotrf(covariance, lower=1, overwrite_a=1)
    solved, _ = dpotrs(factor, values, lower=1)
    triangle, _ = dpotri(factor, lower=1)
    inverse = np.tril(triangle) + np.tril(triangle, -1).T
    weights = 0.5 * (inverse - np.outer(solved, solved))
    offsets = np.append(parameters[:d] - centre, [parameters[d], parameters[d + 1] - _LOG_NOISE])
    offsets /= _prior_sd(d)
    value = 0.5 * values @ solved + np.sum(np.log(np.diag(factor))) + 0.5 * offsets @ offsets
    slope = np.append(
        square * slopes(weights),
        [
            2.0 * np.sum(weights * (gram + 1e-8 * square * np.eye(len(values)))),
            2.0 * own * np.sum((times**2 * np.diag(weights))[unknown]),
        ],
    )
    return float(value), slope + offsets / _prior_sd(d)


def _prior_sd(d: int) -> Float[ndarray, " p"]:
    """Prior standard deviations of (log l, log a, log noise)."""
    return np.append(np.full(d, _SCALE_SD), [_AMPLITUDE_SD, _NOISE_SD])
