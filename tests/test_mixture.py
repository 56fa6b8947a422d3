"""Averages of posteriors: their moments, weights and batches."""

import numpy as np
import pytest

from pinnbo.ensemble import mixture as mixtures
from pinnbo.ensemble.mixture import Mixture
from pinnbo.gp.posterior import N_SAMPLES, condition
from test_posterior import BOX, finite_difference, observations, process_of, random_points


def mixture(data):
    posteriors = [condition(process_of(name), data, BOX) for name in ("rbf", "physics", "sum")]
    return Mixture(posteriors, np.log(np.array([0.5, 0.2, 0.3])))


def test_the_prediction_of_a_mixture_has_its_mean_and_deviation(rng):
    """More points than one batch holds."""
    found = mixture(observations(rng))
    points = random_points(rng, 300)
    mean, std = found.predict(points)
    first, second = np.zeros(300), np.zeros(300)
    for posterior, weight in zip(found.posteriors, (0.5, 0.2, 0.3), strict=True):
        moments = posterior.moments(points)
        for j, share in enumerate(np.exp(posterior.samples.log_weight)):
            first += weight * share * moments.mean[:, j]
            second += weight * share * (moments.variance[:, j] + moments.mean[:, j] ** 2)
    np.testing.assert_allclose(mean, first, rtol=1e-9)
    np.testing.assert_allclose(std, np.sqrt(second - first**2), rtol=1e-6)


def test_the_weights_of_a_mixture_sum_to_one(rng):
    weights = np.exp(mixture(observations(rng)).component_log_weights)
    assert len(weights) == 3 * N_SAMPLES
    assert np.sum(weights) == pytest.approx(1.0)


def test_the_moments_of_a_mixture_are_those_of_its_posteriors_in_order(rng):
    found, points = mixture(observations(rng)), random_points(rng)
    moments = found.moments(points, slopes=True)
    for i, posterior in enumerate(found.posteriors):
        own, part = posterior.moments(points, slopes=True), slice(i * N_SAMPLES, (i + 1) * N_SAMPLES)
        for whole, single in zip(moments, own, strict=True):
            np.testing.assert_array_equal(whole[..., part], single)
    bare = found.moments(points)
    assert bare.mean_slope is None
    assert bare.variance_slope is None


def test_the_total_is_the_prediction_with_its_slopes(rng):
    found, points = mixture(observations(rng)), random_points(rng, 10)
    mean, mean_slope, variance, variance_slope = found.total(points)
    np.testing.assert_allclose(mean, found.predict(points)[0], rtol=1e-10)
    np.testing.assert_allclose(np.sqrt(variance), found.predict(points)[1], rtol=1e-8)
    for slope, function in (
        (mean_slope, lambda p: found.predict(p)[0]),
        (variance_slope, lambda p: found.predict(p)[1] ** 2),
    ):
        expected = finite_difference(function, points, 1e-6)
        np.testing.assert_allclose(slope, expected, rtol=1e-4, atol=1e-5 * np.max(np.abs(expected)))


def test_many_points_are_predicted_in_pieces(rng, monkeypatch):
    found, points = mixture(observations(rng)), random_points(rng, 300)
    whole = found.predict(points)
    monkeypatch.setattr(mixtures, "_BATCH", 128)
    for mine, its in zip(found.predict(points), whole, strict=True):
        np.testing.assert_allclose(mine, its, rtol=1e-8)


def test_points_that_are_remembered_are_not_located_again_and_give_the_same(rng, monkeypatch):
    """By the array itself: the same points in another array are others."""
    found, points = mixture(observations(rng)), random_points(rng, 20)
    expected = found.predict(points)
    found.remember(points)
    for posterior in found.posteriors:
        assert posterior.process.locate(points) is posterior.process.locate(points)
        assert posterior.process.locate(points.copy()) is not posterior.process.locate(points)
    for mine, its in zip(found.predict(points), expected, strict=True):
        np.testing.assert_array_equal(mine, its)


def test_the_information_is_the_average_of_its_parts(rng):
    found = mixture(observations(rng))
    parts = [posterior.information for posterior in found.posteriors]
    assert found.information == pytest.approx(np.dot([0.5, 0.2, 0.3], parts))
