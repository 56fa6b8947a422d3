"""Who works on a trial, and whether that worker is still alive."""

from __future__ import annotations

import contextlib
import os
import socket
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from pinnbo.studies import ledger, record
from pinnbo.studies.evaluation import Outcome

WORKER = "pinnbo:worker"
BY_HAND = "by hand"
_STARTING = timedelta(seconds=30)  # a trial without a worker or a point after that belongs to a dead one


def myself() -> dict[str, Any]:
    """What this process is recognised by: machine, process, and when the process started."""
    return {"machine": _machine(), "process": os.getpid(), "started": _started(os.getpid())}


def release_dead_trials(study: Study) -> list[int]:
    """Mark the trials of dead workers as lost, so that they may be run again; returns their numbers.

    A worker of this machine is dead if its process is gone. One of another machine is dead if it has given no sign of
    life for a while.
    """
    stale = set(ledger.held_by(study)._get_stale_trial_ids(study._study_id))
    released = []
    for trial in study.get_trials(deepcopy=False, states=(TrialState.RUNNING,)):
        reason = _death(trial, trial._trial_id in stale)
        if reason is not None and ledger.settle(study, trial._trial_id, Outcome(None, reason)):
            released.append(trial.number)
    return released


def _death(trial: FrozenTrial, stale: bool) -> str | None:
    worker = trial.user_attrs.get(WORKER)
    if worker is None or worker == BY_HAND:
        pointless = not trial.params and record.POINT not in trial.system_attrs
        old = datetime.now() - (trial.datetime_start or datetime.min) > _STARTING
        return "its worker died before it had a point" if pointless and old else None
    if worker["machine"] != _machine():
        return "its worker gave no sign of life" if stale else None
    process = worker["process"]
    alive = _alive(process) and worker["started"] == _started(process)
    return None if alive else "its worker died"


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
