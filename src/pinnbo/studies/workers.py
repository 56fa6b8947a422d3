"""Who works on a trial, and whether that worker is still alive."""

from __future__ import annotations

import contextlib
import os
import socket
import warnings
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from optuna.exceptions import ExperimentalWarning
from optuna.storages import fail_stale_trials
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from pinnbo.studies import record

WORKER = "pinnbo:worker"
BY_HAND = "by hand"
_STARTING = timedelta(
    seconds=30
)  # a trial that nobody has taken charge of after that belongs to a dead worker


def myself() -> dict[str, Any]:
    """What this process is recognised by: machine, process, and when the process started."""
    return {"machine": _machine(), "process": os.getpid(), "started": _started(os.getpid())}


def release_dead_trials(study: Study) -> list[int]:
    """Mark the trials of dead workers as lost, so that they may be run again; returns their numbers.

    A worker of this machine is dead if its process is gone. One of another machine is dead if it has given no sign of
    life for a while.
    """
    released = []
    for trial in study.get_trials(deepcopy=False, states=(TrialState.RUNNING,)):
        reason = _death(trial)
        if reason is not None and _fail(study, trial, reason):
            released.append(trial.number)
    before = _running(study)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExperimentalWarning)
        fail_stale_trials(study)
    return sorted([*released, *(before - _running(study))])


def _running(study: Study) -> set[int]:
    return {trial.number for trial in study.get_trials(deepcopy=False, states=(TrialState.RUNNING,))}


def _death(trial: FrozenTrial) -> str | None:
    worker = trial.user_attrs.get(WORKER)
    if worker is None:
        started = trial.datetime_start or datetime.min
        dead = not trial.params and datetime.now() - started > _STARTING
        return "its worker died before it took charge" if dead else None
    if worker == BY_HAND or worker["machine"] != _machine():
        return None
    alive = _alive(worker["process"]) and worker["started"] == _started(worker["process"])
    return None if alive else "its worker died"


def _fail(study: Study, trial: FrozenTrial, reason: str) -> bool:
    try:
        study._storage.set_trial_user_attr(trial._trial_id, record.LOST, reason)
        study.tell(trial.number, state=TrialState.FAIL)
    except (RuntimeError, ValueError):
        return False  # another worker noticed at the same moment
    return True


def _machine() -> str:
    # two containers may have one name, but do not see each other's processes
    with contextlib.suppress(OSError):
        return f"{socket.gethostname()} {Path('/proc/self/ns/pid').readlink()}"
    return socket.gethostname()


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def _started(process: int) -> str:
    """The start of a process in ticks, which tells it from a later one of the same number; empty where unknown."""
    with contextlib.suppress(OSError, IndexError):
        # the name of the program, in brackets, may hold spaces
        state, *rest = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        return "" if state == "Z" else rest[18]
    return ""
