"""`auto` without a PDE beside BoTorch's default Gaussian process and LogEI, on the paper's nine problems.

    python benchmarks/without_physics.py              # 10 seeds, two processes; resumes
    python benchmarks/without_physics.py --report     # only write docs/without-physics.md from what has been run

Both begin with the same points and see the same noise, of a standard deviation of 1% of the range, which both are
told. Records go to out/without-physics.sqlite (`pinnbo bench`). The ratio of the regrets of a seed is taken after the
last evaluation; its median over all problems and seeds is given with a 95% bootstrap interval, seeds drawn again within
every problem.
"""

import argparse
from pathlib import Path

import numpy as np

from pinnbo import cli
from pinnbo.bench import store
from pinnbo.bench.measures import Traces
from pinnbo.bench.presets import HIGH, LOW

ROOT = Path(__file__).parent.parent
RECORDS = ROOT / "out" / "without-physics.sqlite"
REPORT = ROOT / "docs" / "without-physics.md"
MINE, ITS = "auto:plain", "gp-logei"
GROUPS = ((LOW, 10, 30), (HIGH, 20, 50))  # problems, initial points, evaluations
LEAST = 1e-6  # of the range: smaller regrets are all the same


def named(problem: str) -> str:
    return f"{problem}:noise=0.01"


def run(seeds: int, jobs: int) -> None:
    for problems, initial, budget in GROUPS:
        arguments = ["bench", "run", "--preset", "laptop", "--methods", MINE, ITS, "--seeds", str(seeds)]
        arguments += ["--initial", str(initial), "--budget", str(budget), "--jobs", str(jobs)]
        cli.main(
            [*arguments, "--records", str(RECORDS), "--problems", *(named(problem) for problem in problems)]
        )


def ratios(traces: Traces, problem: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Regrets of both at the end, and their ratio, seed by seed."""
    mine, its = ({t.run.seed: t.simple[-1] for t in traces.of(problem, method)} for method in (MINE, ITS))
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


def report() -> None:
    with store.opened(RECORDS) as records:
        traces, sessions = Traces(records), records.sessions()
    commits = ", ".join(sorted({session.revision for session in sessions}))
    lines = [
        "# `auto` without an equation",
        "",
        "`auto` with `pde=None` beside BoTorch's default Gaussian process and LogEI: the same initial points, the same",
        "noise (standard deviation 1% of the range, told to both), the same budget. Median simple regret of the best",
        "evaluated point without noise, in per cent of the range; the ratio is taken seed by seed, its median over the",
        "seeds with a 95% bootstrap interval.",
        "",
        f"Command: `python benchmarks/without_physics.py`; commits {commits}.",
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
    REPORT.write_text("\n".join(lines) + "\n")
    print(REPORT.relative_to(ROOT), lines[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--report", action="store_true")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    if not arguments.report:
        run(arguments.seeds, arguments.jobs)
    report()


if __name__ == "__main__":
    main()
