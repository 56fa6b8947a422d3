"""Other coordinates: against finite differences and the operator itself, and what is known with them."""

from functools import cache
from itertools import product

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pinnbo import PDE, Optimizer, Space
from pinnbo.data import Data
from pinnbo.ensemble.family import Stated
from pinnbo.ensemble.sum_family import SumGivenPDE
from pinnbo.gp.conditioning import given
from pinnbo.gp.kernels import RBF
from pinnbo.gp.posterior import condition
from pinnbo.methods.auto import Auto
from pinnbo.operators import biharmonic, directional, gradient, laplacian, partial
from pinnbo.physics.axes import AxisCollocation
from pinnbo.physics.coordinates import BOX as THE_BOX
from pinnbo.physics.coordinates import Rotated, Stretched
from pinnbo.physics.jets import JetPDE
from pinnbo.physics.rotation import separating_rotation

BOX = Space(x=(-1.0, 3.0), y=(0.5, 1.2))
FINE = Stretched()
OBLIQUE = Rotated(np.array([[0.7, -0.3], [0.2, 0.8]]))
EVERY = {"box": THE_BOX, "stretched": FINE, "rotated": OBLIQUE}
OPERATORS = {
    "laplacian": laplacian,
    "fourth": lambda f: lambda x: x[1] * partial(f, 0, order=4)(x) - partial(f, 1, order=3)(x),
    "transport": lambda f: lambda x: x[1] * partial(f, 0)(x) - 0.3 * partial(f, 1, order=2)(x) + f(x) / x[1],
}


def differences(function, points, step=1e-5):
    moves = step * np.eye(points.shape[1])
    return np.stack([(function(points + m) - function(points - m)) / (2 * step) for m in moves], axis=1)


def jet_of(function, points, indices):
    """All derivatives at points, out of tables of all partial derivatives of each order."""
    tables = []
    for _ in range(int(indices.sum(axis=1).max()) + 1):
        tables.append(np.asarray(jax.jit(jax.vmap(function))(jnp.asarray(points))))
        function = jax.jacfwd(function)
    axes = [np.repeat(np.arange(len(index)), index) for index in indices]
    return np.stack([tables[len(a)][(slice(None), *a)] for a in axes], axis=1)


@cache
def processes(name):
    """A kernel given an equation in other coordinates, and the same on features."""
    coordinates, pde = EVERY[name], PDE(lambda f: lambda x: laplacian(f)(x) + f(x), source=2.0)
    points = BOX.unscale(coordinates.even(BOX.scale(BOX.sobol(200, 2))))
    rows = JetPDE(BOX, pde, coordinates).rows(coordinates.of(BOX.scale(points)), pde.source_at(points))
    full = given(RBF(np.full(2, 0.6)), rows, 1.0, 1e-3, coordinates=coordinates)
    return {"kernel": full.process(), "features": full.compressed()}


# ---------------------------------------------------------------- the coordinates themselves


@pytest.mark.parametrize("name", EVERY)
def test_there_and_back(name, rng):
    coordinates = EVERY[name]
    corners = np.array([[-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0], [1.0, 1.0]])
    scaled = np.concatenate([rng.uniform(-1, 1, (50, 2)), corners])
    assert np.max(np.abs(coordinates.of(scaled))) == pytest.approx(1.0)
    np.testing.assert_allclose(coordinates.back(coordinates.of(scaled)), scaled, rtol=1e-12, atol=1e-12)


def test_what_lies_outside_a_rotated_box_goes_to_the_nearest_in_it(rng):
    outside = OBLIQUE.back(rng.uniform(-1.0, 1.0, (50, 2)))
    assert np.max(np.abs(outside)) <= 1.0


def test_stretched_coordinates_are_finer_towards_the_faces():
    np.testing.assert_allclose(FINE.of(np.array([[-1.0, 1.0]])), [[-1.0, 1.0]], rtol=1e-12)
    drawn = FINE.even(BOX.scale(BOX.sobol(256, 3)))
    assert np.max(np.abs(drawn)) <= 1.0
    # a tenth of the width at each end holds a fifth of the points if they are even in the box, more here
    assert np.mean(np.abs(drawn[:, 0]) > 0.8) > 0.35
    points = BOX.scale(BOX.sobol(8, 3))
    for others in (THE_BOX, OBLIQUE):
        np.testing.assert_array_equal(others.even(points), points)


def test_derivatives_of_the_coordinates(rng):
    scaled = rng.uniform(-0.97, 0.97, (20, 2))
    found = FINE.expansion(scaled, 4)
    derivative = lambda s: jnp.arcsin(jnp.sin(1.5) * s) / 1.5  # noqa: E731
    for order in range(4):
        derivative = jax.grad(derivative)
        expected = jax.vmap(jax.vmap(derivative))(jnp.asarray(scaled))
        np.testing.assert_allclose(found[:, order], expected, rtol=1e-9)


@pytest.mark.parametrize("name", EVERY)
def test_slopes_are_pulled_back_by_the_chain_rule(name, rng):
    coordinates, maps = EVERY[name], rng.normal(size=(2, 3))
    scaled = rng.uniform(-0.9, 0.9, (5, 2))

    def function(s):
        return np.sin(coordinates.of(s) @ maps)

    in_u = np.cos(coordinates.of(scaled) @ maps)[:, None] * maps
    np.testing.assert_allclose(coordinates.pulled(in_u, scaled), differences(function, scaled), atol=1e-8)


# ---------------------------------------------------------------- the equation in them


@pytest.mark.parametrize(
    ("name", "operator"),
    [
        *product(["stretched", "rotated"], OPERATORS.values()),
        ("rotated", biharmonic),
        pytest.param("stretched", biharmonic, marks=pytest.mark.slow),
    ],
)
def test_rows_are_the_operator(name, operator, rng):
    """Jets in u by automatic differentiation of f(x(u)), rows against N[f] in the user's units."""
    pde, coordinates = PDE(operator), EVERY[name]
    jets = JetPDE(BOX, pde, coordinates)
    scaled = rng.uniform(-0.8, 0.8, (6, 2))
    at = coordinates.of(scaled)
    centre, half = jnp.asarray(BOX.centre), jnp.asarray(BOX.half_width)
    back = {
        "stretched": lambda u: jnp.sin(1.5 * u) / jnp.sin(1.5),
        "rotated": lambda u: jnp.linalg.solve(jnp.asarray(OBLIQUE.rotation), u),
    }[name]

    def f(x):
        return jnp.sin(1.3 * x[0] + 0.4) * jnp.exp(0.8 * x[1]) + x[0] ** 3 * x[1]

    def of_u(u):
        return f(centre + half * back(u))

    jet = jet_of(of_u, at, jets.derivatives)
    expected = jax.vmap(pde.apply(f))(jnp.asarray(BOX.unscale(scaled)))
    np.testing.assert_allclose(jets.values(at, jet), expected, rtol=1e-7, atol=1e-7)
    rows = jets.rows(at, np.zeros((6, 1)))
    np.testing.assert_allclose(
        np.sum(rows.coefficients * jet, axis=1), np.asarray(expected)[:, 0], rtol=1e-7, atol=1e-7
    )


@pytest.mark.parametrize("kind", ["kernel", "features"])
@pytest.mark.parametrize("name", EVERY)
def test_slopes_are_derivatives(name, kind, rng):
    prior, points = processes(name)[kind], rng.uniform(-0.9, 0.9, (5, 2))
    at, anchors = prior.locate(points, slopes=True), prior.locate(rng.uniform(-1.0, 1.0, (4, 2)))
    for found, function in (
        (at.slopes, lambda p: prior.locate(p).features),
        (prior.covariance(at, anchors)[1], lambda p: prior.covariance(prior.locate(p), anchors)[0]),
        (prior.variance(at)[1], lambda p: prior.variance(prior.locate(p))[0]),
    ):
        np.testing.assert_allclose(found, differences(function, points), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kind", ["kernel", "features"])
@pytest.mark.parametrize("name", EVERY)
def test_slopes_of_a_posterior(name, kind, rng):
    points = BOX.sobol(8, 1)
    data = Data(points, np.sin(points[:, 0]), np.full(8, 0.01), np.zeros((0, 2)))
    posterior = condition(processes(name)[kind], data, BOX)
    at = rng.uniform(-0.9, 0.9, (4, 2))
    moments = posterior.moments(at, slopes=True)
    np.testing.assert_allclose(
        moments.mean_slope, differences(lambda p: posterior.moments(p).mean, at), rtol=1e-3, atol=1e-4
    )
    np.testing.assert_allclose(
        moments.variance_slope, differences(lambda p: posterior.moments(p).variance, at), rtol=1e-3, atol=1e-4
    )


@pytest.mark.parametrize("name", EVERY)
def test_covariances_are_symmetric_and_positive(name, rng):
    points = rng.uniform(-1, 1, (30, 2))
    for prior in processes(name).values():
        matrix = prior.covariance_matrix(points)
        assert np.linalg.eigvalsh(matrix)[0] > -1e-8 * np.trace(matrix)
        np.testing.assert_allclose(
            np.diag(matrix), prior.variance(prior.locate(points))[0], rtol=1e-6, atol=1e-9
        )


@pytest.mark.parametrize("name", EVERY)
def test_on_features_it_predicts_the_same(name, rng):
    full = processes(name)["kernel"]
    points = rng.uniform(-1, 1, (60, 2))
    small = full.on_features(points)
    assert full.rank is None
    assert small.rank is not None
    np.testing.assert_allclose(
        small.covariance_matrix(points), full.covariance_matrix(points), atol=1e-4 * full.variation
    )


def test_a_jump_at_a_corner_does_not_spoil_the_inside():
    """The angle around a corner is harmonic, 0 on one face and pi / 2 on the next."""
    space = Space(x=(0.0, 1.0), y=(0.0, 1.0))

    def truth(points):
        return np.arctan2(points[:, 1], points[:, 0])

    optimizer = Optimizer(space, PDE(laplacian), method=Auto(odds=20.0), noise=0.01)
    places = np.linspace(0.04, 0.96, 5)
    faces = np.concatenate(
        [
            np.stack(pair, axis=1)
            for pair in (
                (places, 0 * places),
                (0 * places, places),
                (places, 0 * places + 1),
                (0 * places + 1, places),
            )
        ]
    )
    optimizer.tell(faces, truth(faces) + 0.01 * np.random.default_rng(0).standard_normal(20))
    inside = 0.15 + 0.7 * np.random.default_rng(1).uniform(size=(200, 2))
    mean, std = optimizer.predict(inside)
    error = np.abs(mean - truth(inside))
    assert np.sqrt(np.mean(error**2)) < 0.02 * np.pi / 2
    assert np.mean(error <= 1.96 * std) > 0.85
    assert "finer towards the faces" in optimizer.diagnostics()["model"]


# ---------------------------------------------------------------- in which a source is a sum

FOUR = Space(a=(-1.0, 2.0), b=(0.5, 1.5), c=(-3.0, -1.0), d=(0.0, 4.0))
RNG = np.random.default_rng(5)
ROTATION = np.linalg.qr(RNG.standard_normal((4, 4)))[0]
MATRICES = {
    "rotation": ROTATION,
    "oblique": ROTATION @ np.diag([1.0, 0.5, 2.0, 1.0]) @ (np.eye(4) + 0.3 * RNG.standard_normal((4, 4))),
}


def along_ones(f):
    return directional(f, jnp.ones_like)


SEPARABLE = {"laplacian": laplacian, "sum of slopes": along_ones, "gradient": gradient}


def truth(matrix):
    def f(x):
        y = jnp.asarray(matrix) @ x
        return jnp.sum(jnp.sin(1.3 * y + jnp.arange(4.0)) + 0.2 * y**2)

    return f


def equation(operator, matrix):
    return PDE(operator, source=operator(truth(matrix)))


def values_of(field, points):
    return np.asarray(jax.vmap(field)(jnp.asarray(points)))


def rotated_of(name="rotation"):
    found = separating_rotation(FOUR, [equation(along_ones, MATRICES[name])])
    assert found is not None
    return found


# ---------------------------------------------------------------- finding rotated ones


@pytest.mark.parametrize("operator", SEPARABLE)
@pytest.mark.parametrize("name", MATRICES)
def test_the_coordinates_of_a_sum_are_found(name, operator):
    """Up to their order, signs and sizes, in scaled coordinates."""
    rotated = separating_rotation(FOUR, [equation(SEPARABLE[operator], MATRICES[name])])
    assert rotated is not None
    expected = MATRICES[name] * FOUR.half_width
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    found = rotated.matrix / np.linalg.norm(rotated.matrix, axis=1, keepdims=True)
    alike = np.abs(found @ expected.T)
    np.testing.assert_allclose(np.sort(alike.max(axis=0)), 1.0, atol=1e-9)
    assert sorted(alike.argmax(axis=0).tolist()) == [0, 1, 2, 3]


def test_the_box_touches_the_faces_of_the_cube():
    np.testing.assert_allclose(np.sum(np.abs(rotated_of().matrix), axis=1), 1.0)


@pytest.mark.parametrize(
    "source",
    [
        0.0,
        lambda x: jnp.sum(jnp.sin(x)),  # the box' own coordinates do
        lambda x: jnp.where(x[0] > 0.5, jnp.inf, jnp.sum(jnp.sin(x))),  # where they are finite
        lambda x: jnp.sin(x[0] * x[1] + x[2] * x[3]),  # none do
        lambda x: jnp.sin(x[0] + x[1]),  # not enough to tell all of them
        lambda x: float(np.sin(float(x[0]) * float(x[1]))),  # no derivatives
    ],
)
def test_otherwise_there_are_none(source):
    assert separating_rotation(FOUR, [PDE(along_ones, source=source)]) is None


def test_one_coordinate_cannot_be_rotated():
    assert separating_rotation(Space(x=(0.0, 1.0)), [PDE(laplacian, source=lambda x: jnp.sin(x[0]))]) is None


@pytest.mark.parametrize("operator", SEPARABLE)
def test_an_equation_in_rotated_coordinates_says_the_same(operator):
    """Rows on jets in u against the operator on the function, in coordinates that have nothing to do with it."""
    pde, rotated = equation(SEPARABLE[operator], ROTATION), rotated_of("oblique")
    jets = JetPDE(FOUR, pde, rotated)
    scaled = FOUR.scale(FOUR.sobol(4, 1))
    inverse = jnp.asarray(rotated.inverse)
    centre, half = jnp.asarray(FOUR.centre), jnp.asarray(FOUR.half_width)

    def field(x):
        return jnp.sum(x**3) * x[0]

    def of_u(u):
        return field(centre + half * (inverse @ u))

    at = rotated.of(scaled)
    jet = jet_of(of_u, at, jets.derivatives)
    expected = jax.vmap(pde.apply(field))(jnp.asarray(FOUR.unscale(scaled)))
    np.testing.assert_allclose(jets.values(at, jet), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", MATRICES)
def test_collocation_points_stay_in_the_box(name):
    """Outside nothing is known about the equation."""
    rotated = rotated_of(name)
    lines = AxisCollocation.draw(JetPDE(FOUR, equation(along_ones, MATRICES[name]), rotated), 50, 0)
    for points in (lines.bases, lines.points.reshape(-1, 4)):
        assert np.max(np.abs(points @ rotated.inverse.T)) <= 1.0 + 1e-9
    # a point differs from its base along its own axis only
    moved = lines.points - lines.bases[lines.base_of]
    for i in range(4):
        assert not np.any(np.delete(moved[i], i, axis=1))
    # and the source is that of the user's equation there
    at = FOUR.unscale(rotated.back(lines.points.reshape(-1, 4)))
    np.testing.assert_allclose(lines.source, lines.pde.pde.source_at(at), rtol=1e-12)


def test_chords_of_a_rotation_reach_from_corner_to_corner():
    chords = rotated_of().chords
    for i in range(4):
        _, ends = chords(i)
        assert ends.min() == pytest.approx(-1.0)
        assert ends.max() == pytest.approx(1.0)
        order = np.argsort(ends[:, 0])
        assert np.all(ends[order][1:, 0] < ends[order][:-1, 1]), "they overlap"


# ---------------------------------------------------------------- what is known with them


@pytest.mark.parametrize("operator", SEPARABLE)
@pytest.mark.parametrize("name", MATRICES)
def test_a_sum_of_rotated_coordinates_is_known_from_few_values(name, operator):
    matrix = MATRICES[name]
    family = SumGivenPDE.build(Stated(FOUR, (equation(SEPARABLE[operator], matrix),), 0, 100, 1e-3))
    assert family is not None
    assert family.name.endswith("in rotated coordinates")
    points, unseen = FOUR.sobol(16, 1), FOUR.sobol(128, 2)
    field = truth(matrix)
    data = Data(points, values_of(field, points), np.full(16, 1e-4), np.zeros((0, 4)))
    best = max(
        (
            condition(process, data, FOUR)
            for scales in family.grid
            if (process := family.process(scales, data)) is not None
        ),
        key=lambda posterior: posterior.log_evidence,
    )
    error = best.moments(FOUR.scale(unseen)).mean[:, 0] - values_of(field, unseen)
    assert np.sqrt(np.mean(error**2)) < 0.01 * np.std(values_of(field, unseen))


def test_slopes_are_those_of_the_box():
    family = SumGivenPDE.build(Stated(FOUR, (equation(along_ones, ROTATION),), 0, 100, 1e-3))
    data = Data(FOUR.sobol(4, 1), np.arange(4.0), np.full(4, 0.1), np.zeros((0, 4)))
    process = family.process((0.4,), data)
    points = RNG.uniform(-0.9, 0.9, (3, 4))
    slopes = process.locate(points, slopes=True).slopes
    expected = differences(lambda p: process.locate(p).features, points)
    np.testing.assert_allclose(slopes, expected, atol=1e-6 * np.max(np.abs(slopes)))


def test_a_source_that_couples_axes_is_no_sum_of_the_box():
    """Rows on the axes through one point do not show it."""

    def source(x):
        return float(np.sin(2.0 * x[0] * x[1]) + x[2] * x[3])

    assert SumGivenPDE.build(Stated(FOUR, (PDE(along_ones, source=source),), 0, 100, 1e-3)) is None


def test_a_rotated_bowl_with_many_hollows_is_solved():
    """Six coordinates, 3^6 hollows; the sum of the slopes is known."""
    rotation = np.linalg.qr(np.random.default_rng(3).standard_normal((6, 6)))[0]

    def field(x):
        y = jnp.asarray(rotation) @ x - 0.3
        return jnp.sum(y**2 - 0.3 * jnp.cos(8.0 * y))

    space = Space.box(-np.ones(6), np.ones(6))
    pde = PDE(along_ones, source=along_ones(field))
    optimizer = Optimizer(space, pde, seed=0, noise=0.01)
    rng = np.random.default_rng(0)
    for _ in range(20):
        x = optimizer.ask()
        optimizer.tell(x, float(field(x)) + 0.01 * rng.standard_normal())
    assert float(field(optimizer.best.x)) < -1.7  # -1.8 is the least, and the next hollow 0.6 higher
    assert optimizer.diagnostics()["trust"] > 0.99
    assert "rotated coordinates" in optimizer.diagnostics()["model"]
    unseen = space.sobol(200, 7)
    mean, std = optimizer.predict(unseen)
    assert np.mean(np.abs(mean - values_of(field, unseen)) < 1.96 * std) > 0.85
