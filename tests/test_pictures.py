"""The pictures of an optimizer: each kind of whatever has been measured is a picture or a sentence."""

import numpy as np
import pytest
from PIL import Image

from pictures_help import FEW, OTHERS, beam_of_two_fields, in_time, is_to_be_had, measured, told
from pinnbo import PDE, Optimizer, Space, plots
from pinnbo.ensemble.hypotheses import Hypothesis
from pinnbo.operators import biharmonic, laplacian, partial
from pinnbo.physics.misfit import Differences
from pinnbo.plots.known import typeset, wall_lines
from pinnbo.plots.reason import _runner_up
from pinnbo.plots.section import Section
from pinnbo.replay import left_out, next_points, replay, without_physics
from pinnbo.stated import as_problem

NINE = [
    *("dropwave-2", "styblinski-tang-10", "rastrigin-20", "michalewicz-30", "cosine-mixture-50"),
    *("heat-1", "heat-2", "heat-3", "beam-1"),
]


WITHOUT_A_GRID = ("convergence", "trust", "unknowns", "validation")


def drawn(optimizer, kind, tmp_path, **known):
    """The figure, saved and without an empty panel; or None and a sentence."""
    options = known if kind in WITHOUT_A_GRID else {"resolution": 7}
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
    optimizer = measured("heat-2", 10, failing=True)
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


def all_drawn(optimizer, tmp_path):
    """The kinds of which there is a picture; what several of them need is computed once."""
    n = len(optimizer.data.values)
    moments = {"moments": replay(optimizer)} if n else {}
    predicted = {"predicted": left_out(optimizer)} if n >= 3 else {}
    known = {"convergence": moments, "trust": moments, "validation": predicted}
    return {
        kind for kind in plots.KINDS if drawn(optimizer, kind, tmp_path, **known.get(kind, {})) is not None
    }


def expected(optimizer):
    return {kind for kind in plots.KINDS if is_to_be_had(kind, optimizer)}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pinnbo.PhysicsWarning")
@pytest.mark.parametrize("how", ["as it is", "with failures", "without an equation"])
@pytest.mark.parametrize("name", NINE)
@pytest.mark.parametrize("n", [0, 1, 3, 100])
def test_every_kind_on_all_nine_problems(name, n, how, tmp_path):
    optimizer = measured(name, n, failing=how == "with failures", pde=how != "without an equation")
    assert all_drawn(optimizer, tmp_path) == expected(optimizer)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pinnbo.PhysicsWarning")
@pytest.mark.parametrize("failing", [False, True])
@pytest.mark.parametrize("problem", OTHERS)
@pytest.mark.parametrize("n", [0, 1, 3, 100])
def test_every_kind_on_other_problems(problem, n, failing, tmp_path):
    optimizer = problem(n, failing=failing)
    differ = all_drawn(optimizer, tmp_path) ^ expected(optimizer)
    # models that tie a hidden field to the measured one may all have been ruled out
    assert differ <= ({"fields", "residual", "misfit"} if len(optimizer.fields) > 1 else set())


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


# ---------------------------------------------------------------- what is known


def test_walls_are_lines_where_the_plane_meets_them():
    space = Space(x=(0.0, 1.0), y=(0.0, 1.0), t=(0.0, 2.0))
    pde = PDE.parse(["d(T, t) = laplacian(T)", "T = 0 on x = 0", "T = 1 on t = 0"], space)
    optimizer = Optimizer(space, pde)
    plane, later, line = (
        Section(space, axes, np.array([0.5, 0.5, t]), 5)
        for axes, t in (((0, 2), 1.0), ((0, 1), 1.0), ((0,), 1.0))
    )
    x, t = wall_lines(optimizer, plane)
    assert np.all(x[:, 0] == 0.0)
    assert np.all(t[:, 1] == 0.0)
    assert np.ptp(x[:, 1]) > 1.5
    # the initial state is not on a plane of a later time, the wall is
    (x,) = wall_lines(optimizer, later)
    assert np.all(x[:, 0] == 0.0)
    (x,) = wall_lines(optimizer, line)
    np.testing.assert_array_equal(x, [[0.0]])


def test_what_lies_outside_of_the_domain_is_hatched():
    def drawn_of(space, points):
        optimizer = Optimizer(space, method="random")
        optimizer.tell(points, [1.0, 2.0])
        return optimizer.plot(show_next=False, resolution=9)

    points = [[0.2, 0.2], [0.4, 0.1]]
    whole = drawn_of(Space(x=(0.0, 1.0), y=(0.0, 1.0)), points)
    cut = drawn_of(Space(x=(0.0, 1.0), y=(0.0, 1.0), inside=lambda p: p[0] + p[1] < 1.2), points)
    assert not any(c.filled for c in contours(whole))
    assert any(c.filled and "///" in c.hatches for c in contours(cut))
    line = drawn_of(Space(x=(0.0, 1.0), inside=lambda p: p[0] < 0.5), [[0.2], [0.4]])
    (legend,) = line.legends
    assert "outside the domain" in [text.get_text() for text in legend.get_texts()]


def contours(figure):
    from matplotlib.contour import QuadContourSet

    return [c for axes in figure.axes for c in axes.get_children() if isinstance(c, QuadContourSet)]


def test_an_equation_in_text_is_typeset_and_names_the_value(timed):
    figure = timed.plot("field", resolution=5, show_next=False)
    assert r"\dfrac{\partial T}{\partial t}" in figure.get_suptitle()
    assert "mean of T" in [axes.get_ylabel() for axes in figure.axes]


def test_an_equation_that_cannot_be_typeset_is_shown_as_text():
    space = Space(x=(0.0, 1.0), y=(0.0, 1.0))
    pde = PDE.parse("laplacian(T) = where(x < 0.5, 1, 0)", space)
    optimizer = Optimizer(space, pde, method="random")
    assert typeset(optimizer, 8.0) == ["laplacian(T) = where(x < 0.5, 1, 0)"]
    assert len(typeset(optimizer, 2.0)) > 1


def test_a_film_has_thirty_pictures(timed, tmp_path):
    file = tmp_path / "film.gif"
    plots.film(timed, file, resolution=9)
    with Image.open(file) as film:
        assert film.n_frames == 30


def test_time_may_be_any_axis(heat):
    with pytest.raises(plots.NothingToDraw, match="no parameter is called t or time"):
        heat.plot("time")
    with pytest.raises(ValueError, match="axis must be one of x, y, got 'z'"):
        heat.plot("time", axis="z")
    figure = heat.plot("time", axis="y", resolution=9)
    assert sum(axes.get_title().startswith("y = ") for axes in figure.axes) == 6


def test_a_coefficient_that_the_data_see_is_drawn_with_its_interval(tmp_path):
    space = Space(t=(0.0, 2.0))
    pde = PDE(lambda u, *, k: lambda x: partial(u, 0)(x) + k * u(x), name="decay")
    optimizer = Optimizer(space, pde, unknowns={"k": (0.1, 10.0)}, noise=0.03, method=FEW)
    told(optimizer, 8, lambda t: 3.0 * np.exp(-1.5 * t))
    figure = optimizer.plot("unknowns", units={"k": "1/s"})
    (axes,) = figure.axes
    low, high = optimizer.diagnostics()["unknowns"]["k"]["interval"]
    assert f"95% from {low:.4g} to {high:.4g}" in axes.get_title()
    assert axes.get_xlabel() == "k [1/s]"
    curve = next(line for line in axes.lines if line.get_label() == "given the measurements")
    x, density = curve.get_data()
    # over the logarithm, in which the prior is flat
    assert np.trapezoid(density, np.log(x)) == pytest.approx(1.0, abs=0.02)
    assert low < x[np.argmax(density)] < high


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


def test_in_hindsight_the_models_of_now_are_told_other_data(monkeypatch):
    optimizer = beam_of_two_fields(7)
    points, hypotheses = optimizer.space.sobol(5, seed=2), optimizer.diagnostics()["hypotheses"]
    without = optimizer.copy(optimizer.data.first(6))
    refitted = without.predict(points)
    # nothing is chosen anew
    monkeypatch.setattr(Hypothesis, "tried", None)
    same = optimizer.in_hindsight(optimizer.data)
    np.testing.assert_allclose(same.predict(points), optimizer.predict(points), rtol=1e-9)
    assert same.diagnostics()["hypotheses"] == pytest.approx(hypotheses)
    other = optimizer.in_hindsight(optimizer.data.first(6))
    assert len(other.data.values) == 6
    assert len(optimizer.data.values) == 7
    mean, std = other.predict(points)
    assert np.all(np.abs(mean - refitted.mean) < refitted.std)
    np.testing.assert_allclose(np.log(std / refitted.std), 0.0, atol=0.7)


def test_a_nonlinear_study_is_replayed_in_hindsight(monkeypatch):
    space = Space(t=(0.0, 2.0))
    pde = PDE(lambda u: lambda x: partial(u, 0)(x) + u(x) ** 2, name="decay")
    optimizer = told(Optimizer(space, pde, noise=0.01, method=FEW), 6, lambda t: 1 / (1 + t))
    whole = optimizer.best
    monkeypatch.setattr(Hypothesis, "tried", None)
    moments, found = replay(optimizer), left_out(optimizer)
    assert [moment.n for moment in moments] == [1, 2, 3, 4, 5, 6]
    assert moments[-1].best.mean == whole.mean
    assert found.folds == 6
    assert np.all(np.abs(found.values - found.mean) < 4 * found.std)
    for kind, known in (("convergence", {"moments": moments}), ("trust", {"moments": moments})):
        assert "chosen now" in optimizer.plot(kind, **known).get_suptitle()


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


def test_the_residual_of_two_fields_with_a_coefficient():
    space = Space(x=(0.0, 1.0), y=(0.0, 1.0))
    pde = PDE(
        lambda u, v, *, k: lambda x: partial(u, 0)(x) * v(x) + k * laplacian(v)(x), source=lambda x: x[1]
    )
    (stated,), _, _ = as_problem((pde,), None, {"k": (0.1, 10.0)})
    fields = [lambda p: np.sin(p[:, 0]) * p[:, 1], lambda p: np.exp(p[:, 0] + 2 * p[:, 1])]
    differences = Differences(stated, space, fields, {"k": 0.3})
    points = space.unscale(0.8 * space.scale(space.sobol(16, seed=1)))
    x, y = points.T
    exact = np.cos(x) * y * fields[1](points) + 0.3 * 5 * fields[1](points) - y
    np.testing.assert_allclose(differences.misfit(points).residual[:, 0], exact, rtol=1e-6)


def test_the_residual_in_more_dimensions_than_an_array_has():
    space = Space.box(-np.ones(70), np.ones(70))
    found = Differences(PDE(laplacian), space, [lambda p: (p**2).sum(axis=1)])
    np.testing.assert_allclose(found.misfit(0.5 * space.sobol(3, seed=1)).residual, 140.0, rtol=1e-6)


def test_a_plane_is_a_solution_although_all_terms_vanish():
    space = Space(x=(0.0, 2.0), y=(0.0, 1.0))
    points = space.unscale(0.7 * space.scale(space.sobol(16, seed=1)))
    nearly = Differences(PDE(laplacian), space, [lambda p: p[:, 1] + 1e-3 * p[:, 0] ** 2])
    assert nearly.misfit(points).share < 0.01


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
    assert "ends in .png, .svg, .pdf, or .gif for a film" in lab.refused("plot", "--output", "picture.gif")
    assert "there is one parameter" in lab.refused("plot", "--kind", "time", "--output", "film.gif")
    assert "cannot be written" in lab.refused("plot", "--output", str(lab.folder / "no" / "picture.png"))
