"""Which measured values are taken: the one place that decides, for Python, the shell, tables and machines."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

import numpy as np
from jaxtyping import Bool, Float
from numpy import ndarray

LARGEST = 1e70  # fourth powers, which variances of squares are made of, stay finite in double precision
_FAR = float(np.finfo(float).eps ** -0.5)
_MANY = 6  # values that agree by accident are fewer


class OutlierWarning(UserWarning):
    """A value is too far from the others to be learnt from as it is."""


def measured(value: Any, who: str) -> float | None:
    """A measured value as it is kept: a number, NaN (infeasible) or None (lost); anything else is refused."""
    if value is None:
        return None
    found = number(value, who)
    if not is_taken(found):
        raise ValueError(
            f"{who}: expected a value of at most {LARGEST:g} in size, NaN (infeasible) or None (lost), "
            f"got {_shown(value)}"
        )
    return found


def number(value: Any, who: str) -> float:
    """A value that is one number of whatever kind, as a float: infinite beyond all floats."""
    if isinstance(value, ndarray) and value.ndim == 0:
        value = value.item()
    elif hasattr(value, "__jax_array__") or type(value).__module__.startswith("jax"):
        value = np.asarray(value).item() if np.size(value) == 1 else value
    if isinstance(value, bool | np.bool) or not isinstance(value, Real):
        raise TypeError(f"{who}: expected a number, NaN (infeasible) or None (lost), got {_shown(value)}")
    return _as_float(value)


def deviation(noise: Any, who: str = "noise") -> float:
    """The standard deviation of a measurement; anything else is refused."""
    is_number = isinstance(noise, Real) and not isinstance(noise, bool | np.bool)
    found = _as_float(noise) if is_number else math.nan
    if not 0 <= found <= LARGEST:
        raise ValueError(f"{who}: expected a finite standard deviation >= 0, got {_shown(noise)}")
    return found


def moment(at: Any, who: str = "tell: at") -> float:
    """The time of a reading; anything else is refused."""
    is_number = isinstance(at, Real) and not isinstance(at, bool | np.bool)
    found = _as_float(at) if is_number else math.nan
    if not abs(found) <= LARGEST:
        raise ValueError(f"{who}: expected a finite number such as hours, got {_shown(at)}")
    return found


def is_taken(value: float) -> bool:
    """Whether a number, or NaN, can be computed with."""
    return math.isnan(value) or abs(value) <= LARGEST


def far_off(values: Float[ndarray, " n"]) -> Bool[ndarray, " n"]:
    """Which values are too far from the rest to be learnt from together with it; at most one in ten, or one.

    At a distance of D times the spread of the rest, the squares of the rest are D^-2 of those that a model sums: below
    double precision from D = eps^(-1/2) on, so that nothing of the rest remains. The spread of a few values may be
    small by accident; then their size counts.
    """
    far = np.zeros(len(values), dtype=bool)
    if len(values) < 3:
        return far
    median = float(np.median(values))
    distance = np.abs(values - median)
    order = np.argsort(-distance, kind="stable")
    most = max(1, len(values) // 10)
    suspects, rest = order[:most], order[most:]
    spread = float(np.ptp(values[rest]))
    if len(values) < _MANY or spread <= 4 * np.finfo(float).eps * abs(median):
        spread = max(spread, abs(median))
    if spread > 0.0:
        far[suspects] = distance[suspects] > _FAR * spread
    return far


def why_far(name: str, value: float) -> str:
    """What is said of a value that is too far off."""
    return (
        f"{name} is {value:g}, too far from the others to be learnt from together with them; it is kept aside: "
        "correct it if it is wrong, or measure on another scale (such as a logarithm) if it is right"
    )


def _as_float(value: Real) -> float:
    try:
        return float(value)
    except OverflowError:  # an integer or a fraction beyond all floats
        return math.inf


def _shown(value: Any) -> str:
    if isinstance(value, int) and abs(value) > 10**20:
        return f"an integer of {int(value).bit_length()} bits"
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
