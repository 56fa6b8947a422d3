"""Cases in processes of this machine.

Workers compute; the caller alone writes. A worker whose caller has been killed finds nobody to send to and ends. A
worker that dies costs the case it was at, and is replaced.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import NamedTuple

from pinnbo.bench.records import Case
from pinnbo.bench.runner import ONE_THREAD, Compute, Outcome, attempt


class _Worker(NamedTuple):
    process: SpawnProcess
    connection: Connection
    case: Case


def outcomes(compute: Compute, cases: Sequence[Case], jobs: int) -> Iterator[Outcome]:
    """What comes out of the cases, as it comes, from as many processes as there are jobs."""
    waiting = list(reversed(cases))
    workers: list[_Worker] = []
    try:
        while waiting or workers:
            while waiting and len(workers) < jobs:
                workers.append(_hired(compute, waiting.pop()))
            for ready in wait([worker.connection for worker in workers]):
                number = next(i for i, worker in enumerate(workers) if worker.connection is ready)
                yield _received(workers[number])
                if waiting and workers[number].process.is_alive():
                    workers[number] = workers[number]._replace(case=waiting.pop())
                    workers[number].connection.send(workers[number].case)
                else:
                    _dismiss(workers.pop(number))
    finally:
        for worker in workers:
            _dismiss(worker)


def _hired(compute: Compute, case: Case) -> _Worker:
    # a forked JAX or PyTorch may wait for threads that it does not have
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_serve, args=(compute, there), daemon=True)
    process.start()
    there.close()
    here.send(case)
    return _Worker(process, here, case)


def _received(worker: _Worker) -> Outcome:
    try:
        return worker.connection.recv()
    except (EOFError, ConnectionResetError):
        worker.process.join()
        error = f"the process ended with exit code {worker.process.exitcode}"
        return Outcome(worker.case, None, error, 0.0)


def _dismiss(worker: _Worker) -> None:
    worker.connection.close()
    worker.process.kill()
    worker.process.join()


def _serve(compute: Compute, connection: Connection) -> None:
    # the caller decides what Ctrl-C means
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ.update(ONE_THREAD)
    try:
        while True:
            connection.send(attempt(compute, connection.recv()))
    except (EOFError, OSError):
        return
