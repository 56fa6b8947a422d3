import numpy as np
import pytest

from pinnbo.problems.regret import cumulative_regret, instantaneous_regret, simple_regret

VALUES = [3.0, 5.0, 1.0, 2.0, 1.5]


def test_minimising():
    np.testing.assert_allclose(instantaneous_regret(VALUES, 1.0, "minimize"), [2.0, 4.0, 0.0, 1.0, 0.5])
    np.testing.assert_allclose(simple_regret(VALUES, 1.0, "minimize"), [2.0, 2.0, 0.0, 0.0, 0.0])
    np.testing.assert_allclose(cumulative_regret(VALUES, 1.0, "minimize"), [2.0, 6.0, 6.0, 7.0, 7.5])


def test_maximising():
    np.testing.assert_allclose(instantaneous_regret(VALUES, 6.0, "maximize"), [3.0, 1.0, 5.0, 4.0, 4.5])
    np.testing.assert_allclose(simple_regret(VALUES, 6.0, "maximize"), [3.0, 1.0, 1.0, 1.0, 1.0])
    np.testing.assert_allclose(cumulative_regret(VALUES, 6.0, "maximize"), [3.0, 4.0, 9.0, 13.0, 17.5])


@pytest.mark.parametrize("regret", [instantaneous_regret, simple_regret, cumulative_regret])
def test_the_goals_mirror_each_other(regret):
    values = np.random.default_rng(0).normal(size=20)
    np.testing.assert_array_equal(
        regret(values, values.min(), "minimize"), regret(-values, -values.min(), "maximize")
    )
    assert np.all(regret(values, values.min(), "minimize") >= 0.0)


def test_no_evaluations_no_regret():
    assert simple_regret([], 0.0).shape == (0,)
    assert cumulative_regret([], 0.0).shape == (0,)


def test_wrong_input_is_named():
    with pytest.raises(ValueError, match=r"shape \(t,\), got \(1, 2\)"):
        simple_regret([[1.0, 2.0]], 0.0)
    with pytest.raises(ValueError, match="value 1 is not finite"):
        cumulative_regret([1.0, np.nan], 0.0)
    with pytest.raises(ValueError, match="'minimize' or 'maximize', got 'up'"):
        simple_regret([1.0], 0.0, "up")
