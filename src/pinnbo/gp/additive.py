"""Sums of functions of one coordinate given the physics, h(s) = sum_i h_i(s_i), in feature space.

Each h_i is a sum of sines (`pinnbo.gp.sines`); the rows of a PDE along an axis involve that axis alone, and one row at
the base point couples them (`pinnbo.physics.axes`).

**As many sines as it takes.** A basis that is too coarse for an equation holds none of its solutions, and the rows
leave nothing of it: confidently wrong. Where there is a source, its prediction at held-out rows shows the error
(`truncation`); where it vanishes, an axis begins with a number of sines that resolves its coefficients, 16 for every
full change of them, and takes twice as many until what the rows leave stops changing.

**Little is left.** The posterior covariance of an axis' weights given its rows has few eigenvalues that are not
negligible: as many as the equation leaves free (an unknown slope, an unknown constant). Only those directions are kept
as features, phi(s); a suggestion costs what they cost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray
from scipy.linalg import eigh, qr, solve_triangular

from pinnbo.data import Standard
from pinnbo.gp.process import FeatureMap, Process
from pinnbo.gp.sines import Curves, Sines
from pinnbo.physics.axes import AdditiveJets, AxisCollocation, AxisRows, Condition, pure_derivatives
from pinnbo.physics.coordinates import BOX, Coordinates
from pinnbo.physics.functionals import Functionals
from pinnbo.physics.gauss_newton import Step, descend, relative_fall, towards

_NEGLIGIBLE = 1e-5  # of the largest standard deviation inside the box
_MOST_ITERATIONS = 40
_STALLED = 0.99  # of the misfit before
_FEWEST_SINES, _SINES_PER_CHANGE = 64, 16
_ROWS_PER_SINE = 1.6
_PROFILE = 1025  # places at which what the rows leave is looked at
_STABLE = 0.02
_TINY = 1e-6
_MOST_LEFT = 128  # directions of an axis
_TILT = 0.3


@dataclass(frozen=True, eq=False)
class GivenSum(FeatureMap):
    """What the rows leave of every axis, coupled by the rows at the base; then the two columns of the mean."""

    has_minima = True

    basis: Sines
    keep: Float[ndarray, "d p k"]  # from an axis' basis to what its rows left of it
    coupled: Float[ndarray, "c w"]  # orthonormal directions that the rows at the base see
    shrink: Float[ndarray, " c"]  # their standard deviations after it
    own: Float[ndarray, "d p"]
    constant: Float[ndarray, "d p"]
    _latest: list[tuple[ndarray, ndarray, ndarray | None]] = field(
        default_factory=list, init=False, repr=False
    )

    def process(self, coordinates: Coordinates = BOX) -> Process:
        """The sum itself."""
        r = len(self._used)
        of_mean = np.concatenate([np.zeros((r, 2)), np.eye(2)])
        return Process(
            len(self.keep), self, np.append(np.ones(r), [0.0, 0.0]), of_mean, coordinates=coordinates
        )

    @cached_property
    def _used(self) -> Int[ndarray, " r"]:
        """Which of the d * k features there are: axes have different numbers of them."""
        return np.flatnonzero(np.any(self.keep, axis=1).ravel())

    def __call__(
        self, points: Float[ndarray, "b d"], slopes: bool
    ) -> tuple[Float[ndarray, "b r"], Float[ndarray, "b d r"] | None]:
        """Remembered until other points come: several models ask for the features of one sum."""
        if self._latest and np.array_equal(self._latest[0][0], points):
            _, values, along = self._latest[0]
            if along is not None or not slopes:
                return values, along if slopes else None
        values, along = self._features(points, slopes)
        self._latest[:] = [(points.copy(), values, along)]
        return values, along

    def _features(
        self, points: Float[ndarray, "b d"], slopes: bool
    ) -> tuple[Float[ndarray, "b r"], Float[ndarray, "b d r"] | None]:
        """An axis moves its own features only."""
        b, d = points.shape
        values, along = self._curves(points)
        k = values.shape[2] - 2
        phi = self._couple(values[:, :, :-2].reshape(b, d * k))[:, self._used]
        found = np.concatenate([phi, values[:, :, -2:].sum(axis=1)], axis=1)
        if not slopes:
            return found, None
        moved = np.matmul(along[:, :, :-2].transpose(1, 0, 2), self._couplings).transpose(1, 0, 2)
        return found, np.concatenate([moved, along[:, :, -2:]], axis=2)

    def minima(self, weights: Float[ndarray, "k r"]) -> Float[ndarray, "k d"]:
        """On every axis for itself, among the nodes of the table."""
        d, _, width = self.keep.shape
        every = np.zeros((len(weights), d * width))
        every[:, self._used] = weights[:, :-2]
        own = self._couple(every).reshape(len(weights), d, width)
        means = np.broadcast_to(weights[:, None, -2:], (len(weights), d, 2))
        curves = np.einsum("dnk,wdk->wdn", self._curves.table[:, :, 0], np.concatenate([own, means], axis=2))
        return np.linspace(-1.0, 1.0, curves.shape[2])[np.argmin(curves, axis=2)]

    @cached_property
    def _curves(self) -> Curves:
        """What the rows left of each axis, and the two columns of the mean."""
        maps = np.concatenate([self.keep, self.own[..., None], self.constant[..., None]], axis=2)
        used = int(np.flatnonzero(maps.any(axis=(0, 2)))[-1]) + 1
        return Curves.of(self.basis.first(used), maps[:, :used])

    @cached_property
    def _couplings(self) -> Float[ndarray, "d k r"]:
        """What an axis' own features add to all features."""
        d, _, k = self.keep.shape
        return self._couple(np.eye(d * k))[:, self._used].reshape(d, k, -1)

    def _couple(self, left: Float[ndarray, "b r"]) -> Float[ndarray, "b r"]:
        return left + ((left @ self.coupled.T) * (self.shrink - 1.0)) @ self.coupled


def truncation(basis: Sines, lines: Sequence[AxisRows], row_noise: float) -> float:
    """Error of the basis: of the source predicted at every eighth row from the others, relative to its size.

    The worst axis counts; 0 where the source vanishes, since zero predicts zero in any basis.
    """
    worst = 0.0
    largest = max(float(np.max(np.abs(rows.own))) for rows in lines)
    for i in range(len(lines[0].positions)):
        if max(float(np.max(np.abs(rows.own[i]))) for rows in lines) <= 1e-12 * largest:
            continue
        parts = [_axis_rows(basis, rows, i) for rows in lines]
        matrix = np.vstack([matrix / size for matrix, _, size in parts])
        targets = np.vstack([targets / size for _, targets, size in parts])
        size = np.sqrt(np.mean(targets[:, 0] ** 2))
        held_out = np.arange(len(matrix)) % 8 == 4
        _, means = _least_squares(matrix[~held_out], targets[~held_out], row_noise)
        error = matrix[held_out] @ means[:, 0] - targets[held_out, 0]
        worst = max(worst, float(np.sqrt(np.mean(error**2)) / size))
    return worst


Sizes = list[list[ndarray]]


def row_sizes(basis: Sines, lines: Sequence[AxisRows]) -> Sizes:
    """Prior sizes of the rows, per axis and PDE."""
    return [[_axis_rows(basis, rows, i)[2] for rows in lines] for i in range(len(lines[0].positions))]


def given_sum(
    basis: Sines,
    lines: Sequence[AxisRows],
    conditions: Sequence[Functionals],
    row_noise: float,
    sizes: Sizes | None = None,
) -> GivenSum:
    """Condition the additive prior on rows along the axes and at the base, and on conditions at points of their own.

    ``row_noise`` is relative to ``sizes``, the prior sizes of the rows unless others are given.
    """
    d = len(lines[0].positions)
    keeps, owns, constants = [], [], []
    for i in range(d):
        parts = [_axis_rows(basis, rows, i) for rows in lines]
        size = np.vstack([part[2] for part in parts] if sizes is None else sizes[i])
        matrix, targets = (np.vstack([part[number] for part in parts]) / size for number in (0, 1))
        keep, means = _axis(basis, matrix, targets, row_noise, max(_changes(rows, i) for rows in lines))
        keeps.append(keep)
        owns.append(means[:, 0])
        constants.append(means[:, 1])
    width = max(keep.shape[1] for keep in keeps)
    keep = np.stack([np.pad(k, ((0, 0), (0, width - k.shape[1]))) for k in keeps])
    own, constant = np.stack(owns), np.stack(constants)
    everywhere = [*(rows.base for rows in lines), *conditions]
    coupled, shrink, shifts = _coupled(basis, everywhere, keep, own, constant, row_noise)
    moved = np.einsum("dqk,dkc->dqc", keep, shifts.reshape(d, width, 2))
    return GivenSum(
        basis,
        keep,
        coupled,
        shrink,
        own + moved[..., 0],
        constant + moved[..., 1],
    )


def solve_sum(
    basis: Sines,
    lines: Sequence[AxisCollocation],
    conditions: Sequence[Condition],
    standard: Standard,
    row_noise: float,
) -> GivenSum | None:
    """Gauss-Newton for a PDE that is not linear: linearise at the mean, solve, repeat; None if it does not separate.

    Rows keep the sizes of the first linearisation, and the iteration ends when the residual has come down to the row
    noise. Where the equation is a square (|grad f - g|^2 = 0) the rows vanish with the residual r: stopped there, their
    slope 2 r over the noise r^2 is what the equation tells about r, and no more.
    """
    shift, scale = standard
    weights = np.zeros((lines[0].points.shape[0], len(basis.deviation)))
    jets = AdditiveJets(basis, weights, shift, scale)
    at_constant = [r for line in lines if (r := line.rows(jets)) is not None]
    if not any(np.any(rows.pure) for rows in at_constant):
        # no row has a slope at a constant: begin at a function that has one
        weights[:, 1] = _TILT * np.random.default_rng(0).standard_normal(len(weights))
        jets = replace(jets, weights=weights)
    sizes: Sizes = []

    def at(state: ndarray) -> AdditiveJets:
        return replace(jets, weights=state.reshape(weights.shape))

    def linearise(state: ndarray) -> Step[GivenSum] | None:
        here = at(state)
        usable = [r for line in lines if (r := line.rows(here)) is not None]
        if len(usable) < len(lines):
            return None
        sizes[:] = sizes or row_sizes(basis, usable)
        found = given_sum(basis, usable, [c.rows(here) for c in conditions], row_noise, sizes)
        target = (found.own - shift * found.constant) / scale
        return Step(found, towards(state, target.ravel()))

    def misfit(state: ndarray) -> float:
        return float(np.sqrt(sum(line.residual(at(state)) ** 2 for line in lines)))

    found = descend(linearise, misfit, weights.ravel(), relative_fall(row_noise, _STALLED), _MOST_ITERATIONS)
    return None if found.ended == "nothing to solve" else found.last


def _axis_rows(basis: Sines, rows: AxisRows, i: int) -> tuple[ndarray, ndarray, ndarray]:
    """The rows of one axis in its basis, their two target columns, and their prior sizes."""
    m, k, orders = rows.pure.shape[1:]
    rows_of_axis = np.zeros((m, k, len(basis.deviation)))
    for order in range(orders):
        if rows.pure[i, ..., order].any():
            here = basis.derivative(rows.positions[i], order)[:, None]
            rows_of_axis += rows.pure[i, :, :, order, None] * here
        if rows.base_pure[i, ..., order].any():
            there = basis.derivative(rows.base.points[:, i], order)[rows.base_of[i], None]
            rows_of_axis -= rows.base_pure[i, :, :, order, None] * there
    matrix = rows_of_axis.reshape(m * k, -1)
    targets = np.column_stack([rows.own[i].ravel(), rows.constant[i].ravel()])
    size = np.linalg.norm(matrix, axis=1)
    # a row that vanishes tells nothing, whatever its target
    vanishing = size <= 1e-12 * size.max()
    targets[vanishing] = 0.0
    return matrix, targets, np.where(vanishing, 1.0, np.maximum(size, 1e-6 * size.max()))[:, None]


def _changes(rows: AxisRows, i: int) -> float:
    """How often the coefficients of an axis change by all of their size."""
    order = np.argsort(rows.positions[i])
    along = rows.pure[i][order]
    size = np.max(np.abs(along), axis=0)
    total = np.sum(np.abs(np.diff(along, axis=0)), axis=0)
    return float(np.max(total / np.where(size > 0, size, 1.0)))


def _axis(
    basis: Sines, matrix: ndarray, targets: ndarray, noise: float, changes: float
) -> tuple[Float[ndarray, "p k"], Float[ndarray, "p 2"]]:
    """What the rows leave of an axis, and its mean, in as many sines as it takes."""
    p = matrix.shape[1]
    # sines of no size in the prior are no use
    most = max(_FEWEST_SINES, int(np.sum(basis.deviation[2:] > _TINY * basis.deviation[2])))
    q = 2 ** int(np.ceil(np.log2(max(_FEWEST_SINES, _SINES_PER_CHANGE * changes))))
    if np.any(targets[:, 0]):  # a source: `truncation` has said how many it takes
        q = most
    most = min(most, p - 2)
    grid = basis.derivative(np.linspace(-1.0, 1.0, _PROFILE), 0)
    before: ndarray | None = None
    while True:
        q = min(q, most)
        fewer = len(matrix) // int(_ROWS_PER_SINE * (q + 2) + 8) if q + 2 < p else 1
        some = slice(None, None, max(1, fewer))
        factor, means = _least_squares(matrix[some, : q + 2], targets[some], noise)
        keep = _left(basis, factor)
        inside = grid[:, : q + 2]
        now = np.column_stack([np.sum((inside @ keep) ** 2, axis=1), inside @ means])
        span = np.maximum(np.ptp(now, axis=0), 1e-6 * np.max(np.abs(now), axis=0))
        same = before is not None and np.all(np.max(np.abs(now - before), axis=0) <= _STABLE * span)
        if same or q == most:
            fill = ((0, p - q - 2), (0, 0))
            return np.pad(keep, fill), np.pad(means, fill)
        before, q = now, 2 * q


def _least_squares(matrix: ndarray, targets: ndarray, noise: float) -> tuple[ndarray, ndarray]:
    """Triangular factor R of I + A^T A / noise^2, and the posterior means of both columns."""
    p = matrix.shape[1]
    stacked = np.vstack([np.eye(p, p + 2), np.hstack([matrix, targets]) / noise])
    r = qr(stacked, mode="r", overwrite_a=True, check_finite=False)[0]
    factor = r[:p, :p]
    return factor, solve_triangular(factor, r[:p, p:], check_finite=False)


def _left(basis: Sines, factor: ndarray) -> Float[ndarray, "p k"]:
    """The part of R^-1 that counts inside the box: a basis on a larger interval has directions that do not."""
    p = len(factor)
    inverse = solve_triangular(factor, np.eye(p), check_finite=False)
    inside = basis.derivative(np.linspace(-1.0, 1.0, int(1.25 * p) + 2), 0)[:, :p] @ inverse
    most = min(p, _MOST_LEFT)
    squares, directions = eigh(inside.T @ inside, subset_by_index=[p - most, p - 1], check_finite=False)
    return np.asarray(inverse @ directions[:, squares > _NEGLIGIBLE**2 * squares[-1]])


def _coupled(
    basis: Sines,
    everywhere: Sequence[Functionals],
    keep: ndarray,
    own: ndarray,
    constant: ndarray,
    noise: float,
) -> tuple[ndarray, ndarray, ndarray]:
    """Condition what the axes left on rows that involve all of them: directions, deviations, change of both means."""
    d = len(keep)
    matrices, targets = [], []
    for rows in everywhere:
        axis_of, power_of = pure_derivatives(rows.derivatives)
        full = np.zeros((len(rows), d, keep.shape[1]))
        for a in np.flatnonzero(axis_of >= -1):
            for i in range(d) if axis_of[a] == -1 else (axis_of[a],):
                along = basis.derivative(rows.points[:, i], int(power_of[a]))
                full[:, i] += rows.coefficients[:, a, None] * along
        size = np.linalg.norm(full.reshape(len(full), -1), axis=1)[:, None]
        size = np.where(size > 0, size, np.inf)
        means = np.stack([np.einsum("kdq,dq->k", full, own), np.einsum("kdq,dq->k", full, constant)], axis=1)
        right = rows.targets() - means
        matrices.append(np.einsum("kdq,dqw->kdw", full, keep).reshape(len(full), -1) / size)
        targets.append(right / size)
    u, singular, coupled = np.linalg.svd(np.vstack(matrices), full_matrices=False)
    gain = singular / (singular**2 + noise**2)
    deviation = noise / np.sqrt(singular**2 + noise**2)
    return coupled, deviation, coupled.T @ (gain[:, None] * (u.T @ np.vstack(targets)))
