"""Measurements as tables: CSV in and out."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pinnbo import values
from pinnbo.studies import record, written
from pinnbo.studies.campaign import Campaign, Measurement
from pinnbo.studies.errors import StudyError
from pinnbo.studies.evaluation import Outcome

_BESIDE = ("batch", "of")  # columns where there is any, unless a parameter is called that


def enter(campaign: Campaign, path: Path) -> tuple[int, int]:
    """Enter the rows of a CSV file; returns how many were new and how many were known already.

    Columns: the parameters, ``value`` (NaN: infeasible), ``noise`` if measurements have one of their own, ``batch`` if
    they have any, and ``of``, the sensor, if another than the measured field was read. A file with a row that makes no
    sense is refused as a whole; entering a file again adds only what is missing.
    """
    measurements = _read(path, campaign)
    new = campaign.add_new(measurements)
    return new, len(measurements) - new


def rows(campaign: Campaign) -> list[dict[str, Any]]:
    """Every trial with its meaning, point, value, noise, earlier values and the reason if it was lost, by number."""
    space = campaign.problem.space
    return [
        {
            "trial": entry.number,
            "meaning": entry.meaning,
            **dict(zip(space.names, entry.x, strict=True)),
            "value": None if entry.value is None or math.isnan(entry.value) else entry.value,
            "noise": entry.noise,
            **{
                name: said
                for name in _BESIDE
                if (said := getattr(entry, name)) is not None and name not in space.names
            },
            "was": list(entry.was),
            "reason": entry.reason,
        }
        for entry in sorted(campaign.record().entries)
    ]


def as_csv(table: Iterable[dict[str, Any]], names: Iterable[str]) -> str:
    """Rows as CSV text; ``pinnbo import`` reads the measured ones back."""
    text = io.StringIO()
    listed, parameters = list(table), list(names)
    beside = [name for name in _BESIDE if any(name in row for row in listed) and name not in parameters]
    columns = ["trial", "meaning", *parameters, "value", "noise", *beside, "was", "reason"]
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    for row in listed:
        value = "nan" if row["meaning"] == "infeasible" else row["value"]
        was = " ".join(str(old) for old in row["was"])
        writer.writerow({**row, "value": value, "was": was, "reason": _inert(row["reason"])})
    return text.getvalue()


def _inert(text: str | None) -> str | None:
    """A text that no spreadsheet takes for a formula."""
    return f"'{text}" if text and text[0] in "=+-@\t\r\n" else text


def _read(path: Path, campaign: Campaign) -> list[Measurement]:
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.DictReader(file)
            columns = reader.fieldnames or []
            lines = list(reader)
    except OSError as error:
        raise StudyError(f"{str(path)!r} cannot be read: {error.strerror}") from None
    except (ValueError, csv.Error) as error:
        raise StudyError(f"{str(path)!r} is not a CSV file: {error}") from None
    missing = [name for name in (*campaign.problem.space.names, "value") if name not in columns]
    if missing:
        raise StudyError(
            f"{str(path)!r}: expected a column {missing[0]!r}, got {', '.join(columns) or 'none'}"
        )
    return [
        _checked(line, f"{str(path)!r}, line {number}", campaign)
        for number, line in enumerate(lines, start=2)
        # an export also holds what is no measurement
        if line.get("meaning", "measured") in record.ANSWERED
    ]


def _checked(line: dict[str, str], where: str, campaign: Campaign) -> Measurement:
    numbers = {}
    for name in (*campaign.problem.space.names, "value", *(["noise"] if line.get("noise") else [])):
        try:
            numbers[name] = written.number(line[name])
        except (TypeError, ValueError):
            raise StudyError(f"{where}: {name}: expected a number, got {line[name]!r}") from None
    value, noise = numbers.pop("value"), numbers.pop("noise", None)
    try:
        values.measured(value, "value")
        noise = None if noise is None else values.deviation(noise)
    except ValueError as error:
        raise StudyError(f"{where}: {error}") from None
    try:
        campaign.check(numbers)
    except StudyError as error:
        raise StudyError(f"{where}: {error}") from None
    names = campaign.problem.space.names
    beside = {name: line.get(name) or None for name in _BESIDE if name not in names}
    return Measurement(numbers, Outcome(value), noise, **beside)
