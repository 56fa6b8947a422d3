"""The loudest point of a duct: a system of two equations, and a condition on one wall.

    python examples/helmholtz_vector_pde.py

The sound pressure in a rectangular duct is one standing mode. Its wave numbers along and across are known,

    p_xx + a^2 p = 0   and   p_yy + b^2 p = 0   (their sum is a Helmholtz equation),

and so is the pressure at the open wall y = 0, where it vanishes. Amplitude and phase are not known: a
microphone has to find the point of highest pressure.
"""

from __future__ import annotations

import argparse

import jax.numpy as jnp
import numpy as np

from pinnbo import PDE, Space, maximize
from pinnbo.operators import partial

A, B = 4.0, 2.5


def system(f):
    """Both equations as one operator with two values."""
    return lambda x: jnp.stack(
        [partial(f, 0, order=2)(x) + A**2 * f(x), partial(f, 1, order=2)(x) + B**2 * f(x)]
    )


def pressure(x: np.ndarray) -> float:
    """The truth, which the optimiser never sees."""
    return float(1.7 * np.cos(A * x[0] + 0.9) * np.sin(B * x[1]))


def main() -> None:
    """Find it."""
    parser = argparse.ArgumentParser(description="Find the loudest point of a duct.")
    parser.add_argument("--trials", type=int, default=12)
    trials = parser.parse_args().trials

    rng = np.random.default_rng(2)
    space = Space(x=(0.0, 2.0), y=(0.0, 1.0))
    wall = np.column_stack([np.linspace(0.0, 2.0, 21), np.zeros(21)])
    physics = [
        PDE(system, source=[0.0, 0.0], name="standing mode"),
        PDE(lambda f: f, source=0.0, points=wall, name="open wall"),
    ]

    result = maximize(
        lambda x: pressure(x) + 0.05 * rng.standard_normal(),
        space,
        physics,
        n_trials=trials,
        noise=0.05,
        seed=0,
    )

    best = result.optimizer.best
    assert best is not None
    print(f"loudest point found  {space.to_dict(best.x)}")
    print(f"measured             {best.value:.3f}")
    print(
        f"surrogate            {best.mean:.3f}, 95% interval {best.interval[0]:.3f} to {best.interval[1]:.3f}"
    )
    print(f"truth there          {pressure(best.x):.3f}, of 1.700 at most")
    print(f"directions left open {result.optimizer.diagnostics()['open_directions']}")


if __name__ == "__main__":
    main()
