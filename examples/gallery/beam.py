"""Where does the bridge sag most?

A tapered beam under a known load. Its left end is clamped; how far the support on the right gives way nobody knows. A
dial gauge reads the deflection at one place, and each reading closes a lane for a night.
"""

from __future__ import annotations

import numpy as np
from showing import show

from pinnbo import PDE, Result, Space, maximize

SPACE = Space(x=(0.0, 12.0))  # m
EQUATIONS = PDE.parse(
    """
    d2(EI(x)*d2(w, x), x) = q
    EI(x) = EI0*(1 + x/L)**2
    w = 0 on x = 0
    d(w, x) = 0 on x = 0
    """,
    SPACE,
    constants={"EI0": 4.0e3, "L": 24.0, "q": 2.5},  # kN m2, m, kN/m
)
NOISE, TRIALS = 1.0e-3, 10  # m


def truth(points: np.ndarray) -> np.ndarray:
    """The bridge, which the search never sees: EI w'' = q x^2 / 2 - V x + M, integrated twice."""
    x = np.linspace(0.0, 12.0, 4001)
    bend = (1.25 * x**2 - 19.4 * x + 50.0) / (4.0e3 * (1 + x / 24.0) ** 2)
    return np.interp(points[:, 0], x, _integral(_integral(bend, x), x))


def _integral(values: np.ndarray, x: np.ndarray) -> np.ndarray:
    return np.concatenate([[0.0], np.cumsum(0.5 * np.diff(x) * (values[1:] + values[:-1]))])


def search(trials: int, seed: int, equation: bool = True) -> Result:
    """Measure ``trials`` times, with the equation and the clamped end or without both."""
    rng = np.random.default_rng([seed, 1])

    def measure(x: np.ndarray) -> float:
        return truth(x[None])[0] + NOISE * rng.standard_normal()

    physics = EQUATIONS if equation else None
    return maximize(measure, SPACE, physics, n_trials=trials, noise=NOISE, seed=seed)


if __name__ == "__main__":
    show(search, truth, trials=TRIALS, value="sag w", units={"x": "m", "sag w": "m"})
