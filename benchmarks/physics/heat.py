"""Heat in space and time."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from physics.case import Case, Stated
from physics.conduction import away_from, cells
from physics.grids import axis, march, surface
from pinnbo import PDE, Space
from pinnbo.operators import partial

_LINE = Space(x=(0.0, 1.0), t=(0.0, 1.0))


def heat_rod(seed: int, finer: float) -> Stated:
    """T_t = 0.05 T_xx: a rod with two hot spots at the start; one end follows the day, the other is insulated."""
    rng = np.random.default_rng([seed, 131])
    place, size = rng.uniform([0.2, 0.6], [0.4, 0.8]), rng.uniform(0.5, 1.0, 2)
    swing, rhythm = rng.uniform(0.5, 0.9), rng.uniform(6.0, 10.0)
    n = cells(finer, 300)
    x, h, a = axis(n), 1.0 / n, 0.05

    def rate(t, u):
        slope = np.diff(u) / h
        left = [swing * rhythm * np.cos(rhythm * t)]
        return np.concatenate([left, a * np.diff(slope) / h, [-2 * a * slope[-1] / h]])

    start = sum(s * np.exp(-80 * (x - p) ** 2) for s, p in zip(size, place, strict=True))
    times = axis(200)
    pde = PDE(lambda f: lambda z: partial(f, 1)(z) - a * partial(f, 0, order=2)(z))
    truth = surface(x, times, march(rate, start, times))
    return Stated(_LINE, pde, truth, smooth=away_from((), (0.0,), 0.03))


def heat_moving_source(seed: int, finer: float) -> Stated:
    """T_t - 0.02 T_xx = q(x - path(t)): a torch of known strength that moves along a weld."""
    rng = np.random.default_rng([seed, 132])
    start, speed, loss = rng.uniform(0.1, 0.3), rng.uniform(0.3, 0.6), rng.uniform(0.5, 3.0)
    n = cells(finer, 300)
    x, h, a = axis(n), 1.0 / n, 0.02

    def torch(x, t, xp=np):
        return 4.0 * xp.exp(-200.0 * (x - start - speed * t) ** 2)

    def rate(t, u):
        flux = a * np.diff(u) / h
        inner = np.diff(flux) / h
        ends = [2 * (flux[0] - a * loss * u[0]) / h], [2 * (-flux[-1] - a * loss * u[-1]) / h]
        return np.concatenate([ends[0], inner, ends[1]]) + torch(x, t)

    times = axis(200)
    values = march(rate, 0.3 * np.sin(3 * x + start) ** 2, times)
    pde = PDE(
        lambda f: lambda z: partial(f, 1)(z) - a * partial(f, 0, order=2)(z),
        source=lambda z: torch(z[0], z[1], jnp),
    )
    return Stated(_LINE, pde, surface(x, times, values), smooth=away_from((), (0.0,), 0.03))


def heat_plate(seed: int, finer: float) -> Stated:
    """T_t = 0.05 lap T on a plate with insulated edges, by images: hot and cold spots spread and are reflected."""
    rng = np.random.default_rng([seed, 133])
    place, size = rng.uniform(0.1, 0.9, (4, 2)), rng.normal(size=4)
    age = rng.uniform(0.1, 0.2, 4)
    a = 0.05

    def spread(x, centre, t):
        images = np.concatenate([centre + 2.0 * np.arange(-4, 5), -centre + 2.0 * np.arange(-4, 5)])
        return np.sum(np.exp(-((x[:, None] - images) ** 2) / (4 * a * t[:, None])), axis=1) / np.sqrt(t)

    def evaluate(points):
        x, y, t = points.T
        return sum(
            s * spread(x, p[0], t + old) * spread(y, p[1], t + old)
            for s, p, old in zip(size, place, age, strict=True)
        )

    def operator(f):
        return lambda z: partial(f, 2)(z) - a * (partial(f, 0, order=2)(z) + partial(f, 1, order=2)(z))

    return Stated(Space(x=(0.0, 1.0), y=(0.0, 1.0), t=(0.0, 1.0)), PDE(operator), evaluate)


CASES = (
    Case("heat-rod", "finite differences", heat_rod),
    Case("heat-moving-source", "finite differences", heat_moving_source),
    Case("heat-plate", "closed form", heat_plate),
)
