"""Domains, axes and objectives in problem files, Optuna studies and pictures."""

from __future__ import annotations

import numpy as np
import optuna
import pytest

from pinnbo import Axis, Optimizer, Space
from pinnbo.optuna import PINNSampler
from pinnbo.pages.field_data import field_data
from pinnbo.plots.canvas import Names
from pinnbo.shapes import disc, polygon
from pinnbo.studies import problem_file
from pinnbo.studies.errors import StudyError

TRIANGLE = polygon([(0, 0), (2, 0), (0, 2)])
LEAST = 'goal = "minimize"\nbudget = 6\n'
SPACE = "[space]\nx = {low = 0.0, high = 2.0, step = 0.1}\ny = [0.0, 2.0]\n"
INSIDE = '[inside]\nshape = "polygon"\ncorners = [[0, 0], [2, 0], [0, 2]]\n'


def read(folder, text):
    path = folder / "lab.toml"
    path.write_text(text)
    return problem_file.read(path)


def test_a_problem_file_says_space_inside_and_domain(tmp_path):
    problem = read(tmp_path, LEAST + SPACE + INSIDE + "[domain]\nx = [0.0, 3.0]\ny = [0.0, 2.0]\n")
    assert problem.space == Space(x=Axis(0.0, 2.0, step=0.1), y=(0.0, 2.0), inside=TRIANGLE)
    assert problem.domain == Space(x=(0.0, 3.0), y=(0.0, 2.0), inside=TRIANGLE)
    assert problem.options["domain"] is problem.domain


def test_a_problem_file_names_python(tmp_path):
    (tmp_path / "lab.py").write_text(
        "def inside(x): return bool(x[0] + x[1] <= 2.0)\n"
        "def flux(f): return lambda x: f(x) - x[0]\n"
        "limits = {'low': (lambda f: f, 0.0, None)}\n"
    )
    names = 'inside = "lab.py:inside"\nobjective = "lab.py:flux"\nlimits = "lab.py:limits"\n'
    problem = read(tmp_path, LEAST + names + SPACE)
    assert problem.space.contains([0.5, 0.5])
    assert not problem.space.contains([1.5, 1.5])
    assert callable(problem.options["objective"])
    assert list(problem.options["limits"]) == ["low"]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (SPACE + '[inside]\nshape = "star"\n', "shape must be one of"),
        (SPACE + '[inside]\nshape = "disc"\ncentre = [9, 9]\nradius = 1\n', "lies outside the box"),
        ("[space]\nx = {low = 0, high = 1, stride = 2}\n", r"space\.x: expected low, high and some of"),
        ("[space]\nx = {low = 0, high = 1, step = 2}\n", "must not be wider than the axis"),
        ("[space]\ninside = [0, 1]\n", "no axis can be called inside"),
        ('inside = "nothing.py:inside"\n' + SPACE, "there is no file"),
    ],
)
def test_mistakes_in_a_problem_file(tmp_path, text, complaint):
    with pytest.raises(StudyError, match=complaint):
        _ = read(tmp_path, LEAST + text).space  # a function in Python is loaded when it is used


def test_an_optuna_study_respects_the_space():
    space = Space(x=Axis(0.0, 2.0, step=0.1), y=(0.0, 2.0), inside=TRIANGLE)
    study = optuna.create_study(sampler=PINNSampler(space, method="random", seed=0))
    study.add_trial(
        optuna.create_trial(
            params={"x": 1.9, "y": 1.9},
            distributions={name: optuna.distributions.FloatDistribution(0.0, 2.0) for name in "xy"},
            value=-9.0,
        )
    )

    def objective(trial):
        x, y = trial.suggest_float("x", 0.0, 2.0), trial.suggest_float("y", 0.0, 2.0)
        assert space.contains([x, y])
        assert x == round(x, 1)
        return (x - 1.0) ** 2 + y

    with pytest.warns(UserWarning, match="lie outside Space"):
        study.optimize(objective, n_trials=6)
    other = PINNSampler(Space(x=(0.0, 2.0), y=(0.0, 2.0)), method="random", seed=0)
    with pytest.raises(ValueError, match="was made for"):
        other.claim(study)


def test_pictures_stay_empty_outside():
    space = Space(x=(0.0, 2.0), y=(0.0, 2.0), inside=disc((1, 1), 0.8))
    optimizer = Optimizer(space, method="random", seed=0)
    points = space.sobol(5, 1)
    optimizer.tell(points, points[:, 0])
    data = field_data(optimizer, Names(space, "f", {}))
    assert data is not None
    x, y = np.meshgrid(*data["grids"])
    np.testing.assert_array_equal(data["outside"][0], np.flatnonzero(np.hypot(x - 1, y - 1) > 0.8))
    optimizer.plot("field", show_next=False, resolution=20).savefig("/dev/null", format="png")
