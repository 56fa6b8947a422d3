"""``auto`` end to end: trust in the physics, suggestions, restarts, nonlinear equations, units."""

import json
from dataclasses import replace
from functools import cache

import jax.numpy as jnp
import numpy as np
import pytest

from pinnbo import PDE, Optimizer, Space, problems
from pinnbo.acquisition.policy import Explore, Hedge, Improve, Thompson
from pinnbo.data import Data, stage_of
from pinnbo.ensemble import registry
from pinnbo.ensemble.family import Family
from pinnbo.gp.conditioning import plain
from pinnbo.gp.kernels import RBF
from pinnbo.methods.auto import Auto, PhysicsWarning, hypotheses
from pinnbo.methods.base import Task
from pinnbo.operators import gradient, laplacian, partial

BOX = Space(x=(-1.0, 2.0), y=(0.5, 1.5))
WIDE = Space(x=(-5.0, 10.0), y=(0.0, 15.0))
CHEAP = Auto(collocation=60)
VISCOSITY = 0.3
HARMONIC = PDE(laplacian, name="harmonic")
# solved by exp(x y); the additive family, which takes longer, does not separate it
BOUND = PDE(lambda f: lambda x: laplacian(f)(x) - jnp.sum(x**2) * f(x), name="bound")


def harmonic(points):
    return np.exp(points[:, 0]) * np.cos(points[:, 1])


def growth(points):
    return np.exp(points[:, 0] * points[:, 1])


def bowl(points):
    return (points[:, 0] - 2.0) ** 2 + (points[:, 1] - 5.0) ** 2


def branin(points):
    x, y = points.T
    ridge = y - 5.1 * x**2 / (4 * np.pi**2) + 5 * x / np.pi - 6
    return ridge**2 + 10 * (1 - 1 / (8 * np.pi)) * np.cos(x) + 10


def burgers(f):
    return lambda x: f(x) * partial(f, 0)(x) - VISCOSITY * laplacian(f)(x)


BURGERS = PDE(burgers)


def gentle(points):
    return front(points, (0.8, 0.7))


def front(points, steepness):
    """A travelling front -A tanh(a x + b y + c), which solves f f_x = nu lap f for A a = 2 nu (a^2 + b^2)."""
    a, b = steepness
    return -2 * VISCOSITY * (a**2 + b**2) / a * np.tanh(points @ np.array([a, b]) - 1.5)


def eikonal(f):
    return lambda x: jnp.sum(gradient(f)(x) ** 2)


def measured(space, pde, truth, n, seed=0, method=CHEAP, **options):
    """An optimiser that was told n values at points of a Sobol sequence."""
    optimizer = Optimizer(space, pde, method=method, seed=seed, **options)
    points = space.sobol(n, seed) if n else np.zeros((0, space.dim))
    if n:
        optimizer.tell(points, truth(points))
    return optimizer


@cache
def known(*arguments, **options):
    """The same, for tests that only look at it."""
    return measured(*arguments, **options)


def error(optimizer, truth):
    points = optimizer.space.sobol(128, 99)
    return float(np.sqrt(np.mean((optimizer.predict(points).mean - truth(points)) ** 2)))


# ---------------------------------------------------------------- calibration


@pytest.mark.slow
def test_intervals_cover_functions_drawn_from_the_prior():
    """Family and length scale are drawn as well: scales fitted to a dozen values would be too sure of themselves."""
    families = hypotheses(Auto(), Task(BOX, (), 1.0, 0, 0.03))[0].groups["plain"]
    nothing = Data(np.zeros((0, 2)), np.zeros(0), np.zeros(0), np.zeros((0, 2)))
    covered = []
    for seed in range(60):
        rng = np.random.default_rng([seed, 51])
        family = families[rng.integers(len(families))]
        weights = np.exp([family.log_prior(scales) for scales in family.grid])
        scales = family.grid[rng.choice(len(weights), p=weights / weights.sum())]
        kernel = family.process(scales, nothing).kernel
        points = rng.uniform(BOX.lower, BOX.upper, (112, 2))
        root = np.linalg.cholesky(
            kernel.values(BOX.scale(points), BOX.scale(points)) + 1e-9 * np.eye(len(points))
        )
        values = root @ rng.standard_normal(len(points))
        optimizer = Optimizer(BOX, seed=seed, noise=0.03)
        optimizer.tell(points[:12], values[:12] + 0.03 * rng.standard_normal(12))
        mean, std = optimizer.predict(points[12:])
        covered.append(np.abs(values[12:] - mean) < 1.96 * std)
    assert 0.91 < np.mean(covered) < 0.99, f"covered {np.mean(covered):.3f}"


# ---------------------------------------------------------------- trust


def test_a_true_equation_is_trusted_with_any_number_of_measurements():
    """Also with so few that a model without it could explain them as well."""
    trusts = [known(BOX, HARMONIC, harmonic, n).diagnostics()["trust"] for n in (0, 4, 12)]
    assert min(trusts) > 0.7
    assert trusts[-1] > 0.95
    assert trusts[0] == pytest.approx(6 / 7)  # the prior odds


def test_a_false_equation_is_found_out_with_one_warning_and_costs_little():
    """Warnings are errors in tests: a second one would fail."""
    optimizer = measured(WIDE, HARMONIC, bowl, 15)
    with pytest.warns(PhysicsWarning, match="the 15 measurements contradict the stated physics"):
        trust = optimizer.diagnostics()["trust"]
    assert trust < 1e-4
    assert error(optimizer, bowl) < 1.2 * error(measured(WIDE, None, bowl, 15), bowl) + 1e-3
    optimizer.tell([3.0, 3.0], 5.0)
    assert optimizer.diagnostics()["trust"] < 1e-4


def test_an_equation_that_is_a_tenth_off_is_called_nearly_true_and_not_warned_about():
    """A weak source that nobody knows of; warnings are errors in tests."""
    optimizer = measured(
        BOX, HARMONIC, lambda p: harmonic(p) + 0.1 * np.sum(p**2, axis=1), 30, method=Auto(), noise=0.003
    )
    found = optimizer.diagnostics()
    assert found["hypotheses"]["nearly true"] > 0.9
    assert found["trust"] == pytest.approx(1.0 - found["hypotheses"]["wrong"])
    assert found["belief"] == "exact 0%, nearly true 100%, wrong 0%"


@pytest.mark.filterwarnings("ignore::pinnbo.methods.auto.PhysicsWarning")
def test_a_false_equation_is_checked_where_the_search_would_not_look():
    """A harmonic field is least on a face: a search that believes it stays there, and is not contradicted."""
    optimizer = Optimizer(WIDE, HARMONIC, method=CHEAP, noise=3.0)
    rng = np.random.default_rng(0)
    for _ in range(14):  # models are chosen anew at 14
        x = optimizer.ask()
        optimizer.tell(x, branin(x[None])[0] + 3.0 * rng.standard_normal())
    assert optimizer.diagnostics()["trust"] < 0.5


@pytest.mark.filterwarnings("ignore::pinnbo.methods.auto.PhysicsWarning")
def test_the_box_is_filled_first_where_no_model_obeys_the_equation():
    problem = problems.get("rastrigin-6", printed=True)
    with_it = Optimizer(problem.space, problem.pde, method="auto", seed=3, noise=0.1)
    without = Optimizer(problem.space, method="auto", seed=3, noise=0.1)
    rng = np.random.default_rng(0)
    for _ in range(4):
        x = with_it.ask()
        with_it.tell(x, problem.observe(x, rng))
    assert with_it.diagnostics()["enforced"] < 0.01
    np.testing.assert_array_equal(with_it.ask(3), without.ask(7)[4:])


def test_the_box_is_filled_first_where_an_equation_in_few_dimensions_is_in_doubt():
    """What is measured where f is least known given the equation would tell little about whether it is true."""
    with_it, without = (Optimizer(BOX, pde, method=CHEAP, seed=3) for pde in (BOUND, None))
    np.testing.assert_array_equal(with_it.ask(4)[1:], without.ask(4)[1:])
    certain = Optimizer(BOX, BOUND, method=replace(CHEAP, odds=1e6), seed=3)
    assert np.all(np.any(certain.ask(2) != with_it.space.sobol(2, [3, 0]), axis=1))


def test_the_first_point_is_where_f_is_least_known_given_the_equation():
    """The centre of a symmetry is on no curve that passes elsewhere."""
    pde = PDE(lambda f: lambda x: (x[0] - 0.2) * partial(f, 1)(x) - (x[1] - 1.3) * partial(f, 0)(x))
    np.testing.assert_allclose(Optimizer(BOX, pde, seed=3).ask(), [0.2, 1.3], atol=1e-2)


@pytest.mark.parametrize("pde", [BOUND, None], ids=["equation", "none"])
def test_the_box_is_filled_until_measurements_differ_by_more_than_their_noise(pde):
    rng = np.random.default_rng(0)
    optimizer = Optimizer(BOX, pde, method=CHEAP, seed=3, noise=1.0)
    flat = [optimizer.ask() for _ in range(4)]
    optimizer.tell(flat, rng.standard_normal(4))
    design = BOX.sobol(20, [3, 0])
    for n in range(4, 7):
        x = optimizer.ask()
        np.testing.assert_allclose(x, design[n], rtol=1e-12)
        optimizer.tell(x, rng.standard_normal())
    optimizer.tell([0.1, 1.2], 30.0)
    assert not np.any(np.all(np.isclose(optimizer.ask(), design), axis=1))


@pytest.mark.filterwarnings("ignore::pinnbo.methods.auto.PhysicsWarning")
@pytest.mark.parametrize("n", [7, 10])
def test_every_second_point_is_chosen_without_an_equation_that_is_in_doubt(n):
    with_it, without = (measured(WIDE, pde, branin, n, noise=3.0) for pde in (HARMONIC, None))
    assert with_it.diagnostics()["trust"] < 0.95
    chosen, plain = with_it.ask(), without.ask()
    assert np.allclose(chosen, plain, rtol=0, atol=1e-9) == (n % 2 == 0)
    certain = measured(WIDE, HARMONIC, branin, n, noise=3.0, method=replace(CHEAP, odds=1e12))
    assert not np.allclose(certain.ask(), plain, atol=1e-3)


def test_a_noise_that_is_not_stated_is_seen_in_the_data():
    space = Space(x=(0.0, 1.0))
    rng = np.random.default_rng(0)
    points = space.sobol(60, 1)
    optimizer = Optimizer(space, method="auto")
    optimizer.tell(points, np.sin(6.0 * points[:, 0]) + 0.2 * rng.standard_normal(60))
    noise = optimizer.posterior().posteriors[0].noise
    assert np.sqrt(noise) == pytest.approx(0.2, rel=0.3)


def test_branin_is_not_harmonic():
    optimizer = measured(WIDE, HARMONIC, branin, 40, seed=2, method=Auto(), noise=0.1)
    with pytest.warns(PhysicsWarning, match="the 40 measurements contradict"):
        trust = optimizer.diagnostics()["trust"]
    assert trust < 0.05


def test_the_warning_says_how_likely_where_and_what_to_check():
    optimizer = measured(WIDE, HARMONIC, bowl, 25, seed=0, method=Auto(), noise=0.1)
    with pytest.warns(PhysicsWarning) as warned:
        optimizer.diagnostics()
    sentence = str(warned[0].message)
    assert "times more likely without it (exact 0%, nearly true 0%, wrong 100%)" in sentence
    assert "most of all at x = " in sentence
    assert sentence.endswith("check the equation's signs, units, coefficients and source")


def test_a_true_equation_is_trusted_in_four_dimensions_where_its_solution_is_no_sum():
    """Products of coordinates are harmonic."""
    space = Space.box(np.full(4, -1.0), np.full(4, 1.0))
    optimizer = measured(space, HARMONIC, lambda p: p[:, 0] * (p[:, 1] + p[:, 2]) + p[:, 2] * p[:, 3], 20)
    assert optimizer.diagnostics()["trust"] > 0.5


@pytest.mark.parametrize("odds", [0.05, 20.0])
def test_trust_is_the_odds_times_the_ratio_of_the_evidences(odds):
    found = measured(BOX, BOUND, growth, 4, method=Auto(collocation=60, odds=odds)).diagnostics()
    # of so few measurements nearly true, with odds of 2, cannot be told from exact
    ratio = (odds + 2.0) * np.exp(found["log_evidence_ratio"])
    assert found["trust"] == pytest.approx(ratio / (1 + ratio))


# ---------------------------------------------------------------- what the physics gives


def test_a_harmonic_function_is_predicted_better_with_the_equation():
    with_it, without = (known(BOX, pde, harmonic, 12) for pde in (HARMONIC, None))
    assert error(with_it, harmonic) < 0.5 * error(without, harmonic)


def test_an_equation_that_leaves_only_a_constant_open_needs_few_measurements():
    """One would do."""

    def truth(points):
        return np.sin(points[:, 0]) + points[:, 1] ** 2 + 3.0

    pde = PDE(gradient, source=lambda x: jnp.stack([jnp.cos(x[0]), 2 * x[1]]))
    assert error(measured(BOX, pde, truth, 4), truth) < 0.01


def test_a_sum_in_many_dimensions_is_known_after_few_measurements():
    problem = problems.get("rastrigin-4", noise=0.0)
    optimizer = Optimizer(problem.space, problem.pde, method=CHEAP, noise=0.0)
    points = problem.space.sobol(8, 0)
    optimizer.tell(points, problem.truth(points))
    assert error(optimizer, problem.truth) < 1e-3 * problem.range
    found = optimizer.diagnostics()
    assert found["model"].startswith("sum")
    assert found["trust"] > 0.95


def test_a_system_and_its_square_know_the_best_point_before_any_measurement():
    """|grad f - g|^2 = 0, as the paper states Cosine Mixture, and grad f = g."""
    problem = problems.get("cosine-mixture-6")
    system = PDE(gradient, source=lambda x: 2 * x - 0.5 * jnp.pi * jnp.sin(5 * jnp.pi * x))
    for pde, share in ((problem.pde, 0.01), (system, 1e-6)):
        first = Optimizer(problem.space, pde, goal=problem.goal).ask()
        assert problem.truth(first)[0] - problem.optimum < share * problem.range


def test_a_nonlinear_equation_improves_the_prediction():
    """A front in a Burgers flow; its boundary values are not known."""
    assert not BURGERS.is_linear(BOX)
    with_it, without = (known(BOX, pde, gentle, 10) for pde in (BURGERS, None))
    assert error(with_it, gentle) < 0.5 * error(without, gentle)


@pytest.mark.slow
def test_intervals_given_a_nonlinear_equation_hold_the_truth_from_few_measurements():
    """A steep front from six measurements: a linearisation that were taken as exact would hold a fifth of it."""
    points = BOX.sobol(128, 99)
    truth = front(points, (1.5, 1.0))
    inside = []
    for seed in range(5):
        optimizer = measured(BOX, BURGERS, lambda p: front(p, (1.5, 1.0)), 6, seed=seed, noise=1e-3)
        mean, std = optimizer.predict(points)
        inside.append(np.mean(np.abs(mean - truth) < 1.96 * std))
    assert np.mean(inside) > 0.7


def test_an_equation_without_slope_at_a_constant_can_be_used():
    """Gauss-Newton begins at a constant."""
    optimizer = measured(BOX, PDE(eikonal, source=5e4), lambda p: 100.0 * (p[:, 0] + 2 * p[:, 1]), 6)
    mean, std = optimizer.predict(BOX.sobol(32, 99))
    assert np.isfinite(mean).all()
    assert np.isfinite(std).all()


def test_a_nonlinear_equation_does_not_throw_the_prediction_out_of_all_proportion():
    def truth(points):
        return np.hypot(points[:, 0], points[:, 1])

    optimizer = measured(BOX, PDE(eikonal, source=1.0), truth, 3)
    mean, std = optimizer.predict(BOX.sobol(64, 99))
    assert np.max(np.abs(mean)) < 100.0
    assert np.max(std) < 100.0


# ---------------------------------------------------------------- suggestions


@pytest.mark.parametrize("pde", [BOUND, None], ids=["physics", "plain"])
@pytest.mark.parametrize("n", [0, 6])
def test_several_suggestions_lie_in_the_box_and_differ(pde, n):
    optimizer = measured(BOX, pde, growth, n, n_initial=0)
    points = optimizer.ask(4)
    assert points.shape == (4, 2)
    assert all(BOX.contains(x) for x in points)
    known = np.concatenate([BOX.scale(points), BOX.scale(BOX.sobol(n, 0)) if n else np.zeros((0, 2))])
    gaps = np.linalg.norm(known[:, None] - known[None], axis=2) + np.eye(len(known))
    assert gaps.min() > 1e-3


@pytest.mark.parametrize(
    ("last", "pde"),
    [
        pytest.param(Improve(), HARMONIC, id="improvement-physics"),
        pytest.param(Thompson(), None, id="draws-plain"),
        pytest.param(Improve(), None, id="improvement-plain", marks=pytest.mark.slow),
        pytest.param(Thompson(), HARMONIC, id="draws-physics", marks=pytest.mark.slow),
    ],
)
def test_every_acquisition_finds_the_maximum(last, pde):
    method = replace(CHEAP, policy=(*CHEAP.policy[:-1], last))
    optimizer = Optimizer(BOX, pde, goal="maximize", method=method, noise=1e-3)
    values = []
    for _ in range(14):
        x = optimizer.ask()
        values.append(float(harmonic(x[None])[0]))
        optimizer.tell(x, values[-1])
    every = harmonic(
        np.vstack([BOX.sobol(4096, 5), BOX.unscale(np.array([[1, 1], [1, -1], [-1, 1], [-1, -1.0]]))])
    )
    assert max(values) > every.max() - 0.05 * np.ptp(every)


def test_a_pending_point_changes_the_next_suggestion_and_is_not_repeated():
    optimizer = measured(BOX, BOUND, growth, 7)
    first, second = optimizer.ask(), optimizer.ask()
    assert np.linalg.norm(BOX.scale(second) - BOX.scale(first)) > 1e-2
    np.testing.assert_array_equal(optimizer.pending, [first, second])
    # without the first pending the second question has the first answer
    optimizer.tell(first, None)
    optimizer.tell(second, None)
    np.testing.assert_allclose(BOX.scale(optimizer.ask()), BOX.scale(first), atol=1e-3)


def test_a_study_goes_on_after_a_restart_as_if_nothing_had_happened():
    optimizer = Optimizer(BOX, BOUND, method=CHEAP, seed=3, n_initial=5)
    for n in (5, 1, 1):
        points = optimizer.ask(n)
        optimizer.tell(points, growth(points))
    optimizer.ask()
    stored = json.loads(json.dumps(optimizer.to_dict(), allow_nan=False))
    again = Optimizer.from_dict(stored, BOUND)
    assert again.method == CHEAP
    np.testing.assert_array_equal(again.pending, optimizer.pending)
    np.testing.assert_array_equal(again.ask(), optimizer.ask())
    points = BOX.sobol(8, 5)
    np.testing.assert_array_equal(again.predict(points).mean, optimizer.predict(points).mean)
    np.testing.assert_array_equal(again.predict(points).std, optimizer.predict(points).std)


def test_beliefs_depend_on_the_data_and_not_on_when_they_were_asked_for():
    points, values = BOX.sobol(11, 0), growth(BOX.sobol(11, 0))
    step, once = (Optimizer(BOX, BOUND, method=CHEAP) for _ in range(2))
    for part in (slice(0, 4), slice(4, 10), slice(10, 11)):
        step.tell(points[part], values[part])
        step.predict(points[:1])
    once.tell(points, values)
    at = BOX.sobol(16, 5)
    np.testing.assert_allclose(step.predict(at).mean, once.predict(at).mean, rtol=1e-10)
    np.testing.assert_allclose(step.predict(at).std, once.predict(at).std, rtol=1e-8)


def test_a_corrected_measurement_is_taken_into_account():
    points = BOX.sobol(6, 0)
    right, corrected = (Optimizer(BOX, BOUND, method=CHEAP) for _ in range(2))
    right.tell(points, growth(points))
    ids = corrected.tell(points, growth(points) + np.array([0, 0, 9.0, 0, 0, 0]))
    corrected.predict(points)
    corrected.replace(ids[2], float(growth(points)[2]))
    at = BOX.sobol(16, 5)
    np.testing.assert_allclose(corrected.predict(at).mean, right.predict(at).mean, rtol=1e-10)


def test_without_a_pde_the_optimum_of_a_smooth_function_is_found():
    optimizer = Optimizer(WIDE, method=CHEAP, goal="maximize", noise=0.0)
    for n in (6, 1, 1, 1, 1, 1):
        points = optimizer.ask(n)
        optimizer.tell(points, -bowl(points))
    np.testing.assert_allclose(WIDE.scale(optimizer.best.x), WIDE.scale([2.0, 5.0]), atol=0.05)
    found = optimizer.diagnostics()
    assert found["trust"] is None
    assert found["log_evidence_ratio"] is None
    assert found["model"].endswith("without physics")


def test_a_line_and_a_curve_of_one_parameter():
    space = Space(t=(-2.0, 3.0))
    optimizer = Optimizer(space, PDE(lambda f: partial(f, 0, 2), source=2.0), method=CHEAP, noise=1e-4)
    for _ in range(5):
        x = optimizer.ask()
        optimizer.tell(x, float((x[0] - 0.5) ** 2))
    assert optimizer.best.x[0] == pytest.approx(0.5, abs=0.02)


def test_infeasible_points_are_kept_away_from():
    """The lower half of the box, where the minimum would be, gives no values."""
    design = WIDE.sobol(16, 0)
    optimizer = Optimizer(WIDE, method=CHEAP, noise=0.0)
    optimizer.tell(design, np.where(design[:, 1] < 7.0, np.nan, bowl(design)))
    blind = Optimizer(WIDE, method=CHEAP, noise=0.0)
    blind.tell(design[design[:, 1] >= 7.0], bowl(design[design[:, 1] >= 7.0]))
    assert blind.ask()[1] < 7.0
    points = optimizer.ask(3)
    assert np.sum(points[:, 1] >= 6.0) >= 2


# ---------------------------------------------------------------- diagnostics and settings


def test_diagnostics_tell_the_models_their_weights_and_what_is_open():
    found = known(BOX, HARMONIC, harmonic, 4).diagnostics()
    assert {"model", "log_evidence", "trust", "log_evidence_ratio", "open_directions", "settings"} <= set(
        found
    )
    weights = [setting["weight"] for setting in found["settings"]]
    assert sum(weights) == pytest.approx(1.0)
    assert weights == sorted(weights, reverse=True)
    assert found["model"] == found["settings"][0]["model"]
    assert found["physics"].startswith("in use")
    assert sum(found["hypotheses"].values()) == pytest.approx(1.0)
    assert found["trust"] == pytest.approx(1.0 - found["hypotheses"]["wrong"])
    # of so few measurements the models of an exact equation stand for one that is nearly true as well
    given = [s["weight"] for s in found["settings"] if s["hypothesis"] == "exact"]
    assert sum(given) == pytest.approx(found["trust"])
    assert 2 <= found["open_directions"] <= 60
    json.dumps(found, allow_nan=False)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"collocation": 0}, "collocation must be at least 1, got 0"),
        ({"row_noise": 0.0}, "row_noise must be positive"),
        ({"odds": -1.0}, "odds must be positive"),
        ({"odds": float("nan")}, "odds must be positive"),
        ({"families": ("kernels",)}, "families must be among"),
        ({"without": ("Hedging",)}, "without must name families or rules"),
        ({"policy": ()}, "expected at least one rule"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        Auto(**settings)


def test_models_are_chosen_anew_when_the_data_have_grown_by_a_fifth():
    assert [stage_of(n) for n in range(13)] == [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 10, 12]
    for n in range(1, 500):
        stage = stage_of(n)
        assert stage_of(stage) == stage
        assert stage <= n < 1.2 * stage + 1


# ---------------------------------------------------------------- what a user may change


def test_the_evidence_is_that_of_the_average():
    """Of all hypotheses with their prior odds, not of the top model."""
    found = known(BOX, BOUND, growth, 4).diagnostics()
    ratio = np.exp(found["log_evidence_ratio"])
    none = known(BOX, None, growth, 4).diagnostics()["log_evidence"]
    assert found["log_evidence"] == pytest.approx(none + np.log((1 + (4 + 2) * ratio) / 7))


def test_the_policy_is_printed_replaced_and_stored():
    assert "Hedge(below=0.95)" in repr(Auto())
    method = Auto(collocation=60, policy=(Explore(points=2), Improve()), without=())
    optimizer = Optimizer(BOX, BOUND, method=method, seed=1)
    for _ in range(3):
        x = optimizer.ask()
        optimizer.tell(x, float(growth(x[None])[0]))
    restored = Optimizer.from_dict(json.loads(json.dumps(optimizer.to_dict())), BOUND)
    assert restored.method == method
    np.testing.assert_array_equal(restored.ask(), optimizer.ask())


def test_a_rule_can_be_switched_off():
    certain = measured(WIDE, None, branin, 10, noise=3.0)
    hedged, unhedged = (
        measured(WIDE, HARMONIC, branin, 10, noise=3.0, method=replace(CHEAP, without=names))
        for names in ((), (Hedge.__name__,))
    )
    assert np.allclose(hedged.ask(), certain.ask(), rtol=0, atol=1e-9)
    assert not np.allclose(unhedged.ask(), certain.ask(), atol=1e-3)


class Rough(Family):
    """A toy: far too rough to explain anything."""

    name = "toy"
    grid = ((0.01, 0.01),)

    def process(self, scales, data):
        return plain(RBF(np.array(scales)))


def test_a_family_is_added_by_one_line_and_a_useless_one_changes_no_trust(monkeypatch):
    before = known(BOX, BOUND, growth, 8).diagnostics()
    toy = registry.Entry(lambda stated: [Rough(stated.space)], "any", "any", "nothing")
    monkeypatch.setitem(registry.FAMILIES, "toy", toy)
    method = replace(CHEAP, families=tuple(registry.FAMILIES))
    after = measured(BOX, BOUND, growth, 8, method=method).diagnostics()
    assert after["trust"] == pytest.approx(before["trust"], rel=1e-6)
    alone = measured(BOX, BOUND, growth, 8, method=replace(CHEAP, families=("toy",))).diagnostics()
    assert any(setting["model"].startswith("toy") for setting in alone["settings"])


def test_an_equation_that_no_family_can_use_is_said_as_such():
    space = Space.box(np.full(7, -1.0), np.full(7, 1.0))
    coupled = PDE(lambda f: lambda x: laplacian(f)(x) - x[0] * x[1] * f(x))
    found = measured(space, coupled, lambda p: p[:, 0] * p[:, 1], 5).diagnostics()
    assert "no family of models can use it" in found["physics"]
    assert found["trust"] is None


def test_an_equation_whose_linearisation_vanishes_at_the_mean_is_used_as_far_as_it_goes():
    pde = PDE(lambda f: lambda x: partial(f, 0)(x) * partial(f, 0, order=2)(x))
    optimizer = Optimizer(BOX, pde, method=CHEAP)
    optimizer.tell([0.0, 1.0], 1.0)
    assert BOX.contains(optimizer.ask())


# ---------------------------------------------------------------- units


def sourced(points):
    """Its Laplacian is 4 - 9 sin 3x."""
    return points[:, 0] ** 2 + points[:, 1] ** 2 + np.sin(3 * points[:, 0])


@cache
def poisson(unit=1.0, length=1.0):
    """For ``unit * sourced(x / length)``."""
    return PDE(laplacian, source=lambda x: unit * (4 - 9 * jnp.sin(3 * x[0] / length)) / length**2)


@pytest.mark.parametrize(("unit", "shift", "noise"), [(1e6, 0.0, 0.01), (1e-12, 5e-10, None)])
def test_predictions_do_not_depend_on_the_units_of_the_values(unit, shift, noise):
    def scaled(p):
        return unit * sourced(p) + shift

    plain = known(BOX, poisson(), sourced, 8, noise=noise)
    other = measured(BOX, poisson(unit), scaled, 8, noise=None if noise is None else unit * noise)
    points = BOX.sobol(32, 5)
    (mean, std), (scaled_mean, scaled_std) = plain.predict(points), other.predict(points)
    np.testing.assert_allclose((scaled_mean - shift) / unit, mean, atol=1e-4)
    np.testing.assert_allclose(scaled_std / unit, std, rtol=1e-2)
    assert other.diagnostics()["trust"] == pytest.approx(plain.diagnostics()["trust"], rel=1e-3)


def test_predictions_do_not_depend_on_the_units_of_the_parameters():
    length = 1e3
    box = Space.box(length * BOX.lower, length * BOX.upper)
    plain = known(BOX, poisson(), sourced, 8, noise=None)
    other = measured(box, poisson(length=length), lambda p: sourced(p / length), 8)
    points = BOX.sobol(32, 5)
    np.testing.assert_allclose(other.predict(length * points).mean, plain.predict(points).mean, atol=1e-4)
    np.testing.assert_allclose(other.predict(length * points).std, plain.predict(points).std, rtol=1e-2)


def test_a_nonlinear_equation_does_not_depend_on_the_units_of_the_values():
    unit, points = 1e4, BOX.sobol(32, 5)
    scaled = PDE(lambda f: burgers(lambda x: f(x) / unit))
    plain, other = known(BOX, BURGERS, gentle, 10), measured(BOX, scaled, lambda p: unit * gentle(p), 10)
    np.testing.assert_allclose(other.predict(points).mean / unit, plain.predict(points).mean, atol=1e-3)
    np.testing.assert_allclose(other.predict(points).std / unit, plain.predict(points).std, rtol=0.05)


def test_a_source_that_is_finer_than_a_length_scale_does_not_make_it_sure_of_a_wrong_mean():
    """f'' = g with ripples in g: smooth models cannot follow them."""

    def truth(points):
        return np.sin(30.0 * points[:, 0]) + 2.0 * points[:, 0]

    line = Space(x=(0.0, 1.0))
    pde = PDE(laplacian, source=lambda x: -900.0 * jnp.sin(30.0 * x[0]))
    points = line.sobol(128, 99)
    optimizer = measured(line, pde, truth, 3, noise=1e-3)
    mean, std = optimizer.predict(points)
    assert np.mean(np.abs(mean - truth(points)) < 1.96 * std + 1e-3) > 0.8
    assert np.sqrt(np.mean((mean - truth(points)) ** 2)) < 0.05


@pytest.mark.parametrize("without", [("Explore",), ("Explore", "Hedge", "FillWhileInDoubt")])
def test_the_first_point_needs_no_rule_but_improvement(without):
    """With nothing measured there is nothing to improve on: it crashed."""
    x = Optimizer(BOX, HARMONIC, method=replace(CHEAP, without=without), noise=0.1).ask()
    assert np.all((x >= BOX.lower) & (x <= BOX.upper))
