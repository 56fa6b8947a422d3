"""benchmarks/trust.py without an optimiser: the experiments are what they are said to be, and the page counts right."""

import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "benchmarks"))

import trust
from physics.experiments import CLASSES, FAMILIES, NEARLY, WRONG, experiment
from physics.residual import inner_points, misfit

from pinnbo import PhysicsWarning
from pinnbo.bench.records import Record

EVEN = (1.0, 1.0, 1.0)


def test_no_family_is_of_the_held_out_problems():
    from physics import HELD_OUT

    assert not set(FAMILIES) & set(HELD_OUT)


@pytest.mark.parametrize(
    ("seed", "true_class", "error"),
    [
        (2, "exact", "none"),
        (1, "nearly true", "unknown source"),
        (16, "nearly true", "coefficient"),
        (3, "wrong", "another field"),
        *(
            pytest.param(*more, marks=pytest.mark.slow)
            for more in (
                (7, "exact", "none"),
                (25, "nearly true", "coefficient"),
                (6, "wrong", "sign"),
                (9, "wrong", "unknown source"),
                (0, "wrong", "units"),
            )
        ),
    ],
)
def test_the_misfit_of_an_experiment_is_that_of_its_class(seed, true_class, error):
    made = experiment(seed, EVEN)
    assert (made.true_class, made.error) == (true_class, error)
    stated = FAMILIES[made.family].build(0)
    points = inner_points(made.space, 256, stated.reach)
    points = points[stated.smooth(points)]
    found = misfit(made.pde, made.space, made.evaluate, points, stated.reach)
    assert found == pytest.approx(made.misfit, rel=0.1, abs=2e-3)
    if made.true_class == "exact":
        assert found < 2e-3
    elif made.true_class == "nearly true":
        assert NEARLY[0] <= made.misfit <= NEARLY[1]
    else:
        assert made.misfit > WRONG


def test_an_experiment_depends_on_its_seed_alone():
    one, other = experiment(2, EVEN), experiment(2, EVEN)
    points = one.space.sobol(32, 0)
    assert (one.family, one.true_class, one.error) == (other.family, other.true_class, other.error)
    np.testing.assert_array_equal(one.evaluate(points), other.evaluate(points))


class _Judge:
    """Stands for the optimiser: counts what it is told, warns once at n = 12."""

    def __init__(self, space, pde, *, goal, seed, noise):
        self.values = []

    def tell(self, points, values):
        assert len(points) == len(values)
        self.values.extend(values)

    def diagnostics(self):
        if len(self.values) == 12:
            warnings.warn("wrong sign?", PhysicsWarning, stacklevel=1)
        return {
            "observations": len(self.values),
            "hypotheses": {"exact": 0.2, "nearly true": 0.1, "none": 0.7},
            "settings": [],
        }


def test_an_experiment_is_recorded(monkeypatch):
    monkeypatch.setattr(trust, "Optimizer", _Judge)
    result = trust.compute({"seed": 2, "odds": list(EVEN)})
    assert [result["after"][str(n)]["observations"] for n in trust.SIZES] == [10, 20, 30]
    assert "settings" not in result["after"]["10"]
    assert result["warnings"] == [{"n": 12, "sentence": "wrong sign?"}]
    assert trust.probabilities(result["after"]["20"]) == {"exact": 0.2, "nearly true": 0.1, "wrong": 0.7}
    assert [trust.warned(result, n) for n in trust.SIZES] == [False, True, True]


def test_the_page_counts_right():
    def record(seed, true_class, chances, alarms):
        after = {str(n): {"hypotheses": dict(zip(CLASSES, chances, strict=True))} for n in trust.SIZES}
        result = {"class": true_class, "error": "none", "family": "wave", "misfit": 0.0, "after": after}
        return Record({"seed": seed}, result | {"warnings": alarms}, None, 1.0, "abc", "")

    late = [{"n": 25, "sentence": "wrong"}]
    records = [
        record(7, "exact", (0.7, 0.3, 0.0), []),
        record(8, "exact", (0.3, 0.7, 0.0), []),
        record(9, "wrong", (0.0, 0.05, 0.95), late),
    ]
    lines = trust.page(records)
    assert "Command: `python benchmarks/trust.py`; 3 experiments, seeds 7 to 9;" in lines
    assert "| exact | 30 | 2 | 50% | 0% | 0.0% |" in lines
    assert "| wrong | 20 | 1 | 100% | 100% | 0.0% |" in lines
    assert "| wrong | 30 | 1 | 100% | 100% | 100.0% |" in lines
    # two were given 0.7, one of them came true
    assert "| 0.6 and 0.8 | 2 | 0.70 | 0.50 |" in lines
