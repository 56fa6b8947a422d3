"""Where and when is the river dirtiest, and how fast does the plume spread?

Somebody upstream has let something into the river, at places and times unknown. The speed of the water is known, the
dispersion coefficient is not. A boat takes one sample at a time, anywhere on a stretch of eight kilometres.
"""

from __future__ import annotations

import numpy as np
from showing import show

from pinnbo import PDE, Result, Space, maximize

SPACE = Space(x=(0.0, 8.0), t=(0.0, 6.0))  # km, h
EQUATION = PDE.parse(
    "d(c, t) + v*d(c, x) = D*d2(c, x)", SPACE, constants={"v": 1.2}, unknowns=["D"]
)  # v in km/h
RANGE = {"D": (0.03, 3.0)}  # km2/h; a factor of a hundred
NOISE, TRIALS = 0.05, 24  # mg/L


def truth(points: np.ndarray) -> np.ndarray:
    """The river, which the search never sees: two releases and a background, D = 0.3."""
    x, t = points[:, 0], points[:, 1]
    found = np.full(len(points), 0.4)
    for place, hour, amount in ((-3.0, -1.0, 9.0), (1.0, -2.5, 5.0)):
        age = t - hour
        found += (
            amount / np.sqrt(4 * np.pi * 0.3 * age) * np.exp(-((x - place - 1.2 * age) ** 2) / (1.2 * age))
        )
    return found


def search(trials: int, seed: int, equation: bool = True) -> Result:
    """Measure ``trials`` times, with the equation and the range of D or without both."""
    rng = np.random.default_rng([seed, 1])

    def measure(x: np.ndarray) -> float:
        return truth(x[None])[0] + NOISE * rng.standard_normal()

    physics, unknowns = (EQUATION, RANGE) if equation else (None, None)
    return maximize(measure, SPACE, physics, unknowns=unknowns, n_trials=trials, noise=NOISE, seed=seed)


if __name__ == "__main__":
    show(search, truth, trials=TRIALS, value="c", units={"x": "km", "t": "h", "c": "mg/L"})
