"""Places where nothing can be measured: NaN beside the optimum, and regions of NaN on whose rim the optimum lies.

The fields are closed forms with a true equation. ``possible`` of a case tells the true region, for a comparison with an
optimiser whose candidates are masked by it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
from jaxtyping import Bool, Float
from numpy import ndarray

from physics.case import Evaluate, searched
from pinnbo import PDE, Space
from pinnbo.operators import laplacian
from pinnbo.problems import Problem

Region = Callable[[Float[ndarray, "n d"]], Bool[ndarray, " n"]]
SQUARE = Space(x=(-1.0, 1.0), y=(-1.0, 1.0))


@dataclasses.dataclass(frozen=True)
class Impossible:
    """``case(seed)`` gives the problem, ``case.possible(seed)`` the region where it has values."""

    name: str
    build: Callable[[int], tuple[Evaluate, PDE, Region]]

    def __call__(self, seed: int) -> Problem:
        evaluate, pde, possible = self.build(seed)
        return restricted(searched(self.name, SQUARE, evaluate, pde, "maximize"), possible)

    def possible(self, seed: int) -> Region:
        """Where the problem has values."""
        return self.build(seed)[2]


def restricted(problem: Problem, possible: Region) -> Problem:
    """The same problem with NaN outside of a region; best value and range are those of the region."""

    def evaluate(points: Float[ndarray, "n d"]) -> Float[ndarray, " n"]:
        return np.where(possible(points), problem.evaluate(points), np.nan)

    return searched(problem.name, problem.space, evaluate, problem.pde, problem.goal)


def corner(seed: int) -> tuple[Evaluate, PDE, Region]:
    """exp(x) cos(y - c), c about 0.8: the best lies on the edge x = 1, NaN only where x and y exceed 0.97."""
    c = 0.8 + np.random.default_rng([seed, 211]).uniform(-0.02, 0.08) * (seed > 0)

    def evaluate(points):
        return np.exp(points[:, 0]) * np.cos(points[:, 1] - c)

    return evaluate, PDE(laplacian), lambda points: ~np.all(points > 0.97, axis=1)


def half_plane(seed: int) -> tuple[Evaluate, PDE, Region]:
    """exp(2 x) cos(2 (y - c)), NaN for x > 0.5: the best lies on the rim."""
    c = np.random.default_rng([seed, 212]).uniform(-0.5, 0.5) * (seed > 0)

    def evaluate(points):
        return np.exp(2 * points[:, 0]) * np.cos(2 * (points[:, 1] - c))

    return evaluate, PDE(laplacian), lambda points: points[:, 0] <= 0.5


def disc(seed: int) -> tuple[Evaluate, PDE, Region]:
    """A dome over a heated floor, lap T = -2, with NaN in a disc around its top: the best lies on the disc's rim."""
    top, move = np.random.default_rng([seed, 213]).uniform(-0.3, 0.3, (2, 2))
    # off the top by at most half a radius, so that one place of the rim is better than the others
    centre = top + 0.5 * move

    def evaluate(points):
        x, y = (points - top).T
        return -0.5 * (x**2 + y**2) + 0.15 * np.exp(x) * np.cos(y) - 0.15 * x

    return (
        evaluate,
        PDE(laplacian, source=-2.0),
        lambda points: np.linalg.norm(points - centre, axis=1) >= 0.35,
    )


CASES = (
    Impossible("nan-corner", corner),
    Impossible("nan-half-plane", half_plane),
    Impossible("nan-disc", disc),
)
