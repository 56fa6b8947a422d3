"""Regret of a run: how far the points it evaluated are from the optimum.

Values are the black box' true ones, f(x_t) without noise: noisy ones would make the regret of a lucky
measurement too small. The paper writes f(x*) - f(x_t) while it minimises; here regret is what is lost, 0 is
perfect and less is better for either goal.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from jaxtyping import Float
from numpy import ndarray
from numpy.typing import ArrayLike

Goal = Literal["minimize", "maximize"]


def instantaneous_regret(values: ArrayLike, optimum: float, goal: Goal = "minimize") -> Float[ndarray, " t"]:
    """r_t = f(x_t) - f(x*) when minimising, f(x*) - f(x_t) when maximising."""
    array = np.asarray(values, dtype=float)
    if array.ndim != 1:
        raise ValueError(f"regret: expected the values of a run, shape (t,), got {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError(f"regret: value {int(np.flatnonzero(~np.isfinite(array))[0])} is not finite")
    if goal not in ("minimize", "maximize"):
        raise ValueError(f"regret: goal must be 'minimize' or 'maximize', got {goal!r}")
    return array - optimum if goal == "minimize" else optimum - array


def simple_regret(values: ArrayLike, optimum: float, goal: Goal = "minimize") -> Float[ndarray, " t"]:
    """Regret of the best point so far, after each evaluation."""
    return np.minimum.accumulate(instantaneous_regret(values, optimum, goal))


def cumulative_regret(values: ArrayLike, optimum: float, goal: Goal = "minimize") -> Float[ndarray, " t"]:
    """R_t = r_1 + ... + r_t."""
    return np.cumsum(instantaneous_regret(values, optimum, goal))
