"""Runs in processes of this machine.

Workers compute and send; the caller alone writes. A worker whose caller has been killed finds nobody to
send to and ends. A worker that dies costs the run it was at, and is replaced.
"""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import NamedTuple

from pinnbo.bench.execute import Unheard, execute, use_one_thread
from pinnbo.bench.records import Assignment, Event, Finished, Run, Work


class _Worker(NamedTuple):
    process: SpawnProcess
    connection: Connection
    run: Run


def events(
    assignments: Sequence[Assignment], load: Callable[[Assignment], Work], jobs: int
) -> Iterator[Event]:
    """What comes out of the assignments, as it comes, from as many processes as there are jobs."""
    waiting = list(reversed(assignments))
    workers: list[_Worker] = []
    try:
        while waiting or workers:
            while waiting and len(workers) < jobs:
                workers.append(_hired(load(waiting.pop())))
            for ready in wait([worker.connection for worker in workers]):
                number = next(i for i, worker in enumerate(workers) if worker.connection is ready)
                event = _received(workers[number])
                yield event
                if not isinstance(event, Finished):
                    continue
                if waiting and workers[number].process.is_alive():
                    work = load(waiting.pop())
                    workers[number].connection.send(work)
                    workers[number] = workers[number]._replace(run=work.assignment.run)
                else:
                    _dismiss(workers.pop(number))
    finally:
        for worker in workers:
            _dismiss(worker)


def _hired(work: Work) -> _Worker:
    # a forked JAX or PyTorch may wait for threads that it does not have
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_serve, args=(there,), daemon=True)
    process.start()
    there.close()
    here.send(work)
    return _Worker(process, here, work.assignment.run)


def _received(worker: _Worker) -> Event:
    try:
        return worker.connection.recv()
    except (EOFError, ConnectionResetError):
        worker.process.join()
        return Finished(worker.run, f"the process ended with exit code {worker.process.exitcode}")


def _dismiss(worker: _Worker) -> None:
    worker.connection.close()
    worker.process.kill()
    worker.process.join()


def _serve(connection: Connection) -> None:
    # the caller decides what Ctrl-C means
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    use_one_thread()

    def send(event: Event) -> None:
        try:
            connection.send(event)
        except OSError as error:
            raise Unheard from error

    try:
        while True:
            execute(connection.recv(), send)
    except (EOFError, OSError, Unheard):
        return
