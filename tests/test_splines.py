"""Splines, rows averaged over cells, and the particular solution of an equation with a sharp source."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.interpolate import BSpline

from pinnbo import PDE, Optimizer, Space
from pinnbo.data import Data, Standard
from pinnbo.ensemble.family import Stated
from pinnbo.ensemble.kernel_family import KernelGivenPDE
from pinnbo.gp.particular import particular_solution
from pinnbo.gp.splines import Splines
from pinnbo.operators import biharmonic, laplacian, partial
from pinnbo.physics.averages import averaged_rows, cells, cubature, unresolved
from pinnbo.physics.coordinates import BOX, Stretched
from pinnbo.physics.functionals import Functionals
from pinnbo.physics.jets import JetPDE

SQUARE = Space(x=(0.0, 1.0), y=(0.0, 1.0))
LINE = Space(x=(0.0, 3.0))


def heater(x):
    inside = (x[0] > 0.3) & (x[0] < 0.7) & (x[1] > 0.35) & (x[1] < 0.75)
    return jnp.where(inside, 20.0, 0.0)


HEATED = PDE(lambda f: lambda x: -laplacian(f)(x), source=heater)


@pytest.mark.parametrize("degree", [1, 2, 3, 5])
def test_splines_are_those_of_scipy_with_all_derivatives(degree):
    splines = Splines(1, 7, degree)
    knots = 2 / 7 * np.arange(-degree, 7 + degree + 1) - 1
    points = np.random.default_rng(0).uniform(-1, 1, 40)
    coefficients = np.random.default_rng(1).normal(size=splines.size)
    for order in range(degree + 1):
        expected = BSpline(knots, coefficients, degree).derivative(order)(points)
        found = splines.field(points[:, None], coefficients, (order,))
        np.testing.assert_allclose(found, expected, atol=1e-10 * 7**order)


def test_splines_sum_to_one_and_hold_polynomials_of_their_degree():
    splines, rng = Splines(2, 5, 3), np.random.default_rng(0)
    points = rng.uniform(-1, 1, (400, 2))
    matrix = splines.matrix(Functionals.at(points)).toarray()
    np.testing.assert_allclose(matrix.sum(axis=1), 1.0)

    def polynomial(x, y):
        return 1 + x - 2 * y + x**3 * y**2 - 0.5 * x**2 * y**3

    coefficients = np.linalg.lstsq(matrix, polynomial(*points.T))[0]
    x, y = others = rng.uniform(-1, 1, (20, 2)).T
    np.testing.assert_allclose(splines.field(others.T, coefficients, (0, 0)), polynomial(x, y), atol=1e-9)
    expected = 6 * x * y**2 - y**3
    np.testing.assert_allclose(splines.field(others.T, coefficients, (2, 0)), expected, atol=1e-7)


def test_a_functional_of_several_places_is_the_sum_of_its_places():
    splines, rng = Splines(2, 4, 3), np.random.default_rng(0)
    places, weights = rng.uniform(-1, 1, (5, 2)), rng.normal(size=5)
    both = Functionals(
        places, weights[:, None], np.zeros((1, 2), int), np.zeros(2), np.zeros(2), starts=np.array([0, 3])
    )
    each = splines.matrix(Functionals.at(places)).toarray() * weights[:, None]
    np.testing.assert_allclose(splines.matrix(both).toarray(), [each[:3].sum(axis=0), each[3:].sum(axis=0)])


def test_cubature_gives_a_step_its_share_of_a_cell():
    centres, half = cells(2, 3)

    def step(points):
        return ((points[:, :1] + 0.3 * points[:, 1:]) > 0.123).astype(float)

    places = cubature(step, centres, half)
    found = np.bincount(places.cell, places.weights * step(places.points)[:, 0])
    dense = (np.arange(1500) + 0.5) / 750 - 1
    grid = np.stack(np.meshgrid(dense, dense, indexing="ij"), axis=-1)
    blocks = step(grid.reshape(-1, 2)).reshape(3, 500, 3, 500).mean(axis=(1, 3))
    np.testing.assert_allclose(found, blocks.ravel(), atol=5e-3)
    np.testing.assert_allclose(np.bincount(places.cell, places.weights), 1.0)


@pytest.mark.parametrize(("coordinates", "tolerance"), [(BOX, 1e-8), (Stretched(), 5e-3)])
def test_averaged_rows_are_integrals_of_the_equation(coordinates, tolerance):
    """Over one cell, by rows at the 1,600 points of a rule of its own."""
    space = Space(x=(0.0, 2.0), y=(-1.0, 2.0))
    pde = PDE(
        lambda f: lambda x: (1 + x[0]) * partial(f, 0, order=2)(x) + x[1] * f(x), source=lambda x: x[0] ** 3
    )
    jet, splines = JetPDE(space, pde, coordinates), Splines(2, 8, 3)
    coefficients = np.random.default_rng(0).normal(size=splines.size**2)
    nodes, weights = np.polynomial.legendre.leggauss(40)
    points = np.stack(np.meshgrid(nodes / 8 - 0.625, nodes / 8 + 0.125, indexing="ij"), axis=-1).reshape(
        -1, 2
    )
    weights = np.outer(weights, weights).ravel() / 4
    dense = jet.rows(points, pde.source_at(space.unscale(coordinates.back(points))))
    rows, cell = averaged_rows(jet, 8), 8 + 4
    found = (splines.matrix(rows) @ coefficients)[cell]
    np.testing.assert_allclose(found, weights @ (splines.matrix(dense) @ coefficients), rtol=tolerance)
    np.testing.assert_allclose(rows.values[cell], weights @ dense.values, rtol=tolerance)


def test_only_a_source_that_changes_between_the_rows_is_unresolved():
    smooth = PDE(laplacian, source=lambda x: jnp.sin(6 * x[0]) + x[1] ** 2)
    assert unresolved(JetPDE(SQUARE, smooth), 22) < 1e-3
    assert unresolved(JetPDE(SQUARE, HEATED), 22) > 0.05
    assert unresolved(JetPDE(SQUARE, PDE(laplacian)), 22) == 0.0
    stated = Stated(SQUARE, (smooth,), 0, 500, 1e-3)
    assert "particular" not in KernelGivenPDE(stated).name


def test_a_particular_solution_under_a_step_load_is_the_closed_form_but_for_a_line():
    """-f'' = 1 on (1, 2.2): f = -max(x - 1, 0)^2 / 2 + max(x - 2.2, 0)^2 / 2 and any line."""
    pde = PDE(
        lambda f: lambda x: -partial(f, 0, order=2)(x),
        source=lambda x: jnp.where((x[0] > 1) & (x[0] < 2.2), 1.0, 0.0),
    )
    solved = particular_solution([JetPDE(LINE, pde)])
    x = np.linspace(0, 3, 201)
    found = solved.splines.field(LINE.scale(x[:, None]), solved.coefficients, (0,))
    rest = found + np.maximum(x - 1, 0) ** 2 / 2 - np.maximum(x - 2.2, 0) ** 2 / 2
    line = np.polyval(np.polyfit(x, rest, 1), x)
    assert np.max(np.abs(rest - line)) < 1e-4 * np.ptp(found)


@pytest.mark.parametrize(("operator", "dim"), [(laplacian, 1), (biharmonic, 2)])
def test_a_particular_solution_obeys_the_averaged_equation(operator, dim):
    space = Space.box(np.zeros(dim), np.full(dim, 2.0))
    pde = PDE(operator, source=lambda x: jnp.where(jnp.all((x > 0.5) & (x < 1.3)), 1.0, 0.0))
    jet = JetPDE(space, pde)
    solved = particular_solution([jet])
    rows = averaged_rows(jet, solved.splines.n_cells)
    np.testing.assert_allclose(np.mean(rows.values), 0.4**dim, rtol=2e-3)  # the load in all
    assert np.linalg.norm(solved.of(rows) - rows.values) < 1e-4 * np.linalg.norm(rows.values)


def _heated():
    return KernelGivenPDE(
        Stated(SQUARE, (HEATED, PDE(lambda f: f, source=0.3, points=[[0.5, 0.0], [0.1, 0.0]])), 0, 200, 1e-3)
    )


def test_the_process_has_mean_and_slopes_of_both_parts():
    family = _heated()
    data = Data(np.array([[0.2, 0.2]]), np.array([0.7]), np.array([np.nan]), np.zeros((0, 2)))
    process = family.process((0.71, 0.71), data)
    assert process.has_physics
    assert "particular" in family.name
    points, step = np.random.default_rng(0).uniform(-0.9, 0.9, (6, 2)), 1e-5
    at = process.locate(points, slopes=True)
    for axis in range(2):
        move = step * np.eye(2)[axis]
        ends = [process.locate(points + sign * move).features for sign in (1, -1)]
        np.testing.assert_allclose(at.slopes[:, axis], (ends[0] - ends[1]) / (2 * step), atol=2e-4, rtol=1e-4)


def test_a_condition_holds_for_the_sum_of_both_parts():
    family = _heated()
    data = Data(np.array([[0.2, 0.2]]), np.array([0.7]), np.array([np.nan]), np.zeros((0, 2)))
    process = family.process((0.71, 0.71), data)
    at = process.locate(SQUARE.scale(np.array([[0.5, 0.0], [0.1, 0.0]])))
    standard = Standard(0.2, 2.0)
    np.testing.assert_allclose(0.2 + 2.0 * process.mean(at, standard), 0.3, atol=1e-2)


def test_a_patch_heater_is_believed_and_helps():
    """By the closed form of a heater in a box with cold walls: a double sine series."""
    m = np.arange(1, 120)
    x_part = (np.cos(0.3 * np.pi * m) - np.cos(0.7 * np.pi * m)) / (np.pi * m)
    y_part = (np.cos(0.35 * np.pi * m) - np.cos(0.75 * np.pi * m)) / (np.pi * m)
    amplitude = 80.0 * np.outer(x_part, y_part) / (np.pi**2 * (m[:, None] ** 2 + m**2))

    def truth(points):
        x, y = (np.sin(np.pi * np.outer(p, m)) for p in points.T)
        return np.einsum("pm,mn,pn->p", x, amplitude, y) + 0.3 * np.exp(points[:, 0]) * np.cos(points[:, 1])

    points, others = SQUARE.sobol(20, 0), SQUARE.sobol(256, 1)
    span = np.ptp(truth(others))
    noise = 0.01 * span * np.random.default_rng(0).normal(size=20)
    optimizer = Optimizer(SQUARE, HEATED, goal="maximize", seed=0)
    optimizer.tell(points, truth(points) + noise)
    mean, std = optimizer.predict(others)
    assert optimizer.diagnostics()["trust"] > 0.9
    assert np.sqrt(np.mean((mean - truth(others)) ** 2)) < 0.015 * span
    assert np.mean(np.abs(mean - truth(others)) < 2 * std) > 0.85


def test_splines_at_no_points():
    """As when a first point is asked for before anything is measured."""
    splines = Splines(2, 8, 3)
    assert splines.field(np.zeros((0, 2)), np.ones(splines.size**2), (0, 0)).shape == (0,)
    assert SQUARE.contains(Optimizer(SQUARE, HEATED, seed=0).ask())
