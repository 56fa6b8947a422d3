"""Gauss-Newton beside Adam at equal time: the error of a trained network on heat, the beam and Burgers' equation.

    python benchmarks/second_order.py                 # 3 seeds; resumes; writes docs/benchmarks/second-order.md

The same networks, loss (Eq. 1), collocation points and noise-free measurements, enough of them that training decides
about the error. Gauss-Newton takes a fixed number of steps; Adam is given the same time after compilation, full
batches, at three learning rates. Of the networks and rates, those count that predict best 50 more measurements which
were held out, for each method its own. The error is that of the field at 2,000 other points, relative to its size
around its mean (L2).
"""

import time
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import script

from pinnbo.bench import names
from pinnbo.bench.records import Case, Record
from pinnbo.methods.base import Task
from pinnbo.network.field import Units
from pinnbo.network.mlp import MLP
from pinnbo.network.setup import collocate, training_physics
from pinnbo.network.train import Schedule, by_gradients, pad, train

CASES = {"heat-1": 200, "beam-1": 40, "burgers": 200}  # measurements
NETWORKS = (("tanh", 3.0), ("sin", 6.0), ("sin", 20.0))  # activation, and size of the first layer's weights
WIDTH, DEPTH, COLLOCATION, STEPS = 30, 3, 400, 300
RATES = (1e-2, 3e-3, 1e-3)
HELD_OUT = 50


class Outcome(NamedTuple):
    """What a training came to."""

    network: str
    loss: float
    held_out: float
    error: float
    steps: int


def compute(case: Case) -> dict:
    both = [trained(case["problem"], case["seed"], *network) for network in NETWORKS]
    mine, its = (
        min((o for found in group for o in found), key=lambda o: o.held_out)
        for group in zip(*both, strict=True)
    )
    return {"gauss-newton": mine._asdict(), "adam": its._asdict()}


def trained(name: str, seed: int, activation: str, gain: float) -> tuple[list[Outcome], list[Outcome]]:
    """One network by Gauss-Newton, and by Adam at every learning rate."""
    problem = names.problem(name, seed)
    task = Task(problem.space, (problem.pde,), 1.0, seed, None)
    model = MLP(problem.space.dim, WIDTH, DEPTH, activation, True, "fan-in", gain)
    key = jax.random.key(seed)
    theta = model.initial(key)
    physics = training_physics(problem.space, model, theta, collocate(task, COLLOCATION))
    points, others = np.split(problem.space.sobol(CASES[name] + HELD_OUT, [seed, 71]), [CASES[name]])
    values = problem.truth(points)
    units = Units.of(problem.space, float(np.mean(values)), float(np.std(values)))
    data = pad(points, values)
    unseen = problem.space.sobol(2000, [seed, 72])

    def timed(schedule: Schedule, rate: float) -> tuple[Outcome, float]:
        arguments = (model, theta, units, data, physics, 1.0, rate, key)
        if schedule.rule == "gauss-newton":  # the programs are those of a single step
            train(task.physics, Schedule(1, "gauss-newton"), *arguments)
            compiled = partial(train, task.physics, schedule)
        else:
            compiled = by_gradients.lower(task.physics, schedule, *arguments).compile()
        started = time.perf_counter()
        found = jax.block_until_ready(compiled(*arguments))
        seconds = time.perf_counter() - started
        f = jax.vmap(units.field(model, found.theta))
        held_out, error = (relative_error(f, at, problem.truth(at)) for at in (others, unseen))
        return Outcome(
            f"{activation} {gain:g}", float(found.losses[-1]), held_out, error, schedule.epochs
        ), seconds

    mine, seconds = timed(Schedule(STEPS, "gauss-newton"), 0.0)
    _, short = timed(Schedule(200, "adam"), RATES[0])
    epochs = max(200, int(200 * seconds / short))
    return [mine], [timed(Schedule(epochs, "adam"), rate)[0] for rate in RATES]


def relative_error(f: Callable, points: np.ndarray, truth: np.ndarray) -> float:
    missed = np.linalg.norm(np.asarray(f(jnp.asarray(points))) - truth)
    return float(missed / np.linalg.norm(truth - truth.mean())) if np.isfinite(missed) else np.inf


def page(records: list[Record]) -> list[str]:
    lines = [
        "# Gauss-Newton beside Adam",
        "",
        f"Networks of {DEPTH} layers of width {WIDTH}, {COLLOCATION} collocation points, noise-free measurements",
        f"(heat {CASES['heat-1']}, beam {CASES['beam-1']}, Burgers {CASES['burgers']}), the same loss. {STEPS}",
        "Gauss-Newton steps; Adam in the same time. Networks (activation and size of the first layer's weights:",
        f"{', '.join(f'{activation} {gain:g}' for activation, gain in NETWORKS)}) and Adam's learning rates "
        f"({', '.join(f'{rate:g}' for rate in RATES)}) are",
        f"those that predict {HELD_OUT} held-out measurements best, for each method its own. Relative L2 error of the",
        "field at 2,000 other points: median over the seeds.",
        "",
        "Command: `python benchmarks/second_order.py`; commits " + script.commits(records) + ".",
        "",
        "| problem | seeds | Gauss-Newton | Adam | Adam / Gauss-Newton | loss | loss of Adam | networks |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name in CASES:
        runs = [r.result for r in records if r.case["problem"] == name]
        if runs:
            mine, its, loss, other = (
                float(np.median([r[method][what] for r in runs]))
                for what in ("error", "loss")
                for method in ("gauss-newton", "adam")
            )
            networks = ", ".join(
                sorted({r[method]["network"] for r in runs for method in ("gauss-newton", "adam")})
            )
            lines.append(
                f"| {name} | {len(runs)} | {mine:.2g} | {its:.2g} | {its / mine:.1f} | {loss:.1e} | {other:.1e} "
                f"| {networks} |"
            )
    return lines


def main() -> None:
    arguments = script.parser(__doc__, seeds=3).parse_args()
    cases = [{"problem": name, "seed": seed} for seed in script.seeds(arguments) for name in CASES]
    script.run(arguments, "second-order", cases, compute, page)


if __name__ == "__main__":
    main()
