"""Computing what is missing of a list of runs, recording it as it comes, and saying how long it will take."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from tqdm.auto import tqdm

from pinnbo.bench.records import Assignment, Evaluation, Event, Run, Work
from pinnbo.bench.store import Store

Backend = Callable[[Sequence[Assignment], Callable[[Assignment], Work]], Iterator[Event]]


class Outcome(NamedTuple):
    """How many evaluations were recorded, and the runs that failed on the way with their errors."""

    evaluations: int
    failures: dict[Run, str]


def missing(assignments: Sequence[Assignment], store: Store) -> list[Assignment]:
    """Those that are not complete and have not failed; each is checked against what is recorded of it."""
    done, failed = store.counts(), store.failures()
    for assignment in assignments:
        if done.get(assignment.run):
            store.load(assignment)
    return [a for a in assignments if done.get(a.run, 0) < a.budget and a.run not in failed]


def compute(assignments: Sequence[Assignment], store: Store, backend: Backend, workers: int) -> Outcome:
    """Compute and record; ``workers`` is how many work at a time, for the time that is left."""
    left = Left(assignments, store, workers)
    initial = {assignment.run: assignment.initial for assignment in assignments}
    failures: dict[Run, str] = {}
    recorded = 0
    total = left.evaluations
    form = "{n_fmt}/{total_fmt} evaluations |{bar}| {elapsed} gone{postfix}"
    with tqdm(total=total, file=sys.stderr, bar_format=form, postfix="time left unknown") as bar:
        for event in backend(assignments, store.load):
            store.write(event, initial[event.run])
            if isinstance(event, Evaluation):
                recorded += 1
                left.made(event)
                bar.set_postfix_str(left.text(), refresh=False)
                bar.update()
            elif event.error is not None:
                failures[event.run] = event.error
                left.ended(event.run)
                bar.write(f"{event.run} failed: {event.error}", file=sys.stderr)
    return Outcome(recorded, failures)


class Left:
    """An estimate of the time left, from the time that each method has taken on each problem so far."""

    def __init__(self, assignments: Sequence[Assignment], store: Store, workers: int) -> None:
        done = store.counts()
        self._open = {a.run: a.budget - done.get(a.run, 0) for a in assignments}
        self._spent = {key: list(value) for key, value in store.seconds().items()}
        self._workers = max(1, workers)

    @property
    def evaluations(self) -> int:
        """How many are still to be made."""
        return sum(self._open.values())

    def made(self, evaluation: Evaluation) -> None:
        """Count one evaluation."""
        run = evaluation.run
        self._open[run] -= 1
        spent = self._spent.setdefault((run.problem, run.method), [0.0, 0])
        spent[0] += evaluation.ask_seconds + evaluation.tell_seconds
        spent[1] += 1

    def ended(self, run: Run) -> None:
        """A run that has failed will not be continued."""
        self._open[run] = 0

    def seconds(self) -> float | None:
        """The time left; None before anything is known."""
        if not self._spent:
            return None
        return sum(n * self._rate(run) for run, n in self._open.items() if n) / self._workers

    def text(self) -> str:
        """The time left in words."""
        seconds = self.seconds()
        if seconds is None:
            return "time left unknown"
        hours, minutes = divmod(round(seconds / 60), 60)
        if hours:
            return f"about {hours} h {minutes} min left"
        return f"about {minutes} min left" if minutes else "less than a minute left"

    def _rate(self, run: Run) -> float:
        """Seconds per evaluation: on this problem, or else of this method, or else of all."""
        for alike in (
            lambda key: key == (run.problem, run.method),
            lambda key: key[1] == run.method,
            lambda key: True,
        ):
            found = [spent for key, spent in self._spent.items() if alike(key)]
            if found:
                return sum(s[0] for s in found) / sum(s[1] for s in found)
        raise AssertionError("a rate is asked for when something has been spent")
