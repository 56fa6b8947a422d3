"""Equations in text and in Python are the same equations: their rows agree to 1e-12, and text can be read back."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pinnbo import PDE, Space, equations, problems
from pinnbo.operators import biharmonic, directional, laplacian, partial
from pinnbo.physics.jets import JetPDE

# the paper's equations, as they are written down
PAPER = {
    "dropwave-2": "x0*d(f, x1) - x1*d(f, x0) = 0",
    "styblinski-tang-10": "sum(d(f, x[i])) = sum(2*x[i]**3 - 16*x[i] + 2.5)",
    "rastrigin-20": "sum(x[i]*d(f, x[i])) - f = "
    "sum(x[i]**2 + 10*cos(2*pi*x[i]) + 20*pi*x[i]*sin(2*pi*x[i]) - 10)",
    "michalewicz-30": """
        w*sum(h(x[i], i + 1)*d(f, x[i])) - w*f = 0
        w = 1/sqrt(1 + sum(h(x[i], i + 1)**2))
        h(z, j) = sin(z)*sin(a(z, j))/b(z, j)
        a(z, j) = j*z**2/pi
        b(z, j) = cos(z)*sin(a(z, j)) + 40*j*z/pi*sin(z)*cos(a(z, j))
    """,
    "cosine-mixture-50": "sum((d(f, x[i]) - 2*x[i] + 0.5*pi*sin(5*pi*x[i]))**2) = 0",
    "heat-1": "laplacian(T) = 0",
    "heat-2": "∇²T = 0",
    "heat-3": "d2T/dx2 + d2T/dy2 = 0",
    "beam-1": """
        (r**2*d4(w, x0) + 2*r*(r - dr)*d3(w, x0) + (r**2 - 2*r*dr + 2*dr**2 - r*ddr)*d2(w, x0))/weight = r**3/weight
        weight = k**4*(r**2 + (dr/k)**2)
        k = 8*pi*exp(2*x0)
        r = rho(x0)
        dr = d(rho(x0), x0)
        ddr = d2(rho(x0), x0)
        rho(x) = 2.4*x - 64*pi**2*E(x)**2*sin(4*pi*E(x)) - 396*E(x)*sin(20*x) + 80*E(x)*cos(20*x)
                 + 16*pi*E(x)*cos(4*pi*E(x)) + 0.4
        E(x) = exp(2*x)
    """.replace("\n                 +", " +"),
}


def rows_of(equation, space, points):
    """The rows of a linearised equation at points, at a reference that is drawn."""
    jet = JetPDE(space, equation)
    reference = np.random.default_rng(0).standard_normal((len(points), len(jet.derivatives)))
    return jet.rows(space.scale(points), equation.source_at(points), reference)


def assert_same_rows(text, python):
    np.testing.assert_array_equal(text.derivatives, python.derivatives)
    size = np.abs(python.coefficients).max()
    np.testing.assert_allclose(text.coefficients, python.coefficients, rtol=1e-12, atol=1e-12 * size)
    size += np.abs(python.values).max()
    np.testing.assert_allclose(text.values, python.values, rtol=1e-12, atol=1e-12 * size)


_SLOW = ("heat-2", "heat-3", "beam-1", "cosine-mixture-50")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if name in _SLOW else []) for name in PAPER]
)
def test_the_paper_s_problems_as_text_give_the_rows_of_the_python_form(name):
    problem = problems.get(name)
    space, points = problem.space, problem.space.sobol(64, seed=7)
    pde = PDE.parse(PAPER[name], space)
    for equation in (pde, problem.pde):
        equation.validate(space)
    assert_same_rows(rows_of(pde, space, points), rows_of(problem.pde, space, points))


@pytest.mark.parametrize("name", PAPER)
def test_the_paper_s_problems_as_text_can_be_read_back(name):
    space = problems.get(name).space
    pde = PDE.parse(PAPER[name], space)
    again = PDE.parse(str(pde), space)
    assert again.equation.statement == pde.equation.statement
    assert again.equation.definitions == pde.equation.definitions
    assert str(again) == str(pde)


def first(f):
    return partial(f, 0)


def second(f):
    return partial(f, 0, 2)


def bar(*coefficients):
    """a f_t + b f_tt + c f_x + d f_xx + e f on the axes x, t."""
    a, b, c, d, e = coefficients

    def operator(f):
        return lambda x: (
            a * partial(f, 1)(x)
            + b * partial(f, 1, 2)(x)
            + c * partial(f, 0)(x)
            + d * partial(f, 0, 2)(x)
            + e * f(x)
        )

    return operator


def conductivity(x):
    return 1e-4 * jnp.exp(x[0] / 0.7)


def darcy(h):
    def flux(axis):
        return lambda x: conductivity(x) * partial(h, axis)(x)

    return lambda x: sum(partial(flux(axis), axis)(x) for axis in range(2))


def beam(w):
    def moment(x):
        return 2000.0 * (1 + x[0] / 2.0) ** 2 * partial(w, 0, 2)(x)

    return partial(moment, 0, 2)


def elasticity(axis):
    def operator(u, v):
        def expansion(x):
            return partial(u, 0)(x) + partial(v, 1)(x)

        return lambda x: 2.0 * partial(expansion, axis)(x) + 0.8 * laplacian((u, v)[axis])(x)

    return operator


def momentum(axis, nu, rho, inertia):
    def operator(u, v, p):
        own = (u, v)[axis]
        return lambda x: (
            inertia * (u(x) * partial(own, 0)(x) + v(x) * partial(own, 1)(x))
            + partial(p, axis)(x) / rho
            - nu * laplacian(own)(x)
        )

    return operator


def stokes_momentum(axis):
    def operator(u, v, p):
        return lambda x: 0.5 * laplacian((u, v)[axis])(x) - partial(p, axis)(x)

    return operator


def continuity(u, v, p):
    return lambda x: partial(u, 0)(x) + partial(v, 1)(x)


def vorticity(psi):
    turning = laplacian(psi)
    return lambda x: (
        partial(psi, 1)(x) * partial(turning, 0)(x)
        - partial(psi, 0)(x) * partial(turning, 1)(x)
        - 0.025 * biharmonic(psi)(x)
    )


# operator and source of every equation of the catalogue, written by hand in Python with the numbers of its example
PYTHON = {
    "laplace": [(lambda T: laplacian(T), 0.0)],
    "poisson": [(lambda T: lambda x: -0.6 * laplacian(T)(x), 50.0)],
    "helmholtz": [(lambda p: lambda x: laplacian(p)(x) + 81.0 * p(x), 0.0)],
    "heat": [(bar(1.0, 0.0, 0.0, -1e-5, 5e-4), 5e-4 * 20.0)],
    "wave": [(bar(0.0, 1.0, 0.0, -4.0, 0.0), 0.0)],
    "advection-diffusion": [(bar(1.0, 0.0, 1.0, -0.05, 0.0), 0.0)],
    "darcy": [(darcy, 0.0)],
    "burgers": [
        (lambda u: lambda x: partial(u, 1)(x) + u(x) * partial(u, 0)(x) - 0.1 * partial(u, 0, 2)(x), 0.0)
    ],
    "reaction-diffusion": [(lambda c: lambda x: 0.1 * second(c)(x) - 0.9 * c(x), 0.0)],
    "allen-cahn": [
        (lambda u: lambda x: partial(u, 1)(x) - 0.2**2 * partial(u, 0, 2)(x) - u(x) + u(x) ** 3, 0.0)
    ],
    "fisher-kpp": [
        (
            lambda u: lambda x: partial(u, 1)(x) - 0.02 * partial(u, 0, 2)(x) - 3.0 * u(x) * (1 - u(x)),
            0.0,
        )
    ],
    "schroedinger": [
        (lambda psi: lambda x: -0.5 * second(psi)(x) + 0.5 * x[0] ** 2 * psi(x) - 1.5 * psi(x), 0.0)
    ],
    "klein-gordon": [(bar(0.0, 1.0, 0.0, -1.0, 4.0), 0.0)],
    "euler-bernoulli": [(beam, 100.0)],
    "kirchhoff-plate": [(lambda w: lambda x: 1000.0 * biharmonic(w)(x), 500.0)],
    "plane-elasticity": [(elasticity(0), 0.0), (elasticity(1), 0.0)],
    "stokes": [(lambda psi: biharmonic(psi), 0.0)],
    "stokes-uvp": [(stokes_momentum(0), 0.0), (stokes_momentum(1), 0.0), (continuity, 0.0)],
    "navier-stokes": [(vorticity, 0.0)],
    "navier-stokes-uvp": [
        (momentum(0, 0.025, 1.0, 1.0), 0.0),
        (momentum(1, 0.025, 1.0, 1.0), 0.0),
        (continuity, 0.0),
    ],
    "eikonal": [(lambda tau: lambda x: partial(tau, 0)(x) ** 2 + partial(tau, 1)(x) ** 2, 0.25)],
    "well": [
        (
            lambda s: (
                lambda x: 2e-4 * partial(s, 1)(x) - 1e-3 * (partial(s, 0, 2)(x) + partial(s, 0)(x) / x[0])
            ),
            0.0,
        )
    ],
    "oscillator": [(lambda u: lambda x: second(u)(x) + 0.3 * first(u)(x) + 4.0 * u(x), 0.0)],
    "first-order-kinetics": [(lambda c: lambda x: first(c)(x) + 0.05 * c(x), 0.0)],
    "michaelis-menten": [(lambda S: lambda x: first(S)(x) + S(x) / (2.0 + S(x)), 0.0)],
    "radial": [(lambda f: directional(f, lambda x: jnp.array([-x[1], x[0]])), 0.0)],
    "scaling": [(lambda f: lambda x: directional(f, lambda z: z)(x) - 1.5 * f(x), 0.0)],
    "translation": [(bar(1.0, 0.0, 0.7, 0.0, 0.0), 0.0)],
}


def test_every_equation_of_the_catalogue_has_a_python_form_here():
    assert sorted(PYTHON) == sorted(equations.available())


_QUICK = ("heat", "burgers", "darcy", "well", "oscillator", "radial")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in _QUICK else [pytest.mark.slow]) for name in PYTHON]
)
def test_the_catalogue_gives_the_rows_of_the_python_form(name):
    entry = equations.get(name)
    space, found = Space(**entry.space), entry.pde()
    texts = found if isinstance(found, list) else [found]
    assert len(texts) == len(PYTHON[name])
    points = space.sobol(32, seed=7)
    for text, (operator, source) in zip(texts, PYTHON[name], strict=True):
        python = PDE(operator, source, fields=list(entry.fields))
        assert_same_rows(rows_of(text, space, points), rows_of(python, space, points))


@pytest.mark.parametrize("name", ["plane-elasticity", "navier-stokes-uvp"])
def test_equations_of_several_fields_give_the_values_of_the_python_form(name):
    entry = equations.get(name)
    space, texts = Space(**entry.space), entry.pde()
    points = jnp.asarray(space.sobol(16, seed=7))

    def probe(number):
        return lambda x: jnp.sin(x[0] + 2 * x[1] + number) + x[0] * x[1] ** 2

    probes = [probe(i) for i in range(len(entry.fields))]
    for text, (operator, _) in zip(texts, PYTHON[name], strict=True):
        values = jax.vmap(operator(*probes))(points)
        np.testing.assert_allclose(jax.vmap(text.operator(*probes))(points), values, rtol=1e-12, atol=1e-12)
