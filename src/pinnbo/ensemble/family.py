"""What a family of models is: a way to model f, with a grid of settings, and what it can do with the equations.

A model is a family with a setting (its length scales). Which families there are is in `pinnbo.ensemble.registry`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pinnbo.data import Data
from pinnbo.ensemble.coefficients import Averaged
from pinnbo.gp.process import Process
from pinnbo.knowledge import Unknown
from pinnbo.pde import PDE, Collocation
from pinnbo.physics.averages import unresolved_medium
from pinnbo.physics.coordinates import BOX, Coordinates
from pinnbo.physics.curves import Characteristics
from pinnbo.physics.images import Images
from pinnbo.physics.jets import JetPDE
from pinnbo.space import Space
from pinnbo.thresholds import POINTS_FILL, RESOLVED

Scales = tuple[float, ...]


@dataclass(frozen=True, eq=False)
class Stated:
    """The physics that a user has stated, and how finely it is to be used."""

    space: Space
    physics: tuple[PDE, ...]
    seed: int
    collocation: int  # rows in all
    row_noise: float  # of a row, relative to its prior standard deviation
    fields: tuple[str, ...] = ("f",)  # the measured one first
    unknowns: tuple[Unknown, ...] = ()
    images: Images | None = None  # the symmetries

    @property
    def is_plain(self) -> bool:
        """Whether there is one field only, and every coefficient is known."""
        return len(self.fields) == 1 and not self.unknowns

    @cached_property
    def is_linear(self) -> bool:
        """Whether every equation is."""
        return all(pde.is_linear(self.space) for pde in self.physics)

    @cached_property
    def characteristics(self) -> Characteristics | None:
        """Of one first-order equation without source, in two or three coordinates."""
        plain = self.is_plain and self.space.is_plain
        return Characteristics.of(self.space, self.physics) if plain else None

    @cached_property
    def per_equation(self) -> int:
        """Collocation points of each PDE."""
        everywhere = [pde for pde in self.physics if pde.points is None]
        return max(1, self.collocation // max(1, sum(pde.n_equations(self.space) for pde in everywhere)))

    @cached_property
    def medium_jumps(self) -> bool:
        """Whether the coefficients of second and higher derivatives jump between the rows.

        The slope of f has a kink there, which rows at points do not see and smooth models do not have: they would
        contradict an equation that is true.
        """
        if self.space.dim > POINTS_FILL or not self.is_plain:
            return False
        everywhere = [pde for pde in self.physics if pde.points is None and pde.order(self.space) > 1]
        jets = [JetPDE(self.space, pde) for pde in everywhere]
        return any(unresolved_medium(jet, self.per_axis) > RESOLVED for jet in jets)

    @property
    def per_axis(self) -> int:
        """Collocation points of a PDE along an axis: their spacing is what rows resolve."""
        return max(1, round(self.per_equation ** (1 / self.space.dim)))

    def collocate(self, n: int, stream: int, coordinates: Coordinates = BOX) -> list[tuple[PDE, Collocation]]:
        """n points of every PDE, spread evenly in the coordinates; others in every stream."""
        return [
            (pde, pde.collocation(self.space, n, [self.seed, 1 + 10 * stream, number], coordinates.even))
            for number, pde in enumerate(self.physics)
        ]


class Family(ABC):
    """A way to model f, with a grid of settings."""

    name: str

    def __init__(self, space: Space) -> None:
        self.space = space

    @property
    def keeps(self) -> bool:
        """Whether what follows from the physics is the same for all data, and can be prepared."""
        return True

    @property
    def is_dear(self) -> bool:
        """Whether every setting of the grid, which begins at the shortest length scale, takes a search of its own."""
        return False

    @property
    @abstractmethod
    def grid(self) -> list[Scales]:
        """Settings that are compared."""

    @abstractmethod
    def process(self, scales: Scales, data: Data) -> Process | None:
        """The prior given the physics, or None where the setting cannot be used."""

    def settings(self, data: Data) -> list[tuple[Scales, float]]:
        """Settings that are compared on data, each with its log prior: those of the grid."""
        return [(scales, self.log_prior(scales)) for scales in self.grid]

    def log_prior(self, scales: Scales) -> float:
        """Log prior of a setting, not normalised: flat."""
        return 0.0

    def log_mass(self, used: Sequence[Scales]) -> float:
        """Log prior of all settings that the evidence is averaged over: those that could be used."""
        return float(np.logaddexp.reduce([self.log_prior(scales) for scales in used]))

    def coefficients(self, data: Data) -> Averaged | None:
        """What data say of the unknown coefficients; None where there are none."""
        return None

    def refined(self, scales: Scales, data: Data) -> list[tuple[Scales, float]]:
        """Settings worth trying beside the best of the grid, each with its log prior."""
        return []

    def loosened(self, misfits: Sequence[float]) -> list[Family]:
        """Families for which the equations hold but for a smooth unknown; none where there are none.

        The sizes are root mean squares as shares of the equations' largest term.
        """
        return []

    def alternatives(self, data: Data) -> list[Process]:
        """Processes without the family's main assumption, to put it to the test; none where it has none."""
        return []

    def described(self, scales: Scales) -> str:
        """A setting in words."""
        low, high = min(scales), max(scales)
        return f"{self.name}, length scale " + (f"{low:.2g}" if low == high else f"{low:.2g} to {high:.2g}")


Group = Sequence[Family]
"""Families that share one prior probability: their evidence is averaged."""


def equal_scales(space: Space, root: float, longest: int) -> list[Scales]:
    """The same length scale on all axes, 2^-5 .. 2^longest times the root of the dimension."""
    return [(float(root * 2.0**power),) * space.dim for power in range(-5, longest + 1)]


def log_normal(scales: Scales, root: float) -> float:
    """Around a third of the root of the dimension: of the box' half diagonal."""
    return -0.5 * float(np.mean((np.log(np.array(scales) / (0.35 * root)) / 1.5) ** 2))
