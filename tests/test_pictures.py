"""The pictures of an optimizer: each kind of whatever has been measured is a picture or a sentence."""

import numpy as np
import pytest

from pinnbo import PDE, Optimizer, Space, plots, problems
from pinnbo.methods.auto import Auto
from pinnbo.operators import biharmonic, laplacian, partial
from pinnbo.physics.misfit import Differences
from pinnbo.plots.reason import _runner_up
from pinnbo.replay import left_out, next_points, replay, without_physics

NINE = [
    *("dropwave-2", "styblinski-tang-10", "rastrigin-20", "michalewicz-30", "cosine-mixture-50"),
    *("heat-1", "heat-2", "heat-3", "beam-1"),
]


# few rows: pictures do not depend on how well the equation is enforced
FEW = Auto(collocation=60)
WITHOUT_A_GRID = ("convergence", "trust", "unknowns", "validation")


def measured(name, n, *, failing=False, pde=True, method=FEW, **options):
    problem, rng = problems.get(name), np.random.default_rng(0)
    optimizer = Optimizer(
        problem.space, problem.pde if pde else None, goal=problem.goal, method=method, **options
    )
    for k, x in enumerate(problem.space.sobol(max(n, 1), seed=3)[:n]):
        optimizer.tell(x, np.nan if failing and k % 2 else problem.observe(x, rng))
    return optimizer


def told(optimizer, n, truth, failing=False):
    points = optimizer.space.sobol(max(n, 1), seed=3)[:n]
    values = truth(*points.T)
    if failing:
        values[1::2] = np.nan
    optimizer.tell(points, values)
    return optimizer


def two_fields(n, failing=False):
    """A flow and the heat that it carries, with a diffusivity that is not known; T is measured."""
    space = Space(x=(0.0, 2.0), y=(0.0, 1.0))
    lines = [
        "d(psi, y)*d(T, x) - d(psi, x)*d(T, y) = alpha*laplacian(T)",
        *(
            "laplacian(psi) = 0",
            "psi = y on x = 0",
            "psi = 0 on y = 0",
            "psi = 1 on y = 1",
            "T = 20 on y = 0",
        ),
    ]
    pde = PDE.parse(lines, space, unknowns=["alpha"])
    unknowns = {"alpha": (0.05, 1.0)}
    optimizer = Optimizer(
        space, pde, measures="T", unknowns=unknowns, goal="maximize", method=FEW, noise=0.05
    )
    return told(optimizer, n, lambda x, y: 20 + 5 * np.exp(-1.405 * x) * np.sin(3 * y), failing)


def beam_of_two_fields(n, failing=False):
    """The bending moment is not measured."""
    space = Space(x=(0.0, 1.0))
    pde = [
        PDE.parse("d2(M, x) = -1", space, fields=["w", "M"]),
        PDE.parse("d2(w, x) = M", space, fields=["w", "M"]),
    ]
    optimizer = Optimizer(space, pde, measures="w", method=FEW, noise=1e-3)
    return told(optimizer, n, lambda x: x**2 * (1 - x) ** 2, failing)


def masked(n, failing=True):
    """Only where x + y < 1 can anything be measured."""
    space = Space(x=(0.0, 1.0), y=(0.0, 1.0))
    optimizer = Optimizer(space, PDE(laplacian), goal="maximize", method=FEW, noise=0.01)

    def truth(x, y):
        return np.where(x + y < 1.0, np.exp(x) * np.cos(y), np.nan)

    return told(optimizer, n, truth)


def in_time(n, failing=False):
    space = Space(x=(0.0, 1.0), t=(0.0, 2.0))
    pde = PDE.parse(["d(T, t) = 0.1*d2(T, x)", "T = 0 on x = 0", "T = 0 on x = 1"], space)
    optimizer = Optimizer(space, pde, goal="maximize", method=FEW, noise=0.01)
    return told(optimizer, n, lambda x, t: np.sin(np.pi * x) * np.exp(-0.1 * np.pi**2 * t), failing)


def in_the_plane_and_time(n, failing=False):
    space = Space(x=(0.0, 1.0), y=(0.0, 1.0), t=(0.0, 2.0))
    pde = PDE.parse(["d(T, t) = 0.1*laplacian(T)", "T = 0 on x = 0"], space)
    optimizer = Optimizer(space, pde, goal="maximize", method=FEW, noise=0.01)

    def truth(x, y, t):
        return np.sin(np.pi * x) * np.sin(np.pi * y) * np.exp(-0.2 * np.pi**2 * t)

    return told(optimizer, n, truth, failing)


OTHERS = [two_fields, beam_of_two_fields, masked, in_time, in_the_plane_and_time]


def drawn(optimizer, kind, tmp_path):
    """The figure, saved and without an empty panel; or None and a sentence."""
    options = {} if kind in WITHOUT_A_GRID else {"resolution": 7}
    try:
        figure = optimizer.plot(kind, **options)
    except plots.NothingToDraw as error:
        said = str(error)
        assert said.startswith("plots")
        assert "\n" not in said
        return None
    figure.savefig(tmp_path / f"{kind}.png", dpi=40)
    for axes in figure.axes:
        assert axes.has_data() or axes.get_label() == "<colorbar>", kind
    return figure


def is_to_be_had(kind, optimizer):
    """Whether there is such a picture of what was measured."""
    n = len(optimizer.data.values)
    if kind == "misfit" and n:
        try:
            optimizer.posterior("nearly true")
        except ValueError:
            return False
    asked = {
        "pairs": optimizer.space.dim > 2,
        "time": optimizer.space.dim > 1 and "t" in optimizer.space.names,
        "fields": len(optimizer.fields) > 1,
        "unknowns": bool(optimizer.unknowns),
        "validation": n >= 3,
        "residual": bool(optimizer.physics),
        "misfit": bool(optimizer.physics),
        "contribution": bool(optimizer.physics),
    }
    return n > 0 and asked.get(kind, True)


@pytest.fixture(scope="module")
def heat():
    return measured("heat-1", 9)


@pytest.mark.parametrize("kind", plots.KINDS)
@pytest.mark.parametrize("n", [0, 1, 3])
def test_every_kind_of_few_measurements_is_a_picture_or_a_sentence(kind, n, tmp_path):
    for optimizer in (measured("beam-1", n), measured("beam-1", n, pde=False)):
        assert (drawn(optimizer, kind, tmp_path) is not None) == is_to_be_had(kind, optimizer)
    drawn(measured("beam-1", n, method="random"), kind, tmp_path)


@pytest.fixture(scope="module")
def half_failed():
    optimizer = measured("heat-2", 12, failing=True)
    optimizer.ask(2)
    return optimizer


@pytest.fixture(scope="module")
def two():
    return beam_of_two_fields(6)


@pytest.fixture(scope="module")
def timed():
    return in_time(6)


@pytest.mark.parametrize("kind", plots.KINDS)
def test_every_kind_of_a_half_failed_study_with_points_under_way(half_failed, kind, tmp_path):
    assert (drawn(half_failed, kind, tmp_path) is not None) == is_to_be_had(kind, half_failed)


@pytest.mark.parametrize("kind", ["field", "fields", "reason", "residual", "misfit", "contribution"])
def test_pictures_of_two_fields(two, kind, tmp_path):
    assert (drawn(two, kind, tmp_path) is not None) == is_to_be_had(kind, two)


@pytest.mark.parametrize("kind", ["field", "time", "reason", "residual", "contribution"])
def test_pictures_in_time(timed, kind, tmp_path):
    assert drawn(timed, kind, tmp_path) is not None


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pinnbo.PhysicsWarning")
@pytest.mark.parametrize("how", ["as it is", "with failures", "without an equation"])
@pytest.mark.parametrize("name", NINE)
@pytest.mark.parametrize("n", [0, 1, 3, 100])
def test_every_kind_on_all_nine_problems(name, n, how, tmp_path):
    optimizer = measured(name, n, failing=how == "with failures", pde=how != "without an equation")
    for kind in plots.KINDS:
        assert (drawn(optimizer, kind, tmp_path) is not None) == is_to_be_had(kind, optimizer), kind


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pinnbo.PhysicsWarning")
@pytest.mark.parametrize("failing", [False, True])
@pytest.mark.parametrize("problem", OTHERS)
@pytest.mark.parametrize("n", [0, 1, 3, 100])
def test_every_kind_on_other_problems(problem, n, failing, tmp_path):
    optimizer = problem(n, failing=failing)
    for kind in plots.KINDS:
        found = drawn(optimizer, kind, tmp_path) is not None
        # models that tie a hidden field to the measured one may all have been ruled out
        hidden = len(optimizer.fields) > 1 and kind in ("fields", "residual", "misfit")
        assert found == is_to_be_had(kind, optimizer) or hidden, kind


def test_pictures_leave_the_optimizer_as_it_is(tmp_path):
    optimizer = measured("beam-1", 5)
    before, asked = optimizer.to_dict(), optimizer.copy().ask()
    for kind in plots.KINDS:
        drawn(optimizer, kind, tmp_path)
    assert optimizer.to_dict() == before
    np.testing.assert_array_equal(optimizer.copy().ask(), asked)


def test_all_points_are_in_the_map_and_in_the_legend(half_failed):
    optimizer, pending = half_failed, half_failed.pending
    figure = optimizer.plot("field", resolution=9)
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == [
        *("measured (first white, last black)", "best", "impossible", "under way", "next"),
    ]
    for axes in [axes for axes in figure.axes if axes.get_label() != "<colorbar>"]:
        lines = {line.get_label(): np.array(line.get_data()).T for line in axes.lines}
        np.testing.assert_allclose(lines["impossible"], optimizer.data.infeasible)
        np.testing.assert_allclose(lines["under way"], pending)
        np.testing.assert_allclose(lines["next"], next_points(optimizer))


def test_no_marker_has_the_colour_of_the_paper():
    for look in (plots.canvas.BEST, plots.canvas.NEXT, plots.canvas.PENDING, plots.canvas.INFEASIBLE):
        assert look["mfc"] != "white" or look["mec"] == "black"


def test_units_and_names_are_on_the_axes(heat):
    figure = heat.plot("field", value="T", units={"x": "m", "T": "K"}, resolution=9, show_next=False)
    mean = figure.axes[0]
    assert (mean.get_xlabel(), mean.get_ylabel()) == ("x [m]", "y")
    assert "mean of T [K]" in [axes.get_ylabel() for axes in figure.axes]


def test_text_that_looks_like_a_formula_is_shown_as_it_is(tmp_path):
    optimizer = Optimizer(Space(**{"$x_": (0.0, 1.0)}), method="random")
    optimizer.tell([[0.2], [0.8]], [1.0, 2.0])
    optimizer.plot(value="cost $").savefig(tmp_path / "dollar.png")


def test_without_an_equation_there_is_no_trust_to_draw(tmp_path):
    with_it, without = (drawn(measured("beam-1", 3, pde=pde), "trust", tmp_path) for pde in (True, False))
    assert (len(with_it.axes), len(without.axes)) == (2, 1)


def test_an_unknown_kind_is_refused(heat):
    with pytest.raises(ValueError, match=r"kind must be one of field, .*, got 'map'"):
        heat.plot("map")


# ---------------------------------------------------------------- replays


def test_a_replay_is_what_the_optimizer_would_have_said(heat):
    moments = replay(heat)
    assert [moment.n for moment in moments] == list(range(1, 10))
    earlier = measured("heat-1", 5)
    assert moments[4].best.mean == pytest.approx(earlier.best.mean, rel=1e-9)
    assert moments[4].hypotheses == pytest.approx(earlier.diagnostics()["hypotheses"], rel=1e-6)


def test_a_measurement_that_is_left_out_is_not_known():
    space = Space(x=(0.0, 1.0))
    optimizer = Optimizer(space, noise=1e-3)
    at = np.linspace(0, 1, 9)
    values = np.sin(6 * at)
    values[4] += 5.0
    optimizer.tell(at[:, None], values)
    found = left_out(optimizer)
    assert abs(found.mean[4] - np.sin(3.0)) < 0.3
    other = Optimizer(space, noise=1e-3)
    other.tell(np.delete(at, 4)[:, None], np.delete(values, 4))
    mean, std = other.predict([[0.5]])
    np.testing.assert_allclose([found.mean[4], found.std[4]], [mean[0], np.hypot(std[0], 1e-3)], rtol=1e-9)


def test_groups_are_left_out_where_there_are_many():
    optimizer = Optimizer(Space(x=(0.0, 1.0)), noise=0.1)
    at = np.linspace(0, 1, 50)
    optimizer.tell(at[:, None], np.sin(6 * at) + 0.1 * np.random.default_rng(0).standard_normal(50))
    found = left_out(optimizer)
    assert found.folds == 20
    assert 0.85 <= found.coverage <= 1.0


def test_without_physics_is_the_plain_optimizer(heat):
    plain = measured("heat-1", 9, pde=False, n_initial=heat.n_initial)
    points = heat.space.sobol(5, seed=0)
    np.testing.assert_allclose(without_physics(heat).predict(points).std, plain.predict(points).std)


# ---------------------------------------------------------------- the residual


@pytest.mark.parametrize(
    ("operator", "field", "image"),
    [
        (laplacian, lambda x, y: np.sin(20 * x) * np.cos(y), lambda x, y: -401 * np.sin(20 * x) * np.cos(y)),
        (biharmonic, lambda x, y: np.sin(x) * np.cos(y), lambda x, y: 4 * np.sin(x) * np.cos(y)),
        (
            lambda f: lambda x: f(x) * partial(f, 0)(x),
            lambda x, y: np.exp(x + y),
            lambda x, y: np.exp(2 * x + 2 * y),
        ),
        (
            lambda f: partial(partial(f, 0), 1),
            lambda x, y: np.sin(x * y),
            lambda x, y: np.cos(x * y) - x * y * np.sin(x * y),
        ),
    ],
)
def test_the_residual_is_that_of_the_function(operator, field, image):
    space = Space(x=(0.0, 3.0), y=(-1.0, 1.0))
    differences = Differences(PDE(operator, source=lambda x: x[0]), space, [lambda p: field(*p.T)])
    points = space.unscale((1 - differences.reach) * space.scale(space.sobol(32, seed=1)))
    exact = image(*points.T)
    found = differences.misfit(points)
    np.testing.assert_allclose(found.residual[:, 0] + points[:, 0], exact, atol=1e-6 * np.max(np.abs(exact)))


def test_a_solution_misses_its_equation_by_nothing_and_another_field_by_much():
    space = Space(x=(0.0, 1.0), y=(0.0, 1.0))
    points = space.unscale(0.7 * space.scale(space.sobol(16, seed=1)))
    solution = Differences(PDE(laplacian), space, [lambda p: np.exp(p[:, 0]) * np.cos(p[:, 1])])
    other = Differences(PDE(laplacian), space, [lambda p: p[:, 0] ** 2 + p[:, 1] ** 2])
    assert solution.misfit(points).share < 1e-8
    assert other.misfit(points).share > 1


def test_the_runner_up_is_the_highest_peak_besides_that_of_the_next_point():
    x, y = np.meshgrid(np.linspace(0, 1, 21), np.linspace(0, 1, 21))
    gain = np.exp(-50 * ((x - 0.2) ** 2 + (y - 0.3) ** 2)) + 0.5 * np.exp(
        -50 * ((x - 0.8) ** 2 + (y - 0.7) ** 2)
    )
    assert np.unravel_index(_runner_up(gain, (5, 5)), gain.shape) == (14, 16)
    # a point that is chosen for what it teaches: the runner-up has the largest gain
    assert np.unravel_index(_runner_up(gain, (15, 17)), gain.shape) == (6, 4)
    assert _runner_up(np.linspace(0, 1, 9), (2,)) is None


# ---------------------------------------------------------------- from the shell


def test_plot_writes_a_picture_and_refuses_in_one_sentence(lab):
    lab.ok("ask")
    assert "nothing has been measured yet" in lab.refused("plot")
    for _ in range(3):
        lab.ok("tell", str(0.5), "--at", "x=0.5")
    assert lab.ok("plot").strip().endswith("lab-field.png")
    assert (lab.folder / "lab-field.png").stat().st_size > 5_000
    svg = lab.folder / "picture.svg"
    lab.ok("plot", "--kind", "convergence", "--output", str(svg))
    assert svg.read_text().startswith("<?xml")
    assert "--kind: expected one of field" in lab.refused("plot", "--kind", "map")
    assert "no equation is stated" in lab.refused("plot", "--kind", "contribution")
    assert "ends in .png" in lab.refused("plot", "--output", "picture.gif")
    assert "cannot be written" in lab.refused("plot", "--output", str(lab.folder / "no" / "picture.png"))
