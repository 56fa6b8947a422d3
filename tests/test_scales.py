"""The most likely length scales: slopes of the loss, units, and what choosing them costs."""

import numpy as np
import pytest
from scipy.special import logsumexp

from pinnbo import Space
from pinnbo.data import Data, Standard
from pinnbo.gp.kernels import RBF, Additive, Matern, Pairwise
from pinnbo.gp.scales import _loss, likely_scales
from test_posterior import BOX, log_density, observations

KERNELS = [RBF, Matern, Additive, Pairwise]
CENTRE = float(np.sqrt(2.0) + 0.5 * np.log(2) + np.log(2.0))  # of log l without physics, in two dimensions


@pytest.mark.parametrize("noise", ["unknown", "known", "of some"])
@pytest.mark.parametrize("kind", KERNELS)
def test_the_slope_of_the_loss_is_its_derivative(kind, noise, rng):
    data = observations(rng, noise)
    points, values = BOX.scale(data.points), (data.values - 20.0) / 4.0

    def loss(parameters):
        return _loss(kind, points, values, data.noise / 4.0, 0.3, parameters)

    for parameters in (np.array([0.0, -1.0, 0.5, -3.0]), np.array([1.2, 0.4, -0.7, -1.0])):
        _, slope = loss(parameters)
        moves = 1e-5 * np.eye(4)
        expected = [(loss(parameters + move)[0] - loss(parameters - move)[0]) / 2e-5 for move in moves]
        np.testing.assert_allclose(slope, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kind", KERNELS)
def test_the_loss_is_a_density_of_the_values_and_a_prior_of_the_parameters(kind, rng):
    """Differences of the loss at one length scale, amplitude and noise from another."""
    data = observations(rng)
    points, values = BOX.scale(data.points), (data.values - 20.0) / 4.0
    unknown = np.full(len(values), np.nan)

    def expected(parameters):
        kernel = kind(np.exp(parameters[:2]))
        amplitude, noise = np.exp(parameters[2:])
        covariance = amplitude**2 * kernel.values(points, points) + noise**2 * np.eye(len(values))
        offsets = (parameters - [0.3, 0.3, 0.0, np.log(0.02)]) / [np.sqrt(3), np.sqrt(3), 1.2, 1.5]
        return 0.5 * np.sum(offsets**2) - log_density(values, covariance)

    one, other = np.array([0.0, -1.0, 0.5, -3.0]), np.array([1.2, 0.4, -0.7, -1.0])
    found = [_loss(kind, points, values, unknown, 0.3, parameters)[0] for parameters in (one, other)]
    assert found[0] - found[1] == pytest.approx(expected(one) - expected(other), rel=1e-5)


@pytest.mark.parametrize("kind", KERNELS)
def test_an_axis_that_does_not_matter_gets_a_long_scale(kind, rng):
    points = BOX.sobol(30, 1)
    values = np.sin(3.0 * points[:, 0])
    data = Data(points, values, np.full(30, np.nan), np.zeros((0, 2)))
    along, across = likely_scales(kind, CENTRE, BOX, data).scales
    assert across > 4.0 * along


@pytest.mark.parametrize("kind", KERNELS)
def test_likely_scales_do_not_depend_on_the_units(kind, rng):
    data = observations(rng, "of each", n=15)
    other = data._replace(values=1e6 * data.values - 3e7, noise=1e6 * data.noise)
    ours, theirs = likely_scales(kind, CENTRE, BOX, data), likely_scales(kind, CENTRE, BOX, other)
    np.testing.assert_allclose(theirs.scales, ours.scales, rtol=1e-2)
    assert theirs.log_share == pytest.approx(ours.log_share, abs=0.05)


def test_likely_scales_are_a_minimum_of_the_loss(rng):
    data = observations(rng, "known", n=15)
    shift, scale = Standard.of(data.values)
    best = np.log(likely_scales(Matern, CENTRE, BOX, data).scales)

    def profile(log_scales):
        """The loss at the best amplitude."""
        losses = [
            _loss(
                Matern,
                BOX.scale(data.points),
                (data.values - shift) / scale,
                data.noise / scale,
                CENTRE,
                np.append(log_scales, [a, np.log(0.02)]),
            )[0]
            for a in np.linspace(-4.0, 4.0, 161)
        ]
        return min(losses)

    reached = profile(best)
    for move in np.array([[0.5, 0.0], [-0.5, 0.0], [0.0, 0.5], [0.0, -0.5]]):
        assert profile(best + move) > reached


@pytest.mark.parametrize("frequency", [2.0, 7.0])
def test_likely_scales_count_as_much_as_the_evidence_averaged_over_their_prior(frequency):
    """log p(Y) - log p(Y | l*) against sums over grids of length scales and amplitudes."""
    line = Space(x=(0.0, 1.0))
    points = line.sobol(20, 3)
    values = np.sin(frequency * points[:, 0]) + 0.05 * np.random.default_rng(1).standard_normal(20)
    data = Data(points, values, np.full(20, 0.05), np.zeros((0, 1)))
    shift, scale = Standard.of(values)
    centre = float(np.sqrt(2.0) + np.log(2.0))
    amplitudes = np.linspace(-4.0, 4.0, 81)[:, None]

    def log_density(log_scale):
        """log p(Y | l) up to a constant: averaged over amplitudes, for all of which one eigenbasis serves."""
        s = line.scale(points)
        eigenvalues, vectors = np.linalg.eigh(RBF(np.array([np.exp(log_scale)])).values(s, s))
        scores = vectors.T @ ((values - shift) / scale)
        spread = np.exp(2.0 * amplitudes) * (eigenvalues + 1e-8) + (0.05 / scale) ** 2
        logs = -0.5 * np.sum(scores**2 / spread + np.log(spread), axis=1)
        return logsumexp(logs - 0.5 * (amplitudes[:, 0] / 1.2) ** 2)

    grid = np.linspace(np.log(0.02), centre + 6.0, 121)
    prior = -0.5 * (grid - centre) ** 2 / 3.0
    averaged = logsumexp(prior + [log_density(g) for g in grid]) - logsumexp(prior)
    likely, log_share = likely_scales(RBF, centre, line, data)
    assert log_share == pytest.approx(averaged - log_density(np.log(likely[0])), abs=0.35)
    assert log_share < -0.5
