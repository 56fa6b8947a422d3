"""What the records say: regret, evaluations to a threshold, ranks, times. Regret is that of the true values,
as a share of the range of the problem.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from pinnbo.bench import names
from pinnbo.bench.records import Record

THRESHOLDS = (0.1, 0.01, 0.001)


@dataclass(frozen=True, eq=False)
class Trace:
    """One run: the regret and the time of every evaluation, and its points (none where they were not recorded)."""

    seed: int
    initial: int
    regret: Float[ndarray, " n"]
    seconds: Float[ndarray, " n"]
    points: Float[ndarray, "n d"]

    @property
    def simple(self) -> Float[ndarray, " n"]:
        """The lowest regret so far."""
        return np.minimum.accumulate(self.regret)

    @property
    def cumulative(self) -> Float[ndarray, " n"]:
        """The sum of the regrets so far."""
        return np.cumsum(self.regret)


class Reached(NamedTuple):
    """Evaluations to a threshold: the median over the seeds, or the budget that at least half of them
    exhausted.
    """

    evaluations: int
    censored: bool
    successes: int
    seeds: int

    def __str__(self) -> str:
        sign = "> " if self.censored else ""
        return f"{sign}{self.evaluations} ({self.successes}/{self.seeds})"


class Ranking(NamedTuple):
    """Average ranks over problems, Friedman's p and Nemenyi's critical difference at 5%."""

    ranks: dict[str, float]
    problems: list[str]
    p: float
    critical_difference: float


class Traces:
    """The runs that did not fail, by problem and method; of several lengths the longest."""

    def __init__(self, records: Iterable[Record]) -> None:
        groups: dict[tuple[str, str], list[Record]] = {}
        for record in records:
            if record.result is not None:
                groups.setdefault((record.case["problem"], record.case["method"]), []).append(record)
        self._traces: dict[tuple[str, str], list[Trace]] = {}
        for group, runs in groups.items():
            longest = max(run.case["n"] for run in runs)
            traces = [_trace(run) for run in runs if run.case["n"] == longest]
            self._traces[group] = sorted(traces, key=lambda trace: trace.seed)

    def problems(self) -> list[str]:
        """In the order of the paper, variants after their problem."""
        from pinnbo import problems

        order = {name: i for i, name in enumerate(problems.available())}
        found = {problem for problem, _ in self._traces}
        return sorted(found, key=lambda name: (order.get(name.split(":")[0], len(order)), name))

    def methods(self, problem: str | None = None) -> list[str]:
        """That have been run on the problem, or on any."""
        return sorted({method for name, method in self._traces if problem in (None, name)})

    def of(self, problem: str, method: str) -> list[Trace]:
        """The runs of a method on a problem, by seed."""
        return self._traces.get((problem, method), [])

    def stacked(self, problem: str, method: str, kind: str) -> Float[ndarray, "s n"]:
        """``simple`` or ``cumulative`` regret of all seeds."""
        return np.array([getattr(trace, kind) for trace in self.of(problem, method)])

    def common_budget(self, problem: str, methods: Iterable[str]) -> int:
        """The evaluations that all these methods have."""
        return min(len(self.of(problem, method)[0].regret) for method in methods)

    def reached(self, problem: str, method: str, threshold: float) -> Reached:
        """Evaluations to a threshold."""
        traces = self.of(problem, method)
        firsts = [_first(trace.simple, threshold) for trace in traces]
        budget = len(traces[0].regret)
        # the upper median: more than half of the seeds have come so far
        median = float(np.sort(firsts)[len(firsts) // 2])
        censored = not np.isfinite(median)
        successes = int(np.isfinite(firsts).sum())
        return Reached(budget if censored else int(median), censored, successes, len(firsts))

    def suggestion_seconds(self, problem: str, method: str) -> float:
        """Median time of ask and tell after the common points."""
        times = [trace.seconds[trace.initial :] for trace in self.of(problem, method)]
        return float(np.median(np.concatenate(times)))

    def ranking(self, problems: Sequence[str], methods: Sequence[str]) -> Ranking:
        """Ranks of the mean simple regret at equal evaluations, over the problems on which all methods were
        run.
        """
        from scipy.stats import friedmanchisquare, rankdata, studentized_range

        shared = [p for p in problems if all(self.of(p, m) for m in methods)]
        if len(shared) < 2 or len(methods) < 3:
            return Ranking({}, shared, float("nan"), float("nan"))
        scores = np.array([list(self.at_equal_evaluations(p, methods).values()) for p in shared])
        ranks = np.array([rankdata(row) for row in scores])
        n, k = ranks.shape
        p = float(friedmanchisquare(*scores.T).pvalue) if n > 1 else float("nan")
        q = float(studentized_range.ppf(0.95, k, np.inf)) / np.sqrt(2.0)
        averages = dict(zip(methods, ranks.mean(axis=0).tolist(), strict=True))
        return Ranking(averages, shared, p, float(q * np.sqrt(k * (k + 1) / (6.0 * n))))

    def at_equal_evaluations(self, problem: str, methods: Sequence[str]) -> dict[str, float]:
        """Mean simple regret of each method where the first of them stops."""
        n = self.common_budget(problem, methods)
        return {m: float(self.stacked(problem, m, "simple")[:, n - 1].mean()) for m in methods}

    def compared(self, problem: str, method: str, other: str, others_problem: str) -> tuple[str, int]:
        """Whether a method is better than another at equal evaluations, by two standard errors, and at how
        many.

        The other may have been run on a problem that is the same to it: which PDE is stated is nothing to
        a method without physics.
        """
        ours, theirs = self.stacked(problem, method, "simple"), self.stacked(others_problem, other, "simple")
        n = min(ours.shape[1], theirs.shape[1])
        ours, theirs = ours[:, n - 1], theirs[:, n - 1]
        if len(ours) < 2 or len(theirs) < 2:
            return "too few seeds", n
        gap = float(theirs.mean() - ours.mean())
        error = float(np.hypot(standard_error(ours), standard_error(theirs)))
        if abs(gap) <= 2.0 * error:
            return "even", n
        return ("better" if gap > 0 else "worse"), n


def saving(ours: Reached, others: Mapping[str, Reached]) -> str:
    """How many times fewer evaluations we need than the best of the others; "at least" where those were not
    enough.
    """
    if ours.censored or not others:
        return "-"
    best, least = min(others.items(), key=lambda item: (item[1].censored, item[1].evaluations))
    if least.censored:
        least = max(others.values(), key=lambda reached: reached.evaluations)
        return f"at least {least.evaluations / ours.evaluations:.3g} (none in {least.evaluations})"
    return f"{least.evaluations / ours.evaluations:.3g} ({best})"


def standard_error(values: Float[ndarray, "s ..."]) -> ndarray:
    """Of the mean over the seeds; 0 of a single one."""
    if len(values) < 2:
        return np.zeros(values.shape[1:])
    return np.std(values, axis=0, ddof=1) / np.sqrt(len(values))


def _trace(record: Record) -> Trace:
    case, result = record.case, record.result or {}
    own = case["initial"] or 0 if names.contender(case["method"]).common_start else 0
    regret, points = np.array(result["regret"]), np.array(result.get("points", []), ndmin=2)
    return Trace(case["seed"], min(own, len(regret) - 1), regret, np.array(result["seconds"]), points)


def _first(simple: Float[ndarray, " n"], threshold: float) -> float:
    hits = np.flatnonzero(simple <= threshold)
    return float(hits[0] + 1) if len(hits) else float("inf")
