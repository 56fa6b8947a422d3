"""When to stop: what one more measurement may be expected to gain, and how well the best value is known.

The expected improvement at x over the recommended point, E[max(0, m* - f(x))] with m* the posterior mean at the best
evaluated point (minimising), is largest somewhere in the box; that is the most that one more measurement can be
expected to gain. It is as good as the surrogate is.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from numpy import ndarray
from scipy.special import ndtr

from pinnbo.optimizer import Best, Optimizer

_N_CANDIDATES = 1024
_N_ROUNDS, _N_KEPT, _N_AROUND = 5, 8, 16


class Outlook(NamedTuple):
    """The best point so far, and what is to be gained beyond it in units of the measured value."""

    best: Best
    expected_improvement: float


def outlook(optimizer: Optimizer) -> Outlook | None:
    """How a study stands; None before the first measurement."""
    best = optimizer.best
    if best is None:
        return None
    space, rng = optimizer.space, np.random.default_rng([optimizer.seed, 8])

    def improvement(scaled: Float[ndarray, "n d"]) -> Float[ndarray, " n"]:
        points = space.unscale(scaled)
        return np.where(space.is_inside(points), expected_improvement(optimizer, points, best), 0.0)

    points = np.vstack([space.scale(space.sobol(_N_CANDIDATES, [optimizer.seed, 7])), space.scale(best.x)])
    gains = improvement(points)
    for number in range(_N_ROUNDS):
        kept = np.argsort(-gains, kind="stable")[:_N_KEPT]
        steps = 0.2 * 0.4**number * rng.standard_normal((_N_KEPT, _N_AROUND, space.dim))
        around = np.clip((points[kept][:, None] + steps).reshape(-1, space.dim), -1.0, 1.0)
        points, gains = np.vstack([points[kept], around]), np.append(gains[kept], improvement(around))
    return Outlook(best, float(np.max(gains)))


def expected_improvement(
    optimizer: Optimizer, points: Float[ndarray, "n d"], best: Best
) -> Float[ndarray, " n"]:
    """What a measurement at each of the points is expected to gain over the best point."""
    sign = 1.0 if optimizer.goal == "minimize" else -1.0
    mean, std = optimizer.predict_objective(points)
    gain, spread = sign * (best.mean - mean), np.maximum(std, 1e-300)
    z = gain / spread
    return gain * ndtr(z) + spread * np.exp(-0.5 * z**2) / math.sqrt(2.0 * math.pi)
