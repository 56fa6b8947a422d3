"""Where on the wafer is the film thickest?

Spin coating leaves rings: the thickness depends on the distance from the centre of rotation and on nothing else. That
is all that is known, and it is a differential equation: the derivative around the centre vanishes. An ellipsometer
measures one spot at a time, on the quarter of the wafer that it can reach.
"""

from __future__ import annotations

import numpy as np
from showing import show

from pinnbo import PDE, Result, Space, maximize

SPACE = Space(x=(-20.0, 80.0), y=(-30.0, 70.0))  # mm
EQUATION = PDE.parse("(x - 4)*d(h, y) - (y + 3)*d(h, x) = 0", SPACE)  # the centre is at (4, -3)
NOISE, TRIALS = 1.5, 18  # nm


def truth(points: np.ndarray) -> np.ndarray:
    """The wafer, which the search never sees."""
    r = np.hypot(points[:, 0] - 4.0, points[:, 1] + 3.0)
    return 420 + 30 * np.cos(r / 6.5 - 0.8) * np.exp(-(((r - 45) / 35) ** 2)) - 0.2 * r


def search(trials: int, seed: int, equation: bool = True) -> Result:
    """Measure ``trials`` times, with the equation or without."""
    rng = np.random.default_rng([seed, 1])

    def measure(x: np.ndarray) -> float:
        return truth(x[None])[0] + NOISE * rng.standard_normal()

    physics = EQUATION if equation else None
    return maximize(measure, SPACE, physics, n_trials=trials, noise=NOISE, seed=seed)


if __name__ == "__main__":
    show(search, truth, trials=TRIALS, value="thickness h", units={"x": "mm", "y": "mm", "thickness h": "nm"})
