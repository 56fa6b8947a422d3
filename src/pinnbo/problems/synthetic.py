"""The five test functions of the paper and the first-order PDEs they obey, errata corrected.

Four of them are separable, f(x) = sum_i term(x_i, i), so their extremes are exact: one axis at a time.
DropWave is a function of the radius. Each formula is written once, for JAX (field) and NumPy (black box).

Notation (i = 1 .. d as in the paper, f_i = df/dx_i)
--------------------------------------------------
=================  =====================================================================
problem            PDE
=================  =====================================================================
DropWave           x_1 f_2 - x_2 f_1 = 0
Styblinski-Tang    sum f_i = sum (2 x_i^3 - 16 x_i + 5/2)
Rastrigin          x . grad f - f = sum [x_i^2 + 10 cos 2 pi x_i + 20 pi x_i sin 2 pi x_i - 10]
Michalewicz        h . grad f - f = 0, h_i = [cot x_i + (4 m i x_i / pi) cot(i x_i^2 / pi)]^-1
Cosine Mixture     sum (f_i - 2 x_i + (pi/2) sin 5 pi x_i)^2 = 0
=================  =====================================================================
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Protocol

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from numpy import ndarray

from pinnbo.operators import Point, ScalarField, derivatives, directional, gradient
from pinnbo.pde import PDE
from pinnbo.problems.extremes import extremes
from pinnbo.problems.problem import Problem, paper_noise
from pinnbo.space import Space

_STEEPNESS = 10  # Michalewicz's m
_TINY = 1e-140

# term(x_i, i, xp), elementwise, with xp = jax.numpy or numpy
_Term = Callable[..., Any]


class Family(Protocol):
    """Builds a problem of a given dimension."""

    def __call__(self, dim: int, *, printed: bool = False) -> Problem:
        """The problem on the paper's box."""
        ...


def dropwave() -> Problem:
    """DropWave on [-5.12, 5.12]^2, with the denominator 0.5 (x_1^2 + x_2^2) + 2."""
    pde = PDE(
        lambda f: directional(f, lambda x: jnp.array([-x[1], x[0]])),
        source=0.0,
        name="DropWave: x1 f_2 - x2 f_1 = 0",
    )
    return _radial("dropwave-2", _cube(2, -5.12, 5.12), _dropwave, pde)


def styblinski_tang(dim: int, *, printed: bool = False) -> Problem:
    """Styblinski-Tang on [-5, 5]^d."""
    pde = PDE(
        lambda f: directional(f, jnp.ones_like),
        source=lambda x: jnp.sum(2 * x**3 - 16 * x + 2.5),
        name="Styblinski-Tang: sum f_i = g",
    )
    return _separable(f"styblinski-tang-{dim}", _cube(dim, -5.0, 5.0), _styblinski_tang, pde)


def rastrigin(dim: int, *, printed: bool = False) -> Problem:
    """Rastrigin on [-5.12, 5.12]^d; the printed source is not N[f]."""
    pde = PDE(
        _rastrigin_row,
        source=_rastrigin_source_printed if printed else _rastrigin_source,
        name="Rastrigin: x . grad f - f = g",
    )
    return _separable(f"rastrigin-{dim}", _cube(dim, -5.12, 5.12), _rastrigin, pde)


def michalewicz(dim: int, *, printed: bool = False) -> Problem:
    """Michalewicz (m = 10) on [0, pi]^d; f is not a solution with the printed h, whose poles are left in."""
    pde = PDE(
        _michalewicz_printed if printed else _michalewicz_weighted,
        source=0.0,
        name="Michalewicz: h . grad f - f = 0",
    )
    return _separable(f"michalewicz-{dim}", _cube(dim, 0.0, np.pi), _michalewicz, pde)


def cosine_mixture(dim: int, *, printed: bool = False) -> Problem:
    """Cosine Mixture on [-1, 1]^d, minimised, with the paper's nonlinear scalar PDE."""

    def operator(f: ScalarField) -> ScalarField:
        return lambda x: jnp.sum((gradient(f)(x) - 2 * x + 0.5 * jnp.pi * jnp.sin(5 * jnp.pi * x)) ** 2)

    pde = PDE(operator, source=0.0, name="Cosine Mixture: |grad f - g|^2 = 0")
    return _separable(f"cosine-mixture-{dim}", _cube(dim, -1.0, 1.0), _cosine_mixture, pde)


FAMILIES: dict[str, Family] = {
    "styblinski-tang": styblinski_tang,
    "rastrigin": rastrigin,
    "michalewicz": michalewicz,
    "cosine-mixture": cosine_mixture,
}


def _dropwave(q: Any, xp: Any = jnp) -> Any:
    """DropWave as a function of q = r^2, in which it is analytic: cos 12 r = 1 - 72 q + 864 q^2 - ..."""
    near = q < 1e-12
    away = xp.where(near, 1.0, q)  # keeps the derivative of the square root at 0 out of the graph
    wave = xp.where(near, 1 - 72 * q + 864 * q**2, xp.cos(12 * xp.sqrt(away)))
    return -(1 + wave) / (0.5 * q + 2)


def _styblinski_tang(x: Any, i: Any, xp: Any = jnp) -> Any:
    return 0.5 * (x**4 - 16 * x**2 + 5 * x)


def _rastrigin(x: Any, i: Any, xp: Any = jnp) -> Any:
    return 10 + x**2 - 10 * xp.cos(2 * xp.pi * x)


def _michalewicz(x: Any, i: Any, xp: Any = jnp) -> Any:
    return -xp.sin(x) * xp.sin(i * x**2 / xp.pi) ** (2 * _STEEPNESS)


def _cosine_mixture(x: Any, i: Any, xp: Any = jnp) -> Any:
    return 0.1 * xp.cos(5 * xp.pi * x) + x**2


def _rastrigin_row(f: ScalarField) -> ScalarField:
    def row(x: Point) -> Float[Array, ""]:
        value, slope = derivatives(f, x, 1)(x)
        return slope - value

    return row


def _rastrigin_source(x: Point) -> Float[Array, ""]:
    angle = 2 * jnp.pi * x
    return jnp.sum(x**2 + 10 * jnp.cos(angle) + 10 * angle * jnp.sin(angle) - 10)


def _rastrigin_source_printed(x: Point) -> Float[Array, ""]:
    return 10 * jnp.sum(jnp.cos(2 * jnp.pi * x) + jnp.pi * x * jnp.sin(2 * jnp.pi * x) - 1)


def _michalewicz_weighted(f: ScalarField) -> ScalarField:
    """w (h . grad f - f) with w = 1 / sqrt(1 + |h|^2) > 0: the same solutions, and no coefficient exceeds 1.

    From f_i = term_i (cot x_i + (4 m i x_i / pi) cot(i x_i^2 / pi)), h_i f_i = term_i, whose sum is f.
    """

    def row(x: Point) -> Float[Array, ""]:
        h = _michalewicz_direction(x)
        weight = 1 / jnp.sqrt(1 + jnp.sum(h**2))
        value, slope = derivatives(f, weight * h, 1)(x)
        return slope - weight * value

    return row


def _michalewicz_direction(x: Point) -> Point:
    """h_i = a / b: sin x S / (cos x S + (4 m i x / pi) sin x C), with S, C = sin, cos(i x^2 / pi).

    Where b = 0 there is a pole, except at x = 0 and pi: a = 0 there as well, and h = 0. A b below _TINY is
    replaced by _TINY: far less than its rounding error, and h^2 stays finite.
    """
    i = jnp.arange(1, x.size + 1)
    sine, angle = jnp.sin(x), i * x**2 / jnp.pi
    a = sine * jnp.sin(angle)
    b = jnp.cos(x) * jnp.sin(angle) + 4 * _STEEPNESS * i * x / jnp.pi * sine * jnp.cos(angle)
    return a / jnp.where(jnp.abs(b) < _TINY, _TINY, b)


def _michalewicz_printed(f: ScalarField) -> ScalarField:
    def direction(x: Point) -> Point:
        angle = jnp.arange(1, x.size + 1) * x**2 / jnp.pi
        return 1 / (jnp.cos(x) / jnp.sin(x) + 2 * x * (2 * _STEEPNESS - 1) / jnp.tan(angle))

    return lambda x: directional(f, direction)(x) - f(x)


def _cube(dim: int, lower: float, upper: float) -> Space:
    return Space.box(np.full(dim, lower), np.full(dim, upper))


def _separable(name: str, space: Space, term: _Term, pde: PDE) -> Problem:
    axes = [
        extremes(functools.partial(term, i=i, xp=np), low, high)
        for i, (low, high) in enumerate(zip(space.lower, space.upper, strict=True), start=1)
    ]
    number = np.arange(1, space.dim + 1)

    def evaluate(points: Float[ndarray, "n d"]) -> Float[ndarray, " n"]:
        return np.asarray(term(points, number, np).sum(axis=1))

    x_best = np.array([axis.argmin for axis in axes])
    x_worst = np.array([axis.argmax for axis in axes])
    best, worst = evaluate(np.stack([x_best, x_worst]))
    return Problem(
        name=name,
        space=space,
        pde=pde,
        goal="minimize",
        optimum=float(best),
        range=float(worst - best),
        noise=paper_noise(worst - best),
        x_best=x_best,
        evaluate=evaluate,
        rebuild=lambda other: _separable(name, other, term, pde),
        field=lambda x: jnp.sum(term(x, number)),
    )


def _radial(name: str, space: Space, profile: Callable[..., Any], pde: PDE) -> Problem:
    """A function of r^2: its extremes over a box are those over the radii that the box holds."""
    nearest = np.clip(0.0, space.lower, space.upper)
    farthest = np.where(np.abs(space.lower) > np.abs(space.upper), space.lower, space.upper)
    bounds = float(np.linalg.norm(nearest)), float(np.linalg.norm(farthest))
    radii = extremes(lambda r: profile(r**2, np), *bounds)
    best, worst = (float(profile(r**2, np)) for r in radii)
    return Problem(
        name=name,
        space=space,
        pde=pde,
        goal="minimize",
        optimum=best,
        range=worst - best,
        noise=paper_noise(worst - best),
        x_best=_at_radius(radii.argmin, nearest, farthest),
        evaluate=lambda points: profile((points**2).sum(axis=1), np),
        rebuild=lambda other: _radial(name, other, profile, pde),
        field=lambda x: profile(jnp.sum(x**2)),
    )


def _at_radius(radius: float, nearest: ndarray, farthest: ndarray) -> ndarray:
    """The point of norm ``radius`` on the segment between the box's points nearest to and farthest from 0."""
    step = farthest - nearest
    a, b, c = step @ step, nearest @ step, nearest @ nearest - radius**2
    t = (-b + np.sqrt(max(b * b - a * c, 0.0))) / a
    return np.asarray(nearest + np.clip(t, 0.0, 1.0) * step)
