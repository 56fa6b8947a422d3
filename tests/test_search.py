"""The argmin over the box: exact at corners and on faces, sharp inside, and unharmed by NaN."""

import jax.numpy as jnp
import numpy as np
import pytest

from pinnbo import Space
from pinnbo.acquisition.compiled import Compiled
from pinnbo.acquisition.feasibility import Everywhere, Weighed
from pinnbo.acquisition.search import Effort, Objective, minimise

EFFORT = Effort(starts=8, evaluations=60)


def starts(dim, n=256):
    box = Space.box(np.full(dim, -1.0), np.full(dim, 1.0))
    return box.sobol(n, 0), np.zeros((0, dim)), np.zeros((1, dim))


def find(acquisition, parameters, dim, effort=EFFORT):
    minima = minimise(Compiled(acquisition, parameters), *starts(dim), effort)
    points, values = np.asarray(minima.points), np.asarray(minima.values)
    assert np.all(np.abs(points) <= 1.0)
    assert np.all(values[1:] >= values[:-1])
    return points, values


def bowl(centre, s):
    """An ill-conditioned quadratic."""
    curvature = jnp.logspace(0.0, 3.0, s.size)
    return jnp.sum(curvature * (s - centre) ** 2)


def plane(slope, s):
    return jnp.dot(slope, s)


@pytest.mark.parametrize("dim", [1, 2, 10])
def test_an_optimum_inside_is_found_to_a_millionth(dim, rng):
    centre = rng.uniform(-0.8, 0.8, dim)
    points, values = find(bowl, jnp.asarray(centre), dim, Effort())
    np.testing.assert_allclose(points[0], centre, rtol=0, atol=1e-6)
    # and from every start, not from a lucky one
    assert values[-1] < 1e-8


def in_units(parameters, s):
    centre, unit = parameters
    return unit * bowl(centre, s)


@pytest.mark.parametrize("unit", [1e-15, 1e-6, 1e3, 1e12])
def test_the_units_of_the_acquisition_do_not_matter(unit):
    """A search whose first step has the length of the slope never moves when f is large."""
    centre = jnp.array([0.2, -0.4, 0.6])
    points, _ = find(in_units, (centre, jnp.asarray(unit)), 3)
    np.testing.assert_allclose(points, np.tile(centre, (len(points), 1)), rtol=0, atol=1e-6)


@pytest.mark.parametrize("dim", [1, 2, 20])
def test_corners_are_reached_exactly(dim, rng):
    slope = rng.normal(size=dim)
    points, _ = find(plane, jnp.asarray(slope), dim)
    np.testing.assert_array_equal(points, np.broadcast_to(-np.sign(slope), points.shape))


def test_faces_are_reached_exactly_and_followed():
    """The constrained optimum of a tilted bowl: some coordinates on a face, the others inside."""
    centre = jnp.array([1.7, 0.3, -2.0, -0.4])
    points, _ = find(bowl, centre, 4)
    np.testing.assert_array_equal(points[:, [0, 2]], np.tile([1.0, -1.0], (len(points), 1)))
    np.testing.assert_allclose(points[0, [1, 3]], [0.3, -0.4], atol=1e-6)


def coupled(centre, s):
    """A bowl whose axes are mixed: following a face is not a matter of single coordinates."""
    mixed = jnp.array([[1.0, 0.8, 0.0], [0.0, 1.0, 0.8], [0.3, 0.0, 1.0]]) @ (s - centre)
    return jnp.sum(mixed**2)


def test_a_face_is_left_again_when_that_pays():
    centre = jnp.array([0.2, -0.1, 0.5])
    corner = np.array([[1.0, 1.0, 1.0], [-1.0, -1.0, -1.0], [1.0, -1.0, 1.0]])
    minima = minimise(Compiled(coupled, centre), corner, corner[:0], corner, EFFORT)
    np.testing.assert_allclose(minima.points, np.tile(centre, (len(minima.points), 1)), rtol=0, atol=1e-6)


def rosenbrock(scale, s):
    t = scale * s
    return jnp.sum(100.0 * (t[1:] - t[:-1] ** 2) ** 2 + (1.0 - t[:-1]) ** 2)


def test_a_curved_valley_is_followed():
    points, values = find(rosenbrock, jnp.asarray(2.0), 4, Effort(starts=8, evaluations=300))
    np.testing.assert_allclose(points[0], 0.5, atol=1e-4)
    assert values[0] < 1e-8


def waves(frequency, s):
    return jnp.sum(s**2 - 0.5 * jnp.cos(frequency * s))


def test_the_best_of_many_minima():
    points, _ = find(waves, jnp.asarray(12.0), 2, Effort())
    np.testing.assert_allclose(points[0], 0.0, atol=1e-6)


def holed(edge, s):
    """Not a number on most of the box; the minimum lies against the edge of it."""
    return jnp.where(s[0] > edge, jnp.nan, (s[0] - 0.5) ** 2 + s[1] ** 2)


def test_regions_of_nan_survive():
    points, values = find(holed, jnp.asarray(-0.2), 2)
    assert np.isfinite(values[0])
    assert points[0, 0] <= -0.2
    assert points[0, 0] > -0.3
    assert abs(points[0, 1]) < 0.05


def nowhere(_, s):
    return jnp.nan * jnp.sum(s)


def test_nan_everywhere_still_gives_points_of_the_box():
    points, values = find(nowhere, jnp.asarray(0.0), 2)
    assert np.isfinite(points).all()
    assert np.isposinf(values).all()


def well(place, s):
    return -jnp.exp(-jnp.sum((s - place) ** 2) / 2e-6)


def test_favourites_are_starts():
    """A narrow well that no candidate sees."""
    hidden = np.array([[0.31234, -0.71234]])
    minima = minimise(Compiled(well, hidden[0] + 1e-4), *starts(2)[:2], hidden, EFFORT)
    assert minima.values[0] == pytest.approx(-1.0, abs=1e-9)


def test_values_are_given_and_infinity_where_there_are_none(rng):
    points = rng.uniform(-1.0, 1.0, (1500, 2))
    values = Compiled(holed, jnp.asarray(0.0)).values(points)
    good = points[:, 0] <= 0
    np.testing.assert_allclose(values[good], (points[good, 0] - 0.5) ** 2 + points[good, 1] ** 2)
    assert np.isposinf(values[~good]).all()


def valleys(centre, s):
    """A sum of functions with eight valleys each: 8^20 in all."""
    return jnp.sum((s - centre) ** 2 - 0.3 * jnp.cos(25.0 * (s - centre)))


def test_a_sweep_over_the_axes_finds_the_lowest_of_very_many_valleys(rng):
    centre = rng.uniform(-0.8, 0.8, 20)
    points, values = find(valleys, jnp.asarray(centre), 20)
    np.testing.assert_allclose(points[0], centre, rtol=0, atol=1e-5)
    unswept = find(valleys, jnp.asarray(centre), 20, Effort(starts=8, evaluations=60, sweeps=0))[1]
    assert unswept[0] > values[0] + 0.1


class Counted(Objective):
    """A round bowl that notes how many points it is asked for with slopes."""

    def __init__(self, one_shape):
        self.asked, self._one_shape = [], one_shape

    @property
    def one_shape(self):
        return self._one_shape

    def values(self, points):
        return np.sum(points**2, axis=1)

    def values_and_slopes(self, points):
        self.asked.append(len(points))
        return self.values(points), 2.0 * points


@pytest.mark.parametrize("one_shape", [True, False])
def test_starts_that_have_arrived_are_not_evaluated_again_unless_a_batch_has_one_size(one_shape):
    objective = Counted(one_shape)
    minima = minimise(objective, *starts(2), EFFORT)
    np.testing.assert_allclose(minima.points, 0.0, atol=1e-6)
    every = objective.asked[0]
    assert every == EFFORT.starts + 3  # two sweeps and one favourite, which is the minimum itself
    assert max(objective.asked[1:]) == every if one_shape else max(objective.asked[1:]) < every


def test_an_objective_that_is_weighed_has_batches_like_its_own():
    for one_shape in (True, False):
        assert Weighed(Counted(one_shape), Everywhere(), 0.0, 1.0).one_shape == one_shape


def test_other_starts_are_a_pool_with_the_candidates():
    """A narrow well that only one of them sees."""
    hidden = np.array([[0.31234, -0.71234]])
    candidates, none, favourites = starts(2)
    objective = Compiled(well, hidden[0] + 1e-4)
    assert minimise(objective, candidates, hidden, favourites, EFFORT).values[0] == pytest.approx(
        -1.0, abs=1e-9
    )
    assert minimise(objective, candidates, none, favourites, EFFORT).values[0] > -0.5


def test_starts_that_are_neighbours_of_a_better_one_come_last():
    """Two valleys, the candidates crowded in the better: the other one is tried, too."""

    def two(_, s):
        return jnp.minimum(jnp.sum((s - 0.5) ** 2), jnp.sum((s + 0.5) ** 2) + 0.01)

    crowd = 0.5 + 0.01 * np.random.default_rng(0).standard_normal((12, 2))
    pool = np.concatenate([crowd, [[-0.4, -0.4]]])
    found = minimise(Compiled(two, jnp.zeros(1)), pool, pool[:0], crowd[:1], Effort(starts=2, sweeps=0))
    assert len(found.values) == 3
    np.testing.assert_allclose(found.points[-1], -0.5, atol=1e-5)


def test_a_tolerance_ends_the_search_early():
    quick, whole = Counted(False), Counted(False)
    centre = 0.3

    def shifted(objective):
        base = objective.values_and_slopes
        objective.values = lambda points: np.sum(np.cosh(3.0 * (points - centre)), axis=1)
        objective.values_and_slopes = lambda points: (
            base(points) and objective.values(points),
            3.0 * np.sinh(3.0 * (points - centre)),
        )
        return objective

    rough = minimise(shifted(quick), *starts(2), Effort(starts=8, sweeps=0, tolerance=1e-2))
    exact = minimise(shifted(whole), *starts(2), Effort(starts=8, sweeps=0))
    assert sum(quick.asked) < sum(whole.asked)
    assert exact.values[0] <= rough.values[0] < exact.values[0] + 1e-2
