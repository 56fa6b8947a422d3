"""What the measurements say of the unknown coefficients of the equation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy import ndarray

from pinnbo.figures import BLUE, GREY, check_matplotlib, new_figure, panels_of
from pinnbo.optimizer import Optimizer
from pinnbo.plots import canvas
from pinnbo.plots.canvas import Names
from pinnbo.plots.errors import NothingToDraw
from pinnbo.plots.field import best_of
from pinnbo.plots.known import typeset

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLUMNS = 3
_KNOTS = 17


def unknowns(
    optimizer: Optimizer, *, value: str | None = None, units: Mapping[str, str] | None = None
) -> Figure:
    """The posterior density of every unknown coefficient if the equations hold, with its 95% interval and its prior."""
    check_matplotlib()
    if not optimizer.unknowns:
        raise NothingToDraw("plots.unknowns: every coefficient of the equations is known")
    best_of(optimizer)
    names = Names.of(optimizer, value, units)
    found = optimizer.diagnostics()["unknowns"]
    columns = min(_COLUMNS, len(found))
    rows = -(-len(found) // columns)
    figure = new_figure(max(5.6, 4.4 * columns), 3.7 * rows + 0.9)
    panels = panels_of(figure, rows, columns, len(found))
    for axes, unknown in zip(panels, optimizer.unknowns, strict=True):
        _draw(axes, found[unknown.name], unknown.scale == "log")
        axes.set_xlabel(names.with_unit(unknown.name))
    canvas.head(figure, equations=typeset(optimizer, figure.get_figwidth()))
    canvas.legend_below(figure, *panels)
    return figure


def _draw(axes: Axes, said: dict[str, Any], log: bool) -> None:
    """Densities over the logarithm where the prior is uniform in it, so that the prior is flat."""
    at, below = (np.array(part) for part in said["distribution"])
    scale = np.log if log else np.asarray
    edges = scale(at)
    middle, density = _density(edges, below)
    prior = 1.0 / float(np.ptp(scale(np.array(said["prior"]))))
    shown = np.exp(middle) if log else middle
    low, high = said["interval"]
    inside = (shown >= low) & (shown <= high)
    axes.fill_between(shown, 0.0, density, color=BLUE, alpha=0.25, lw=0, where=inside, label="95% interval")
    axes.plot(shown, density, color=BLUE, lw=2, label="given the measurements")
    axes.axhline(prior, color=GREY, ls="--", lw=1.2, label="as it was stated")
    ends = [float(end) for end in said["prior"]]
    # a narrow posterior is shown with its surroundings, and the prior where it ends within them
    room = 0.6 * float(np.ptp(edges))
    first, last = (float(scale(np.array(end))) for end in ends)
    limits = max(first, edges[0] - room), min(last, edges[-1] + room)
    if log:
        axes.set_xscale("log")
    axes.set_xlim(*(np.exp(limits) if log else limits))
    axes.set_ylim(0.0, 1.12 * max(float(density.max()), prior))
    axes.set_yticks([])
    axes.set_ylabel("density")
    axes.set_title(f"{said['mean']:.4g}, 95% from {low:.4g} to {high:.4g}", fontsize="medium")
    if log:
        _plain_ticks(axes, float(np.ptp(limits)))


def _density(edges: ndarray, below: ndarray) -> tuple[ndarray, ndarray]:
    """Where, and how dense: the posterior is known as steps, which a monotone curve through some of them smooths."""
    from scipy.interpolate import PchipInterpolator

    some = np.unique(np.linspace(0, len(edges) - 1, _KNOTS).astype(int))
    at = np.linspace(edges[0], edges[-1], 4 * len(edges))
    return at, np.maximum(PchipInterpolator(edges[some], below[some]).derivative()(at), 0.0)


def _plain_ticks(axes: Axes, decades: float) -> None:
    """Round numbers as they are: powers of ten say little about less than a hundredfold range."""
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

    wide = decades > np.log(5.0)
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)) if wide else MaxNLocator(4))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    axes.xaxis.set_minor_locator(NullLocator())
