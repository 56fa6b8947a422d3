"""The hottest point of an L-shaped plate with a hole and a heater, with Poisson's equation and without.

    python -m benchmarks.plate --seeds 5 --most 40

-lap T = q on the heater, a disc; the walls have temperatures that the optimiser is not told. Truth by finite elements
(scikit-fem, piecewise quadratic on a mesh of 0.02). Noise 1% of the range. Counted is the number of evaluations until
the true temperature at the recommended point is within 1% of the range of the highest, and every suggestion outside.
``--measure flux`` reads -dT/dx and -dT/dy in turn (noise 1% of their range around the heater) besides one temperature,
and counts to 2%; ``--measure disc`` reads averages over discs of a tenth of the width.
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

from pinnbo import PDE, Optimizer, Space, sensors, shapes
from pinnbo.operators import laplacian, partial

HOLE, RADIUS = (0.55, 0.6), 0.22
HEATER, WIDTH, POWER = (1.35, 0.55), 0.16, 30.0
CORNERS = [(0, 0), (2, 0), (2, 1), (1, 1), (1, 2), (0, 2)]
PLATE = shapes.polygon(CORNERS, name="plate") - shapes.disc(HOLE, RADIUS, name="hole")
SIZE = 0.02
DISC = 0.1  # radius of a sensor, a tenth of the width across


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


class Instruments:
    """What the sensors read: a temperature, a flux along x or y in turn, or an average over a disc."""

    def __init__(self, kind: str, rng: np.random.Generator) -> None:
        self.kind, self._rng, self._count = kind, rng, 0
        at, low, high = truth()
        self._at, self.noise = at, 0.01 * (high - low)
        across = np.random.default_rng(0).standard_normal((200, 2)) * 0.4
        self.flux_noise = 0.01 * float(np.ptp(self._slopes(np.array(HEATER) + np.clip(across, -0.4, 0.4))))

    def _slopes(self, x: ndarray) -> ndarray:
        step = 0.02 * np.eye(2)
        return np.stack([(self._at(x + e) - self._at(x - e)) / 0.04 for e in step], axis=-1)

    def space(self) -> tuple[Space, Space | None]:
        """What is searched, and the whole plate: a disc has to fit, and a flux is not read at the wall."""
        whole = Space(x=(0.0, 2.0), y=(0.0, 2.0), inside=PLATE)
        if self.kind == "point":
            return whole, None
        r = DISC if self.kind == "disc" else 0.025
        inner = [(x + (r if x == 0 else -r), y + (r if y == 0 else -r)) for x, y in CORNERS]
        inside = shapes.polygon(inner) - shapes.disc(HOLE, RADIUS + r)
        return Space(x=(r, 2.0 - r), y=(r, 2.0 - r), inside=inside), whole

    def begin(self, optimizer: Optimizer) -> None:
        """One reference temperature beside fluxes."""
        if self.kind == "flux":
            place = np.array([0.1, 1.5])
            optimizer.tell(place, float(self._at(place)[0] + self.noise * self._rng.standard_normal()))

    def read(self, optimizer: Optimizer, x: ndarray) -> None:
        """Tell what is read at x."""
        z = self._rng.standard_normal()
        if self.kind == "flux":
            i = self._count % 2
            self._count += 1
            y = float(-self._slopes(x[None])[0, i] + self.flux_noise * z)
            optimizer.tell(x, y, noise=self.flux_noise, of=("along x", "along y")[i])
        elif self.kind == "disc":
            places, weights = sensors.disc(DISC).places(x[None])
            optimizer.tell(x, float(self._at(places[0]) @ weights + self.noise * z), of="average")
        else:
            optimizer.tell(x, float(self._at(x)[0] + self.noise * z))

    @property
    def declared(self) -> dict:
        """Sensors by name."""
        fluxes = {
            "along x": lambda T: lambda x: -partial(T, 0)(x),
            "along y": lambda T: lambda x: -partial(T, 1)(x),
        }
        return {"flux": fluxes, "disc": {"average": sensors.disc(DISC)}}.get(self.kind, {})


def run(seed: int, with_pde: bool, most: int, kind: str = "point", goal: float = 0.01) -> dict:
    """One run: evaluations to the goal (None if not reached), regrets, suggestions outside."""
    at, low, high = truth()
    lab = Instruments(kind, np.random.default_rng([seed, 77]))
    space, domain = lab.space()
    pde = PDE(lambda f: lambda x: -laplacian(f)(x), heat, name="Poisson") if with_pde else None
    optimizer = Optimizer(
        space, pde, goal="maximize", seed=seed, noise=lab.noise, domain=domain, sensors=lab.declared or None
    )
    lab.begin(optimizer)
    regrets, outside = [], 0
    for _ in range(most):
        x = optimizer.ask()
        outside += not space.contains(x)
        lab.read(optimizer, x)
        regrets.append(float((high - at(optimizer.best.x)[0]) / (high - low)))
        if len(regrets) >= 8 and max(regrets[-3:]) <= goal:
            break
    reached = next((i + 1 for i, r in enumerate(regrets) if r <= goal), None)
    trust = optimizer.diagnostics()["trust"] if with_pde else None
    return {
        "seed": seed,
        "measured": kind,
        "pde": with_pde,
        "reached": reached,
        "outside": outside,
        "trust": trust,
        "regrets": [round(r, 4) for r in regrets],
    }


def main() -> None:
    """Print a record for every run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--most", type=int, default=40)
    parser.add_argument("--measure", choices=("point", "flux", "disc"), default="point")
    arguments = parser.parse_args()
    goal = 0.02 if arguments.measure == "flux" else 0.01
    for seed in range(arguments.seeds):
        for with_pde in (True, False) if arguments.measure == "point" else (True,):
            print(json.dumps(run(seed, with_pde, arguments.most, arguments.measure, goal)), flush=True)


if __name__ == "__main__":
    main()
