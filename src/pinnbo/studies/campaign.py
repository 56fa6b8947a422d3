"""A problem file at work: its study in its storage, with everything that can be done to it from outside."""

from __future__ import annotations

import contextlib
import json
import math
import os
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import optuna
from optuna.distributions import FloatDistribution
from optuna.storages import RDBStorage
from optuna.storages._heartbeat import BaseHeartbeat
from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, Trial, TrialState

from pinnbo.optimizer import Optimizer
from pinnbo.optuna import PINNSampler
from pinnbo.studies import record, storage, workers
from pinnbo.studies.errors import StorageError, StudyError
from pinnbo.studies.evaluation import Outcome
from pinnbo.studies.fingerprint import OtherProblemError
from pinnbo.studies.problem_file import ProblemFile

_CLOSE = 1e-12


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
    sampler: PINNSampler

    def record(self) -> record.Record:
        """What the study holds."""
        return record.read(self.study, self.problem.space)

    def optimizer(self) -> Optimizer:
        """An optimizer that knows what the study holds."""
        return self.sampler.optimizer(self.study)

    def start(self, worker: Any) -> Trial:
        """Begin a trial, whose point is not chosen yet; ``worker`` says who is in charge of it."""
        with warnings.catch_warnings():
            # signs of life are given here, and not by Study.optimize
            warnings.filterwarnings("ignore", message="Heartbeat of storage")
            trial = self.study.ask()
        if worker != workers.BY_HAND:
            self.sign_of_life(trial)
        trial.set_user_attr(workers.WORKER, worker)
        return trial

    def choose(self, trial: Trial) -> Asked:
        """Choose the point of a trial."""
        space = self.problem.space
        bounds = zip(space.names, space.lower.tolist(), space.upper.tolist(), strict=True)
        return Asked(trial.number, {name: trial.suggest_float(name, low, high) for name, low, high in bounds})

    def sign_of_life(self, trial: Trial) -> None:
        """Note that the worker in charge of a trial is alive."""
        held = self.study._storage
        assert isinstance(held, BaseHeartbeat)
        held.record_heartbeat(trial._trial_id)

    def ask(self) -> Asked:
        """The next point, to be evaluated by hand."""
        return self.choose(self.start(workers.BY_HAND))

    def tell(self, number: int, outcome: Outcome, noise: float | None = None) -> None:
        """Answer a trial that is under way."""
        trial = self._trial(number)
        if trial.state != TrialState.RUNNING:
            entry = self._entry(number)
            raise StudyError(
                f"trial {number} is {_described(entry)} already; tell --replace corrects it, drop withdraws it"
            )
        self._finish(trial, outcome, noise)

    def add(self, point: Mapping[str, float], outcome: Outcome, noise: float | None = None) -> int:
        """Enter a measurement that nobody asked for; returns the number of its trial."""
        space = self.problem.space
        x = self.check(point)
        attributes = _attributes(outcome, noise)
        known = outcome.value is not None and not math.isnan(outcome.value)
        bounds = zip(space.names, space.lower.tolist(), space.upper.tolist(), strict=True)
        frozen = optuna.create_trial(
            params=space.to_dict(x),
            distributions={name: FloatDistribution(low, high) for name, low, high in bounds},
            value=outcome.value if known else None,
            state=TrialState.COMPLETE if known else TrialState.FAIL,
            user_attrs=attributes,
        )
        trial_id = self.study._storage.create_new_trial(self.study._study_id, template_trial=frozen)
        return self.study._storage.get_trial(trial_id).number

    def replace(self, number: int, value: float | None) -> float | None:
        """Correct an answered trial; returns the old value, which stays in the record."""
        self._trial(number)
        entry = self._entry(number)
        if entry.meaning == "pending":
            raise StudyError(f"trial {number} has no value yet; tell it without --replace")
        record.correct(self.study, number, entry.value, value)
        return entry.value

    def drop(self, number: int) -> None:
        """Withdraw a trial; what it said stays in the record."""
        trial = self._trial(number)
        if trial.state == TrialState.RUNNING:
            self._finish(trial, Outcome(None, "withdrawn"), None)
        else:
            record.correct(self.study, number, self._entry(number).value, None)

    def give_up(self, trial: Trial, reason: str) -> None:
        """Mark a trial that is under way as lost."""
        self._finish(self._trial(trial.number), Outcome(None, reason), None)

    def finish(self, asked: Asked, outcome: Outcome) -> None:
        """Store an outcome whatever happens: if the storage does not take it, it waits in a file for the next start."""
        try:
            with storage.clear_errors(self.url):
                self._finish_or_add(asked, outcome)
        except StorageError as error:
            waits = self._keep(asked, outcome)
            raise StorageError(f"{error}; trial {asked.number} gave {outcome.value}, {waits}") from error

    def enter_unsaved(self) -> list[int]:
        """Enter the values that could not be stored before; returns the numbers of their trials."""
        path, entered = self.problem.path, []
        for file in sorted(path.parent.glob(f"{path.stem}.unsaved-*.json")):
            kept = json.loads(file.read_text())
            if kept["storage"] != storage.shown(self.url):
                continue
            value = math.nan if kept["value"] == "infeasible" else kept["value"]
            self._finish_or_add(Asked(kept["trial"], kept["point"]), Outcome(value, kept["reason"]))
            file.unlink(missing_ok=True)
            entered.append(kept["trial"])
        return entered

    def _finish_or_add(self, asked: Asked, outcome: Outcome) -> None:
        trial = self._trial(asked.number)
        if trial.state == TrialState.RUNNING:
            self._finish(trial, outcome, None)
        elif outcome.value is not None and self._entry(asked.number).meaning == "lost":
            # it was given up for dead, and answered after all
            self.add(asked.point, outcome)

    def _keep(self, asked: Asked, outcome: Outcome) -> str:
        """Write an outcome to a file of its own, which appears only when it is complete."""
        infeasible = outcome.value is not None and math.isnan(outcome.value)
        value = "infeasible" if infeasible else outcome.value
        kept = {
            "storage": storage.shown(self.url),
            "trial": asked.number,
            "point": asked.point,
            "value": value,
            "reason": outcome.reason,
        }
        file = self.problem.path.with_suffix(f".unsaved-{asked.number}.json")
        unfinished = file.with_suffix(".unfinished")
        try:
            with unfinished.open("w") as stream:
                json.dump(kept, stream)
                stream.flush()
                os.fsync(stream.fileno())
            unfinished.replace(file)
        except OSError as error:
            return f"and {file.name} cannot be written either ({error.strerror}): write it down"
        return f"which waits in {file.name} for the next start"

    def _finish(self, trial: FrozenTrial, outcome: Outcome, noise: float | None) -> None:
        for name, attribute in _attributes(outcome, noise).items():
            self.study._storage.set_trial_user_attr(trial._trial_id, name, attribute)
        if outcome.value is None or math.isnan(outcome.value):
            self.study.tell(trial.number, state=TrialState.FAIL)
        else:
            self.study.tell(trial.number, outcome.value)

    def _trial(self, number: int) -> FrozenTrial:
        trials = self.study.get_trials(deepcopy=False)
        if not 0 <= number < len(trials):
            there = f"there are trials 0 to {len(trials) - 1}" if trials else "there are no trials yet"
            raise StudyError(f"trial {number} does not exist; {there}")
        return trials[number]

    def _entry(self, number: int) -> record.Entry:
        for entry in self.record().entries:
            if entry.number == number:
                return entry
        raise StudyError(f"trial {number} has no point of {self.problem.space}")

    def check(self, point: Mapping[str, float]) -> Any:
        """The point as an array; raises if it is not of the box."""
        space = self.problem.space
        try:
            x = space.from_dict(point)
            space.as_points(x, "point")
        except ValueError as error:
            raise StudyError(str(error)) from None
        margin = _CLOSE * space.half_width
        if (x < space.lower - margin).any() or (x > space.upper + margin).any():
            raise StudyError(f"expected a point of {space}, got {space.to_dict(x)}")
        return x.clip(space.lower, space.upper)


@contextlib.contextmanager
def open_campaign(problem: ProblemFile, url: str | None = None, *, create: bool) -> Iterator[Campaign]:
    """The study of a problem while its storage is open; one that does not exist is made if ``create``."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    url = url or problem.storage
    if not create and not _exists(url):
        raise _missing(problem)
    held = storage.open_storage(url, problem.heartbeat)
    try:
        with storage.clear_errors(url):
            campaign = _campaign(problem, url, held, create)
            campaign.enter_unsaved()
            yield campaign
    finally:
        held.remove_session()
        held.engine.dispose()


def _campaign(problem: ProblemFile, url: str, held: RDBStorage, create: bool) -> Campaign:
    sampler = PINNSampler(
        problem.space, problem.physics, problem.method, seed=problem.seed, noise=problem.noise
    )
    study = _study(problem, held, sampler, create)
    try:
        if (study.direction == StudyDirection.MAXIMIZE) != (problem.goal == "maximize"):
            raise OtherProblemError(
                f"study {problem.name!r} was made to {study.direction.name.lower()}, got {problem.goal}"
            )
        sampler.claim(study)
    except OtherProblemError as error:
        raise StudyError(
            f"storage {storage.shown(url)} is of another problem: {error}; give this one another name or storage"
        ) from None
    return Campaign(problem, url, study, sampler)


def _missing(problem: ProblemFile) -> StudyError:
    return StudyError(
        f"study {problem.name!r} has not been started; pinnbo ask, tell, import or run {problem.path} starts it"
    )


def _exists(url: str) -> bool:
    file = storage.file_of(url)
    return file is None or file.exists()


def _study(problem: ProblemFile, held: RDBStorage, sampler: PINNSampler, create: bool) -> Study:
    if create:
        return optuna.create_study(
            storage=held,
            study_name=problem.name,
            direction=problem.goal,
            sampler=sampler,
            load_if_exists=True,
        )
    try:
        return optuna.load_study(storage=held, study_name=problem.name, sampler=sampler)
    except KeyError:
        raise _missing(problem) from None


def _attributes(outcome: Outcome, noise: float | None) -> dict[str, Any]:
    attributes: dict[str, Any] = {}
    if outcome.value is None:
        attributes[record.LOST] = outcome.reason or "lost"
    elif math.isnan(outcome.value):
        attributes[record.INFEASIBLE] = True
    if noise is not None:
        attributes[record.NOISE] = noise
    return attributes


def _described(entry: record.Entry) -> str:
    return f"measured ({entry.value})" if entry.meaning == "measured" else entry.meaning
