"""Several fields, of which one is measured."""

import jax.numpy as jnp
import numpy as np
import pytest

from pinnbo import PDE, Optimizer, Space
from pinnbo.data import Standard
from pinnbo.gp.amplitudes import balanced
from pinnbo.gp.conditioning import given
from pinnbo.gp.equations import Equations
from pinnbo.gp.kernels import RBF
from pinnbo.operators import laplacian, partial
from pinnbo.physics.functionals import Functionals, concatenate
from pinnbo.physics.jets import JetPDE
from pinnbo.stated import as_problem

BOX = Space(x=(0.0, 2.0), y=(-1.0, 1.0))


def convection(T, psi):
    """Heat carried by a flow."""
    return lambda x: (
        partial(psi, 1)(x) * partial(T, 0)(x) - partial(psi, 0)(x) * partial(T, 1)(x) - 0.1 * laplacian(T)(x)
    )


def coupled(u, v):
    """Linear, with every kind of term."""
    return lambda x: jnp.stack(
        [x[0] * laplacian(u)(x) + 2.0 * partial(v, 1)(x), u(x) - jnp.exp(x[1]) * v(x) + partial(v, 0, 2)(x)]
    )


def exponential(a, b, c):
    """And its derivatives by closed form."""
    return lambda p: c * np.exp(a * p[:, 0] + b * p[:, 1])


def test_rows_of_two_fields_agree_with_exponentials():
    """By the derivatives of exponentials in closed form, to 1e-8."""
    (pde,), _, _ = as_problem((PDE(coupled),))
    points = BOX.sobol(7, 1)
    rows = JetPDE(BOX, pde).rows(BOX.scale(points), np.zeros((7, 2)))
    a, b, c, d = 0.7, -0.4, 1.3, 0.9
    u, v = exponential(a, b, 1.0)(points), exponential(c, d, 2.0)(points)
    truth = np.stack(
        [
            points[:, 0] * (a**2 + b**2) * u + 2.0 * d * v,
            u - np.exp(points[:, 1]) * v + c**2 * v,
        ],
        axis=1,
    )
    half = BOX.half_width
    slopes = {0: np.array([a, b]) * half, 1: np.array([c, d]) * half}
    values = {0: u, 1: v}
    found = sum(
        column * np.repeat(values[field], 2) * np.prod(slopes[field] ** np.array(index))
        for field, index, column in rows.terms
    )
    np.testing.assert_allclose(found, truth.ravel(), rtol=1e-8)


def test_the_covariance_of_two_fields_is_the_sum_of_their_parts():
    """Against the same rows in which only one of the fields is left."""
    (pde,), _, _ = as_problem((PDE(coupled),))
    rows = JetPDE(BOX, pde).rows(BOX.scale(BOX.sobol(6, 2)), np.zeros((6, 2)))
    kernel = RBF(np.array([0.6, 0.9]), amplitudes=(1.0, 3.0))
    parts = []
    for field in (0, 1):
        mine = rows.field_of == field
        alone = Functionals(
            rows.points, rows.coefficients[:, mine], rows.derivatives[mine], rows.values, rows.noise
        )
        parts.append(RBF(kernel.scale).covariance(alone, alone))
    np.testing.assert_allclose(kernel.covariance(rows, rows), parts[0] + 9.0 * parts[1], rtol=1e-12)
    # values of the first field see only its part
    points = BOX.scale(BOX.sobol(3, 4))
    along = kernel.covariance(Functionals.at(points), rows)
    np.testing.assert_allclose(kernel.jets(points, rows, False)[0], along, rtol=1e-12)
    assert not np.any(kernel.covariance(Functionals.at(points), Functionals.at(points, 1)))


def test_compression_keeps_both_fields():
    """Variances of both, given the rows, on features."""
    (pde,), _, _ = as_problem((PDE(coupled),))
    rows = JetPDE(BOX, pde).rows(BOX.scale(BOX.sobol(256, 2)), np.zeros((256, 2)))
    found = given(RBF(np.array([1.0, 1.0]), amplitudes=(1.0, 1.0)), rows, 1.0, 1e-3)
    small, whole = found.compressed(), found.process()
    assert small is not None
    assert small.rank < len(rows)
    points = BOX.scale(BOX.sobol(16, 9))
    both = concatenate([Functionals.at(points), Functionals.at(points, 1)])
    features = small.features.of(both)
    exact = found.kernel.covariance(both, both) - (whole.features.of(both) @ whole.features.of(both).T)
    mine = (features * small.sign) @ features.T
    assert np.max(np.abs(mine - exact)) < 3e-3 * np.max(np.diag(exact))


def test_hidden_fields_are_as_large_as_balances_the_equations():
    """A chain of fields, in any units, and a product."""
    line = Space(x=(0.0, 1.0))
    second = PDE(lambda w, M: lambda x: partial(w, 0, 2)(x) - 1e-6 * M(x))
    third = PDE(lambda M, q: lambda x: partial(M, 0, 2)(x) - 1e9 * q(x))
    physics, fields, _ = as_problem((second, third))
    assert fields == ("w", "M", "q")
    points = line.scale(line.sobol(64, 3))
    equations = Equations([(JetPDE(line, pde), points, np.zeros((64, 1))) for pde in physics])
    amplitudes = balanced(equations, np.array([1.0]), 3, Standard(0.0, 1.0))
    np.testing.assert_allclose(np.log10(amplitudes), np.log10([1.0, 4e6, 1.6e-2]), atol=0.5)
    (pde,), _, _ = as_problem((PDE(convection),))
    equations = Equations([(JetPDE(BOX, pde), BOX.scale(BOX.sobol(64, 3)), np.zeros((64, 1)))])
    _, psi = balanced(equations, np.array([1.0, 1.0]), 2, Standard(100.0, 40.0))
    assert 0.02 < 40.0 * psi < 0.5  # of the size of the diffusivity, in units of T


def beam(as_two):
    """Deflection w of a beam whose stiffness grows: M'' = q, w'' = rho e^-x M, hinged at both ends."""
    rho, ends = 2.0, np.array([[0.0], [1.0]])

    def load(x):
        return 10.0 * jnp.sin(3.0 * x[0])

    if as_two:
        return [
            PDE(lambda M: partial(M, 0, 2), source=load, fields=("M",)),
            PDE(lambda w, M: lambda x: partial(w, 0, 2)(x) - rho * jnp.exp(-x[0]) * M(x)),
            PDE(lambda w: w, points=ends),
            PDE(lambda M: M, points=ends, fields=("M",)),
        ]
    moment = lambda w: lambda x: partial(w, 0, 2)(x) * jnp.exp(x[0]) / rho  # noqa: E731
    return [
        PDE(lambda w: partial(moment(w), 0, 2), source=load),
        PDE(lambda w: w, points=ends),
        PDE(moment, points=ends),
    ]


def deflection(n=2001):
    """By finite differences."""
    x = np.linspace(0.0, 1.0, n)
    matrix = np.diag(-2.0 * np.ones(n - 2)) + np.diag(np.ones(n - 3), 1) + np.diag(np.ones(n - 3), -1)
    matrix /= (x[1] - x[0]) ** 2
    moment, w = np.zeros(n), np.zeros(n)
    moment[1:-1] = np.linalg.solve(matrix, 10.0 * np.sin(3.0 * x[1:-1]))
    w[1:-1] = np.linalg.solve(matrix, (2.0 * np.exp(-x) * moment)[1:-1])
    return x, w, moment


@pytest.mark.parametrize("as_two", [True, False])
def test_a_beam_is_the_same_as_two_fields_and_as_one_equation(as_two):
    """Within 1e-3 of finite differences, given the end values and two measurements."""
    x, w, moment = deflection(801)
    opt = Optimizer(Space(x=(0.0, 1.0)), beam(as_two), measures="w", noise=1e-5 * np.ptp(w))
    opt.tell(x[[240, 500], None], w[[240, 500]])
    mean, std = opt.predict(x[::40, None])
    assert np.max(np.abs(mean - w[::40])) < 1e-3 * np.ptp(w)
    assert np.max(std) < 0.05 * np.ptp(w)
    assert len(opt.ask()) == 1
    np.testing.assert_allclose(opt.predict(x[::40, None], of="w")[0], mean)
    with pytest.raises(ValueError, match="no field or sensor is called 'moment'"):
        opt.predict(x[:1, None], of="moment")
    if as_two:
        mean, std = opt.predict(x[::40, None], of="M")
        assert np.max(np.abs(mean - moment[::40])) < 5e-3 * np.ptp(moment)
        assert np.all(std > 0)


def test_a_state_knows_which_field_is_measured():
    """And refuses other equations."""
    opt = Optimizer(Space(x=(0.0, 1.0)), beam(True), measures="w", seed=3)
    stored = opt.to_dict()
    again = Optimizer.from_dict(stored, beam(True))
    assert again.to_dict() == stored
    with pytest.raises(ValueError, match="not the one"):
        Optimizer.from_dict(stored, [*beam(True)[:3], PDE(lambda w: w, points=np.array([[0.0], [1.0]]))])


def test_which_fields_there_are():
    """One parameter stands for the measured field; parameters with defaults are ignored; ``fields`` says otherwise."""
    one, other = PDE(laplacian), PDE(lambda g: laplacian(g))
    assert as_problem((one, other)).fields == ("f",)
    assert as_problem((one,), "T").fields == ("T",)
    assert as_problem((PDE(convection), one)).fields == ("T", "psi")
    assert as_problem((PDE(convection), one), "psi").fields == ("psi", "T")
    assert as_problem((PDE(lambda T, k=2.0: laplacian(T)),)).fields == ("f",)
    hidden = PDE(laplacian, fields=("psi",))
    physics, fields, _ = as_problem((one, hidden), "T")
    assert fields == ("T", "psi")
    assert [pde.indices for pde in physics] == [(0,), (1,)]


def test_bad_fields_are_refused_in_a_sentence():
    """Names that nobody uses, and methods that know one field only."""
    with pytest.raises(ValueError, match="depends on the field 'psi', got none"):
        Optimizer(BOX, PDE(lambda T, psi: laplacian(T)))
    with pytest.raises(ValueError, match="measures: no equation contains 'Psi', did you mean psi"):
        Optimizer(BOX, PDE(convection), measures="Psi")
    with pytest.raises(ValueError, match="method 'ntk' cannot infer fields that are not measured"):
        Optimizer(BOX, PDE(convection), method="ntk")
    with pytest.raises(ValueError, match="fields must name the operator's 2 parameters T, psi, got T"):
        PDE(convection, fields=("T",))
    with pytest.raises(ValueError, match="measures: expected the name of a field"):
        Optimizer(BOX, PDE(convection), measures="a b")
