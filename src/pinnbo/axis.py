"""One axis of a `Space`: its ends, and whether it is logarithmic, stepped or periodic.

A model sees the scaled coordinate s in [-1, 1]: linear in the user's coordinate, or in its logarithm. What belongs to
an axis is said of the axis, ``Space(k=Axis(1e-3, 1.0, log=True))``: no name of a parameter can collide with an option.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from math import factorial
from numbers import Real
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy import ndarray

LARGEST = 1e70  # the fourth power of a width, and of its inverse, are numbers
_FINEST = 1e-10  # of the size of a coordinate: leaves five digits to tell points of the box apart
_MOST_DECIMALS = 15  # beyond which a decimal number has no shorter spelling than its float
_MOST_STEPS = 10**9


@dataclass(frozen=True)
class Axis:
    """From ``low`` to ``high``.

    Parameters
    ----------
    low, high: the ends, which belong to it.
    log: the model sees the logarithm; the equations keep the user's coordinate.
    step: suggestions lie on low, low + step, low + 2 step, ... exactly; ``step=1`` for whole numbers.
    periodic: high is the same place as low, as for an angle.
    """

    low: float
    high: float
    log: bool = False
    step: float | None = None
    periodic: bool = False

    def checked(self, name: str) -> Axis:
        """The axis with plain numbers; raises a sentence that names it."""
        low, high = _bounds(name, (self.low, self.high))
        for option in ("log", "periodic"):
            if not isinstance(getattr(self, option), bool):
                raise TypeError(
                    f"Space: {option} of '{name}' must be True or False, got {getattr(self, option)!r:.60}"
                )
        if self.log and low <= 0:
            raise ValueError(f"Space: a log axis must be above 0, got '{name}' from {low:g}")
        if self.log and self.periodic:
            raise ValueError(f"Space: '{name}' must be log or periodic, got both")
        return Axis(low, high, self.log, _step(name, self.step, low, high), self.periodic)

    @property
    def is_plain(self) -> bool:
        """Whether there are ends and nothing else."""
        return not (self.log or self.periodic or self.step is not None)

    def scale(self, x: Float[ndarray, ...]) -> Float[ndarray, ...]:
        """Coordinates as s in [-1, 1]."""
        low, high = self._ends
        seen = np.log(np.maximum(x, np.finfo(float).tiny)) if self.log else x
        return np.asarray((seen - 0.5 * (low + high)) / (0.5 * (high - low)))

    def unscale(self, s: Float[ndarray, ...]) -> Float[ndarray, ...]:
        """s as coordinates; never beyond the ends by rounding."""
        low, high = self._ends
        seen = 0.5 * (low + high) + s * (0.5 * (high - low))
        return np.clip(np.exp(seen) if self.log else seen, self.low, self.high)

    def expansion(self, x: Float[ndarray, " n"], order: int) -> Float[ndarray, "n k"]:
        """ds/dx, d^2s/dx^2, ...: 1/h, 0, ..., h half the extent; of a logarithm (-1)^(k-1) (k-1)! / (h x^k)."""
        low, high = self._ends
        half = 0.5 * (high - low)
        found = np.zeros((len(x), order))
        found[:, 0] = 1.0 / half
        if self.log:
            for k in range(1, order + 1):
                found[:, k - 1] = (-1.0) ** (k - 1) * factorial(k - 1) / (half * x**k)
        return found

    def on_grid(self, x: Float[ndarray, " n"]) -> Float[ndarray, " n"]:
        """The nearest coordinates that can be set: of a step the nearest multiple, of a period the one within."""
        if self.periodic:
            width = self.high - self.low
            # what is within stays as it is to the last bit
            x = np.where((x >= self.low) & (x < self.high), x, self.low + np.mod(x - self.low, width))
            x = np.where(x < self.high, x, self.low)
        if self.step is None:
            return np.asarray(x)
        k = np.clip(np.rint((x - self.low) / self.step), 0, self.steps)
        if self.periodic:  # beyond the middle between the last and the first
            k = np.where(x - self.low > 0.5 * (self.steps * self.step + self.high - self.low), 0, k)
        return self.multiple(k)

    def multiple(self, k: Float[ndarray, " n"]) -> Float[ndarray, " n"]:
        """low + k step, to the last bit as one would write it: 0.3 and not 0.30000000000000004."""
        assert self.step is not None
        found = self.low + k * self.step
        return np.asarray(found if self._decimals is None else np.round(found, self._decimals))

    @cached_property
    def steps(self) -> int:
        """The largest multiple of the step."""
        assert self.step is not None
        # a hair more, since 0.3 / 0.1 is below 3
        most = int(np.floor((self.high - self.low) / self.step * (1.0 + 1e-12)))
        if self.periodic and self.multiple(np.array(float(most))) >= self.high:
            return most - 1
        return most

    @cached_property
    def _decimals(self) -> int | None:
        places = [
            -int(Decimal(repr(number)).normalize().as_tuple().exponent) for number in (self.low, self.step)
        ]
        return None if max(places) > _MOST_DECIMALS else max(0, *places)

    @cached_property
    def _ends(self) -> tuple[float, float]:
        return (float(np.log(self.low)), float(np.log(self.high))) if self.log else (self.low, self.high)

    def to_json(self) -> dict[str, Any]:
        """Options that are not the usual ones."""
        options = {"log": self.log, "step": self.step, "periodic": self.periodic}
        return {name: value for name, value in options.items() if value not in (False, None)}

    def __repr__(self) -> str:
        if self.is_plain:
            return f"({self.low:g}, {self.high:g})"
        options = ", ".join(f"{name}={value!r}" for name, value in self.to_json().items())
        return f"Axis({self.low:g}, {self.high:g}, {options})"


def as_axis(name: str, stated: Any) -> Axis:
    """An axis from an `Axis` or from a pair of bounds."""
    if isinstance(stated, Axis):
        return stated.checked(name)
    return Axis(*_bounds(name, stated))


def _bounds(name: str, pair: Any) -> tuple[float, float]:
    expected = (
        f"Space: bound of '{name}' must be a pair of finite numbers with lower < upper, got {pair!r:.80}"
    )
    try:
        low, high = pair
    except (TypeError, ValueError):
        raise ValueError(expected) from None
    if any(isinstance(bound, bool) or not isinstance(bound, Real) for bound in (low, high)):
        raise TypeError(expected)
    try:
        low, high = float(low), float(high)
    except OverflowError:
        raise ValueError(expected) from None
    if not (np.isfinite(low) and np.isfinite(high) and low < high):
        raise ValueError(expected)
    if max(abs(low), abs(high)) > LARGEST or high - low < 1.0 / LARGEST:
        raise ValueError(
            f"Space: bound of '{name}' must lie within {LARGEST:g} and be wider than {1.0 / LARGEST:g}, "
            f"got ({low:g}, {high:g}); use another unit"
        )
    if high - low < _FINEST * max(abs(low), abs(high)):
        raise ValueError(
            f"Space: bound of '{name}' must be wider than the rounding of its numbers, got ({low!r}, {high!r}); "
            "use the distance from one end as the parameter"
        )
    return low, high


def _step(name: str, step: Any, low: float, high: float) -> float | None:
    if step is None:
        return None
    is_number = not isinstance(step, bool) and isinstance(step, Real)
    if not (is_number and np.isfinite(float(step)) and float(step) > 0):
        raise ValueError(f"Space: step of '{name}' must be a positive number, got {step!r:.60}")
    step = float(step)
    if step > high - low:
        raise ValueError(
            f"Space: step of '{name}' must not be wider than the axis from {low:g} to {high:g}, got {step:g}"
        )
    if high - low > _MOST_STEPS * step:
        raise ValueError(
            f"Space: step of '{name}' must be at least {(high - low) / _MOST_STEPS:g} on an axis from {low:g} to "
            f"{high:g}, got {step:g}; leave it out"
        )
    return step
