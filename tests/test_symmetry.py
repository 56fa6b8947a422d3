"""Symmetries: exact in samples and means, equal to brute-force algebra, tested by the measurements, in one word."""

import warnings

import numpy as np
import pytest

from pinnbo import PDE, Axis, Optimizer, PhysicsWarning, Space
from pinnbo.data import Data
from pinnbo.equations.errors import EquationError
from pinnbo.gp.conditioning import given, plain
from pinnbo.gp.kernels import RBF, Additive, Matern
from pinnbo.gp.posterior import condition
from pinnbo.methods.auto import Auto
from pinnbo.operators import laplacian, partial
from pinnbo.physics.functionals import Functionals, concatenate
from pinnbo.physics.images import Images
from pinnbo.physics.jets import JetPDE
from pinnbo.symmetry import even, odd, periodic, radial

FEW = Auto(collocation=150)
BOX = Space(x=(-1.0, 1.0), y=(-1.0, 1.0))
EVEN_ODD = [even("x"), odd("y", about=0.5)]


def mirrored(points: np.ndarray, axis: int, about: float) -> np.ndarray:
    found = points.copy()
    found[:, axis] = 2 * about - found[:, axis]
    return found


def test_functionals_of_the_symmetric_part_are_those_of_the_function_at_the_reflected_places():
    rng = np.random.default_rng(0)
    images = Images.of(BOX, EVEN_ODD)
    powers = [(i, j) for i in range(5) for j in range(5)]
    c = rng.normal(size=len(powers))

    def derivative(points, index):
        """Of sum c x^i y^j, exactly."""
        polynomial = [
            np.polynomial.polynomial.polyval2d(points[:, 0], points[:, 1], table)
            for table in [_differentiated(dict(zip(powers, c, strict=True)), index)]
        ]
        return polynomial[0]

    for index in [(0, 0), (1, 0), (0, 1), (2, 1), (1, 3)]:
        points = rng.uniform(-1, 1, (6, 2))
        applied = images.applied(Functionals.derivative(points, np.array(index)))
        at = derivative(applied.points, index)[:, None] * applied.coefficients
        found = applied.gathered(at[:, 0])
        # P f = (f(x, y) + f(-x, y) - f(x, 1 - y) - f(-x, 1 - y)) / 4, differentiated by the chain rule
        expected = 0.0
        for flip_x in (1, -1):
            for flip_y in (1, -1):
                places = np.stack(
                    [flip_x * points[:, 0], points[:, 1] if flip_y > 0 else 1 - points[:, 1]], 1
                )
                expected += flip_y * flip_x ** index[0] * flip_y ** index[1] * derivative(places, index) / 4
        assert np.allclose(found, expected, atol=1e-12)


def _differentiated(table, index):
    found = np.zeros((5, 5))
    for (i, j), value in table.items():
        if i >= index[0] and j >= index[1]:
            factor = np.prod(np.arange(i, i - index[0], -1.0)) * np.prod(np.arange(j, j - index[1], -1.0))
            found[i - index[0], j - index[1]] += value * factor
    return found


@pytest.mark.parametrize("kind", [RBF, Matern, Additive])
def test_a_symmetric_kernel_is_the_kernel_given_its_symmetries_by_brute_force(kind):
    rng = np.random.default_rng(1)
    scale = np.array([0.6, 0.9])
    symmetric = kind(scale, images=Images.of(BOX, EVEN_ODD))
    points = rng.uniform(-1, 1, (7, 2))
    # all places of these points, and f(g x) = sigma f(x) between them as rows without noise
    orbit = np.concatenate(
        [
            points,
            mirrored(points, 0, 0.0),
            mirrored(points, 1, 0.5),
            mirrored(mirrored(points, 0, 0.0), 1, 0.5),
        ]
    )
    n, prior = len(points), kind(scale).values(orbit, orbit)
    rows = np.zeros((3 * n, 4 * n))
    for block, sign in ((1, 1.0), (2, -1.0), (3, -1.0)):
        for i in range(n):
            rows[(block - 1) * n + i, [i, block * n + i]] = 1.0, -sign
    gram = rows @ prior @ rows.T
    posterior = prior - prior @ rows.T @ np.linalg.pinv(gram, rcond=1e-12, hermitian=True) @ rows @ prior
    assert np.allclose(symmetric.values(points, points), posterior[:n, :n], atol=1e-5)
    assert np.allclose(symmetric.variances(points)[0], np.diag(posterior)[:n], atol=1e-5)


@pytest.mark.parametrize("kind", [RBF, Matern, Additive])
@pytest.mark.parametrize("axes", [(), (0,)])
def test_slopes_agree_with_finite_differences(kind, axes):
    if axes and kind is Additive:
        return
    rng = np.random.default_rng(2)
    space = Space(x=Axis(-1.0, 1.0, periodic=bool(axes)), y=(-1.0, 1.0))
    kernel = kind(np.array([0.6, 0.9]), periodic=axes, images=Images.of(space, EVEN_ODD))
    s, t, h = rng.uniform(-1, 1, (5, 2)), rng.uniform(-1, 1, (4, 2)), 1e-6
    along, own = kernel.slopes(s, t), kernel.variances(s, slopes=True)[1]
    for axis in range(2):
        step = h * np.eye(2)[axis]
        assert np.allclose(
            along[:, axis],
            (kernel.values(s + step, t) - kernel.values(s - step, t)) / (2 * h),
            atol=1e-7,
        )
        difference = (kernel.variances(s + step)[0] - kernel.variances(s - step)[0]) / (2 * h)
        assert np.allclose(own[:, axis], difference, atol=1e-7)
    gram, slope = kernel.gram(s)
    assert np.allclose(gram, kernel.values(s, s), atol=1e-12)
    weights = rng.normal(size=gram.shape)
    weights += weights.T
    for axis in range(2):
        up, down = (
            kind(
                kernel.scale * np.exp(sign * h * np.eye(2)[axis]), periodic=axes, images=kernel.images
            ).values(s, s)
            for sign in (1, -1)
        )
        assert np.isclose(slope(weights)[axis], np.sum(weights * (up - down)) / (2 * h), atol=1e-6)


def test_rows_of_an_equation_reach_the_other_side():
    """The kernel given Laplace's equation and a symmetry is what brute force makes of both as rows."""
    rng = np.random.default_rng(3)
    images = Images.of(BOX, [even("x")])
    jet = JetPDE(BOX, PDE(laplacian))
    z = rng.uniform(-1, 1, (12, 2))
    rows = jet.rows(z, np.zeros((12, 1)))
    kernel = RBF(np.array([0.7, 0.7]), images=images)
    process = given(kernel, rows, 1.0, 1e-3).process()
    points = rng.uniform(-1, 1, (5, 2))
    found = process.covariance_matrix(points)
    alone = RBF(np.array([0.7, 0.7]))
    places = np.concatenate([points, mirrored(points, 0, 0.0)])
    # P f at the points and P N at the rows, as functionals of f without symmetries
    size = np.sqrt(np.diag(kernel.covariance(rows, rows)))
    both = concatenate([images.applied(Functionals.at(points)), images.applied(rows)])
    prior = alone.covariance(both, both)
    k, c, g = prior[:5, :5], prior[:5, 5:], prior[5:, 5:] + np.diag((1e-3 * size) ** 2)
    assert np.allclose(found, k - c @ np.linalg.solve(g, c.T), atol=1e-7)
    across = process.covariance(process.locate(places), process.locate(places))[0]
    assert np.allclose(across[:5], across[5:], atol=1e-12)


def test_means_and_draws_obey_to_rounding():
    rng = np.random.default_rng(4)
    images = Images.of(BOX, EVEN_ODD)
    process = plain(RBF(np.array([0.7, 0.7]), images=images))
    points = rng.uniform(-1, 1, (8, 2))
    data = Data(points, points[:, 1] * 3 + 1.0, np.full(8, 0.1), np.zeros((0, 2)))
    posterior = condition(process, data, BOX)
    there = BOX.sobol(20, 1)
    mean = posterior.moments(there).mean
    assert np.allclose(posterior.moments(mirrored(there, 0, 0.0)).mean, mean, atol=1e-12)
    assert np.allclose(posterior.moments(mirrored(there, 1, 0.5)).mean, -mean, atol=1e-12)
    features = process.on_features(BOX.sobol(64, 2))
    weights = condition(features, data, BOX).draw(rng)

    def drawn(at):
        return features.locate(at).features[:, : len(weights)] @ weights

    assert np.allclose(drawn(mirrored(there, 1, 0.5)), -drawn(there), atol=1e-9)
    assert np.ptp(drawn(there)) > 0.1


def field(p: np.ndarray) -> np.ndarray:
    """Harmonic, even in x and odd in y."""
    return np.cosh(1.5 * p[:, 0]) * np.sin(1.5 * p[:, 1]) + 0.3 * p[:, 1]


@pytest.mark.parametrize("physics", [[], [PDE(laplacian)]], ids=["alone", "with an equation"])
def test_one_side_tells_the_other(physics):
    rng = np.random.default_rng(5)
    x = BOX.sobol(40, 3)
    x = x[(x[:, 0] > 0) & (x[:, 1] > 0)][:9]
    y = field(x) + 0.02 * rng.standard_normal(len(x))
    unseen = BOX.sobol(200, 4)
    errors = {}
    for name, stated in (("without", physics), ("with", [*physics, even("x"), odd("y")])):
        opt = Optimizer(BOX, stated, noise=0.02, method=FEW)
        opt.tell(x, y)
        mean, std = opt.predict(unseen)
        errors[name] = np.sqrt(np.mean((mean - field(unseen)) ** 2))
        if name == "with":
            found = opt.diagnostics()
            assert found["symmetry"] > 0.8
            assert np.mean(np.abs(mean - field(unseen)) < 1.96 * std + 1e-9) > 0.85
    assert errors["with"] < 0.3 * errors["without"]


def test_a_symmetry_that_is_untrue_is_noticed_and_the_equation_kept():
    rng = np.random.default_rng(6)

    def shifted(p):
        return np.exp(1.2 * p[:, 0]) * np.cos(1.2 * p[:, 1])

    x = BOX.sobol(16, 5)
    opt = Optimizer(BOX, [PDE(laplacian), even("x")], noise=0.02, method=FEW)
    opt.tell(x, shifted(x) + 0.02 * rng.standard_normal(16))
    with pytest.warns(PhysicsWarning, match="stated symmetry"):
        found = opt.diagnostics()
    assert found["symmetry"] < 0.05
    assert found["trust"] > 0.5
    assert found["hypotheses"]["not symmetric"] > 0.5
    assert "not symmetric" in found["belief"]


def test_a_symmetry_that_is_nearly_true_is_called_so():
    rng = np.random.default_rng(7)

    def bent(p):
        return np.cos(2 * p[:, 0]) * np.exp(p[:, 1]) + 0.08 * np.sin(2.5 * p[:, 0])

    x = BOX.sobol(40, 6)
    opt = Optimizer(BOX, even("x"), noise=0.005, method=FEW)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        opt.tell(x, bent(x) + 0.005 * rng.standard_normal(40))
        shares = opt.diagnostics()["hypotheses"]
    assert shares["nearly true"] > 0.8


def test_nothing_changes_by_units_of_the_axes_or_where_the_centre_is():
    wide, rng = Space(x=(0.0, 10.0), y=(0.0, 4.0)), np.random.default_rng(8)
    x = BOX.sobol(8, 7)
    y = field(x) + 0.01 * rng.standard_normal(8)
    other = wide.unscale(BOX.scale(x))
    one, two = (
        Optimizer(space, [even("x", about=c), odd("y", about=d)], noise=0.01, method=FEW)
        for space, c, d in ((BOX, 0.0, 0.0), (wide, 5.0, 2.0))
    )
    one.tell(x, y)
    two.tell(other, y)
    there = BOX.sobol(10, 8)
    assert np.allclose(one.predict(there)[0], two.predict(wide.unscale(BOX.scale(there)))[0], atol=1e-9)


@pytest.mark.filterwarnings("ignore::pinnbo.PhysicsWarning")  # the measurements are none of the equations'
@pytest.mark.parametrize(
    "pde",
    [
        PDE(lambda f: lambda x: partial(f, 1, 2)(x) - 4.0 * partial(f, 0, 2)(x)),  # exact waves
        PDE(lambda f: lambda x: laplacian(f)(x) - f(x) ** 3),  # by Gauss-Newton
        PDE(lambda f: lambda x: partial(f, 0)(x) * x[1] - partial(f, 1)(x) * x[0]),  # along curves
    ],
    ids=["waves", "nonlinear", "curves"],
)
def test_every_family_obeys(pde):
    rng = np.random.default_rng(9)
    x = BOX.sobol(7, 9)
    opt = Optimizer(BOX, [pde, even("x")], noise=0.01, method=FEW)
    opt.tell(x, np.cos(2 * x[:, 1]) * np.cos(x[:, 0]) + 0.01 * rng.standard_normal(7))
    there = BOX.sobol(30, 10)
    exact = opt.posterior("exact")
    names = {model["model"].split(",")[0] for model in opt.diagnostics()["settings"]}
    assert names
    mean, std = exact.predict(there)
    again = exact.predict(mirrored(there, 0, 0.0))
    assert np.allclose(mean, again[0], atol=1e-8)
    assert np.allclose(std, again[1], atol=1e-6)
    assert np.all(np.isfinite(opt.ask()))


def test_of_several_fields_each_has_its_own():
    """An even temperature and an odd stream function."""
    images = Images.of(
        BOX, [pde.among(("T", "psi"), ()) for pde in (even("x", field="T"), odd("x", field="psi"))]
    )
    kernel = RBF(np.array([0.5, 0.5]), amplitudes=(1.0, 2.0), images=images)
    at, there = np.array([[0.4, 0.1]]), np.array([[-0.4, 0.1]])
    for number, sign in ((0, 1.0), (1, -1.0)):
        both = concatenate([Functionals.at(at, number), Functionals.at(there, number)])
        covariance = kernel.covariance(both, both)
        assert np.allclose(covariance[0], sign * covariance[1], atol=1e-12)


def test_a_state_comes_back_and_another_symmetry_is_refused():
    opt = Optimizer(BOX, [PDE(laplacian), even("x")], noise=0.01, seed=3, method=FEW)
    x = BOX.sobol(4, 11)
    opt.tell(x, field(x))
    stored = opt.to_dict()
    again = Optimizer.from_dict(stored, [PDE(laplacian), even("x")])
    assert np.array_equal(again.ask(), opt.ask())
    with pytest.raises(ValueError, match="not the one"):
        Optimizer.from_dict(stored, [PDE(laplacian), even("x", about=0.1)])


def test_in_text():
    pde, first, second = PDE.parse("laplacian(T) = 0; even in x\nodd in y about 0.5", BOX)
    assert (first.name, second.name) == ("even in x", "odd in y about 0.5")
    assert [(r.axis, r.about, r.sign) for r in second.reflections] == [("y", 0.5, -1.0)]
    assert pde.equation is not None
    assert PDE.parse("radial in x, y about 0.5, 0", BOX).name == "radial in x, y about 0.5, 0"
    with pytest.raises(ValueError, match="expected a line such as"):
        PDE.parse("even in x about the middle", BOX)
    with pytest.raises(ValueError, match="periodic = true"):
        PDE.parse("laplacian(T) = 0; periodic in x", BOX)
    with pytest.raises(EquationError):
        PDE.parse("laplacian(T) = ; even in x", BOX)


@pytest.mark.parametrize(
    ("stated", "sentence"),
    [
        ([PDE(laplacian, source=lambda x: x[0] + 2.0), even("x")], "does not have the symmetry"),
        ([PDE(laplacian, source=1.0), odd("y")], "does not have the symmetry"),
        ([PDE(lambda f: lambda x: partial(f, 0)(x) + partial(f, 1, 2)(x)), even("x")], "does not have the"),
        ([even("x", about=0.2), odd("x", about=0.2)], "even and odd in x is zero"),
        ([even("x", about=0.2), even("x")], "periodic"),
        ([even("x", about=7.0)], "about must lie on the axis from -1 to 1, got 7"),
        ([even("z")], "'z' is no axis"),
    ],
)
def test_what_cannot_be_true_is_refused_in_one_sentence(stated, sentence):
    with pytest.raises(ValueError, match=sentence):
        Optimizer(BOX, stated)


@pytest.mark.parametrize(
    "stated",
    [
        [PDE(laplacian, source=lambda x: x[0] ** 2), even("x")],
        [PDE(laplacian, source=lambda x: x[1]), odd("y")],
        [PDE(lambda f: lambda x: x[0] * partial(f, 0)(x) - 3.0 * f(x)), odd("x")],
        [PDE(lambda f: lambda x: laplacian(f)(x) + f(x) ** 3), odd("x")],
        [PDE(lambda f: lambda x: partial(f, 1)(x) - partial(f, 0, 2)(x) * f(x)), even("x")],
    ],
)
def test_equations_that_have_the_symmetry_pass(stated):
    Optimizer(BOX, stated)


def test_what_cannot_be_stated():
    with pytest.raises(ValueError, match="names of different axes"):
        even("x", "x")
    with pytest.raises(ValueError, match="one for each of 2 axes"):
        odd("x", "y", about=(0.0, 1.0, 2.0))
    with pytest.raises(ValueError, match="two axes or more"):
        radial("x")
    with pytest.raises(ValueError, match="which is log"):
        Optimizer(Space(x=Axis(0.1, 1.0, log=True)), even("x", about=0.5))


def test_radial_and_periodic():
    rng = np.random.default_rng(12)

    def ring(p):
        return np.exp(-4 * (np.hypot(p[:, 0], p[:, 1]) - 0.6) ** 2)

    x = BOX.sobol(10, 13)
    opt = Optimizer(BOX, radial("x", "y"), noise=0.01, method=FEW)
    opt.tell(x, ring(x) + 0.01 * rng.standard_normal(10))
    angle = np.linspace(0, 2 * np.pi, 12, endpoint=False)
    around = 0.5 * np.stack([np.cos(angle), np.sin(angle)], 1)
    mean = opt.posterior("exact").predict(around)[0]
    assert np.ptp(mean) < 1e-3
    assert opt.diagnostics()["trust"] > 0.9
    assert Space(angle=periodic(0.0, 360.0)).axes[0] == Axis(0.0, 360.0, periodic=True)


def test_in_a_problem_file(tmp_path, capsys):
    from pinnbo.cli import main

    path = tmp_path / "plate.toml"
    path.write_text(
        'goal = "maximize"\nbudget = 10\nequation = "laplacian(T) = 0"\nsymmetries = ["even in x about 1"]\n'
        "noise = 0.01\n[space]\nx = [0.0, 2.0]\ny = [0.0, 1.0]\n"
    )
    assert main(["check", str(path), "--quick"]) == 0
    assert "even in x about 1" in capsys.readouterr().out
    assert main(["ask", str(path)]) == 0
    path.write_text(path.read_text().replace("about 1", "around 1"))
    assert main(["ask", str(path)]) != 0
    assert "expected a line such as 'even in x about 0.5'" in capsys.readouterr().err


def test_pictures_and_report():
    from pinnbo.report import _equations

    opt = Optimizer(BOX, even("x"), noise=0.01)
    x = BOX.sobol(3, 14)
    opt.tell(x, field(x))
    opt.plot("field")
    assert "even in x" in "".join(_equations(opt))
    with pytest.raises(ValueError, match="only symmetries"):
        opt.plot("residual")
