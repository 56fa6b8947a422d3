"""Covariance functions c^2 + k(s, t) of points s in [-1, 1]^d.

A function drawn from one is an unknown constant (standard deviation c, in units of the variation) plus a variation of
unit size. u_i = (s_i - t_i) / l_i are distances in length scales, r = |u|.

On a periodic axis, whose ends -1 and 1 are one place, points lie on a circle of circumference 2 and the distance is the
chord's: u_i^2 = 2 (1 - cos(pi (s_i - t_i))) / (pi l_i)^2, which is ((s_i - t_i) / l_i)^2 for points that are near.

Of functions with symmetries (`pinnbo.physics.images`) the covariance is sum over g of w_g (c^2 + k(s, g t)).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from math import comb
from typing import ClassVar, NamedTuple

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray

from pinnbo.physics.functionals import Functionals
from pinnbo.physics.images import Images

CONSTANT = 3.0

LogScaleSlopes = Callable[[Float[ndarray, "n n"]], Float[ndarray, " d"]]

_LATEST = 4  # blocks of points whose covariances with functionals are remembered
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
    periodic: tuple[int, ...] = ()  # axes
    images: Images | None = None  # symmetries of the functions
    _known: list[tuple[ndarray, ndarray, ndarray]] = field(default_factory=list, init=False, repr=False)

    @property
    def variance(self) -> float:
        """c^2 + k(s, s), of functions without symmetries."""
        return self.constant**2 + 1.0

    @property
    def about_zero(self) -> bool:
        """Whether a constant is none of the functions."""
        return self.images is not None and self.images.of_one != 1.0

    def variances(
        self, s: Float[ndarray, "b d"], slopes: bool = False
    ) -> tuple[Float[ndarray, " b"], Float[ndarray, "b d"] | None]:
        """Covariance of h at points with itself, and its slopes if asked for."""
        if self.images is None:
            return np.full(len(s), self.variance), np.zeros_like(s) if slopes else None
        blocks = [s[i : i + _BLOCK] for i in range(0, len(s), _BLOCK)]
        values = [np.diag(self._with_constant(block, block)) for block in blocks]
        own = np.concatenate([np.zeros(0), *values])
        if not slopes:
            return own, None
        along = [2.0 * np.einsum("bdb->bd", self.slopes(block, block)) for block in blocks]
        return own, np.concatenate([np.zeros((0, s.shape[1])), *along])

    def alike(self, s: Float[ndarray, "b d"], t: Float[ndarray, "n d"]) -> Float[ndarray, "b n"]:
        """k(s, t) alone: how much is the same at both."""
        return self._values(self._in_lengths(s), self._in_lengths(t))

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
        total = np.zeros((len(s), len(t)))
        for weight, places in self._reflected(t):
            total += weight * (self.constant**2 + self.alike(s, places))
        return total

    def _reflected(self, t: Float[ndarray, "n d"]) -> list[tuple[float, Float[ndarray, "n d"]]]:
        """The places that points stand for, with their weights."""
        if self.images is None:
            return [(1.0, t)]
        pairs = zip(self.images.weight_of(0).tolist(), self.images.places(t), strict=True)
        return [(weight, places) for weight, places in pairs if weight]

    def _in_lengths(self, s: Float[ndarray, "b d"]) -> Float[ndarray, "b e"]:
        """Points in units of the length scales; of a circle, that of a periodic axis, both coordinates."""
        if not self.periodic:
            return np.asarray(s / self.scale)
        circles = list(self.periodic)
        unit, angle = np.pi * self.scale[circles], np.pi * s[:, circles]
        found = s / self.scale
        found[:, circles] = np.cos(angle) / unit
        return np.concatenate([found, np.sin(angle) / unit], axis=1)

    def slopes(self, s: Float[ndarray, "b d"], t: Float[ndarray, "n d"]) -> Float[ndarray, "b d n"]:
        """Of the covariance in s."""
        total = np.zeros((*s.shape, len(t)))
        for weight, places in self._reflected(t):
            total += weight * self._along(s, places)
        return total

    def _along(self, s: Float[ndarray, "b d"], t: Float[ndarray, "n d"]) -> Float[ndarray, "b d n"]:
        """dk / ds."""
        gaps = (s / self.scale).T[:, :, None] - (t / self.scale).T[:, None, :]
        return np.moveaxis(self._slopes(gaps) / self.scale[:, None, None], 0, 1)

    def knows(self, functionals: Functionals) -> bool:
        """Whether it has covariances of functionals: of sums of values, at least."""
        return functionals.is_values

    def covariance(self, some: Functionals, others: Functionals) -> Float[ndarray, "n m"]:
        """L_i L_j' k."""
        by_place = self._with_constant(some.points, others.points)
        by_place = by_place * some.of_value[:, None] * others.of_value
        return some.gathered(others.gathered(by_place.T).T)

    def jets(
        self, points: Float[ndarray, "b d"], others: Functionals, slopes: bool
    ) -> tuple[Float[ndarray, "b m"], Float[ndarray, "b d m"] | None]:
        """Covariances of h at points with functionals, and their slopes if asked for."""
        values = others.gathered((self._with_constant(points, others.points) * others.of_value).T).T
        if not slopes:
            return values, None
        along = self.slopes(points, others.points) * others.of_value
        return values, np.moveaxis(others.gathered(np.moveaxis(along, 2, 0)), 0, 2)

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

    def _along(self, s: Float[ndarray, "b d"], t: Float[ndarray, "n d"]) -> Float[ndarray, "b d n"]:
        """dk / ds; d(u_i^2)/ds_i = 2 sin(pi (s_i - t_i)) / (pi l_i^2) on a periodic axis."""
        if not self.periodic:
            return super()._along(s, t)
        gaps = s.T[:, :, None] - t.T[:, None, :]
        length = self.scale[:, None, None]
        square, along = (gaps / length) ** 2, gaps / length**2
        circles = list(self.periodic)
        angle, unit = np.pi * gaps[circles], np.pi * length[circles]
        square[circles] = 2.0 * (1.0 - np.cos(angle)) / unit**2
        along[circles] = np.sin(angle) / (unit * length[circles])
        return np.moveaxis(-along * self._profile(np.sum(square, axis=0))[1], 0, 1)

    def gram(self, s: Float[ndarray, "n d"]) -> tuple[Float[ndarray, "n n"], LogScaleSlopes]:
        """By sum_nm M_nm (s_n - t_m)^2 = sum_n M_n. s_n^2 + sum_m M_.m t_m^2 - 2 s^T M t."""
        scaled, d = self._in_lengths(s), s.shape[1]
        total, parts = np.zeros((len(s), len(s))), []
        for weight, places in self._reflected(s):
            other = self._in_lengths(places)
            k, w = self._profile(_square_distances(scaled, other))
            total += weight * (self.constant**2 + k)
            parts.append((weight * w, other))

        def slopes(weights: Float[ndarray, "n n"]) -> Float[ndarray, " d"]:
            found = np.zeros(scaled.shape[1])
            for w, other in parts:
                matrix = weights * w
                found += matrix.sum(axis=1) @ scaled**2 + matrix.sum(axis=0) @ other**2
                found -= 2.0 * np.sum(scaled * (matrix @ other), axis=0)
            found[list(self.periodic)] += found[d:]
            return np.asarray(found[:d])

        return total, slopes

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
    _latest: list[_Seen] = field(default_factory=list, init=False, repr=False)
    _imaged: list[tuple[Functionals, Functionals]] = field(default_factory=list, init=False, repr=False)

    def _profile(self, square: Float[ndarray, ...]) -> tuple[ndarray, ndarray]:
        k = _bump(square)
        return k, k

    def knows(self, functionals: Functionals) -> bool:
        """Of all derivatives, of the fields that it has."""
        return all(field < len(self.amplitudes) for field, _, _ in functionals.terms)

    def covariance(self, some: Functionals, others: Functionals) -> Float[ndarray, "n m"]:
        """L_i L_j' k, by blocks: the tables of derivatives are many times larger."""
        others = self._symmetric(others)
        parts = []
        for start in range(0, max(1, len(some.points)), _BLOCK):
            block = slice(start, start + _BLOCK)
            highest = int(some.derivatives.max(initial=0))
            tables = Tables(self, some.points[block], others, highest)
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
        """Covariances of h, the first field, at points with functionals, and their slopes if asked for.

        The latest are remembered: an exact model and those that are nearly true ask for the same.
        """
        if len(points) > _BLOCK:
            blocks = range(0, len(points), _BLOCK)
            values, along = zip(
                *(self.jets(points[i : i + _BLOCK], others, slopes) for i in blocks), strict=True
            )
            return np.concatenate(values), np.concatenate(along) if slopes else None
        known = next((seen for seen in self._latest if seen.answers(points, others, slopes)), None)
        if known is None:
            known = _Seen(points.copy(), others, *self._jets(points, others, slopes))
            self._latest[:] = [known, *self._latest[: _LATEST - 1]]
        return known.values, known.slopes

    def _symmetric(self, others: Functionals) -> Functionals:
        """L' P, of which the last is remembered: the same rows are asked for again and again."""
        if self.images is None:
            return others
        if not self._imaged or self._imaged[0][0] is not others:
            self._imaged[:] = [(others, self.images.applied(others))]
        return self._imaged[0][1]

    def _jets(
        self, points: Float[ndarray, "b d"], others: Functionals, slopes: bool
    ) -> tuple[Float[ndarray, "b m"], Float[ndarray, "b d m"] | None]:
        others = self._symmetric(others)
        d = points.shape[1]
        tables = Tables(self, points, others, int(slopes))
        values = others.gathered(tables.derivative((0,) * d).T).T
        values = values + self.constant**2 * others.constant
        if not slopes:
            return values, None
        axes = [tuple(int(i == axis) for i in range(d)) for axis in range(d)]
        return values, np.stack([others.gathered(tables.derivative(axis).T).T for axis in axes], axis=1)


class _Seen(NamedTuple):
    """Covariances of h at points with functionals, as they were asked for."""

    points: Float[ndarray, "b d"]
    functionals: Functionals
    values: Float[ndarray, "b m"]
    slopes: Float[ndarray, "b d m"] | None

    def answers(self, points: Float[ndarray, "b d"], functionals: Functionals, slopes: bool) -> bool:
        """Whether the same is asked for."""
        if (self.slopes is not None) != slopes or not np.array_equal(self.points, points):
            return False
        return self.functionals.sees_as(functionals)


class Tables:
    """Derivatives of one-dimensional RBF kernels between points and places; the kernel's are products of them."""

    def __init__(self, kernel: RBF, at: Float[ndarray, "n d"], others: Functionals, highest: int) -> None:
        self._others = others
        scale = kernel.scale
        gaps = [
            np.subtract.outer(s, t) for s, t in zip((at / scale).T, (others.points / scale).T, strict=True)
        ]
        squares = (
            _chord(gap, float(scale[axis])) if axis in kernel.periodic else gap * gap
            for axis, gap in enumerate(gaps)
        )
        square = next(squares)
        for more in squares:
            square += more
        self._bump = _bump(square)
        orders = np.max([(0,) * len(scale), *(index for _, index, _ in others.terms)], axis=0) + highest
        self._tables = [
            (_on_circle if axis in kernel.periodic else _hermite)(gap, float(length), int(order))
            for axis, (gap, length, order) in enumerate(zip(gaps, scale, orders, strict=True))
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
        if self.images is not None:
            return self._gram_of_images(s)
        pairs = _Pairs.of(s / self.scale)
        squares, along = pairs.squares, pairs.along
        turned = squares * along

        def slopes(weights: Float[ndarray, "n n"]) -> Float[ndarray, " d"]:
            return 2.0 * turned @ pairs.among(weights) / len(along)

        return self.constant**2 + pairs.matrix(np.sum(along, axis=0) / len(along), 1.0), slopes

    def _gram_of_images(self, s: Float[ndarray, "n d"]) -> tuple[Float[ndarray, "n n"], LogScaleSlopes]:
        """All pairs, of points with what others are reflected to."""
        turned = np.zeros((s.shape[1], len(s), len(s)))
        for weight, places in self._reflected(s):
            for axis, length in enumerate(self.scale):
                square = np.subtract.outer(s[:, axis] / length, places[:, axis] / length) ** 2
                turned[axis] += weight * square * np.exp(-0.5 * square) / s.shape[1]

        def slopes(weights: Float[ndarray, "n n"]) -> Float[ndarray, " d"]:
            return np.einsum("dnm,nm->d", turned, weights)

        return self._with_constant(s, s), slopes


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


def _chord(u: Float[ndarray, "n m"], length: float) -> Float[ndarray, "n m"]:
    """2 (1 - cos(pi l u)) / (pi l)^2 = (2 sin(pi l u / 2) / (pi l))^2."""
    return np.asarray((np.sin(0.5 * np.pi * length * u) * (2.0 / (np.pi * length))) ** 2)


def _on_circle(u: Float[ndarray, "n m"], length: float, order: int) -> list[Float[ndarray, "n m"]]:
    """(-1)^n k^(n)(r) / k(r), n up to an order, of k = exp(-g), g = (1 - cos(pi r)) / (pi l)^2, r = l u.

    k' = -g' k, hence by Leibniz' rule k^(n+1) = -sum_j (n over j) g^(j+1) k^(n-j). The first is not used.
    """
    angle = np.pi * length * u
    # g^(j) = -pi^j cos^(j)(pi r) / (pi l)^2, and cos^(j) runs through -sin, -cos, sin, cos
    turns = [np.sin(angle), np.cos(angle)]
    size = 1.0 / (np.pi * length) ** 2

    def g(j: int) -> Float[ndarray, "n m"]:
        return (size * np.pi**j * (1.0 if j % 4 in (1, 2) else -1.0)) * turns[(j + 1) % 2]

    found = [np.ones_like(u)]
    for n in range(order):
        found.append(-sum(comb(n, j) * g(j + 1) * found[n - j] for j in range(n + 1)))
    return [(-1.0) ** n * table for n, table in enumerate(found)]
