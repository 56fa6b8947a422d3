"""Unknown coefficients of simulated experiments: how well they are found, and whether the intervals hold.

    python benchmarks/coefficients.py --seeds 10

Noise of 1% of the range, not told; 20 measurements at Sobol points. The truths are closed forms.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy import ndarray

from pinnbo import PDE, Optimizer, Space
from pinnbo.operators import laplacian, partial

_N = 20


class Experiment(NamedTuple):
    """What is measured, what is stated, and what is unknown."""

    space: Space
    physics: list[PDE]
    measures: str | None
    unknowns: dict[str, tuple[float, float]]
    truth: dict[str, float]
    field: Callable[[ndarray], ndarray]


def helmholtz(rng: np.random.Generator) -> Experiment:
    """A sum of five plane waves with wave number 6 in the unit square."""
    k, angles, sizes = 6.0, rng.uniform(0.0, 2.0 * np.pi, 5), rng.normal(size=5)

    def field(x: ndarray) -> ndarray:
        along = x @ np.stack([np.cos(angles), np.sin(angles)])
        return np.cos(k * along + np.arange(5)) @ sizes

    pde = PDE(lambda p, *, k: lambda x: laplacian(p)(x) + k**2 * p(x))
    return Experiment(Space(x=(0, 1), y=(0, 1)), [pde], None, {"k": (2.0, 15.0)}, {"k": k}, field)


def diffusion(rng: np.random.Generator) -> Experiment:
    """Three modes that decay in an insulated rod, diffusivity 0.1."""
    alpha, sizes, order = 0.1, rng.normal(size=3), np.pi * np.arange(3)

    def field(x: ndarray) -> ndarray:
        return (np.cos(order * x[:, :1]) * np.exp(-alpha * order**2 * x[:, 1:])) @ sizes

    pde = PDE(lambda T, *, alpha: lambda x: partial(T, 1)(x) - alpha * partial(T, 0, 2)(x))
    box = Space(x=(0, 1), t=(0, 1))
    return Experiment(box, [pde], None, {"alpha": (0.01, 1.0)}, {"alpha": alpha}, field)


def oscillator(rng: np.random.Generator) -> Experiment:
    """Damping 0.5 and frequency 3 of a free oscillation of random phase."""
    c, w, phase = 0.5, 3.0, rng.uniform(0.0, 2.0 * np.pi)

    def field(x: ndarray) -> ndarray:
        return np.exp(-c / 2 * x[:, 0]) * np.cos(np.sqrt(w**2 - c**2 / 4) * x[:, 0] + phase)

    pde = PDE(lambda u, *, c, w: lambda x: partial(u, 0, 2)(x) + c * partial(u, 0)(x) + w**2 * u(x))
    ranges = {"c": (0.05, 5.0), "w": (1.0, 10.0)}
    return Experiment(Space(t=(0, 5)), [pde], None, ranges, {"c": c, "w": w}, field)


def kinetics(rng: np.random.Generator) -> Experiment:
    """A -> B -> C with known initial amount; B alone is measured, A is inferred."""
    k1, k2, start = 1.0, 0.4, np.array([[0.0]])

    def field(x: ndarray) -> ndarray:
        return k1 / (k2 - k1) * (np.exp(-k1 * x[:, 0]) - np.exp(-k2 * x[:, 0]))

    physics = [
        PDE(lambda B, A, *, k1, k2: lambda x: partial(B, 0)(x) - k1 * A(x) + k2 * B(x)),
        PDE(lambda A, *, k1: lambda x: partial(A, 0)(x) + k1 * A(x), fields=("A",)),
        PDE(lambda A: A, source=1.0, points=start, fields=("A",)),
        PDE(lambda B: B, points=start),
    ]
    ranges = {"k1": (0.05, 10.0), "k2": (0.05, 10.0)}
    return Experiment(Space(t=(0, 8)), physics, "B", ranges, {"k1": k1, "k2": k2}, field)


EXPERIMENTS: dict[str, Callable[[np.random.Generator], Experiment]] = {
    "helmholtz": helmholtz,
    "diffusion": diffusion,
    "oscillator": oscillator,
    "kinetics": kinetics,
}


def run(name: str, seed: int) -> dict[str, Any]:
    """One experiment: error, interval and whether it holds, for every coefficient."""
    rng = np.random.default_rng([seed, 7])
    case = EXPERIMENTS[name](rng)
    x = case.space.sobol(_N, seed)
    noise = 0.01 * np.ptp(case.field(case.space.sobol(1024, 0)))
    begin = time.process_time()
    opt = Optimizer(case.space, case.physics, measures=case.measures, unknowns=case.unknowns, seed=seed)
    opt.tell(x, case.field(x) + noise * rng.standard_normal(_N))
    said = opt.diagnostics()
    found = {"trust": said["trust"], "seconds": time.process_time() - begin}
    for coefficient, truth in case.truth.items():
        low, high = said["unknowns"][coefficient]["interval"]
        error = said["unknowns"][coefficient]["mean"] / truth - 1.0
        found[coefficient] = (error, (high - low) / truth, low <= truth <= high)
    return found


def main(names: Iterable[str], seeds: int) -> None:
    """A line per run, and a summary per coefficient."""
    for name in names:
        runs = []
        for seed in range(seeds):
            runs.append(run(name, seed))
            print(name, seed, runs[-1], flush=True)
        for coefficient in (key for key in runs[0] if key not in ("trust", "seconds")):
            errors, widths, holds = zip(*(each[coefficient] for each in runs), strict=True)
            off = np.abs(errors)
            print(
                f"{name} {coefficient}: median error {np.median(off):.1%}, largest {np.max(off):.1%}, "
                f"median width {np.median(widths):.1%}, interval holds in {sum(holds)} of {len(holds)}",
                flush=True,
            )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(EXPERIMENTS))
    parser.add_argument("--seeds", type=int, default=10)
    given = parser.parse_args()
    main(given.names, given.seeds)
