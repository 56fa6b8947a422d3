"""`auto` without a PDE beside BoTorch's default Gaussian process and LogEI, on the paper's nine problems.

    python benchmarks/without_physics.py --jobs 2     # 10 seeds, two processes; resumes
    python benchmarks/without_physics.py --report     # only write its page from what has been run

Both begin with the same points and see the same noise, of a standard deviation of 1% of the range, which both are
told. The ratio of the regrets of a seed is taken after the
last evaluation; its median over all problems and seeds is given with a 95% bootstrap interval, seeds drawn again within
every problem.
"""

import numpy as np
import script

from pinnbo.bench.measures import Traces
from pinnbo.bench.presets import HIGH, LOW
from pinnbo.bench.records import Record
from pinnbo.bench.search import case, search

MINE, ITS = "auto:plain", "gp-logei"
GROUPS = ((LOW, 10, 30), (HIGH, 20, 50))  # problems, initial points, evaluations
LEAST = 1e-6  # of the range: smaller regrets are all the same


def named(problem: str) -> str:
    return f"{problem}:noise=0.01"


def ratios(traces: Traces, problem: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Regrets of both at the end, and their ratio, seed by seed."""
    mine, its = ({t.seed: t.simple[-1] for t in traces.of(problem, method)} for method in (MINE, ITS))
    seeds = sorted(set(mine) & set(its))
    a, b = (np.maximum([regrets[s] for s in seeds], LEAST) for regrets in (mine, its))
    return a, b, a / b


def bootstrap(groups: list[np.ndarray], draws: int = 10_000) -> tuple[float, float]:
    """95% interval of the median of all, seeds drawn again within every group."""
    rng = np.random.default_rng(0)
    medians = [
        np.median(np.concatenate([rng.choice(group, len(group)) for group in groups])) for _ in range(draws)
    ]
    low, high = np.percentile(medians, [2.5, 97.5])
    return float(low), float(high)


def page(records: list[Record]) -> list[str]:
    traces = Traces(records)
    lines = [
        "# `auto` without an equation",
        "",
        "`auto` with `pde=None` beside BoTorch's default Gaussian process and LogEI: the same initial points, the same",
        "noise (standard deviation 1% of the range, told to both), the same budget. Median simple regret of the best",
        "evaluated point without noise, in per cent of the range; the ratio is taken seed by seed, its median over the",
        "seeds with a 95% bootstrap interval.",
        "",
        f"Command: `python benchmarks/without_physics.py`; commits {script.commits(records)}.",
        "",
        "| problem | seeds | n | `auto` | BoTorch | ratio |",
        "|---|---|---|---|---|---|",
    ]
    groups = []
    for problems, _, budget in GROUPS:
        for problem in problems:
            mine, its, ratio = ratios(traces, named(problem))
            if not len(ratio):
                continue
            groups.append(ratio)
            low, high = bootstrap([ratio])
            lines.append(
                f"| {problem} | {len(ratio)} | {budget} | {100 * np.median(mine):.3f} | {100 * np.median(its):.3f} "
                f"| {np.median(ratio):.2f} ({low:.2f} to {high:.2f}) |"
            )
    low, high = bootstrap(groups)
    middle = np.median(np.concatenate(groups))
    lines.append(f"| **all** | | | | | **{middle:.2f} ({low:.2f} to {high:.2f})** |")
    return lines


def main() -> None:
    arguments = script.parser(__doc__, seeds=10).parse_args()
    cases = [
        case(named(problem), method, seed, budget, initial)
        for seed in script.seeds(arguments)
        for problems, initial, budget in GROUPS
        for problem in problems
        for method in (MINE, ITS)
    ]
    script.run(arguments, "without-physics", cases, search, page)


if __name__ == "__main__":
    main()
