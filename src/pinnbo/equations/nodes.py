"""The tree of an expression.

A node is a value: two trees are equal if they say the same, wherever they were written. Sums and products hold all
their terms and factors, so that the depth of a tree is the depth of its brackets.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from typing import Any

from pinnbo.equations.errors import Place


@dataclass(frozen=True)
class Node:
    """Something that stands at a place of the text."""

    at: Place = field(compare=False, repr=False, kw_only=True, default=Place(1, 1))

    def children(self) -> Iterator[Node]:
        """The nodes right below."""
        for part in fields(self):
            yield from _nodes_in(getattr(self, part.name))

    def walk(self) -> Iterator[Node]:
        """This node and all below."""
        yield self
        for child in self.children():
            yield from child.walk()


def _nodes_in(value: Any) -> Iterator[Node]:
    if isinstance(value, Node):
        yield value
    elif isinstance(value, tuple) and not isinstance(value, Place):
        for item in value:
            yield from _nodes_in(item)


@dataclass(frozen=True)
class Number(Node):
    """A number."""

    value: float


@dataclass(frozen=True)
class Name(Node):
    """An axis, a field, a constant, a parameter of a helper function, an index or an unknown coefficient."""

    id: str


@dataclass(frozen=True)
class Item(Node):
    """One of the numbered axes: x[i] is the axis called x0 for i = 0."""

    base: str
    index: Node


@dataclass(frozen=True)
class Sum(Node):
    """Terms with their signs."""

    terms: tuple[tuple[int, Node], ...]


@dataclass(frozen=True)
class Product(Node):
    """Factors with 1, or -1 where they divide."""

    factors: tuple[tuple[int, Node], ...]


@dataclass(frozen=True)
class Power(Node):
    """base ** exponent."""

    base: Node
    exponent: Node


@dataclass(frozen=True)
class Call(Node):
    """A function of arguments: one that everybody knows, a helper function, a table."""

    function: str
    arguments: tuple[Node, ...]


@dataclass(frozen=True)
class Derivative(Node):
    """The derivative of an expression along axes, one entry per order."""

    of: Node
    axes: tuple[Node, ...]


@dataclass(frozen=True)
class Comparison(Node):
    """a < b <= c."""

    operators: tuple[str, ...]
    operands: tuple[Node, ...]


@dataclass(frozen=True)
class Logic(Node):
    """Comparisons joined by ``and`` or ``or``, or one with ``not``."""

    operator: str
    operands: tuple[Node, ...]


@dataclass(frozen=True)
class Located:
    """Where a condition holds: any of several conjunctions of comparisons, or a place with a name."""

    alternatives: tuple[tuple[Node | Fixed, ...], ...]


@dataclass(frozen=True)
class Fixed(Node):
    """axis = value, in the place of a condition."""

    axis: str
    value: Node


@dataclass(frozen=True)
class Statement:
    """left = right, and where it holds if not everywhere."""

    left: Node
    right: Node
    on: Located | None = None


@dataclass(frozen=True)
class Definition:
    """A helper function ``name(parameters) = body``, or a constant, which has none."""

    name: str
    parameters: tuple[str, ...]
    body: Node


def negative(node: Node) -> Node:
    """-node."""
    if isinstance(node, Number) and node.value > 0:
        return Number(-node.value, at=node.at)
    return Sum(((-1, node),), at=node.at)
