"""Taylor mode: one pass through a function that carries the Taylor coefficients of every intermediate value.

A curve x(t) = x + t v turns each intermediate value of f(x(t)) into a series z(t) = z_0 + z_1 t + z_2 t^2 ...
Every equation of the function's jaxpr turns the series of its inputs into those of its outputs:

- linear equations act on each coefficient, products are Cauchy products;
- y = phi(z) for an elementwise phi: y' = phi'(z) z', so k y_k = sum_{i=1..k} i z_i u_{k-i} with u = phi'(z).
  A change dz of z changes y by the Cauchy product of u and dz. Reverse mode is told so: its cost is that of
  one more product of series, however long the formulas for y are;
- any other equation is differentiated k times in t by nested forward mode, which always works; the repeated
  terms of nesting stay within this one equation.

The Laplacian needs the sum over directions v_i of second coefficients only. A collapsed series has all
directions in its first coefficient, on a leading axis, and their sum in the second: 2 + d arrays instead of
1 + 2 d.

A coefficient None is zero.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.extend.core import Jaxpr, JaxprEqn, Literal
from jaxtyping import Array, Float

Coefficient = Any  # an array, a literal of a jaxpr, or None
Coefficients = Sequence[Coefficient]
Function = Callable[[Float[Array, " d"]], Float[Array, ""]]

# linear in the first operand; the others, if any, have to be constant
_LINEAR = (
    *("neg", "reshape", "transpose", "broadcast_in_dim", "squeeze", "slice", "reduce_sum", "rev", "copy"),
    *("convert_element_type", "gather", "dynamic_slice"),
)
_PRODUCTS = ("mul", "dot_general")
_SUMS = ("add", "sub", "add_any")
_CALLS = ("jit", "pjit")
_ELEMENTWISE = (
    *("tanh", "logistic", "erf", "exp", "expm1", "log", "log1p", "sin", "cos", "sqrt", "square"),
    "integer_pow",
)


def series(f: Function, x: Float[Array, " d"], v: Float[Array, " d"], order: int) -> list[Float[Array, ""]]:
    """Coefficients of f(x + t v) up to t^order."""
    return _push(f, _Algebra(order, collapsed=False), x, v)


def half_laplacian(f: Function, x: Float[Array, " d"]) -> Float[Array, ""]:
    """The sum over all axes of the second coefficients."""
    return _push(f, _Algebra(2, collapsed=True), x, jnp.eye(x.size, dtype=x.dtype))[2]


class _Series(tuple):
    """Coefficients of one intermediate value; what is not a _Series is constant along the curve."""


@dataclass(frozen=True)
class _Algebra:
    """Truncated series, and how linear and bilinear functions act on coefficients."""

    order: int
    collapsed: bool

    def constant(self, value: Coefficient) -> _Series:
        return _Series((value, *(None,) * self.order))

    def apply(self, function: Callable[[Array], Array], z: Coefficients) -> _Series:
        """A linear function of a series."""
        return _Series(
            None if term is None else (jax.vmap(function) if self._is_stack(k) else function)(term)
            for k, term in enumerate(z)
        )

    def product(
        self,
        function: Callable[[Array, Array], Array],
        a: Coefficients,
        b: Coefficients,
        k: int,
        skip: int = 0,
    ) -> Coefficient:
        """k-th coefficient of a bilinear function of two series, without the first ``skip`` terms of b."""
        return _sum(self._term(function, a, k - j, b, j) for j in range(skip, k + 1))

    def _term(
        self, function: Callable[[Array, Array], Array], a: Coefficients, i: int, b: Coefficients, j: int
    ) -> Coefficient:
        left, right = a[i], b[j]
        if left is None or right is None:
            return None
        stacks = self._is_stack(i), self._is_stack(j)
        if not any(stacks):
            return function(left, right)
        image = jax.vmap(function, tuple(0 if stack else None for stack in stacks))(left, right)
        return jnp.sum(image, axis=0) if all(stacks) else image

    def _is_stack(self, k: int) -> bool:
        return self.collapsed and k == 1


def _push(f: Function, algebra: _Algebra, x: Array, v: Array) -> list[Array]:
    with _inside():
        closed = jax.make_jaxpr(f)(x)
    (out,) = _run(algebra, closed.jaxpr, closed.consts, [_Series((x, v, *(None,) * (algebra.order - 1)))])
    terms = out if isinstance(out, _Series) else algebra.constant(out)
    return [jnp.zeros_like(terms[0]) if term is None else jnp.asarray(term) for term in terms]


def _run(algebra: _Algebra, jaxpr: Jaxpr, constants: Sequence[Any], inputs: Sequence[Any]) -> list[Any]:
    values = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*constants, *inputs], strict=True))

    def read(atom: Any) -> Any:
        return atom.val if isinstance(atom, Literal) else values[atom]

    for equation in jaxpr.eqns:
        outputs = _step(algebra, equation, [read(atom) for atom in equation.invars])
        values.update(zip(equation.outvars, outputs, strict=True))
    return [read(atom) for atom in jaxpr.outvars]


def _step(algebra: _Algebra, equation: JaxprEqn, inputs: list[Any]) -> Sequence[Any]:
    """One equation."""
    name, evaluate = equation.primitive.name, _evaluation(equation)
    varying = [isinstance(value, _Series) for value in inputs]
    if not any(varying):
        return evaluate(*inputs)
    if name in _CALLS:
        inner = equation.params["jaxpr"]
        return _run(algebra, inner.jaxpr, inner.consts, inputs)
    if not all(_is_inexact(variable) for variable in equation.outvars):
        return _by_nesting(algebra, equation, evaluate, inputs)

    def single(*operands: Coefficient) -> Array:
        return evaluate(*operands)[0]

    if name in _SUMS:
        out: Any = equation.outvars[0]
        widen = partial(jnp.broadcast_to, shape=out.aval.shape)
        a, b = (
            algebra.apply(widen, z) if is_series else algebra.constant(z)
            for z, is_series in zip(inputs, varying, strict=True)
        )
        return [_Series(map(_add, a, map(_negative, b) if name == "sub" else b))]
    if name in _PRODUCTS and all(varying):
        left, right = inputs
        return [_Series(algebra.product(single, left, right, k) for k in range(algebra.order + 1))]
    is_linear = name in _LINEAR or name in _PRODUCTS or name == "div"
    if is_linear and varying[0] and not any(varying[1:]):
        return [algebra.apply(lambda term: single(term, *inputs[1:]), inputs[0])]
    if name in _PRODUCTS:
        return [algebra.apply(lambda term: single(inputs[0], term), inputs[1])]
    if name in _ELEMENTWISE:
        compose = _compose_plainly if _is_inside.get() else _compose
        return [_Series(compose(algebra, _Elementwise(single, _SLOPES.get(name)), tuple(inputs[0])))]
    return _by_nesting(algebra, equation, evaluate, inputs)


def _evaluation(equation: JaxprEqn) -> Callable[..., Sequence[Any]]:
    primitive = equation.primitive
    bound = primitive.get_bind_params(equation.params)
    # older versions of JAX give a pair
    functions, parameters = bound if isinstance(bound, tuple) else ((), bound)

    def evaluate(*operands: Any) -> Sequence[Any]:
        out = primitive.bind(*functions, *operands, **parameters)
        return out if primitive.multiple_results else [out]

    return evaluate


def _is_inexact(variable: Any) -> bool:
    return jnp.issubdtype(variable.aval.dtype, jnp.inexact)


# --- elementwise functions

Slope = Callable[[_Algebra, Coefficients, int], Coefficient]


@dataclass(frozen=True)
class _Elementwise:
    """phi, and where phi' is a function of phi: the k-th coefficient of phi' from those of phi."""

    function: Callable[[Array], Array]
    slope: Slope | None = None

    def derivative(self) -> _Elementwise:
        return _Elementwise(lambda z: jax.jvp(self.function, (z,), (jnp.ones_like(z),))[1])


def _tanh_slope(algebra: _Algebra, y: Coefficients, k: int) -> Coefficient:
    square: Any = algebra.product(lax.mul, y, y, k)
    return 1 - square if k == 0 else _negative(square)


def _logistic_slope(algebra: _Algebra, y: Coefficients, k: int) -> Coefficient:
    return _add(y[k], _negative(algebra.product(lax.mul, y, y, k)))


_SLOPES: dict[str, Slope] = {
    "tanh": _tanh_slope,
    "logistic": _logistic_slope,
    "exp": lambda algebra, y, k: y[k],
}


def _compose_plainly(algebra: _Algebra, phi: _Elementwise, z: Any) -> Coefficients:
    y: list[Coefficient] = [phi.function(z[0])]
    weighted = [_scaled(term, float(i)) for i, term in enumerate(z)]
    slopes = [] if phi.slope or len(z) == 1 else list(_compose_plainly(algebra, phi.derivative(), z[:-1]))
    for k in range(1, len(z)):
        if phi.slope:
            slopes.append(phi.slope(algebra, y, k - 1))
        y.append(_scaled(algebra.product(lax.mul, slopes, weighted, k, skip=1), 1 / k))
    return tuple(y)


_compose = jax.custom_jvp(_compose_plainly, nondiff_argnums=(0, 1))


@_compose.defjvp
def _composition_rule(algebra: _Algebra, phi: _Elementwise, at: Any, change: Any) -> tuple[Any, Any]:
    (z,), (dz,) = at, change
    y = _compose(algebra, phi, z)
    slope = phi.slope
    slopes = (
        _compose(algebra, phi.derivative(), z)
        if slope is None
        else [slope(algebra, y, k) for k in range(len(y))]
    )
    return y, tuple(algebra.product(lax.mul, slopes, dz, k) for k in range(len(y)))


# a function that is itself a Taylor mode derivative shows its single equations to the mode around it
_is_inside: ContextVar[bool] = ContextVar("is_inside", default=False)


@contextmanager
def _inside() -> Iterator[None]:
    token = _is_inside.set(True)
    try:
        yield
    finally:
        _is_inside.reset(token)


# --- any equation


def _by_nesting(
    algebra: _Algebra, equation: JaxprEqn, evaluate: Callable[..., Sequence[Any]], inputs: list[Any]
) -> list[Any]:
    """Nested forward mode in t."""
    where = [i for i, value in enumerate(inputs) if isinstance(value, _Series)]
    smooth = [_is_inexact(variable) for variable in equation.outvars]
    start = [inputs[i][0] for i in where]

    def outputs(operands: Sequence[Array]) -> Sequence[Any]:
        all_operands = list(inputs)
        for i, operand in zip(where, operands, strict=True):
            all_operands[i] = operand
        return evaluate(*all_operands)

    def function(operands: Sequence[Array]) -> list[Array]:
        return [out for out, is_smooth in zip(outputs(operands), smooth, strict=True) if is_smooth]

    def coefficients(k: int) -> list[Coefficient]:
        return [inputs[i][k] for i in where]

    if algebra.collapsed:
        values, first, second = jax.vmap(lambda v: _along(function, [start, v], 2))(coefficients(1))
        towards = [
            jnp.zeros_like(at) if z is None else z for z, at in zip(coefficients(2), start, strict=True)
        ]
        _, slopes = jax.jvp(function, (start,), (towards,))
        bends = [jnp.sum(bend, axis=0) + slope for bend, slope in zip(second, slopes, strict=True)]
        found = [[value[0] for value in values], first, bends]
    else:
        curve = [start, *(coefficients(k) for k in range(1, algebra.order + 1))]
        found = _along(function, curve, algebra.order)
    smooth_outputs = iter([_Series(terms) for terms in zip(*found, strict=True)])
    if all(smooth):
        return list(smooth_outputs)
    return [
        next(smooth_outputs) if is_smooth else out
        for out, is_smooth in zip(outputs(start), smooth, strict=True)
    ]


def _along(
    function: Callable[[list[Array]], list[Array]], curve: Sequence[Sequence[Coefficient]], order: int
) -> list[list[Array]]:
    """Coefficients of a function along a curve that is given by its coefficients."""

    def path(t: Array) -> list[Array]:
        def point(terms: Any) -> Any:
            s = t.astype(terms[0].dtype)
            return reduce(lambda z, term: _add(_scaled(z, s), term), reversed(terms))

        return function([point(terms) for terms in zip(*curve, strict=True)])

    derivative: Callable[[Array], list[Array]] = path
    t, found = jnp.zeros(()), []
    for k in range(order + 1):
        found.append([out / math.factorial(k) for out in derivative(t)])
        derivative = _slope(derivative)
    return found


def _slope(path: Callable[[Array], list[Array]]) -> Callable[[Array], list[Array]]:
    return lambda t: jax.jvp(path, (t,), (jnp.ones_like(t),))[1]


# --- coefficients


def _add(a: Coefficient, b: Coefficient) -> Coefficient:
    return b if a is None else a if b is None else a + b


def _sum(terms: Iterable[Coefficient]) -> Coefficient:
    return reduce(_add, terms, None)


def _negative(a: Coefficient) -> Coefficient:
    return None if a is None else -a


def _scaled(a: Coefficient, factor: float | Array) -> Coefficient:
    return None if a is None else a * factor
