"""Gauss-Newton beside Adam at equal time: the error of a trained network on heat, the beam and Burgers' equation.

    python benchmarks/second_order.py                 # 3 seeds; resumes; writes docs/second-order.md

The same network, loss (Eq. 1), collocation points and noise-free measurements. Gauss-Newton takes a fixed number of
steps; Adam is given the same time after compilation, full batches, at three learning rates of which the best counts.
The error is that of the field at 2,000 other points, relative to its size around its mean (L2). One line of JSON per
run goes to benchmarks/records/second-order.jsonl.
"""

import argparse
import json
import time
from pathlib import Path

import auto
import jax
import jax.numpy as jnp
import numpy as np
from provenance import commit

from pinnbo.inference.descent import Schedule, pad, train
from pinnbo.methods.base import Task
from pinnbo.methods.setup import collocate, training_physics
from pinnbo.models.field import Units
from pinnbo.models.mlp import MLP

ROOT = Path(__file__).parent.parent
RECORDS = ROOT / "benchmarks" / "records" / "second-order.jsonl"
REPORT = ROOT / "docs" / "second-order.md"
CASES = {"heat-1": 60, "beam-1": 20, "burgers": 40}  # measurements
WIDTH, DEPTH, COLLOCATION, STEPS = 30, 3, 400, 120
RATES = (1e-2, 3e-3, 1e-3)


def run(name: str, seed: int) -> dict:
    problem = auto.problem_of(name, "paper", "sd", seed)
    task = Task(problem.space, (problem.pde,), 1.0, seed, None)
    model = MLP(problem.space.dim, WIDTH, DEPTH, "tanh", True, "fan-in", 3.0)
    key = jax.random.key(seed)
    theta = model.initial(key)
    physics = training_physics(problem.space, model, theta, collocate(task, COLLOCATION))
    points = problem.space.sobol(CASES[name], [seed, 71])
    values = problem.truth(points)
    units = Units.of(problem.space, float(np.mean(values)), float(np.std(values)))
    data = pad(points, values)
    unseen = problem.space.sobol(2000, [seed, 72])
    truth = problem.truth(unseen)

    def error(trained) -> float:
        f = np.asarray(jax.vmap(units.field(model, trained.theta))(jnp.asarray(unseen)))
        return float(np.linalg.norm(f - truth) / np.linalg.norm(truth - truth.mean()))

    def timed(schedule: Schedule, rate: float):
        arguments = (model, theta, units, data, physics, 1.0, rate, key)
        compiled = train.lower(task.physics, schedule, *arguments).compile()
        started = time.perf_counter()
        trained = jax.block_until_ready(compiled(*arguments))
        return trained, time.perf_counter() - started

    mine, seconds = timed(Schedule(STEPS, "gauss-newton"), 0.0)
    _, short = timed(Schedule(200, "adam"), RATES[0])
    epochs = max(200, int(200 * seconds / short))
    its = [timed(Schedule(epochs, "adam"), rate) for rate in RATES]
    best = min(its, key=lambda found: error(found[0]))
    return {
        "problem": name,
        "seed": seed,
        "commit": commit(),
        "gauss-newton": error(mine),
        "adam": error(best[0]),
        "loss": float(mine.losses[-1]),
        "loss of adam": float(best[0].losses[-1]),
        "epochs": epochs,
        "time": best[1] / seconds,
    }


def recorded() -> list[dict]:
    return [json.loads(line) for line in RECORDS.read_text().splitlines()] if RECORDS.exists() else []


def report() -> None:
    records = recorded()
    lines = [
        "# Gauss-Newton beside Adam",
        "",
        f"A network of {DEPTH} layers of width {WIDTH}, {COLLOCATION} collocation points, noise-free measurements",
        f"(heat {CASES['heat-1']}, beam {CASES['beam-1']}, Burgers {CASES['burgers']}), the same loss. {STEPS}",
        "Gauss-Newton steps; Adam in the same time, the best of three learning rates. Relative L2 error of the field",
        "at 2,000 other points: median over the seeds.",
        "",
        "Command: `python benchmarks/second_order.py`; commits "
        + ", ".join(sorted({r["commit"] for r in records}))
        + ".",
        "",
        "| problem | seeds | Gauss-Newton | Adam | Adam / Gauss-Newton | loss | loss of Adam | epochs of Adam |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name in CASES:
        runs = [r for r in records if r["problem"] == name]
        if runs:
            mine, its, loss, other, epochs = (
                float(np.median([r[key] for r in runs]))
                for key in ("gauss-newton", "adam", "loss", "loss of adam", "epochs")
            )
            lines.append(
                f"| {name} | {len(runs)} | {mine:.2g} | {its:.2g} | {its / mine:.1f} | {loss:.1e} | {other:.1e} "
                f"| {epochs:.0f} |"
            )
    REPORT.write_text("\n".join(lines) + "\n")
    print("\n".join(lines))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--report", action="store_true")
    parser.add_argument("--seeds", type=int, default=3)
    arguments = parser.parse_args()
    if not arguments.report:
        RECORDS.parent.mkdir(exist_ok=True)
        for seed in range(arguments.seeds):
            for name in CASES:
                if (name, seed) not in {(r["problem"], r["seed"]) for r in recorded()}:
                    found = run(name, seed)
                    with RECORDS.open("a") as file:
                        file.write(json.dumps(found) + "\n")
                    print(found, flush=True)
    report()


if __name__ == "__main__":
    main()
