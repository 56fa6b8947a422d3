"""Covariance functions: their values, slopes, derivatives, against sums over pairs and finite differences."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from pinnbo.gp.kernels import CONSTANT, RBF, Additive, Matern, Pairwise
from pinnbo.physics.functionals import Functionals

KERNELS = [RBF, Matern, Additive, Pairwise]


def finite_difference(function, points, step=1e-5):
    """Slopes in the coordinates: one table per axis, stacked behind the points."""
    moves = step * np.eye(points.shape[1])
    parts = [(function(points + move) - function(points - move)) / (2 * step) for move in moves]
    return np.stack(parts, axis=1)


def in_dimensions(*dims):
    """A line has no pairs of axes."""
    return [(kind, dim) for kind in KERNELS for dim in dims if kind is not Pairwise or dim > 1]


def test_the_pairwise_kernel_is_the_mean_over_pairs_of_axes_of_their_products(rng):
    scale, s, t = rng.uniform(0.2, 2.0, 4), rng.uniform(-1.0, 1.0, (6, 4)), rng.uniform(-1.0, 1.0, (5, 4))
    pairs = list(combinations(range(4), 2))
    expected = np.mean(
        [RBF(scale[list(pair)], constant=0.0).values(s[:, pair], t[:, pair]) for pair in pairs],
        axis=0,
    )
    np.testing.assert_allclose(Pairwise(scale, constant=0.0).values(s, t), expected, rtol=1e-12)
    np.testing.assert_allclose(Pairwise(scale).values(s, t), expected + CONSTANT**2, rtol=1e-12)


@pytest.mark.parametrize(("kind", "dim"), in_dimensions(1, 2, 5))
def test_kernels_are_symmetric_and_positive_semidefinite(kind, dim, rng):
    kernel = kind(rng.uniform(0.2, 2.0, dim))
    s, t = rng.uniform(-1.0, 1.0, (40, dim)), rng.uniform(-1.0, 1.0, (7, dim))
    np.testing.assert_allclose(kernel.values(s, t), kernel.values(t, s).T, rtol=1e-14)
    gram = kernel.values(s, s)
    assert np.linalg.eigvalsh(gram).min() > -1e-12 * len(s) * kernel.variance
    # also what is left without the constant
    assert np.linalg.eigvalsh(gram - CONSTANT**2).min() > -1e-12 * len(s) * kernel.variance
    np.testing.assert_allclose(np.diag(gram), kernel.variance, rtol=1e-12)
    assert gram.min() >= CONSTANT**2
    assert gram.max() <= kernel.variance * (1 + 1e-14)


@pytest.mark.parametrize("kind", KERNELS)
def test_values_fall_with_distance_and_depend_on_distance_over_length(kind, rng):
    s, direction = rng.uniform(-1.0, 1.0, (1, 3)), rng.normal(size=(1, 3))
    along = np.linspace(0.0, 2.0, 30)[:, None] * direction
    kernel = kind(np.array([0.4, 0.8, 1.6]))
    values = kernel.values(s + along, s)[:, 0]
    assert np.all(np.diff(values) < 0)
    wide = kind(3.0 * kernel.scale)
    np.testing.assert_allclose(wide.values(3.0 * (s + along), 3.0 * s)[:, 0], values, rtol=1e-12)


@pytest.mark.parametrize(("kind", "dim"), in_dimensions(1, 3))
def test_slopes_of_kernels_are_their_derivatives(kind, dim, rng):
    """Where the points meet as well."""
    kernel = kind(rng.uniform(0.3, 1.5, dim))
    s = rng.uniform(-1.0, 1.0, (4, dim))
    t = np.concatenate([s[:1], rng.uniform(-1.0, 1.0, (6, dim))])
    slopes = kernel.slopes(s, t)
    np.testing.assert_allclose(slopes, finite_difference(lambda p: kernel.values(p, t), s), atol=1e-8)
    np.testing.assert_array_equal(slopes[0, :, 0], 0.0)


@pytest.mark.parametrize(("kind", "dim"), in_dimensions(1, 3))
def test_slopes_in_the_length_scales_are_derivatives(kind, dim, rng):
    scale = rng.uniform(0.3, 1.5, dim)
    s, weights = rng.uniform(-1.0, 1.0, (9, dim)), rng.normal(size=(9, 9))
    weights = weights + weights.T

    def total(log_scale):
        return np.sum(weights * kind(np.exp(log_scale)).values(s, s))

    moves = 1e-5 * np.eye(dim)
    expected = [(total(np.log(scale) + move) - total(np.log(scale) - move)) / 2e-5 for move in moves]
    gram, slopes = kind(scale).gram(s)
    np.testing.assert_allclose(slopes(weights), expected, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(gram, kind(scale).values(s, s), rtol=1e-12)


@pytest.mark.parametrize("kind", KERNELS)
def test_remembered_points_change_nothing_and_others_are_not_kept(kind, rng):
    kernel, fresh = kind(np.array([0.5, 0.8])), kind(np.array([0.5, 0.8]))
    candidates, measured = rng.uniform(-1, 1, (20, 2)), rng.uniform(-1, 1, (6, 2))
    kernel.remember(candidates)
    for others in (measured[:2], measured[:5], measured, measured[:3], rng.uniform(-1, 1, (4, 2))):
        np.testing.assert_allclose(
            kernel.values(candidates, others), fresh.values(candidates, others), rtol=1e-12
        )
        kernel.values(measured, others)
    assert [known.shape for _, _, known in kernel._known] == [(20, 4)]
    assert not fresh._known


def test_covariances_with_functionals_are_remembered_for_the_same_question_only(rng):
    """Points that are changed in place, other coefficients, places or derivatives, values without slopes."""
    scale, points, places = (
        np.array([0.4, 0.7]),
        rng.uniform(-1.0, 1.0, (3, 2)),
        rng.uniform(-1.0, 1.0, (5, 2)),
    )
    rows = Functionals(
        places, rng.standard_normal((5, 2)), np.array([[2, 0], [0, 1]]), np.zeros(5), np.zeros(5)
    )
    kernel = RBF(scale)
    questions = [
        (points, rows, True),
        (points, rows, False),
        (points, replace(rows, coefficients=2.0 * rows.coefficients), True),
        (points, replace(rows, points=0.5 * rows.points), True),
        (points, replace(rows, derivatives=rows.derivatives[::-1].copy()), True),
        (points, replace(rows, values=np.ones(5)), True),
    ]
    for _ in range(2):
        for at, functionals, slopes in questions:
            found, anew = (k.jets(at, functionals, slopes) for k in (kernel, RBF(scale)))
            for mine, its in zip(found, anew, strict=True):
                assert (mine is None) == (its is None)
                assert mine is None or np.array_equal(mine, its)
        points += 0.25
    first = kernel.jets(points, rows, True)[0]
    assert kernel.jets(points.copy(), replace(rows, values=np.ones(5)), True)[0] is first
