"""Shapes: which points they hold, how deep, and their boundaries."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

from pinnbo import Space, shapes
from pinnbo.axis import Axis
from pinnbo.shapes import box, difference, disc, from_json, polygon, union

NAMES = ("x", "y")
CORNERS = [(0, 0), (2, 0), (2, 1), (1, 1), (1, 2), (0, 2)]
PLATE = polygon(CORNERS, name="plate") - disc((0.5, 0.5), 0.2, name="hole")


def _inside_plate(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The same by hand."""
    ell = (x >= 0) & (y >= 0) & (((x <= 2) & (y <= 1)) | ((x <= 1) & (y <= 2)))
    return ell & (np.hypot(x - 0.5, y - 0.5) >= 0.2)


def test_a_plate_holds_what_it_should() -> None:
    points = np.random.default_rng(0).uniform(-0.5, 2.5, (5000, 2))
    np.testing.assert_array_equal(PLATE.depth(points, NAMES) >= 0, _inside_plate(*points.T))


def test_depth_is_the_distance_to_the_boundary() -> None:
    rng = np.random.default_rng(1)
    for shape in (disc((0.3, 0.2), 0.7), box(x=(0, 1), y=(0, 0.5)), polygon(CORNERS)):
        points = rng.uniform(-1, 3, (200, 2))
        parts = [part.sample(2000)[0] for part in shape.parts(NAMES)]
        nearest = np.min(np.linalg.norm(points[:, None, :] - np.concatenate(parts)[None], axis=2), axis=1)
        np.testing.assert_allclose(np.abs(shape.depth(points, NAMES)), nearest, atol=2e-3)


def test_boundaries_belong_to_it() -> None:
    on = np.array([[0.0, 0.3], [1.0, 1.0], [2.0, 1.0], [0.7, 0.5], [1.0, 1.7]])
    assert (PLATE.depth(on, NAMES) >= -1e-15).all()


def test_union_intersection_difference() -> None:
    a, b = disc((0, 0), 1.0), disc((1, 0), 1.0)
    points = np.random.default_rng(2).uniform(-2, 3, (2000, 2))
    in_a, in_b = (shape.depth(points, NAMES) >= 0 for shape in (a, b))
    np.testing.assert_array_equal(union(a, b).depth(points, NAMES) >= 0, in_a | in_b)
    np.testing.assert_array_equal((a & b).depth(points, NAMES) >= 0, in_a & in_b)
    np.testing.assert_array_equal(difference(a, b).depth(points, NAMES) >= 0, in_a & ~in_b)


def test_a_shape_extends_over_other_axes() -> None:
    shape = disc((0.0, 1.0), 0.5, axes=("y", "z"))
    points = np.array([[9.0, 0.0, 1.2], [-9.0, 0.6, 1.0]])
    np.testing.assert_allclose(shape.depth(points, ("x", "y", "z")), [0.3, -0.1])


def test_json_and_back() -> None:
    shape = union(PLATE, box(x=(0, 1), y=(3, 4))) & disc((0, 0), 9.0)
    again = from_json(shape.to_json())
    assert again == shape
    points = np.random.default_rng(3).uniform(-1, 4, (500, 2))
    np.testing.assert_array_equal(again.depth(points, NAMES), shape.depth(points, NAMES))


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda: disc((0, 0), -1.0), "radius must be a positive number"),
        (lambda: disc("here", 1.0), "centre must be numbers"),
        (lambda: polygon([(0, 0), (1, 0)]), "at least three corners"),
        (lambda: polygon([(0, 0), (0, 0), (1, 0)]), "got one twice"),
        (lambda: polygon([(0, 0), (1, 0), (0, 1)], sides=["a"]), "sides must be 3 names"),
        (lambda: box(x=(1, 0)), "lower < upper"),
        (lambda: union(disc((0, 0), 1.0)), "at least two shapes"),
        (lambda: disc((0, 0), 1.0) - 3, "expected shapes such as"),
        (lambda: from_json({"shape": "star"}), "shape must be one of"),
        (lambda: from_json({"shape": "disc", "radius": 1}), "missing \\['centre'\\]"),
        (lambda: Space(x=(0, 1), y=(0, 1), inside=disc((5, 5), 1.0)), "lies outside the box: x from 4 to 6"),
        (lambda: Space(x=(0, 1), y=(0, 1), inside=disc((0, 0), 1.0, axes=("x", "u"))), "names the axis 'u'"),
        (lambda: Space(x=(0, 1), inside=disc((0, 0), 1.0)), "more coordinates than the space"),
        (lambda: Space(x=(0, 1), y=(0, 1), inside=disc((0.5, 0.5), 0.012)), "hardly any room"),
        (lambda: Space(x=(0, 1), y=(0, 1), inside=lambda x: False), "leaves no room"),
        (lambda: Space(x=(0, 1), y=(0, 1), inside=lambda x: x), "expected True or False"),
        (lambda: Space(x=(0, 1), y=(0, 1), inside=lambda x: x.nothing), "the function fails at"),
        (lambda: Space(x=(0, 1), inside=(0, 1)), "no axis can be called inside"),
        (lambda: Space(x=Axis(0, 1, step=2.0)), "must not be wider than the axis"),
        (lambda: Space(x=Axis(0, 1, step=0)), "must be a positive number"),
        (lambda: Space(x=Axis(0, 1, log=True)), "must be above 0"),
        (lambda: Space(x=Axis(1, 2, log=True, periodic=True)), "log or periodic"),
        (lambda: Space(x=(0, 2), y=(0, 2), inside=PLATE).boundary("holes"), "did you mean 'hole'"),
        (lambda: Space(x=(0, 2), y=(0, 2), inside=PLATE).boundary("x=2", n=0), "n must be an integer"),
    ],
)
def test_mistakes_get_a_sentence(wrong: object, said: str) -> None:
    with pytest.raises((ValueError, TypeError), match=said):
        wrong()  # type: ignore[operator]


def test_axes_may_be_called_as_options_are() -> None:
    space = Space(log=(0, 1), step=Axis(0, 2, step=0.5), periodic=(0, 1))
    assert space.names == ("log", "step", "periodic")
    assert space.axes[1].step == 0.5


def test_boundary_points_and_outward_directions() -> None:
    space = Space(x=(0, 2), y=(0, 2), inside=PLATE)
    hole = space.boundary("hole", n=30)
    np.testing.assert_allclose(np.hypot(*(hole.points - 0.5).T), 0.2, atol=1e-12)
    np.testing.assert_allclose(
        hole.normals, -(hole.points - 0.5) / 0.2, atol=1e-9
    )  # out of the plate, into the hole
    side = space.boundary("plate.2")  # from (2, 1) to (1, 1), above which there is nothing
    np.testing.assert_allclose(side.points[:, 1], 1.0)
    np.testing.assert_allclose(side.normals, np.tile([0.0, 1.0], (len(side.points), 1)))
    face = space.boundary("y=2")  # of the box: the plate reaches it between 0 and 1
    assert face.points[:, 0].max() <= 1.0
    assert len(space.boundary("plate", "hole").points) == 40


def test_conditions_on_a_boundary_are_those_of_the_solution() -> None:
    """value, normal derivative and Robin of T = x^2 - y^2 + x at the points."""
    space = Space(x=(0, 2), y=(0, 2), inside=PLATE)

    def field(x: jnp.ndarray) -> jnp.ndarray:
        return x[0] ** 2 - x[1] ** 2 + x[0]

    part = space.boundary("hole", n=12)
    x, y = part.points.T
    slope = part.normals[:, 0] * (2 * x + 1) - part.normals[:, 1] * 2 * y
    for condition, expected in (
        (part.value(0.0), x**2 - y**2 + x),
        (part.normal_derivative(0.0), slope),
        (part.robin(2.0, 3.0, 0.0), 2.0 * (x**2 - y**2 + x) + 3.0 * slope),
    ):
        found = np.array([condition.apply(field)(jnp.asarray(point))[0] for point in part.points])
        np.testing.assert_allclose(found, expected, atol=1e-12)


def test_faces_of_a_plain_box_have_names_too() -> None:
    part = Space(x=(0, 1), t=(0, 5)).boundary("t=0", n=7)
    np.testing.assert_array_equal(part.points[:, 1], 0.0)
    np.testing.assert_array_equal(part.normals, np.tile([0.0, -1.0], (7, 1)))


def test_the_module_is_public() -> None:
    import pinnbo

    assert pinnbo.shapes is shapes
