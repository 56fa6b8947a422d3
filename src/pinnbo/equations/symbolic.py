"""SymPy equations as trees. SymPy is optional: where somebody has one of its objects, it is loaded already."""

from __future__ import annotations

import math
import sys
from typing import Any

from pinnbo.equations.errors import EquationError
from pinnbo.equations.grammar import MOST_NODES, SYNONYMS
from pinnbo.equations.names import FUNCTIONS
from pinnbo.equations.nodes import (
    Call,
    Comparison,
    Derivative,
    Logic,
    Name,
    Node,
    Number,
    Power,
    Product,
    Statement,
    Sum,
    negative,
)

_RELATIONS = {"StrictLessThan": "<", "LessThan": "<=", "StrictGreaterThan": ">", "GreaterThan": ">="}
_LOGIC = {"And": "and", "Or": "or", "Not": "not"}


def statement_of(equation: Any) -> Statement:
    """A SymPy ``Eq``, or an expression that is zero."""
    sympy = sys.modules.get("sympy")
    if sympy is None or not isinstance(equation, sympy.Basic):
        raise TypeError(f"equation: expected a text or a SymPy equation, got {type(equation).__name__}")
    count = sum(1 for _ in sympy.preorder_traversal(equation))
    if count > MOST_NODES:
        raise EquationError(f"expected at most {MOST_NODES} nodes, got {count}")
    if isinstance(equation, sympy.Equality):
        return Statement(_node(equation.lhs), _node(equation.rhs))
    return Statement(_node(equation), Number(0.0))


def _node(part: Any) -> Node:
    import sympy
    from sympy.core.function import AppliedUndef

    if part.is_Symbol:
        return Name(_checked(part.name))
    if part is sympy.pi:
        return Name("pi")
    if part.is_number and part.is_real and (part.is_Number or not part.args):
        return _number(part)
    if isinstance(part, AppliedUndef):
        return Call(_checked(part.func.__name__), tuple(_node(argument) for argument in part.args))
    if part.is_Add:
        return Sum(tuple(_signed(term) for term in part.as_ordered_terms()))
    if part.is_Mul:
        return _product(part)
    if part.is_Pow:
        return Power(_node(part.base), _node(part.exp))
    if isinstance(part, sympy.Derivative):
        axes = [_node(axis) for axis, times in part.variable_count for _ in range(int(times))]
        return Derivative(_node(part.expr), tuple(axes))
    if isinstance(part, sympy.Piecewise):
        return _piecewise(list(part.args))
    name = type(part).__name__
    if name in _RELATIONS:
        return Comparison((_RELATIONS[name],), tuple(_node(argument) for argument in part.args))
    if name in _LOGIC:
        return Logic(_LOGIC[name], tuple(_node(argument) for argument in part.args))
    function = SYNONYMS.get(name, name).lower()
    if function in FUNCTIONS:
        return Call(function, tuple(_node(argument) for argument in part.args))
    raise EquationError(f"SymPy's {name} is unknown here")


def _checked(name: str) -> str:
    if not name.isidentifier() or name.startswith("_"):
        raise EquationError(f"expected a name of letters and digits, got SymPy's {name!r:.40}")
    return name


def _number(part: Any) -> Node:
    try:
        value = float(part)
    except OverflowError:
        value = math.inf
    if not math.isfinite(value):
        raise EquationError("expected finite numbers, got a larger one from SymPy")
    if part.is_Rational and not part.is_Integer and float(part.p) / float(part.q) == value:
        return Product(((1, Number(float(part.p))), (-1, Number(float(part.q)))))
    return Number(value)


def _signed(term: Any) -> tuple[int, Node]:
    return (-1, _node(-term)) if term.could_extract_minus_sign() else (1, _node(term))


def _product(part: Any) -> Node:
    if part.could_extract_minus_sign():
        return negative(_node(-part))
    factors: list[tuple[int, Node]] = []
    for factor in part.as_ordered_factors():
        if factor.is_Pow and factor.exp == -1:
            factors.append((-1, _node(factor.base)))
        elif factor.is_Rational and not factor.is_Integer:
            factors += [(1, Number(float(factor.p)))] if factor.p != 1 else []
            factors.append((-1, Number(float(factor.q))))
        else:
            factors.append((1, _node(factor)))
    if factors[0][0] < 0:
        factors.sort(key=lambda pair: -pair[0])
    if factors[0][0] < 0:
        factors.insert(0, (1, Number(1.0)))
    return Product(tuple(factors))


def _piecewise(pieces: list[Any]) -> Node:
    value, condition = pieces[0]
    if condition == True or len(pieces) == 1:  # noqa: E712 - SymPy's true is not Python's
        if condition != True:  # noqa: E712
            raise EquationError("Piecewise: expected a last piece that holds everywhere else")
        return _node(value)
    return Call("where", (_node(condition), _node(value), _piecewise(pieces[1:])))
