"""Finite differences for the truths: steady transport on the unit square, and lines that march in time."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import numpy as np
from jaxtyping import Float
from numpy import ndarray
from scipy.integrate import solve_ivp
from scipy.interpolate import RectBivariateSpline
from scipy.sparse import coo_matrix
from scipy.sparse.linalg import spsolve

from physics.case import Evaluate

Field = Callable[[ndarray, ndarray], ndarray]  # of x and y


def constant(value: float) -> Field:
    """The same everywhere."""
    return lambda x, y: np.full(np.broadcast(x, y).shape, value)


def axis(n: int, low: float = 0.0, high: float = 1.0) -> Float[ndarray, " n"]:
    """Nodes of n cells."""
    return np.linspace(low, high, n + 1)


def steady(
    nodes: Float[ndarray, " m"],
    edge: Field,
    source: Field,
    k: Field | None = None,
    flow: tuple[Field, Field] | None = None,
    reaction: Float[ndarray, "m m"] | float = 0.0,
) -> Float[ndarray, "m m"]:
    """Solve -div(k grad u) + flow . grad u + reaction u = source on a square with u = edge on its border.

    Finite volumes around the nodes, the same along both axes, spaced smoothly. Coefficients are averaged over the
    halves of a face and sources over the quarters of a volume, so that jumps along grid lines cost no accuracy.
    """
    n = len(nodes) - 1
    x, y = np.meshgrid(nodes, nodes, indexing="ij")
    k = constant(1.0) if k is None else k
    inner = np.s_[1:-1, 1:-1]
    xi, yi = x[inner], y[inner]
    gap = np.diff(nodes)
    before, after = gap[:-1], gap[1:]
    width = 0.5 * (before + after)
    # steps to the neighbours along x (in columns) and along y (in rows)
    steps = [(-before[:, None], 0.0), (after[:, None], 0.0), (0.0, -before[None, :]), (0.0, after[None, :])]
    diagonal = np.zeros_like(xi) + (reaction if np.isscalar(reaction) else np.asarray(reaction)[inner])
    weights = []
    for dx, dy in steps:
        along_x = np.ndim(dx) > 0
        halves = [(0.0, 0.25 * gap) for gap in (-before[None, :], after[None, :])]
        if not along_x:
            halves = [(0.25 * gap, 0.0) for gap in (-before[:, None], after[:, None])]
        face = 0.5 * sum(k(xi + 0.5 * dx + a, yi + 0.5 * dy + b) for a, b in halves)
        conduction = face / (np.abs(dx if along_x else dy) * (width[:, None] if along_x else width[None, :]))
        weights.append(-conduction)
        diagonal = diagonal + conduction
    if flow is not None:
        u, v = flow[0](xi, yi) / (2 * width[:, None]), flow[1](xi, yi) / (2 * width[None, :])
        weights = [weights[0] - u, weights[1] + u, weights[2] - v, weights[3] + v]
    quarters = [(0.25 * a[:, None], 0.25 * b[None, :]) for a in (-before, after) for b in (-before, after)]
    right = 0.25 * sum(source(xi + a, yi + b) for a, b in quarters)
    border = edge(x, y)
    number = np.full((n + 1, n + 1), -1)
    number[inner] = np.arange((n - 1) ** 2).reshape(n - 1, n - 1)
    rows, columns, entries = [number[inner].ravel()], [number[inner].ravel()], [np.ravel(diagonal)]
    for weight, (i, j) in zip(weights, ((-1, 0), (1, 0), (0, -1), (0, 1)), strict=True):
        neighbour = number[1 + i : n + i, 1 + j : n + j]
        known = border[1 + i : n + i, 1 + j : n + j]
        inside = neighbour >= 0
        right = right - np.where(inside, 0.0, weight * known)
        rows.append(number[inner][inside])
        columns.append(neighbour[inside])
        entries.append(weight[inside])
    triple = np.concatenate(entries), (np.concatenate(rows), np.concatenate(columns))
    solution = border.copy()
    solution[inner] = spsolve(coo_matrix(triple).tocsc(), right.ravel()).reshape(n - 1, n - 1)
    return solution


def surface(
    x: Float[ndarray, " n"],
    y: Float[ndarray, " m"],
    values: Float[ndarray, "n m"],
    cuts: tuple[Sequence[float], Sequence[float]] = ((), ()),
) -> Evaluate:
    """A function of points from its values on a grid, by cubic splines between the cuts along x and along y.

    Cuts are grid lines across which the slope may jump.
    """
    panels = [_panels(nodes, lines) for nodes, lines in zip((x, y), cuts, strict=True)]
    splines = [[RectBivariateSpline(x[a], y[b], values[a, b]) for b in panels[1]] for a in panels[0]]

    def evaluate(points: Float[ndarray, "n d"]) -> Float[ndarray, " n"]:
        column = np.searchsorted(np.array(cuts[0]), points[:, 0])
        row = np.searchsorted(np.array(cuts[1]), points[:, 1])
        out = np.empty(len(points))
        for i, line in enumerate(splines):
            for j, spline in enumerate(line):
                here = (column == i) & (row == j)
                out[here] = spline.ev(*points[here].T)
        return out

    return evaluate


def _panels(nodes: Float[ndarray, " n"], lines: Sequence[float]) -> list[slice]:
    ends = [0, *(int(np.argmin(np.abs(nodes - line))) for line in lines), len(nodes) - 1]
    return [slice(first, last + 1) for first, last in itertools.pairwise(ends)]


def march(
    rate: Callable[[float, Float[ndarray, " n"]], Float[ndarray, " n"]],
    start: Float[ndarray, " n"],
    times: Float[ndarray, " m"],
    band: int = 1,
) -> Float[ndarray, "n m"]:
    """Solve u' = rate(t, u), neighbours coupled up to a distance of ``band``, to a tolerance far below the grid's."""
    run = solve_ivp(
        rate,
        (times[0], times[-1]),
        start,
        method="LSODA",
        t_eval=times,
        rtol=1e-8,
        atol=1e-10,
        lband=band,
        uband=band,
    )
    if not run.success:
        raise RuntimeError(f"march: expected to reach t = {times[-1]}, got to {run.t[-1]}: {run.message}")
    return run.y


def random_edge(seed: int, kind: int, size: float = 1.0, modes: int = 3) -> Field:
    """What the surroundings impose on the border of the unit square: waves around its centre, other ones by seed."""
    rng = np.random.default_rng([seed, kind])
    amplitude = size * rng.normal(size=modes) / np.arange(1, modes + 1)
    phase = rng.uniform(0, 2 * np.pi, modes)

    def edge(x: ndarray, y: ndarray) -> ndarray:
        angle = np.arctan2(y - 0.5, x - 0.5)
        return sum(
            a * np.cos((i + 1) * angle + p) for i, (a, p) in enumerate(zip(amplitude, phase, strict=True))
        )

    return edge
