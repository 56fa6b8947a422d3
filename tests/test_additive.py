"""Sums of functions of one coordinate given the physics: against dense least squares in the same basis."""

from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.linalg import qr, solve_triangular

from pinnbo import PDE, Space, problems
from pinnbo.data import Data, Standard
from pinnbo.ensemble.family import Stated
from pinnbo.ensemble.sum_family import SumGivenPDE
from pinnbo.gp import additive
from pinnbo.gp.additive import row_sizes, solve_sum, truncation
from pinnbo.gp.sines import sines
from pinnbo.operators import derivatives, directional, gradient, laplacian, partial
from pinnbo.physics.axes import AdditiveJets, AxisCollocation, Condition
from pinnbo.physics.jets import JetPDE

BOX = Space(x=(-1.0, 2.0), y=(0.5, 1.5), z=(-3.0, -1.0))
Q, M, NOISE = 20, 40, 1e-4
SHIFT, SCALE = -0.7, 2.0


def truth(x):
    return jnp.sum(jnp.sin(1.3 * x + jnp.arange(x.size)) + 0.2 * x**2)


def euler(f):
    def row(x):
        value, slope = derivatives(f, lambda x: x, 1)(x)
        return slope - value

    return row


def weight(x):
    """Positive, and not a product of functions of one coordinate."""
    return 2.0 + jnp.sin(x[0] + x[1] * x[2])


def weighted(f):
    return lambda x: weight(x) * laplacian(f)(x)


def unequal(f):
    """Orders and coefficients that differ between the axes."""
    return lambda x: jnp.exp(x[0]) * partial(f, 0, 2)(x) + x[1] * partial(f, 1)(x) - partial(f, 2, 3)(x)


SEPARABLE = {
    "laplacian": laplacian,
    "weighted": weighted,
    "sum of slopes": lambda f: directional(f, jnp.ones_like),
    "euler": euler,
    "gradient": gradient,
    "unequal": unequal,
}
ENTANGLED = {
    "x f_y - f": lambda f: lambda x: x[0] * partial(f, 1)(x) - f(x),
    "x f_y + f_z": lambda f: lambda x: x[0] * partial(f, 1)(x) + partial(f, 2)(x),
    "(1 + x y) f_x + f_y + f_z": lambda f: (
        lambda x: directional(f, jnp.ones_like)(x) + x[0] * x[1] * partial(f, 0)(x)
    ),
    "system": lambda f: lambda x: jnp.stack([laplacian(f)(x), x[0] * partial(f, 1)(x) - f(x)]),
}


@dataclass(frozen=True, eq=False)
class Setting:
    """An equation that the truth obeys, on the axes through a base point."""

    pde: PDE
    jets: JetPDE
    lines: AxisCollocation


@cache
def setting(name):
    operator = {**SEPARABLE, **ENTANGLED}[name]
    pde = PDE(operator, source=lambda x: operator(truth)(x))
    jets = JetPDE(BOX, pde)
    lines = AxisCollocation.draw(jets, M, 0)
    assert lines is not None
    return Setting(pde, jets, lines)


def full_rows(basis, rows):
    """Functionals on the weights of all axes, from the derivatives that they take."""
    d = rows.points.shape[1]
    out = np.zeros((len(rows), d, len(basis.deviation)))
    for index, column in zip(rows.derivatives, rows.coefficients.T, strict=True):
        for i in range(d):
            if index.sum() == index[i]:  # a mixed derivative of a sum vanishes
                out[:, i] += column[:, None] * basis.derivative(rows.points[:, i], int(index[i]))
    return out.reshape(len(out), -1)


def axis_rows(basis, rows):
    """Rows and targets along the axes, with zeros for the other axes."""
    d, m, k, orders = rows.pure.shape
    out = np.zeros((d, m, k, d, len(basis.deviation)))
    for i in range(d):
        for order in range(orders):
            here = basis.derivative(rows.positions[i], order)[:, None]
            there = basis.derivative(rows.base.points[:1, i], order)[:, None]
            out[i, :, :, i] += rows.pure[i, ..., order, None] * here
            out[i, :, :, i] -= rows.base_pure[i, ..., order, None] * there
    return out.reshape(d * m * k, -1), np.column_stack([rows.own.ravel(), rows.constant.ravel()])


class Dense:
    """Least squares with all weights at once; noise relative to the rows' sizes."""

    def __init__(self, basis, matrix, targets, size, noise):
        self.basis = basis
        p = matrix.shape[1]
        scaled, right = matrix / (noise * size[:, None]), targets / (noise * size[:, None])
        q, self.factor = qr(np.vstack([np.eye(p), scaled]), mode="economic")
        self.means = solve_triangular(self.factor, q.T @ np.vstack([np.zeros((p, 2)), right]))

    @classmethod
    def of_lines(cls, basis, lines, conditions, noise):
        parts = []
        for line in lines:
            matrix, targets = axis_rows(basis, line)
            along = np.linalg.norm(matrix, axis=1).reshape(len(line.positions), -1)
            # an axis that an equation does not see has rows of zero
            floor = 1e-6 * along.max(axis=1, keepdims=True)
            parts.append((matrix, targets, np.maximum(along, floor).ravel()))
        for rows in [*(line.base for line in lines), *conditions]:
            matrix = full_rows(basis, rows)
            size = np.linalg.norm(matrix, axis=1)
            parts.append((matrix, rows.targets(), size))
        return cls(basis, *(np.concatenate(part) for part in zip(*parts, strict=True)), noise)

    @classmethod
    def of_rows(cls, basis, rows, noise):
        matrix = full_rows(basis, rows)
        targets = rows.targets()
        return cls(basis, matrix, targets, np.linalg.norm(matrix, axis=1), noise)

    def features(self, points):
        return self.basis.derivative(points, 0).reshape(len(points), -1)

    def mean(self, points, shift, scale):
        return self.features(points) @ self.means @ np.array([1.0, -shift]) / scale

    def covariance(self, points):
        left = solve_triangular(self.factor.T, self.features(points).T, lower=True)
        return left.T @ left


def given_sum(*arguments):
    return additive.given_sum(*arguments).process()


def random_points(rng, n=30):
    return rng.uniform(-1.0, 1.0, (n, BOX.dim))


def true_values(scaled):
    return np.asarray(jax.vmap(truth)(jnp.asarray(BOX.unscale(scaled))))


def mean_of(prior, points, shift=SHIFT, scale=SCALE):
    return shift + scale * prior.mean(prior.locate(points), Standard(shift, scale))


def value_condition(scaled):
    """The truth's values at points."""
    pde = PDE(lambda f: f)
    return Condition(JetPDE(BOX, pde), scaled, true_values(scaled)[:, None])


# ---------------------------------------------------------------- against dense least squares


def agree(prior, dense, points, tolerance):
    """Tolerances of a prior variance of ten."""
    covariance = dense.covariance(points)
    np.testing.assert_allclose(prior.covariance_matrix(points), covariance, atol=tolerance)
    np.testing.assert_allclose(prior.variance(prior.locate(points))[0], np.diag(covariance), atol=tolerance)
    expected = SHIFT + SCALE * dense.mean(points, SHIFT, SCALE)
    np.testing.assert_allclose(mean_of(prior, points), expected, atol=tolerance)


@pytest.mark.parametrize("conditioned", [False, True])
@pytest.mark.parametrize("name", SEPARABLE)
def test_axis_by_axis_is_the_same_as_all_axes_at_once(name, conditioned, rng, monkeypatch):
    basis, line = sines(Q, 0.2, BOX.dim), setting(name).lines.rows()
    extra = [value_condition(random_points(rng, 2)).rows()] if conditioned else []
    dense = Dense.of_lines(basis, [line], extra, NOISE)
    agree(given_sum(basis, [line], extra, NOISE), dense, random_points(rng), 1e-4)
    # what differs is what was neglected
    monkeypatch.setattr(additive, "_NEGLIGIBLE", 1e-9)
    agree(given_sum(basis, [line], extra, NOISE), dense, random_points(rng), 1e-7)


def test_two_equations_are_taken_together(rng):
    basis = sines(Q, 0.2, BOX.dim)
    lines = [setting(name).lines.rows() for name in ("laplacian", "euler")]
    prior, points = given_sum(basis, lines, [], NOISE), random_points(rng)
    agree(prior, Dense.of_lines(basis, lines, [], NOISE), points, 1e-4)
    alone = given_sum(basis, lines[:1], [], NOISE)
    assert np.trace(prior.covariance_matrix(points)) < 0.5 * np.trace(alone.covariance_matrix(points))


@pytest.mark.parametrize("name", SEPARABLE)
def test_a_row_of_an_axis_is_the_row_at_its_point_less_a_multiple_of_the_row_at_the_base(name):
    """Hence the two sets of rows say the same."""
    jets, line = setting(name).jets, setting(name).lines
    basis = sines(Q, 0.2, BOX.dim)
    plain = jets.rows(line.points.reshape(-1, BOX.dim), line.source)
    base = jets.rows(line.bases, line.base_source)
    matrix, targets = axis_rows(basis, line.rows())
    k = len(base)

    def joined(functionals, rows):
        return np.column_stack([functionals, rows.targets()]).reshape(-1, k, functionals.shape[1] + 2)

    at_base = joined(full_rows(basis, base), base)
    at_points = joined(full_rows(basis, plain), plain)
    subtracted = at_points - np.column_stack([matrix, targets]).reshape(at_points.shape)
    multiple = np.sum(subtracted * at_base, axis=2, keepdims=True) / np.sum(at_base**2, axis=2)[..., None]
    np.testing.assert_allclose(subtracted, multiple * at_base, atol=1e-12 * np.max(np.abs(at_points)))


@pytest.mark.parametrize("name", SEPARABLE)
def test_what_the_equation_leaves_open_holds_the_truth(name, rng):
    """The truth differs from the mean by a function that the left covariance allows, and by no other."""
    basis = sines(32, 0.2, BOX.dim)
    prior = given_sum(basis, [setting(name).lines.rows()], [], 1e-5)
    points = random_points(rng, 60)
    gap = (true_values(points) - mean_of(prior, points)) / SCALE
    eigenvalues, vectors = np.linalg.eigh(prior.covariance_matrix(points))
    free = eigenvalues > 1e-6 * eigenvalues[-1]
    assert free.sum() < 12
    forbidden = vectors[:, ~free].T @ gap
    assert np.linalg.norm(forbidden) < 1e-3 * np.linalg.norm(true_values(points))


@pytest.mark.parametrize("name", SEPARABLE)
def test_the_truth_obeys_the_rows_of_the_axes(name):
    """own = the row of the truth, whatever was subtracted."""
    found = setting(name)
    rows = found.lines.rows()
    half, centre = BOX.half_width, BOX.centre

    def axis_jet(i, t, orders):
        """Derivatives of the i-th term in the scaled coordinate."""

        def term(s):
            x = centre[i] + half[i] * s
            return jnp.sin(1.3 * x + i) + 0.2 * x**2

        out = []
        for _ in range(orders):
            out.append(np.asarray(jax.vmap(term)(jnp.asarray(t))))
            term = jax.grad(term)
        return np.stack(out, axis=-1)

    orders = rows.pure.shape[-1]
    for i in range(BOX.dim):
        here = np.einsum("mko,mo->mk", rows.pure[i], axis_jet(i, rows.positions[i], orders))
        at_base = axis_jet(i, rows.base.points[:1, i], orders)[0]
        there = np.einsum("mko,o->mk", rows.base_pure[i], at_base)
        size = np.abs(here).max() + np.abs(there).max() + np.abs(rows.own[i]).max()
        np.testing.assert_allclose(here - there, rows.own[i], atol=1e-11 * size)


# ---------------------------------------------------------------- basis


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_derivatives_of_the_basis_are_derivatives(order, rng):
    basis, t = sines(12, 0.1, 2), rng.uniform(-1.0, 1.0, (5, 3))
    step = 1e-5
    up, down = basis.derivative(t + step, order - 1), basis.derivative(t - step, order - 1)
    expected = (up - down) / (2 * step)
    found = basis.derivative(t, order)
    assert found.shape == (5, 3, 14)
    np.testing.assert_allclose(found, expected, atol=1e-7 * np.max(np.abs(found)))


def test_the_basis_is_a_constant_a_slope_and_sines_that_vanish_at_the_ends_of_the_larger_interval():
    basis, t = sines(6, 0.1, 2), np.linspace(-1.0, 1.0, 9)
    values = basis.derivative(t, 0)
    assert np.ptp(values[:, 0]) == 0.0
    np.testing.assert_allclose(np.diff(values[:, 1], n=2), 0.0, atol=1e-15)
    for k in range(1, 7):
        wave = np.sin(k * np.pi / 2.6 * (t + 1.3))
        np.testing.assert_allclose(values[:, 1 + k] / values[0, 1 + k], wave / wave[0], atol=1e-12)


@pytest.mark.parametrize("scale", [0.02, 0.05, 0.1, 0.2, 0.4])
@pytest.mark.parametrize("dim", [1, 4])
def test_the_variation_of_the_prior_has_about_unit_variance_over_the_box(scale, dim):
    t = np.linspace(-1.0, 1.0, 201)
    waves = sines(128, scale, dim).derivative(t, 0)[:, 2:]
    variance = dim * np.sum(waves**2, axis=1)
    assert np.all((variance > 0.8) & (variance < 1.25))


def test_a_longer_scale_makes_smoother_functions():
    t = np.linspace(-1.0, 1.0, 50)
    roughness = [
        np.mean(np.sum(sines(64, scale, 1).derivative(t, 1)[:, 2:] ** 2, axis=1))
        for scale in (0.05, 0.1, 0.2, 0.4)
    ]
    assert all(long < 0.5 * short for short, long in pairwise(roughness))


def test_the_jets_of_a_sum_are_its_derivatives(rng):
    """Those in one coordinate; mixed ones vanish, and the shift is in the function alone."""
    basis = sines(6, 0.3, 3)
    jets = AdditiveJets(basis, rng.normal(size=(3, 8)), shift=5.0, scale=0.5)
    points = random_points(rng, 6)
    indices = np.array([[0, 0, 0], [1, 0, 0], [0, 0, 1], [0, 2, 0], [1, 1, 0], [1, 0, 2]])
    found = jets(points, indices)

    def value(p):
        return jets(p, indices[:1])[:, 0]

    def slope(p, i, step=1e-4):
        move = step * np.eye(3)[i]
        return (value(p + move) - value(p - move)) / (2 * step)

    def curvature(p, i, step=1e-3):
        move = step * np.eye(3)[i]
        return (value(p + move) - 2 * value(p) + value(p - move)) / step**2

    expected = 5.0 + 0.5 * np.einsum("ndq,dq->n", basis.derivative(points, 0), jets.weights)
    np.testing.assert_allclose(found[:, 0], expected)
    np.testing.assert_allclose(found[:, 1], slope(points, 0), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(found[:, 2], slope(points, 2), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(found[:, 3], curvature(points, 1), rtol=1e-3, atol=1e-3)
    np.testing.assert_array_equal(found[:, 4:], 0.0)


# ---------------------------------------------------------------- which operators separate


@pytest.mark.parametrize("name", ENTANGLED)
def test_an_operator_that_does_not_separate_is_recognised(name):
    assert setting(name).lines.rows() is None


def test_no_family_of_sums_is_built_for_an_equation_that_no_sum_obeys():
    """The gradient of x y, at the points on the axes already."""
    pde = PDE(gradient, source=lambda x: jnp.stack([x[1], x[0], jnp.zeros_like(x[2])]))
    assert SumGivenPDE.build(Stated(BOX, (pde,), 0, 100, 1e-3)) is None


def test_a_positive_factor_of_all_coordinates_changes_nothing(rng):
    basis, points = sines(Q, 0.2, BOX.dim), random_points(rng)
    plain, heavy = (
        given_sum(basis, [setting(name).lines.rows()], [], NOISE) for name in ("laplacian", "weighted")
    )
    np.testing.assert_allclose(
        heavy.covariance_matrix(points), plain.covariance_matrix(points), rtol=1e-6, atol=1e-8
    )
    np.testing.assert_allclose(mean_of(heavy, points), mean_of(plain, points), atol=1e-6)


def test_lines_are_drawn_elsewhere_where_the_source_is_not_finite_and_not_at_all_where_it_never_is():
    def source(x):
        return jnp.where(x[0] > 0.4, jnp.nan, 1.0)

    never = JetPDE(BOX, PDE(laplacian, source=source))
    assert AxisCollocation.draw(never, 8, 0) is None
    # a ball in the middle, which the axes through some base points miss and those through others hit
    middle = jnp.asarray(BOX.centre)
    holed = PDE(laplacian, source=lambda x: jnp.where(jnp.sum((x - middle) ** 2) < 0.3, jnp.nan, 1.0))
    sometimes = JetPDE(BOX, holed)
    drawn = [AxisCollocation.draw(sometimes, 8, seed) for seed in range(4)]
    assert all(line is not None and np.isfinite(line.source).all() for line in drawn)
    first = [np.random.default_rng([seed, 41]).uniform(-0.9, 0.9, 3) for seed in range(4)]
    assert any(not np.array_equal(line.bases[0], base) for line, base in zip(drawn, first, strict=True))


# ---------------------------------------------------------------- conditions, slopes, truncation


@pytest.mark.parametrize("name", ["laplacian", "euler"])
def test_conditions_at_points_of_their_own_are_obeyed(name, rng):
    basis, points = sines(32, 0.2, BOX.dim), random_points(rng, 5)
    condition = value_condition(points)
    line = setting(name).lines.rows()
    free, held = (given_sum(basis, [line], extra, 1e-6) for extra in ([], [condition.rows()]))
    assert np.max(np.abs(mean_of(free, points) - true_values(points))) > 0.05
    np.testing.assert_allclose(mean_of(held, points), true_values(points), atol=1e-3)
    assert np.all(held.variance(held.locate(points))[0] < 1e-6)
    assert np.all(free.variance(free.locate(points))[0] > 1e-2)


def test_enough_conditions_leave_nothing_open(rng):
    """A harmonic-like equation for sums has two unknowns per axis, less one constraint, and one constant."""
    basis = sines(32, 0.2, BOX.dim)
    condition = value_condition(random_points(rng, 8))
    prior = given_sum(basis, [setting("laplacian").lines.rows()], [condition.rows()], 1e-6)
    points = random_points(rng)
    np.testing.assert_allclose(mean_of(prior, points), true_values(points), atol=1e-2)
    assert np.max(prior.variance(prior.locate(points))[0]) < 1e-3


@pytest.mark.parametrize("name", ["laplacian", "euler", "gradient"])
def test_slopes_of_features_covariance_and_variance_are_derivatives(name, rng):
    prior = given_sum(sines(Q, 0.2, BOX.dim), [setting(name).lines.rows()], [], NOISE)
    points, anchors = random_points(rng, 5), prior.locate(random_points(rng, 4))
    at = prior.locate(points, slopes=True)
    assert prior.locate(points).slopes is None
    np.testing.assert_allclose(at.features, prior.locate(points[::-1]).features[::-1], atol=1e-12)
    step = 1e-6

    def difference(function):
        moves = step * np.eye(BOX.dim)
        parts = [(function(points + move) - function(points - move)) / (2 * step) for move in moves]
        return np.stack(parts, axis=1)

    def near(found, function):
        expected = difference(function)
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-8 + 1e-6 * np.max(np.abs(expected)))

    near(at.slopes, lambda p: prior.locate(p).features)
    near(prior.covariance(at, anchors)[1], lambda p: prior.covariance(prior.locate(p), anchors)[0])
    near(prior.variance(at)[1], lambda p: prior.variance(prior.locate(p))[0])


def test_the_error_of_the_basis_falls_as_it_grows():
    problem = problems.get("rastrigin-2")
    line = AxisCollocation.draw(JetPDE(problem.space, problem.pde), 200, 0).rows()
    errors = [truncation(sines(q, 0.1, 2), [line], 1e-6) for q in (8, 16, 32, 64)]
    assert all(fine < coarse for coarse, fine in pairwise(errors))
    assert errors[0] > 0.5
    assert errors[-1] < 1e-6


def test_a_source_of_zero_has_no_error():
    line = AxisCollocation.draw(JetPDE(BOX, PDE(laplacian)), M, 0).rows()
    assert truncation(sines(4, 0.1, 3), [line], 1e-6) == 0.0


def test_the_error_of_the_basis_does_not_depend_on_the_units():
    small = 1e-14
    errors = []
    for unit in (1.0, small):
        pde = PDE(laplacian, source=lambda x, unit=unit: unit * laplacian(truth)(x))
        line = AxisCollocation.draw(JetPDE(BOX, pde), M, 0).rows()
        errors.append(truncation(sines(8, 0.1, 3), [line], 1e-6))
    assert errors[1] == pytest.approx(errors[0], rel=1e-6)


def test_given_sizes_make_rows_count_less(rng):
    """The noise is relative to the sizes: larger ones, weaker rows."""
    basis, line = sines(Q, 0.2, BOX.dim), setting("gradient").lines.rows()
    sizes = row_sizes(basis, [line])
    points = random_points(rng)
    same = given_sum(basis, [line], [], NOISE, sizes).covariance_matrix(points)
    np.testing.assert_allclose(same, given_sum(basis, [line], [], NOISE).covariance_matrix(points))
    larger = [[100.0 * part for part in parts] for parts in sizes]
    weak = given_sum(basis, [line], [], NOISE, larger).covariance_matrix(points)
    assert np.linalg.eigvalsh(weak - same).min() > -1e-9
    assert np.trace(weak) > np.trace(same) * (1 + 1e-5)


# ---------------------------------------------------------------- nonlinear


@pytest.mark.parametrize("unit", [1.0, 1e3])
def test_the_nonlinear_cosine_mixture_is_solved_up_to_a_constant(unit):
    problem = problems.get("cosine-mixture-4")
    pde = problem.pde
    if unit != 1.0:
        pde = PDE(lambda f: problem.pde.operator(lambda x: f(x) / unit))
    line = AxisCollocation.draw(JetPDE(problem.space, pde), 110, 0)
    points = problem.space.sobol(100, 1)
    values = unit * problem.truth(points)
    standard = Standard.of(values[:10])
    prior = solve_sum(sines(96, 0.1, 4), [line], [], standard, 1e-6).process()
    scaled = problem.space.scale(points)
    error = mean_of(prior, scaled, *standard) - values
    assert np.std(error) < 2e-3 * np.ptp(values)
    # the constant is open, and nothing else is
    eigenvalues, vectors = np.linalg.eigh(prior.covariance_matrix(scaled))
    assert eigenvalues[-2] < 1e-4 * eigenvalues[-1]
    assert np.std(vectors[:, -1]) < 1e-3 * np.abs(np.mean(vectors[:, -1]))


def test_a_condition_gives_the_constant_of_the_nonlinear_solution():
    problem = problems.get("cosine-mixture-2")
    line = AxisCollocation.draw(JetPDE(problem.space, problem.pde), 110, 0)
    at = np.array([[0.3, -0.2]])
    value = problem.truth(problem.space.unscale(at))
    condition = Condition(JetPDE(problem.space, PDE(lambda f: f)), at, value[:, None])
    prior = solve_sum(sines(96, 0.1, 2), [line], [condition], Standard(0.5, 1.0), 1e-6).process()
    points = problem.space.sobol(50, 1)
    found = mean_of(prior, problem.space.scale(points), 0.5, 1.0)
    np.testing.assert_allclose(found, problem.truth(points), atol=5e-3 * problem.range)


def test_a_nonlinear_operator_that_does_not_separate_gives_none():
    pde = PDE(lambda f: lambda x: f(x) * partial(f, 0)(x) + partial(f, 1)(x), source=1.0)
    line = AxisCollocation.draw(JetPDE(BOX, pde), M, 0)
    assert solve_sum(sines(Q, 0.2, 3), [line], [], Standard(1.0, 1.0), 1e-6) is None


@pytest.mark.parametrize(
    "unit",
    [1.0, 1e5],
)
def test_rows_that_vanish_tell_nothing(unit, rng):
    """|grad f|^2 = g has no slope at a constant, where the iteration begins."""
    pde = PDE(lambda f: lambda x: jnp.sum(gradient(f)(x) ** 2), source=unit)
    line = AxisCollocation.draw(JetPDE(BOX, pde), M, 0)
    basis, points = sines(Q, 0.2, BOX.dim), random_points(rng)
    prior = given_sum(basis, [line.rows()], [], NOISE)
    features = basis.derivative(points, 0).reshape(len(points), -1)
    np.testing.assert_allclose(prior.covariance_matrix(points), features @ features.T, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(mean_of(prior, points), SHIFT, atol=1e-9)


def test_a_basis_grows_until_it_holds_the_solutions_of_a_homogeneous_equation():
    """Michalewicz' terms are narrow lobes: a basis that is too coarse for them would leave nothing of them."""
    problem = problems.get("michalewicz-6")
    space = problem.space
    family = SumGivenPDE.build(Stated(space, (problem.pde,), 0, 100, 1e-3))
    empty = Data(np.zeros((0, 6)), np.zeros(0), np.zeros(0), np.zeros((0, 6)))
    prior = family.process((0.005,), empty)
    last = np.tile(space.scale(problem.x_best[None])[0], (2001, 1))
    last[:, -1] = np.linspace(-1.0, 1.0, 2001)
    features = prior.locate(last).features[:, :-2]
    lobes = problem.truth(space.unscale(last))
    columns = np.column_stack([features, np.ones(2001)])
    error = lobes - columns @ np.linalg.lstsq(columns, lobes, rcond=1e-8)[0]
    assert np.sqrt(np.mean(error**2)) < 0.05 * np.std(lobes)
