"""Where the ground water flows fastest: the largest |grad h| of a Darcy field that is measured as h.

    python -m benchmarks.gradient --seeds 5 --most 40

div(k grad h) = 0 on the unit square with a known conductivity k that varies by a factor of 16; heads on the walls that
the optimiser is not told. Truth by finite elements (scikit-fem, piecewise quadratic, 96 x 96). Noise 1% of the range of
h. Counted is the number of evaluations until |grad h| at the recommended point is within 2% of the largest.
"""

from __future__ import annotations

import argparse
import json
from functools import cache

import jax.numpy as jnp
import numpy as np
from numpy import ndarray
from scipy.interpolate import RectBivariateSpline

from pinnbo import PDE, Optimizer, Space
from pinnbo.operators import gradient, partial


def conductivity(x):
    """From 1/4 to 4."""
    return 4.0 ** (jnp.sin(3.0 * x[0] + 0.5) * jnp.cos(2.5 * x[1] - 0.4))


def darcy(h):
    """div(k grad h)."""
    return lambda x: sum(partial(lambda z, i=i: conductivity(z) * partial(h, i)(z), i)(x) for i in (0, 1))


def speed(h):
    """|grad h|, smooth where it vanishes."""
    return lambda x: jnp.sqrt(jnp.sum(gradient(h)(x) ** 2) + 1e-12)


@cache
def truth():
    """h and |grad h| at points, the range of h and the largest |grad h|."""
    import skfem
    from skfem.helpers import dot, grad

    axis = np.linspace(0.0, 1.0, 97)
    basis = skfem.Basis(skfem.MeshTri.init_tensor(axis, axis), skfem.ElementTriP2(), intorder=6)

    @skfem.BilinearForm
    def stiffness(u, v, w):
        x, y = w.x
        return 4.0 ** (np.sin(3.0 * x + 0.5) * np.cos(2.5 * y - 0.4)) * dot(grad(u), grad(v))

    walls = basis.get_dofs()
    x, y = basis.doflocs
    given = 1.0 - x + 0.3 * np.sin(3.0 * y) * (0.5 + x)
    h = skfem.solve(*skfem.condense(stiffness.assemble(basis), x=given, D=walls))
    order = np.lexsort(np.round(basis.doflocs, 9))
    nodes = np.linspace(0.0, 1.0, 193)  # vertices, and the middles of sides and diagonals
    spline = RectBivariateSpline(nodes, nodes, h[order].reshape(193, 193).T, kx=5, ky=5)

    def at(points: ndarray) -> tuple[ndarray, ndarray]:
        x, y = np.atleast_2d(points).T
        return spline.ev(x, y), np.hypot(spline.ev(x, y, dx=1), spline.ev(x, y, dy=1))

    line = np.linspace(0.0, 1.0, 121)
    grid = np.stack(np.meshgrid(line, line), axis=-1).reshape(-1, 2)
    head, fast = at(grid)
    return at, float(np.ptp(head)), float(np.max(fast)), grid[int(np.argmax(fast))]


def run(seed: int, most: int, with_pde: bool) -> dict:
    """One run."""
    at, size, fastest, _ = truth()
    noise = 0.01 * size
    pde = PDE(darcy, name="Darcy") if with_pde else None
    space = Space(x=(0.0, 1.0), y=(0.0, 1.0))
    optimizer = Optimizer(space, pde, goal="maximize", objective=speed, seed=seed, noise=noise)
    rng, regrets = np.random.default_rng([seed, 78]), []
    for n in range(most):
        x = optimizer.ask()
        optimizer.tell(x, float(at(x)[0][0] + noise * rng.standard_normal()))
        if n >= 3:
            best = optimizer.best
            regrets.append(float(1.0 - at(best.x)[1][0] / fastest))
            if len(regrets) >= 3 and max(regrets[-3:]) <= 0.02:
                break
    reached = next((i + 4 for i, r in enumerate(regrets) if r <= 0.02), None)
    return {"seed": seed, "pde": with_pde, "to 2%": reached, "regrets": regrets}


def main() -> None:
    """Print a record for every run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--most", type=int, default=40)
    parser.add_argument("--without", action="store_true", help="also without the equation")
    arguments = parser.parse_args()
    for seed in range(arguments.seeds):
        for with_pde in (True, False) if arguments.without else (True,):
            print(json.dumps(run(seed, arguments.most, with_pde)), flush=True)


if __name__ == "__main__":
    main()
