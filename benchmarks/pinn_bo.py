"""Regret of `pinn-bo` on the nine problems, with the PDE and without it.

    python benchmarks/pinn_bo.py                 # all nine, 5 seeds, 60 evaluations; resumes where it stopped
    python benchmarks/pinn_bo.py --without-pde   # also every problem with pde=None
    python benchmarks/pinn_bo.py --report        # only write docs/benchmarks/pinn-bo-results.md from what has been run

Noise has a standard deviation of 1% of the range.
"""

import numpy as np
import script

from pinnbo import problems
from pinnbo.bench.records import Record
from pinnbo.bench.search import case, search

MARKS = (10, 20, 30, 40, 60)
METHODS = {True: "pinn-bo", False: "pinn-bo:plain"}


def page(records: list[Record]) -> list[str]:
    groups = script.grouped(records)
    lines = [
        "# `pinn-bo` on the paper's nine problems",
        "",
        'The paper\'s method, a trained network used greedily (`method="pinn-bo"`, default settings), with the PDE',
        "and with `pde=None`. Noise-free simple regret of the best evaluated point as a share of the range, in per",
        "cent: median over the seeds (smallest to largest at the last mark). Observation noise: standard deviation",
        "1% of the range. n counts every evaluation, the initial ones included. The last column is the regret of the",
        "recommendation `opt.best` at the end, which uses no oracle.",
        "",
        f"Command: `python benchmarks/pinn_bo.py`, runs at commits {script.commits(records)}.",
        "",
        "| problem | PDE | seeds | " + " | ".join(f"n = {m}" for m in MARKS) + " | recommended |",
        "|---|---|---|" + "---|" * (len(MARKS) + 1),
    ]
    for name in problems.available():
        for with_pde in (True, False):
            runs = groups.get((f"{name}:noise=0.01", METHODS[with_pde]), [])
            if not runs:
                continue
            best = [100 * np.minimum.accumulate(r.result["regret"]) for r in runs]
            cells = [
                f"{np.median([b[m - 1] for b in best]):.2f}" if all(len(b) >= m for b in best) else "-"
                for m in MARKS
            ]
            ends = [b[-1] for b in best]
            cells[-1] += f" ({min(ends):.2f} to {max(ends):.2f})"
            told = f"{100 * np.median([script.last(r.result['recommended']) for r in runs]):.2f}"
            seeds = ", ".join(str(r.case["seed"]) for r in runs)
            lines.append(
                f"| {name} | {'yes' if with_pde else 'no'} | {seeds} | " + " | ".join(cells) + f" | {told} |"
            )
    return lines


def main() -> None:
    parser = script.parser(__doc__, seeds=5)
    parser.add_argument("--problems", nargs="+", default=list(problems.available()))
    parser.add_argument("--evaluations", type=int, default=60)
    parser.add_argument("--without-pde", action="store_true", help="also run every problem with pde=None")
    arguments = parser.parse_args()
    cases = [
        case(f"{name}:noise=0.01", METHODS[with_pde], seed, arguments.evaluations)
        for seed in script.seeds(arguments)
        for name in arguments.problems
        for with_pde in ((True, False) if arguments.without_pde else (True,))
    ]
    script.run(arguments, "pinn-bo-results", cases, search, page)


if __name__ == "__main__":
    main()
