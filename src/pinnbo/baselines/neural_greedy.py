"""``neural-greedy``: a network fitted to randomly perturbed values, then used greedily.

For each suggestion the values are perturbed by normal noise, a network is trained on them from fresh random
weights, and its minimiser is measured. Weights and perturbation are what explores.

Reference
---------
B. Paria, B. Poczos, P. Ravikumar, J. Schneider, A. S. Suggala, "Be greedy: a simple algorithm for blackbox
optimization using neural networks" (2022).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import numpy as np
from jaxtyping import Float
from numpy import ndarray

from pinnbo.acquisition.choice import choose
from pinnbo.acquisition.compiled import Compiled
from pinnbo.baselines.network import Network, network_value
from pinnbo.data import Data
from pinnbo.methods.base import SEARCHED, Engine, Method, Prediction, Task
from pinnbo.methods.setup import candidates, fill, surroundings
from pinnbo.network.mlp import MLP
from pinnbo.network.train import Schedule


@dataclass(frozen=True)
class NeuralGreedy(Method):
    """The network, its training by Adam, and the ``perturbation``, in units of the values' spread."""

    name: ClassVar[str] = "neural-greedy"
    handles: ClassVar[frozenset[str]] = SEARCHED | {"log"}

    width: int = 100
    depth: int = 3
    gain: float = 3.0
    epochs: int = 200
    learning_rate: float = 5e-3
    perturbation: float = 0.1

    def __post_init__(self) -> None:
        if not self.learning_rate > 0:
            raise ValueError(f"neural-greedy: learning_rate must be positive, got {self.learning_rate}")
        if self.perturbation < 0:
            raise ValueError(f"neural-greedy: perturbation must not be negative, got {self.perturbation}")

    def start(self, task: Task) -> Engine:
        """Begin; the physics is not used."""
        return _NeuralGreedyEngine(self, task)


class _NeuralGreedyEngine(Engine):
    def __init__(self, settings: NeuralGreedy, task: Task) -> None:
        self._settings, self._task = settings, task
        self._model = MLP(task.space.dim, settings.width, settings.depth, gain=settings.gain)
        self._schedule = Schedule(settings.epochs)
        self._candidates = candidates(task)

    def suggest(
        self, data: Data, pending: Float[ndarray, "q d"], n: int, index: int
    ) -> Float[ndarray, "n d"]:
        """The minimiser of a network of its own for each point."""
        if len(data.values) == 0:
            return fill(self._task, data, pending, n, index)
        chosen = np.zeros((0, self._task.space.dim))
        for number in range(n):
            rng = self._task.rng(5, index + number)
            noise = self._settings.perturbation * rng.standard_normal(len(data.values))
            network = self._fit(data, noise, index + number)
            known = np.concatenate([pending, chosen])
            around = surroundings(self._task, self._candidates, data, known)
            objective = Compiled(network_value, (self._model, network.theta, self._task.sign))
            (s,) = choose(objective, around, 1, rng)
            chosen = np.vstack([chosen, self._task.region.exact(s)])
        return chosen

    def predict(self, data: Data, points: Float[ndarray, "n d"]) -> Prediction:
        """A network trained on the values as they are; its misfit serves as the deviation, for it has
        none.
        """
        if len(data.values) == 0:
            return Prediction(np.zeros(len(points)), np.ones(len(points)))
        network = self._fit(data, np.zeros(len(data.values)), 0)
        misfit = data.values - network.predict(self._task.space.scale(data.points))
        deviation = float(np.sqrt(np.mean(misfit**2)))
        return Prediction(network.predict(self._task.space.scale(points)), np.full(len(points), deviation))

    def diagnostics(self, data: Data) -> dict[str, Any]:
        """The architecture."""
        return {"model": f"network, width {self._settings.width}, depth {self._settings.depth}"}

    def _fit(self, data: Data, perturbation: Float[ndarray, " n"], draw: int) -> Network:
        key = jax.random.fold_in(jax.random.key(self._task.seed), draw)
        settings = self._settings
        return Network.fit(
            settings.name,
            self._task,
            self._model,
            data,
            perturbation,
            self._schedule,
            settings.learning_rate,
            key,
        )
