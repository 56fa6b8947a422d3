"""Differential operators: functions of a function.

Every operator takes a scalar function ``f`` of a 1-D array and returns a function of that array:
scalar-valued (they compose: ``laplacian(laplacian(f))``), except `gradient` (d,), `hessian` (d, d) and
`derivatives` (k + 1,). All of them work under jit, vmap and grad.

A directional derivative of order k can be taken by three routes:

- ``"forward"``: k nested Jacobian-vector products. XLA merges the 2^k - k - 1 repeated terms of the
  derivative when it compiles, but not those of the derivative's gradient;
- ``"taylor"``: one pass that carries k Taylor coefficients (`pinnbo.taylor`); a Laplacian carries the sum of
  its second ones;
- ``"reverse"``: k nested gradients.

``benchmarks/operators.py`` measures them inside a training step; the default is the winner there: Taylor
mode. An equation that needs several derivatives in one direction asks for all of them at once, with
`derivatives`: separate ones share their values when compiled, but training differentiates each on its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Literal

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from pinnbo.naming import index_of
from pinnbo.taylor import half_laplacian, series

Point = Float[Array, " d"]
ScalarField = Callable[[Point], Float[Array, ""]]
Route = Literal["auto", "forward", "taylor", "reverse"]
Direction = str | Float[Array, " d"] | Callable[[Point], Float[Array, " d"]]

HIGHEST_ORDER = 6  # the work of a derivative doubles with each order: beyond, compiling it takes minutes
_DEFAULT_ROUTE: Route = "taylor"
# while the order of an operator is found, whatever route it names
_only_route: ContextVar[Route | None] = ContextVar("only_route", default=None)


class OrderError(ValueError):
    """An operator differentiates too often."""


def directional(f: ScalarField, direction: Direction, order: int = 1, route: Route = "auto") -> ScalarField:
    """k-th derivative along a direction: d^k/dt^k f(x + t v) at t = 0.

    ``direction`` is a vector, or a function of x giving one (``directional(f, lambda x: x)`` is x . grad f);
    the direction is held fixed while differentiating. Inside the operator of a PDE it may be the name of an axis.
    """
    _check("directional", f, order)
    along = _ROUTES[_chosen("directional", route)]
    if order == 0:
        return f
    return lambda x: along(f, _at(direction, x), order)(x)


def derivatives(
    f: ScalarField, direction: Direction, order: int, route: Route = "auto"
) -> Callable[[Point], Float[Array, " k"]]:
    """f and its derivatives along a direction up to the given order, k = order + 1 numbers, in one pass.

    ``direction`` as for `directional`: ``derivatives(f, lambda x: x, 1)`` is [f, x . grad f].
    """
    _check("derivatives", f, order)
    route = _chosen("derivatives", route)

    def all_orders(x: Point) -> Float[Array, " k"]:
        v = _at(direction, x)
        if route == "taylor" and order > 0:
            return jnp.stack([math.factorial(k) * term for k, term in enumerate(series(f, x, v, order))])
        return jnp.stack([f(x), *(_ROUTES[route](f, v, k)(x) for k in range(1, order + 1))])

    return all_orders


def partial(f: ScalarField, i: int | str, order: int = 1, route: Route = "auto") -> ScalarField:
    """k-th partial derivative along axis i: its number, or inside the operator of a PDE its name."""
    return directional(f, i if isinstance(i, str) else lambda x: _unit(i, x), order, route)


def gradient(f: ScalarField) -> Callable[[Point], Float[Array, " d"]]:
    """The vector of first derivatives, shape (d,)."""
    return jax.grad(f)


def hessian(f: ScalarField) -> Callable[[Point], Float[Array, "d d"]]:
    """The matrix of second derivatives, shape (d, d)."""
    return jax.hessian(f)


def laplacian(f: ScalarField, route: Route = "auto") -> ScalarField:
    """Sum of the second derivatives along all axes."""
    _check("laplacian", f)
    route = _chosen("laplacian", route)

    def trace(x: Point) -> Float[Array, ""]:
        if route == "taylor":
            return 2 * half_laplacian(f, x)
        second = jax.vmap(lambda axis: _ROUTES[route](f, axis, 2)(x))
        return jnp.sum(second(jnp.eye(x.size, dtype=x.dtype)))

    return trace


def biharmonic(f: ScalarField, route: Route = "auto") -> ScalarField:
    """The Laplacian of the Laplacian."""
    return laplacian(laplacian(f, route), route)


def _forward(f: ScalarField, v: Point, order: int) -> ScalarField:
    for _ in range(order):
        f = _pushforward(f, v)
    return f


def _pushforward(f: ScalarField, v: Point) -> ScalarField:
    return lambda x: jax.jvp(f, (x,), (v,))[1]


def _taylor(f: ScalarField, v: Point, order: int) -> ScalarField:
    return lambda x: math.factorial(order) * series(f, x, v, order)[order]


def _reverse(f: ScalarField, v: Point, order: int) -> ScalarField:
    for _ in range(order):
        f = _pullback(f, v)
    return f


def _pullback(f: ScalarField, v: Point) -> ScalarField:
    return lambda x: jnp.dot(jax.grad(f)(x), v)


_ROUTES: dict[str, Callable[[ScalarField, Point, int], ScalarField]] = {
    "forward": _forward,
    "taylor": _taylor,
    "reverse": _reverse,
}


def _check(who: str, f: ScalarField, order: int = 0) -> None:
    if not callable(f):
        got = "a value" if isinstance(f, jax.Array) else type(f).__name__
        raise TypeError(
            f"{who}: expected a function of x, got {got}; write {who}(f, ...)(x), not {who}(f(x), ...)"
        )
    if isinstance(order, bool) or not isinstance(order, int) or order < 0:
        raise ValueError(f"{who}: order must be a non-negative integer, got {order!r}")
    if order > HIGHEST_ORDER:
        raise ValueError(f"{who}: order must be at most {HIGHEST_ORDER}, got {order!r:.60}")


def _chosen(who: str, route: Route) -> Route:
    if route not in ("auto", *_ROUTES):
        raise ValueError(f"{who}: route must be one of {['auto', *_ROUTES]}, got {route!r}")
    return _only_route.get() or (_DEFAULT_ROUTE if route == "auto" else route)


def _unit(i: int, x: Point) -> Point:
    if not -x.size <= i < x.size:
        raise ValueError(f"partial: axis {i} is outside a space of dimension {x.size}")
    return jnp.zeros_like(x).at[i].set(1.0)


def _at(direction: Direction, x: Point) -> Point:
    if isinstance(direction, str):
        return _unit(index_of(direction), x)
    return jnp.asarray(direction(x) if callable(direction) else direction, dtype=x.dtype)


@contextmanager
def _only(route: Route) -> Iterator[None]:
    token = _only_route.set(route)
    try:
        yield
    finally:
        _only_route.reset(token)


def derivative_order(
    operator: Callable[[ScalarField], Callable[[Point], Array]], x: Point | jax.ShapeDtypeStruct
) -> int:
    """How many times the operator differentiates the function it is given, found by tracing it at x.

    The probe is sin(1 . x) whose derivative rule counts how deep it is called. Taylor mode does not call such
    rules, so that everything is differentiated by the forward route here.
    """
    deepest = 0

    def level(k: int) -> Callable[[Array], Array]:
        nonlocal deepest
        deepest = max(deepest, k)
        if k > HIGHEST_ORDER:
            raise OrderError(f"expected derivatives up to order {HIGHEST_ORDER}, got higher ones")
        # the k-th derivative of the sine
        function = jax.custom_jvp(lambda u: jnp.sin(u + 0.5 * math.pi * k))

        @function.defjvp
        def rule(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
            return level(k)(primals[0]), level(k + 1)(primals[0]) * tangents[0]

        return function

    with _only("forward"):
        jax.eval_shape(operator(lambda p: level(0)(jnp.sum(p))), x)
    return deepest
