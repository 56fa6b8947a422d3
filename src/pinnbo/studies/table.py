"""Measurements as tables: CSV in and out."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pinnbo.studies.campaign import Campaign
from pinnbo.studies.errors import StudyError
from pinnbo.studies.evaluation import Outcome

_Row = tuple[dict[str, float], Outcome, float | None]


def enter(campaign: Campaign, path: Path) -> tuple[int, int]:
    """Enter the rows of a CSV file; returns how many were new and how many were known already.

    Columns: the parameters, ``value`` (NaN: infeasible), and ``noise`` if measurements have one of their own. A file
    with a row that makes no sense is refused as a whole; entering a file again adds only what is missing.
    """
    rows = _read(path, campaign)
    known = {(entry.x, repr(entry.value)) for entry in campaign.record().of("measured", "infeasible")}
    names = campaign.problem.space.names
    new = [row for row in rows if (tuple(row[0][n] for n in names), repr(row[1].value)) not in known]
    for point, outcome, noise in new:
        campaign.add(point, outcome, noise)
    return len(new), len(rows) - len(new)


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
            "was": list(entry.was),
            "reason": entry.reason,
        }
        for entry in sorted(campaign.record().entries)
    ]


def as_csv(table: Iterable[dict[str, Any]], names: Iterable[str]) -> str:
    """Rows as CSV text; ``pinnbo import`` reads the measured ones back."""
    text = io.StringIO()
    columns = ["trial", "meaning", *names, "value", "noise", "was", "reason"]
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    for row in table:
        value = "nan" if row["meaning"] == "infeasible" else row["value"]
        writer.writerow({**row, "value": value, "was": " ".join(str(old) for old in row["was"])})
    return text.getvalue()


def _read(path: Path, campaign: Campaign) -> list[_Row]:
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.DictReader(file)
            columns = reader.fieldnames or []
            lines = list(reader)
    except OSError as error:
        raise StudyError(f"{str(path)!r} cannot be read: {error.strerror}") from None
    except (UnicodeDecodeError, csv.Error) as error:
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
        if line.get("meaning", "measured") in ("measured", "infeasible")
    ]


def _checked(line: dict[str, str], where: str, campaign: Campaign) -> _Row:
    numbers = {}
    for name in (*campaign.problem.space.names, "value", *(["noise"] if line.get("noise") else [])):
        try:
            numbers[name] = float(line[name])
        except (TypeError, ValueError):
            raise StudyError(f"{where}: {name}: expected a number, got {line[name]!r}") from None
    value, noise = numbers.pop("value"), numbers.pop("noise", None)
    if math.isinf(value):
        raise StudyError(f"{where}: value: expected a finite number or nan, got {value}")
    if noise is not None and not 0 <= noise < math.inf:
        raise StudyError(f"{where}: noise: expected a finite standard deviation >= 0, got {noise}")
    try:
        campaign.check(numbers)
    except StudyError as error:
        raise StudyError(f"{where}: {error}") from None
    return numbers, Outcome(value), noise
