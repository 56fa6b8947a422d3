"""Beliefs after observations: against dense Gaussian processes, their averages, and the likely length scales."""

from dataclasses import replace
from functools import cache

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import logsumexp

from pinnbo import PDE, Space
from pinnbo.acquisition.improvement import log_expected_improvement
from pinnbo.data import Data, Standard
from pinnbo.inference import belief as belief_module
from pinnbo.inference import mixture as mixtures
from pinnbo.inference.additive_prior import inform_sum
from pinnbo.inference.belief import N_LEVELS, Levels, fit
from pinnbo.inference.jets import JetPDE
from pinnbo.inference.kernel_prior import inform, uninformed
from pinnbo.inference.mixture import Bound, Contest, Gradient, Improvement, Mixture, Spread
from pinnbo.inference.scales import _loss, likely_scales
from pinnbo.inference.sines import sines
from pinnbo.inference.star import Star
from pinnbo.inference.sum_and_rest import SumAndRest
from pinnbo.models.kernels import Kernel
from pinnbo.operators import laplacian

BOX = Space(x=(-1.0, 3.0), y=(0.5, 1.2))
FAMILIES = ["rbf", "matern", "additive", "pairwise"]
PRIORS = [*FAMILIES, "physics", "sum", "sum and rest"]
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
def prior_of(name):
    """A kernel, or a model given an equation that the values nearly obey."""
    kernel = Kernel(name if name in FAMILIES else "rbf", np.array([0.7, 1.1]))
    if name in FAMILIES:
        return uninformed(kernel)
    jets = JetPDE(BOX, PDE(laplacian, source=lambda x: -5.0 * jnp.sin(x[0])))
    if name.startswith("sum"):
        given = inform_sum(sines(16, 0.2, 2), [Star.draw(jets, 30, 0).rows()], [], 1e-4)
        rest = Kernel("pairwise", kernel.scale, constant=0.0)
        return given if name == "sum" else SumAndRest(given, rest, 0.3)
    points = BOX.sobol(12, 2)
    return inform(kernel, jets.rows(BOX.scale(points), jets.pde.source_at(points)), 1.0, 1e-2)


def moments_of_prior(prior, points, standard):
    """Mean and covariance of h."""
    codes = prior.codes(points)
    return codes.values @ prior.mean_weights(*standard), prior.covariance(codes, codes)[0]


def relative_noise(data, scale):
    """Standard deviations whose squares are D: all known, or none."""
    return np.where(np.isnan(data.noise), 1.0, data.noise / scale)


def brute_force(prior, data, points, square, ratio):
    """Mean and covariance of f at scaled points under one level, by dense solves in the user's units."""
    shift, scale = standard = Standard.of(data.values)
    measured = BOX.scale(data.points)
    mean, covariance = moments_of_prior(prior, np.concatenate([measured, points]), standard)
    n = len(measured)
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


# ---------------------------------------------------------------- one belief


@pytest.mark.parametrize("noise", ["unknown", "known", "of each"])
@pytest.mark.parametrize("name", PRIORS)
def test_mean_and_variance_are_those_of_a_dense_gaussian_process(name, noise, rng):
    prior, data, points = prior_of(name), observations(rng, noise), random_points(rng)
    found = fit(prior, data, BOX)
    mean, variance, mean_slope, variance_slope = found.moments(points)
    assert mean.shape == variance.shape == (8, N_LEVELS)
    assert mean_slope is None
    assert variance_slope is None
    for j, (square, ratio) in enumerate(zip(found.levels.square, found.levels.ratio, strict=True)):
        expected = brute_force(prior, data, points, square, ratio)
        np.testing.assert_allclose(mean[:, j], expected[0], rtol=1e-6)
        np.testing.assert_allclose(variance[:, j], np.diag(expected[1]), rtol=1e-5, atol=1e-7 * square)


@pytest.mark.parametrize("noise", ["unknown", "known", "of each"])
@pytest.mark.parametrize("name", PRIORS)
def test_the_evidence_is_the_average_of_the_densities_over_amplitudes_and_noises(
    name, noise, rng, monkeypatch
):
    """Every pair of the grid by a dense density of the measured values, in the user's units."""
    monkeypatch.setattr(belief_module, "N_LEVELS", 10_000)  # all of them
    prior, data = prior_of(name), observations(rng, noise)
    found = fit(prior, data, BOX)
    shift, scale = standard = Standard.of(data.values)
    mean, covariance = moments_of_prior(prior, BOX.scale(data.points), standard)
    deviations = relative_noise(data, scale) ** 2
    densities = np.array(
        [
            log_density(
                (data.values - shift) / scale - mean, square * (covariance + ratio * np.diag(deviations))
            )
            for square, ratio in zip(found.levels.square, found.levels.ratio, strict=True)
        ]
    ) - len(data.values) * np.log(scale)
    assert len(densities) == (25 * 17 if noise == "unknown" else 25)
    assert densities.min() < found.log_evidence < densities.max()
    # weights are prior times density: the prior that they imply sums to one
    log_prior = found.levels.log_weight - densities + found.log_evidence
    assert logsumexp(log_prior) == pytest.approx(0.0, abs=1e-4)
    assert logsumexp(found.levels.log_weight) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("name", PRIORS)
def test_the_prior_of_the_amplitude_is_log_normal_about_that_of_a_unit_variation(name, monkeypatch):
    """Without observations the weights are the prior."""
    monkeypatch.setattr(belief_module, "N_LEVELS", 10_000)
    empty = Data(np.zeros((0, 2)), np.zeros(0), np.zeros(0), np.zeros((0, 2)))
    prior = prior_of(name)
    levels = fit(prior, empty, BOX).levels
    expected = -0.5 * (0.5 * np.log(levels.square * prior.variation) / 1.2) ** 2
    np.testing.assert_allclose(levels.log_weight, expected - logsumexp(expected), atol=1e-10)


@pytest.mark.parametrize("name", PRIORS)
def test_the_variation_of_a_prior_is_the_variance_of_its_draws_over_the_box(name, rng):
    """An unknown constant does not count."""
    prior, points = prior_of(name), random_points(rng, 400)
    covariance = prior.covariance_matrix(points)
    roots = np.linalg.cholesky(covariance + 1e-8 * np.eye(400))
    draws = roots @ rng.normal(size=(400, 2000))
    assert prior.variation == pytest.approx(np.mean(np.var(draws, axis=0)), rel=0.1)
    assert prior.variation < 1.0


@pytest.mark.parametrize("name", PRIORS)
def test_the_kept_levels_are_the_most_likely_ones(name, rng, monkeypatch):
    prior, data = prior_of(name), observations(rng)
    kept = fit(prior, data, BOX).levels
    monkeypatch.setattr(belief_module, "N_LEVELS", 10_000)
    every = fit(prior, data, BOX).levels
    np.testing.assert_array_equal(kept.square, every.square[:N_LEVELS])
    np.testing.assert_array_equal(kept.ratio, every.ratio[:N_LEVELS])
    assert np.all(np.diff(every.log_weight) <= 0)
    np.testing.assert_allclose(np.diff(kept.log_weight), np.diff(every.log_weight[:N_LEVELS]), atol=1e-12)
    assert logsumexp(kept.log_weight) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("unit", [1e-6, 1e6])
@pytest.mark.parametrize("noise", ["unknown", "of each"])
def test_units_of_the_values_change_the_evidence_by_their_density_alone(noise, unit, rng):
    prior, points = prior_of("matern"), random_points(rng)
    plain, scaled = (
        fit(prior, observations(np.random.default_rng(3), noise, unit=u), BOX) for u in (1.0, unit)
    )
    assert scaled.log_evidence == pytest.approx(plain.log_evidence - 9 * np.log(unit), rel=1e-6)
    np.testing.assert_allclose(scaled.moments(points).mean, unit * plain.moments(points).mean, rtol=1e-6)
    expected = unit**2 * plain.moments(points).variance
    np.testing.assert_allclose(scaled.moments(points).variance, expected, rtol=1e-5)


@pytest.mark.parametrize("noise", ["unknown", "of each"])
@pytest.mark.parametrize("name", PRIORS)
def test_slopes_of_the_moments_are_derivatives(name, noise, rng):
    found, points = fit(prior_of(name), observations(rng, noise), BOX), random_points(rng)
    moments = found.moments(points, slopes=True)
    np.testing.assert_allclose(moments.mean, found.moments(points).mean, rtol=1e-10)
    np.testing.assert_allclose(moments.variance, found.moments(points).variance, rtol=1e-8, atol=1e-9)
    for slope, part in ((moments.mean_slope, "mean"), (moments.variance_slope, "variance")):
        expected = finite_difference(lambda p, part=part: getattr(found.moments(p), part), points)
        size = np.max(np.abs(expected), axis=(0, 1))
        assert np.all(np.abs(slope - expected) < 1e-5 * size + 1e-6)


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("name", PRIORS)
def test_the_variance_is_positive_and_never_above_the_priors(name, noise, rng):
    """At the measured points as well, where a measurement without noise leaves nothing."""
    prior, data = prior_of(name), observations(rng, noise)
    found = fit(prior, data, BOX)
    points = np.concatenate([random_points(rng, 40), BOX.scale(data.points)])
    mean, variance, _, _ = found.moments(points)
    before = prior.variance(prior.codes(points))[0][:, None] * found.levels.square * found.standard.scale**2
    assert np.isfinite(mean).all()
    assert np.all(variance > 0)
    assert np.all(variance <= before * (1 + 1e-9))


def test_values_without_noise_are_interpolated(rng):
    data = observations(rng, "none")
    mean, variance, _, _ = fit(prior_of("rbf"), data, BOX).moments(BOX.scale(data.points))
    np.testing.assert_allclose(mean, np.tile(data.values[:, None], (1, mean.shape[1])), rtol=1e-5)
    assert np.max(variance) < 1e-3 * np.var(data.values)


def test_a_measurement_counts_by_its_own_noise(rng):
    """A wrong value at one point moves the prediction there as much as its noise allows."""
    data, prior = observations(rng, "known"), prior_of("rbf")
    wrong = data.values.copy()
    wrong[4] += 10.0
    at = BOX.scale(data.points[[4]])
    gaps = []
    for own in (0.01, 1.0, 10.0, 1000.0):
        noise = data.noise.copy()
        noise[4] = own
        found = fit(prior, data._replace(values=wrong, noise=noise), BOX)
        gaps.append(abs(found.moments(at).mean[0] @ np.exp(found.levels.log_weight) - wrong[4]))
    assert np.all(np.diff(gaps) > 0)
    assert gaps[0] < 0.01
    assert gaps[-1] > 5.0


def test_a_known_noise_is_kept_beside_an_unknown_one(rng):
    """One more measurement, far away and of unknown noise, does not make the others exact."""
    data = observations(rng, "known")._replace(noise=np.full(9, 4.0))
    prior = uninformed(Kernel("rbf", np.array([0.05, 0.05])))  # no measurement tells of another

    def variance(noise):
        found = fit(prior, data._replace(noise=noise), BOX)
        return found.moments(BOX.scale(data.points[:-1])).variance @ np.exp(found.levels.log_weight)

    np.testing.assert_allclose(variance(np.append(data.noise[:-1], np.nan)), variance(data.noise), rtol=0.3)


def test_the_weights_give_the_mean_at_the_most_likely_level(rng):
    data, points = observations(rng), random_points(rng)
    for prior in map(prior_of, PRIORS):
        found = fit(prior, data, BOX)
        shift, scale = found.standard
        codes = prior.codes(points)
        h = codes.values @ prior.mean_weights(shift, scale)
        h += found.across(codes)[0] @ found.weights[:, 0]
        np.testing.assert_allclose(shift + scale * h, found.moments(points).mean[:, 0], rtol=1e-9)


def test_without_observations_the_belief_is_the_prior(rng):
    empty = Data(np.zeros((0, 2)), np.zeros(0), np.zeros(0), np.zeros((0, 2)))
    points = random_points(rng)
    for prior in map(prior_of, PRIORS):
        found = fit(prior, empty, BOX)
        mean, variance, _, _ = found.moments(points)
        expected = prior.codes(points).values @ prior.mean_weights(0.0, 1.0)
        np.testing.assert_allclose(mean, np.tile(expected[:, None], (1, mean.shape[1])))
        own = prior.variance(prior.codes(points))[0]
        np.testing.assert_allclose(variance, np.outer(own, found.levels.square))
        assert found.log_evidence == 0.0


def test_the_data_prefer_the_length_scale_they_were_drawn_with(rng):
    """The evidence is a comparison of settings: drawn functions, on average."""
    scales, n = (0.1, 0.4, 1.6), 25
    points = BOX.sobol(n, 1)
    total = np.zeros((3, 3))
    for i, true in enumerate(scales):
        covariance = Kernel("rbf", np.full(2, true)).values(BOX.scale(points), BOX.scale(points))
        draws = rng.multivariate_normal(np.zeros(n), covariance + 1e-6 * np.eye(n), 6)
        for values in draws:
            data = Data(points, values, np.full(n, 1e-3), np.zeros((0, 2)))
            total[i] += [
                fit(uninformed(Kernel("rbf", np.full(2, s))), data, BOX).log_evidence for s in scales
            ]
    np.testing.assert_array_equal(np.argmax(total, axis=1), [0, 1, 2])


# ---------------------------------------------------------------- mixtures


def mixture(data):
    beliefs = [fit(prior_of(name), data, BOX) for name in ("rbf", "physics", "sum")]
    return Mixture(beliefs, np.log(np.array([0.5, 0.2, 0.3])))


def test_the_prediction_of_a_mixture_has_its_mean_and_deviation(rng):
    """More points than one batch holds."""
    found = mixture(observations(rng))
    points = random_points(rng, 300)
    mean, std = found.predict(points)
    first, second = np.zeros(300), np.zeros(300)
    for belief, weight in zip(found.beliefs, (0.5, 0.2, 0.3), strict=True):
        moments = belief.moments(points)
        for j, share in enumerate(np.exp(belief.levels.log_weight)):
            first += weight * share * moments.mean[:, j]
            second += weight * share * (moments.variance[:, j] + moments.mean[:, j] ** 2)
    np.testing.assert_allclose(mean, first, rtol=1e-9)
    np.testing.assert_allclose(std, np.sqrt(second - first**2), rtol=1e-6)


def test_the_weights_of_a_mixture_sum_to_one(rng):
    weights = np.exp(mixture(observations(rng)).component_log_weights)
    assert len(weights) == 3 * N_LEVELS
    assert np.sum(weights) == pytest.approx(1.0)


def test_the_moments_of_a_mixture_are_those_of_its_beliefs_in_order(rng):
    found, points = mixture(observations(rng)), random_points(rng)
    moments = found.moments(points, slopes=True)
    for i, belief in enumerate(found.beliefs):
        own, part = belief.moments(points, slopes=True), slice(i * N_LEVELS, (i + 1) * N_LEVELS)
        for whole, single in zip(moments, own, strict=True):
            np.testing.assert_array_equal(whole[..., part], single)
    plain = found.moments(points)
    assert plain.mean_slope is None
    assert plain.variance_slope is None


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
    """Measurements are drawn, the belief conditioned on each: the mean gain over the best mean is EI."""
    noise = 0.5
    data = observations(rng)
    data = data._replace(noise=np.full(len(data.values), noise))
    belief = fit(uninformed(Kernel("rbf", np.full(BOX.dim, 0.7))), data, BOX)
    one = replace(belief, levels=Levels(np.zeros(1), belief.levels.square[:1], belief.levels.ratio[:1]))
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


@pytest.mark.parametrize("noise", [0.0, 0.3])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_gradient_of_a_mixture_has_the_slopes_it_claims(sign, noise, rng):
    data = observations(rng)
    found = mixture(data)
    incumbent = BOX.scale(data.points[2])
    objective = Gradient(found, sign, incumbent, noise)
    points = random_points(rng, 20)
    values, slopes = objective.values_and_slopes(points)
    np.testing.assert_allclose(objective.values(points), values, rtol=1e-8)
    expected = finite_difference(objective.values, points, 1e-6)
    np.testing.assert_allclose(slopes, expected, rtol=1e-4, atol=1e-4 * np.max(np.abs(expected)))
    moments = found.moments(points)
    there = found.moments(incumbent[None]).mean[0]
    shared = np.concatenate(
        [b.compared(points, b.reference(incumbent))[1].values for b in found.beliefs], axis=1
    )
    moved = np.abs(moments.variance - shared) / np.sqrt(moments.variance + noise)
    direct, _, _ = log_expected_improvement(
        found.component_log_weights, sign * (moments.mean - there), moved, 0.0
    )
    np.testing.assert_allclose(values, -direct, rtol=1e-6)


@pytest.mark.parametrize("n", [9, 60])
@pytest.mark.parametrize("name", PRIORS)
def test_covariances_with_a_reference_are_those_of_the_posterior(name, n, rng):
    data, prior = observations(rng, "known", n), prior_of(name)
    belief = fit(prior, data, BOX)
    points, star = random_points(rng, 5), random_points(rng, 1)
    moments, shared = belief.compared(points, belief.reference(star[0]), slopes=True)
    for mine, its in zip(moments, belief.moments(points, slopes=True), strict=True):
        np.testing.assert_allclose(mine, its)
    for j in range(N_LEVELS):
        square, ratio = belief.levels.square[j], belief.levels.ratio[j]
        _, left = brute_force(prior, data, np.concatenate([points, star]), square, ratio)
        np.testing.assert_allclose(shared.values[:, j], left[:-1, -1], rtol=1e-5, atol=1e-6)
    expected = finite_difference(lambda p: belief.compared(p, belief.reference(star[0]))[1].values, points)
    np.testing.assert_allclose(shared.slopes, expected, rtol=1e-3, atol=1e-4 * np.max(np.abs(expected)))


def test_the_gradient_is_that_of_both_means_after_the_measurement(rng):
    """Measurements are drawn, the belief conditioned on each: the mean gain over the incumbent."""
    noise = 0.5
    data = observations(rng)
    data = data._replace(noise=np.full(len(data.values), noise))
    belief = fit(uninformed(Kernel("rbf", np.full(BOX.dim, 0.7))), data, BOX)
    one = replace(belief, levels=Levels(np.zeros(1), belief.levels.square[:1], belief.levels.ratio[:1]))
    point, star = random_points(rng, 1), BOX.scale(data.points[3])
    moments, shared = one.compared(point, one.reference(star))
    mean, variance = float(moments.mean[0, 0]), float(moments.variance[0, 0])
    there, both = float(one.moments(star[None]).mean[0, 0]), float(shared.values[0, 0])
    drawn = np.sqrt(variance + noise**2) * np.random.default_rng(0).standard_normal(400_000)
    after = mean + variance / (variance + noise**2) * drawn  # of a normal posterior
    there_after = there + both / (variance + noise**2) * drawn
    gain = np.mean(np.maximum(there_after - after, 0.0))
    objective = Gradient(Mixture([one], np.zeros(1)), 1.0, star, noise**2)
    assert np.exp(-objective.values(point)[0]) == pytest.approx(gain, rel=0.01)


def test_nothing_is_gained_by_measuring_the_incumbent_again(rng):
    data = observations(rng)
    star = BOX.scale(data.points[3])
    objective = Gradient(mixture(data), 1.0, star, 0.1)
    assert np.exp(-objective.values(star[None])[0]) < 1e-6


@pytest.mark.parametrize("kind", ["improvement", "gradient"])
def test_many_points_of_a_gain_are_worked_through_in_pieces(kind, rng, monkeypatch):
    monkeypatch.setattr(mixtures, "_BATCH", 128)
    found = mixture(observations(rng))
    objective = (
        Improvement(found, 1.0, 15.0, 0.1)
        if kind == "improvement"
        else Gradient(found, 1.0, np.zeros(BOX.dim), 0.1)
    )
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


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_bound_of_a_mixture_is_its_mean_less_its_deviations_and_has_the_slopes_it_claims(sign, rng):
    found = mixture(observations(rng))
    objective, points = Bound(found, sign, 2.5), random_points(rng, 20)
    values, slopes = objective.values_and_slopes(points)
    mean, std = found.predict(points)
    np.testing.assert_allclose(values, sign * mean - 2.5 * std, rtol=1e-8)
    np.testing.assert_allclose(objective.values(points), values, rtol=1e-8)
    expected = finite_difference(objective.values, points, 1e-6)
    np.testing.assert_allclose(slopes, expected, rtol=1e-4, atol=1e-4 * np.max(np.abs(expected)))


def test_a_contest_is_the_ratio_of_two_variances_and_has_the_slopes_it_claims(rng):
    data = observations(rng)
    sure, unsure = mixture(data), mixture(data.first(3))
    objective, points = Contest(sure, unsure, 0.3), random_points(rng, 20)
    values, slopes = objective.values_and_slopes(points)
    ratio = (sure.predict(points)[1] ** 2 + 0.3) / (unsure.predict(points)[1] ** 2 + 0.3)
    np.testing.assert_allclose(np.exp(values), ratio, rtol=1e-8)
    np.testing.assert_allclose(objective.values(points), values, rtol=1e-8)
    expected = finite_difference(objective.values, points, 1e-6)
    np.testing.assert_allclose(slopes, expected, rtol=1e-4, atol=1e-4 * np.max(np.abs(expected)))


# ---------------------------------------------------------------- likely length scales


@pytest.mark.parametrize("noise", ["unknown", "known", "of some"])
@pytest.mark.parametrize("family", FAMILIES)
def test_the_slope_of_the_loss_is_its_derivative(family, noise, rng):
    data = observations(rng, noise)
    points, values = BOX.scale(data.points), (data.values - 20.0) / 4.0

    def loss(parameters):
        return _loss(family, points, values, data.noise / 4.0, 0.3, parameters)

    for parameters in (np.array([0.0, -1.0, 0.5, -3.0]), np.array([1.2, 0.4, -0.7, -1.0])):
        _, slope = loss(parameters)
        moves = 1e-5 * np.eye(4)
        expected = [(loss(parameters + move)[0] - loss(parameters - move)[0]) / 2e-5 for move in moves]
        np.testing.assert_allclose(slope, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_loss_is_a_density_of_the_values_and_a_prior_of_the_parameters(family, rng):
    """Differences of the loss at one length scale, amplitude and noise from another."""
    data = observations(rng)
    points, values = BOX.scale(data.points), (data.values - 20.0) / 4.0
    unknown = np.full(len(values), np.nan)

    def expected(parameters):
        kernel = Kernel(family, np.exp(parameters[:2]))
        amplitude, noise = np.exp(parameters[2:])
        covariance = amplitude**2 * kernel.values(points, points) + noise**2 * np.eye(len(values))
        offsets = (parameters - [0.3, 0.3, 0.0, np.log(0.02)]) / [np.sqrt(3), np.sqrt(3), 1.2, 1.5]
        return 0.5 * np.sum(offsets**2) - log_density(values, covariance)

    one, other = np.array([0.0, -1.0, 0.5, -3.0]), np.array([1.2, 0.4, -0.7, -1.0])
    found = [_loss(family, points, values, unknown, 0.3, parameters)[0] for parameters in (one, other)]
    assert found[0] - found[1] == pytest.approx(expected(one) - expected(other), rel=1e-5)


@pytest.mark.parametrize("family", FAMILIES)
def test_an_axis_that_does_not_matter_gets_a_long_scale(family, rng):
    points = BOX.sobol(30, 1)
    values = np.sin(3.0 * points[:, 0])
    data = Data(points, values, np.full(30, np.nan), np.zeros((0, 2)))
    along, across = likely_scales(family, BOX, data).scales
    assert across > 4.0 * along


@pytest.mark.parametrize("family", FAMILIES)
def test_likely_scales_do_not_depend_on_the_units(family, rng):
    data = observations(rng, "of each", n=15)
    other = data._replace(values=1e6 * data.values - 3e7, noise=1e6 * data.noise)
    ours, theirs = likely_scales(family, BOX, data), likely_scales(family, BOX, other)
    np.testing.assert_allclose(theirs.scales, ours.scales, rtol=1e-2)
    assert theirs.log_share == pytest.approx(ours.log_share, abs=0.05)


def test_likely_scales_are_a_minimum_of_the_loss(rng):
    data = observations(rng, "known", n=15)
    shift, scale = Standard.of(data.values)
    centre = np.sqrt(2.0) + 0.5 * np.log(2) + np.log(2.0)
    best = np.log(likely_scales("matern", BOX, data).scales)

    def profile(log_scales):
        """The loss at the best amplitude."""
        losses = [
            _loss(
                "matern",
                BOX.scale(data.points),
                (data.values - shift) / scale,
                data.noise / scale,
                centre,
                np.append(log_scales, [a, np.log(0.02)]),
            )[0]
            for a in np.linspace(-4.0, 4.0, 161)
        ]
        return min(losses)

    reached = profile(best)
    for move in np.array([[0.5, 0.0], [-0.5, 0.0], [0.0, 0.5], [0.0, -0.5]]):
        assert profile(best + move) > reached


@pytest.mark.parametrize("frequency", [2.0, pytest.param(7.0, marks=pytest.mark.slow)])
def test_likely_scales_count_as_much_as_the_evidence_averaged_over_their_prior(frequency):
    """log p(Y) - log p(Y | l*) against sums over grids of length scales and amplitudes."""
    line = Space(x=(0.0, 1.0))
    points = line.sobol(20, 3)
    values = np.sin(frequency * points[:, 0]) + 0.05 * np.random.default_rng(1).standard_normal(20)
    data = Data(points, values, np.full(20, 0.05), np.zeros((0, 1)))
    shift, scale = Standard.of(values)
    centre = np.sqrt(2.0) + np.log(2.0)

    def log_density(log_scale):
        """log p(Y | l) up to a constant: averaged over amplitudes, the prior of the length scale taken out."""
        losses = [
            _loss(
                "rbf",
                line.scale(points),
                (values - shift) / scale,
                data.noise / scale,
                centre,
                np.array([log_scale, a, np.log(0.02)]),
            )[0]
            for a in np.linspace(-4.0, 4.0, 81)
        ]
        return logsumexp(-np.array(losses)) + 0.5 * (log_scale - centre) ** 2 / 3.0

    grid = np.linspace(np.log(0.02), centre + 6.0, 121)
    prior = -0.5 * (grid - centre) ** 2 / 3.0
    averaged = logsumexp(prior + [log_density(g) for g in grid]) - logsumexp(prior)
    likely, log_share = likely_scales("rbf", line, data)
    assert log_share == pytest.approx(averaged - log_density(np.log(likely[0])), abs=0.35)
    assert log_share < -0.5
