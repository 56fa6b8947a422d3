"""The demonstration: the hottest point of a plate, with the heat equation known and the boundary unknown."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np

from pinnbo import figures, plots, problems
from pinnbo.problems import Problem
from pinnbo.run import Result, best_reading, maximize

NOISE = 0.01  # of the range


def run(methods: Sequence[str], trials: int, seed: int, output: Path) -> list[Result]:
    """Run the study with each method on the same budget, draw it to ``output``, and print what was found."""
    figures.check_matplotlib()
    _say("A plate obeys the heat equation, laplacian T = 0; its boundary is unknown. Where is it hottest?")
    _say("Solving the heat equation once, for the black box (some seconds; later runs use a cache) ...")
    problem = problems.get("heat-1")
    problem = problems.get("heat-1", noise=NOISE * problem.range)
    results: dict[str, Result] = {}
    for method in methods:
        _say(f"Measuring {trials} times with {method}; a measurement has noise of sd {problem.noise:.3g}.")
        # a stream of its own, so that the noise is not that of the method's draws
        rng = np.random.default_rng([seed, 99])
        result = maximize(
            partial(problem.observe, rng=rng),
            problem.space,
            problem.pde,
            n_trials=trials,
            method=method,
            seed=seed,
            noise=problem.noise,
        )
        results[method] = result
        _report(result, problem)
        if result.stopped is not None:
            break
    drawable = {name: result for name, result in results.items() if result.optimizer.best is not None}
    if not drawable:
        _say("Nothing was measured, so there is nothing to draw.")
        return list(results.values())
    _say("Drawing the picture ...")
    title = "Heat equation known, boundary unknown"
    if len(drawable) == 1:
        ((name, result),) = drawable.items()
        title = f"{title}: {name}, {len(result.history)} measurements"
        figure = plots.study(result, problem, value="temperature T", title=title)
    else:
        figure = plots.comparison(drawable, problem, value="temperature T", title=title)
    figure.savefig(output)
    _say(f"picture         {output.resolve()}")
    return list(results.values())


def _report(result: Result, problem: Problem) -> None:
    best, highest = result.optimizer.best, best_reading("maximize", result.history)
    if best is None or highest is None:
        return
    truth = float(problem.truth(best.x)[0])
    low, high = best.interval
    _say(f"highest reading {highest.value:.1f} at {_where(highest.x, problem)}, noise included")
    _say(
        f"recommended     {_where(best.x, problem)}, where the surrogate is highest among the measured points"
    )
    _say(f"measured there  {best.value:.1f}")
    _say(f"surrogate       {best.mean:.1f}, 95% interval {low:.1f} to {high:.1f}")
    _say(f"truth there     {truth:.1f}, the maximum is {problem.optimum:.1f}")
    _say(f"regret          {100 * (problem.optimum - truth) / problem.range:.3g}% of the range")


def _where(x: np.ndarray, problem: Problem) -> str:
    return ", ".join(f"{name} = {value:.4g}" for name, value in problem.space.to_dict(x).items())


def _say(text: str) -> None:
    print(text, flush=True)
