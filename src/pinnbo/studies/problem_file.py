"""Problem files: a TOML file that says what is optimised and how it is evaluated.

goal = "maximize"              # or "minimize"
budget = 30                    # number of evaluations
pde = "plate.py:pde"           # optional; a PDE or a list of them
noise = 0.02                   # optional; standard deviation of a measurement
method = "auto"                # optional
seed = 0                       # optional
name = "plate"                 # optional; of the study, by default the name of the file
storage = "postgresql://..."   # optional; by default a file beside the problem file
heartbeat = 60                 # optional; seconds between signs of life of a worker

[space]
x = [-1.0, 1.0]

[evaluate]                     # without it: by hand
python = "plate.py:measure"    # or: command = "./measure {x}", timeout = 60, shell = false
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pinnbo import methods
from pinnbo.optimizer import Goal
from pinnbo.pde import PDE, as_physics
from pinnbo.space import Space
from pinnbo.studies.errors import StudyError
from pinnbo.studies.evaluation import CommandEvaluation, Evaluation, PythonEvaluation
from pinnbo.studies.references import load

_HEARTBEAT = 60


@dataclass(frozen=True)
class ProblemFile:
    """What a problem file says, checked; ``evaluation`` is None for evaluation by hand."""

    path: Path
    name: str
    goal: Goal
    budget: int
    space: Space
    physics: tuple[PDE, ...]
    evaluation: Evaluation | None
    method: str
    noise: float | None
    seed: int | None
    storage: str
    heartbeat: int


def read(path: Path) -> ProblemFile:
    """Read and check a problem file."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise StudyError(
            f"problem file {str(path)!r} cannot be read: {error.strerror}; pinnbo init makes one"
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise StudyError(f"problem file {str(path)!r} is not TOML: {error}") from None
    try:
        return _checked(path, table)
    except StudyError as error:
        raise StudyError(f"problem file {str(path)!r}: {error}") from None


def _checked(path: Path, table: dict[str, Any]) -> ProblemFile:
    top = _Table(table, "")
    folder = path.resolve().parent
    space = _space(top.get("space", dict, "a table such as x = [0.0, 1.0]"))
    goal = top.get("goal", str, "'minimize' or 'maximize'", lambda goal: goal in ("minimize", "maximize"))
    method = top.get(
        "method", str, f"one of {methods.available()}", lambda name: name in methods.available(), "auto"
    )
    found = ProblemFile(
        path=path,
        name=top.get("name", str, "a text", bool, path.stem),
        goal=goal,
        budget=top.get("budget", int, "an integer >= 1", lambda n: n >= 1),
        space=space,
        physics=_physics(top.get("pde", str, "a reference such as 'plate.py:pde'", bool, ""), folder),
        evaluation=_evaluation(top.get("evaluate", dict, "a table", default={}), space, folder),
        method=method,
        noise=top.get("noise", float, "a standard deviation >= 0", lambda sd: 0 <= sd < float("inf"), None),
        seed=top.get("seed", int, "an integer >= 0", lambda n: n >= 0, None),
        storage=_storage(top.get("storage", str, "a URL", bool, f"sqlite:///{path.stem}.db"), folder),
        heartbeat=top.get("heartbeat", int, "seconds, an integer >= 1", lambda n: n >= 1, _HEARTBEAT),
    )
    top.finish()
    return found


def _space(bounds: dict[str, Any]) -> Space:
    try:
        return Space(
            **{name: tuple(pair) if isinstance(pair, list) else pair for name, pair in bounds.items()}
        )
    except (TypeError, ValueError) as error:
        raise StudyError(str(error)) from None


def _storage(url: str, folder: Path) -> str:
    prefix = "sqlite:///"
    return f"{prefix}{folder / url.removeprefix(prefix)}" if url.startswith(prefix) else url


def _physics(reference: str, folder: Path) -> tuple[PDE, ...]:
    if not reference:
        return ()
    try:
        return as_physics(load(reference, folder))
    except TypeError as error:
        raise StudyError(f"{reference}: {error}") from None


def _evaluation(entries: dict[str, Any], space: Space, folder: Path) -> Evaluation | None:
    table = _Table(entries, "evaluate.")
    python = table.get("python", str, "a reference such as 'plate.py:measure'", bool, None)
    command = table.get("command", str, "a command such as './measure {x}'", bool, None)
    timeout = table.get("timeout", float, "seconds > 0", lambda seconds: seconds > 0, None)
    shell = table.get("shell", bool, "true or false", default=False)
    table.finish()
    if python and command:
        raise StudyError("evaluate: expected python or command, got both")
    if (timeout or shell) and not command:
        raise StudyError("evaluate: timeout and shell belong to a command, got no command")
    if command:
        return CommandEvaluation(command, space, folder, timeout, shell)
    if python:
        function = load(python, folder)
        if not callable(function):
            raise StudyError(f"{python}: expected a function of a point, got {type(function).__name__}")
        return PythonEvaluation(function, space)
    return None


_REQUIRED = object()


class _Table:
    """Takes checked entries out of a TOML table and complains of what is left."""

    def __init__(self, entries: dict[str, Any], prefix: str) -> None:
        self._left, self._prefix, self._known = dict(entries), prefix, []  # type: ignore[var-annotated]

    def get(
        self,
        key: str,
        kind: type,
        expected: str,
        check: Callable[[Any], bool] = lambda value: True,
        default: Any = _REQUIRED,
    ) -> Any:
        """The entry, or the default if there is none."""
        self._known.append(key)
        if key not in self._left:
            if default is _REQUIRED:
                raise StudyError(f"expected {self._prefix}{key} = {expected}, got nothing")
            return default
        value = self._left.pop(key)
        if kind is float and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        fits = isinstance(value, kind) and (kind is bool or not isinstance(value, bool))
        if not fits or not check(value):
            raise StudyError(f"{self._prefix}{key}: expected {expected}, got {value!r:.60}")
        return value

    def finish(self) -> None:
        """No entry may be left."""
        for key in self._left:
            known = ", ".join(self._known)
            raise StudyError(f"{self._prefix}{key} is unknown; expected one of {known}")
