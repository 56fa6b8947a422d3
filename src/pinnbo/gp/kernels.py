"""Covariance functions c^2 + k(s, t) of points s in [-1, 1]^d.

A function drawn from one is an unknown constant (standard deviation c, in units of the variation) plus a variation of
unit size. u_i = (s_i - t_i) / l_i are distances in length scales, r = |u|.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray

from pinnbo.physics.functionals import Functionals

CONSTANT = 3.0

LogScaleSlopes = Callable[[Float[ndarray, "n n"]], Float[ndarray, " d"]]

_BLOCK = 32  # points at a time: tables of some hundred places stay in the cache, and take a third of the time
_NOTHING = (
    160.0  # r^2 beyond which exp(-r^2 / 2), 2e-35, is zero: numbers below 1e-308 take a hundred times as long
)


@dataclass(frozen=True, eq=False)
class Kernel(ABC):
    """A covariance function with a length scale per axis."""

    name: ClassVar[str]

    scale: Float[ndarray, " d"]
    constant: float = CONSTANT  # c
    _known: list[tuple[ndarray, ndarray, ndarray]] = field(default_factory=list, init=False, repr=False)

    @property
    def variance(self) -> float:
        """c^2 + k(s, s)."""
        return self.constant**2 + 1.0

    def values(self, s: Float[ndarray, "b d"], t: Float[ndarray, "n d"]) -> Float[ndarray, "b n"]:
        """c^2 + k(s, t)."""
        if not self._remembers(s):
            return self._with_constant(s, t)
        _, before, known = self._known[0]
        if len(before) > len(t) or not np.array_equal(before, t[: len(before)]):
            before, known = t[:0], np.zeros((len(s), 0))
        if len(before) < len(t):
            known = np.concatenate([known, self._with_constant(s, t[len(before) :])], axis=1)
        self._known[:] = [(s, t, known)]
        return known

    def remember(self, s: Float[ndarray, "b d"]) -> None:
        """Keep what is computed for these points: several models share a kernel, and t grows by one at a time."""
        if not self._remembers(s):
            self._known[:] = [(s, s[:0], np.zeros((len(s), 0)))]

    def _remembers(self, s: Float[ndarray, "b d"]) -> bool:
        return bool(self._known) and np.array_equal(self._known[0][0], s)

    def _with_constant(self, s: Float[ndarray, "b d"], t: Float[ndarray, "n d"]) -> Float[ndarray, "b n"]:
        return self.constant**2 + self._values(s / self.scale, t / self.scale)

    def slopes(self, s: Float[ndarray, "b d"], t: Float[ndarray, "n d"]) -> Float[ndarray, "b d n"]:
        """dk / ds."""
        gaps = (s / self.scale).T[:, :, None] - (t / self.scale).T[:, None, :]
        return np.moveaxis(self._slopes(gaps) / self.scale[:, None, None], 0, 1)

    @abstractmethod
    def _values(self, s: Float[ndarray, "b d"], t: Float[ndarray, "n d"]) -> Float[ndarray, "b n"]:
        """k of points in units of the length scales."""

    @abstractmethod
    def _slopes(self, u: Float[ndarray, "d b n"]) -> Float[ndarray, "d b n"]:
        """dk / du."""

    @abstractmethod
    def gram(self, s: Float[ndarray, "n d"]) -> tuple[Float[ndarray, "n n"], LogScaleSlopes]:
        """c^2 + k(s_n, s_m), and the function of symmetric weights sum_nm weights_nm dk(s_n, s_m) / d log l_i.

        du_i / d log l_i = -u_i. What both need is computed once.
        """


class _Radial(Kernel):
    """A function of r."""

    def _values(self, s: Float[ndarray, "b d"], t: Float[ndarray, "n d"]) -> Float[ndarray, "b n"]:
        return self._profile(_square_distances(s, t))[0]

    def _slopes(self, u: Float[ndarray, "d b n"]) -> Float[ndarray, "d b n"]:
        return -u * self._profile(np.sum(u**2, axis=0))[1]

    def gram(self, s: Float[ndarray, "n d"]) -> tuple[Float[ndarray, "n n"], LogScaleSlopes]:
        """By sum_nm M_nm (s_n - s_m)^2 = 2 sum_n M_n. s_n^2 - 2 s^T M s."""
        scaled = s / self.scale
        k, w = self._profile(_square_distances(scaled, scaled))

        def slopes(weights: Float[ndarray, "n n"]) -> Float[ndarray, " d"]:
            matrix = weights * w
            return 2.0 * (matrix.sum(axis=1) @ scaled**2 - np.sum(scaled * (matrix @ scaled), axis=0))

        return self.constant**2 + k, slopes

    @abstractmethod
    def _profile(self, square: Float[ndarray, ...]) -> tuple[ndarray, ndarray]:
        """k at r^2, and w with dk / du_i = -u_i w."""


@dataclass(frozen=True, eq=False)
class RBF(_Radial):
    """k = exp(-r^2 / 2). All derivatives are Hermite polynomials times k, so that it can be given equations.

    (d/ds)^p (d/dt)^q exp(-u^2 / 2) = (-1)^p l^-(p+q) He_{p+q}(u) exp(-u^2 / 2)      on each axis.

    Several fields are independent a priori, each with an amplitude A_f; that of the first, which is measured, is one:

    cov(L[f], L'[f]) = sum over fields f of A_f^2 times the covariance of the parts of L and L' on f.
    """

    name = "rbf"

    amplitudes: tuple[float, ...] = (1.0,)

    def _profile(self, square: Float[ndarray, ...]) -> tuple[ndarray, ndarray]:
        k = _bump(square)
        return k, k

    def covariance(self, some: Functionals, others: Functionals) -> Float[ndarray, "n m"]:
        """L_i L_j' k, by blocks: the tables of derivatives are many times larger."""
        parts = []
        for start in range(0, max(1, len(some.points)), _BLOCK):
            block = slice(start, start + _BLOCK)
            tables = Tables(self.scale, some.points[block], others, int(some.derivatives.max(initial=0)))
            part = np.zeros((len(some.points[block]), len(others.points)))
            for owner, index, column in some.terms:
                part += (self.amplitudes[owner] ** 2 * column[block, None]) * tables.derivative(index, owner)
            parts.append(part)
        by_place = others.gathered(np.concatenate(parts).T).T
        total = some.gathered(by_place)
        shared = min(some.constants.shape[1], others.constants.shape[1])
        square = self.constant**2 * np.square(self.amplitudes[:shared])
        return total + (some.constants[:, :shared] * square) @ others.constants[:, :shared].T

    def jets(
        self, points: Float[ndarray, "b d"], others: Functionals, slopes: bool
    ) -> tuple[Float[ndarray, "b m"], Float[ndarray, "b d m"] | None]:
        """Covariances of h, the first field, at points with functionals, and their slopes if asked for."""
        if len(points) > _BLOCK:
            blocks = range(0, len(points), _BLOCK)
            values, along = zip(
                *(self.jets(points[i : i + _BLOCK], others, slopes) for i in blocks), strict=True
            )
            return np.concatenate(values), np.concatenate(along) if slopes else None
        d = points.shape[1]
        tables = Tables(self.scale, points, others, int(slopes))
        values = others.gathered(tables.derivative((0,) * d).T).T
        values = values + self.constant**2 * others.constant
        if not slopes:
            return values, None
        axes = [tuple(int(i == axis) for i in range(d)) for axis in range(d)]
        return values, np.stack([others.gathered(tables.derivative(axis).T).T for axis in axes], axis=1)


class Tables:
    """Derivatives of one-dimensional RBF kernels between points and places; the kernel's are products of them."""

    def __init__(
        self, scale: Float[ndarray, " d"], at: Float[ndarray, "n d"], others: Functionals, highest: int
    ) -> None:
        self._others = others
        gaps = [
            np.subtract.outer(s, t) for s, t in zip((at / scale).T, (others.points / scale).T, strict=True)
        ]
        square = gaps[0] ** 2
        for gap in gaps[1:]:
            square += gap * gap
        self._bump = _bump(square)
        orders = np.max([(0,) * len(scale), *(index for _, index, _ in others.terms)], axis=0) + highest
        self._tables = [
            _hermite(gap, float(length), int(order))
            for gap, length, order in zip(gaps, scale, orders, strict=True)
        ]

    def __len__(self) -> int:
        return len(self._bump)

    def pair(self, index: ndarray, other: ndarray) -> Float[ndarray, "n m"]:
        """(d/ds)^index (d/dt)^other k(s, t), without the constant."""
        product = self._product(tuple((index + other).tolist()))
        return (-1.0) ** index.sum() * (self._bump if product is None else product * self._bump)

    def derivative(self, index: tuple[int, ...], of: int = 0) -> Float[ndarray, "n m"]:
        """(d/ds)^index of a field's covariance with its part of every place, without constant and amplitude."""
        total = np.zeros(self._bump.shape)
        for owner, other, column in self._others.terms:
            if owner != of:
                continue
            product = self._product(tuple(a + b for a, b in zip(index, other, strict=True)))
            total += column if product is None else product * column
        total *= self._bump
        return -total if sum(index) % 2 else total

    def _product(self, orders: tuple[int, ...]) -> Float[ndarray, "n m"] | None:
        """Of the axes' polynomials; None stands for one."""
        product = None
        for axis, order in enumerate(orders):
            if order:
                table = self._tables[axis][order]
                product = table if product is None else product * table
        return product


class Matern(_Radial):
    """k = (1 + q + q^2 / 3) exp(-q), q = sqrt(5) r: twice differentiable."""

    name = "matern"

    def _profile(self, square: Float[ndarray, ...]) -> tuple[ndarray, ndarray]:
        q = np.sqrt(5.0 * square)
        bump = np.exp(-q)
        return (1.0 + q + q**2 / 3.0) * bump, (5.0 / 3.0) * (1.0 + q) * bump


class Additive(Kernel):
    """k = 1/d sum_i e_i, e_i = exp(-u_i^2 / 2)."""

    name = "additive"

    def _values(self, s: Float[ndarray, "b d"], t: Float[ndarray, "n d"]) -> Float[ndarray, "b n"]:
        return sum(_bumps(s, t)) / s.shape[1]

    def _slopes(self, u: Float[ndarray, "d b n"]) -> Float[ndarray, "d b n"]:
        return -u * np.exp(-0.5 * u**2) / len(u)

    def gram(self, s: Float[ndarray, "n d"]) -> tuple[Float[ndarray, "n n"], LogScaleSlopes]:
        """Each axis for itself."""
        pairs = _Pairs.of(s / self.scale)
        squares, along = pairs.squares, pairs.along
        turned = squares * along

        def slopes(weights: Float[ndarray, "n n"]) -> Float[ndarray, " d"]:
            return 2.0 * turned @ pairs.among(weights) / len(along)

        return self.constant**2 + pairs.matrix(np.sum(along, axis=0) / len(along), 1.0), slopes


class Pairwise(Kernel):
    """k = 2/(d (d - 1)) sum_{i<j} e_i e_j, the sum being ((sum_i e_i)^2 - sum_i e_i^2) / 2."""

    name = "pairwise"

    def _values(self, s: Float[ndarray, "b d"], t: Float[ndarray, "n d"]) -> Float[ndarray, "b n"]:
        total, squares, d = np.zeros((len(s), len(t))), np.zeros((len(s), len(t))), s.shape[1]
        for along in _bumps(s, t):  # one table for all axes would leave the cache
            total += along
            squares += along * along
        return (total * total - squares) / (d * (d - 1))

    def _slopes(self, u: Float[ndarray, "d b n"]) -> Float[ndarray, "d b n"]:
        along = np.exp(-0.5 * u**2)
        return -2.0 * u * along * (np.sum(along, axis=0) - along) / (len(u) * (len(u) - 1))

    def gram(self, s: Float[ndarray, "n d"]) -> tuple[Float[ndarray, "n n"], LogScaleSlopes]:
        """-u_i dk / du_i, summed."""
        pairs = _Pairs.of(s / self.scale)
        squares, along = pairs.squares, pairs.along
        total, d = np.sum(along, axis=0), len(along)
        turned = squares * along * (total - along) * (2.0 / (d * (d - 1)))

        def slopes(weights: Float[ndarray, "n n"]) -> Float[ndarray, " d"]:
            return 2.0 * turned @ pairs.among(weights)

        both = (total**2 - np.sum(along**2, axis=0)) / (d * (d - 1))
        return self.constant**2 + pairs.matrix(both, 1.0), slopes


def _square_distances(s: Float[ndarray, "b d"], t: Float[ndarray, "n d"]) -> Float[ndarray, "b n"]:
    """|s - t|^2 by a matrix product; rounding may not make it negative."""
    square = np.sum(s**2, axis=1)[:, None] + np.sum(t**2, axis=1) - 2.0 * (s @ t.T)
    return np.maximum(square, 0.0)


def _bump(square: Float[ndarray, ...]) -> Float[ndarray, ...]:
    """exp(-r^2 / 2)."""
    return np.asarray(np.where(square < _NOTHING, np.exp(-0.5 * np.minimum(square, _NOTHING)), 0.0))


def _bumps(s: Float[ndarray, "b d"], t: Float[ndarray, "n d"]) -> list[Float[ndarray, "b n"]]:
    return [np.exp(-0.5 * np.subtract.outer(a, b) ** 2) for a, b in zip(s.T, t.T, strict=True)]


class _Pairs(NamedTuple):
    """The p pairs of different points, each once: u_i^2 and e_i of every axis."""

    rows: Int[ndarray, " p"]
    columns: Int[ndarray, " p"]
    n: int
    squares: Float[ndarray, "d p"]
    along: Float[ndarray, "d p"]

    @classmethod
    def of(cls, s: Float[ndarray, "n d"]) -> _Pairs:
        rows, columns = np.triu_indices(len(s), 1)
        squares = (s[rows] - s[columns]).T ** 2
        return cls(rows, columns, len(s), squares, np.exp(-0.5 * squares))

    def among(self, matrix: Float[ndarray, "n n"]) -> Float[ndarray, " p"]:
        """Entries of a symmetric matrix."""
        return np.asarray(matrix[self.rows, self.columns])

    def matrix(self, entries: Float[ndarray, " p"], diagonal: float) -> Float[ndarray, "n n"]:
        """The symmetric matrix of entries."""
        found = np.full((self.n, self.n), diagonal)
        found[self.rows, self.columns] = found[self.columns, self.rows] = entries
        return found


def _hermite(u: Float[ndarray, "n m"], length: float, order: int) -> list[Float[ndarray, "n m"]]:
    """l^-n He_n(u), n up to an order, by He_{n+1} = u He_n - n He_{n-1}; that of order 0, one, is not used."""
    step = u / length
    found = [u, step]
    for n in range(1, order):
        lower = n / length**2
        found.append(step * found[n] - (lower * found[n - 1] if n > 1 else lower))
    return found
