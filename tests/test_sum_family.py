"""A sum given the physics beside interactions: against both for themselves, and where a term is hidden."""

from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import pytest

from pinnbo import PDE, Optimizer, Space
from pinnbo.data import Data, Standard
from pinnbo.ensemble.family import Stated
from pinnbo.ensemble.sum_family import SumAndInteraction, SumGivenPDE
from pinnbo.gp.additive import given_sum
from pinnbo.gp.kernels import Pairwise
from pinnbo.gp.posterior import condition
from pinnbo.gp.sines import sines
from pinnbo.operators import gradient, laplacian
from pinnbo.physics.axes import AxisCollocation
from pinnbo.physics.jets import JetPDE
from test_kernels import finite_difference

BOX = Space(x=(-1.0, 3.0), y=(0.5, 1.2), z=(-2.0, 2.0))
SIZE = 0.4
INTERACTION = Pairwise(np.array([0.6, 0.8, 1.1]), constant=0.0)


@pytest.fixture(scope="module")
def alone():
    jets = JetPDE(BOX, PDE(laplacian, source=lambda x: -5.0 * jnp.sin(x[0])))
    lines = AxisCollocation.draw(jets, 30, 0)
    return given_sum(sines(16, 0.2, 3), [lines.rows()], [], 1e-4).process()


@pytest.fixture(scope="module")
def prior(alone):
    return replace(alone, kernel=INTERACTION, weight=SIZE**2)


@pytest.fixture(params=["in sample space", "on features"])
def either(request, prior):
    if request.param == "in sample space":
        return prior
    return prior.on_features(2.0 * np.random.default_rng(3).random((60, 3)) - 1.0)


def some_points(rng, n=12):
    return rng.uniform(-0.95, 0.95, (n, 3))


def test_covariances_and_variances_of_both_add(alone, prior, rng):
    points = some_points(rng)
    expected = alone.covariance_matrix(points) + SIZE**2 * INTERACTION.values(points, points)
    np.testing.assert_allclose(prior.covariance_matrix(points), expected, rtol=1e-12)
    np.testing.assert_allclose(prior.variance(prior.locate(points))[0], np.diag(expected), rtol=1e-10)


def test_the_mean_is_that_of_the_sum(either, alone, rng):
    points, standard = some_points(rng), Standard(3.0, 2.0)
    mean = either.mean(either.locate(points), standard)
    np.testing.assert_allclose(mean, alone.mean(alone.locate(points), standard))


def test_slopes_are_derivatives(either, rng):
    points, anchors = some_points(rng, 5), either.locate(some_points(rng, 4))
    at = either.locate(points, slopes=True)
    for found, function in (
        (at.slopes, lambda p: either.locate(p).features),
        (either.covariance(at, anchors)[1], lambda p: either.covariance(either.locate(p), anchors)[0]),
        (either.variance(at)[1], lambda p: either.variance(either.locate(p))[0]),
    ):
        np.testing.assert_allclose(found, finite_difference(function, points), rtol=1e-4, atol=1e-5)


def test_features_are_remembered_for_the_same_points_only(alone, rng):
    """Several models ask for those of one sum."""
    points = some_points(rng)
    first = alone.locate(points, slopes=True)
    assert alone.locate(points.copy()).features is first.features
    points[0, 0] += 0.1
    moved = alone.locate(points)
    assert np.any(moved.features[0] != first.features[0])
    assert alone.locate(points, slopes=True).slopes is not None


def test_the_family_adds_interactions_as_shares_of_what_the_physics_leaves(rng):
    """A setting is that of the sum, a length and a share; all of one sum share its features."""
    nothing = Data(np.zeros((0, 6)), np.zeros(0), np.zeros(0), np.zeros((0, 6)))
    sums = SumGivenPDE.build(Stated(SIX, (QUARTIC,), 0, 60, 1e-3))
    family = SumAndInteraction(sums)
    points = rng.uniform(-1.0, 1.0, (5, 6))
    own = next(scales for scales in sums.grid if sums.process(scales, nothing) is not None)
    alone = sums.process(own, nothing)
    for length, share in ((0.3, 0.1), (1.0, 1.0)):
        both = family.process((*own, length, share), nothing)
        kernel = Pairwise(np.full(6, length), constant=0.0)
        expected = alone.covariance_matrix(points) + share**2 * alone.variation * kernel.values(
            points, points
        )
        np.testing.assert_allclose(both.covariance_matrix(points), expected, rtol=1e-10)
        assert both is family.process((*own, length, share), nothing)
        assert both.features is alone.features
    weights = {process.weight for process in family.alternatives(nothing)}
    usable = [p for scales in sums.grid if (p := sums.process(scales, nothing)) is not None]
    assert weights == {process.variation for process in usable}


def test_between_the_measured_points_features_predict_as_the_kernel_does(alone, prior, rng):
    points = BOX.sobol(40, 1)
    data = Data(points, points[:, 0] * points[:, 2] + points[:, 1], np.full(40, 0.05), np.zeros((0, 3)))
    small = prior.on_features(BOX.scale(points))
    assert small.rank > alone.rank
    found, expected = condition(small, data, BOX), condition(prior, data, BOX)
    assert found.log_evidence == pytest.approx(expected.log_evidence, abs=0.05)
    probes = some_points(rng)
    mine, its = found.moments(probes), expected.moments(probes)
    np.testing.assert_allclose(mine.mean[:, 0], its.mean[:, 0], atol=2e-3)
    np.testing.assert_allclose(mine.variance[:, 0], its.variance[:, 0], rtol=0.05, atol=1e-6)


# ---------------------------------------------------------------- hidden terms

SIX = Space(**{f"x{i}": (-2.0, 2.0) for i in range(6)})
QUARTIC = PDE(lambda f: lambda x: jnp.sum(gradient(f)(x)), source=lambda x: jnp.sum(4 * x**3 - 6 * x))


def without_coupling(points):
    return np.sum(points**4 - 3 * points**2, axis=1)


def with_coupling(points):
    return without_coupling(points) + 2.0 * np.sin(2.0 * (points[:, 0] - points[:, 1]))


def coverage(truth, n, rng):
    optimizer = Optimizer(SIX, QUARTIC, noise=0.3)
    points, unseen = SIX.sobol(n, 5), SIX.sobol(256, 6)
    optimizer.tell(points, truth(points) + 0.3 * rng.normal(size=n))
    mean, std = optimizer.predict(unseen)
    error = np.abs(truth(unseen) - mean)
    return optimizer.diagnostics(), float(np.mean(error < 1.96 * std)), float(np.sqrt(np.mean(error**2)))


def test_intervals_hold_what_a_term_that_the_equation_does_not_see_adds(rng):
    """Sine's standard deviation is 1.4, and 30 points in six dimensions do not tell which axes it couples."""
    found, covered, error = coverage(with_coupling, 30, rng)
    assert covered > 0.8
    assert found["trust"] > 0.9
    assert "and interactions of" in found["model"]
    assert error < 2.0


def test_a_sum_is_still_known_to_be_one(rng):
    found, covered, error = coverage(without_coupling, 30, rng)
    assert covered > 0.9
    assert found["trust"] > 0.9
    assert error < 0.3


def test_where_a_sum_leaves_nothing_to_gain_it_is_put_to_the_test(rng):
    """All the points of a search for the minimum of a sum have coordinates near its minima, where couplings hide."""
    optimizer = Optimizer(SIX, QUARTIC, noise=0.5)
    for _ in range(24):
        x = optimizer.ask()
        optimizer.tell(x, float(with_coupling(x[None])[0] + 0.5 * rng.normal()))
    unseen = SIX.sobol(256, 6)
    mean, std = optimizer.predict(unseen)
    assert np.mean(np.abs(with_coupling(unseen) - mean) < 1.96 * std) > 0.8
    assert "and interactions of" in optimizer.diagnostics()["model"]
