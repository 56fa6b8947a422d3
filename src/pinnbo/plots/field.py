"""What is believed of f: mean and uncertainty, with all points."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from pinnbo.figures import BLUE, VERMILLION, check_matplotlib, extension, new_figure, panels_of, readable_norm
from pinnbo.optimizer import Best, Optimizer
from pinnbo.plots import canvas
from pinnbo.plots.canvas import Names
from pinnbo.plots.errors import NothingToDraw
from pinnbo.plots.known import draw_walls, typeset
from pinnbo.plots.section import Section, predict, section_through, strongest_axes
from pinnbo.replay import next_points

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Truth = Callable[[Float[ndarray, "n d"]], Float[ndarray, " n"]]

# with the two maps they fill three rows of three
_MOST_SLICES = 7


def field(
    optimizer: Optimizer,
    truth: Truth | None = None,
    *,
    value: str | None = None,
    units: Mapping[str, str] | None = None,
    resolution: int | None = None,
    show_next: bool = True,
) -> Figure:
    """What the optimizer believes of f: mean and uncertainty, with the measured, impossible, pending and next points.

    One parameter gives a curve, two give maps, more give maps over the two parameters that matter most and curves
    along others, all through the best point. ``truth`` gives the noise-free values at points (n, d), where they are
    known (``problem.truth``). ``value`` names f on the axes and ``units`` gives units, e.g. ``{"x": "m", "f": "K"}``.
    ``resolution`` is the number of grid points per axis; ``show_next`` asks what would be measured next.
    """
    check_matplotlib()
    best = best_of(optimizer)
    following = next_points(optimizer) if show_next else np.zeros((0, optimizer.space.dim))
    picture = FieldPicture(optimizer, best, Names.of(optimizer, value, units), truth, following)
    dim = optimizer.space.dim
    if dim == 1:
        figure = new_figure(7.4, 5.4)
        on_mean, on_std = figure.subplots(2, 1, sharex=True, height_ratios=[3, 1])
        picture.curve(on_mean, on_std, resolution)
    elif dim == 2:
        panels = 2 if truth is None else 3
        figure = new_figure(4.9 * panels, 4.8)
        picture.maps(list(figure.subplots(1, panels)), resolution)
    else:
        return picture.slices(resolution)
    canvas.head(figure, equations=typeset(optimizer, figure.get_figwidth()))
    return figure


def best_of(optimizer: Optimizer) -> Best:
    """The best point; raises if there is none."""
    best = optimizer.best
    if best is None:
        raise NothingToDraw("plots: nothing has been measured yet, so there is nothing to draw")
    return best


class FieldPicture:
    """Draws what one optimizer believes onto axes."""

    def __init__(
        self,
        optimizer: Optimizer,
        best: Best,
        names: Names,
        truth: Truth | None = None,
        following: Float[ndarray, "k d"] | None = None,
    ) -> None:
        self._optimizer, self._best, self._names, self._truth = optimizer, best, names, truth
        self._next = np.zeros((0, optimizer.space.dim)) if following is None else following

    def curve(self, on_mean: Axes, on_std: Axes | None, resolution: int | None) -> None:
        """One parameter: mean, interval, truth and measurements; below it the uncertainty."""
        section = section_through(self._optimizer, self._best.x, resolution)
        mean, std = predict(self._optimizer, section.points)
        canvas.draw_band(on_mean, section, mean, std, self._names)
        self._draw_truth(on_mean, section)
        canvas.mark_measured(on_mean, section, self._optimizer)
        on_mean.plot([self._best.x[0]], [self._best.mean], label="best", **canvas.BEST)
        canvas.mark_others(on_mean, section, self._optimizer, self._next)
        on_mean.set_title(f"After {self._count}: mean and 95% interval")
        panels = [on_mean]
        if on_std is not None:
            on_mean.set_xlabel("")
            on_std.fill_between(section.grids[0], 0.0, std, color=BLUE, alpha=0.25, lw=0)
            on_std.plot(section.grids[0], std, color=BLUE)
            on_std.set_ylim(0.0, 1.15 * float(np.max(std)) or 1.0)
            on_std.set_xlabel(self._names.axis(0))
            on_std.set_ylabel(self._names.of_field("sd"))
            panels.append(on_std)
        canvas.legend_below(on_mean.figure, *panels)

    def maps(
        self,
        panels: list[Axes],
        resolution: int | None,
        label: str = "",
        optimum: Float[ndarray, " d"] | None = None,
        legend: bool = True,
    ) -> None:
        """Two parameters: maps of the truth (where there is a third panel for it), of the mean and of the sd."""
        section = section_through(self._optimizer, self._best.x, resolution)
        mean, std = (section.shaped(part) for part in predict(self._optimizer, section.points))
        truth = None if self._truth is None else section.shaped(np.asarray(self._truth(section.points)))
        # one scale of colours for truth and mean, set by the truth; what exceeds it is an arrow of the bar
        norm = readable_norm((mean if truth is None else truth)[section.inside])
        names = self._names
        on_mean, on_std = panels[-2:]
        extend = extension(norm, mean)
        if truth is not None and len(panels) == 3:
            canvas.draw_map(panels[0], section, truth, names, names.field, norm=norm, extend=extend)
            panels[0].set_title("Truth" if optimum is None else "Truth, hidden from the optimiser")
        canvas.draw_map(on_mean, section, mean, names, names.of_field("mean"), norm=norm, extend=extend)
        canvas.draw_map(on_std, section, std, names, names.of_field("sd"), cmap="cividis")
        who = f"{label}, after" if label else "After"
        on_mean.set_title(f"{who} {self._count}: mean")
        on_std.set_title(f"{label}: uncertainty (1 sd)" if label else "Uncertainty (1 sd)")
        for axes in (on_mean, on_std):
            canvas.mark_measured(axes, section, self._optimizer)
            canvas.mark(axes, section, self._best.x[None], "best", canvas.BEST)
            canvas.mark_others(axes, section, self._optimizer, self._next)
        if optimum is not None:
            canvas.mark(panels[0], section, optimum[None], "true optimum", canvas.OPTIMUM)
        if legend:
            canvas.legend_below(on_mean.figure, on_mean, panels[0])

    def slices(self, resolution: int | None, extra: int = 0) -> Figure:
        """More parameters: maps over the two that matter most and curves along others, through the best point.

        ``extra`` panels are left empty at the end.
        """
        optimizer, through = self._optimizer, self._best.x
        order = strongest_axes(optimizer, through)
        along = sorted(order[: _MOST_SLICES - extra])
        lines = [Section(optimizer.space, (i,), through, resolution or 61) for i in along]
        n = 2 + len(lines) + extra
        rows = -(-n // 3)
        figure = new_figure(13.5, 3.7 * rows + 0.8)
        panels = panels_of(figure, rows, 3, n)
        self._plane(panels[:2], resolution)
        self._lines(panels[2 : 2 + len(lines)], lines)
        canvas.legend_below(figure, panels[0], panels[2])
        said = "Through the best point: " + Section(optimizer.space, (), through, 1).fixed
        left_out = optimizer.space.dim - len(along)
        if left_out:
            said += f". {left_out} more parameters, over which the mean varies less, have no curve"
        canvas.head(figure, f"{said}.", typeset(optimizer, figure.get_figwidth()))
        return figure

    def _plane(self, panels: list[Axes], resolution: int | None) -> None:
        section = section_through(self._optimizer, self._best.x, resolution)
        mean, std = (section.shaped(part) for part in predict(self._optimizer, section.points))
        names = self._names
        canvas.draw_map(panels[0], section, mean, names, names.of_field("mean"))
        canvas.draw_map(panels[1], section, std, names, names.of_field("sd"), cmap="cividis")
        panels[0].set_title("Mean on a plane", fontsize="medium")
        panels[1].set_title("Uncertainty (1 sd) on it", fontsize="medium")
        for axes in panels:
            # other points do not lie on the plane, and would mislead there
            draw_walls(axes, section, self._optimizer)
            canvas.mark(axes, section, self._best.x[None], "best", canvas.BEST)

    def _lines(self, panels: list[Axes], lines: list[Section]) -> None:
        """One panel per curve, with one scale for all of them."""
        found = [predict(self._optimizer, line.points) for line in lines]
        every = np.concatenate([mean for mean, _ in found])
        truths = [self._draw_truth(axes, line) for axes, line in zip(panels, lines, strict=True)]
        every = np.concatenate([every, *(truth for truth in truths if truth is not None)])
        limits = canvas.band_limits(every, np.concatenate([std for _, std in found]))
        for axes, line, (mean, std) in zip(panels, lines, found, strict=True):
            canvas.draw_band(axes, line, mean, std, self._names)
            axes.plot([self._best.x[line.axes[0]]], [self._best.mean], label="best", **canvas.BEST)
            axes.set_ylim(*limits)
            axes.set_title(f"Along {canvas.plain(self._names.space.names[line.axes[0]])}", fontsize="medium")

    def _draw_truth(self, axes: Axes, section: Section) -> ndarray | None:
        if self._truth is None:
            return None
        truth = np.asarray(self._truth(section.points))
        axes.plot(section.grids[0], truth, color=VERMILLION, ls="--", lw=1.4, label="truth")
        return truth

    @property
    def _count(self) -> str:
        n = len(self._optimizer.data.values)
        return f"{n} measurement{'s' if n != 1 else ''}"
