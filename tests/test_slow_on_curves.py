"""Fields that change slowly along curves: against closed forms, finite differences, and what was meant."""

import numpy as np
import pytest

from pinnbo import PDE, Optimizer, Space
from pinnbo.inference.constant_on_curves import MeansOnCurves
from pinnbo.inference.curve_families import CharacteristicPhysics
from pinnbo.inference.curves import Characteristics
from pinnbo.inference.interpolation import interpolated
from pinnbo.inference.slow_on_curves import SlowOnCurves
from pinnbo.models.kernels import CONSTANT
from pinnbo.operators import partial

SQUARE = Space(x=(-1.0, 1.0), y=(-1.0, 1.0))
CUBE = Space.box([-1.0] * 3, [1.0] * 3)
LENGTH = float(np.sqrt(2.0) / 8)


def rotation(f):
    return lambda x: (x[0] - 0.2) * partial(f, 1)(x) - (x[1] + 0.1) * partial(f, 0)(x)


def transport(f):
    return partial(f, 0)


def in_space(f):
    return lambda x: partial(f, 0)(x) + x[0] * partial(f, 2)(x)


FIELDS = {"rotation": (rotation, SQUARE), "transport": (transport, SQUARE), "in space": (in_space, CUBE)}


def constant_of(name, length=LENGTH):
    operator, space = FIELDS[name]
    family = CharacteristicPhysics(MeansOnCurves(Characteristics(space, PDE(operator))))
    return family.constant(length, 1.0)


def prior_of(name, misfit=0.2, length=LENGTH):
    return SlowOnCurves.of(constant_of(name, length), length / misfit)


@pytest.mark.parametrize("name", FIELDS)
def test_it_is_the_product_of_two_kernels(name, rng):
    constant, points = constant_of(name), rng.uniform(-1, 1, (12, FIELDS[name][1].dim))
    square = np.sum((points[:, None] - points) ** 2, axis=2)
    slow = np.exp(-0.5 * square / (LENGTH / 0.2) ** 2)
    expected = CONSTANT**2 + (constant.covariance_matrix(points) - CONSTANT**2) * slow
    np.testing.assert_allclose(prior_of(name).covariance_matrix(points), expected, rtol=1e-10)


@pytest.mark.parametrize("name", FIELDS)
def test_it_is_positive_and_varies_alike_everywhere(name, rng):
    prior = prior_of(name, 0.1)
    points = rng.uniform(-1, 1, (80, prior.dim))
    covariance = prior.covariance_matrix(points)
    assert np.linalg.eigvalsh(covariance).min() > -1e-12 * len(points) * 10.0
    np.testing.assert_allclose(np.diag(covariance), CONSTANT**2 + 1.0, rtol=1e-12)
    np.testing.assert_allclose(prior.variance(prior.codes(points))[0], np.diag(covariance), rtol=1e-12)


@pytest.mark.parametrize("name", FIELDS)
def test_slopes_are_derivatives(name, rng):
    """Across the curves, where the field that is constant on them is known to change."""
    prior = prior_of(name)
    points = rng.uniform(-0.8, 0.8, (6, prior.dim))
    anchors = prior.codes(np.concatenate([points[:1], rng.uniform(-1, 1, (4, prior.dim))]))
    velocity = prior.constant.means.characteristics.velocity(points)
    along = velocity / np.linalg.norm(velocity, axis=1, keepdims=True)
    across = np.eye(prior.dim) - along[:, :, None] * along[:, None, :]
    few = interpolated(prior, rng.uniform(-1, 1, (30, prior.dim)))

    def differences(of):
        moves = 1e-5 * np.eye(prior.dim)
        return np.stack([(of(points + move) - of(points - move)) / 2e-5 for move in moves], axis=1)

    codes = prior.codes(points, slopes=True)
    pairs = [
        (prior.covariance(codes, anchors)[1], lambda p: prior.covariance(prior.codes(p), anchors)[0]),
        (few.codes(points, slopes=True).slopes, lambda p: few.codes(p).values),
    ]
    for found, of in pairs:
        expected = differences(of)
        np.testing.assert_allclose(across @ found, across @ expected, atol=2e-3 * np.max(np.abs(expected)))
    slopes = prior.variance(codes)[1]
    np.testing.assert_allclose(slopes, 0.0, atol=1e-6)


@pytest.mark.parametrize("misfit", [0.1, 0.4])
@pytest.mark.parametrize("name", ["rotation", "transport"])
def test_the_slope_along_a_curve_is_a_share_of_that_across_it(name, misfit):
    """By the variance of differences, at half a unit from the centre: curves may bend."""
    prior = prior_of(name, misfit)
    centre, radius = np.array([0.2, -0.1]), 0.5

    def deviation(one, other):
        covariance = prior.covariance_matrix(np.stack([one, other])) - CONSTANT**2
        left = covariance[0, 0] + covariance[1, 1] - 2.0 * covariance[0, 1]
        return np.sqrt(left) / np.linalg.norm(one - other)

    if name == "rotation":
        here, there = (centre + radius * np.array([np.cos(a), np.sin(a)]) for a in (0.0, 0.02))
        aside = here + np.array([0.01, 0.0])
    else:
        here, there, aside = (centre + np.array(move) for move in ([0.0, 0.0], [0.01, 0.0], [0.0, 0.01]))
    assert deviation(here, there) * LENGTH == pytest.approx(misfit, rel=0.05)
    assert deviation(here, aside) * LENGTH == pytest.approx(np.sqrt(1.0 + misfit**2), rel=0.1)


def test_between_inducing_points_nothing_is_lost_and_elsewhere_the_variance_stays(rng):
    prior = prior_of("rotation")
    inducing, others = rng.uniform(-1, 1, (40, 2)), rng.uniform(-1, 1, (10, 2))
    few = interpolated(prior, inducing)
    assert few.rank <= 40
    np.testing.assert_allclose(few.covariance_matrix(inducing), prior.covariance_matrix(inducing), atol=1e-6)
    codes = few.codes(others)
    np.testing.assert_allclose(few.variance(codes)[0], CONSTANT**2 + 1.0)
    assert np.all(np.sum(codes.values[:, :-2] ** 2, axis=1) < CONSTANT**2 + 1.0 + 1e-9)
    np.testing.assert_array_equal(codes.values @ few.mean_weights(3.0, 2.0), np.zeros(10))


@pytest.mark.filterwarnings("ignore::pinnbo.methods.auto.PhysicsWarning")
def test_a_symmetry_whose_centre_is_misplaced_is_taken_as_inexact(rng):
    """It foretells more than no equation does."""

    def radial(points):
        return np.cos(7.0 * np.linalg.norm(points - [0.2, 0.08], axis=1))

    points, unseen = SQUARE.sobol(30, 3), SQUARE.sobol(300, 8)
    values = radial(points) + 0.02 * rng.standard_normal(30)
    errors = []
    for pde in (PDE(rotation), None):
        optimizer = Optimizer(SQUARE, pde, seed=0, noise=0.02)
        optimizer.tell(points, values)
        mean, std = optimizer.predict(unseen)
        errors.append(np.sqrt(np.mean((mean - radial(unseen)) ** 2)))
        if pde is not None:
            found = optimizer.diagnostics()
            assert found["trust"] < 0.1
            assert found["model"].startswith("slow on characteristics, inexact equation")
            assert np.mean(np.abs(mean - radial(unseen)) <= 1.96 * std) > 0.85
    assert errors[0] < 0.7 * errors[1]
