"""Fields that are constant along curves: against the kernel given many rows, against circles, lines and parabolas."""

from functools import cache

import jax.numpy as jnp
import numpy as np
import pytest

from pinnbo import PDE, Optimizer, Space
from pinnbo.data import Data
from pinnbo.ensemble.curve_family import ConstantOnCharacteristics
from pinnbo.gp.conditioning import given
from pinnbo.gp.invariant import MeansOnCurves
from pinnbo.gp.kernels import RBF
from pinnbo.gp.sines import frequencies
from pinnbo.operators import gradient, laplacian, partial
from pinnbo.physics.curves import Characteristics
from pinnbo.physics.jets import JetPDE

PLANE = Space(x=(-4.0, 4.0), y=(-2.0, 3.0))
CENTRE = np.array([0.6, 0.2])
SQUARE = Space(x=(-1.0, 1.0), y=(-1.0, 1.0))
STEP = 2.7 / frequencies(56)[-1]  # that of the family: nothing is compiled twice
NOTHING = Data(np.zeros((0, 2)), np.zeros(0), np.zeros(0), np.zeros((0, 2)))


def turning(centre):
    return lambda f: lambda x: (x[0] - centre[0]) * partial(f, 1)(x) - (x[1] - centre[1]) * partial(f, 0)(x)


rotation, about_the_middle, about_a_place = map(turning, (CENTRE, (0.0, 0.0), (0.1, 0.2)))


def transport(f):
    return lambda x: partial(f, 0)(x) + 0.5 * partial(f, 1)(x)


def in_space(f):
    return lambda x: partial(f, 0)(x) + x[0] * partial(f, 2)(x)


OPERATORS = {"rotation": (rotation, PLANE), "transport": (transport, PLANE)}
OPERATORS["in space"] = (in_space, Space.box([-1.0] * 3, [1.0] * 3))


@cache
def equation(operator):
    """Compiled once for all tests."""
    return PDE(operator)


@cache
def characteristics_of(operator, space=PLANE):
    found = Characteristics.of(space, (equation(operator),))
    assert found is not None
    return found


@cache
def family(operator, space=PLANE):
    return ConstantOnCharacteristics(MeansOnCurves(characteristics_of(operator, space)))


def on_circles(radius, angles):
    return PLANE.scale(CENTRE + radius * np.stack([np.cos(angles), np.sin(angles)], axis=1))


def on_lines(offset, lengths):
    return PLANE.scale(np.array([-1.0, offset]) + lengths[:, None] * np.array([1.0, 0.5]))


def on_parabolas(start, lengths):
    x = lengths - 0.5
    return np.stack([x, np.full_like(x, start), 0.5 * x**2 - 0.2], axis=1)


CURVES = {"rotation": on_circles, "transport": on_lines, "in space": on_parabolas}


@pytest.mark.parametrize("name", OPERATORS)
def test_values_on_one_curve_are_the_same(name, rng):
    operator, space = OPERATORS[name]
    models = family(operator, space)
    one = CURVES[name](0.7, rng.uniform(0.0, 1.2, 6))
    other = CURVES[name](-0.4, rng.uniform(0.0, 1.2, 3))
    assert {alike for _, alike in models._resolved} == {0.0, 1.0}
    for scales in models._resolved:
        covariance = models.process(scales, NOTHING).covariance_matrix(np.concatenate([one, other])) - 9.0
        deviation = np.sqrt(np.diag(covariance))
        correlation = covariance / np.outer(deviation, deviation)
        np.testing.assert_allclose(correlation[:6, :6], 1.0, atol=2e-3)
        np.testing.assert_allclose(correlation[6:, 6:], 1.0, atol=2e-3)
        if scales[1]:
            np.testing.assert_allclose(deviation, 1.0, rtol=5e-3)
        if scales[0] < 0.2 and name != "rotation":
            assert np.max(np.abs(correlation[:6, 6:])) < 0.2


@pytest.mark.parametrize("name", OPERATORS)
def test_few_directions_hold_what_all_do(name, rng):
    operator, space = OPERATORS[name]
    models = family(operator, space)
    points = np.concatenate(
        [rng.uniform(-1, 1, (40, space.dim)), np.sign(rng.uniform(-1, 1, (4, space.dim)))]
    )
    for scales in models._resolved:
        prior = models.process(scales, NOTHING)
        few, expected = prior.on_features(points), prior.covariance_matrix(points)
        assert few.rank <= 513
        np.testing.assert_allclose(
            few.covariance_matrix(points), expected, atol=1e-2 * np.max(expected - 9.0)
        )


@pytest.mark.parametrize("beyond", [False, True])
def test_a_closed_curve_is_gone_round_once(beyond):
    characteristics = characteristics_of(rotation)
    for radius in (0.05, 0.5, 1.5):
        places, weights, *_ = characteristics.curves(on_circles(radius, np.array([0.3, 4.0])), STEP, beyond)
        middle = np.einsum("nk,nkd->nd", weights, places)
        np.testing.assert_allclose(middle, np.repeat(PLANE.scale(CENTRE)[None], 2, axis=0), atol=2e-3)
        distance = np.linalg.norm(PLANE.unscale(places) - CENTRE, axis=2)
        np.testing.assert_allclose(distance[weights > 0], radius, rtol=0.02)
        np.testing.assert_allclose(weights.sum(axis=1), 1.0)


def test_an_equation_says_nothing_below_what_the_basis_resolves():
    models = family(rotation)
    finer = [scales for scales in models.grid if scales not in models._resolved]
    assert len(finer) == 1
    assert finer[0] < min(models._resolved)
    assert not models.process(finer[0], NOTHING).has_physics
    assert all(models.process(scales, NOTHING).has_physics for scales in models._resolved)


def test_a_curve_that_is_followed_beyond_the_box_is_one_curve_where_it_comes_back():
    """A circle that is larger than the box: four arcs in its corners, of which one is seen otherwise."""
    means = MeansOnCurves(characteristics_of(about_the_middle, SQUARE))
    assert means.continued is not None
    angles = np.pi / 4 + np.pi / 2 * np.arange(4) + np.array([0.0, 0.1, -0.1, 0.05])
    corners = 1.2 * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    arc = 0.5 * np.pi - 2.0 * np.arccos(1.0 / 1.2)
    for beyond, n_arcs in ((False, 1), (True, 4)):
        places, weights, *_ = means.characteristics.curves(corners, STEP, beyond)
        used = places[weights > 0]
        assert np.max(np.abs(used)) <= 1.0 + 1e-5
        np.testing.assert_allclose(np.linalg.norm(used, axis=1), 1.2, rtol=1e-3)
        # every step has the same share of the whole
        assert np.max(weights) == pytest.approx(STEP / (1.2 * arc * n_arcs), rel=0.05)
        models = ConstantOnCharacteristics(means.continued if beyond else means)
        covariance = models.process((float(np.sqrt(2.0) / 16), 1.0), NOTHING).covariance_matrix(corners) - 9.0
        expected = np.ones((4, 4)) if beyond else np.eye(4)
        np.testing.assert_allclose(covariance, expected, atol=0.02)


@pytest.mark.parametrize("beyond", [False, True])
def test_a_curve_is_not_short_because_the_box_ends(beyond):
    """A circle through a corner touches the box there alone; the centre is the only curve that is a point."""
    means = MeansOnCurves(characteristics_of(about_a_place, SQUARE), beyond)
    points = np.array([[0.1, 0.2], [0.6, 0.2], [-1.0, -1.0], [-0.99, -0.99]])
    lengths = 2 * np.pi * np.linalg.norm(points - points[0], axis=1)
    found = means.at(points)
    np.testing.assert_allclose(found.whole, lengths, atol=0.01)
    np.testing.assert_allclose(found.inside[:2], lengths[:2], atol=0.01)
    assert np.all(found.inside[2:] < 0.06)
    prior = ConstantOnCharacteristics(means).process((float(np.sqrt(2.0) / 8), 0.0), NOTHING)
    variance = prior.variance(prior.locate(points))[0] - 9.0
    assert variance[0] == pytest.approx(1.0, abs=0.02)
    # of a mean over a line that is as long as the circle, by quadrature
    t = np.linspace(0.0, lengths[2], 2001)
    expected = np.mean(np.exp(-0.5 * ((t[:, None] - t) / prior.features.length) ** 2))
    np.testing.assert_allclose(variance[2:], expected, rtol=0.1)


def test_lines_never_come_back():
    assert MeansOnCurves(characteristics_of(transport)).continued is None


def test_a_curve_ends_on_the_faces_and_a_point_of_rest_is_a_curve():
    characteristics = characteristics_of(transport)
    places, weights, *_ = characteristics.curves(
        PLANE.scale(np.array([[0.0, 0.5], [3.9, -1.9]])), STEP, False
    )
    assert np.max(np.abs(places)) <= 1.0 + 1e-5
    # all of y = x / 2 + 1/2 that is in the box: from x = -4 to 4
    used = PLANE.unscale(places[0][weights[0] > 0])
    assert used[:, 0].min() == pytest.approx(-4.0, abs=1e-4)
    assert used[:, 0].max() == pytest.approx(4.0, abs=1e-4)
    middle = np.einsum("nk,nkd->nd", weights, places)
    np.testing.assert_allclose(PLANE.unscale(middle[0]), [0.0, 0.5], atol=1e-3)
    np.testing.assert_allclose(PLANE.unscale(middle[1]), [3.85, -1.925], atol=1e-3)
    places, weights, *_ = characteristics_of(rotation).curves(PLANE.scale(CENTRE)[None], STEP, False)
    np.testing.assert_allclose(np.einsum("nk,nkd->nd", weights, places)[0], PLANE.scale(CENTRE), atol=1e-9)


def test_it_is_the_kernel_given_the_symmetry():
    """Rotations of a square box: 1,500 rows on a kernel of a long length scale leave what the mean over circles has."""
    pde = equation(about_the_middle)
    length = float(np.sqrt(2.0) / 4)
    models = ConstantOnCharacteristics(MeansOnCurves(characteristics_of(about_the_middle, SQUARE)))
    mine = models.process((length, 0.0), NOTHING)
    points = SQUARE.sobol(1500, 4)
    rows = JetPDE(SQUARE, pde).rows(SQUARE.scale(points), pde.source_at(points))
    its = given(RBF(np.full(2, length)), rows, 1.0, 1e-4).process()
    inside = np.random.default_rng(0).uniform(-0.6, 0.6, (12, 2))  # circles that lie in the box
    np.testing.assert_allclose(mine.covariance_matrix(inside), its.covariance_matrix(inside), atol=0.02)


@pytest.mark.parametrize("alike", [0.0, 1.0])
@pytest.mark.parametrize("name", OPERATORS)
def test_features_have_the_slopes_they_claim(name, alike, rng):
    operator, space = OPERATORS[name]
    models = family(operator, space)
    points = rng.uniform(-0.9, 0.9, (8, space.dim))
    prior = models.process((models._resolved[-1][0], alike), NOTHING)
    found = prior.locate(points, slopes=True)
    np.testing.assert_array_equal(found.features, prior.locate(points).features)
    moves = 1e-5 * np.eye(space.dim)
    change = [(prior.locate(points + m).features - prior.locate(points - m).features) / 2e-5 for m in moves]
    differences = np.stack(change, axis=1)
    velocity = prior.features.means.characteristics.velocity(points)
    along = velocity / np.linalg.norm(velocity, axis=1, keepdims=True)
    across = np.eye(space.dim) - along[:, :, None] * along[:, None, :]
    largest = np.max(np.abs(differences))
    np.testing.assert_allclose(
        across @ found.slopes, across @ differences, atol=1e-3 * largest, err_msg="across the curve"
    )
    np.testing.assert_allclose(along[:, None] @ found.slopes, 0.0, atol=1e-9 * largest)
    # a mean over steps that begin elsewhere on the curve is not quite the same
    np.testing.assert_allclose(along[:, None] @ differences, 0.0, atol=0.05 * largest)


@pytest.mark.parametrize(
    "pde",
    [
        PDE(laplacian),
        PDE(rotation, source=1.0),
        PDE(rotation, noise=0.1),
        PDE(rotation, points=[[0.0, 0.0]]),
        PDE(gradient),
        PDE(lambda f: lambda x: rotation(f)(x) + f(x)),
        PDE(lambda f: lambda x: rotation(f)(x) ** 2),
        PDE(lambda f: lambda x: rotation(f)(x) + 1.0),
    ],
    ids=["second order", "source", "noise", "points", "system", "f itself", "nonlinear", "inhomogeneous"],
)
def test_other_equations_are_left_to_the_kernel(pde):
    assert Characteristics.of(PLANE, (pde,)) is None
    assert Characteristics.of(PLANE, (PDE(rotation), pde)) is None


def test_a_radial_function_is_known_everywhere_on_circles_that_were_measured(rng):
    def radial(points):
        distance = np.linalg.norm(points - CENTRE, axis=1)
        return np.cos(9.0 * distance) / (1.0 + 0.2 * distance)

    points = PLANE.sobol(40, 3)
    optimizer = Optimizer(PLANE, equation(rotation), seed=0, noise=0.01)
    optimizer.tell(points, radial(points) + 0.01 * rng.standard_normal(40))
    told = optimizer.diagnostics()
    assert told["trust"] > 0.999
    assert told["model"].startswith("constant on characteristics")
    unseen = PLANE.sobol(300, 8)
    mean, std = optimizer.predict(unseen)
    alone = Optimizer(PLANE, None, seed=0, noise=0.01)
    alone.tell(points, radial(points) + 0.01 * rng.standard_normal(40))
    error, without = (np.sqrt(np.mean((m - radial(unseen)) ** 2)) for m in (mean, alone.predict(unseen)[0]))
    assert error < 0.5 * without
    assert np.mean(np.abs(mean - radial(unseen)) <= 1.96 * std) > 0.85


def test_a_field_that_is_smoother_than_the_basis_is_left_to_a_kernel(rng):
    operator, cube = OPERATORS["in space"]

    def smooth(points):
        return np.sin(points[:, 1]) + (points[:, 2] - 0.5 * points[:, 0] ** 2) ** 2

    points, unseen = cube.sobol(20, 1), cube.sobol(300, 8)
    optimizer = Optimizer(cube, equation(operator), seed=0, noise=0.03)
    optimizer.tell(points, smooth(points) + 0.03 * rng.standard_normal(20))
    assert optimizer.diagnostics()["model"].startswith("rbf")
    mean, _ = optimizer.predict(unseen)
    assert np.sqrt(np.mean((mean - smooth(unseen)) ** 2)) < 0.02 * np.ptp(smooth(unseen))


@pytest.mark.filterwarnings("ignore::pinnbo.methods.auto.PhysicsWarning")
def test_a_symmetry_whose_centre_is_misplaced_is_found_out_and_costs_nothing(rng):
    def radial(points):
        return np.cos(2.0 * np.linalg.norm(points - CENTRE - [0.0, 0.8], axis=1))

    points, unseen = PLANE.sobol(40, 3), PLANE.sobol(300, 8)
    values = radial(points) + 0.01 * rng.standard_normal(40)
    errors = []
    for pde in (equation(rotation), None):
        optimizer = Optimizer(PLANE, pde, seed=0, noise=0.01)
        optimizer.tell(points, values)
        errors.append(np.sqrt(np.mean((optimizer.predict(unseen).mean - radial(unseen)) ** 2)))
        assert pde is None or optimizer.diagnostics()["trust"] < 1e-3
    assert errors[0] < 1.05 * errors[1]


def test_a_field_that_is_not_finite_somewhere_ends_a_curve_there():
    pde = PDE(lambda f: lambda x: partial(f, 0)(x) + jnp.sqrt(2.5 - x[1]) * partial(f, 1)(x))
    space = Space(x=(-1.0, 1.0), y=(0.0, 2.0))
    characteristics = Characteristics.of(space, (pde,))
    means = MeansOnCurves(characteristics).at(np.random.default_rng(0).uniform(-1.0, 1.0, (50, 2)))
    assert all(np.isfinite(part).all() for part in means)
