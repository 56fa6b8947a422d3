"""The paper's grid search: its size, its judge, and that the tuple it picks is the one that predicts best."""

import numpy as np
import pytest

from pinnbo import PDE, Space
from pinnbo.methods.grid_search import DEPTHS, LEARNING_RATES, WIDTHS, grid_search
from pinnbo.methods.pinn_bo import PinnBO
from pinnbo.operators import laplacian

SPACE = Space(x=(0.0, 2.0), y=(1.0, 3.0))
HARMONIC = PDE(lambda f: laplacian(f), source=0.0)
QUICK = PinnBO(epochs=40, collocation=32, batch=None)


def field(points):
    return np.exp(points[:, 0]) * np.cos(points[:, 1])


def test_the_paper_s_grid_has_54_tuples():
    assert len(WIDTHS) * len(DEPTHS) * len(LEARNING_RATES) == 54


def test_ranks_every_tuple_and_keeps_the_other_settings():
    points = SPACE.sobol(50, seed=0)
    found = grid_search(
        SPACE,
        HARMONIC,
        points,
        field(points),
        settings=QUICK,
        widths=(8, 16),
        depths=(2,),
        learning_rates=(1e-6, 1e-2),
    )
    assert len(found.trials) == 4
    errors = [trial.error for trial in found.trials]
    assert errors == sorted(errors)
    assert found.settings.epochs == QUICK.epochs
    assert found.settings.learning_rate == found.trials[0].learning_rate == 1e-2


def test_batched_training_equals_training_alone():
    points = SPACE.sobol(20, seed=0)
    both = grid_search(
        SPACE,
        HARMONIC,
        points,
        field(points),
        settings=QUICK,
        widths=(8,),
        depths=(2,),
        learning_rates=(1e-3, 1e-2),
    )
    for trial in both.trials:
        alone = grid_search(
            SPACE,
            HARMONIC,
            points,
            field(points),
            settings=QUICK,
            widths=(8,),
            depths=(2,),
            learning_rates=(trial.learning_rate,),
        )
        assert alone.trials[0].error == pytest.approx(trial.error, rel=1e-9)


def test_a_rule_without_a_learning_rate_judges_architectures():
    points = SPACE.sobol(20, seed=0)
    settings = PinnBO(epochs=3, collocation=16, batch=None, rule="gauss-newton")
    found = grid_search(
        SPACE,
        HARMONIC,
        points,
        field(points),
        settings=settings,
        widths=(4, 8),
        depths=(2,),
        learning_rates=(1e-3, 1e-2),
    )
    errors = {(trial.width, trial.error) for trial in found.trials}
    assert len(errors) == 2
    assert np.isfinite([error for _, error in errors]).all()


def test_divergence_is_an_infinite_error():
    points = SPACE.sobol(20, seed=0)
    settings = PinnBO(epochs=40, collocation=32, batch=None, rule="sgd")
    found = grid_search(
        SPACE,
        HARMONIC,
        points,
        field(points),
        settings=settings,
        widths=(8,),
        depths=(2,),
        learning_rates=(1e-3, 1e12),
    )
    assert found.trials[-1].error == np.inf
    assert found.settings.learning_rate == 1e-3


@pytest.mark.parametrize(("held_out", "values"), [(0.0, None), (1.0, None), (0.2, [1.0, 2.0])])
def test_bad_input(held_out, values):
    points = SPACE.sobol(10, seed=0)
    with pytest.raises(ValueError, match="grid_search: "):
        grid_search(SPACE, HARMONIC, points, field(points) if values is None else values, held_out=held_out)
