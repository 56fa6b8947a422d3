"""A kernel given the physics: against dense algebra with automatic differentiation; the same on few features."""

from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pinnbo import PDE, Space
from pinnbo.data import Data, Standard
from pinnbo.gp.conditioning import given, plain
from pinnbo.gp.kernels import CONSTANT, RBF, Additive, Matern, Pairwise
from pinnbo.gp.posterior import condition
from pinnbo.operators import directional, laplacian, partial
from pinnbo.physics.functionals import concatenate
from pinnbo.physics.jets import JetPDE

LINE = Space(x=(0.5, 4.0))
BOX = Space(x=(-1.0, 3.0), y=(0.5, 1.2))
KERNELS = [RBF, Matern, Additive, Pairwise]
ROW_NOISE = 1e-2


@dataclass(frozen=True, eq=False)
class Case:
    """A linear equation at a few collocation points, with a length scale at which no row repeats another."""

    space: Space
    pde: PDE
    lengths: np.ndarray
    n: int


def rotation(f):
    return directional(f, lambda x: jnp.array([-x[1], x[0]]))


def helmholtz(f):
    return lambda x: laplacian(f)(x) + 9.0 * f(x)


def advection(f):
    return lambda x: jnp.cos(x[0]) * partial(f, 1)(x) - 0.3 * partial(f, 0, 2)(x)


CASES = {
    "laplacian": Case(BOX, PDE(laplacian), np.array([0.5, 0.4]), 16),
    "rotation": Case(BOX, PDE(rotation), np.array([0.4, 0.6]), 16),
    "helmholtz": Case(BOX, PDE(helmholtz, lambda x: jnp.sin(x[0]) + x[1]), np.array([0.5, 0.4]), 16),
    "advection": Case(BOX, PDE(advection, 2.0), np.array([0.5, 0.4]), 16),
    "fourth": Case(LINE, PDE(lambda f: partial(f, 0, 4), lambda x: jnp.exp(-x[0])), np.array([0.15]), 8),
    "noisy": Case(BOX, PDE(laplacian, 1.0, noise=60.0), np.array([0.5, 0.4]), 16),
    # solved by cos(0.7 x + y)
    "smooth": Case(
        BOX, PDE(helmholtz, lambda x: 7.51 * jnp.cos(0.7 * x[0] + x[1])), np.array([1.2, 1.2]), 96
    ),
}
FEW = [name for name in CASES if name != "smooth"]


def collocation(case):
    """Scaled points that fill the box, and the source."""
    points = case.space.sobol(case.n, 3)
    return case.space.scale(points), case.pde.source_at(points)


@cache
def rows_of(name):
    case = CASES[name]
    return JetPDE(case.space, case.pde).rows(*collocation(case))


def given_rows(name, scale=1.0, row_noise=ROW_NOISE, misfit=0.0):
    return given(RBF(CASES[name].lengths), rows_of(name), scale, row_noise, misfit=misfit).process()


@cache
def blocks(name):
    """k, L k and L L' k in the user's units, by automatic differentiation."""
    case = CASES[name]
    half = jnp.asarray(case.space.half_width * case.lengths)

    def k(x, y):
        return CONSTANT**2 + jnp.exp(-0.5 * jnp.sum(((x - y) / half) ** 2))

    def left(x, y):
        return case.pde.apply(lambda u: k(u, y))(x)[0]

    def both(x, y):
        return case.pde.apply(lambda v: left(x, v))(y)[0]

    def table(function):
        return jax.jit(jax.vmap(jax.vmap(function, (None, 0)), (0, None)))

    return table(k), table(left), table(both)


def brute_force(name, points, shift, scale, row_noise, misfit=0.0):
    """Mean and covariance of h at scaled points by dense solves."""
    case = CASES[name]
    z, source = collocation(case)
    z, x = (jnp.asarray(case.space.unscale(part)) for part in (z, points))
    k, left, both = blocks(name)
    gram, cross, own = (np.asarray(part) for part in (both(z, z), left(z, x), k(x, x)))
    constant = np.asarray(jax.vmap(case.pde.apply(lambda u: 1.0 + 0.0 * u[0]))(z))[:, 0]
    noise = row_noise**2 * np.diag(gram) + (case.pde.noise / scale) ** 2
    size, gaps = np.sqrt(np.diag(gram)), collocation(case)[0] / case.lengths
    distance = np.sum((gaps[:, None] - gaps[None]) ** 2, axis=2)
    wrong = misfit**2 * np.outer(size, size) * np.exp(-0.5 * distance)
    solved = np.linalg.solve(gram + wrong + np.diag(noise), cross)
    return solved.T @ (source[:, 0] - shift * constant) / scale, own - cross.T @ solved


def random_points(name, rng, n=6):
    return rng.uniform(-1.0, 1.0, (n, CASES[name].space.dim))


def finite_difference(function, points, step=1e-5):
    """Slopes in the coordinates: one table per axis, stacked behind the points."""
    moves = step * np.eye(points.shape[1])
    parts = [(function(points + move) - function(points - move)) / (2 * step) for move in moves]
    return np.stack(parts, axis=1)


# ---------------------------------------------------------------- against a brute-force Gaussian process


@pytest.mark.parametrize(("shift", "scale", "misfit"), [(0.0, 1.0, 0.0), (-20.0, 7.0, 0.0), (3.0, 2.0, 0.3)])
@pytest.mark.parametrize("name", FEW)
def test_mean_and_covariance_are_those_of_a_dense_gaussian_process(name, shift, scale, misfit, rng):
    points = random_points(name, rng)
    prior = given_rows(name, scale, misfit=misfit)
    at = prior.locate(points)
    mean, covariance = brute_force(name, points, shift, scale, ROW_NOISE, misfit)
    found = prior.mean(at, Standard(shift, scale))
    np.testing.assert_allclose(found, mean, rtol=1e-6, atol=1e-6 * np.max(np.abs(mean)))
    np.testing.assert_allclose(prior.covariance(at, at)[0], covariance, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(prior.variance(at)[0], np.diag(covariance), rtol=1e-6)
    np.testing.assert_allclose(prior.covariance_matrix(points), covariance, rtol=1e-6, atol=1e-7)


def test_an_equation_that_may_be_wrong_tells_less_and_never_less_than_nothing(rng):
    points = random_points("laplacian", rng)
    priors = [given_rows("laplacian", misfit=misfit) for misfit in (0.0, 0.1, 0.5, 1e3)]
    variances = [prior.variance(prior.locate(points))[0] for prior in priors]
    for less, more in pairwise(variances):
        assert np.all(less < more)
    np.testing.assert_allclose(variances[-1], CONSTANT**2 + 1.0, rtol=1e-4)


@pytest.mark.parametrize("name", FEW)
def test_the_covariance_of_two_sets_of_points_is_a_block_of_that_of_all(name, rng):
    points = random_points(name, rng)
    prior = given_rows(name)
    every = prior.covariance_matrix(points)
    block, slopes = prior.covariance(prior.locate(points[:2]), prior.locate(points[2:]))
    np.testing.assert_allclose(block, every[:2, 2:], rtol=1e-10, atol=1e-10)
    assert slopes is None


def test_rows_that_repeat_each_other_do_no_harm(rng):
    """Many smooth rows are nearly the same."""
    prior, points = given_rows("smooth"), random_points("smooth", rng, 40)
    at = prior.locate(points)
    mean, covariance = brute_force("smooth", points, 0.0, 1.0, ROW_NOISE)
    np.testing.assert_allclose(prior.mean(at, Standard(0.0, 1.0)), mean, atol=1e-6)
    np.testing.assert_allclose(prior.covariance(at, at)[0], covariance, atol=1e-6)


# ---------------------------------------------------------------- slopes


@pytest.mark.parametrize("name", FEW)
def test_slopes_of_the_features_are_their_derivatives(name, rng):
    prior, points = given_rows(name), random_points(name, rng)
    at = prior.locate(points, slopes=True)
    np.testing.assert_array_equal(at.points, points)
    np.testing.assert_allclose(at.features, prior.locate(points).features, rtol=1e-12, atol=1e-12)
    assert prior.locate(points).slopes is None
    expected = finite_difference(lambda p: prior.locate(p).features, points)
    np.testing.assert_allclose(at.slopes, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", FEW)
def test_slopes_of_covariance_and_variance_are_their_derivatives(name, rng):
    prior, points = given_rows(name), random_points(name, rng)
    at, anchors = prior.locate(points, slopes=True), prior.locate(random_points(name, rng, 4))
    _, across = prior.covariance(at, anchors)
    _, own = prior.variance(at)
    expected = finite_difference(lambda p: prior.covariance(prior.locate(p), anchors)[0], points)
    np.testing.assert_allclose(across, expected, rtol=1e-5, atol=1e-6)
    expected = finite_difference(lambda p: prior.variance(prior.locate(p))[0], points)
    np.testing.assert_allclose(own, expected, rtol=1e-5, atol=1e-6)


# ---------------------------------------------------------------- what conditioning may not do


@pytest.mark.parametrize("row_noise", [1e-4, 1e-3, 1e-1])
@pytest.mark.parametrize("length", [0.1, 0.7, 3.0])
@pytest.mark.parametrize("name", ["laplacian", "rotation", "helmholtz", "fourth"])
def test_the_variance_stays_between_nothing_and_the_priors(name, length, row_noise, rng):
    """Also at the collocation points themselves and where rows repeat each other."""
    case = CASES[name]
    kernel, rows = RBF(np.full(case.space.dim, length)), rows_of(name)
    prior = given(kernel, rows, 1.0, row_noise).process()
    points = np.concatenate([random_points(name, rng, 50), rows.points])
    variance = prior.variance(prior.locate(points))[0]
    assert variance.min() > -1e-9
    assert variance.max() <= kernel.variance
    eigenvalues = np.linalg.eigvalsh(prior.covariance_matrix(points))
    assert eigenvalues.min() > -1e-9


@pytest.mark.parametrize("name", ["laplacian", "helmholtz", "fourth"])
def test_a_noisy_source_widens(name, rng):
    """Every combination of values is known less well, up to not at all."""
    points = random_points(name, rng, 12)
    rows, kernel = rows_of(name), RBF(CASES[name].lengths)
    z = jnp.asarray(CASES[name].space.unscale(rows.points))
    size = np.sqrt(np.diag(blocks(name)[2](z, z)))
    noisy = [replace(rows, noise=noise * size) for noise in (0.0, 0.1, 1.0, 1e6)]
    priors = [given(kernel, part, 1.0, ROW_NOISE).process().covariance_matrix(points) for part in noisy]
    for narrow, wide in pairwise(priors):
        eigenvalues = np.linalg.eigvalsh(wide - narrow)
        assert eigenvalues.min() > -1e-8
        assert eigenvalues.max() > 1e-4
    np.testing.assert_allclose(priors[-1], kernel.values(points, points), atol=1e-8)


def test_the_noise_of_the_source_is_measured_in_units_of_the_values(rng):
    """The same noise in values a thousand times as large is a thousandth of it."""
    points = random_points("noisy", rng)
    narrow, wide = (given_rows("noisy", scale).covariance_matrix(points) for scale in (1000.0, 1.0))
    assert np.linalg.eigvalsh(wide - narrow).max() > 0.01
    np.testing.assert_allclose(narrow, given_rows("laplacian").covariance_matrix(points), atol=1e-3)


def test_rows_that_all_vanish_tell_nothing():
    """|grad f|^2 = 1 linearised at a constant."""
    rows = rows_of("laplacian")
    empty = replace(rows, coefficients=np.zeros_like(rows.coefficients), values=np.ones_like(rows.values))
    assert given(RBF(np.array([0.5, 0.4])), empty, 1.0, ROW_NOISE) is None


def test_one_row_that_vanishes_among_others_does_no_harm(rng):
    """The rotation has no row at the origin."""
    rows, kernel = rows_of("laplacian"), RBF(np.array([0.5, 0.4]))
    keep = np.arange(len(rows)) != 3
    thinned = replace(
        rows,
        points=rows.points[keep],
        coefficients=rows.coefficients[keep],
        values=rows.values[keep],
        noise=rows.noise[keep],
    )
    blank = replace(rows, coefficients=np.where(keep[:, None], rows.coefficients, 0.0))
    points = random_points("laplacian", rng)
    one, other = (
        given(kernel, part, 1.0, ROW_NOISE).process().covariance_matrix(points) for part in (thinned, blank)
    )
    np.testing.assert_allclose(one, other, rtol=1e-9)


def test_rows_of_several_equations_are_conditioned_on_together(rng):
    """The second equation gives the value that the first leaves free."""
    points = random_points("laplacian", rng)
    corner = np.array([[0.2, -0.3]])
    value = JetPDE(BOX, PDE(lambda f: f)).rows(corner, np.array([[5.0]]))
    rows = concatenate([rows_of("laplacian"), value])
    prior = given(RBF(CASES["laplacian"].lengths), rows, 2.0, 1e-4).process()
    at = prior.locate(corner)
    mean = 1.0 + 2.0 * prior.mean(at, Standard(1.0, 2.0))
    assert mean[0] == pytest.approx(5.0, abs=1e-4)
    assert prior.variance(at)[0][0] < 1e-5
    alone = given_rows("laplacian", row_noise=1e-4)
    assert np.all(prior.variance(prior.locate(points))[0] < alone.variance(alone.locate(points))[0])


@pytest.mark.parametrize("kind", KERNELS)
def test_without_rows_the_kernel_is_unchanged(kind, rng):
    kernel = kind(np.array([0.4, 1.1]))
    prior = plain(kernel)
    assert not prior.has_physics
    points, anchors = rng.uniform(-1.0, 1.0, (5, 2)), rng.uniform(-1.0, 1.0, (3, 2))
    at = prior.locate(points, slopes=True)
    values, slopes = prior.covariance(at, prior.locate(anchors))
    np.testing.assert_array_equal(values, kernel.values(points, anchors))
    np.testing.assert_array_equal(slopes, kernel.slopes(points, anchors))
    variance, variance_slope = prior.variance(at)
    np.testing.assert_allclose(variance, np.diag(kernel.values(points, points)))
    np.testing.assert_array_equal(variance_slope, np.zeros((5, 2)))
    np.testing.assert_array_equal(prior.mean(at, Standard(3.0, 2.0)), np.zeros(5))


# ---------------------------------------------------------------- on few features


@cache
def held_rows(n, seed):
    pde = PDE(lambda f: lambda x: laplacian(f)(x) + f(x), source=2.0)
    points = BOX.sobol(n, seed)
    return JetPDE(BOX, pde).rows(BOX.scale(points), pde.source_at(points))


@cache
def smooth(scale, n=256):
    return given(RBF(np.full(2, scale)), held_rows(n, 2), 1.0, 1e-3)


def test_few_features_hold_all_that_the_physics_left(rng):
    full, points = smooth(0.7).process(), rng.uniform(-1.0, 1.0, (30, 2))
    small = smooth(0.7).compressed()
    assert small.rank < 60
    assert small.has_physics
    np.testing.assert_allclose(
        small.covariance_matrix(points), full.covariance_matrix(points), atol=2e-3 * full.variation
    )
    for standard in (Standard(0.0, 1.0), Standard(-20.0, 7.0)):
        mean = small.mean(small.locate(points), standard)
        expected = full.mean(full.locate(points), standard)
        np.testing.assert_allclose(mean, expected, rtol=1e-6, atol=1e-6)


def test_features_that_would_be_too_many_are_refused():
    assert smooth(0.05).compressed() is None


def test_slopes_of_few_features_are_derivatives(rng):
    small, points = smooth(0.7).compressed(), rng.uniform(-0.9, 0.9, (5, 2))
    at, anchors = small.locate(points, slopes=True), small.locate(rng.uniform(-1.0, 1.0, (4, 2)))
    expected = finite_difference(lambda p: small.locate(p).features, points)
    np.testing.assert_allclose(at.slopes, expected, rtol=1e-4, atol=1e-4)
    expected = finite_difference(lambda p: small.covariance(small.locate(p), anchors)[0], points)
    np.testing.assert_allclose(small.covariance(at, anchors)[1], expected, rtol=1e-4, atol=1e-5)
    expected = finite_difference(lambda p: small.variance(small.locate(p))[0], points)
    np.testing.assert_allclose(small.variance(at)[1], expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kind", KERNELS)
def test_between_the_measured_points_a_kernel_without_physics_predicts_as_before(kind, rng):
    """Inducing points at all measured ones: nothing is lost of mean or variance, not even far from them."""
    points = BOX.sobol(40, 1)
    values = np.sin(points[:, 0]) + points[:, 1] + 0.01 * rng.normal(size=40)
    data = Data(points, values, np.full(40, 0.01), np.zeros((0, 2)))
    whole = plain(kind(np.full(2, 0.6)))
    small = whole.on_features(BOX.scale(points))
    assert not small.has_physics
    found, expected = condition(small, data, BOX), condition(whole, data, BOX)
    assert found.log_evidence == pytest.approx(expected.log_evidence, abs=0.05)
    probes = rng.uniform(-1.0, 1.0, (20, 2))
    mine, its = found.moments(probes), expected.moments(probes)
    np.testing.assert_allclose(mine.mean[:, 0], its.mean[:, 0], atol=1e-3)
    np.testing.assert_allclose(mine.variance[:, 0], its.variance[:, 0], rtol=0.05, atol=1e-6)


def test_rows_bind_the_equation_between_them_above_their_spacing_only():
    held_out = held_rows(64, 5)
    free = [smooth(scale).between(held_out)[0] for scale in (1.0, 0.4, 0.1, 0.02)]
    assert free[0] < 1e-4
    assert free[1] < 0.02
    assert free[2] > 0.1
    assert free[3] > 0.9
    assert smooth(0.1, 1024).between(held_out)[0] < 0.02


def test_the_error_of_the_source_is_that_of_the_mean_between_the_rows():
    """Of the operator applied to the mean, by a kernel sum; 0 where the source vanishes."""
    case = CASES["smooth"]
    points = BOX.sobol(20, 8)
    held_out = JetPDE(BOX, case.pde).rows(BOX.scale(points), case.pde.source_at(points))
    found = given(RBF(case.lengths), rows_of("smooth"), 1.0, ROW_NOISE)
    _, _, both = blocks("smooth")
    z, other = (jnp.asarray(BOX.unscale(rows.points)) for rows in (found.rows, held_out))
    gram, across = np.asarray(both(z, z)), np.asarray(both(other, z))
    noise = ROW_NOISE**2 * np.diag(np.diag(gram))
    predicted = across @ np.linalg.solve(gram + noise, found.rows.values)
    expected = np.linalg.norm(predicted - held_out.values) / np.linalg.norm(held_out.values)
    assert found.between(held_out)[1] == pytest.approx(expected, rel=1e-3)
    assert found.between(replace(held_out, values=np.zeros(20)))[1] == 0.0
