"""Where and when is the weld hottest, if the equation forgets something?

A bar cools after welding. The stated equation is that of conduction, d(T, t) = alpha*d2(T, x); the bar also loses heat
to the air, which nobody wrote down. This example asks what a wrong equation costs.
"""

from __future__ import annotations

import numpy as np
from showing import show

from pinnbo import PDE, Result, Space, maximize

SPACE = Space(x=(0.0, 0.2), t=(5.0, 200.0))  # m, s
EQUATION = PDE.parse("d(T, t) = alpha*d2(T, x)", SPACE, constants={"alpha": 1.2e-5})  # m2/s
NOISE, TRIALS = 2.0, 20  # K


def truth(points: np.ndarray) -> np.ndarray:
    """The bar, which the search never sees: two welds one after the other, and a loss of 1.5% per second."""
    x, t = points.T
    found = np.full(len(points), 20.0)
    for place, second, heat in ((0.06, -40.0, 11.0), (0.15, -90.0, 12.0)):
        age = t - second
        spread = 4 * 1.2e-5 * age
        found += heat * np.exp(-0.015 * t) / np.sqrt(spread) * np.exp(-((x - place) ** 2) / spread)
    return found


def search(trials: int, seed: int, equation: bool = True) -> Result:
    """Measure ``trials`` times, with the equation or without."""
    rng = np.random.default_rng([seed, 1])

    def measure(x: np.ndarray) -> float:
        return truth(x[None])[0] + NOISE * rng.standard_normal()

    physics = EQUATION if equation else None
    return maximize(measure, SPACE, physics, n_trials=trials, noise=NOISE, seed=seed)


if __name__ == "__main__":
    show(search, truth, trials=TRIALS, value="T", units={"x": "m", "t": "s", "T": "°C"})
