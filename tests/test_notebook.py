"""Short texts and tables of objects, and runs that are gone on with."""

import numpy as np
import pytest

from pinnbo import PDE, Optimizer, Space, maximize, minimize
from pinnbo.notebook import Diagnostics
from pinnbo.operators import laplacian

SPACE = Space(x=(0.0, 1.0), y=(0.0, 1.0))


def bowl(x):
    return float(np.sum((x - 0.3) ** 2))


def test_tables_are_escaped_and_say_how_things_stand():
    space = Space(**{"<b>x": (0.0, 1.0)})
    assert "&lt;b&gt;x" in space._repr_html_()
    optimizer = Optimizer(space, method="random")
    assert "0 impossible" in optimizer._repr_html_()
    optimizer.tell([[0.2], [0.4]], [1.0, np.nan])
    shown = optimizer._repr_html_()
    assert "&lt;b&gt;x = 0.2" in shown
    assert "<b>" not in shown
    result = minimize(lambda x: 1 / 0, SPACE, n_trials=4, method="random", progress=False)
    assert "nothing measured" in result._repr_html_()
    assert "failed in a row" in result._repr_html_()


def test_diagnostics_show_ten_and_name_the_rest():
    optimizer = Optimizer(SPACE)
    optimizer.tell([[0.2, 0.3], [0.8, 0.1]], [1.0, 2.0])
    found = optimizer.diagnostics()
    lines = str(found).splitlines()
    assert len(lines) <= 11
    assert "log_evidence" in lines[-1]
    assert "<details>" in found._repr_html_()
    assert dict(found) == found
    assert str(Diagnostics(method="x", trust=None)) == "method              x\ntrust               none"


def test_a_run_that_is_resumed_is_the_run_in_one_go():
    whole = minimize(bowl, SPACE, n_trials=6, method="random", seed=3, progress=False)
    part = minimize(bowl, SPACE, n_trials=4, method="random", seed=3, progress=False)
    rest = minimize(bowl, SPACE, n_trials=2, resume=part, progress=False)
    np.testing.assert_array_equal([e.x for e in rest.history], [e.x for e in whole.history])
    assert len(part.history) == 4
    assert len(part.optimizer.data.values) == 4


def test_another_problem_is_not_resumed():
    part = minimize(bowl, SPACE, n_trials=1, method="random", progress=False)
    with pytest.raises(ValueError, match="resume was made to minimize"):
        maximize(bowl, SPACE, n_trials=1, resume=part, progress=False)
    with pytest.raises(ValueError, match="resume"):
        minimize(bowl, SPACE, PDE(laplacian), n_trials=1, resume=part, progress=False)


@pytest.mark.usefixtures("unchecked")
def test_only_a_result_is_resumed():
    with pytest.raises(TypeError, match="resume must be a Result, got int"):
        minimize(bowl, SPACE, n_trials=1, resume=3, progress=False)


def test_a_copy_goes_its_own_way():
    optimizer = Optimizer(SPACE, method="random")
    first = optimizer.ask()
    other = optimizer.copy()
    other.tell(first, 1.0)
    assert len(optimizer.data.values) == 0
    assert len(optimizer.pending) == 1
    assert len(other.data.values) == 1
