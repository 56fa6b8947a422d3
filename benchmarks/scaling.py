"""Time of a `pinn-bo` update against the number of observations, beside BoTorch's GP as far as it goes.

    python benchmarks/scaling.py              # writes docs/benchmarks/scaling.md and docs/pictures/scaling.png

An update is: nu_t, training on Eq. (1), the argmin. BoTorch: fit of SingleTaskGP and LogEI, stopped when one takes
longer than a minute. DropWave with its PDE; the data are Sobol points. The slope in log-log between the last two
sizes is printed: 1 is linear, 3 is the GP's.
"""

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np
from peers import BoTorch

from pinnbo import Optimizer, problems
from pinnbo.bench.provenance import commit
from pinnbo.methods.pinn_bo import PinnBO

ROOT = Path(__file__).parent.parent
SIZES = (100, 300, 1000, 3000, 10000)
PATIENCE = 60.0


def pinnbo_update(n: int) -> float:
    """Seconds of the update after one more observation, everything compiled."""
    problem = problems.get("dropwave-2", noise=0.01)
    optimizer = Optimizer(problem.space, problem.pde, method=PinnBO(), seed=0, noise=0.01)
    points = problem.space.sobol(n + 2, seed=1)
    values = problem.truth(points)
    optimizer.tell(points[:n], values[:n])
    optimizer.ask()
    times = []
    for i in (n, n + 1):
        optimizer.tell(points[i], values[i])
        started = time.perf_counter()
        optimizer.ask()
        times.append(time.perf_counter() - started)
    return min(times)


def botorch_update(n: int) -> float:
    problem = problems.get("dropwave-2", noise=0.01)
    points = problem.space.sobol(n, seed=1)
    values = problem.truth(points) + 0.01 * np.random.default_rng(0).standard_normal(n)
    started = time.perf_counter()
    peer = BoTorch(problem.space.lower, problem.space.upper, problem.goal)
    peer.tell(points, values)
    peer.ask()
    return time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore")
    ours: dict[int, float] = {}
    theirs: dict[int, float] = {}
    botorch_update(50)  # imports
    for n in arguments.sizes:
        ours[n] = pinnbo_update(n)
        if not theirs or max(theirs.values()) < PATIENCE:
            theirs[n] = botorch_update(n)
        print(f"n = {n}: pinn-bo {ours[n]:.2f} s, BoTorch {theirs.get(n, float('nan')):.2f} s", flush=True)
    (ROOT / "out").mkdir(exist_ok=True)
    (ROOT / "out" / "scaling.json").write_text(json.dumps({"pinn-bo": ours, "botorch": theirs}))
    report(ours, theirs)


def slope(times: dict[int, float]) -> float:
    (a, b), (s, t) = list(times)[-2:], list(times.values())[-2:]
    return float(np.log(t / s) / np.log(b / a))


def report(ours: dict[int, float], theirs: dict[int, float]) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    for times, label, colour, marker in (
        (ours, "pinn-bo: nu, training, argmin", "#0072B2", "o"),
        (theirs, "BoTorch: GP fit, LogEI", "#D55E00", "s"),
    ):
        axes.loglog(list(times), list(times.values()), color=colour, marker=marker, label=label)
    axes.set_xlabel("observations")
    axes.set_ylabel("seconds per update")
    axes.legend(frameon=False)
    figure.savefig(ROOT / "docs" / "pictures" / "scaling.png", dpi=150)
    base = ours[min(ours)]
    lines = [
        "# Time per update against the number of observations",
        "",
        "`pinn-bo` (default settings, 300 collocation points) and BoTorch's GP with LogEI on DropWave, in the same run",
        "on 2 cores, as multiples of `pinn-bo`'s time at the smallest n.",
        "",
        f"Command: `python benchmarks/scaling.py`, commit {commit()}.",
        "",
        "| n | pinn-bo | BoTorch |",
        "|---|---|---|",
    ]
    for n in ours:
        other = f"{theirs[n] / base:.1f}" if n in theirs else "given up"
        lines.append(f"| {n} | {ours[n] / base:.1f} | {other} |")
    powers = f"pinn-bo {slope(ours):.2f}, BoTorch {slope(theirs):.2f}"
    growth = f"Growth between the last two sizes, as a power of n: {powers}."
    padding = "Data are padded to the next power of two so that growing them seldom compiles anew: time grows in steps."
    lines += ["", growth, padding, "", "![Time per update](../pictures/scaling.png)"]
    (ROOT / "docs" / "benchmarks" / "scaling.md").write_text("\n".join(lines) + "\n")
    print(growth)


if __name__ == "__main__":
    main()
