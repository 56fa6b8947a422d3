"""A table of a TOML file, read entry by entry: each is checked, and none may be left over."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from pinnbo.studies.errors import StudyError

_REQUIRED = object()
EITHER: Any = bool | float


class Table:
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
        fits = isinstance(value, kind) and (kind in (bool, EITHER) or not isinstance(value, bool))
        fits = fits and not (isinstance(value, str) and "\0" in value)
        if not fits or not check(value):
            raise StudyError(f"{self._prefix}{key}: expected {expected}, got {value!r:.60}")
        return value

    def all(self, kind: type, expected: str, check: Callable[[Any], bool]) -> dict[str, Any]:
        """Every entry of a table whose keys are names that somebody chose."""
        return {key: self.get(key, kind, expected, check) for key in list(self._left)}

    def lines(self, key: str, expected: str) -> list[str]:
        """A text, or a list of texts; none where there is no entry."""
        found = self.get(key, object, expected, lambda value: isinstance(value, str | list), [])
        texts = [found] if isinstance(found, str) else found
        if not all(isinstance(text, str) for text in texts):
            raise StudyError(f"{self._prefix}{key}: expected {expected}, got {found!r:.60}")
        return texts

    def finish(self) -> None:
        """No entry may be left."""
        for key in self._left:
            known = ", ".join(self._known)
            raise StudyError(f"{self._prefix}{key} is unknown; expected one of {known}")
