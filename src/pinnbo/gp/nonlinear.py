"""A kernel given a PDE that is not linear: Gauss-Newton in sample space.

Linearise at a function m, condition on the rows and on the observations, go from m towards the posterior mean, repeat
(`pinnbo.physics.gauss_newton`). The functions are known by their jets at the collocation points and the readings that
they would give, all that the equation and the data see. The misfit is that of the equation itself:

    misfit = mean ((N[f](z_j) - g(z_j)) / s_j)^2 + mean ((L_i[f] - y_i) / sigma_i)^2,

s_j being the standard deviation that row j is allowed.

**What a linearisation leaves out.** For f = m + d the row at z is wrong by q = 1/2 d_J^T H d_J, with H the Hessian of
n(z, J) in the jet and d_J the jet of d, of covariance S given rows and data. With few data S is large, and rows taken
as exact would give a posterior that is far too sure of itself. Its mean square is added to the variance of the row:

    E[q^2] = 1/2 tr((H S)^2) + 1/4 tr(H S)^2.

q changes over the length scale of d, not from row to row: m rows in a box of side 2 are m prod_i (sqrt(pi) l_i / 2)
times as many as its correlation allows for, and its variance is raised by that factor. S is at first that of the
observations alone, so that the iteration begins with too much doubt rather than too little; it falls as the rows agree.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from pinnbo.data import Data
from pinnbo.gp.conditioning import Given, given, plain
from pinnbo.gp.equations import Equations, start
from pinnbo.gp.kernels import RBF, Tables
from pinnbo.gp.posterior import NOISE_CENTRE, Posterior, condition
from pinnbo.physics.coordinates import BOX
from pinnbo.physics.functionals import Functionals
from pinnbo.physics.gauss_newton import Step, descend, towards
from pinnbo.space import Space
from pinnbo.thresholds import WITHIN_NOISE

_MOST_STEPS = 12
_STEPS_NEARBY = 3  # from the solution of a similar kernel
_STEPS_NEARLY = 2  # from that of the exact equation
_SETTLED = 0.02
_N_DOUBT = 32


class Linearised(NamedTuple):
    """A kernel given the physics, the mean that the rows were linearised at, and the variance that this leaves out."""

    given: Given
    state: Float[ndarray, " k"]
    neglected: Float[ndarray, " m"]


def given_nearly(
    equations: Equations,
    kernel: RBF,
    data: Data,
    space: Space,
    row_noise: float,
    misfit: float,
    exact: Linearised | None,
) -> Given | None:
    """The kernel given the same physics but for a ``misfit`` as in `given`, begun at the solution of the exact one.

    The mean moves in proportion to the misfit, so that full steps lead to it where the misfit is small. Where they
    do not, or the measurements contradict the exact equation, it is searched for as that was.
    """
    found = None
    if exact is not None:
        found = _Problem(equations, kernel, data, space, row_noise, misfit).near(exact, _STEPS_NEARLY)
    if found is None:
        found = given_nonlinear(equations, kernel, data, space, row_noise, misfit)
    return None if found is None else found.given


def given_nonlinear(
    equations: Equations,
    kernel: RBF,
    data: Data,
    space: Space,
    row_noise: float,
    misfit: float = 0.0,
    near: Linearised | None = None,
) -> Linearised | None:
    """The kernel given the physics, linearised near the posterior mean; ``misfit`` as in `given`.

    Begun at the solution of a similar kernel, if one is known; at what the data say by themselves, which is near the
    solution where there are many; and at a constant where that does not lead to the data. None if no full step was
    good, or if its own mean misses the equation by more than its rows allow: a kernel that is too smooth for the
    solution would be sure of a wrong one. A mean that obeys the equation and misses the data is what evidence against
    the equation looks like.
    """
    problem = _Problem(equations, kernel, data, space, row_noise, misfit)
    known = None if near is None else problem.near(near, _STEPS_NEARBY)
    if known is not None and problem.misfit(known.state) < WITHIN_NOISE**2:
        return known
    best: tuple[float, Linearised] | None = None
    # where a similar kernel was led to the data, these are enough to begin with
    for first in problem.starts if near is None else problem.starts[:1]:
        problem.begin(first)
        found = descend(problem.linearise, problem.misfit, first, problem.settled, _MOST_STEPS)
        obeys = found.bold is not None and problem.is_obeyed(found.state)
        if found.bold is not None and obeys and (best is None or found.misfits[-1] < best[0]):
            best = found.misfits[-1], Linearised(found.bold, found.state, problem.neglected)
        if best is not None and best[0] < WITHIN_NOISE**2:
            break
    return None if best is None else best[1]


class _Problem:
    """A state is the jets of f at every row, then its readings: values at the measured points, or of other sensors."""

    def __init__(
        self,
        equations: Equations,
        kernel: RBF,
        data: Data,
        space: Space,
        row_noise: float,
        misfit: float = 0.0,
    ) -> None:
        self._equations, self._kernel, self._data, self._space = equations, kernel, data, space
        self._row_noise, self._misfit = row_noise, misfit
        self._standard = data.standard.about_zero if kernel.about_zero else data.standard
        scale = self._standard.scale
        units = scale if data.is_plain else data.units
        noise = np.where(np.isnan(data.noise), NOISE_CENTRE * units, np.maximum(data.noise, 1e-3 * units))
        self._noise = noise * data.noise_times
        scaled = space.scale(data.points)
        measured = Functionals.at(scaled) if data.is_plain else data.functionals(BOX, scaled)
        self._values = data.values + measured.values
        self._here = _Here(equations.at_zero, kernel, measured)
        self._alone = condition(plain(kernel), data, space)
        self._amplitude = scale * float(np.sqrt(self._alone.samples.square[0]))
        self._solved: tuple[Given, ndarray, Posterior] | None = None

    @property
    def starts(self) -> list[ndarray]:
        """What the data say by themselves; then a constant."""
        flat = start(self._equations, self._here.measured, self._standard)
        fitted = self._here.fitted(self._alone)
        both = [fitted, flat] if len(self._data.values) else [flat]
        states = [np.concatenate([jets.ravel(), values]) for jets, values in both]
        return [state for state in states if np.any(self._rows(state).coefficients)]

    def begin(self, state: ndarray) -> None:
        """Doubt the linearisation at a state as much as the data alone allow."""
        self.neglected = self._doubt(self._split(state)[0], None, None, self._alone)

    def near(self, known: Linearised, steps: int) -> Linearised | None:
        """Full steps from the solution of a similar problem; None where they do not lead to one that obeys."""
        state, self.neglected, found = known.state, known.neglected, known.given
        for _ in range(steps):
            step = self.linearise(state)
            if step is None:
                return None
            found, earlier, state = step.solution, state, next(iter(step.proposals))
            if self.settled(earlier, state, []):  # and doubts the next linearisation as much as it has to be
                break
        return Linearised(found, state, self.neglected) if self.is_obeyed(state) else None

    def _rows(self, state: ndarray) -> Functionals:
        return self._equations.linearised(self._split(state)[0])

    def linearise(self, state: ndarray) -> Step[Given] | None:
        """Rows at a state, conditioned on, and the posterior mean given the data."""
        rows = self._rows(state)
        rows = replace(rows, noise=np.sqrt(rows.noise**2 + self.neglected))
        across = self._here.with_rows(rows)
        gram = sum(column[:, None] * part for column, part in zip(rows.coefficients.T, across, strict=True))
        expected = self._amplitude * np.sqrt(np.maximum(np.diag(gram), 0.0))  # of N[f], before the rows
        found = given(self._kernel, rows, self._amplitude, self._row_noise, gram, self._misfit)
        if found is None:
            return None
        posterior = condition(found.process(), self._data, self._space)
        self._solved = found, across, posterior
        size = self._row_noise * self._standard.scale * np.sum(np.abs(rows.coefficients), axis=1)
        self._exactly = np.maximum(np.sqrt(size**2 + rows.noise**2), 1e-12)
        self._allowed = np.hypot(self._exactly, self._misfit * expected)
        self._unknown = self._mean_misfit(
            self._misfit * expected / self._amplitude, on_rows(found, posterior)
        )
        jets, values = self._here.mean(found, across, posterior)
        return Step(found, towards(state, np.concatenate([jets.ravel(), values])))

    def _mean_misfit(self, size: Float[ndarray, " m"], at_rows: Float[ndarray, " m"]) -> Float[ndarray, " m"]:
        """The mean of e: with L h = t + e at the rows, cov(e, t) = -E, the covariance that `given` adds to theirs."""
        if not self._misfit:
            return np.zeros(len(size))
        alike = self._kernel.alike(self._here.points, self._here.points)
        return -self._standard.scale * size * (alike @ (size * at_rows))

    def misfit(self, state: ndarray) -> float:
        """Of the equation and of the data."""
        gaps = (self._split(state)[1] - self._values) / self._noise
        return self.misfit_of_equation(state) + (float(np.mean(gaps**2)) if len(gaps) else 0.0)

    def misfit_of_equation(self, state: ndarray) -> float:
        """Mean square of N[f] - g, in units of what its rows are allowed."""
        return float(np.mean((self._equations.residual(self._split(state)[0]) / self._allowed) ** 2))

    def is_obeyed(self, state: ndarray) -> bool:
        """Whether N[f] = g + e but for what rows are allowed; e, if there is a misfit, as it is believed to be."""
        gap = self._equations.residual(self._split(state)[0]) - self._unknown
        return float(np.mean((gap / self._exactly) ** 2)) < WITHIN_NOISE**2

    def settled(self, earlier: ndarray, state: ndarray, misfits: list[float]) -> bool:
        """Neither f nor what the linearisation leaves out changes."""
        before, after = self._split(earlier)[0], self._split(state)[0]
        moved = np.max(np.abs(after[:, 0] - before[:, 0]))
        assert self._solved is not None
        doubt = self._doubt(after, *self._solved)
        change = np.mean(np.abs(np.sqrt(doubt) - np.sqrt(self.neglected)))
        self.neglected = doubt
        return bool(moved < _SETTLED * self._standard.scale and change < _SETTLED * np.mean(self._allowed))

    def _split(self, state: ndarray) -> tuple[Float[ndarray, "m a"], Float[ndarray, " n"]]:
        n = len(self._data.values)
        rows = self._equations.at_zero
        return state[: len(state) - n].reshape(rows.coefficients.shape), state[len(state) - n :]

    def _doubt(
        self, jets: Float[ndarray, "m a"], found: Given | None, across: ndarray | None, posterior: Posterior
    ) -> Float[ndarray, " m"]:
        """E[q^2] of every row, raised by the number of rows that share a q."""
        product = self._equations.curvature(jets) @ self._here.covariance(found, across, posterior)
        trace = np.einsum("maa->m", product)
        square = 0.5 * np.einsum("mab,mba->m", product, product) + 0.25 * trace**2
        sharing = len(product) * float(np.prod(np.minimum(np.sqrt(np.pi) * self._kernel.scale / 2.0, 1.0)))
        return np.maximum(square, 0.0) * max(1.0, sharing)


class _Here:
    """Jets at the rows' points under one kernel: covariances of all derivatives are computed once."""

    def __init__(self, rows: Functionals, kernel: RBF, measured: Functionals) -> None:
        self.measured = measured
        self._kernel, self._indices, self._fields = kernel, rows.derivatives, rows.field_of
        self._square, self.points = kernel.constant**2, rows.points
        tables = Tables(kernel, rows.points, _all_derivatives(rows), int(rows.derivatives.max()))
        each = range(len(self._indices))
        self._pairs = np.empty((len(each), len(each), len(tables), len(tables)))
        for a, b in product(each, each):
            self._pairs[a, b] = self._pair(tables, a, b)
        self._to_values = np.stack([self._values_at(rows.points, a) for a in each])
        self._between_values = kernel.covariance(measured, measured)
        # what is left unknown changes over length scales, not from row to row: some of many rows will do
        self._some = np.arange(0, len(rows.points), max(1, len(rows.points) // _N_DOUBT))
        gaps = (rows.points[:, None] - rows.points[self._some]) / kernel.scale
        self._nearest = np.argmin(np.sum(gaps**2, axis=2), axis=1)

    def _pair(self, tables: Tables, a: int, b: int) -> Float[ndarray, "m m"]:
        """Of two derivatives, at all pairs of points; fields are independent."""
        if self._fields[a] != self._fields[b]:
            return np.zeros((len(tables), len(tables)))
        if self._kernel.images is not None:
            one, other = (
                Functionals.derivative(self.points, self._indices[c], int(self._fields[c])) for c in (a, b)
            )
            return self._kernel.covariance(one, other)
        pair = tables.pair(self._indices[a], self._indices[b])
        pair = pair if self._indices[a].any() or self._indices[b].any() else pair + self._square
        return self._kernel.amplitudes[self._fields[a]] ** 2 * pair

    def with_rows(self, rows: Functionals) -> Float[ndarray, "a m m"]:
        """Covariances of all derivatives at the points with every row."""
        found, term = np.empty(self._pairs.shape[1:]), np.empty(self._pairs.shape[2:])
        for total, pairs in zip(found, self._pairs, strict=True):
            np.multiply(pairs[0], rows.coefficients[:, 0], out=total)
            for pair, column in zip(pairs[1:], rows.coefficients.T[1:], strict=True):
                total += np.multiply(pair, column, out=term)  # in place: the tables leave the cache
        return found

    def fitted(self, alone: Posterior) -> tuple[Float[ndarray, "m a"], Float[ndarray, " n"]]:
        """Jets of the mean given the data alone at the rows' points, and its readings."""
        shift, scale = alone.standard
        at_values = alone.weights[:, 0]
        jets = self._to_values @ at_values
        jets[0] = jets[0] + shift / scale
        values = self._between_values @ at_values
        return scale * jets.T, shift * self.measured.constant + scale * values

    def mean(
        self, found: Given, across: Float[ndarray, "a m m"], posterior: Posterior
    ) -> tuple[Float[ndarray, "m a"], Float[ndarray, " n"]]:
        """Jets of the posterior mean of f at the rows' points, and its readings."""
        shift, scale = posterior.standard
        at_values, at_rows = posterior.weights[:, 0], on_rows(found, posterior)  # at the most likely sample
        jets = across @ at_rows + self._to_values @ at_values
        jets[0] = jets[0] + shift / scale
        values = np.einsum("ma,amn,m->n", found.rows.coefficients, self._to_values, at_rows)
        values += self._between_values @ at_values
        return scale * jets.T, shift * self.measured.constant + scale * values

    def covariance(
        self, found: Given | None, across: Float[ndarray, "a m m"] | None, posterior: Posterior
    ) -> Float[ndarray, "m a a"]:
        """Of the jets of f at every row's point, given the rows (if any) and the data, at the most likely sample."""
        assert posterior.anchors is not None
        some = self._some
        to_data = self._to_values[:, some]
        left = self._pairs[:, :, some, some]
        if found is not None and across is not None:
            told = [found.whitened(part[some].T).T for part in across]
            left = left - np.einsum("asm,bsm->abs", told, told, optimize=True)
            to_data = to_data - np.stack(told) @ posterior.anchors.features.T
        projected = to_data @ posterior.basis
        left = left - np.einsum("asi,bsi,i->abs", projected, projected, posterior.shrink[0], optimize=True)
        square = posterior.standard.scale**2 * float(posterior.samples.square[0])
        return square * np.moveaxis(left, 2, 0)[self._nearest]

    def _values_at(self, points: Float[ndarray, "k d"], column: int) -> Float[ndarray, "k n"]:
        """Covariance of a derivative at points with the readings."""
        one = Functionals.derivative(points, self._indices[column], int(self._fields[column]))
        return self._kernel.covariance(one, self.measured)


def on_rows(found: Given, posterior: Posterior) -> Float[ndarray, " m"]:
    """w with mean of h = sum_j w_j L_j k(z_j, .) + what the measured values add, at the most likely sample."""
    assert posterior.anchors is not None
    shift, scale = posterior.standard
    mean = found.whitened(found.rows.targets()) @ np.array([1.0 / scale, -shift / scale])
    return found.back(mean - posterior.anchors.features.T @ posterior.weights[:, 0])


def _all_derivatives(rows: Functionals) -> Functionals:
    """The places of rows, with all of their derivatives."""
    return replace(rows, coefficients=np.ones_like(rows.coefficients))
