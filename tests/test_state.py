"""A state that was changed is refused with the place, or taken; what is not changed comes back as it was."""

import copy
import json
import math

import numpy as np
import pytest

from pinnbo import PDE, Optimizer, Space
from pinnbo.operators import laplacian, partial


def state():
    optimizer = Optimizer(Space(x=(0.0, 1.0), y=(-1.0, 1.0)), method="random", noise=0.1)
    optimizer.ask()
    optimizer.tell([[0.1, 0.2], [0.3, 0.4]], [1.0, math.nan], noise=0.2)
    optimizer.replace(0, 2.0)
    return optimizer.to_dict()


def test_a_state_survives_json():
    stored = json.loads(json.dumps(state()))
    assert Optimizer.from_dict(stored).to_dict() == stored


CHANGES = [
    (["version"], 2, "expected version 1, got 2"),
    (["version"], ..., "expected version 1, got None"),
    (["goal"], "best", "goal: expected one of minimize, maximize, learn, got 'best'"),
    (["goal"], ..., "goal is missing"),
    (["space"], None, "space: expected a table, got None"),
    (["space", "lower"], [0.0], "space: expected as many different names"),
    (["space", "lower"], [2.0, -1.0], "space: Space: bound of 'x'"),
    (["space", "names"], ["x", "x"], "space: expected as many different names"),
    (["space", "names"], ["x", 3], r"space.names\[1\]: expected a name, got 3"),
    (["seed"], -1, "seed: expected an integer >= 0, got -1"),
    (["seed"], True, "seed: expected an integer >= 0, got True"),
    (["noise"], -0.1, "noise: expected a finite standard deviation >= 0, got -0.1"),
    (["noise"], "loud", "noise: expected a finite standard deviation >= 0, got 'loud'"),
    (["n_initial"], 1.5, "n_initial: expected an integer >= 0, got 1.5"),
    (["asked"], None, "asked: expected an integer >= 0, got None"),
    (["records"], {}, "records: expected a list, got a table"),
    (["records", 0], [], r"records\[0\]: expected a table, got \[\]"),
    (["records", 0, "x"], [0.1], r"records\[0\].x: expected a point of Space"),
    (["records", 0, "x"], [0.1, 5.0], r"records\[0\].x: expected a point of Space"),
    (["records", 0, "x"], [0.1, None], r"records\[0\].x\[1\]: expected a finite number, got None"),
    (["records", 1, "y"], "inf", r"records\[1\].y: expected a number of at most 1e\+70"),
    (["records", 1, "y"], 1e200, r"records\[1\].y: expected a number of at most 1e\+70"),
    (["records", 0, "y"], 10**400, r"records\[0\].y: expected a number of at most 1e\+70"),
    (["records", 0, "noise"], -1, r"records\[0\].noise: expected a finite standard deviation"),
    (["records", 0, "dropped"], 1, r"records\[0\].dropped: expected true or false, got 1"),
    (["records", 0, "replaced"], [[]], r"records\[0\].replaced\[0\]: expected a number of at most"),
    (["pending", 0], [9.0, 0.0], r"pending\[0\]: expected a point of Space"),
    (["physics"], [[1.0]], "was stored with 1 PDE"),
    (["physics"], [["a"]], r"physics\[0\]\[0\]: expected a finite number, got 'a'"),
    (["method"], "auto", "method: expected a table, got 'auto'"),
    (["method", "name"], "magic", "method: method: expected one of"),
    (["method", "settings"], {"speed": 3}, "method: "),
    (["method"], {}, "method: "),
    (["engine"], ..., "engine is missing"),
]


@pytest.mark.parametrize(("place", "value", "complaint"), CHANGES)
def test_a_state_that_was_changed_is_refused_with_the_place(unchecked, place, value, complaint):
    stored = copy.deepcopy(state())
    inner = stored
    for key in place[:-1]:
        inner = inner[key]
    if value is ...:
        del inner[place[-1]]
    else:
        inner[place[-1]] = value
    with pytest.raises(ValueError, match=complaint) as refused:
        Optimizer.from_dict(stored)
    assert str(refused.value).startswith("from_dict: ")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("stored", [None, [], {}, "state", {"format": "other"}])
def test_what_is_no_state_is_refused(unchecked, stored):
    with pytest.raises(ValueError, match="expected what Optimizer"):
        Optimizer.from_dict(stored)


@pytest.mark.parametrize("name", ["trial", "meaning", "value", "noise", "was", "reason"])
def test_a_parameter_named_like_a_column_is_refused(name):
    with pytest.raises(ValueError, match=f"Space: '{name}' is the name of a column"):
        Space(**{name: (0.0, 1.0)})


@pytest.mark.parametrize("name", ["", " x", "=x", "+x", "-x", "@x", "'x", "a\nb", "a\0b"])
def test_a_name_that_cannot_be_a_header_is_refused(name):
    with pytest.raises(ValueError, match="Space: expected a name"):
        Space(**{name: (0.0, 1.0)})


def test_a_condition_point_that_is_given_twice_keeps_both_readings():
    points, readings = [[0.0, 0.0], [1.0, 0.0], [0.0, 0.0]], [1.0, 2.0, 3.0]
    wall = PDE(lambda f: f, readings, points=points, noise=0.1)
    collocation = wall.collocation(Space(x=(0.0, 1.0), y=(0.0, 1.0)), 8, 0)
    np.testing.assert_array_equal(collocation.source[:, 0], readings)


# ---------------------------------------------------------------- boxes and operators at the limits


@pytest.mark.parametrize(
    "bounds", [(0.0, 1e-300), (-1e308, 1e308), (0.0, 1e308), (1.0, 1.0 + 1e-13), (0, 10**400)]
)
def test_a_box_that_cannot_be_computed_in_is_refused(unchecked, bounds):
    with pytest.raises(ValueError, match="Space: bound of 'x' must"):
        Space(x=bounds)


def test_too_many_parameters_are_refused():
    with pytest.raises(ValueError, match="expected at most 500 parameters, got 10000"):
        Space.box(np.zeros(10_000), np.ones(10_000))


OPERATORS = {
    "complex": (lambda f: lambda x: 1j * f(x), "operator must give real numbers, got complex128"),
    "no function": (lambda f: 3.0, "operator must return a function of x, got float"),
    "raises": (lambda f: lambda x: f(x) / (1 // 0), "ZeroDivisionError"),
    "branches": (lambda f: lambda x: f(x) if x[0] > 0.5 else 0.0, "operator decides by if"),
    "numpy": (lambda f: lambda x: np.float64(f(x)), "operator uses NumPy on f or x"),
    "matrix": (lambda f: lambda x: np.ones((2, 2)) * f(x), "got shape"),
    "order 7": (
        lambda f: partial(partial(f, 0, 6), 0, 1),
        "expected derivatives up to order 6, got higher ones",
    ),
    "text": (lambda f: lambda x: "zero", "operator fails at a point of the box with "),
}


@pytest.mark.parametrize("name", OPERATORS)
def test_an_operator_that_cannot_be_used_is_refused_with_one_sentence(unchecked, name):
    operator, complaint = OPERATORS[name]
    with pytest.raises((TypeError, ValueError), match=complaint) as refused:
        Optimizer(Space(x=(0.0, 1.0)), PDE(operator, name="heat"))
    assert str(refused.value).startswith("heat: ")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("source", [lambda x, y: 0.0, lambda x: "hot", lambda x: [1.0, 2.0], lambda x: 1 / 0])
def test_a_source_that_cannot_be_used_is_refused_with_one_sentence(unchecked, source):
    with pytest.raises((TypeError, ValueError)) as refused:
        Optimizer(Space(x=(0.0, 1.0)), PDE(laplacian, source, name="heat"))
    assert str(refused.value).startswith("heat: source ")
    assert "\n" not in str(refused.value)


def test_an_order_that_takes_minutes_is_refused():
    with pytest.raises(ValueError, match="directional: order must be at most 6, got 10"):
        partial(lambda x: x[0], 0, order=10)
