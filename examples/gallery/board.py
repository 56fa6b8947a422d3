"""Where is the circuit board hottest?

Two chips give off heat at known places and known rates, and the board conducts it away. How the edges are cooled nobody
knows. A thermocouple reads one place at a time.
"""

from __future__ import annotations

import numpy as np
from scipy.special import exp1
from showing import show

from pinnbo import PDE, Result, Space, maximize

SPACE = Space(x=(0.0, 0.1), y=(0.0, 0.08))  # m
EQUATION = PDE.parse(
    """
    -k*laplacian(T) = q1*chip(x - 0.03, y - 0.05) + q2*chip(x - 0.075, y - 0.03)
    chip(u, v) = exp(-(u**2 + v**2)/(2*s**2))
    """,
    SPACE,
    # W/(m K), W/m3, m: heat per area over the thickness of the board
    constants={"k": 18.0, "q1": 8.0e6, "q2": 6.0e6, "s": 0.009},
)
NOISE, TRIALS = 0.3, 20  # K


def _chip(points: np.ndarray, x: float, y: float, q: float) -> np.ndarray:
    """-k laplacian T = q exp(-r^2 / 2 s^2) in the plane: T = -(q s^2 / k) (log r + E1(r^2 / 2 s^2) / 2)."""
    squared = np.maximum((points[:, 0] - x) ** 2 + (points[:, 1] - y) ** 2, 1e-14)
    s2 = 0.009**2
    return -q * s2 / 18.0 * 0.5 * (np.log(squared / s2) + exp1(squared / (2 * s2)))


def truth(points: np.ndarray) -> np.ndarray:
    """The board, which the search never sees: both chips, and what the edges do."""
    u, v = 20 * points[:, 0] - 1.0, 20 * points[:, 1] - 0.8
    edges = 120 + 7 * u - 5 * v + 6 * (u**2 - v**2) - 4 * u * v + 3 * (u**3 - 3 * u * v**2)
    return edges + _chip(points, 0.03, 0.05, 8.0e6) + _chip(points, 0.075, 0.03, 6.0e6)


def search(trials: int, seed: int, equation: bool = True) -> Result:
    """Measure ``trials`` times, with the equation or without."""
    rng = np.random.default_rng([seed, 1])

    def measure(x: np.ndarray) -> float:
        return truth(x[None])[0] + NOISE * rng.standard_normal()

    physics = EQUATION if equation else None
    return maximize(measure, SPACE, physics, n_trials=trials, noise=NOISE, seed=seed)


if __name__ == "__main__":
    show(search, truth, trials=TRIALS, value="T", units={"x": "m", "y": "m", "T": "°C"})
