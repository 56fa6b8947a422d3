"""Steady heat on the square [0, 2 pi]^2: laplacian T = 0, maximise T.

Each of the paper's boundary formulas is a function of the coordinate that runs along its side. Where two of
them disagree at a corner T has no limit there, and the largest temperature sits at such a corner: "the
maximum over the square" does not exist. The box is therefore the square shrunk by 2% on each side, where T is
smooth.

The black box is py-pde's cell-centred solution, extrapolated from two grids (Richardson: its error is
quadratic in the cell) and kept on a grid of the box. The boundary value of a cell is the mean over its face,
because set 1 oscillates faster than any affordable grid. Solving takes seconds: the result is kept in memory,
and on disk under the user's cache directory.
"""

from __future__ import annotations

import functools
import hashlib
import os
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from numpy import cos, exp, ndarray, sin, sqrt
from scipy.interpolate import RectBivariateSpline

from pinnbo.operators import laplacian
from pinnbo.pde import PDE
from pinnbo.problems.problem import Problem, paper_noise
from pinnbo.space import Space

SIDE = 2 * np.pi
LOWER, UPPER = 0.02 * SIDE, 0.98 * SIDE

_CELLS = 192
_NODES = np.linspace(LOWER, UPPER, 241)
_GAUSS = np.polynomial.legendre.leggauss(64)

_Side = Callable[[ndarray], ndarray]


class Boundary(NamedTuple):
    """The temperature on the four sides, as functions of the coordinate along the side."""

    bottom: _Side  # y = 0
    top: _Side  # y = 2 pi
    left: _Side  # x = 0
    right: _Side  # x = 2 pi


BOUNDARIES = {
    1: Boundary(
        bottom=lambda x: 5 * sin(x) + sqrt(1 + x),
        top=lambda x: x * sin(3 * cos(x) + 2 * exp(x) * sin(x)),
        left=lambda y: 10 * cos(y) + y * exp(sqrt(y**2 + sin(y))),
        right=lambda y: 3 * sqrt(exp(y * exp(-y))) * sin(y) + cos(3 * y) ** 2,
    ),
    2: Boundary(
        bottom=lambda x: sin(x) * cos(2 * x) + x**2 * sqrt(3 * x) + exp(sin(x)),
        top=lambda x: exp(sin(x)) * sqrt(3 * x) + x**2 * cos(x) * sin(x) ** 2 + exp(cos(x)),
        left=lambda y: sqrt(2 * y) * sin(y) + y**3 * cos(2 * y) + exp(cos(y)),
        right=lambda y: sin(y) * cos(2 * y) + y**3 * sqrt(2 * y) + exp(sin(y)),
    ),
    3: Boundary(
        bottom=lambda x: (sin(x) + cos(2 * x)) * sqrt(3 * x) + x**2 + exp(sin(x)),
        top=lambda x: (exp(sin(x)) + sqrt(3 * x)) * cos(x) + (sin(x) ** 2 + x**2) * exp(cos(x)),
        left=lambda y: (sqrt(2 * y) + sin(y)) * (cos(2 * y) + y**3) + exp(cos(y)),
        right=lambda y: (sin(y) + cos(2 * y)) * (sqrt(2 * y) + y**3) + exp(sin(y)),
    ),
}


def build(number: int) -> Problem:
    """Heat with the paper's boundary conditions 1, 2 or 3."""
    pde = PDE(lambda f: laplacian(f), source=0.0, name="heat: laplacian T = 0")
    return _on(Space(x=(LOWER, UPPER), y=(LOWER, UPPER)), number, pde)


def solve(boundary: Boundary, cells: int) -> Float[ndarray, "n n"]:
    """T at the nodes of the box, extrapolated from grids of ``cells`` and half as many cells per side."""
    fine, coarse = (_solve_on_grid(boundary, n) for n in (cells, cells // 2))
    return (4 * fine - coarse) / 3


def temperature(values: Float[ndarray, "n n"]) -> RectBivariateSpline:
    """The spline through the values that `solve` gives."""
    return RectBivariateSpline(_NODES, _NODES, values)


def _on(space: Space, number: int, pde: PDE) -> Problem:
    if (space.lower < LOWER).any() or (space.upper > UPPER).any():
        raise ValueError(f"heat-{number}: the box must lie in [{LOWER:.6g}, {UPPER:.6g}]^2, got {space}")
    spline = _solution(number)
    x_best = _argmax(lambda x, y: spline(x, y), space)
    x_worst = _argmax(lambda x, y: -spline(x, y), space)
    best, worst = spline.ev(*np.stack([x_best, x_worst], axis=1)).tolist()
    return Problem(
        name=f"heat-{number}",
        space=space,
        pde=pde,
        goal="maximize",
        optimum=best,
        range=best - worst,
        noise=paper_noise(best - worst),
        x_best=x_best,
        evaluate=lambda points: spline.ev(points[:, 0], points[:, 1]),
        rebuild=lambda other: _on(other, number, pde),
    )


def _argmax(f: Callable[[ndarray, ndarray], ndarray], space: Space) -> Float[ndarray, " 2"]:
    """Maximum over the box of f, given on a product of axes: a grid, then closer grids around its best."""
    lower, upper = space.lower, space.upper
    step = (upper - lower) / 400
    centre, offsets = space.centre, np.arange(-200, 201)
    for _ in range(18):
        axes = np.clip(centre[:, None] + step[:, None] * offsets, lower[:, None], upper[:, None])
        values = f(axes[0], axes[1])
        i, j = np.unravel_index(np.argmax(values), values.shape)
        centre, offsets = np.array([axes[0, i], axes[1, j]]), np.arange(-10, 11)
        step = step / 5
    return centre


@functools.cache
def _solution(number: int) -> RectBivariateSpline:
    boundary = BOUNDARIES[number]
    path = _cache_file(number, boundary)
    values = _read(path)
    if values is None:
        values = solve(boundary, _CELLS)
        _write(path, values)
    return temperature(values)


def _solve_on_grid(boundary: Boundary, cells: int) -> Float[ndarray, "n n"]:
    try:
        from pde import CartesianGrid, solve_laplace_equation
    except ImportError as error:
        raise ImportError(
            "The heat problems are solved with py-pde, which is not installed: pip install 'pinnbo[problems]'"
        ) from error
    grid = CartesianGrid([(0.0, SIDE), (0.0, SIDE)], cells)
    faces = {side: {"value": _face_means(value, cells)} for side, value in boundary._asdict().items()}
    bc = {"x-": faces["left"], "x+": faces["right"], "y-": faces["bottom"], "y+": faces["top"]}
    centres = grid.axes_coords[0]
    return RectBivariateSpline(centres, centres, solve_laplace_equation(grid, bc).data)(_NODES, _NODES)


def _face_means(side: _Side, cells: int) -> Float[ndarray, " n"]:
    """Mean of the boundary value over each cell's face, by Gauss quadrature."""
    width = SIDE / cells
    centres = (np.arange(cells) + 0.5) * width
    nodes, weights = _GAUSS
    return side(centres[:, None] + 0.5 * width * nodes) @ weights / 2


def _cache_file(number: int, boundary: Boundary) -> Path:
    """The name holds a digest of all that the solution depends on."""
    root = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    inputs = [_NODES, *(_face_means(side, 64).round(6) for side in boundary), np.array([_CELLS])]
    digest = hashlib.sha256(b"".join(np.ascontiguousarray(a, dtype=float).tobytes() for a in inputs))
    return root / "pinnbo" / f"heat-{number}-{digest.hexdigest()[:16]}.npz"


def _read(path: Path) -> Float[ndarray, "n n"] | None:
    """The stored solution; whatever cannot be read is solved again."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
            values = stored["temperature"]
    except (OSError, ValueError, TypeError, KeyError, EOFError, zipfile.BadZipFile):
        return None
    usable = values.shape == (_NODES.size, _NODES.size) and values.dtype == float
    return values if usable and np.isfinite(values).all() else None


def _write(path: Path, values: Float[ndarray, "n n"]) -> None:
    """Store atomically: a reader never meets half a file. A cache that cannot be written is no error."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent) as folder:
            whole = Path(folder, path.name)
            np.savez(whole, temperature=values)
            whole.replace(path)
    except OSError:
        pass
