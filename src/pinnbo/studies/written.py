"""Numbers, values and points as people write them; without NumPy, so that a slip is answered at once."""

from __future__ import annotations

import math

from pinnbo.studies.errors import StudyError

MOST_DIGITS = 9  # of a count that somebody may mean


def number(text: str) -> float:
    """A number that somebody wrote; Python would read 1_5 as 15, which nobody means in a laboratory."""
    if "_" in text:
        raise ValueError(f"expected a number, got {text!r:.60}")
    return float(text)


def value(text: str) -> float | None:
    """A measured value: NaN where nothing can be measured, None if it was lost."""
    if text.lower() == "lost":
        return None
    try:
        found = number(text)
    except ValueError:
        found = math.inf
    if math.isinf(found):
        raise StudyError(f"VALUE: expected a number, nan (impossible there) or lost, got {text!r:.60}")
    from pinnbo import values

    if not values.is_taken(found):
        raise StudyError(f"VALUE: expected a number of at most {values.LARGEST:g} in size, got {text!r:.60}")
    return found


def trial(text: str) -> int:
    """The number of a trial."""
    if not text.isdecimal() or len(text) > MOST_DIGITS:
        raise StudyError(f"TRIAL: expected the number of a trial, got {text!r:.60}")
    return int(text)


def point(texts: list[str]) -> dict[str, float]:
    """Coordinates by name, from texts such as x=0.5."""
    found: dict[str, float] = {}
    for text in texts:
        name, _, coordinate = text.partition("=")
        if name in found:
            raise StudyError(f"--at: expected one number for {name}, got two")
        try:
            found[name] = number(coordinate)
        except ValueError:
            raise StudyError(f"--at: expected NAME=NUMBER such as x=0.5, got {text!r:.60}") from None
    return found
