"""The nine problems of the paper, with its errata corrected.

``get("rastrigin-20")`` gives a `Problem`: the box, the PDE, the black box with and without noise, the best
value and the range. The synthetic families come in other dimensions too, e.g. ``get("rastrigin-5")``.
"""

from __future__ import annotations

import dataclasses
import functools
import re

from pinnbo.problems import beam, heat
from pinnbo.problems.problem import Problem
from pinnbo.problems.synthetic import FAMILIES, dropwave

__all__ = ["Problem", "available", "get"]

_PAPER = (
    "dropwave-2",
    "styblinski-tang-10",
    "rastrigin-20",
    "michalewicz-30",
    "cosine-mixture-50",
    "heat-1",
    "heat-2",
    "heat-3",
    "beam-1",
)


def available() -> tuple[str, ...]:
    """Names of the paper's problems; for a synthetic one the number is the dimension and may be changed."""
    return _PAPER


def get(name: str, noise: float | None = None, printed: bool = False) -> Problem:
    """The problem called ``name``.

    ``noise`` replaces the standard deviation of the observations; the paper's variance is 1% of the range.
    ``printed=True`` gives the PDE letter by letter as the paper prints it where ours differs: Rastrigin and
    Michalewicz (where the printed one is not true of f) and the beam (where it is, but has poles).
    """
    if not isinstance(name, str):
        raise TypeError(f"problems.get: expected the name of a problem, got {name!r:.60}")
    problem = _build(name, bool(printed))
    return problem if noise is None else dataclasses.replace(problem, noise=noise)


@functools.cache
def _build(name: str, printed: bool) -> Problem:
    family, _, number = name.rpartition("-")
    if name == "dropwave-2":
        return dropwave()
    if name == "beam-1":
        return beam.build(printed=printed)
    if family == "heat" and number in ("1", "2", "3"):
        return heat.build(int(number))
    if family in FAMILIES and re.fullmatch(r"[1-9][0-9]*", number):
        return FAMILIES[family](int(number), printed=printed)
    raise ValueError(
        f"problems.get: unknown problem {name!r}; available are {', '.join(_PAPER)} "
        f"(and other dimensions of {', '.join(FAMILIES)})"
    )
