"""The sampler: Optuna's own conformance cases, and what relative sampling over the box has to do."""

import dataclasses
import math
import subprocess
import sys
import threading
import warnings
from typing import ClassVar

import numpy as np
import optuna
import pytest
from optuna.distributions import FloatDistribution
from optuna.testing.pytest_samplers import BasicSamplerTestCase, SingleOnlySamplerTestCase
from optuna.trial import TrialState

from pinnbo import PDE, Optimizer, Space
from pinnbo.methods import Engine, Method
from pinnbo.methods.auto import Auto
from pinnbo.operators import laplacian
from pinnbo.optuna import PINNSampler, mark_infeasible, nan_is_infeasible
from pinnbo.studies import record
from pinnbo.studies.fingerprint import OtherProblemError

SPACE = Space(x=(0.0, 3.0))  # one parameter: `auto` answers in a moment
HELMHOLTZ = PDE(lambda f: lambda x: laplacian(f)(x) + 4.0 * f(x), source=0.0, name="Helmholtz")
DISTRIBUTIONS = {"x": FloatDistribution(0.0, 3.0)}
AUTO = Auto(collocation=20)

optuna.logging.set_verbosity(optuna.logging.ERROR)


def truth(x):
    return math.cos(2.0 * x + 0.5)


def objective(trial):
    return truth(trial.suggest_float("x", 0.0, 3.0))


def study_of(
    method="random", *, seed=0, storage=None, direction="minimize", name=None, pde=HELMHOLTZ, **options
):
    return optuna.create_study(
        sampler=PINNSampler(SPACE, pde, method, seed=seed, **options),
        storage=storage,
        study_name=name,
        direction=direction,
        load_if_exists=True,
    )


def points(study):
    return np.array([[trial.params["x"]] for trial in study.trials])


def gaps(table):
    scaled = SPACE.scale(table)
    return np.linalg.norm(scaled[:, None] - scaled[None], axis=2) + 9.0 * np.eye(len(table))


def add(study, x, value=None, state=TrialState.COMPLETE, **attributes):
    study.add_trial(
        optuna.create_trial(
            params={"x": x}, distributions=DISTRIBUTIONS, value=value, state=state, user_attrs=attributes
        )
    )


# ---------------------------------------------------------------- Optuna's own cases


class TestConformance(BasicSamplerTestCase, SingleOnlySamplerTestCase):
    """A box beside the parameters that the cases use, whose kinds change from case to case."""

    @pytest.fixture
    def sampler(self):
        return lambda: PINNSampler(Space(u=(0.0, 1.0)), method="random", seed=0)


# ---------------------------------------------------------------- relative sampling over the box


@pytest.mark.parametrize("direction", ["minimize", pytest.param("maximize", marks=pytest.mark.slow)])
def test_a_study_suggests_what_the_optimizer_does(direction):
    """One worker and nothing unusual: the sampler adds nothing to ask and tell."""
    study = study_of(AUTO, direction=direction, n_initial=2)
    study.optimize(objective, n_trials=6)
    optimizer = Optimizer(SPACE, HELMHOLTZ, method=AUTO, goal=direction, seed=0, n_initial=2)
    for x in points(study):
        asked = optimizer.ask()
        np.testing.assert_allclose(asked, x, rtol=0, atol=1e-12)
        optimizer.tell(asked, truth(*asked))


@pytest.mark.parametrize("method", ["random", AUTO], ids=["random", "auto"])
def test_values_are_plain_floats_of_the_box(method):
    study = study_of(method, n_initial=1)
    for _ in range(3):
        trial = study.ask(DISTRIBUTIONS)
        assert all(type(value) is float for value in trial.params.values())
        assert SPACE.contains(list(trial.params.values()))
        study.tell(trial, truth(**trial.params))
    assert gaps(points(study)).min() > 1e-6


@pytest.mark.parametrize("method", ["random", AUTO], ids=["random", "auto"])
def test_running_trials_are_under_way_and_not_suggested_again(method):
    study = study_of(method, n_initial=0)
    for _ in range(3):
        study.optimize(objective, n_trials=1)
    for _ in range(5):
        study.ask(DISTRIBUTIONS)
    assert gaps(points(study)).min() > 1e-6


def test_points_that_wait_in_the_queue_are_under_way():
    def started():
        study = study_of(AUTO, pde=None, n_initial=0)
        study.optimize(objective, n_trials=3)
        return study

    alone, crowded = started(), started()
    wanted = alone.ask(DISTRIBUTIONS).params
    crowded.enqueue_trial(wanted)
    held = record.read(crowded, SPACE)
    np.testing.assert_array_equal(held.points("pending"), [[wanted["x"]]])
    # the queue is served first, and then something else
    assert crowded.ask(DISTRIBUTIONS).params == wanted
    assert gaps(points(crowded))[4 - 1].min() > 1e-6
    crowded.ask(DISTRIBUTIONS)
    assert gaps(points(crowded)).min() > 1e-6


def test_enqueued_and_added_trials_are_learnt_from():
    study = study_of()
    study.enqueue_trial({"x": 1.0})
    study.optimize(objective, n_trials=1)
    add(study, 2.0, 7.0)
    optimizer = study.sampler.optimizer(study)
    values = [entry["y"] for entry in optimizer.to_dict()["records"]]
    assert values == [truth(1.0), 7.0]


def test_an_enqueued_point_may_be_given_in_part():
    space = Space(x=(0.0, 3.0), y=(10.0, 13.0))
    study = optuna.create_study(sampler=PINNSampler(space, method="random"))
    study.enqueue_trial({"x": 1.25})
    study.optimize(lambda trial: objective(trial) + trial.suggest_float("y", 10.0, 13.0), n_trials=1)
    assert study.trials[0].params["x"] == 1.25
    assert record.read(study, space).points("measured").shape == (1, 2)


def test_other_parameters_are_drawn_at_random_and_do_not_matter():
    study = study_of()

    def with_more(trial):
        kind = trial.suggest_categorical("kind", ["a", "b"])
        steps = trial.suggest_int("steps", 1, 100)
        return objective(trial) + (kind == "a") + steps

    study.optimize(with_more, n_trials=8)
    plain = study_of()
    plain.optimize(objective, n_trials=8)
    np.testing.assert_array_equal(points(study), points(plain))
    assert len({trial.params["steps"] for trial in study.trials}) > 4
    assert {trial.params["kind"] for trial in study.trials} == {"a", "b"}


def test_nan_is_infeasible_and_a_failure_is_lost():
    study = study_of(AUTO, n_initial=0)
    study.optimize(objective, n_trials=4)

    def impossible(trial):
        objective(trial)
        return math.nan

    def broken(trial):
        objective(trial)
        raise RuntimeError("the pump stopped")

    study.optimize(nan_is_infeasible(impossible), n_trials=1)
    study.optimize(broken, n_trials=1, catch=(RuntimeError,))
    assert [trial.state for trial in study.trials[4:]] == [TrialState.FAIL] * 2
    held = record.read(study, SPACE)
    assert [entry.number for entry in held.of("infeasible")] == [4]
    assert [entry.number for entry in held.of("lost")] == [5]
    diagnostics = study.sampler.optimizer(study).diagnostics()
    assert (diagnostics["observations"], diagnostics["infeasible"], diagnostics["pending"]) == (4, 1, 0)
    # the lost point is as good as before; the impossible one is left alone
    study.optimize(objective, n_trials=1)
    table = points(study)
    assert gaps(table)[6, 5] < 0.05
    assert gaps(table)[6, 4] > 0.05


def test_a_point_that_is_lost_three_times_is_given_up():
    study = study_of()
    for _ in range(2):
        add(study, 1.0, state=TrialState.FAIL)
    assert len(record.read(study, SPACE).told()[0]) == 0
    add(study, 1.001, state=TrialState.FAIL)
    add(study, 2.0, state=TrialState.FAIL)
    where, values, noises = record.read(study, SPACE).told()
    np.testing.assert_allclose(where[:, 0], [1.0, 1.0, 1.001])
    assert np.isnan(values).all()
    assert noises == [None] * 3


def test_ask_and_tell_with_an_infeasible_mark():
    study = study_of()
    trial = study.ask(DISTRIBUTIONS)
    mark_infeasible(trial)
    study.tell(trial, state=TrialState.FAIL)
    assert [entry.meaning for entry in record.read(study, SPACE).entries] == ["infeasible"]


def test_a_pruned_trial_is_no_measurement_but_a_place_to_avoid():
    study = study_of()

    def pruned(trial):
        objective(trial)
        trial.report(-1000.0, 0)
        raise optuna.TrialPruned

    study.optimize(pruned, n_trials=1)
    assert study.trials[0].value == -1000.0
    diagnostics = study.sampler.optimizer(study).diagnostics()
    assert (diagnostics["observations"], diagnostics["infeasible"]) == (0, 1)


def test_noise_of_a_single_measurement_is_used():
    study = study_of(AUTO)
    add(study, 1.0, 0.5, **{record.NOISE: 0.25})
    (stored,) = study.sampler.optimizer(study).to_dict()["records"]
    assert stored["noise"] == 0.25


def test_trials_outside_the_box_or_without_it_are_left_out_and_said_once():
    study = study_of()
    study.add_trial(
        optuna.create_trial(params={"x": 9.0}, distributions={"x": FloatDistribution(0, 10)}, value=1.0)
    )
    study.add_trial(
        optuna.create_trial(params={"z": 0.5}, distributions={"z": FloatDistribution(0, 1)}, value=1.0)
    )
    with pytest.warns(UserWarning, match=r"trials \[0\] lie outside Space\(x=\(0, 3\)\)"):
        study.optimize(objective, n_trials=1)
    study.optimize(objective, n_trials=1)
    assert study.sampler.optimizer(study).diagnostics()["observations"] == 2


def test_a_correction_counts_and_the_old_value_is_kept():
    study = study_of()
    study.optimize(objective, n_trials=3)
    was = study.trials[1].value
    study.set_user_attr(*record.correction(1, (), was, 5.0))
    study.set_user_attr(*record.correction(2, (), study.trials[2].value, None))
    entries = {entry.number: entry for entry in record.read(study, SPACE).entries}
    assert (entries[1].value, entries[1].was) == (5.0, (was,))
    assert entries[2].meaning == "withdrawn"
    assert study.sampler.optimizer(study).diagnostics()["observations"] == 2
    study.set_user_attr(*record.correction(1, record.corrections_of(study)[1], 5.0, math.nan))
    (entry,) = record.read(study, SPACE).of("infeasible")
    assert entry.was == (was, 5.0)


# ---------------------------------------------------------------- restarts, workers, seeds


def test_a_restart_goes_on_as_if_nothing_had_happened(tmp_path):
    url = f"sqlite:///{tmp_path / 'study.db'}"
    whole = study_of(AUTO, pde=None, n_initial=2)
    whole.optimize(objective, n_trials=7)
    for n in (3, 1, 3):
        study_of(AUTO, pde=None, n_initial=2, storage=url, name="s").optimize(objective, n_trials=n)
    stored = optuna.load_study(study_name="s", storage=url)
    np.testing.assert_allclose(points(stored), points(whole), rtol=0, atol=1e-9)


def test_the_seed_comes_from_the_study_unless_it_is_given():
    first, same, other = (study_of(seed=None, name=name) for name in ("a", "a", "b"))
    given, again = study_of(seed=1), study_of(seed=1)
    for study in (first, same, other, given, again):
        study.optimize(objective, n_trials=3)
    np.testing.assert_array_equal(points(first), points(same))
    np.testing.assert_array_equal(points(given), points(again))
    assert np.abs(points(first) - points(other)).min() > 1e-9


def test_another_worker_and_the_dashboard_count(tmp_path):
    """Results arrive through the storage only, in whatever order."""
    url = f"sqlite:///{tmp_path / 'study.db'}"
    mine, theirs = (study_of(storage=url, name="s") for _ in range(2))
    one, two = mine.ask(DISTRIBUTIONS), theirs.ask(DISTRIBUTIONS)
    optuna.load_study(study_name="s", storage=url).tell(two.number, 2.0)
    mine.tell(one, 1.0)
    values = [entry["y"] for entry in theirs.sampler.optimizer(theirs).to_dict()["records"]]
    assert values == [2.0, 1.0]


def test_threads_share_a_sampler():
    study = study_of(AUTO, n_initial=2)
    study.optimize(objective, n_trials=12, n_jobs=4)
    assert [trial.state for trial in study.trials] == [TrialState.COMPLETE] * 12
    assert gaps(points(study)).min() > 1e-6


def test_workers_that_choose_at_the_same_moment_choose_differently(tmp_path):
    """Each has a sampler of its own, as in another process; all begin before any has stored its point."""
    url = f"sqlite:///{tmp_path / 'study.db'}"
    start = study_of(AUTO, pde=None, storage=url, name="s", n_initial=0)
    start.optimize(objective, n_trials=3)
    workers = [study_of(AUTO, pde=None, storage=url, name="s", n_initial=0) for _ in range(3)]
    trials = [worker.ask() for worker in workers]
    threads = [threading.Thread(target=objective, args=(trial,)) for trial in trials]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    table = points(optuna.load_study(study_name="s", storage=url))
    assert len(table) == 6
    assert gaps(table).min() > 1e-3


@pytest.mark.parametrize("answered", [False, True], ids=["under way", "answered"])
def test_a_point_that_another_worker_took_meanwhile_is_given_up(monkeypatch, answered):
    study = study_of()
    rival, trial = study.ask(), study.ask()
    suggested = []
    next_point = PINNSampler._next_point

    def overtaken(self, study, frozen, held, yielding):
        x = next_point(self, study, frozen, held, yielding)
        suggested.append(x)
        if len(suggested) == 1:  # the rival takes it at the last moment
            study._storage.set_trial_param(rival._trial_id, "x", float(x[0]), DISTRIBUTIONS["x"])
            if answered:
                study.tell(rival, 1.0)
            return x
        return x + 0.1

    monkeypatch.setattr(PINNSampler, "_next_point", overtaken)
    objective(trial)
    assert len(suggested) == 2
    np.testing.assert_array_equal(list(trial.params.values()), suggested[1] + 0.1)


@dataclasses.dataclass(frozen=True)
class Ladder(Method):
    """Always the lowest rung that is not under way: two workers in step would climb together for ever."""

    name: ClassVar[str] = "ladder"

    def start(self, task):
        return LadderEngine(task)

    def default_initial(self, task):
        return 0


class LadderEngine(Engine):
    def __init__(self, task):
        self._task = task

    def suggest(self, data, pending, n, index):
        rungs = np.linspace(0.25, 2.75, 11)[:, None]
        return np.array([rung for rung in rungs if not np.any(np.isclose(pending, rung))][:n])

    def predict(self, data, points):
        raise NotImplementedError

    def diagnostics(self, data):
        return {}


def test_workers_in_step_do_not_move_to_the_same_point_again(tmp_path, monkeypatch):
    """Both see the other's announcement in every round, and neither knew that the other was choosing."""
    url = f"sqlite:///{tmp_path / 'study.db'}"
    monkeypatch.setattr(PINNSampler, "_choosing", lambda self, study, trial: 0)
    choose, announce = PINNSampler._next_point, PINNSampler._announce
    together = threading.Barrier(2, timeout=20)
    rounds = []

    def choose_in_step(self, *arguments):
        together.wait()  # both have read the record before either announces
        return choose(self, *arguments)

    def announce_in_step(self, study, trial, x):
        announce(self, study, trial, x)
        rounds.append(trial.number)
        together.wait()

    monkeypatch.setattr(PINNSampler, "_next_point", choose_in_step)
    monkeypatch.setattr(PINNSampler, "_announce", announce_in_step)
    trials = [study_of(Ladder(), pde=None, storage=url, name="s").ask() for _ in range(2)]
    threads = [threading.Thread(target=objective, args=(trial,)) for trial in trials]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(rounds) == [0, 0, 1, 1]
    assert {trial.params["x"] for trial in trials} == {0.5, 0.75}


def test_the_physics_is_conditioned_once(monkeypatch):
    started = []
    from pinnbo.methods.random_search import RandomSearch

    start = RandomSearch.start
    monkeypatch.setattr(
        RandomSearch, "start", lambda self, task: started.append(task.sign) or start(self, task)
    )
    study = study_of(direction="maximize")
    study.optimize(objective, n_trials=5)
    assert started.count(-1.0) == 1


# ---------------------------------------------------------------- refusals


def test_a_study_of_another_problem_is_refused(tmp_path):
    url = f"sqlite:///{tmp_path / 'study.db'}"
    study_of(storage=url, name="s").optimize(objective, n_trials=1)
    other = PDE(lambda f: lambda x: laplacian(f)(x) + 5.0 * f(x), name="another Helmholtz")
    for sampler, complaint in [
        (
            PINNSampler(SPACE, other, "random"),
            "was made for another equation than the present another Helmholtz",
        ),
        (PINNSampler(SPACE, None, "random"), r"was made with 1 equation\(s\), got 0"),
        (
            PINNSampler(Space(x=(0.0, 4.0)), HELMHOLTZ, "random"),
            r"was made for Space\(x=\(0, 3\)\), got Space\(x=\(0, 4\)\)",
        ),
    ]:
        study = optuna.load_study(study_name="s", storage=url, sampler=sampler)
        with pytest.raises(OtherProblemError, match=complaint):
            study.optimize(objective, n_trials=1)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"method": "magic"}, "method: expected one of"),
        ({"seed": -1}, "seed must be an integer >= 0, got -1"),
        ({"noise": -1.0}, "noise: expected a finite standard deviation >= 0"),
        ({"n_initial": -2}, "n_initial must be an integer >= 0"),
    ],
)
def test_bad_settings_are_refused_at_once(options, complaint):
    with pytest.raises(ValueError, match=complaint):
        PINNSampler(SPACE, **options)


def test_a_missing_optuna_is_one_sentence():
    code = "import sys; sys.modules['optuna'] = None; import pinnbo.optuna"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.splitlines()[-1].endswith("pip install 'pinnbo[optuna]'")


def test_nothing_is_warned_about_in_an_ordinary_run():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        study_of().optimize(objective, n_trials=2)
