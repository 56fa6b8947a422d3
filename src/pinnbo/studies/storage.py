"""Where studies are kept: a file (SQLite), or PostgreSQL for many machines; errors in the user's words."""

from __future__ import annotations

import contextlib
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import sqlalchemy
from optuna.exceptions import ExperimentalWarning, StorageInternalError
from optuna.storages import RDBStorage
from sqlalchemy.exc import ArgumentError, IntegrityError, SQLAlchemyError

from pinnbo.studies.errors import StorageError, StudyError

_PATIENCE = 20  # seconds that a locked file is waited for, and a server's answer
_ATTEMPTS = 5


def open_storage(url: str, heartbeat: int) -> RDBStorage:
    """The storage behind a URL: ``sqlite:///FILE`` or ``postgresql://USER@HOST/DATABASE``."""
    parsed = _parsed(url)
    if parsed.get_backend_name() == "sqlite":
        options = {"connect_args": {"timeout": _PATIENCE}}
    else:
        # a server that was restarted between two evaluations is asked again
        options = {"connect_args": {"connect_timeout": _PATIENCE}, "pool_pre_ping": True}  # type: ignore[dict-item]
    with clear_errors(url), warnings.catch_warnings():
        warnings.simplefilter("ignore", ExperimentalWarning)
        for attempt in range(_ATTEMPTS):
            try:
                return RDBStorage(
                    _plain(url),
                    engine_kwargs=options,
                    heartbeat_interval=heartbeat,
                    grace_period=3 * heartbeat,
                )
            except SQLAlchemyError as error:
                # workers that start together make the tables together, and all but one find them there already
                made = isinstance(error, IntegrityError) or "already exists" in str(error).lower()
                if attempt + 1 == _ATTEMPTS or not made:
                    raise
                time.sleep(0.2 * (attempt + 1))
    raise AssertionError


def _plain(url: str) -> str:
    """The URL as Optuna takes it, with the driver that comes with pinnbo."""
    parsed = _parsed(url)
    if parsed.get_backend_name() == "postgresql":
        parsed = parsed.set(drivername="postgresql+psycopg")
    return parsed.render_as_string(hide_password=False)


def file_of(url: str) -> Path | None:
    """The file behind an SQLite URL."""
    parsed = _parsed(url)
    return Path(parsed.database or "") if parsed.get_backend_name() == "sqlite" else None


@contextlib.contextmanager
def clear_errors(url: str) -> Iterator[None]:
    """Turn what a database raises into one sentence that names the storage."""
    try:
        yield
    except (StorageInternalError, SQLAlchemyError) as error:
        raise StorageError(_sentence(url, error)) from error
    except RuntimeError as error:
        # Optuna's word for tables of another version
        if "storage" not in str(error).lower():
            raise
        raise StorageError(f"storage {shown(url)} was made by another version of Optuna: {error}") from error


def shown(url: str) -> str:
    """The URL without its password."""
    return sqlalchemy.make_url(url).render_as_string(hide_password=True)


def _parsed(url: str) -> sqlalchemy.URL:
    try:
        parsed = sqlalchemy.make_url(url)
        if parsed.get_backend_name() in ("sqlite", "postgresql"):
            return parsed
    except (ArgumentError, ValueError):
        pass
    raise StudyError(f"storage: expected sqlite:///FILE or postgresql://HOST/DATABASE, got {url!r}")


_CAUSES = {
    "locked": f"is locked by another program, also after {_PATIENCE} s; nothing was changed, try again",
    "full": "cannot grow: the disk is full; free some space and try again",
    "no space": "cannot grow: the disk is full; free some space and try again",
    "disk i/o error": "cannot be written: the disk reports an error or a limit; nothing was changed, try again",
    "not a database": "is not a database",
    "readonly": "cannot be written: it is read-only",
    "unable to open": "cannot be opened: the folder does not exist or may not be written",
    "password authentication": "refuses the user or the password",
    "does not exist": "has no such database or user",
    "connect": "cannot be reached; nothing was changed, try again",
    "server closed": "cannot be reached; nothing was changed, try again",
    "shutting down": "cannot be reached; nothing was changed, try again",
    "terminating": "cannot be reached; nothing was changed, try again",
    "resolve": "cannot be reached; nothing was changed, try again",
}


def _sentence(url: str, error: BaseException) -> str:
    causes, seen = [], error
    while seen is not None:
        causes.append(str(seen).lower())
        seen = seen.__cause__  # type: ignore[assignment]
    text = " ".join(causes)
    for word, meaning in _CAUSES.items():
        if word in text:
            return f"storage {shown(url)} {meaning}"
    return f"storage {shown(url)} fails: {' '.join(str(error.__cause__ or error).split())[:200]}"
