"""How far the search has come, without knowing the truth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy import ndarray

from pinnbo.figures import BLUE, GREY, check_matplotlib, new_figure
from pinnbo.optimizer import Optimizer
from pinnbo.plots import canvas
from pinnbo.plots.canvas import Names
from pinnbo.plots.field import best_of
from pinnbo.replay import HINDSIGHT, Moment, is_quick, replay

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def convergence(
    optimizer: Optimizer,
    *,
    value: str | None = None,
    units: Mapping[str, str] | None = None,
    moments: Sequence[Moment] | None = None,
) -> Figure:
    """The best value as it was believed after each number of measurements, with its 95% interval, and all readings.

    Earlier beliefs are computed again from the first measurements (`pinnbo.replay`); ``moments`` gives them if they
    are known.
    """
    check_matplotlib()
    best_of(optimizer)
    names = Names.of(optimizer, value, units)
    moments = replay(optimizer) if moments is None else moments
    data = optimizer.data
    readings = np.where(data.kinds == 0, data.values, np.nan)  # those of other sensors are no values of f
    figure = new_figure(7.4, 4.4)
    axes = figure.subplots()
    n = [moment.n for moment in moments]
    mean = np.array([moment.best.mean for moment in moments])
    low, high = np.array([moment.best.interval for moment in moments]).T
    axes.plot(
        np.arange(1, len(readings) + 1),
        readings,
        "o",
        ms=8,
        mfc="none",
        mec=GREY,
        zorder=3,
        label="each reading",
    )
    if len(n) > 1:
        axes.fill_between(n, low, high, color=BLUE, alpha=0.25, lw=0, label="95% interval")
    else:
        error = [mean - low, high - mean]
        axes.errorbar(n, mean, yerr=error, color=BLUE, capsize=6, ls="", label="95% interval")
    axes.plot(n, mean, color=BLUE, marker=".", ms=7, lw=2, label="best value believed")
    bottom, top = _limits(optimizer, mean, (low[-1], high[-1]))
    axes.set_ylim(bottom, top)
    for off, edge, marker in ((readings > top, 1.0, "^"), (readings < bottom, 0.0, "v")):
        if off.any():
            where = np.flatnonzero(off) + 1
            axes.plot(
                where,
                np.full(len(where), edge),
                marker=marker,
                ls="",
                mfc="none",
                mec=GREY,
                clip_on=False,
                transform=axes.get_xaxis_transform(),
                label="reading beyond the edge",
            )
    axes.set_xlim(0.5, len(readings) + 0.5)
    canvas.whole_numbers(axes)
    axes.set_xlabel("measurements")
    axes.set_ylabel(names.field)
    axes.set_title(f"Best point so far ({optimizer.goal}): what was believed of it")
    axes.grid(alpha=0.25)
    canvas.head(figure, "" if is_quick(optimizer) else HINDSIGHT)
    canvas.legend_below(figure, axes)
    return figure


def _limits(optimizer: Optimizer, mean: ndarray, last: tuple[float, float]) -> tuple[float, float]:
    """What is believed, and the better half of the readings: the others may be so bad that nothing else is seen."""
    readings, sign = optimizer.data.direct.values, 1.0 if optimizer.goal == "minimize" else -1.0
    ordered = sign * np.sort(sign * readings)
    return canvas.strip([*ordered[: -(-len(ordered) // 2)], *mean, *last])
