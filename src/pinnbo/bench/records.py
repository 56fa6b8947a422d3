"""The records of every benchmark: lines of JSON, one for each case that has been computed.

A *case* is what was computed, a flat JSON object; a *result* is what came out, or an *error* says why
nothing did. Lines are only ever added: of two lines with the same case the later one counts, and the last
line is ignored if a kill cut it short.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

Case = dict[str, Any]


class Record(NamedTuple):
    """One line. ``seconds`` is the time on the clock, None where it was not taken."""

    case: Case
    result: dict[str, Any] | None
    error: str | None
    seconds: float | None
    commit: str
    versions: str


def key(case: Case) -> str:
    """What tells cases apart."""
    return json.dumps(case, sort_keys=True)


def label(case: Case) -> str:
    """A case in words."""
    return ", ".join(f"{name} {value}" for name, value in case.items())


def read(path: Path) -> list[Record]:
    """The records of a file, in the order in which their cases were first computed."""
    if not path.is_file():
        raise ValueError(f"bench: there are no records in {str(path)!r}")
    found: dict[str, Record] = {}
    for number, line in enumerate(path.read_text(errors="replace").splitlines(keepends=True), start=1):
        if not line.endswith("\n"):
            break
        try:
            record = Record(**json.loads(line))
            found[key(record.case)] = record
        except (TypeError, ValueError):
            expected = f"a JSON object with the keys {', '.join(Record._fields)}"
            raise ValueError(
                f"bench: expected {expected} in line {number} of {str(path)!r}, got {line.strip()[:60]!r}"
            ) from None
    return list(found.values())


def append(path: Path, record: Record) -> None:
    """Add a line, on the disk when this returns."""
    with path.open("a+b") as file:
        _drop_torn_line(file)
        file.write(json.dumps(record._asdict()).encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())


@contextmanager
def only_writer(path: Path) -> Iterator[None]:
    """Refuse a second runner on the same records; the system frees the lock of a runner that was killed."""
    import fcntl

    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise ValueError(f"bench: another runner is writing to {str(path)!r}") from None
        yield


def _drop_torn_line(file: Any) -> None:
    """Cut off what a kill left of a line."""
    if file.tell() == 0:
        return
    file.seek(-1, os.SEEK_END)
    if file.read() != b"\n":
        file.seek(0)
        file.truncate(file.read().rfind(b"\n") + 1)
