"""What the examples of the gallery have in common: run one, print what was found, draw it."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping

import numpy as np

from pinnbo import Result


def show(
    search: Callable[..., Result],
    truth: Callable[[np.ndarray], np.ndarray],
    *,
    trials: int,
    value: str,
    units: Mapping[str, str],
) -> None:
    """The command line of an example; ``truth`` is drawn and printed beside what was found."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--trials", type=int, default=trials, metavar="N")
    parser.add_argument("--seed", type=int, default=0, metavar="S")
    parser.add_argument("--without-equation", action="store_true")
    parser.add_argument("--picture", metavar="FILE.png")
    arguments = parser.parse_args()
    result = search(arguments.trials, arguments.seed, equation=not arguments.without_equation)
    optimizer = result.optimizer
    best = optimizer.best
    assert best is not None
    low, high = best.interval
    named = optimizer.space.to_dict(best.x)
    print("best point     " + ", ".join(f"{name} = {x:.4g}" for name, x in named.items()))
    print(f"measured       {best.value:.4g}")
    print(f"believed       {best.mean:.4g}, 95% interval {low:.4g} to {high:.4g}")
    print(f"truth there    {truth(best.x[None])[0]:.4g}")
    found = optimizer.diagnostics()
    for name, number in (found.get("unknowns") or {}).items():
        print(f"{name:14} {number['mean']:.4g}, 95% interval {number['interval']}")
    if "belief" in found and not arguments.without_equation:
        print(f"the equation   {found['belief']}")
    if arguments.picture:
        optimizer.plot("field", truth=truth, value=value, units=units).savefig(arguments.picture, dpi=110)
