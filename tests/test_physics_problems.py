"""The problems of benchmarks/physics: the lists, and every truth against the equation that is stated for it."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "benchmarks"))

import physics
import physics_truths
from physics import lists
from physics.residual import inner_points, misfit

from pinnbo import PDE
from pinnbo.operators import laplacian

# several seconds each, for the solver or for the import of it
_SLOW = {"advection-diffusion-high", "fisher-kpp", "plate-patch", "plate-point", "schroedinger"}


def _cases(names):
    return [pytest.param(name, marks=pytest.mark.slow) if name in _SLOW else name for name in sorted(names)]


_NUMERICAL = [name for name, case in physics.PROBLEMS.items() if case.route != "closed form"]


def test_the_lists_follow_the_rule_and_share_nothing():
    work, held_out = lists.split()
    assert set(work) == set(lists.WORK_NAMES)
    assert set(held_out) == set(lists.HELD_OUT_NAMES)
    everything = sorted(name for names in lists.KINDS.values() for name in names)
    assert sorted([*lists.WORK_NAMES, *lists.HELD_OUT_NAMES]) == everything == sorted(physics.PROBLEMS)


@pytest.mark.parametrize("name", _cases(physics.PROBLEMS))
def test_a_truth_obeys_its_equation(name):
    case = physics.PROBLEMS[name]
    # on a line enough for some to fall upon a narrow load
    points = 256 if case.stated(0).space.dim == 1 else 64
    assert physics_truths.residual(case, 0, points) < 5e-3


@pytest.mark.slow
@pytest.mark.parametrize("name", _cases(_NUMERICAL))
def test_a_truth_does_not_depend_on_its_grid(name):
    assert physics_truths.refinement(physics.PROBLEMS[name], 0) < 1e-3


@pytest.mark.parametrize("name", _cases(physics.PROBLEMS))
def test_nothing_beats_the_best_value(name):
    problem = physics.PROBLEMS[name](0)
    values = problem.truth(problem.space.sobol(2000, 17))
    assert problem.truth(problem.x_best)[0] == pytest.approx(problem.optimum, rel=1e-9)
    beyond = problem.optimum - values if problem.goal == "maximize" else values - problem.optimum
    assert np.all(beyond >= 0)
    assert np.ptp(values) <= problem.range


def test_seeds_give_different_fields():
    for case in physics.PROBLEMS.values():
        if case.name not in _SLOW:
            first, second = (case.stated(seed) for seed in (0, 1))
            points = first.space.sobol(64, 5)
            one, other = first.evaluate(points), second.evaluate(points)
            assert np.max(np.abs(one - other)) > 1e-3 * np.ptp(one)


def test_the_misfit_tells_a_wrong_sign_and_a_share_that_is_missing():
    stated = physics.PROBLEMS["patch-heater"].stated(0)
    points = inner_points(stated.space, 128, stated.reach)
    points = points[stated.smooth(points)]

    def share(operator, factor):
        pde = PDE(operator, source=lambda x: factor * stated.pde._source(x))
        return misfit(pde, stated.space, stated.evaluate, points, stated.reach)

    assert share(laplacian, 1.0) > 1.0
    # the source is the largest term: a tenth of it is missing
    assert share(lambda f: lambda x: -laplacian(f)(x), 1.1) == pytest.approx(0.1 / 1.1, rel=0.02)


@pytest.mark.parametrize("name", sorted(physics.IMPOSSIBLE))
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_best_lies_at_the_border_of_the_possible(name, seed):
    case = physics.IMPOSSIBLE[name]
    problem, possible = case(seed), case.possible(seed)
    points = problem.space.sobol(4000, 3)
    values = problem.truth(points)
    np.testing.assert_array_equal(np.isnan(values), ~possible(points))
    assert np.nanmax(values) <= problem.optimum
    assert possible(problem.x_best[None])[0]
    rng = np.random.default_rng(0)
    # the corner of NaN begins 0.17 from the best value, the two rims pass through it
    near = 0.25 if name == "nan-corner" else 0.01
    around = np.clip(problem.x_best + near * rng.uniform(-1, 1, (500, 2)), -1.0, 1.0)
    assert not possible(around).all()
