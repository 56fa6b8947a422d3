"""A whole run of a Python function: the result, failures, Ctrl-C."""

import inspect
import math

import numpy as np
import pytest

from pinnbo import PDE, Optimizer, Space, maximize, minimize
from pinnbo.operators import laplacian

SPACE = Space(x=(0.0, 1.0), y=(-1.0, 1.0))


def bowl(x):
    return float((x[0] - 0.5) ** 2 + x[1] ** 2)


def run(objective, n_trials=8, optimise=minimize, **options):
    return optimise(objective, SPACE, n_trials=n_trials, method="random", progress=False, **options)


def test_result():
    result = run(bowl)
    assert result.stopped is None
    assert len(result.history) == 8
    assert all(e.value == bowl(e.x) and e.error is None for e in result.history)
    best = min(result.history, key=lambda e: e.value)
    np.testing.assert_array_equal(result.x, best.x)
    assert result.value == best.value
    assert result.optimizer.diagnostics()["observations"] == 8
    assert len(result.optimizer.pending) == 0


def test_maximize_is_minimize_upside_down():
    low, high = run(bowl), run(lambda x: -bowl(x), optimise=maximize)
    np.testing.assert_array_equal(low.x, high.x)
    assert low.value == -high.value


@pytest.mark.parametrize("optimise", [minimize, maximize])
def test_with_a_pde_by_the_closed_form(optimise, make_small):
    """x^2 - y^2 is harmonic: its extremes lie on the boundary, and ten measurements find them."""
    result = optimise(
        lambda x: float(x[0] ** 2 - x[1] ** 2),
        SPACE,
        PDE(laplacian),
        n_trials=10,
        method=make_small("ntk", acquisition="mean"),
        noise=1e-3,
        progress=False,
    )
    extreme = 1.0 if optimise is maximize else -1.0
    assert result.value == pytest.approx(extreme, abs=0.05)


def test_an_objective_may_change_what_it_is_given():
    def rude(x):
        value = bowl(x)
        x[:] = 99.0
        return value

    result = run(rude)
    assert all(SPACE.contains(e.x) for e in result.history)
    assert result.value == bowl(result.x)


def failing_at(*trials, error=None):
    count = iter(range(1000))

    def objective(x):
        if next(count) in trials:
            raise error or RuntimeError("the oven is cold")
        return bowl(x)

    return objective


def test_a_failure_is_shown_recorded_and_survived(capsys):
    result = run(failing_at(2, 3, 5))
    assert len(result.history) == 8
    assert result.stopped is None
    assert [i for i, e in enumerate(result.history) if e.error] == [2, 3, 5]
    assert all(e.value is None for e in result.history if e.error)
    assert result.history[2].error == "RuntimeError: the oven is cold"
    assert result.optimizer.diagnostics()["observations"] == 5
    shown = capsys.readouterr().err
    assert shown.count("the oven is cold") == 3
    assert "trial 3 failed at [" in shown


def test_three_failures_in_a_row_stop_the_run_and_keep_what_was_learnt(capsys):
    result = run(failing_at(4, 5, 6), n_trials=50)
    assert len(result.history) == 7
    assert result.stopped == "3 evaluations failed in a row, the last with RuntimeError: the oven is cold"
    assert result.value == min(bowl(e.x) for e in result.history[:4])
    assert result.optimizer.diagnostics()["observations"] == 4
    assert result.stopped in capsys.readouterr().err


def test_a_function_without_a_return_stops_the_run(capsys):
    result = minimize(lambda x: None, Space(x=(0.0, 1.0)), n_trials=9, method="random")
    assert len(result.history) == 3
    assert "no value: the function returned None" in result.stopped


def test_the_table_of_a_result_tells_what_is_believed_from_what_was_measured():
    result = minimize(lambda x: float((x[0] - 0.3) ** 2), Space(x=(0.0, 1.0)), n_trials=4, method="random")
    best, table = result.optimizer.best, result._repr_html_()
    assert f"<th>recommended point</th><td>x = {best.x[0]:.5g}</td>" in table
    assert f"<th>believed there</th><td>{best.mean:.5g}, 95% interval" in table
    assert f"<th>measured there</th><td>{best.value:.5g}</td>" in table


def test_failures_from_the_start():
    result = run(failing_at(*range(10)))
    assert (result.x, result.value) == (None, None)
    assert len(result.history) == 3
    assert "failed in a row" in result.stopped


def test_ctrl_c_returns_what_there_is():
    result = run(failing_at(5, error=KeyboardInterrupt()), n_trials=50)
    assert result.stopped == "interrupted"
    assert len(result.history) == 5
    assert result.value == min(e.value for e in result.history)
    # the unanswered question is still open, and the optimizer can go on
    assert len(result.optimizer.pending) == 1
    result.optimizer.tell(result.optimizer.ask(), 0.5)


def test_ctrl_c_at_once():
    result = run(failing_at(0, error=KeyboardInterrupt()))
    assert (result.x, result.value, result.history, result.stopped) == (None, None, [], "interrupted")


def test_nan_is_infeasible_and_none_is_lost():
    def objective(x):
        return math.nan if x[0] < 0.3 else None if x[1] > 0.5 else bowl(x)

    result = run(objective, n_trials=20)
    assert len(result.history) == 20
    assert result.stopped is None
    assert all(e.error is None for e in result.history)
    nan = sum(e.value is not None and math.isnan(e.value) for e in result.history)
    none = sum(e.value is None for e in result.history)
    assert nan > 0
    assert none > 0
    assert result.optimizer.diagnostics()["infeasible"] == nan
    assert result.optimizer.diagnostics()["observations"] == 20 - nan - none
    assert math.isfinite(result.value)


@pytest.mark.parametrize("nonsense", ["seven", math.inf, [1.0, 2.0], True])
def test_a_value_that_is_no_number_is_a_failure(nonsense):
    results = iter([0.5, nonsense, 0.25, 0.75])
    result = run(lambda x: next(results), n_trials=4)
    assert [e.error is None for e in result.history] == [True, False, True, True]
    assert "expected a" in result.history[1].error
    assert result.value == 0.25


def test_numbers_of_all_kinds():
    results = iter([1, np.float32(0.5), np.array(0.25)])
    assert run(lambda x: next(results), n_trials=3).value == 0.25


def test_progress_goes_to_standard_error(capsys):
    minimize(bowl, SPACE, n_trials=3, method="random")
    out, err = capsys.readouterr()
    assert out == ""
    assert "3 of 3 trials" in err
    assert "lowest reading " in err


def test_the_result_tells_the_recommendation_from_the_best_reading():
    readings = iter([0.5, math.nan, 0.25, None])
    result = run(lambda x: next(readings), n_trials=4, optimise=maximize)
    x, y = result.history[0].x
    where = f"({x:.3g}, {y:.3g})"
    assert repr(result) == (
        f"<Result of maximize: best posterior mean at {where}, 0.5 measured there; "
        f"highest reading 0.5 at {where}; 4 evaluations>"
    )
    nothing = run(lambda x: 1 / 0, n_trials=9)
    assert repr(nothing).startswith("<Result of minimize: nothing measured in 3 evaluations; stopped: 3 eval")


@pytest.mark.parametrize("optimise", [minimize, maximize])
def test_the_signature_says_which_arguments_there_are(optimise):
    names = "objective space pde n_trials method seed noise n_initial measures unknowns mean robust progress resume"
    assert list(inspect.signature(optimise).parameters) == names.split()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: maximize(bowl, SPACE, trials=3),
            "maximize: trials is unknown, did you mean n_trials? expected",
        ),
        (
            lambda: minimize(bowl, SPACE, n_trials=3, sed=1),
            "minimize: sed is unknown, did you mean seed? exp",
        ),
        (
            lambda: minimize(bowl, SPACE, n_trials=3, bounds=1),
            "minimize: bounds is unknown; expected some of obj",
        ),
        (
            lambda: Optimizer(SPACE, gaol="minimize"),
            "Optimizer: gaol is unknown, did you mean goal? expected",
        ),
        (
            lambda: PDE(laplacian, nosie=0.1),
            "PDE: nosie is unknown, did you mean noise? expected some of oper",
        ),
    ],
)
def test_a_misspelt_argument_is_named_with_the_nearest_right_one(call, message):
    with pytest.raises(TypeError) as error:
        call()
    assert str(error.value).startswith(message)
    assert "_optimise" not in str(error.value)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("objective", "options", "error", "message"),
    [
        (3.0, {}, TypeError, "minimize: objective must be a function of x, got float"),
        (bowl, {"n_trials": 0}, ValueError, "n_trials must be an integer >= 1, got 0"),
        (bowl, {"n_trials": 2.5}, ValueError, "n_trials must be an integer >= 1"),
        (bowl, {"method": "nonsense"}, ValueError, "method: expected one of"),
        (bowl, {"seed": -1}, ValueError, "seed must be an integer >= 0"),
    ],
)
def test_refusals(objective, options, error, message):
    with pytest.raises(error, match=message):
        minimize(objective, SPACE, **{"n_trials": 3, "progress": False, **options})
