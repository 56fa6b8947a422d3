"""The logarithm of the expected improvement: exact far into the tail, and with the slopes that it has."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import logsumexp
from scipy.stats import norm

from pinnbo.acquisition.improvement import log_expected_improvement, log_h

NEAR = np.concatenate([np.linspace(-4.0, 8.0, 97), [20.0, 1e3, 1e8]])
TAIL = -np.concatenate([np.linspace(4.0, 40.0, 73), np.geomspace(50.0, 1e6, 20)])


def precise(z):
    """log h and its slope with sixty digits."""
    mpmath = pytest.importorskip("mpmath")
    with mpmath.workdps(60):
        x = mpmath.mpf(float(z))
        below = mpmath.erfc(-x / mpmath.sqrt(2)) / 2
        h = mpmath.npdf(x) + x * below
        return float(mpmath.log(h)), float(below / h)


def series(z):
    """Of h = phi (1 - Mills' ratio |z|) for large |z|: phi / z^2 (1 - 3 / z^2 + 15 / z^4 - 105 / z^6 ...)."""
    factors = [-(2 * k + 1) / z**2 for k in range(1, 7)]
    return norm.logpdf(z) - 2 * np.log(-z) + np.log1p(np.sum(np.cumprod(factors, axis=0), axis=0))


def mixture(rng, b=5, k=4):
    weights = rng.dirichlet(np.ones(k))
    return np.log(weights), rng.normal(size=(b, k)), rng.uniform(0.1, 2.0, (b, k))


def test_log_h_is_exact_from_the_far_tail_to_certainty():
    # sixty digits do not reach further: the terms cancel as z^-2
    for z in np.concatenate([NEAR, TAIL[np.abs(TAIL) < 1e4]]):
        value, slope, _ = log_h(np.array([z]))
        expected = precise(z)
        assert value[0] == pytest.approx(expected[0], rel=1e-10, abs=1e-13)
        assert slope[0] == pytest.approx(expected[1], rel=1e-8)


def test_log_h_agrees_with_its_definition_where_that_is_safe():
    z = NEAR[(NEAR > -3.0) & (NEAR < 30.0)]
    np.testing.assert_allclose(log_h(z)[0], np.log(norm.pdf(z) + z * norm.cdf(z)), atol=1e-11)


def test_log_h_agrees_with_its_asymptotic_series_in_the_tail():
    z = TAIL[TAIL < -15.0]
    np.testing.assert_allclose(log_h(z)[0], series(z), rtol=1e-12)


@pytest.mark.parametrize("z", [NEAR[NEAR < 100], TAIL])
def test_the_slope_of_log_h_is_its_derivative(z):
    step = 1e-6 * np.maximum(1.0, np.abs(z))
    expected = (log_h(z + step)[0] - log_h(z - step)[0]) / (2 * step)
    np.testing.assert_allclose(log_h(z)[1], expected, rtol=1e-5, atol=1e-9)


def test_both_formulas_meet_at_minus_four():
    at = np.array([np.nextafter(-4.0, -5.0), -4.0])
    value, slope, _ = log_h(at)
    assert value[0] == pytest.approx(value[1], abs=1e-11)
    assert slope[0] == pytest.approx(slope[1], rel=1e-10)


def test_log_h_increases_and_its_slope_falls():
    """h is increasing and log-concave."""
    z = np.unique(np.concatenate([TAIL, NEAR[NEAR < 6]]))
    value, slope, _ = log_h(z)
    assert np.all(np.diff(value) > 0)
    assert np.all(np.diff(slope) < 0)


def test_log_h_takes_any_shape(rng):
    z = rng.normal(size=(2, 3, 4)) * 5
    value, slope, _ = log_h(z)
    flat_value, flat_slope, _ = log_h(z.ravel())
    np.testing.assert_array_equal(value.ravel(), flat_value)
    np.testing.assert_array_equal(slope.ravel(), flat_slope)


@pytest.mark.parametrize("best", [-2.5, 0.0, 1.0])
def test_expected_improvement_is_the_integral_of_the_improvement(best, rng):
    log_weights, mean, std = mixture(rng)
    total, _, _ = log_expected_improvement(log_weights, mean, std, best)

    def improvement(b):
        def integrand(y):
            return (best - y) * np.exp(logsumexp(log_weights + norm.logpdf(y, mean[b], std[b])))

        edges = np.unique(np.minimum(np.concatenate([mean[b] + t * std[b] for t in (-9, -3, 0, 3)]), best))
        return quad(integrand, edges[0], best, points=edges[1:-1], epsabs=1e-13, epsrel=1e-10, limit=500)[0]

    np.testing.assert_allclose(np.exp(total), [improvement(b) for b in range(len(mean))], rtol=1e-7)


@pytest.mark.parametrize("best", [-3.0, 0.0, 2.0, -40.0])
def test_slopes_of_the_log_expected_improvement_are_derivatives(best, rng):
    log_weights, mean, std = mixture(rng, b=3, k=3)
    _, by_mean, by_std = log_expected_improvement(log_weights, mean, std, best)
    step = 1e-6
    for k in range(3):
        move = np.zeros((1, 3))
        move[0, k] = step
        for found, (m, s) in ((by_mean, (move, 0.0)), (by_std, (0.0, move))):
            up, _, _ = log_expected_improvement(log_weights, mean + m, std + s, best)
            down, _, _ = log_expected_improvement(log_weights, mean - m, std - s, best)
            np.testing.assert_allclose(found[:, k], (up - down) / (2 * step), rtol=1e-5, atol=1e-6)


def test_a_component_split_in_two_is_the_same_mixture(rng):
    log_weights, mean, std = mixture(rng, k=2)
    doubled = np.repeat(log_weights - np.log(2.0), 2)
    split, by_mean, _ = log_expected_improvement(doubled, np.repeat(mean, 2, 1), np.repeat(std, 2, 1), 0.1)
    total, whole, _ = log_expected_improvement(log_weights, mean, std, 0.1)
    np.testing.assert_allclose(split, total, rtol=1e-12)
    np.testing.assert_allclose(by_mean[:, ::2] + by_mean[:, 1::2], whole, rtol=1e-12)


def test_a_component_without_weight_does_not_count(rng):
    log_weights, mean, std = mixture(rng)
    padded = np.append(log_weights, -np.inf), *(np.column_stack([part, np.ones(5)]) for part in (mean, std))
    total, by_mean, by_std = log_expected_improvement(*padded, 0.0)
    np.testing.assert_allclose(total, log_expected_improvement(log_weights, mean, std, 0.0)[0])
    np.testing.assert_array_equal(by_mean[:, -1], 0.0)
    np.testing.assert_array_equal(by_std[:, -1], 0.0)


def test_units_only_shift_the_logarithm(rng):
    """EI(c f) = c EI(f): the same argmax in any units."""
    log_weights, mean, std = mixture(rng)
    total, by_mean, by_std = log_expected_improvement(log_weights, mean, std, -0.5)
    for unit in (1e-12, 1e9):
        scaled = log_expected_improvement(log_weights, unit * mean, unit * std, -0.5 * unit)
        np.testing.assert_allclose(scaled[0], total + np.log(unit), rtol=1e-12)
        np.testing.assert_allclose(unit * scaled[1], by_mean, rtol=1e-9)
        np.testing.assert_allclose(unit * scaled[2], by_std, rtol=1e-9)


def test_a_hopeless_point_still_has_finite_values_and_slopes():
    """Where EI itself underflows."""
    log_weights = np.log(np.array([0.3, 0.7]))
    mean, std = np.array([[50.0, 60.0], [1e3, 1e4]]), np.array([[0.1, 0.2], [1e-3, 1e-2]])
    total, by_mean, by_std = log_expected_improvement(log_weights, mean, std, 0.0)
    assert np.isfinite(total).all()
    assert np.all(total < -1000)
    assert np.all(np.min(by_mean, axis=1) < -1.0)
    assert np.all(np.max(by_std, axis=1) > 1.0)


@pytest.mark.parametrize(
    "z",
    [
        -10.0,
        -1e3,
        -1e5,
        -1e8,
    ],
)
def test_the_slope_in_the_standard_deviation_holds_in_the_far_tail(z):
    """phi / h = 1 - z Phi / h."""
    _, by_mean, by_std = log_expected_improvement(np.zeros(1), np.array([[-z]]), np.ones((1, 1)), 0.0)
    assert by_mean[0, 0] == pytest.approx(z - 2 / -z, rel=1e-3)
    assert by_std[0, 0] == pytest.approx(1.0 + z * by_mean[0, 0], rel=1e-4)
