"""Which minima are taken: new points, all different, where a measurement is possible."""

import jax.numpy as jnp
import numpy as np
import pytest

from pinnbo import Space
from pinnbo.acquisition.choice import Surroundings, choose
from pinnbo.acquisition.compiled import Compiled
from pinnbo.acquisition.feasibility import learnt
from pinnbo.acquisition.search import Effort

EFFORT = Effort(starts=8, evaluations=40)


def surroundings(dim, known=(), bad=(), n=256):
    box = Space.box(np.full(dim, -1.0), np.full(dim, 1.0))
    good, bad = (np.reshape(np.array(points, dtype=float), (-1, dim)) for points in (known, bad))
    return Surroundings(
        candidates=box.sobol(n, 0),
        others=np.zeros((0, dim)),
        favourites=np.zeros((2, dim)),
        known=np.concatenate([good, bad]),
        possible=learnt(good, bad),
    )


def bowl(centre, s):
    return jnp.sum((s - centre) ** 2)


def pick(around, n=1, centre=0.3, dim=2, seed=0):
    rng = np.random.default_rng(seed)
    points = choose(Compiled(bowl, jnp.full(dim, centre)), around, n, rng, EFFORT)
    assert points.shape == (n, dim)
    assert np.all(np.abs(points) <= 1.0)
    return points


def test_the_minimum_is_taken_when_it_is_new():
    np.testing.assert_allclose(pick(surroundings(2))[0], 0.3, atol=1e-6)


@pytest.mark.parametrize("dim", [1, 2, 10])
@pytest.mark.parametrize("centre", [0.3, 1.0])
def test_a_known_minimum_is_not_taken_again_but_its_neighbourhood_is(dim, centre):
    """Also where the minimum is a corner."""
    known = [np.full(dim, centre)]
    (found,) = pick(surroundings(dim, known), centre=centre, dim=dim)
    distance = np.linalg.norm(found - known[0])
    assert 0.02 * np.sqrt(dim) * 0.99 < distance < 0.3 * np.sqrt(dim)


def test_many_points_differ_from_each_other_and_from_the_known_ones():
    known = [[0.3, 0.3], [0.35, 0.3], [-0.5, 0.1]]
    points = pick(surroundings(2, known), n=20)
    every = np.concatenate([points, known])
    gaps = np.linalg.norm(every[:, None] - every[None], axis=2) + np.eye(len(every))
    assert gaps.min() > 1e-3


def test_a_run_never_repeats_itself():
    """The greedy argmin is asked for over and over, each answer becoming known."""
    known = np.zeros((0, 1))
    for step in range(40):
        (found,) = pick(surroundings(1, known), dim=1, seed=step)
        assert len(known) == 0 or np.abs(known - found).min() > 1e-6
        known = np.vstack([known, found])


def test_more_points_than_minima_are_filled_up_from_the_candidates():
    points = pick(surroundings(1), n=150, dim=1)
    assert len(np.unique(points)) == 150


def test_the_infeasible_region_is_avoided():
    bad = [[0.3, 0.3], [0.35, 0.25], [0.2, 0.35]]
    away = pick(surroundings(2, bad=bad), n=4)
    assert np.linalg.norm(away[:, None] - np.array(bad)[None], axis=2).min() > 0.2


def test_feasible_measurements_nearby_win_the_ground_back():
    bad, good = [[0.6, 0.6]], [[0.3, 0.31], [0.31, 0.3], [0.29, 0.29], [0.25, 0.3]]
    alone = pick(surroundings(2, bad=bad))
    trusted = pick(surroundings(2, known=good, bad=bad))
    assert np.linalg.norm(trusted - 0.3) < np.linalg.norm(alone - 0.3)


def test_the_same_random_stream_gives_the_same_points():
    around = surroundings(2, known=[[0.3, 0.3]])
    np.testing.assert_array_equal(pick(around, 5), pick(around, 5))
