"""What has been measured, as arrays."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy import ndarray

if TYPE_CHECKING:
    from pinnbo.gp.readings import Instrument
    from pinnbo.physics.coordinates import Coordinates
    from pinnbo.physics.functionals import Functionals


class Data(NamedTuple):
    """Everything that was told: measured points with values and noise sd (NaN if unknown), and bad points.

    A value is that of the measured field at the point unless ``of`` says otherwise: number i > 0 is a reading of
    ``sensors[i - 1]`` there. ``times`` is by how much the noise of a reading is larger than that: above 1 for outliers
    (`pinnbo.ensemble.outliers`).
    """

    points: Float[ndarray, "n d"]
    values: Float[ndarray, " n"]
    noise: Float[ndarray, " n"]
    infeasible: Float[ndarray, "m d"]
    of: Int[ndarray, " n"] | None = None  # None: all are values of the measured field
    sensors: tuple[Instrument, ...] = ()
    times: Float[ndarray, " n"] | None = None  # None: all are as noisy as they should be
    taken: Float[ndarray, "n 2"] | None = (
        None  # number of the batch and time of each reading, NaN where it has none
    )
    sizes: tuple[float, float] = (
        0.5,
        0.5,
    )  # of offsets and drift, in amplitudes of f (`pinnbo.gp.instrument`)

    @property
    def is_summable(self) -> bool:
        """Whether sums over readings say all: values of the measured field by an instrument without offsets."""
        return self.is_plain and self.taken is None

    @property
    def all_taken(self) -> Float[ndarray, "n 2"]:
        """``taken``, NaN where it is None."""
        return np.full((len(self.values), 2), np.nan) if self.taken is None else self.taken

    @property
    def noise_times(self) -> Float[ndarray, " n"]:
        """``times``, ones where it is None."""
        return np.ones(len(self.values)) if self.times is None else self.times

    @property
    def is_plain(self) -> bool:
        """Whether all readings are values of the measured field."""
        return self.of is None or not self.of.any()

    @property
    def kinds(self) -> Int[ndarray, " n"]:
        """``of``, zeros where it is None."""
        return np.zeros(len(self.values), dtype=int) if self.of is None else self.of

    @property
    def direct(self) -> Data:
        """The readings that are values of the measured field."""
        return self if self.is_plain else self.where(self.kinds == 0)

    def where(self, chosen: ndarray | slice) -> Data:
        """Some of the observations."""
        of = None if self.is_plain else self.kinds[chosen]
        return Data(
            self.points[chosen],
            self.values[chosen],
            self.noise[chosen],
            self.infeasible,
            of if of is not None and of.any() else None,
            self.sensors,
            None if self.times is None else self.times[chosen],
            None if self.taken is None or np.isnan(self.taken[chosen]).all() else self.taken[chosen],
            self.sizes,
        )

    def first(self, n: int) -> Data:
        """The first n observations."""
        return self.where(slice(n))

    def plus(self, more: Data) -> Data:
        """With more observations at the end."""
        points, values, noise, infeasible = (
            np.concatenate([mine, its]) for mine, its in zip(self[:4], more[:4], strict=True)
        )
        of = None if self.is_plain and more.is_plain else np.concatenate([self.kinds, more.kinds])
        as_stated = self.times is None and more.times is None
        times = None if as_stated else np.concatenate([self.noise_times, more.noise_times])
        alone = self.taken is None and more.taken is None
        taken = None if alone else np.concatenate([self.all_taken, more.all_taken])
        sensors = max(self.sensors, more.sensors, key=len)
        return Data(points, values, noise, infeasible, of, sensors, times, taken, self.sizes)

    def without(self, far: Bool[ndarray, " n"]) -> Data:
        """Without some observations, whose places count as bad: a model without them would ask there again."""
        bad = np.concatenate([self.infeasible, self.points[far]])
        return self.where(~far)._replace(infeasible=bad)

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
            and np.array_equal(self.kinds[:n], earlier.kinds)
            and np.array_equal(self.noise_times[:n], earlier.noise_times)
            and np.array_equal(self.all_taken[:n], earlier.all_taken, equal_nan=True)
        )

    def digest(self) -> str:
        """A short text that tells these observations from others."""
        arrays = [self.points, self.values, self.noise]
        arrays += [] if self.is_plain else [self.kinds]
        arrays += [found for found in (self.times, self.taken) if found is not None]
        return hashlib.sha256(b"".join(np.ascontiguousarray(a).tobytes() for a in arrays)).hexdigest()[:16]

    # ---------------------------------------------------------------- readings of other sensors

    def functionals(self, coordinates: Coordinates, scaled: Float[ndarray, "n d"]) -> Functionals:
        """All readings as functionals, in the coordinates of a process; ``scaled`` are the points in the box."""
        from pinnbo.physics.functionals import Functionals, concatenate

        kinds = self.kinds
        parts, order = [], []
        for kind in np.unique(kinds):
            mine = np.flatnonzero(kinds == kind)
            order.append(mine)
            if kind == 0:
                parts.append(Functionals.at(coordinates.of(scaled[mine])))
            else:
                parts.append(self.sensors[kind - 1].functionals(self.points[mine], coordinates))
        return concatenate(parts).taken(np.argsort(np.concatenate(order), kind="stable"))

    @property
    def standard(self) -> Standard:
        """Location and spread of the measured field.

        The mean of its level, where any reading tells it, and the root mean square of all readings of it alone in
        units of what they are for a field of unit size: the standard deviation, where all are values. Outliers tell
        neither.
        """
        if self.times is not None:
            return self.where(self.times == 1.0)._replace(times=None).standard
        if self.is_plain:
            return Standard.of(self.values)
        level = self._each([True, *(sensor.is_level for sensor in self.sensors)])
        sizes = self._each([1.0, *(sensor.size for sensor in self.sensors)])
        alone = self._each([True, *(sensor.sees == (0,) for sensor in self.sensors)])
        shift = float(np.mean(self.values[level])) if level.any() else 0.0
        rest = (self.values - np.where(level, shift, 0.0))[alone] / np.where(level, 1.0, sizes)[alone]
        spread = float(np.sqrt(np.mean(rest**2))) if len(rest) else 0.0
        resolved = spread > 16 * np.finfo(float).eps * abs(shift)
        return Standard(shift, spread if resolved else abs(shift) or 1.0)

    @property
    def units(self) -> Float[ndarray, " n"]:
        """How much the readings of the same sensor differ: the unit of a noise that was not stated."""
        scale = self.standard.scale
        found = np.full(len(self.values), scale)
        for kind in np.unique(self.kinds[self.kinds > 0]):
            mine = (self.kinds == kind) & (self.noise_times == 1.0)
            mine = mine if mine.any() else self.kinds == kind
            values, sensor = self.values[mine], self.sensors[kind - 1]
            spread = float(np.std(values))
            known = spread > 16 * np.finfo(float).eps * float(np.max(np.abs(values)))
            found[self.kinds == kind] = spread if known else scale * sensor.size
        return found

    def amplitude(self, field: int) -> float | None:
        """Root mean square size of another field, from the readings of it alone; None where there are none."""
        alone = self._each([False, *(sensor.sees == (field,) for sensor in self.sensors)])
        if not alone.any():
            return None
        sizes = self._each([1.0, *(sensor.size for sensor in self.sensors)])[alone]
        return float(np.sqrt(np.mean((self.values[alone] / sizes) ** 2))) or None

    def other_amplitudes(self) -> tuple[float, ...]:
        """Of all other fields up to the last that is measured, in units of the first; one where unknown."""
        last = max((max(s.sees) for s in self.sensors), default=0)
        scale = self.standard.scale
        found = (self.amplitude(field) for field in range(1, last + 1))
        return tuple(1.0 if size is None else size / scale for size in found)

    def _each(self, by_kind: list[bool] | list[float]) -> ndarray:
        return np.array(by_kind)[self.kinds]


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
    def about_zero(self) -> Standard:
        """No location, and the root mean square: of what changes its sign under a reflection."""
        return Standard(0.0, float(np.hypot(self.shift, self.scale)))

    @property
    def rounded(self) -> Standard:
        """To a power of two, and a multiple of it: changes seldom while measurements come in."""
        unit = 2.0 ** round(float(np.log2(self.scale)))
        return Standard(unit * round(self.shift / unit), unit)


def stage_of(n: int) -> int:
    """When settings are chosen anew: the last of 0, 1, ..., 10, 12, 14, 16, 19, ... that is not above n.

    At every measurement while each tells much, then whenever there are a fifth more.
    """
    stage = 0
    while (following := stage + max(1, stage // 5)) <= n:
        stage = following
    return stage
