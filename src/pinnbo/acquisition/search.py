"""The argmin of an acquisition over the box, by many starts and a projected quasi-Newton method.

The acquisition is evaluated at many Sobol points and on sweeps over the axes; the best of them, and the points that the
caller names (the best observed ones), are refined together, each by L-BFGS on its free coordinates with a search along
the projected arc (Bertsekas 1982: a coordinate is bound when it sits on a face and the slope pushes it out). Faces and
corners are therefore reached exactly, and left again when that pays.

The search is array arithmetic on all starts at once. A search compiled as a whole was measured to take three times as
long to compile, and longer to run, because its line search evaluates every step length.

Coordinates are scaled: the box is [-1, 1]^d. Where less may be measured a `Region` takes the place of the box: steps
are projected onto it in the same way.

References
----------
D. P. Bertsekas, "Projected Newton methods for optimization problems with simple constraints",
SIAM J. Control Optim. 20 (1982).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from pinnbo.region import Region

_Values = Float[ndarray, " k"]
_Points = Float[ndarray, "k d"]

_GRID = np.linspace(-1.0, 1.0, 41)
_SHRINK = 0.2
_SUFFICIENT = 1e-4
_FIRST_STEP = 0.25
_SHORTEST = 1e-9
# clouds: the first is as wide as the distance of candidates, the next as the best of a cloud is off
_RADII = (0.05, 0.015, 0.003)
_N_CENTRES, _N_CLOUD = 2, 32
_APART = 0.1  # of the half diagonal


@dataclass(frozen=True)
class Effort:
    """How hard to search: starts from the candidates and from the best measured points, evaluations of each start,
    pairs that L-BFGS remembers, sweeps over the axes, and the relative change of a value that ends the search.
    """

    starts: int = 32
    favourites: int = 8
    evaluations: int = 150
    memory: int = 8
    sweeps: int = 3
    tolerance: float = 0.0


class Minima(NamedTuple):
    """Local minimisers, best first."""

    points: _Points
    values: _Values


class Objective(ABC):
    """A function on the box; infinite where it is not defined."""

    @property
    def one_shape(self) -> bool:
        """Whether batches of another size have to be compiled anew."""
        return False

    @property
    def quick_slopes(self) -> bool:
        """Whether slopes cost about as much as values."""
        return True

    @property
    def is_log(self) -> bool:
        """Whether it is -log of what a measurement is worth, in whatever unit."""
        return self.is_log_gain

    @property
    def is_log_gain(self) -> bool:
        """Whether it is -log of what a measurement is expected to gain, in units of f."""
        return False

    @abstractmethod
    def values(self, points: _Points) -> _Values:
        """Values at many points."""

    @abstractmethod
    def values_and_slopes(self, points: _Points) -> tuple[_Values, _Points]:
        """Values and gradients at a few points."""


def minimise(
    objective: Objective,
    candidates: Float[ndarray, "c d"],
    others: Float[ndarray, "o d"],
    favourites: Float[ndarray, "b d"],
    effort: Effort,
    region: Region | None = None,
) -> Minima:
    """Minimise an objective from the best candidates, of a fixed set and others, and from all favourites.

    Sweeps look along every axis from the best candidate and the first favourite: the way out of one of many valleys
    where candidates cannot fill the box.
    """
    bounds = _Bounds.of(region)
    others, favourites = bounds.project(others), bounds.project(favourites[: effort.favourites])
    values = objective.values(candidates)
    pool = candidates
    if len(others):
        values, pool = np.append(values, objective.values(others)), np.concatenate([candidates, others])
    if not objective.quick_slopes:
        return _resample(objective, pool, values, bounds)
    first = pool[_best_apart(pool, values, effort.starts)]
    starts = np.concatenate([first, favourites])
    if effort.sweeps:
        swept = [_sweep(objective, start, effort.sweeps, bounds) for start in (first[0], favourites[0])]
        starts = np.concatenate([swept, starts])
    points, found = _descend(objective, starts, effort, bounds)
    ranking = np.argsort(found, kind="stable")
    if region is not None and not region.is_box:
        # projected steps stop where a boundary bends: clouds, projected onto it, follow it
        return _resample(objective, points[ranking], found[ranking], bounds)
    return Minima(points[ranking], found[ranking])


class _Bounds(NamedTuple):
    """The box, or what a region leaves of it."""

    lower: Float[ndarray, " d"] | float
    upper: Float[ndarray, " d"] | float
    project: Callable[[_Points], _Points]

    @classmethod
    def of(cls, region: Region | None) -> _Bounds:
        if region is None or region.is_plain:
            return cls(-1.0, 1.0, lambda points: np.clip(points, -1.0, 1.0))
        return cls(region.lower, region.upper, region.project)


def _resample(objective: Objective, pool: _Points, values: _Values, bounds: _Bounds) -> Minima:
    """Without slopes: ever smaller clouds around the best points so far, and the minimum of a quadratic in each."""
    rng = np.random.default_rng(len(pool))
    order = np.argsort(values, kind="stable")[:_N_CENTRES]
    points, found = pool[order], values[order]
    near = np.zeros((0, pool.shape[1]))
    for radius in (*_RADII, 0.0):
        cloud = np.repeat(points[:_N_CENTRES], _N_CLOUD // _N_CENTRES - 1 if radius else 0, axis=0)
        cloud = bounds.project(cloud + radius * rng.standard_normal(cloud.shape))
        cloud = np.concatenate([cloud, near])  # in one batch
        points, found = np.concatenate([points, cloud]), np.append(found, objective.values(cloud))
        order = np.argsort(found, kind="stable")
        points, found = points[order], found[order]
        lowest = [_quadratic_minimum(points, found, c, radius or 1.0) for c in points[:_N_CENTRES]]
        near = bounds.project(np.array(lowest))
    return Minima(points, found)


def _quadratic_minimum(
    points: _Points, values: _Values, centre: Float[ndarray, " d"], radius: float
) -> Float[ndarray, " d"]:
    """Of a quadratic that fits the points around a centre, within the radius; the centre where it has no minimum."""
    step = (points - centre) / radius
    near = np.linalg.norm(step, axis=1) < 3.0
    step, values = step[near], values[near]
    rows, columns = np.triu_indices(step.shape[1])
    design = np.column_stack([np.ones(len(step)), step, step[:, rows] * step[:, columns]])
    found = np.linalg.lstsq(design, values, rcond=None)[0]
    d = step.shape[1]
    hessian = np.zeros((d, d))
    hessian[rows, columns] = found[d + 1 :]
    hessian = hessian + hessian.T
    if not np.all(np.isfinite(found)):
        return centre
    eigenvalues = np.linalg.eigvalsh(hessian)
    if eigenvalues[0] <= 1e-12 * eigenvalues[-1]:  # also along a coordinate that is fixed
        return centre
    move = -np.linalg.solve(hessian, found[1 : d + 1])
    size = np.linalg.norm(move)
    return np.asarray(centre + radius * move / max(1.0, float(size)))


def _best_apart(pool: _Points, values: _Values, n: int) -> list[int]:
    """The n best of a pool, first those that are no neighbours of a better one: they would lead to the same minimum."""
    order = np.argsort(values, kind="stable")[: 8 * n]
    apart: list[int] = []
    near: list[int] = []
    for i in order:
        distances = np.linalg.norm(pool[apart] - pool[i], axis=1) if apart else np.array([np.inf])
        (near if distances.min() < _APART * np.sqrt(pool.shape[1]) else apart).append(int(i))
    return [*apart, *near][:n]


def _sweep(
    objective: Objective, start: Float[ndarray, " d"], sweeps: int, bounds: _Bounds
) -> Float[ndarray, " d"]:
    """Try a grid along every axis and go to the best place on each at once, or along the best axis alone.

    The way out of one of many valleys when there are many axes: for a sum of functions of one coordinate a single sweep
    finds the lowest of all valleys, to which no number of random starts would lead.
    """
    d = len(start)
    s, value = start, float(objective.values(start[None])[0])
    for _ in range(sweeps):
        trials = np.broadcast_to(s, (d, len(_GRID), d)).copy()
        trials[np.arange(d), :, np.arange(d)] = _GRID
        trials = bounds.project(trials.reshape(-1, d)).reshape(trials.shape)
        values = objective.values(trials.reshape(-1, d)).reshape(d, -1)
        best = np.argmin(values, axis=1)
        lowest = values[np.arange(d), best]
        each = trials[np.arange(d), best, np.arange(d)]
        together = bounds.project(np.where(lowest < value, each, s)[None])[0]
        alone = trials[np.argmin(lowest), best[np.argmin(lowest)]]
        reached = objective.values(np.stack([together, alone]))
        if not np.min(reached) < value:
            break
        s, value = (together, alone)[int(np.argmin(reached))], float(np.min(reached))
    return s


def _descend(
    objective: Objective, starts: _Points, effort: Effort, bounds: _Bounds
) -> tuple[_Points, _Values]:
    """Refine all starts together, each with a step length of its own; a batch is those that still move."""
    s = starts.copy()
    value, slope = objective.values_and_slopes(s)
    k, d = s.shape
    steps, turns = np.zeros((effort.memory, k, d)), np.zeros((effort.memory, k, d))  # newest last
    reach = np.full(k, _FIRST_STEP)  # of a steepest step, a length of the box: the units of f do not matter
    direction, quick = _direction(s, slope, steps, turns, reach, bounds)
    length, done = np.ones(k), np.zeros(k, dtype=bool)
    for _ in range(effort.evaluations):
        trial = bounds.project(s + length[:, None] * direction)
        moved = trial - s
        distance = np.linalg.norm(moved, axis=1)
        moving = (distance > _SHORTEST) & ~done
        if not np.any(moving):
            break
        asked = np.full(k, True) if objective.one_shape else moving
        new_value, new_slope = value.copy(), slope.copy()
        new_value[asked], new_slope[asked] = objective.values_and_slopes(trial[asked])
        with np.errstate(invalid="ignore"):
            enough = new_value <= value + _SUFFICIENT * np.sum(slope * moved, axis=1)
            better = (enough | ~np.isfinite(value)) & (new_value < value)
        turned = new_slope - slope
        curved = np.sum(moved * turned, axis=1) > 1e-12 * distance * np.linalg.norm(turned, axis=1)
        keep = (better & curved)[:, None]
        steps = np.where(keep, np.concatenate([steps[1:], moved[None]]), steps)
        turns = np.where(keep, np.concatenate([turns[1:], turned[None]]), turns)
        s, old = np.where(better[:, None], trial, s), value
        value, slope = np.where(better, new_value, value), np.where(better[:, None], new_slope, slope)
        reach = np.where(better, np.clip(2.0 * distance, _SHORTEST, 1.0), reach)
        # a quasi-Newton step that fails twice has misled: forget, and go down the slope
        lost = ~better & quick & (length <= _SHRINK)
        steps[:, lost], turns[:, lost] = 0.0, 0.0
        reach = np.where(lost, np.maximum(distance, _SHORTEST), reach)
        with np.errstate(invalid="ignore"):
            gained = better & (old - value > effort.tolerance)
        done |= better & ~gained
        renewed = better | lost
        direction_now, quick_now = _direction(s, slope, steps, turns, reach, bounds)
        direction = np.where(renewed[:, None], direction_now, direction)
        quick = np.where(renewed, quick_now, quick)
        length = np.where(renewed, 1.0, _SHRINK * length)
    return s, value


def _direction(
    s: _Points, slope: _Points, steps: ndarray, turns: ndarray, reach: _Values, bounds: _Bounds
) -> tuple[_Points, ndarray]:
    """Descent directions on the free coordinates, and which of them are quasi-Newton's."""
    outward = ((s >= bounds.upper) & (slope < 0.0)) | ((s <= bounds.lower) & (slope > 0.0))
    free = np.where(outward, 0.0, slope)
    newton = np.where(outward, 0.0, -_two_loop(free, steps, turns))
    quick = (np.sum(newton * free, axis=1) < 0.0) & np.any(turns[-1] != 0.0, axis=1)
    norm = np.linalg.norm(free, axis=1, keepdims=True)
    steepest = -reach[:, None] * free / np.where(norm > 0.0, norm, 1.0)
    # no step is longer than the box
    size = np.linalg.norm(newton, axis=1, keepdims=True)
    newton = newton * np.minimum(1.0, 2.0 * np.sqrt(s.shape[1]) / np.where(size > 0.0, size, 1.0))
    return np.where(quick[:, None], newton, steepest), quick


def _two_loop(slope: _Points, steps: ndarray, turns: ndarray) -> _Points:
    """Apply the L-BFGS inverse Hessian to the slope, in the subspace where the slope is free."""
    free = slope != 0.0
    steps, turns = np.where(free, steps, 0.0), np.where(free, turns, 0.0)
    curvature = np.sum(steps * turns, axis=2)
    usable = curvature > 1e-300
    rho = np.where(usable, 1.0 / np.where(usable, curvature, 1.0), 0.0)
    q, alphas = slope, []
    for s, y, r in zip(steps[::-1], turns[::-1], rho[::-1], strict=True):
        alphas.append(r * np.sum(s * q, axis=1))
        q = q - alphas[-1][:, None] * y
    newest = np.sum(turns[-1] ** 2, axis=1)
    gamma = np.where(usable[-1], curvature[-1] / np.where(usable[-1], newest, 1.0), 1.0)
    q = gamma[:, None] * q
    for s, y, r, alpha in zip(steps, turns, rho, alphas[::-1], strict=True):
        q = q + s * (alpha - r * np.sum(y * q, axis=1))[:, None]
    return q
