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
from pinnbo.region import Region

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
    region: Region | None = None  # what may be measured, where that is not all of the box


def choose(
    objective: Objective,
    around: Surroundings,
    n: int,
    rng: np.random.Generator,
    effort: Effort | None = None,
) -> Float[ndarray, "n d"]:
    """The n points of [-1, 1]^d with the lowest objective that are new; known ones where a grid has no others."""
    if around.possible.is_learnt:
        objective = Weighed.of(objective, around.possible, around.candidates, around.favourites)
    region = None if around.region is None or around.region.is_plain else around.region
    minima = minimise(
        objective, around.candidates, around.others, around.favourites, effort or Effort(), region
    )
    taken, chosen = around.known, np.zeros((0, around.candidates.shape[1]))
    if region is not None:
        minima = _settled(objective, minima, region)
    for s, apart in _in_order(objective, minima, around.candidates, rng, region):
        if len(taken) == 0 or apart < 0 or np.min(_distance(region, taken, s)) > apart:
            chosen, taken = np.vstack([chosen, s]), np.vstack([taken, s])
        if len(chosen) == n:
            break
    return chosen


def _settled(objective: Objective, minima: Minima, region: Region) -> Minima:
    """The minima that may be measured, on the grid if there is one, with their values there."""
    points = region.settled(minima.points)
    if len(points) == 0:
        return Minima(points, np.zeros(0))
    values = objective.values(points)
    ranking = np.argsort(values, kind="stable")
    return Minima(points[ranking], values[ranking])


def _distance(region: Region | None, some: ndarray, s: Float[ndarray, " d"]) -> Float[ndarray, " n"]:
    return np.linalg.norm(some - s, axis=1) if region is None else region.distance(some, s)


def _in_order(
    objective: Objective,
    minima: Minima,
    candidates: ndarray,
    rng: np.random.Generator,
    region: Region | None,
) -> Iterator[tuple[Float[ndarray, " d"], float]]:
    """Points to take, and how far each has to be from all that is known.

    The lowest minimum by itself, since it is mostly new; then the others and a shell around the best, by their values;
    the last resort, far from everything, are the candidates in their own order, and places that are known.
    """
    root = np.sqrt(candidates.shape[1])
    if len(minima.points):
        yield minima.points[0], _SAME * root
    shell = _shell(minima.points[:4] if len(minima.points) else candidates[:4], rng)
    if region is not None:
        shell = region.settled(region.project(shell))
    values = np.concatenate([minima.values, objective.values(shell)])
    pool = np.concatenate([minima.points, shell])
    room = root * np.where(np.arange(len(pool)) < len(minima.values), _SAME, _SHELL)
    for i in np.argsort(values, kind="stable"):
        yield pool[i], room[i]
    for s in candidates:
        yield s, 0.0
    # a grid of few points: to measure one again
    for s in [*minima.points, *candidates]:
        yield s, -1.0


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
