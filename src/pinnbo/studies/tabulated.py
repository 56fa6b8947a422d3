"""Functions that a problem file gives as tables: two columns in the file, or in a CSV file beside it."""

from __future__ import annotations

import csv
import math
from pathlib import Path
from typing import Any

from pinnbo.studies.errors import StudyError

_MOST_ROWS = 100_000
EXPECTED = "two columns [[places], [values]], or the name of a CSV file with two columns"

Columns = tuple[list[float], list[float]]


def columns(name: str, given: Any, folder: Path) -> Columns:
    """Places and values of a table."""
    if isinstance(given, str):
        return _of_file(name, given, folder)
    if not isinstance(given, list) or len(given) != 2 or not all(map(_is_column, given)):
        raise StudyError(f"tables.{name}: expected {EXPECTED}, got {given!r:.60}")
    places, values = given
    return [float(place) for place in places], [float(value) for value in values]


def _is_column(column: Any) -> bool:
    return isinstance(column, list) and all(map(_is_number, column))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _of_file(name: str, given: str, folder: Path) -> Columns:
    path = (folder / given).resolve()
    if not path.is_relative_to(folder.resolve()):
        raise StudyError(
            f"tables.{name}: expected a file in the folder of the problem file, got {str(path)!r}"
        )
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = [row for row, _ in zip(csv.reader(file), range(_MOST_ROWS + 1), strict=False) if row]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise StudyError(f"tables.{name}: {given!r:.60} cannot be read: {error}") from None
    if len(rows) > _MOST_ROWS:
        raise StudyError(f"tables.{name}: expected at most {_MOST_ROWS} rows in {given!r:.60}, got more")
    found = []
    for line, row in enumerate(rows, start=1):
        try:
            place, value = (float(cell) for cell in row)
        except ValueError:
            if line == 1:
                continue  # a head with names
            raise StudyError(
                f"tables.{name}: expected two numbers in line {line} of {given!r:.60}, got {','.join(row)!r:.60}"
            ) from None
        found.append((place, value))
    return [place for place, _ in found], [value for _, value in found]
