"""What is written into a study, each entry in one transaction: of two writers at once exactly one is stored.

The storage is used without Optuna's cache here, which would remember what a transaction undid.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

from optuna.storages import RDBStorage
from optuna.storages._cached_storage import _CachedStorage
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from pinnbo.studies import record, storage
from pinnbo.studies.evaluation import Outcome


def held_by(study: Study) -> RDBStorage:
    """The database of a study."""
    cached = study._storage
    assert isinstance(cached, _CachedStorage)
    return cached._backend


class Beside(NamedTuple):
    """What is known of a measurement beside its value."""

    noise: float | None = None
    batch: str | None = None
    of: str | None = None  # the sensor that was read
    sensor: str | None = None  # what the problem file says of it


NOTHING = Beside()


def settle(study: Study, trial_id: int, outcome: Outcome, beside: Beside = NOTHING) -> bool:
    """Answer a trial that is under way; False, and nothing is changed, if it is answered already."""
    held = held_by(study)
    with storage.transaction(held, study._study_id):
        if held.get_trial(trial_id).state.is_finished():
            return False
        for name, attribute in attributes(outcome, beside).items():
            held.set_trial_user_attr(trial_id, name, attribute)
        state, value = answer(outcome, beside)
        held.set_trial_state_values(trial_id, state, None if value is None else [value])
    return True


def correct(study: Study, number: int, was: float | None, value: float | None, corrections_seen: int) -> bool:
    """Let a value count instead of a trial's; False, and nothing is changed, if somebody has corrected it since."""
    held = held_by(study)
    with storage.transaction(held, study._study_id):
        history = record.corrections_of(study).get(number, ())
        if len(history) != corrections_seen:
            return False
        name, entries = record.correction(number, history, was, value)
        held.set_study_user_attr(study._study_id, name, entries)
    return True


def add(study: Study, trials: Iterable[FrozenTrial]) -> list[int]:
    """Enter trials that are finished; returns their numbers."""
    held = held_by(study)
    made = [held.create_new_trial(study._study_id, template_trial=trial) for trial in trials]
    return [held.get_trial(trial_id).number for trial_id in made]


def answer(outcome: Outcome, beside: Beside) -> tuple[TrialState, float | None]:
    """How Optuna sees it: what a sensor reads is no value of what is optimised."""
    is_value = is_number(outcome) and beside.of is None
    return (TrialState.COMPLETE, outcome.value) if is_value else (TrialState.FAIL, None)


def attributes(outcome: Outcome, beside: Beside) -> dict[str, Any]:
    """What is kept beside the value of a trial."""
    found: dict[str, Any] = {}
    if beside.of is not None and is_number(outcome):
        found = {record.OF: beside.of, record.READING: outcome.value}
        if beside.sensor is not None:
            found[record.SENSOR] = beside.sensor
    if outcome.value is None:
        found[record.LOST] = outcome.reason or "lost"
        if not outcome.tried:
            found[record.UNTRIED] = True
    elif math.isnan(outcome.value):
        found[record.INFEASIBLE] = True
    if beside.noise is not None:
        found[record.NOISE] = beside.noise
    if beside.batch is not None:
        found[record.BATCH] = beside.batch
    return found


def is_number(outcome: Outcome) -> bool:
    """Whether the outcome is a measurement."""
    return outcome.value is not None and not math.isnan(outcome.value)
