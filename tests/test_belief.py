"""What is believed between stages: models that were chosen before a surprise accuse nobody."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from pinnbo import Space
from pinnbo.data import Data
from pinnbo.ensemble.belief import Comparison
from pinnbo.ensemble.hypotheses import EXACT, NEARLY_TRUE, WRONG, Hypothesis, Tried, _one
from pinnbo.ensemble.plain_family import Plain
from pinnbo.gp.instrument import TYPICAL
from pinnbo.gp.kernels import RBF

LINE = Space(x=(0.0, 1.0))


def measured(n):
    points = LINE.sobol(n, 1)
    return Data(points, np.sin(3 * points[:, 0]), np.full(n, 0.1), np.zeros((0, 1)))


@dataclass(frozen=True, eq=False)
class Scripted(Tried):
    """But of *wrong* the likelihood falls by e^20 at every measurement that its models were chosen without."""

    chosen_with: int = 0

    def updated(self, data, lasting):
        missed = len(data.values) - self.chosen_with if self.name != WRONG else 0
        return replace(self, log_scale=-20.0 * missed)


class Asked(Hypothesis):
    chosen_with: list = []  # noqa: RUF012

    def tried(self, data, probes):
        self.chosen_with.append(len(data.values))
        family = Plain(LINE, RBF, None)
        model = _one(family, family.grid[0], 0.0, TYPICAL, data)
        return Scripted(self.name, [model], 0.0, len(data.values))


@pytest.fixture
def comparison():
    Asked.chosen_with.clear()
    return Comparison(
        [Asked(name, 0.5, {}, 0) for name in (EXACT, NEARLY_TRUE, WRONG)], LINE.scale(LINE.sobol(4, 2))
    )


def test_models_are_chosen_anew_before_an_equation_is_accused(comparison):
    assert comparison.given(measured(12)).probabilities[WRONG] == pytest.approx(1 / 3)
    assert comparison.given(measured(13)).probabilities[WRONG] == pytest.approx(1 / 3)
    assert set(Asked.chosen_with) == {12, 13}


def test_what_is_believed_does_not_depend_on_how_it_was_told(comparison):
    for n in (12, 13):
        step_by_step = comparison.given(measured(n)).probabilities
    Asked.chosen_with.clear()
    again = Comparison(comparison.hypotheses, LINE.scale(LINE.sobol(4, 2)))
    assert again.given(measured(13)).probabilities == step_by_step
