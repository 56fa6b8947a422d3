"""Where in the room is the hum loudest?

A machine hums at 490 Hz; at that frequency the sound field of the room is a standing wave. Its wave number is known,
the walls are not: furniture, a curtain, an open door. A microphone on a stand reads the pressure in phase with the
machine, one place at a time. The absorber goes where the pressure is highest.
"""

from __future__ import annotations

import numpy as np
from showing import show

from pinnbo import PDE, Result, Space, maximize

SPACE = Space(x=(0.0, 2.0), y=(0.0, 1.5))  # m
EQUATION = PDE.parse("laplacian(p) + k**2*p = 0", SPACE, constants={"k": 9.0})  # k in 1/m, wavelength 0.7 m
NOISE, TRIALS = 0.03, 30  # Pa

_ANGLES = np.array([0.35, 1.25, 2.2, 3.6])
_WAVES = 9.0 * np.column_stack([np.cos(_ANGLES), np.sin(_ANGLES)])


def truth(points: np.ndarray) -> np.ndarray:
    """The room, which the search never sees: four plane waves."""
    return np.cos(points @ _WAVES.T + [0.4, 2.1, 4.4, 5.3]) @ [0.9, 0.7, 0.6, 0.5]


def search(trials: int, seed: int, equation: bool = True) -> Result:
    """Measure ``trials`` times, with the equation or without."""
    rng = np.random.default_rng([seed, 1])

    def measure(x: np.ndarray) -> float:
        return truth(x[None])[0] + NOISE * rng.standard_normal()

    physics = EQUATION if equation else None
    return maximize(measure, SPACE, physics, n_trials=trials, noise=NOISE, seed=seed)


if __name__ == "__main__":
    show(search, truth, trials=TRIALS, value="pressure p", units={"x": "m", "y": "m", "pressure p": "Pa"})
