"""The demonstration: the hottest point of a plate, with the heat equation known and the boundary unknown."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from pinnbo import plots, problems
from pinnbo.run import Result, maximize

NOISE = 0.01  # of the range
N_INITIAL = 10  # as in the paper's code for the heat problems


def run(
    method: str = "pinn-bo", trials: int = 30, seed: int = 0, output: Path = Path("pinnbo-demo.png")
) -> Result:
    """Run the study, draw it to ``output``, and print what was found."""
    plots.check_matplotlib()
    _say("A plate obeys the heat equation, laplacian T = 0; its boundary is unknown. Where is it hottest?")
    _say("Solving the heat equation once, for the black box (some seconds; later runs use a cache) ...")
    problem = problems.get("heat-1")
    problem = problems.get("heat-1", noise=NOISE * problem.range)
    _say(f"Measuring {trials} times with {method}; a measurement has noise of sd {problem.noise:.3g}.")
    # a stream of its own, so that the noise is not that of the method's draws
    rng = np.random.default_rng([seed, 99])
    result = maximize(
        lambda x: problem.observe(x, rng),
        problem.space,
        problem.pde,
        n_trials=trials,
        method=method,
        seed=seed,
        noise=problem.noise,
        n_initial=min(N_INITIAL, trials),
    )
    best = result.optimizer.best
    if best is None:
        _say("Nothing was measured, so there is nothing to draw.")
        return result
    _say("Drawing the picture ...")
    title = f"Heat equation known, boundary unknown: {method}, {len(result.history)} measurements"
    plots.study(result, problem, value="temperature T", title=title).savefig(output)
    truth = float(problem.truth(best.x)[0])
    low, high = best.interval
    where = ", ".join(f"{name} = {x:.4g}" for name, x in problem.space.to_dict(best.x).items())
    _say(f"best position   {where}")
    _say(f"measured there  {best.value:.1f}")
    _say(f"surrogate       {best.mean:.1f}, 95% interval {low:.1f} to {high:.1f}")
    _say(f"truth there     {truth:.1f}, the maximum is {problem.optimum:.1f}")
    _say(f"regret          {100 * (problem.optimum - truth) / problem.range:.3g}% of the range")
    _say(f"picture         {output.resolve()}")
    return result


def _say(text: str) -> None:
    print(text, flush=True)
