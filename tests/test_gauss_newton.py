"""Nonlinear equations with a kernel: jets under the posterior, and what a linearisation leaves out."""

import numpy as np
import pytest

from pinnbo import PDE, Space
from pinnbo.data import Data
from pinnbo.inference.belief import fit
from pinnbo.inference.gauss_newton import Physics, _Here, _neglected, at_start, solve
from pinnbo.inference.jets import JetPDE
from pinnbo.inference.kernel_prior import covariance_of_rows, inform, uninformed, values_as_rows
from pinnbo.models.kernels import Kernel
from pinnbo.operators import gradient, laplacian, partial

BOX = Space(x=(-1.0, 3.0), y=(0.5, 1.2))
KERNEL = Kernel("rbf", np.array([0.7, 0.9]))


def burgers(f):
    return lambda x: partial(f, 1)(x) + f(x) * partial(f, 0)(x) - 0.3 * partial(f, 0, order=2)(x)


def eikonal(f):
    return lambda x: (gradient(f)(x) ** 2).sum()


def physics(operator, n=12, source=0.5):
    points = BOX.scale(BOX.sobol(n, 1))
    return Physics([(JetPDE(BOX, PDE(operator, source=source)), points, np.full((n, 1), source))])


@pytest.mark.parametrize("operator", [burgers, eikonal, laplacian])
def test_the_curvature_is_the_slope_of_the_rows_in_the_jet(operator, rng):
    equations = physics(operator)
    jets = rng.normal(size=equations.at_zero.coefficients.shape)
    found, step = equations.curvature(jets), 1e-6
    for b in range(jets.shape[1]):
        move = np.zeros_like(jets)
        move[:, b] = step
        up, down = (equations.linearised(jets + sign * move).coefficients for sign in (1, -1))
        np.testing.assert_allclose(found[:, :, b], (up - down) / (2 * step), atol=1e-7)
    assert np.any(found) == (operator is not laplacian)


def test_two_equations_share_one_table_of_curvatures(rng):
    points = BOX.scale(BOX.sobol(5, 1))
    parts = [(JetPDE(BOX, PDE(op)), points, np.zeros((5, 1))) for op in (burgers, eikonal)]
    both = Physics(parts)
    jets = rng.normal(size=both.at_zero.coefficients.shape)
    found, step = both.curvature(jets), 1e-6
    move = step * rng.normal(size=jets.shape)
    change = both.linearised(jets + move).coefficients - both.linearised(jets - move).coefficients
    np.testing.assert_allclose(np.einsum("mab,mb->ma", found, move), change / 2, atol=1e-11)


def test_the_covariance_of_rows_comes_from_pairs_of_derivatives(rng):
    rows = physics(burgers).linearised(rng.normal(size=physics(burgers).at_zero.coefficients.shape))
    here = _Here(rows, KERNEL, np.zeros((0, 2)))
    np.testing.assert_allclose(
        here.gram(rows), covariance_of_rows(KERNEL, rows, rows), rtol=1e-10, atol=1e-10
    )


@pytest.mark.parametrize("with_rows", [True, False])
def test_jets_given_rows_and_data_are_those_of_a_dense_gaussian_process(with_rows, rng):
    """Every derivative as a functional of its own, beside the rows and the values, in one covariance matrix."""
    rows = physics(burgers).linearised(rng.normal(size=physics(burgers).at_zero.coefficients.shape))
    points = BOX.sobol(6, 3)
    data = Data(points, rng.normal(size=6), np.full(6, 0.1), np.zeros((0, 2)))
    measured = BOX.scale(points)
    prior = inform(KERNEL, rows, 1.0, 1e-2) if with_rows else uninformed(KERNEL)
    belief = fit(prior, data, BOX)
    here = _Here(rows, KERNEL, measured)
    found = here.covariance(prior if with_rows else None, belief)

    m, a = rows.coefficients.shape
    derivatives = [
        type(rows)(rows.points, np.tile(row, (m, 1)), np.zeros(m), np.zeros(m), rows.indices)
        for row in np.eye(a)
    ]
    given = ([rows] if with_rows else []) + [values_as_rows(measured)]
    noise = [prior.unit**2] if with_rows else []
    noise.append(belief.levels.ratio[0] * (0.1 / belief.standard.scale) ** 2 * np.ones(6))

    def block(left, right):
        return np.block([[covariance_of_rows(KERNEL, p, q) for q in right] for p in left])

    inner = block(given, given) + np.diag(np.concatenate(noise))
    across = block(derivatives, given)
    left = block(derivatives, derivatives) - across @ np.linalg.solve(inner, across.T)
    expected = left.reshape(a, m, a, m)[:, np.arange(m), :, np.arange(m)]
    expected = expected * belief.standard.scale**2 * belief.levels.square[0]
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6 * np.max(np.abs(expected)))


def test_the_square_that_is_left_out_has_this_mean(rng):
    """Against draws of the jet."""
    hessian = rng.normal(size=(3, 3))
    hessian += hessian.T
    root = rng.normal(size=(3, 3))
    draws = rng.normal(size=(400_000, 3)) @ root.T
    q = 0.5 * np.einsum("na,ab,nb->n", draws, hessian, draws)
    tiny = Kernel("rbf", np.full(2, 1e-3))  # no row shares its q with another
    found = _neglected(hessian[None], (root @ root.T)[None], tiny)
    np.testing.assert_allclose(found, np.mean(q**2), rtol=0.03)
    wide = _neglected(
        np.tile(hessian, (50, 1, 1)), np.tile(root @ root.T, (50, 1, 1)), Kernel("rbf", np.full(2, 0.5))
    )
    np.testing.assert_allclose(wide, 50 * np.pi * 0.25 / 4 * found[0])


def test_a_solution_is_found_from_values_on_it():
    """tanh((x + y) / 2): laplacian f = f^3 - f."""

    def truth(points):
        return np.tanh((points[:, 0] + points[:, 1]) / 2)

    def operator(f):
        return lambda x: laplacian(f)(x) - f(x) ** 3 + f(x)

    n = 150
    points = BOX.scale(BOX.sobol(n, 1))
    equations = Physics([(JetPDE(BOX, PDE(operator)), points, np.zeros((n, 1)))])
    measured = BOX.sobol(10, 4)
    data = Data(measured, truth(measured), np.full(10, 1e-3), np.zeros((0, 2)))
    prior = solve(equations, Kernel("rbf", np.full(2, 0.8)), data, BOX, 1e-3)
    assert prior is not None
    probes = BOX.sobol(64, 9)
    found = fit(prior, data, BOX).moments(BOX.scale(probes))
    error = found.mean[:, 0] - truth(probes)
    alone = fit(uninformed(Kernel("rbf", np.full(2, 0.8))), data, BOX).moments(BOX.scale(probes))
    assert np.sqrt(np.mean(error**2)) < 0.5 * np.sqrt(np.mean((alone.mean[:, 0] - truth(probes)) ** 2))
    assert np.mean(np.abs(error) < 2 * np.sqrt(found.variance[:, 0])) > 0.85


def test_rows_have_a_slope_where_gauss_newton_begins():
    """The eikonal equation has none at a constant."""
    assert not np.any(physics(eikonal).at_zero.coefficients)
    assert np.any(at_start(physics(eikonal)).coefficients)
