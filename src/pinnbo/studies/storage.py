"""Where studies are kept: a file (SQLite), or PostgreSQL for many machines.

Several calls of Optuna become one transaction here, which makes an answer atomic; a file is looked at before anything
is written into it.
"""

from __future__ import annotations

import contextlib
import sqlite3
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import sqlalchemy
from optuna.exceptions import ExperimentalWarning
from optuna.storages import RDBStorage
from sqlalchemy.exc import ArgumentError, IntegrityError, ProgrammingError
from sqlalchemy.orm import Session, scoped_session, sessionmaker

from pinnbo.studies import files
from pinnbo.studies.errors import OutageError, StorageError, StudyError
from pinnbo.studies.storage_errors import clear_errors

_PATIENCE = 20  # seconds that a locked file is waited for, and a server's answer
_ATTEMPTS = 5
_TABLES = {"studies", "trials", "trial_params", "trial_values", "trial_user_attributes"}


def open_storage(url: str, heartbeat: int) -> RDBStorage:
    """The storage behind a URL: ``sqlite:///FILE`` or ``postgresql://USER@HOST/DATABASE``."""
    file = file_of(url)
    with clear_errors(shown(url)):
        if file is not None:
            if not file.exists():
                _make(file)
            refuse_damage(file, shown(url))
            return _opened(url, heartbeat, {"connect_args": {"timeout": _PATIENCE}})
        # a server that was restarted between two evaluations is asked again
        return _opened(
            url, heartbeat, {"connect_args": {"connect_timeout": _PATIENCE}, "pool_pre_ping": True}
        )


@contextlib.contextmanager
def transaction(held: RDBStorage, study_id: int) -> Iterator[None]:
    """Everything that is done to the storage inside is one transaction, and nobody else writes meanwhile."""
    session = held.scoped_session()
    assert isinstance(session, _Session)
    try:
        if held.engine.dialect.name == "sqlite":
            session.connection().exec_driver_sql("BEGIN IMMEDIATE")
        else:
            lock = sqlalchemy.text("SELECT 1 FROM studies WHERE study_id = :id FOR UPDATE")
            session.execute(lock, {"id": study_id})
        session.joined = True
        yield
        session.joined = False
        if session.undone:
            raise OutageError(
                f"storage {shown(held.url)} was changed by another program at the same moment; "
                "nothing was changed, try again"
            )
        session.commit()
    except BaseException:
        session.joined = False
        session.rollback()
        raise
    finally:
        session.undone = False
        session.close()


class _Session(Session):
    """A session whose commits wait while it is joined."""

    joined = False
    undone = False

    def commit(self) -> None:
        """Commit, or leave that to the transaction that this is a part of."""
        if self.joined:
            self.flush()
        else:
            super().commit()

    def close(self) -> None:
        """Close, or leave that to the transaction that this is a part of."""
        if not self.joined:
            super().close()

    def rollback(self) -> None:
        """Undo all of it, also what was done before."""
        self.undone = self.joined
        super().rollback()


def file_of(url: str) -> Path | None:
    """The file behind an SQLite URL."""
    parsed = _parsed(url)
    return Path(parsed.database or "") if parsed.get_backend_name() == "sqlite" else None


def shown(url: str) -> str:
    """The URL without its password."""
    parsed = sqlalchemy.make_url(url)
    hidden = {name: "***" for name in parsed.query if "password" in name.lower()}
    return parsed.update_query_dict(hidden).render_as_string(hide_password=True)


def has_password(url: str) -> bool:
    """Whether there is a password in the URL."""
    parsed = _parsed(url)
    return parsed.password is not None or any("password" in name.lower() for name in parsed.query)


def refuse_damage(file: Path, name: str) -> None:
    """Raise if a file is damaged, empty, or not one of ours; it is left as it is."""
    if file.is_file() and file.stat().st_size == 0:
        raise StorageError(
            f"storage {name} is empty, 0 bytes, and no new study is begun in it: "
            "put a backup in its place, or delete the file to begin anew"
        )
    with contextlib.closing(connect(file)) as connection:
        found = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
        tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if found != "ok":
        raise StorageError(
            f"storage {name} is damaged ({' '.join(found.split())}); "
            "pinnbo check-storage says what can be saved"
        )
    missing = sorted(_TABLES - tables)
    if missing:
        raise StorageError(
            f"storage {name} is no storage of studies: it has no table {missing[0]!r}; "
            "put a backup in its place, or choose another file"
        )


def connect(file: Path) -> sqlite3.Connection:
    """An existing SQLite file; reading repairs what a killed process left half written."""
    return sqlite3.connect(f"{file.resolve().as_uri()}?mode=rw", uri=True, timeout=_PATIENCE)


def _make(file: Path) -> None:
    """Make a file with empty tables; it appears when it is complete, so that an empty one is never a new one."""
    try:
        with tempfile.TemporaryDirectory(dir=file.parent, prefix=f".{file.name}-") as folder:
            new = Path(folder, file.name)
            held = RDBStorage(sqlalchemy.URL.create("sqlite", database=str(new)).render_as_string())
            held.remove_session()
            held.engine.dispose()
            with contextlib.suppress(FileExistsError):  # made by another process at the same moment
                files.place(new, file)
    except OSError as error:
        raise StorageError(
            f"storage sqlite:///{file} cannot be opened: "
            f"the folder does not exist or may not be written ({error.strerror})"
        ) from None


def _opened(url: str, heartbeat: int, options: dict[str, Any]) -> RDBStorage:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExperimentalWarning)
        for attempt in range(_ATTEMPTS):
            try:
                held = RDBStorage(
                    _plain(url),
                    engine_kwargs=options,
                    heartbeat_interval=heartbeat,
                    grace_period=3 * heartbeat,
                )
                held.scoped_session = scoped_session(sessionmaker(bind=held.engine, class_=_Session))
                return held
            except (IntegrityError, ProgrammingError):
                # workers that start together make the tables together, and all but one find them there already
                if attempt + 1 == _ATTEMPTS:
                    raise
                time.sleep(0.2 * (attempt + 1))
            except RuntimeError as error:
                raise StorageError(
                    f"storage {shown(url)} was made by another version of Optuna: {error}"
                ) from error
    raise AssertionError


def _plain(url: str) -> str:
    """The URL as Optuna takes it, with the driver that comes with pinnbo."""
    parsed = _parsed(url)
    if parsed.get_backend_name() == "postgresql":
        parsed = parsed.set(drivername="postgresql+psycopg")
    return parsed.render_as_string(hide_password=False)


def _parsed(url: str) -> sqlalchemy.URL:
    with contextlib.suppress(ArgumentError, ValueError):
        parsed = sqlalchemy.make_url(url)
        if parsed.get_backend_name() in ("sqlite", "postgresql"):
            return parsed
    raise StudyError(
        f"storage: expected sqlite:///FILE or postgresql://USER@HOST/DATABASE, got {_without_secrets(url)!r}"
    )


def _without_secrets(url: str) -> str:
    """What can be shown of a text that is no URL: nothing between :// and the last @."""
    scheme, slashes, rest = url.partition("://")
    return f"{scheme}{slashes}{rest.rpartition('@')[2]}"
