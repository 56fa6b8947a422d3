"""What is wrong with an equation in text: one sentence that names the place."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import NamedTuple

_SHOWN = 24  # characters of the text


class Place(NamedTuple):
    """A line and a column of the text, both from 1, and how the text goes on there."""

    line: int
    column: int
    rest: str = ""

    def __str__(self) -> str:
        return f"line {self.line}, column {self.column}"


class EquationError(ValueError):
    """An equation that cannot be understood."""

    def __init__(self, complaint: str, at: Place | None = None) -> None:
        where = "" if at is None else f"{at}: "
        rest = "" if at is None or not at.rest else f", at {_excerpt(at.rest)}"
        super().__init__(f"equation: {where}{complaint}{rest}")
        self.complaint, self.at = complaint, at


def nearest(name: str, known: Iterable[str]) -> str:
    """A hint at the known name that was probably meant, or nothing."""
    near = difflib.get_close_matches(name, list(known), n=1)
    return f", did you mean {near[0]}?" if near else ""


def _excerpt(rest: str) -> str:
    line = " ".join(rest[: 4 * _SHOWN].split())
    return repr(line if len(line) <= _SHOWN else line[:_SHOWN] + "...")
