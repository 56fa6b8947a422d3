"""Choosing points to measure from the local minima of an acquisition: new ones, and away from known trouble.

A greedy acquisition whose argmin has been measured would ask for it for ever. A minimum is therefore taken
only if it differs from all points measured or pending; the best of the points in a shell around the minima,
at least a fiftieth of the box away from everything known, compete with the minima that remain.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from pinnbo.acquisition.search import Effort, Minima, Objective, minimise

# lengths in scaled coordinates, multiplied by sqrt(d)
_SAME = 1e-3
_SHELL = 0.02
_PENALTY_WIDTH = 0.15
_N_SHELL = 256


@dataclass(frozen=True, eq=False)
class Guarded(Objective):
    """An objective that is raised near infeasible points, less so where feasible ones are as near.

    p(s) = sum_bad k / (sum_bad k + sum_good k + 1/2), k a Gaussian bump of 0.15 of the diagonal's half;
    the objective is raised by strength * p(s).
    """

    objective: Objective
    good: Float[ndarray, "n d"]
    bad: Float[ndarray, "m d"]
    strength: float

    @property
    def one_shape(self) -> bool:
        """As of the objective."""
        return self.objective.one_shape

    @property
    def quick_slopes(self) -> bool:
        """As of the objective."""
        return self.objective.quick_slopes

    def values(self, points: Float[ndarray, "k d"]) -> Float[ndarray, " k"]:
        """The raised values."""
        return self.objective.values(points) + self._penalty(points)[0]

    def values_and_slopes(
        self, points: Float[ndarray, "k d"]
    ) -> tuple[Float[ndarray, " k"], Float[ndarray, "k d"]]:
        """The raised values with their slopes."""
        value, slope = self.objective.values_and_slopes(points)
        raised, steepened = self._penalty(points)
        return value + raised, slope + steepened

    def _penalty(self, points: Float[ndarray, "k d"]) -> tuple[Float[ndarray, " k"], Float[ndarray, "k d"]]:
        close, close_slope = _mass(points, self.bad)
        safe, safe_slope = _mass(points, self.good)
        total = close + safe + 0.5
        slope = ((safe + 0.5) / total**2)[:, None] * close_slope - (close / total**2)[:, None] * safe_slope
        return self.strength * close / total, self.strength * slope


def _mass(points: Float[ndarray, "k d"], centres: Float[ndarray, "m d"]) -> tuple[ndarray, ndarray]:
    """Sum of the bumps around the centres, and its slope."""
    square = (_PENALTY_WIDTH * np.sqrt(points.shape[1])) ** 2
    gap = centres - points[:, None]
    bumps = np.exp(-0.5 * np.sum(gap**2, axis=2) / square)
    return bumps.sum(axis=1), np.einsum("km,kmd->kd", bumps, gap) / square


@dataclass(frozen=True)
class Surroundings:
    """What the search knows besides the acquisition; scaled coordinates.

    ``candidates`` (the same array each time), ``others`` and ``favourites`` are starting points, ``known`` the points
    measured or pending, ``bad`` the infeasible ones, from which an acquisition of size ``strength`` is kept away.
    """

    candidates: Float[ndarray, "c d"]
    others: Float[ndarray, "o d"]
    favourites: Float[ndarray, "b d"]
    known: Float[ndarray, "n d"]
    bad: Float[ndarray, "m d"]
    strength: float


def choose(
    objective: Objective,
    around: Surroundings,
    n: int,
    rng: np.random.Generator,
    effort: Effort | None = None,
) -> Float[ndarray, "n d"]:
    """The n points of [-1, 1]^d with the lowest objective that are new."""
    if len(around.bad):
        objective = Guarded(objective, around.known, around.bad, around.strength)
    minima = minimise(objective, around.candidates, around.others, around.favourites, effort or Effort())
    taken, chosen = around.known, np.zeros((0, around.candidates.shape[1]))
    for s, apart in _in_order(objective, minima, around.candidates, rng):
        if len(taken) == 0 or np.min(np.linalg.norm(taken - s, axis=1)) > apart:
            chosen, taken = np.vstack([chosen, s]), np.vstack([taken, s])
        if len(chosen) == n:
            break
    return chosen


def _in_order(
    objective: Objective, minima: Minima, candidates: ndarray, rng: np.random.Generator
) -> Iterator[tuple[Float[ndarray, " d"], float]]:
    """Points to take, and how far each has to be from all that is known.

    The lowest minimum by itself, since it is mostly new; then the others and a shell around the best, by their values;
    the last resort, far from everything, are the candidates in their own order.
    """
    root = np.sqrt(candidates.shape[1])
    yield minima.points[0], _SAME * root
    shell = _shell(minima.points[:4], rng)
    values = np.concatenate([minima.values, objective.values(shell)])
    pool = np.concatenate([minima.points, shell])
    room = root * np.where(np.arange(len(pool)) < len(minima.values), _SAME, _SHELL)
    for i in np.argsort(values, kind="stable"):
        yield pool[i], room[i]
    for s in candidates:
        yield s, 0.0


def _shell(centres: Float[ndarray, "k d"], rng: np.random.Generator) -> Float[ndarray, "s d"]:
    """Points at one to eight times the shell's radius around the centres, moved onto the box."""
    direction = rng.standard_normal((_N_SHELL, centres.shape[1]))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    radius = _SHELL * np.sqrt(centres.shape[1]) * 2.0 ** rng.uniform(0.0, 3.0, (_N_SHELL, 1))
    # a single axis of movement for half of them, so that faces are followed in many dimensions too
    axis = rng.integers(0, centres.shape[1], _N_SHELL // 2)
    direction[: len(axis)] = (
        np.eye(centres.shape[1])[axis] * np.sign(direction[np.arange(len(axis)), axis])[:, None]
    )
    return np.clip(centres[np.arange(_N_SHELL) % len(centres)] + radius * direction, -1.0, 1.0)
