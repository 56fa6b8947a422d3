"""The damped Gauss-Newton driver: where it goes, and how it says that it ended."""

from itertools import pairwise

import numpy as np
import pytest

from pinnbo.physics.gauss_newton import LENGTHS, Step, descend, relative_fall, towards


def curve(x):
    """Residuals whose square is least at (1, 1): Rosenbrock's."""
    return np.array([10.0 * (x[1] - x[0] ** 2), 1.0 - x[0]])


def slope(x):
    return np.array([[-20.0 * x[0], 10.0], [-1.0, 0.0]])


def misfit(x):
    return float(curve(x) @ curve(x))


def linearise(x):
    """The solution of the linearised problem is remembered with the state it was made at."""
    target = x - np.linalg.lstsq(slope(x), curve(x), rcond=None)[0]
    return Step(x.copy(), towards(x, target))


def never(earlier, state, misfits):
    return False


def test_the_misfit_falls_at_every_step_to_the_least():
    found = descend(linearise, misfit, np.array([-1.2, 1.0]), never, 50)
    np.testing.assert_allclose(found.state, 1.0, atol=1e-8)
    assert np.all(np.diff(found.misfits) < 0)
    assert found.ended == "no better"  # than the exact solution


def test_it_is_settled_when_it_is_told_so():
    seen = []

    def settled(earlier, state, misfits):
        seen.append((earlier, state, list(misfits)))
        return len(seen) == 3

    found = descend(linearise, misfit, np.array([-1.2, 1.0]), settled, 50)
    assert found.ended == "settled"
    assert len(seen) == 3
    for (_, state, misfits), (earlier, _, _) in pairwise(seen):
        np.testing.assert_array_equal(state, earlier)
        assert misfits[-1] == misfit(state)
    assert seen[-1][2][:-1] == found.misfits


def test_steps_may_be_used_up():
    found = descend(linearise, misfit, np.array([-1.2, 1.0]), never, 2)
    assert found.ended == "steps used up"
    assert len(found.misfits) == 2
    assert misfit(found.state) < found.misfits[-1]


def test_there_may_be_nothing_to_solve():
    found = descend(lambda x: None, misfit, np.array([-1.2, 1.0]), never, 50)
    assert found.ended == "nothing to solve"
    assert found.last is None
    assert found.bold is None
    np.testing.assert_array_equal(found.state, [-1.2, 1.0])


def test_where_no_proposal_is_better_the_state_stays():
    found = descend(lambda x: Step("there", towards(x, x + 5.0)), misfit, np.array([1.0, 1.0]), never, 50)
    assert found.ended == "no better"
    assert found.last == "there"
    assert found.bold is None
    np.testing.assert_array_equal(found.state, [1.0, 1.0])


def test_only_a_solution_whose_boldest_proposal_was_good_counts_as_bold():
    """The first step of a steep valley has to be shortened; the last ones are whole."""
    first = descend(linearise, misfit, np.array([-1.2, 1.0]), never, 2)
    whole = descend(linearise, misfit, np.array([0.99, 0.98]), never, 1)
    target = np.array([0.99, 0.98]) - np.linalg.solve(
        slope(np.array([0.99, 0.98])), curve(np.array([0.99, 0.98]))
    )
    np.testing.assert_allclose(whole.state, target)
    np.testing.assert_array_equal(whole.bold, [0.99, 0.98])
    np.testing.assert_array_equal(whole.bold, whole.last)
    assert first.bold is None or not np.array_equal(first.bold, first.last)


def test_proposals_get_shorter():
    found = list(towards(np.zeros(2), np.array([1.0, -2.0])))
    np.testing.assert_allclose(found, np.outer(LENGTHS, [1.0, -2.0]))
    assert list(LENGTHS) == sorted(LENGTHS, reverse=True)


@pytest.mark.parametrize(
    ("misfits", "expected"), [([1.0, 0.5], False), ([1.0, 0.5, 0.499], True), ([1.0, 0.5, 1e-7], True)]
)
def test_settled_by_the_fall_of_the_misfit(misfits, expected):
    assert relative_fall(1e-6, 0.99)(np.zeros(1), np.zeros(1), misfits) == expected
