"""A sum given the physics beside a rest: against both for themselves, and where a term is hidden from the equation."""

import jax.numpy as jnp
import numpy as np
import pytest

from pinnbo import PDE, Optimizer, Space
from pinnbo.data import Data
from pinnbo.inference.additive_prior import inform_sum
from pinnbo.inference.belief import fit
from pinnbo.inference.interpolation import interpolated
from pinnbo.inference.jets import JetPDE
from pinnbo.inference.sines import sines
from pinnbo.inference.star import Star
from pinnbo.inference.sum_and_rest import SumAndRest
from pinnbo.models.kernels import Kernel
from pinnbo.operators import gradient, laplacian
from test_compressed_prior import finite_difference

BOX = Space(x=(-1.0, 3.0), y=(0.5, 1.2), z=(-2.0, 2.0))
SIZE = 0.4
REST = Kernel("pairwise", np.array([0.6, 0.8, 1.1]), constant=0.0)


@pytest.fixture(scope="module")
def prior():
    jets = JetPDE(BOX, PDE(laplacian, source=lambda x: -5.0 * jnp.sin(x[0])))
    return SumAndRest(inform_sum(sines(16, 0.2, 3), [Star.draw(jets, 30, 0).rows()], [], 1e-4), REST, SIZE)


@pytest.fixture(params=["in sample space", "on features"])
def either(request, prior):
    if request.param == "in sample space":
        return prior
    return interpolated(prior, 2.0 * np.random.default_rng(3).random((60, 3)) - 1.0)


def some_points(rng, n=12):
    return rng.uniform(-0.95, 0.95, (n, 3))


def test_covariances_and_variances_of_both_add(prior, rng):
    points = some_points(rng)
    expected = prior.sum.covariance_matrix(points) + SIZE**2 * REST.values(points, points)
    np.testing.assert_allclose(prior.covariance_matrix(points), expected, rtol=1e-12)
    np.testing.assert_allclose(prior.variance(prior.codes(points))[0], np.diag(expected), rtol=1e-10)


def test_the_mean_is_that_of_the_sum(either, prior, rng):
    points = some_points(rng)
    mean = either.codes(points).values @ either.mean_weights(3.0, 2.0)
    np.testing.assert_allclose(mean, prior.sum.codes(points).values @ prior.sum.mean_weights(3.0, 2.0))


def test_slopes_are_derivatives(either, rng):
    points, anchors = some_points(rng, 5), either.codes(some_points(rng, 4))
    codes = either.codes(points, slopes=True)
    for found, function in (
        (codes.slopes, lambda p: either.codes(p).values),
        (either.covariance(codes, anchors)[1], lambda p: either.covariance(either.codes(p), anchors)[0]),
        (either.variance(codes)[1], lambda p: either.variance(either.codes(p))[0]),
    ):
        np.testing.assert_allclose(found, finite_difference(function, points), rtol=1e-4, atol=1e-5)


def test_codes_are_remembered_for_the_same_points_only(prior, rng):
    points = some_points(rng)
    first = prior.sum.codes(points, slopes=True)
    assert prior.sum.codes(points).values is first.values
    points[0, 0] += 0.1
    moved = prior.sum.codes(points)
    assert np.any(moved.values[0] != first.values[0])
    assert prior.sum.codes(points, slopes=True).slopes is not None


def test_between_the_measured_points_features_predict_as_the_kernel_does(prior, rng):
    points = BOX.sobol(40, 1)
    data = Data(points, points[:, 0] * points[:, 2] + points[:, 1], np.full(40, 0.05), np.zeros((0, 3)))
    small = interpolated(prior, BOX.scale(points))
    assert small.rank > prior.sum.rank
    found, expected = fit(small, data, BOX), fit(prior, data, BOX)
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
    assert "and a rest of" in found["model"]
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
    assert "and a rest of" in optimizer.diagnostics()["model"]
