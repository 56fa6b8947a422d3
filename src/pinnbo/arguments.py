"""A keyword that does not exist is answered with the nearest one that does."""

from __future__ import annotations

import difflib
import functools
import inspect
from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


def suggest_keywords(function: Callable[P, T]) -> Callable[P, T]:
    """Let a public function name the keyword that was probably meant; its signature stays as it is."""
    known = [name for name in inspect.signature(function).parameters if name != "self"]
    shown = function.__qualname__.removesuffix(".__init__")

    @functools.wraps(function)
    def checked(*arguments: P.args, **keywords: P.kwargs) -> T:
        for name in keywords:
            if name not in known:
                near = difflib.get_close_matches(name, known, n=1)
                hint = f", did you mean {near[0]}?" if near else ";"
                raise TypeError(f"{shown}: {name} is unknown{hint} expected some of {', '.join(known)}")
        return function(*arguments, **keywords)

    return checked
