"""Steady conduction, and Darcy flow with a smooth conductivity."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from physics.case import Case, Stated
from physics.grids import axis, random_edge, steady, surface
from pinnbo import PDE, Space
from pinnbo.operators import laplacian, partial

SQUARE = Space(x=(0.0, 1.0), y=(0.0, 1.0))
_CELLS = 240


def cells(finer: float, base: int = _CELLS) -> int:
    """Number of cells along an axis, a multiple of 20: heaters and layers end on grid lines."""
    return 20 * round(base * finer / 20)


def away_from(lines_x, lines_y, reach: float):
    """Points whose stencils cross none of the lines x = a and y = b."""

    def smooth(points):
        gaps = [np.abs(points[:, :1] - np.array(lines_x)), np.abs(points[:, 1:] - np.array(lines_y))]
        return np.all(np.concatenate(gaps, axis=1) > reach, axis=1)

    return smooth


def patch_heater(seed: int, finer: float) -> Stated:
    """-lap T = 20 on a patch, 0 elsewhere; walls at unknown temperatures."""
    edge = random_edge(seed, 101, size=0.2)

    def heater(x, y, xp=np):
        inside = (x > 0.3) & (x < 0.7) & (y > 0.35) & (y < 0.75)
        return xp.where(inside, 20.0, 0.0)

    n = cells(finer)
    pde = PDE(lambda f: lambda x: -laplacian(f)(x), source=lambda x: heater(x[0], x[1], jnp))
    truth = surface(axis(n), axis(n), steady(axis(n), edge, heater))
    return Stated(SQUARE, pde, truth, smooth=away_from((0.3, 0.7), (0.35, 0.75), 0.03))


def nonlinear_conduction(seed: int, finer: float) -> Stated:
    """div((1 + 2 T) grad T) = -q(x): the Kirchhoff transform T + T^2 obeys Poisson's equation."""
    wave = random_edge(seed, 102, size=0.2)
    place = np.random.default_rng([seed, 103]).uniform(0.3, 0.7, 2)

    def heating(x, y, xp=np):
        return 60.0 * xp.exp(-20.0 * ((x - place[0]) ** 2 + (y - place[1]) ** 2))

    def edge(x, y):
        temperature = 0.5 + 0.5 * np.tanh(wave(x, y))
        return temperature + temperature**2

    n = cells(finer)
    transformed = steady(axis(n), edge, heating)
    temperature = (np.sqrt(1.0 + 4.0 * transformed) - 1.0) / 2.0

    def operator(f):
        def flux(i):
            return lambda x: (1.0 + 2.0 * f(x)) * partial(f, i)(x)

        return lambda x: partial(flux(0), 0)(x) + partial(flux(1), 1)(x)

    pde = PDE(operator, source=lambda x: -heating(x[0], x[1], jnp))
    return Stated(SQUARE, pde, surface(axis(n), axis(n), temperature))


def radiating_fin(seed: int, finer: float) -> Stated:
    """lap T = 6 (T^4 - 0.3^4): a hot fin that radiates to cold surroundings; its root and edges are not known."""
    wave = random_edge(seed, 104, size=0.5)
    n = cells(finer, 160)
    x, y = np.meshgrid(axis(n), axis(n), indexing="ij")

    def edge(x, y):
        return 1.2 * np.exp(-1.5 * x) + 0.6 / (1.0 + np.exp(-3.0 * wave(x, y)))

    def newton(old):
        """One step: T^4 = S^4 + 4 S^3 (T - S) around the last S."""
        table = surface(axis(n), axis(n), 18.0 * old**4 + 6.0 * 0.3**4)

        def gain(x, y):
            return table(np.stack([x.ravel(), y.ravel()], axis=1)).reshape(x.shape)

        return steady(axis(n), edge, gain, reaction=24.0 * old**3)

    temperature, change = edge(x, y), np.inf
    while change > 1e-11:
        old, temperature = temperature, newton(temperature)
        change = np.max(np.abs(temperature - old))
    pde = PDE(lambda f: lambda x: laplacian(f)(x) - 6.0 * (f(x) ** 4 - 0.3**4))
    return Stated(SQUARE, pde, surface(axis(n), axis(n), temperature), goal="minimize")


def darcy_smooth(seed: int, finer: float) -> Stated:
    """div(k grad h) = -recharge, with a conductivity that varies smoothly by a factor of 16."""
    edge = random_edge(seed, 105, size=0.5)
    phase = np.random.default_rng([seed, 106]).uniform(0, 2 * np.pi, 2)

    def k(x, y, xp=np):
        return 4.0 ** (xp.sin(2 * np.pi * x + phase[0]) * xp.cos(np.pi * y + phase[1]))

    def recharge(x, y):
        return np.full(np.shape(x), 5.0)

    n = cells(finer)

    def operator(f):
        def flux(i):
            return lambda x: k(x[0], x[1], jnp) * partial(f, i)(x)

        return lambda x: partial(flux(0), 0)(x) + partial(flux(1), 1)(x)

    pde = PDE(operator, source=-5.0)
    return Stated(SQUARE, pde, surface(axis(n), axis(n), steady(axis(n), edge, recharge, k)))


CASES = (
    Case("patch-heater", "finite differences", patch_heater),
    Case("nonlinear-conduction", "finite differences", nonlinear_conduction),
    Case("radiating-fin", "finite differences", radiating_fin),
    Case("darcy-smooth", "finite differences", darcy_smooth),
)
