"""Training: both terms of Eq. (1) reach the weights and teach, for every problem; padding changes nothing."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

from pinnbo import PDE, Space, problems
from pinnbo.network.features import row_sizes
from pinnbo.network.field import Units
from pinnbo.network.mlp import MLP
from pinnbo.network.train import (
    Observations,
    PhysicsData,
    Schedule,
    by_gradients,
    data_loss,
    pad,
    physics_loss,
    train,
)
from pinnbo.operators import laplacian, partial
from pinnbo.problems import heat

KEY = jax.random.key(0)
WIDTH, COLLOCATION, MEASURED, RATE = 64, 128, 64, 0.01
# weights of the first layer as large as the problem oscillates
GAIN = {"dropwave-2": 10.0, "beam-1": 10.0}
# the slow learners among them need more than 400
EPOCHS = {"dropwave-2": 1000, "cosine-mixture-50": 1000}
# what is left of the data term after training on it alone, and of the physics term, as measured
LEFT = {
    "dropwave-2": (8e-2, 2e-4),
    "styblinski-tang-10": (4e-7, 2e-10),
    "rastrigin-20": (5e-8, 4e-4),
    "michalewicz-30": (5e-13, 7e-5),
    "cosine-mixture-50": (4e-16, 7e-2),
    "heat-1": (2e-2, 2e-4),
    "heat-2": (1e-2, 2e-4),
    "heat-3": (1e-2, 2e-4),
    "beam-1": (5e-2, 9e-5),
}
# one equation of every kind: first, second and fourth order, and not linear; the data are no business of the equation's
_PHYSICS, _DATA = {"dropwave-2", "heat-1", "beam-1", "cosine-mixture-50"}, {"dropwave-2", "heat-1"}
BY_PHYSICS, BY_DATA = (
    [name if name in kept else pytest.param(name, marks=pytest.mark.slow) for name in LEFT]
    for kept in (_PHYSICS, _DATA)
)


@dataclasses.dataclass(frozen=True, eq=False)
class Case:
    """A network with the data and the physics of one problem, scaled as the method does it."""

    pde: PDE
    model: MLP
    theta: object
    units: Units
    data: Observations
    physics: PhysicsData

    def data_term(self, theta):
        return data_loss(self.model, theta, self.units, 1.3, self.data)

    def physics_term(self, theta):
        return physics_loss(self.pde, self.model, theta, self.units, 1.3, self.physics)


@functools.cache
def case(name):
    problem = _heat(int(name[-1])) if name.startswith("heat") else problems.get(name)
    space = problem.space
    points = space.sobol(MEASURED, 1)
    values = problem.truth(points)
    model = MLP(space.dim, WIDTH, gain=GAIN.get(name, 3.0))
    theta = model.initial(KEY)
    z, u = problem.pde.collocation(space, COLLOCATION, 0)
    sizes = row_sizes(model, problem.pde, theta, Units.of(space), z)
    units = Units.of(space, float(values.mean()), float(values.std()))
    return Case(
        problem.pde, model, theta, units, pad(points, values), PhysicsData(*map(jnp.asarray, (z, u, sizes)))
    )


def _heat(number):
    """The problem with its black box solved on a coarse grid, which is a matter of a moment."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(heat, "_solution", lambda n: heat.temperature(heat.solve(heat.BOUNDARIES[n], 32)))
        return heat.build(number)


def test_the_table_holds_every_problem():
    assert set(LEFT) == set(problems.available())


# ---------------------------------------------------------------- gradient flow


def bound(measured):
    """At least 90% are cut, and at least nearly as much as was measured."""
    return min(0.1, max(1e-3, 10 * measured))


def check_gradient(here, term):
    """Against finite differences along itself and along a random direction."""
    flat, unravel = ravel_pytree(here.theta)
    value_and_slope = jax.jit(jax.value_and_grad(lambda w: getattr(here, term)(unravel(w))))
    slope = value_and_slope(flat)[1]

    def value(w):
        return value_and_slope(w)[0]

    for layer in unravel(slope)[1:]:
        assert np.linalg.norm(layer.weight) > 1e-8 * np.linalg.norm(slope)
    random = jax.random.normal(KEY, flat.shape, dtype=float)
    for direction in (slope / jnp.linalg.norm(slope), random / jnp.linalg.norm(random)):
        step = 1e-4
        # fourth order: the fourth derivative of a network with large weights bends much
        differences = [
            float(value(flat + k * step * direction) - value(flat - k * step * direction)) for k in (1, 2)
        ]
        expected = (8 * differences[0] - differences[1]) / (12 * step)
        found = float(jnp.dot(slope, direction))
        assert found == pytest.approx(expected, rel=1e-5, abs=1e-7 * float(jnp.linalg.norm(slope)))


@pytest.mark.parametrize("name", BY_DATA)
def test_gradient_of_the_data_term_matches_finite_differences(name):
    """A prediction helper that cuts the gradient would give zero here."""
    check_gradient(case(name), "data_term")


@pytest.mark.parametrize("name", BY_PHYSICS)
def test_gradient_of_the_physics_term_matches_finite_differences(name):
    """A derivative without its graph would give zero here."""
    check_gradient(case(name), "physics_term")


@pytest.mark.parametrize("name", BY_DATA)
def test_training_on_the_data_alone_cuts_its_term(name):
    here = case(name)
    trained = train(
        (), Schedule(EPOCHS.get(name, 400)), here.model, here.theta, here.units, here.data, (), 1.3, RATE, KEY
    )
    left = float(here.data_term(trained.theta) / here.data_term(here.theta))
    assert left < bound(LEFT[name][0]), f"{left:.1e} of the data term left, measured before {LEFT[name][0]}"


@pytest.mark.parametrize("name", BY_PHYSICS)
def test_training_on_the_physics_alone_cuts_its_term(name):
    here = case(name)
    nothing = pad(np.zeros((0, here.model.dim)), np.zeros(0))
    trained = train(
        (here.pde,),
        Schedule(EPOCHS.get(name, 400)),
        here.model,
        here.theta,
        here.units,
        nothing,
        (here.physics,),
        1.3,
        RATE,
        KEY,
    )
    left = float(here.physics_term(trained.theta) / here.physics_term(here.theta))
    assert left < bound(LEFT[name][1]), (
        f"{left:.1e} of the physics term left, measured before {LEFT[name][1]}"
    )


# ---------------------------------------------------------------- the loss of Eq. (1)

SPACE = Space(x=(100.0, 103.0), y=(-1.0, -0.8))
PDE_2D = PDE(lambda f: lambda x: laplacian(f)(x) + f(x), source=lambda x: x[0])
SMALL = MLP(2, 10)
THETA = SMALL.initial(KEY)


def physics_data(n=24, size=1.0):
    z, u = PDE_2D.collocation(SPACE, n, 0)
    return PhysicsData(jnp.asarray(z), jnp.asarray(u), jnp.full(u.shape, size))


def measured(n, rng):
    return SPACE.sobol(n, 2), rng.normal(size=n)


def test_loss_is_the_papers_to_the_letter(rng):
    """shift 0, scale 1, sizes 1: sum [y - nu h(x)]^2 + sum [u - nu N[h](z)]^2, h a function of the user's x."""
    points, values = measured(5, rng)
    units, nu, physics = Units.of(SPACE), 0.7, physics_data(6)

    def h(x):
        return SMALL(THETA, (x - units.centre) / units.half_width)

    data = sum((y - nu * float(h(jnp.asarray(x)))) ** 2 for x, y in zip(points, values, strict=True))
    image = jax.vmap(lambda z: laplacian(h)(z) + h(z))(physics.points)
    residual = np.asarray(physics.source)[:, 0] - nu * np.asarray(image)
    assert data_loss(SMALL, THETA, units, nu, pad(points, values)) == pytest.approx(data, rel=1e-12)
    assert physics_loss(PDE_2D, SMALL, THETA, units, nu, physics) == pytest.approx(
        np.sum(residual**2), rel=1e-10
    )


def test_weights_of_measurements_multiply_their_squares(rng):
    points, values = measured(5, rng)
    units = Units.of(SPACE)
    whole = data_loss(SMALL, THETA, units, 1.0, pad(points, values, np.array([1.0, 2.0, 0.0, 1.0, 1.0])))
    parts = [float(data_loss(SMALL, THETA, units, 1.0, pad(points[[i]], values[[i]]))) for i in range(5)]
    assert whole == pytest.approx(np.dot(parts, [1.0, 2.0, 0.0, 1.0, 1.0]), rel=1e-12)


# ---------------------------------------------------------------- padding and compilation


@pytest.mark.parametrize(("n", "size"), [(0, 16), (1, 16), (16, 16), (17, 32), (33, 64)])
def test_padding(n, size, rng):
    data = pad(*measured(n, rng))
    assert data.points.shape == (size, 2)
    assert int(data.weights.sum()) == n


def run(data, physics, schedule=Schedule(30), theta=THETA):  # noqa: B008
    return train((PDE_2D,), schedule, SMALL, theta, Units.of(SPACE, 1.0, 2.0), data, physics, 0.8, 0.01, KEY)


def test_padding_does_not_change_the_result_of_training(rng):
    points, values = measured(5, rng)
    padded = pad(points, values)
    bare = Observations(jnp.asarray(points), jnp.asarray(values), jnp.ones(5))
    # rows of weight zero may hold anything
    rubbish = padded._replace(values=padded.values.at[5:].set(1e6))
    results = [ravel_pytree(run(data, (physics_data(),)).theta)[0] for data in (padded, bare, rubbish)]
    np.testing.assert_allclose(results[1], results[0], rtol=0, atol=1e-9)
    np.testing.assert_allclose(results[2], results[0], rtol=0, atol=1e-9)


def test_growing_data_do_not_recompile(rng):
    physics = (physics_data(),)
    run(pad(*measured(3, rng)), physics)
    compiled = by_gradients._cache_size()
    for n in (4, 9, 16):
        run(pad(*measured(n, rng)), physics)
    assert by_gradients._cache_size() == compiled
    run(pad(*measured(17, rng)), physics)
    assert by_gradients._cache_size() == compiled + 1


# ---------------------------------------------------------------- the descent itself


@pytest.mark.parametrize(
    "schedule",
    [Schedule(60), Schedule(60, batch=8), Schedule(60, "sgd", decay=0.95), Schedule(60, "gauss-newton")],
)
def test_both_terms_fall_together(schedule, rng):
    data, physics = pad(*measured(6, rng)), physics_data(size=500.0)
    trained = run(data, (physics,), schedule)
    assert trained.losses.shape == (60,)
    assert trained.losses[-1] < trained.losses[0]


def test_several_pdes_count_all(rng):
    """A condition with points of its own is learnt beside the equation."""
    edge = np.column_stack([np.full(9, 100.0), np.linspace(-1.0, -0.8, 9)])
    condition = PDE(lambda f: f, source=3.0, points=edge)
    slope = PDE(lambda f: partial(f, 0), source=0.0)
    parts = []
    for pde in (condition, slope):
        z, u = pde.collocation(SPACE, 32, 0)
        sizes = row_sizes(SMALL, pde, THETA, Units.of(SPACE), z)
        parts.append(PhysicsData(*map(jnp.asarray, (z, u, sizes))))
    nothing, units = pad(np.zeros((0, 2)), np.zeros(0)), Units.of(SPACE)
    trained = train(
        (condition, slope), Schedule(600), SMALL, THETA, units, nothing, tuple(parts), 1.0, 0.02, KEY
    )
    f = units.field(SMALL, trained.theta)
    np.testing.assert_allclose(jax.vmap(f)(jnp.asarray(SPACE.sobol(20, 5))), 3.0, atol=0.1)


def test_the_same_key_gives_the_same_weights(rng):
    data, physics = pad(*measured(6, rng)), (physics_data(),)
    one, same = (run(data, physics, Schedule(5, batch=8)).theta for _ in range(2))
    np.testing.assert_array_equal(ravel_pytree(one)[0], ravel_pytree(same)[0])


def test_learning_rates():
    rates = Schedule(100, decay=0.95).rates(0.1)
    np.testing.assert_allclose(rates, 0.1 * 0.95 ** np.arange(100))
    falling = Schedule(50).rates(0.1)
    assert falling[0] == pytest.approx(0.1)
    assert 0.001 <= falling[-1] < 0.0012


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rule": "newton"}, "rule must be one of"),
        ({"epochs": 0}, "epochs must be at least 1"),
        ({"batch": 0}, "batch must be at least 1"),
        ({"rule": "gauss-newton", "batch": 8}, "gauss-newton takes all points at once, got batch 8"),
    ],
)
def test_refusals(changes, message):
    with pytest.raises(ValueError, match=message):
        Schedule(**changes)
