"""Where is the warm spot, in a draught that nobody has measured?

Air carries heat through a duct. The temperature is measured, the flow is not: its stream function is a second field,
which is known to be without curl and to run straight where it comes in.
"""

from __future__ import annotations

import numpy as np
from showing import show

from pinnbo import PDE, Result, Space, maximize

SPACE = Space(x=(0.0, 1.0), y=(0.0, 1.0))
EQUATIONS = PDE.parse(
    """
    d(psi, y)*d(T, x) - d(psi, x)*d(T, y) = kappa*laplacian(T)
    laplacian(psi) = 0
    psi = y on x = 0
    """,
    SPACE,
    fields=["T", "psi"],
    constants={"kappa": 0.2},
)
NOISE, TRIALS = 0.02, 16


def truth(points: np.ndarray) -> np.ndarray:
    """The duct, which the search never sees: a uniform flow, three modes across it."""
    x, y = points.T
    found = np.zeros(len(points))
    for wave, phase, size in ((2.0, 0.3, 1.0), (4.5, 1.1, 0.8), (7.0, 2.0, 0.5)):
        rate = (1 - np.sqrt(1 + 4 * 0.2**2 * wave**2)) / (2 * 0.2)
        found += size * np.exp(rate * x) * np.sin(wave * y + phase)
    return found


def search(trials: int, seed: int, equation: bool = True) -> Result:
    """Measure ``trials`` times, with the equations or without."""
    rng = np.random.default_rng([seed, 1])

    def measure(x: np.ndarray) -> float:
        return truth(x[None])[0] + NOISE * rng.standard_normal()

    physics, measures = (EQUATIONS, "T") if equation else (None, None)
    return maximize(measure, SPACE, physics, measures=measures, n_trials=trials, noise=NOISE, seed=seed)


if __name__ == "__main__":
    show(search, truth, trials=TRIALS, value="T", units={})
