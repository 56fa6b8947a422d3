"""The values of expressions of numbers alone."""

from __future__ import annotations

from pinnbo.equations.names import CONSTANTS
from pinnbo.equations.nodes import Name, Node, Number, Power, Product, Sum


def constant_value(node: Node) -> float | None:
    """The value of an expression of numbers alone; infinite where it is not finite, None where there are names."""
    try:
        return _constant(node)
    except (OverflowError, ZeroDivisionError):
        return float("inf")


def _constant(node: Node) -> float | None:
    if isinstance(node, Number):
        return node.value
    if isinstance(node, Name) and node.id in CONSTANTS:
        return CONSTANTS[node.id]
    if isinstance(node, Sum | Product):
        total = 0.0 if isinstance(node, Sum) else 1.0
        for sign, part in node.terms if isinstance(node, Sum) else node.factors:
            value = _constant(part)
            if value is None:
                return None
            if isinstance(node, Sum):
                total += sign * value
            else:
                total = total * value if sign > 0 else total / value
        return total
    if isinstance(node, Power):
        base, exponent = _constant(node.base), _constant(node.exponent)
        if base is None or exponent is None:
            return None
        value = base**exponent
        return value if isinstance(value, float) else float("inf")
    return None
