"""Objectives that are functions of the fields, limits, and the goal to learn."""

from __future__ import annotations

import json

import jax.numpy as jnp
import numpy as np
import pytest

from pinnbo import PDE, Optimizer, Space, mean_over, worst
from pinnbo.acquisition.functional import Fields, KnowledgeGradient
from pinnbo.operators import gradient, laplacian, partial

SQUARE = Space(x=(-1.0, 1.0), y=(-1.0, 1.0))
LAPLACE = PDE(lambda f: laplacian(f), name="Laplace")


def speed(f):
    return lambda x: jnp.sqrt(jnp.sum(gradient(f)(x) ** 2) + 1e-12)


def field(x: np.ndarray) -> np.ndarray:
    """Harmonic; |grad| is exp(x)."""
    return np.exp(x[..., 0]) * np.cos(x[..., 1])


def told(optimizer: Optimizer, n: int, function=field, noise: float = 1e-3) -> Optimizer:
    rng = np.random.default_rng(0)
    points = optimizer.domain.sobol(n, 5)
    optimizer.tell(points, function(points) + noise * rng.standard_normal(n))
    return optimizer


def test_mean_of_a_nonlinear_objective() -> None:
    """|grad f| of a harmonic field is known where the field is."""
    optimizer = told(Optimizer(SQUARE, LAPLACE, goal="maximize", objective=speed, noise=1e-3), 20)
    at = np.array([[0.0, 0.0], [0.5, -0.5], [0.9, 0.2]])
    mean, std = optimizer.predict_objective(at)
    assert np.all(np.abs(mean - np.exp(at[:, 0])) < 4 * std + 0.02)
    assert np.max(std) < 0.2
    assert optimizer.best.x[0] > 0.9


@pytest.mark.parametrize("pde", [LAPLACE, None])
def test_a_linear_objective_has_the_closed_form(pde: PDE | None) -> None:
    """Draws of 2 f - x agree with mean and variance of f, with physics and without."""
    optimizer = told(Optimizer(SQUARE, pde, objective=lambda f: lambda x: 2.0 * f(x) - x[0], noise=0.05), 8)
    at = SQUARE.sobol(30, 9)
    mean, std = optimizer.predict(at)
    own_mean, own_std = optimizer.predict_objective(at)
    np.testing.assert_allclose(own_mean, 2.0 * mean - at[:, 0], atol=0.5 * float(np.max(std)))
    assert 0.5 < np.median(own_std / (2.0 * std)) < 1.6


def test_steins_lemma_gives_the_covariance_with_a_measurement() -> None:
    """cov(J(c), f(x)) by average slopes agrees with the covariance over very many draws."""
    optimizer = told(Optimizer(SQUARE, LAPLACE, goal="maximize", objective=speed, noise=0.05), 10, noise=0.05)
    task, engine = optimizer._task, optimizer._engine
    mixture = engine.posterior(optimizer.data)
    fields = Fields(
        mixture, optimizer.data, SQUARE, -1.0, SQUARE.scale(SQUARE.sobol(64, 1)), np.random.default_rng(0)
    )
    _, draws = fields.models[0]
    rng = np.random.default_rng(1)
    root = np.linalg.cholesky(
        draws.covariance + 1e-12 * np.trace(draws.covariance) * np.eye(draws.n_features)
    )
    weights = np.repeat(np.mean(draws.weights, axis=1)[:, None], 4000, axis=1)
    weights[: draws.n_features] += (
        root @ rng.standard_normal((draws.n_features, 4000))
    ) / draws.posterior.standard.scale
    many = type(draws)(draws.posterior, weights)
    c, x = np.array([[0.3, 0.4], [-0.5, 0.1]]), np.array([[0.2, 0.5], [0.9, -0.9]])
    seen = fields.seen(task.target, many, c, True)
    value = np.zeros((1, 3), dtype=int)
    own = many.features(value, x)[0]
    by_slopes = seen.features[:, : many.n_features] @ many.covariance @ own[:, : many.n_features].T
    f = draws.posterior.standard.scale * (own @ many.weights)
    by_draws = np.array([[np.cov(seen.values[:, i], f[j])[0, 1] for j in range(2)] for i in range(2)])
    size = np.sqrt(np.outer(np.var(seen.values, axis=0), np.var(f, axis=1)))
    np.testing.assert_allclose(by_slopes / size, by_draws / size, atol=0.06)


def test_the_knowledge_gradient_is_that_of_the_textbook() -> None:
    """For J = f it agrees with E max of the updated means, computed by conditioning on drawn outcomes."""
    optimizer = told(Optimizer(SQUARE, None, goal="maximize", objective=lambda f: f, noise=0.05), 6)
    task, engine = optimizer._task, optimizer._engine
    candidates = SQUARE.scale(SQUARE.sobol(64, 2))
    wanted = engine._wanted(engine._believe(optimizer.data))
    fields = wanted._fields(engine.posterior(optimizer.data))
    fields.models = [(1.0, fields.models[0][1])]
    draws = fields.models[0][1]
    places, x = candidates, np.array([[0.7, 0.2]])
    gain = -KnowledgeGradient(fields, task.target, places, 0.05**2).values(x)[0]
    value = np.zeros((1, 3), dtype=int)
    a, b = (draws.features(value, some)[0][:, : draws.n_features] for some in (places, x))
    mean = np.mean(fields.seen(task.target, draws, places, False).values, axis=0)
    beta = (a @ draws.covariance @ b.T)[:, 0] / np.sqrt((b @ draws.covariance @ b.T)[0, 0] + 0.05**2)
    z = np.random.default_rng(3).standard_normal(40_000)
    expected = np.mean(np.max(mean[:, None] + beta[:, None] * z, axis=0)) - np.max(mean)
    assert np.exp(gain) == pytest.approx(expected, rel=0.1, abs=2e-3)


def test_a_search_finds_the_steepest_place() -> None:
    """It is at x = 1, where the field itself is neither largest nor smallest."""
    optimizer = Optimizer(SQUARE, LAPLACE, goal="maximize", objective=speed, noise=0.01, seed=2)
    for _ in range(9):
        x = optimizer.ask()
        assert SQUARE.contains(x)
        optimizer.tell(
            x, float(field(x)) + 0.01 * np.random.default_rng(len(optimizer.data.values)).standard_normal()
        )
    assert np.exp(optimizer.best.x[0]) > 0.95 * np.e


def test_worst_and_mean_over_a_coordinate() -> None:
    """f = (x - a)^2 + t x: the worst over t in [-1, 1] is (x - a)^2 + |x|, the mean (x - a)^2."""
    space = Space(x=(-1.0, 1.0), t=(-1.0, 1.0))

    def f(z: np.ndarray) -> np.ndarray:
        return (z[..., 0] - 0.3) ** 2 + z[..., 1] * z[..., 0]

    at = np.array([[-0.8, 0.0], [0.0, 0.5], [0.6, -1.0]])
    for objective, expected in (
        (worst("t"), (at[:, 0] - 0.3) ** 2 + np.abs(at[:, 0])),
        (mean_over("t"), (at[:, 0] - 0.3) ** 2),
    ):
        optimizer = told(Optimizer(space, objective=objective, noise=1e-3), 40, f)
        np.testing.assert_allclose(optimizer.predict_objective(at).mean, expected, atol=0.05)


def test_limits_hold_at_the_recommended_point() -> None:
    """The largest f = exp(x) cos(y) where its slope along y is at least 1: sin(y) exp(x) <= -1."""
    limits = {"slope": (lambda f: lambda x: partial(f, 1)(x), 1.0, None)}
    optimizer = told(Optimizer(SQUARE, LAPLACE, goal="maximize", limits=limits, noise=1e-3), 25)
    x = optimizer.best.x
    slope = -np.exp(x[0]) * np.sin(x[1])
    assert slope > 0.97
    assert optimizer.diagnostics()["limits"]["slope"] >= 0.5
    assert field(x) > 0.93 * np.sqrt(np.e**2 - 1.0)  # at x = 1, sin y = -1/e
    following = optimizer.ask()
    assert -np.exp(following[0]) * np.sin(following[1]) > 0.5


def test_learning_measures_where_the_map_is_least_known() -> None:
    space = Space(x=(0.0, 1.0))
    optimizer = Optimizer(space, goal="learn", noise=0.01, seed=0)
    for x in (0.0, 0.1, 0.2, 0.3, 1.0):
        optimizer.tell([x], np.sin(6.0 * x))
    assert 0.4 < optimizer.ask()[0] < 0.9


def test_learning_a_coefficient() -> None:
    """exp(-a t) says most about a near t = 1 / a, not where f is large and known."""
    decay = PDE(lambda f, *, a: lambda t: partial(f, 0)(t) + a * f(t))
    start = PDE(lambda f: f, 1.0, points=[[0.0]])
    space = Space(t=(0.0, 4.0))
    optimizer = Optimizer(space, [decay, start], goal="learn", unknowns={"a": (0.3, 3.0)}, noise=0.02, seed=0)
    for t in (0.0, 0.05, 4.0, 3.9):
        optimizer.tell([t], float(np.exp(-t)))
    assert 0.2 < optimizer.ask()[0] < 3.0


def test_a_stored_study_knows_its_objective() -> None:
    optimizer = told(Optimizer(SQUARE, goal="maximize", objective=speed, noise=0.01, seed=4), 6)
    stored = json.loads(json.dumps(optimizer.to_dict()))
    again = Optimizer.from_dict(stored, objective=speed)
    np.testing.assert_array_equal(optimizer.ask(), again.ask())
    with pytest.raises(ValueError, match="objective and limits have to be those"):
        Optimizer.from_dict(stored)
    with pytest.raises(ValueError, match="objective and limits have to be those"):
        Optimizer.from_dict(stored, objective=lambda f: lambda x: 2.0 * speed(f)(x))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"objective": 3}, "expected a function such as"),
        ({"objective": "psi"}, "'psi' is no field that is measured"),
        ({"objective": lambda f, p: lambda x: f(x) + p(x)}, "'p' is no field that is measured"),
        ({"objective": lambda f: gradient(f)}, "expected one number at a point, got 2"),
        ({"objective": lambda f, *, a: lambda x: a * f(x)}, "expected no unknown coefficients, got a"),
        ({"objective": lambda f: lambda x: f(x) - f(-x)}, "depends on f elsewhere"),
        ({"objective": worst("u")}, "no coordinate is called 'u'"),
        ({"limits": {"p": ("p", None, 1.0)}}, "limits: p: 'p' is no field that is measured"),
        ({"limits": {"a": (lambda f: f, None, None)}}, "expected low < high"),
        ({"limits": {"a": (lambda f: f, 2.0, 1.0)}}, "expected low < high"),
        ({"limits": {"a": (lambda f: f, 1.0)}}, "expected \\(what, low, high\\)"),
        ({"goal": "learn", "objective": speed}, "no objective and no limits with the goal 'learn'"),
        ({"objective": speed, "method": "ntk"}, "'ntk' cannot handle an objective other than"),
        ({"goal": "learn", "method": "gp-logei"}, "cannot handle the goal 'learn'"),
    ],
)
def test_mistakes_get_a_sentence(options: dict, said: str) -> None:
    with pytest.raises((ValueError, TypeError), match=said):
        Optimizer(SQUARE, **options)
