"""The physics: what an operator and a source may be, the points where they hold, and how a PDE is recognised."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pinnbo import PDE, Optimizer, Space, problems
from pinnbo.operators import gradient, hessian, laplacian, partial
from pinnbo.stated import as_physics

SPACE = Space(x=(0.0, 1.0), y=(-2.0, 3.0))


def field(x):
    return jnp.sin(x[0]) * jnp.exp(0.3 * x[1])


# operator, number of equations, whether it is linear
OPERATORS = {
    "laplacian": (lambda f: laplacian(f), 1, True),
    "with f and x": (lambda f: lambda x: x[1] * partial(f, 0)(x) - jnp.sin(x[0]) * f(x), 1, True),
    "affine": (lambda f: lambda x: laplacian(f)(x) + jnp.cos(x[0]), 1, True),
    "vector": (gradient, 2, True),
    "system of unlike orders": (lambda f: lambda x: jnp.stack([f(x), laplacian(f)(x), x[0] * f(x)]), 3, True),
    "eikonal": (lambda f: lambda x: jnp.sum(gradient(f)(x) ** 2), 1, False),
    "Monge-Ampere": (lambda f: lambda x: jnp.linalg.det(hessian(f)(x)), 1, False),
    "Burgers": (lambda f: lambda x: partial(f, 1)(x) + f(x) * partial(f, 0)(x), 1, False),
    "cubic, weakly": (lambda f: lambda x: laplacian(f)(x) + 1e-3 * f(x) ** 3, 1, False),
    "one of two": (lambda f: lambda x: jnp.stack([f(x), f(x) ** 2]), 2, False),
}


@pytest.mark.parametrize("name", OPERATORS)
def test_operators_of_all_kinds(name):
    operator, k, linear = OPERATORS[name]
    pde = PDE(operator)
    assert pde.n_equations(SPACE) == k
    assert pde.is_linear(SPACE) is linear
    x = jnp.array([0.3, 0.7])
    np.testing.assert_allclose(pde.apply(field)(x), np.atleast_1d(operator(field)(x)))
    data = pde.collocation(SPACE, 10, 0)
    assert data.points.shape == (10, 2)
    assert data.source.shape == (10, k)


@pytest.mark.parametrize(
    ("name", "linear"),
    [
        ("dropwave-2", True),
        ("rastrigin-20", True),
        ("michalewicz-30", True),
        ("beam-1", True),
        ("cosine-mixture-50", False),
    ],
)
def test_linearity_of_the_problems(name, linear):
    problem = problems.get(name)
    assert problem.pde.is_linear(problem.space) is linear


# ---------------------------------------------------------------- sources

SOURCES = {
    "number": (1.5, lambda p: 1.5 + 0 * p[:, 0]),
    "JAX function": (lambda x: jnp.sin(x[0]) + x[1], lambda p: np.sin(p[:, 0]) + p[:, 1]),
    "math function": (lambda x: math.sin(x[0]), lambda p: np.sin(p[:, 0])),
    "NumPy function": (lambda x: np.sin(x[0]), lambda p: np.sin(p[:, 0])),
    "with a branch": (lambda x: 1.0 if x[0] > 0.5 else 0.0, lambda p: 1.0 * (p[:, 0] > 0.5)),
    "of one element": (lambda x: x[:1], lambda p: p[:, 0]),
}


@pytest.mark.parametrize("name", SOURCES)
def test_source_of_a_scalar_equation(name):
    source, expected = SOURCES[name]
    data = PDE(laplacian, source=source).collocation(SPACE, 16, 0)
    np.testing.assert_allclose(data.source, expected(data.points)[:, None], rtol=1e-14)


def test_source_of_a_system():
    def two(x):
        return jnp.stack([x[0], 2.0 * x[1]])

    data = PDE(gradient, source=two).collocation(SPACE, 7, 0)
    np.testing.assert_allclose(data.source, data.points * [1.0, 2.0])
    np.testing.assert_array_equal(
        PDE(gradient, source=[1.0, 2.0]).collocation(SPACE, 3, 0).source, [[1.0, 2.0]] * 3
    )
    np.testing.assert_array_equal(
        PDE(gradient, source=0.5).collocation(SPACE, 3, 0).source, np.full((3, 2), 0.5)
    )


def test_tabulated_source_at_points_of_its_own(rng):
    points, table = rng.uniform(0.0, 1.0, (9, 2)), rng.normal(size=9)
    data = PDE(laplacian, source=table, points=points).collocation(SPACE, 500, 0)
    np.testing.assert_array_equal(data.points, points)
    np.testing.assert_array_equal(data.source, table[:, None])
    pairs = rng.normal(size=(9, 2))
    np.testing.assert_array_equal(
        PDE(gradient, source=pairs, points=points).collocation(SPACE, 1, 0).source, pairs
    )


def test_a_vector_is_one_number_per_equation_also_at_points_of_its_own(rng):
    points = rng.uniform(0.0, 1.0, (5, 2))
    data = PDE(gradient, source=[1.0, 2.0], points=points).collocation(SPACE, 1, 0)
    np.testing.assert_array_equal(data.source, [[1.0, 2.0]] * 5)
    one = PDE(laplacian, source=[3.0], points=points).collocation(SPACE, 1, 0)
    np.testing.assert_array_equal(one.source, np.full((5, 1), 3.0))
    # as many points as equations: only what is the same in both readings can be understood
    two = PDE(gradient, source=[0.0, 0.0], points=points[:2]).collocation(SPACE, 1, 0)
    np.testing.assert_array_equal(two.source, np.zeros((2, 2)))
    # one value per point, for every equation
    table = PDE(gradient, source=points[:, 0], points=points).collocation(SPACE, 1, 0)
    np.testing.assert_array_equal(table.source, points[:, [0, 0]])


def test_points_of_its_own_with_a_function_or_a_number(rng):
    points = rng.uniform(0.0, 1.0, (5, 2))
    data = PDE(lambda f: f, source=lambda x: x[0], points=points).collocation(SPACE, 64, 0)
    np.testing.assert_array_equal(data.source[:, 0], points[:, 0])
    assert PDE(lambda f: f, source=2.0, points=points[0]).collocation(SPACE, 64, 0).points.shape == (1, 2)


def test_repr_says_what_is_known():
    assert repr(PDE(laplacian, name="heat")) == "<PDE 'heat': source 0.0>"
    assert repr(PDE(gradient, source=[1.0, 2.0])) == "<PDE 'PDE': source [1.0, 2.0]>"
    wall = PDE(lambda f: f, source=lambda x: x[0], noise=0.1, points=np.zeros((3, 2)), name="wall")
    assert repr(wall) == "<PDE 'wall': source a function of x, noise 0.1, at 3 points of its own>"
    table = PDE(laplacian, source=np.arange(5.0), points=np.zeros((5, 2)))
    assert repr(table) == "<PDE 'PDE': source a table of 5 values, at 5 points of its own>"


def test_noise_is_kept():
    assert PDE(laplacian, noise=0.3).noise == 0.3
    assert PDE(laplacian).noise == 0.0


# ---------------------------------------------------------------- collocation points


def test_drawn_points_lie_in_the_box_and_depend_on_the_seed_alone():
    pde = PDE(laplacian)
    one, same, other = (pde.collocation(SPACE, 50, seed) for seed in (3, 3, 4))
    assert all(SPACE.contains(x) for x in one.points)
    np.testing.assert_array_equal(one.points, same.points)
    assert not np.array_equal(one.points, other.points)
    assert len(np.unique(one.points, axis=0)) == 50


def test_points_where_the_operator_is_not_finite_are_drawn_again():
    pde = PDE(lambda f: lambda x: jnp.where(x[0] < 0.3, jnp.nan, 1.0) * f(x))
    data = pde.collocation(SPACE, 100, 0)
    assert len(data.points) == 100
    assert data.points[:, 0].min() >= 0.3
    assert len(np.unique(data.points, axis=0)) == 100


def test_points_where_the_source_is_not_finite_are_drawn_again():
    data = PDE(laplacian, source=lambda x: jnp.log(x[1])).collocation(SPACE, 100, 0)
    assert len(data.points) == 100
    assert data.points[:, 1].min() > 0
    assert np.isfinite(data.source).all()


def test_nan_everywhere_is_an_error_that_names_a_point():
    with pytest.raises(
        ValueError, match=r"waves: too few .* usable: the operator is not finite at .*point \["
    ):
        PDE(lambda f: lambda x: jnp.nan * f(x), name="waves").collocation(SPACE, 10, 0)
    with pytest.raises(ValueError, match=r"the source is not finite at"):
        PDE(laplacian, source=lambda x: jnp.nan * x[0]).collocation(SPACE, 10, 0)


def test_points_of_the_user_are_not_redrawn_but_named():
    points = [[0.5, 1.0], [0.25, -1.5], [0.1, 2.0]]
    with pytest.raises(ValueError, match=r"the source is not finite at collocation point \[0.25, -1.5\]"):
        PDE(laplacian, source=lambda x: jnp.log(x[1]), points=points).collocation(SPACE, 10, 0)
    with pytest.raises(ValueError, match=r"the operator is not finite at collocation point \[0.1, 2.0\]"):
        PDE(lambda f: lambda x: f(x) / jnp.where(x[0] < 0.2, 0.0, 1.0), points=points).collocation(
            SPACE, 10, 0
        )


@pytest.mark.parametrize("name", OPERATORS)
def test_operators_that_take_f_at_x_alone_are_taken(name):
    pde = PDE(OPERATORS[name][0])
    pde.validate(SPACE)
    pde.check_local(SPACE)


@pytest.mark.parametrize(
    "operator",
    [
        lambda f: lambda x: x[1] * f(x) + x[-1] * partial(f, -1)(x) + jnp.sum(x[:1]) * x.sum(),
        lambda f: lambda x: (lambda a, b: a * b)(*x) * laplacian(laplacian(f))(x),
        lambda f: lambda x: x[jnp.array([0, 1])].sum() * partial(f, 0, order=6)(x),
    ],
)
def test_indices_within_the_range_are_taken(operator):
    pde = PDE(operator, source=lambda x: x[1] + x[-2])
    pde.validate(SPACE)
    pde.check_local(SPACE)


# ---------------------------------------------------------------- refusals


@pytest.mark.usefixtures("unchecked")
class TestRefusals:
    @pytest.mark.parametrize("operator", [3.0, None, "laplacian"])
    def test_operator_that_is_no_function(self, operator):
        with pytest.raises(TypeError, match="heat: operator must be a function of the field f"):
            PDE(operator, name="heat")

    @pytest.mark.parametrize(
        "operator",
        [
            lambda f: lambda x: f(x) - f(x * jnp.array([1.0, -1.0])),
            lambda f: lambda x: partial(f, 0)(x) - partial(f, 0)(jnp.flip(x)),
            lambda f: lambda x: f(x) - jnp.mean(jax.vmap(f)(jnp.linspace(0.0, 1.0, 20).reshape(10, 2))),
            lambda f: lambda x: laplacian(f)(x) + f(x.at[0].set(f(x))),
            lambda f: lambda x: f(x + jnp.array([0.05, 0.0])) - f(x),
        ],
        ids=["reflection", "derivative elsewhere", "average", "component as coordinate", "difference"],
    )
    def test_operator_that_looks_at_f_away_from_x(self, operator):
        with pytest.raises(
            ValueError,
            match=r"mirror: operator must take f .* at x alone, but at x = \[.*\] its value depends",
        ):
            Optimizer(SPACE, PDE(operator, name="mirror"))

    @pytest.mark.parametrize(
        "operator",
        [
            lambda f: lambda x: x[2] * f(x),
            lambda f: lambda x: laplacian(f)(x) + x[-3],
            lambda f: lambda x: gradient(f)(x)[2],
            lambda f: lambda x: hessian(f)(x)[0, 2],
            lambda f: laplacian(lambda y: y[2] * f(y)),
        ],
    )
    def test_index_out_of_range_in_an_operator(self, operator):
        with pytest.raises(
            ValueError, match=r"heat: operator has an index that is out of range at x of 2: .*axis"
        ):
            Optimizer(SPACE, PDE(operator, name="heat"))

    def test_axis_out_of_range(self):
        with pytest.raises(ValueError, match="partial: axis 2 is outside a space of dimension 2"):
            Optimizer(SPACE, PDE(lambda f: partial(f, 2)))

    def test_index_out_of_range_in_a_source(self):
        with pytest.raises(ValueError, match="PDE: source has an index that is out of range at x of 2"):
            Optimizer(SPACE, PDE(laplacian, source=lambda x: jnp.sin(x[2])))

    def test_operator_that_returns_a_number(self):
        with pytest.raises(TypeError, match="operator must return a function of x, got float"):
            Optimizer(SPACE, PDE(lambda f: 3.0)).ask()

    def test_operator_that_gives_a_matrix(self):
        with pytest.raises(ValueError, match=r"a scalar or a vector at a point, got shape \(2, 2\)"):
            Optimizer(SPACE, PDE(hessian)).ask()

    @pytest.mark.parametrize(
        ("operator", "source"),
        [
            (laplacian, [1.0, 2.0]),
            (gradient, [1.0, 2.0, 3.0]),
            (gradient, lambda x: jnp.ones(3)),
            (laplacian, lambda x: x),
        ],
    )
    def test_source_of_another_shape(self, operator, source):
        with pytest.raises(
            ValueError, match=r"source must have the operator's shape \(\d,\) at a point, got \(\d,\)"
        ):
            PDE(operator, source=source).collocation(SPACE, 8, 0)

    @pytest.mark.parametrize("source", ["zero", {"a": 1.0}])
    def test_source_that_is_no_number(self, source):
        with pytest.raises(TypeError, match="source must be a number, an array or a function of x"):
            PDE(laplacian, source=source)

    @pytest.mark.parametrize("source", [math.nan, math.inf, [1.0, math.nan], None])
    def test_source_that_is_not_finite(self, source):
        with pytest.raises(ValueError, match="source must be finite"):
            PDE(laplacian, source=source)

    def test_table_of_another_length(self):
        expected = r"source must have one value per point \(2\) or per equation \(1\), got shape \(3,\)"
        with pytest.raises(ValueError, match=expected):
            PDE(laplacian, source=[1.0, 2.0, 3.0], points=[[0.0, 0.0], [1.0, 1.0]])
        with pytest.raises(ValueError, match=r"one value per point \(2\), got shape \(3, 2\)"):
            PDE(gradient, source=np.ones((3, 2)), points=[[0.0, 0.0], [1.0, 1.0]])

    def test_a_vector_that_may_be_per_point_or_per_equation(self):
        with pytest.raises(ValueError, match=r"per point or one per equation.* shape \(2, 2\) instead"):
            PDE(gradient, source=[1.0, 2.0], points=[[0.0, 0.0], [1.0, 1.0]])

    @pytest.mark.parametrize("noise", [-1.0, math.nan, math.inf, "small", None])
    def test_noise(self, noise):
        with pytest.raises(ValueError, match="noise: expected a finite standard deviation >= 0"):
            PDE(laplacian, noise=noise)

    @pytest.mark.parametrize("points", ["here", np.zeros((0, 2)), np.zeros((2, 2, 2))])
    def test_points(self, points):
        with pytest.raises((TypeError, ValueError), match="PDE: points must"):
            PDE(laplacian, points=points)

    def test_points_of_another_dimension(self):
        with pytest.raises(ValueError, match=r"PDE: points: expected points of shape \(2,\)"):
            PDE(laplacian, points=[[1.0, 2.0, 3.0]]).collocation(SPACE, 4, 0)

    @pytest.mark.parametrize("pde", [3.0, "heat", [laplacian], laplacian])
    def test_something_else_than_a_pde(self, pde):
        with pytest.raises(TypeError, match="pde: expected a PDE, a list of PDEs or None, got"):
            as_physics(pde)


def test_one_several_or_no_pde():
    one, other = PDE(laplacian), PDE(gradient)
    assert as_physics(None) == ()
    assert as_physics(one) == (one,)
    assert as_physics([one, other]) == (one, other)
    assert as_physics(iter([one])) == (one,)


# ---------------------------------------------------------------- recognition

CORNERS = [[0.0, 0.0], [1.0, 1.0]]
DIFFERENT = {
    "laplacian": lambda: PDE(laplacian),
    "another source": lambda: PDE(laplacian, source=1.0),
    "a source function": lambda: PDE(laplacian, source=lambda x: x[0]),
    "a coefficient": lambda: PDE(lambda f: lambda x: 1.001 * laplacian(f)(x)),
    "another noise": lambda: PDE(laplacian, noise=0.1),
    "its own points": lambda: PDE(laplacian, points=CORNERS),
    "other points of its own": lambda: PDE(laplacian, points=[[0.0, 0.0], [0.5, 1.0]]),
    "a table": lambda: PDE(laplacian, source=[1.0, 2.0], points=CORNERS),
    "another table": lambda: PDE(laplacian, source=[1.0, 3.0], points=CORNERS),
    "a system": lambda: PDE(gradient),
    "nonlinear": lambda: PDE(lambda f: lambda x: f(x) ** 2),
    "the identity": lambda: PDE(lambda f: f),
    "not finite somewhere": lambda: PDE(lambda f: lambda x: jnp.log(x[1]) * f(x)),
}


def test_fingerprints_are_equal_for_the_same_pde_and_differ_for_another():
    prints = {name: make().fingerprint(SPACE) for name, make in DIFFERENT.items()}
    assert {name: make().fingerprint(SPACE) for name, make in DIFFERENT.items()} == prints
    assert all(math.isfinite(v) for values in prints.values() for v in values)
    names = list(prints)
    for i, a in enumerate(names):
        for b in names[:i]:
            same = len(prints[a]) == len(prints[b]) and np.allclose(
                prints[a], prints[b], rtol=1e-6, atol=1e-9
            )
            assert not same, f"{a} and {b} have the same fingerprint"
