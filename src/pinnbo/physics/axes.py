"""Rows of a PDE that involve one axis each, for sums of functions of one coordinate.

A row at z is sum_a c_a(z) d^a h(z). On an additive h only pure derivatives act, and for many operators the
coefficients of the other axes do not change, up to a common factor r, when z moves along axis i from a base point b:
then row(z) - r row(b) involves h_i alone. Collocation points on the axes through a base point therefore give one
small least-squares problem per axis, whatever the dimension, and a single row at b couples them. Whether the operator
is of this kind is seen from its coefficients. In coordinates that are rotated against the box
(`pinnbo.physics.coordinates`) no line through one point reaches all of it, and every axis has several base points of
its own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray

from pinnbo.gp.sines import Sines
from pinnbo.physics.coordinates import Chords
from pinnbo.physics.functionals import Functionals
from pinnbo.physics.jets import JetPDE

_SEPARABLE = 1e-9


@dataclass(frozen=True, eq=False)
class AxisCollocation:
    """Collocation points of a PDE on lines along the axes through base points, with the source there."""

    pde: JetPDE
    bases: Float[ndarray, "b d"]
    base_of: Int[ndarray, "d m"]
    points: Float[ndarray, "d m d"]
    base_source: Float[ndarray, "b k"]
    source: Float[ndarray, "d*m k"]

    @classmethod
    def draw(cls, pde: JetPDE, m: int, seed: int) -> AxisCollocation | None:
        """m points per axis, denser towards the ends; None if operator or source are not finite in eight tries."""
        space, d = pde.space, pde.space.dim
        rng = np.random.default_rng([seed, 41])
        k = pde.pde.n_equations(space)
        for _ in range(8):
            bases, base_of, ends = _lines(pde, m, rng)
            points = bases[base_of]
            points[np.arange(d), :, np.arange(d)] = ends
            everywhere = pde.coordinates.back(np.vstack([bases, points.reshape(-1, d)]))
            source, finite = pde.pde.evaluate(space, space.unscale(everywhere), k)
            if finite.all():
                return cls(pde, bases, base_of, points, source[: len(bases)], source[len(bases) :])
        return None

    def rows(self, reference: AdditiveJets | None = None) -> AxisRows | None:
        """The rows with the other axes eliminated, or None where the operator does not separate."""
        d, m, _ = self.points.shape
        flat, indices = self.points.reshape(-1, d), self.pde.derivatives
        jets = (
            (None, None) if reference is None else (reference(self.bases, indices), reference(flat, indices))
        )
        at_base = self.pde.rows(self.bases, self.base_source, jets[0])
        rows = self.pde.rows(flat, self.source, jets[1])
        k = self.source.shape[1]
        coefficients = rows.coefficients.reshape(d, m, k, -1)
        of_bases = at_base.coefficients.reshape(len(self.bases), k, -1)
        own, constant = (values.reshape(-1, k)[self.base_of] for values in (at_base.values, at_base.constant))
        axis_of, power_of = pure_derivatives(indices)
        order = int(indices.max())
        pure, base_pure = np.zeros((d, m, k, order + 1)), np.zeros((d, m, k, order + 1))
        ratio = np.zeros((d, m, k))
        for i in range(d):
            # the function itself and the other axes' pure derivatives
            rest = (axis_of != i) & (axis_of >= -1)
            base = of_bases[self.base_of[i]]
            here, there = coefficients[i][..., rest], base[..., rest]
            size = np.sum(there**2, axis=-1)
            ratio[i] = np.sum(here * there, axis=-1) / np.where(size > 0, size, 1.0)
            misfit = np.linalg.norm(here - ratio[i][..., None] * there, axis=-1)
            if np.any(misfit > _SEPARABLE * (np.linalg.norm(coefficients[i], axis=-1) + 1e-300)):
                return None
            for a in np.flatnonzero((axis_of == i) | (axis_of == -1)):
                pure[i, ..., power_of[a]] = coefficients[i][..., a]
                base_pure[i, ..., power_of[a]] = ratio[i] * base[..., a]
        return AxisRows(
            np.stack([self.points[i, :, i] for i in range(d)]),
            pure,
            base_pure,
            rows.values.reshape(d, m, k) - ratio * own,
            rows.constant.reshape(d, m, k) - ratio * constant,
            at_base,
            self.base_of * k,
        )

    def residual(self, reference: AdditiveJets) -> float:
        """Root mean square of N[f] - g."""
        flat = self.points.reshape(-1, self.points.shape[-1])
        return float(
            np.sqrt(
                np.mean((self.pde.values(flat, reference(flat, self.pde.derivatives)) - self.source) ** 2)
            )
        )


@dataclass(frozen=True, eq=False)
class Condition:
    """A PDE at points of its own, such as a boundary condition."""

    pde: JetPDE
    points: Float[ndarray, "r d"]
    source: Float[ndarray, "r k"]

    def rows(self, reference: AdditiveJets | None = None) -> Functionals:
        """The rows, linearised at the reference."""
        jets = None if reference is None else reference(self.points, self.pde.derivatives)
        return self.pde.rows(self.points, self.source, jets)


@dataclass(frozen=True, eq=False)
class AdditiveJets:
    """The jets of f = shift + scale * sum_i phi(s_i) . weights_i, in user units."""

    basis: Sines
    weights: Float[ndarray, "d p"]
    shift: float
    scale: float

    def __call__(self, points: Float[ndarray, "n d"], indices: Int[ndarray, "a d"]) -> Float[ndarray, "n a"]:
        """All derivatives at all points; mixed ones vanish."""
        axis_of, power_of = pure_derivatives(indices)
        jets = np.zeros((len(points), len(indices)))
        for i in range(points.shape[1]):
            # on lines along the axes most points share most coordinates
            places, which = np.unique(points[:, i], return_inverse=True)
            for a in np.flatnonzero((axis_of == i) | (axis_of == -1)):
                along = self.basis.derivative(places, int(power_of[a])) @ self.weights[i]
                jets[:, a] += self.scale * along[which]
        jets[:, 0] += self.shift
        return jets


@dataclass(frozen=True, eq=False)
class AxisRows:
    """The rows of one PDE along the axes through base points, the other axes eliminated."""

    positions: Float[ndarray, "d m"]  # of the moving coordinate
    pure: Float[ndarray, "d m k o"]  # coefficients of h, h', h'' ... of the moving coordinate
    base_pure: Float[ndarray, "d m k o"]  # and of the same axis at the base, to be subtracted
    own: Float[ndarray, "d m k"]
    constant: Float[ndarray, "d m k"]
    base: Functionals
    base_of: Int[ndarray, "d m"]  # the first of the rows at the base of a point


def _ends(d: int, m: int, rng: np.random.Generator) -> Float[ndarray, "d m"]:
    """Coordinates between -1 and 1, denser towards the ends."""
    return np.asarray(np.cos(np.pi * (np.arange(m) + 0.5 + rng.uniform(-0.3, 0.3, (d, m))) / m))


def _lines(
    pde: JetPDE, m: int, rng: np.random.Generator
) -> tuple[Float[ndarray, "b d"], Int[ndarray, "d m"], Float[ndarray, "d m"]]:
    """Base points, which of them a point is on the lines of, and its coordinate there."""
    d = pde.space.dim
    if (chords := pde.coordinates.chords) is not None:
        return _on_chords(chords, d, m, rng)
    return rng.uniform(-0.9, 0.9, (1, d)), np.zeros((d, m), dtype=int), _ends(d, m, rng)


def _on_chords(
    chords: Chords, d: int, m: int, rng: np.random.Generator
) -> tuple[Float[ndarray, "b d"], Int[ndarray, "d m"], Float[ndarray, "d m"]]:
    """The middles of all axes' chords."""
    ends, chosen, middles = _ends(d, m, rng), np.zeros((d, m), dtype=int), []
    for i in range(d):
        middle, span = chords(i)
        low, high = span.T
        ends[i] = np.clip(ends[i], low.min(), high.max())
        # a coordinate between two chords goes to the end of the next
        beyond = np.maximum(low - ends[i, :, None], ends[i, :, None] - high)
        within = beyond <= np.maximum(beyond.min(axis=1), 0.0)[:, None]
        chosen[i] = np.argmax(within * rng.uniform(0.5, 1.0, within.shape), axis=1)
        ends[i] = np.clip(ends[i], low[chosen[i]], high[chosen[i]])
        chosen[i] += len(middle) * i
        middles.append(middle)
    return np.concatenate(middles), chosen, ends


def pure_derivatives(indices: Int[ndarray, "a d"]) -> tuple[Int[ndarray, " a"], Int[ndarray, " a"]]:
    """Axis and power of each pure derivative; axis -1 for the function itself, -2 for mixed ones."""
    axes = (indices > 0).sum(axis=1)
    axis = np.where(axes == 0, -1, np.where(axes == 1, np.argmax(indices > 0, axis=1), -2))
    return axis, indices.sum(axis=1)


def contradicts_sums(rows: AxisRows) -> bool:
    """Whether a row vanishes on every sum of functions of one coordinate though its source does not."""
    size = np.max(np.abs(rows.pure), axis=-1) + np.max(np.abs(rows.base_pure), axis=-1)
    vanishing = size <= 1e-12 * size.max()
    return bool(np.any(np.abs(rows.own[vanishing]) > 1e-9 * np.max(np.abs(rows.own))))
