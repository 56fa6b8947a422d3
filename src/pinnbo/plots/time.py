"""How the field changes with time: a strip of pictures at several times, and the same as a film."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from pinnbo.figures import check_matplotlib, new_figure, panels_of, readable_norm
from pinnbo.optimizer import Optimizer
from pinnbo.plots import canvas
from pinnbo.plots.canvas import Names
from pinnbo.plots.errors import NothingToDraw
from pinnbo.plots.field import best_of
from pinnbo.plots.known import draw_walls, typeset
from pinnbo.plots.section import Section, predict, section_through, time_axis

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_STRIP, _FILM = 6, 30  # pictures
_MILLISECONDS = 120  # for one of a film


def time(
    optimizer: Optimizer,
    *,
    value: str | None = None,
    units: Mapping[str, str] | None = None,
    resolution: int | None = None,
    axis: str | None = None,
) -> Figure:
    """The mean (and the 95% band of a curve) at six times; measured points are shown with the nearest of them.

    ``axis`` is the one that is taken for time: by default that called t or time.
    """
    frames = _Frames(optimizer, Names.of(optimizer, value, units), resolution, axis, _STRIP)
    figure = new_figure(12.6, 7.4)
    panels = panels_of(figure, 2, 3, _STRIP)
    for number, axes in enumerate(panels):
        frames.draw(axes, number)
    frames.bar(figure, panels)
    canvas.head(figure, frames.said, typeset(optimizer, figure.get_figwidth()))
    canvas.legend_below(figure, *panels)
    return figure


def film(
    optimizer: Optimizer,
    path: str | PathLike[str],
    *,
    value: str | None = None,
    units: Mapping[str, str] | None = None,
    resolution: int | None = None,
    axis: str | None = None,
) -> None:
    """Write the same as an animated GIF of thirty pictures."""
    from PIL import Image

    frames = _Frames(optimizer, Names.of(optimizer, value, units), resolution, axis, _FILM)
    images = []
    for number in range(_FILM):
        figure: Any = new_figure(6.6, 5.4)
        axes = figure.subplots()
        frames.draw(axes, number)
        frames.bar(figure, [axes])
        canvas.head(figure, frames.said, typeset(optimizer, figure.get_figwidth()))
        figure.canvas.draw()
        images.append(Image.fromarray(np.asarray(figure.canvas.buffer_rgba())).convert("RGB"))
    images[0].save(
        Path(path), format="GIF", save_all=True, append_images=images[1:], duration=_MILLISECONDS, loop=0
    )


class _Frames:
    """The field at even times, on one scale."""

    def __init__(
        self, optimizer: Optimizer, names: Names, resolution: int | None, axis: str | None, n: int
    ) -> None:
        check_matplotlib()
        space = optimizer.space
        self._axis = _checked(space.names, time_axis(space), axis)
        self._optimizer, self._names, best = optimizer, names, best_of(optimizer)
        self._best = best
        self.times = Section(space, (self._axis,), best.x, n).grids[0]
        # the best point is on its picture
        self.times[self._nearest(best.x[self._axis])] = best.x[self._axis]
        base = section_through(optimizer, best.x, resolution or 41, without=self._axis)
        self.sections = [
            Section(space, base.axes, _at(best.x, self._axis, t), base.resolution) for t in self.times
        ]
        self._found = [predict(optimizer, section.points) for section in self.sections]
        self._norm = readable_norm(np.concatenate([found.mean for found in self._found]))
        others = [i for i in range(space.dim) if i != self._axis and i not in base.axes]
        fixed = ", ".join(f"{space.names[i]} = {best.x[i]:.4g}" for i in others)
        self.said = f"Through the best point: {fixed}." if fixed else ""

    @property
    def _is_map(self) -> bool:
        return len(self.sections[0].axes) == 2

    def draw(self, axes: Axes, number: int) -> None:
        section, (mean, std) = self.sections[number], self._found[number]
        if self._is_map:
            axes.pcolormesh(
                *section.grids,
                section.shaped(mean),
                norm=self._norm,
                cmap="viridis",
                shading="gouraud",
                rasterized=True,
            )
            first, second = section.axes
            axes.set_xlabel(self._names.axis(first))
            axes.set_ylabel(self._names.axis(second))
        else:
            canvas.draw_band(axes, section, mean, std, self._names)
            axes.set_ylim(*self._limits())
        draw_walls(axes, section, self._optimizer)
        self._mark(axes, section, number)
        unit = self._names.units.get(self._names.space.names[self._axis])
        name = self._names.space.names[self._axis]
        at = f"{name} = {self.times[number]:.4g}{' ' + unit if unit else ''}"
        axes.set_title(canvas.plain(at), fontsize="medium")

    def bar(self, figure: Any, panels: list[Axes]) -> None:
        """One colour bar for all maps."""
        if self._is_map:
            canvas.draw_bar(figure, panels, self._norm, "viridis", self._names.of_field("mean"))

    def _limits(self) -> tuple[float, float]:
        every = np.concatenate(
            [f.mean + side * canvas.NORMAL_95 * f.std for f in self._found for side in (-1, 1)]
        )
        return canvas.strip([*np.quantile(every, [0.02, 0.98]), *self._optimizer.data.values])

    def _mark(self, axes: Axes, section: Section, number: int) -> None:
        """Points measured at about this time, if they lie on the section in all else."""
        data, near = self._optimizer.data, self._near(number)
        if self._optimizer.space.dim == len(section.axes) + 1 and near.any():
            x = data.points[near][:, section.axes]
            across = x[:, 1] if self._is_map else data.values[near]
            axes.plot(
                x[:, 0],
                across,
                "o",
                mfc="white",
                mec="black",
                ms=5.5,
                clip_on=False,
                zorder=4,
                label="measured at about that time",
            )
        if number == self._nearest(self._best.x[self._axis]):
            where = self._best.x[list(section.axes)]
            axes.plot(
                [where[0]], [where[1] if self._is_map else self._best.mean], label="best", **canvas.BEST
            )

    def _near(self, number: int) -> ndarray:
        times = self._optimizer.data.points[:, self._axis]
        return np.array([self._nearest(time) == number for time in times], dtype=bool)

    def _nearest(self, time: float) -> int:
        return int(np.argmin(np.abs(self.times - time)))


def _at(x: Float[ndarray, " d"], axis: int, value: float) -> Float[ndarray, " d"]:
    moved = x.copy()
    moved[axis] = value
    return moved


def _checked(names: tuple[str, ...], found: int | None, axis: str | None) -> int:
    if axis is not None and axis not in names:
        raise ValueError(f"plots.time: axis must be one of {', '.join(names)}, got {axis!r:.60}")
    if len(names) < 2:
        raise NothingToDraw("plots.time: there is one parameter; the picture of the field shows it")
    if axis is None and found is None:
        raise NothingToDraw("plots.time: no parameter is called t or time; axis= names the one to go along")
    return names.index(axis) if axis is not None else int(found or 0)
