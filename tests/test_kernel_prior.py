"""The kernel given the physics: against a Gaussian process whose blocks come from automatic differentiation."""

from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations, pairwise

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pinnbo import PDE, Space
from pinnbo.inference.jets import JetPDE, concatenate
from pinnbo.inference.kernel_prior import inform, uninformed
from pinnbo.models.kernels import CONSTANT, Kernel, RememberedKernel
from pinnbo.operators import directional, laplacian, partial

LINE = Space(x=(0.5, 4.0))
BOX = Space(x=(-1.0, 3.0), y=(0.5, 1.2))
FAMILIES = ["rbf", "matern", "additive", "pairwise"]
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


def informed(name, scale=1.0, row_noise=ROW_NOISE, misfit=0.0):
    return inform(Kernel("rbf", CASES[name].lengths), rows_of(name), scale, row_noise, misfit=misfit)


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
    prior = informed(name, scale, misfit=misfit)
    codes = prior.codes(points)
    mean, covariance = brute_force(name, points, shift, scale, ROW_NOISE, misfit)
    found = codes.values @ prior.mean_weights(shift, scale)
    np.testing.assert_allclose(found, mean, rtol=1e-6, atol=1e-6 * np.max(np.abs(mean)))
    np.testing.assert_allclose(prior.covariance(codes, codes)[0], covariance, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(prior.variance(codes)[0], np.diag(covariance), rtol=1e-6)
    np.testing.assert_allclose(prior.covariance_matrix(points), covariance, rtol=1e-6, atol=1e-7)


def test_an_equation_that_may_be_wrong_tells_less_and_never_less_than_nothing(rng):
    points = random_points("laplacian", rng)
    variances = [
        informed("laplacian", misfit=m).variance(informed("laplacian", misfit=m).codes(points))[0]
        for m in (0.0, 0.1, 0.5, 1e3)
    ]
    for less, more in pairwise(variances):
        assert np.all(less < more)
    np.testing.assert_allclose(variances[-1], CONSTANT**2 + 1.0, rtol=1e-4)


@pytest.mark.parametrize("name", FEW)
def test_the_covariance_of_two_sets_of_points_is_a_block_of_that_of_all(name, rng):
    points = random_points(name, rng)
    prior = informed(name)
    every = prior.covariance_matrix(points)
    block, slopes = prior.covariance(prior.codes(points[:2]), prior.codes(points[2:]))
    np.testing.assert_allclose(block, every[:2, 2:], rtol=1e-10, atol=1e-10)
    assert slopes is None


def test_rows_that_repeat_each_other_do_no_harm(rng):
    """Many smooth rows are nearly the same."""
    prior, points = informed("smooth"), random_points("smooth", rng, 40)
    codes = prior.codes(points)
    mean, covariance = brute_force("smooth", points, 0.0, 1.0, ROW_NOISE)
    np.testing.assert_allclose(codes.values @ prior.mean_weights(0.0, 1.0), mean, atol=1e-6)
    np.testing.assert_allclose(prior.covariance(codes, codes)[0], covariance, atol=1e-6)


# ---------------------------------------------------------------- slopes


@pytest.mark.parametrize("name", FEW)
def test_slopes_of_the_codes_are_their_derivatives(name, rng):
    prior, points = informed(name), random_points(name, rng)
    codes = prior.codes(points, slopes=True)
    np.testing.assert_array_equal(codes.points, points)
    np.testing.assert_allclose(codes.values, prior.codes(points).values, rtol=1e-12, atol=1e-12)
    assert prior.codes(points).slopes is None
    expected = finite_difference(lambda p: prior.codes(p).values, points)
    np.testing.assert_allclose(codes.slopes, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", FEW)
def test_slopes_of_covariance_and_variance_are_their_derivatives(name, rng):
    prior, points = informed(name), random_points(name, rng)
    codes, anchors = prior.codes(points, slopes=True), prior.codes(random_points(name, rng, 4))
    _, across = prior.covariance(codes, anchors)
    _, own = prior.variance(codes)
    expected = finite_difference(lambda p: prior.covariance(prior.codes(p), anchors)[0], points)
    np.testing.assert_allclose(across, expected, rtol=1e-5, atol=1e-6)
    expected = finite_difference(lambda p: prior.variance(prior.codes(p))[0], points)
    np.testing.assert_allclose(own, expected, rtol=1e-5, atol=1e-6)


# ---------------------------------------------------------------- what conditioning may not do


@pytest.mark.parametrize("row_noise", [1e-4, 1e-3, 1e-1])
@pytest.mark.parametrize("length", [0.1, 0.7, 3.0])
@pytest.mark.parametrize("name", ["laplacian", "rotation", "helmholtz", "fourth"])
def test_the_variance_stays_between_nothing_and_the_priors(name, length, row_noise, rng):
    """Also at the collocation points themselves and where rows repeat each other."""
    case = CASES[name]
    kernel = Kernel("rbf", np.full(case.space.dim, length))
    jets = rows_of(name)
    prior = inform(kernel, jets, 1.0, row_noise)
    points = np.concatenate([random_points(name, rng, 50), jets.points])
    variance = prior.variance(prior.codes(points))[0]
    assert variance.min() > -1e-9
    assert variance.max() <= kernel.variance
    eigenvalues = np.linalg.eigvalsh(prior.covariance_matrix(points))
    assert eigenvalues.min() > -1e-9


@pytest.mark.parametrize("name", ["laplacian", "helmholtz", "fourth"])
def test_a_noisy_source_widens(name, rng):
    """Every combination of values is known less well, up to not at all."""
    points = random_points(name, rng, 12)
    rows, kernel = rows_of(name), Kernel("rbf", CASES[name].lengths)
    z = jnp.asarray(CASES[name].space.unscale(rows.points))
    size = np.sqrt(np.diag(blocks(name)[2](z, z)))
    noisy = [replace(rows, noise=noise * size) for noise in (0.0, 0.1, 1.0, 1e6)]
    priors = [inform(kernel, part, 1.0, ROW_NOISE).covariance_matrix(points) for part in noisy]
    for narrow, wide in pairwise(priors):
        eigenvalues = np.linalg.eigvalsh(wide - narrow)
        assert eigenvalues.min() > -1e-8
        assert eigenvalues.max() > 1e-4
    np.testing.assert_allclose(priors[-1], kernel.values(points, points), atol=1e-8)


def test_the_noise_of_the_source_is_measured_in_units_of_the_values(rng):
    """The same noise in values a thousand times as large is a thousandth of it."""
    points = random_points("noisy", rng)
    narrow, wide = (informed("noisy", scale).covariance_matrix(points) for scale in (1000.0, 1.0))
    assert np.linalg.eigvalsh(wide - narrow).max() > 0.01
    np.testing.assert_allclose(narrow, informed("laplacian").covariance_matrix(points), atol=1e-3)


def test_rows_that_vanish_tell_nothing(rng):
    """|grad f|^2 = 1 linearised at a constant."""
    rows, kernel = rows_of("laplacian"), Kernel("rbf", np.array([0.5, 0.4]))
    empty = replace(rows, coefficients=np.zeros_like(rows.coefficients), own=np.ones_like(rows.own))
    prior, points = inform(kernel, empty, 1.0, ROW_NOISE), random_points("laplacian", rng)
    np.testing.assert_allclose(prior.covariance_matrix(points), kernel.values(points, points), rtol=1e-9)
    np.testing.assert_array_equal(prior.codes(points).values @ prior.mean_weights(0.0, 1.0), np.zeros(6))


def test_one_row_that_vanishes_among_others_does_no_harm(rng):
    """The rotation has no row at the origin."""
    rows, kernel = rows_of("laplacian"), Kernel("rbf", np.array([0.5, 0.4]))
    keep = np.arange(len(rows.own)) != 3
    thinned = replace(
        rows,
        points=rows.points[keep],
        coefficients=rows.coefficients[keep],
        own=rows.own[keep],
        noise=rows.noise[keep],
    )
    blank = replace(rows, coefficients=np.where(keep[:, None], rows.coefficients, 0.0))
    points = random_points("laplacian", rng)
    one, other = (inform(kernel, part, 1.0, ROW_NOISE).covariance_matrix(points) for part in (thinned, blank))
    np.testing.assert_allclose(one, other, rtol=1e-9)


def test_rows_of_several_equations_are_conditioned_on_together(rng):
    """The second equation gives the value that the first leaves free."""
    points = random_points("laplacian", rng)
    corner = np.array([[0.2, -0.3]])
    value = JetPDE(BOX, PDE(lambda f: f)).rows(corner, np.array([[5.0]]))
    rows = concatenate([rows_of("laplacian"), value])
    prior = inform(Kernel("rbf", CASES["laplacian"].lengths), rows, 2.0, 1e-4)
    codes = prior.codes(corner)
    mean = 1.0 + 2.0 * codes.values @ prior.mean_weights(1.0, 2.0)
    assert mean[0] == pytest.approx(5.0, abs=1e-4)
    assert prior.variance(codes)[0][0] < 1e-5
    alone = informed("laplacian", row_noise=1e-4)
    assert np.all(prior.variance(prior.codes(points))[0] < alone.variance(alone.codes(points))[0])


@pytest.mark.parametrize("family", FAMILIES)
def test_without_rows_the_kernel_is_unchanged(family, rng):
    kernel = Kernel(family, np.array([0.4, 1.1]))
    prior = uninformed(kernel)
    points, anchors = rng.uniform(-1.0, 1.0, (5, 2)), rng.uniform(-1.0, 1.0, (3, 2))
    codes = prior.codes(points, slopes=True)
    values, slopes = prior.covariance(codes, prior.codes(anchors))
    np.testing.assert_array_equal(values, kernel.values(points, anchors))
    np.testing.assert_array_equal(slopes, kernel.slopes(points, anchors))
    variance, variance_slope = prior.variance(codes)
    np.testing.assert_allclose(variance, np.diag(kernel.values(points, points)))
    np.testing.assert_array_equal(variance_slope, np.zeros((5, 2)))
    np.testing.assert_array_equal(codes.values @ prior.mean_weights(3.0, 2.0), np.zeros(5))


# ---------------------------------------------------------------- kernels


def in_dimensions(*dims):
    """A line has no pairs of axes."""
    return [(family, dim) for family in FAMILIES for dim in dims if family != "pairwise" or dim > 1]


def test_the_pairwise_kernel_is_the_mean_over_pairs_of_axes_of_their_products(rng):
    scale, s, t = rng.uniform(0.2, 2.0, 4), rng.uniform(-1.0, 1.0, (6, 4)), rng.uniform(-1.0, 1.0, (5, 4))
    pairs = list(combinations(range(4), 2))
    expected = np.mean(
        [Kernel("rbf", scale[list(pair)], constant=0.0).values(s[:, pair], t[:, pair]) for pair in pairs],
        axis=0,
    )
    np.testing.assert_allclose(Kernel("pairwise", scale, constant=0.0).values(s, t), expected, rtol=1e-12)
    np.testing.assert_allclose(Kernel("pairwise", scale).values(s, t), expected + CONSTANT**2, rtol=1e-12)


@pytest.mark.parametrize(("family", "dim"), in_dimensions(1, 2, 5))
def test_kernels_are_symmetric_and_positive_semidefinite(family, dim, rng):
    kernel = Kernel(family, rng.uniform(0.2, 2.0, dim))
    s, t = rng.uniform(-1.0, 1.0, (40, dim)), rng.uniform(-1.0, 1.0, (7, dim))
    np.testing.assert_allclose(kernel.values(s, t), kernel.values(t, s).T, rtol=1e-14)
    gram = kernel.values(s, s)
    assert np.linalg.eigvalsh(gram).min() > -1e-12 * len(s) * kernel.variance
    # also what is left without the constant
    assert np.linalg.eigvalsh(gram - CONSTANT**2).min() > -1e-12 * len(s) * kernel.variance
    np.testing.assert_allclose(np.diag(gram), kernel.variance, rtol=1e-12)
    assert gram.min() >= CONSTANT**2
    assert gram.max() <= kernel.variance * (1 + 1e-14)


@pytest.mark.parametrize("family", FAMILIES)
def test_values_fall_with_distance_and_depend_on_distance_over_length(family, rng):
    s, direction = rng.uniform(-1.0, 1.0, (1, 3)), rng.normal(size=(1, 3))
    along = np.linspace(0.0, 2.0, 30)[:, None] * direction
    kernel = Kernel(family, np.array([0.4, 0.8, 1.6]))
    values = kernel.values(s + along, s)[:, 0]
    assert np.all(np.diff(values) < 0)
    wide = Kernel(family, 3.0 * kernel.scale)
    np.testing.assert_allclose(wide.values(3.0 * (s + along), 3.0 * s)[:, 0], values, rtol=1e-12)


@pytest.mark.parametrize(("family", "dim"), in_dimensions(1, 3))
def test_slopes_of_kernels_are_their_derivatives(family, dim, rng):
    """Where the points meet as well."""
    kernel = Kernel(family, rng.uniform(0.3, 1.5, dim))
    s = rng.uniform(-1.0, 1.0, (4, dim))
    t = np.concatenate([s[:1], rng.uniform(-1.0, 1.0, (6, dim))])
    slopes = kernel.slopes(s, t)
    np.testing.assert_allclose(slopes, finite_difference(lambda p: kernel.values(p, t), s), atol=1e-8)
    np.testing.assert_array_equal(slopes[0, :, 0], 0.0)


@pytest.mark.parametrize(("family", "dim"), in_dimensions(1, 3))
def test_slopes_in_the_length_scales_are_derivatives(family, dim, rng):
    scale = rng.uniform(0.3, 1.5, dim)
    s, weights = rng.uniform(-1.0, 1.0, (9, dim)), rng.normal(size=(9, 9))
    weights = weights + weights.T

    def total(log_scale):
        return np.sum(weights * Kernel(family, np.exp(log_scale)).values(s, s))

    moves = 1e-5 * np.eye(dim)
    expected = [(total(np.log(scale) + move) - total(np.log(scale) - move)) / 2e-5 for move in moves]
    found = Kernel(family, scale).log_scale_slopes(s, weights)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-7)


def test_a_kernel_that_remembers_gives_what_one_that_does_not_gives(rng):
    scale = np.array([0.5, 0.9, 1.3])
    plain, remembers = Kernel("pairwise", scale, 0.0), RememberedKernel("pairwise", scale, 0.0)
    points, anchors = rng.uniform(-1, 1, (6, 3)), rng.uniform(-1, 1, (4, 3))
    for _ in range(2):
        for s, t in ((points, anchors), (points, anchors[:2]), (points[:3], anchors[:2])):
            np.testing.assert_array_equal(remembers.values(s, t), plain.values(s, t))
            np.testing.assert_array_equal(remembers.slopes(s, t), plain.slopes(s, t))
        assert remembers.values(s, t) is remembers.values(s.copy(), t)
        points[0] += 0.1  # the same array with other points
