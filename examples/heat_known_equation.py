"""The hottest point of a plate whose heat equation is known and whose edge is not.

    python examples/heat_known_equation.py

Inside the plate the steady temperature obeys laplacian T = 0. What the edges are held at, nobody has told us;
a thermometer reads T at any one point with an error of 0.5 degrees.
"""

from __future__ import annotations

import argparse

import numpy as np

from pinnbo import PDE, Space, maximize
from pinnbo.operators import laplacian


def temperature(x: np.ndarray) -> float:
    """The truth, which the optimiser never sees: a harmonic function, in degrees."""
    u, v = x
    return 20 + 6 * np.exp(u) * np.cos(v - 0.8) + 4 * (u**3 - 3 * u * v**2) - 5 * u * v


def main() -> None:
    """Find it."""
    parser = argparse.ArgumentParser(description="Find the hottest point of a plate.")
    parser.add_argument("--trials", type=int, default=20)
    trials = parser.parse_args().trials

    rng = np.random.default_rng(0)
    space = Space(x=(-1.0, 1.0), y=(-1.0, 1.0))
    pde = PDE(lambda f: laplacian(f), source=0.0, name="heat equation")

    result = maximize(
        lambda x: temperature(x) + 0.5 * rng.standard_normal(), space, pde, n_trials=trials, noise=0.5, seed=0
    )

    best = result.optimizer.best
    assert best is not None
    low, high = best.interval
    print(f"hottest point     {space.to_dict(best.x)}")
    print(f"measured          {best.value:.2f} degrees")
    print(f"surrogate         {best.mean:.2f} degrees, 95% interval {low:.2f} to {high:.2f}")
    print(f"truth there       {temperature(best.x):.2f} degrees")

    axis = np.linspace(-1, 1, 201)
    hottest = max(temperature(np.array([u, v])) for u in axis for v in axis)
    print(f"hottest anywhere  {hottest:.2f} degrees")


if __name__ == "__main__":
    main()
