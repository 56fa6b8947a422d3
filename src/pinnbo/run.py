"""Optimise a Python function from start to end."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from pinnbo.arguments import suggest_keywords
from pinnbo.methods import Method
from pinnbo.optimizer import Goal, Optimizer
from pinnbo.pde import PDE
from pinnbo.progress import progress as progress_of
from pinnbo.space import Space
from pinnbo.stated import as_physics

_FAILURES_IN_A_ROW = 3


class Evaluation(NamedTuple):
    """One call of the objective; ``error`` says what it raised, and then there is no value."""

    x: Float[ndarray, " d"]
    value: float | None
    error: str | None


@dataclass(frozen=True, repr=False)
class Result:
    """What a run has found.

    ``x`` and ``value`` are the recommendation (`Optimizer.best`) and its measured value, None if nothing was
    measured; ``stopped`` says why the run ended early, or is None. The recommended point has the best posterior mean.
    The best single reading, which the progress bar shows, may be another one: with noise it is often a lucky one.
    """

    x: Float[ndarray, " d"] | None
    value: float | None
    history: list[Evaluation]
    optimizer: Optimizer
    stopped: str | None

    def __repr__(self) -> str:
        goal, count = self.optimizer.goal, f"{len(self.history)} evaluations"
        ended = f"; stopped: {self.stopped}" if self.stopped else ""
        if self.x is None:
            return f"<Result of {goal}: nothing measured in {count}{ended}>"
        where = _shown(self.x)
        return (
            f"<Result of {goal}: best posterior mean at {where}, {self.value:.6g} measured there; "
            f"{_said(goal, self.history)}; {count}{ended}>"
        )

    def _repr_html_(self) -> str:
        from pinnbo.notebook import table

        best, rows = self.optimizer.best, [("evaluations", str(len(self.history)))]
        if best is None or self.x is None:
            rows.append(("recommended point", "nothing measured"))
        else:
            low, high = best.interval
            word = "lowest" if self.optimizer.goal == "minimize" else "highest"
            named = zip(self.optimizer.space.names, self.x, strict=True)
            rows += [
                ("recommended point", ", ".join(f"{name} = {c:.5g}" for name, c in named)),
                ("believed there", f"{best.mean:.5g}, 95% interval {low:.5g} to {high:.5g}"),
                ("measured there", f"{self.value:.5g}"),
                (
                    f"{word} reading",
                    _said(self.optimizer.goal, self.history).removeprefix(f"{word} reading "),
                ),
            ]
        return table([*rows, *([("stopped", self.stopped)] if self.stopped else [])])


@suggest_keywords
def minimize(
    objective: Callable[[Float[ndarray, " d"]], Any],
    space: Space,
    pde: PDE | Iterable[PDE] | None = None,
    *,
    n_trials: int,
    method: str | Method = "auto",
    seed: int = 0,
    noise: float | None = None,
    n_initial: int | None = None,
    measures: str | None = None,
    unknowns: Mapping[str, Sequence[Any]] | None = None,
    mean: Callable[[Any], Any] | None = None,
    robust: bool | float = False,
    progress: bool = True,
    resume: Result | None = None,
) -> Result:
    """Minimise a measured function; see `maximize` for the arguments."""
    settings = method, seed, noise, n_initial, measures, unknowns, mean, robust
    return _optimise("minimize", objective, space, pde, n_trials, settings, progress, resume)


@suggest_keywords
def maximize(
    objective: Callable[[Float[ndarray, " d"]], Any],
    space: Space,
    pde: PDE | Iterable[PDE] | None = None,
    *,
    n_trials: int,
    method: str | Method = "auto",
    seed: int = 0,
    noise: float | None = None,
    n_initial: int | None = None,
    measures: str | None = None,
    unknowns: Mapping[str, Sequence[Any]] | None = None,
    mean: Callable[[Any], Any] | None = None,
    robust: bool | float = False,
    progress: bool = True,
    resume: Result | None = None,
) -> Result:
    """Maximise a measured function.

    ``objective(x)`` takes a point (d,) and returns a number, NaN (infeasible) or None (lost). When it raises,
    the error is shown and recorded and the run goes on; three failures in a row end it. Ctrl-C ends it too.
    Either way the result holds what has been learnt. ``n_trials`` is the number of evaluations; ``method``, ``seed``,
    ``noise``, ``n_initial``, ``measures``, ``unknowns``, ``mean`` and ``robust`` are those of `Optimizer`. The progress
    bar shows the highest reading so far, which need not be the recommended point (`Result`). ``resume`` is an earlier
    result on the same box with the same equations, to which ``n_trials`` evaluations are added; all other settings are
    then those it had.
    """
    settings = method, seed, noise, n_initial, measures, unknowns, mean, robust
    return _optimise("maximize", objective, space, pde, n_trials, settings, progress, resume)


_Settings = tuple[
    str | Method,
    int,
    float | None,
    int | None,
    str | None,
    Mapping[str, Sequence[Any]] | None,
    Callable[[Any], Any] | None,
    bool | float,
]


def _optimise(
    goal: Goal,
    objective: Callable[[ndarray], Any],
    space: Space,
    pde: PDE | Iterable[PDE] | None,
    n_trials: int,
    settings: _Settings,
    progress: bool,
    resume: Result | None,
) -> Result:
    if not callable(objective):
        raise TypeError(f"{goal}: objective must be a function of x, got {type(objective).__name__}")
    if isinstance(n_trials, bool) or not isinstance(n_trials, int | np.integer) or n_trials < 1:
        raise ValueError(f"{goal}: n_trials must be an integer >= 1, got {n_trials!r}")
    if resume is None:
        method, seed, noise, n_initial, measures, unknowns, mean, robust = settings
        optimizer = Optimizer(
            space,
            pde,
            goal=goal,
            method=method,
            seed=seed,
            noise=noise,
            n_initial=n_initial,
            measures=measures,
            unknowns=unknowns,
            mean=mean,
            robust=robust,
        )
    else:
        optimizer = _resumed(resume, goal, space, pde)
    history: list[Evaluation] = [] if resume is None else list(resume.history)
    stopped: str | None = None
    failures = 0
    total = len(history) + int(n_trials)
    with progress_of(total, len(history), shown=progress) as bar:
        try:
            while len(history) < total and stopped is None:
                x = optimizer.ask()
                evaluation = _evaluate(objective, optimizer, x)
                history.append(evaluation)
                failures = failures + 1 if evaluation.value is None else 0
                if evaluation.error:
                    bar.say(f"trial {len(history)} failed at {x.tolist()}: {evaluation.error}")
                if failures == _FAILURES_IN_A_ROW:
                    last = evaluation.error or "no value: the function returned None"
                    stopped = f"{failures} evaluations failed in a row, the last with {last}"
                    bar.say(f"{goal}: {stopped}")
                bar.step(_said(goal, history))
        except KeyboardInterrupt:
            stopped = "interrupted"
    best = optimizer.best
    return Result(
        None if best is None else best.x, None if best is None else best.value, history, optimizer, stopped
    )


def _resumed(earlier: Result, goal: Goal, space: Space, pde: PDE | Iterable[PDE] | None) -> Optimizer:
    """The optimizer of an earlier result, which stays as it is; another problem is refused."""
    if not isinstance(earlier, Result):
        raise TypeError(f"{goal}: resume must be a Result, got {type(earlier).__name__}")
    before = earlier.optimizer
    if (before.goal, before.space) != (goal, space):
        raise ValueError(f"{goal}: resume was made to {before.goal} on {before.space}, got {goal} on {space}")
    physics = as_physics(pde)
    if physics == before.physics:
        return before.copy()
    try:
        return Optimizer.from_dict(before.to_dict(), physics)
    except ValueError as error:
        raise ValueError(f"{goal}: resume: {str(error).removeprefix('from_dict: ')}") from None


def _evaluate(objective: Callable[[ndarray], Any], optimizer: Optimizer, x: ndarray) -> Evaluation:
    """Measure and tell; an objective that raises, or a value that cannot be told, is a lost evaluation."""
    try:
        value = objective(x.copy())
        optimizer.tell(x, value)
    except Exception as error:
        optimizer.tell(x, None)
        return Evaluation(x, None, f"{type(error).__name__}: {error}")
    return Evaluation(x, None if value is None else float(value), None)


def best_reading(goal: Goal, history: Sequence[Evaluation]) -> Evaluation | None:
    """The evaluation with the best measured value, which noise may have made the best; None before any."""
    sign = 1.0 if goal == "minimize" else -1.0
    measured = [e for e in history if e.value is not None and np.isfinite(e.value)]
    return min(measured, key=lambda e: sign * (e.value or 0.0), default=None)


def _said(goal: Goal, history: Sequence[Evaluation]) -> str:
    best = best_reading(goal, history)
    if best is None:
        return "nothing measured yet"
    word = "lowest" if goal == "minimize" else "highest"
    return f"{word} reading {best.value:.4g} at {_shown(best.x)}"


def _shown(x: Float[ndarray, " d"]) -> str:
    return "(" + ", ".join(f"{c:.3g}" for c in x[:4]) + (", ...)" if len(x) > 4 else ")")
