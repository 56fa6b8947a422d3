"""The equation of a problem file, in text, with what it is given with: constants, unknowns, places, tables."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pinnbo.equations import grammar, symmetries
from pinnbo.equations.errors import EquationError
from pinnbo.equations.units import System, readable
from pinnbo.space import Space
from pinnbo.studies import tabulated
from pinnbo.studies.errors import StudyError
from pinnbo.studies.tabulated import Columns
from pinnbo.studies.toml_table import Table


@dataclass(frozen=True)
class Written:
    """Equations and conditions in text, and what they are given with."""

    text: str
    fields: tuple[str, ...] | None
    constants: dict[str, float]
    unknowns: dict[str, tuple[float, float]]
    places: dict[str, str]
    units: dict[str, str]  # of names, as far as they are known here
    tables: dict[str, Columns]
    time: str | None


def written(top: Table, space: Space, units: dict[str, str], folder: Path) -> Written | None:
    """The equation in text; what it means is looked at when it is used, which takes JAX."""
    equation = top.lines("equation", "a text such as 'laplacian(T) = 0', or a list of them")
    conditions = top.lines("conditions", "a list such as ['T = 20 on y = 0']")
    stated = top.lines("symmetries", "a list such as ['even in x']")
    fields = top.get("fields", list, "a list of names such as ['T']", _are_names, None)
    constants = Table(top.get("constants", dict, "a table of numbers", default={}), "constants.")
    unknowns = Table(
        top.get("unknowns", dict, "a table such as alpha = [0.01, 1.0]", default={}), "unknowns."
    )
    places = Table(top.get("places", dict, "a table such as wall = 'y = 0'", default={}), "places.")
    time = top.get(
        "time", str, f"one of the axes {', '.join(space.names[:8])}", lambda axis: axis in space.names, None
    )
    given_tables = Table(
        top.get("tables", dict, f"a table, each {tabulated.EXPECTED}", default={}), "tables."
    )
    tables = {
        name: tabulated.columns(name, given, folder)
        for name, given in given_tables.all(object, tabulated.EXPECTED, lambda value: True).items()
    }
    numbers_or_texts = constants.all(
        object, "a finite number, or a text such as '12 mm2/s'", _is_number_or_text
    )
    ranges = unknowns.all(list, "a range [low, high] of finite numbers with low < high", lambda pair: True)
    known = readable(units)
    try:
        system = System(
            {name: unit for name, unit in known.items() if name not in {**numbers_or_texts, **ranges}}
        )
        numbers = {
            name: float(system.value(f"constants.{name}", value)) for name, value in numbers_or_texts.items()
        }
        ranges = {
            name: [system.value(f"unknowns.{name}", end) for end in pair] for name, pair in ranges.items()
        }
    except EquationError as error:
        raise StudyError(error.complaint) from None
    for name, pair in ranges.items():
        if not _is_range(pair):
            raise StudyError(
                f"unknowns.{name}: expected a range [low, high] of finite numbers with low < high, got {pair!r:.60}"
            )
    # a constant with a unit of its own is in the units of the problem now
    known = {name: unit for name, unit in known.items() if not isinstance(numbers_or_texts.get(name), str)}
    where = places.all(str, "a place such as 'y = 0'", bool)
    if not equation and not stated:
        given = [name for name, entry in (("conditions", conditions), ("unknowns", ranges)) if entry]
        if given:
            raise StudyError(f"{given[0]}: expected an equation in text beside them, got none")
        return None
    text = "\n".join([*equation, *conditions, *stated])
    try:
        left, _ = symmetries.split(text)
        if left:
            grammar.parse(left, space.names, (*numbers, *ranges, *tables), system)
    except EquationError as error:
        raise StudyError(str(error)) from None
    return Written(
        text,
        None if fields is None else tuple(fields),
        numbers,
        {name: (float(low), float(high)) for name, (low, high) in ranges.items()},
        where,
        known,
        tables,
        time,
    )


def _is_number_or_text(value: Any) -> bool:
    if isinstance(value, str):
        return True
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _are_names(names: list[Any]) -> bool:
    return bool(names) and all(isinstance(name, str) and name.isidentifier() for name in names)


def _is_range(pair: list[Any]) -> bool:
    numbers = all(
        isinstance(end, int | float) and not isinstance(end, bool) and math.isfinite(end) for end in pair
    )
    return len(pair) == 2 and numbers and pair[0] < pair[1]
