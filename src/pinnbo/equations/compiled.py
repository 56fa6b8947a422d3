"""An expression as a JAX function of a point.

Every expression stands for a function of x, the point (d,): numbers are constant functions, an axis is a coordinate, a
derivative is an operator on the function below it. A helper function is replaced by its body, whose parameters stand
for the arguments as they were written, so that ``d(rho(x), x)`` means what it says.
"""

from __future__ import annotations

import functools
import operator
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from pinnbo import operators
from pinnbo.equations.constants import constant_value
from pinnbo.equations.errors import EquationError
from pinnbo.equations.functions import FUNCTIONS
from pinnbo.equations.names import CONSTANTS
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
    Sum,
)
from pinnbo.equations.scope import Scope
from pinnbo.operators import Point, ScalarField

_MOST_STEPS = 30_000  # of an evaluation, derivatives counted with their order


_COMPARE = {"<": jnp.less, "<=": jnp.less_equal, ">": jnp.greater, ">=": jnp.greater_equal}


class Normal(NamedTuple):
    """The outward normal of a face: an axis and a sign."""

    axis: int
    sign: int


class _Index(NamedTuple):
    """An index of a sum: the number of the axis, and its place among the numbered axes."""

    number: Any
    slot: Any


class _Budget:
    """Counts the steps of an evaluation before it is made."""

    def __init__(self) -> None:
        self.steps = 0

    def spend(self, steps: int, node: Node) -> None:
        self.steps += steps
        if self.steps > _MOST_STEPS:
            raise EquationError(
                f"expected an equation of at most {_MOST_STEPS} steps, its helper functions written out",
                node.at,
            )


@dataclass(frozen=True)
class Environment:
    """What names stand for while an expression is made a function."""

    scope: Scope
    fields: Mapping[str, ScalarField]
    values: Mapping[str, Any] = field(default_factory=dict)  # of unknown coefficients
    normal: Normal | None = None
    bound: Mapping[str, tuple[Node, Environment]] = field(default_factory=dict)
    index: Mapping[str, _Index] = field(default_factory=dict)
    budget: _Budget | None = None
    weight: int = 1
    calls: tuple[str, ...] = ()
    shared: dict[str, ScalarField] = field(default_factory=dict)  # definitions without parameters

    def deeper(self, order: int) -> Environment:
        """Below a derivative, where every step is taken several times."""
        return self if self.budget is None else replace(self, weight=self.weight * (order + 1))


def function(node: Node, environment: Environment) -> ScalarField:
    """The function of x that an expression stands for."""
    if environment.budget is not None:
        environment.budget.spend(environment.weight, node)
    return _BUILDERS[type(node)](node, environment)


def check(node: Node, scope: Scope, normal: Normal | None = None) -> None:
    """Complain of what cannot be made a function, and of what would take too long."""
    fields = dict.fromkeys(scope.fields, _nowhere)
    values = dict.fromkeys(scope.unknowns, 1.0)
    function(node, Environment(scope, fields, values, normal, budget=_Budget()))


def _total(values: Iterable[Any]) -> Any:
    return functools.reduce(operator.add, values)


def _nowhere(x: Point) -> Any:
    return jnp.zeros(())


def _number(node: Number, environment: Environment) -> ScalarField:
    return _constant(node.value)


def _constant(value: Any) -> ScalarField:
    return lambda x: jnp.asarray(value, dtype=float)


def _name(node: Name, environment: Environment) -> ScalarField:
    name, scope = node.id, environment.scope
    if name in environment.bound:
        return function(*environment.bound[name])
    if name in environment.index:
        return _constant(environment.index[name].number)
    if name in scope.axes:
        axis = scope.axes.index(name)
        return lambda x: x[axis]
    if name in scope.fields:
        return environment.fields[name]
    if name in scope.definitions:
        if environment.budget is not None:
            return _defined(name, (), node, environment)
        if name not in environment.shared:
            environment.shared[name] = _once(_defined(name, (), node, environment))
        return environment.shared[name]
    return _constant(environment.values[name] if name in environment.values else CONSTANTS[name])


def _once(inner: ScalarField) -> ScalarField:
    """The same function, which is not evaluated again at the point where it was last."""
    last: tuple[Point, Any] | None = None

    def value(x: Point) -> Any:
        nonlocal last
        if last is None or last[0] is not x:
            last = (x, inner(x))
        return last[1]

    return value


def _defined(name: str, arguments: tuple[Node, ...], node: Node, environment: Environment) -> ScalarField:
    if name in environment.calls:
        raise EquationError(f"{name} is defined by itself", node.at)
    definition = environment.scope.definitions[name]
    bound = {p: (a, environment) for p, a in zip(definition.parameters, arguments, strict=True)}
    inside = replace(environment, bound=bound, index={}, calls=(*environment.calls, name))
    return function(definition.body, inside)


def _item(node: Item, environment: Environment) -> ScalarField:
    axis = _position(node, environment)
    return lambda x: x[axis]


def _position(node: Node, environment: Environment) -> Any:
    """The position of an axis, which is traced where it depends on the index of a sum."""
    if isinstance(node, Item):
        numbers = environment.scope.numbered(node.base)
        index = node.index
        inside = environment
        while isinstance(index, Name) and index.id in inside.bound:
            index, inside = inside.bound[index.id]
        if isinstance(index, Number):
            return numbers[int(index.value)]
        if isinstance(index, Name) and index.id in inside.index:
            return jnp.asarray(list(numbers.values()))[inside.index[index.id].slot]
        raise EquationError(f"expected an index of {node.base}", node.at)
    if isinstance(node, Name) and node.id in environment.bound:
        return _position(*environment.bound[node.id])
    if isinstance(node, Name) and node.id in environment.scope.axes:
        return environment.scope.axes.index(node.id)
    raise EquationError("expected an axis to differentiate along, got an expression", node.at)


def _sum(node: Sum, environment: Environment) -> ScalarField:
    terms = [(sign, function(term, environment)) for sign, term in node.terms]

    def total(x: Point) -> Any:
        (sign, first), *others = terms
        value = first(x) if sign > 0 else -first(x)
        for sign, term in others:
            value = value + term(x) if sign > 0 else value - term(x)
        return value

    return total


def _product(node: Product, environment: Environment) -> ScalarField:
    vectors = [factor for _, factor in node.factors if _is_vector(factor, environment)]
    if vectors:
        left, right = (_components(vector, environment) for vector in vectors)
        numbers = tuple(pair for pair in node.factors if not any(pair[1] is vector for vector in vectors))
        scale = _product(Product(numbers, at=node.at), environment)
        return lambda x: scale(x) * _total(a(x) * b(x) for a, b in zip(left, right, strict=True))
    factors = [(power, function(factor, environment)) for power, factor in node.factors]

    def product(x: Point) -> Any:
        value = jnp.ones(())
        for i, (power, factor) in enumerate(factors):
            value = (factor(x) if i == 0 else value * factor(x)) if power > 0 else value / factor(x)
        return value

    return product


def _power(node: Power, environment: Environment) -> ScalarField:
    if _is_vector(node.base, environment):
        parts = _components(node.base, environment)
        return lambda x: _total(part(x) ** 2 for part in parts)
    base, value = function(node.base, environment), constant_value(node.exponent)
    if value is not None and value == int(value):
        whole = int(value)  # also of negative numbers
        return lambda x: base(x) ** whole
    exponent = function(node.exponent, environment)
    return lambda x: base(x) ** exponent(x)


def _derivative(node: Derivative, environment: Environment) -> ScalarField:
    inner = function(node.of, environment.deeper(len(node.axes)))
    orders: Counter[int] = Counter()
    for axis in node.axes:
        if (
            isinstance(axis, Name)
            and axis.id == "n"
            and axis.id not in (*environment.scope.axes, *environment.bound)
        ):
            assert environment.normal is not None
            inner = _along_normal(inner, environment.normal)
            continue
        position = _position(axis, environment)
        if isinstance(position, int):
            orders[position] += 1
        else:
            inner = _along_index(inner, position, isinstance(node.of, Name) and len(node.axes) == 1)
    for position, order in sorted(orders.items()):
        inner = operators.partial(inner, position, order)
    return inner


def _along_normal(inner: ScalarField, normal: Normal) -> ScalarField:
    slope = operators.partial(inner, normal.axis)
    return lambda x: normal.sign * slope(x)


def _along_index(inner: ScalarField, position: Any, of_a_field: bool) -> ScalarField:
    if of_a_field:
        # one gradient serves all axes of the sum
        return lambda x: operators.gradient(inner)(x)[position]
    return operators.directional(inner, lambda x: jnp.zeros_like(x).at[position].set(1.0))


def _comparison(node: Comparison, environment: Environment) -> Callable[[Point], Any]:
    operands = [function(operand, environment) for operand in node.operands]

    def holds(x: Point) -> Any:
        values = [operand(x) for operand in operands]
        pairs = [
            _COMPARE[sign](a, b) for sign, a, b in zip(node.operators, values[:-1], values[1:], strict=True)
        ]
        return functools.reduce(jnp.logical_and, pairs)

    return holds


def _logic(node: Logic, environment: Environment) -> Callable[[Point], Any]:
    operands = [function(operand, environment) for operand in node.operands]
    if node.operator == "not":
        return lambda x: jnp.logical_not(operands[0](x))
    join = jnp.logical_and if node.operator == "and" else jnp.logical_or
    return lambda x: functools.reduce(join, [operand(x) for operand in operands])


def _call(node: Call, environment: Environment) -> ScalarField:
    name, arguments = node.function, node.arguments
    if name in FUNCTIONS:
        parts = [function(argument, environment) for argument in arguments]
        apply = FUNCTIONS[name]
        return lambda x: apply(*(part(x) for part in parts))
    if name in _OPERATORS:
        return _OPERATORS[name](node, environment)
    if name in environment.scope.definitions:
        return _defined(name, arguments, node, environment)
    if name in environment.scope.tables:
        table = environment.scope.tables[name]
        parts = [function(argument, environment) for argument in arguments]
        return lambda x: jnp.asarray(table(*(part(x) for part in parts)), dtype=float)
    return environment.fields[name]


def _laplacian(node: Call, environment: Environment) -> ScalarField:
    space = environment.scope.spatial
    return _laplacian_of(
        function(node.arguments[0], environment.deeper(2 * len(space))), space, len(environment.scope.axes)
    )


def _laplacian_of(inner: ScalarField, space: tuple[int, ...], dim: int) -> ScalarField:
    if len(space) == dim:
        return operators.laplacian(inner)
    seconds = [operators.partial(inner, axis, 2) for axis in space]
    return lambda x: _total(second(x) for second in seconds)


def _biharmonic(node: Call, environment: Environment) -> ScalarField:
    space, dim = environment.scope.spatial, len(environment.scope.axes)
    inner = function(node.arguments[0], environment.deeper(4 * len(space)))
    return _laplacian_of(_laplacian_of(inner, space, dim), space, dim)


def _div(node: Call, environment: Environment) -> ScalarField:
    space = environment.scope.spatial
    parts = _arguments(node, environment.deeper(len(space)))
    slopes = [operators.partial(part, axis) for part, axis in zip(parts, space, strict=True)]
    return lambda x: _total(slope(x) for slope in slopes)


def _curl(node: Call, environment: Environment) -> ScalarField:
    first, second = environment.scope.spatial
    u, v = _arguments(node, environment.deeper(2))
    return lambda x: operators.partial(v, first)(x) - operators.partial(u, second)(x)


def _dot(node: Call, environment: Environment) -> ScalarField:
    left, right = (_components(argument, environment) for argument in node.arguments)
    return lambda x: _total(a(x) * b(x) for a, b in zip(left, right, strict=True))


def _norm(node: Call, environment: Environment) -> ScalarField:
    parts = _arguments(node, environment)
    return lambda x: jnp.sqrt(_total(part(x) ** 2 for part in parts))


def _where(node: Call, environment: Environment) -> ScalarField:
    condition, yes, no = (function(argument, environment) for argument in node.arguments)
    return lambda x: jnp.where(condition(x), yes(x), no(x))


def _sum_over_axes(node: Call, environment: Environment) -> ScalarField:
    index, base = environment.scope.index_of(node, (*environment.index, *environment.bound))
    numbers = environment.scope.numbered(base)
    body = node.arguments[0]

    def inside(number: Any, slot: Any) -> ScalarField:
        return function(body, replace(environment, index={**environment.index, index: _Index(number, slot)}))

    if environment.budget is not None:
        inside(1.0, 0)
    all_numbers, slots = jnp.asarray(list(numbers), dtype=float), jnp.arange(len(numbers))
    return lambda x: jnp.sum(jax.vmap(lambda number, slot: inside(number, slot)(x))(all_numbers, slots))


def _arguments(node: Call, environment: Environment) -> list[ScalarField]:
    """The components of a vector that is given as one, or number by number."""
    if len(node.arguments) == 1 and _is_vector(node.arguments[0], environment):
        return _components(node.arguments[0], environment)
    return [function(argument, environment) for argument in node.arguments]


def _is_vector(node: Node, environment: Environment) -> bool:
    names = (*environment.bound, *environment.index)
    return environment.scope.kind(node, names, environment.normal is not None) == "vector"


def _components(node: Node, environment: Environment) -> list[ScalarField]:
    """A vector, as one function of x per axis of space."""
    space = environment.scope.spatial
    if isinstance(node, Sum):
        terms = [(sign, _components(term, environment)) for sign, term in node.terms]

        def added(j: int) -> ScalarField:
            return lambda x: _total(sign * parts[j](x) for sign, parts in terms)

        return [added(j) for j in range(len(space))]
    if isinstance(node, Product):
        (vector,) = [factor for _, factor in node.factors if _is_vector(factor, environment)]
        parts = _components(vector, environment)
        rest = tuple(pair for pair in node.factors if pair[1] is not vector)
        scale = function(Product(rest, at=node.at), environment)

        def scaled(part: ScalarField) -> ScalarField:
            return lambda x: scale(x) * part(x)

        return [scaled(part) for part in parts]
    if isinstance(node, Call) and node.function == "vector":
        return [function(argument, environment) for argument in node.arguments]
    if isinstance(node, Call) and node.function == "grad":
        inner = function(node.arguments[0], environment.deeper(len(space)))
        return [operators.partial(inner, axis) for axis in space]
    name = node.function if isinstance(node, Call) else node.id if isinstance(node, Name) else ""
    definition = environment.scope.definitions[name]
    arguments = node.arguments if isinstance(node, Call) else ()
    bound = {p: (a, environment) for p, a in zip(definition.parameters, arguments, strict=True)}
    if name in environment.calls:
        raise EquationError(f"{name} is defined by itself", node.at)
    return _components(
        definition.body, replace(environment, bound=bound, index={}, calls=(*environment.calls, name))
    )


_OPERATORS: dict[str, Callable[[Call, Environment], ScalarField]] = {
    "laplacian": _laplacian,
    "biharmonic": _biharmonic,
    "div": _div,
    "curl": _curl,
    "dot": _dot,
    "norm": _norm,
    "where": _where,
    "sum": _sum_over_axes,
}
_BUILDERS: dict[type, Callable[[Any, Environment], ScalarField]] = {
    Number: _number,
    Name: _name,
    Item: _item,
    Sum: _sum,
    Product: _product,
    Power: _power,
    Call: _call,
    Derivative: _derivative,
    Comparison: _comparison,
    Logic: _logic,
}
