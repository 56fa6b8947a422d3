"""Choosing points to measure from the local minima of an acquisition: new ones, where a measurement is possible.

A greedy acquisition whose argmin has been measured would ask for it for ever. A minimum is therefore taken
only if it differs from all points measured or pending; the best of the points in a shell around the minima,
at least a fiftieth of the box away from everything known, compete with the minima that remain. Once a point was found
impossible, the gain is weighed by the probability that a measurement is possible (`pinnbo.acquisition.feasibility`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from pinnbo.acquisition.feasibility import Everywhere, Feasibility, Weighed
from pinnbo.acquisition.search import Effort, Minima, Objective, minimise

# lengths in scaled coordinates, multiplied by sqrt(d)
_SAME = 1e-3
_SHELL = 0.02
_N_SHELL = 256


@dataclass(frozen=True)
class Surroundings:
    """What the search knows besides the acquisition; scaled coordinates.

    ``candidates`` (the same array each time), ``others`` and ``favourites`` are starting points, ``known`` the points
    measured, pending or impossible; ``possible`` tells how likely a measurement elsewhere is possible.
    """

    candidates: Float[ndarray, "c d"]
    others: Float[ndarray, "o d"]
    favourites: Float[ndarray, "b d"]
    known: Float[ndarray, "n d"]
    possible: Feasibility = field(default_factory=Everywhere)


def choose(
    objective: Objective,
    around: Surroundings,
    n: int,
    rng: np.random.Generator,
    effort: Effort | None = None,
) -> Float[ndarray, "n d"]:
    """The n points of [-1, 1]^d with the lowest objective that are new."""
    if around.possible.is_learnt:
        objective = Weighed.of(objective, around.possible, around.candidates, around.favourites)
    minima = minimise(objective, around.candidates, around.others, around.favourites, effort or Effort())
    chosen = np.zeros((0, around.candidates.shape[1]))
    for s, apart in _in_order(objective, minima, around, rng):
        if len(chosen) == 0 or _nearest(s[None], chosen)[0] > apart:
            chosen = np.vstack([chosen, s])
        if len(chosen) == n:
            break
    return chosen


def _in_order(
    objective: Objective, minima: Minima, around: Surroundings, rng: np.random.Generator
) -> Iterator[tuple[Float[ndarray, " d"], float]]:
    """Points to take that are not known, and how far each has to be from the others.

    The lowest minimum by itself, since it is mostly new; then the others and a shell around the best, by their values;
    the last resort, far from everything, are the candidates in their own order.
    """
    root = np.sqrt(around.candidates.shape[1])
    if _nearest(minima.points[:1], around.known)[0] > _SAME * root:
        yield minima.points[0], _SAME * root
    shell = _shell(minima.points[:4], rng)
    values = np.concatenate([minima.values, objective.values(shell)])
    pool = np.concatenate([minima.points, shell])
    room = root * np.where(np.arange(len(pool)) < len(minima.values), _SAME, _SHELL)
    is_new = _nearest(pool, around.known) > room
    for i in np.argsort(values, kind="stable"):
        if is_new[i]:
            yield pool[i], room[i]
    for start in range(0, len(around.candidates), _N_SHELL):
        some = around.candidates[start : start + _N_SHELL]
        for s in some[_nearest(some, around.known) > 0.0]:
            yield s, 0.0


def _nearest(points: Float[ndarray, "p d"], known: Float[ndarray, "n d"]) -> Float[ndarray, " p"]:
    """Distance of each point to the nearest of those known; blocks keep the memory bounded."""
    least = np.full(len(points), np.inf)
    for start in range(0, len(known), _N_SHELL):
        gaps = points[:, None] - known[None, start : start + _N_SHELL]
        np.minimum(least, np.sqrt(np.min(np.sum(gaps**2, axis=2), axis=1)), out=least)
    return least


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
