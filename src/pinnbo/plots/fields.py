"""The fields that are not measured, as the equations tie them to the one that is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from pinnbo.figures import check_matplotlib, new_figure
from pinnbo.optimizer import Optimizer
from pinnbo.plots import canvas
from pinnbo.plots.canvas import Names
from pinnbo.plots.errors import NothingToDraw
from pinnbo.plots.field import best_of
from pinnbo.plots.known import draw_walls, typeset
from pinnbo.plots.section import predict, section_through

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST = 4  # fields that a picture can show


def fields(
    optimizer: Optimizer,
    *,
    value: str | None = None,
    units: Mapping[str, str] | None = None,
    resolution: int | None = None,
) -> Figure:
    """Mean and uncertainty of every field that the equations name and nobody measures, if they hold."""
    check_matplotlib()
    hidden = optimizer.fields[1:]
    if not hidden:
        raise NothingToDraw("plots.fields: the equations name no field besides the one that is measured")
    best, every = best_of(optimizer), Names.of(optimizer, value, units)
    section = section_through(optimizer, best.x, resolution)
    is_map = len(section.axes) == 2
    shown = hidden[:_MOST]
    figure = new_figure(9.8, 4.2 * len(shown) + 0.8) if is_map else new_figure(7.4, 3.4 * len(shown) + 0.8)
    rows = figure.subplots(len(shown), 2 if is_map else 1, squeeze=False)
    for panels, name in zip(rows, shown, strict=True):
        try:
            mean, std = (section.shaped(part) for part in predict(optimizer, section.points, name))
        except ValueError as error:
            raise NothingToDraw(f"plots.fields: {str(error).removeprefix('predict: ')}") from None
        names = every.called(name)
        if is_map:
            canvas.draw_map(panels[0], section, mean, names, names.of_field("mean"))
            canvas.draw_map(panels[1], section, std, names, names.of_field("sd"), cmap="cividis")
            panels[0].set_title(f"{canvas.plain(name)}, which is not measured: mean", fontsize="medium")
            panels[1].set_title("Uncertainty (1 sd)", fontsize="medium")
        else:
            canvas.draw_band(panels[0], section, mean, std, names)
            panels[0].set_title(f"{canvas.plain(name)}, which is not measured", fontsize="medium")
        for axes in panels:
            draw_walls(axes, section, optimizer)
            if optimizer.space.dim <= 2:
                look = {"marker": "o", "ls": "", "ms": 4.5, "mfc": "white", "mec": "black", "clip_on": False}
                canvas.mark(axes, section, optimizer.data.points, f"{optimizer.fields[0]} measured", look)
    said = f"Through the best point: {section.fixed}. " if section.fixed else ""
    if len(hidden) > _MOST:
        said += f"{len(hidden) - _MOST} more fields are not shown."
    canvas.head(figure, said, typeset(optimizer, figure.get_figwidth()))
    canvas.legend_below(figure, *np.ravel(rows))
    return figure
