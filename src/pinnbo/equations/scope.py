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

import contextlib
import keyword
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from pinnbo.equations.errors import EquationError, nearest
from pinnbo.equations.nodes import (
    Call,
    Comparison,
    Definition,
    Derivative,
    Fixed,
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

Kind = Literal["number", "vector", "comparison"]

TIMES = ("t", "time")
LARGEST_EXPONENT = 100
# functions of numbers, with how many they take
FUNCTIONS: dict[str, tuple[int, int]] = {
    **{name: (1, 1) for name in ("sin", "cos", "tan", "cot", "asin", "acos", "atan", "sinh", "cosh", "tanh")},
    **{
        name: (1, 1)
        for name in ("exp", "log", "log10", "sqrt", "abs", "sign", "erf", "erfc", "exp1", "lambertw")
    },
    **{"atan2": (2, 2), "min": (2, 8), "max": (2, 8)},
}
_OF_A_FIELD = ("laplacian", "grad", "biharmonic")
_OPERATORS = (*_OF_A_FIELD, "div", "curl", "dot", "norm", "vector", "sum", "where")
BUILT_IN = frozenset((*FUNCTIONS, *_OPERATORS, "d", "Derivative", *(f"d{k}" for k in range(2, 7))))
CONSTANTS = {"pi": 3.141592653589793}


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
        return any(_called(part) in self.fields for body in bodies for part in body.walk())

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
                name = _called(part)
                if name is not None and name in self.definitions and name not in names:
                    names.add(name)
                    waiting.append(self.definitions[name].body)
        return [definition for name, definition in self.definitions.items() if name in names]

    def kind(self, node: Node, bound: Collection[str] = (), on_a_face: bool = False) -> Kind:
        """Whether an expression is a number, a vector or a comparison; complains of what makes no sense."""
        return _Checker(self, on_a_face).kind(node, frozenset(bound))

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


def _called(node: Node) -> str | None:
    """The name that a node uses, if any."""
    return node.id if isinstance(node, Name) else node.function if isinstance(node, Call) else None


def refuse_circles(definitions: Mapping[str, Definition]) -> None:
    """No definition may use itself, not even by way of others."""
    done: set[str] = set()
    for start in definitions:
        path: list[tuple[str, list[str]]] = [(start, _used_names(definitions[start], definitions))]
        while path:
            name, waiting = path[-1]
            if not waiting:
                done.add(name)
                path.pop()
                continue
            following = waiting.pop()
            if any(following == earlier for earlier, _ in path):
                raise EquationError(f"{following} is defined by itself", definitions[following].body.at)
            if following not in done:
                path.append((following, _used_names(definitions[following], definitions)))


def _used_names(definition: Definition, definitions: Mapping[str, Definition]) -> list[str]:
    names = {_called(part) for part in definition.body.walk()} - set(definition.parameters)
    return [name for name in definitions if name in names]


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
        if name in _OPERATORS:
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


def find_fields(
    statements: Sequence[Statement],
    axes: Collection[str],
    given: Sequence[str] | None,
    known: Collection[str],
) -> tuple[tuple[str, ...], dict[str, Definition], list[Statement]]:
    """Tell fields, definitions and equations apart; ``known`` are names of constants and tables."""
    functions: dict[str, Definition] = {}
    plain: dict[str, Statement] = {}
    rest: list[Statement] = []
    for statement in statements:
        left = statement.left
        if statement.on is None and isinstance(left, Call) and left.function not in BUILT_IN:
            definition = _function(left, statement.right, axes, given)
            if definition is not None:
                _refuse_twice(definition.name, functions, left)
                functions[definition.name] = definition
                continue
        if (
            statement.on is None
            and isinstance(left, Name)
            and left.id not in axes
            and left.id not in (given or ())
        ):
            _refuse_twice(left.id, plain, left)
            plain[left.id] = statement
        rest.append(statement)
    if given is not None:
        fields = dict.fromkeys(given)
    else:
        fields = _differentiated([*rest, *functions.values()], axes, {*functions, *known})
    # a name that is set to an expression of fields stands for it, unless derivatives are taken of the name too: then it
    # is a field of its own, as in a system of first order
    definitions = dict(plain)
    changed = True
    while changed:
        changed = False
        certain = {name for name in fields if name not in definitions}
        for name, statement in list(definitions.items()):
            if name in fields and _names(statement.right, functions) & certain:
                del definitions[name]
                changed = True
    if len(definitions) == len(rest):
        # nothing else is said: u = d(psi, y) is the equation
        for name, statement in plain.items():
            if name in definitions and _names(statement.right, functions) & set(fields):
                del definitions[name]
                fields.setdefault(name)
    equations = [s for s in rest if not (isinstance(s.left, Name) and definitions.get(s.left.id) is s)]
    if given is None:
        fields = {name: None for name in fields if name not in definitions}
        if not fields and equations:
            fields = _only_name(equations, axes, {*functions, *definitions, *known})
    found = {name: Definition(name, (), s.right) for name, s in definitions.items()}
    return tuple(fields), {**found, **functions}, equations


def _refuse_twice(name: str, among: Collection[str], at: Node) -> None:
    if name in among:
        raise EquationError(f"{name} is defined twice", at.at)


def _function(
    left: Call, body: Node, axes: Collection[str], given: Sequence[str] | None
) -> Definition | None:
    if left.function in axes or left.function in (given or ()):
        return None
    parameters = [a.id if isinstance(a, Name) else "" for a in left.arguments]
    if not parameters or "" in parameters or len(set(parameters)) < len(parameters):
        raise EquationError(
            f"{left.function}(...) = ...: expected names in the brackets of a helper function; "
            f"for a value at a wall write {left.function} = 20 on y = 0",
            left.at,
        )
    return Definition(left.function, tuple(parameters), body)


def _differentiated(
    parts: Sequence[Statement | Definition], axes: Collection[str], known: Collection[str]
) -> dict[str, None]:
    """The names of which derivatives are taken, in the order of the text."""
    found: dict[str, None] = {}
    for part in parts:
        sides = (part.body,) if isinstance(part, Definition) else (part.left, part.right)
        own = part.parameters if isinstance(part, Definition) else ()
        for side in sides:
            for node in side.walk():
                inner: tuple[Node, ...] = ()
                if isinstance(node, Derivative):
                    inner = (node.of,)
                elif isinstance(node, Call) and node.function in (*_OF_A_FIELD, "div", "curl"):
                    inner = node.arguments
                    if len(inner) == 1 and isinstance(inner[0], Call) and inner[0].function == "vector":
                        inner = inner[0].arguments
                for argument in inner:
                    name = _field_name(argument, axes)
                    if name is not None and name not in axes and name not in own and name not in known:
                        found[name] = None
    return found


def _field_name(node: Node, axes: Collection[str]) -> str | None:
    if isinstance(node, Name) and node.id not in CONSTANTS:
        return node.id
    if not isinstance(node, Call) or node.function in BUILT_IN or not node.arguments:
        return None
    return node.function if all(isinstance(a, Name) and a.id in axes for a in node.arguments) else None


def _names(node: Node, functions: Mapping[str, Definition]) -> set[str]:
    found: set[str] = set()
    waiting, seen = [node], set()
    while waiting:
        for part in waiting.pop().walk():
            name = _called(part)
            if name is not None:
                found.add(name)
            if name is not None and name in functions and name not in seen:
                seen.add(name)
                waiting.append(functions[name].body)
    return found


def _only_name(
    equations: Sequence[Statement], axes: Collection[str], known: Collection[str]
) -> dict[str, None]:
    """The field of an equation without derivatives: its only unknown name."""
    found: dict[str, None] = {}
    for statement in equations:
        for side in (statement.left, statement.right):
            for node in side.walk():
                if isinstance(node, Name) and not (
                    node.id in axes or node.id in known or node.id in CONSTANTS
                ):
                    found[node.id] = None
    if len(found) == 1 or not found:
        if not found:
            at = equations[0].left.at if equations else None
            raise EquationError("expected a field such as T in d(T, x) or laplacian(T), found none", at)
        return found
    at = equations[0].left.at
    raise EquationError(
        f"cannot tell which of {', '.join(list(found)[:6])} is the field: no derivative is taken of any; "
        "name it with fields=",
        at,
    )


def find_unknowns(
    equations: Sequence[Statement],
    definitions: Mapping[str, Definition],
    meanings: Scope,
    allowed: Collection[str] | None,
) -> tuple[str, ...]:
    """The names that mean nothing else, in the order of the text."""
    found: dict[str, Name] = {}
    known = {*meanings.axes, *meanings.fields, *definitions, *meanings.tables, *CONSTANTS}
    parts: list[tuple[Node, tuple[str, ...]]] = [(d.body, d.parameters) for d in definitions.values()]
    for statement in equations:
        parts += [(statement.left, ()), (statement.right, ())]
        for alternative in statement.on.alternatives if statement.on else ():
            for constraint in alternative:
                if isinstance(constraint, Fixed):
                    parts.append((constraint.value, ()))
                elif not isinstance(constraint, Name):
                    parts.append((constraint, ()))
    for node, own in parts:
        _collect_unknowns(node, {*known, *own}, meanings, found)
    for name, node in found.items():
        derivative = re.fullmatch(r"[d∂]\d?(\w+)", name)
        if name in BUILT_IN:
            raise EquationError(f"{name} is a function: write {name}(...)", node.at)
        if derivative and derivative.group(1) in meanings.fields and (allowed is None or name not in allowed):
            axes = ", ".join(meanings.axes[:8])
            raise EquationError(
                f"{name} alone means nothing: write a derivative such as d{derivative.group(1)}/d{meanings.axes[0]}, "
                f"with one of the axes {axes} below",
                node.at,
            )
        if keyword.iskeyword(name):
            raise EquationError(
                f"{name} is a word of Python and cannot be a name; call it {name[:3]}", node.at
            )
        if allowed is not None and name not in allowed:
            names = [*meanings.axes, *meanings.fields, *definitions, *meanings.tables, *allowed, *BUILT_IN]
            raise EquationError(
                f"{name} is neither an axis, a field, a constant nor one of the unknown coefficients"
                f"{nearest(name, names)}",
                node.at,
            )
    return tuple(found)


def _collect_unknowns(node: Node, known: set[str], meanings: Scope, found: dict[str, Name]) -> None:
    if isinstance(node, Name):
        if node.id not in known:
            found.setdefault(node.id, node)
        return
    if isinstance(node, Derivative):
        _collect_unknowns(node.of, known, meanings, found)
        return
    if isinstance(node, Item):
        return
    if isinstance(node, Call) and node.function == "sum" and node.arguments:
        with contextlib.suppress(EquationError):  # said with the rest of what is wrong with it
            known = {*known, meanings.index_of(node, ())[0]}
    if isinstance(node, Call) and node.function in meanings.fields:
        return
    for child in node.children():
        _collect_unknowns(child, known, meanings, found)
