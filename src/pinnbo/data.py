"""What has been measured, as arrays."""

from __future__ import annotations

import hashlib
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float
from numpy import ndarray


class Data(NamedTuple):
    """Everything that was told: measured points with values and noise sd (NaN if unknown), and bad points."""

    points: Float[ndarray, "n d"]
    values: Float[ndarray, " n"]
    noise: Float[ndarray, " n"]
    infeasible: Float[ndarray, "m d"]

    def first(self, n: int) -> Data:
        """The first n observations."""
        return Data(self.points[:n], self.values[:n], self.noise[:n], self.infeasible)

    def plus(self, more: Data) -> Data:
        """With more observations at the end."""
        return Data(*(np.concatenate([mine, its]) for mine, its in zip(self, more, strict=True)))

    def without(self, far: Bool[ndarray, " n"]) -> Data:
        """Without some observations, whose places count as bad: a model without them would ask there again."""
        bad = np.concatenate([self.infeasible, self.points[far]])
        return Data(self.points[~far], self.values[~far], self.noise[~far], bad)

    def extends(self, earlier: Data) -> bool:
        """Whether this is the earlier data with observations added at the end."""
        if self is earlier:
            return True
        n = len(earlier.values)
        return (
            len(self.values) >= n
            and np.array_equal(self.points[:n], earlier.points)
            and np.array_equal(self.values[:n], earlier.values)
            and np.array_equal(self.noise[:n], earlier.noise, equal_nan=True)
        )

    def digest(self) -> str:
        """A short text that tells these observations from others."""
        arrays = (self.points, self.values, self.noise)
        return hashlib.sha256(b"".join(np.ascontiguousarray(a).tobytes() for a in arrays)).hexdigest()[:16]


class Standard(NamedTuple):
    """Location and spread of the measured values."""

    shift: float
    scale: float

    @classmethod
    def of(cls, values: Float[ndarray, " n"]) -> Standard:
        """Mean and standard deviation; where all values are equal the spread is of the size of the values."""
        if len(values) == 0:
            return cls(0.0, 1.0)
        shift, spread, size = float(np.mean(values)), float(np.std(values)), float(np.max(np.abs(values)))
        # differences that are not the rounding of the values themselves are what was measured, however large the values
        resolved = spread > 16 * np.finfo(float).eps * size
        return cls(shift, spread if resolved else size or 1.0)

    @property
    def rounded(self) -> Standard:
        """To a power of two, and a multiple of it: changes seldom while measurements come in."""
        unit = 2.0 ** round(float(np.log2(self.scale)))
        return Standard(unit * round(self.shift / unit), unit)
