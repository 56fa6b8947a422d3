"""What a method is: settings that start an engine, an engine that suggests points from the data so far.

An engine's answers depend only on the task, on the data and on the index of the suggestion, so that a study
that is stopped and restored goes on as if nothing had happened; what it keeps between calls is a cache.
"""

from __future__ import annotations

import copy
import dataclasses
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from pinnbo.data import Data
from pinnbo.ensemble.mixture import Mixture
from pinnbo.knowledge import Unknown
from pinnbo.pde import PDE
from pinnbo.space import Space


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

    def rng(self, *purpose: int) -> np.random.Generator:
        """A random stream of its own for each purpose."""
        return np.random.default_rng([self.seed, *purpose])

    def design(self, n: int, index: int) -> Float[ndarray, "n d"]:
        """n of the points that fill the box, from an index on: what to measure while nothing is known."""
        return self.space.sobol(index + n, [self.seed, 0])[index:]


class Prediction(NamedTuple):
    """Posterior mean and standard deviation of f."""

    mean: Float[ndarray, " n"]
    std: Float[ndarray, " n"]


class Engine(ABC):
    """A method at work on one task."""

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

    def predict_field(self, data: Data, points: Float[ndarray, "n d"], number: int) -> Prediction:
        """What is known of one of several fields, where the method knows several."""
        raise NotImplementedError("this method knows one field only")

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

    def restore(self, state: dict[str, Any], data: Data) -> None:  # noqa: B027
        """Take up the state of an earlier engine."""


class Method(ABC):
    """Settings of a method; a frozen dataclass in every subclass."""

    name: ClassVar[str]
    general: ClassVar[bool] = False
    """Whether it can use several fields, unknown coefficients and sensors other than the measured field's value."""

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
        return int(np.clip(task.space.dim + 1, 4, 20))


def stage_of(n: int) -> int:
    """When settings are chosen anew: the last of 0, 1, ..., 10, 12, 14, 16, 19, ... that is not above n."""
    stage = 0
    while (following := stage + max(1, stage // 5)) <= n:
        stage = following
    return stage
