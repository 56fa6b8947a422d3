"""Where the search of every method starts."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from pinnbo.acquisition.choice import Surroundings
from pinnbo.data import Data
from pinnbo.methods.base import Task

_N_CANDIDATES = 2048
_N_FAVOURITES = 8


def candidates(task: Task) -> Float[ndarray, "c d"]:
    """Scaled starting points of the search for the argmin."""
    return task.space.scale(task.space.sobol(_N_CANDIDATES, [task.seed, 2]))


def surroundings(
    task: Task,
    starts: Float[ndarray, "c d"],
    data: Data,
    pending: Float[ndarray, "q d"],
    strength: float,
    others: Float[ndarray, "o d"] | None = None,
) -> Surroundings:
    """What the search has to know: where to start, what is known, what is infeasible."""
    space = task.space
    order = np.argsort(task.sign * data.values, kind="stable")[:_N_FAVOURITES]
    best = space.scale(data.points[order]) if len(order) else np.zeros((1, space.dim))
    return Surroundings(
        candidates=starts,
        others=np.zeros((0, space.dim)) if others is None else others,
        favourites=np.resize(best, (_N_FAVOURITES, space.dim)),
        known=space.scale(np.concatenate([data.points, pending])),
        bad=space.scale(data.infeasible),
        strength=strength,
    )
