"""Docstrings as Sphinx takes them: lists of parameters become fields, underlined words become headings."""

from __future__ import annotations

import re
from typing import Any

_UNDERLINE = re.compile(r"-{3,}$")
_PARAMETERS = re.compile(r"(\w+(?:, \w+)*): (.*)")


def converted(lines: list[str]) -> list[str]:
    """The lines in reStructuredText without section titles, which are not allowed inside of an object."""
    made: list[str] = []
    listing = False
    for number, line in enumerate(lines):
        following = lines[number + 1] if number + 1 < len(lines) else ""
        if _UNDERLINE.match(following) and line.strip():
            listing = line.strip() == "Parameters"
            made += [""] if listing else [f".. rubric:: {line.strip()}", ""]
            continue
        if _UNDERLINE.match(line) and number and lines[number - 1].strip():
            continue
        found = _PARAMETERS.match(line) if listing else None
        names = found[1].split(", ") if found else []
        made += [f":param {name}: {found[2]}" for name in names] if found else [line]
    return made


def _process(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    lines[:] = converted(lines)


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("autodoc-process-docstring", _process)
    return {"parallel_read_safe": True}
