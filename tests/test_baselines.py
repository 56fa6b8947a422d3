"""The baselines: each solves a small problem, follows its paper, and is found again from its measurements."""

import math
import re
import sys

import numpy as np
import pytest

from pinnbo import Optimizer, Space
from pinnbo.acquisition.choice import choose
from pinnbo.baselines import gp
from pinnbo.baselines.cma_es import CMAES
from pinnbo.baselines.gaussian_process import GaussianProcess, Negated
from pinnbo.baselines.gp import GPUCB, _improvement, _log_improvement
from pinnbo.baselines.library import require
from pinnbo.baselines.neural_bo import NeuralBO
from pinnbo.baselines.neural_greedy import NeuralGreedy
from pinnbo.baselines.proposals import n_designed, set_apart
from pinnbo.baselines.rank_one import UpdatedInverse
from pinnbo.baselines.turbo import Region, TuRBO, replay
from pinnbo.data import Data
from pinnbo.methods.base import Task
from pinnbo.methods.setup import candidates, surroundings

require("the test of the baselines", "torch", "botorch")

SPACE = Space(x=(-2.0, 3.0), y=(10.0, 11.0))
TASK = Task(SPACE, (), 1.0, 0, 1e-3)
NOTHING = np.zeros((0, 2))


def bowl(x):
    """Lowest at (1, 10.3), where it is 0; 16.9 at the farthest corner."""
    return (x[0] - 1.0) ** 2 + 16.0 * (x[1] - 10.3) ** 2


def measured(points, noise=1e-3):
    values = np.array([bowl(x) for x in points])
    return Data(points, values, np.full(len(points), noise), NOTHING)


# ---------------------------------------------------------------- all of them

# evaluations, and the value that has to be found; the best of as many random ones is about 0.4
SOLVES = {
    "gp-ei": (15, 0.02),
    "gp-ucb": (15, 0.02),
    "gp-logei": (15, 0.02),
    "optuna-gp": (25, 0.02),
    "turbo": (25, 0.02),
    "neural-greedy": (20, 0.1),
    "neural-bo": (20, 0.1),
    "optuna-tpe": (60, 0.1),
    "cma-es": (80, 0.02),
}


@pytest.mark.parametrize("goal", ["minimize", pytest.param("maximize", marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.slow) if n in ("gp-ei", "gp-ucb") else n for n in SOLVES]
)
def test_a_small_problem_is_solved(name, goal):
    sign = 1.0 if goal == "minimize" else -1.0
    n, target = SOLVES[name]
    optimizer = Optimizer(SPACE, method=name, goal=goal, noise=0.01, n_initial=5)
    rng = np.random.default_rng(3)
    asked = []
    for _ in range(n):
        x = optimizer.ask()
        asked.append(x)
        optimizer.tell(x, sign * (bowl(x) + 0.01 * rng.standard_normal()))
    assert min(bowl(x) for x in asked) < target
    assert min(bowl(x) for x in asked[:5]) > target


@pytest.mark.parametrize(
    ("name", "library"),
    [
        ("gp-ei", "torch"),
        ("gp-logei", "botorch"),
        ("turbo", "botorch"),
        ("cma-es", "cmaes"),
        ("optuna-gp", "optuna"),
        ("optuna-tpe", "optuna"),
    ],
)
def test_a_missing_library_is_one_sentence(name, library, monkeypatch):
    monkeypatch.setitem(sys.modules, library, None)
    sentence = f"{name} needs {library}, which is not installed: pip install 'pinnbo[bench]'"
    with pytest.raises(ImportError, match=re.escape(sentence)):
        Optimizer(SPACE, method=name)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: GPUCB(delta=0.0), "gp-ucb: delta must lie between 0 and 1, got 0.0"),
        (lambda: GPUCB(shrink=-1.0), "gp-ucb: shrink must be positive, got -1.0"),
        (lambda: TuRBO(length=2.0), "turbo: length must lie between 0.0078 and 1.6, got 2.0"),
        (lambda: TuRBO(successes=0), "turbo: successes must be at least 1, got 0"),
        (lambda: TuRBO(candidates=0), "turbo: candidates must be at least 1, got 0"),
        (lambda: CMAES(sigma=0.0), "cma-es: sigma must be positive, got 0.0"),
        (lambda: NeuralGreedy(learning_rate=0.0), "neural-greedy: learning_rate must be positive"),
        (lambda: NeuralGreedy(perturbation=-1.0), "neural-greedy: perturbation must not be negative"),
        (lambda: NeuralBO(regularisation=0.0), "neural-bo: regularisation must be positive"),
        (lambda: NeuralBO(exploration=-1.0), "neural-bo: exploration must not be negative"),
    ],
)
def test_refusals(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("name", ["neural-greedy", "neural-bo"])
def test_training_that_diverges_says_so(make_small, name):
    optimizer = Optimizer(SPACE, method=make_small(name, learning_rate=1e200), n_initial=2)
    optimizer.tell(SPACE.sobol(2, 0), [0.0, 1.0])
    with pytest.raises(FloatingPointError, match=f"{name}: training diverged at 2 observations"):
        optimizer.ask()


# ---------------------------------------------------------------- proposals


def test_a_new_proposal_is_taken_as_it_is(rng):
    proposal = np.array([0.5, 10.5])
    np.testing.assert_array_equal(
        set_apart(TASK, proposal, measured(SPACE.sobol(4, 0)), NOTHING, rng), proposal
    )


@pytest.mark.parametrize("where", ["measured", "pending", "infeasible"])
def test_a_known_proposal_is_moved_a_little(where, rng):
    x = SPACE.lower.copy()  # a corner, where most directions leave the box
    data = measured(x[None]) if where == "measured" else measured(NOTHING)
    pending = x[None] if where == "pending" else NOTHING
    if where == "infeasible":
        data = data._replace(infeasible=x[None])
    moved = set_apart(TASK, x, data, pending, rng)
    assert SPACE.contains(moved)
    distance = np.linalg.norm(SPACE.scale(moved) - SPACE.scale(x))
    low, high = (0.14, 0.6) if where == "infeasible" else (0.0014, 0.006)
    assert low < distance < high


def test_a_box_full_of_trouble_still_gets_a_point(rng):
    side = np.linspace(0.0, 1.0, 41)
    grid = SPACE.lower + np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2) * (
        SPACE.upper - SPACE.lower
    )
    full = measured(NOTHING)._replace(infeasible=grid)
    x = set_apart(TASK, grid[0], full, NOTHING, rng)
    assert SPACE.contains(x)
    # between the points of trouble, which are 0.05 apart
    assert np.min(np.linalg.norm(SPACE.scale(grid) - SPACE.scale(x), axis=1)) > 0.02


def test_the_design_is_recognised():
    design, steps = TASK.design(6, 0), SPACE.sobol(3, 77)
    np.testing.assert_array_equal(TASK.design(2, 4), design[4:])
    assert n_designed(TASK, measured(NOTHING)) == 0
    assert n_designed(TASK, measured(design)) == 6
    assert n_designed(TASK, measured(np.concatenate([design, steps]))) == 6
    assert n_designed(TASK, measured(np.concatenate([steps, design]))) == 0
    # the second question was lost
    assert n_designed(TASK, measured(np.concatenate([design[[0, 2, 3]], steps]))) == 3


# ---------------------------------------------------------------- Gaussian processes


def test_the_process_learns_and_knows_its_noise():
    data = measured(SPACE.sobol(25, 1))
    for kernel in ("matern", "default"):
        belief = GaussianProcess.fit(TASK, data, kernel)
        points = SPACE.sobol(30, 5)
        mean, std = belief.predict(points)
        truth = np.array([bowl(x) for x in points])
        assert np.sqrt(np.mean((mean - truth) ** 2)) < 0.1 * np.std(truth)
        assert np.mean(np.abs(mean - truth) < 3 * std) > 0.9
        at_data = belief.predict(data.points)
        np.testing.assert_allclose(at_data.mean, data.values, atol=0.05)
        loud = GaussianProcess.fit(TASK, data._replace(noise=np.full(25, 2.0)), kernel)
        assert loud.predict(data.points).std.mean() > 5 * at_data.std.mean()


def test_a_point_under_way_is_less_worth():
    """The mean stays, the deviation falls; with the noise given and with the noise found."""
    x = np.array([2.5, 10.9])
    data = measured(SPACE.sobol(6, 1))
    for known in (data, data._replace(noise=np.full(6, np.nan))):
        belief = GaussianProcess.fit(TASK, known, "matern")
        before, after = belief.predict(x[None]), belief.believing(x).predict(x[None])
        np.testing.assert_allclose(after.mean, before.mean, atol=1e-3)
        assert after.std[0] < 0.3 * before.std[0]


def test_maximising_is_minimising_with_the_sign_changed():
    data = measured(SPACE.sobol(12, 1))
    up = Task(SPACE, (), -1.0, 0, 1e-3)
    low = GaussianProcess.fit(TASK, data, "matern").predict(data.points[:3] + 0.1)
    high = GaussianProcess.fit(up, data._replace(values=-data.values), "matern").predict(
        data.points[:3] + 0.1
    )
    np.testing.assert_allclose(low.mean, -high.mean, rtol=1e-6)
    np.testing.assert_allclose(low.std, high.std, rtol=1e-6)


def test_the_slope_of_an_acquisition(rng):
    data = measured(SPACE.sobol(8, 1))
    objective = _log_improvement(GaussianProcess.fit(TASK, data, "default"), data, 8)
    s = rng.uniform(-0.9, 0.9, (3, 2))
    values, slopes = objective.values_and_slopes(s)
    np.testing.assert_allclose(values, objective.values(s), rtol=1e-9)
    for axis in range(2):
        step = 1e-5 * np.eye(2)[axis]
        difference = (objective.values(s + step) - objective.values(s - step)) / 2e-5
        np.testing.assert_allclose(slopes[:, axis], difference, rtol=1e-3, atol=1e-4)


def test_what_is_not_finite_is_avoided():
    import torch

    objective = Negated(lambda x: torch.where(x[:, 0, 0] > 0.5, x.sum(dim=(1, 2)), torch.nan))
    values, slopes = objective.values_and_slopes(np.array([[-0.5, 0.0], [0.5, 0.0]]))
    np.testing.assert_array_equal(values, [np.inf, -1.25])
    np.testing.assert_array_equal(slopes[1], [-0.5, -0.5])
    assert np.isfinite(slopes).all()


@pytest.mark.filterwarnings("ignore")
def test_the_search_is_as_good_as_botorchs():
    """The acquisition's value at our suggestion is not below that of optimize_acqf at its documented effort."""
    import torch
    from botorch.optim import optimize_acqf

    space = Space.box([-1.0] * 6, [1.0] * 6)
    task = Task(space, (), 1.0, 0, 0.01)
    points = space.sobol(30, 1)
    values = np.sum(points**2, axis=1) - 0.3 * np.sum(np.cos(4.0 * points), axis=1)
    data = Data(points, values, np.full(30, 0.01), np.zeros((0, 6)))
    belief = GaussianProcess.fit(task, data, "default")
    objective = _log_improvement(belief, data, 30)
    around = surroundings(task, candidates(task)[:512], data, np.zeros((0, 6)))
    (ours,) = choose(objective, around, 1, np.random.default_rng(0), gp._EFFORT)
    torch.manual_seed(0)
    bounds = torch.tensor([[0.0] * 6, [1.0] * 6], dtype=torch.float64)
    _, theirs = optimize_acqf(objective.acquisition, bounds, q=1, num_restarts=10, raw_samples=512)
    assert -objective.values(ours[None])[0] > float(theirs) - 0.01


def test_log_improvement_is_the_logarithm_of_the_improvement(rng):
    data = measured(SPACE.sobol(8, 1))
    belief = GaussianProcess.fit(TASK, data, "matern")
    s = rng.uniform(-1.0, 1.0, (20, 2))
    plain, logarithm = -_improvement(belief, data, 8).values(s), -_log_improvement(belief, data, 8).values(s)
    likely = plain > 1e-12
    assert likely.sum() > 3
    np.testing.assert_allclose(np.exp(logarithm[likely]), plain[likely], rtol=1e-6)


def test_the_bound_is_that_of_srinivas():
    assert GPUCB(delta=0.1, shrink=1.0).beta(3, 7) == pytest.approx(2 * math.log(3 * 49 * math.pi**2 / 0.6))
    assert GPUCB().beta(3, 7) == pytest.approx(0.2 * GPUCB(shrink=1.0).beta(3, 7))
    data = measured(SPACE.sobol(8, 1))
    belief = GaussianProcess.fit(TASK, data, "matern")
    s = np.array([[0.3, -0.7]])
    mean, std = belief.standardised(SPACE.unscale(s))
    expected = mean - math.sqrt(GPUCB().beta(2, 9)) * std
    np.testing.assert_allclose(GPUCB()._bound(belief, data, 9).values(s), expected, rtol=1e-6)


# ---------------------------------------------------------------- TuRBO


def test_the_region_grows_shrinks_and_begins_again():
    settings = TuRBO()
    design = [5.0, 4.0, 3.0]
    better = [2.0, 1.5, 1.0]
    assert replay(np.array(design), 3, settings, 2) == Region(0, 3, 0.8, best=3.0)
    assert replay(np.array(design + better), 3, settings, 2).length == 1.6
    # the longest side there is
    assert replay(np.array([*design, *better, 0.5, 0.2, 0.1]), 3, settings, 2).length == 1.6
    three = replay(np.array([*design, 9.0, 9.0, 9.0]), 3, settings, 2)
    assert (three.length, three.failures) == (0.8, 3)
    assert replay(np.array([*design, *[9.0] * 4]), 3, settings, 2).length == 0.4
    # a success in between starts the count again, and a thousandth is none
    assert replay(np.array([*design, 9.0, 9.0, 2.0, 9.0, 9.0]), 3, settings, 2).length == 0.8
    assert replay(np.array([*design, 9.0, 9.0, 9.0, 2.9999]), 3, settings, 2).length == 0.4
    # in ten dimensions ten failures
    assert replay(np.array([*design, *[9.0] * 9]), 3, settings, 10).length == 0.8
    assert replay(np.array([*design, *[9.0] * 10]), 3, settings, 10).length == 0.4
    # 0.8 -> 0.00625 after seven halvings: everything is forgotten
    again = replay(np.array([*design, *[9.0] * 28, 7.0]), 3, settings, 2)
    assert again == Region(31, 3, 0.8, best=7.0)


def test_after_a_restart_a_new_design_is_asked_for():
    optimizer = Optimizer(SPACE, method="turbo", n_initial=3)
    asked = []
    for number in range(36):
        x = optimizer.ask()
        asked.append(x)
        optimizer.tell(x, float(number))  # worse every time
    assert optimizer.diagnostics()["region_measurements"] == 5
    np.testing.assert_array_equal(asked[31:34], SPACE.sobol(3, [0, 8, 31]))
    assert optimizer.diagnostics()["region_side"] == 0.8


def test_suggestions_lie_in_the_region():
    optimizer = Optimizer(SPACE, method=TuRBO(length=0.1), n_initial=8, noise=1e-3)
    points = optimizer.ask(8)
    optimizer.tell(points, [bowl(x) for x in points])
    best = min(points, key=bowl)
    asked = np.array([optimizer.ask() for _ in range(5)])
    offset = np.abs(asked - best) / (SPACE.upper - SPACE.lower)
    # two sides whose product is that of the square of the region
    assert np.prod(offset, axis=1).max() <= (0.1 / 2) ** 2
    assert np.prod(offset.max(axis=0)) > 1e-6


# ---------------------------------------------------------------- CMA-ES


def test_generations_are_found_again_from_the_measurements():
    """The strategy that the library itself carries along is the one that is replayed."""
    from cmaes import CMA

    rng = np.random.default_rng(0)
    design = TASK.design(5, 0)
    steps = SPACE.lower + rng.random((20, 2)) * (SPACE.upper - SPACE.lower)
    data = measured(np.concatenate([design, steps]))
    engine = CMAES().start(TASK)
    unit = (data.points - SPACE.lower) / (SPACE.upper - SPACE.lower)
    start = unit[int(np.argmin(data.values[:5]))]
    own = CMA(start, 0.25, np.array([[0.0, 1.0]] * 2))
    for begin in (5, 11, 17):
        own.tell([(unit[i], data.values[i]) for i in range(begin, begin + 6)])
    found = engine._replay(data)
    assert found.generation == 3
    np.testing.assert_allclose(found.mean, own.mean, rtol=1e-9)
    assert engine.diagnostics(data) == {"model": "none", "generation": 3, "population": 6}


def test_a_strategy_that_has_converged_begins_again_with_twice_the_population():
    x = SPACE.centre
    data = Data(np.tile(x, (400, 1)), np.zeros(400), np.full(400, np.nan), NOTHING)
    population = CMAES().start(TASK).diagnostics(data)["population"]
    assert population >= 12
    assert population % 6 == 0


# ---------------------------------------------------------------- networks


def test_the_updated_inverse_is_the_inverse(rng):
    g = rng.standard_normal((7, 12))
    inverse = UpdatedInverse.identity(12)
    for row in g:
        inverse = inverse.updated(row)
    inverse = inverse.updated(np.zeros(12))
    expected = np.linalg.inv(np.eye(12) + g.T @ g)
    roots = inverse.root_transposed(np.eye(12))
    np.testing.assert_allclose(roots @ roots.T, expected, atol=1e-12)
    root = np.array([inverse.root(z) for z in np.eye(12)]).T
    np.testing.assert_allclose(root @ root.T, expected, atol=1e-12)


def test_neural_bo_is_certain_where_it_has_measured(make_small):
    optimizer = Optimizer(SPACE, method=make_small("neural-bo", regularisation=1e-2), n_initial=4)
    x, far = np.array([[-1.5, 10.1]]), np.array([[2.9, 10.9]])
    before = optimizer.predict(x).std[0]
    optimizer.tell(x[0], 1.0)
    optimizer.tell(x[0], 3.0)
    assert optimizer.predict(x).std[0] < 0.2 * before
    assert optimizer.predict(far).std[0] > 0.5 * before


def test_neural_bo_explores_as_much_as_it_is_told(make_small):
    """Without exploration the minimiser of the network, always the same; with it, others."""
    data = measured(SPACE.sobol(6, 0))
    spreads = []
    for exploration in (0.0, 3.0):
        engine = make_small("neural-bo", exploration=exploration).start(TASK)
        asked = [SPACE.scale(engine.suggest(data, NOTHING, 1, index)[0]) for index in range(5)]
        spreads.append(np.ptp(asked, axis=0).max())
    assert spreads[0] < 0.1
    assert spreads[1] > 0.5


def test_neural_greedy_perturbs_its_targets(make_small):
    """Two networks of one draw of weights differ by the perturbation, and the mean does not know it."""
    data = measured(SPACE.sobol(6, 0))
    engines = [make_small("neural-greedy", perturbation=p).start(TASK) for p in (0.0, 5.0)]
    still, moved = (engine.suggest(data, NOTHING, 1, 0)[0] for engine in engines)
    assert np.linalg.norm(SPACE.scale(still) - SPACE.scale(moved)) > 0.01
    means = [engine.predict(data, data.points).mean for engine in engines]
    np.testing.assert_array_equal(*means)
