"""All that an `Optimizer` was told: a record for every answer, and the arrays that a method learns from."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Bool
from numpy import ndarray

from pinnbo import values as value_rules
from pinnbo.data import Data
from pinnbo.declared import Sensors
from pinnbo.gp.instrument import names_of
from pinnbo.space import Points, Space, is_named
from pinnbo.state import Record


class Measurements:
    """Records in the order in which they were told; the id of a measurement is its place."""

    def __init__(self, space: Space, sensors: Sensors, noise: float | None) -> None:
        self._space, self.sensors, self._noise = space, sensors, noise
        self.records: list[Record] = []
        self._gathered: Data | None = None  # the records as arrays, until one is changed
        self._learnt: Data | None = None  # those of them that are learnt from
        self._warned: set[int] = set()
        self._batches: list[str] = []  # in the order in which they were first told

    def copy(self) -> Measurements:
        """To be told other things from here on."""
        other = Measurements(self._space, self.sensors.copy(), self._noise)
        other.records = [replace(record, replaced=list(record.replaced)) for record in self.records]
        other._gathered, other._learnt, other._warned = self._gathered, self._learnt, set(self._warned)
        other._batches = list(self._batches)
        return other

    def enter(
        self, x: Points, y: Any, noise: Any, kind: int = 0, batch: Any = None, at: Any = None
    ) -> int | list[int]:
        """Take down one answer or many, all or none of them; their ids."""
        points = self._space.as_points(x, "tell")
        single = isinstance(x, Mapping) or (not is_named(x) and np.ndim(x) == 1)  # type: ignore[arg-type]
        values = [y] if single else _as_list(y, len(points), "values")
        noises = (
            [noise] * len(points) if single or np.ndim(noise) == 0 else _as_list(noise, len(points), "noises")
        )
        many = not single and isinstance(batch, list | tuple | ndarray)
        batches = _as_list(batch, len(points), "batches") if many else [batch] * len(points)
        for name in batches:
            if name is not None and (not isinstance(name, str) or not name):
                raise TypeError(f"tell: batch must be a name such as 'monday', got {name!r:.60}")
        times = [at] * len(points) if single or np.ndim(at) == 0 else _as_list(at, len(points), "times")
        records = []
        rows = zip(points, values, noises, batches, times, strict=True)
        for point, value, deviation, own, time in rows:
            clipped = self._space.nearest(point)
            if clipped is None:
                raise ValueError(f"tell: expected a point of {self._space}, got {point.tolist()}")
            checked = None if deviation is None else value_rules.deviation(deviation)
            measured = value_rules.measured(value, "tell")
            moment = None if time is None else value_rules.moment(time)
            name = self.sensors.name(kind)
            records.append(Record(clipped, measured, checked, of=name, batch=own, at=moment))
        if kind:
            self.sensors.all[kind - 1].refuse(np.array([record.x for record in records]), "tell")
        first = len(self.records)
        self._batches = names_of([*self._batches, *batches])
        self._gathered, self._learnt = self.told.plus(self._gather(records)), None
        self.records.extend(records)
        return first if single else list(range(first, first + len(records)))

    def replace(self, id: int, y: Any) -> None:
        """Correct a value; the old one is kept in the record."""
        record, value = self._record(id, "replace"), value_rules.measured(y, "replace")
        record.replaced.append(record.y)
        record.y = value
        self._forget()
        self._warned.discard(int(id))

    def drop(self, id: int) -> None:
        """Withdraw a measurement; it stays in the record, marked."""
        self._record(id, "drop").dropped = True
        self._forget()

    def take(self, records: list[Record]) -> None:
        """Other records in place of these."""
        self.records = records
        self._batches = names_of([record.batch for record in records])
        self._forget()

    def take_data(self, data: Data) -> None:
        """The observations that a `Data` holds in place of these."""
        sds = [None if math.isnan(sd) else sd for sd in data.noise.tolist()]
        if data.sensors:
            self.sensors.adopt(data.sensors)
        names = [self.sensors.name(kind) for kind in data.kinds]
        taken = [
            (None if math.isnan(number) else self._batches[int(number)], None if math.isnan(at) else at)
            for number, at in data.all_taken.tolist()
        ]
        told = zip(data.points, data.values.tolist(), sds, names, taken, strict=True)
        good = [Record(x, y, sd, of=name, batch=batch, at=at) for x, y, sd, name, (batch, at) in told]
        self.take(good + [Record(x, math.nan, None) for x in data.infeasible])
        self._gathered = data

    @property
    def told(self) -> Data:
        """Everything that was told and not withdrawn."""
        if self._gathered is None:
            self._gathered = self._gather(self.records)
        return self._gathered

    @property
    def learnt(self) -> Data:
        """What a method learns from: all that was told, except values that are too far from the others."""
        if self._learnt is None:
            far = _far_off(self.told)
            self._learnt = self.told.without(far) if far.any() else self.told
        return self._learnt

    @property
    def batches(self) -> list[str]:
        """The names of the batches, by number."""
        return self._batches

    @property
    def ids(self) -> list[int]:
        """The ids of what is learnt from, in its order."""
        aside = self.aside
        return [i for i, record in enumerate(self.records) if _is_measured(record) and i not in aside]

    @property
    def aside(self) -> list[int]:
        """The ids of the values that are too far from the others."""
        measured = [i for i, record in enumerate(self.records) if _is_measured(record)]
        return [measured[i] for i in np.flatnonzero(_far_off(self.told))]

    def sentences(self) -> list[str]:
        """What is to be said of values that are too far from the others, of each of them once."""
        new = [id for id in self.aside if id not in self._warned]
        self._warned.update(new)
        return [value_rules.why_far(f"measurement {id}", self.records[id].y or 0.0) for id in new]

    def _forget(self) -> None:
        self._gathered = self._learnt = None

    def _gather(self, records: Sequence[Record]) -> Data:
        good = [r for r in records if _is_measured(r)]
        bad = [r.x for r in records if not r.dropped and r.y is not None and math.isnan(r.y)]
        kinds = np.array([self.sensors.kind(r.of) for r in good], dtype=int)
        default = [math.nan if self._noise is None else self._noise, *self.sensors.noises]
        pairs = zip(good, kinds, strict=True)
        numbers = {name: float(number) for number, name in enumerate(self._batches)}
        taken = np.array(
            [
                [math.nan if r.batch is None else numbers[r.batch], math.nan if r.at is None else r.at]
                for r in good
            ]
        ).reshape(-1, 2)
        return Data(
            np.array([r.x for r in good]).reshape(-1, self._space.dim),
            np.array([r.y for r in good], dtype=float),
            np.array([default[kind] if r.noise is None else r.noise for r, kind in pairs], dtype=float),
            np.array(bad).reshape(-1, self._space.dim),
            kinds if kinds.any() else None,
            tuple(self.sensors.all),
            taken=None if np.isnan(taken).all() else taken,
        )

    def _record(self, id: int, who: str) -> Record:
        if isinstance(id, bool) or not isinstance(id, int | np.integer) or not 0 <= id < len(self.records):
            raise ValueError(f"{who}: expected an id from 0 to {len(self.records) - 1}, got {id!r}")
        return self.records[int(id)]


def _far_off(data: Data) -> Bool[ndarray, " n"]:
    """Which values are too far from the others of the same sensor."""
    far = np.zeros(len(data.values), dtype=bool)
    for kind in np.unique(data.kinds):
        mine = data.kinds == kind
        far[mine] = value_rules.far_off(data.values[mine])
    return far


def _is_measured(record: Record) -> bool:
    return not record.dropped and record.y is not None and not math.isnan(record.y)


def _as_list(values: Any, n: int, what: str) -> Sequence[Any]:
    try:
        items = list(values)
    except TypeError:
        raise TypeError(f"tell: expected {n} {what} for {n} points, got {values!r:.60}") from None
    if len(items) != n:
        raise ValueError(f"tell: expected {n} {what} for {n} points, got {len(items)}")
    return items
