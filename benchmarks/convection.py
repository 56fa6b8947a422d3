"""Forced convection: the hottest point behind a cylinder in a channel, with a heater in the flow and unknown walls.

    python benchmarks/convection.py                          # 5 seeds; resumes
    python benchmarks/convection.py --seeds 1 --stated velocity
    python benchmarks/convection.py --report                 # only write docs/benchmarks/convection.md

    u dT/dx + v dT/dy = alpha lap T + q,        alpha = 0.05, q a bump inside the flow,

in the channel [0, 2] x [0, 1] without a cylinder. The flow is Stokes': parabolic at the inlet, no slip at walls and
cylinder, free at the outlet. T is given at the inlet, the walls and the cylinder, none of which the optimiser is told.
Truth by finite elements (scikit-fem): Taylor-Hood for the flow, piecewise quadratic temperatures; the page shows what
refining the mesh changes. Noise of T is 1% of its range and told. What is stated beside the measurements of T:

    nothing     no equation
    velocity    the equation of T with the velocity, tabulated
    measured    the equation of T, div (u, v) = 0, no slip; u and v read at 20 places with noise of 1% of the fastest
    stokes      the equation of T with a stream function, lap lap psi = 0, no slip, the rate of flow; no velocity read

Counted are evaluations until the true temperature at the recommended point is within 1% of the range of the highest
three times in a row; a run ends there, or after 30.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
import script
from numpy import ndarray
from scipy.interpolate import LinearNDInterpolator
from scipy.spatial import Delaunay

from pinnbo import PDE, Optimizer, Space, shapes, tabulated
from pinnbo.bench.records import Case, Record
from pinnbo.operators import biharmonic, gradient, laplacian, partial

CENTRE, RADIUS = (0.55, 0.5), 0.17
HEATER, WIDTH, POWER = (1.1, 0.62), 0.14, 4.0
ALPHA = 0.05
SIZE = 0.02  # of the mesh
PLACES = 20  # where the velocity is measured
CHANNEL = shapes.box("channel", x=(0.0, 2.0), y=(0.0, 1.0)) - shapes.disc(CENTRE, RADIUS, name="cylinder")
SPACE = Space(x=(0.0, 2.0), y=(0.0, 1.0), inside=CHANNEL)
STATED = ("nothing", "velocity", "measured", "stokes")
_INLET = 1.5  # the fastest of a parabola whose mean is one
_WITHIN, _ROW, _MOST = 0.01, 3, 30
_ON_BOUNDARY = 40  # points of a condition


def source(x: Any) -> Any:
    """The heater."""
    return POWER * jnp.exp(-((x[0] - HEATER[0]) ** 2 + (x[1] - HEATER[1]) ** 2) / (2.0 * WIDTH**2))


def wall(x: ndarray, y: ndarray) -> ndarray:
    """Temperatures at the inlet, the walls and the cylinder."""
    cylinder = np.hypot(x - CENTRE[0], y - CENTRE[1]) < 1.2 * RADIUS
    return np.where(cylinder, 0.25, 0.15 + 0.15 * np.sin(2.5 * x + 0.4) * np.cos(2.0 * y) + 0.1 * y)


class Truth(NamedTuple):
    """T and (u, v) at points, the range of T, where it is highest, and the size of the problem solved."""

    temperature: Callable[[ndarray], ndarray]
    velocity: Callable[[ndarray], ndarray]
    low: float
    high: float
    hottest: ndarray
    unknowns: int


def mesh_of(size: float) -> Any:
    """Triangles of the channel: a grid, and a ring of points on the cylinder."""
    import skfem

    along = np.linspace(0.0, 2.0, round(2.0 / size) + 1)
    across = np.linspace(0.0, 1.0, round(1.0 / size) + 1)
    grid = np.stack(np.meshgrid(along, across, indexing="ij"), axis=-1).reshape(-1, 2)
    grid = grid[np.hypot(*(grid - CENTRE).T) > RADIUS + 0.6 * size]
    angle = np.linspace(0.0, 2.0 * np.pi, int(2.0 * np.pi * RADIUS / size), endpoint=False)
    ring = np.array(CENTRE) + RADIUS * np.column_stack([np.cos(angle), np.sin(angle)])
    points = np.vstack([grid, ring])
    triangles = Delaunay(points).simplices
    middle = points[triangles].mean(axis=1)
    keep = np.hypot(*(middle - CENTRE).T) > RADIUS * np.cos(np.pi / len(angle))
    used, new = np.unique(triangles[keep], return_inverse=True)
    return skfem.MeshTri(points[used].T.copy(), new.reshape(-1, 3).T.copy())


@cache
def truth(size: float = SIZE) -> Truth:
    """The flow, then the temperature that it carries."""
    import skfem
    from scipy.sparse import bmat
    from skfem.helpers import ddot, div, dot, grad

    mesh = mesh_of(size)
    flow = skfem.Basis(mesh, skfem.ElementVector(skfem.ElementTriP2()), intorder=4)
    pressure = flow.with_element(skfem.ElementTriP1())
    heat = flow.with_element(skfem.ElementTriP2())

    @skfem.BilinearForm
    def viscous(u, v, w):
        return ddot(grad(u), grad(v))

    @skfem.BilinearForm
    def divergence(u, p, w):
        return -div(u) * p

    @skfem.BilinearForm
    def carried(T, s, w):
        return ALPHA * dot(grad(T), grad(s)) + dot(w["flow"], grad(T)) * s

    @skfem.LinearForm
    def heated(s, w):
        return POWER * np.exp(-((w.x[0] - HEATER[0]) ** 2 + (w.x[1] - HEATER[1]) ** 2) / (2 * WIDTH**2)) * s

    a, b = viscous.assemble(flow), divergence.assemble(flow, pressure)
    system = bmat([[a, b.T], [b, None]], "csr")
    fixed = flow.get_dofs(mesh.facets_satisfying(lambda x: x[0] < 2.0 - 1e-9, boundaries_only=True))
    given = np.zeros(system.shape[0])
    x, y = flow.doflocs
    parabola = np.where(x < 1e-9, 4.0 * _INLET * y * (1.0 - y), 0.0)
    along = flow.get_dofs(mesh.facets_satisfying(lambda x: x[0] < 1e-9, boundaries_only=True)).all(["u^1"])
    given[along] = parabola[along]
    solved = skfem.solve(*skfem.condense(system, np.zeros(len(given)), x=given, D=fixed.all()))[: flow.N]
    conduction = carried.assemble(heat, flow=flow.interpolate(solved))
    on_wall = heat.get_dofs(mesh.facets_satisfying(lambda x: x[0] < 2.0 - 1e-9, boundaries_only=True)).all()
    temperatures = heat.zeros()
    temperatures[on_wall] = wall(*heat.doflocs[:, on_wall])
    field = skfem.solve(*skfem.condense(conduction, heated.assemble(heat), x=temperatures, D=on_wall))
    between = LinearNDInterpolator(heat.doflocs.T, field)
    components = flow.split(solved)
    speeds = LinearNDInterpolator(
        components[0][1].doflocs.T, np.column_stack([values for values, _ in components])
    )

    def temperature(x: ndarray) -> ndarray:
        return np.asarray(between(np.atleast_2d(x)))

    def velocity(x: ndarray) -> ndarray:
        return np.asarray(speeds(np.atleast_2d(x)))

    hottest = heat.doflocs[:, int(np.argmax(field))]
    size_of = len(solved) + pressure.N + heat.N
    return Truth(temperature, velocity, float(field.min()), float(field.max()), hottest, size_of)


def known_velocity() -> tuple[Any, Any]:
    """u and v as functions of x, tabulated; inside the cylinder those outside, mirrored with the other sign."""
    along, across = np.linspace(0.0, 2.0, 101), np.linspace(0.0, 1.0, 51)
    points = np.stack(np.meshgrid(along, across, indexing="ij"), axis=-1)
    out = points - CENTRE
    r = np.maximum(np.hypot(*np.moveaxis(out, -1, 0)), 1e-6)
    inside = r < RADIUS
    mirrored = np.array(CENTRE) + out * ((2.0 * RADIUS - r) / r)[..., None]
    found = (
        truth().velocity(np.where(inside[..., None], mirrored, points).reshape(-1, 2)).reshape(*points.shape)
    )
    found *= np.where(inside, -1.0, 1.0)[..., None]
    found[np.isnan(found)] = 0.0  # a chord of the mesh leaves out a sliver at the wall
    return tabulated((along, across), found[..., 0]), tabulated((along, across), found[..., 1])


def physics(stated: str) -> list[PDE]:
    """The equations and conditions that the optimiser is told."""
    if stated == "nothing":
        return []
    if stated == "velocity":
        u, v = known_velocity()
        return [
            PDE(
                lambda T: (
                    lambda x: u(x) * partial(T, 0)(x) + v(x) * partial(T, 1)(x) - ALPHA * laplacian(T)(x)
                ),
                source,
                name="heat",
            )
        ]
    if stated == "measured":
        at_rest = SPACE.boundary("cylinder", "y=0", "y=1", n=_ON_BOUNDARY)
        return [
            PDE(
                lambda T, u, v: (
                    lambda x: u(x) * partial(T, 0)(x) + v(x) * partial(T, 1)(x) - ALPHA * laplacian(T)(x)
                ),
                source,
                name="heat",
            ),
            PDE(lambda u, v: lambda x: partial(u, 0)(x) + partial(v, 1)(x), name="continuity"),
            at_rest.value(0.0, field="u"),
            at_rest.value(0.0, field="v"),
        ]
    walls = [SPACE.boundary(f"y={y}", n=_ON_BOUNDARY // 2) for y in (0, 1)]
    cylinder = SPACE.boundary("cylinder", n=_ON_BOUNDARY // 2).points
    return [
        PDE(
            lambda T, psi: (
                lambda x: (
                    partial(psi, 1)(x) * partial(T, 0)(x)
                    - partial(psi, 0)(x) * partial(T, 1)(x)
                    - ALPHA * laplacian(T)(x)
                )
            ),
            source,
            name="heat",
        ),
        PDE(lambda psi: biharmonic(psi), fields=("psi",), name="Stokes"),
        *(wall.value(float(i), field="psi") for i, wall in enumerate(walls)),
        *(wall.normal_derivative(0.0, field="psi") for wall in walls),
        PDE(lambda psi: gradient(psi), fields=("psi",), points=cylinder, name="no slip on the cylinder"),
    ]


def compute(case: Case) -> dict[str, Any]:
    """One search."""
    stated, seed = case["stated"], case["seed"]
    field, rng = truth(), np.random.default_rng([seed, 51])
    extent = field.high - field.low
    noise = 0.01 * extent
    begin = time.process_time()
    opt = Optimizer(
        SPACE,
        physics(stated) or None,
        measures=None if stated in ("nothing", "velocity") else "T",
        goal="maximize",
        noise=noise,
        seed=seed,
    )
    if stated == "measured":
        places = SPACE.sobol(PLACES, [seed, 3])
        speeds = field.velocity(places)
        deviation = 0.01 * float(np.max(np.abs(field.velocity(SPACE.sobol(1024, 0)))))
        for i, name in enumerate(("u", "v")):
            told = speeds[:, i] + deviation * rng.standard_normal(PLACES)
            opt.tell(places, told, noise=deviation, of=name)
    regrets: list[float] = []
    while len(regrets) < _MOST and (len(regrets) < _ROW or max(regrets[-_ROW:]) > _WITHIN):
        x = opt.ask()
        opt.tell(x, float(field.temperature(x)[0] + noise * rng.standard_normal()))
        regrets.append(float(field.high - field.temperature(opt.best.x)[0]) / extent)
    reached = len(regrets) - _ROW + 1 if max(regrets[-_ROW:]) <= _WITHIN else None
    unseen = SPACE.sobol(500, [seed, 9])
    error = opt.predict(unseen)[0] - field.temperature(unseen)
    return {
        "to 1%": reached,
        "regret": regrets,
        "map": float(np.sqrt(np.nanmean(error**2)) / extent),
        "trust": opt.diagnostics()["trust"],
        "cpu": time.process_time() - begin,
    }


def page(records: list[Record]) -> list[str]:
    meshes = [truth(size) for size in (2.0 * SIZE, SIZE)]
    unseen = SPACE.sobol(2000, 4)
    coarse, fine = (mesh.temperature(unseen) for mesh in meshes)
    changed = float(np.nanmax(np.abs(coarse - fine)) / (meshes[1].high - meshes[1].low))
    best = meshes[1].hottest
    lines = [
        "# Forced convection",
        "",
        "Heat is carried around a cylinder in a channel, with a heater inside the flow; temperatures at the inlet, the",
        "walls and the cylinder are unknown to the optimiser. The hottest point lies inside the flow, at",
        f"({best[0]:.2f}, {best[1]:.2f}). Truth by finite elements: {meshes[1].unknowns} unknowns; the temperature",
        f"differs from that on a mesh twice as coarse ({meshes[0].unknowns} unknowns) by at most {changed:.2%} of the",
        "range, the highest by "
        f"{abs(meshes[0].high - meshes[1].high) / (meshes[1].high - meshes[1].low):.3%}. Noise is 1% of the range.",
        "",
        "Evaluations until the true temperature at the recommended point is within 1% of the range of the highest,",
        f"{_ROW} times in a row; a run ends then, or after {_MOST}. *Map* is the root mean square error of the mean",
        "over 500 unseen points at the end, in per cent of the range; *trust* that in the equations.",
        "",
        "Command: `python benchmarks/convection.py`; commits " + script.commits(records) + ".",
        "",
        "| what is stated | seeds | evaluations, median | seed by seed | map, median | trust, median | CPU s a run |",
        "|---|---|---|---|---|---|---|",
    ]
    words = {
        "nothing": "no equation",
        "velocity": "heat equation, velocity known",
        "measured": f"heat equation and continuity, velocity measured at {PLACES} places",
        "stokes": "heat equation and Stokes, velocity unknown",
    }
    for stated in STATED:
        runs = [r.result for r in records if r.case["stated"] == stated and r.result]
        if not runs:
            continue
        reached = [run["to 1%"] for run in runs]
        middle = np.median([_MOST + 1 if n is None else n for n in reached])
        trusts = [run["trust"] for run in runs if run["trust"] is not None]
        lines.append(
            f"| {words[stated]} | {len(runs)} | {f'{middle:g}' if middle <= _MOST else f'more than {_MOST}'} "
            f"| {', '.join('never' if n is None else str(n) for n in reached)} "
            f"| {np.median([run['map'] for run in runs]):.1%} "
            f"| {f'{np.median(trusts):.2f}' if trusts else ''} | {np.median([run['cpu'] for run in runs]):.0f} |"
        )
    return lines


def main() -> None:
    parser = script.parser(__doc__, seeds=5)
    parser.add_argument("--stated", choices=STATED, nargs="+", default=STATED)
    arguments = parser.parse_args()
    cases = [{"stated": s, "seed": seed} for seed in script.seeds(arguments) for s in arguments.stated]
    script.run(arguments, "convection", cases, compute, page)


if __name__ == "__main__":
    main()
