"""``random``: a scrambled Sobol sequence, the baseline that every method has to beat."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from pinnbo.data import Data, Standard
from pinnbo.methods.base import Engine, Method, Prediction, Task


@dataclass(frozen=True)
class RandomSearch(Method):
    """No settings."""

    name: ClassVar[str] = "random"

    def start(self, task: Task) -> Engine:
        """Begin; the physics is not used."""
        return _RandomEngine(task)

    def default_initial(self, task: Task) -> int:
        """None: every point is space-filling."""
        return 0


class _RandomEngine(Engine):
    def __init__(self, task: Task) -> None:
        self._task = task

    def suggest(
        self, data: Data, pending: Float[ndarray, "q d"], n: int, index: int
    ) -> Float[ndarray, "n d"]:
        """The next points of the sequence."""
        return self._task.space.sobol(index + n, [self._task.seed, 4])[index:]

    def predict(self, data: Data, points: Float[ndarray, "n d"]) -> Prediction:
        """The value of the nearest measurement, with the spread of all of them."""
        standard = Standard.of(data.values)
        mean = np.full(len(points), standard.shift)
        if len(data.values):
            scaled, known = self._task.space.scale(points), self._task.space.scale(data.points)
            mean = data.values[[int(np.argmin(np.sum((known - s) ** 2, axis=1))) for s in scaled]]
        return Prediction(mean, np.full(len(points), standard.scale))

    def diagnostics(self, data: Data) -> dict[str, Any]:
        """Nothing to tell."""
        return {"model": "none"}
