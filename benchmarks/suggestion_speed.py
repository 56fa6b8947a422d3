"""Time of a warm suggestion of `ntk` and `auto` beside BoTorch's GP fit and LogEI on Rastrigin-20, in the same run.

    python benchmarks/suggestion_speed.py      # writes docs/suggestion-speed.md

100 observations, 400 collocation points, width 100, depth 3. Both see the same data; each suggestion comes after one
new observation. BoTorch: SingleTaskGP with its defaults, LogExpectedImprovement, optimize_acqf with its documented
settings (10 restarts, 512 raw samples).
"""

import argparse
import statistics
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=5)
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore")
    problem = problems.get("rastrigin-20")
    space, rng = problem.space, np.random.default_rng(0)
    points = space.sobol(100, seed=1)
    values = problem.truth(points)
    optimizers, first = {}, {}
    for method in ("ntk", "auto"):
        started = time.perf_counter()
        optimizers[method] = Optimizer(space, problem.pde, method=method, seed=0, noise=0.01 * problem.range)
        optimizers[method].tell(points, values)
        optimizers[method].ask()
        first[method] = time.perf_counter() - started
    times: dict[str, list[float]] = {"ntk": [], "auto": [], "BoTorch": []}
    for repetition in range(arguments.repetitions + 1):
        x = space.lower + rng.random(space.dim) * (space.upper - space.lower)
        y = float(problem.truth(x)[0])
        points, values = np.vstack([points, x]), np.append(values, y)
        for method, optimizer in optimizers.items():
            optimizer.tell(x, y)
            started = time.perf_counter()
            optimizer.ask()
            times[method].append(time.perf_counter() - started)
        started = time.perf_counter()
        botorch_suggestion(points, values, space.lower, space.upper)
        times["BoTorch"].append(time.perf_counter() - started)
        if repetition == 0:  # all warm up: they compile what is left, or import
            for measured in times.values():
                measured.clear()
    medians = {name: statistics.median(measured) for name, measured in times.items()}
    lines = [
        "# Time of a warm suggestion on Rastrigin-20",
        "",
        f"After one new observation, n from 101 to {100 + arguments.repetitions}, median of {arguments.repetitions},",
        "in one process taking turns. `ntk`: 400 collocation points, width 100, depth 3. BoTorch: SingleTaskGP with",
        "its defaults and LogEI (10 restarts, 512 raw samples).",
        "",
        "| method | times quicker than BoTorch | least to most | first suggestion, in warm ones of BoTorch |",
        "|---|---|---|---|",
    ]
    for method in optimizers:
        ratios = [b / a for a, b in zip(times[method], times["BoTorch"], strict=True)]
        lines.append(
            f"| `{method}` | {medians['BoTorch'] / medians[method]:.1f} | {min(ratios):.1f} to {max(ratios):.1f} "
            f"| {first[method] / medians['BoTorch']:.1f} |"
        )
    lines += ["", f"Command: `python benchmarks/suggestion_speed.py`, commit {commit()}."]
    PAGE.write_text("\n".join(lines) + "\n")
    print("\n".join(lines))
    print({name: round(value, 4) for name, value in medians.items()})


if __name__ == "__main__":
    main()
