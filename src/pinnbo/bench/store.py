"""The records on disk: SQLite, one transaction per evaluation, so that a kill at any moment loses nothing
that was recorded.

One process writes (the runner); any number may read.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

from pinnbo.bench.records import Assignment, Evaluation, Event, Run, Work

_VERSION = 1

_SCHEMA = """
CREATE TABLE sessions (
    id INTEGER PRIMARY KEY,
    started TEXT NOT NULL, revision TEXT NOT NULL, command TEXT NOT NULL, versions TEXT NOT NULL
);
CREATE TABLE runs (
    problem TEXT, method TEXT, seed INTEGER,
    initial INTEGER NOT NULL, error TEXT, state TEXT NOT NULL,
    PRIMARY KEY (problem, method, seed)
) WITHOUT ROWID;
CREATE TABLE evaluations (
    problem TEXT, method TEXT, seed INTEGER, n INTEGER,
    x TEXT NOT NULL, y REAL NOT NULL, truth REAL NOT NULL,
    ask_seconds REAL NOT NULL, tell_seconds REAL NOT NULL,
    session INTEGER NOT NULL REFERENCES sessions,
    PRIMARY KEY (problem, method, seed, n)
) WITHOUT ROWID;
"""


class Session(NamedTuple):
    """One start of the runner: when, with which commit, command and versions, and how many records it made."""

    started: str
    revision: str
    command: str
    versions: dict[str, str]
    evaluations: int


class Store:
    """The file of records; `opened` makes one."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._session: int | None = None

    def begin(self, started: str, revision: str, command: str, versions: dict[str, str]) -> None:
        """Begin a session; what is recorded from now on belongs to it."""
        with self._connection:
            cursor = self._connection.execute(
                "INSERT INTO sessions (started, revision, command, versions) VALUES (?, ?, ?, ?)",
                (started, revision, command, json.dumps(versions)),
            )
        self._session = cursor.lastrowid

    def load(self, assignment: Assignment) -> Work:
        """What has been recorded of an assignment; one that began with other initial points is refused."""
        run, initial, _ = assignment
        found = self._connection.execute(
            "SELECT initial, state FROM runs WHERE problem = ? AND method = ? AND seed = ?", run
        ).fetchone()
        if found is None:
            return Work(assignment, [], [], "{}")
        if found[0] != initial:
            raise ValueError(f"bench: {run} was recorded with {found[0]} initial points, got {initial}")
        rows = self._connection.execute(
            "SELECT x, y FROM evaluations WHERE problem = ? AND method = ? AND seed = ? ORDER BY n", run
        ).fetchall()
        return Work(assignment, [json.loads(x) for x, _ in rows], [y for _, y in rows], found[1])

    def write(self, event: Event, initial: int) -> None:
        """Record an evaluation, or the failure of a run, in one transaction; a record that is there stays
        as it is.
        """
        problem, method, seed = event.run
        with self._connection:
            if isinstance(event, Evaluation):
                self._evaluation(event, initial)
            elif event.error is not None:
                self._connection.execute(
                    "INSERT INTO runs VALUES (?, ?, ?, ?, ?, '{}') "
                    "ON CONFLICT (problem, method, seed) DO UPDATE SET error = excluded.error",
                    (problem, method, seed, initial, event.error),
                )

    def forgive(self, runs: Iterable[Run]) -> None:
        """Let failed runs be tried again from where they failed."""
        with self._connection:
            self._connection.executemany(
                "UPDATE runs SET error = NULL WHERE problem = ? AND method = ? AND seed = ?", runs
            )

    def counts(self) -> dict[Run, int]:
        """The number of evaluations of every run that has any."""
        rows = self._connection.execute(
            "SELECT problem, method, seed, COUNT(*) FROM evaluations GROUP BY problem, method, seed"
        )
        return {Run(*row[:3]): row[3] for row in rows}

    def failures(self) -> dict[Run, str]:
        """Failed runs and their errors."""
        rows = self._connection.execute(
            "SELECT problem, method, seed, error FROM runs WHERE error IS NOT NULL ORDER BY problem, method, seed"
        )
        return {Run(*row[:3]): row[3] for row in rows}

    def seconds(self) -> dict[tuple[str, str], tuple[float, int]]:
        """Time of ask and tell, and number of evaluations, by problem and method."""
        rows = self._connection.execute(
            "SELECT problem, method, SUM(ask_seconds + tell_seconds), COUNT(*) FROM evaluations "
            "GROUP BY problem, method"
        )
        return {(problem, method): (total, count) for problem, method, total, count in rows}

    def initial_points(self) -> dict[Run, int]:
        """With how many common points every run began."""
        rows = self._connection.execute("SELECT problem, method, seed, initial FROM runs")
        return {Run(*row[:3]): row[3] for row in rows}

    def rows(self) -> Iterator[Evaluation]:
        """All records, run by run."""
        rows = self._connection.execute(
            "SELECT problem, method, seed, n, x, y, truth, ask_seconds, tell_seconds FROM evaluations "
            "ORDER BY problem, method, seed, n"
        )
        for problem, method, seed, n, x, y, truth, ask, tell in rows:
            yield Evaluation(Run(problem, method, seed), n, json.loads(x), y, truth, ask, tell, None)

    def sessions(self) -> list[Session]:
        """The sessions that recorded anything, oldest first."""
        rows = self._connection.execute(
            "SELECT started, revision, command, versions, COUNT(*) FROM sessions "
            "JOIN evaluations ON evaluations.session = sessions.id GROUP BY sessions.id ORDER BY sessions.id"
        )
        return [Session(a, b, c, json.loads(d), e) for a, b, c, d, e in rows]

    def _evaluation(self, event: Evaluation, initial: int) -> None:
        run: Sequence[str | int] = event.run
        inserted = self._connection.execute(
            "INSERT OR IGNORE INTO evaluations VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                *run,
                event.n,
                json.dumps(event.x),
                event.y,
                event.truth,
                event.ask_seconds,
                event.tell_seconds,
                self._session,
            ),
        )
        if inserted.rowcount:
            self._connection.execute(
                "INSERT INTO runs VALUES (?, ?, ?, ?, NULL, ?) "
                "ON CONFLICT (problem, method, seed) DO UPDATE SET state = excluded.state",
                (*run, initial, event.state),
            )


@contextmanager
def opened(path: Path, create: bool = False) -> Iterator[Store]:
    """The records in a file; ``create`` makes it where there is none."""
    if not create and not path.is_file():
        raise ValueError(f"bench: there are no records in {str(path)!r}; make them with pinnbo bench run")
    with closing(sqlite3.connect(path, timeout=60.0)) as connection:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            # a power cut may lose the last records in WAL without it, a kill may not
            connection.execute("PRAGMA synchronous = FULL")
            (version,) = connection.execute("PRAGMA user_version").fetchone()
        except sqlite3.DatabaseError as error:
            raise ValueError(f"bench: {str(path)!r} is not a file of records ({error})") from None
        if version == 0 and create:
            with connection:
                connection.executescript(f"BEGIN; {_SCHEMA} PRAGMA user_version = {_VERSION}; COMMIT;")
        elif version != _VERSION:
            raise ValueError(f"bench: expected records of version {_VERSION} in {str(path)!r}, got {version}")
        yield Store(connection)


@contextmanager
def only_writer(path: Path) -> Iterator[None]:
    """Refuse a second runner on the same records; the system frees the lock of a runner that was killed."""
    import fcntl

    with path.with_name(path.name + ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise ValueError(f"bench: another pinnbo bench run is writing to {str(path)!r}") from None
        yield
