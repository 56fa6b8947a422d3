"""Sensors other than the value of the measured field: which to read next, and what one is expected to read."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from pinnbo.acquisition.sensing import Option, best_reading
from pinnbo.data import Data
from pinnbo.ensemble.belief import Belief
from pinnbo.ensemble.mixture import Mixture
from pinnbo.gp.readings import Instrument
from pinnbo.methods.base import Prediction, Task

_N_READINGS, _N_PLACES = 64, 256  # candidates where sensors are compared, and where f may be best


def best_question(
    task: Task,
    belief: Belief,
    options: Sequence[tuple[Instrument | None, float]],
    candidates: Float[ndarray, "c d"],
    next_value: Float[ndarray, " d"],
    known: Float[ndarray, "k d"],
    index: int,
) -> tuple[Float[ndarray, " d"], int]:
    """The largest knowledge gradient by cost, at candidates and where the policy would measure the field.

    Every other question looks at the other half of the candidates.
    """
    space = task.space
    points = np.vstack([next_value, space.unscale(candidates[index % 2 :: 2][:_N_READINGS])])
    places = np.concatenate([space.scale(known), candidates[:_N_PLACES], space.scale(next_value[None])])
    stated = [Option(sensor, cost, _variance(belief, task.noise, sensor)) for sensor, cost in options]
    found = best_reading(belief.average(), task.sign, stated, points, space.scale(points), places)
    if found is None:
        raise ValueError("ask: none of the sensors fits into the space at any candidate")
    return points[found[1]], found[0]


def _variance(belief: Belief, stated: float | None, sensor: Instrument | None) -> float:
    """Of the noise of a reading: stated, or the same share of what its readings differ by as of the others."""
    value = belief.noise(stated)
    if sensor is None:
        return value
    if sensor.sensor.noise is not None:
        return sensor.sensor.noise**2
    data = belief.data
    told = [kind for kind, known in enumerate(data.sensors, 1) if known.name == sensor.name]
    mine = np.isin(data.kinds, told) if told else np.zeros(len(data.values), dtype=bool)
    known = data.noise[mine]
    if len(known) and not np.isnan(known).any():
        return float(np.mean(known**2))
    unit = float(data.units[mine][0]) if mine.any() else data.standard.scale * sensor.size
    return float(value * (unit / data.standard.scale) ** 2)


def predicted(belief: Belief, data: Data, points: Float[ndarray, "n d"], sensor: Instrument) -> Prediction:
    """What a sensor would read, under the models that know of what it reads.

    Fields that are not measured can be anything where the equations do not act.
    """
    told = [data.sensors[kind - 1] for kind in np.unique(data.kinds) if kind]
    measured = {0, *(field for known in told for field in known.sees)}
    tied = set(sensor.sees) <= measured
    processes = [model.posterior.process for model in belief.models]
    chosen = [
        i
        for i, process in enumerate(processes)
        if (tied or process.has_physics)
        and process.knows(sensor.functionals(points[:1], process.coordinates))
    ]
    if not chosen:
        raise ValueError(f"predict: no model ties {sensor.name!r} to what is measured")
    weights = belief.log_weights[chosen]
    mixture = Mixture([belief.models[i].posterior for i in chosen], weights - np.logaddexp.reduce(weights))
    return Prediction(*mixture.predict_of(lambda coordinates: sensor.functionals(points, coordinates)))
