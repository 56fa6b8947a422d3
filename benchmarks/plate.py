"""The hottest point of an L-shaped plate with a hole and a heater, with Poisson's equation and without.

    python -m benchmarks.plate --seeds 5 --most 40

-lap T = q on the heater, a disc; the walls have temperatures that the optimiser is not told. Truth by finite elements
(scikit-fem, piecewise quadratic on a mesh of 0.02). Noise 1% of the range. Counted is the number of evaluations until
the true temperature at the recommended point is within 1% of the range of the highest, and every suggestion outside.
"""

from __future__ import annotations

import argparse
import json
from functools import cache

import jax.numpy as jnp
import numpy as np
from numpy import ndarray
from scipy.interpolate import LinearNDInterpolator
from scipy.spatial import Delaunay

from pinnbo import PDE, Optimizer, Space, shapes
from pinnbo.operators import laplacian

HOLE, RADIUS = (0.55, 0.6), 0.22
HEATER, WIDTH, POWER = (1.35, 0.55), 0.16, 30.0
CORNERS = [(0, 0), (2, 0), (2, 1), (1, 1), (1, 2), (0, 2)]
PLATE = shapes.polygon(CORNERS, name="plate") - shapes.disc(HOLE, RADIUS, name="hole")
SIZE = 0.02


def heat(x):
    """The source, a heater on a disc."""
    away = (x[0] - HEATER[0]) ** 2 + (x[1] - HEATER[1]) ** 2
    return jnp.where(away < WIDTH**2, POWER, 0.0)


def wall(x: ndarray, y: ndarray) -> ndarray:
    """Temperatures on the boundary."""
    near_hole = np.hypot(x - HOLE[0], y - HOLE[1]) < 1.5 * RADIUS
    return np.where(near_hole, 0.1, 0.3 + 0.25 * np.sin(2.0 * x + 1.0) * np.cos(1.5 * y))


@cache
def truth():
    """T at points of the plate."""
    import skfem
    from skfem.helpers import dot, grad

    axis = np.arange(0.0, 2.0 + 1e-9, SIZE)
    grid = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
    away = np.hypot(*(grid - HOLE).T)
    names = ("x", "y")
    grid = grid[(away > RADIUS + 0.5 * SIZE) & (PLATE.depth(grid, names) > -1e-9)]
    angle = np.linspace(0.0, 2.0 * np.pi, int(2 * np.pi * RADIUS / SIZE), endpoint=False)
    points = np.vstack([grid, np.array(HOLE) + RADIUS * np.column_stack([np.cos(angle), np.sin(angle)])])
    triangles = Delaunay(points).simplices
    middle = points[triangles].mean(axis=1)
    keep = (PLATE.depth(middle, names) > 0) & (
        np.hypot(*(middle - HOLE).T) > RADIUS * np.cos(np.pi / len(angle))
    )
    used, new = np.unique(triangles[keep], return_inverse=True)
    mesh = skfem.MeshTri(points[used].T.copy(), new.reshape(-1, 3).T.copy())
    basis = skfem.Basis(mesh, skfem.ElementTriP2(), intorder=8)

    @skfem.BilinearForm
    def stiffness(u, v, w):
        return dot(grad(u), grad(v))

    @skfem.LinearForm
    def load(v, w):
        return POWER * (np.hypot(w.x[0] - HEATER[0], w.x[1] - HEATER[1]) < WIDTH) * v

    on_wall = basis.get_dofs()
    given = basis.zeros()
    given[on_wall.all()] = wall(*basis.doflocs[:, on_wall.all()])
    solved = skfem.solve(*skfem.condense(stiffness.assemble(basis), load.assemble(basis), x=given, D=on_wall))

    # between vertices and the middles of sides, 0.01 apart: an error of 0.05% of the range where it bends most
    between = LinearNDInterpolator(basis.doflocs.T, solved)

    def at(x: ndarray) -> ndarray:
        return np.asarray(between(np.clip(np.atleast_2d(x), 1e-9, 2 - 1e-9)))

    return at, float(solved.min()), float(solved.max())


def run(seed: int, with_pde: bool, most: int) -> dict:
    """One run: evaluations to 1% (None if not reached), regrets, suggestions outside."""
    at, low, high = truth()
    space = Space(x=(0.0, 2.0), y=(0.0, 2.0), inside=PLATE)
    noise = 0.01 * (high - low)
    pde = PDE(lambda f: lambda x: -laplacian(f)(x), heat, name="Poisson") if with_pde else None
    optimizer = Optimizer(space, pde, goal="maximize", seed=seed, noise=noise)
    rng, regrets, outside = np.random.default_rng([seed, 77]), [], 0
    for _ in range(most):
        x = optimizer.ask()
        outside += not space.contains(x)
        optimizer.tell(x, float(at(x)[0] + noise * rng.standard_normal()))
        regrets.append(float((high - at(optimizer.best.x)[0]) / (high - low)))
        if regrets[-1] <= 0.01 and len(regrets) >= 8 and max(regrets[-3:]) <= 0.01:
            break
    reached = next((i + 1 for i, r in enumerate(regrets) if r <= 0.01), None)
    trust = optimizer.diagnostics()["trust"] if with_pde else None
    return {
        "seed": seed,
        "pde": with_pde,
        "to 1%": reached,
        "outside": outside,
        "trust": trust,
        "regrets": regrets,
    }


def main() -> None:
    """Print a record for every run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--most", type=int, default=40)
    arguments = parser.parse_args()
    for seed in range(arguments.seeds):
        for with_pde in (True, False):
            print(json.dumps(run(seed, with_pde, arguments.most)), flush=True)


if __name__ == "__main__":
    main()
