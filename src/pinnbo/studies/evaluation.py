"""How a point is evaluated: by a Python function, by a command, or by hand.

An evaluation that has begun has an outcome whatever happens: a number, NaN (infeasible), or None (lost) with the
reason in a sentence. One that cannot begin, because there is no such command or a module is missing, says nothing about
the place: it raises `NotStartedError`.
"""

from __future__ import annotations

import contextlib
import errno
import math
import os
import re
import shlex
import signal
import subprocess
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from pinnbo import values
from pinnbo.space import Space
from pinnbo.studies import written
from pinnbo.studies.errors import StudyError

_PLACEHOLDER = re.compile(r"\{([A-Za-z_]\w*)\}")
_KEPT_OUTPUT = 1 << 16
_QUOTED = 120
_MERCY = 2.0  # seconds between asking a command to end and ending it
_TEMPORARY = (errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE)  # the machine is too busy at the moment
_NOT_BY_SHELL = (126, 127)  # how a shell says: not executable, not found
_IMPORT_ERRORS = (
    "ModuleNotFoundError:",
    "ImportError:",
)  # the last line of a Python program that lacks a module


class Outcome(NamedTuple):
    """A value (NaN: infeasible, None: lost) and, if there is no number, why.

    ``tried`` is False if no evaluation came to its end, good or bad: that says nothing about the place.
    """

    value: float | None
    reason: str | None = None
    tried: bool = True


class NotStartedError(StudyError):
    """No evaluation can be started as things are, wherever it is."""

    exit_code = 1


class Evaluation(ABC):
    """A way of evaluating a point."""

    @abstractmethod
    def __call__(self, point: Mapping[str, float], number: int, stop: threading.Event) -> Outcome:
        """Evaluate the point of the trial of that number; give up when ``stop`` is set."""


@dataclass(frozen=True)
class PythonEvaluation(Evaluation):
    """A function of a point (d,)."""

    function: Callable[[np.ndarray], Any]
    space: Space

    def __call__(self, point: Mapping[str, float], number: int, stop: threading.Event) -> Outcome:
        """Call the function; what it raises is the reason for a lost measurement."""
        try:
            value = self.function(self.space.from_dict(point))
        except ImportError as error:
            raise NotStartedError(
                f"the function could not be started: {type(error).__name__}: {_quoted(str(error))}"
            ) from error
        except (Exception, SystemExit) as error:
            return Outcome(None, f"the function raised {type(error).__name__}: {_quoted(str(error))}")
        if value is None:
            return Outcome(None, "the function returned None")
        try:
            return _judged(values.number(value, "the function"), "the function returned")
        except TypeError:
            return Outcome(None, f"expected a number from the function, got {_quoted(repr(value))}")


@dataclass(frozen=True)
class CommandEvaluation(Evaluation):
    """A command with placeholders such as {x}; the last line that it prints is the value.

    Without ``shell`` the text is split into words first and the numbers are put into the words. Numbers are written by
    ``repr`` and nothing else is ever put in, so that no value can be read as shell text.
    """

    command: str
    space: Space
    folder: Path
    timeout: float | None = None
    shell: bool = False

    def __post_init__(self) -> None:
        try:
            words = shlex.split(self.command)
        except ValueError as error:
            raise StudyError(f"evaluate.command cannot be split into words: {error}") from None
        if not words:
            raise StudyError("evaluate.command: expected a command such as './measure {x} {y}', got nothing")
        used = set(_PLACEHOLDER.findall(self.command))
        unknown = sorted(used - {*self.space.names, "trial"})
        if unknown:
            raise StudyError(
                f"evaluate.command: {{{unknown[0]}}} is no parameter; there are "
                f"{', '.join(self.space.names)}, and {{trial}}"
            )
        missing = [name for name in self.space.names if name not in used]
        if missing:
            raise StudyError(f"evaluate.command does not use {{{missing[0]}}}: {self.command!r}")

    def __call__(self, point: Mapping[str, float], number: int, stop: threading.Event) -> Outcome:
        """Run the command and read its last line."""
        numbers = {**{name: repr(float(value)) for name, value in point.items()}, "trial": str(int(number))}
        filled: str | list[str] = (
            _fill(self.command, numbers)
            if self.shell
            else [_fill(word, numbers) for word in shlex.split(self.command)]
        )
        try:
            process = subprocess.Popen(
                filled,
                shell=self.shell,
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or error
            reason = f"the command could not be started: {why}: {_quoted(str(filled))}"
            if getattr(error, "errno", None) in _TEMPORARY:
                return Outcome(None, reason, tried=False)
            raise NotStartedError(reason) from error
        out, err = _Tail(process.stdout), _Tail(process.stderr)
        try:
            ended = self._wait(process, stop)
        finally:
            _end(process)
        return ended or _read(process.returncode, out.text(), err.text(), self.shell)

    def _wait(self, process: subprocess.Popen, stop: threading.Event) -> Outcome | None:
        deadline = math.inf if self.timeout is None else time.monotonic() + self.timeout
        while True:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout=min(0.2, max(0.0, deadline - time.monotonic())))
                return None
            if stop.is_set():
                return Outcome(None, "interrupted", tried=False)
            if time.monotonic() >= deadline:
                return Outcome(None, f"the command was stopped after its time limit of {self.timeout:g} s")


class _Tail:
    """The end of what a command writes, however much it writes."""

    def __init__(self, stream: IO[bytes] | None) -> None:
        assert stream is not None
        self._stream, self._kept = stream, b""
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        with self._stream:
            while chunk := os.read(self._stream.fileno(), _KEPT_OUTPUT):
                self._kept = (self._kept + chunk)[-_KEPT_OUTPUT:]

    def text(self) -> str:
        # a process that the command left behind may hold the stream open: do not wait for it
        self._reader.join(timeout=1.0)
        return self._kept.decode(errors="replace")


def _read(status: int, out: str, err: str, by_shell: bool) -> Outcome:
    said = _last_line(err)
    if (by_shell and status in _NOT_BY_SHELL) or (status > 0 and said.startswith(_IMPORT_ERRORS)):
        raise NotStartedError(f"the command could not be started: it said {_quoted(said)}")
    aside = f"; it said {_quoted(said)}" if said else ""
    if status < 0:
        return Outcome(None, f"the command was ended by {_signal(-status)}{aside}")
    if status > 0:
        return Outcome(None, f"the command ended with exit status {status}{aside}")
    last = _last_line(out)
    try:
        value = written.number(last)
    except ValueError:
        got = f"got {_quoted(last)}" if last else f"it printed nothing{aside}"
        return Outcome(None, f"expected a number as the last line of the command's output, {got}")
    return _judged(value, "the command printed")


def _judged(value: float, who: str) -> Outcome:
    if math.isinf(value):
        return Outcome(None, f"expected a finite number or NaN, {who} {value}")
    if not values.is_taken(value):
        return Outcome(None, f"expected a number of at most {values.LARGEST:g} in size, {who} {value}")
    return Outcome(value, f"{who} NaN" if math.isnan(value) else None)


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # real-time signals have no names
        return f"signal {number}"


def _end(process: subprocess.Popen) -> None:
    """End the command with all that it has started, if it still runs."""
    if process.poll() is not None:
        return
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=_MERCY)
            return


def _fill(text: str, numbers: Mapping[str, str]) -> str:
    return _PLACEHOLDER.sub(lambda found: numbers[found.group(1)], text)


def _last_line(text: str) -> str:
    lines = text.rstrip().splitlines()
    return lines[-1].strip() if lines else ""


def _quoted(text: str) -> str:
    line = " ".join(text.split())
    return repr(line if len(line) <= _QUOTED else line[: _QUOTED - 3] + "...")
