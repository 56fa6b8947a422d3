"""Damped Gauss-Newton: linearise, solve, go towards the solution as far as the misfit itself falls, repeat.

What is searched is a state: the jets of a function at collocation points, the weights of a basis, the weights of a
network. The problem says how to linearise at a state, and in which order to try new ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

from jaxtyping import Float
from numpy import ndarray

Solution = TypeVar("Solution")
State = Float[ndarray, " k"]

LENGTHS = (1.0, 0.5, 0.25, 0.1)

Ended = Literal["settled", "no better", "steps used up", "nothing to solve"]


@dataclass(frozen=True, eq=False)
class Step(Generic[Solution]):
    """The problem linearised at a state, solved, and the states to try: the boldest first."""

    solution: Solution
    proposals: Iterable[State]


@dataclass(frozen=True, eq=False)
class Descent(Generic[Solution]):
    """Where it ended and how."""

    state: State
    last: Solution | None  # of the last linearisation
    bold: Solution | None  # of the last whose boldest proposal was good: what it says can be believed
    misfits: list[float]
    ended: Ended


def descend(
    linearise: Callable[[State], Step[Solution] | None],
    misfit: Callable[[State], float],
    start: State,
    settled: Callable[[State, State, list[float]], bool],
    most: int,
) -> Descent[Solution]:
    """At most so many steps; ``settled`` sees the states before and after a step, and all misfits so far.

    ``linearise`` returns None where nothing depends on the state. The misfit may change with the linearisation.
    """
    state, last, bold = start, None, None
    misfits: list[float] = []
    for _ in range(most):
        step = linearise(state)
        if step is None:
            return Descent(state, last, bold, misfits, "nothing to solve")
        last, before = step.solution, misfit(state)
        misfits.append(before)
        proposals = enumerate(step.proposals)
        tried = ((number, trial, misfit(trial)) for number, trial in proposals)
        good = next((found for found in tried if found[2] < before), None)
        if good is None:
            return Descent(state, last, bold, misfits, "no better")
        number, trial, after = good
        bold = last if number == 0 else bold
        state, earlier = trial, state
        if settled(earlier, state, [*misfits, after]):
            return Descent(state, last, bold, misfits, "settled")
    return Descent(state, last, bold, misfits, "steps used up")


def towards(state: State, target: State) -> Iterator[State]:
    """Shorter and shorter steps from a state to the solution of its linearisation."""
    return (state + length * (target - state) for length in LENGTHS)


def relative_fall(least: float, share: float) -> Callable[[State, State, list[float]], bool]:
    """Settled when the misfit is down to a share of the first, or hardly falls any more."""

    def settled(earlier: State, state: State, misfits: list[float]) -> bool:
        return misfits[-1] < least * misfits[0] or misfits[-1] > share * misfits[-2]

    return settled
