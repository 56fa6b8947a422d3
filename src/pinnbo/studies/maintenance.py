"""Looking after a storage: integrity, trials that lead nowhere, what can be read from a damaged file, a copy."""

from __future__ import annotations

import contextlib
import csv
import io
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from pinnbo.studies import files, storage
from pinnbo.studies.campaign import open_campaign
from pinnbo.studies.errors import StorageError, StudyError
from pinnbo.studies.problem_file import ProblemFile
from pinnbo.studies.storage_errors import clear_errors


def check(problem: ProblemFile, url: str, salvage: Path | None, say: Callable[[str], None]) -> int:
    """Say what is wrong with a storage; the exit code is 0 if nothing is."""
    file = storage.file_of(url)
    if salvage is not None:
        if file is None:
            raise StudyError(
                "--salvage: expected an SQLite file, got a server, whose backups are made by pg_dump"
            )
        names = list(problem.space.names)
        rows = list(_readable(file, problem.name, names))
        _write_new(salvage, _as_csv(rows, names))
        say(f"wrote {len(rows)} measurements to {salvage}; pinnbo import enters them into a new storage")
        return 0
    if file is not None:
        if not file.exists():
            raise StorageError(f"storage {storage.shown(url)} does not exist")
        with clear_errors(storage.shown(url)):
            storage.refuse_damage(file, storage.shown(url))
            with contextlib.closing(storage.connect(file)) as connection:
                found = [row[0] for row in connection.execute("PRAGMA integrity_check(10)")]
                loose = connection.execute("PRAGMA foreign_key_check").fetchall()
        if found != ["ok"]:
            raise StorageError(
                f"storage {storage.shown(url)} is damaged ({found[0]}); --salvage saves what is readable"
            )
        if loose:
            raise StorageError(
                f"storage {storage.shown(url)} has {len(loose)} rows that belong to nothing, "
                f"the first in {loose[0][0]!r}"
            )
    complaints: list[str] = []
    with open_campaign(problem, url, create=False, say=complaints.append) as campaign:
        held = campaign.record()
        trials = campaign.study.get_trials(deepcopy=False)
        pointless = campaign.without_a_point()
    if pointless:
        complaints.append(f"trials {pointless} are under way without a point; pinnbo drop withdraws them")
    if held.outside:
        complaints.append(f"trials {held.outside} lie outside {problem.space} and are not learnt from")
    for sentence in complaints:
        say(sentence)
    say(
        f"{storage.shown(url)}: {len(trials)} trials, {len(held.of('measured'))} of them measured, "
        + ("no damage" if not complaints else "no damage in the storage")
    )
    return 1 if complaints else 0


def backup(url: str, copy: Path) -> None:
    """Copy an SQLite storage as it is at one moment, also while it is written."""
    file = storage.file_of(url)
    if file is None:
        raise StudyError(
            f"backup: {storage.shown(url)} is a server, which pg_dump backs up: pg_dump --file=COPY DATABASE"
        )
    if not file.exists():
        raise StorageError(f"storage {storage.shown(url)} does not exist")
    with clear_errors(storage.shown(url)):
        storage.refuse_damage(file, storage.shown(url))
        try:
            with tempfile.TemporaryDirectory(dir=copy.parent, prefix=f".{copy.name}-") as folder:
                new = Path(folder, copy.name)
                source, target = storage.connect(file), sqlite3.connect(new)
                with contextlib.closing(source), contextlib.closing(target):
                    source.backup(target)
                files.place(new, copy)
        except FileExistsError:
            raise StudyError(f"backup: {str(copy)!r} exists already, and is not overwritten") from None
        except OSError as error:
            raise StudyError(f"backup: {str(copy)!r} cannot be written: {error.strerror}") from None


def _readable(file: Path, study: str, names: list[str]) -> Iterator[dict[str, Any]]:
    """The measurements that can be read, whatever else cannot; every table is read from both of its ends."""
    try:
        connection = sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True)
    except sqlite3.Error as error:
        raise StorageError(f"{str(file)!r} cannot be opened: {error}") from None
    with contextlib.closing(connection):
        studies = {row["study_id"]: row["study_name"] for row in _rows(connection, "studies")}
        trials = {
            row["trial_id"]: row
            for row in _rows(connection, "trials")
            if row["state"] == "COMPLETE" and studies.get(row["study_id"], study) == study
        }
        points: dict[int, dict[str, float]] = {}
        for row in _rows(connection, "trial_params"):
            points.setdefault(row["trial_id"], {})[row["param_name"]] = row["param_value"]
        for row in _rows(connection, "trial_values"):
            point = points.get(row["trial_id"], {})
            if row["trial_id"] in trials and row["value"] is not None and set(names) <= set(point):
                yield {**{name: point[name] for name in names}, "value": row["value"]}


def _rows(connection: sqlite3.Connection, table: str) -> list[dict[str, Any]]:
    found: dict[int, dict[str, Any]] = {}
    for direction in ("ASC", "DESC"):
        with contextlib.suppress(sqlite3.Error):
            # text that is damaged need not be text
            connection.text_factory = lambda raw: raw.decode(errors="replace")
            cursor = connection.execute(
                f"SELECT rowid AS _row, * FROM {table} NOT INDEXED ORDER BY rowid {direction}"
            )
            columns = [column[0] for column in cursor.description]
            for row in cursor:
                found[row[0]] = dict(zip(columns, row, strict=True))
    return [found[key] for key in sorted(found)]


def _as_csv(rows: list[dict[str, Any]], names: list[str]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, [*names, "value"], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _write_new(path: Path, text: str) -> None:
    if path.exists():
        raise StudyError(f"{str(path)!r} exists already, and is not overwritten")
    try:
        files.write(path, text)
    except OSError as error:
        raise StudyError(f"{str(path)!r} cannot be written: {error.strerror}") from None
