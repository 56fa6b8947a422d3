"""What a method without a surrogate predicts."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from pinnbo.data import Data, Standard
from pinnbo.methods.base import Prediction
from pinnbo.space import Space


def nearest_measurement(space: Space, data: Data, points: Float[ndarray, "n d"]) -> Prediction:
    """The value of the nearest measurement, with the spread of all of them."""
    standard = Standard.of(data.values)
    mean = np.full(len(points), standard.shift)
    if len(data.values):
        scaled, known = space.scale(points), space.scale(data.points)
        mean = data.values[[int(np.argmin(np.sum((known - s) ** 2, axis=1))) for s in scaled]]
    return Prediction(mean, np.full(len(points), standard.scale))
