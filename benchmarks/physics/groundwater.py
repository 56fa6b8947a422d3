"""Flow to wells, in closed form."""

from __future__ import annotations

import numpy as np
from scipy.special import exp1, k0

from physics.case import Case, Stated
from pinnbo import PDE, Space
from pinnbo.operators import laplacian, partial


def theis_well(seed: int, finer: float) -> Stated:
    """Drawdown at radius r around a well that is pumped and then shut: s_t = D (s_rr + s_r / r), Theis 1935."""
    rng = np.random.default_rng([seed, 121])
    shut, second, rate = rng.uniform(0.4, 0.7), rng.uniform(0.0, 0.5), 1.0
    diffusivity = 1.0

    def pumped(r, age):
        running = age > 0
        return np.where(running, exp1(r**2 / (4 * diffusivity * np.where(running, age, 1.0))), 0.0) / (
            4 * np.pi
        )

    def evaluate(points):
        r, t = points.T
        return rate * pumped(r, t) - rate * (1 - second) * pumped(r, t - shut)

    def operator(s):
        return lambda x: (
            partial(s, 1)(x) - diffusivity * (partial(s, 0, order=2)(x) + partial(s, 0)(x) / x[0])
        )

    space = Space(r=(0.2, 2.0), t=(0.02, 1.0))
    # at the well the drawdown bends within a few hundredths of the time when the pump is switched
    return Stated(space, PDE(operator), evaluate, smooth=lambda x: _later(x[:, 1], shut), reach=0.01)


def _later(t, shut: float):
    return (np.abs(t - shut) > 0.05) & (t > 0.06)


def leaky_aquifer(seed: int, finer: float) -> Stated:
    """lap s = s / B^2 beside three wells: drawdown of a leaky aquifer, de Glee 1930; a river is an image well."""
    rng = np.random.default_rng([seed, 122])
    wells = np.array([[-0.15, 0.3], [0.6, 1.12], [1.2, 0.4]]) + rng.uniform(-0.05, 0.05, (3, 2))
    rates = rng.uniform(0.3, 1.0, 3)
    leakage = 0.4

    def evaluate(points):
        total = np.zeros(len(points))
        for place, rate in zip(wells, rates, strict=True):
            image = place * np.array([1.0, -1.0]) - np.array([0.0, 0.4])
            for centre, sign in ((place, 1.0), (image, -1.0)):
                total += sign * rate * k0(np.linalg.norm(points - centre, axis=1) / leakage) / (2 * np.pi)
        return total

    pde = PDE(lambda s: lambda x: laplacian(s)(x) - s(x) / leakage**2)
    return Stated(Space(x=(0.0, 1.0), y=(0.0, 1.0)), pde, evaluate, goal="minimize")


CASES = (
    Case("theis-well", "closed form", theis_well),
    Case("leaky-aquifer", "closed form", leaky_aquifer),
)
