"""What a simulation as prior mean saves: evaluations until the best point found is within 1% of the optimum.

    python benchmarks/simulation.py --seeds 5 [--laplace]

Harmonic fields on a square, noise of 1% of the range (told). The simulation solves the same equation with boundary
values that are wrong by 20%: each mode's amplitude by a factor between 0.8 and 1.2. The wrong simulation is another
field of the same kind. ``--laplace`` states the equation as well.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np
from numpy import ndarray

from pinnbo import PDE, Optimizer, Space
from pinnbo.operators import laplacian

_SPACE = Space(x=(-1.0, 1.0), y=(-1.0, 1.0))
_MOST = 30
_MODES = np.arange(1, 5)


def harmonic(sizes: ndarray, phases: ndarray) -> Callable[[ndarray], ndarray]:
    """Sum of exp(k x) cos(k y + phase) and the same along y, largest on the walls."""

    def field(p: ndarray) -> ndarray:
        x, y = p[..., 0], p[..., 1]
        total = np.zeros(np.shape(x))
        for i, k in enumerate(_MODES):
            along = np.cosh(k * x) * np.cos(k * y + phases[i, 0])
            across = np.cosh(k * y) * np.cos(k * x + phases[i, 1])
            total = total + (sizes[i, 0] * along + sizes[i, 1] * across) / np.cosh(k)
        return total

    return field


def evaluations(seed: int, which: str, laplace: bool) -> int:
    """Until the recommended point is within 1% of the range of the optimum; one more than the most if never."""
    rng = np.random.default_rng([seed, 41])
    sizes, phases = rng.normal(size=(4, 2)), rng.uniform(0.0, 2.0 * np.pi, (4, 2))
    truth = harmonic(sizes, phases)
    rough = harmonic(sizes * rng.uniform(0.8, 1.2, (4, 2)), phases)
    wrong = harmonic(rng.normal(size=(4, 2)), rng.uniform(0.0, 2.0 * np.pi, (4, 2)))
    line = np.linspace(-1.0, 1.0, 201)
    grid = truth(np.stack(np.meshgrid(line, line), axis=-1))
    best, extent = float(grid.max()), float(np.ptp(grid))
    mean = {"none": None, "rough": rough, "wrong": wrong}[which]
    pde = PDE(laplacian) if laplace else None
    opt = Optimizer(_SPACE, pde, goal="maximize", noise=0.01 * extent, seed=seed, mean=mean)
    for n in range(1, _MOST + 1):
        x = opt.ask()
        opt.tell(x, float(truth(x)) + 0.01 * extent * rng.standard_normal())
        assert opt.best is not None
        if best - float(truth(opt.best.x)) < 0.01 * extent:
            return n
    return _MOST + 1


def main(seeds: int, laplace: bool) -> None:
    """A line per seed and the medians."""
    names = ("none", "rough", "wrong")
    table = []
    for seed in range(seeds):
        table.append([evaluations(seed, name, laplace) for name in names])
        print(seed, dict(zip(names, table[-1], strict=True)), flush=True)
    print("median", dict(zip(names, np.median(table, axis=0), strict=True)))
    print("mean", dict(zip(names, np.mean(table, axis=0), strict=True)))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--laplace", action="store_true")
    given = parser.parse_args()
    main(given.seeds, given.laplace)
