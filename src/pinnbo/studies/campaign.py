"""A problem file at work: its study in its storage, with everything that can be done to it from outside."""

from __future__ import annotations

import contextlib
import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import optuna
from optuna.distributions import FloatDistribution
from optuna.storages import RDBStorage
from optuna.storages._heartbeat import BaseHeartbeat
from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, Trial, TrialState

from pinnbo.studies import fingerprint, ledger, record, storage, unsaved, workers
from pinnbo.studies.errors import StorageError, StudyError
from pinnbo.studies.evaluation import Outcome
from pinnbo.studies.fingerprint import OtherProblemError
from pinnbo.studies.problem_file import ProblemFile
from pinnbo.studies.record import Entry
from pinnbo.studies.storage_errors import clear_errors

if TYPE_CHECKING:
    from pinnbo.declared import Sensors
    from pinnbo.optimizer import Optimizer
    from pinnbo.optuna import PINNSampler


class Measurement(NamedTuple):
    """A value, where it was measured, and what is known beside it."""

    point: Mapping[str, float]
    outcome: Outcome
    noise: float | None = None
    batch: str | None = None
    of: str | None = None  # the sensor; None for the measured field itself


class Asked(NamedTuple):
    """A point to evaluate, with the number of its trial."""

    number: int
    point: dict[str, float]


@dataclass(frozen=True, eq=False)
class Campaign:
    """A study that belongs to a problem file."""

    problem: ProblemFile
    url: str
    study: Study

    @cached_property
    def sampler(self) -> PINNSampler:
        """What chooses points; loads the equations, and JAX with them, and refuses those of another study."""
        from pinnbo.optuna import PINNSampler

        problem = self.problem
        sampler = PINNSampler(
            problem.space,
            problem.physics,
            problem.method,
            seed=problem.seed,
            noise=problem.noise,
            **problem.options,
        )
        with _refusal(self.url):
            sampler.claim(self.study)
        return sampler

    def record(self) -> record.Record:
        """What the study holds."""
        return record.read(self.study, self.problem.domain or self.problem.space)

    def without_a_point(self) -> list[int]:
        """The trials that are under way and have no point: one is being chosen, or could not be."""
        running = self.study.get_trials(deepcopy=False, states=(TrialState.RUNNING,))
        return [t.number for t in running if record.point_of(t, self.problem.space) is None]

    def _check_sensors(self) -> None:
        """What was read means what it meant then."""
        for entry in self.record().of("read"):
            now = self.problem.sensors.get(entry.of or "")
            if entry.sensor is not None and (now is None or now.text != entry.sensor):
                says = "does not name" if now is None else f"says is {now.text}"
                raise StudyError(
                    f"trial {entry.number} was read by sensor {entry.of!r}, {entry.sensor}, which the problem file "
                    f"{says} now; expected it as it was, and another name for another sensor"
                )

    def optimizer(self) -> Optimizer:
        """An optimizer that knows what the study holds."""
        self._check_sensors()
        return self.sampler.optimizer(self.study)

    def start(self, worker: Any, *, signs_of_life: bool = True) -> Trial:
        """Begin a trial, whose point is not chosen yet; ``worker`` says who is in charge of it."""
        self._check_sensors()
        with _refusal(self.url):
            self.sampler.claim(self.study)  # it may have been amended
        self.study.sampler = self.sampler
        with warnings.catch_warnings():
            # signs of life are given here, and not by Study.optimize
            warnings.filterwarnings("ignore", message="Heartbeat of storage")
            trial = self.study.ask()
        if signs_of_life:
            self.sign_of_life(trial)
        trial.set_user_attr(workers.WORKER, worker)
        return trial

    def choose(self, trial: Trial) -> Asked:
        """Choose the point of a trial."""
        space = self.problem.space
        bounds = zip(space.names, space.lower.tolist(), space.upper.tolist(), strict=True)
        with _refusal(self.url):
            point = {name: trial.suggest_float(name, low, high) for name, low, high in bounds}
        return Asked(trial.number, point)

    def sign_of_life(self, trial: Trial) -> None:
        """Note that the worker in charge of a trial is alive."""
        held = self.study._storage
        assert isinstance(held, BaseHeartbeat)
        held.record_heartbeat(trial._trial_id)

    def ask(self) -> Asked:
        """The next point, to be evaluated by hand; one that cannot be chosen leaves nothing under way."""
        workers.release_dead_trials(self.study)
        trial = self.start(workers.myself(), signs_of_life=False)
        try:
            asked = self.choose(trial)
            trial.set_user_attr(workers.WORKER, workers.BY_HAND)
        except BaseException:
            with contextlib.suppress(Exception):  # what went wrong is said by the first error
                self.give_up(trial, "no point could be chosen")
            raise
        return asked

    def ask_many(self, n: int) -> list[Asked]:
        """The next n points; if one of them cannot be chosen, none is left under way."""
        asked: list[Asked] = []
        try:
            for _ in range(n):
                asked.append(self.ask())
        except BaseException:
            with contextlib.suppress(Exception):  # what went wrong is said by the first error
                for question in asked:
                    self.drop(question.number)
            raise
        return asked

    def tell(
        self,
        number: int,
        outcome: Outcome,
        noise: float | None = None,
        batch: str | None = None,
        of: str | None = None,
    ) -> None:
        """Answer a trial that is under way."""
        beside = self._beside(noise, batch, of)
        trial = self._trial(number)
        point = record.point_of(trial, self.problem.space)
        if point is not None:
            self._refuse_reach(beside.of, point)
        if not trial.state.is_finished() and record.point_of(trial, self.problem.space) is None:
            raise StudyError(
                f"trial {number} has no point yet; pinnbo ask gives one, drop withdraws the trial"
            )
        if trial.state == TrialState.WAITING:
            raise StudyError(f"trial {number} is queued and not under way; tell its value with --at")
        if not ledger.settle(self.study, trial._trial_id, outcome, beside):
            entry = self._entry(number)
            raise StudyError(
                f"trial {number} is {_described(entry)} already; tell --replace corrects it, drop withdraws it"
            )

    def _beside(self, noise: float | None, batch: str | None, of: str | None) -> ledger.Beside:
        """What is known beside a value, if the method can do with it."""
        sensor = self._sensor(of)
        said = self.problem.sensors[sensor].text if sensor in self.problem.sensors else None
        return ledger.Beside(noise, self._batch(batch), sensor, said)

    def _refuse_reach(self, sensor: str | None, point: Sequence[float]) -> None:
        """A sensor with an extent has to fit into the space where it is read."""
        stated = self.problem.sensors.get(sensor or "")
        if sensor is None or stated is None or (stated.over is None and stated.reference is None):
            return
        try:
            self._instruments.found(sensor, "tell").refuse(np.array([point]), "tell")
        except ValueError as error:
            raise StudyError(str(error)) from None

    @cached_property
    def _instruments(self) -> Sensors:
        """The sensors of the problem file; loads JAX, and once for a table of readings."""
        from pinnbo.declared import Sensors

        known = Sensors(self.problem.domain or self.problem.space, self.problem.fields)
        for name, sensor in self.problem.options["sensors"].items():
            known.declare(name, sensor)
        return known

    def _sensor(self, name: str | None) -> str | None:
        """A sensor of the problem file, or a field; None for the measured field itself."""
        if name is None or name in self.problem.sensors:
            return name
        fields = self.problem.fields
        if name not in fields:
            known = ", ".join([*fields, *self.problem.sensors])
            raise StudyError(f"of: no field or sensor is called {name!r:.60}; expected one of {known}")
        return None if name == fields[0] else name

    def _batch(self, name: str | None) -> str | None:
        if name is not None and not (name[:1].isalnum() and name.isprintable() and name == name.strip()):
            raise StudyError(f"batch: expected a name such as monday, got {name!r:.60}")
        if name is not None and self.problem.method != "auto":
            raise StudyError(
                f"batch: method {self.problem.method!r} knows no batches; expected method 'auto'"
            )
        return name

    def add(
        self,
        point: Mapping[str, float],
        outcome: Outcome,
        noise: float | None = None,
        batch: str | None = None,
        of: str | None = None,
    ) -> int:
        """Enter a measurement that nobody asked for; returns the number of its trial."""
        return ledger.add(self.study, [self._finished(Measurement(point, outcome, noise, batch, of))])[0]

    def add_new(self, measurements: Iterable[Measurement]) -> int:
        """Enter those measurements that the study does not hold yet, all or none; returns how many."""
        with storage.transaction(ledger.held_by(self.study), self.study._study_id):
            entries = self.record().of(*record.ANSWERED)
            known = {(entry.x, repr(entry.value), entry.batch, entry.of) for entry in entries}
            new = [
                self._finished(one)
                for one in measurements
                if (tuple(self.check(one.point)), repr(one.outcome.value), one.batch, one.of) not in known
            ]
            ledger.add(self.study, new)
        return len(new)

    def replace(self, number: int, value: float | None) -> float | None:
        """Correct an answered trial; returns the old value, which stays in the record."""
        self._trial(number)
        entry = self._entry(number)
        if entry.meaning == "pending":
            raise StudyError(f"trial {number} has no value yet; tell it without --replace")
        self._correct(entry, value)
        return entry.value

    def drop(self, number: int) -> bool:
        """Withdraw a trial; what it said stays in the record, if it said anything."""
        trial = self._trial(number)
        if ledger.settle(self.study, trial._trial_id, Outcome(None, record.WITHDRAWN, tried=False)):
            return False
        entry = self._entry(number)
        if entry.meaning == "withdrawn":
            raise StudyError(f"trial {number} is withdrawn already")
        self._correct(entry, None)
        return True

    def give_up(self, trial: Trial, reason: str) -> None:
        """Free the point of a trial that is under way and was not evaluated."""
        ledger.settle(self.study, trial._trial_id, Outcome(None, reason, tried=False))

    def _correct(self, seen: Entry, value: float | None) -> None:
        if not ledger.correct(self.study, seen.number, seen.value, value, len(seen.was)):
            now = self._entry(seen.number)
            raise StudyError(
                f"trial {seen.number} was corrected by somebody else at the same moment and is "
                f"{_described(now)} now; nothing was changed, look again"
            )

    def _finished(self, measurement: Measurement) -> FrozenTrial:
        outcome = measurement.outcome
        beside = self._beside(measurement.noise, measurement.batch, measurement.of)
        x = self.check(measurement.point)
        self._refuse_reach(beside.of, x)
        state, value = ledger.answer(outcome, beside)
        space = self.problem.domain or self.problem.space
        bounds = zip(space.names, space.lower.tolist(), space.upper.tolist(), strict=True)
        return optuna.create_trial(
            params=space.to_dict(x),
            distributions={name: FloatDistribution(low, high) for name, low, high in bounds},
            value=value,
            state=state,
            user_attrs=ledger.attributes(outcome, beside),
        )

    def store(self, asked: Asked, outcome: Outcome) -> str | None:
        """Store an outcome once; returns a sentence if somebody else has answered its trial otherwise."""
        trial = self._trial(asked.number)
        if ledger.settle(self.study, trial._trial_id, outcome) or outcome.value is None:
            return None
        entry = self._found(asked.number)
        if entry is None or entry.meaning == "lost":
            # it was given up for dead, and answered after all
            self.add_new([Measurement(asked.point, outcome)])
            return None
        first = entry.was[0] if entry.was else entry.value
        if first == outcome.value or (math.isnan(outcome.value) and first in (record.INFEASIBLE_TEXT, None)):
            return None
        return (
            f"trial {asked.number} is {_described(entry)} already; its value {outcome.value!r} is not stored, "
            "tell --replace enters it"
        )

    def keep(self, asked: Asked, outcome: Outcome) -> str:
        """Let an outcome that the storage does not take wait in a file; returns where, to be said."""
        return unsaved.keep(self.problem.path, self._unsaved(asked, outcome))

    def forget(self, asked: Asked) -> None:
        """Delete the file of an outcome that is stored after all."""
        unsaved.file_for(self.problem.path, asked.number).unlink(missing_ok=True)

    def enter_unsaved(self) -> list[str]:
        """Enter the values that could not be stored before; returns a sentence for each that is not entered."""
        complaints = []
        for file, kept in unsaved.waiting(self.problem.path):
            complaint = kept if isinstance(kept, str) else self._enter(kept, file)
            if complaint is None:
                file.unlink(missing_ok=True)
            else:
                complaints.append(complaint)
        return complaints

    def _enter(self, kept: unsaved.Unsaved, file: Path) -> str | None:
        mine = self._unsaved(Asked(kept.trial, kept.point), kept.outcome)
        if (kept.storage, kept.study) != (mine.storage, mine.study):
            return f"{file.name} holds a value of study {kept.study!r} in storage {kept.storage}, where it belongs"
        try:
            self.check(kept.point)
            why = self.store(Asked(kept.trial, kept.point), kept.outcome)
        except StudyError as error:
            if isinstance(error, StorageError):
                raise
            why = str(error)
        if why is None:
            return None
        where = " ".join(f"{name}={c!r}" for name, c in kept.point.items())
        return (
            f"the value in {file.name} is not entered: {why}; "
            f"pinnbo tell {self.problem.path.name} {kept.outcome.value!r} --at {where} enters it, "
            "and then delete the file"
        )

    def _unsaved(self, asked: Asked, outcome: Outcome) -> unsaved.Unsaved:
        return unsaved.Unsaved(
            storage.shown(self.url), self.problem.name, asked.number, dict(asked.point), outcome
        )

    def _trial(self, number: int) -> FrozenTrial:
        trials = self.study.get_trials(deepcopy=False)
        if not 0 <= number < len(trials):
            there = f"there are trials 0 to {len(trials) - 1}" if trials else "there are no trials yet"
            raise StudyError(f"trial {number} does not exist; {there}")
        return trials[number]

    def _found(self, number: int) -> Entry | None:
        return next((entry for entry in self.record().entries if entry.number == number), None)

    def _entry(self, number: int) -> Entry:
        entry = self._found(number)
        if entry is None:
            raise StudyError(f"trial {number} has no point of {self.problem.space}")
        return entry

    def check(self, point: Mapping[str, float]) -> Any:
        """The point as an array; raises if it is not of the space."""
        space = self.problem.domain or self.problem.space
        try:
            x = space.from_dict(point)
            space.as_points(x, "point")
        except ValueError as error:
            raise StudyError(str(error)) from None
        found = space.nearest(x)
        if found is None:
            beyond = [
                f"{name} = {c:.6g} is outside {low:.6g} to {high:.6g}"
                for name, c, low, high in zip(space.names, x, space.lower, space.upper, strict=True)
                if not low <= c <= high
            ]
            why = ", ".join(beyond) or f"{space.to_dict(x)} is not inside"
            raise StudyError(f"expected a point of {space}: {why}")
        return found


@contextlib.contextmanager
def open_campaign(
    problem: ProblemFile, url: str | None = None, *, create: bool, say: Callable[[str], None] = lambda _: None
) -> Iterator[Campaign]:
    """The study of a problem while its storage is open; one that does not exist is made if ``create``.

    ``say`` is told what the user should know: that a study is new, and what could not be entered.
    """
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    url = url or problem.storage
    if not _exists(url):
        if not create:
            raise _missing(problem)
        _load(problem)
    held = storage.open_storage(url, problem.heartbeat)
    try:
        with clear_errors(storage.shown(url)):
            is_new = problem.name not in optuna.get_all_study_names(held)
            campaign = _campaign(problem, url, held, create)
            if is_new:
                say(f"began a new study {problem.name!r} in storage {storage.shown(url)}")
            for complaint in campaign.enter_unsaved():
                say(complaint)
            yield campaign
    finally:
        held.remove_session()
        held.engine.dispose()


def _campaign(problem: ProblemFile, url: str, held: RDBStorage, create: bool) -> Campaign:
    study = _study(problem, held, create)
    with _refusal(url):
        if (study.direction == StudyDirection.MAXIMIZE) != (problem.goal == "maximize"):
            raise OtherProblemError(
                f"study {problem.name!r} was made to {study.direction.name.lower()}, got {problem.goal}"
            )
        campaign = Campaign(problem, url, study)
        if fingerprint.is_claimed(study):
            fingerprint.check_box(study, problem.space)
        else:
            _ = campaign.sampler  # claims it
    return campaign


@contextlib.contextmanager
def _refusal(url: str) -> Iterator[None]:
    try:
        yield
    except OtherProblemError as error:
        raise StudyError(
            f"storage {storage.shown(url)} is of another problem: {error}; give this one another name or storage"
        ) from None


def _load(problem: ProblemFile) -> None:
    """Load what the problem file names before a study is made: a mistake there leaves no study behind."""
    _ = problem.space, problem.domain, problem.physics, problem.evaluation
    if problem.physics or problem.robust or problem.sensors:
        from pinnbo.optimizer import Optimizer

        try:  # not every method can do with every equation
            Optimizer(problem.space, problem.physics, method=problem.method, **problem.options)
        except (TypeError, ValueError) as error:
            raise StudyError(f"problem file {str(problem.path)!r}: {error}") from error


def _missing(problem: ProblemFile) -> StudyError:
    return StudyError(
        f"study {problem.name!r} has not been started; pinnbo ask, tell, import or run {problem.path} starts it"
    )


def _exists(url: str) -> bool:
    file = storage.file_of(url)
    return file is None or file.exists()


def _study(problem: ProblemFile, held: RDBStorage, create: bool) -> Study:
    try:
        return optuna.load_study(storage=held, study_name=problem.name)
    except KeyError:
        if not create:
            raise _missing(problem) from None
    _load(problem)
    # another worker may make it at the same moment
    return optuna.create_study(
        storage=held, study_name=problem.name, direction=problem.goal, load_if_exists=True
    )


def _described(entry: Entry) -> str:
    return f"{entry.meaning} ({entry.value})" if entry.meaning in ("measured", "read") else entry.meaning
