"""A week in the laboratory: ask, measure, tell, with everything that goes wrong.

    python examples/ask_tell_lab.py

An instrument is known to be symmetric around its axis: its response f depends on the settings u and v only
through u^2 + v^2, that is u f_v - v f_u = 0. The lowest response is wanted. Two samples are prepared at once,
one setting is impossible, one sample is lost, one reading was typed wrongly, and the computer restarts in the
middle.
"""

from __future__ import annotations

import argparse
import json
import math
import tempfile
from pathlib import Path

import numpy as np

from pinnbo import PDE, Optimizer, Space
from pinnbo.operators import partial


def rotation(f):
    """The derivative around the axis, u f_v - v f_u; the operator depends on the point."""
    return lambda x: x[0] * partial(f, 1)(x) - x[1] * partial(f, 0)(x)


def measure(x: np.ndarray, rng: np.random.Generator) -> float:
    """The instrument: rings around the axis; settings with u > 0.8 and v > 0.8 cannot be reached."""
    if x[0] > 0.8 and x[1] > 0.8:
        return math.nan
    radius = np.hypot(*x)
    return float(np.cos(6 * radius) * np.exp(-0.5 * radius) + 0.02 * rng.standard_normal())


def main() -> None:
    """Run the week."""
    parser = argparse.ArgumentParser(
        description="Ask and tell with lost, infeasible and corrected measurements."
    )
    parser.add_argument("--trials", type=int, default=16)
    trials = parser.parse_args().trials

    rng = np.random.default_rng(1)
    space = Space(u=(-1.0, 1.5), v=(-0.5, 1.5))
    pde = PDE(rotation, name="symmetry around the axis")
    optimizer = Optimizer(space, pde, goal="minimize", noise=0.02, seed=0)

    # measurements from last year, which nobody asked for, are welcome; NaN says: this setting is impossible
    old = np.array([[1.0, 0.0], [1.2, 1.2]])
    optimizer.tell(old, [measure(x, rng) for x in old])

    # two samples are prepared at once; one is lost, and may be asked for again
    first, second = optimizer.ask(2)
    id_first = optimizer.tell(first, 10 * measure(first, rng))  # a slip of the decimal point
    optimizer.tell(second, None)

    # ... noticed later; the wrong reading stays in the record
    optimizer.replace(id_first, measure(first, rng))

    # switched off with one sample under way, and on again
    under_way = optimizer.ask()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "study.json")
        file.write_text(json.dumps(optimizer.to_dict()))
        optimizer = Optimizer.from_dict(json.loads(file.read_text()), pde)
    print(f"restarted with {len(optimizer.pending)} sample under way")
    optimizer.tell(under_way, measure(under_way, rng))

    while optimizer.diagnostics()["observations"] < trials:
        x = optimizer.ask()
        y = measure(x, rng)
        optimizer.tell(x, y)
        print(
            f"u = {x[0]:6.3f}  v = {x[1]:6.3f}  response " + ("infeasible" if math.isnan(y) else f"{y:7.3f}")
        )

    best = optimizer.best
    assert best is not None
    low, high = best.interval
    print(f"best found    {space.to_dict(best.x)}")
    print(f"measured      {best.value:.3f}")
    print(f"surrogate     {best.mean:.3f}, 95% interval {low:.3f} to {high:.3f}")
    print("lowest of all -0.772, on the circle of radius 0.510")


if __name__ == "__main__":
    main()
