"""What the names of a text mean.

==========================  ============================================================================
name                        meaning
==========================  ============================================================================
axis                        a parameter of the space
field                       an unknown function of the axes: what derivatives are taken of
constant, helper function   defined in a line of its own, ``k = 0.3`` or ``EI(x) = exp(x)/rho(x)``
table                       a function given beside the text
any other                   an unknown coefficient
==========================  ============================================================================

``laplacian``, ``grad``, ``div``, ``curl`` and ``biharmonic`` act on the axes of space: all but the one of time,
which is called t or time, or is named.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pinnbo.equations.errors import EquationError
from pinnbo.equations.kinds import Kind, kind_of
from pinnbo.equations.nodes import (
    Call,
    Definition,
    Item,
    Name,
    Node,
)


@dataclass(frozen=True)
class Scope:
    """The meaning of every name of a text."""

    axes: tuple[str, ...]
    time: str | None
    fields: tuple[str, ...]
    definitions: Mapping[str, Definition]
    tables: Mapping[str, Callable[..., Any]]
    unknowns: tuple[str, ...] = ()
    _kinds: dict[str, Kind] = field(default_factory=dict, compare=False, repr=False)

    @property
    def spatial(self) -> tuple[int, ...]:
        """The positions of the axes of space."""
        return tuple(i for i, axis in enumerate(self.axes) if axis != self.time)

    def numbered(self, base: str) -> dict[int, int]:
        """The positions of the axes that are called base0, base1, ..., by their numbers."""
        found = {}
        for position, axis in enumerate(self.axes):
            match = re.fullmatch(re.escape(base) + r"(0|[1-9]\d{0,3})", axis)
            if match:
                found[int(match.group(1))] = position
        return dict(sorted(found.items()))

    def has_field(self, node: Node) -> bool:
        """Whether a field occurs in an expression, also by way of a helper function."""
        bodies = [node, *(definition.body for definition in self.used([node]))]
        return any(called(part) in self.fields for body in bodies for part in body.walk())

    def unknowns_in(self, node: Node) -> tuple[str, ...]:
        """The unknown coefficients of an expression, in the order in which they occur."""
        bodies = [node, *(definition.body for definition in self.used([node]))]
        parts = (part for body in bodies for part in body.walk())
        return tuple(dict.fromkeys(p.id for p in parts if isinstance(p, Name) and p.id in self.unknowns))

    def used(self, nodes: Iterable[Node]) -> list[Definition]:
        """The definitions that expressions use, in the order of the text."""
        names: set[str] = set()
        waiting = list(nodes)
        while waiting:
            for part in waiting.pop().walk():
                name = called(part)
                if name is not None and name in self.definitions and name not in names:
                    names.add(name)
                    waiting.append(self.definitions[name].body)
        return [definition for name, definition in self.definitions.items() if name in names]

    def kind(self, node: Node, bound: Collection[str] = (), on_a_face: bool = False) -> Kind:
        """Whether an expression is a number, a vector or a comparison; complains of what makes no sense."""
        return kind_of(self, node, frozenset(bound), on_a_face)

    def index_of(self, call: Call, bound: Collection[str]) -> tuple[str, str]:
        """The index of a sum over numbered axes, and what the axes are called."""
        if len(call.arguments) == 2 and isinstance(call.arguments[1], Name):
            wanted: str | None = call.arguments[1].id
        elif len(call.arguments) == 1:
            wanted = None
        else:
            raise EquationError("sum: expected one expression in x[i], such as sum(d(f, x[i]))", call.at)
        found: dict[str, str] = {}
        inner = [part for part in call.arguments[0].walk()]
        for part in inner:
            if isinstance(part, Item) and isinstance(part.index, Name) and part.index.id not in bound:
                found[part.index.id] = part.base
        if wanted is not None:
            found = {index: base for index, base in found.items() if index == wanted}
        if not found:
            raise EquationError("sum: expected numbered axes such as x[i] in it", call.at)
        if len(found) > 1:
            raise EquationError(
                f"sum: expected one index, got {', '.join(found)}; say which: sum(..., i)", call.at
            )
        return next(iter(found.items()))


def called(node: Node) -> str | None:
    """The name that a node uses, if any."""
    return node.id if isinstance(node, Name) else node.function if isinstance(node, Call) else None
