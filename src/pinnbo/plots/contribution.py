"""What the physics contributed: the uncertainty with the equation beside that without."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from pinnbo.figures import BLUE, VERMILLION, check_matplotlib, new_figure, readable_norm
from pinnbo.optimizer import Optimizer
from pinnbo.plots import canvas
from pinnbo.plots.canvas import Names
from pinnbo.plots.errors import NothingToDraw
from pinnbo.plots.field import best_of
from pinnbo.plots.section import predict, section_through
from pinnbo.replay import without_physics

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def contribution(
    optimizer: Optimizer,
    *,
    value: str | None = None,
    units: Mapping[str, str] | None = None,
    resolution: int | None = None,
) -> Figure:
    """The standard deviation of f given the same measurements without the equation and with it, on one scale."""
    check_matplotlib()
    if not optimizer.physics:
        raise NothingToDraw(
            "plots.contribution: no equation is stated, so there is nothing that it contributed"
        )
    best = best_of(optimizer)
    names = Names.of(optimizer, value, units)
    section = section_through(optimizer, best.x, resolution)
    plain = without_physics(optimizer)
    without, given = (section.shaped(predict(one, section.points).std) for one in (plain, optimizer))
    # over the whole box and not the plane alone
    box = optimizer.space.sobol(256, seed=19)
    share = float(np.median(predict(optimizer, box).std / np.maximum(predict(plain, box).std, 1e-300)))
    said = f"With the equation the uncertainty is {share:.2g} times that without (median over the box)"
    label = names.of_field("sd")
    if len(section.axes) == 1:
        figure = new_figure(7.4, 4.2)
        axes = figure.subplots()
        axes.plot(section.grids[0], without, color=VERMILLION, ls="--", lw=1.8, label="without the equation")
        axes.plot(section.grids[0], given, color=BLUE, lw=1.8, label="with the equation")
        axes.set_ylim(bottom=0.0)
        axes.set_xlabel(names.axis(0))
        axes.set_ylabel(label)
        axes.grid(alpha=0.25)
        canvas.head(figure, f"{said}.")
        canvas.legend_below(figure, axes)
        return figure
    figure = new_figure(9.8, 4.9)
    norm = readable_norm(np.stack([without, given]))
    panels = list(figure.subplots(1, 2))
    for axes, std, title in zip(panels, (without, given), ("Without the equation", "With it"), strict=True):
        canvas.draw_map(axes, section, std, names, label, norm=norm, cmap="cividis")
        axes.set_title(f"{title}: uncertainty (1 sd)", fontsize="medium")
        if optimizer.space.dim == 2:
            canvas.mark_measured(axes, section, optimizer)
    more = f". Through the best point: {section.fixed}" if section.fixed else ""
    canvas.head(figure, f"{said}{more}.")
    canvas.legend_below(figure, panels[0])
    return figure
