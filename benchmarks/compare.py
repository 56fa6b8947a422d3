"""Did a change cost anything? Two files of records, before and after, with the same problems and seeds.

    python benchmarks/compare.py before.jsonl after.jsonl
    python benchmarks/compare.py runs.jsonl runs.jsonl --methods auto auto:plain     # two methods of one file

The score of a run is the mean over its evaluations of log10 of the best noise-free regret so far, as a share of the
range, where regrets below 0.1% of the range count as 0.1%: whoever is that near is as near as the other. Runs are
paired by problem and seed. Pooled over all pairs: Wilcoxon's signed-rank test (zeros ranked, as Pratt has it) and the
median difference; then every problem whose median score or final regret got worse; then all problems.
"""

import argparse
from pathlib import Path
from typing import NamedTuple

import numpy as np
from convert import read
from scipy.stats import wilcoxon

LEAST = 1e-3  # of the range: nearer is near enough
# the same run on another machine or version differs by rounding; that is not a change
SAME = 1e-9
HEAD = (
    "problem | pairs | score before | after | difference | final % before | after | to 1% before | after "
    "| coverage before | after | time ratio"
)


class Pair(NamedTuple):
    """What one run came to before and after."""

    problem: str
    score: tuple[float, float]
    final: tuple[float, float]
    reached: tuple[float, float]
    coverage: tuple[float, float]
    seconds: tuple[float, float]

    @property
    def difference(self) -> float:
        """Of the scores, after minus before: above 0 is worse."""
        return self.score[1] - self.score[0]


def measured(result: dict, seconds: float, n: int) -> tuple[float, ...]:
    """Score, final regret, evaluations to 1%, coverage and time of a run, over its first n evaluations."""
    best = np.maximum(np.minimum.accumulate(result["regret"][:n]), LEAST)
    below = np.flatnonzero(best < 0.01)
    reached = float(below[0] + 1) if len(below) else np.inf
    return float(np.mean(np.log10(best))), float(best[-1]), reached, result["coverage"], seconds


def pairs(before: Path, after: Path, methods: list[str] | None = None) -> list[Pair]:
    """Runs that are in both files and did not fail; with ``methods``, the first of the one and the second of the
    other.
    """
    sides = []
    for number, path in enumerate((before, after)):
        found = {}
        for record in read(path):
            problem, method, seed = (record.case[name] for name in ("problem", "method", "seed"))
            wanted = method if methods is None else methods[number]
            if record.result is not None and method == wanted:
                found[problem, "" if methods else method, seed] = record
        sides.append(found)
    made = []
    for name in sorted(set(sides[0]) & set(sides[1])):
        both = [side[name] for side in sides]
        n = min(len(record.result["regret"]) for record in both)
        columns = zip(*(measured(record.result, record.seconds, n) for record in both), strict=True)
        made.append(Pair(f"{name[0]} {name[1]}".strip(), *columns))
    return made


def pooled(made: list[Pair]) -> list[str]:
    """The test on all pairs, in words."""
    differences = np.array([pair.difference for pair in made])
    differences[np.abs(differences) < SAME] = 0.0
    worse, better = int(np.sum(differences > 0)), int(np.sum(differences < 0))
    sides = {"two-sided": 1.0, "greater": 1.0}
    if worse + better:
        sides = {
            side: float(wilcoxon(differences, zero_method="pratt", alternative=side).pvalue) for side in sides
        }
    coverage = np.mean([pair.coverage for pair in made], axis=0)
    ratio = np.median([pair.seconds[1] / pair.seconds[0] for pair in made])
    loss = "a loss" if sides["greater"] < 0.05 else "no loss"
    return [
        f"{len(made)} pairs: {better} better, {worse} worse, {len(made) - worse - better} the same; {loss} at 5% "
        f"(Wilcoxon: a loss p = {sides['greater']:.3g}, any change p = {sides['two-sided']:.3g}).",
        f"Difference of the mean log10 regret: median {np.median(differences):+.4f}, mean {np.mean(differences):+.4f} "
        "(above 0 is worse).",
        f"Coverage of the 95% intervals: {100 * coverage[0]:.1f}% before, {100 * coverage[1]:.1f}% after.",
        f"Time after / before: median {ratio:.2f}, on the clock: it says something only if both ran alone (speed.py).",
    ]


def rows(made: list[Pair]) -> tuple[list[str], list[str]]:
    """A row for every problem; and the rows of those whose median score or final regret got worse."""
    every, worse = [], []
    for problem in sorted({pair.problem for pair in made}):
        group = [pair for pair in made if pair.problem == problem]
        score, final, reached = (
            np.median([getattr(pair, name) for pair in group], axis=0)
            for name in ("score", "final", "reached")
        )
        difference = np.median([pair.difference for pair in group])
        coverage = np.mean([pair.coverage for pair in group], axis=0)
        ratio = np.median([pair.seconds[1] / pair.seconds[0] for pair in group])
        every.append(
            f"| {problem} | {len(group)} | {score[0]:.3f} | {score[1]:.3f} | {difference:+.3f} "
            f"| {100 * final[0]:.2f} | {100 * final[1]:.2f} | {reached[0]:g} | {reached[1]:g} "
            f"| {100 * coverage[0]:.0f}% | {100 * coverage[1]:.0f}% | {ratio:.2f} |"
        )
        if score[1] > score[0] + SAME or final[1] > final[0] + SAME:
            worse.append(every[-1])
    return every, worse


def report(made: list[Pair]) -> str:
    every, worse = rows(made)
    table = [f"| {HEAD} |", "|" + "---|" * (HEAD.count("|") + 1)]
    lines = [*pooled(made), "", f"## Median worse: {len(worse)} of {len(every)} problems", ""]
    lines += [*table, *worse] if worse else ["None."]
    return "\n".join([*lines, "", "## All problems", "", *table, *every])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("--methods", nargs=2, metavar=("BEFORE", "AFTER"))
    arguments = parser.parse_args()
    made = pairs(arguments.before, arguments.after, arguments.methods)
    if not made:
        parser.error("the two files have no problem, method and seed in common")
    print(report(made))


if __name__ == "__main__":
    main()
