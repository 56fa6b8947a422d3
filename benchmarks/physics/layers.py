"""Piecewise constant coefficients. The equations are stated in divergence form and hold within each material."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from physics.case import Case, Stated
from physics.conduction import SQUARE, away_from, cells
from physics.grids import axis, march, random_edge, steady, surface
from pinnbo import PDE, Space
from pinnbo.operators import partial


def _divergence(k):
    """f -> div(k(x) grad f) in the plane."""

    def operator(f):
        def flux(i):
            return lambda x: k(x[0], x[1], jnp) * partial(f, i)(x)

        return lambda x: partial(flux(0), 0)(x) + partial(flux(1), 1)(x)

    return operator


def layered_conduction(seed: int, finer: float) -> Stated:
    """A wall of brick, insulation and brick, heated throughout; the insulation conducts a tenth."""
    edge = random_edge(seed, 111, size=0.3)

    def k(x, y, xp=np):
        return xp.where((x > 0.4) & (x < 0.55), 0.1, 1.0) + 0.0 * y

    def heating(x, y):
        return np.full(np.shape(x), 4.0)

    n = cells(finer)
    truth = surface(axis(n), axis(n), steady(axis(n), edge, heating, k), ((0.4, 0.55), ()))
    pde = PDE(_divergence(k), source=-4.0)
    return Stated(SQUARE, pde, truth, smooth=away_from((0.4, 0.55), (), 0.03))


def darcy_block(seed: int, finer: float) -> Stated:
    """Seepage around a block that is nearly tight, with recharge from above."""
    edge = random_edge(seed, 112, size=0.5)

    def k(x, y, xp=np):
        return xp.where((x > 0.25) & (x < 0.6) & (y > 0.4) & (y < 0.8), 0.05, 1.0)

    def recharge(x, y):
        return np.full(np.shape(x), 1.0)

    n = cells(finer, 320)
    truth = surface(axis(n), axis(n), steady(axis(n), edge, recharge, k), ((0.25, 0.6), (0.4, 0.8)))
    pde = PDE(_divergence(k), source=-1.0)
    return Stated(SQUARE, pde, truth, smooth=away_from((0.25, 0.6), (0.4, 0.8), 0.03))


def heat_two_materials(seed: int, finer: float) -> Stated:
    """T_t = (k T_x)_x through steel and wood, k = 0.3 left of x = 0.5 and 0.03 right of it; the left face is heated."""
    rng = np.random.default_rng([seed, 113])
    strength, rhythm, hump = rng.uniform(0.6, 1.0), rng.uniform(4.0, 7.0), rng.uniform(0.6, 0.9)
    n = cells(finer, 400)
    x, h = axis(n), 1.0 / n
    k = np.where(0.5 * (x[1:] + x[:-1]) < 0.5, 0.3, 0.03)

    def rate(t, u):
        flux = k * np.diff(u) / h
        # convection to a fluid of changing temperature on the left, to still air on the right
        left = 2.0 * (strength * np.sin(rhythm * t) - u[0])
        right = 0.2 * (0.0 - u[-1])
        return np.concatenate([[2 * (flux[0] + left) / h], np.diff(flux) / h, [2 * (right - flux[-1]) / h]])

    times = axis(200)
    values = march(rate, 0.4 * np.exp(-60 * (x - hump) ** 2), times)

    def operator(f):
        def flux(z):
            return jnp.where(z[0] < 0.5, 0.3, 0.03) * partial(f, 0)(z)

        return lambda z: partial(f, 1)(z) - partial(flux, 0)(z)

    return Stated(
        Space(x=(0.0, 1.0), t=(0.0, 1.0)),
        PDE(operator),
        surface(x, times, values, ((0.5,), ())),
        smooth=away_from((0.5,), (0.0,), 0.03),
    )


CASES = (
    Case("layered-conduction", "finite differences", layered_conduction),
    Case("darcy-block", "finite differences", darcy_block),
    Case("heat-two-materials", "finite differences", heat_two_materials),
)
