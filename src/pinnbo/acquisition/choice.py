"""Choosing points to measure from the local minima of an acquisition: new ones, and away from known trouble.

A greedy acquisition whose argmin has been measured would ask for it for ever. A minimum is therefore taken
only if it differs from all points measured or pending; the best of the points in a shell around the minima,
at least a fiftieth of the box away from everything known, compete with the minima that remain.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from numpy import ndarray

from pinnbo.acquisition.search import Acquisition, Effort, evaluate, minimise

# lengths in scaled coordinates, multiplied by sqrt(d)
_SAME = 1e-3
_SHELL = 0.02
_PENALTY_WIDTH = 0.15
_N_SHELL = 256


class Guarded(eqx.Module):
    """An acquisition that is raised near infeasible points, less so where feasible ones are as near.

    p(s) = sum_bad k / (sum_bad k + sum_good k + 1/2), k a Gaussian bump of 0.15 of the diagonal's half;
    the acquisition is raised by strength * p(s).
    """

    acquisition: Callable[[Any, Float[Array, " d"]], Float[Array, ""]]

    def __call__(self, parameters: Any, s: Float[Array, " d"]) -> Float[Array, ""]:
        """The raised value."""
        inner, (good, good_weights), (bad, bad_weights), strength = parameters
        width = _PENALTY_WIDTH * jnp.sqrt(s.size)

        def mass(points: Array, weights: Array) -> Array:
            return jnp.sum(weights * jnp.exp(-0.5 * jnp.sum((points - s) ** 2, axis=1) / width**2))

        close = mass(bad, bad_weights)
        return self.acquisition(inner, s) + strength * close / (close + mass(good, good_weights) + 0.5)


@dataclass(frozen=True)
class Surroundings:
    """What the search knows besides the acquisition; scaled coordinates.

    ``candidates`` and ``favourites`` are starting points, ``known`` the points measured or pending, ``bad``
    the infeasible ones, from which an acquisition of size ``strength`` is kept away.
    """

    candidates: Float[ndarray, "c d"]
    favourites: Float[ndarray, "b d"]
    known: Float[ndarray, "n d"]
    bad: Float[ndarray, "m d"]
    strength: float


def choose(
    acquisition: Acquisition,
    parameters: Any,
    around: Surroundings,
    n: int,
    rng: np.random.Generator,
    effort: Effort | None = None,
) -> Float[ndarray, "n d"]:
    """The n points of [-1, 1]^d with the lowest acquisition that are new."""
    if len(around.bad):
        strength = jnp.asarray(around.strength)
        parameters = (parameters, _padded(around.known), _padded(around.bad), strength)
        acquisition = Guarded(acquisition)
    candidates, favourites = jnp.asarray(around.candidates), jnp.asarray(around.favourites)
    minima = minimise(acquisition, parameters, candidates, favourites, effort or Effort())
    shell = _shell(np.asarray(minima.points[:4]), rng)
    values = np.concatenate([minima.values, evaluate(acquisition, parameters, jnp.asarray(shell))])
    pool = np.concatenate([minima.points, shell])
    room = np.sqrt(pool.shape[1]) * np.where(np.arange(len(pool)) < len(minima.values), _SAME, _SHELL)
    order = np.argsort(values, kind="stable")
    taken, chosen = around.known, []
    # the last resort is far from everything: the candidates in their own order
    for s, apart in [*((pool[i], room[i]) for i in order), *((s, 0.0) for s in around.candidates)]:
        if len(taken) == 0 or np.min(np.linalg.norm(taken - s, axis=1)) > apart:
            chosen.append(s)
            taken = np.vstack([taken, s])
        if len(chosen) == n:
            break
    return np.array(chosen)


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


def _padded(points: Float[ndarray, "n d"]) -> tuple[Array, Array]:
    size = max(8, 1 << max(0, len(points) - 1).bit_length())
    filled, weights = np.zeros((size, points.shape[1])), np.zeros(size)
    filled[: len(points)], weights[: len(points)] = points, 1.0
    return jnp.asarray(filled), jnp.asarray(weights)
