"""When to quench, and how hot to run?

A reacts to the product B, and B goes on to the waste C. Rates follow Arrhenius, with constants from the literature. How
much of A the feed really holds at each temperature nobody knows. Each run of the reactor gives one yield of B.
"""

from __future__ import annotations

import numpy as np
from showing import show

from pinnbo import PDE, Result, Space, maximize

SPACE = Space(t=(2.0, 90.0), T=(320.0, 370.0))  # min, K
EQUATION = PDE.parse(
    """
    d2(B, t) + (k1(T) + k2(T))*d(B, t) + k1(T)*k2(T)*B = 0
    k1(T) = 0.05*exp(-E1/R*(1/T - 1/345))
    k2(T) = 0.02*exp(-E2/R*(1/T - 1/345))
    """,
    SPACE,
    constants={"E1": 45.0, "E2": 80.0, "R": 8.314e-3},  # kJ/mol, kJ/(mol K); rates in 1/min
)
NOISE, TRIALS = 0.01, 18  # mol/L


def truth(points: np.ndarray) -> np.ndarray:
    """The reactor, which the search never sees."""
    t, kelvin = points.T
    k1 = 0.05 * np.exp(-45.0 / 8.314e-3 * (1 / kelvin - 1 / 345))
    k2 = 0.02 * np.exp(-80.0 / 8.314e-3 * (1 / kelvin - 1 / 345))
    feed = 1.0 / (1.0 + np.exp(-(kelvin - 328.0) / 6.0))
    return feed * k1 / (k2 - k1) * (np.exp(-k1 * t) - np.exp(-k2 * t))


def search(trials: int, seed: int, equation: bool = True) -> Result:
    """Measure ``trials`` times, with the equation or without."""
    rng = np.random.default_rng([seed, 1])

    def measure(x: np.ndarray) -> float:
        return truth(x[None])[0] + NOISE * rng.standard_normal()

    physics = EQUATION if equation else None
    return maximize(measure, SPACE, physics, n_trials=trials, noise=NOISE, seed=seed)


if __name__ == "__main__":
    show(search, truth, trials=TRIALS, value="yield B", units={"t": "min", "T": "K", "yield B": "mol/L"})
