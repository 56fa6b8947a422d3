"""Equations in text: what they mean, that they can be read back, and what is said of those that make no sense."""

import inspect
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pinnbo import PDE, Space
from pinnbo.equations.errors import EquationError
from pinnbo.operators import biharmonic, directional, gradient, laplacian, partial

PLANE = Space(x=(0.0, 1.0), y=(0.0, 2.0))
BAR = Space(x=(0.0, 1.0), t=(0.0, 2.0))
CUBE = Space.box([-1.0, 0.0, 1.0], [1.0, 2.0, 3.0])


def probe(x):
    return jnp.sin(jnp.dot(jnp.cos(1.0 + jnp.arange(x.size)), x)) + 0.1 * jnp.sum(x**3)


def image(pde, points, *fields, **coefficients):
    f = pde.operator(*(fields or (probe,)), **coefficients)
    return np.asarray(jax.vmap(f)(jnp.asarray(points)))


def same(text, operator, space=PLANE, source=0.0, **options):
    """The text means the operator and the source."""
    pde, points = PDE.parse(text, space, **options), space.sobol(32, seed=1)
    expected = PDE(operator, source)
    np.testing.assert_allclose(image(pde, points), image(expected, points), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(pde.source_at(points), expected.source_at(points), rtol=1e-12, atol=1e-12)
    return pde


def lap(f):
    return laplacian(f)


def bar(f):
    return lambda x: partial(f, 1)(x) - 0.3 * partial(f, 0, 2)(x)


def conductivity(f):
    return lambda x: sum(partial(lambda z, i=i: (1 + z[0] ** 2) * partial(f, i)(z), i)(x) for i in range(2))


@pytest.mark.parametrize(
    ("text", "operator", "space"),
    [
        ("laplacian(T) = 0", lap, PLANE),
        ("∇²T = 0", lap, PLANE),
        ("∇^2 T = 0", lap, PLANE),
        ("ΔT = 0", lap, PLANE),
        ("div(grad(T)) = 0", lap, PLANE),
        ("∇·∇T = 0", lap, PLANE),
        ("d(T, x, x) + d(T, y, y) = 0", lap, PLANE),
        ("d2(T, x) + d2(T, y) = 0", lap, PLANE),
        ("d2T/dx2 + d2T/dy2 = 0", lap, PLANE),
        ("d^2T/dx^2 + d^2T/dy^2 = 0", lap, PLANE),
        ("∂²T/∂x² + ∂²T/∂y² = 0", lap, PLANE),
        ("Derivative(T, x, 2) + Derivative(T, (y, 2)) = 0", lap, PLANE),
        ("d/dx(dT/dx) = -d/dy(dT/dy)", lap, PLANE),
        ("d(dT/dx)/dx + d(T(x, y), y, y) = 0", lap, PLANE),
        ("biharmonic(w) = 0", lambda f: biharmonic(f), PLANE),
        ("∇⁴w = 0", lambda f: biharmonic(f), PLANE),
        ("laplacian(laplacian(w)) = 0", lambda f: biharmonic(f), PLANE),
        ("d4(w, x) + 2*d(w, x, x, y, y) + d4(w, y) = 0", lambda f: biharmonic(f), PLANE),
        ("d(T, t) = 0.3*d2(T, x)", bar, BAR),
        ("∂T/∂t = 0.3*∇²T", bar, BAR),
        ("dT/dt = 0.3 * d2T/dx2", bar, BAR),
        ("dT/dt - kappa*laplacian(T) = 0; kappa = 0.3", bar, BAR),
        ("div((1 + x**2)*grad(T)) = 0", conductivity, PLANE),
        ("∇·(k∇T) = 0; k = 1 + x²", conductivity, PLANE),
        ("div(k(x)*grad(T)) = 0; k(z) = 1 + z^2", conductivity, PLANE),
        ("d(k*dT/dx)/dx + k*d2(T, y) = 0\nk = 1 + x*x", conductivity, PLANE),
        ("dot(grad(T), grad(T)) = 0", lambda f: lambda x: jnp.sum(gradient(f)(x) ** 2), PLANE),
        ("grad(T)**2 = 0", lambda f: lambda x: jnp.sum(gradient(f)(x) ** 2), PLANE),
        ("norm(grad(T))**2 = 0", lambda f: lambda x: jnp.sum(gradient(f)(x) ** 2), PLANE),
        ("∇T·∇T = 0", lambda f: lambda x: jnp.sum(gradient(f)(x) ** 2), PLANE),
        ("(-y, x)*grad(T) = 0", lambda f: directional(f, lambda x: jnp.array([-x[1], x[0]])), PLANE),
        ("curl(T*y, T*x) = 0", lambda f: lambda x: x[0] * partial(f, 0)(x) - x[1] * partial(f, 1)(x), PLANE),
        ("sum(d2(f, x[i])) = 0", lap, CUBE),
        ("sum(x[i]*d(f, x[i]), i) = 0", lambda f: directional(f, lambda x: x), CUBE),
        ("sum(i*d(f, x[i])) = 0", lambda f: directional(f, jnp.arange(3.0)), CUBE),
        ("d(f, x[2]) = 0", lambda f: partial(f, 2), CUBE),
    ],
)
def test_notations(text, operator, space):
    pde = same(text, operator, space)
    again = PDE.parse(str(pde), space)
    assert again.equation.statement == pde.equation.statement
    assert str(again) == str(pde)


@pytest.mark.parametrize(
    ("text", "order", "linear"),
    [
        ("biharmonic(w) + d(w*x, x) = 0", 4, True),
        ("d(k*d(T, x), x) = 0; k = 1 + T**2", 2, False),
        ("norm(grad(T)) = 1", 1, False),
        ("x*T + q(y)*d(T, y) = 0; q(z) = exp(z)*d(T, x, y)", 2, False),
        ("where(x < 0.5, 2, 3)*T = 1", 0, True),
    ],
)
def test_order_and_linearity_are_those_that_tracing_finds(text, order, linear):
    pde = PDE.parse(text, PLANE)
    assert (pde.equation.order, pde.equation.is_linear) == (order, linear)
    assert (pde.order(PLANE), pde.is_linear(PLANE)) == (order, linear)


def test_terms_without_a_field_make_up_the_source():
    def operator(f):
        return lambda x: partial(f, 1)(x) - 2 * partial(f, 0, 2)(x) + 0.5 * f(x)

    pde = same(
        "d(T, t) = 2*d2(T, x) - h*(T - 20) + exp(-x)",
        operator,
        BAR,
        lambda x: 10 + jnp.exp(-x[0]),
        constants={"h": 0.5},
    )
    assert "h = 0.5" in str(pde)
    same("laplacian(T) - 3 = 2*x", lap, PLANE, lambda x: 3 + 2 * x[0])
    same("2*(laplacian(T) - x) = 0", lambda f: lambda x: 2 * laplacian(f)(x), PLANE, lambda x: 2 * x[0])
    same(
        "laplacian(T) = where(x < 0.5 and not y > 1, 1, -1)",
        lap,
        PLANE,
        lambda x: jnp.where((x[0] < 0.5) & (x[1] <= 1), 1.0, -1.0),
    )


def test_tables_are_functions_or_columns():
    places = np.linspace(0.0, 1.0, 30)
    options = {"tables": {"k": (places, 1 + places**2)}}
    points = PLANE.sobol(16, seed=2)
    tabulated = PDE.parse("div(k(x)*grad(T)) = 0", PLANE, **options)
    np.testing.assert_allclose(image(tabulated, points), image(PDE(conductivity), points), atol=1e-9)
    same("div(k(x)*grad(T)) = 0", conductivity, tables={"k": lambda x: 1 + x**2})
    for bad, said in [((1.0, 2.0), "two columns"), (([0, 0], [1, 1]), "ascending"), ("k", "two columns")]:
        with pytest.raises(EquationError, match=said):
            PDE.parse("div(k(x)*grad(T)) = 0", PLANE, tables={"k": bad})


def test_conditions_hold_at_points_of_their_place():
    heat, wall, flux, corner = PDE.parse(
        "laplacian(T) = 0; T = 20*x on y = 0; d(T, n) = -1 on x = 0; T = 3 on x = 1 and y = 2", PLANE
    )
    assert heat.points is None
    assert np.all(wall.points[:, 1] == 0.0)
    assert wall.points[:, 0].min() == 0.0
    assert wall.points[:, 0].max() == 1.0
    np.testing.assert_allclose(wall.source_at(wall.points)[:, 0], 20 * wall.points[:, 0])
    np.testing.assert_allclose(image(flux, flux.points), -image(PDE(lambda f: partial(f, 0)), flux.points))
    assert corner.points.tolist() == [[1.0, 2.0]]
    part = PDE.parse("T = 1 on y = 0 and 0.2 < x < 0.4 or y = 2", PLANE)
    assert set(part.points[:, 1]) == {0.0, 2.0}
    low = part.points[part.points[:, 1] == 0.0]
    assert low[:, 0].min() > 0.2
    assert low[:, 0].max() < 0.4
    named = PDE.parse("T = 1 on wall", PLANE, places={"wall": "y = 0"})
    assert np.all(named.points[:, 1] == 0.0)
    assert PDE.parse("T = 1 on here", PLANE, places={"here": [[0.5, 0.5]]}).points.tolist() == [[0.5, 0.5]]
    assert len(PDE.parse("T = 1 on boundary", PLANE).points) == 4 * len(wall.points)


def test_several_fields_and_unknown_coefficients_have_the_signature_of_the_contract():
    first, second = PDE.parse(
        "d(psi, y)*d(T, x) - d(psi, x)*d(T, y) = alpha*laplacian(T) + q; laplacian(psi) = 0",
        PLANE,
        fields=["T", "psi"],
    )
    assert str(inspect.signature(first.operator)) == "(T, psi, *, alpha)"
    assert str(inspect.signature(second.operator)) == "(T, psi)"
    assert str(inspect.signature(first._source)) == "(x, *, q)"
    assert (first.equation.unknowns, second.equation.unknowns) == (("alpha", "q"), ())

    def other(x):
        return jnp.cos(x[0] + 2 * x[1])

    def expected(x):
        flow = gradient(other)(x)[jnp.array([1, 0])] * gradient(probe)(x)
        return flow[0] - flow[1] - 0.5 * laplacian(probe)(x)

    points = PLANE.sobol(8, seed=3)
    np.testing.assert_allclose(
        image(first, points, probe, other, alpha=0.5), jax.vmap(expected)(points), rtol=1e-12
    )
    assert first._source(jnp.zeros(2), q=3.0) == 3.0
    with pytest.raises(TypeError, match="unknown coefficient alpha has no value"):
        first.operator(probe, other)
    for pde in (first, second):
        again = PDE.parse(str(pde), PLANE, fields=pde.equation.fields)
        assert again.equation.statement == pde.equation.statement
        assert inspect.signature(again.operator) == inspect.signature(pde.operator)


def test_a_name_for_an_expression_of_fields_is_a_field_only_where_derivatives_are_taken_of_it():
    pde = PDE.parse("u = d(psi, y); v = -d(psi, x); u*d(T, x) + v*d(T, y) = laplacian(T)", PLANE)
    assert pde.equation.fields == ("psi", "T")
    pdes = PDE.parse("q = -k*d(T, x); d(q, x) = 0", PLANE, constants={"k": 2.0})
    assert [pde.equation.fields for pde in pdes] == [("T", "q")] * 2
    assert PDE.parse("u = d(psi, y)", PLANE).equation.fields == ("psi", "u")
    named = PDE.parse("u = d(psi, y); laplacian(psi) = 0", PLANE, fields=["u", "psi"])
    assert [pde.equation.fields for pde in named] == [("u", "psi")] * 2


def test_read_back():
    pde = PDE.parse("d(T, t) = alpha*d2(T, x) - h*(T - 20)", BAR, constants={"h": 0.1})
    assert str(pde) == "h = 0.1\nd(T, t) = alpha*d2(T, x) - h*(T - 20)"
    assert repr(pde) == (
        "<PDE 'd(T, t) = alpha*d2(T, x) - h*(T - 20)': order 2, linear, field T, unknown alpha, "
        "source a function of x>"
    )
    assert pde._repr_latex_() == (
        r"$\displaystyle \frac{\partial T}{\partial t} = \alpha \, \frac{\partial^{2} T}{\partial x^{2}} - h \, "
        r"\left(T - 20\right), \quad h = 0.1$"
    )
    python = PDE(lambda f: laplacian(f), name="heat")
    assert repr(python) == "<PDE 'heat': source 0.0>"
    python.order(PLANE), python.is_linear(PLANE)
    assert repr(python) == "<PDE 'heat': order 2, linear, source 0.0>"
    assert python._repr_latex_() is None


def test_an_equation_in_text_is_the_equation_in_python():
    text, python = PDE.parse("laplacian(T) = 0", PLANE), PDE(lambda f: laplacian(f))
    np.testing.assert_allclose(text.fingerprint(PLANE), python.fingerprint(PLANE), rtol=1e-12)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "expected an equation such as laplacian(T) = 0, got nothing"),
        ("laplacian(T)", "expected an equals sign"),
        ("laplacian(T) = 0 = 1", "line 1, column 18: expected one equals sign in a line"),
        ("laplacian(T) == 0", "column 14: write = instead of =="),
        ("lapacian(T) + d(T, x) = 0", "column 1: function lapacian is unknown, did you mean laplacian?"),
        ("d(T, z) = 0", "column 6: 'z' is no axis; there are x, y"),
        ("dT/dz + dT/dx = 0", "column 1: dT alone means nothing: write a derivative such as dT/dx"),
        ("d2T/dx = 0", "column 5: expected a derivative of order 2 below as above, got order 1"),
        ("laplacian(T = 0", "column 13: expected ')' after the arguments of laplacian, got '='"),
        ("laplacian(T)) = 0", "column 13: ')' closes nothing"),
        ("laplacian(T) = 2x", "column 16: expected a sign between 2 and x, such as 2*x"),
        ("laplacian(T) = k T", "column 18: expected the end of the line or a sign such as *, got 'T'"),
        ("laplacian(T) = sin(x, y)", "sin: expected 1 argument, got 2"),
        ("laplacian(T) = sin", "column 16: sin is a function: write sin(...)"),
        ("laplacian(T, x) = 0", "laplacian: expected 1 argument, got 2"),
        ("div(T) + laplacian(T) = 0", "div: expected a vector such as grad(T) or (u, v), got a number"),
        ("grad(T) = 0", "got a vector; write one line per component"),
        ("grad(T) + T = 0", "a vector and a number cannot be added"),
        ("laplacian(T) = x.y", "unexpected '.'"),
        ("laplacian(T) = __import__", "expected a name that starts with a letter"),
        ("T'' = 0", 'unexpected "\'"; write a derivative as d(T, x)'),
        ("laplacian(T) = T**200", "expected an exponent of at most 100 in size"),
        ("laplacian(T) = 1e999", "expected a finite number"),
        ("d(T, n) = 0", "n is the outward normal of a face: say where"),
        ("d(T, n) = 0 on y = 1", "y = 1 lies inside: write d(..., y)"),
        ("T = 20 on z = 0", "'z' is no axis"),
        ("T = 20 on wall", "place wall is unknown"),
        ("T(x, 0) = 20", "for a value at a wall write T = 20 on y = 0"),
        ("d(T, x) = T(0, y)", "an equation speaks of it at one point"),
        ("k = 3", "expected an equation with a field, got definitions only"),
        ("laplacain(f) = 0", "used in no equation, did you mean laplacian?"),
        ("laplacain(f) = 0; f = 0 on y = 0", "used in no equation, did you mean laplacian?"),
        ("laplacian(f) = 0; h(x) = x**2", "h is no function that is known"),
        ("laplacian(T) = f(x); f(x) = g(x); g(x) = f(x)", "is defined by itself"),
        ("laplacian(T) = sum(x[i])", "x[...] stands for axes called x0, x1, ...; there are x, y"),
        ("laplacian(T) = lambda*T", "lambda is a word of Python"),
        ("a*b = c", "cannot tell which of a, b, c is the field"),
        ("laplacian(T) = where(x, 1, 2)", "where: expected a comparison such as x < 0.5 first"),
        ("laplacian(T) = (x < 1)*3", "use where(x < 0.5, a, b)"),
        ("x = 3", "expected a field such as T"),
    ],
)
def test_what_is_wrong_is_said_with_its_column(text, complaint):
    with pytest.raises(EquationError) as error:
        PDE.parse(text, PLANE)
    assert complaint in str(error.value)
    assert "\n" not in str(error.value)


def test_names_that_nobody_gave_are_refused_where_the_unknowns_are_named():
    with pytest.raises(EquationError, match=r"alhpa is neither .* did you mean alpha"):
        PDE.parse("d(T, t) = alhpa*d2(T, x)", BAR, unknowns=["alpha"])
    assert PDE.parse("d(T, t) = alpha*d2(T, x)", BAR, unknowns=["alpha"]).equation.unknowns == ("alpha",)
    with pytest.raises(TypeError, match="parse: constant is unknown, did you mean constants"):
        PDE.parse("d(T, t) = 0", BAR, constant={})


def test_sympy_equations_are_accepted():
    import sympy

    x, y, k = sympy.symbols("x y k")
    T = sympy.Function("T")(x, y)
    equation = sympy.Eq(
        k * (T.diff(x, 2) + T.diff(y, 2)) / 2, -sympy.exp(-x) * T + sympy.Piecewise((1, x < 0.5), (0, True))
    )
    pde = PDE.parse(equation, PLANE, constants={"k": 3.0})

    def operator(f):
        return lambda z: 1.5 * laplacian(f)(z) + jnp.exp(-z[0]) * f(z)

    points = PLANE.sobol(16, seed=4)
    np.testing.assert_allclose(image(pde, points), image(PDE(operator), points), rtol=1e-12)
    np.testing.assert_allclose(pde.source_at(points)[:, 0], points[:, 0] < 0.5)
    assert PDE.parse(str(pde), PLANE).equation.statement == pde.equation.statement
    with pytest.raises(TypeError, match="expected a text or a SymPy equation, got int"):
        PDE.parse(3, PLANE)


def test_sympy_equations_that_make_no_sense():
    import sympy

    x, T = sympy.Symbol("x"), sympy.Function("T")
    for equation, said in [
        (sympy.Eq(T(x).diff(x), sympy.Integer(10) ** 400), "finite numbers"),
        (sympy.Eq(T(x).diff(x), sympy.Symbol("x.__class__")), "expected a name of letters and digits"),
        (sympy.Eq(T(x).diff(x), sympy.gamma(x)), "SymPy's gamma is unknown here"),
        (sympy.Eq(T(x).diff(x), sympy.zoo), "unknown here|finite"),
        (sympy.Eq(sympy.Integral(T(x), (x, 0, 1)), 1), "SymPy's Integral is unknown here"),
    ]:
        with pytest.raises(EquationError, match=said):
            PDE.parse(equation, PLANE)


def test_without_sympy_other_objects_are_refused_in_a_sentence(monkeypatch):
    monkeypatch.delitem(sys.modules, "sympy", raising=False)
    with pytest.raises(TypeError, match="expected a text or a SymPy equation, got float"):
        PDE.parse(3.0, PLANE)
