"""Lines of a text that state a symmetry: ``even in x``, ``odd in y about 0.5``, ``radial in x, y about 0, 0``.

They are read without JAX; `pinnbo.symmetry` makes equations of them.
"""

from __future__ import annotations

import math
import re
from typing import NamedTuple

from pinnbo.equations.errors import EquationError

_LINE = re.compile(
    r"(?:^|(?<=[;\n]))[ \t]*(?P<word>even|odd|radial|periodic)[ \t]+in\b(?P<rest>[^;\n#]*)", re.MULTILINE
)


class Line(NamedTuple):
    """What one line says."""

    word: str
    axes: tuple[str, ...]
    about: tuple[float, ...]  # one for every axis

    def __str__(self) -> str:
        places = f" about {', '.join(f'{c:g}' for c in self.about)}" if any(self.about) else ""
        return f"{self.word} in {', '.join(self.axes)}{places}"


def split(text: str) -> tuple[str, list[Line]]:
    """A text without these lines, and what they say; empty if nothing else is in it.

    What is left keeps its places, so that errors point where they should.
    """
    found: list[Line] = []
    for match in _LINE.finditer(text):
        found.append(_parsed(match["word"], match["rest"]))
        text = text[: match.start()] + " " * (match.end() - match.start()) + text[match.end() :]
    return (text if text.strip(" \t\n;") else ""), found


def _parsed(word: str, rest: str) -> Line:
    axes, about, places = rest.partition(" about ")
    names = tuple(name.strip() for name in axes.split(","))
    example = "x, y about 0, 0.5" if word == "radial" else "x about 0.5"
    expected = f"expected a line such as '{word} in {example}', got '{word} in{rest.rstrip()}'"
    if not all(name.isidentifier() for name in names):
        raise EquationError(expected)
    if word == "periodic":
        raise EquationError(
            f"periodic in {names[0]}: say it of the axis, Space({names[0]}=Axis(low, high, periodic=True)), "
            f"or {names[0]} = {{low = ..., high = ..., periodic = true}} in a problem file"
        )
    try:
        centre = tuple(float(place) for place in places.split(",")) if about else (0.0,) * len(names)
    except ValueError:
        raise EquationError(expected) from None
    if len(centre) != len(names) or not all(map(math.isfinite, centre)):
        raise EquationError(expected)
    return Line(word, names, centre)
