"""Equations in text as PDEs.

left = right becomes N[f] = g: terms with a field make up the operator, the others the source. Where a text has several
lines, every equation takes all fields of the text, in one order. A condition with its place becomes a PDE at points of
that place: one where all axes are fixed, evenly spaced ones along an edge, a Sobol sequence over a face.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from numpy import ndarray
from numpy.typing import ArrayLike

from pinnbo import symmetry
from pinnbo.equations import analysis, compiled, grammar, symmetries
from pinnbo.equations.constants import constant_value
from pinnbo.equations.errors import EquationError, nearest
from pinnbo.equations.mathml import as_mathml
from pinnbo.equations.meaning import find_fields, find_unknowns, refuse_circles, refuse_unused
from pinnbo.equations.names import BUILT_IN, TIMES
from pinnbo.equations.nodes import (
    Definition,
    Fixed,
    Node,
    Number,
    Statement,
    Sum,
)
from pinnbo.equations.places import located
from pinnbo.equations.printer import as_latex, as_text
from pinnbo.equations.scope import Scope
from pinnbo.equations.tables import as_table
from pinnbo.equations.units import System
from pinnbo.operators import HIGHEST_ORDER, Point, ScalarField
from pinnbo.pde import PDE
from pinnbo.space import Space

_POINTS = 32  # of a condition along an edge or over a face


@dataclass(frozen=True)
class Equation:
    """One equation or condition of a text, as a tree, and what its names mean."""

    statement: Statement
    scope: Scope
    tables: Mapping[str, Any] = field(compare=False)
    units: Mapping[str, str] = field(default_factory=dict, compare=False)

    @property
    def definitions(self) -> list[Definition]:
        """The constants and helper functions that it uses."""
        sides = [self.statement.left, self.statement.right]
        for alternative in self.statement.on.alternatives if self.statement.on else ():
            sides += [part.value if isinstance(part, Fixed) else part for part in alternative]
        return self.scope.used(sides)

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields of the text that it is from, in their order."""
        return self.scope.fields

    @cached_property
    def unknowns(self) -> tuple[str, ...]:
        """Its unknown coefficients."""
        parts = (*self.terms, *self.source_terms)
        return tuple(dict.fromkeys(name for _, term in parts for name in self.scope.unknowns_in(term)))

    @cached_property
    def _split(self) -> tuple[list[tuple[int, Node]], list[tuple[int, Node]]]:
        return analysis.split(self.statement, self.scope)

    @property
    def terms(self) -> list[tuple[int, Node]]:
        """The signed terms of N[f]."""
        return self._split[0]

    @property
    def source_terms(self) -> list[tuple[int, Node]]:
        """The signed terms of g."""
        return self._split[1]

    @cached_property
    def order(self) -> int:
        """The highest order of a derivative of a field."""
        return analysis.order(self.statement, self.scope)

    @cached_property
    def is_linear(self) -> bool:
        """Whether it is linear in its fields, as it is written."""
        return analysis.is_linear(self.statement, self.scope)

    @property
    def line(self) -> str:
        """The equation alone, in the notation of `pinnbo.equations`."""
        return as_text(self.statement)

    def __str__(self) -> str:
        return "\n".join([*(as_text(definition) for definition in self.definitions), self.line])

    def latex(self) -> str:
        """LaTeX, without dollar signs."""
        where = [as_latex(definition) for definition in self.definitions]
        return as_latex(self.statement) + "".join(rf", \quad {line}" for line in where)

    def mathml(self) -> str:
        """MathML, one line for each definition and the equation."""
        return as_mathml([*self.definitions, self.statement], "; ".join(str(self).splitlines()))


class TextOperator:
    """N as a function of fields, by position, and of unknown coefficients, by keyword."""

    def __init__(
        self, equation: Equation, terms: Sequence[tuple[int, Node]], normal: compiled.Normal | None
    ) -> None:
        self.equation, self._normal = equation, normal
        self._body = Sum(tuple(terms))
        self._fields = equation.fields
        self._unknowns = equation.scope.unknowns_in(self._body)
        self.__name__ = self.__qualname__ = "operator"
        self.__signature__ = _signature(self._fields, self._unknowns)
        compiled.check(self._body, equation.scope, normal)

    def __call__(self, *fields: ScalarField, **coefficients: Any) -> Callable[[Point], Array]:
        """N[fields], a function of x."""
        _check_coefficients(self._unknowns, coefficients)
        named = dict(zip(self._fields, fields, strict=True))
        return compiled.function(
            self._body, compiled.Environment(self.equation.scope, named, coefficients, self._normal)
        )


class TextSource:
    """g as a function of x, and of unknown coefficients by keyword."""

    def __init__(self, equation: Equation, terms: Sequence[tuple[int, Node]]) -> None:
        self.equation = equation
        self._body = Sum(tuple(terms))
        self._unknowns = equation.scope.unknowns_in(self._body)
        self.__name__ = self.__qualname__ = "source"
        self.__signature__ = _signature(("x",), self._unknowns)
        compiled.check(self._body, equation.scope)

    def __call__(self, x: Point, **coefficients: Any) -> Array:
        """g(x)."""
        _check_coefficients(self._unknowns, coefficients)
        environment = compiled.Environment(self.equation.scope, {}, coefficients)
        return compiled.function(self._body, environment)(jnp.asarray(x))


def _signature(positional: Sequence[str], keywords: Sequence[str]) -> inspect.Signature:
    kinds = inspect.Parameter
    return inspect.Signature(
        [
            *(kinds(name, kinds.POSITIONAL_OR_KEYWORD) for name in positional),
            *(kinds(name, kinds.KEYWORD_ONLY) for name in keywords),
        ]
    )


def _check_coefficients(unknowns: Sequence[str], given: Mapping[str, Any]) -> None:
    missing = [name for name in unknowns if name not in given]
    if missing:
        raise TypeError(
            f"unknown coefficient {missing[0]} has no value: give it one with constants={{{missing[0]!r}: ...}}, "
            f"or a range with unknowns={{{missing[0]!r}: (low, high)}} of the Optimizer"
        )


def parse(
    text: Any,
    space: Space,
    *,
    fields: Sequence[str] | None = None,
    constants: Mapping[str, float | str] | None = None,
    tables: Mapping[str, Any] | None = None,
    unknowns: Iterable[str] | None = None,
    places: Mapping[str, str | ArrayLike] | None = None,
    time: str | None = None,
    points: ArrayLike | None = None,
    noise: float = 0.0,
    name: str | None = None,
    units: Mapping[str, str] | None = None,
) -> list[PDE]:
    """The equations and conditions of a text, in its order; see `PDE.parse`."""
    try:
        return _parsed(
            text, space, fields, constants, tables, unknowns, places, time, points, noise, name, units
        )
    except RecursionError:
        raise EquationError("helper functions and brackets are nested too deeply") from None


def reading(text: str, space: Space, *, fields: Sequence[str], **given: Any) -> TextOperator:
    """What a sensor reads, in the notation of equations: ``-0.6*d(T, x)``; every term has a field."""
    expression = grammar.parse_expression(text, space.names)
    (pde,) = parse([Statement(expression, Number(0.0))], space, fields=fields, unknowns=(), **given)
    operator = pde.operator
    assert isinstance(operator, TextOperator)
    if operator.equation.source_terms:
        raise EquationError(f"expected a field ({', '.join(fields)}) in every term", expression.at)
    return operator


def _parsed(
    text: Any,
    space: Space,
    fields: Sequence[str] | None,
    constants: Mapping[str, Any] | None,
    tables: Mapping[str, Any] | None,
    unknowns: Iterable[str] | None,
    places: Mapping[str, str | ArrayLike] | None,
    time: str | None,
    points: ArrayLike | None,
    noise: float,
    name: str | None,
    units: Mapping[str, str] | None,
) -> list[PDE]:
    if not isinstance(space, Space):
        raise TypeError(f"PDE.parse: space must be a Space, got {type(space).__name__}")
    for what, given in (("constants", constants), ("tables", tables), ("places", places), ("units", units)):
        if given is not None and not isinstance(given, Mapping):
            raise TypeError(f"PDE.parse: {what} must be given by name, as a dict, got {given!r:.40}")
    tables, places = dict(tables or {}), dict(places or {})
    allowed = None if unknowns is None else list(unknowns)
    known, others = dict(units or {}), (*(constants or {}), *(allowed or ()))
    system = System(
        {name: unit for name, unit in known.items() if name not in others and name not in _defined(text)}
    )
    for constant, value in (constants or {}).items():
        if isinstance(value, str):
            known.pop(constant, None)  # it is in the units of the problem now
    constants = {constant: system.value(constant, value) for constant, value in (constants or {}).items()}
    if isinstance(fields, str):
        fields = (fields,)
    for chosen in (*constants, *tables, *(fields or ()), *(allowed or ())):
        _check_given(chosen, space)
    lines: list[Any] = []
    made: list[PDE] = []
    for line in text if isinstance(text, list | tuple) else [text]:
        left, stated = symmetries.split(line) if isinstance(line, str) else (line, [])
        made += [symmetry.stated(each) for each in stated]
        lines += [left] if not stated or left else []  # equations of SymPy have no truth value
    if made and not lines:
        return made
    statements: list[Statement] = []
    for line in lines:
        if isinstance(line, str):
            statements += grammar.parse(line, space.names, (*constants, *tables, *(allowed or ())), system)
        elif isinstance(line, Statement):
            statements.append(line)
        else:
            from pinnbo.equations.symbolic import statement_of

            statements.append(statement_of(line))
    scope, equations = _understood(statements, space, fields, constants, tables, allowed, time)
    if not equations:
        first, hints = statements[0].left, [nearest(name, BUILT_IN) for name in scope.definitions]
        hint = next(filter(None, hints), "")
        raise EquationError(f"expected an equation with a field, got definitions only{hint}", first.at)
    found = [Equation(statement, scope, tables, known) for statement in equations]
    return [_as_pde(each, space, places, points, noise, name, system) for each in found] + made


def _defined(text: Any) -> set[str]:
    """The names to which lines of a text give a meaning, as far as that can be seen before it is understood."""
    lines = text if isinstance(text, list | tuple) else [text]
    found = (
        re.finditer(r"(?:^|[;\n])\s*(\w+)\s*(?:\([^)=]*\))?\s*=", line)
        for line in lines
        if isinstance(line, str)
    )
    return {match[1] for matches in found for match in matches}


def _understood(
    statements: Sequence[Statement],
    space: Space,
    fields: Sequence[str] | None,
    constants: Mapping[str, float],
    tables: Mapping[str, Any],
    allowed: Sequence[str] | None,
    time: str | None,
) -> tuple[Scope, list[Statement]]:
    known = {*constants, *tables}
    found, definitions, equations = find_fields(statements, space.names, fields, known)
    for name in (*definitions, *found):
        if name in BUILT_IN or name in space.names:
            what = "a function that is built in" if name in BUILT_IN else "an axis"
            raise EquationError(f"{name} is {what} and cannot be a field, a constant or a helper function")
    for name in definitions:
        if name in known:
            raise EquationError(
                f"{name} is given beside the text and defined in it", definitions[name].body.at
            )
    given = {name: Definition(name, (), Number(_finite(name, value))) for name, value in constants.items()}
    everything = {**given, **definitions}
    refuse_circles(everything)
    refuse_unused(definitions, equations)
    if time is None:
        time = next((axis for axis in space.names if axis in TIMES), None) if len(space.names) > 1 else None
    elif time not in space.names:
        raise EquationError(f"time: expected one of the axes {', '.join(space.names[:8])}, got {time!r}")
    ready = {name: as_table(name, table) for name, table in tables.items()}
    scope = Scope(tuple(space.names), time, found, everything, ready)
    names = find_unknowns(equations, everything, scope, allowed)
    scope = Scope(scope.axes, time, found, everything, ready, names)
    for definition in everything.values():
        scope.kind(definition.body, definition.parameters, True)
    return scope, equations


def _check_given(name: Any, space: Space) -> None:
    if not isinstance(name, str) or not name.isidentifier() or name.startswith("_"):
        raise EquationError(f"expected a name such as T or alpha, got {name!r:.40}")
    if name in BUILT_IN or name in space.names:
        what = "a function that is built in" if name in BUILT_IN else "an axis"
        raise EquationError(
            f"{name} is {what} and cannot be a field, a constant, a table or an unknown coefficient"
        )


def _finite(name: str, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = float("nan")
    if isinstance(value, bool) or not np.isfinite(number):
        raise EquationError(f"constant {name}: expected a finite number, got {value!r:.40}")
    return number


def _as_pde(
    equation: Equation,
    space: Space,
    places: Mapping[str, str | ArrayLike],
    points: ArrayLike | None,
    noise: float,
    name: str | None,
    system: System,
) -> PDE:
    statement, scope = equation.statement, equation.scope
    on_a_face = statement.on is not None
    for side in (statement.left, statement.right):
        kind = scope.kind(side, (), on_a_face)
        if kind != "number":
            hint = "; write one line per component" if kind == "vector" else ""
            raise EquationError(f"expected numbers on both sides of =, got a {kind}{hint}", side.at)
        compiled.check(side, scope, compiled.Normal(0, 1) if on_a_face else None)
    if equation.order > HIGHEST_ORDER:
        at = statement.left.at
        raise EquationError(f"expected derivatives up to order {HIGHEST_ORDER}, got {equation.order}", at)
    if not equation.terms:
        at = statement.left.at
        raise EquationError(f"expected a field ({', '.join(scope.fields)}) in every equation, found none", at)
    normal = None
    if statement.on is not None:
        points, normal = located(statement.on, equation, space, places, system)
    operator = TextOperator(equation, equation.terms, normal)
    source: Any = 0.0
    if equation.source_terms:
        source = constant_value(Sum(tuple(equation.source_terms)))
        if source is None or not np.isfinite(source):
            source = TextSource(equation, equation.source_terms)
    pde = PDE(operator, source, noise=noise, points=points, name=name or equation.line[:80])
    pde.equation = equation
    return pde


def function(
    text: str, space: Space, constants: Mapping[str, float] | None = None
) -> Callable[[Point], Array]:
    """A formula of the axes as a JAX function of a point; definitions may follow it, as ``sin(k*x); k = 3``."""
    first, _, more = text.partition(";")
    node = grammar.parse_expression(first, space.names)
    found: dict[str, Definition] = {}
    if more.strip():
        _, found, equations = find_fields(grammar.parse(more, space.names), space.names, (), constants or {})
        if equations:
            raise EquationError("expected definitions such as k = 3 after a formula", equations[0].left.at)
    given = {
        name: Definition(name, (), Number(_finite(name, value))) for name, value in (constants or {}).items()
    }
    definitions = {**given, **found}
    refuse_circles(definitions)
    scope = Scope(tuple(space.names), None, (), definitions, {})
    if scope.kind(node) != "number":
        raise EquationError("expected a number", node.at)
    compiled.check(node, scope)
    return lambda x: compiled.function(node, compiled.Environment(scope, {}))(x)


def formula(
    text: str, space: Space, constants: Mapping[str, float] | None = None
) -> Callable[[Float[ndarray, " d"]], float]:
    """A formula of the axes as a function of a point that gives a plain number."""
    value = function(text, space, constants)
    return lambda x: float(value(jnp.asarray(x)))
