"""Run a problem until its budget is used up: several workers, restarts and failures included.

Workers are threads that share one surrogate: a suggestion takes into account what the others have under way, and the
physics is conditioned on once. More processes, also on other machines, may run the same problem at the same time; they
meet in the storage.

The budget counts answers (measurements and infeasible points) and whatever is under way; what is lost is tried again.
An evaluation that cannot be started ends the run: the next one would not start either, and the study is as it was.
"""

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from optuna.trial import Trial, TrialState

from pinnbo.studies import record, storage, workers
from pinnbo.studies.campaign import Asked, Campaign
from pinnbo.studies.errors import OutageError, StorageError
from pinnbo.studies.evaluation import Evaluation, NotStartedError, Outcome
from pinnbo.studies.stopping import outlook
from pinnbo.studies.storage_errors import clear_errors

_FAILURES_IN_A_ROW = 3
_POLL = 0.5
_OUTAGE = 600.0  # seconds that a storage is waited for which answered before: a server that is updated takes minutes
_PAUSE = 2.0

T = TypeVar("T")


@dataclass(eq=False)
class Run:
    """One call of ``pinnbo run``.

    ``report`` is told every outcome once it is stored, or with a sentence that says why it is not; ``say`` is told what
    the user should know; afterwards ``stopped`` says why the run ended early, or is None,
    and ``exit_code`` is that of the command.
    """

    campaign: Campaign
    evaluation: Evaluation
    until: float | None
    report: Callable[[Asked, Outcome, str | None], None]
    say: Callable[[str], None]
    stopped: str | None = None
    exit_code: int = 0
    _stop: threading.Event = field(default_factory=threading.Event)  # begin nothing new
    _abort: threading.Event = field(default_factory=threading.Event)  # and give up what is under way
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _failures: int = 0
    _error: BaseException | None = None

    def execute(self, n_workers: int) -> None:
        """Work until the budget is used up, little is left to gain, too much fails, or Ctrl-C."""
        if n_workers == 1:
            # in the main thread, where Ctrl-C interrupts a Python function
            with contextlib.suppress(KeyboardInterrupt):
                self._work()
                return
            self._interrupt()
        else:
            self._in_threads(n_workers)

    def _in_threads(self, n_workers: int) -> None:
        # Ctrl-C during Thread.join may leave a thread that works marked as ended, so that events are waited for
        ended = [threading.Event() for _ in range(n_workers)]
        for event in ended:
            threading.Thread(target=self._work_in_thread, args=(event,), daemon=True).start()
        while not all(event.is_set() for event in ended):
            try:
                for event in ended:
                    event.wait(_POLL)
            except KeyboardInterrupt:
                if self._abort.is_set():
                    raise  # the second time: do not wait for what is under way
                self._interrupt()
        if self._error is not None:
            raise self._error

    def _work_in_thread(self, ended: threading.Event) -> None:
        try:
            self._work()
        except BaseException as error:
            self._error = self._error or error
            self._stop.set()
        finally:
            ended.set()

    def _work(self) -> None:
        while (trial := self._next()) is not None:
            with self._alive(trial):
                try:
                    asked = self._patiently(partial(self._chosen, trial))
                    outcome = self.evaluation(asked.point, asked.number, self._abort)
                except NotStartedError as error:
                    self._patiently(partial(self.campaign.give_up, trial, str(error)))
                    self._end(str(error), error.exit_code)
                    return
                except BaseException as error:
                    interrupted = isinstance(error, KeyboardInterrupt)
                    with contextlib.suppress(Exception):  # what went wrong is said by the first error
                        self.campaign.give_up(
                            trial, "interrupted" if interrupted else "no point could be chosen"
                        )
                    raise
                try:
                    complaint = self._store(asked, outcome)
                except KeyboardInterrupt:
                    # at the worst moment: what is stored already is not stored twice
                    self._store(asked, outcome)
                    raise
            self._patiently(partial(self.report, asked, outcome, complaint))
            self._patiently(partial(self._judge, outcome))

    def _chosen(self, trial: Trial) -> Asked:
        with self._lock:
            return self.campaign.choose(trial)

    def _store(self, asked: Asked, outcome: Outcome) -> str | None:
        """Store an outcome whatever happens: while the storage does not take it, it waits in a file."""
        waits: list[str] = []

        def attempt() -> str | None:
            try:
                with clear_errors(self._storage):
                    return self.campaign.store(asked, outcome)
            except StorageError:
                waits[:] = [self.campaign.keep(asked, outcome)]
                raise

        try:
            complaint = self._patiently(attempt)
        except StorageError as error:
            raise StorageError(f"{error}; trial {asked.number} gave {outcome.value}, {waits[0]}") from error
        if waits:
            self.campaign.forget(asked)
        return complaint

    def _patiently(self, operation: Callable[[], T]) -> T:
        """Do something with the storage; one that does not answer, after it did, may be starting again."""
        deadline: float | None = None
        while True:
            try:
                with clear_errors(self._storage):
                    return operation()
            except OutageError as error:
                now = time.monotonic()
                if deadline is None:
                    deadline = now + _OUTAGE
                    self.say(f"{error}; waiting for it for up to {_OUTAGE / 60:g} minutes")
                if now > deadline or self._abort.wait(_PAUSE):
                    raise

    @property
    def _storage(self) -> str:
        return storage.shown(self.campaign.url)

    @property
    def _budget(self) -> int:
        return self.campaign.problem.budget

    def _next(self) -> Trial | None:
        """A trial, as soon as there is room for one; None when there is nothing left to do."""
        while not self._stop.is_set():
            trial, over = self._patiently(self._place)
            if trial is not None or over:
                return trial
            # what the others have under way may still be lost
            self._stop.wait(_POLL)
        return None

    def _place(self) -> tuple[Trial | None, bool]:
        """A trial if there is room for one now, and whether there never will be."""
        with self._lock:
            workers.release_dead_trials(self.campaign.study)
            answered, running, by_hand = self._counts(math.inf)
            if answered + by_hand >= self._budget:
                if answered < self._budget and not running - by_hand:
                    self._end(f"the rest of the budget, {by_hand} of {self._budget}, is under way by hand", 0)
                return None, True
            if answered + running < self._budget:
                trial = self.campaign.start(workers.myself())
                answered, running, _ = self._counts(trial.number)
                if answered + running < self._budget:
                    return trial, False
                # another process took the last place at the same moment
                self.campaign.give_up(trial, "not needed")
        return None, False

    def _counts(self, before: float) -> tuple[int, int, int]:
        """How many earlier trials are answered, under way, and under way by hand."""
        entries = self.campaign.record().of(*record.ANSWERED)
        trials = self.campaign.study.get_trials(deepcopy=False, states=(TrialState.RUNNING,))
        running = [trial for trial in trials if trial.number < before]
        by_hand = sum(
            trial.user_attrs.get(workers.WORKER) == workers.BY_HAND
            and record.point_of(trial, self.campaign.problem.space) is not None
            for trial in running
        )
        return sum(entry.number < before for entry in entries), len(running), by_hand

    def _judge(self, outcome: Outcome) -> None:
        with self._lock:
            if self._stop.is_set():
                return
            self._failures = self._failures + 1 if outcome.value is None else 0
            if self._failures == _FAILURES_IN_A_ROW:
                self._end(
                    f"{self._failures} evaluations in a row were lost, the last because {outcome.reason}", 1
                )
            elif self.until is not None and outcome.value is not None:
                now = outlook(self.campaign.optimizer())
                if now is not None and now.expected_improvement < self.until:
                    gain = now.expected_improvement
                    self._end(
                        f"one more evaluation is expected to gain {gain:.2g}, less than {self.until:g}", 0
                    )

    def _end(self, why: str, exit_code: int) -> None:
        self.stopped, self.exit_code = why, exit_code
        self._stop.set()

    def _interrupt(self) -> None:
        self._end("interrupted", 130)
        self._abort.set()

    @contextlib.contextmanager
    def _alive(self, trial: Trial) -> Iterator[None]:
        """Give signs of life while a trial is under way."""
        done = threading.Event()

        def beat() -> None:
            while not done.wait(self.campaign.problem.heartbeat):
                # a storage that is away for a moment must not end the evaluation
                with contextlib.suppress(StorageError), clear_errors(self._storage):
                    self.campaign.sign_of_life(trial)

        thread = threading.Thread(target=beat, daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()
