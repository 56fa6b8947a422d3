"""What the trials of an Optuna study mean to pinnbo.

================================  ===========================================================================
a trial that is                   means
================================  ===========================================================================
COMPLETE                          a measurement
RUNNING, WAITING                  a point under way, once it has been chosen
FAIL, marked infeasible           the measurement is impossible there (NaN): stay away
FAIL, with a reading              another sensor was read there: no value of what is optimised
FAIL                              lost: may be tried again; lost three times at one place counts as infeasible
FAIL, marked untried              lost without an attempt (not started, interrupted, withdrawn): as if never asked
PRUNED                            not worth finishing: stay away; an intermediate value is no measurement
without all parameters, outside   none of our business
================================  ===========================================================================

Optuna does not let a finished trial be changed. A correction is therefore kept beside it, as an attribute of the study
with its whole history, and counts instead of what the trial says.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any, Literal, NamedTuple

import numpy as np
from jaxtyping import Float
from numpy import ndarray
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from pinnbo import values
from pinnbo.space import Space

INFEASIBLE = "pinnbo:infeasible"
LOST = "pinnbo:lost"  # with the reason
WITHDRAWN = "withdrawn"  # as a reason
UNTRIED = "pinnbo:untried"  # lost without an attempt: not started, interrupted, withdrawn
NOISE = "pinnbo:noise"
OF = "pinnbo:of"  # the sensor that was read in place of the measured field, and what it read
READING = "pinnbo:reading"
SENSOR = "pinnbo:sensor"  # what the problem file said of it
BATCH = "pinnbo:batch"  # measured with the same offset of the instrument
POINT = "pinnbo:point"  # chosen by the sampler, before the parameters are stored one by one
INFEASIBLE_TEXT = "infeasible"  # where JSON has no NaN
_CORRECTION = "pinnbo:correction:"

Meaning = Literal["measured", "read", "infeasible", "lost", "pending", "withdrawn"]

ANSWERED: tuple[Meaning, ...] = ("measured", "read", "infeasible")  # what counts as an evaluation

_ATTEMPTS = 3
_SAME_PLACE = 1e-2  # of the box, scaled to [-1, 1]


class Entry(NamedTuple):
    """One trial as pinnbo understands it; ``was`` are its earlier values, oldest first."""

    number: int
    x: tuple[float, ...]
    meaning: Meaning
    value: float | None
    noise: float | None
    was: tuple[float | str | None, ...]
    reason: str | None
    finished: datetime
    tried: bool
    batch: str | None = None
    of: str | None = None  # the sensor
    sensor: str | None = None  # what the problem file said of it then


class Record(NamedTuple):
    """All entries of a study in the order in which they were answered, so that data only ever grow at the end."""

    space: Space
    entries: list[Entry]
    outside: list[int]  # trials with all parameters of the box, but not in it

    def of(self, *meanings: Meaning) -> list[Entry]:
        """The entries that mean one of these."""
        return [entry for entry in self.entries if entry.meaning in meanings]

    def points(self, *meanings: Meaning) -> Float[ndarray, "n d"]:
        """The points of these entries."""
        return np.array([entry.x for entry in self.of(*meanings)]).reshape(-1, self.space.dim)

    def told(self) -> tuple[Float[ndarray, "n d"], list[float | None], list[float | None]]:
        """Points, values and noises as `Optimizer.tell` takes them."""
        answered = self.of(*ANSWERED)
        hopeless = self._hopeless()
        points = np.array([entry.x for entry in answered]).reshape(-1, self.space.dim)
        told = [math.nan if entry.meaning == "infeasible" else entry.value for entry in answered]
        noises = [entry.noise for entry in answered]
        return (
            np.concatenate([points, hopeless]),
            told + [math.nan] * len(hopeless),
            noises + [None] * len(hopeless),
        )

    def batches(self) -> list[str | None]:
        """The batch of each, in the order of `told`."""
        return [entry.batch for entry in self.of(*ANSWERED)] + [None] * len(self._hopeless())

    def sensors(self) -> list[str | None]:
        """The sensor of each, None for the measured field, in the order of `told`."""
        return [entry.of for entry in self.of(*ANSWERED)] + [None] * len(self._hopeless())

    def set_aside(self) -> list[Entry]:
        """Values that are too far from the others of their sensor to be learnt from together with them."""
        found = []
        read = self.of("measured", "read")
        for sensor in dict.fromkeys(entry.of for entry in read):
            mine = [entry for entry in read if entry.of == sensor]
            far = values.far_off(np.array([entry.value for entry in mine], dtype=float))
            found += [entry for entry, is_far in zip(mine, far, strict=True) if is_far]
        return found

    def digest(self) -> str:
        """A short text that tells these measurements from others."""
        told = [
            (
                entry.x,
                entry.meaning,
                entry.value,
                *([entry.batch] if entry.batch else []),
                *filter(None, [entry.of]),
            )
            for entry in self.of(*ANSWERED)
        ]
        return hashlib.sha256(repr(told).encode()).hexdigest()[:16]

    def _hopeless(self) -> Float[ndarray, "m d"]:
        """Places where several measurements were tried and lost."""
        tried = [entry.x for entry in self.of("lost") if entry.tried]
        lost = self.space.scale(np.array(tried).reshape(-1, self.space.dim))
        gaps = np.max(np.abs(lost[:, None] - lost[None]), axis=2) if len(lost) else np.zeros((0, 0))
        return self.space.unscale(lost[np.sum(gaps < _SAME_PLACE, axis=1) >= _ATTEMPTS])


def read(study: Study, space: Space, without: Collection[int] = ()) -> Record:
    """The record of a study; ``without`` leaves out the trials of these numbers."""
    trials = study.get_trials(deepcopy=False)
    corrections = corrections_of(study)
    entries, outside = [], []
    for trial in trials:
        x = None if trial.number in without else point_of(trial, space)
        if x is None:
            continue
        if space.nearest(np.array(x)) is not None:
            entries.append(_entry(trial, x, corrections.get(trial.number, ())))
        else:
            outside.append(trial.number)
    entries.sort(key=lambda entry: (entry.finished, entry.number))
    return Record(space, entries, outside)


def point_of(trial: FrozenTrial, space: Space) -> tuple[float, ...] | None:
    """The point of a trial, if it is known already; a finished trial has only the parameters that were used."""
    known = [trial.params]
    if not trial.state.is_finished():
        known += [trial.system_attrs.get(name, {}) for name in (POINT, "fixed_params")]
    for point in known:
        if all(isinstance(point.get(name), float | int) for name in space.names):
            return tuple(float(point[name]) for name in space.names)
    return None


def correction(
    number: int, history: Sequence[dict[str, Any]], was: float | None, value: float | None
) -> tuple[str, list[dict[str, Any]]]:
    """The attribute of the study that lets ``value`` count for a trial; None withdraws it, NaN is infeasible."""
    now = datetime.now().isoformat(timespec="seconds")
    entry = {"was": _to_json(was), "value": _to_json(value), "at": now}
    return f"{_CORRECTION}{number}", [*history, entry]


def corrections_of(study: Study) -> dict[int, Sequence[dict[str, Any]]]:
    """The corrections of every corrected trial, oldest first."""
    attributes = study.user_attrs
    return {
        int(name.removeprefix(_CORRECTION)): history
        for name, history in attributes.items()
        if name.startswith(_CORRECTION)
    }


def _entry(trial: FrozenTrial, x: tuple[float, ...], corrections: Sequence[dict[str, Any]]) -> Entry:
    meaning, value = _meaning(trial)
    was = tuple(correction["was"] for correction in corrections)
    if corrections:
        value = _from_json(corrections[-1]["value"])
        infeasible = value is not None and math.isnan(value)
        meaning = "withdrawn" if value is None else "infeasible" if infeasible else "measured"
    of, sensor = trial.user_attrs.get(OF), trial.user_attrs.get(SENSOR)
    if of is not None and meaning == "measured":
        meaning = "read"  # also if it was corrected
    if meaning == "lost" and trial.user_attrs.get(LOST) == WITHDRAWN:
        meaning = "withdrawn"  # before it had a value
    noise = trial.user_attrs.get(NOISE)
    finished = trial.datetime_complete or datetime.max
    tried = not trial.user_attrs.get(UNTRIED, False)
    lost, batch = trial.user_attrs.get(LOST), trial.user_attrs.get(BATCH)
    return Entry(trial.number, x, meaning, value, noise, was, lost, finished, tried, batch, of, sensor)


def _meaning(trial: FrozenTrial) -> tuple[Meaning, float | None]:
    if trial.state == TrialState.COMPLETE:
        value = trial.value
        assert value is not None
        return ("measured", value) if abs(value) <= values.LARGEST else ("lost", None)
    if OF in trial.user_attrs and trial.state == TrialState.FAIL and READING in trial.user_attrs:
        return "read", float(trial.user_attrs[READING])
    if trial.state == TrialState.PRUNED or trial.user_attrs.get(INFEASIBLE):
        return "infeasible", math.nan
    return ("lost", None) if trial.state == TrialState.FAIL else ("pending", None)


def _to_json(value: float | None) -> float | str | None:
    return INFEASIBLE_TEXT if value is not None and math.isnan(value) else value


def _from_json(value: float | str | None) -> float | None:
    return math.nan if isinstance(value, str) else value
