"""The sensors of a problem file: what else can be read, in text or in Python."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pinnbo import sensors, values
from pinnbo.equations import grammar
from pinnbo.equations.errors import EquationError
from pinnbo.space import Space
from pinnbo.studies.errors import StudyError
from pinnbo.studies.references import load
from pinnbo.studies.toml_table import Table
from pinnbo.studies.written_equation import Written

if TYPE_CHECKING:
    from collections.abc import Sequence

_EXPECTED = "a text such as '-0.6*d(T, x)', a reference such as 'plate.py:flux', or a table"


@dataclass(frozen=True)
class WrittenSensor:
    """What one of them reads; the measured field at x, where nothing else is said."""

    reads: str | None = None  # an expression of the fields
    reference: str | None = None  # or an object in Python
    over: dict[str, Any] | None = None
    minus: dict[str, float] | None = None
    noise: float | None = None

    @property
    def text(self) -> str:
        """By which it is recognised later."""
        return json.dumps({name: part for name, part in vars(self).items() if part is not None})

    def sensor(self, domain: Space, fields: Sequence[str], equation: Written | None, folder: Path) -> Any:
        """What an `Optimizer` takes for it."""
        if self.reference is not None:
            return load(self.reference, folder)
        operator = None
        if self.reads is not None:
            from pinnbo.equations.text import reading

            given: dict[str, Any] = {}
            if equation is not None:
                given = {name: getattr(equation, name) for name in ("constants", "tables", "time", "units")}
            try:
                operator = reading(self.reads, domain, fields=fields, **given)
            except EquationError as error:
                raise StudyError(str(error)) from None
        return sensors.Sensor(
            operator,
            over=sensors.AtPoint() if self.over is None else sensors.footprint(self.over),
            minus=None if self.minus is None else domain.from_dict(self.minus),
            noise=self.noise,
        )


def written_sensors(entries: dict[str, Any], box: Space) -> dict[str, WrittenSensor]:
    """All of them by name; what an expression means is looked at when it is used, which takes JAX."""
    stated = Table(entries, "sensors.").all(object, _EXPECTED, lambda value: isinstance(value, str | dict))
    found = {}
    for name, one in stated.items():
        if not name.isprintable() or name != name.strip():
            raise StudyError(f"sensors: expected a name such as flux, got {name!r:.60}")
        try:
            found[name] = _written(
                Table(one if isinstance(one, dict) else {"reads": one}, f"sensors.{name}."), box
            )
        except (EquationError, TypeError, ValueError) as error:
            raise StudyError(f"sensors.{name}: {error}") from None
    return found


def _written(table: Table, box: Space) -> WrittenSensor:
    reads = table.get("reads", str, "a text such as '-0.6*d(T, x)'", bool, None)
    over = table.get("over", dict, "a table such as {shape = 'disc', radius = 0.1}", default=None)
    minus = table.get("minus", dict, "a point such as {x = 0.0}", default=None)
    noise = table.get("noise", float, "a standard deviation >= 0", lambda sd: 0 <= sd <= values.LARGEST, None)
    table.finish()
    if over is not None:
        sensors.footprint(over).refuse(box.dim)
    if minus is not None:
        box.from_dict(minus)
    reference = reads if reads is not None and ":" in reads else None
    if reference is not None and (over or minus or noise is not None):
        raise ValueError("over, minus and noise belong to the Sensor in Python, got them beside a reference")
    if reference is None and reads is not None:
        grammar.parse_expression(reads, box.names)
    return WrittenSensor(None if reference else reads, reference, over, minus, noise)
