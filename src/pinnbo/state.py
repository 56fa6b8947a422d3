"""The state of an `Optimizer` as plain JSON, and back: everything that is read is checked, and the place named."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy import ndarray

from pinnbo import values
from pinnbo.space import Space

FORMAT = "pinnbo-optimizer"
VERSION = 1
_INFEASIBLE = "infeasible"  # JSON has no NaN
_MAX = sys.float_info.max

T = TypeVar("T")


@dataclass
class Record:
    """One answer to a question, or one measurement nobody asked for."""

    x: ndarray
    y: float | None  # NaN: infeasible; None: lost
    noise: float | None
    dropped: bool = False
    replaced: list[float | None] = field(default_factory=list)  # earlier values, oldest first
    of: str | None = None  # the sensor that was read; None: the measured field itself
    batch: str | None = None  # what was measured with the same offset of the instrument
    at: float | None = None  # when, for its drift


class State(NamedTuple):
    """What a state says, checked; ``method`` and ``engine`` are checked by those who know them."""

    space: Space
    goal: str
    method: dict[str, Any]
    seed: int
    noise: float | None
    n_initial: int
    asked: int
    records: list[Record]
    pending: list[ndarray]
    physics: list[list[float]]
    engine: Any
    measures: str | None = None
    unknowns: dict[str, Any] = {}  # noqa: RUF012 (of a tuple that nobody writes to)
    sensors: dict[str, Any] = {}  # noqa: RUF012
    mean: list[float] | None = None
    domain: Space | None = None
    objective: list[list[float]] = []  # noqa: RUF012 (as above)
    robust: float | None = None


def write(state: State) -> dict[str, Any]:
    """A state as plain JSON."""
    return {
        "format": FORMAT,
        "version": VERSION,
        **state._asdict(),
        "space": state.space.to_json(),
        "domain": None if state.domain is None else state.domain.to_json(),
        "records": [_record_to_json(record) for record in state.records],
        "pending": [point.tolist() for point in state.pending],
    }


def read(stored: Any, inside: Any = None) -> State:
    """The state in what `write` returned; anything else is refused with a sentence that names the place."""
    if not isinstance(stored, dict) or stored.get("format") != FORMAT:
        raise ValueError("from_dict: expected what Optimizer.to_dict returned, got something else")
    if stored.get("version") != VERSION:
        raise ValueError(f"from_dict: expected version {VERSION}, got {stored.get('version')!r:.60}")
    top = _Place(stored, "")
    space = _space(top.within("space"), inside)
    domain = None
    if stored.get("domain") is not None:
        domain = _space(top.within("domain"), inside)

    def point(place: _Place) -> ndarray:
        return _point(place, domain or space)

    return State(
        space=space,
        goal=top.one_of("goal", ("minimize", "maximize", "learn")),
        method=top.of("method", dict, "a table"),
        seed=top.count("seed"),
        noise=top.optional("noise", _deviation),
        n_initial=top.count("n_initial"),
        asked=top.count("asked"),
        records=top.each("records", lambda place: _record(place, domain or space)),
        pending=top.each("pending", point),
        physics=top.each("physics", lambda place: place.each(None, _finite)),
        engine=top.get("engine"),
        # absent from states of problems with one field and no unknowns, as they were written before
        measures=top.optional("measures", lambda place: str(place.value)) if "measures" in stored else None,
        unknowns=top.of("unknowns", dict, "a table") if "unknowns" in stored else {},
        sensors=top.of("sensors", dict, "a table") if "sensors" in stored else {},
        mean=top.optional("mean", lambda place: place.each(None, _finite)) if "mean" in stored else None,
        domain=domain,
        objective=top.each("objective", lambda place: place.each(None, _finite))
        if "objective" in stored
        else [],
        robust=top.optional("robust", _finite) if "robust" in stored else None,
    )


class _Place:
    """A value somewhere in a state, and where."""

    def __init__(self, value: Any, where: str) -> None:
        self.value, self.where = value, where

    def get(self, key: str) -> Any:
        return self.within(key).value

    def within(self, key: str | None) -> _Place:
        if key is None:
            return self
        name = f"{self.where}.{key}".removeprefix(".")
        if not isinstance(self.value, dict):
            raise self.wrong("a table")
        if key not in self.value:
            raise ValueError(f"from_dict: {name} is missing")
        return _Place(self.value[key], name)

    def of(self, key: str, kind: type, expected: str) -> Any:
        place = self.within(key)
        if not isinstance(place.value, kind) or (isinstance(place.value, bool) and kind is not bool):
            raise place.wrong(expected)
        return place.value

    def one_of(self, key: str, choices: Sequence[str]) -> str:
        place = self.within(key)
        if not isinstance(place.value, str) or place.value not in choices:
            raise place.wrong(f"one of {', '.join(choices)}")
        return place.value

    def count(self, key: str) -> int:
        number = self.of(key, int, "an integer >= 0")
        if number < 0:
            raise self.within(key).wrong("an integer >= 0")
        return number

    def optional(self, key: str, read: Callable[[_Place], T]) -> T | None:
        place = self.within(key)
        return None if place.value is None else read(place)

    def each(self, key: str | None, read: Callable[[_Place], T]) -> list[T]:
        place = self.within(key)
        if not isinstance(place.value, list):
            raise place.wrong("a list")
        return [read(_Place(item, f"{place.where}[{i}]")) for i, item in enumerate(place.value)]

    def wrong(self, expected: str) -> ValueError:
        got = "a table" if isinstance(self.value, dict) else repr(self.value)[:60]
        return ValueError(f"from_dict: {self.where or 'the state'}: expected {expected}, got {got}")


def _space(place: _Place, inside: Any) -> Space:
    names = place.each("names", lambda name: name)
    sides = [place.each(side, _finite) for side in ("lower", "upper")]
    for name in names:
        if not isinstance(name.value, str):
            raise name.wrong("a name")
    if not len(names) == len(sides[0]) == len(sides[1]) == len({name.value for name in names}):
        raise ValueError("from_dict: space: expected as many different names as lower and upper bounds")
    try:
        return Space.from_json(place.value, inside)
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise ValueError(f"from_dict: space: {error}") from None


def _record(place: _Place, space: Space) -> Record:
    return Record(
        x=_point(place.within("x"), space),
        y=_value(place.within("y")),
        noise=place.optional("noise", _deviation),
        dropped=place.of("dropped", bool, "true or false"),
        replaced=place.each("replaced", _value),
        of=place.of("of", str, "the name of a sensor") if "of" in place.value else None,
        batch=place.of("batch", str, "the name of a batch") if "batch" in place.value else None,
        at=_finite(place.within("at")) if "at" in place.value else None,
    )


def _point(place: _Place, space: Space) -> ndarray:
    point = np.array(place.each(None, _finite), dtype=float)
    if point.shape != (space.dim,) or space.nearest(point) is None:
        raise place.wrong(f"a point of {space}")
    return point


def _finite(place: _Place) -> float:
    number = place.value
    if isinstance(number, bool) or not isinstance(number, int | float) or not abs(number) <= _MAX:
        raise place.wrong("a finite number")
    return float(number)


def _value(place: _Place) -> float | None:
    if place.value == _INFEASIBLE:
        return math.nan
    try:
        return values.measured(place.value, place.where)
    except (TypeError, ValueError):
        raise place.wrong(
            f"a number of at most {values.LARGEST:g} in size, {_INFEASIBLE!r} or null"
        ) from None


def _deviation(place: _Place) -> float:
    try:
        return values.deviation(place.value)
    except ValueError:
        raise place.wrong("a finite standard deviation >= 0") from None


def _record_to_json(record: Record) -> dict[str, Any]:
    return {
        "x": record.x.tolist(),
        "y": _to_json(record.y),
        "noise": record.noise,
        "dropped": record.dropped,
        "replaced": [_to_json(y) for y in record.replaced],
        **{
            name: value
            for name, value in (("of", record.of), ("batch", record.batch), ("at", record.at))
            if value is not None
        },
    }


def _to_json(y: float | None) -> float | str | None:
    return _INFEASIBLE if y is not None and math.isnan(y) else y
