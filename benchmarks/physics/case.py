"""What a problem consists of, and how its best value is found from the truth."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float
from numpy import ndarray

from pinnbo import PDE, Space
from pinnbo.problems import Problem

Evaluate = Callable[[Float[ndarray, "n d"]], Float[ndarray, " n"]]
Goal = Literal["minimize", "maximize"]
Route = Literal[
    "closed form", "finite differences", "finite elements", "Fourier modes", "py-pde", "Runge-Kutta"
]

_DENSE = 2**16


def _everywhere(points: Float[ndarray, "n d"]) -> Bool[ndarray, " n"]:
    return np.ones(len(points), dtype=bool)


@dataclasses.dataclass(frozen=True)
class Stated:
    """A truth with the equation that a user would state for it.

    ``smooth`` tells where the equation holds in the classical sense at a distance of ``reach`` (in widths of
    the box) on every side: not across the edge of a heater or a kink.
    """

    space: Space
    pde: PDE
    evaluate: Evaluate
    goal: Goal = "maximize"
    smooth: Callable[[Float[ndarray, "n d"]], Bool[ndarray, " n"]] = _everywhere
    reach: float = 0.02


@dataclasses.dataclass(frozen=True)
class Case:
    """One problem for every seed: ``case(seed)`` gives it.

    ``build(seed, finer)`` states it; ``finer`` multiplies the number of grid cells of a numerical truth along every
    axis and does nothing to a closed form.
    """

    name: str
    route: Route
    build: Callable[[int, float], Stated]

    def __call__(self, seed: int) -> Problem:
        return _problem(self, seed)

    def stated(self, seed: int, finer: float = 1.0) -> Stated:
        """Truth and equation, without the search for the best value."""
        return _stated(self, seed, finer)


@functools.lru_cache(maxsize=64)
def _stated(case: Case, seed: int, finer: float) -> Stated:
    return case.build(seed, finer)


@functools.lru_cache(maxsize=256)
def _problem(case: Case, seed: int) -> Problem:
    stated = case.stated(seed)
    return searched(case.name, stated.space, stated.evaluate, stated.pde, stated.goal)


def searched(name: str, space: Space, evaluate: Evaluate, pde: PDE, goal: Goal) -> Problem:
    """A problem with best value and range from a dense search that is polished; NaN is never the best."""
    corners = np.stack(np.meshgrid(*zip(space.lower, space.upper, strict=True)), axis=-1)
    points = np.concatenate([space.sobol(_DENSE, 0), corners.reshape(-1, space.dim)])
    values = evaluate(points)
    x_low, low = _polished(evaluate, space, points, values)
    x_high, high = _polished(lambda x: -evaluate(x), space, points, -values)
    minimise = goal == "minimize"
    return Problem(
        name=name,
        space=space,
        pde=pde,
        goal=goal,
        optimum=low if minimise else -high,
        range=-high - low,
        noise=0.0,
        x_best=x_low if minimise else x_high,
        evaluate=evaluate,
        rebuild=lambda other: searched(name, other, evaluate, pde, goal),
    )


def _polished(
    evaluate: Evaluate, space: Space, points: Float[ndarray, "n d"], values: Float[ndarray, " n"]
) -> tuple[Float[ndarray, " d"], float]:
    """The lowest value near the best of the points, by random steps that shrink.

    Gradients are of no use here: optima lie on kinks, on edges of the box and on rims of impossible regions.
    """
    rng = np.random.default_rng(0)
    found = []
    for i in np.argsort(values)[:3]:
        x, lowest, step = points[i], values[i], 0.01
        while step > 1e-8:
            moves = step * rng.uniform(-1.0, 1.0, (32, space.dim)) * 2 * space.half_width
            tried = np.clip(x + moves, space.lower, space.upper)
            new = np.nan_to_num(evaluate(tried), nan=np.inf)
            best = int(np.argmin(new))
            if new[best] < lowest:
                x, lowest = tried[best], new[best]
            else:
                step *= 0.5
        found.append((float(lowest), x))
    lowest, x = min(found, key=lambda pair: pair[0])
    return np.array(x), lowest
