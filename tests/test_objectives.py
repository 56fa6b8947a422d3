"""Acquisitions: against their definitions, drawn measurements and finite differences."""

from dataclasses import replace

import numpy as np
import pytest

from pinnbo.acquisition.improvement import log_expected_improvement
from pinnbo.acquisition.objectives import Discrimination, Improvement, Spread
from pinnbo.ensemble import mixture as mixtures
from pinnbo.ensemble.mixture import Mixture
from pinnbo.gp.conditioning import plain
from pinnbo.gp.kernels import RBF
from pinnbo.gp.posterior import Samples, condition
from test_mixture import mixture
from test_posterior import BOX, finite_difference, observations, random_points


@pytest.mark.parametrize("noise", [0.0, 0.3])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_improvement_of_a_mixture_has_the_slopes_it_claims(sign, noise, rng):
    data = observations(rng)
    found = mixture(data)
    objective = Improvement(found, sign, float(np.min(sign * data.values)), noise)
    points = random_points(rng, 20)
    values, slopes = objective.values_and_slopes(points)
    np.testing.assert_allclose(objective.values(points), values, rtol=1e-8)
    expected = finite_difference(objective.values, points, 1e-6)
    np.testing.assert_allclose(slopes, expected, rtol=1e-4, atol=1e-4 * np.max(np.abs(expected)))
    moments = found.moments(points)
    moved = moments.variance / np.sqrt(moments.variance + noise)
    direct, _, _ = log_expected_improvement(
        found.component_log_weights, sign * moments.mean, moved, objective.best
    )
    np.testing.assert_allclose(values, -direct, rtol=1e-8)


def test_the_improvement_is_that_of_the_mean_after_the_measurement(rng):
    """Measurements are drawn, the posterior conditioned on each: the mean gain over the best mean is EI."""
    noise = 0.5
    data = observations(rng)
    data = data._replace(noise=np.full(len(data.values), noise))
    posterior = condition(plain(RBF(np.full(BOX.dim, 0.7))), data, BOX)
    _, square, ratio, _ = posterior.samples
    one = replace(posterior, samples=Samples(np.zeros(1), square[:1], ratio[:1], np.zeros(1)))
    point = random_points(rng, 1)
    moments = one.moments(point)
    mean, variance = float(moments.mean[0, 0]), float(moments.variance[0, 0])
    drawn = mean + np.sqrt(variance + noise**2) * np.random.default_rng(0).standard_normal(400_000)
    after = mean + variance / (variance + noise**2) * (drawn - mean)  # of a normal posterior
    best = mean + 0.1
    gain = np.mean(np.maximum(best - after, 0.0))
    objective = Improvement(Mixture([one], np.zeros(1)), 1.0, best, noise**2)
    assert np.exp(-objective.values(point)[0]) == pytest.approx(gain, rel=0.01)
    # where a value is known much better than a measurement tells, hardly anything is to be gained
    assert Improvement(Mixture([one], np.zeros(1)), 1.0, best - 0.1, 1e6).values(point)[0] > 5.0


def test_many_points_are_worked_through_in_pieces(rng, monkeypatch):
    monkeypatch.setattr(mixtures, "_BATCH", 128)
    found = mixture(observations(rng))
    objective = Improvement(found, 1.0, 15.0, 0.1)
    points = random_points(rng, 300)
    whole = objective.values(points)
    np.testing.assert_allclose(
        whole[[0, 127, 128, 299]], objective.values(points[[0, 127, 128, 299]]), rtol=1e-8
    )


def test_the_spread_of_a_mixture_is_its_variance_and_has_the_slopes_it_claims(rng):
    found = mixture(observations(rng))
    objective, points = Spread(found), random_points(rng, 20)
    values, slopes = objective.values_and_slopes(points)
    np.testing.assert_allclose(np.exp(-0.5 * values), found.predict(points)[1], rtol=1e-8)
    np.testing.assert_allclose(objective.values(points), values, rtol=1e-8)
    expected = finite_difference(objective.values, points, 1e-6)
    np.testing.assert_allclose(slopes, expected, rtol=1e-4, atol=1e-4 * np.max(np.abs(expected)))


def test_discrimination_is_the_ratio_of_two_variances_and_has_the_slopes_it_claims(rng):
    data = observations(rng)
    sure, unsure = mixture(data), mixture(data.first(3))
    objective, points = Discrimination(sure, unsure, 0.3), random_points(rng, 20)
    values, slopes = objective.values_and_slopes(points)
    ratio = (sure.predict(points)[1] ** 2 + 0.3) / (unsure.predict(points)[1] ** 2 + 0.3)
    np.testing.assert_allclose(np.exp(values), ratio, rtol=1e-8)
    np.testing.assert_allclose(objective.values(points), values, rtol=1e-8)
    expected = finite_difference(objective.values, points, 1e-6)
    np.testing.assert_allclose(slopes, expected, rtol=1e-4, atol=1e-4 * np.max(np.abs(expected)))
