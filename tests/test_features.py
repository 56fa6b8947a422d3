"""Rows: derivatives in the parameters of f(x) and of N[f](z), for any number of points and in the user's units."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

from pinnbo import PDE, Space
from pinnbo.network.features import Linearised, observation_rows, physics_rows, physics_values, row_sizes
from pinnbo.network.field import Units
from pinnbo.network.mlp import MLP
from pinnbo.operators import gradient, laplacian

pytestmark = pytest.mark.usefixtures("strict_dtypes")

SPACE = Space(x=(10.0, 13.0), y=(-0.5, 0.0))
UNITS = Units.of(SPACE, shift=7.0, scale=3.0)
MODEL = MLP(2, 6)
THETA = MODEL.initial(jax.random.key(1))

PDES = {
    "laplacian": PDE(laplacian),
    "with f": PDE(lambda f: lambda x: x[0] * f(x) - laplacian(f)(x)),
    "system": PDE(gradient),
    "nonlinear": PDE(lambda f: lambda x: jnp.sum(gradient(f)(x) ** 2) + f(x) ** 2),
}


def shifted(direction, step):
    flat, unravel = ravel_pytree(THETA)
    return unravel(flat + step * jnp.asarray(direction))


@pytest.mark.parametrize("n", [1, 2, 16, 17, 300])
def test_observation_rows_are_gradients_of_f(n):
    points = SPACE.sobol(n, 0)
    rows = observation_rows(MODEL, THETA, UNITS, points)
    assert rows.matrix.shape == (n, MODEL.n_parameters)
    flat, unravel = ravel_pytree(THETA)

    def f(w, x):
        return UNITS.field(MODEL, unravel(w))(x)

    some = [0, n // 2, n - 1]
    values, gradients = jax.vmap(jax.value_and_grad(f), (None, 0))(flat, jnp.asarray(points[some]))
    np.testing.assert_allclose(rows.values[some], values, rtol=1e-13)
    np.testing.assert_allclose(rows.matrix[some], gradients, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", PDES)
def test_physics_rows_are_derivatives_of_the_operator(name, rng):
    pde, points = PDES[name], SPACE.sobol(5, 0)
    k = pde.n_equations(SPACE)
    rows = physics_rows(MODEL, pde, THETA, UNITS, points)
    assert rows.matrix.shape == (5 * k, MODEL.n_parameters)
    np.testing.assert_allclose(rows.values, physics_values(MODEL, pde, THETA, UNITS, points), rtol=1e-12)
    for _ in range(3):
        v, step = rng.normal(size=MODEL.n_parameters), 1e-5
        plus, minus = (physics_values(MODEL, pde, shifted(v, s), UNITS, points) for s in (step, -step))
        slope = (plus - minus) / (2 * step)
        np.testing.assert_allclose(rows.matrix @ v, slope, rtol=0, atol=1e-6 * np.abs(slope).max())


@pytest.mark.parametrize("name", ["laplacian", "with f", "system"])
def test_rows_of_a_linear_operator_on_a_linear_function_are_the_whole_truth(name, rng):
    """functional(w) = functional(0) + row . w for any w, however large."""
    linear = Linearised.at(MODEL, THETA, jnp.asarray(rng.uniform(-1.0, 1.0, (32, 2))))
    origin, w = jnp.zeros(linear.n_weights), rng.normal(size=linear.n_weights)
    points = SPACE.sobol(5, 3)
    rows = physics_rows(linear, PDES[name], origin, UNITS, points)
    far = physics_values(linear, PDES[name], jnp.asarray(100.0 * w), UNITS, points)
    np.testing.assert_allclose(
        rows.values + 100.0 * rows.matrix @ w, far, rtol=1e-9, atol=1e-9 * np.abs(far).max()
    )


def test_rows_do_not_depend_on_how_the_points_are_cut():
    points = SPACE.sobol(300, 1)
    whole = physics_rows(MODEL, PDES["system"], THETA, UNITS, points)
    parts = [
        physics_rows(MODEL, PDES["system"], THETA, UNITS, part) for part in np.split(points, [1, 100, 117])
    ]
    np.testing.assert_allclose(whole.matrix, np.concatenate([p.matrix for p in parts]), rtol=0, atol=1e-9)
    np.testing.assert_allclose(whole.values, np.concatenate([p.values for p in parts]), rtol=1e-10)


def test_no_points_no_rows():
    rows = observation_rows(MODEL, THETA, UNITS, np.zeros((0, 2)))
    assert rows.matrix.shape == (0, MODEL.n_parameters)
    assert rows.values.shape == (0,)


def test_row_sizes_follow_the_units_of_the_operator():
    """r_j is relative to f: a thousandfold equation has a thousandfold size, a thousandfold f the same."""
    points = SPACE.sobol(40, 0)
    sizes = row_sizes(MODEL, PDES["laplacian"], THETA, UNITS, points)
    assert sizes.shape == (40, 1)
    larger = PDE(lambda f: lambda x: 1000.0 * laplacian(f)(x))
    np.testing.assert_allclose(row_sizes(MODEL, larger, THETA, UNITS, points), 1000.0 * sizes, rtol=1e-9)
    thousandfold = UNITS._replace(scale=1000.0 * UNITS.scale)
    np.testing.assert_allclose(
        row_sizes(MODEL, PDES["laplacian"], THETA, thousandfold, points), sizes, rtol=1e-9
    )


def test_row_sizes_of_a_pole_and_of_a_zero():
    """A pole is divided away; a row on which the operator vanishes is not blown up."""
    points = np.column_stack([np.linspace(10.0, 13.0, 31), np.full(31, -0.2)])
    pole = PDE(lambda f: lambda x: f(x) * (x[0] - 11.0) ** 6)
    sizes = row_sizes(MODEL, pole, THETA, UNITS, points)
    assert np.isfinite(sizes).all()
    assert sizes.min() == pytest.approx(1e-2 * sizes.max())
