"""Places where nothing can be measured: `auto`, which has to find the rim, beside `auto` that is told the true region.

    python benchmarks/impossible.py --seeds 5 --records /tmp/impossible.jsonl        # to try
    python benchmarks/impossible.py              # seeds 10 to 14, writes docs/benchmarks/impossible.md; resumes

An optimiser that knows the region weighs every place with probability 1 or 0, from the first suggestion on. The one
that does not is told NaN, and every NaN counts as an evaluation.
"""

import contextlib
import math
from typing import Any
from unittest import mock

import numpy as np
import script
from jaxtyping import Float
from numpy import ndarray
from physics import IMPOSSIBLE
from physics.impossible import Region

from pinnbo import Optimizer
from pinnbo.acquisition.feasibility import Feasibility
from pinnbo.bench.records import Case, Record
from pinnbo.bench.search import regret
from pinnbo.methods import setup
from pinnbo.space import Space

BUDGET, CLOSE = 30, 0.01
LEARNT, TOLD = "learnt", "told"
ALLOWED = {"nan-corner": lambda n: 1.5 * n, "nan-half-plane": lambda n: n + 10, "nan-disc": lambda n: n + 10}


class Mask(Feasibility):
    """The true region."""

    def __init__(self, space: Space, region: Region) -> None:
        self._space, self._region = space, region

    def log_probability(
        self, points: Float[ndarray, "k d"], slopes: bool = False
    ) -> tuple[Float[ndarray, " k"], Float[ndarray, "k d"]]:
        """Zero inside, minus infinity outside."""
        inside = self._region(self._space.unscale(points))
        return np.where(inside, 0.0, -np.inf), np.zeros_like(points)


def search(case: Case) -> dict[str, Any]:
    """The regret of every evaluation as a share of the range, infinite where nothing was measured."""
    made = IMPOSSIBLE[case["problem"]]
    problem = made(case["seed"])
    optimizer = Optimizer(problem.space, problem.pde, goal=problem.goal, seed=case["seed"])
    mask = Mask(problem.space, made.possible(case["seed"]))
    points = []
    for _ in range(case["n"]):
        known = mock.patch.object(setup, "possible", return_value=mask)
        with known if case["method"] == TOLD else contextlib.nullcontext():
            x = optimizer.ask()
        optimizer.tell(x, float(problem.evaluate(x[None])[0]))
        points.append(x)
    left = regret(problem, np.array(points))
    return {
        "regret": [float(r) if math.isfinite(r) else None for r in left],
        "points": np.array(points).tolist(),
    }


def evaluations(record: Record) -> float:
    """Until the best is within 1% of the range; infinite if it never is."""
    found = [n for n, r in enumerate(record.result["regret"], 1) if r is not None and r <= CLOSE]
    return found[0] if found else math.inf


def page(records: list[Record]) -> list[str]:
    groups = script.grouped(records)
    lines = [
        "# Impossible places",
        "",
        "Evaluations until the best of them is within 1% of the range, seed by seed: `auto` that is told NaN outside",
        "of the possible region, beside `auto` whose candidates are masked by the true region. Every NaN counts as an",
        "evaluation. The corner is beside the optimum; on the rims of half plane and disc lies the optimum itself,",
        "and has to be found by bisection. Allowed is what the project asked of itself: one and a half times the",
        "evaluations of the masked one for the corner, ten more for the others.",
        "",
        f"Command: `python benchmarks/impossible.py`; commits {script.commits(records)}.",
        "",
        "| problem | seed | masked | learnt | of these NaN | allowed | within |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, allowed in ALLOWED.items():
        told = {r.case["seed"]: evaluations(r) for r in groups.get((name, TOLD), [])}
        for record in sorted(groups.get((name, LEARNT), []), key=lambda r: r.case["seed"]):
            seed, mine = record.case["seed"], evaluations(record)
            if seed not in told:
                continue
            spent = record.result["regret"][: BUDGET if math.isinf(mine) else int(mine)]
            limit = allowed(told[seed])
            lines.append(
                f"| {name} | {seed} | {told[seed]} | {mine} | {spent.count(None)} | {limit:g} "
                f"| {'yes' if mine <= limit else 'no'} |"
            )
    return lines


def main() -> None:
    parser = script.parser(__doc__, seeds=5)
    parser.set_defaults(first_seed=10)
    arguments = parser.parse_args()
    cases = [
        {"problem": name, "method": method, "seed": seed, "n": BUDGET}
        for seed in script.seeds(arguments)
        for name in IMPOSSIBLE
        for method in (LEARNT, TOLD)
    ]
    script.run(arguments, "impossible", cases, search, page)


if __name__ == "__main__":
    main()
