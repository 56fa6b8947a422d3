"""Which measured values are taken, which are kept aside, and that the others are learnt from as if alone."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from pinnbo import Optimizer, Space
from pinnbo.data import Standard
from pinnbo.values import OutlierWarning, deviation, far_off, measured
from studies_help import BY_PYTHON

SPACE = Space(x=(0.0, 3.0))
POINTS = np.linspace(0.1, 2.9, 8)[:, None]
VALUES = np.cos(2.0 * POINTS[:, 0])


@pytest.mark.parametrize(
    "value", [1e155, -1e155, 10**400, -(10**400), Fraction(10**400), math.inf, -math.inf, np.inf]
)
def test_a_value_that_cannot_be_computed_with_is_refused(value):
    with pytest.raises(ValueError, match=r"tell: expected a value of at most 1e\+70 in size"):
        measured(value, "tell")


@pytest.mark.parametrize("value", ["1", True, np.True_, 1j, [1.0], np.ones(2), Decimal(1), object(), {}])
def test_what_is_no_number_is_refused(value):
    with pytest.raises(TypeError, match="tell: expected a number, NaN"):
        measured(value, "tell")


@pytest.mark.parametrize("value", [-1.0, math.nan, math.inf, 10**400, "1", None, True, 1j])
def test_what_is_no_standard_deviation_is_refused(value):
    with pytest.raises(ValueError, match="noise: expected a finite standard deviation >= 0"):
        deviation(value)


@pytest.mark.parametrize(
    ("values", "far"),
    [
        ([1.0, 1.1, 0.9, 1e9], [3]),
        ([1e9, 1.0, 1.1, 0.9], [0]),
        ([1.0, 1.0, 1.0, -1e9], [3]),
        ([1.0, 1e9], []),  # nobody knows which
        ([1.0, 1.1, 0.9, 1e6], []),  # a model can take that
        ([0.0, 0.0, 0.0, 1.0], []),
        ([0.5, 0.5 + 1e-10, 0.5, 1.0], []),  # agree by accident, or by a symmetry
        ([1e12, 1e12 + 1, 1e12 + 2, 1e12 - 1, 1e12 + 3, 1e12], []),
        ([1e12, 1e12 + 1, 1e12 + 2, 1e12 - 1, 1e12 + 3, 1e12, -1e12], [6]),
        ([*np.linspace(0, 1, 20), 1e9, -1e10], [20, 21]),
        ([*np.linspace(0, 1, 10), *np.linspace(1e9, 2e9, 10)], []),  # two scales, not an outlier
    ],
)
@pytest.mark.parametrize("unit", [1.0, 1e-20, -1e20])
def test_which_values_are_far_off(values, far, unit):
    assert np.flatnonzero(far_off(unit * np.array(values))).tolist() == far


@pytest.mark.parametrize("method", ["auto", "random"])
def test_an_outlier_is_named_and_the_rest_is_learnt_as_without_it(method):
    alone = Optimizer(SPACE, method=method, noise=0.01)
    alone.tell(POINTS, VALUES)
    disturbed = Optimizer(SPACE, method=method, noise=0.01)
    disturbed.tell(POINTS, VALUES)
    with pytest.warns(OutlierWarning, match=r"measurement 8 is 1e\+09, too far from the others"):
        disturbed.tell([1.5], 1e9)
    disturbed.tell([0.15], float(np.cos(0.3)))  # said once
    alone.tell([0.15], float(np.cos(0.3)))
    assert disturbed.diagnostics()["set_aside"] == [{"id": 8, "x": [1.5], "value": 1e9}]
    assert disturbed.diagnostics()["infeasible"] == 0
    assert disturbed.best.value == alone.best.value
    grid = np.linspace(0.0, 3.0, 7)[:, None]
    for mine, other in zip(disturbed.predict(grid), alone.predict(grid), strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-9)
    # corrected, it counts
    disturbed.replace(8, float(np.cos(3.0)))
    assert disturbed.diagnostics()["set_aside"] == []
    assert disturbed.diagnostics()["observations"] == 10


def test_large_values_with_small_differences_keep_honest_intervals():
    offset = 1e12
    small, large = Optimizer(SPACE, noise=0.01), Optimizer(SPACE, noise=0.01)
    small.tell(POINTS, VALUES)
    large.tell(POINTS, offset + VALUES)
    grid = np.linspace(0.0, 3.0, 7)[:, None]
    (mean, std), (mean_large, std_large) = small.predict(grid), large.predict(grid)
    rounding = np.spacing(offset)
    np.testing.assert_allclose(std_large, std, rtol=0.05, atol=rounding)
    assert np.all(np.abs(mean_large - offset - mean) < 0.05 * std + 2 * rounding)
    assert Standard.of(offset + VALUES).scale == pytest.approx(np.std(VALUES), rel=1e-3)


# ---------------------------------------------------------------- from the shell


@pytest.mark.parametrize("text", ["1e155", "-1e155", "1" + "0" * 400])
def test_tell_and_import_refuse_what_cannot_be_computed_with(lab, text):
    lab.ok("ask")
    assert "VALUE: expected a number" in lab.refused("tell", "0", text)
    (lab.folder / "data.csv").write_text(f"x,value\n1,{text}\n")
    assert "line 2: value: expected a value of at most 1e+70" in lab.refused(
        "import", str(lab.folder / "data.csv")
    )


def test_a_run_loses_what_cannot_be_computed_with_and_goes_on(lab):
    (lab.folder / "lab.py").write_text(
        "calls = []\ndef measure(x):\n    calls.append(1)\n"
        "    return {2: 10**400, 4: 1e155}.get(len(calls), x[0])\n"
    )
    lab.problem(BY_PYTHON)
    code, _, err = lab.pinnbo("run")
    assert code == 0
    assert "is lost: expected a finite number or NaN, the function returned inf" in err
    assert "is lost: expected a number of at most 1e+70 in size, the function returned 1e+155" in err
    assert lab.json("status")["measured"] == 6


@pytest.mark.filterwarnings("default::pinnbo.values.OutlierWarning")
def test_status_and_tell_name_the_outlier(lab):
    lab.ok("ask", "-n", "5")
    for trial in range(4):
        lab.ok("tell", str(trial), str(1.0 + trial))
    code, out, err = lab.pinnbo("tell", "4", "1e12")
    assert (code, out) == (0, "trial 4: 1000000000000.0\n")
    assert err.startswith("pinnbo: trial 4 is 1e+12, too far from the others")
    code, out, err = lab.pinnbo("status", "--json")
    assert code == 0
    assert err.startswith("pinnbo: trial 4 is 1e+12, too far from the others")
    assert '"set_aside": [{"trial": 4, "value": 1000000000000.0}]' in out
    assert '"value": 1.0' in out
