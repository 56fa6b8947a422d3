"""Regret of `pinn-bo` on the nine problems, with the PDE and without it.

    python benchmarks/pinn_bo.py              # all nine, 5 seeds, 60 evaluations; resumes where it stopped
    python benchmarks/pinn_bo.py --smoke      # one problem, one seed, a minute
    python benchmarks/pinn_bo.py --report     # only write docs/pinn-bo-results.md from what has been run

Noise has a standard deviation of 1% of the range. One line of JSON per run goes to out/pinn_bo.jsonl as soon as the
run ends, with the noise-free regret of every evaluation as a share of the range.
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np
from provenance import commit

from pinnbo import Optimizer, problems
from pinnbo.methods import get

ROOT = Path(__file__).parent.parent
RECORDS = ROOT / "out" / "pinn_bo.jsonl"
REPORT = ROOT / "docs" / "pinn-bo-results.md"
MARKS = (10, 20, 30, 40, 60)


def run(name: str, method: str, with_pde: bool, seed: int, n: int) -> dict:
    problem = problems.get(name)
    problem = problems.get(name, noise=0.01 * problem.range)
    pde = problem.pde if with_pde else None
    rng = np.random.default_rng([seed, 99])
    started = time.perf_counter()
    optimizer = Optimizer(
        problem.space, pde, goal=problem.goal, method=get(method), seed=seed, noise=problem.noise
    )
    points = []
    for _ in range(n):
        points.append(optimizer.ask())
        optimizer.tell(points[-1], problem.observe(points[-1], rng))
    regret = np.abs(problem.truth(np.array(points)) - problem.optimum) / problem.range
    recommended = optimizer.best
    return {
        "problem": name,
        "method": method,
        "pde": with_pde,
        "seed": seed,
        "commit": commit(),
        "regret": regret.tolist(),
        "recommended": float(abs(problem.truth(recommended.x)[0] - problem.optimum) / problem.range),
        "seconds": time.perf_counter() - started,
    }


def recorded() -> list[dict]:
    if not RECORDS.exists():
        return []
    return [json.loads(line) for line in RECORDS.read_text().splitlines()]


def report() -> None:
    commits = ", ".join(sorted({record.get("commit", "not recorded") for record in recorded()}))
    groups: dict[tuple, list[dict]] = {}
    for record in recorded():
        groups.setdefault((record["problem"], record["method"], record["pde"]), []).append(record)
    lines = [
        "# `pinn-bo` on the paper's nine problems",
        "",
        'The paper\'s method, a trained network used greedily (`method="pinn-bo"`, default settings), with the PDE',
        "and with `pde=None`. Noise-free simple regret of the best evaluated point as a share of the range, in per",
        "cent: median over the seeds (smallest to largest at the last mark). Observation noise: standard deviation",
        "1% of the range. n counts every evaluation, the initial ones included. The last column is the regret of the",
        "recommendation `opt.best` at the end, which uses no oracle.",
        "",
        f"Command: `python benchmarks/pinn_bo.py`, runs at commits {commits}.",
        "",
        "| problem | PDE | seeds | " + " | ".join(f"n = {m}" for m in MARKS) + " | recommended |",
        "|---|---|---|" + "---|" * (len(MARKS) + 1),
    ]
    for name in problems.available():
        for with_pde in (True, False):
            runs = groups.get((name, "pinn-bo", with_pde), [])
            if not runs:
                continue
            best = [100 * np.minimum.accumulate(r["regret"]) for r in runs]
            cells = [
                f"{np.median([b[m - 1] for b in best]):.2f}" if all(len(b) >= m for b in best) else "-"
                for m in MARKS
            ]
            last = [b[-1] for b in best]
            cells[-1] += f" ({min(last):.2f} to {max(last):.2f})"
            told = f"{100 * np.median([r['recommended'] for r in runs]):.2f}"
            seeds = ", ".join(str(r["seed"]) for r in sorted(runs, key=lambda r: r["seed"]))
            lines.append(
                f"| {name} | {'yes' if with_pde else 'no'} | {seeds} | " + " | ".join(cells) + f" | {told} |"
            )
    REPORT.write_text("\n".join(lines) + "\n")
    print(REPORT.relative_to(ROOT))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smoke", action="store_true")
    parser.add_argument("--report", action="store_true")
    parser.add_argument("--problems", nargs="+", default=list(problems.available()))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--evaluations", type=int, default=60)
    parser.add_argument("--without-pde", action="store_true", help="also run every problem with pde=None")
    arguments = parser.parse_args()
    if arguments.report:
        report()
        return
    if arguments.smoke:
        outcome = run("dropwave-2", "pinn-bo", True, 0, 8)
        print(f"dropwave-2, 8 evaluations: regret {100 * min(outcome['regret']):.2f}% of the range")
        return
    RECORDS.parent.mkdir(exist_ok=True)
    done = {
        (r["problem"], r["pde"], r["seed"]) for r in recorded() if len(r["regret"]) >= arguments.evaluations
    }
    for seed in range(arguments.seeds):
        for name in arguments.problems:
            for with_pde in (True, False) if arguments.without_pde else (True,):
                if (name, with_pde, seed) in done:
                    continue
                outcome = run(name, "pinn-bo", with_pde, seed, arguments.evaluations)
                with RECORDS.open("a") as out:
                    out.write(json.dumps(outcome) + "\n")
                best = 100 * min(outcome["regret"])
                print(
                    f"{name} pde={with_pde} seed={seed}: {best:.2f}% in {outcome['seconds']:.0f} s",
                    flush=True,
                )
    report()


if __name__ == "__main__":
    main()
