"""The symbol of a linear equation with constant coefficients: the polynomial whose zeros are its exponential solutions.

In scaled coordinates the equation reads  sum_a c_a (d/ds)^a f = g.  An exponential exp(z . s), z in C^d, is an
eigenfunction of every derivative, hence

    P(d/ds) exp(z . s) = P(z) exp(z . s),      P(z) = sum_a c_a z^a,

and the exponential is a solution without source where P(z) = 0, the equation's characteristic variety. Every solution
is a superposition of such exponentials (Ehrenpreis and Palamodov; with polynomial factors where zeros are multiple).
Two charts of the variety are of use:

- *along an axis*: all components but one are imaginary, i k, and the remaining one is a root of P. If solutions grow at
  most by a bounded factor along the axis, whatever k (Petrowsky's condition), the roots are the modes of a problem of
  evolution along it: waves, packets, heat.
- *on rays from the origin*: z = i r u with |u| = 1 and real roots r in every direction u: standing waves.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Complex, Float, Int
from numpy import ndarray

from pinnbo.pde import PDE
from pinnbo.physics.jets import JetPDE
from pinnbo.space import Space

_PLACES = 2048  # where the coefficients are compared and the source is known
_EQUAL = 1e-9  # relative difference of coefficients that are the same
_NEAR = (0.0, 0.3, 1.0, 3.0)  # frequencies, in units of the symbol's own, that show how much solutions grow
_FAR = (1e3, 1e4)  # and those that show whether growth is bounded
_BOUNDED = 1.5  # times the growth at the lower of them; unbounded growth is at least that of a square root
_DIRECTIONS = 64
_REAL = 1e-6  # imaginary part of a root that is real, in units of its size: a double root is known to its half digits
_STEPS = 2  # of Newton's method


@dataclass(frozen=True, eq=False)
class Symbol:
    """P in scaled coordinates, the largest coefficient one, and g at places of the box."""

    derivatives: Int[ndarray, "a d"]
    coefficients: Float[ndarray, " a"]
    places: Float[ndarray, "p d"]
    source: Float[ndarray, " p"]

    @classmethod
    def of(cls, space: Space, pde: PDE) -> Symbol | None:
        """Of one linear equation that is the same everywhere; None where it is not."""
        if pde.points is not None or pde.noise > 0 or pde.n_equations(space) != 1 or not pde.is_linear(space):
            return None
        # denser towards the faces, as a polynomial through the source needs them
        places = np.cos(0.5 * np.pi * (1.0 + space.scale(space.sobol(_PLACES, seed=29))))
        source, finite = pde.evaluate(space, space.unscale(places), 1)
        if not finite.all():
            return None
        rows = JetPDE(space, pde).rows(places, source)
        size = np.max(np.abs(rows.coefficients))
        if size == 0 or not np.isfinite(rows.coefficients).all():
            return None
        if np.any(np.ptp(rows.coefficients, axis=0) > _EQUAL * size):
            return None
        first = rows.coefficients[0]
        taken = np.abs(first) > _EQUAL * size
        return cls(rows.derivatives[taken], first[taken] / size, places, rows.values / size)

    @property
    def dim(self) -> int:
        """Number of coordinates."""
        return int(self.derivatives.shape[1])

    @property
    def order(self) -> int:
        """Of the equation."""
        return int(self.derivatives.sum(axis=1).max())

    @property
    def of_value(self) -> float:
        """P(0), the coefficient of f itself: P of the constant 1."""
        return float(self.coefficients[~self.derivatives.any(axis=1)].sum())

    def __call__(self, z: Complex[ndarray, "q d"]) -> Complex[ndarray, " q"]:
        """P(z)."""
        return np.asarray(powers(z, self.derivatives) @ self.coefficients)

    @cached_property
    def size(self) -> float:
        """The frequency at which terms of unlike order are of one size: a unit for frequencies, at least one."""
        orders, sizes = self.derivatives.sum(axis=1), np.abs(self.coefficients)
        top = orders == self.order
        others = sizes[~top] / sizes[top].max()
        return float(max([1.0, *(others ** (1.0 / (self.order - orders[~top])))]))

    # ---------------------------------------------------------------- along an axis

    def roots(self, axis: int, others: Complex[ndarray, "q e"]) -> Complex[ndarray, "q m"]:
        """Components z_axis with P(z) = 0, given the other components; all axes must have as many everywhere."""
        rest = np.delete(self.derivatives, axis, axis=1)
        order = int(self.derivatives[:, axis].max())
        by_term = powers(others, rest) * self.coefficients
        polynomial = np.stack(
            [by_term[:, self.derivatives[:, axis] == power].sum(axis=1) for power in range(order + 1)], axis=1
        )
        return _roots(polynomial)

    def starts_on(self, axis: int) -> bool:
        """Whether the highest derivative along the axis stands alone: it follows from the others everywhere."""
        highest = self.derivatives[:, axis] == self.derivatives[:, axis].max()
        rest = np.delete(self.derivatives[highest], axis, axis=1)
        return bool(self.derivatives[:, axis].max() > 0 and not rest.any())

    def growth(self, axis: int, size: float) -> tuple[float, float]:
        """Largest real parts of the roots for frequencies of a size on the other axes, upwards and downwards."""
        if self.dim == 1:
            real = self.roots(axis, np.zeros((1, 0), dtype=complex)).real
        else:
            real = self.roots(axis, 1j * size * _directions(self.dim - 1)).real
        return float(np.max(real)), float(np.max(-real))

    @cached_property
    def evolution_axis(self) -> int | None:
        """The axis along which solutions grow least, if their growth is bounded (Petrowsky); the last one if equal.

        The roots must be simple: exponentials alone do not span the solutions where they are not.
        """
        found: list[tuple[float, int]] = []
        for axis in range(self.dim):
            if not self.starts_on(axis):
                continue
            growth = np.array([self.growth(axis, factor * self.size) for factor in (*_NEAR, *_FAR)])
            low, high = np.maximum(growth[-2:], 0.0)
            bounded = high <= _BOUNDED * low + _REAL * _FAR[1] * self.size
            if bounded.any() and self._is_simple(axis):
                found.append((round(float(np.min(growth.max(axis=0)[bounded])), 3), -axis))
        return -min(found)[1] if found else None

    def _is_simple(self, axis: int) -> bool:
        """Whether the roots along an axis differ for most frequencies."""
        for size in _NEAR[1:]:
            roots = self.roots(axis, 1j * size * self.size * _directions(self.dim - 1))
            gaps = np.abs(roots[:, :, None] - roots[:, None]) + np.eye(roots.shape[1]) * self.size
            if np.median(np.min(gaps, axis=(1, 2), initial=np.inf)) > 1e-3 * size * self.size:
                return True
        return False

    # ---------------------------------------------------------------- on rays

    @property
    def has_shells(self) -> bool:
        """Whether P(i r u) has order-many real roots r, none of them zero or double, in every direction u."""
        parity = self.derivatives.sum(axis=1) % 2
        if self.dim < 2 or np.ptp(parity) or self.order < 2 or self.of_value == 0.0:
            return False
        found = self._on_rays(_directions(self.dim))
        if found is None:
            return False
        roots = np.sort(found, axis=1)
        return bool(np.min(np.abs(roots)) > _REAL and np.min(np.diff(roots, axis=1)) > _REAL)

    def _on_rays(self, directions: Float[ndarray, "q d"]) -> Float[ndarray, "q m"] | None:
        """All roots r along directions, where they are real and as many as the order; None where they are not."""
        orders = self.derivatives.sum(axis=1)
        by_term = powers(directions.astype(complex), self.derivatives) * (self.coefficients * 1j**orders)
        polynomial = np.stack(
            [by_term[:, orders == power].sum(axis=1) for power in range(self.order + 1)], axis=1
        )
        top = np.abs(polynomial[:, -1])
        if np.min(top) <= _REAL * np.max(top):
            return None
        roots = _roots(polynomial)
        if np.any(np.abs(roots.imag) > _REAL * np.max(np.abs(roots))):
            return None
        return np.asarray(roots.real)

    def shells(
        self, directions: Float[ndarray, "q d"]
    ) -> tuple[Complex[ndarray, "s d"], Float[ndarray, " s"]]:
        """The zeros with r > 0 along directions, and how many a unit of direction holds: r^(d-1) / |dP/dr|.

        That is the measure delta(P) dk, which does not depend on the units of the axes: for lap f + k^2 f = 0 it is
        uniform on the sphere |k| in whatever units, however long the sides of the box.
        """
        roots = self._on_rays(directions)
        assert roots is not None
        ahead = roots > 0
        which, _ = np.nonzero(ahead)
        z = 1j * roots[ahead][:, None] * directions[which]
        slope = np.abs(np.sum(self.gradient(z) * directions[which], axis=1))
        density = roots[ahead] ** (self.dim - 1) / slope
        return z, density

    @cached_property
    def roundness(self) -> Float[ndarray, "d d"]:
        """W with W^T M W = I, M of the ellipsoid k . M k = 1 nearest to the shells: W maps the sphere to it."""
        z, _ = self.shells(_directions(self.dim))
        i, j = np.triu_indices(self.dim)
        k = z.imag / np.sqrt(np.mean(np.sum(z.imag**2, axis=1)))
        entries = np.linalg.lstsq(k[:, i] * k[:, j], np.ones(len(k)), rcond=None)[0]
        form = np.zeros((self.dim, self.dim))
        form[i, j] = entries
        squares, vectors = np.linalg.eigh(0.5 * (form + form.T))
        if np.min(squares) <= 0:
            return np.eye(self.dim)
        return np.asarray(vectors / np.sqrt(squares) @ vectors.T)

    def gradient(self, z: Complex[ndarray, "q d"]) -> Complex[ndarray, "q d"]:
        """dP / dz."""
        slopes = []
        for axis in range(self.dim):
            lower = self.derivatives.copy()
            lower[:, axis] -= 1
            takes = lower[:, axis] >= 0
            factor = self.coefficients[takes] * self.derivatives[takes, axis]
            slopes.append(powers(z, lower[takes]) @ factor)
        return np.stack(slopes, axis=1)


def powers(z: Complex[ndarray, "q d"], exponents: Int[ndarray, "a d"]) -> Complex[ndarray, "q a"]:
    """z^a."""
    found = np.ones((len(z), len(exponents)), dtype=complex)
    for axis in range(z.shape[1]):
        found = found * z[:, axis, None] ** exponents[:, axis]
    return found


def _roots(polynomial: Complex[ndarray, "q m"]) -> Complex[ndarray, "q r"]:
    """Of polynomials with the constant first and a leading coefficient that does not vanish.

    The eigenvalues of their companion matrices, and a few steps of Newton's method.
    """
    monic = polynomial / polynomial[:, -1:]
    order = monic.shape[1] - 1
    companion = np.zeros((len(monic), order, order), dtype=complex)
    companion[:, np.arange(1, order), np.arange(order - 1)] = 1.0
    companion[:, :, -1] = -monic[:, :-1]
    roots = np.linalg.eigvals(companion)
    for _ in range(_STEPS):
        value, slope = np.zeros_like(roots), np.zeros_like(roots)
        for power in range(order, -1, -1):
            slope = slope * roots + value
            value = value * roots + monic[:, power, None]
        step = np.where(slope != 0, value / np.where(slope != 0, slope, 1.0), 0.0)
        roots = roots - np.where(np.abs(step) < _REAL * (1.0 + np.abs(roots)), step, 0.0)
    return np.asarray(roots)


def _directions(dim: int) -> Float[ndarray, "q e"]:
    """Unit vectors that look everywhere."""
    if dim == 0:
        return np.zeros((1, 0))
    drawn = np.random.default_rng(17).standard_normal((_DIRECTIONS, dim))
    return np.asarray(drawn / np.linalg.norm(drawn, axis=1, keepdims=True))
