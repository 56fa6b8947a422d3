"""What is written into a study, each entry in one transaction: of two writers at once exactly one is stored.

The storage is used without Optuna's cache here, which would remember what a transaction undid.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

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


def settle(
    study: Study, trial_id: int, outcome: Outcome, noise: float | None = None, batch: str | None = None
) -> bool:
    """Answer a trial that is under way; False, and nothing is changed, if it is answered already."""
    held = held_by(study)
    with storage.transaction(held, study._study_id):
        if held.get_trial(trial_id).state.is_finished():
            return False
        for name, attribute in attributes(outcome, noise, batch).items():
            held.set_trial_user_attr(trial_id, name, attribute)
        known = is_number(outcome)
        values = [outcome.value] if known and outcome.value is not None else None
        held.set_trial_state_values(trial_id, TrialState.COMPLETE if known else TrialState.FAIL, values)
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


def attributes(outcome: Outcome, noise: float | None, batch: str | None = None) -> dict[str, Any]:
    """What is kept beside the value of a trial."""
    found: dict[str, Any] = {}
    if outcome.value is None:
        found[record.LOST] = outcome.reason or "lost"
        if not outcome.tried:
            found[record.UNTRIED] = True
    elif math.isnan(outcome.value):
        found[record.INFEASIBLE] = True
    if noise is not None:
        found[record.NOISE] = noise
    if batch is not None:
        found[record.BATCH] = batch
    return found


def is_number(outcome: Outcome) -> bool:
    """Whether the outcome is a measurement."""
    return outcome.value is not None and not math.isnan(outcome.value)
