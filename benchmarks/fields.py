"""Fields that obey an equation, to measure `auto` on besides the paper's nine problems.

`TRUE` are not separable in the axes; `NONLINEAR` obey nonlinear equations; `FALSE` are stated with an equation that
does not hold, by a little or by a lot; `VARIANTS` are the paper's problems rotated, with another minimum, with a
term that the PDE cannot see, or with the same equation in another form, and functions of many coordinates that are sums
in none. Every entry makes a problem from a seed.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from scipy.interpolate import RectBivariateSpline
from scipy.optimize import minimize
from scipy.sparse import diags, eye, kron
from scipy.sparse.linalg import spsolve

from pinnbo import PDE, Space, problems
from pinnbo.operators import biharmonic, derivatives, gradient, laplacian, partial
from pinnbo.problems import Problem

Factory = Callable[[int], Problem]
_GRID = 200_000


def make(name: str, space: Space, field, pde: PDE, goal: str = "maximize") -> Problem:
    """A problem from a field; best value and range by a dense search that is polished."""
    vectorised = jax.jit(jax.vmap(field))

    def evaluate(points):
        return np.asarray(vectorised(jnp.asarray(points)))

    return dataclasses.replace(searched(name, space, evaluate, pde, goal), field=field)


def searched(name: str, space: Space, evaluate, pde: PDE, goal: str) -> Problem:
    """The same from a NumPy function of points."""
    points = space.sobol(_GRID, 0)
    corners = np.stack(np.meshgrid(*zip(space.lower, space.upper, strict=True)), axis=-1).reshape(
        -1, space.dim
    )
    points = np.concatenate([points, corners])
    values = evaluate(points)

    def polished(sign: float):
        bounds = list(zip(space.lower, space.upper, strict=True))
        runs = [
            minimize(lambda x: sign * evaluate(x[None])[0], points[i], bounds=bounds, method="L-BFGS-B")
            for i in np.argsort(sign * values)[:5]
        ]
        return min(runs, key=lambda run: run.fun)

    low, high = polished(1.0), polished(-1.0)
    best = low if goal == "minimize" else high
    return Problem(
        name=name,
        space=space,
        pde=pde,
        goal=goal,
        optimum=float(low.fun if goal == "minimize" else -high.fun),
        range=float(-high.fun - low.fun),
        noise=0.0,
        x_best=np.array(best.x),
        evaluate=evaluate,
        rebuild=lambda other: searched(name, other, evaluate, pde, goal),
    )


UNIT = Space(x=(-1.0, 1.0), y=(-1.0, 1.0))


def harmonic(seed: int) -> Problem:
    """Sources outside the box: logarithms, so that no polynomial is exact."""
    rng = np.random.default_rng([seed, 31])
    angle, size = rng.uniform(0, 2 * np.pi, 5), rng.normal(size=5)
    centres = 1.8 * np.stack([np.cos(angle), np.sin(angle)], axis=1)

    def field(x):
        return jnp.sum(jnp.asarray(size) * jnp.log(jnp.sum((x - jnp.asarray(centres)) ** 2, axis=1)))

    return make("harmonic", UNIT, field, PDE(laplacian))


def _waves(dim: int, wavenumber: float, seed: int):
    rng = np.random.default_rng([seed, 32])
    directions = rng.normal(size=(6, dim))
    directions *= wavenumber / np.linalg.norm(directions, axis=1, keepdims=True)
    size, phase = jnp.asarray(rng.normal(size=6)), jnp.asarray(rng.uniform(0, 2 * np.pi, 6))
    return lambda x: jnp.sum(size * jnp.cos(jnp.asarray(directions) @ x + phase))


def helmholtz(seed: int) -> Problem:
    """Standing waves of one frequency in a plane."""
    pde = PDE(lambda f: lambda x: laplacian(f)(x) + 36.0 * f(x))
    return make("helmholtz", UNIT, _waves(2, 6.0, seed), pde)


def helmholtz3(seed: int) -> Problem:
    """The same in space."""
    pde = PDE(lambda f: lambda x: laplacian(f)(x) + 9.0 * f(x))
    return make("helmholtz-3", Space.box(np.full(3, -1.0), np.full(3, 1.0)), _waves(3, 3.0, seed), pde)


def wave(seed: int) -> Problem:
    """Two pulses that run into each other."""
    a, b, c = np.random.default_rng([seed, 33]).uniform(0.3, 0.7, 3)

    def field(x):
        left, right = x[0] - x[1], x[0] + x[1]
        return jnp.exp(-20 * (left + a) ** 2) + jnp.exp(-12 * (right - b) ** 2) - c * jnp.exp(-8 * right**2)

    pde = PDE(lambda f: lambda x: partial(f, 1, order=2)(x) - partial(f, 0, order=2)(x))
    return make("wave", Space(x=(-1.0, 1.0), t=(-0.5, 1.0)), field, pde)


def diffusion(seed: int) -> Problem:
    """Heat that spreads from where it was put at an earlier time."""
    rng = np.random.default_rng([seed, 34])
    centres, size = jnp.asarray(rng.uniform(-0.8, 0.8, 4)), jnp.asarray(rng.uniform(0.2, 1.0, 4))

    def field(x):
        t = x[1] + 0.15
        return jnp.sum(size / jnp.sqrt(t) * jnp.exp(-((x[0] - centres) ** 2) / (4 * 0.1 * t)))

    pde = PDE(lambda f: lambda x: partial(f, 1)(x) - 0.1 * partial(f, 0, order=2)(x))
    return make("diffusion", Space(x=(-1.0, 1.0), t=(0.0, 1.0)), field, pde)


def advection(seed: int) -> Problem:
    """A steady concentration carried by a wind and diffusing: sums of exponentials."""
    rng = np.random.default_rng([seed, 35])
    angle, size, phase = rng.uniform(0, np.pi, 5), rng.normal(size=5), rng.uniform(0, 6, 5)
    wind = np.array([2.0, 1.0])
    # exp(wind . x / 2) cosh-like and cos-like solutions of f_xx + f_yy = wind . grad f
    k = 2.0 * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    q = np.stack([-np.sin(angle), np.cos(angle)], axis=1) * np.sqrt(4.0 + 0.25 * wind @ wind)

    def field(x):
        waves = jnp.cos(jnp.asarray(k) @ x + jnp.asarray(phase)) * jnp.exp(jnp.asarray(q) @ x)
        return jnp.exp(0.5 * jnp.asarray(wind) @ x) * jnp.sum(jnp.asarray(size) * waves)

    pde = PDE(lambda f: lambda x: laplacian(f)(x) - derivatives(f, jnp.asarray(wind), 1)(x)[1])
    return make("advection", UNIT, field, pde)


def plate(seed: int) -> Problem:
    """A bent plate: u + r^2 v with harmonic u and v."""
    c = np.random.default_rng([seed, 36]).normal(size=7)

    def field(x):
        u, v = x
        one = c[0] * jnp.exp(u) * jnp.cos(v) + c[1] * jnp.exp(2 * v) * jnp.sin(2 * u) / 2 + c[2] * u * v
        other = c[3] * (u**2 - v**2) + c[4] * jnp.cos(2 * u) * jnp.cosh(2 * v) / 4 + c[5] * u + c[6]
        return one + (u**2 + v**2) * other

    return make("plate", UNIT, field, PDE(biharmonic))


def burgers(seed: int) -> Problem:
    """A viscous flow that steepens, by the Cole-Hopf transform of a solution of the heat equation."""
    a, b, c = np.random.default_rng([seed, 37]).uniform([1.1, -0.3, 0.0], [1.4, 0.3, 2 * np.pi])
    nu, k = 0.1, 2.0

    def field(x):
        s, t = x

        def phi(s):
            first = jnp.exp(-nu * k**2 * t) * jnp.cos(k * s + c)
            return a + first + b * jnp.exp(-nu * 4 * k**2 * t) * jnp.sin(2 * k * s)

        return -2 * nu * jax.grad(phi)(s) / phi(s)

    def operator(f):
        return lambda x: partial(f, 1)(x) + f(x) * partial(f, 0)(x) - nu * partial(f, 0, order=2)(x)

    return make("burgers", Space(x=(-1.0, 1.0), t=(0.0, 1.0)), field, PDE(operator))


def reaction(seed: int) -> Problem:
    """laplacian f = 4 f^3 - s: heaters s that are known, losses that grow with the cube, edges that are not known."""
    x = np.linspace(-1.0, 1.0, 129)
    u, v = np.meshgrid(x, x, indexing="ij")
    rng = np.random.default_rng([seed, 38])
    edge = sum(rng.normal(scale=0.5) * np.sin(n * np.arctan2(v, u) + rng.uniform(0, 6)) for n in (1, 2, 3))
    inside = slice(1, -1)
    h = x[1] - x[0]
    line = diags([1.0, -2.0, 1.0], [-1, 0, 1], shape=(127, 127)) / h**2
    matrix = kron(line, eye(127)) + kron(eye(127), line)
    border = edge.copy()
    border[inside, inside] = 0.0
    push = (border[:-2, inside] + border[2:, inside] + border[inside, :-2] + border[inside, 2:]) / h**2
    right = (np.asarray(_heaters(np.stack([u, v], -1))))[inside, inside] + push
    f = np.zeros(127 * 127)
    for _ in range(30):
        step = spsolve((matrix - diags(12.0 * f**2)).tocsc(), -(matrix @ f - 4.0 * f**3 + right.ravel()))
        f += step
        if np.max(np.abs(step)) < 1e-10:
            break
    border[inside, inside] = f.reshape(127, 127)
    spline = RectBivariateSpline(x, x, border)

    def operator(f):
        return lambda x: laplacian(f)(x) - 4.0 * f(x) ** 3

    pde = PDE(operator, source=lambda x: -_heaters(x))
    return searched("reaction", UNIT, lambda points: spline.ev(points[:, 0], points[:, 1]), pde, "maximize")


def _heaters(x):
    one = jnp.sum((x - jnp.array([0.3, 0.4])) ** 2, axis=-1)
    other = jnp.sum((x - jnp.array([-0.4, -0.3])) ** 2, axis=-1)
    return 12.0 * jnp.exp(-6 * one) + 10.0 * jnp.exp(-4 * other)


def branin(x):
    """The well-known test function."""
    a = x[1] - 5.1 / (4 * jnp.pi**2) * x[0] ** 2 + 5 / jnp.pi * x[0] - 6
    return a**2 + 10 * (1 - 1 / (8 * jnp.pi)) * jnp.cos(x[0]) + 10


def camel(x):
    """Six-hump camel."""
    u, v = x
    return (4 - 2.1 * u**2 + u**4 / 3) * u**2 + u * v + (-4 + 4 * v**2) * v**2


def hartmann(x):
    """Hartmann-3."""
    steep = jnp.array([[3.0, 10, 30], [0.1, 10, 35], [3, 10, 30], [0.1, 10, 35]])
    place = jnp.array([[3689, 1170, 2673], [4699, 4387, 7470], [1091, 8732, 5547], [381, 5743, 8828]]) * 1e-4
    return -jnp.array([1.0, 1.2, 3.0, 3.2]) @ jnp.exp(-jnp.sum(steep * (x - place) ** 2, axis=1))


def bumps(dim: int, seed: int):
    """Hills and hollows, anywhere and of any width."""
    rng = np.random.default_rng([seed, 42])
    place, size = jnp.asarray(rng.uniform(-0.8, 0.8, (6, dim))), jnp.asarray(rng.normal(size=6))
    width = jnp.asarray(rng.uniform(0.25, 0.6, 6))
    return lambda x: jnp.sum(size * jnp.exp(-0.5 * jnp.sum((x - place) ** 2, axis=1) / width**2))


def _stated(problem: Problem, name: str, operator) -> Problem:
    return dataclasses.replace(problem, name=name, pde=PDE(operator))


def branin_harmonic(seed: int) -> Problem:
    """Not harmonic at all."""
    return make("branin, harmonic", Space(x=(-5.0, 10.0), y=(0.0, 15.0)), branin, PDE(laplacian), "minimize")


def camel_wave(seed: int) -> Problem:
    """Not a wave at all."""
    pde = PDE(lambda f: lambda x: partial(f, 1, order=2)(x) - partial(f, 0, order=2)(x))
    return make("camel, wave", Space(x=(-2.0, 2.0), y=(-1.0, 1.0)), camel, pde, "minimize")


def hartmann_harmonic(seed: int) -> Problem:
    """In three dimensions."""
    space = Space.box(np.zeros(3), np.ones(3))
    return make("hartmann-3, harmonic", space, hartmann, PDE(laplacian), "minimize")


def helmholtz_frequency(seed: int) -> Problem:
    """The frequency wrong by a fifth."""
    return _stated(
        helmholtz(seed),
        "helmholtz, frequency + 20%",
        lambda f: lambda x: laplacian(f)(x) + 36.0 * 1.44 * f(x),
    )


def diffusion_conductivity(seed: int) -> Problem:
    """The conductivity wrong by a tenth."""
    return _stated(
        diffusion(seed),
        "diffusion, conductivity + 10%",
        lambda f: lambda x: partial(f, 1)(x) - 0.11 * partial(f, 0, order=2)(x),
    )


def harmonic_with_bump(seed: int) -> Problem:
    """A heater that nobody knows of."""
    base = harmonic(seed)
    place = np.random.default_rng([seed, 39]).uniform(-0.6, 0.6, 2)

    def evaluate(points):
        bump = np.exp(-8 * np.sum((points - place) ** 2, axis=1))
        return base.evaluate(points) + 0.5 * base.range * bump

    return searched("harmonic, unknown heater", base.space, evaluate, base.pde, "maximize")


def bumps_harmonic(seed: int) -> Problem:
    """Others with every seed, none harmonic."""
    return make("bumps, harmonic", UNIT, bumps(2, seed), PDE(laplacian))


def bumps_helmholtz(seed: int) -> Problem:
    """In three dimensions, no waves of one frequency."""
    pde = PDE(lambda f: lambda x: laplacian(f)(x) + 9.0 * f(x))
    return make("bumps-3, helmholtz", Space.box(np.full(3, -1.0), np.full(3, 1.0)), bumps(3, seed), pde)


def _rotation(centre):
    def operator(f):
        def row(x):
            u = x - jnp.asarray(centre)
            slope = gradient(f)(x)
            return u[0] * slope[1] - u[1] * slope[0]

        return row

    return operator


def camel_rotation(seed: int) -> Problem:
    """A symmetry that is none."""
    space = Space(x=(-2.0, 2.0), y=(-1.0, 1.0))
    return make("camel, radial", space, camel, PDE(_rotation(np.array([0.3, -0.2]))), "minimize")


def ring_misplaced(seed: int) -> Problem:
    """A symmetry whose centre is wrong by a twentieth of the box."""
    base = ring(seed)
    angle = np.random.default_rng([seed, 43]).uniform(0, 2 * np.pi)
    wrong = _ring_centre(seed) + 0.4 * np.array([np.cos(angle), np.sin(angle)])
    return _stated(base, "ring, centre misplaced", _rotation(wrong))


def _ring_centre(seed: int):
    return np.random.default_rng([seed, 40]).uniform(-0.5, 0.5, 2)


def ring(seed: int) -> Problem:
    """Radial as DropWave, its minimum on a ring."""
    centre = _ring_centre(seed)

    def field(x):
        r = jnp.sqrt(jnp.sum((x - jnp.asarray(centre)) ** 2) + 1e-12)
        return -(1 + jnp.cos(6 * (r - 2.2))) / (0.5 * (r - 2.2) ** 2 + 2)

    return make("ring", Space(x=(-4.0, 4.0), y=(-4.0, 4.0)), field, PDE(_rotation(centre)), "minimize")


def rotated(name: str) -> Factory:
    """A problem of the paper turned around its optimum by a random rotation.

    Its range stays that of the box before the turn, so that the noise is no larger and the regret is in the same units;
    at the corners of the turned box Styblinski-Tang is 25 times as large.
    """

    def factory(seed: int) -> Problem:
        base = problems.get(name)
        q = np.linalg.qr(np.random.default_rng([seed, 41]).normal(size=(base.space.dim,) * 2))[0]
        centre = base.x_best

        def turned(x, xp=np):
            return xp.asarray(centre) + (x - xp.asarray(centre)) @ xp.asarray(q).T

        def operator(f):
            # f(x) = F(c + Q (x - c)): the paper's operator acts on F
            def unturned(y):
                return f(jnp.asarray(centre) + (y - jnp.asarray(centre)) @ jnp.asarray(q))

            return lambda x: base.pde.apply(unturned)(turned(x, jnp))[0]

        def source(x):
            return base.pde.apply(base.field)(turned(x, jnp))[0]

        return dataclasses.replace(
            base,
            name=f"{name}, rotated",
            pde=PDE(operator, source=source),
            evaluate=lambda points: np.asarray(jax.vmap(base.field)(jnp.asarray(turned(points)))),
        )

    return factory


def unseen_term(seed: int) -> Problem:
    """Styblinski-Tang with 50 sin(x1 - x2), which the sum of the first derivatives does not see."""
    base = problems.get("styblinski-tang-10")

    def evaluate(points):
        return base.evaluate(points) + 50 * np.sin(points[:, 0] - points[:, 1])

    # the best of the two coordinates that are coupled now, the others as before
    axis = np.linspace(-5.0, 5.0, 2001)
    u, v = np.meshgrid(axis, axis, indexing="ij")
    term = 0.5 * (axis**4 - 16 * axis**2 + 5 * axis)
    both = term[:, None] + term[None, :] + 50 * np.sin(u - v)
    i, j = np.unravel_index(np.argmin(both), both.shape)
    x_best = base.x_best.copy()
    x_best[:2] = axis[i], axis[j]
    run = minimize(lambda x: evaluate(x[None])[0], x_best, method="BFGS")
    return dataclasses.replace(
        base, name="styblinski-tang-10, unseen term", evaluate=evaluate, optimum=float(run.fun), x_best=run.x
    )


def cosine_vector(seed: int) -> Problem:
    """Cosine Mixture with the equation whose square the paper states: grad f = g."""
    pde = PDE(gradient, source=lambda x: 2 * x - 0.5 * jnp.pi * jnp.sin(5 * jnp.pi * x))
    return dataclasses.replace(
        problems.get("cosine-mixture-50"), name="cosine-mixture-50, vector form", pde=pde
    )


def rosenbrock(dim: int) -> Factory:
    """Neighbouring coordinates are coupled; its Laplacian is known. Another box with every seed."""

    def factory(seed: int) -> Problem:
        move = np.random.default_rng([seed, 44]).uniform(-0.5, 0.5, dim)

        def field(x):
            return jnp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)

        pde = PDE(laplacian, source=laplacian(field))
        found = make(f"rosenbrock-{dim}", Space.box(move - 2.0, move + 2.0), field, pde, "minimize")
        return dataclasses.replace(found, optimum=0.0, x_best=np.ones(dim), range=found.range + found.optimum)

    return factory


TRUE: dict[str, Factory] = {
    "harmonic": harmonic,
    "helmholtz": helmholtz,
    "helmholtz-3": helmholtz3,
    "wave": wave,
    "diffusion": diffusion,
    "advection": advection,
    "plate": plate,
}
NONLINEAR: dict[str, Factory] = {"burgers": burgers, "reaction": reaction}
FALSE: dict[str, Factory] = {
    "branin, harmonic": branin_harmonic,
    "camel, wave": camel_wave,
    "hartmann-3, harmonic": hartmann_harmonic,
    "helmholtz, frequency + 20%": helmholtz_frequency,
    "diffusion, conductivity + 10%": diffusion_conductivity,
    "harmonic, unknown heater": harmonic_with_bump,
    "bumps, harmonic": bumps_harmonic,
    "bumps-3, helmholtz": bumps_helmholtz,
    "camel, radial": camel_rotation,
    "ring, centre misplaced": ring_misplaced,
}
VARIANTS: dict[str, Factory] = {
    "ring": ring,
    "styblinski-tang-10, rotated": rotated("styblinski-tang-10"),
    "rastrigin-20, rotated": rotated("rastrigin-20"),
    "styblinski-tang-10, unseen term": unseen_term,
    "cosine-mixture-50, vector form": cosine_vector,
    "rosenbrock-6": rosenbrock(6),
    "rosenbrock-10": rosenbrock(10),
}
