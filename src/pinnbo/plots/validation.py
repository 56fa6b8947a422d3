"""Measured against predicted: is the uncertainty honest?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from pinnbo.figures import BLUE, GREY, VERMILLION, check_matplotlib, new_figure
from pinnbo.optimizer import Optimizer
from pinnbo.plots import canvas
from pinnbo.plots.canvas import NORMAL_95, Names
from pinnbo.plots.errors import NothingToDraw
from pinnbo.replay import LeftOut, left_out

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LEAST = 3


def validation(
    optimizer: Optimizer,
    *,
    value: str = "f",
    units: Mapping[str, str] | None = None,
    predicted: LeftOut | None = None,
) -> Figure:
    """Every measured value against its prediction from the others, with 95% intervals, and how many of them hold.

    Values are left out one by one, and in twenty groups where there are more of them; ``predicted`` gives the result
    of `pinnbo.replay.left_out` if it is known.
    """
    check_matplotlib()
    n = len(optimizer.data.direct.values)
    if n < _LEAST:
        raise NothingToDraw(
            f"plots.validation: expected at least {_LEAST} measurements to predict each from the others, got {n}"
        )
    names = Names(optimizer.space, value, units or {})
    found = left_out(optimizer) if predicted is None else predicted
    inside = np.abs(found.values - found.mean) <= NORMAL_95 * found.std
    figure = new_figure(5.6, 5.4)
    axes = figure.subplots()
    limits = canvas.strip([*found.values, *found.mean])
    axes.plot(limits, limits, color=GREY, lw=1.0, ls="--", zorder=1, label="predicted = measured")
    for which, colour, marker, label in (
        (inside, BLUE, "o", "inside the 95% interval"),
        (~inside, VERMILLION, "^", "outside"),
    ):
        if which.any():
            axes.errorbar(
                found.mean[which],
                found.values[which],
                xerr=NORMAL_95 * found.std[which],
                color=colour,
                marker=marker,
                ms=6,
                ls="",
                elinewidth=1.0,
                alpha=0.8,
                label=label,
            )
    axes.set_xlim(limits)
    axes.set_ylim(limits)
    axes.set_box_aspect(1)
    axes.set_xlabel(f"{names.field}, predicted from the others")
    axes.set_ylabel(f"{names.field}, measured")
    how = "each left out in turn" if found.folds == n else f"left out in {found.folds} groups"
    axes.set_title(f"{int(inside.sum())} of {n} inside their 95% interval\n({how})", fontsize="medium")
    canvas.legend_below(figure, axes)
    return figure
