"""Fronts, kinks and solitons."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from scipy.fft import irfft, rfft, rfftfreq

from physics.case import Case, Stated
from physics.grids import axis, surface
from pinnbo import PDE, Space
from pinnbo.operators import gradient, partial

VISCOSITY = 0.01 / np.pi


def cole_hopf(x, t, first: float, second: float, nodes: int = 301):
    """u of u_t + u u_x = nu u_xx that starts as -first sin(pi x) + second sin(2 pi x), after Cole and Hopf.

    u is the mean of the start at x - s sqrt(4 nu t), weighted by exp(-s^2) and by the exponential of its integral. The
    weights differ by e^100 and more; the trapezoidal rule is exact for such sums to rounding.
    """
    s = np.linspace(-16.0, 16.0, nodes)
    out = []
    for xs, ts in zip(*(np.array_split(a, max(1, len(x) // 2048)) for a in (x, t)), strict=True):
        y = xs[:, None] - s * np.sqrt(4 * VISCOSITY * ts[:, None])
        start = -first * np.sin(np.pi * y) + second * np.sin(2 * np.pi * y)
        integral = first * np.cos(np.pi * y) / np.pi - second * np.cos(2 * np.pi * y) / (2 * np.pi)
        exponent = -integral / (2 * VISCOSITY) - s**2
        weight = np.exp(exponent - exponent.max(axis=1, keepdims=True))
        out.append(np.sum(weight * start, axis=1) / np.sum(weight, axis=1))
    return np.concatenate(out)


def burgers(seed: int, finer: float) -> Stated:
    """u_t + u u_x = nu u_xx with nu = 0.01 / pi: a shock of a hundredth of the box."""
    first, second = np.random.default_rng([seed, 191]).uniform([0.8, 0.1], [1.0, 0.4])

    def evaluate(points):
        return cole_hopf(points[:, 0], points[:, 1], first, second)

    def operator(f):
        return lambda z: partial(f, 1)(z) + f(z) * partial(f, 0)(z) - VISCOSITY * partial(f, 0, order=2)(z)

    return Stated(Space(x=(-1.0, 1.0), t=(0.0, 1.0)), PDE(operator), evaluate, reach=0.002)


def exponential_march(start, times, linear, reaction, length: float, substeps: int):
    """u_t = linear[u] + reaction(u) on a periodic line, linear by its symbol, after Cox and Matthews (ETDRK4).

    The coefficients are means over a circle around the symbol, as Kassam and Trefethen have it.
    """
    n = len(start)
    h = (times[1] - times[0]) / substeps
    symbol = linear(2 * np.pi * rfftfreq(n, length / n))
    circle = np.exp(1j * np.pi * (np.arange(32) + 0.5) / 32)
    z = h * symbol[:, None] + circle
    whole, half = np.exp(h * symbol), np.exp(h * symbol / 2)
    q = h * np.mean((np.exp(z / 2) - 1) / z, axis=1).real
    one = h * np.mean((-4 - z + np.exp(z) * (4 - 3 * z + z**2)) / z**3, axis=1).real
    two = h * np.mean((2 + z + np.exp(z) * (z - 2)) / z**3, axis=1).real
    three = h * np.mean((-4 - 3 * z - z**2 + np.exp(z) * (4 - z)) / z**3, axis=1).real

    def rate(v):
        return rfft(reaction(irfft(v, n)))

    v, kept = rfft(start), [start]
    for _ in times[1:]:
        for _ in range(substeps):
            at_v = rate(v)
            a = half * v + q * at_v
            at_a = rate(a)
            b = half * v + q * at_a
            at_b = rate(b)
            c = half * a + q * (2 * at_b - at_v)
            v = whole * v + one * at_v + 2 * two * (at_a + at_b) + three * rate(c)
        kept.append(irfft(v, n))
    return np.array(kept).T


def allen_cahn_table(amplitude: float, shift: float, n: int):
    """Nodes, times and u on both for the start x^2 cos(pi x), scaled, plus a constant."""
    x = 2.0 * np.arange(n) / n - 1.0
    start = amplitude * x**2 * np.cos(np.pi * x) + shift
    times = axis(200)
    values = exponential_march(
        start, times, lambda k: -1e-4 * k**2, lambda u: 5.0 * (u - u**3), 2.0, substeps=5
    )
    return np.append(x, 1.0), times, np.vstack([values, values[:1]])


def allen_cahn(seed: int, finer: float) -> Stated:
    """u_t = 1e-4 u_xx + 5 (u - u^3), periodic: two phases with walls of a hundredth of the box."""
    amplitude, shift = np.random.default_rng([seed, 192]).uniform([0.8, -0.1], [1.0, 0.1])
    x, times, values = allen_cahn_table(amplitude, shift, round(1024 * finer))

    def operator(f):
        return lambda z: partial(f, 1)(z) - 1e-4 * partial(f, 0, order=2)(z) - 5.0 * (f(z) - f(z) ** 3)

    space = Space(x=(-1.0, 1.0), t=(0.0, 1.0))
    return Stated(space, PDE(operator), surface(x, times, values), reach=0.004)


def porous_medium(seed: int, finer: float) -> Stated:
    """u_t = (u^3)_xx after Barenblatt: gas in a rock, with an edge where the slope is infinite."""
    place, mass, age = np.random.default_rng([seed, 193]).uniform([-0.3, 0.3, 0.02], [0.3, 0.6, 0.05])
    m = 3.0
    alpha = 1 / (m + 1)

    def evaluate(points):
        x, t = points.T
        past = t + age
        spread = mass - alpha * (m - 1) / (2 * m) * (x - place) ** 2 / past ** (2 * alpha)
        return past**-alpha * np.maximum(spread, 0.0) ** (1 / (m - 1))

    def operator(f):
        def cube(z):
            return f(z) ** 3

        return lambda z: partial(f, 1)(z) - partial(cube, 0, order=2)(z)

    def smooth(points):
        spread = mass - alpha * (m - 1) / (2 * m) * (points[:, 0] - place) ** 2 / (points[:, 1] + age) ** (
            2 * alpha
        )
        return (np.abs(spread) > 0.12) & (points[:, 1] > 0.05)

    return Stated(Space(x=(-2.0, 2.0), t=(0.0, 1.0)), PDE(operator), evaluate, smooth=smooth, reach=0.008)


def fisher_kpp(seed: int, finer: float) -> Stated:
    """u_t = 0.002 u_xx + 8 u (1 - u): a species that invades from two places; py-pde."""
    from pde import PDE as TimePDE
    from pde import CartesianGrid, MemoryStorage, ScalarField

    places = np.random.default_rng([seed, 194]).uniform([0.1, 0.6], [0.3, 0.9])
    sizes = np.random.default_rng([seed, 195]).uniform(0.05, 0.4, 2)
    n = round(600 * finer)
    grid = CartesianGrid([[0.0, 1.0]], n)
    x = grid.axes_coords[0]
    start = sum(size * np.exp(-400 * (x - place) ** 2) for size, place in zip(sizes, places, strict=True))
    storage = MemoryStorage()
    equation = TimePDE({"u": "0.002 * laplace(u) + 8 * u * (1 - u)"}, bc={"derivative": 0.0})
    equation.solve(
        ScalarField(grid, start), t_range=1.0, solver="scipy", backend="numpy", rtol=1e-7, atol=1e-9,
        tracker=storage.tracker(0.01),
    )  # fmt: skip
    values = np.array(storage.data).T

    def operator(f):
        return lambda z: partial(f, 1)(z) - 0.002 * partial(f, 0, order=2)(z) - 8.0 * f(z) * (1.0 - f(z))

    # the cells' centres, half a cell away from the walls, where the slope is nought
    mirrored = np.vstack([values[:2][::-1], values, values[-2:][::-1]])
    wider = np.concatenate([-x[:2][::-1], x, 2.0 - x[-2:][::-1]])
    truth = surface(wider, np.asarray(storage.times), mirrored)
    return Stated(Space(x=(0.0, 1.0), t=(0.0, 1.0)), PDE(operator), truth, smooth=lambda z: z[:, 1] > 0.05)


def eikonal(seed: int, finer: float) -> Stated:
    """|grad d|^2 = 1: how far the nearest of four exits is; the farthest place is where kinks meet, or a corner."""
    exits = np.random.default_rng([seed, 196]).uniform(0.0, 1.0, (4, 2))

    def distances(points):
        return np.linalg.norm(points[:, None, :] - exits, axis=2)

    def smooth(points):
        nearest = np.sort(distances(points), axis=1)
        return (nearest[:, 1] - nearest[:, 0] > 0.12) & (nearest[:, 0] > 0.1)

    pde = PDE(lambda f: lambda x: jnp.sum(gradient(f)(x) ** 2), source=1.0)
    space = Space(x=(0.0, 1.0), y=(0.0, 1.0))
    return Stated(space, pde, lambda points: np.min(distances(points), axis=1), smooth=smooth)


def korteweg_de_vries(seed: int, finer: float) -> Stated:
    """u_t + 6 u u_x + u_xxx = 0: a tall soliton overtakes a low one, after Hirota."""
    fast, slow, meet = np.random.default_rng([seed, 197]).uniform([1.5, 0.8, -0.4], [1.8, 1.1, 0.4])
    together = ((fast - slow) / (fast + slow)) ** 2

    def tau(x, t):
        one = jnp.exp(fast * (x + meet) - fast**3 * t)
        two = jnp.exp(slow * (x - meet) - slow**3 * t)
        return jnp.log(1 + one + two + together * one * two)

    curvature = jax.jit(jax.vmap(jax.grad(jax.grad(tau)), in_axes=(0, 0)))

    def operator(f):
        return lambda z: partial(f, 1)(z) + 6.0 * f(z) * partial(f, 0)(z) + partial(f, 0, order=3)(z)

    def evaluate(points):
        return 2.0 * np.asarray(curvature(jnp.asarray(points[:, 0]), jnp.asarray(points[:, 1])))

    return Stated(Space(x=(-8.0, 8.0), t=(-2.0, 2.0)), PDE(operator), evaluate)


CASES = (
    Case("burgers", "closed form", burgers),
    Case("allen-cahn", "Fourier modes", allen_cahn),
    Case("porous-medium", "closed form", porous_medium),
    Case("fisher-kpp", "py-pde", fisher_kpp),
    Case("eikonal", "closed form", eikonal),
    Case("korteweg-de-vries", "closed form", korteweg_de_vries),
)
