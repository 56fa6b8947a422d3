"""Nonlinear equations with a kernel: jets under the posterior, and what a linearisation leaves out."""

from dataclasses import replace
from functools import cache
from types import SimpleNamespace

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

from pinnbo import PDE, Space
from pinnbo.data import Data, Standard
from pinnbo.ensemble import hypotheses
from pinnbo.ensemble.family import Family
from pinnbo.gp.conditioning import given, plain
from pinnbo.gp.equations import Equations, start
from pinnbo.gp.kernels import RBF
from pinnbo.gp.nonlinear import _Here, _Problem, given_nearly, given_nonlinear
from pinnbo.gp.posterior import condition
from pinnbo.operators import gradient, laplacian, partial
from pinnbo.physics.functionals import Functionals
from pinnbo.physics.jets import JetPDE

BOX = Space(x=(-1.0, 3.0), y=(0.5, 1.2))
KERNEL = RBF(np.array([0.7, 0.9]))

NOTHING = Data(np.zeros((0, 2)), np.zeros(0), np.zeros(0), np.zeros((0, 2)))


def burgers(f):
    return lambda x: partial(f, 1)(x) + f(x) * partial(f, 0)(x) - 0.3 * partial(f, 0, order=2)(x)


def inviscid(f):
    return lambda x: partial(f, 1)(x) + f(x) * partial(f, 0)(x)


def eikonal(f):
    return lambda x: (gradient(f)(x) ** 2).sum()


@cache
def equations_of(operator, n=12, source=0.5):
    points = BOX.scale(BOX.sobol(n, 1))
    return Equations([(JetPDE(BOX, PDE(operator, source=source)), points, np.full((n, 1), source))])


@pytest.mark.parametrize("operator", [burgers, eikonal, laplacian])
def test_the_curvature_is_the_slope_of_the_rows_in_the_jet(operator, rng):
    equations = equations_of(operator)
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
    both = Equations(parts)
    jets = rng.normal(size=both.at_zero.coefficients.shape)
    found, step = both.curvature(jets), 1e-6
    move = step * rng.normal(size=jets.shape)
    change = both.linearised(jets + move).coefficients - both.linearised(jets - move).coefficients
    np.testing.assert_allclose(np.einsum("mab,mb->ma", found, move), change / 2, atol=1e-11)


def test_the_covariance_of_rows_comes_from_pairs_of_derivatives(rng):
    rows = equations_of(burgers).linearised(rng.normal(size=equations_of(burgers).at_zero.coefficients.shape))
    here = _Here(rows, KERNEL, Functionals.none(2))
    across = here.with_rows(rows)
    for index, part in zip(rows.derivatives, across, strict=True):
        one = replace(rows, coefficients=np.tile(np.all(rows.derivatives == index, axis=1) + 0.0, (12, 1)))
        np.testing.assert_allclose(part, KERNEL.covariance(one, rows), rtol=1e-10, atol=1e-10)
    gram = np.einsum("ma,amn->mn", rows.coefficients, across)
    np.testing.assert_allclose(gram, KERNEL.covariance(rows, rows), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("with_rows", [True, False])
def test_jets_given_rows_and_data_are_those_of_a_dense_gaussian_process(with_rows, rng):
    """Every derivative as a functional of its own, beside the rows and the values, in one covariance matrix."""
    rows = equations_of(burgers).linearised(rng.normal(size=equations_of(burgers).at_zero.coefficients.shape))
    points = BOX.sobol(6, 3)
    data = Data(points, rng.normal(size=6), np.full(6, 0.1), np.zeros((0, 2)))
    measured = BOX.scale(points)
    prior = given(KERNEL, rows, 1.0, 1e-2) if with_rows else None
    posterior = condition(prior.process() if with_rows else plain(KERNEL), data, BOX)
    here = _Here(rows, KERNEL, Functionals.at(measured))
    found = here.covariance(prior, here.with_rows(rows) if with_rows else None, posterior)

    m, a = rows.coefficients.shape
    derivatives = [
        Functionals(rows.points, np.tile(row, (m, 1)), rows.derivatives, np.zeros(m), np.zeros(m))
        for row in np.eye(a)
    ]
    told = ([rows] if with_rows else []) + [Functionals.at(measured)]
    noise = [prior.unit**2] if with_rows else []
    noise.append(posterior.samples.ratio[0] * (0.1 / posterior.standard.scale) ** 2 * np.ones(6))

    def block(left, right):
        return np.block([[KERNEL.covariance(p, q) for q in right] for p in left])

    inner = block(told, told) + np.diag(np.concatenate(noise))
    across = block(derivatives, told)
    left = block(derivatives, derivatives) - across @ np.linalg.solve(inner, across.T)
    expected = left.reshape(a, m, a, m)[:, np.arange(m), :, np.arange(m)]
    expected = expected * posterior.standard.scale**2 * posterior.samples.square[0]
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6 * np.max(np.abs(expected)))


def test_the_square_that_is_left_out_has_this_mean(rng):
    """Against draws of the jet."""
    hessian = rng.normal(size=(3, 3))
    hessian += hessian.T
    root = rng.normal(size=(3, 3))
    draws = rng.normal(size=(400_000, 3)) @ root.T
    q = 0.5 * np.einsum("na,ab,nb->n", draws, hessian, draws)

    def neglected(n, length):
        """Of n rows that all have this Hessian and this covariance."""
        problem = object.__new__(_Problem)
        problem._kernel = RBF(np.full(2, length))
        problem._equations = SimpleNamespace(curvature=lambda jets: np.tile(hessian, (n, 1, 1)))
        problem._here = SimpleNamespace(covariance=lambda *_: np.tile(root @ root.T, (n, 1, 1)))
        return problem._doubt(np.zeros((n, 3)), None, None, condition(plain(KERNEL), NOTHING, BOX))

    found = neglected(1, 1e-3)  # no row shares its q with another
    np.testing.assert_allclose(found, np.mean(q**2), rtol=0.03)
    wide = neglected(50, 0.5)
    np.testing.assert_allclose(wide, 50 * np.pi * 0.25 / 4 * found[0])


def test_a_few_steps_from_the_exact_solution_lead_to_the_nearly_true_one():
    """Beside ten of them, the same; and a looser equation leaves more open."""

    def truth(points):
        return (points[:, 0] + 2.0) / (points[:, 1] + 2.0)

    equations, kernel = equations_of(inviscid, 100, 0.0), RBF(np.full(2, 0.8))
    measured, probes = BOX.sobol(10, 4), BOX.scale(BOX.sobol(64, 9))
    data = Data(measured, truth(measured), np.full(10, 1e-2), np.zeros((0, 2)))
    exact = given_nonlinear(equations, kernel, data, BOX, 1e-3)
    found = {}
    for steps in (2, 10):
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr("pinnbo.gp.nonlinear._STEPS_NEARLY", steps)
            nearly = given_nearly(equations, kernel, data, BOX, 1e-3, 0.05, exact)
        found[steps] = condition(nearly.process(), data, BOX)
    assert found[2].log_evidence == pytest.approx(found[10].log_evidence, abs=0.2)
    two, ten = (found[steps].moments(probes) for steps in (2, 10))
    alone = condition(exact.given.process(), data, BOX).moments(probes)
    np.testing.assert_allclose(two.mean[:, 0], ten.mean[:, 0], atol=0.01 * np.ptp(ten.mean[:, 0]))
    assert np.median(two.variance[:, 0]) > np.median(alone.variance[:, 0])


def test_the_solution_of_a_similar_kernel_leads_to_the_same_one():
    def truth(points):
        return (points[:, 0] + 2.0) / (points[:, 1] + 2.0)

    equations, measured = equations_of(inviscid, 100, 0.0), BOX.sobol(10, 4)
    data = Data(measured, truth(measured), np.full(10, 1e-2), np.zeros((0, 2)))
    one, other = (RBF(np.full(2, length)) for length in (0.5, 1.0))
    similar = given_nonlinear(equations, one, data, BOX, 1e-3)
    anew = given_nonlinear(equations, other, data, BOX, 1e-3)
    steps = []
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("pinnbo.gp.nonlinear.descend", lambda *_: steps.append(1))
        begun = given_nonlinear(equations, other, data, BOX, 1e-3, near=similar)
    assert not steps
    first, second = (condition(found.given.process(), data, BOX) for found in (anew, begun))
    assert first.log_evidence == pytest.approx(second.log_evidence, abs=0.2)
    probes = BOX.scale(BOX.sobol(64, 9))
    means = [posterior.moments(probes).mean[:, 0] for posterior in (first, second)]
    np.testing.assert_allclose(*means, atol=0.01 * np.ptp(means[0]))


@pytest.mark.parametrize(
    ("weights", "tried", "usable"),
    [
        ([-9.0, 1.0, 2.0, None, 3.0], 4, 3),  # too smooth: so is what comes after
        ([None, 1.0, 2.0, -7.0, 3.0], 4, 4),  # negligible, and so is the last, which could be used
        ([1.0, 2.0, 3.0], 3, 3),
    ],
)
def test_dear_settings_are_left_out_beyond_those_that_count(weights, tried, usable):
    asked = []

    class Dear(Family):
        name, is_dear, grid = "dear", True, [(float(k),) for k in range(len(weights))]

        def log_prior(self, scales):
            return weights[int(scales[0])] or 0.0

        def process(self, scales, data):
            asked.append(scales)
            return None if weights[int(scales[0])] is None else plain(KERNEL)

    grid, used = hypotheses._compared(Dear(BOX), NOTHING, [(0.5, 0.5)])
    assert (len(asked), len(used)) == (tried, usable)
    np.testing.assert_allclose([m.log_weight for m in grid], [w for w in weights[:tried] if w is not None])


def test_a_solution_is_found_from_values_on_it():
    """tanh((x + y) / 2): laplacian f = f^3 - f."""

    def truth(points):
        return np.tanh((points[:, 0] + points[:, 1]) / 2)

    def operator(f):
        return lambda x: laplacian(f)(x) - f(x) ** 3 + f(x)

    n = 150
    points = BOX.scale(BOX.sobol(n, 1))
    equations = Equations([(JetPDE(BOX, PDE(operator)), points, np.zeros((n, 1)))])
    measured = BOX.sobol(10, 4)
    data = Data(measured, truth(measured), np.full(10, 1e-3), np.zeros((0, 2)))
    solved = given_nonlinear(equations, RBF(np.full(2, 0.8)), data, BOX, 1e-3)
    assert solved is not None
    probes = BOX.sobol(64, 9)
    found = condition(solved.given.process(), data, BOX).moments(BOX.scale(probes))
    error = found.mean[:, 0] - truth(probes)
    alone = condition(plain(RBF(np.full(2, 0.8))), data, BOX).moments(BOX.scale(probes))
    assert np.sqrt(np.mean(error**2)) < 0.5 * np.sqrt(np.mean((alone.mean[:, 0] - truth(probes)) ** 2))
    assert np.mean(np.abs(error) < 2 * np.sqrt(found.variance[:, 0])) > 0.85


def test_rows_have_a_slope_where_gauss_newton_begins():
    """The eikonal equation has none at a constant."""
    assert not np.any(equations_of(eikonal).at_zero.coefficients)
    assert np.any(equations_of(eikonal).at_start.coefficients)


def test_the_mean_of_the_jets_is_that_of_the_posterior_and_its_derivatives(rng):
    """Values by the posterior itself, slopes by finite differences of it."""
    equations = equations_of(burgers)
    rows = equations.linearised(rng.normal(size=equations.at_zero.coefficients.shape))
    points = BOX.sobol(6, 3)
    data = Data(points, 20.0 + rng.normal(size=6), np.full(6, 0.1), np.zeros((0, 2)))
    found = given(KERNEL, rows, 1.0, 1e-2)
    posterior = condition(found.process(), data, BOX)
    here = _Here(rows, KERNEL, Functionals.at(BOX.scale(points)))
    jets, values = here.mean(found, here.with_rows(rows), posterior)

    def mean(p):
        return posterior.moments(p).mean[:, 0]

    np.testing.assert_allclose(values, mean(BOX.scale(points)), rtol=1e-7)
    for column, index in zip(jets.T, rows.derivatives, strict=True):
        if index.sum() == 0:
            expected = mean(rows.points)
        elif index.sum() == 1:
            move = 1e-5 * index
            expected = (mean(rows.points + move) - mean(rows.points - move)) / 2e-5
        else:
            move = 1e-3 * (index > 0)
            expected = (mean(rows.points + move) - 2 * mean(rows.points) + mean(rows.points - move)) / 1e-6
        np.testing.assert_allclose(column, expected, rtol=1e-4, atol=1e-4 * np.max(np.abs(expected)))


def test_a_start_has_the_jets_of_a_function():
    """A plane where the equation has no slope at a constant, the constant elsewhere."""
    measured, standard = BOX.scale(BOX.sobol(3, 5)), Standard(7.0, 2.0)
    for operator in (burgers, eikonal):
        equations = equations_of(operator)
        jets, values = start(equations, Functionals.at(measured), standard)
        rows = equations.at_zero
        slope = np.zeros(2)
        for column, index in zip(jets.T, rows.derivatives, strict=True):
            if index.sum() == 1:
                np.testing.assert_array_equal(column, column[0])
                slope[np.argmax(index)] = column[0]
        assert np.any(slope) == (operator is eikonal)
        np.testing.assert_allclose(jets[:, 0], 7.0 + rows.points @ slope)
        np.testing.assert_allclose(values, 7.0 + measured @ slope)


def test_an_equation_without_a_slope_at_any_plane_can_be_used():
    """f_x f_xx = 0: neither a constant nor a plane tells the rows of it anything but zero."""

    def operator(f):
        return lambda x: partial(f, 0)(x) * partial(f, 0, order=2)(x)

    points = BOX.sobol(5, 3)
    data = Data(points, points[:, 0] ** 2, np.full(5, 0.01), np.zeros((0, 2)))
    for told in (NOTHING, data.first(1), data):
        found = given_nonlinear(equations_of(operator, source=0.0), KERNEL, told, BOX, 1e-3)
        process = plain(KERNEL) if found is None else found.given.process()
        mean = condition(process, told, BOX).moments(BOX.scale(BOX.sobol(8, 9))).mean
        assert np.isfinite(mean).all()


def test_a_misfit_is_believed_where_the_equation_is_off_by_a_smooth_unknown():
    """u'' + 9 sin u = e with e of a tenth of the terms: contradicted as exact, explained with e as nearly true."""
    space = Space(t=(0.0, 2.0))
    swing = PDE(lambda u: lambda x: partial(u, 0, order=2)(x) + 9.0 * jnp.sin(u(x)))
    t = np.linspace(0.0, 2.0, 25)

    def unknown(t):
        return 1.5 * np.cos(2.0 * t)

    moving = solve_ivp(
        lambda t, u: [u[1], -9.0 * np.sin(u[0]) + unknown(t)], (0.0, 2.0), [1.5, 0.0], t_eval=t, rtol=1e-9
    )
    data = Data(t[:, None], moving.y[0], np.full(25, 0.01), np.zeros((0, 1)))
    points = np.linspace(-1.0, 1.0, 60)[:, None]
    equations = Equations([(JetPDE(space, swing), points, np.zeros((60, 1)))])
    kernel = RBF(np.array([0.4]))
    exact = given_nonlinear(equations, kernel, data, space, 1e-3)
    nearly = given_nearly(equations, kernel, data, space, 1e-3, 0.05, exact)
    assert nearly is not None
    evidence = condition(nearly.process(), data, space).log_evidence
    if exact is not None:
        assert evidence > condition(exact.given.process(), data, space).log_evidence + 5.0
    assert evidence > condition(plain(kernel), data, space).log_evidence
