"""Posteriors after observations: against dense Gaussian processes."""

from dataclasses import replace
from functools import cache

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import logsumexp

from pinnbo import PDE, Space
from pinnbo.data import Data, Standard
from pinnbo.gp import posterior as posterior_module
from pinnbo.gp.additive import given_sum
from pinnbo.gp.conditioning import given, plain
from pinnbo.gp.kernels import RBF, Additive, Matern, Pairwise
from pinnbo.gp.posterior import N_SAMPLES, condition
from pinnbo.gp.sines import sines
from pinnbo.operators import laplacian
from pinnbo.physics.axes import AxisCollocation
from pinnbo.physics.coordinates import BOX as THE_BOX
from pinnbo.physics.coordinates import Stretched
from pinnbo.physics.jets import JetPDE

BOX = Space(x=(-1.0, 3.0), y=(0.5, 1.2))
KERNELS = {kind.name: kind for kind in (RBF, Matern, Additive, Pairwise)}
PROCESSES = [*KERNELS, "physics", "stretched", "features", "sum", "sum and interactions"]
NOISES = {
    "unknown": lambda n: np.full(n, np.nan),
    "known": lambda n: np.full(n, 0.4),
    "of each": lambda n: np.geomspace(0.05, 3.0, n),
    "of some": lambda n: np.where(np.arange(n) % 3 == 0, np.nan, np.linspace(0.2, 0.6, n)),
    "none": np.zeros,
}


def observations(rng, noise="unknown", n=9, unit=1.0):
    points = BOX.sobol(n, 1)
    values = 20.0 + 5.0 * np.sin(points[:, 0]) + 3.0 * points[:, 1] + 0.1 * rng.normal(size=n)
    return Data(points, unit * values, unit * NOISES[noise](n), np.zeros((0, 2)))


@cache
def process_of(name):
    """A kernel, or a model given an equation that the values nearly obey."""
    lengths = np.array([0.7, 1.1])
    if name in KERNELS:
        return plain(KERNELS[name](lengths))
    pde = PDE(laplacian, source=lambda x: -5.0 * jnp.sin(x[0]))
    if name.startswith("sum"):
        lines = AxisCollocation.draw(JetPDE(BOX, pde), 30, 0)
        alone = given_sum(sines(16, 0.2, 2), [lines.rows()], [], 1e-4).process()
        interactions = Pairwise(lengths, constant=0.0)
        return alone if name == "sum" else replace(alone, kernel=interactions, weight=0.09)
    coordinates = Stretched() if name == "stretched" else THE_BOX
    points = BOX.sobol(12, 2)
    jets = JetPDE(BOX, pde, coordinates)
    rows = jets.rows(coordinates.of(BOX.scale(points)), pde.source_at(points))
    process = given(RBF(lengths), rows, 1.0, 1e-2, coordinates=coordinates).process()
    return process.on_features(random_points(np.random.default_rng(5), 12)) if name == "features" else process


def moments_of_prior(process, points, standard):
    """Mean and covariance of h."""
    at = process.locate(points)
    return process.mean(at, standard), process.covariance(at, at)[0]


def relative_noise(data, scale):
    """Standard deviations whose squares are D: all known, or none."""
    return np.where(np.isnan(data.noise), 1.0, data.noise / scale)


def brute_force(prior, data, points, square, ratio):
    """Mean and covariance of f at scaled points under one sample, by dense solves in the user's units."""
    shift, scale = standard = Standard.of(data.values)
    measured = BOX.scale(data.points)
    mean, covariance = moments_of_prior(prior, np.concatenate([measured, points]), standard)
    n = len(measured)
    # features that stand in for less than the variance leave the rest to every point for itself
    each = np.arange(n, len(covariance))
    covariance[each, each] = prior.variance(prior.locate(points))[0]
    prior_variance = scale**2 * square * covariance
    noise = scale**2 * square * ratio * relative_noise(data, scale) ** 2
    solved = np.linalg.solve(prior_variance[:n, :n] + np.diag(noise), prior_variance[:n, n:])
    gap = data.values - (shift + scale * mean[:n])
    left = prior_variance[n:, n:] - prior_variance[n:, :n] @ solved
    return shift + scale * mean[n:] + solved.T @ gap, left


def log_density(gap, covariance):
    """Of a normal distribution."""
    _, log_determinant = np.linalg.slogdet(2.0 * np.pi * covariance)
    return -0.5 * (gap @ np.linalg.solve(covariance, gap) + log_determinant)


def random_points(rng, n=8):
    return rng.uniform(-1.0, 1.0, (n, 2))


def finite_difference(function, points, step=1e-5):
    moves = step * np.eye(points.shape[1])
    parts = [(function(points + move) - function(points - move)) / (2 * step) for move in moves]
    return np.stack(parts, axis=1)


# ---------------------------------------------------------------- one posterior


@pytest.mark.parametrize("noise", ["unknown", "known", "of each"])
@pytest.mark.parametrize("name", PROCESSES)
def test_mean_and_variance_are_those_of_a_dense_gaussian_process(name, noise, rng):
    prior, data, points = process_of(name), observations(rng, noise), random_points(rng)
    found = condition(prior, data, BOX)
    mean, variance, mean_slope, variance_slope = found.moments(points)
    assert mean.shape == variance.shape == (8, N_SAMPLES)
    assert mean_slope is None
    assert variance_slope is None
    scale = Standard.of(data.values).scale
    for j, (_, square, ratio, rest) in enumerate(zip(*found.samples, strict=True)):
        expected = brute_force(prior, data, points, square, ratio)
        np.testing.assert_allclose(mean[:, j], expected[0], rtol=1e-6)
        own = np.diag(expected[1]) + scale**2 * rest
        np.testing.assert_allclose(variance[:, j], own, rtol=1e-5, atol=1e-7 * square)


@pytest.mark.parametrize("noise", ["unknown", "known", "of each"])
@pytest.mark.parametrize("name", PROCESSES)
def test_the_evidence_is_the_average_of_the_densities_over_amplitudes_and_noises(
    name, noise, rng, monkeypatch
):
    """Every pair of the grid by a dense density of the measured values, in the user's units."""
    monkeypatch.setattr(posterior_module, "N_SAMPLES", 10_000)  # all of them
    prior, data = process_of(name), observations(rng, noise)
    found = condition(prior, data, BOX)
    shift, scale = standard = Standard.of(data.values)
    mean, covariance = moments_of_prior(prior, BOX.scale(data.points), standard)
    deviations = relative_noise(data, scale) ** 2
    densities = np.array(
        [
            log_density(
                (data.values - shift) / scale - mean, square * (covariance + ratio * np.diag(deviations))
            )
            for square, ratio in zip(found.samples.square, found.samples.ratio, strict=True)
        ]
    ) - len(data.values) * np.log(scale)
    assert len(densities) == (25 * 17 if noise == "unknown" else 25 * 7)
    assert logsumexp(found.samples.log_weight) == pytest.approx(0.0, abs=1e-12)
    # weights are prior times density: the prior that they imply, of models that explain everything, sums to one
    counts = found.samples.rest == 0.0
    weights, densities = found.samples.log_weight[counts], densities[counts]
    expected = logsumexp(weights) - logsumexp(weights - densities)
    assert found.log_evidence == pytest.approx(expected, abs=1e-4)


def test_a_rest_that_the_model_does_not_explain_widens_intervals_by_as_much_as_it_shows(rng):
    """f = smooth + independent rest of 3 times the noise; and no rest at all."""
    points = random_points(rng, 60)
    smooth, noise = np.sin(points @ np.array([1.0, 0.7])), 0.02
    stds = []
    for size in (0.0, 3.0):
        values = smooth + noise * np.hypot(1.0, size) * rng.standard_normal(60)
        data = Data(BOX.unscale(points), values, np.full(60, noise), np.zeros((0, 2)))
        found = condition(process_of("rbf"), data, BOX)
        variance = found.moments(random_points(rng)).variance @ np.exp(found.samples.log_weight)
        stds.append(np.sqrt(variance.mean()) / noise)
    assert stds[0] < 1.5
    assert 2.5 < stds[1] < 5.0


@pytest.mark.parametrize("name", PROCESSES)
def test_the_prior_of_the_amplitude_is_log_normal_about_that_of_a_unit_variation(name, monkeypatch):
    """Without observations the weights are the prior."""
    monkeypatch.setattr(posterior_module, "N_SAMPLES", 10_000)
    empty = Data(np.zeros((0, 2)), np.zeros(0), np.zeros(0), np.zeros((0, 2)))
    prior = process_of(name)
    samples = condition(prior, empty, BOX).samples
    expected = -0.5 * (0.5 * np.log(samples.square * prior.variation) / 1.2) ** 2
    np.testing.assert_allclose(samples.log_weight, expected - logsumexp(expected), atol=1e-10)


@pytest.mark.parametrize("name", PROCESSES)
def test_the_variation_of_a_prior_is_the_variance_of_its_draws_over_the_box(name, rng):
    """An unknown constant does not count."""
    prior, points = process_of(name), random_points(rng, 400)
    covariance = prior.covariance_matrix(points)
    roots = np.linalg.cholesky(covariance + 1e-8 * np.eye(400))
    draws = roots @ rng.normal(size=(400, 2000))
    assert prior.variation == pytest.approx(np.mean(np.var(draws, axis=0)), rel=0.1)
    assert prior.variation < 1.0


@pytest.mark.parametrize("name", PROCESSES)
def test_the_kept_samples_are_the_most_likely_ones(name, rng, monkeypatch):
    prior, data = process_of(name), observations(rng)
    kept = condition(prior, data, BOX).samples
    monkeypatch.setattr(posterior_module, "N_SAMPLES", 10_000)
    every = condition(prior, data, BOX).samples
    np.testing.assert_array_equal(kept.square, every.square[:N_SAMPLES])
    np.testing.assert_array_equal(kept.ratio, every.ratio[:N_SAMPLES])
    assert np.all(np.diff(every.log_weight) <= 0)
    np.testing.assert_allclose(np.diff(kept.log_weight), np.diff(every.log_weight[:N_SAMPLES]), atol=1e-12)
    assert logsumexp(kept.log_weight) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("unit", [1e-6, 1e6])
@pytest.mark.parametrize("noise", ["unknown", "of each"])
def test_units_of_the_values_change_the_evidence_by_their_density_alone(noise, unit, rng):
    prior, points = process_of("matern"), random_points(rng)
    plain, scaled = (
        condition(prior, observations(np.random.default_rng(3), noise, unit=u), BOX) for u in (1.0, unit)
    )
    assert scaled.log_evidence == pytest.approx(plain.log_evidence - 9 * np.log(unit), rel=1e-6)
    np.testing.assert_allclose(scaled.moments(points).mean, unit * plain.moments(points).mean, rtol=1e-6)
    expected = unit**2 * plain.moments(points).variance
    np.testing.assert_allclose(scaled.moments(points).variance, expected, rtol=1e-5)


@pytest.mark.parametrize("noise", ["unknown", "of each"])
@pytest.mark.parametrize("name", PROCESSES)
def test_slopes_of_the_moments_are_derivatives(name, noise, rng):
    found, points = condition(process_of(name), observations(rng, noise), BOX), random_points(rng)
    moments = found.moments(points, slopes=True)
    np.testing.assert_allclose(moments.mean, found.moments(points).mean, rtol=1e-10)
    np.testing.assert_allclose(moments.variance, found.moments(points).variance, rtol=1e-8, atol=1e-9)
    for slope, part in ((moments.mean_slope, "mean"), (moments.variance_slope, "variance")):
        expected = finite_difference(lambda p, part=part: getattr(found.moments(p), part), points)
        size = np.max(np.abs(expected), axis=(0, 1))
        assert np.all(np.abs(slope - expected) < 1e-5 * size + 1e-6)


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("name", PROCESSES)
def test_the_variance_is_positive_and_never_above_the_priors(name, noise, rng):
    """At the measured points as well, where a measurement without noise leaves nothing."""
    prior, data = process_of(name), observations(rng, noise)
    found = condition(prior, data, BOX)
    points = np.concatenate([random_points(rng, 40), BOX.scale(data.points)])
    mean, variance, _, _ = found.moments(points)
    before = prior.variance(prior.locate(points))[0][:, None] * found.samples.square * found.standard.scale**2
    assert np.isfinite(mean).all()
    assert np.all(variance > 0)
    assert np.all(variance <= before * (1 + 1e-9))


def test_values_without_noise_are_interpolated(rng):
    data = observations(rng, "none")
    mean, variance, _, _ = condition(process_of("rbf"), data, BOX).moments(BOX.scale(data.points))
    np.testing.assert_allclose(mean, np.tile(data.values[:, None], (1, mean.shape[1])), rtol=1e-5)
    assert np.max(variance) < 1e-3 * np.var(data.values)


def test_a_measurement_counts_by_its_own_noise(rng):
    """A wrong value at one point moves the prediction there as much as its noise allows."""
    data, prior = observations(rng, "known"), process_of("rbf")
    wrong = data.values.copy()
    wrong[4] += 10.0
    at = BOX.scale(data.points[[4]])
    gaps = []
    for own in (0.01, 1.0, 10.0, 1000.0):
        noise = data.noise.copy()
        noise[4] = own
        found = condition(prior, data._replace(values=wrong, noise=noise), BOX)
        gaps.append(abs(found.moments(at).mean[0] @ np.exp(found.samples.log_weight) - wrong[4]))
    assert np.all(np.diff(gaps) > 0)
    assert gaps[0] < 0.01
    assert gaps[-1] > 5.0


def test_a_known_noise_is_kept_beside_an_unknown_one(rng):
    """One more measurement, far away and of unknown noise, does not make the others exact."""
    data = observations(rng, "known")._replace(noise=np.full(9, 4.0))
    prior = plain(RBF(np.array([0.05, 0.05])))  # no measurement tells of another

    def variance(noise):
        found = condition(prior, data._replace(noise=noise), BOX)
        return found.moments(BOX.scale(data.points[:-1])).variance @ np.exp(found.samples.log_weight)

    np.testing.assert_allclose(variance(np.append(data.noise[:-1], np.nan)), variance(data.noise), rtol=0.3)


def test_the_weights_give_the_mean_at_the_most_likely_sample(rng):
    data, points = observations(rng), random_points(rng)
    for prior in map(process_of, PROCESSES):
        found = condition(prior, data, BOX)
        shift, scale = found.standard
        at = prior.locate(points)
        h = prior.mean(at, found.standard) + found.across(at)[0] @ found.weights[:, 0]
        np.testing.assert_allclose(shift + scale * h, found.moments(points).mean[:, 0], rtol=1e-9)


def test_without_observations_the_posterior_is_the_prior(rng):
    empty = Data(np.zeros((0, 2)), np.zeros(0), np.zeros(0), np.zeros((0, 2)))
    points = random_points(rng)
    for prior in map(process_of, PROCESSES):
        found = condition(prior, empty, BOX)
        mean, variance, _, _ = found.moments(points)
        expected = prior.mean(prior.locate(points), Standard(0.0, 1.0))
        np.testing.assert_allclose(mean, np.tile(expected[:, None], (1, mean.shape[1])))
        own = prior.variance(prior.locate(points))[0]
        np.testing.assert_allclose(variance, np.outer(own, found.samples.square))
        assert found.log_evidence == 0.0


def test_the_data_prefer_the_length_scale_they_were_drawn_with(rng):
    """The evidence is a comparison of settings: drawn functions, on average."""
    scales, n = (0.1, 0.4, 1.6), 25
    points = BOX.sobol(n, 1)
    total = np.zeros((3, 3))
    for i, true in enumerate(scales):
        covariance = RBF(np.full(2, true)).values(BOX.scale(points), BOX.scale(points))
        draws = rng.multivariate_normal(np.zeros(n), covariance + 1e-6 * np.eye(n), 6)
        for values in draws:
            data = Data(points, values, np.full(n, 1e-3), np.zeros((0, 2)))
            total[i] += [condition(plain(RBF(np.full(2, s))), data, BOX).log_evidence for s in scales]
    np.testing.assert_array_equal(np.argmax(total, axis=1), [0, 1, 2])


@pytest.mark.parametrize("n", [9, 60])
@pytest.mark.parametrize("name", PROCESSES)
def test_the_joint_covariance_is_that_of_a_dense_gaussian_process(name, n, rng):
    """In sample space, and in feature space where there are more observations than features."""
    data, process = observations(rng, "known", n), process_of(name)
    found, points = condition(process, data, BOX), random_points(rng, 5)
    covariance, slopes = found.covariance(points)
    for j, (_, square, ratio, rest) in enumerate(zip(*found.samples, strict=True)):
        _, left = brute_force(process, data, points, square, ratio)
        left = left + Standard.of(data.values).scale ** 2 * rest * np.eye(len(left))
        np.testing.assert_allclose(covariance[..., j], left, rtol=1e-5, atol=1e-6)
    for axis, move in enumerate(1e-5 * np.eye(2)):
        up, down = (found.covariance(np.concatenate([points, p]))[0] for p in (points + move, points - move))
        expected = (up[5:, :5] - down[5:, :5]) / 2e-5
        own = np.stack([np.diag(part) for part in np.moveaxis(up - down, 2, 0)], axis=1)[5:] / 2e-5
        each = np.arange(5)
        expected[each, each] = 0.5 * own  # both arguments move
        size = np.max(np.abs(expected))
        np.testing.assert_allclose(slopes[:, axis], expected, rtol=1e-3, atol=1e-4 * size)


def test_observations_that_are_added_give_the_posterior_of_all(rng):
    """The same bits however many came at once."""
    data = observations(rng, "known", 9)
    for process in map(process_of, PROCESSES):
        step = condition(process, data.first(4), BOX)
        step = condition(process, data.first(5), BOX, step)
        step = condition(process, data, BOX, step)
        two = condition(process, data, BOX, condition(process, data.first(4), BOX))
        once, points = condition(process, data, BOX), random_points(rng, 4)
        np.testing.assert_array_equal(step.moments(points).mean, two.moments(points).mean)
        np.testing.assert_allclose(step.moments(points).mean, once.moments(points).mean, rtol=1e-8)
        assert step.log_evidence == pytest.approx(once.log_evidence, rel=1e-8)
