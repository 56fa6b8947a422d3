"""What a database raises, in the user's words; told apart by its codes, never by words in its messages."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator

from optuna.exceptions import StorageInternalError
from sqlalchemy.exc import (
    DBAPIError,
    InterfaceError,
    OperationalError,
    PendingRollbackError,
    SQLAlchemyError,
)

from pinnbo.studies.errors import OutageError, StorageError

_AWAY = "cannot be reached; nothing was changed, try again"
_LOCKED = "is locked by another program, and stayed so; nothing was changed, try again"
_FULL = "cannot grow: the disk is full; free some space and try again"
_DAMAGED = "is damaged; pinnbo check-storage says what can be saved"

# https://www.sqlite.org/rescode.html
_SQLITE = {
    sqlite3.SQLITE_BUSY: _LOCKED,
    sqlite3.SQLITE_LOCKED: _LOCKED,
    sqlite3.SQLITE_FULL: _FULL,
    sqlite3.SQLITE_IOERR: "cannot be written: the disk reports an error or a limit; nothing was changed, try again",
    sqlite3.SQLITE_NOTADB: "is not a database",
    sqlite3.SQLITE_CORRUPT: _DAMAGED,
    sqlite3.SQLITE_READONLY: "cannot be written: it is read-only",
    sqlite3.SQLITE_PERM: "may not be opened",
    sqlite3.SQLITE_AUTH: "may not be opened",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened: the folder does not exist or may not be written",
}
_PRIMARY = 0xFF  # an extended result code of SQLite holds the primary one in its last byte

# https://www.postgresql.org/docs/current/errcodes-appendix.html: whole codes, then classes
_POSTGRESQL = {
    "53100": _FULL,
    "3D000": "has no such database",
    "42501": "does not give this user the right to do that",
    "57P01": _AWAY,
    "57P02": _AWAY,
    "57P03": _AWAY,
    "08": _AWAY,
    "28": "refuses the user or the password",
    "40": _LOCKED,
    "53": "has no connections or memory left; nothing was changed, try again",
    "55": _LOCKED,
}
_PASSING = {_AWAY, _LOCKED, _POSTGRESQL["53"]}


@contextlib.contextmanager
def clear_errors(storage: str) -> Iterator[None]:
    """Turn what a database raises into one sentence that names the storage (without its password)."""
    try:
        yield
    except (StorageInternalError, SQLAlchemyError, sqlite3.Error) as error:
        kind, meaning = _meaning(error)
        raise kind(f"storage {storage} {meaning}") from error


def _meaning(error: BaseException) -> tuple[type[StorageError], str]:
    for cause in _causes(error):
        if isinstance(cause, sqlite3.Error):
            meaning = _SQLITE.get(getattr(cause, "sqlite_errorcode", 0) & _PRIMARY)
        else:
            state = getattr(cause, "sqlstate", None) or ""
            meaning = _POSTGRESQL.get(state) or _POSTGRESQL.get(state[:2])
        if meaning is not None:
            return (OutageError if meaning in _PASSING else StorageError), meaning
    if any(isinstance(cause, PendingRollbackError) for cause in _causes(error)):
        return OutageError, _AWAY  # the connection broke within a transaction, which is not there any more
    if any(isinstance(cause, OperationalError | InterfaceError) for cause in _causes(error)):
        return OutageError, _without_connection(error)
    return StorageError, f"fails: {_line(error.__cause__ or error)}"


def _without_connection(error: BaseException) -> str:
    """There is no code where no connection is made: a server that is there says why, and FATAL is its mark."""
    said = " ".join(str(cause.orig) for cause in _causes(error) if isinstance(cause, DBAPIError))
    _, refused, reason = said.rpartition("FATAL:")
    return f"refuses the connection: {_line(reason)}" if refused else _AWAY


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        if isinstance(error, DBAPIError) and error.orig is not None:
            yield error.orig
        error = error.__cause__


def _line(said: object) -> str:
    return " ".join(str(said).split())[:200]
