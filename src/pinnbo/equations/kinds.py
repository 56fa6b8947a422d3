"""Whether an expression is a number, a vector or a comparison; complains of what makes no sense."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pinnbo.equations.constants import constant_value
from pinnbo.equations.errors import EquationError, nearest
from pinnbo.equations.names import BUILT_IN, CONSTANTS, FUNCTIONS, LARGEST_EXPONENT, OPERATORS
from pinnbo.equations.nodes import (
    Call,
    Comparison,
    Definition,
    Derivative,
    Item,
    Logic,
    Name,
    Node,
    Number,
    Power,
    Product,
    Sum,
)

if TYPE_CHECKING:
    from pinnbo.equations.scope import Scope

Kind = Literal["number", "vector", "comparison"]


def kind_of(scope: Scope, node: Node, bound: frozenset[str], on_a_face: bool) -> Kind:
    """The kind of an expression; n is the normal where it stands on a face, ``bound`` are parameters and indices."""
    return _Checker(scope, on_a_face).kind(node, bound)


class _Checker:
    def __init__(self, scope: Scope, on_a_face: bool) -> None:
        self.scope, self.on_a_face = scope, on_a_face

    def kind(self, node: Node, bound: frozenset[str]) -> Kind:
        if isinstance(node, Number):
            return "number"
        if isinstance(node, Name):
            return self.name(node, bound)
        if isinstance(node, Item):
            self.item(node, bound)
            return "number"
        if isinstance(node, Sum):
            kinds = {self.kind(term, bound) for _, term in node.terms}
            if "comparison" in kinds:
                raise EquationError("a comparison cannot be added; use where(x < 0.5, a, b)", node.at)
            if len(kinds) > 1:
                raise EquationError("a vector and a number cannot be added; use div or dot", node.at)
            return kinds.pop()
        if isinstance(node, Product):
            return self.product(node, bound)
        if isinstance(node, Power):
            return self.power(node, bound)
        if isinstance(node, Comparison):
            for operand in node.operands:
                self.number(operand, bound, "a comparison")
            return "comparison"
        if isinstance(node, Logic):
            for operand in node.operands:
                if self.kind(operand, bound) != "comparison":
                    raise EquationError(f"{node.operator}: expected comparisons such as x < 0.5", operand.at)
            return "comparison"
        if isinstance(node, Derivative):
            return self.derivative(node, bound)
        assert isinstance(node, Call)
        return self.call(node, bound)

    def number(self, node: Node, bound: frozenset[str], who: str) -> None:
        if (kind := self.kind(node, bound)) != "number":
            raise EquationError(f"{who}: expected a number, got a {kind}", node.at)

    def name(self, node: Name, bound: frozenset[str]) -> Kind:
        scope, name = self.scope, node.id
        if name in bound or name in scope.axes or name in scope.fields or name in CONSTANTS:
            return "number"
        if name in scope.definitions:
            definition = scope.definitions[name]
            if definition.parameters:
                raise EquationError(
                    f"{name} is a function: write {name}({', '.join(definition.parameters)})", node.at
                )
            return self.defined(definition)
        if name in scope.tables:
            raise EquationError(f"{name} is a table: write {name}(x) with its axes", node.at)
        if name in scope.unknowns:
            return "number"
        if name in BUILT_IN:
            raise EquationError(f"{name} is a function: write {name}(...)", node.at)
        known = [*scope.axes, *scope.fields, *scope.definitions, *scope.unknowns, *scope.tables]
        raise EquationError(
            f"{name} is unknown{nearest(name, known)}; there are {', '.join(known[:12])}", node.at
        )

    def defined(self, definition: Definition) -> Kind:
        name = definition.name
        if name not in self.scope._kinds:
            self.scope._kinds[name] = (
                "number"  # what a definition by itself would be, which is refused elsewhere
            )
            kind = _Checker(self.scope, self.on_a_face).kind(
                definition.body, frozenset(definition.parameters)
            )
            self.scope._kinds[name] = kind
        return self.scope._kinds[name]

    def item(self, node: Item, bound: frozenset[str]) -> None:
        numbers = self.scope.numbered(node.base)
        if not numbers:
            axes = ", ".join(self.scope.axes[:8])
            raise EquationError(
                f"{node.base}[...] stands for axes called {node.base}0, {node.base}1, ...; there are {axes}",
                node.at,
            )
        index = node.index
        if isinstance(index, Number):
            if index.value not in numbers:
                raise EquationError(
                    f"{node.base}[{index.value:g}]: there are {node.base}{min(numbers)} to {node.base}{max(numbers)}",
                    node.at,
                )
        elif not isinstance(index, Name):
            raise EquationError("expected an index such as i or 0", index.at)
        elif index.id not in bound:
            raise EquationError(f"{node.base}[{index.id}] stands in no sum: write sum(...)", node.at)

    def product(self, node: Product, bound: frozenset[str]) -> Kind:
        vectors = 0
        for power, factor in node.factors:
            kind = self.kind(factor, bound)
            if kind == "comparison":
                raise EquationError("a comparison cannot be multiplied; use where(x < 0.5, a, b)", factor.at)
            if kind == "vector" and power < 0:
                raise EquationError("cannot divide by a vector", factor.at)
            vectors += kind == "vector"
        if vectors > 2:
            raise EquationError("expected at most two vectors in a product", node.at)
        return "vector" if vectors == 1 else "number"

    def power(self, node: Power, bound: frozenset[str]) -> Kind:
        exponent = node.exponent
        self.number(exponent, bound, "an exponent")
        value = constant_value(exponent)
        if value is not None and not abs(value) <= LARGEST_EXPONENT:
            raise EquationError(f"expected an exponent of at most {LARGEST_EXPONENT} in size", exponent.at)
        if self.kind(node.base, bound) == "vector":
            if value != 2:
                raise EquationError("of a vector there is only the square, v**2 = dot(v, v)", node.at)
        else:
            self.number(node.base, bound, "a power")
        return "number"

    def derivative(self, node: Derivative, bound: frozenset[str]) -> Kind:
        scope = self.scope
        for axis in node.axes:
            if isinstance(axis, Item):
                self.item(axis, bound)
                continue
            assert isinstance(axis, Name)
            if axis.id in bound or axis.id in scope.axes:
                continue
            if axis.id == "n":
                if not self.on_a_face:
                    raise EquationError(
                        "n is the outward normal of a face: say where, such as d(T, n) = 0 on y = 1", axis.at
                    )
                continue
            hint = nearest(axis.id, scope.axes) or f"; there are {', '.join(scope.axes[:8])}"
            raise EquationError(f"{axis.id!r} is no axis{hint}", axis.at)
        self.number(node.of, bound, "a derivative")
        return "number"

    def call(self, node: Call, bound: frozenset[str]) -> Kind:
        name, arguments, scope = node.function, node.arguments, self.scope
        if name in FUNCTIONS:
            least, most = FUNCTIONS[name]
            self.count(node, least, most)
            for argument in arguments:
                self.number(argument, bound, name)
            return "number"
        if name in OPERATORS:
            return getattr(self, f"_{name}")(node, bound)
        if name in scope.definitions:
            definition = scope.definitions[name]
            self.count(node, len(definition.parameters), len(definition.parameters))
            for argument in arguments:
                self.number(argument, bound, name)
            return self.defined(definition)
        if name in scope.tables:
            for argument in arguments:
                self.number(argument, bound, name)
            return "number"
        if name in scope.fields:
            if all(
                isinstance(a, Name) and a.id == axis for a, axis in zip(arguments, scope.axes, strict=False)
            ) and len(arguments) == len(scope.axes):
                return "number"
            raise EquationError(
                f"{name} stands for {name}({', '.join(scope.axes[:6])}): an equation speaks of it at one point; "
                f"write a condition such as {name} = 20 on {scope.axes[-1]} = 0",
                node.at,
            )
        known = [*BUILT_IN, *scope.definitions, *scope.tables]
        hint = nearest(name, known)
        if not hint and (name in scope.axes or name in scope.unknowns or name in CONSTANTS):
            hint = f"; for a product write {name}*(...)"
        raise EquationError(f"function {name} is unknown{hint}", node.at)

    def count(self, node: Call, least: int, most: int) -> None:
        got = len(node.arguments)
        if not least <= got <= most:
            expected = f"{least}" if least == most else f"{least} to {most}"
            plural = "" if expected == "1" else "s"
            raise EquationError(f"{node.function}: expected {expected} argument{plural}, got {got}", node.at)

    def _laplacian(self, node: Call, bound: frozenset[str]) -> Kind:
        self.count(node, 1, 1)
        self.number(node.arguments[0], bound, node.function)
        return "number"

    _biharmonic = _laplacian

    def _grad(self, node: Call, bound: frozenset[str]) -> Kind:
        self._laplacian(node, bound)
        return "vector"

    def _vector(self, node: Call, bound: frozenset[str]) -> Kind:
        for argument in node.arguments:
            self.number(argument, bound, "a vector")
        space = [self.scope.axes[i] for i in self.scope.spatial]
        if len(node.arguments) != len(space):
            raise EquationError(
                f"expected {len(space)} components, one per axis ({', '.join(space[:6])}), got {len(node.arguments)}",
                node.at,
            )
        return "vector"

    def _div(self, node: Call, bound: frozenset[str]) -> Kind:
        if len(node.arguments) > 1:
            self._vector(node, bound)
            return "number"
        self.count(node, 1, 1)
        kind = self.kind(node.arguments[0], bound)
        if kind != "vector" and not (kind == "number" and len(self.scope.spatial) == 1):
            raise EquationError(
                f"{node.function}: expected a vector such as grad(T) or (u, v), got a {kind}",
                node.arguments[0].at,
            )
        return "number"

    def _curl(self, node: Call, bound: frozenset[str]) -> Kind:
        if len(self.scope.spatial) != 2:
            raise EquationError("curl: expected two axes of space", node.at)
        return self._div(node, bound)

    def _norm(self, node: Call, bound: frozenset[str]) -> Kind:
        return self._div(node, bound)

    def _dot(self, node: Call, bound: frozenset[str]) -> Kind:
        self.count(node, 2, 2)
        for argument in node.arguments:
            if self.kind(argument, bound) != "vector":
                raise EquationError("dot: expected two vectors such as grad(T) or (u, v)", argument.at)
        return "number"

    def _sum(self, node: Call, bound: frozenset[str]) -> Kind:
        index, base = self.scope.index_of(node, bound)
        if not self.scope.numbered(base):
            self.item(Item(base, Number(0.0), at=node.at), bound)
        self.number(node.arguments[0], bound | {index}, "sum")
        return "number"

    def _where(self, node: Call, bound: frozenset[str]) -> Kind:
        self.count(node, 3, 3)
        condition, *values = node.arguments
        if self.kind(condition, bound) != "comparison":
            raise EquationError("where: expected a comparison such as x < 0.5 first", condition.at)
        for value in values:
            self.number(value, bound, "where")
        return "number"
