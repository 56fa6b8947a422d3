"""What is carried by a known flow and diffuses."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from physics.case import Case, Stated
from physics.conduction import SQUARE, cells
from physics.grids import axis, constant, march, random_edge, steady, surface
from pinnbo import PDE
from pinnbo.operators import laplacian, partial


def _plume(peclet: float, base: int):
    """wind . grad c = lap c / Pe + emission; what the wind brings and the walls absorb is not known."""

    def build(seed: int, finer: float) -> Stated:
        edge = random_edge(seed, 141, size=0.2)
        rng = np.random.default_rng([seed, 142])
        angle, place = rng.uniform(0.2, 0.6), rng.uniform([0.15, 0.2], [0.3, 0.4])
        wind = np.array([np.cos(angle), np.sin(angle)])

        def emission(x, y, xp=np):
            return 10.0 * xp.exp(-150.0 * ((x - place[0]) ** 2 + (y - place[1]) ** 2))

        # finer towards the walls downwind, where the layer is 1/Pe thick; two grids, extrapolated
        s = axis(cells(finer, base))
        nodes = 1 - (1 - s) * (0.25 + 0.75 * (1 - s) ** 2)
        flow = constant(wind[0]), constant(wind[1])
        fine, coarse = (steady(x, edge, emission, constant(1 / peclet), flow) for x in (nodes, nodes[::2]))
        values = (4 * fine[::2, ::2] - coarse) / 3

        def operator(f):
            return lambda x: (
                wind[0] * partial(f, 0)(x) + wind[1] * partial(f, 1)(x) - laplacian(f)(x) / peclet
            )

        pde = PDE(operator, source=lambda x: emission(x[0], x[1], jnp))
        return Stated(SQUARE, pde, surface(nodes[::2], nodes[::2], values), reach=min(0.02, 1 / peclet))

    return build


def graetz(seed: int, finer: float) -> Stated:
    """u(y) T_x = 0.05 T_yy, u = 6 y (1 - y) + 0.05: flow that enters a duct and is heated by its walls."""
    rng = np.random.default_rng([seed, 143])
    hump, warm, cold = rng.uniform(0.3, 0.7), rng.uniform(0.5, 1.0), rng.uniform(-0.8, -0.3)
    n = cells(finer, 300)
    y, h, a = axis(n), 1.0 / n, 0.05
    # a little slip at the walls keeps the equation from degenerating there
    speed = 6 * y * (1 - y) + 0.05

    def rate(x, u):
        inner = a * np.diff(u, 2) / h**2 / speed[1:-1]
        return np.concatenate([[warm * 2 * np.cos(2 * x)], inner, [cold * 3 * np.sin(3 * x)]])

    places = axis(200)
    start = np.sin(np.pi * y) * 0.7 * np.exp(-15 * (y - hump) ** 2)
    values = march(rate, start, places).T

    def operator(f):
        return lambda x: (6 * x[1] * (1 - x[1]) + 0.05) * partial(f, 0)(x) - a * partial(f, 1, order=2)(x)

    return Stated(SQUARE, PDE(operator), surface(places, y, values), smooth=lambda x: x[:, 0] > 0.06)


def vortex_convection(seed: int, finer: float) -> Stated:
    """Forced convection in a cell: u . grad T = lap T / 40 + heating, u the vortex of psi = sin(pi x) sin(pi y)."""
    edge = random_edge(seed, 144, size=0.6)
    turn = np.random.default_rng([seed, 145]).choice([-1.0, 1.0])
    peclet = 40.0

    def u(x, y, xp=np):
        return turn * xp.sin(np.pi * x) * xp.cos(np.pi * y)

    def v(x, y, xp=np):
        return -turn * xp.cos(np.pi * x) * xp.sin(np.pi * y)

    n = cells(finer)
    values = steady(axis(n), edge, constant(0.2), constant(1 / peclet), (u, v))

    def operator(f):
        return lambda x: (
            u(x[0], x[1], jnp) * partial(f, 0)(x)
            + v(x[0], x[1], jnp) * partial(f, 1)(x)
            - laplacian(f)(x) / peclet
        )

    return Stated(SQUARE, PDE(operator, source=0.2), surface(axis(n), axis(n), values))


CASES = (
    Case("advection-diffusion-low", "finite differences", _plume(5.0, 240)),
    Case("advection-diffusion-high", "finite differences", _plume(200.0, 400)),
    Case("graetz", "finite differences", graetz),
    Case("vortex-convection", "finite differences", vortex_convection),
)
