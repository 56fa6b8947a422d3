"""Coordinates that are finer towards the faces: against finite differences, and against the operator itself."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pinnbo import PDE, Optimizer, Space
from pinnbo.data import Data
from pinnbo.inference.belief import fit
from pinnbo.inference.compressed_prior import compressed
from pinnbo.inference.interpolation import interpolated
from pinnbo.inference.jets import JetPDE
from pinnbo.inference.kernel_prior import inform
from pinnbo.inference.stretch import StretchedPrior, StretchedSpace
from pinnbo.methods.auto import Auto
from pinnbo.models.kernels import Kernel
from pinnbo.operators import biharmonic, laplacian, partial

BOX = Space(x=(-1.0, 3.0), y=(0.5, 1.2))
FINE = StretchedSpace.of(BOX)
OPERATORS = {
    "laplacian": laplacian,
    "biharmonic": biharmonic,
    "transport": lambda f: lambda x: x[1] * partial(f, 0)(x) - 0.3 * partial(f, 1, order=2)(x) + f(x) / x[1],
}


def differences(function, points, step=1e-5):
    moves = step * np.eye(points.shape[1])
    return np.stack([(function(points + m) - function(points - m)) / (2 * step) for m in moves], axis=1)


def priors(n=200, length=0.6):
    pde = PDE(lambda f: lambda x: laplacian(f)(x) + f(x), source=2.0)
    points = FINE.sobol(n, 2)
    rows = JetPDE(FINE, pde).rows(FINE.scale(points), pde.source_at(points))
    full = inform(Kernel("rbf", np.full(2, length)), rows, 1.0, 1e-3)
    return {"kernel": StretchedPrior(full), "features": StretchedPrior(compressed(full))}


def test_there_and_back(rng):
    points = np.concatenate([BOX.unscale(rng.uniform(-1, 1, (50, 2))), [BOX.lower, BOX.upper]])
    scaled = FINE.scale(points)
    assert np.max(np.abs(scaled)) <= 1.0 + 1e-12
    np.testing.assert_allclose(FINE.unscale(scaled), points, rtol=1e-12)
    np.testing.assert_allclose(scaled[-2:], [[-1, -1], [1, 1]], rtol=1e-12)
    drawn = FINE.sobol(256, 3)
    assert all(BOX.contains(x) for x in drawn)
    # a tenth of the width at each end holds a fifth of the points if they are even in the box, more here
    assert np.mean(np.abs(BOX.scale(drawn)[:, 0]) > 0.8) > 0.35


def test_derivatives_of_the_coordinates(rng):
    points = BOX.unscale(rng.uniform(-0.97, 0.97, (20, 2)))
    found = FINE.local(points, 4)
    lower, half = jnp.asarray(BOX.centre), jnp.asarray(BOX.half_width)

    def coordinate(axis):
        return lambda x: jnp.arcsin(jnp.sin(1.5) * (x - lower[axis]) / half[axis]) / 1.5

    for axis in range(2):
        derivative = coordinate(axis)
        for order in range(4):
            derivative = jax.grad(derivative)
            expected = jax.vmap(derivative)(jnp.asarray(points[:, axis]))
            np.testing.assert_allclose(found[:, order, axis], expected, rtol=1e-9)


@pytest.mark.parametrize("operator", OPERATORS)
def test_rows_are_the_operator(operator, rng):
    """Jets in u by automatic differentiation of f(x(u)), rows against N[f] in the user's units."""
    pde = PDE(OPERATORS[operator])
    jets = JetPDE(FINE, pde)
    scaled = rng.uniform(-0.8, 0.8, (6, 2))
    centre, half = jnp.asarray(BOX.centre), jnp.asarray(BOX.half_width)

    def f(x):
        return jnp.sin(1.3 * x[0] + 0.4) * jnp.exp(0.8 * x[1]) + x[0] ** 3 * x[1]

    def of_u(u):
        return f(centre + half * jnp.sin(1.5 * u) / jnp.sin(1.5))

    columns = []
    for index in jets.indices:
        function = of_u
        for axis, times in enumerate(index):
            for _ in range(times):
                function = partial(function, axis)
        columns.append(jax.vmap(function)(jnp.asarray(scaled)))
    jet = np.stack([np.asarray(column) for column in columns], axis=1)
    expected = jax.vmap(pde.apply(f))(jnp.asarray(FINE.unscale(scaled)))
    np.testing.assert_allclose(jets.values(scaled, jet), expected, rtol=1e-7, atol=1e-7)
    rows = jets.rows(scaled, np.zeros((6, 1)))
    np.testing.assert_allclose(
        np.sum(rows.coefficients * jet, axis=1), np.asarray(expected)[:, 0], rtol=1e-7, atol=1e-7
    )


@pytest.mark.parametrize("kind", ["kernel", "features"])
def test_slopes_are_derivatives(kind, rng):
    prior, points = priors()[kind], rng.uniform(-0.9, 0.9, (5, 2))
    codes, anchors = prior.codes(points, slopes=True), prior.codes(rng.uniform(-1.0, 1.0, (4, 2)))
    for found, function in (
        (codes.slopes, lambda p: prior.codes(p).values),
        (prior.covariance(codes, anchors)[1], lambda p: prior.covariance(prior.codes(p), anchors)[0]),
        (prior.variance(codes)[1], lambda p: prior.variance(prior.codes(p))[0]),
    ):
        np.testing.assert_allclose(found, differences(function, points), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kind", ["kernel", "features"])
def test_slopes_of_a_posterior(kind, rng):
    prior = priors()[kind]
    points = BOX.sobol(8, 1)
    data = Data(points, np.sin(points[:, 0]), np.full(8, 0.01), np.zeros((0, 2)))
    belief = fit(prior, data, BOX)
    at = rng.uniform(-0.9, 0.9, (4, 2))
    moments = belief.moments(at, slopes=True)
    np.testing.assert_allclose(
        moments.mean_slope, differences(lambda p: belief.moments(p).mean, at), rtol=1e-3, atol=1e-4
    )
    np.testing.assert_allclose(
        moments.variance_slope, differences(lambda p: belief.moments(p).variance, at), rtol=1e-3, atol=1e-4
    )


def test_covariances_are_symmetric_and_positive(rng):
    points = rng.uniform(-1, 1, (30, 2))
    for prior in priors().values():
        matrix = prior.covariance_matrix(points)
        assert np.linalg.eigvalsh(matrix)[0] > -1e-8 * np.trace(matrix)
        np.testing.assert_allclose(
            np.diag(matrix), prior.variance(prior.codes(points))[0], rtol=1e-6, atol=1e-9
        )


def test_on_features_it_predicts_the_same(rng):
    full = priors()["kernel"]
    points = rng.uniform(-1, 1, (60, 2))
    small = interpolated(full, points)
    assert full.rank is None
    assert small.rank is not None
    np.testing.assert_allclose(
        small.covariance_matrix(points), full.covariance_matrix(points), atol=1e-4 * full.variation
    )


def test_a_jump_at_a_corner_does_not_spoil_the_inside():
    """The angle around a corner is harmonic, 0 on one face and pi / 2 on the next."""
    space = Space(x=(0.0, 1.0), y=(0.0, 1.0))

    def truth(points):
        return np.arctan2(points[:, 1], points[:, 0])

    optimizer = Optimizer(space, PDE(laplacian), method=Auto(odds=20.0), noise=0.01)
    places = np.linspace(0.04, 0.96, 5)
    faces = np.concatenate(
        [
            np.stack(pair, axis=1)
            for pair in (
                (places, 0 * places),
                (0 * places, places),
                (places, 0 * places + 1),
                (0 * places + 1, places),
            )
        ]
    )
    optimizer.tell(faces, truth(faces) + 0.01 * np.random.default_rng(0).standard_normal(20))
    inside = 0.15 + 0.7 * np.random.default_rng(1).uniform(size=(200, 2))
    mean, std = optimizer.predict(inside)
    error = np.abs(mean - truth(inside))
    assert np.sqrt(np.mean(error**2)) < 0.02 * np.pi / 2
    assert np.mean(error <= 1.96 * std) > 0.85
    assert "finer towards the faces" in optimizer.diagnostics()["model"]
