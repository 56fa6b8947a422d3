"""Functions of many points, evaluated by chunks of one size: compiled once, whatever their number."""

from __future__ import annotations

from collections.abc import Callable

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from numpy import ndarray

_CHUNK = 256


def in_chunks(function: Callable[[Array], Array], points: Float[ndarray, "n d"]) -> Float[ndarray, "n ..."]:
    """The values of a function at points."""
    found = []
    for start in range(0, max(1, len(points)), _CHUNK):
        chunk = points[start : start + _CHUNK]
        padded = np.concatenate([chunk, np.repeat(chunk[-1:], _CHUNK - len(chunk), axis=0)])
        found.append(np.asarray(function(jnp.asarray(padded)))[: len(chunk)])
    return np.concatenate(found)
