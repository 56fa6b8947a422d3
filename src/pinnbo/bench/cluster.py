"""Runs on a Dask cluster.

Records come back as events of the scheduler while a run is under way, so that they are written as soon as
they are made; the result of a task holds them all again, in case any was missed. A task that Dask repeats
because its worker has died makes the same records again.
"""

from __future__ import annotations

import queue
import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from pinnbo.baselines.library import require
from pinnbo.bench.execute import execute, use_one_thread
from pinnbo.bench.records import Assignment, Evaluation, Event, Finished, Run, Work

# one run at a time in a process: PyTorch has one random state for all threads
_ALONE = threading.Lock()


def events(
    assignments: Sequence[Assignment], load: Callable[[Assignment], Work], address: str
) -> Iterator[Event]:
    """What comes out of the assignments, as it comes, from the workers of the cluster at the address."""
    client = _connected(address)
    topic = f"pinnbo-bench-{uuid.uuid4().hex}"
    inbox: queue.Queue[Any] = queue.Queue()
    last: dict[Run, int] = {}
    with client:
        client.subscribe_topic(topic, lambda event: inbox.put(_decoded(event[1])))
        open_runs: dict[Any, Run] = {}
        for assignment in assignments:
            work = load(assignment)
            future = client.submit(_serve, work, topic, pure=False)
            open_runs[future] = assignment.run
            last[assignment.run] = len(work.values)
            future.add_done_callback(inbox.put)
        try:
            yield from _received(inbox, open_runs, last)
        finally:
            client.cancel(list(open_runs))


def _received(inbox: queue.Queue[Any], open_runs: dict[Any, Run], last: dict[Run, int]) -> Iterator[Event]:
    """Events and ended tasks as they come in, every evaluation once; ``last`` is the latest of every run."""
    while open_runs:
        item = inbox.get()
        if isinstance(item, Evaluation):
            if item.n == last[item.run] + 1:
                last[item.run] = item.n
                yield item
        elif not isinstance(item, Finished):
            run = open_runs.pop(item)
            for event in _outcome(item, run):
                if isinstance(event, Finished) or event.n > last[run]:
                    yield event


def workers(address: str) -> int:
    """How many processes the cluster has."""
    with _connected(address) as client:
        return len(client.scheduler_info(n_workers=-1)["workers"])


def _connected(address: str) -> Any:
    require("--dask", "distributed")
    from distributed import Client

    try:
        return Client(address, timeout=5)
    except OSError as error:
        raise ValueError(f"bench: no Dask scheduler answers at {address!r} ({error})") from None


def _serve(work: Work, topic: str) -> list[list[Any]]:
    from distributed import get_worker

    worker = get_worker()
    made: list[list[Any]] = []

    def send(event: Event) -> None:
        message = _encoded(event)
        made.append(message)
        worker.log_event(topic, message)

    use_one_thread()
    with _ALONE:
        execute(work, send)
    return made


def _outcome(future: Any, run: Run) -> list[Event]:
    """All that a task made; the error of one that died."""
    if future.status == "finished":
        return [_decoded(message) for message in future.result()]
    return [Finished(run, f"the task ended as {future.status}: {future.exception()}")]


def _encoded(event: Event) -> list[Any]:
    return [list(event.run), *event[1:]]


def _decoded(message: Sequence[Any]) -> Event:
    run, *rest = message
    kind = Finished if len(rest) == 1 else Evaluation
    return kind(Run(*run), *rest)
