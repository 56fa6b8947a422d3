"""Where the mean misses the equation: the map of N[mean] - g."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from pinnbo.figures import BLUE, GREY, check_matplotlib, new_figure, panels_of
from pinnbo.optimizer import Optimizer
from pinnbo.pde import PDE
from pinnbo.plots import canvas
from pinnbo.plots.canvas import Names
from pinnbo.plots.errors import NothingToDraw
from pinnbo.plots.field import best_of
from pinnbo.plots.section import Section, predict, section_through

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# values of the mean for a picture, and what that may come to in grid points along an axis
_MOST_VALUES = 8_000
_RESOLUTIONS = {1: (61, 181), 2: (9, 33)}
_MOST = 6  # equations that a picture can show


def residual(
    optimizer: Optimizer,
    *,
    units: Mapping[str, str] | None = None,
    value: str = "f",
    resolution: int | None = None,
) -> Figure:
    """By how much the mean misses each stated equation, as a share of the size of its terms.

    Conditions, which hold at points of their own only, are left out.
    """
    from pinnbo.physics.misfit import Differences

    check_matplotlib()
    equations = [pde for pde in optimizer.physics if pde.points is None]
    if not equations:
        what = (
            "only conditions at points of their own are stated"
            if optimizer.physics
            else "no equation is stated"
        )
        raise NothingToDraw(f"plots.residual: {what}, so there is no residual over the box")
    best = best_of(optimizer)
    space, names = optimizer.space, Names(optimizer.space, value, units or {})
    panels: list[tuple[PDE, Section, np.ndarray, float, str]] = []
    for pde in equations:
        differences = Differences(pde, space, lambda points: predict(optimizer, points).mean)
        away = differences.reach
        through = space.unscale(np.clip(space.scale(best.x), -1 + away, 1 - away))
        rough = section_through(optimizer, through, resolution)
        fine = resolution or _fineness(len(rough.axes), differences.n_values)
        section = Section(space, rough.axes, through, fine, margin=away / 2)
        found = differences.misfit(section.points)
        share = found.residual / (found.size or 1.0)
        for number, column in enumerate(share.T):
            part = f", equation {number + 1}" if share.shape[1] > 1 else ""
            panels.append((pde, section, section.shaped(column), float(np.sqrt(np.mean(column**2))), part))
    shown = panels[:_MOST]
    columns = min(3, len(shown))
    rows = -(-len(shown) // columns)
    wide = 7.4 if space.dim == 1 else 5.6
    figure = new_figure(wide * columns, (4.0 if space.dim == 1 else 4.8) * rows)
    for axes, (pde, section, share, size, part) in zip(
        panels_of(figure, rows, columns, len(shown)), shown, strict=True
    ):
        _draw(axes, section, share, names)
        axes.set_title(
            f"{canvas.plain(pde.name)}{part}: misses by {size:.1%} of its terms", fontsize="medium"
        )
        if space.dim == 2:
            canvas.mark_measured(axes, section, optimizer)
    fixed = shown[0][1].fixed
    more = f"Through the best point: {fixed}. " if fixed else ""
    if len(panels) > _MOST:
        more += f"{len(panels) - _MOST} more equations are not shown."
    if more:
        canvas.note(figure, more)
    return figure


def _fineness(n_axes: int, n_values: int) -> int:
    return int(np.clip((_MOST_VALUES / n_values) ** (1 / n_axes), *_RESOLUTIONS[n_axes]))


def _draw(axes: Axes, section: Section, share: np.ndarray, names: Names) -> None:
    label = "(N[mean] - g) / size of its terms"
    if len(section.axes) == 1:
        axes.plot(section.grids[0], share, color=BLUE)
        axes.axhline(0.0, color=GREY, lw=1.0, ls="--")
        axes.set_xlabel(names.axis(0))
        axes.set_ylabel(label)
        axes.grid(alpha=0.25)
        return
    from matplotlib.colors import Normalize

    # symmetric, so that the middle colour means that the equation holds
    most = float(np.max(np.abs(share))) or 1.0
    canvas.draw_map(
        axes, section, share, names, label, norm=Normalize(-most, most), cmap="PuOr", contours=False
    )
