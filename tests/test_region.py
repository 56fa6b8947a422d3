"""What may be measured holds exactly: inside, on the grid, fixed, within the period."""

from __future__ import annotations

import json

import numpy as np
import pytest

from pinnbo import PDE, Axis, Optimizer, Space
from pinnbo.acquisition.choice import Surroundings, choose
from pinnbo.acquisition.search import Effort, Objective
from pinnbo.operators import laplacian, partial
from pinnbo.region import Region
from pinnbo.shapes import box, disc, polygon

PLATE = polygon([(0, 0), (2, 0), (2, 1), (1, 1), (1, 2), (0, 2)]) - disc((0.5, 0.5), 0.2)


class Valley(Objective):
    """Least at a place, which may lie outside of what can be measured."""

    def __init__(self, place: np.ndarray) -> None:
        self.place = place

    def values(self, points: np.ndarray) -> np.ndarray:
        return np.sum((points - self.place) ** 2, axis=1)

    def values_and_slopes(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self.values(points), 2.0 * (points - self.place)


def _found(
    region: Region, place: np.ndarray, n: int, rng: np.random.Generator, known: np.ndarray
) -> np.ndarray:
    candidates = region.candidates(64, 1)
    around = Surroundings(candidates, candidates[:0], candidates[:2], known, region=region)
    effort = Effort(starts=2, favourites=1, evaluations=20, sweeps=0)
    return region.exact(choose(Valley(place), around, n, rng, effort))


def test_ten_thousand_suggestions_hold_exactly() -> None:
    """Inside, stepped, periodic and fixed at once, at the level of the search that every method shares."""
    space = Space(
        x=Axis(0, 2, step=0.1),
        y=(0, 2),
        angle=Axis(-1.0, 5.0, periodic=True),
        k=Axis(0.01, 10.0, log=True),
        inside=PLATE,
    )
    rng, count = np.random.default_rng(0), 0
    grid = np.array([float(f"{0.1 * i:.1f}") for i in range(21)])
    for fixed in ({}, {"y": 0.9}, {"angle": 4.9, "x": 1.3}):
        region = Region(space, fixed=fixed)
        for _ in range(34):
            place = rng.uniform(-1.5, 1.5, 4)
            found = _found(region, place, 99, rng, np.zeros((0, 4)))
            count += len(found)
            assert np.isin(found[:, 0], grid).all()
            assert ((found >= space.lower) & (found <= space.upper)).all()
            assert (found[:, 2] < 5.0).all()
            assert (PLATE.depth(found, space.names) >= 0).all()
            for name, value in fixed.items():
                assert (found[:, space.names.index(name)] == value).all()
    assert count >= 10_000


def test_the_boundary_is_reached() -> None:
    """The nearest place of a disc to a point outside is found, though it lies on the boundary."""
    space = Space(x=(-1, 1), y=(-1, 1), inside=disc((0, 0), 0.8))
    for angle in np.linspace(0, 6, 9):
        place = 0.95 * np.array([np.cos(angle), np.sin(angle)])
        candidates = Region(space).candidates(512, 1)
        around = Surroundings(
            candidates, candidates[:0], candidates[:2], np.zeros((0, 2)), region=Region(space)
        )
        (s,) = choose(
            Valley(place), around, 1, np.random.default_rng(0), Effort(starts=5, favourites=2, sweeps=0)
        )
        assert np.linalg.norm(s - 0.8 / 0.95 * place) < 2e-2
        assert np.hypot(*Region(space).exact(s)) <= 0.8


def test_a_function_that_says_what_is_inside_does_as_a_shape() -> None:
    shaped = Space(x=(0, 2), y=(0, 2), inside=disc((1, 1), 0.9))
    by_hand = Space(x=(0, 2), y=(0, 2), inside=lambda x: bool(np.hypot(x[0] - 1, x[1] - 1) <= 0.9))
    np.testing.assert_allclose(shaped.sobol(64, 3), by_hand.sobol(64, 3))


def test_design_and_collocation_stay_inside_and_are_a_sequence() -> None:
    space = Space(x=(0, 2), y=(0, 2), inside=PLATE)
    many = space.sobol(300, [1, 2])
    assert space.is_inside(many).all()
    np.testing.assert_array_equal(space.sobol(40, [1, 2]), many[:40])
    rows = PDE(lambda f: laplacian(f)).collocation(space, 200, 0).points
    assert space.is_inside(rows).all()


def test_steps_are_the_numbers_one_would_write() -> None:
    axis = Axis(0.1, 1.0, step=0.1).checked("x")
    assert axis.multiple(np.arange(10.0)).tolist() == [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
    assert Axis(0, 1, step=0.3).checked("x").steps == 3
    assert Axis(0, 360, step=90, periodic=True).checked("x").on_grid(
        np.array([350.0, 10.0, 100.0])
    ).tolist() == [
        0.0,
        0.0,
        90.0,
    ]


def test_a_small_grid_is_measured_completely_before_any_point_twice() -> None:
    space = Space(n=Axis(1, 3, step=1), m=Axis(0, 1, step=0.5))
    optimizer = Optimizer(space, seed=0)
    told = []
    for _ in range(11):
        x = optimizer.ask()
        told.append(tuple(x))
        optimizer.tell(x, (x[0] - 2.0) ** 2 + x[1])
    assert len(set(told[:9])) == 9
    assert len(set(told)) == 9


@pytest.mark.parametrize("method", ["auto", "random", "gp-logei"])
def test_methods_respect_the_space(method: str) -> None:
    space = Space(x=Axis(0, 2, step=0.05), y=(0, 2), inside=PLATE)
    optimizer = Optimizer(space, goal="maximize", method=method, seed=1, noise=0.01)
    for i in range(3):
        fixed = {"y": 0.9} if i % 3 == 2 else None
        for x in optimizer.ask(2, fixed=fixed):
            assert space.contains(x)
            assert abs(x[0] / 0.05 - round(x[0] / 0.05)) < 1e-9
            assert fixed is None or x[1] == 0.9
            optimizer.tell(x, float(np.exp(-x[0]) * np.cos(x[1])))


@pytest.mark.parametrize(
    ("space", "said"),
    [
        (Space(x=(0, 2), y=(0, 2), inside=PLATE), "cannot handle a space that is not a box"),
        (Space(x=Axis(0, 2, step=0.5)), "cannot handle stepped axes"),
        (Space(x=Axis(0, 2, periodic=True)), "cannot handle periodic axes"),
        (Space(x=Axis(1, 2, log=True)), "cannot handle log axes"),
    ],
)
def test_what_a_method_cannot_do_it_refuses(space: Space, said: str) -> None:
    with pytest.raises(ValueError, match=f"{said}; expected one of .*'auto'"):
        Optimizer(space, method="turbo")


def test_fixed_is_checked() -> None:
    optimizer = Optimizer(Space(x=Axis(0, 1, step=0.25), t=(0, 5), inside=box(t=(0, 4))))
    with pytest.raises(ValueError, match="fixed names 'u'"):
        optimizer.ask(fixed={"u": 1.0})
    with pytest.raises(ValueError, match="must be a number from 0 to 5"):
        optimizer.ask(fixed={"t": 6.0})
    with pytest.raises(ValueError, match=r"on its grid of step 0\.25"):
        optimizer.ask(fixed={"x": 0.3})
    with pytest.raises(ValueError, match=r"is inside with t = 4\.5"):
        optimizer.ask(fixed={"t": 4.5})
    with pytest.raises(ValueError, match="cannot handle fixed coordinates"):
        Optimizer(Space(x=(0, 1), y=(0, 1)), method="turbo").ask(fixed={"x": 0.5})


def test_a_stored_study_goes_on_as_before() -> None:
    pde = PDE(lambda f: laplacian(f))
    space = Space(x=Axis(0, 2, step=0.05), y=(0, 2), inside=PLATE)
    first = Optimizer(space, pde, goal="maximize", seed=3)
    for _ in range(3):
        x = first.ask()
        first.tell(x, float(np.exp(x[0]) * np.cos(x[1])))
    again = Optimizer.from_dict(json.loads(json.dumps(first.to_dict())), pde)
    assert again.space == space
    np.testing.assert_array_equal(first.ask(2, fixed={"x": 0.3}), again.ask(2, fixed={"x": 0.3}))
    np.testing.assert_array_equal(first.ask(), again.ask())


def test_a_function_has_to_be_given_again() -> None:
    def lower(x: np.ndarray) -> bool:
        return bool(x[1] <= x[0])

    stored = Optimizer(Space(x=(0, 1), y=(0, 1), inside=lower)).to_dict()
    with pytest.raises(ValueError, match="pass it as inside"):
        Optimizer.from_dict(stored)
    with pytest.raises(ValueError, match="not the function"):
        Optimizer.from_dict(stored, inside=lambda x: bool(x[1] >= x[0]))
    assert Optimizer.from_dict(stored, inside=lower).space.contains([0.5, 0.2])


def test_tell_takes_points_of_the_domain_and_no_others() -> None:
    domain = Space(x=(-1, 3), angle=Axis(0, 6, periodic=True), inside=disc((0, 3), 4.0))
    optimizer = Optimizer(Space(x=(0, 1), angle=(0, 6)), domain=domain)
    optimizer.tell([-0.5, 7.0], 1.0)  # an angle of 1
    np.testing.assert_allclose(optimizer.data.points, [[-0.5, 1.0]])
    with pytest.raises(ValueError, match="tell: expected a point of"):
        optimizer.tell([-1.5, 0.0], 1.0)
    with pytest.raises(ValueError, match="tell: expected a point of"):
        optimizer.tell([3.0, 0.1], 1.0)  # outside the disc
    assert ((optimizer.ask(20)[:, 0] >= 0) & (optimizer.pending[:, 0] <= 1)).all()


def test_a_condition_outside_needs_a_domain() -> None:
    start = PDE(lambda f: f, 1.0, points=[[0.0]], name="start")
    decay = PDE(lambda f: lambda t: partial(f, 0)(t) + f(t))
    with pytest.raises(ValueError, match=r"start: the point .* lies outside .*domain="):
        Optimizer(Space(t=(1.0, 2.0)), [decay, start])
    optimizer = Optimizer(Space(t=(1.0, 2.0)), [decay, start], domain=Space(t=(0.0, 2.0)), noise=0.01)
    optimizer.tell([1.5], float(np.exp(-1.5)))
    assert abs(optimizer.predict([[2.0]]).mean[0] - np.exp(-2.0)) < 0.01
    assert 1.0 <= optimizer.ask()[0] <= 2.0


@pytest.mark.parametrize(
    ("domain", "said"),
    [
        (Space(t=(0.0, 1.5)), "must hold the searched space"),
        (Space(u=(0.0, 3.0)), "must have the axes"),
        (Space(t=Axis(0.5, 3.0, log=True)), "log in both"),
    ],
)
def test_a_domain_is_checked(domain: Space, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Optimizer(Space(t=(1.0, 2.0)), domain=domain)


def test_physics_on_a_log_axis_acts_in_the_users_coordinate() -> None:
    """r f'' + f' = 0 has the solution a + b log r: two measurements settle it, exactly as for a linear axis."""
    well = PDE(lambda f: lambda x: x[0] * partial(f, 0, order=2)(x) + partial(f, 0)(x))
    optimizer = Optimizer(Space(r=Axis(0.1, 100.0, log=True)), well, noise=1e-3)
    for r in (0.2, 1.0, 60.0):
        optimizer.tell([r], 2.0 + 3.0 * np.log(r))
    at = np.array([0.1, 0.5, 10.0, 100.0])
    mean, std = optimizer.predict(at[:, None])
    assert np.all(np.abs(mean - (2.0 + 3.0 * np.log(at))) < 4 * std + 0.02)
    assert np.max(std) < 0.05


def test_a_periodic_field_is_continuous_across_the_seam() -> None:
    """f'' + f = 0 on a circle: cos and sin; also without physics both ends are the same place."""
    space = Space(angle=Axis(0.0, 2 * np.pi, periodic=True))
    for pde in (PDE(lambda f: lambda x: partial(f, 0, order=2)(x) + f(x)), None):
        optimizer = Optimizer(space, pde, noise=1e-3)
        for angle in (0.3, 1.5, 2.9, 4.4, 5.9):
            optimizer.tell([angle], np.cos(angle - 0.4))
        ends = optimizer.predict([[0.0], [2 * np.pi]])
        assert abs(ends.mean[0] - ends.mean[1]) < 1e-9
        assert abs(ends.mean[0] - np.cos(0.4)) < 0.1
        assert 0.0 <= optimizer.ask()[0] < 2 * np.pi
