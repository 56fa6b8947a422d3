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
from pinnbo.replay import LeftOut, is_quick, left_out

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LEAST = 3
_ROOM = 0.5  # on each side for intervals, of the range of the values


def validation(
    optimizer: Optimizer,
    *,
    value: str | None = None,
    units: Mapping[str, str] | None = None,
    predicted: LeftOut | None = None,
) -> Figure:
    """Every measured value against its prediction from the others, with 95% intervals, and how many of them hold.

    Values are left out one by one, and in groups where there are many of them; ``predicted`` gives the result
    of `pinnbo.replay.left_out` if it is known.
    """
    check_matplotlib()
    n = len(optimizer.data.direct.values)
    if n < _LEAST:
        raise NothingToDraw(
            f"plots.validation: expected at least {_LEAST} measurements to predict each from the others, got {n}"
        )
    names = Names.of(optimizer, value, units)
    found = left_out(optimizer) if predicted is None else predicted
    inside = np.abs(found.values - found.mean) <= NORMAL_95 * found.std
    figure = new_figure(5.6, 5.4)
    axes = figure.subplots()
    limits = _limits(found)
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
    how += "" if is_quick(optimizer) else ", models chosen with all"
    axes.set_title(f"{int(inside.sum())} of {n} inside their 95% interval\n({how})", fontsize="medium")
    canvas.legend_below(figure, axes)
    return figure


def _limits(found: LeftOut) -> tuple[float, float]:
    """The values, and the intervals as far as they leave the values to be told apart."""
    low, high = canvas.strip([*found.values, *found.mean])
    half = NORMAL_95 * found.std
    room = _ROOM * (high - low)
    ends = [
        max(low - room, float(np.min(found.mean - half))),
        min(high + room, float(np.max(found.mean + half))),
    ]
    return canvas.strip([low, high, *ends])
