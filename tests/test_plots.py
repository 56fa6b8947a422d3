import subprocess
import sys

import numpy as np
import pytest

from pinnbo import Optimizer, Space, figures, maximize, minimize, plots, problems
from pinnbo.run import Evaluation


def run(name, n=8, method="random", seed=0):
    problem = problems.get(name)
    rng = np.random.default_rng(seed)
    optimise = minimize if problem.goal == "minimize" else maximize
    result = optimise(
        lambda x: problem.observe(x, rng),
        problem.space,
        problem.pde,
        n_trials=n,
        method=method,
        seed=seed,
        progress=False,
    )
    return result, problem


def told(optimizer):
    optimizer.tell(optimizer.ask(4), [0.0, 1.0, np.nan, 2.0])
    return optimizer


def panels(figure):
    """Axes that are not colour bars."""
    return [axes for axes in figure.axes if axes.get_label() != "<colorbar>"]


def colour_bars(figure):
    return [axes for axes in figure.axes if axes.get_label() == "<colorbar>"]


def texts(figure):
    return [text.get_text() for legend in figure.legends for text in legend.get_texts()]


def test_study_of_two_parameters_has_four_labelled_panels(tmp_path):
    result, problem = run("dropwave-2")
    figure = plots.study(result, problem, value="height", units={"x0": "m"}, title="A title", resolution=15)
    figure.savefig(tmp_path / "study.png")
    truth, mean, std, regret = panels(figure)
    assert [axes.get_xlabel() for axes in (truth, mean, std, regret)] == ["x0 [m]"] * 3 + ["evaluations"]
    assert {axes.get_ylabel() for axes in (truth, mean, std)} == {"x1"}
    assert regret.get_yscale() == "log"
    assert "%" in regret.get_ylabel()
    assert "8 measurements" in mean.get_title()
    assert [bar.get_ylabel() for bar in colour_bars(figure)] == ["height", "mean of height", "sd of height"]
    assert texts(figure) == ["measured (first white, last black)", "best", "true optimum"]
    assert figure.get_suptitle() == "A title"
    assert (tmp_path / "study.png").stat().st_size > 10_000


def test_comparison_has_a_row_of_maps_for_each_run_and_all_regrets_in_one_panel(tmp_path):
    first, problem = run("dropwave-2")
    second, _ = run("dropwave-2", n=6, seed=1)
    figure = plots.comparison({"one": first, "two": second}, problem, title="Both", resolution=15)
    figure.savefig(tmp_path / "comparison.png")
    truth, mean, std, regret, other_mean, other_std = panels(figure)
    assert "hidden" in truth.get_title()
    assert "one, after 8" in mean.get_title()
    assert "two, after 6" in other_mean.get_title()
    assert [axes.get_title().split(":")[0] for axes in (std, other_std)] == ["one", "two"]
    assert {text.get_text() for text in regret.get_legend().get_texts()} >= {"one", "two"}
    assert len(figure.legends) == 1


def test_comparison_wants_several_runs_on_two_parameters():
    result, problem = run("dropwave-2", n=3)
    with pytest.raises(ValueError, match=r"expected several runs on two parameters, got 1 on 2"):
        plots.comparison({"one": result}, problem)


def test_truth_and_mean_share_their_colours():
    result, problem = run("dropwave-2")
    figure = plots.study(result, problem, resolution=15)
    norms = [axes.collections[0].norm for axes in panels(figure)[:2]]
    assert norms[0] is norms[1]


def test_every_measured_point_is_drawn_in_order():
    result, problem = run("dropwave-2")
    figure = plots.study(result, problem, resolution=15)
    for axes in panels(figure)[1:3]:
        drawn = axes.collections[-1]
        np.testing.assert_allclose(drawn.get_offsets(), [e.x for e in result.history])
        np.testing.assert_array_equal(drawn.get_array(), np.arange(8))


def test_the_star_is_the_recommendation():
    result, problem = run("dropwave-2")
    star = panels(plots.study(result, problem, resolution=15))[1].lines[-1]
    np.testing.assert_allclose(np.ravel(star.get_data()), result.x)


def test_study_of_one_parameter_is_a_curve_and_the_regret(tmp_path):
    result, problem = run("beam-1")
    figure = plots.study(result, problem, value="deflection", resolution=41)
    figure.savefig(tmp_path / "study.png")
    curve, regret = panels(figure)
    assert (curve.get_xlabel(), curve.get_ylabel()) == ("x0", "deflection")
    assert texts(figure) == ["95% interval", "mean", "truth", "measured (first white, last black)", "best"]
    assert regret.get_xlabel() == "evaluations"


def test_study_of_many_parameters_shows_slices_and_says_what_is_left_out(tmp_path):
    result, problem = run("rastrigin-12")
    figure = plots.study(result, problem, resolution=11)
    figure.savefig(tmp_path / "study.png")
    *slices, regret = panels(figure)
    assert len(slices) == 8
    assert regret.get_ylabel().startswith("regret")
    assert "6 more parameters" in figure.get_suptitle()


@pytest.mark.parametrize(("dim", "n_panels"), [(1, 2), (2, 2), (3, 5), (4, 6), (12, 9)])
def test_field_without_truth(dim, n_panels, tmp_path):
    optimizer = Optimizer(Space.box(np.zeros(dim), np.ones(dim)), method="random")
    optimizer.tell(optimizer.ask(5), [0.0, 1.0, np.nan, 2.0, None])
    figure = plots.field(optimizer, resolution=9)
    figure.savefig(tmp_path / "field.png")
    assert len(panels(figure)) == n_panels


def test_field_with_truth_gets_a_panel_for_it():
    optimizer = Optimizer(Space(a=(0.0, 1.0), b=(0.0, 2.0)), method="random")
    optimizer.tell([[0.1, 0.2], [0.7, 1.9]], [0.0, 1.0])
    figure = plots.field(optimizer, lambda points: points.sum(axis=1), resolution=9)
    assert [axes.get_xlabel() for axes in panels(figure)] == ["a"] * 3
    assert panels(figure)[0].get_title() == "Truth"


def test_constant_measurements_can_be_drawn(tmp_path):
    optimizer = Optimizer(Space(a=(0.0, 1.0), b=(0.0, 2.0)), method="random")
    optimizer.tell([[0.1, 0.2], [0.7, 1.9]], [3.0, 3.0])
    plots.field(optimizer, resolution=9).savefig(tmp_path / "constant.png")


def test_extreme_values_do_not_take_all_the_colours(tmp_path):
    values = np.concatenate([np.linspace(-10, 60, 97), [300.0, 900.0, 1600.0]])
    norm = figures.readable_norm(values)
    assert float(norm(60.0)) > 0.25  # 0.04 on a linear scale
    assert figures.norm_ticks(norm) == [0.0, 30.0, 100.0, 300.0, 1000.0]
    assert float(figures.readable_norm(np.linspace(-1, 3, 50))(1.0)) == 0.5


def test_simple_regret_counts_true_values_and_skips_lost_evaluations():
    problem = problems.get("dropwave-2")
    far, near = np.array([4.0, 4.0]), np.array([0.1, 0.0])
    history = [
        Evaluation(near, None, "lost"),
        Evaluation(far, -5.0, None),  # looks better than it is
        Evaluation(near, np.nan, None),
        Evaluation(near, 3.0, None),
        Evaluation(far, 0.0, None),
    ]
    expected = (problem.truth([far, near]) - problem.optimum) / problem.range
    np.testing.assert_allclose(
        plots.simple_regret(history, problem), [np.nan, expected[0], expected[0], expected[1], expected[1]]
    )
    assert len(plots.simple_regret([], problem)) == 0


def test_regret_takes_one_run_or_labelled_runs(tmp_path):
    runs = [run("dropwave-2", seed=seed) for seed in range(3)]
    problem = runs[0][1]
    histories = [result.history for result, _ in runs]
    plots.regret(histories[0], problem).savefig(tmp_path / "one.png")
    figure = plots.regret({"sobol": histories, "one": histories[0]}, problem)
    figure.savefig(tmp_path / "several.png")
    (axes,) = figure.axes
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert labels[:2] == ["sobol (median of 3)", "one"]
    each = [100 * plots.simple_regret(history, problem) for history in histories]
    np.testing.assert_allclose(axes.lines[0].get_ydata(), np.median(each, axis=0))


def test_regret_with_a_lost_first_evaluation_can_be_drawn(tmp_path):
    problem = problems.get("dropwave-2")
    history = [Evaluation(np.ones(2), None, "lost"), Evaluation(np.ones(2), 1.0, None)]
    plots.regret(history, problem).savefig(tmp_path / "lost.png")


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda o: plots.field(o), "nothing has been measured"),
        (lambda o: plots.field(told(o), units={"z": "m"}), r"expected for \['x0', 'x1', 'f'\], got 'z'"),
        (lambda o: plots.regret([], problems.get("dropwave-2")), "empty history"),
    ],
)
def test_what_cannot_be_drawn_is_an_error(draw, message):
    with pytest.raises(ValueError, match=message):
        draw(Optimizer(Space.box([0.0, 0.0], [1.0, 1.0]), method="random"))


def test_pyplot_is_not_touched_and_a_missing_matplotlib_is_one_sentence():
    code = """
import sys
from pinnbo import Optimizer, Space, plots
assert "matplotlib" not in sys.modules
optimizer = Optimizer(Space(x=(0.0, 1.0)), method="random")
optimizer.tell([[0.2], [0.8]], [1.0, 2.0])
plots.field(optimizer, resolution=5)
assert "matplotlib.pyplot" not in sys.modules
for name in [name for name in sys.modules if name.startswith("matplotlib")]:
    del sys.modules[name]
sys.modules["matplotlib"] = None
try:
    plots.field(optimizer)
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip().endswith("not installed: pip install 'pinnbo[plots]'")


@pytest.mark.parametrize("name", ["beam-1", "dropwave-2", "rastrigin-3"])
def test_a_study_of_one_measurement_can_be_drawn(name, tmp_path):
    result, problem = run(name, n=1)
    plots.study(result, problem, resolution=9).savefig(tmp_path / "study.png")
