"""Time of a warm `ntk` suggestion beside BoTorch's GP fit and LogEI on Rastrigin-20, in the same run.

    python benchmarks/suggestion_speed.py

100 observations, 400 collocation points, width 100, depth 3. Both see the same data; each suggestion comes after one
new observation. BoTorch: SingleTaskGP with its defaults, LogExpectedImprovement, optimize_acqf with its documented
settings (10 restarts, 512 raw samples). The median of the repetitions and the ratio are printed.
"""

import argparse
import statistics
import time
import warnings

import numpy as np

from pinnbo import Optimizer, problems
from pinnbo.methods.ntk import NTK


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
    optimizer = Optimizer(space, problem.pde, method=NTK(), seed=0, noise=0.01 * problem.range)
    optimizer.tell(points, values)
    started = time.perf_counter()
    optimizer.ask()
    first = time.perf_counter() - started
    ours, theirs = [], []
    for repetition in range(arguments.repetitions + 1):
        x = space.lower + rng.random(space.dim) * (space.upper - space.lower)
        y = float(problem.truth(x)[0])
        points, values = np.vstack([points, x]), np.append(values, y)
        optimizer.tell(x, y)
        started = time.perf_counter()
        optimizer.ask()
        ours.append(time.perf_counter() - started)
        started = time.perf_counter()
        botorch_suggestion(points, values, space.lower, space.upper)
        theirs.append(time.perf_counter() - started)
        if repetition == 0:  # both warm up: one compiles what is left, the other imports
            ours.clear()
            theirs.clear()
    a, b = statistics.median(ours), statistics.median(theirs)
    print(f"pinnbo, first suggestion (compilation, physics conditioned): {first:.2f} s")
    print(f"pinnbo ntk, warm: median {a:.3f} s of {len(ours)}")
    print(f"BoTorch GP fit + LogEI: median {b:.3f} s of {len(theirs)}")
    print(f"ratio: {b / a:.1f}")


if __name__ == "__main__":
    main()
