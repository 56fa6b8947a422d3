"""The box: bounds, units, names, and the errors for whatever is not a box or a point of it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pinnbo import Space

bounds = st.tuples(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6)).map(lambda t: (t[0], t[0] + t[1]))
spaces = st.lists(bounds, min_size=1, max_size=4).map(lambda b: Space.box(*map(list, zip(*b, strict=True))))


def test_names_and_bounds_in_the_order_given():
    space = Space(y=(0.0, 2.0), x=(-1.0, 3.0))
    assert space.names == ("y", "x")
    assert space.dim == 2
    np.testing.assert_array_equal(space.lower, [0.0, -1.0])
    np.testing.assert_array_equal(space.upper, [2.0, 3.0])
    assert repr(space) == "Space(y=(0, 2), x=(-1, 3))"


def test_box_names_its_axes():
    assert Space.box([0.0, 1.0], [2.0, 3.0]) == Space(x0=(0.0, 2.0), x1=(1.0, 3.0))


@pytest.mark.usefixtures("unchecked")
def test_whole_numbers_are_numbers():
    assert Space.box([0], np.array([2])) == Space(x0=(0, 2)) == Space(x0=(0.0, 2.0))


@given(spaces, st.integers(0, 40), st.integers(0, 5))
@settings(max_examples=60, deadline=None)
def test_scaling_goes_there_and_back_and_stays_inside(space, n, seed):
    points = space.sobol(n, seed)
    assert points.shape == (n, space.dim)
    assert all(space.contains(x) for x in points)
    scaled = space.scale(points)
    assert np.all(np.abs(scaled) <= 1 + 1e-6)
    back = space.unscale(scaled)
    assert all(space.contains(x) for x in back)
    np.testing.assert_allclose(back, points, rtol=1e-12, atol=1e-9 * space.half_width.max())


@given(spaces)
@settings(max_examples=60, deadline=None)
def test_corners_are_reached_exactly(space):
    np.testing.assert_allclose(space.unscale(np.ones(space.dim)), space.upper, rtol=1e-15)
    assert space.contains(space.unscale(np.ones(space.dim)))
    assert space.contains(space.unscale(-np.ones(space.dim)))


@given(st.integers(0, 30), st.integers(0, 30))
@settings(max_examples=30, deadline=None)
def test_a_shorter_sobol_sequence_is_the_start_of_a_longer_one(n, more):
    space = Space(x=(0.0, 1.0), y=(5.0, 9.0))
    np.testing.assert_array_equal(space.sobol(n + more, [3, 1])[:n], space.sobol(n, [3, 1]))


def test_sobol_points_depend_on_the_seed_and_differ_from_each_other():
    space = Space(x=(0.0, 1.0), y=(0.0, 1.0))
    points = space.sobol(64, 0)
    assert len(np.unique(points, axis=0)) == 64
    assert not np.array_equal(points, space.sobol(64, 1))
    # one in each cell of an 8 x 8 grid: a net, not independent draws
    assert len({tuple(cell) for cell in (points * 8).astype(int)}) == 64


def test_named_coordinates():
    space = Space(a=(0.0, 1.0), b=(0.0, 9.0))
    assert space.to_dict([0.5, 3.0]) == {"a": 0.5, "b": 3.0}
    np.testing.assert_array_equal(space.from_dict({"b": 3.0, "a": 0.5}), [0.5, 3.0])


def test_equality_and_hash_are_by_content():
    one, same, other = Space(x=(0.0, 1.0)), Space(x=(0.0, 1.0)), Space(x=(0.0, 2.0))
    assert one == same
    assert hash(one) == hash(same)
    assert one != other
    assert one != Space(y=(0.0, 1.0))
    assert one != "x"


def test_a_box_with_other_scaled_coordinates_is_another_one():
    class Logarithmic(Space):
        def scale(self, points):
            return np.log(points)

    plain, other = Space(x=(1.0, 2.0)), Logarithmic(x=(1.0, 2.0))
    assert plain != other
    assert other != plain
    assert other == Logarithmic(x=(1.0, 2.0))


def test_bounds_cannot_be_changed():
    with pytest.raises(ValueError, match="read-only"):
        Space(x=(0.0, 1.0)).lower[0] = 5.0


@pytest.mark.usefixtures("unchecked")
class TestRefusals:
    @pytest.mark.parametrize(
        "pair",
        [
            (2.0, 1.0),
            (1.0, 1.0),
            (0.0, float("inf")),
            (float("-inf"), 0.0),
            (0.0, float("nan")),
            (float("nan"), 1.0),
            (0.0,),
            (0.0, 1.0, 2.0),
            5.0,
            None,
        ],
    )
    def test_bounds(self, pair):
        with pytest.raises(
            ValueError, match="bound of 'x' must be a pair of finite numbers with lower < upper"
        ):
            Space(x=pair)

    @pytest.mark.parametrize("pair", [("0", "1"), (None, 1.0), (0.0, 1j)])
    def test_bounds_that_are_no_numbers(self, pair):
        with pytest.raises(TypeError, match="bound of 'x'"):
            Space(x=pair)

    def test_no_bounds(self):
        with pytest.raises(ValueError, match="at least one named bound"):
            Space()

    def test_boxes_of_unequal_length(self):
        with pytest.raises(ValueError, match="of one length"):
            Space.box([0.0], [1.0, 2.0])

    @pytest.mark.parametrize("points", [[1.0], [1.0, 2.0, 3.0], [[1.0], [2.0]], 1.0, [[[1.0, 2.0]]], []])
    def test_points_of_another_dimension(self, points):
        space = Space(x=(0.0, 1.0), y=(0.0, 1.0))
        with pytest.raises(ValueError, match=r"caller: expected points of shape \(2,\) or \(n, 2\)"):
            space.as_points(points, "caller")

    @pytest.mark.parametrize("bad", [float("nan"), float("inf")])
    def test_points_that_are_not_finite_are_named(self, bad):
        space = Space(x=(0.0, 1.0), y=(0.0, 1.0))
        with pytest.raises(ValueError, match=r"expected finite coordinates, got \[0.5, (nan|inf)\]"):
            space.as_points([[0.1, 0.2], [0.5, bad]], "caller")

    @pytest.mark.parametrize("points", ["seven", ["a", "b"], {1.0, 2.0}])
    def test_points_that_are_no_numbers(self, points):
        with pytest.raises(TypeError, match="expected numbers of shape"):
            Space(x=(0.0, 1.0), y=(0.0, 1.0)).as_points(points, "caller")

    @pytest.mark.parametrize("values", [{"x": 1.0}, {"x": 1.0, "y": 1.0, "z": 1.0}, {"x": 1.0, "q": 1.0}])
    def test_names(self, values):
        with pytest.raises(ValueError, match="expected a value of x, y: "):
            Space(x=(0.0, 1.0), y=(0.0, 1.0)).from_dict(values)

    def test_to_dict_takes_one_point(self):
        with pytest.raises(ValueError, match="expected one point, got 2"):
            Space(x=(0.0, 1.0)).to_dict([[0.1], [0.2]])


def test_points_may_be_given_by_name():
    plane = Space(x=(0.0, 1.0), y=(0.0, 2.0))
    np.testing.assert_array_equal(plane.as_points({"y": 2.0, "x": 1.0}, "tell"), [[1.0, 2.0]])
    np.testing.assert_array_equal(
        plane.as_points([{"y": 2.0, "x": 1.0}, {"x": 0.0, "y": 0.0}], "tell"), [[1, 2], [0, 0]]
    )
    with pytest.raises(ValueError, match="'z' is none of them; y is missing"):
        plane.as_points({"x": 1.0, "z": 2.0}, "tell")
