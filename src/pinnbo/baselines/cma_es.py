"""``cma-es``: the covariance matrix adaptation evolution strategy, with restarts of a doubled population.

The library is `cmaes`. Measurements in their order are its generations: its state is found again from them.

References
----------
N. Hansen, "The CMA evolution strategy: a tutorial" (2016).
A. Auger, N. Hansen, "A restart CMA evolution strategy with increasing population size" (2005).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from pinnbo.baselines.gaussian_process import in_unit_cube
from pinnbo.baselines.library import require
from pinnbo.baselines.proposals import n_designed, set_apart
from pinnbo.data import Data
from pinnbo.methods.base import Engine, Method, Prediction, Task
from pinnbo.methods.nearest import nearest_measurement


@dataclass(frozen=True)
class CMAES(Method):
    """``sigma`` is the first step size, in a cube of side one; the first mean is the best point of the
    initial design.
    """

    name: ClassVar[str] = "cma-es"

    sigma: float = 0.25

    def __post_init__(self) -> None:
        if not self.sigma > 0:
            raise ValueError(f"cma-es: sigma must be positive, got {self.sigma}")

    def start(self, task: Task) -> Engine:
        """Begin; the physics is not used."""
        return _CMAESEngine(self, task)


class _CMAESEngine(Engine):
    def __init__(self, settings: CMAES, task: Task) -> None:
        require("cma-es", "cmaes")
        self._settings, self._task = settings, task

    def suggest(
        self, data: Data, pending: Float[ndarray, "q d"], n: int, index: int
    ) -> Float[ndarray, "n d"]:
        """Draws from the current generation's distribution."""
        strategy = self._replay(data)
        chosen = np.zeros((0, self._task.space.dim))
        for number in range(n):
            rng = self._task.rng(5, index + number)
            strategy.reseed_rng(int(rng.integers(2**31)))
            proposal = self._task.space.unscale(2.0 * strategy.ask() - 1.0)
            known = np.concatenate([pending, chosen])
            chosen = np.vstack([chosen, set_apart(self._task, proposal, data, known, rng)])
        return chosen

    def predict(self, data: Data, points: Float[ndarray, "n d"]) -> Prediction:
        """That of the nearest measurement."""
        return nearest_measurement(self._task.space, data, points)

    def diagnostics(self, data: Data) -> dict[str, Any]:
        """The generation of the current start, and its population."""
        strategy = self._replay(data)
        return {"model": "none", "generation": strategy.generation, "population": strategy.population_size}

    def _replay(self, data: Data) -> Any:
        """The strategy after all full generations."""
        begin = n_designed(self._task, data)
        points, values = in_unit_cube(self._task, data.points), self._task.sign * data.values
        mean = points[int(np.argmin(values[:begin]))] if begin else np.full(self._task.space.dim, 0.5)
        strategy = self._begin(mean, None)
        restarts = 0
        while begin + strategy.population_size <= len(values):
            end = begin + strategy.population_size
            strategy.tell([(points[i], float(values[i])) for i in range(begin, end)])
            begin = end
            if strategy.should_stop():
                restarts += 1
                mean = self._task.rng(8, restarts).random(self._task.space.dim)
                strategy = self._begin(mean, 2 * strategy.population_size)
        return strategy

    def _begin(self, mean: Float[ndarray, " d"], population: int | None) -> Any:
        from cmaes import CMA

        bounds = np.tile([0.0, 1.0], (len(mean), 1))
        return CMA(mean.copy(), self._settings.sigma, bounds, population_size=population, seed=0)
