"""``random``: a scrambled Sobol sequence, the baseline that every method has to beat."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from jaxtyping import Float
from numpy import ndarray

from pinnbo.data import Data
from pinnbo.methods.base import SPACES, Engine, Method, Prediction, Task
from pinnbo.methods.nearest import nearest_measurement


@dataclass(frozen=True)
class RandomSearch(Method):
    """No settings."""

    name: ClassVar[str] = "random"
    handles: ClassVar[frozenset[str]] = frozenset(SPACES) - {"objective", "learn", "robust", "instrument"}

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
        return self._task.region.sobol(index + n, [self._task.seed, 4])[index:]

    def predict(self, data: Data, points: Float[ndarray, "n d"]) -> Prediction:
        """That of the nearest measurement."""
        return nearest_measurement(self._task.space, data, points)

    def diagnostics(self, data: Data) -> dict[str, Any]:
        """Nothing to tell."""
        return {"model": "none"}
