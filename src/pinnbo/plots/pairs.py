"""Every pair of the parameters that matter most: the mean below the diagonal, its uncertainty above."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy import ndarray

from pinnbo.figures import check_matplotlib, new_figure, readable_norm
from pinnbo.optimizer import Optimizer
from pinnbo.plots import canvas
from pinnbo.plots.canvas import Names
from pinnbo.plots.errors import NothingToDraw
from pinnbo.plots.field import best_of
from pinnbo.plots.known import draw_domain, draw_walls, typeset
from pinnbo.plots.section import Section, predict, strongest_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Normalize
    from matplotlib.figure import Figure

_MOST = 4  # parameters: 6 pairs
_RESOLUTION = 31


def pairs(
    optimizer: Optimizer,
    *,
    value: str | None = None,
    units: Mapping[str, str] | None = None,
    resolution: int | None = None,
) -> Figure:
    """Maps over every pair of the (at most four) parameters over which the mean varies most, through the best point.

    Below the diagonal the mean, above it the uncertainty, on the diagonal the curve of the mean with its 95% band.
    """
    check_matplotlib()
    if optimizer.space.dim < 3:
        raise NothingToDraw(
            "plots.pairs: expected at least 3 parameters; the picture of the field shows fewer"
        )
    best, names = best_of(optimizer), Names.of(optimizer, value, units)
    chosen = sorted(strongest_axes(optimizer, best.x)[:_MOST])
    fine, n = resolution or _RESOLUTION, len(chosen)
    sections = {
        (i, j): Section(optimizer.space, (chosen[i], chosen[j]), best.x, fine)
        for j in range(n)
        for i in range(j)
    }
    found = {pair: predict(optimizer, section.points) for pair, section in sections.items()}
    norms = [readable_norm(np.concatenate([p[k] for p in found.values()])) for k in (0, 1)]
    figure = new_figure(2.9 * n + 1.6, 2.7 * n + 1.0)
    grid = figure.subplots(n, n, squeeze=False)
    lines = [Section(optimizer.space, (axis,), best.x, 2 * fine) for axis in chosen]
    curves = [predict(optimizer, line.points) for line in lines]
    limits = canvas.band_limits(*(np.concatenate([curve[k] for curve in curves]) for k in (0, 1)))
    for k, (line, curve) in enumerate(zip(lines, curves, strict=True)):
        canvas.draw_band(grid[k, k], line, *curve, names)
        grid[k, k].plot([best.x[chosen[k]]], [best.mean], label="best", **canvas.BEST)
        grid[k, k].set_ylim(*limits)
    for (i, j), section in sections.items():
        mean, std = (section.shaped(part) for part in found[i, j])
        _draw(grid[j, i], section, mean, norms[0], "viridis", optimizer)
        turned = Section(optimizer.space, section.axes[::-1], best.x, fine)
        _draw(grid[i, j], turned, std.T, norms[1], "cividis", optimizer)
    _label(grid, [names.axis(axis) for axis in chosen], names.field)
    canvas.draw_bar(figure, list(grid[:, 0]), norms[0], "viridis", names.of_field("mean"), location="left")
    canvas.draw_bar(figure, list(grid[:, -1]), norms[1], "cividis", names.of_field("sd"), location="right")
    said = "Through the best point: " + Section(optimizer.space, (), best.x, 1).fixed
    left_out = optimizer.space.dim - n
    said += (
        f". {left_out} more parameters, over which the mean varies less, are not shown" if left_out else ""
    )
    below = "Below the diagonal the mean, above it the uncertainty (1 sd)"
    canvas.head(figure, f"{below}. {said}.", typeset(optimizer, figure.get_figwidth()))
    canvas.legend_below(figure, grid[0, 0], grid[1, 0])
    return figure


def _draw(
    axes: Axes, section: Section, values: ndarray, norm: Normalize, cmap: str, optimizer: Optimizer
) -> None:
    axes.pcolormesh(*section.grids, values, norm=norm, cmap=cmap, shading="gouraud", rasterized=True)
    draw_domain(axes, section)
    draw_walls(axes, section, optimizer)
    canvas.mark(axes, section, section.through[None], "best", canvas.BEST)


def _label(grid: ndarray, along: Sequence[str], value: str) -> None:
    """Parameters at the left and below, the value at the right of the curves on the diagonal."""
    n = len(grid)
    for row in range(n):
        for column in range(n):
            axes = grid[row, column]
            axes.set_xlabel(along[column] if row == n - 1 else "")
            axes.set_ylabel(along[row] if column == 0 and row else "")
            axes.tick_params(labelbottom=row == n - 1, labelleft=column == 0 and row > 0)
            if row == column:
                axes.yaxis.tick_right()
                axes.yaxis.set_label_position("right")
                axes.tick_params(labelleft=False, labelright=True, labelsize="small")
                axes.set_ylabel(value, fontsize="small")
