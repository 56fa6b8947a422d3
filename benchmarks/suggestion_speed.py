"""Time of a suggestion of `ntk` and `auto` beside BoTorch's GP fit and LogEI on Rastrigin-20, in the same run.

    python benchmarks/suggestion_speed.py            # writes docs/suggestion-speed.md
    python benchmarks/suggestion_speed.py --many     # also with up to 100,000 observations

Warm: 100 observations, 400 collocation points, width 100, depth 3; both see the same data, and each suggestion comes
after one new observation. Cold: a process of its own, from its start to the first suggestion after 100 observations.
BoTorch: SingleTaskGP with its defaults, LogExpectedImprovement, optimize_acqf with its documented settings (10
restarts, 512 raw samples).
"""

import argparse
import json
import resource
import statistics
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from provenance import commit

from pinnbo import Optimizer, problems

PAGE = Path(__file__).parent.parent / "docs" / "suggestion-speed.md"


def botorch_suggestion(
    points: np.ndarray, values: np.ndarray, lower: np.ndarray, upper: np.ndarray
) -> np.ndarray:
    import torch
    from botorch.acquisition import LogExpectedImprovement
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import SingleTaskGP
    from botorch.optim import optimize_acqf
    from gpytorch.mlls import ExactMarginalLogLikelihood

    x = torch.tensor((points - lower) / (upper - lower), dtype=torch.float64)
    y = torch.tensor(-values, dtype=torch.float64)[:, None]
    model = SingleTaskGP(x, y)
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    acquisition = LogExpectedImprovement(model, best_f=y.max())
    bounds = torch.stack([torch.zeros(len(lower)), torch.ones(len(lower))]).double()
    candidate, _ = optimize_acqf(acquisition, bounds, q=1, num_restarts=10, raw_samples=512)
    return lower + candidate[0].numpy() * (upper - lower)


def measurements(n: int) -> tuple[np.ndarray, np.ndarray]:
    problem = problems.get("rastrigin-20")
    points = problem.space.sobol(n, seed=1)
    return points, problem.truth(points)


def started(method: str, n: int) -> Optimizer:
    problem = problems.get("rastrigin-20")
    optimizer = Optimizer(problem.space, problem.pde, method=method, seed=0, noise=0.01 * problem.range)
    optimizer.tell(*measurements(n))
    return optimizer


def timed_ask(optimizer: Optimizer) -> float:
    begin = time.perf_counter()
    x = optimizer.ask()
    seconds = time.perf_counter() - begin
    optimizer.tell(x, None)  # nothing stays pending
    return seconds


def child(method: str, n: int, repetitions: int) -> None:
    """First and later suggestions in this process, and its memory."""
    problem, rng, times = problems.get("rastrigin-20"), np.random.default_rng(0), []
    if method == "BoTorch":
        points, values = measurements(n)
        for _ in range(repetitions + 1):
            begin = time.perf_counter()
            botorch_suggestion(points, values, problem.space.lower, problem.space.upper)
            times.append(time.perf_counter() - begin)
    else:
        optimizer = started(method, n)
        for _ in range(repetitions + 1):
            times.append(timed_ask(optimizer))
            x = problem.space.lower + rng.random(20) * (problem.space.upper - problem.space.lower)
            optimizer.tell(x, float(problem.truth(x)[0]))
    print(json.dumps({"times": times, "memory": peak_memory()}))


def peak_memory() -> float:
    """Of this process in MB. On Linux getrusage would begin with that of the process it was started from."""
    status = Path("/proc/self/status")
    if status.exists():
        (line,) = (line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def in_process(method: str, n: int, repetitions: int) -> tuple[float, list[float], float]:
    """Seconds from the start of a process to its end, of its suggestions, and its memory in MB."""
    command = [sys.executable, __file__, "--child", method, "--n", str(n), "--repetitions", str(repetitions)]
    begin = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    seconds = time.perf_counter() - begin
    told = json.loads(done.stdout.splitlines()[-1])
    return seconds, told["times"], told["memory"]


def warm(repetitions: int) -> dict[str, list[float]]:
    problem, rng = problems.get("rastrigin-20"), np.random.default_rng(0)
    space = problem.space
    points, values = measurements(100)
    optimizers = {method: started(method, 100) for method in ("ntk", "auto")}
    times: dict[str, list[float]] = {"ntk": [], "auto": [], "BoTorch": []}
    for repetition in range(repetitions + 1):
        x = space.lower + rng.random(space.dim) * (space.upper - space.lower)
        y = float(problem.truth(x)[0])
        points, values = np.vstack([points, x]), np.append(values, y)
        for method, optimizer in optimizers.items():
            optimizer.tell(x, y)
            times[method].append(timed_ask(optimizer))
        begin = time.perf_counter()
        botorch_suggestion(points, values, space.lower, space.upper)
        times["BoTorch"].append(time.perf_counter() - begin)
        if repetition == 0:  # all warm up: they compile what is left, or import
            for measured in times.values():
                measured.clear()
    return times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--many", action="store_true")
    parser.add_argument("--child")
    parser.add_argument("--n", type=int, default=100)
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore")
    if arguments.child:
        return child(arguments.child, arguments.n, arguments.repetitions)
    times = warm(arguments.repetitions)
    cold: dict[str, list[float]] = {"ntk": [], "auto": [], "BoTorch": []}
    for _ in range(3):
        for method in cold:
            cold[method].append(in_process(method, 100, 0)[0])
    medians = {name: statistics.median(measured) for name, measured in times.items()}
    cold_medians = {name: statistics.median(measured) for name, measured in cold.items()}
    lines = [
        "# Time of a suggestion on Rastrigin-20",
        "",
        f"Warm: after one new observation, n from 101 to {100 + arguments.repetitions}, median of",
        f"{arguments.repetitions}, in one process taking turns. `ntk`: 400 collocation points, width 100, depth 3.",
        "BoTorch: SingleTaskGP with its defaults and LogEI (10 restarts, 512 raw samples). Cold: from the start of a",
        "process to its first suggestion, imports and compilation included, median of 3.",
        "",
        "| method | times quicker than BoTorch, warm | least to most | cold, times BoTorch's |",
        "|---|---|---|---|",
    ]
    for method in ("ntk", "auto"):
        ratios = [b / a for a, b in zip(times[method], times["BoTorch"], strict=True)]
        lines.append(
            f"| `{method}` | {medians['BoTorch'] / medians[method]:.1f} | {min(ratios):.1f} to {max(ratios):.1f} "
            f"| {cold_medians[method] / cold_medians['BoTorch']:.2f} |"
        )
    if arguments.many:
        lines += many()
    flags = " --many" if arguments.many else ""
    lines += ["", f"Command: `python benchmarks/suggestion_speed.py{flags}`, commit {commit()}."]
    PAGE.write_text("\n".join(lines) + "\n")
    print("\n".join(lines))
    print({name: round(value, 4) for name, value in medians.items()}, cold_medians)


def many() -> list[str]:
    lines = [
        "",
        "## Many observations",
        "",
        "The same problem, n observations told at once; time of a suggestion after each of 5 further ones, in units of",
        "`auto` at n = 1,000, and peak memory of the process. BoTorch as far as it goes in a few minutes.",
        "",
        "| n | `auto` | memory, MB | BoTorch | memory, MB |",
        "|---|---|---|---|---|",
    ]
    unit = None
    for n in (100, 1_000, 10_000, 100_000):
        _, times, memory = in_process("auto", n, 5)
        mine = statistics.median(times[1:])
        unit = mine if n == 1_000 else unit
        peer = in_process("BoTorch", n, 1) if n <= 1_000 else None
        lines.append((n, mine, memory, peer))
    assert unit is not None
    return [
        line
        if isinstance(line, str)
        else f"| {line[0]:,} | {line[1] / unit:.2f} | {line[2]:.0f} | "
        + (f"{line[3][1][-1] / unit:.1f} | {line[3][2]:.0f} |" if line[3] else "- | - |")
        for line in lines
    ]


if __name__ == "__main__":
    main()
