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
