"""Inducing points among the measured places: exact algebra and features between them are one posterior."""

import numpy as np
import pytest

from pinnbo import Optimizer, Space
from pinnbo.data import Data
from pinnbo.ensemble.hypotheses import BELOW_NOISE
from pinnbo.gp.conditioning import plain
from pinnbo.gp.inducing import Inducing
from pinnbo.gp.kernels import RBF, Matern
from pinnbo.gp.posterior import condition
from pinnbo.gp.statistics import Statistics

SPACE = Space(x=(-1.0, 1.0), y=(-1.0, 1.0))


def clustered(n, seed=0):
    """A search that has found something: a few places all over, most beside each other."""
    rng = np.random.default_rng(seed)
    near = np.array([0.3, -0.2]) + 0.05 * rng.standard_normal((n - n // 5, 2))
    points = rng.permutation(np.vstack([rng.uniform(-1, 1, (n // 5, 2)), near]))
    values = np.sin(2 * points[:, 0]) * np.cos(points[:, 1]) + 0.02 * rng.standard_normal(n)
    return Data(points, values, np.full(n, 0.02), np.zeros((0, 2)))


def averaged(posterior, at):
    """Mean and variance over the samples."""
    weights, moments = np.exp(posterior.samples.log_weight), posterior.moments(at)
    mean = moments.mean @ weights
    return mean, (moments.variance + (moments.mean - mean[:, None]) ** 2) @ weights


@pytest.mark.parametrize("kind", [RBF, Matern])
def test_features_between_inducing_points_are_the_exact_posterior(kind):
    data, process = clustered(200), plain(kind(np.array([1.0, 1.0])))
    exact = condition(process, data, SPACE)
    tolerance = BELOW_NOISE * float(np.min(exact.samples.ratio))
    inducing = Inducing.none(process, tolerance).extended(SPACE.scale(data.points))
    assert len(inducing) < 100
    on_features = process.on_features(inducing.points.scaled)
    found = condition(on_features, data, SPACE, statistics=Statistics(on_features, SPACE))
    assert found.anchors is None  # in feature space
    at = SPACE.scale(SPACE.sobol(256, 1))
    (mean, variance), (true_mean, true_variance) = averaged(found, at), averaged(exact, at)
    assert np.max(np.abs(mean - true_mean) / np.sqrt(true_variance)) < 0.02
    np.testing.assert_allclose(variance, true_variance, rtol=0.03)
    assert found.log_evidence == pytest.approx(exact.log_evidence, abs=0.05)


def test_every_place_is_told_to_the_tolerance():
    """By the Schur complement of the whole matrix."""
    scaled, process, tolerance = SPACE.scale(clustered(120).points), plain(RBF(np.array([0.8, 0.8]))), 1e-5
    inducing = Inducing.none(process, tolerance).extended(scaled)
    chosen = process.locate(inducing.points.scaled)
    at = process.locate(scaled)
    across = process.covariance(at, chosen)[0]
    own = process.covariance(chosen, chosen)[0]
    np.testing.assert_allclose(inducing.factor @ inducing.factor.T, own, atol=1e-12)
    left = process.variance(at)[0] - np.einsum("ij,ji->i", across, np.linalg.solve(own, across.T))
    assert np.max(left) <= tolerance * (1 + 1e-6)


def test_one_by_one_and_at_once_choose_the_same_bits():
    scaled, process = SPACE.scale(clustered(80).points), plain(RBF(np.array([0.8, 0.8])))
    grown = Inducing.none(process, 1e-4)
    for n in range(1, len(scaled) + 1):
        grown = grown.extended(scaled[:n])
    whole = Inducing.none(process, 1e-4).extended(scaled)
    assert np.array_equal(grown.factor, whole.factor)
    assert np.array_equal(grown.points.scaled, whole.points.scaled)


def test_a_restored_study_without_an_equation_suggests_the_same():
    data = clustered(130)
    optimizer = Optimizer(SPACE, None, noise=0.02, seed=3)
    optimizer.tell(data.points[:90], data.values[:90])
    for x, y in zip(data.points[90:], data.values[90:], strict=True):
        optimizer.tell(x, y)
        optimizer.predict(data.points[:1])
    restored = Optimizer.from_dict(optimizer.to_dict(), None)
    assert np.array_equal(optimizer.ask(), restored.ask())


def test_a_new_place_is_learnt_between_stages():
    """What is measured far from all inducing points is known afterwards."""
    data = clustered(130)
    keep = np.linalg.norm(data.points - np.array([-0.9, 0.9]), axis=1) > 0.8
    optimizer = Optimizer(SPACE, None, noise=0.02, seed=3)
    optimizer.tell(data.points[keep], data.values[keep])
    far = np.array([[-0.9, 0.9]])
    before = optimizer.predict(far)[1][0]
    optimizer.tell(far[0], float(np.sin(-1.8) * np.cos(0.9)))
    assert optimizer.predict(far)[1][0] < max(0.025, 0.5 * before)
