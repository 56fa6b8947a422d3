"""Functions that are known by a table."""

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.interpolate import CubicSpline, RegularGridInterpolator

from pinnbo import PDE, Space, tabulated
from pinnbo.operators import gradient, laplacian, partial
from pinnbo.physics.jets import JetPDE

X, Y, Z = np.linspace(0.0, 2.0, 7), np.array([-1.0, -0.3, 0.1, 0.4, 1.0]), np.linspace(0.0, 1.0, 4)


def cubic(x, y, z=0.0):
    """Of degree three in every coordinate."""
    return 1.0 + x**3 - 2.0 * x * y**2 + y**3 * x**2 + z**3 * x - z * y


def test_cubics_are_exact_with_their_derivatives():
    """In one, two and three coordinates, inside the grid and beyond it."""
    grid = np.meshgrid(X, Y, Z, indexing="ij")
    f = tabulated((X, Y, Z), cubic(*grid))
    for point in ([0.3, 0.2, 0.9], [1.99, -0.95, 0.0], [2.2, 1.1, 1.2]):
        x, y, z = point
        assert float(f(np.array(point))) == pytest.approx(cubic(x, y, z), rel=1e-11)
        slope = [
            3 * x**2 - 2 * y**2 + 2 * x * y**3 + z**3,
            -4 * x * y + 3 * y**2 * x**2 - z,
            3 * z**2 * x - y,
        ]
        np.testing.assert_allclose(jax.grad(f)(np.array(point)), slope, rtol=1e-10, atol=1e-12)
        bend = 6 * x + 2 * y**3 - 4 * x + 6 * y * x**2 + 6 * z * x
        assert float(laplacian(f)(jnp.array(point))) == pytest.approx(bend, rel=1e-9)
    line = tabulated(X, np.sin(X))
    assert float(line(np.array([0.77]))) == pytest.approx(float(CubicSpline(X, np.sin(X))(0.77)), rel=1e-12)


def test_scipy_and_xarray_tables_are_taken():
    """Both know their grid; xarray is told by what it has, and need not be installed."""
    values = cubic(*np.meshgrid(X, Y, indexing="ij"))

    class Table(SimpleNamespace):
        def __array__(self, dtype=None, copy=None):
            return values

    point = np.array([0.4, 0.3])
    for given in (RegularGridInterpolator((X, Y), values), Table(dims=("x", "y"), coords={"x": X, "y": Y})):
        assert float(tabulated(given)(point)) == pytest.approx(cubic(*point), rel=1e-11)


def test_a_coefficient_of_an_operator_and_a_source():
    """div(k grad h) with k and the source from tables, against closed forms."""
    space = Space(x=(0.0, 2.0), y=(-1.0, 1.0))
    mesh = np.meshgrid(X, Y, indexing="ij")
    k, g = tabulated((X, Y), 2.0 + mesh[0] * mesh[1] ** 2), tabulated((X, Y), cubic(*mesh))
    pde = PDE(lambda h: lambda x: k(x) * laplacian(h)(x) + gradient(k)(x) @ gradient(h)(x), source=g)
    pde.validate(space)
    points = space.sobol(6, 1)
    x, y = points.T
    rows = JetPDE(space, pde).rows(space.scale(points), pde.source_at(points))
    # of exp(0.5 x - y)
    e, half = np.exp(0.5 * x - y), space.half_width
    found = sum(c * e * 0.5 ** i[0] * (-1.0) ** i[1] * np.prod(half ** np.array(i)) for _, i, c in rows.terms)
    truth = e * ((2.0 + x * y**2) * 1.25 + 0.5 * y**2 - 2 * x * y)
    np.testing.assert_allclose(found, truth, rtol=1e-9)
    np.testing.assert_allclose(rows.values, cubic(x, y), rtol=1e-9)
    assert float(partial(k, 1)(jnp.asarray(points[0]))) == pytest.approx(2 * x[0] * y[0])


@pytest.mark.parametrize(
    ("grid", "values", "sentence"),
    [
        ((X, Y), np.zeros((7, 4)), "of shape"),
        (X[::-1], X, "ascending"),
        (([0.0],), [1.0], "at least two"),
        ((X,) * 4, np.zeros((7,) * 4), "1 to 3 coordinates"),
        (X, np.full(7, np.nan), "finite"),
        (X, None, "a grid and values"),
        ("ab", 1.0, "expected numbers"),
    ],
)
def test_bad_input_gets_one_sentence(grid, values, sentence):
    """That says what was expected."""
    with pytest.raises((TypeError, ValueError), match=sentence):
        tabulated(grid, values)


def test_a_point_of_other_coordinates_is_refused():
    """When the function is traced."""
    with pytest.raises(ValueError, match="a point of 1 coordinates"):
        tabulated(X, X)(np.zeros(2))
