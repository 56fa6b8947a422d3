"""What an equation is made of: its terms, its order, whether it is linear in its fields."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pinnbo.equations.constants import constant_value
from pinnbo.equations.nodes import (
    Call,
    Comparison,
    Derivative,
    Item,
    Logic,
    Name,
    Node,
    Number,
    Power,
    Product,
    Statement,
    Sum,
)
from pinnbo.equations.scope import Scope

_MOST_TERMS = 200


def terms(node: Node, scope: Scope, sign: int = 1) -> list[tuple[int, Node]]:
    """An expression as a sum of signed terms, products of sums with fields multiplied out where this is one level."""
    found = list(_terms(node, scope, sign))
    return found if len(found) <= _MOST_TERMS else [(sign, node)]


def _terms(node: Node, scope: Scope, sign: int) -> Iterator[tuple[int, Node]]:
    if isinstance(node, Sum):
        for own, term in node.terms:
            yield from _terms(term, scope, sign * own)
        return
    if isinstance(node, Product):
        split = _sum_with_fields(node, scope)
        if split is not None:
            position, inner = split
            before, after = node.factors[:position], node.factors[position + 1 :]
            for own, term in _terms(inner, scope, sign):
                if isinstance(term, Number) and term.value < 0:
                    own, term = -own, Number(-term.value, at=term.at)
                yield own, _product((*before, (1, term), *after), node)
            return
    if isinstance(node, Call) and node.function == "sum" and scope.has_field(node):
        body = node.arguments[0]
        if isinstance(body, Sum) and all(_has_index(term) for _, term in body.terms):
            for own, term in body.terms:
                yield sign * own, Call("sum", (term, *node.arguments[1:]), at=node.at)
            return
    yield sign, node


def _has_index(node: Node) -> bool:
    return any(isinstance(part, Item) and isinstance(part.index, Name) for part in node.walk())


def _sum_with_fields(node: Product, scope: Scope) -> tuple[int, Sum] | None:
    """The only factor with a field, if it is a sum of numbers."""
    with_fields = [i for i, (_, factor) in enumerate(node.factors) if scope.has_field(factor)]
    if len(with_fields) != 1:
        return None
    power, factor = node.factors[with_fields[0]]
    if power < 0 or not isinstance(factor, Sum):
        return None
    return with_fields[0], factor


def _product(factors: tuple[tuple[int, Node], ...], node: Product) -> Node:
    flat: list[tuple[int, Node]] = []
    for power, factor in factors:
        if power > 0 and isinstance(factor, Product):
            flat.extend(factor.factors)
        else:
            flat.append((power, factor))
    return Product(tuple(flat), at=node.at)


def split(statement: Statement, scope: Scope) -> tuple[list[tuple[int, Node]], list[tuple[int, Node]]]:
    """left = right as N[f] = g: the terms with a field on the left, those without on the right."""
    everything = [*terms(statement.left, scope), *terms(statement.right, scope, -1)]
    operator = [(sign, term) for sign, term in everything if scope.has_field(term)]
    source = [(-sign, term) for sign, term in everything if not scope.has_field(term)]
    return operator, [(sign, term) for sign, term in source if constant_value(term) != 0.0]


def order(statement: Statement, scope: Scope) -> int:
    """The highest order of a derivative of a field."""
    return max(_order(side, scope, {}) for side in (statement.left, statement.right))


def order_of(node: Node, scope: Scope) -> int:
    """The highest order of a derivative of a field in an expression, -1 where there is no field."""
    return _order(node, scope, {})


def axes_of(node: Node, scope: Scope) -> set[str]:
    """The axes along which something is differentiated in an expression, also by way of a helper function."""
    space = {scope.axes[i] for i in scope.spatial}
    found: set[str] = set()
    for body in (node, *(definition.body for definition in scope.used([node]))):
        for part in body.walk():
            if isinstance(part, Call) and part.function in ("laplacian", "biharmonic", "grad", "div", "curl"):
                found |= space
            elif isinstance(part, Derivative):
                named = {axis.id for axis in part.axes if isinstance(axis, Name)}
                found |= named if len(named) == len(set(part.axes)) else space
    return found


def _order(node: Node, scope: Scope, bound: Mapping[str, int]) -> int:
    """The order in the fields, -1 where there is none."""
    if isinstance(node, Name):
        if node.id in bound:
            return bound[node.id]
        if node.id in scope.fields:
            return 0
        if node.id in scope.definitions:
            return _order(scope.definitions[node.id].body, scope, {})
        return -1
    if isinstance(node, Call):
        if node.function in scope.fields:
            return 0
        inner = [_order(argument, scope, bound) for argument in node.arguments]
        if node.function in scope.definitions:
            definition = scope.definitions[node.function]
            return _order(definition.body, scope, dict(zip(definition.parameters, inner, strict=True)))
        more = {"laplacian": 2, "biharmonic": 4, "grad": 1, "div": 1, "curl": 1}.get(node.function, 0)
        deepest = max(inner, default=-1)
        return deepest + more if deepest >= 0 else -1
    if isinstance(node, Derivative):
        inside = _order(node.of, scope, bound)
        return inside + len(node.axes) if inside >= 0 else -1
    return max((_order(child, scope, bound) for child in node.children()), default=-1)


def is_linear(statement: Statement, scope: Scope) -> bool:
    """Whether the equation is linear in its fields, as it is written."""
    return all(_degree(side, scope, {}) <= 1 for side in (statement.left, statement.right))


_NONLINEAR = 99


def _degree(node: Node, scope: Scope, bound: Mapping[str, int]) -> int:
    """The degree in the fields: 0 without one, _NONLINEAR for what is no polynomial."""
    if isinstance(node, Name):
        if node.id in bound:
            return bound[node.id]
        if node.id in scope.definitions:
            return _degree(scope.definitions[node.id].body, scope, {})
        return 1 if node.id in scope.fields else 0
    if isinstance(node, Sum):
        return max(_degree(term, scope, bound) for _, term in node.terms)
    if isinstance(node, Product):
        total = 0
        for power, factor in node.factors:
            degree = _degree(factor, scope, bound)
            total += degree if power > 0 or degree == 0 else _NONLINEAR
        return total
    if isinstance(node, Power):
        base, exponent = _degree(node.base, scope, bound), constant_value(node.exponent)
        if base == 0 and _degree(node.exponent, scope, bound) == 0:
            return 0
        return base if exponent == 1 else _NONLINEAR
    if isinstance(node, Derivative):
        return _degree(node.of, scope, bound)
    if isinstance(node, Comparison | Logic):
        return _NONLINEAR if any(_degree(child, scope, bound) for child in node.children()) else 0
    if isinstance(node, Call):
        return _degree_of_call(node, scope, bound)
    return 0


def _degree_of_call(node: Call, scope: Scope, bound: Mapping[str, int]) -> int:
    name = node.function
    if name in scope.fields:
        return 1
    degrees = [_degree(argument, scope, bound) for argument in node.arguments]
    if name in scope.definitions:
        definition = scope.definitions[name]
        return _degree(definition.body, scope, dict(zip(definition.parameters, degrees, strict=True)))
    if name in ("laplacian", "biharmonic", "grad", "div", "curl", "vector", "sum"):
        return max(degrees, default=0)
    if name == "dot":
        return sum(degrees)
    if name == "where":
        return max(degrees[1:]) if degrees[0] == 0 else _NONLINEAR
    return _NONLINEAR if any(degrees) else 0
