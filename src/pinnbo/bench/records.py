"""What a benchmark is made of: runs, what is to be computed of them, and what comes out, as plain values."""

from __future__ import annotations

from typing import NamedTuple


class Run(NamedTuple):
    """One method on one problem with one seed."""

    problem: str
    method: str
    seed: int

    def __str__(self) -> str:
        return f"{self.problem}, {self.method}, seed {self.seed}"


class Assignment(NamedTuple):
    """A run up to ``budget`` evaluations, of which the first ``initial`` are the common ones of its seed."""

    run: Run
    initial: int
    budget: int


class Work(NamedTuple):
    """An assignment with what has been computed of it: points, values, and the engine's state as JSON."""

    assignment: Assignment
    points: list[list[float]]
    values: list[float]
    state: str


class Evaluation(NamedTuple):
    """One record; ``n`` counts from 1, ``truth`` is the value without noise.

    ``state`` is the engine's after it; only that of a run's last evaluation is kept, and none is read back.
    """

    run: Run
    n: int
    x: list[float]
    y: float
    truth: float
    ask_seconds: float
    tell_seconds: float
    state: str | None


class Finished(NamedTuple):
    """A run has come to its end, or failed with an error."""

    run: Run
    error: str | None


Event = Evaluation | Finished
