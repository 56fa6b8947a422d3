"""Values that a storage did not take: each waits in a file beside the problem file and is entered at the next start."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from pinnbo import values
from pinnbo.studies import files
from pinnbo.studies.evaluation import Outcome


class Unsaved(NamedTuple):
    """A value that waits, where it was measured, and for which trial of which study."""

    storage: str  # its URL, without a password
    study: str
    trial: int
    point: dict[str, float]
    outcome: Outcome


def file_for(problem: Path, trial: int) -> Path:
    """Where the value of a trial waits."""
    return problem.with_name(f"{problem.stem}.unsaved-{trial}.json")


def keep(problem: Path, value: Unsaved) -> str:
    """Let a value wait; returns where, to be said."""
    file = file_for(problem, value.trial)
    content = {**value._asdict(), "value": _to_json(value.outcome.value), "reason": value.outcome.reason}
    del content["outcome"]
    try:
        files.write(file, json.dumps(content))
    except OSError as error:
        return f"and {file.name} cannot be written either ({error.strerror}): write it down"
    return f"which waits in {file.name} for the next start"


def waiting(problem: Path) -> Iterator[tuple[Path, Unsaved | str]]:
    """The files of a problem, each with the value in it, or with a sentence if there is none to be read."""
    for file in sorted(problem.parent.glob(f"{problem.stem}.unsaved-*.json")):
        try:
            yield file, _read(json.loads(file.read_text(encoding="utf-8")))
        except OSError as error:
            yield file, f"{file.name} cannot be read: {error.strerror}"
        except (ValueError, KeyError, TypeError, RecursionError):
            yield (
                file,
                f"{file.name} is damaged and was left as it is; if a value can be read from it, "
                f"pinnbo tell {problem.name} VALUE --at NAME=NUMBER ... enters it, and then delete the file",
            )


def _read(content: dict) -> Unsaved:
    point = {str(name): float(c) for name, c in content["point"].items()}
    number = content["trial"]
    if not isinstance(number, int) or isinstance(number, bool):
        raise TypeError
    value = content["value"]
    value = math.nan if value == "infeasible" else values.measured(value, "value")
    reason = content["reason"]
    outcome = Outcome(value, None if reason is None else str(reason))
    return Unsaved(str(content["storage"]), str(content["study"]), number, point, outcome)


def _to_json(value: float | None) -> float | str | None:
    return "infeasible" if value is not None and math.isnan(value) else value
