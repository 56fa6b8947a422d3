"""What the axes are called while an operator is applied, so that ``partial(f, "x")`` means the axis x of the space.

An operator is a function of f alone and does not know the space. The PDE, which is tried on one, tells the operators of
`pinnbo.operators` what its axes are called, for as long as they are traced.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Any


class AxisNames:
    """The names of the axes of the space that an equation is used with, and whether its operator has asked for any."""

    def __init__(self) -> None:
        self.names: tuple[str, ...] | None = None
        self._asked = False

    def learn(self, who: str, names: tuple[str, ...]) -> None:
        """Take the names of a space; an operator that uses names belongs to one space, because it is traced once."""
        if self._asked and names != self.names:
            raise ValueError(
                f"{who}: the operator names axes and was used with {', '.join(self.names or ())}; "
                f"expected a PDE of its own for a space with {', '.join(names)}"
            )
        self.names = names

    def index(self, name: str) -> int:
        """The number of an axis."""
        self._asked = True
        names = self.names or ()
        if name in names:
            return names.index(name)
        near = difflib.get_close_matches(name, names, n=1)
        hint = f", did you mean {near[0]}?" if near else f"; there are {', '.join(names[:8])}"
        raise ValueError(f"partial: {name!r:.40} is no axis of the space{hint}")


_current: ContextVar[AxisNames | None] = ContextVar("axis_names", default=None)


def index_of(name: str) -> int:
    """The number of an axis by its name, inside the operator of a PDE that is used with a space."""
    known = _current.get()
    if known is None or known.names is None:
        raise TypeError(
            f"partial: the axis {name!r:.40} has a name only inside the operator of a PDE; "
            "expected the number of an axis, from 0 on"
        )
    return known.index(name)


@contextmanager
def _called(known: AxisNames) -> Iterator[None]:
    token = _current.set(known)
    try:
        yield
    finally:
        _current.reset(token)


def under(known: AxisNames, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, which may name axes."""

    @wraps(function)
    def named(*arguments: Any, **keywords: Any) -> Any:
        with _called(known):
            return function(*arguments, **keywords)

    return named
