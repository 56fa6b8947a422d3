"""PDEs as functions of the jet: rows and values against the operator applied to functions with known derivatives."""

from functools import cache
from math import perm

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pinnbo import PDE, Space
from pinnbo.operators import biharmonic, directional, gradient, laplacian, partial
from pinnbo.physics.jets import JetPDE

LINE = Space(x=(0.5, 4.0))
BOX = Space(x=(-1.0, 3.0), y=(0.5, 1.2))
VISCOSITY = 0.3


class Wave:
    """sin(w . x + phase): every derivative is known in closed form."""

    def __init__(self, *frequency, phase=0.4):
        self.frequency, self.phase = np.array(frequency), phase

    def __call__(self, x):
        return jnp.sin(jnp.dot(self.frequency, x) + self.phase)

    def derivative(self, points, index):
        angle = points @ self.frequency + self.phase
        return np.prod(self.frequency**index) * np.sin(angle + 0.5 * np.pi * index.sum())


class Monomial:
    """2 x^a, and its derivatives."""

    def __init__(self, *powers):
        self.powers = powers

    def __call__(self, x):
        return 2.0 * jnp.prod(jnp.stack([x[i] ** p for i, p in enumerate(self.powers)]))

    def derivative(self, points, index):
        out = np.full(len(points), 2.0)
        for axis, (power, order) in enumerate(zip(self.powers, index, strict=True)):
            out *= perm(power, order) * points[:, axis] ** max(power - order, 0)
        return out


class Sum:
    """Several fields at once: an operator that is wrong on one of them is wrong on this one."""

    def __init__(self, *fields):
        self.fields = fields

    def __call__(self, x):
        return sum(field(x) for field in self.fields)

    def derivative(self, points, index):
        return sum(field.derivative(points, index) for field in self.fields)


WAVES = {LINE: Wave(1.7), BOX: Wave(1.3, -2.1)}
FIELDS = {
    LINE: Sum(Wave(-1.1), Monomial(5), Monomial(0)),
    BOX: Sum(Wave(0.7, 1.9), Monomial(3, 2), Monomial(4, 4), Monomial(1, 0), Monomial(0, 0)),
}


def beam(f):
    """Fourth order, coefficients that change with x, and the function itself."""
    return lambda x: (1 + x[0] ** 2) * partial(f, 0, 4)(x) - jnp.sin(x[0]) * partial(f, 0, 2)(x) + x[0] * f(x)


def system(f):
    """Three equations; the last one does not differentiate."""
    return lambda x: jnp.stack(
        [laplacian(f)(x), x[1] * partial(f, 0)(x) - partial(f, 1)(x), jnp.cos(x[0]) * f(x)]
    )


def affine(f):
    return lambda x: laplacian(f)(x) + x[0] ** 2 - 3.0


def mixed(f):
    return lambda x: partial(partial(f, 0), 1)(x) + jnp.exp(x[1]) * f(x)


def burgers(f):
    return lambda x: f(x) * partial(f, 0)(x) - VISCOSITY * partial(f, 0, 2)(x)


def eikonal(f):
    return lambda x: jnp.sum(gradient(f)(x) ** 2) + jnp.exp(-f(x))


def rotation(f):
    return directional(f, lambda x: jnp.array([-x[1], x[0]]))


def euler(f):
    return lambda x: directional(f, lambda x: x)(x) - f(x)


LINEAR = {
    "laplacian": (BOX, laplacian),
    "biharmonic": (BOX, biharmonic),
    "euler": (BOX, euler),
    "rotation": (BOX, rotation),
    "beam": (LINE, beam),
    "system": (BOX, system),
    "mixed": (BOX, mixed),
    "affine": (BOX, affine),
}
NONLINEAR = {"burgers": (BOX, burgers), "eikonal": (BOX, eikonal), "burgers in 1-D": (LINE, burgers)}


@cache
def jets_of(name):
    """Compiled once for all tests."""
    space, operator = {**LINEAR, **NONLINEAR}[name]
    return JetPDE(space, PDE(operator))


@cache
def image_function(pde, field):
    return jax.jit(jax.vmap(pde.apply(field)))


def jet_of(field, space, scaled, indices):
    """The derivatives in the scaled coordinates."""
    points = space.unscale(scaled)
    parts = [field.derivative(points, index) * np.prod(space.half_width**index) for index in indices]
    return np.stack(parts, axis=1)


def image_of(pde, field, space, scaled):
    return np.asarray(image_function(pde, field)(jnp.asarray(space.unscale(scaled))))


def scaled_points(space, rng, n=7):
    return rng.uniform(-1.0, 1.0, (n, space.dim))


def close(actual, desired, tolerance=1e-10):
    np.testing.assert_allclose(actual, desired, rtol=tolerance, atol=tolerance * np.max(np.abs(desired)))


@pytest.mark.parametrize("name", [*LINEAR, *NONLINEAR])
def test_the_value_at_a_jet_is_that_of_the_operator_at_the_function(name, rng):
    jets = jets_of(name)
    space, field, points = jets.space, FIELDS[jets.space], scaled_points(jets.space, rng)
    found = jets.values(points, jet_of(field, space, points, jets.derivatives))
    close(found, image_of(jets.pde, field, space, points))


@pytest.mark.parametrize("name", LINEAR)
def test_every_solution_obeys_the_rows_of_a_linear_equation_whatever_the_reference(name, rng):
    jets = jets_of(name)
    space, field, points = jets.space, FIELDS[jets.space], scaled_points(jets.space, rng)
    source = image_of(jets.pde, field, space, points)
    jet = np.repeat(jet_of(field, space, points, jets.derivatives), source.shape[1], axis=0)
    plain = jets.rows(points, source)
    moved = jets.rows(points, source, jet_of(WAVES[space], space, points, jets.derivatives))
    close(moved.coefficients, plain.coefficients)
    for rows in (plain, moved):
        close(np.sum(rows.coefficients * jet, axis=1), rows.values)


@pytest.mark.parametrize("name", LINEAR)
def test_the_constant_of_the_rows_is_the_image_of_the_constant_function(name, rng):
    jets = jets_of(name)
    points = scaled_points(jets.space, rng)
    rows = jets.rows(points, np.zeros((len(points), jets.pde.n_equations(jets.space))))
    zero, one = (image_of(jets.pde, lambda x, c=c: c + 0.0 * x[0], jets.space, points) for c in (0.0, 1.0))
    np.testing.assert_allclose(rows.constant, (one - zero).ravel(), atol=1e-12)
    np.testing.assert_allclose(rows.values, -zero.ravel(), atol=1e-12)


@pytest.mark.parametrize("name", NONLINEAR)
def test_the_rows_of_a_nonlinear_equation_are_its_derivative_at_the_reference(name, rng):
    jets = jets_of(name)
    space, points = jets.space, scaled_points(jets.space, rng)
    reference, direction = WAVES[space], FIELDS[space]
    source = rng.normal(size=(len(points), 1))
    rows = jets.rows(points, source, jet_of(reference, space, points, jets.derivatives))

    @jax.jit
    def along(t):
        image = jets.pde.apply(lambda x: reference(x) + t * direction(x))
        return jax.vmap(image)(jnp.asarray(space.unscale(points)))[:, 0]

    slope = (along(1e-5) - along(-1e-5)) / 2e-5
    close(np.sum(rows.coefficients * jet_of(direction, space, points, jets.derivatives), axis=1), slope, 1e-6)
    # Newton's equation: c . J = g - N[f'] + c . J'
    at_reference = np.sum(rows.coefficients * jet_of(reference, space, points, jets.derivatives), axis=1)
    close(rows.values, source[:, 0] - along(0.0) + at_reference)


@pytest.mark.parametrize("name", NONLINEAR)
def test_a_solution_of_a_nonlinear_equation_obeys_the_rows_linearised_at_itself(name, rng):
    jets = jets_of(name)
    space, field, points = jets.space, FIELDS[jets.space], scaled_points(jets.space, rng)
    jet = jet_of(field, space, points, jets.derivatives)
    rows = jets.rows(points, image_of(jets.pde, field, space, points), jet)
    close(np.sum(rows.coefficients * jet, axis=1), rows.values)


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("laplacian", [(0, 0), (0, 2), (2, 0)]),
        ("biharmonic", [(0, 0), (0, 4), (2, 2), (4, 0)]),
        ("euler", [(0, 0), (0, 1), (1, 0)]),
        ("rotation", [(0, 0), (0, 1), (1, 0)]),
        ("eikonal", [(0, 0), (0, 1), (1, 0)]),
        ("mixed", [(0, 0), (1, 1)]),
        ("burgers", [(0, 0), (1, 0), (2, 0)]),
        ("beam", [(0,), (2,), (4,)]),
    ],
)
def test_derivatives_that_are_never_taken_are_left_out(name, kept):
    assert sorted(map(tuple, jets_of(name).derivatives.tolist())) == kept


@pytest.mark.parametrize("name", [*LINEAR, *NONLINEAR])
def test_the_function_itself_comes_first_among_the_derivatives(name):
    indices = jets_of(name).derivatives
    assert not indices[0].any()
    assert indices[1:].any(axis=1).all()


def test_a_derivative_that_is_taken_in_a_corner_of_the_box_is_kept(rng):
    def layered(f):
        return lambda x: partial(f, 0)(x) + jnp.where(x[0] > 2.8, 5.0, 0.0) * partial(f, 1)(x)

    jets = JetPDE(BOX, PDE(layered))
    points = np.column_stack([rng.uniform(0.95, 1.0, 5), rng.uniform(-1.0, 1.0, 5)])
    field = WAVES[BOX]
    found = jets.values(points, jet_of(field, BOX, points, jets.derivatives))
    close(found, image_of(jets.pde, field, BOX, points))


def test_the_monomials_of_a_jet_carry_their_factorials():
    """A fourth derivative of x^4 / 4! is one, in scaled coordinates and through the box' width."""
    jets = jets_of("beam")
    (index,) = np.flatnonzero(jets.derivatives[:, 0] == 4)
    jet = np.zeros((1, len(jets.derivatives)))
    jet[0, index] = 1.0
    z = np.array([[0.3]])
    coefficient = 1 + LINE.unscale(z)[0, 0] ** 2
    assert jets.values(z, jet)[0, 0] == pytest.approx(coefficient * LINE.half_width[0] ** -4)


def test_many_points_are_worked_through_in_pieces_with_the_same_answer(rng):
    """More than two pieces, the last one short."""
    jets = jets_of("system")
    points, source = scaled_points(BOX, rng, 600), rng.normal(size=(600, 3))
    reference = rng.normal(size=(600, len(jets.derivatives)))
    rows = jets.rows(points, source, reference)
    assert rows.coefficients.shape == (1800, len(jets.derivatives))
    for i in (0, 255, 256, 511, 512, 599):
        alone = jets.rows(points[[i]], source[[i]], reference[[i]])
        part = slice(3 * i, 3 * i + 3)
        np.testing.assert_array_equal(rows.points[part], alone.points)
        close(rows.coefficients[part], alone.coefficients, 1e-14)
        close(rows.values[part], alone.values, 1e-14)


def test_the_noise_of_the_source_goes_to_every_row(rng):
    jets = JetPDE(BOX, PDE(gradient, source=[0.0, 1.0], noise=0.25))
    rows = jets.rows(scaled_points(BOX, rng, 4), np.zeros((4, 2)))
    np.testing.assert_array_equal(rows.noise, np.full(8, 0.25))


def test_too_many_derivatives_are_refused_with_their_number_and_a_way_out():
    space = Space.box(np.zeros(199), np.ones(199))
    with pytest.raises(ValueError, match=r"wide: .* has 20100 derivatives up to order 2, .* method='ntk'"):
        JetPDE(space, PDE(laplacian, name="wide"))
