"""Exact solutions of an equation with constant coefficients as a prior: exponentials on its characteristic variety.

With P(z_q) = 0 (`pinnbo.physics.symbol`) every

    f(s) = psi(s) + sum_q w_q Re( (a_q - i b_q) exp(z_q . s - |Re z_q|_1) ),      P(d/ds) psi = g,

solves P(d/ds) f = g everywhere in the box, at every length scale: there are no rows, and nothing lies between them. The
exponentials are at most one in the box, a_q and b_q are standard normal, and w_q^2 is a spectral density times the
measure of a quadrature on the variety, so that the process is stationary where the z_q are imaginary:

    cov(f(s), f(t)) = sum_q w_q^2 cos(k_q . (s - t)),      z_q = i k_q.

*Evolution*: the frequencies k on the other axes have the density of an RBF kernel of length scale l,
exp(-l^2 |k|^2 / 2), once for every root; f_tt = f_xx is F(x - t) + G(x + t) with independent F and G of that kernel.
The midpoint rule repeats a covariance with the period 2 pi / step; it is refined until the covariance over the box is
settled.

*Shells*: all directions alike, without a length scale; lap f + k^2 f = 0 has the covariance J0(k r) in the plane and
sin(k r) / (k r) in space.

Known conditions are rows of the features. With w the standard normal weights of the features and A w = t +- D^1/2,

    Lambda = I + A^T D^-1 A = C C^T,      phi given the conditions = C^-1 phi,      its mean C^-1 A^T D^-1 t.

References
----------
Harkonen, Lange-Hegermann, Raita, "Gaussian process priors for systems of linear partial differential equations with
constant coefficients", ICML 2023.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from math import factorial, prod

import numpy as np
from jaxtyping import Complex, Float
from numpy import ndarray
from scipy.linalg import cholesky, solve_triangular
from scipy.stats import qmc

from pinnbo.gp.kernels import CONSTANT
from pinnbo.gp.process import FeatureMap, Process
from pinnbo.physics.functionals import Functionals
from pinnbo.physics.symbol import Symbol, powers

_REACH = 5.3  # highest frequency times length scale: the density beyond holds 1e-7 of the variance
_SETTLED = 1e-4  # of the variance, between a quadrature and a finer one
_COARSEST, _MOST = 4, 3000  # frequencies on an axis, and features in all
_PROBES = 64


@dataclass(frozen=True, eq=False)
class Waves(FeatureMap):
    """Weighted exponentials that solve the equation, and a particular solution of P psi = 1."""

    symbol: Symbol
    exponents: Complex[ndarray, "q d"]  # z
    weights: Float[ndarray, " q"]  # w
    mix: Float[ndarray, "r r"] | None = None  # C^-T

    def __call__(
        self, points: Float[ndarray, "b d"], slopes: bool
    ) -> tuple[Float[ndarray, "b r"], Float[ndarray, "b d r"] | None]:
        """Real and imaginary parts, mixed; the particular solution last."""
        waves = self._complex(points)
        values = self._columns(waves, self._particular(points, np.zeros(points.shape[1], dtype=int)))
        if not slopes:
            return values, None
        steps = np.eye(points.shape[1], dtype=int)
        along = [
            self._columns(waves * self.exponents[:, axis], self._particular(points, steps[axis]))
            for axis in range(len(steps))
        ]
        return values, np.stack(along, axis=1)

    def rows(self, functionals: Functionals) -> Float[ndarray, "m r"]:
        """The functionals of the features and of the particular solution."""
        derivatives = powers(self.exponents, functionals.derivatives).T
        waves = self._complex(functionals.points) * (functionals.coefficients @ derivatives)
        own = [self._particular(functionals.points, index) for index in functionals.derivatives]
        particular = np.sum(functionals.coefficients * np.stack(own, axis=1), axis=1)
        return functionals.gathered(self._columns(waves, particular))

    @property
    def n_waves(self) -> int:
        """Features that are no particular solution."""
        return len(self.weights) + int(np.sum(self._turns))

    def _complex(self, points: Float[ndarray, "b d"]) -> Complex[ndarray, "b q"]:
        largest = np.abs(self.exponents.real).sum(axis=1)
        return np.exp(points @ self.exponents.T - largest) * self.weights

    def _columns(
        self, waves: Complex[ndarray, "b q"], particular: Float[ndarray, " b"]
    ) -> Float[ndarray, "b r"]:
        parts = np.concatenate([waves.real, waves.imag[:, self._turns]], axis=1)
        if self.mix is not None:
            parts = parts @ self.mix
        return np.concatenate([parts, particular[:, None]], axis=1)

    @property
    def _turns(self) -> ndarray:
        """Which exponentials have an imaginary part."""
        return np.any(self.exponents.imag != 0, axis=1)

    def _particular(self, points: Float[ndarray, "b d"], derivative: ndarray) -> Float[ndarray, " b"]:
        """A derivative of psi = s^a / (a! c_a), a the lowest derivative of P: lower ones, which it has not, vanish."""
        lowest = int(np.argmin(self.symbol.derivatives.sum(axis=1)))
        power = self.symbol.derivatives[lowest] - derivative
        if np.any(power < 0):
            return np.zeros(len(points))
        size = prod(factorial(int(p)) for p in power) * self.symbol.coefficients[lowest]
        return np.asarray(np.prod(points**power, axis=1) / size)

    def process(self) -> Process:
        """P h = (g - shift P(1)) / scale: the particular solution enters the mean alone."""
        r = self.n_waves
        means = np.zeros((r + 1, 2))
        means[-1] = self.symbol.source, self.symbol.of_value
        return Process(self.symbol.dim, self, np.append(np.ones(r), 0.0), means)


def given(process: Process, conditions: Functionals, row_noise: float) -> Process:
    """A process of waves given conditions, each with a standard deviation of row_noise times its prior one."""
    waves = process.features
    assert isinstance(waves, Waves)
    table = waves.rows(conditions)
    rows, particular = table[:, :-1], table[:, -1]
    size = np.linalg.norm(rows, axis=1)
    if not size.any():
        return process
    size = row_noise * np.maximum(size, 1e-6 * size.max())
    scaled = rows / size[:, None]
    target = (conditions.targets() - np.outer(particular, process.means[-1])) / size[:, None]
    factor = cholesky(np.eye(rows.shape[1]) + scaled.T @ scaled, lower=True)
    means = solve_triangular(factor, scaled.T @ target, lower=True)
    mix = solve_triangular(factor, np.eye(len(factor)), lower=True).T
    return replace(
        process, features=replace(waves, mix=mix), means=np.concatenate([means, process.means[-1:]])
    )


def evolving(symbol: Symbol, axis: int, length: float) -> Process | None:
    """Modes that evolve along an axis, an RBF density of frequencies on the others; None where that is too many."""
    return _settled(_quadratures(lambda n: _modes(symbol, axis, length, n)))


def on_shells(symbol: Symbol) -> Process | None:
    """Standing waves of all directions; None where those are too many."""
    return _settled(_quadratures(lambda n: _standing(symbol, n)))


def _modes(symbol: Symbol, axis: int, length: float, n: int) -> Waves:
    """A midpoint rule of 2 n frequencies on every other axis within reach, and all roots of each."""
    others = symbol.dim - 1
    line = (np.arange(-n, n) + 0.5) * (_REACH / (length * n))
    k = np.stack(np.meshgrid(*[line] * others, indexing="ij"), axis=-1).reshape(-1, others)
    # -k is the complex conjugate of k
    k = k[(np.sum(k**2, axis=1) * length**2 <= _REACH**2) & (k[:, 0] > 0)]
    density = np.exp(-0.5 * length**2 * np.sum(k**2, axis=1))
    roots = symbol.roots(axis, 1j * k)
    z = np.insert(np.repeat(1j * k, roots.shape[1], axis=0), axis, roots.ravel(), axis=1)
    weights = np.sqrt(np.repeat(density, roots.shape[1]) / (density.sum() * roots.shape[1]))
    return _with_constant(symbol, z, weights)


def _standing(symbol: Symbol, n: int) -> Waves:
    """Half of the directions, since opposite ones have the same waves, spread evenly where the shell is round."""
    angle = np.pi * (np.arange(n) + 0.5) / n
    if symbol.dim == 2:
        directions, share = np.stack([np.cos(angle), np.sin(angle)], axis=1), np.ones(n)
    else:
        height, share = np.polynomial.legendre.leggauss(n)
        around = np.sqrt(1.0 - height**2)[:, None]
        level = np.broadcast_to(height[:, None], (n, n))
        directions = np.stack([around * np.cos(angle), around * np.sin(angle), level], axis=-1).reshape(-1, 3)
        share = np.repeat(share, n)
    moved = directions @ symbol.roundness
    distance = np.linalg.norm(moved, axis=1)
    z, density = symbol.shells(moved / distance[:, None])
    density = density * np.repeat(share / distance**symbol.dim, len(z) // len(share))
    return Waves(symbol, z, np.sqrt(density / density.sum()))


def _with_constant(symbol: Symbol, z: Complex[ndarray, "q d"], weights: Float[ndarray, " q"]) -> Waves:
    """And a constant, where it is a solution."""
    if symbol.of_value != 0.0:
        return Waves(symbol, z, weights)
    zero = np.zeros((1, symbol.dim), dtype=complex)
    return Waves(symbol, np.concatenate([zero, z]), np.append(CONSTANT, weights))


def _quadratures(build: Callable[[int], Waves]) -> Iterator[Waves]:
    """Finer and finer, while there are not too many features."""
    n = _COARSEST
    while (waves := build(n)).n_waves <= _MOST:
        yield waves
        n += n // 2


def _settled(quadratures: Iterator[Waves]) -> Process | None:
    """The first of the quadratures from which the next one differs by next to nothing."""
    for coarse, fine in pairwise(quadratures):
        probes = _probes(coarse.symbol.dim)
        before, after = (waves.process().covariance_matrix(probes) for waves in (coarse, fine))
        if np.max(np.abs(after - before)) < _SETTLED:
            return coarse.process()
    return None


def _probes(dim: int) -> Float[ndarray, "p d"]:
    """Points of the box and its corners, which are farthest apart."""
    corners = np.stack(np.meshgrid(*[[-1.0, 1.0]] * dim), axis=-1).reshape(-1, dim)
    return np.concatenate([corners, 2.0 * qmc.Sobol(dim, rng=4).random(_PROBES) - 1.0])
