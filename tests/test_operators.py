"""Operators against exact derivatives of polynomials, by every route, composed, and under jit, vmap and grad."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pinnbo import PDE, Space, problems
from pinnbo.operators import (
    biharmonic,
    derivative_order,
    derivatives,
    directional,
    gradient,
    hessian,
    laplacian,
    partial,
)

ROUTES = ("forward", "taylor", "reverse")
DIM = 3

pytestmark = pytest.mark.usefixtures("strict_dtypes")


class Polynomial:
    """sum of coefficient * x^exponents; its derivatives are exact."""

    def __init__(self, terms):
        self.terms = terms

    @classmethod
    def random(cls, seed, degrees=range(7)):
        rng = np.random.default_rng(seed)
        exponents = [e for e in itertools.product(range(6), repeat=DIM) if sum(e) in degrees]
        return cls({exponents[i]: float(rng.normal()) for i in rng.permutation(len(exponents))[:12]})

    def __call__(self, x):
        """By products of the powers of each coordinate: few operations, whatever the number of terms."""
        powers = [jnp.ones_like(x)]
        for _ in range(5):
            powers.append(powers[-1] * x)
        table = jnp.stack(powers)
        terms = jnp.asarray(list(self.terms.values()))
        for i, exponents in enumerate(zip(*self.terms, strict=True)):
            terms = terms * jnp.dot(jnp.eye(6)[jnp.array(exponents)], table[:, i])
        return jnp.sum(terms)

    def d(self, i, order=1):
        if order == 0:
            return self
        terms = {}
        for e, c in self.terms.items():
            if e[i] > 0:
                lower = (*e[:i], e[i] - 1, *e[i + 1 :])
                terms[lower] = terms.get(lower, 0.0) + c * e[i]
        return Polynomial(terms).d(i, order - 1)

    def __add__(self, other):
        keys = {*self.terms, *other.terms}
        return Polynomial({e: self.terms.get(e, 0.0) + other.terms.get(e, 0.0) for e in keys})

    def laplacian(self):
        return sum((self.d(i, 2) for i in range(DIM)), Polynomial({}))

    def at(self, points):
        """Values by NumPy."""
        return np.array([sum(c * np.prod(x ** np.array(e)) for e, c in self.terms.items()) for x in points])


POINTS = np.random.default_rng(7).uniform(-1.5, 1.5, (5, DIM))


def values(function):
    """At all points, through jit and vmap."""
    return np.asarray(jax.jit(jax.vmap(function))(jnp.asarray(POINTS)))


def agree(a, b):
    np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("order", [0, 1, 2, 3, 4])
def test_partial_derivatives_of_polynomials_are_exact(route, order):
    f = Polynomial.random(order)
    every_axis = [partial(f, i, order, route) for i in range(DIM)]
    found = values(lambda x: jnp.stack([derivative(x) for derivative in every_axis]))
    agree(found, np.stack([f.d(i, order).at(POINTS) for i in range(DIM)], axis=1))


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_routes_agree_on_a_transcendental_function(order):
    v = jnp.array([0.3, -1.0, 0.5])

    def f(x):
        return jnp.sin(2.0 * x[0]) * jnp.exp(x[1]) + jnp.tanh(jnp.dot(x, x)) + jnp.cos(x[2]) ** 2

    found = [values(directional(f, v, order, route)) for route in ROUTES]
    agree(found[1], found[0])
    agree(found[2], found[0])


@pytest.mark.parametrize("route", ROUTES)
def test_a_direction_that_depends_on_x_is_held_fixed(route):
    """Euler: along x itself a form of degree n has the k-th derivative n (n-1) ... (n-k+1) f."""
    f = Polynomial.random(3, degrees=[5])
    orders = [directional(f, lambda x: x, k, route) for k in (1, 2, 3, 4)]
    found = values(lambda x: jnp.stack([derivative(x) for derivative in orders]))
    agree(found, np.outer(f.at(POINTS), [5.0, 5.0 * 4, 5.0 * 4 * 3, 5.0 * 4 * 3 * 2]))


@pytest.mark.parametrize("route", ROUTES)
def test_all_derivatives_at_once(route):
    f = Polynomial.random(11)
    found = values(derivatives(f, jnp.array([0.0, 1.0, 0.0]), 4, route))
    agree(found, np.stack([f.d(1, k).at(POINTS) for k in range(5)], axis=1))


@pytest.mark.parametrize("route", ROUTES)
def test_laplacian_and_biharmonic_of_polynomials_are_exact(route):
    f = Polynomial.random(4)
    agree(values(laplacian(f, route)), f.laplacian().at(POINTS))
    agree(values(biharmonic(f, route)), f.laplacian().laplacian().at(POINTS))


def test_harmonic_polynomials_have_no_laplacian():
    def real_part(x):
        z_real, z_imag = x[0], x[1]
        for _ in range(4):
            z_real, z_imag = z_real * x[0] - z_imag * x[1], z_real * x[1] + z_imag * x[0]
        return z_real

    agree(values(laplacian(real_part)), np.zeros(len(POINTS)))
    agree(values(biharmonic(lambda x: real_part(x) * jnp.dot(x[:2], x[:2]))), np.zeros(len(POINTS)))


def test_scalar_operators_compose():
    f = Polynomial.random(5)
    agree(values(laplacian(laplacian(f))), values(biharmonic(f)))
    agree(values(partial(partial(f, 0), 1)), f.d(0).d(1).at(POINTS))
    agree(values(partial(laplacian(f), 2)), f.laplacian().d(2).at(POINTS))
    agree(values(laplacian(partial(f, 2))), f.laplacian().d(2).at(POINTS))
    agree(
        values(partial(lambda x: x[0] * partial(f, 0, 2)(x), 0)),
        POINTS[:, 0] * f.d(0, 3).at(POINTS) + f.d(0, 2).at(POINTS),
    )


@pytest.mark.parametrize(("inner", "outer"), list(itertools.product(ROUTES, ROUTES)))
def test_routes_can_be_mixed(inner, outer):
    f = Polynomial.random(6)
    agree(values(partial(partial(f, 0, 2, inner), 1, 2, outer)), f.d(0, 2).d(1, 2).at(POINTS))


def test_gradient_and_hessian():
    f = Polynomial.random(8)
    agree(values(gradient(f)), np.stack([f.d(i).at(POINTS) for i in range(DIM)], axis=1))
    second = [[f.d(i).d(j).at(POINTS) for j in range(DIM)] for i in range(DIM)]
    agree(values(hessian(f)), np.moveaxis(second, -1, 0))


@pytest.mark.parametrize("route", ROUTES)
def test_differentiable_in_x_and_in_parameters(route):
    f = Polynomial.random(9)
    agree(
        values(jax.grad(laplacian(f, route))),
        np.stack([f.laplacian().d(i).at(POINTS) for i in range(DIM)], 1),
    )

    def fourth(w, x):
        return partial(lambda y: w**2 * f(y), 0, 4, route)(x)

    found = values(lambda x: jax.grad(fourth)(jnp.asarray(3.0), x))
    agree(found, 6.0 * f.d(0, 4).at(POINTS))


@pytest.mark.parametrize("route", ROUTES)
def test_jit_and_vmap_change_nothing(route):
    f = Polynomial.random(10)
    operator = laplacian(f, route)
    one_by_one = np.array([operator(jnp.asarray(x)) for x in POINTS[:2]])
    agree(one_by_one, values(operator)[:2])


# ---------------------------------------------------------------- order of an operator

PLANE = Space(x=(0.0, 1.0), y=(0.0, 1.0))
ORDERS = {
    "identity": (lambda f: f, 0),
    "power of f": (lambda f: lambda x: f(x) ** 3, 0),
    "without f": (lambda f: lambda x: x[0], 0),
    "partial": (lambda f: partial(f, 1), 1),
    "rotation": (lambda f: directional(f, lambda x: jnp.array([-x[1], x[0]])), 1),
    "gradient": (lambda f: gradient(f), 1),
    "squared gradient": (lambda f: lambda x: jnp.sum(gradient(f)(x) ** 2), 1),
    "hessian": (lambda f: lambda x: jnp.linalg.det(hessian(f)(x)), 2),
    "laplacian": (laplacian, 2),
    "helmholtz": (lambda f: lambda x: laplacian(f)(x) + 16.0 * f(x), 2),
    "mixed": (lambda f: partial(partial(f, 0), 1), 2),
    "third of a product": (lambda f: partial(lambda x: jnp.exp(x[0]) * partial(f, 0, 2)(x), 0), 3),
    "biharmonic": (biharmonic, 4),
    "several at once": (lambda f: derivatives(f, lambda x: x, 3), 3),
    "vector": (lambda f: lambda x: jnp.stack([f(x), partial(f, 0, order=3)(x)]), 3),
    **{f"{route} route": (lambda f, r=route: partial(f, 0, 3, r), 3) for route in ROUTES},
}


@pytest.mark.parametrize("name", ORDERS)
def test_order_of_an_operator(name):
    operator, order = ORDERS[name]
    assert derivative_order(operator, jnp.array([0.3, 0.4])) == order
    assert PDE(operator).order(PLANE) == order


@pytest.mark.parametrize(
    ("name", "order"),
    [("dropwave-2", 1), ("rastrigin-20", 1), ("michalewicz-30", 1), ("cosine-mixture-50", 1), ("beam-1", 4)],
)
def test_order_of_the_problems(name, order):
    problem = problems.get(name)
    with jax.numpy_dtype_promotion("standard"):
        assert problem.pde.order(problem.space) == order


# ---------------------------------------------------------------- refusals


@pytest.mark.usefixtures("unchecked")
class TestRefusals:
    def test_not_a_function(self):
        with pytest.raises(TypeError, match="expected a function of x, got float"):
            partial(3.0, 0)

    @pytest.mark.parametrize("order", [-1, 1.5, True, "two"])
    def test_order(self, order):
        with pytest.raises(ValueError, match="order must be a non-negative integer"):
            partial(jnp.sum, 0, order=order)

    def test_route(self):
        with pytest.raises(ValueError, match=r"route must be one of .*taylor.*, got 'scenic'"):
            partial(jnp.sum, 0, route="scenic")

    @pytest.mark.parametrize("axis", [3, -4])
    def test_axis(self, axis):
        with pytest.raises(ValueError, match=f"axis {axis} is outside a space of dimension 3"):
            partial(jnp.sum, axis)(jnp.zeros(3))
