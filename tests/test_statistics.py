"""Sufficient statistics, and posteriors in feature space: the same as in sample space, however the data came."""

from dataclasses import replace

import numpy as np
import pytest

from pinnbo import PDE, Space
from pinnbo.acquisition.objectives import Draw
from pinnbo.data import Data, Standard
from pinnbo.ensemble.hypotheses import Model
from pinnbo.ensemble.mixture import Mixture
from pinnbo.ensemble.plain_family import without_physics
from pinnbo.gp import posterior as posterior_module
from pinnbo.gp.additive import given_sum
from pinnbo.gp.posterior import condition
from pinnbo.gp.sines import sines
from pinnbo.gp.statistics import Statistics
from pinnbo.operators import laplacian
from pinnbo.physics.axes import AxisCollocation
from pinnbo.physics.jets import JetPDE

BOX = Space(x=(-1.0, 3.0), y=(0.5, 1.2))
NOISES = {
    "unknown": lambda n: np.full(n, np.nan),
    "known": lambda n: np.full(n, 0.4),
    "of each": lambda n: np.geomspace(0.05, 3.0, n),
    "of some": lambda n: np.where(np.arange(n) % 3 == 0, np.nan, 0.4),
}


@pytest.fixture(scope="module")
def process():
    jets = JetPDE(BOX, PDE(laplacian, source=1.0))
    lines = AxisCollocation.draw(jets, 30, 0)
    return given_sum(sines(16, 0.2, 2), [lines.rows()], [], 1e-4).process()


def observations(rng, n, noise="unknown", offset=20.0):
    points = BOX.sobol(n, 1)
    values = offset + 5.0 * points[:, 0] ** 2 + 3.0 * points[:, 1] + 0.1 * rng.normal(size=n)
    return Data(points, values, NOISES[noise](n), np.zeros((0, 2)))


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("offset", [20.0, -3e4])
def test_feature_space_is_sample_space(process, noise, offset, rng):
    data = observations(rng, 40, noise, offset)
    assert process.rank < 40
    found = condition(process, data, BOX)
    expected = posterior_module._in_sample_space(process, data, process.locate(BOX.scale(data.points)))
    assert found.anchors is None
    assert found.log_evidence == pytest.approx(expected.log_evidence, abs=1e-4)
    for mine, its in zip(found.samples, expected.samples, strict=True):
        np.testing.assert_allclose(mine, its, rtol=1e-4, atol=1e-4)
    points = rng.uniform(-1.0, 1.0, (7, 2))
    for mine, its in zip(
        found.moments(points, slopes=True), expected.moments(points, slopes=True), strict=True
    ):
        np.testing.assert_allclose(mine, its, rtol=1e-5, atol=1e-5 * np.max(np.abs(its)))


def test_few_observations_stay_in_sample_space(process, rng):
    assert condition(process, observations(rng, process.rank), BOX).anchors is not None


def test_sums_do_not_depend_on_when_they_were_asked_for(process, rng):
    """Bit by bit, or a study that was restarted would go another way."""
    data = observations(rng, 700)
    growing = Statistics(process, BOX)
    for n in (3, 64, 100, 191, 511, 700):
        sums, reference = growing.sums(data.first(n), n)
    at_once, its_reference = Statistics(process, BOX).sums(data, 0)
    assert reference == its_reference
    for mine, its in zip(sums, at_once, strict=True):
        np.testing.assert_array_equal(mine, its)


def test_whole_blocks_are_not_computed_again(process, rng, monkeypatch):
    data, statistics, seen = observations(rng, 160), Statistics(process, BOX), []
    of = Statistics._of
    monkeypatch.setattr(
        Statistics, "_of", lambda self, data, block, *a: seen.append(block.start) or of(self, data, block, *a)
    )
    statistics.sums(data.first(150), 150)
    statistics.sums(data, 160)
    assert seen == [0, 32, 64, 96, 128, 128]


def test_a_model_that_is_updated_hands_on_its_sums(process, rng, monkeypatch):
    """Or a suggestion would take the longer, the more was measured."""
    data, seen = observations(rng, 140), []
    of = Statistics._of
    monkeypatch.setattr(
        Statistics, "_of", lambda self, data, block, *a: seen.append(block.start) or of(self, data, block, *a)
    )
    (family, *_) = without_physics(BOX)
    model = Model(family, family.grid[0], condition(process, data.first(20), BOX), 0.0)
    model.updated(data.first(130), 130).updated(data.first(139), 139).updated(data, 140)
    assert seen[-7:] == [0, 32, 64, 96, 128, 128, 128]


def test_imagined_observations_are_not_remembered(process, rng):
    """Values that were only imagined fill a block, and the real ones that come are others."""
    real = observations(rng, 520)
    imagined = real._replace(values=np.append(real.values[:500], np.zeros(20)))
    statistics = Statistics(process, BOX)
    statistics.sums(imagined, 500)
    np.testing.assert_array_equal(
        statistics.sums(real, 520)[0].unknown, Statistics(process, BOX).sums(real, 0)[0].unknown
    )


@pytest.mark.parametrize("n", [5, 40])
def test_draws_have_the_mean_and_the_covariance_of_the_posterior(process, n, rng):
    """In sample space and in feature space."""
    found = condition(process, observations(rng, n, "known"), BOX)
    assert (found.anchors is None) == (n == 40)
    points = rng.uniform(-1.0, 1.0, (6, 2))
    # a draw is of the model; what that leaves unexplained is independent from place to place
    found = replace(found, samples=found.samples._replace(rest=np.zeros(len(found.samples.rest))))
    mean, std = Mixture([found], np.zeros(1)).predict(points)
    drawn = np.array([Draw(found, found.draw(rng), -1.0).values(points) for _ in range(4000)])
    np.testing.assert_allclose(drawn.mean(axis=0), -mean, atol=0.08 * std.max())
    np.testing.assert_allclose(drawn.std(axis=0), std, rtol=0.1)
    middle = Draw(found, found.mean_of_features(), 1.0).values(points)
    np.testing.assert_allclose(middle, found.moments(points).mean[:, 0], rtol=1e-6)


def test_slopes_of_a_draw_are_derivatives(process, rng):
    found = condition(process, observations(rng, 20), BOX)
    objective, points = Draw(found, found.draw(rng), -1.0), rng.uniform(-0.9, 0.9, (5, 2))
    values, slopes = objective.values_and_slopes(points)
    np.testing.assert_allclose(values, objective.values(points), rtol=1e-10)
    moves = 1e-5 * np.eye(2)
    expected = [(objective.values(points + m) - objective.values(points - m)) / 2e-5 for m in moves]
    np.testing.assert_allclose(
        slopes, np.stack(expected, axis=1), rtol=1e-4, atol=1e-4 * np.max(np.abs(slopes))
    )


def test_the_information_is_that_of_a_determinant(process, rng):
    """1/2 log det(I + K / noise), averaged over the samples; the same in both spaces."""
    data = observations(rng, 40, "known")
    found = condition(process, data, BOX)
    kernel = process.covariance_matrix(BOX.scale(data.points)) / (0.4 / found.standard.scale) ** 2
    gains = [0.5 * np.linalg.slogdet(np.eye(40) + kernel / ratio)[1] for ratio in found.samples.ratio]
    assert found.information == pytest.approx(np.exp(found.samples.log_weight) @ gains, rel=1e-6)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_lowest_point_of_a_sum_is_found_on_every_axis_for_itself(process, sign, rng):
    weights, standard = rng.normal(size=(2, process.rank)), Standard(3.0, 2.0)
    axis = np.linspace(-1.0, 1.0, 201)
    grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    lowest = process.minima(weights, standard, sign)
    assert lowest.shape == (2, 2)
    for point, own in zip(lowest, weights, strict=True):
        at = process.locate(np.vstack([grid, point]))
        values = sign * (process.mean(at, standard) + at.features[:, : process.rank] @ own)
        assert values[-1] <= values[:-1].min() + 1e-3 * np.ptp(values)
