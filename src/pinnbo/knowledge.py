"""What the equations are about: which fields, which of them is measured, which coefficients are unknown.

The signature of an operator says it. Required positional parameters are fields, by name; one alone stands for the field
that is measured, whatever it is called. Keyword-only parameters are unknown coefficients. An unknown has a prior on an
interval, uniform in the logarithm unless the interval reaches zero: with v in [0, 1] the share of the prior below it,

    theta = low (high / low)^v    or    theta = low + v (high - low).
"""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from numpy import ndarray

_TYPICAL = 0.618  # a share of the prior at which nothing is likely to vanish
_SCALES = ("log", "uniform")


class Parameters(NamedTuple):
    """What a signature says: required positional parameters, and keyword-only ones with whether they have a default."""

    positional: tuple[str, ...]
    keywords: dict[str, bool]


def parameters(function: Callable[..., Any]) -> Parameters:
    """Of a function; one positional parameter where it cannot be asked."""
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return Parameters(("f",), {})
    places = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return Parameters(
        tuple(p.name for p in found if p.kind in places and p.default is p.empty),
        {p.name: p.default is not p.empty for p in found if p.kind is p.KEYWORD_ONLY},
    )


@dataclass(frozen=True)
class Unknown:
    """A coefficient with a prior on an interval."""

    name: str
    low: float
    high: float
    scale: str  # "log" or "uniform"

    def at(self, share: float) -> float:
        """The value below which a share of the prior lies."""
        if self.scale == "log":
            return float(self.low * (self.high / self.low) ** share)
        return float(self.low + share * (self.high - self.low))

    @property
    def typical(self) -> float:
        """A value to try operators at."""
        return self.at(_TYPICAL)

    def to_json(self) -> list[Any]:
        """As a user may state it."""
        return [self.low, self.high, self.scale]

    @classmethod
    def of(cls, name: str, stated: Any) -> Unknown:
        """From (low, high), or (low, high, "log" or "uniform")."""
        expected = (
            f"unknowns: the range of {name!r} must be (low, high) with finite low < high, or (low, high, 'log' or "
            f"'uniform') with 0 < low for 'log', got {stated!r:.60}"
        )
        if not isinstance(stated, Sequence) or isinstance(stated, str) or len(stated) not in (2, 3):
            raise ValueError(expected)
        low, high = stated[:2]
        if any(isinstance(end, bool) or not isinstance(end, Real) for end in (low, high)):
            raise ValueError(expected)
        low, high = float(low), float(high)
        scale = stated[2] if len(stated) == 3 else "log" if low > 0 else "uniform"
        if not (np.isfinite([low, high]).all() and low < high and scale in _SCALES):
            raise ValueError(expected)
        if scale == "log" and low <= 0:
            raise ValueError(expected)
        return cls(name, low, high, scale)


def summary(unknown: Unknown, edges: Float[ndarray, " e"], below: Float[ndarray, " e"]) -> dict[str, Any]:
    """A coefficient in numbers: ``below`` is the posterior probability below every edge, in shares of the prior."""
    ends = [unknown.at(share) for share in np.interp([0.025, 0.975], below, edges)]
    middle = np.array([unknown.at(share) for share in 0.5 * (edges[1:] + edges[:-1])])
    return {
        "mean": float(np.diff(below) @ middle),
        "interval": tuple(ends),
        "prior": (unknown.low, unknown.high),
        "distribution": [[unknown.at(share) for share in edges], below.tolist()],
    }


def stated_unknowns(
    unknowns: Mapping[str, Any] | None, wanted: Mapping[str, str], optional: Iterable[str]
) -> tuple[Unknown, ...]:
    """The unknowns that a user has given ranges for.

    ``wanted`` are the coefficients that need one, each with the equation it is of; ``optional`` have a value of their
    own without.
    """
    ranges = {} if unknowns is None else unknowns
    if not isinstance(ranges, Mapping):
        raise TypeError(f"unknowns: expected a table such as {{'alpha': (0.01, 1.0)}}, got {ranges!r:.60}")
    names = [*wanted, *optional]
    for name in ranges:
        if name not in names:
            near = difflib.get_close_matches(str(name), names, n=1)
            hint = f", did you mean {near[0]}?" if near else f"; expected some of {names}"
            raise ValueError(f"unknowns: no equation has a keyword-only parameter {name!r}{hint}")
    for name, equation in wanted.items():
        if name not in ranges:
            raise ValueError(
                f"unknowns: {name!r} is an unknown coefficient of {equation}; "
                f"expected its range, unknowns={{{name!r}: (low, high)}}, got none"
            )
    return tuple(Unknown.of(name, ranges[name]) for name in dict.fromkeys(names) if name in ranges)


def named_fields(equations: Sequence[tuple[str, ...] | None], measures: str | None) -> tuple[str, ...]:
    """All fields of a problem, the measured one first; an equation that names none is about that one."""
    if measures is not None and not (isinstance(measures, str) and measures.isidentifier()):
        raise ValueError(f"measures: expected the name of a field, got {measures!r:.60}")
    named = list(dict.fromkeys(name for names in equations if names is not None for name in names))
    if not named:
        return (measures or "f",)
    # one parameter alone is about the measured field, which no other equation need name
    anonymous = any(names is None for names in equations)
    if measures is not None and measures not in named and not anonymous:
        near = difflib.get_close_matches(measures, named, n=1)
        hint = f", did you mean {near[0]}?" if near else ""
        raise ValueError(
            f"measures: no equation contains {measures!r}{hint} The fields are {', '.join(named)}"
        )
    first = measures or named[0]
    return (first, *(name for name in named if name != first))
