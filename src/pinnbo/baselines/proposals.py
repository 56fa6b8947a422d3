"""What methods that propose points in their own way have to add: where their steps begin, and no point twice."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from pinnbo.data import Data
from pinnbo.methods.base import Task

# lengths in scaled coordinates, multiplied by sqrt(d)
_SAME = 1e-3
_TROUBLE = 0.1
_SHELL = 64
_SHELLS = 12


def n_designed(task: Task, data: Data) -> int:
    """How many of the first measurements belong to the initial design: a method that counts its steps
    begins after.
    """
    design = task.space.scale(task.design(2 * len(data.values) + 16, 0))
    steps = _gap(task.space.scale(data.points), design) > 1e-9
    return int(np.argmax(steps)) if steps.any() else len(data.values)


def set_apart(
    task: Task,
    proposal: Float[ndarray, " d"],
    data: Data,
    pending: Float[ndarray, "q d"],
    rng: np.random.Generator,
) -> Float[ndarray, " d"]:
    """The proposal, or the nearest place to it that is new and not beside an infeasible point.

    Shells of twice the radius each are tried around it; where nothing fits, the roomiest place is taken.
    """
    space = task.space
    known = space.scale(np.concatenate([data.points, pending]))
    trouble = space.scale(data.infeasible)
    unit = np.sqrt(space.dim)
    centre = space.scale(proposal)
    tried, roomiest, best = centre[None], 0.0, proposal
    for number in range(_SHELLS):
        room = np.minimum(_gap(tried, known) / (_SAME * unit), _gap(tried, trouble) / (_TROUBLE * unit))
        if number == 0 and room[0] > 1.0:
            return proposal
        if np.max(room) > roomiest:
            roomiest, best = float(np.max(room)), space.unscale(tried[int(np.argmax(room))])
        if roomiest > 1.0:
            break
        direction = rng.standard_normal((_SHELL, space.dim))
        direction /= np.linalg.norm(direction, axis=1, keepdims=True)
        tried = np.clip(centre + 2.0 * _SAME * unit * 2.0**number * direction, -1.0, 1.0)
    return best


def _gap(points: Float[ndarray, "k d"], others: Float[ndarray, "n d"]) -> Float[ndarray, " k"]:
    if len(others) == 0:
        return np.full(len(points), np.inf)
    return np.min(np.linalg.norm(points[:, None] - others, axis=2), axis=1)
