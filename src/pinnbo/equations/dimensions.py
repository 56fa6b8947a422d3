"""Whether the terms of an equation have one unit, as far as the units of its names are known.

A name without a unit, and a number in a sum, may have any; a number in a product has none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pinnbo.equations.constants import constant_value
from pinnbo.equations.nodes import Call, Derivative, Item, Name, Node, Number, Power, Product, Sum
from pinnbo.equations.printer import as_text
from pinnbo.equations.units import NUMBER, Unit, parse

if TYPE_CHECKING:
    from pinnbo.equations.scope import Scope
    from pinnbo.equations.text import Equation

_SAME = ("abs", "min", "max", "vector", "where")  # have the unit of their arguments
_FREE = ("sign", "atan2", "norm")  # say nothing about the unit of theirs


def complaints(equation: Equation) -> list[str]:
    """A sentence for each place where units do not fit, and none where they fit or are not known."""
    found = _Units(equation.scope, {name: parse(text) for name, text in equation.units.items()})
    sides = (equation.statement.left, equation.statement.right)
    # as they are written: where products are multiplied out, numbers lose the unit of what they stand beside
    terms = [[t for _, t in side.terms] if isinstance(side, Sum) else [side] for side in sides]
    found.sum([term for side in terms for term in side], {})
    return list(dict.fromkeys(found.complaints))


class _Units:
    def __init__(self, scope: Scope, units: Mapping[str, Unit]) -> None:
        self.scope, self.units = scope, units
        self.complaints: list[str] = []

    def of(self, node: Node, bound: Mapping[str, Unit | None]) -> Unit | None:
        """The unit of an expression; None where it may be any."""
        if isinstance(node, Number):
            return None if node.value == 0 else NUMBER
        if isinstance(node, Name):
            return self.name(node.id, bound)
        if isinstance(node, Sum):
            return self.sum([term for _, term in node.terms], bound)
        if isinstance(node, Product):
            found: Unit | None = NUMBER
            for power, factor in node.factors:
                unit = self.of(factor, bound)
                found = None if found is None or unit is None else found * unit ** float(power)
            return found
        if isinstance(node, Power):
            base, exponent = self.of(node.base, bound), constant_value(node.exponent)
            if base is None or (exponent is None and not base.is_number):
                return None
            return base ** float(exponent) if exponent is not None else NUMBER
        if isinstance(node, Derivative):
            units = [self.axis(axis, bound) for axis in node.axes]
            return self.divided(self.of(node.of, bound), units)
        if isinstance(node, Call):
            return self.call(node, bound)
        return None

    def name(self, name: str, bound: Mapping[str, Unit | None]) -> Unit | None:
        if name in bound:
            return bound[name]
        if name in self.units:
            return self.units[name]
        definition = self.scope.definitions.get(name)
        # a constant without a unit may have any, while an expression has that of its parts
        if definition is None or isinstance(definition.body, Number):
            return NUMBER if name == "pi" else None
        return self.of(definition.body, {})

    def axis(self, node: Node, bound: Mapping[str, Unit | None]) -> Unit | None:
        if isinstance(node, Item):
            units = [self.units.get(self.scope.axes[i]) for i in self.scope.numbered(node.base).values()]
            return _common(units)
        assert isinstance(node, Name)
        if node.id == "n" and node.id not in self.scope.axes:
            return self.length()
        return self.name(node.id, bound)

    def length(self) -> Unit | None:
        """The unit of all axes of space, if it is one."""
        return _common([self.units.get(self.scope.axes[i]) for i in self.scope.spatial])

    def check_lengths(self, operator: str) -> None:
        """An operator that adds derivatives along all axes of space needs one unit for them."""
        known = {axis: self.units.get(axis) for axis in (self.scope.axes[i] for i in self.scope.spatial)}
        stated = {axis: unit for axis, unit in known.items() if unit is not None}
        if len(stated) > 1 and self.length() is None:
            each = ", ".join(f"{axis} in {unit}" for axis, unit in stated.items())
            self.complaints.append(f"{operator} needs one unit for all axes of space, got {each}")

    def divided(self, unit: Unit | None, by: list[Unit | None]) -> Unit | None:
        for other in by:
            unit = None if unit is None or other is None else unit / other
        return unit

    def sum(self, terms: list[Node], bound: Mapping[str, Unit | None]) -> Unit | None:
        known: tuple[Node, Unit] | None = None
        for term in terms:
            unit = self.of(term, bound)
            if unit is None or constant_value(term) is not None:
                continue
            if known is None:
                known = term, unit
            elif not unit.is_same(known[1]):
                both = f"{_short(known[0])} is in {known[1]}, and {_short(term)} in {unit}"
                self.complaints.append(f"{both}: terms that are added need one unit")
                return None
        return None if known is None else known[1]

    def call(self, node: Call, bound: Mapping[str, Unit | None]) -> Unit | None:
        name, arguments = node.function, node.arguments
        if name in self.scope.fields:
            return self.units.get(name)
        if name in self.scope.definitions:
            definition = self.scope.definitions[name]
            units = [self.of(argument, bound) for argument in arguments]
            return self.of(definition.body, dict(zip(definition.parameters, units, strict=True)))
        if name in self.scope.tables:
            return self.units.get(name)
        orders = {"laplacian": 2, "biharmonic": 4, "grad": 1, "div": 1, "curl": 1}
        if name in orders:
            self.check_lengths(name)
            return self.divided(self.sum(list(arguments), bound), [self.length()] * orders[name])
        if name == "dot":
            first, second = (self.of(argument, bound) for argument in arguments)
            return None if first is None or second is None else first * second
        if name == "sqrt":
            inner = self.of(arguments[0], bound)
            return None if inner is None else inner**0.5
        if name in _SAME:
            return self.sum(list(arguments[1:] if name == "where" else arguments), bound)
        if name == "sum":
            return self.of(arguments[0], {**bound, "i": NUMBER})
        if name in _FREE:
            return None
        for argument in arguments:
            unit = self.of(argument, bound)
            if unit is not None and not unit.is_number:
                self.complaints.append(
                    f"{name} of {_short(argument)}, which is in {unit}: expected a plain number"
                )
        return NUMBER


def _common(units: list[Unit | None]) -> Unit | None:
    first = units[0] if units else None
    same = first is not None and all(unit is not None and unit.is_same(first) for unit in units)
    return first if same else None


def _short(node: Node) -> str:
    text = as_text(node)
    return text if len(text) <= 40 else text[:37] + "..."
