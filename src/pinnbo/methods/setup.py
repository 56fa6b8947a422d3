"""Where the search of every method starts, and what fills the box before it."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from pinnbo.acquisition.choice import Surroundings
from pinnbo.acquisition.feasibility import Feasibility, learnt
from pinnbo.data import Data
from pinnbo.methods.base import Task
from pinnbo.thresholds import LIKELY

_N_CANDIDATES = 2048
_N_FAVOURITES = 8
_N_SPARE = 64
_SAME = 1e-9


def candidates(task: Task) -> Float[ndarray, "c d"]:
    """Scaled starting points of the search for the argmin."""
    return task.region.candidates(_N_CANDIDATES, [task.seed, 2])


def surroundings(
    task: Task,
    starts: Float[ndarray, "c d"],
    data: Data,
    pending: Float[ndarray, "q d"],
    others: Float[ndarray, "o d"] | None = None,
) -> Surroundings:
    """What the search has to know: where to start, what is known, where a measurement is possible."""
    space = task.space
    direct = data.direct
    order = np.argsort(task.sign * direct.values, kind="stable")[:_N_FAVOURITES]
    best = space.scale(direct.points[order]) if len(order) else np.zeros((1, space.dim))
    return Surroundings(
        # with fixed coordinates there are others
        candidates=starts if not task.region.fixed else task.region.candidates(len(starts), [task.seed, 2]),
        others=np.zeros((0, space.dim)) if others is None else others,
        favourites=np.resize(best, (_N_FAVOURITES, space.dim)),
        known=space.scale(np.concatenate([data.points, pending, data.infeasible])),
        possible=possible(task, data),
        region=task.region,
    )


def possible(task: Task, data: Data) -> Feasibility:
    """Where a measurement is possible, as far as the data tell."""
    return learnt(task.space.scale(data.points), task.space.scale(data.infeasible))


def fill(task: Task, data: Data, pending: Float[ndarray, "q d"], n: int, index: int) -> Float[ndarray, "n d"]:
    """n points that fill the box, from an index on; those that are more likely impossible than not are left out.

    A point that took the place of such a one comes up again later, and is left out then as well.
    """
    feasibility = possible(task, data)
    if not feasibility.is_learnt and not task.region.searched.is_stepped:
        return task.design(n, index)
    points = task.design(n + _N_SPARE, index)
    scaled = task.space.scale(points)
    taken = task.space.scale(np.concatenate([data.points, pending, data.infeasible]))
    is_new = np.ones(len(scaled), dtype=bool)
    if len(taken):
        is_new = np.min(np.linalg.norm(scaled[:, None] - taken, axis=2), axis=1) > _SAME
    chance = np.where(is_new, feasibility.probability(scaled), -1.0)
    # in their order while they are likely possible, then the likeliest
    order = np.argsort(-np.minimum(chance, LIKELY), kind="stable")
    return points[order[:n]]
