"""The methods: their registry and settings, physics of every kind, and honest intervals."""

import dataclasses
import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pinnbo import PDE, Optimizer, Space, methods, problems
from pinnbo.data import Data, Standard
from pinnbo.ensemble.mixture import Mixture
from pinnbo.gp.posterior import condition
from pinnbo.methods.base import Task
from pinnbo.methods.ntk import NTK
from pinnbo.methods.pinn_bo import PinnBO
from pinnbo.network.features import Linearised, physics_values
from pinnbo.network.field import Units
from pinnbo.network.mlp import MLP
from pinnbo.network.process import LinearisedNetwork
from pinnbo.operators import gradient, laplacian
from pinnbo.pde import Collocation

# ---------------------------------------------------------------- registry and settings


def test_names():
    assert {"auto", "ntk", "pinn-bo", "random"} <= set(methods.available())
    assert methods.available() == sorted(methods.available())


@pytest.mark.parametrize("name", methods.available())
def test_settings_are_plain_json_and_come_back(name):
    settings = methods.get(name)
    assert methods.get(settings) is settings
    stored = json.loads(json.dumps(methods.to_dict(settings), allow_nan=False))
    assert methods.from_dict(stored) == settings
    with pytest.raises(dataclasses.FrozenInstanceError):
        settings.name = "other"


def test_changed_settings_come_back():
    settings = PinnBO.paper(width=7, nu=0.3)
    assert methods.from_dict(json.loads(json.dumps(methods.to_dict(settings)))) == settings


def test_the_papers_settings():
    paper = PinnBO.paper()
    assert (paper.rule, paper.decay, paper.epochs, paper.update_every) == ("sgd", 0.95, 100, 10)
    assert (paper.init, paper.biases, paper.restart, paper.exploit_every) == ("scaled", False, False, 0)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: methods.get("nonsense"), "expected one of"),
        (lambda: methods.get(None), "expected one of"),
        (lambda: NTK(acquisition="luck"), "acquisition must be one of"),
        (lambda: NTK(collocation=0), "collocation must be at least 1"),
        (lambda: NTK(row_noise=0.0), "row_noise must be positive"),
        (lambda: NTK(delta=1.0), "delta must lie between 0 and 1"),
        (lambda: PinnBO(information="all"), "information must be one of"),
        (lambda: PinnBO(epochs=0), "epochs must be at least 1"),
        (lambda: PinnBO(update_every=0), "update_every must be at least 1"),
        (lambda: PinnBO(lambda1=0.0), "lambda1 must be positive"),
        (lambda: PinnBO(learning_rate=-1.0), "learning_rate must be positive"),
        (lambda: PinnBO(delta=0.0), "delta must lie between 0 and 1"),
    ],
)
def test_refusals(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_standardisation_never_divides_by_zero():
    assert Standard.of(np.zeros(0)) == (0.0, 1.0)
    assert Standard.of(np.array([5.0])).scale > 0
    assert Standard.of(np.full(4, -7.0)).scale > 0
    assert Standard.of(np.array([1.0, 3.0])) == (2.0, 1.0)


def test_random_streams_are_apart():
    task = Task(Space(x=(0.0, 1.0)), (), 1.0, 3, None)
    one, same, other = (task.rng(*purpose).random(4) for purpose in ((5, 1), (5, 1), (5, 2)))
    np.testing.assert_array_equal(one, same)
    assert not np.array_equal(one, other)


# ---------------------------------------------------------------- problems and methods

# first order with a direction that depends on x; fourth order in one dimension; nonlinear; many dimensions
KINDS = ["dropwave-2", "beam-1", "cosine-mixture-3"]
# the others do not look at the equation
USING_PHYSICS = ["auto", "ntk", "pinn-bo"]


def several_conditions():
    """An equation in a system with two columns, a condition on an edge, and a table with noise."""
    space = Space(x=(0.0, 2.0), y=(-1.0, 0.0))
    edge = np.column_stack([np.zeros(5), np.linspace(-1.0, 0.0, 5)])
    pdes = [
        PDE(lambda f: lambda x: jnp.stack([laplacian(f)(x), gradient(f)(x)[0] - x[1]]), source=[0.0, 0.0]),
        PDE(lambda f: f, source=0.0, points=edge),
        PDE(lambda f: f, source=[-1.0, -2.0], points=[[1.0, -1.0], [2.0, -1.0]], noise=0.1),
    ]
    return space, pdes, lambda x: x[0] * x[1]


SYSTEM = several_conditions()


def check_run(space, pde, truth, method, n=5):
    optimizer = Optimizer(space, pde, method=method, n_initial=3)
    asked = []
    for _ in range(n):
        x = optimizer.ask()
        assert space.contains(x)
        optimizer.tell(x, float(truth(x)))
        asked.append(x)
    batch = optimizer.ask(2)
    assert len(np.unique(np.array([*asked, *batch]), axis=0)) == n + 2
    mean, std = optimizer.predict(space.sobol(5, 1))
    assert np.isfinite(mean).all()
    assert np.isfinite(std).all()
    assert (std >= 0).all()
    json.dumps(optimizer.diagnostics(), allow_nan=False)
    return optimizer


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        *((kind, "auto") for kind in KINDS),
        # both take their rows from one linearised network: `test_the_papers_problems` has all pairs
        ("dropwave-2", "ntk"),
        ("cosine-mixture-3", "pinn-bo"),
    ],
)
def test_physics_of_every_kind(make_small, kind, name):
    problem = problems.get(kind)
    check_run(problem.space, problem.pde, lambda x: problem.truth(x)[0], make_small(name))


@pytest.mark.parametrize("name", USING_PHYSICS)
def test_several_conditions(make_small, name):
    check_run(*SYSTEM, make_small(name))


def test_a_single_parameter(method):
    check_run(Space(x=(-1e-3, 5e-3)), None, lambda x: float(np.sin(2e3 * x[0])), method)


@pytest.mark.slow
@pytest.mark.parametrize("name", USING_PHYSICS)
@pytest.mark.parametrize("problem", problems.available())
def test_the_papers_problems(make_small, problem, name):
    here = problems.get(problem)
    check_run(here.space, here.pde, lambda x: here.truth(x)[0], make_small(name))


def test_conditions_are_believed(make_small):
    """x y is fixed by the system and its conditions: the closed form predicts it without any measurement.

    How sure it is depends on the size of f, which a few measurements tell.
    """
    space, pdes, truth = SYSTEM
    optimizer = Optimizer(space, pdes, method=make_small("ntk", row_noise=1e-3))
    points = space.sobol(20, 1)
    expected = [truth(x) for x in points]
    np.testing.assert_allclose(optimizer.predict(points).mean, expected, atol=0.15)
    measured = space.sobol(3, 3)
    optimizer.tell(measured, [truth(x) for x in measured])
    mean, std = optimizer.predict(points)
    np.testing.assert_allclose(mean, expected, atol=0.15)
    assert std.max() < 0.15


@pytest.mark.parametrize("name", ["ntk", "pinn-bo"])
def test_the_physics_is_used(make_small, name):
    """With the equation grad f = g, one measurement leaves nothing open; without it, all."""
    space = Space(x=(100.0, 103.0), y=(0.0, 0.01))
    pde = PDE(gradient, source=lambda x: jnp.array([2.0, -300.0]))
    points = space.sobol(20, 1)
    truth = 2.0 * (points[:, 0] - 100.0) - 300.0 * points[:, 1]
    errors = []
    for physics in (pde, None):
        optimizer = Optimizer(space, physics, method=make_small(name))
        optimizer.tell([100.0, 0.0], 0.0, noise=1e-3)
        optimizer.tell([103.0, 0.01], 3.0, noise=1e-3)
        mean, _ = optimizer.predict(points)
        errors.append(np.sqrt(np.mean((mean - truth) ** 2)))
    assert errors[0] < 0.15
    assert errors[0] < 0.3 * errors[1]


def test_nu_falls_as_the_physics_leaves_less_open(make_small):
    """More observations add information, and with physics each adds less."""
    space, points = Space(x=(0.0, 1.0), y=(0.0, 1.0)), Space(x=(0.0, 1.0), y=(0.0, 1.0)).sobol(8, 0)
    added = []
    for pde in (None, PDE(laplacian)):
        optimizer = Optimizer(space, pde, method=make_small("pinn-bo"))
        optimizer.tell(points[:2], [0.0, 1.0])
        few = optimizer.diagnostics()["conditional_information"]
        optimizer.tell(points[2:], np.linspace(0.0, 1.0, 6))
        many = optimizer.diagnostics()["conditional_information"]
        assert 0 < few < many
        added.append(many)
    assert added[1] < added[0]


# ---------------------------------------------------------------- calibration

BOX = Space(x=(-3.0, 5.0), y=(0.0, 0.5))
NETWORK = MLP(2, 40, gain=3.0)
PRIOR = Linearised.at(NETWORK, NETWORK.initial(jax.random.key(0)), jnp.asarray(BOX.scale(BOX.sobol(64, 0))))
UNITS = Units.of(BOX)
ORIGIN = jnp.zeros(PRIOR.n_weights)
DRAWS, MEASURED, SPREAD, NOISE = 20, 24, 30.0, 1.5
EQUATION = PDE(lambda f: lambda x: gradient(f)(x)[0])


def prior_draw(number):
    """A function from the prior itself, by its weights, and noisy measurements of it."""
    rng = np.random.default_rng([8, number])
    weights = jnp.asarray(SPREAD * rng.standard_normal(PRIOR.n_weights))
    points = rng.uniform(BOX.lower, BOX.upper, (MEASURED, 2))
    return weights, points, function(weights, points) + NOISE * rng.standard_normal(MEASURED)


def posterior_of(points, measured, noise, physics):
    scale = Standard.of(measured).scale
    network = LinearisedNetwork.at(BOX, PRIOR, ORIGIN, UNITS, physics, 1e-2, scale)
    return condition(network.process(), Data(points, measured, noise, np.zeros((0, 2))), BOX)


def function(weights, points):
    return np.asarray(_function(weights, jnp.asarray(points)))


@jax.jit
def _function(weights, points):
    return jax.vmap(UNITS.field(PRIOR, weights))(points)


@pytest.mark.parametrize(
    ("noise_known", "with_physics"),
    [
        (True, False),
        (False, True),
        pytest.param(True, True, marks=pytest.mark.slow),
        pytest.param(False, False, marks=pytest.mark.slow),
    ],
)
def test_intervals_cover_held_out_points(noise_known, with_physics):
    """95% intervals of f at points that were not measured, over draws from the prior, cover 90 to 99%."""
    held_out, collocation = BOX.sobol(64, 21), BOX.sobol(6, 22)
    covered, widths = [], []
    for number in range(DRAWS):
        weights, points, measured = prior_draw(number)
        physics = []
        if with_physics:
            source = physics_values(PRIOR, EQUATION, weights, UNITS, collocation)
            physics = [(EQUATION, Collocation(collocation, source[:, None]))]
        noise = np.full(MEASURED, NOISE if noise_known else np.nan)
        posterior = posterior_of(points, measured, noise, physics)
        mean, std = Mixture([posterior], np.zeros(1)).predict(BOX.scale(held_out))
        covered.append(np.abs(function(weights, held_out) - mean) < 1.96 * std)
        widths.append(std)
    assert 0.90 < np.mean(covered) < 0.99, f"covered {np.mean(covered):.3f}"
    # not by being vague
    assert np.median(widths) < 0.5 * SPREAD


def test_spread_and_noise_are_found_from_the_data():
    """The evidence sees through 24 measurements what the values were made with, within a factor."""
    spreads, noises = [], []
    for number in range(DRAWS):
        _, points, measured = prior_draw(number)
        posterior = posterior_of(points, measured, np.full(MEASURED, np.nan), [])
        spreads.append(posterior.standard.scale * np.sqrt(posterior.samples.square[0]))
        noises.append(np.sqrt(posterior.noise))
    assert SPREAD / 1.5 < np.median(spreads) < SPREAD * 1.5
    assert NOISE / 3 < np.median(noises) < NOISE * 3


@pytest.mark.parametrize("name", ["ntk", "pinn-bo"])
def test_measurements_shrink_the_interval(make_small, name):
    space = Space(x=(0.0, 1.0))
    optimizer = Optimizer(space, method=make_small(name), noise=0.01)
    points = np.linspace(0.0, 1.0, 9)[:, None]
    optimizer.tell(points[::4], np.sin(6.0 * points[::4, 0]))
    before = optimizer.predict(points[1::2]).std
    optimizer.tell(points[1::2], np.sin(6.0 * points[1::2, 0]))
    after = optimizer.predict(points[1::2]).std
    assert np.median(after) < 0.5 * np.median(before)


def test_training_that_diverges_says_so(make_small):
    space = Space(x=(0.0, 1.0))
    method = make_small("pinn-bo", rule="sgd", learning_rate=1e9, batch=None, epochs=100)
    optimizer = Optimizer(space, method=method, n_initial=2)
    optimizer.tell([[0.1], [0.9]], [0.0, 1.0])
    with pytest.raises(FloatingPointError, match="training diverged at 2 observations; learning_rate"):
        optimizer.ask()
