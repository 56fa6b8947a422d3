"""Taylor mode against nested forward mode: every kind of equation, under jit, vmap and grad, and nested."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pinnbo.operators import derivatives
from pinnbo.taylor import half_laplacian, series

W = jnp.asarray(np.random.default_rng(0).normal(size=(5, 3)))
X = jnp.array([0.7, -0.4, 1.1])
V = jnp.array([0.3, 1.0, -0.5])


@jax.custom_jvp
def _with_a_rule_of_its_own(u):
    return jnp.sin(u)


# not the derivative of the sine, so that it shows whether the rule is used
_with_a_rule_of_its_own.defjvp(lambda at, change: (_with_a_rule_of_its_own(at[0]), 2 * at[0] * change[0]))

SMOOTH = {
    "tanh": lambda x: jnp.sum(jnp.tanh(W @ x + 0.3)),
    "logistic": lambda x: jnp.sum(jax.nn.swish(W @ x)),
    "gaussian": lambda x: jnp.sum(jnp.exp(-0.5 * (W @ x) ** 2)),
    "sine": lambda x: jnp.sum(jnp.sin(W @ x) * jnp.cos(W @ x)),
    "gelu": lambda x: jnp.sum(jax.nn.gelu(W @ x, approximate=False)),
    "softplus": lambda x: jnp.sum(jax.nn.softplus(W @ x)),
    "rational": lambda x: x[0] ** 3 * x[1] - (x[2] - 1) / (1 + x @ x) + 2.0 ** x[1],
    "a rule of its own": lambda x: _with_a_rule_of_its_own(x @ x),
    "jit and checkpoint": lambda x: jax.checkpoint(jax.jit(lambda y: jnp.sum(jnp.tanh(W @ y))))(x) * x[0],
    "scan": lambda x: jax.lax.scan(lambda c, w: (jnp.tanh(c * w @ x), None), x[2], W)[0],
    "indices": lambda x: x[jnp.array([0, 2])] @ jnp.roll(x, 1)[:2] + x[::-1] @ jnp.cumsum(x) ** 2,
}
PIECEWISE = {
    "where": lambda x: jnp.where(x[0] > 0.2, jnp.sin(x[0] * x[1]), x[1] ** 2),
    "cond": lambda x: jax.lax.cond(x[0] > 0, lambda y: jnp.sin(y @ y), lambda y: y[0] * y[1], x),
    "while": lambda x: jax.lax.while_loop(
        lambda s: s[0] < 3, lambda s: (s[0] + 1, s[1] * jnp.sin(x[0])), (0, x[1])
    )[1],
    "sort": lambda x: jnp.sort(x * x)[0] * jnp.max(x),
    "relu": lambda x: jnp.sum(jax.nn.relu(W @ x) ** 3),
    "stop gradient": lambda x: jax.lax.stop_gradient(x[0]) * x[1] ** 2,
    "integers": lambda x: jnp.floor(7 * x[0]) * x[1] + x[2].astype(int) * x[0] ** 2,
    "single precision": lambda x: jnp.linalg.norm(x.astype(jnp.float32)).astype(float),
    "constant": lambda x: jnp.asarray(3.0),
    "coordinate": lambda x: x[1],
}


def nested(f, x, v, order):
    found = [f(x)]
    for k in range(1, order + 1):
        f = _slope(f, v)
        found.append(f(x) / math.factorial(k))
    return jnp.stack(found)


def _slope(f, v):
    return lambda x: jax.jvp(f, (x,), (v,))[1]


def half_trace(f, x):
    return sum(nested(f, x, axis, 2)[2] for axis in jnp.eye(x.size))


@pytest.mark.parametrize("name", [*SMOOTH, *PIECEWISE])
def test_series_and_laplacian_are_those_of_nested_forward_mode(name):
    f = (SMOOTH | PIECEWISE)[name]
    tolerance = 1e-5 if name == "single precision" else 1e-10
    points = jnp.stack([X, 1.3 * X + 0.1])

    @jax.jit
    @jax.vmap
    def both(x):
        found = [*series(f, x, V, 3), half_laplacian(f, x)]
        return jnp.stack(found), jnp.append(nested(f, x, V, 3), half_trace(f, x))

    np.testing.assert_allclose(*both(points), rtol=tolerance, atol=tolerance)


# a second derivative is wrong wherever the first one is
@pytest.mark.parametrize("transform", [pytest.param(jax.grad, marks=pytest.mark.slow), jax.hessian])
@pytest.mark.parametrize("name", SMOOTH)
def test_can_be_differentiated(name, transform):
    f, weights = SMOOTH[name], jnp.array([1.0, 2.0, -1.0, 0.5])

    @jax.jit
    def both(x):
        ours = transform(lambda x: weights @ jnp.stack([*series(f, x, V, 2), half_laplacian(f, x)]))
        theirs = transform(lambda x: weights @ jnp.append(nested(f, x, V, 2), half_trace(f, x)))
        return ours(x), theirs(x)

    np.testing.assert_allclose(*both(X), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", ["tanh", "gelu", "a rule of its own", "indices"])
def test_can_be_nested(name):
    f = SMOOTH[name]

    @jax.jit
    def both(x):
        ours = series(lambda y: half_laplacian(f, y) * jnp.exp(y[0]), x, V, 2)[2]
        theirs = nested(lambda y: half_trace(f, y) * jnp.exp(y[0]), x, V, 2)[2]
        return ours, theirs

    np.testing.assert_allclose(*both(X), rtol=1e-10)


def test_all_derivatives_at_once_by_every_route():
    f = SMOOTH["tanh"]
    expected = nested(f, X, V, 4) * jnp.array([1, 1, 2, 6, 24])
    for route in ("auto", "forward", "taylor", "reverse"):
        np.testing.assert_allclose(derivatives(f, V, 4, route)(X), expected, rtol=1e-10)
    np.testing.assert_allclose(derivatives(f, lambda x: x, 0)(X), f(X)[None])


def test_the_gradient_of_a_fourth_derivative_carries_five_coefficients_and_not_sixteen():
    """Products of two large matrices in the training step: five in the row, twice as many in its gradient."""
    width = 64
    points = jnp.linspace(0.0, 1.0, width)[:, None]
    first, second = jnp.ones((width, 1)), jnp.eye(width)

    def loss(second):
        def f(x):
            return jnp.sum(jnp.tanh(second @ jnp.tanh(first @ x)))

        return jnp.sum(jax.vmap(lambda x: derivatives(f, jnp.ones(1), 4)(x)[4])(points))

    jaxpr = str(jax.make_jaxpr(jax.grad(loss))(second))
    assert sum("dot_general" in line and f"f64[{width},{width}]" in line for line in jaxpr.splitlines()) <= 15
