"""What a method is: settings that start an engine, an engine that suggests points from the data so far.

An engine's answers depend only on the task, on the data and on the index of the suggestion, so that a study
that is stopped and restored goes on as if nothing had happened; what it keeps between calls is a cache.
"""

from __future__ import annotations

import copy
import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from pinnbo.data import Data
from pinnbo.ensemble.mixture import Mixture
from pinnbo.gp.readings import Instrument
from pinnbo.gp.simulation import Simulation
from pinnbo.knowledge import Unknown
from pinnbo.objective import Limit, Target
from pinnbo.pde import PDE
from pinnbo.physics.images import Images
from pinnbo.region import Region
from pinnbo.space import Space
from pinnbo.thresholds import FEWEST, MOST

SPACES = {
    "inside": "a space that is not a box",
    "step": "stepped axes",
    "log": "log axes",
    "periodic": "periodic axes",
    "fixed": "fixed coordinates",
    "domain": "a domain that is larger than what is searched",
    "objective": "an objective other than the measured field, or limits",
    "learn": "the goal 'learn'",
    "instrument": "batches and drifts of the instrument",
    "robust": "readings that may be outliers",
}
"""What may be asked for besides the optimum of the measured field on a box, in words."""

SEARCHED = frozenset({"inside", "step", "fixed", "domain"})
"""What follows from the search alone, whatever the model."""


@dataclass(frozen=True)
class Task:
    """What is to be optimised. ``sign`` is +1 to minimise, -1 to maximise; ``noise`` a known sd or None."""

    space: Space
    physics: tuple[PDE, ...]
    sign: float
    seed: int
    noise: float | None
    fields: tuple[str, ...] = ("f",)  # the measured one first
    unknowns: tuple[Unknown, ...] = ()
    simulation: Simulation | None = None
    searched: Region | None = None  # where that is less than the space
    target: Target | None = None  # where the objective is not the measured field itself
    limits: tuple[Limit, ...] = ()
    learn: bool = False  # the map, or the unknown coefficients, in place of an optimum
    robust: float | None = None  # the prior probability of a reading being an outlier, where there may be any

    @cached_property
    def images(self) -> Images | None:
        """The symmetries that are stated."""
        return Images.of(self.space, self.physics)

    @cached_property
    def region(self) -> Region:
        """Where the next measurement may be."""
        return Region(self.space) if self.searched is None else self.searched

    def rng(self, *purpose: int) -> np.random.Generator:
        """A random stream of its own for each purpose."""
        return np.random.default_rng([self.seed, *purpose])

    def design(self, n: int, index: int) -> Float[ndarray, "n d"]:
        """n of the points that fill the region, from an index on: what to measure while nothing is known."""
        return self.region.sobol(index + n, [self.seed, 0])[index:]


class Prediction(NamedTuple):
    """Posterior mean and standard deviation of f."""

    mean: Float[ndarray, " n"]
    std: Float[ndarray, " n"]


class Engine(ABC):
    """A method at work on one task."""

    _task: Task

    def suggest_within(
        self, region: Region, data: Data, pending: Float[ndarray, "q d"], n: int, index: int
    ) -> Float[ndarray, "n d"]:
        """As `suggest`, in a part of what is searched."""
        task = self._task
        self._task = dataclasses.replace(task, searched=region)
        try:
            return self.suggest(data, pending, n, index)
        finally:
            self._task = task

    @abstractmethod
    def suggest(
        self, data: Data, pending: Float[ndarray, "q d"], n: int, index: int
    ) -> Float[ndarray, "n d"]:
        """n points to measure next, none of them pending; index counts the points asked before."""

    @abstractmethod
    def predict(self, data: Data, points: Float[ndarray, "n d"]) -> Prediction:
        """What is known of f at points."""

    @abstractmethod
    def diagnostics(self, data: Data) -> dict[str, Any]:
        """How the suggestion comes about, as plain numbers and texts."""

    def predict_of(self, data: Data, points: Float[ndarray, "n d"], sensor: Instrument) -> Prediction:
        """What a sensor is expected to read at points, where the method can use sensors."""
        raise NotImplementedError("this method knows values of one field only")

    def predict_objective(self, data: Data, points: Float[ndarray, "n d"]) -> Prediction:
        """What is known of an objective that is not the measured field."""
        raise NotImplementedError("this method knows the measured field only")

    def recommended(self, data: Data) -> Float[ndarray, " d"]:
        """Where such an objective is best, within the limits."""
        raise NotImplementedError("this method knows the measured field only")

    def suggest_reading(
        self,
        data: Data,
        pending: Float[ndarray, "q d"],
        options: Sequence[tuple[Instrument | None, float]],
        index: int,
    ) -> tuple[Float[ndarray, " d"], int]:
        """Which of the sensors to read, and where; each comes with its cost, None is the measured field itself."""
        raise NotImplementedError("this method knows values of one field only")

    def posterior(self, data: Data, hypothesis: str | None = None) -> Mixture | None:
        """The whole posterior of f, or that under one hypothesis, where the method has one in closed form."""
        return None

    def state(self) -> dict[str, Any]:
        """What cannot be found again from the data, as JSON."""
        return {}

    def copy(self) -> Engine:
        """An engine that goes its own way from here; what was computed from the physics is shared."""
        other = copy.copy(self)
        for name, kept in vars(self).items():
            if isinstance(kept, dict | list):
                setattr(other, name, kept.copy())
        return other

    def in_hindsight(self, now: Data, data: Data) -> Engine:
        """A copy for questions about other ``data``, with the models chosen ``now`` where there is a choice of them."""
        return self.copy()

    def restore(self, state: dict[str, Any], data: Data) -> None:  # noqa: B027
        """Take up the state of an earlier engine."""


class Method(ABC):
    """Settings of a method; a frozen dataclass in every subclass."""

    name: ClassVar[str]
    general: ClassVar[bool] = False
    """Whether it can use several fields, unknown coefficients and sensors other than the measured field's value."""
    handles: ClassVar[frozenset[str]] = frozenset()
    """What it can do besides searching a box: some of `SPACES`."""

    @abstractmethod
    def start(self, task: Task) -> Engine:
        """Check the task and begin."""

    def to_json(self) -> dict[str, Any]:
        """The settings as plain JSON."""
        return dataclasses.asdict(self)  # type: ignore[call-overload]

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> Method:
        """The settings that `to_json` wrote."""
        return cls(**stored)

    def default_initial(self, task: Task) -> int:
        """How many space-filling points come before the first suggestion of the method."""
        return int(np.clip(task.space.dim + 1, FEWEST, MOST))
