"""The theory along a run: equal to the formulas at once, and the same bits whatever the order of calls."""

import numpy as np
import pytest

from pinnbo import problems
from pinnbo.data import Data
from pinnbo.methods.base import Task
from pinnbo.network.information import conditional_information, mutual_information
from pinnbo.network.mlp import MLP
from pinnbo.network.setup import collocate
from pinnbo.network.theory import Constants, Theory

PROBLEM = problems.get("dropwave-2")
N = 140


@pytest.fixture(scope="module")
def data():
    points = PROBLEM.space.sobol(N, seed=0)
    return Data(points, PROBLEM.truth(points), np.full(N, np.nan), np.zeros((0, 2)))


def theory(information="conditional"):
    task = Task(PROBLEM.space, (PROBLEM.pde,), 1.0, 0, None)
    return Theory(
        Constants(information, None, None, 0.1, 1.0, 1.0, 0.1), task, collocate(task, 60), MLP(2, 12, 3)
    )


def test_updates_equal_the_formulas(data):
    running = theory()
    ledger = running.ledger(data)
    phi = running._phi(data.points)
    assert ledger.mutual == pytest.approx(mutual_information(phi, 0.1), rel=1e-9)
    exact = conditional_information(phi, 0.1, running._omega, 1.0)
    assert ledger.conditional == pytest.approx(exact, rel=1e-9)


def test_same_bits_after_a_restart(data):
    running = theory()
    stepwise = [running.ledger(data.first(n)).conditional for n in range(N + 1)]
    for n in (3, 63, 64, 65, 127, 130, N):
        assert theory().ledger(data.first(n)).conditional == stepwise[n]


def test_follows_data_that_shrink_or_change(data):
    running = theory()
    running.ledger(data)
    assert running.ledger(data.first(100)).conditional == theory().ledger(data.first(100)).conditional
    moved = data._replace(points=data.points[::-1].copy(), values=data.values[::-1].copy())
    assert running.ledger(moved).conditional == theory().ledger(moved).conditional


@pytest.mark.parametrize("information", ["conditional", "greedy"])
def test_nu_and_the_report_are_finite_at_any_size(data, information):
    running = theory(information)
    for n in (0, 1, 20):
        report = running.report(data.first(n))
        assert all(np.isfinite(value) for value in report.values())
        assert report["nu"] == running.nu(data.first(n)) > 0
        assert report["interaction_information"] >= -1e-9
