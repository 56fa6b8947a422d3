"""How far a run has come: a bar that moves in a terminal and in a notebook, a line now and then in a log file."""

from __future__ import annotations

import importlib.util
import sys
import time
from types import TracebackType
from typing import Protocol, Self, TextIO

_PACE = 30.0  # seconds between lines of a log file


class Progress(Protocol):
    """What is told how far a run has come."""

    def __enter__(self) -> Self:
        """Begin."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End."""

    def say(self, sentence: str) -> None:
        """Something that the reader should know."""

    def step(self, found: str) -> None:
        """One more evaluation is done; ``found`` is the best so far in words."""


def progress(total: int, done: int, *, shown: bool = True) -> Progress:
    """For a run of so many evaluations, of which some are done; without ``shown`` sentences are all that is said."""
    if not shown:
        return _Lines(total, done, sys.stderr, silent=True)
    if _in_notebook() or sys.stderr.isatty():
        return _Bar(total, done)
    return _Lines(total, done, sys.stderr)


class _Bar:
    """Of tqdm; in a notebook the widget, where there are widgets."""

    def __init__(self, total: int, done: int) -> None:
        if _in_notebook() and importlib.util.find_spec("ipywidgets") is not None:
            from tqdm.notebook import tqdm
        else:
            from tqdm.std import tqdm
        self._bar = tqdm(total=total, initial=done, unit="trial", file=sys.stderr)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.close()

    def say(self, sentence: str) -> None:
        self._bar.write(sentence, file=sys.stderr)

    def step(self, found: str) -> None:
        self._bar.set_postfix_str(found)
        self._bar.update()


class _Lines:
    """Whole lines without control characters: the first evaluation, one every half minute, and the last."""

    def __init__(self, total: int, done: int, file: TextIO, *, silent: bool = False) -> None:
        self._total, self._done, self._file, self._silent = total, done, file, silent
        self._begin, self._said = time.monotonic(), -_PACE
        self._latest: str | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._latest is not None:
            self._print(self._latest)

    def say(self, sentence: str) -> None:
        print(sentence, file=self._file, flush=True)

    def step(self, found: str) -> None:
        self._done += 1
        seconds = time.monotonic() - self._begin
        line = f"{self._done} of {self._total} trials after {_duration(seconds)}, {found}"
        if seconds - self._said < _PACE:
            self._latest = line
            return
        self._said, self._latest = seconds, None
        self._print(line)

    def _print(self, line: str) -> None:
        if not self._silent:
            print(line, file=self._file, flush=True)


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _in_notebook() -> bool:
    """Whether a kernel of Jupyter runs this."""
    found = sys.modules.get("IPython")
    shell = None if found is None else found.get_ipython()
    return shell is not None and "IPKernelApp" in shell.config
