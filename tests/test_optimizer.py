"""The contract of ask and tell: what can differ between methods for every method, bookkeeping and refusals once."""

import dataclasses
import json
import math
import subprocess
import sys
import textwrap

import jax.numpy as jnp
import numpy as np
import pytest

from pinnbo import PDE, Optimizer, Space, methods
from pinnbo.operators import laplacian

SPACE = Space(x=(0.0, 3.0), y=(10.0, 13.0))
# one object for the whole file: its programs are compiled once
HELMHOLTZ = PDE(lambda f: lambda x: laplacian(f)(x) + 4.0 * f(x), source=0.0, name="Helmholtz")
QUERY = SPACE.sobol(7, 99)


def truth(x):
    return float(np.cos(2.0 * x[0]) + np.sin(2.0 * x[1]))


def start(method, seed=0, n_initial=3, **options):
    return Optimizer(SPACE, HELMHOLTZ, method=method, seed=seed, n_initial=n_initial, **options)


def steps(optimizer, n, sign=1.0):
    asked = []
    for _ in range(n):
        x = optimizer.ask()
        asked.append(x)
        optimizer.tell(x, sign * truth(x))
    return np.array(asked)


def scaled_gaps(points):
    scaled = SPACE.scale(points)
    return np.linalg.norm(scaled[:, None] - scaled[None], axis=2) + 9.0 * np.eye(len(points))


def through_json(optimizer, pde=HELMHOLTZ):
    return Optimizer.from_dict(json.loads(json.dumps(optimizer.to_dict(), allow_nan=False)), pde)


# ---------------------------------------------------------------- what depends on the method


def eventful(method, look):
    """A study with all that can happen to it, looked at now and then or never."""
    optimizer = start(method)
    optimizer.tell([0.5, 12.0], 0.3, noise=0.2)
    steps(optimizer, 3)
    look(optimizer)
    optimizer.tell(optimizer.ask(), None)
    optimizer.tell([2.9, 10.1], math.nan)
    optimizer.replace(0, 0.4)
    optimizer.drop(optimizer.tell([1.0, 11.0], 77.0))
    steps(optimizer, 1)
    look(optimizer)
    optimizer.ask(2)
    return optimizer


def watch(optimizer):
    assert optimizer.best is not None
    optimizer.predict(QUERY)
    optimizer.diagnostics()


def test_same_answers_watched_or_not_and_after_a_restart(variant):
    """What an engine keeps between calls is a cache: it changes nothing, and is not needed."""
    live, alone = eventful(variant, watch), eventful(variant, lambda optimizer: None)
    restored = through_json(live)
    np.testing.assert_array_equal(live.pending, alone.pending)
    np.testing.assert_array_equal(live.pending, restored.pending)
    for other in (restored, alone):
        for a, b in zip(other.predict(QUERY), live.predict(QUERY), strict=True):
            np.testing.assert_array_equal(a, b)
    assert restored.diagnostics() == live.diagnostics()
    assert json.loads(json.dumps(live.diagnostics(), allow_nan=False))["method"] == variant.name
    asked = live.ask(2)
    np.testing.assert_array_equal(restored.ask(2), asked)
    np.testing.assert_array_equal(alone.ask(2), asked)
    # stored between a correction and the next question: what was learnt before it does not count
    live.replace(3, 40.0)
    restored = through_json(live)
    np.testing.assert_array_equal(restored.ask(), live.ask())
    live.drop(1)
    restored = through_json(live)
    np.testing.assert_array_equal(restored.ask(), live.ask())


def test_asked_points_are_new_inside_the_box_and_away_from_trouble(variant):
    optimizer = start(variant, goal="maximize")
    # so few that there is still something to gain: where all is known, no place is better than another
    told = steps(optimizer, 4)
    values = np.array([truth(x) for x in told])
    # goals turn signs inside a method, and the prediction is that of f
    mean, std = optimizer.predict(told)
    assert np.corrcoef(mean, values)[0, 1] > 0.5
    assert np.isfinite(std).all()
    assert (std >= 0).all()
    bad = []
    for _ in range(3):
        bad.append(optimizer.ask())
        optimizer.tell(bad[-1], math.nan)
    batch = optimizer.ask(4)
    assert all(SPACE.contains(x) for x in [*told, *bad, *batch])
    assert scaled_gaps(np.array([*told, *bad, *batch])).min() > 1e-6
    assert scaled_gaps(np.array([*bad, *batch]))[3:, :3].min() > 0.01


def test_values_without_spread_and_without_a_pde(method):
    """Nothing known, one measurement, a flat black box: nothing to standardise by."""
    optimizer = Optimizer(SPACE, method=method, n_initial=0)
    for _ in range(3):
        optimizer.tell(optimizer.ask(), 5.0)
        mean, std = optimizer.predict(QUERY)
        assert np.isfinite(mean).all()
        assert np.isfinite(std).all()


# those that search a surrogate; the others draw their points inside the box
SEARCHING = [
    "auto",
    "gp-logei",
    "neural-bo",
    "ntk",
    "pinn-bo",
    pytest.param("optuna-gp", marks=pytest.mark.slow),
]


@pytest.mark.parametrize("name", SEARCHING)
def test_an_optimum_at_the_edge_is_reached(make_small, name):
    optimizer = Optimizer(SPACE, method=make_small(name), n_initial=0, noise=0.01)
    points = SPACE.sobol(8, 5)
    optimizer.tell(points, points[:, 0] - 2.0 * points[:, 1])
    asked = SPACE.scale(optimizer.ask(3))
    assert np.abs(asked).max() == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("acquisition", ["mean", "bound"])
def test_maximising_f_is_minimising_minus_f(make_small, acquisition):
    """The closed form has no preferred sign when the equation is linear and its source is zero."""
    method = make_small("ntk", acquisition=acquisition)
    low = steps(start(method, goal="minimize"), 6)
    high = steps(start(method, goal="maximize"), 6, sign=-1.0)
    np.testing.assert_allclose(low, high, rtol=0, atol=1e-4)


ELSEWHERE = """
    import json
    from pinnbo import PDE, Optimizer, Space, methods
    from pinnbo.operators import laplacian
    import numpy as np

    space = Space(x=(0.0, 3.0), y=(10.0, 13.0))
    pde = PDE(lambda f: lambda x: laplacian(f)(x) + 4.0 * f(x), source=0.0)
    out = []
    for stored in {settings}:
        optimizer = Optimizer(space, pde, method=methods.from_dict(stored), n_initial=3)
        for _ in range(4):
            x = optimizer.ask()
            optimizer.tell(x, float(np.cos(2.0 * x[0]) + np.sin(2.0 * x[1])))
            out.append(x.tolist())
    print(json.dumps(out))
"""


def test_another_process_gives_the_same_suggestions(make_small):
    settings = [make_small(name) for name in methods.available()]
    script = textwrap.dedent(ELSEWHERE).format(settings=[methods.to_dict(s) for s in settings])
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    here = np.concatenate([steps(start(s), 4) for s in settings])
    np.testing.assert_array_equal(json.loads(done.stdout.splitlines()[-1]), here)


# ---------------------------------------------------------------- bookkeeping, by the quickest method


def plain(**options):
    return Optimizer(SPACE, method="random", **options)


def records(optimizer):
    return optimizer.to_dict()["records"]


@pytest.mark.parametrize("goal", ["minimize", "maximize"])
@pytest.mark.parametrize("name", ["random", "auto"])
def test_a_run(make_small, name, goal):
    optimizer = start(make_small(name), goal=goal)
    assert optimizer.best is None
    told = steps(optimizer, 5)
    one = optimizer.ask()
    assert one.shape == (2,)
    batch = optimizer.ask(3)
    assert batch.shape == (3, 2)
    np.testing.assert_array_equal(optimizer.pending, [one, *batch])
    assert optimizer.predict(QUERY).mean.shape == (7,)
    assert optimizer.predict(QUERY[0]).std.shape == (1,)

    at_data, best = optimizer.predict(told), optimizer.best
    i = int(np.argmin(at_data.mean) if goal == "minimize" else np.argmax(at_data.mean))
    np.testing.assert_array_equal(best.x, told[i])
    assert best.value == truth(told[i])
    assert best.mean == pytest.approx(at_data.mean[i])
    low, high = best.interval
    assert low <= best.mean <= high
    assert high - low == pytest.approx(2 * 1.96 * at_data.std[i], rel=1e-3)
    report = optimizer.diagnostics()
    assert (report["observations"], report["infeasible"], report["pending"]) == (5, 0, 4)


def test_the_seed_decides():
    one, same, other = (steps(start("random", seed), 5) for seed in (0, 0, 1))
    np.testing.assert_array_equal(one, same)
    assert np.abs(one - other).max(axis=1).min() > 1e-6


def test_points_told_before_anything_was_asked():
    optimizer = plain(n_initial=3)
    points = SPACE.sobol(6, 5)
    assert optimizer.tell(points, [truth(x) for x in points]) == list(range(6))
    assert scaled_gaps(np.array([optimizer.ask(), *points])).min() > 1e-6


def test_answers_settle_questions_in_any_order():
    optimizer = plain()
    first, second = optimizer.ask(2)
    optimizer.tell(second, 1.0)
    np.testing.assert_array_equal(optimizer.pending, [first])
    # rounded on the way to the laboratory and back
    optimizer.tell(np.round(first, 10), 1.0)
    assert len(optimizer.pending) == 0


def test_repr_says_how_the_study_stands():
    optimizer = Optimizer(Space(x=(0.0, 1.0)), goal="maximize", method="random")
    assert repr(optimizer) == "<Optimizer: maximize on Space(x=(0, 1)) with no PDE by random; 0 measured>"
    optimizer.ask(2)
    optimizer.tell([[0.1], [0.2], [0.3]], [1.5, 2.5, math.nan])
    counts = "2 measured, 1 infeasible, 2 pending, highest reading 2.5"
    assert repr(optimizer).endswith(f" by random; {counts}>")
    wide = Optimizer(Space.box([0.0] * 9, [1.0] * 9), PDE(laplacian, name="heat"), method="random")
    assert repr(wide).startswith("<Optimizer: minimize on a Space of 9 parameters with heat by random;")


def test_an_answer_settles_no_other_question_of_a_narrow_axis():
    # an axis that is a millionth of the other one has its own idea of what is the same place
    optimizer = Optimizer(Space(wide=(0.0, 1e6), narrow=(0.0, 1e-4)), method="random")
    asked = optimizer.ask()
    other = asked.copy()
    other[1] = 1e-4 - asked[1]
    optimizer.tell(other, 1.0)
    np.testing.assert_array_equal(optimizer.pending, [asked])
    optimizer.tell(asked, 1.0)
    assert len(optimizer.pending) == 0


def test_a_lost_answer_is_no_data_and_no_longer_pending():
    optimizer = plain()
    optimizer.tell(optimizer.ask(), None)
    assert len(optimizer.pending) == 0
    assert optimizer.diagnostics()["observations"] == 0
    assert optimizer.best is None
    assert records(optimizer)[0]["y"] is None


def test_what_is_asked_and_what_is_told_are_copies():
    optimizer = plain()
    x = optimizer.ask()
    kept = x.copy()
    x += 1.0
    np.testing.assert_array_equal(optimizer.pending, [kept])
    optimizer.tell(kept, 1.0)
    kept += 1.0
    assert SPACE.contains(records(optimizer)[0]["x"])


def test_many_at_once():
    optimizer = plain(noise=0.5)
    points = SPACE.sobol(4, 0)
    assert optimizer.tell(points, np.array([1.0, np.nan, 3.0, 4.0])) == [0, 1, 2, 3]
    assert optimizer.tell(points[:2], [None, 2.0], noise=[0.1, None]) == [4, 5]
    assert optimizer.tell(points[:1], [2.0], noise=0.3) == [6]
    assert optimizer.tell(points[0], 2.0) == 7
    assert [r["y"] for r in records(optimizer)] == [1.0, "infeasible", 3.0, 4.0, None, 2.0, 2.0, 2.0]
    assert [r["noise"] for r in records(optimizer)] == [None] * 4 + [0.1, None, 0.3, None]


@pytest.mark.parametrize("value", [3, np.float32(3.0), np.int64(3), np.array(3.0), jnp.asarray(3.0)])
def test_numbers_of_all_kinds_are_numbers(value):
    optimizer = plain()
    optimizer.tell(optimizer.ask(), value)
    assert records(optimizer)[0]["y"] == 3.0


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    "bad",
    [
        lambda x: (x, [1.0, 2.0, "three"], None),
        lambda x: (x, [1.0, 2.0, math.inf], None),
        lambda x: (x, [1.0, 2.0, 3.0], [0.1, 0.1, -1.0]),
        lambda x: (np.vstack([x[:2], [99.0, 99.0]]), [1.0, 2.0, 3.0], None),
        lambda x: (x, [1.0, 2.0], None),
        lambda x: (x, 1.0, None),
        lambda x: (x, [1.0, 2.0, 3.0], [0.1]),
    ],
)
def test_a_bad_entry_in_a_batch_leaves_nothing_behind(bad):
    optimizer = plain()
    points = optimizer.ask(3)
    before = optimizer.to_dict()
    points, values, noise = bad(points)
    with pytest.raises((TypeError, ValueError), match=r"(tell|noise): expected"):
        optimizer.tell(points, values, noise=noise)
    assert optimizer.to_dict() == before


def test_replaced_and_dropped_values_stay_on_record():
    optimizer = plain()
    first, second = optimizer.tell(SPACE.sobol(2, 0), [1.0, 2.0])
    optimizer.replace(first, 5.0)
    optimizer.replace(first, math.nan)
    optimizer.drop(second)
    stored = json.loads(json.dumps(optimizer.to_dict(), allow_nan=False))["records"]
    assert (stored[0]["y"], stored[0]["replaced"], stored[0]["dropped"]) == ("infeasible", [1.0, 5.0], False)
    assert (stored[1]["y"], stored[1]["dropped"]) == (2.0, True)
    assert optimizer.diagnostics()["observations"] == 0
    assert optimizer.diagnostics()["infeasible"] == 1


def test_noise_of_single_measurements_counts(make_small):
    """Of two measurements at one place the better one is believed."""
    place = np.array([1.5, 11.5])
    believed = []
    for noises in ([0.01, 1.0], [1.0, 0.01]):
        optimizer = Optimizer(SPACE, method=make_small("ntk"))
        optimizer.tell(
            [[0.1, 10.1], [2.9, 12.9], place, place], [0.0, 0.0, 2.0, -2.0], noise=[0.1, 0.1, *noises]
        )
        believed.append(float(optimizer.predict(place).mean[0]))
    assert believed[0] > 1.0
    assert believed[1] < -1.0


def test_known_noise_widens_the_interval(make_small):
    widths = []
    for noise in (0.01, 0.5):
        optimizer = start(make_small("ntk"), noise=noise)
        steps(optimizer, 6)
        widths.append(optimizer.predict(SPACE.sobol(3, 0)).std.mean())
    assert widths[1] > 2 * widths[0]


@pytest.mark.parametrize("n_initial", [0, 2, 7])
def test_initial_points_fill_the_space_and_foreign_ones_count(make_small, n_initial):
    one, other = (Optimizer(SPACE, method=make_small(m), n_initial=n_initial) for m in ("ntk", "pinn-bo"))
    assert one.n_initial == n_initial
    if n_initial:
        np.testing.assert_array_equal(one.ask(n_initial), other.ask(n_initial))


# ---------------------------------------------------------------- restoring


def test_another_pde_is_refused():
    optimizer = Optimizer(SPACE, HELMHOLTZ, method="random")
    stored = optimizer.to_dict()
    same = PDE(lambda f: lambda x: 4.0 * f(x) + laplacian(f)(x))
    Optimizer.from_dict(stored, same)
    other = PDE(lambda f: lambda x: laplacian(f)(x) + 4.001 * f(x), name="another one")
    with pytest.raises(ValueError, match="another one is not the one that the state was stored with"):
        Optimizer.from_dict(stored, other)
    with pytest.raises(ValueError, match=r"stored with 1 PDE\(s\), got 0"):
        Optimizer.from_dict(stored)
    with pytest.raises(ValueError, match=r"stored with 1 PDE\(s\), got 2"):
        Optimizer.from_dict(stored, [same, other])


def test_another_table_of_values_is_another_pde():
    points = SPACE.sobol(4, 0)
    tables = [
        PDE(lambda f: f, source=values, points=points)
        for values in ([1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 5.0])
    ]
    stored = Optimizer(SPACE, tables[0], method="random").to_dict()
    Optimizer.from_dict(stored, tables[0])
    with pytest.raises(ValueError, match="is not the one"):
        Optimizer.from_dict(stored, tables[1])


@pytest.mark.usefixtures("unchecked")
def test_something_else_is_not_a_state():
    for other in ({}, {"format": "other"}, [], "state"):
        with pytest.raises(ValueError, match=r"expected what Optimizer\.to_dict returned"):
            Optimizer.from_dict(other)
    future = {**plain().to_dict(), "version": 99}
    with pytest.raises(ValueError, match="expected version 1, got 99"):
        Optimizer.from_dict(future)


def test_settings_goal_noise_and_names_survive(make_small):
    method = make_small("ntk", row_noise=0.03)
    space = Space(volts=(0.0, 1.0))
    optimizer = Optimizer(space, method=method, goal="maximize", seed=7, noise=0.2, n_initial=9)
    restored = through_json(optimizer, None)
    assert restored.method == method
    assert dataclasses.asdict(restored.method) == dataclasses.asdict(method)
    assert (restored.space, restored.goal, restored.seed, restored.n_initial) == (space, "maximize", 7, 9)
    assert restored.to_dict() == optimizer.to_dict()


# ---------------------------------------------------------------- refusals


@pytest.mark.usefixtures("unchecked")
class TestRefusals:
    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (
                {"method": "nonsense"},
                r"method: expected one of \['auto', .*\] or a settings object, got 'nonsense'",
            ),
            ({"method": 3}, "method: expected one of"),
            ({"goal": "upwards"}, "goal must be 'minimize', 'maximize' or 'learn', got 'upwards'"),
            ({"seed": -1}, "seed must be an integer >= 0"),
            ({"seed": 1.5}, "seed must be an integer >= 0"),
            ({"seed": True}, "seed must be an integer >= 0"),
            ({"noise": -0.1}, "noise: expected a finite standard deviation >= 0"),
            ({"noise": math.nan}, "noise: expected a finite standard deviation >= 0"),
            ({"n_initial": -1}, "n_initial must be an integer >= 0"),
        ],
    )
    def test_construction(self, options, message):
        with pytest.raises(ValueError, match=message):
            Optimizer(SPACE, HELMHOLTZ, **options)

    @pytest.mark.parametrize("space", [None, (0.0, 1.0), {"x": (0.0, 1.0)}])
    def test_space(self, space):
        with pytest.raises(TypeError, match="space must be a Space"):
            Optimizer(space)

    @pytest.mark.parametrize("pde", [3.0, "laplace", [laplacian]])
    def test_pde(self, pde):
        with pytest.raises(TypeError, match="pde: expected a PDE, a list of PDEs or None"):
            Optimizer(SPACE, pde)

    @pytest.mark.parametrize("name", ["ntk", "pinn-bo"])
    def test_pde_that_is_nowhere_finite(self, make_small, name):
        with pytest.raises(ValueError, match="not finite at collocation point"):
            Optimizer(SPACE, PDE(lambda f: lambda x: jnp.nan * f(x)), method=make_small(name)).ask()

    @pytest.mark.parametrize("n", [0, -1, 1.5, "two", True])
    def test_ask(self, n):
        optimizer = plain()
        with pytest.raises(ValueError, match="n must be an integer from 1 to 10000 or None"):
            optimizer.ask(n)
        assert len(optimizer.pending) == 0

    @pytest.mark.parametrize("x", [[1.0], [1.0, 11.0, 3.0], 1.0, [[1.0, 11.0, 3.0]]])
    def test_dimension(self, x):
        with pytest.raises(ValueError, match="tell: expected points of shape"):
            plain().tell(x, 1.0)
        with pytest.raises(ValueError, match="predict: expected points of shape"):
            plain().predict(x)

    @pytest.mark.parametrize("x", [[4.0, 11.0], [1.0, 9.9]])
    def test_points_outside_the_box(self, x):
        with pytest.raises(ValueError, match="tell: expected a point of Space"):
            plain().tell(x, 1.0)

    @pytest.mark.parametrize("y", [math.inf, -math.inf])
    def test_infinite_values(self, y):
        with pytest.raises(ValueError, match=r"expected a (finite value|value of at most 1e)"):
            plain().tell([1.0, 11.0], y)

    @pytest.mark.parametrize("y", ["seven", [1.0], True, 1j, np.array([1.0]), {}])
    def test_values_that_are_no_numbers(self, y):
        with pytest.raises(TypeError, match="expected a number, NaN"):
            plain().tell([1.0, 11.0], y)

    @pytest.mark.parametrize("noise", [-1.0, math.nan, math.inf, "small"])
    def test_noise(self, noise):
        with pytest.raises(ValueError, match="noise: expected a finite standard deviation >= 0"):
            plain().tell([1.0, 11.0], 1.0, noise=noise)

    @pytest.mark.parametrize("id", [1, -1, "0", None, True])
    def test_ids(self, id):
        optimizer = plain()
        optimizer.tell([1.0, 11.0], 1.0)
        for act in (lambda: optimizer.replace(id, 2.0), lambda: optimizer.drop(id)):
            with pytest.raises(ValueError, match="expected an id from 0 to 0"):
                act()

    def test_replacing_by_nonsense(self):
        optimizer = plain()
        optimizer.tell([1.0, 11.0], 1.0)
        with pytest.raises(TypeError, match="replace: expected a number"):
            optimizer.replace(0, "seven")
        assert records(optimizer)[0]["replaced"] == []
