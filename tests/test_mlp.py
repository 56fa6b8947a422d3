"""The network: its size, its symmetry, its initial law, its units, and which activations an operator allows."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

from pinnbo import PDE, Optimizer, Space
from pinnbo.network.features import Linearised
from pinnbo.network.field import Units
from pinnbo.network.mlp import ACTIVATIONS, MLP
from pinnbo.operators import biharmonic, gradient, laplacian, partial

KEY = jax.random.key(0)
SMOOTH = [name for name in ACTIVATIONS if name != "relu"]


@pytest.mark.parametrize("depth", [2, 3, 5])
@pytest.mark.parametrize("width", [1, 7, 30])
@pytest.mark.parametrize("dim", [1, 4])
@pytest.mark.parametrize("biases", [True, False])
def test_number_of_parameters(dim, width, depth, biases):
    """The paper's p = m d + m^2 (L - 2) + m, and one bias per unit."""
    model = MLP(dim, width, depth, biases=biases)
    paper = width * dim + width**2 * (depth - 2) + width
    units = width * (depth - 1) + 1
    assert model.n_parameters == paper + (units if biases else 0)
    theta = jax.eval_shape(model.initial, KEY)
    assert sum(leaf.size for leaf in jax.tree.leaves(theta)) == model.n_parameters


@pytest.mark.parametrize("depth", [2, 3, 4])
def test_without_biases_the_function_is_odd(depth, rng):
    model = MLP(3, 20, depth, biases=False)
    h = jax.vmap(lambda s: model(model.initial(KEY), s))
    points = rng.uniform(-1.0, 1.0, (20, 3))
    np.testing.assert_allclose(h(jnp.asarray(-points)), -h(jnp.asarray(points)), rtol=0, atol=1e-14)
    assert h(jnp.zeros((1, 3)))[0] == 0.0


def test_with_biases_it_is_not(rng):
    model = MLP(3, 20)
    h = jax.vmap(lambda s: model(model.initial(KEY), s))
    points = jnp.asarray(rng.uniform(-1.0, 1.0, (20, 3)))
    assert np.abs(h(points) + h(-points)).max() > 0.01


def test_formula_of_the_paper(rng):
    """h = m^{-1/2} W_3 phi(W_2 phi(W_1 s))."""
    model = MLP(4, 9, 3, activation="softplus", biases=False, init="standard")
    theta = model.initial(KEY)
    w1, w2, w3 = (np.asarray(layer.weight) for layer in theta)
    s = rng.uniform(-1.0, 1.0, 4)
    expected = w3 @ np.log1p(np.exp(w2 @ np.log1p(np.exp(w1 @ s)))) / 3.0
    assert model(theta, jnp.asarray(s)) == pytest.approx(expected[0], rel=1e-12)


@pytest.mark.parametrize(
    ("init", "deviations"), [("standard", (1.0, 1.0)), ("scaled", (0.05, 0.05)), ("fan-in", (0.5, 0.05))]
)
def test_initial_law(init, deviations):
    theta = MLP(4, 400, 3, init=init).initial(KEY)
    for layer, deviation in zip(theta, deviations, strict=False):
        assert np.std(layer.weight) == pytest.approx(deviation, rel=0.1)
        assert abs(np.mean(layer.weight)) < 0.1 * deviation


def test_initial_weights_depend_on_the_key_alone():
    model = MLP(2, 10)
    one, same, other = (ravel_pytree(model.initial(jax.random.key(k)))[0] for k in (0, 0, 1))
    np.testing.assert_array_equal(one, same)
    assert not np.array_equal(one, other)
    assert one.dtype == jnp.float64


# ---------------------------------------------------------------- smoothness


@pytest.mark.parametrize("order", [0, 1, 2, 3, 4])
@pytest.mark.parametrize("activation", SMOOTH)
def test_smooth_activations_suit_any_operator(activation, order):
    MLP(2, 5, activation=activation).check_smooth(order, "PDE")


@pytest.mark.parametrize("order", [0, 1])
def test_relu_suits_operators_up_to_the_first_order(order):
    MLP(2, 5, activation="relu").check_smooth(order, "PDE")


@pytest.mark.parametrize("name", ["ntk", "pinn-bo"])
@pytest.mark.parametrize(
    ("operator", "order"), [(laplacian, 2), (biharmonic, 4), (lambda f: partial(f, 0, 2, "taylor"), 2)]
)
def test_relu_with_a_laplacian_is_refused(make_small, name, operator, order):
    with pytest.raises(
        ValueError,
        match=f"heat: activation 'relu' is not smooth enough for an operator of order {order}.* use one of",
    ):
        Optimizer(Space(x=(0.0, 1.0)), PDE(operator, name="heat"), method=make_small(name, activation="relu"))


def test_relu_with_a_first_order_pde_is_accepted(make_small):
    Optimizer(Space(x=(0.0, 1.0)), PDE(gradient), method=make_small("ntk", activation="relu"))
    Optimizer(Space(x=(0.0, 1.0)), method=make_small("ntk", activation="relu"))


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"activation": "step"}, "activation must be one of"),
        ({"init": "zeros"}, "init must be one of"),
        ({"width": 0}, "width must be an integer >= 1, got 0"),
        ({"depth": 1}, "depth must be an integer >= 2, got 1"),
        ({"width": 2.5}, "width must be an integer"),
    ],
)
def test_refusals(changes, message):
    with pytest.raises(ValueError, match=message):
        MLP(**{"dim": 2, **changes})


# ---------------------------------------------------------------- units

# far from [-1, 1], the axes of very unlike lengths
FAR = Space(x=(1000.0, 1003.0), y=(-0.002, -0.0015))


def test_operators_see_the_units_of_the_user():
    """N[f] by automatic differentiation against finite differences of f along the user's x."""
    model = MLP(2, 30)
    f = Units.of(FAR, shift=-40.0, scale=250.0).field(model, model.initial(KEY))
    values = jax.jit(jax.vmap(f))
    points = FAR.sobol(6, 1)
    for axis in range(2):
        step = 1e-3 * FAR.half_width[axis]
        shift = np.eye(2)[axis] * step
        plus, here, minus = (np.asarray(values(jnp.asarray(points + k * shift))) for k in (1, 0, -1))
        first, second = (plus - minus) / (2 * step), (plus - 2 * here + minus) / step**2
        for order, expected, accuracy in ((1, first, 1e-5), (2, second, 1e-4)):
            found = jax.vmap(partial(f, axis, order))(jnp.asarray(points))
            np.testing.assert_allclose(found, expected, rtol=0, atol=accuracy * np.abs(expected).max())


def test_units_are_affine_maps_of_input_and_output(rng):
    model = MLP(2, 8)
    theta = model.initial(KEY)
    f = Units.of(FAR, shift=5.0, scale=-3.0).field(model, theta)
    for x in FAR.sobol(5, 0):
        expected = 5.0 - 3.0 * model(theta, jnp.asarray(FAR.scale(x)))
        assert f(jnp.asarray(x)) == pytest.approx(float(expected), rel=1e-10)


# ---------------------------------------------------------------- linearised


def test_linearised_network_is_linear_in_its_weights_with_unit_prior_variance(rng):
    model = MLP(2, 12)
    theta, points = model.initial(KEY), jnp.asarray(rng.uniform(-1.0, 1.0, (200, 2)))
    linear = Linearised.at(model, theta, points)
    assert linear.n_weights == model.n_parameters
    a, b = jnp.asarray(rng.normal(size=(2, linear.n_weights)))
    s = points[0]
    assert linear(2.0 * a - b, s) == pytest.approx(float(2.0 * linear(a, s) - linear(b, s)), rel=1e-10)
    rows = np.asarray(jax.jit(jax.vmap(jax.grad(linear), (None, 0)))(a, points))
    assert np.mean(np.sum(rows**2, axis=1)) == pytest.approx(1.0, rel=1e-10)
    phi, _ = ravel_pytree(jax.grad(model)(theta, s))
    np.testing.assert_allclose(rows[0], linear.factor * phi, rtol=0, atol=1e-14)


@pytest.mark.parametrize("init", ["standard", "scaled", "fan-in"])
def test_prior_variance_does_not_shrink_with_the_width(init, rng):
    """Erratum 10: the kernel is scaled before lambda is set."""
    points = jnp.asarray(rng.uniform(-1.0, 1.0, (64, 2)))
    for width in (10, 100):
        model = MLP(2, width, init=init)
        linear = Linearised.at(model, model.initial(KEY), points)
        w = jnp.zeros(linear.n_weights)
        rows = jax.jit(jax.vmap(jax.grad(linear), (None, 0)))(w, points)
        assert np.mean(np.sum(np.square(rows), axis=1)) == pytest.approx(1.0, rel=1e-9)
