"""An engine that weighs readings: outliers count with a larger noise (`pinnbo.ensemble.outliers`).

Every question is passed on with the data weighed. What is an outlier is found anew from all the data whenever there
are more, so that a study that is restored goes on as it would have; a later reading may take an earlier one back.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from pinnbo.data import Data, stage_of
from pinnbo.ensemble.hypotheses import MANY, Hypothesis
from pinnbo.ensemble.mixture import Mixture
from pinnbo.ensemble.outliers import Found, Outliers
from pinnbo.gp.readings import Instrument
from pinnbo.methods.base import Engine, Prediction, Task
from pinnbo.region import Region
from pinnbo.values import OutlierWarning


class RobustEngine(Engine):
    """Another engine, which is given every reading with the noise that it is found to have."""

    def __init__(self, engine: Engine, hypotheses: Sequence[Hypothesis], task: Task) -> None:
        assert task.robust is not None
        self._engine, self._task = engine, task
        self._outliers = Outliers(hypotheses, task.space, task.robust)
        self._latest: tuple[Data, Found] | None = None
        self._said = False

    def _found(self, data: Data) -> Found:
        if self._latest is None or not (data.extends(self._latest[0]) and self._latest[0].extends(data)):
            settled = data.first(stage_of(min(len(data.values), MANY)))
            self._latest = data, self._outliers.found(data, settled)
            self._say(data, self._latest[1])
        return self._latest[1]

    def _weighed(self, data: Data) -> Data:
        times = self._found(data).times
        return data._replace(times=times) if (times > 1).any() else data

    def _say(self, data: Data, found: Found) -> None:
        if self._said or not (found.times > 1).any():
            return
        self._said = True
        i = int(np.argmax(found.probability))
        where = ", ".join(
            f"{name} = {x:.4g}" for name, x in zip(self._task.space.names, data.points[i], strict=True)
        )
        others = int(np.sum(found.times > 1)) - 1
        warnings.warn(
            f"the reading {data.values[i]:.6g} at {where} is an outlier with a probability of "
            f"{found.probability[i]:.0%}{f', and so are {others} more' if others else ''}: it counts with a noise "
            f"{found.times[i]:.0f} times as large; measure there again, and it is believed if that confirms it",
            OutlierWarning,
            stacklevel=5,
        )

    # ---------------------------------------------------------------- passed on

    def suggest(
        self, data: Data, pending: Float[ndarray, "q d"], n: int, index: int
    ) -> Float[ndarray, "n d"]:
        """As the engine."""
        return self._engine.suggest(self._weighed(data), pending, n, index)

    def suggest_within(
        self, region: Region, data: Data, pending: Float[ndarray, "q d"], n: int, index: int
    ) -> Float[ndarray, "n d"]:
        """As the engine."""
        return self._engine.suggest_within(region, self._weighed(data), pending, n, index)

    def suggest_reading(
        self,
        data: Data,
        pending: Float[ndarray, "q d"],
        options: Sequence[tuple[Instrument | None, float]],
        index: int,
    ) -> tuple[Float[ndarray, " d"], int]:
        """As the engine."""
        return self._engine.suggest_reading(self._weighed(data), pending, options, index)

    def predict(self, data: Data, points: Float[ndarray, "n d"]) -> Prediction:
        """As the engine."""
        return self._engine.predict(self._weighed(data), points)

    def predict_of(self, data: Data, points: Float[ndarray, "n d"], sensor: Instrument) -> Prediction:
        """As the engine."""
        return self._engine.predict_of(self._weighed(data), points, sensor)

    def predict_objective(self, data: Data, points: Float[ndarray, "n d"]) -> Prediction:
        """As the engine."""
        return self._engine.predict_objective(self._weighed(data), points)

    def recommended(self, data: Data) -> Float[ndarray, " d"]:
        """As the engine."""
        return self._engine.recommended(self._weighed(data))

    def posterior(self, data: Data, hypothesis: str | None = None) -> Mixture | None:
        """As the engine."""
        return self._engine.posterior(self._weighed(data), hypothesis)

    def diagnostics(self, data: Data) -> dict[str, Any]:
        """With the outliers: number among the readings, value, probability, and by how much its noise is larger."""
        found = self._found(data)
        outliers = [
            {
                "number": int(i),
                "x": data.points[i].tolist(),
                "value": float(data.values[i]),
                "probability": float(found.probability[i]),
                "times": float(found.times[i]),
            }
            for i in np.flatnonzero(found.times > 1)
        ]
        return {**self._engine.diagnostics(self._weighed(data)), "outliers": outliers}

    def state(self) -> dict[str, Any]:
        """That of the engine."""
        return self._engine.state()

    def restore(self, state: dict[str, Any], data: Data) -> None:
        """That of the engine."""
        self._engine.restore(state, self._weighed(data))

    def copy(self) -> Engine:
        """With an engine that goes its own way."""
        other = copy.copy(self)
        other._engine = self._engine.copy()
        return other
