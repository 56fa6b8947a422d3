"""What known walls of a square tell: the error of the map after 15 readings, with no, one and three walls known.

    python benchmarks/walls.py                # 10 seeds; resumes
    python benchmarks/walls.py --report       # only write docs/benchmarks/walls.md from what has been run

Laplace's equation on the unit square, 15 Sobol points, noise of 1% of the range, which is told. The truth is a closed
form: with corner values a to d and independent sine series on the four walls,

    T = bilinear(a, b, c, d) + sum over walls, sum_k c_k sin(k pi s) sinh(k pi (1 - n)) / sinh(k pi),   c_k ~ k^-decay,

s along a wall and n the distance from it. *Error* is the root mean square over 1000 unseen points as a share of the
range. *Ideal* is the error of the best linear prediction: the same readings under the prior that the truths were drawn
from, of which the walls' part is known. No method can expect to do better.
"""

from __future__ import annotations

import time
import warnings
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
import script
from numpy import ndarray

from pinnbo import PDE, Optimizer, Space
from pinnbo.bench.records import Case, Record
from pinnbo.operators import laplacian

WALLS = ("y=0", "x=1", "y=1", "x=0")  # in this order they become known
DECAYS = (2.0, 1.0)
KNOWN = (0, 1, 3)
N, UNSEEN, NOISE = 15, 1000, 0.01
_MODES = np.arange(1, 31)
_SPACE = Space(x=(0.0, 1.0), y=(0.0, 1.0))
_CORNERS = {"y=0": (0, 1), "x=1": (1, 3), "y=1": (2, 3), "x=0": (0, 2)}  # of 00, 10, 01, 11


class Truth(NamedTuple):
    """Coefficients of `features`, and their prior standard deviations."""

    coefficients: ndarray
    spread: ndarray

    def at(self, points: ndarray) -> ndarray:
        return features(points) @ self.coefficients


def truth(seed: int, decay: float) -> Truth:
    spread = np.concatenate([np.ones(4), np.tile(_MODES**-decay, 4)])
    return Truth(spread * np.random.default_rng([seed, 71]).standard_normal(len(spread)), spread)


def features(points: Any, np: Any = np) -> Any:
    """The four corner functions, and then the modes of every wall in the order of `WALLS`."""
    x, y = points[..., :1], points[..., 1:]
    corners = np.concatenate([(1 - x) * (1 - y), x * (1 - y), (1 - x) * y, x * y], axis=-1)
    parts = [corners]
    for along, away in ((x, y), (y, 1 - x), (x, 1 - y), (y, x)):
        k = _MODES * np.pi
        # sinh(k (1 - n)) / sinh(k) without large numbers
        parts.append(np.sin(k * along) * (np.exp(-k * away) - np.exp(k * (away - 2))) / (1 - np.exp(-2 * k)))
    return np.concatenate(parts, axis=-1)


def ideal(drawn: Truth, points: ndarray, unseen: ndarray, noise: float, known: tuple[str, ...]) -> float:
    """Root mean square of the standard deviations of the best linear prediction."""
    spread = drawn.spread.copy()
    for number, wall in enumerate(WALLS):
        if wall in known:
            spread[list(_CORNERS[wall])] = 0.0
            spread[4 + number * len(_MODES) : 4 + (number + 1) * len(_MODES)] = 0.0
    told, asked = features(points) * spread, features(unseen) * spread
    gain = np.linalg.solve(told @ told.T + noise**2 * np.eye(len(points)), told @ asked.T)
    left = np.sum(asked**2, axis=1) - np.einsum("ij,ji->i", asked, told.T @ gain)
    return float(np.sqrt(np.mean(np.maximum(left, 0.0))))


def compute(case: Case) -> dict[str, Any]:
    """One map."""
    seed, known = case["seed"], WALLS[: case["walls"]]
    drawn = truth(seed, case["decay"])
    unseen = _SPACE.sobol(UNSEEN, [seed, 72])
    values = drawn.at(unseen)
    extent = float(np.ptp(values))
    points = _SPACE.sobol(N, [seed, 73])
    noise = NOISE * extent
    told = drawn.at(points) + noise * np.random.default_rng([seed, 74]).standard_normal(N)
    coefficients = jnp.asarray(drawn.coefficients)

    def on_wall(x: Any) -> Any:
        return features(x, jnp) @ coefficients

    stated = [PDE(laplacian), *(_SPACE.boundary(wall).value(on_wall) for wall in known)]
    begin = time.process_time()
    opt = Optimizer(_SPACE, stated, noise=noise, seed=seed)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        opt.tell(points, told)
        mean, std = opt.predict(unseen)
    diagnostics = opt.diagnostics()
    return {
        "error": float(np.sqrt(np.mean((mean - values) ** 2))) / extent,
        "ideal": ideal(drawn, points, unseen, noise, known) / extent,
        "coverage": float(np.mean(np.abs(mean - values) <= 1.96 * std)),
        "hypotheses": diagnostics["hypotheses"],
        "model": diagnostics["model"],
        "warnings": [str(warning.message) for warning in caught],
        "cpu_s": time.process_time() - begin,
    }


def page(records: list[Record]) -> list[str]:
    """A line for every number of walls, and what each saves."""
    made = {(r.case["decay"], r.case["walls"], r.case["seed"]): r.result for r in records}
    lines = []
    for decay in DECAYS:
        for walls in KNOWN:
            mine = {s: result for (d, w, s), result in made.items() if (d, w) == (decay, walls)}
            pairs = [(mine[s], made[decay, 0, s]) for s in mine if (decay, 0, s) in made]
            if not pairs:
                continue
            saved = [1.0 - np.median([a[what] / b[what] for a, b in pairs]) for what in ("error", "ideal")]
            some = list(mine.values())
            cells = [
                f"{decay:g}",
                str(walls),
                str(len(some)),
                f"{np.median([r['error'] for r in some]):.2%}",
                f"{saved[0]:.0%}",
                f"{np.median([r['ideal'] for r in some]):.2%}",
                f"{saved[1]:.0%}",
                f"{np.mean([r['coverage'] for r in some]):.0%}",
                f"{np.median([1.0 - r['hypotheses']['wrong'] for r in some]):.2f}",
                str(sum(bool(r["warnings"]) for r in some)),
            ]
            lines.append(f"| {' | '.join(cells)} |")
    return [
        "# Known walls",
        "",
        *__doc__.split("\n\n", 2)[2].strip().splitlines(),
        "*Saved* is one minus the median over the seeds of the error's ratio to that without a wall.",
        "",
        f"Command: `python benchmarks/walls.py`; commits {script.commits(records)}.",
        "",
        "| decay | walls | seeds | error, median | saved | ideal | saved | coverage | trust | warned |",
        "|---|---|---|---|---|---|---|---|---|---|",
        *lines,
    ]


def main() -> None:
    arguments = script.parser(__doc__, seeds=10).parse_args()
    cases: list[Case] = [
        {"decay": decay, "walls": walls, "seed": seed}
        for seed in script.seeds(arguments)
        for decay in DECAYS
        for walls in KNOWN
    ]
    script.run(arguments, "walls", cases, compute, page)


if __name__ == "__main__":
    main()
