"""The non-uniform Euler-Bernoulli beam: (EI w'')'' = q on [0, 1], minimise the deflection w.

The paper prints EI = e^x / rho and not q. Its rho is w'' of the `deflection` below, so that the bending
moment is M = EI w'' = e^x and the load q = M'' = e^x.

The black box solves M'' = q, then w'' = rho e^-x M, by finite differences from the values at the ends: EI
itself has a pole at each of the 26 zeros of rho.

The PDE offered is the same equation without the poles. With u = w'' and EI = e^x / rho, multiplying it by
rho^3 e^-x gives

    rho^2 u'' + 2 rho (rho - rho') u' + (rho^2 - 2 rho rho' + 2 rho'^2 - rho rho'') u = rho^3.

Its coefficients range over many decades. With the local wave number k = 8 pi e^2x of the fastest term,
rho ~ k^2 and u' ~ k u, so that dividing by k^4 (rho^2 + (rho' / k)^2), which is never 0, brings every term to
the size of w.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.interpolate import CubicSpline
from scipy.linalg import solveh_banded

from pinnbo.operators import Point, ScalarField, derivatives, partial
from pinnbo.pde import PDE
from pinnbo.problems.extremes import extremes
from pinnbo.problems.problem import Problem, paper_noise
from pinnbo.space import Space

_CELLS = 16_384


def build(*, printed: bool = False) -> Problem:
    """The beam on [0, 1]; printed: the rows (EI w'')'' = q as they stand, poles and all."""
    pde = (
        PDE(_as_printed, source=lambda x: jnp.exp(x[0]), name="beam: (EI w'')'' = q")
        if printed
        else PDE(_without_poles, source=_load_without_poles, name="beam: (EI w'')'' = q")
    )
    return _on(Space.box([0.0], [1.0]), pde)


def deflection(x: Any, xp: Any = jnp) -> Any:
    """The exact solution w, by JAX or NumPy."""
    e = xp.exp(2 * x)
    return xp.sin(4 * xp.pi * e) + e * xp.sin(20 * x) + 0.4 * x**3 + 0.2 * x**2


def rho(x: Any, xp: Any = jnp) -> Any:
    """The paper's rho(x), with flexural rigidity EI = e^x / rho, by JAX or NumPy."""
    e = xp.exp(2 * x)
    return (
        2.4 * x
        - 64 * xp.pi**2 * e**2 * xp.sin(4 * xp.pi * e)
        - 396 * e * xp.sin(20 * x)
        + 80 * e * xp.cos(20 * x)
        + 16 * xp.pi * e * xp.cos(4 * xp.pi * e)
        + 0.4
    )


def solve(cells: int) -> CubicSpline:
    """Finite differences of second order on a uniform grid, as a cubic spline."""
    x = np.linspace(0.0, 1.0, cells + 1)
    moment = _second_antiderivative(np.exp(x), 1.0, math.e)
    ends = deflection(x[[0, -1]], np)
    w = _second_antiderivative(rho(x, np) * np.exp(-x) * moment, *ends)
    return CubicSpline(x, w)


def _on(space: Space, pde: PDE) -> Problem:
    low, high = float(space.lower[0]), float(space.upper[0])
    if low < 0.0 or high > 1.0:
        raise ValueError(f"beam-1: the box must lie in [0, 1], got ({low:g}, {high:g})")
    w = _solution()
    where = extremes(w, low, high)
    best, worst = (float(w(x)) for x in where)
    return Problem(
        name="beam-1",
        space=space,
        pde=pde,
        goal="minimize",
        optimum=best,
        range=worst - best,
        noise=paper_noise(worst - best),
        x_best=np.array([where.argmin]),
        evaluate=lambda points: np.asarray(w(points[:, 0])),
        rebuild=lambda other: _on(other, pde),
        field=lambda x: deflection(x[0]),
    )


@functools.cache
def _solution() -> CubicSpline:
    return solve(_CELLS)


def _second_antiderivative(source: np.ndarray, first: float, last: float) -> np.ndarray:
    """Solve y'' = source on [0, 1] with y given at both ends: the tridiagonal system of -h^2 y''."""
    n = len(source) - 1
    rhs = -source[1:-1] / n**2
    rhs[0] += first
    rhs[-1] += last
    bands = np.stack([np.full(n - 1, -1.0), np.full(n - 1, 2.0)])
    return np.concatenate([[first], solveh_banded(bands, rhs), [last]])


def _as_printed(f: ScalarField) -> ScalarField:
    curvature = partial(f, 0, order=2)
    return partial(lambda x: jnp.exp(x[0]) / rho(x[0]) * curvature(x), 0, order=2)


def _without_poles(f: ScalarField) -> ScalarField:
    def row(x: Point) -> Float[Array, ""]:
        _, _, u, du, ddu = derivatives(f, jnp.ones_like(x), 4)(x)
        r, dr, ddr = _rho_and_derivatives(x[0])
        terms = r**2 * ddu + 2 * r * (r - dr) * du + (r**2 - 2 * r * dr + 2 * dr**2 - r * ddr) * u
        return terms * _weight(x[0])

    return row


@jax.jit
def _load_without_poles(x: Point) -> Float[Array, ""]:
    return rho(x[0]) ** 3 * _weight(x[0])


def _weight(x: Any) -> Array:
    r, dr, _ = _rho_and_derivatives(x)
    k = 8 * jnp.pi * jnp.exp(2 * x)
    return 1 / (k**4 * (r**2 + (dr / k) ** 2))


@jax.jit
def _rho_and_derivatives(x: Any) -> tuple[Array, Array, Array]:
    slope = jax.grad(rho)
    return rho(x), slope(x), jax.grad(slope)(x)
