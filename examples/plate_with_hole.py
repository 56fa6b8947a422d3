"""The hottest point of an L-shaped plate with a hole that cools it, probed at steps of 0.05 along y.

    python examples/plate_with_hole.py

The plate is heated evenly, -lap T = 8, and held at 20 around the hole; its outer walls are not known. The experiment is
a stand-in, a function that obeys both.
"""

from __future__ import annotations

import argparse

import numpy as np

from pinnbo import PDE, Axis, Optimizer, Space
from pinnbo.operators import laplacian
from pinnbo.shapes import disc, polygon

CORNERS = [(0, 0), (2, 0), (2, 1), (1, 1), (1, 2), (0, 2)]


def temperature(x: np.ndarray) -> float:
    """The truth, which the optimiser never sees."""
    r = np.hypot(x[0] - 0.5, x[1] - 0.5)
    return float(20.0 - 2.0 * (r**2 - 0.04) + 6.0 * np.log(r / 0.2))


def main() -> None:
    """Find it."""
    parser = argparse.ArgumentParser(description="Find the hottest point of a plate with a hole.")
    parser.add_argument("--trials", type=int, default=10)
    trials = parser.parse_args().trials

    plate = polygon(CORNERS, name="plate") - disc((0.5, 0.5), 0.2, name="hole")
    space = Space(x=(0.0, 2.0), y=Axis(0.0, 2.0, step=0.05), inside=plate)
    heated = PDE(lambda T: lambda x: -laplacian(T)(x), 8.0, name="evenly heated plate")
    cooled = space.boundary("hole").value(20.0)

    rng = np.random.default_rng(2)
    optimizer = Optimizer(space, [heated, cooled], goal="maximize", noise=0.05, seed=0)
    for _ in range(trials):
        x = optimizer.ask()
        optimizer.tell(x, temperature(x) + 0.05 * rng.standard_normal())
    best = optimizer.best
    assert best is not None
    low, high = best.interval
    print(f"hottest at x = {best.x[0]:.3f}, y = {best.x[1]:.2f}: 95% interval {low:.2f} to {high:.2f}")
    x, _ = optimizer.ask(fixed={"y": 0.25})
    print(f"with the probe at y = 0.25, measure at x = {x:.3f} next")


if __name__ == "__main__":
    main()
