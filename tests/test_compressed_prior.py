"""A Gaussian process on features: against the kernel that it stands for."""

import numpy as np
import pytest

from pinnbo import PDE, Space
from pinnbo.data import Data
from pinnbo.inference.belief import fit
from pinnbo.inference.compressed_prior import compressed, on_features
from pinnbo.inference.jets import JetPDE
from pinnbo.inference.kernel_prior import inform, unbound, uninformed
from pinnbo.models.kernels import Kernel
from pinnbo.operators import laplacian

BOX = Space(x=(-1.0, 3.0), y=(0.5, 1.2))


def rows_at(n, seed):
    pde = PDE(lambda f: lambda x: laplacian(f)(x) + f(x), source=2.0)
    points = BOX.sobol(n, seed)
    return JetPDE(BOX, pde).rows(BOX.scale(points), pde.source_at(points))


def informed(scale, n=256):
    return inform(Kernel("rbf", np.full(2, scale)), rows_at(n, 2), 1.0, 1e-3)


def finite_difference(function, points, step=1e-5):
    moves = step * np.eye(points.shape[1])
    return np.stack([(function(points + m) - function(points - m)) / (2 * step) for m in moves], axis=1)


def test_features_hold_all_that_the_physics_left(rng):
    full, points = informed(0.7), rng.uniform(-1.0, 1.0, (30, 2))
    small = compressed(full)
    assert small.rank < 60
    np.testing.assert_allclose(
        small.covariance_matrix(points), full.covariance_matrix(points), atol=2e-3 * full.variation
    )
    for standard in ((0.0, 1.0), (-20.0, 7.0)):
        mean = small.codes(points).values @ small.mean_weights(*standard)
        expected = full.codes(points).values @ full.mean_weights(*standard)
        np.testing.assert_allclose(mean, expected, rtol=1e-6, atol=1e-6)


def test_features_that_would_be_too_many_are_refused():
    assert compressed(informed(0.05)) is None


def test_slopes_of_features_are_derivatives(rng):
    small, points = compressed(informed(0.7)), rng.uniform(-0.9, 0.9, (5, 2))
    codes, anchors = small.codes(points, slopes=True), small.codes(rng.uniform(-1.0, 1.0, (4, 2)))
    expected = finite_difference(lambda p: small.codes(p).values, points)
    np.testing.assert_allclose(codes.slopes, expected, rtol=1e-4, atol=1e-4)
    expected = finite_difference(lambda p: small.covariance(small.codes(p), anchors)[0], points)
    np.testing.assert_allclose(small.covariance(codes, anchors)[1], expected, rtol=1e-4, atol=1e-5)
    expected = finite_difference(lambda p: small.variance(small.codes(p))[0], points)
    np.testing.assert_allclose(small.variance(codes)[1], expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("family", ["rbf", "matern", "additive", "pairwise"])
def test_between_the_measured_points_a_kernel_without_physics_predicts_as_before(family, rng):
    """Inducing points at all measured ones: nothing is lost of mean or variance, not even far from them."""
    points = BOX.sobol(40, 1)
    values = np.sin(points[:, 0]) + points[:, 1] + 0.01 * rng.normal(size=40)
    data = Data(points, values, np.full(40, 0.01), np.zeros((0, 2)))
    plain = uninformed(Kernel(family, np.full(2, 0.6)))
    small = on_features(plain, BOX.scale(points))
    assert not small.has_physics
    found, expected = fit(small, data, BOX), fit(plain, data, BOX)
    assert found.log_evidence == pytest.approx(expected.log_evidence, abs=0.05)
    probes = rng.uniform(-1.0, 1.0, (20, 2))
    mine, its = found.moments(probes), expected.moments(probes)
    np.testing.assert_allclose(mine.mean[:, 0], its.mean[:, 0], atol=1e-3)
    np.testing.assert_allclose(mine.variance[:, 0], its.variance[:, 0], rtol=0.05, atol=1e-6)


def test_rows_bind_the_equation_between_them_above_their_spacing_only():
    held_out = rows_at(64, 5)
    free = [unbound(informed(scale), held_out) for scale in (1.0, 0.4, 0.1, 0.02)]
    assert free[0] < 1e-4
    assert free[1] < 0.02
    assert free[2] > 0.1
    assert free[3] > 0.9
    assert unbound(informed(0.1, 1024), held_out) < 0.02
