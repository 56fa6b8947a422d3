"""Regret of `auto` on the nine problems, on the paper's boxes and on boxes shifted at random per seed.

    python benchmarks/auto.py                        # all nine, both boxes, 10 seeds; resumes where it stopped
    python benchmarks/auto.py --problems heat-1 --seeds 2
    python benchmarks/auto.py --paper-noise          # the paper's noise variance instead of a standard deviation of 1%
    python benchmarks/auto.py --without-pde          # the same engine with pde=None beside it
    python benchmarks/auto.py --report               # only write docs/auto-results.md from what has been run

One line of JSON per run goes to out/auto.jsonl as soon as the run ends: the noise-free regret of every evaluation as a
share of the range, the regret of the recommendation, the coverage of the 95% intervals at 500 points that were not
measured, the trust in the PDE, and the commit.
"""

import argparse
import dataclasses
import json
import time
import warnings
from pathlib import Path

import numpy as np
from provenance import commit

from pinnbo import Optimizer, problems
from pinnbo.problems import Problem

ROOT = Path(__file__).parent.parent
RECORDS = ROOT / "out" / "auto.jsonl"
REPORT = ROOT / "docs" / "auto-results.md"

# evaluations, and the regret in per cent that the median is to be below
TARGETS = {
    "dropwave-2": (10, 1.0),
    "beam-1": (14, 1.0),
    "styblinski-tang-10": (25, 1.0),
    "rastrigin-20": (40, 1.0),
    "cosine-mixture-50": (20, 1.0),
    "heat-1": (20, 1.0),
    "heat-2": (20, 1.0),
    "heat-3": (20, 1.0),
    "michalewicz-30": (100, None),
}
# their fields are known on the paper's box only: a smaller box in place of a shifted one
_BOUNDED = ("heat", "beam", "michalewicz")


def shifted(problem: Problem, seed: int) -> Problem:
    """The problem on a box moved by up to a quarter per axis, or cut by up to a tenth at each end."""
    rng = np.random.default_rng([seed, 7])
    width = problem.space.upper - problem.space.lower
    if problem.name.startswith(_BOUNDED):
        low, high = rng.uniform(0.0, 0.1, (2, problem.space.dim)) * width
        return problem.shifted(problem.space.lower + low, problem.space.upper - high)
    move = rng.uniform(-0.25, 0.25, problem.space.dim) * width
    return problem.shifted(problem.space.lower + move, problem.space.upper + move)


def run(name: str, box: str, noise: str, with_pde: bool, seed: int) -> dict:
    problem = problems.get(name)
    if box == "shifted":
        problem = shifted(problem, seed)
    deviation = 0.01 * problem.range if noise == "sd" else float(np.sqrt(0.01 * problem.range))
    problem = dataclasses.replace(problem, noise=deviation)
    rng = np.random.default_rng([seed, 99])
    started = time.perf_counter()
    optimizer = Optimizer(
        problem.space,
        problem.pde if with_pde else None,
        goal=problem.goal,
        method="auto",
        seed=seed,
        noise=problem.noise,
    )
    points = []
    for _ in range(TARGETS[name][0]):
        points.append(optimizer.ask())
        optimizer.tell(points[-1], problem.observe(points[-1], rng))
    seconds = time.perf_counter() - started
    regret = np.abs(problem.truth(np.array(points)) - problem.optimum) / problem.range
    best = optimizer.best
    unseen = problem.space.sobol(500, [seed, 9])
    mean, std = optimizer.predict(unseen)
    inside = np.abs(problem.truth(unseen) - mean) <= 1.96 * std
    return {
        "problem": name,
        "box": box,
        "noise": noise,
        "pde": with_pde,
        "seed": seed,
        "commit": commit(),
        "regret": regret.tolist(),
        "recommended": float(abs(problem.truth(best.x)[0] - problem.optimum) / problem.range),
        "coverage": float(np.mean(inside)),
        "trust": optimizer.diagnostics()["trust"],
        "seconds": seconds,
    }


def recorded() -> list[dict]:
    return [json.loads(line) for line in RECORDS.read_text().splitlines()] if RECORDS.exists() else []


def key(record: dict) -> tuple:
    return tuple(record[name] for name in ("problem", "box", "noise", "pde", "seed"))


def report() -> None:
    records = recorded()
    commits = ", ".join(sorted({record["commit"] for record in records}))
    run_so_far = {record["problem"] for record in records}
    missing = ", ".join(name for name in TARGETS if name not in run_so_far)
    lines = [
        "# `auto` on the paper's nine problems",
        "",
        "Noise-free simple regret of the best evaluated point as a share of the range, in per cent: median over the",
        "seeds (quartiles). n counts every evaluation, the initial ones included. *Recommended* is the median regret",
        "of `opt.best`, which uses no oracle; *coverage* the share of 500 unseen points whose true value lies in its",
        "95% interval, mean over the seeds; *trust* the median final trust. Shifted boxes are moved by up to",
        "a quarter of their width per axis and seed (heat, beam, Michalewicz: cut by up to a tenth at each end).",
        "",
        f"Command: `python benchmarks/auto.py`; commits {commits}. Not run yet: {missing or 'nothing'}.",
        "",
        "| problem | box | noise | PDE | seeds | n | regret | target | recommended | coverage | trust |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    groups: dict[tuple, list[dict]] = {}
    for record in records:
        groups.setdefault(key(record)[:4], []).append(record)
    for name, (n, target) in TARGETS.items():
        for box in ("paper", "shifted"):
            for noise in ("sd", "variance"):
                for with_pde in (True, False):
                    runs = groups.get((name, box, noise, with_pde), [])
                    if not runs:
                        continue
                    last = [100 * min(r["regret"]) for r in runs]
                    low, middle, high = np.percentile(last, [25, 50, 75])
                    told = 100 * np.median([r["recommended"] for r in runs])
                    trust = f"{np.median([r['trust'] for r in runs]):.2f}" if with_pde else "-"
                    level = "sd 1%" if noise == "sd" else "variance 1%"
                    goal = f"< {target:g}" if target and noise == "sd" and with_pde else "-"
                    coverage = 100 * np.mean([r["coverage"] for r in runs])
                    lines.append(
                        f"| {name} | {box} | {level} | {'yes' if with_pde else 'no'} | {len(runs)} | {n} "
                        f"| {middle:.2f} ({low:.2f} to {high:.2f}) | {goal} | {told:.2f} | {coverage:.0f}% | {trust} |"
                    )
    REPORT.write_text("\n".join(lines) + "\n")
    print(REPORT.relative_to(ROOT))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--report", action="store_true")
    parser.add_argument("--problems", nargs="+", default=list(TARGETS))
    parser.add_argument("--boxes", nargs="+", default=["paper", "shifted"])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--paper-noise", action="store_true")
    parser.add_argument("--without-pde", action="store_true")
    arguments = parser.parse_args()
    if not arguments.report:
        warnings.filterwarnings("ignore", message="the .* measurements contradict")
        RECORDS.parent.mkdir(exist_ok=True)
        noise, with_pde = "variance" if arguments.paper_noise else "sd", not arguments.without_pde
        for seed in range(arguments.seeds):
            for name in arguments.problems:
                for box in arguments.boxes:
                    if (name, box, noise, with_pde, seed) in {key(record) for record in recorded()}:
                        continue
                    outcome = run(name, box, noise, with_pde, seed)
                    with RECORDS.open("a") as file:
                        file.write(json.dumps(outcome) + "\n")
                    print(
                        f"{name} {box} seed={seed}: {100 * min(outcome['regret']):.2f}%, recommended "
                        f"{100 * outcome['recommended']:.2f}%, coverage {outcome['coverage']:.2f}, trust "
                        f"{outcome['trust']}, {outcome['seconds']:.0f} s",
                        flush=True,
                    )
    report()


if __name__ == "__main__":
    main()
