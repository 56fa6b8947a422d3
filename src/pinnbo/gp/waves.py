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

*All*: an ordinary equation of order m has m solutions; they are made orthonormal on the box, so that it does not matter
which m they are.

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

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Complex, Float
from numpy import ndarray
from scipy.linalg import cholesky, solve_triangular

from pinnbo.gp.kernels import CONSTANT
from pinnbo.gp.process import FeatureMap, Process
from pinnbo.physics.functionals import Functionals
from pinnbo.physics.particular import Polynomial
from pinnbo.physics.symbol import Symbol, powers
from pinnbo.sobol import sobol

_REACH = 5.3  # highest frequency times length scale: the density beyond holds 1e-7 of the variance
_SETTLED = 1e-4  # of the variance, between a quadrature and a finer one
_COARSEST, _MOST = 4, 3000  # frequencies on an axis, and features in all
_PROBES = 64
_NODES = 256
_REAL = 1e-10  # imaginary part of a simple root that is real


@dataclass(frozen=True, eq=False)
class Waves(FeatureMap):
    """Weighted exponentials that solve the equation without source; then psi, which solves it, and the constant 1."""

    exponents: Complex[ndarray, "q d"]  # z
    weights: Float[ndarray, " q"]  # w
    particular: Polynomial  # psi
    mix: Float[ndarray, "r r"] | None = None  # C^-T

    def __call__(
        self, points: Float[ndarray, "b d"], slopes: bool
    ) -> tuple[Float[ndarray, "b r"], Float[ndarray, "b d r"] | None]:
        """Real and imaginary parts, mixed; what the mean alone needs comes last."""
        waves, one = self._complex(points), np.ones(len(points))
        values = self._columns(waves, self.particular(points), one)
        if not slopes:
            return values, None
        along = [
            self._columns(waves * self.exponents[:, axis], self.particular(points, step), 0.0 * one)
            for axis, step in enumerate(np.eye(points.shape[1], dtype=int))
        ]
        return values, np.stack(along, axis=1)

    def knows(self, functionals: Functionals) -> bool:
        """All of one field."""
        return not functionals.field_of.any()

    def of(self, functionals: Functionals) -> Float[ndarray, "m r"]:
        """The functionals of all features."""
        derivatives = powers(self.exponents, functionals.derivatives).T
        waves = self._complex(functionals.points) * (functionals.coefficients @ derivatives)
        own = [self.particular(functionals.points, index) for index in functionals.derivatives]
        particular = np.sum(functionals.coefficients * np.stack(own, axis=1), axis=1)
        constant = functionals.coefficients @ ~functionals.derivatives.any(axis=1)
        return functionals.gathered(self._columns(waves, particular, constant))

    @property
    def n_waves(self) -> int:
        """Features that vary."""
        return len(self.weights) + int(np.sum(self._turns))

    def _complex(self, points: Float[ndarray, "b d"]) -> Complex[ndarray, "b q"]:
        largest = np.abs(self.exponents.real).sum(axis=1)
        return np.exp(points @ self.exponents.T - largest) * self.weights

    def _columns(
        self, waves: Complex[ndarray, "b q"], particular: Float[ndarray, " b"], constant: Float[ndarray, " b"]
    ) -> Float[ndarray, "b r"]:
        parts = np.concatenate([waves.real, waves.imag[:, self._turns]], axis=1)
        if self.mix is not None:
            parts = parts @ self.mix
        return np.column_stack([parts, particular, constant])

    @property
    def _turns(self) -> ndarray:
        """Which exponentials have an imaginary part."""
        return np.any(self.exponents.imag != 0, axis=1)

    def process(self, constant_solves: bool) -> Process:
        """The features vary, psi and the constant enter the mean: P h = (g - shift P(1)) / scale, f = shift + scale h.

        Where a constant is no solution, the mean of f is psi whatever the shift.
        """
        r = self.n_waves
        means = np.zeros((r + 2, 2))
        means[-2, 0], means[-1, 1] = 1.0, 0.0 if constant_solves else 1.0
        return Process(self.exponents.shape[1], self, np.append(np.ones(r), [0.0, 0.0]), means)


def given(process: Process, conditions: Functionals, row_noise: float) -> Process:
    """A process of waves given conditions, each with a standard deviation of row_noise times its prior one."""
    waves = process.features
    assert isinstance(waves, Waves)
    table = waves.of(conditions)
    rows, of_mean = table[:, :-2], table[:, -2:]
    size = np.linalg.norm(rows, axis=1)
    if not size.any():
        return process
    size = row_noise * np.maximum(size, 1e-6 * size.max())
    scaled = rows / size[:, None]
    target = (conditions.targets() - of_mean @ process.means[-2:]) / size[:, None]
    factor = cholesky(np.eye(rows.shape[1]) + scaled.T @ scaled, lower=True)
    means = solve_triangular(factor, scaled.T @ target, lower=True)
    mix = solve_triangular(factor, np.eye(len(factor)), lower=True).T
    return replace(
        process, features=replace(waves, mix=mix), means=np.concatenate([means, process.means[-2:]])
    )


class Solutions:
    """The processes of an equation's solutions."""

    def __init__(self, symbol: Symbol, particular: Polynomial) -> None:
        self.symbol, self._particular = symbol, particular

    def evolving(self, axis: int, length: float) -> Process | None:
        """Modes that evolve along an axis, an RBF density of frequencies on the others; None where that is too many."""
        return self._settled(lambda n: self._modes(axis, length, n))

    def standing(self) -> Process | None:
        """Waves of all directions; None where those are too many."""
        return self._settled(self._on_shells)

    def all(self) -> Process:
        """Of an ordinary equation with simple roots: as many exponentials as its order, orthonormal on the box."""
        roots = self.symbol.roots(0, np.zeros((1, 0), dtype=complex)).T
        real = np.abs(roots.imag) <= _REAL * (1.0 + np.abs(roots))
        roots = np.where(real, roots.real, roots)[(real | (roots.imag > 0)).ravel()]
        waves = Waves(roots, np.ones(len(roots)), self._particular)
        places, shares = np.polynomial.legendre.leggauss(_NODES)
        values = waves(places[:, None], False)[0][:, : waves.n_waves]
        triangle = np.linalg.qr(np.sqrt(shares)[:, None] * values, mode="r")
        mix = np.sqrt(2.0 / waves.n_waves) * np.linalg.inv(triangle)
        return self._process(replace(waves, mix=mix))

    def _process(self, waves: Waves) -> Process:
        return waves.process(self.symbol.of_value == 0.0)

    def _modes(self, axis: int, length: float, n: int) -> Waves:
        """A midpoint rule of 2 n frequencies on every other axis within reach, and all roots of each."""
        others = self.symbol.dim - 1
        line = (np.arange(-n, n) + 0.5) * (_REACH / (length * n))
        k = np.stack(np.meshgrid(*[line] * others, indexing="ij"), axis=-1).reshape(-1, others)
        # -k is the complex conjugate of k
        k = k[(np.sum(k**2, axis=1) * length**2 <= _REACH**2) & (k[:, 0] > 0)]
        density = np.exp(-0.5 * length**2 * np.sum(k**2, axis=1))
        roots = self.symbol.roots(axis, 1j * k)
        z = np.insert(np.repeat(1j * k, roots.shape[1], axis=0), axis, roots.ravel(), axis=1)
        weights = np.sqrt(np.repeat(density, roots.shape[1]) / (density.sum() * roots.shape[1]))
        if self.symbol.of_value == 0.0:  # a constant is a solution
            z, weights = np.concatenate([np.zeros((1, others + 1)), z]), np.append(CONSTANT, weights)
        return Waves(z, weights, self._particular)

    def _on_shells(self, n: int) -> Waves:
        """Half of the directions, since opposite ones have the same waves, spread evenly where the shell is round."""
        angle = np.pi * (np.arange(n) + 0.5) / n
        if self.symbol.dim == 2:
            directions, share = np.stack([np.cos(angle), np.sin(angle)], axis=1), np.ones(n)
        else:
            height, share = np.polynomial.legendre.leggauss(n)
            around = np.sqrt(1.0 - height**2)[:, None]
            level = np.broadcast_to(height[:, None], (n, n))
            directions = np.stack([around * np.cos(angle), around * np.sin(angle), level], axis=-1)
            directions, share = directions.reshape(-1, 3), np.repeat(share, n)
        moved = directions @ self.symbol.roundness
        distance = np.linalg.norm(moved, axis=1)
        z, density = self.symbol.shells(moved / distance[:, None])
        density = density * np.repeat(share / distance**self.symbol.dim, len(z) // len(share))
        return Waves(z, np.sqrt(density / density.sum()), self._particular)

    def _settled(self, build: Callable[[int], Waves]) -> Process | None:
        """The first quadrature from which the next one differs by next to nothing; None where that takes too many."""
        probes = _probes(self.symbol.dim)
        n, coarse = _COARSEST, build(_COARSEST)
        before = self._process(coarse).covariance_matrix(probes)
        while (fine := build(n := n + n // 2)).n_waves <= _MOST:
            after = self._process(fine).covariance_matrix(probes)
            if np.max(np.abs(after - before)) < _SETTLED:
                return self._process(coarse)
            coarse, before = fine, after
        return None


def _probes(dim: int) -> Float[ndarray, "p d"]:
    """Points of the box and its corners, which are farthest apart."""
    corners = np.stack(np.meshgrid(*[[-1.0, 1.0]] * dim), axis=-1).reshape(-1, dim)
    return np.concatenate([corners, 2.0 * sobol(dim, _PROBES, 4) - 1.0])
