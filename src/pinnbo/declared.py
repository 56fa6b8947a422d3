"""The sensors of a problem by name, numbered from 1 on; 0 is the measured field itself."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from pinnbo.data import Data
from pinnbo.gp.readings import Instrument
from pinnbo.sensors import Sensor, as_sensor
from pinnbo.space import Space

_LAMBDA = "<lambda>"


class Sensors:
    """Sensors in the order in which they were declared; that order and their numbers never change."""

    def __init__(self, space: Space, fields: Sequence[str]) -> None:
        self._space, self._fields = space, tuple(fields)
        self.all: list[Instrument] = []
        self._numbers: dict[str, int] = {}

    @property
    def noises(self) -> list[float]:
        """Stated standard deviations of their readings, NaN where there is none."""
        return [math.nan if s.sensor.noise is None else s.sensor.noise for s in self.all]

    def stated(self, sensors: Mapping[str, Any] | None) -> Iterator[tuple[str, Any]]:
        """What a user declares, checked for its names."""
        table = {} if sensors is None else sensors
        if not isinstance(table, Mapping):
            raise TypeError(f"sensors: expected a table such as {{'flux': ...}}, got {table!r:.60}")
        for name, stated in table.items():
            if not isinstance(name, str) or not name or name in self._fields:
                taken = f", other than the fields {', '.join(self._fields)}"
                raise ValueError(f"sensors: expected names{taken}, got {name!r:.60}")
            yield name, stated

    def declare(self, name: str, stated: Any) -> int:
        """A further sensor; its number."""
        self.all.append(Instrument(name, as_sensor(stated, f"sensor {name!r}"), self._space, self._fields))
        self._numbers[name] = len(self.all)
        return len(self.all)

    def number(self, of: Any, who: str) -> int:
        """Of a sensor: by its name, the name of a field, or what a user may write in place of a declaration."""
        if isinstance(of, str):
            if of in self._numbers:
                return self._numbers[of]
            if of in self._fields:
                return self.declare(of, Sensor(of=of))
            names = [*self._fields, *self._numbers]
            near = difflib.get_close_matches(of, names, n=1)
            hint = f", did you mean {near[0]}?" if near else f"; expected one of {', '.join(names)}"
            raise ValueError(f"{who}: no field or sensor is called {of!r:.60}{hint}")
        sensor = as_sensor(of, f"{who}: of")
        for number, known in enumerate(self.all, 1):
            if _is_same(known.sensor, sensor):
                return number
        return self.declare(self._fresh_name(sensor.operator), sensor)

    def found(self, of: Any, who: str) -> Instrument:
        """A sensor that is asked about: a known one, or one that is not kept."""
        other = self.copy()
        return other.all[other.number(of, who) - 1]

    def _fresh_name(self, operator: Callable[..., Any] | None) -> str:
        own = getattr(operator, "__name__", _LAMBDA)
        if own != _LAMBDA and own not in self._numbers and own not in self._fields:
            return str(own)
        return f"sensor {len(self.all) + 1}"

    def name(self, number: int) -> str | None:
        """None for the measured field itself."""
        return None if number == 0 else self.all[number - 1].name

    def kind(self, name: str | None) -> int:
        """The number of a name."""
        return 0 if name is None else self._numbers[name]

    def has(self, name: str) -> bool:
        """Whether there is one of that name."""
        return name in self._numbers

    def counts(self, data: Data) -> dict[str, int]:
        """How many readings there are of each, the measured field among them."""
        names = [self._fields[0], *(sensor.name for sensor in self.all)]
        return {name: int(np.sum(data.kinds == number)) for number, name in enumerate(names)}

    def to_json(self) -> dict[str, Any]:
        """Of each its description, or the fingerprint of its operator."""
        found = {}
        for known in self.all:
            described = known.sensor.to_json()
            found[known.name] = {"operator": known.fingerprint()} if described is None else described
        return found

    def restore(self, stored: Mapping[str, Any], given: Mapping[str, Any] | None) -> None:
        """Declare what was stored, in its order; operators are given again and recognised."""
        again = dict(self.stated(given))
        for name, described in stored.items():
            if not isinstance(described, Mapping):
                raise ValueError(f"from_dict: sensors.{name}: expected a table, got {described!r:.60}")
            if "operator" not in described:
                try:
                    self.declare(name, Sensor.from_json(described))
                except (TypeError, ValueError) as error:
                    raise ValueError(f"from_dict: sensors.{name}: {error}") from None
                again.pop(name, None)
                continue
            if name not in again:
                raise ValueError(
                    f"from_dict: the state has readings of a sensor {name!r} with an operator of its own; "
                    f"expected it as sensors={{{name!r}: ...}}"
                )
            self.declare(name, again.pop(name))
            now, before = self.all[-1].fingerprint(), described["operator"]
            if np.shape(now) != np.shape(before) or not np.allclose(now, before, rtol=1e-6, atol=1e-9):
                raise ValueError(f"from_dict: sensor {name!r} is not the one that the state was stored with")
        for name, stated in again.items():
            self.declare(name, stated)

    def adopt(self, others: Sequence[Instrument]) -> None:
        """Take those of other data for ours."""
        self.all = list(others)
        self._numbers = {sensor.name: number for number, sensor in enumerate(others, 1)}

    def copy(self) -> Sensors:
        """One to which further sensors may be added."""
        other = Sensors(self._space, self._fields)
        other.all, other._numbers = list(self.all), dict(self._numbers)
        return other


def _is_same(one: Sensor, other: Sensor) -> bool:
    if one is other:
        return True
    if one.operator is not None or other.operator is not None:
        plain = one.over == other.over and one.minus is other.minus and one.noise == other.noise
        return one.operator is other.operator and plain
    return one.to_json() == other.to_json()
