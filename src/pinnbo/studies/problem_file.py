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

import contextlib
import math
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pinnbo import methods, values
from pinnbo.space import Space
from pinnbo.studies.errors import StudyError
from pinnbo.studies.evaluation import CommandEvaluation, Evaluation, PythonEvaluation
from pinnbo.studies.references import load

if TYPE_CHECKING:
    from pinnbo.optimizer import Goal
    from pinnbo.pde import PDE

_HEARTBEAT = 60
_MOST = 10**9  # evaluations
_LONGEST_NAME = 500  # Optuna keeps 512 characters


@dataclass(frozen=True)
class ProblemFile:
    """What a problem file says, checked.

    The Python objects that it names are loaded by ``physics`` and ``evaluation``, and not before: a value can be
    entered without waiting for JAX.
    """

    path: Path
    name: str
    goal: Goal
    budget: int
    space: Space
    pde: str | None  # a reference
    evaluate: CommandEvaluation | str | None  # a command, a reference to a function, or by hand
    method: str
    noise: float | None
    seed: int | None
    storage: str
    heartbeat: int

    @cached_property
    def physics(self) -> tuple[PDE, ...]:
        """The equations."""
        from pinnbo.pde import as_physics

        if self.pde is None:
            return ()
        with _errors_of(self.path):
            try:
                return as_physics(load(self.pde, _folder(self.path)))
            except TypeError as error:
                raise StudyError(f"{self.pde}: {error}") from None

    @cached_property
    def evaluation(self) -> Evaluation | None:
        """How a point is evaluated; None by hand."""
        if not isinstance(self.evaluate, str):
            return self.evaluate
        with _errors_of(self.path):
            function = load(self.evaluate, _folder(self.path))
            if not callable(function):
                got = type(function).__name__
                raise StudyError(f"{self.evaluate}: expected a function of a point, got {got}")
        return PythonEvaluation(function, self.space)


def read(path: Path) -> ProblemFile:
    """Read and check a problem file."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise StudyError(
            f"problem file {str(path)!r} cannot be read: {error.strerror}; pinnbo init makes one"
        ) from None
    except RecursionError:
        raise StudyError(f"problem file {str(path)!r} is nested too deeply") from None
    except ValueError as error:  # what tomllib and the decoding of text raise, and a NUL in the path
        raise StudyError(f"problem file {str(path)!r} is not TOML: {error}") from None
    with _errors_of(path):
        return _checked(path, table)


@contextlib.contextmanager
def _errors_of(path: Path) -> Iterator[None]:
    try:
        yield
    except StudyError as error:
        raise StudyError(f"problem file {str(path)!r}: {error}") from None


def _is_name(text: str) -> bool:
    return 0 < len(text) <= _LONGEST_NAME and text.isprintable()


def _folder(path: Path) -> Path:
    return path.resolve().parent


def _checked(path: Path, table: dict[str, Any]) -> ProblemFile:
    top = _Table(table, "")
    space = _space(top.get("space", dict, "a table such as x = [0.0, 1.0]"))
    goal = top.get("goal", str, "'minimize' or 'maximize'", lambda goal: goal in ("minimize", "maximize"))
    method = top.get(
        "method", str, f"one of {methods.available()}", lambda name: name in methods.available(), "auto"
    )
    found = ProblemFile(
        path=path,
        name=top.get("name", str, f"a text of at most {_LONGEST_NAME} characters", _is_name, path.stem),
        goal=goal,
        budget=top.get("budget", int, f"an integer from 1 to {_MOST}", lambda n: 1 <= n <= _MOST),
        space=space,
        pde=top.get("pde", str, "a reference such as 'plate.py:pde'", bool, None),
        evaluate=_evaluate(top.get("evaluate", dict, "a table", default={}), space, _folder(path)),
        method=method,
        noise=top.get(
            "noise", float, "a standard deviation >= 0", lambda sd: 0 <= sd <= values.LARGEST, None
        ),
        seed=top.get("seed", int, "an integer from 0 to 2^63 - 1", lambda n: 0 <= n < 2**63, None),
        storage=_storage(top.get("storage", str, "a URL", bool, f"sqlite:///{path.stem}.db"), _folder(path)),
        heartbeat=top.get(
            "heartbeat", int, "seconds, an integer from 1 to 86400", lambda n: 1 <= n <= 86400, _HEARTBEAT
        ),
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


def _evaluate(entries: dict[str, Any], space: Space, folder: Path) -> CommandEvaluation | str | None:
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
    return python


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
            value = float(value) if abs(value) < 2**1023 else math.inf
        fits = isinstance(value, kind) and (kind is bool or not isinstance(value, bool))
        fits = fits and not (isinstance(value, str) and "\0" in value)
        if not fits or not check(value):
            raise StudyError(f"{self._prefix}{key}: expected {expected}, got {value!r:.60}")
        return value

    def finish(self) -> None:
        """No entry may be left."""
        for key in self._left:
            known = ", ".join(self._known)
            raise StudyError(f"{self._prefix}{key} is unknown; expected one of {known}")
