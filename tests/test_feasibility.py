"""Where a measurement is possible: the classifier against exact probabilities, its slopes, and the search it steers."""

import math

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import multivariate_normal

from pinnbo import PDE, Optimizer, Space
from pinnbo.acquisition.choice import Surroundings, choose
from pinnbo.acquisition.compiled import Compiled
from pinnbo.acquisition.feasibility import Classifier, Everywhere, Weighed, learnt, propagate
from pinnbo.acquisition.search import Effort
from pinnbo.data import Data
from pinnbo.methods import Task
from pinnbo.methods.setup import fill
from pinnbo.operators import laplacian

BOX = Space(x=(-1.0, 1.0), y=(-1.0, 1.0))


def labelled(n, seed=0, region=lambda p: p[:, 0] < 0.3, dim=2):
    points = np.random.default_rng(seed).uniform(-1.0, 1.0, (n, dim))
    return points, region(points)


def matern(points, scale):
    r = math.sqrt(5.0) / scale * np.linalg.norm(points[:, None] - points, axis=2)
    return 1.0 + (1.0 + r + r**2 / 3.0) * np.exp(-r)


@pytest.mark.parametrize("n", [1, 2, 4])
def test_the_evidence_is_that_of_an_orthant(n):
    points, possible = labelled(n, seed=n, region=lambda p: p[:, 0] < 0.0)
    sign, covariance = np.where(possible, 1.0, -1.0), matern(points, 0.7)
    *_, log_evidence = propagate(covariance[None], sign, 1.0, 1e-6)
    flipped = sign[:, None] * sign * (covariance + 1e-6 * np.eye(n))
    exact = multivariate_normal(-sign, flipped).cdf(np.zeros(n))
    assert log_evidence[0] == pytest.approx(math.log(exact), abs=0.1)


def test_a_place_is_as_likely_as_the_orthants_say(monkeypatch):
    monkeypatch.setattr("pinnbo.acquisition.feasibility._SCALES", (0.5,))
    points = np.array([[0.0, 0.0], [0.6, 0.1], [-0.5, 0.4]])
    sign = np.array([1.0, -1.0, 1.0])
    classifier = Classifier.learn(points, sign > 0)
    for s in ([0.3, 0.0], [0.5, -0.2], [-0.9, -0.9], [0.58, 0.1]):
        every, signs = np.vstack([points, s]), np.append(sign, 1.0)
        joint = signs[:, None] * signs * (matern(every, 0.5 * math.sqrt(2.0)) + 1e-6 * np.eye(4))
        exact = multivariate_normal(-2.0 * signs, joint).cdf(np.zeros(4))
        given = multivariate_normal(-2.0 * sign, joint[:3, :3]).cdf(np.zeros(3))
        assert classifier.probability(np.array([s]))[0] == pytest.approx(exact / given, abs=0.02)


@pytest.mark.parametrize("dim", [1, 2, 5])
def test_slopes_are_the_derivatives(dim):
    points, possible = labelled(12, seed=3, dim=dim)
    classifier = Classifier.learn(points, possible)
    at = np.random.default_rng(1).uniform(-1.0, 1.0, (6, dim))
    _, slopes = classifier.log_probability(at, slopes=True)
    step = 1e-6 * np.eye(dim)
    numeric = [
        (classifier.log_probability(at + e)[0] - classifier.log_probability(at - e)[0]) / 2e-6 for e in step
    ]
    np.testing.assert_allclose(slopes, np.transpose(numeric), rtol=1e-5, atol=1e-6)


def test_labels_are_believed_and_far_places_are_possible():
    points, possible = labelled(20, region=lambda p: np.linalg.norm(p - 0.5, axis=1) > 0.4)
    probability = Classifier.learn(points, possible).probability(points)
    assert np.all(probability[possible] > 0.97)
    assert np.all(probability[~possible] < 0.01)
    one_bad = learnt(np.zeros((0, 2)), np.array([[1.0, 1.0]]))
    assert one_bad.probability(np.array([[-1.0, -1.0]]))[0] > 0.4


def test_without_an_impossible_point_every_place_is_possible():
    assert not learnt(np.zeros((3, 2)), np.zeros((0, 2))).is_learnt


def test_probabilities_mean_what_they_say():
    """Over many half planes: of the places with P near p, a share p is possible."""
    rng, chance, truth = np.random.default_rng(5), [], []
    for seed in range(20):
        normal, offset = rng.standard_normal(2), rng.uniform(-0.5, 0.5)
        points, possible = labelled(15, seed, lambda p, u=normal, c=offset: p @ u < c)
        if possible.all() or not possible.any():
            continue
        at = rng.uniform(-1.0, 1.0, (400, 2))
        chance.append(Classifier.learn(points, possible).probability(at))
        truth.append(at @ normal < offset)
    chance, truth = np.concatenate(chance), np.concatenate(truth)
    for low, high in ((0.0, 0.2), (0.2, 0.4), (0.6, 0.8), (0.8, 1.0)):
        inside = (chance >= low) & (chance <= high)
        # half planes are simpler than what the model allows for: it may be less sure than it could be
        assert low - 0.2 < truth[inside].mean() < high + 0.2


def test_contradictory_labels_at_one_place_are_survived():
    at = np.array([[0.2, 0.2], [0.2, 0.2], [0.2, 0.2], [-0.5, 0.0]])
    chance = Classifier.learn(at, np.array([True, False, True, True])).probability(at)
    assert np.all(np.isfinite(chance))
    assert chance[3] > 0.9


def test_very_many_points_cost_no_more_than_some():
    points, possible = labelled(3000)
    classifier = Classifier.learn(points, possible)
    assert len(classifier.points) == 128
    at = np.array([[0.2, 0.0], [0.4, 0.0], [-0.9, 0.9], [0.9, -0.9]])
    np.testing.assert_array_equal(classifier.probability(at) > 0.5, [True, False, True, False])


def bowl(centre, s):
    return jnp.sum((s - centre) ** 2)


@pytest.mark.parametrize("unit", [1.0, 1e6])
def test_a_function_to_be_minimised_is_weighed_whatever_its_unit(unit):
    points, possible = labelled(10, seed=2)
    objective = Compiled(lambda c, s: unit * bowl(c, s), jnp.full(2, 0.6))
    candidates, favourites = BOX.sobol(64, 0), points[possible][:2]
    weighed = Weighed.of(objective, Classifier.learn(points, possible), candidates, favourites)
    at = BOX.sobol(8, 3)
    value, slope = weighed.values_and_slopes(at)
    np.testing.assert_allclose(value, weighed.values(at), rtol=1e-12)
    numeric = [(weighed.values(at + e) - weighed.values(at - e)) / 2e-6 for e in 1e-6 * np.eye(2)]
    np.testing.assert_allclose(slope, np.transpose(numeric), rtol=1e-4, atol=1e-4)


def test_where_all_is_possible_the_weight_changes_nothing():
    objective = Compiled(bowl, jnp.full(2, 0.3))
    weighed = Weighed.of(objective, Everywhere(), BOX.sobol(64, 0), np.zeros((1, 2)))
    at = BOX.sobol(64, 1)
    np.testing.assert_array_equal(np.argsort(weighed.values(at)), np.argsort(objective.values(at)))


def bisected(n, known, rim):
    """A greedy search of the largest coordinate on [-1, 1], impossible beyond the rim."""
    good = [x for x in known if x <= rim]
    bad = [x for x in known if x > rim]
    for index in range(n):
        around = Surroundings(
            candidates=np.linspace(-1.0, 1.0, 101)[:, None],
            others=np.zeros((0, 1)),
            favourites=np.array([[max(good)]]),
            known=np.array([good + bad]).T,
            possible=learnt(np.array([good]).T, np.array([bad]).T),
        )
        objective = Compiled(lambda _, s: -s[0], jnp.zeros(1))
        effort = Effort(starts=4, evaluations=30)
        ((x,),) = choose(objective, around, 1, np.random.default_rng(index), effort)
        (good if x <= rim else bad).append(float(x))
    return max(good)


@pytest.mark.parametrize("rim", [0.123, 0.9])
def test_a_rim_is_found_by_bisection(rim):
    assert rim - bisected(9, [-1.0, 1.0], rim) < 0.02


def test_points_that_fill_the_box_leave_impossible_places_out_and_never_repeat():
    task = Task(BOX, (), 1.0, 0, None)
    design = task.design(40, 0)
    bad = design[:20][design[:20, 0] > 0.0]
    good = design[:20][design[:20, 0] <= 0.0]
    data = Data(good, np.zeros(len(good)), np.full(len(good), np.nan), bad)
    pending = np.zeros((0, 2))
    for index in range(20, 30):
        (x,) = fill(task, data, pending, 1, index)
        assert x[0] < 0.2
        assert np.min(np.linalg.norm(np.concatenate([good, bad, pending]) - x, axis=1)) > 1e-6
        pending = np.vstack([pending, x])
    np.testing.assert_array_equal(
        fill(task, data._replace(infeasible=bad[:0]), pending, 3, 5), task.design(3, 5)
    )


def best_of(f, possible, n, method="auto", pde=None):
    optimizer = Optimizer(BOX, pde, goal="maximize", method=method, seed=0)
    best = -math.inf
    for _ in range(n):
        x = optimizer.ask()
        y = f(x) if possible(x) else math.nan
        best = best if math.isnan(y) else max(best, y)
        optimizer.tell(x, y)
    return best


@pytest.mark.filterwarnings("ignore::pinnbo.PhysicsWarning")
def test_a_nan_in_a_corner_does_not_hide_the_optimum_beside_it():
    """exp(x) cos(y - 0.8), NaN only for x, y > 0.97: the best is e, at (1, 0.8)."""
    best = best_of(
        lambda x: math.exp(x[0]) * math.cos(x[1] - 0.8),
        lambda x: not np.all(x > 0.97),
        12,
        pde=PDE(laplacian),
    )
    assert best > math.e - 0.03


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pinnbo.PhysicsWarning")
def test_the_optimum_on_the_rim_of_a_half_plane_is_found():
    """exp(2 x) cos(2 y), NaN for x > 0.5: the best is e on the rim, in a range of 4.6."""
    best = best_of(
        lambda x: math.exp(2 * x[0]) * math.cos(2 * x[1]), lambda x: x[0] <= 0.5, 30, pde=PDE(laplacian)
    )
    assert best > math.e - 0.046


@pytest.mark.parametrize("method", ["auto", "ntk"])
def test_methods_do_not_go_on_asking_where_nothing_can_be_measured(method):
    """The best possible value, -0.16, lies on the rim x = 0.4 of what is possible."""
    from pinnbo.methods.ntk import NTK

    chosen = NTK(width=20, depth=2) if method == "ntk" else method
    best = best_of(lambda x: -((x[0] - 0.8) ** 2) - x[1] ** 2, lambda x: x[0] <= 0.4, 22, chosen)
    assert best > -0.3
