"""What all pictures have in common: names and units, markers, maps with their colour bars, curves."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from pinnbo.figures import BLUE, GREY, PALETTE, VERMILLION, norm_ticks, readable_norm
from pinnbo.optimizer import Optimizer
from pinnbo.plots.known import draw_domain, draw_walls
from pinnbo.plots.section import Section
from pinnbo.space import Space

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Normalize

NORMAL_95 = 1.96
# beyond that lines and their labels hide the map
_MOST_CONTOURS = 30

_COMMON: dict[str, Any] = {"ls": "", "clip_on": False}
# a dark shape with a light edge, or the other way round, is seen on any colour of a map and in the legend
BEST: dict[str, Any] = {
    **_COMMON,
    "marker": "*",
    "ms": 14,
    "mfc": VERMILLION,
    "mec": "white",
    "mew": 1.0,
    "zorder": 7,
}
OPTIMUM: dict[str, Any] = {**BEST, "mfc": "white", "mec": "black"}
NEXT: dict[str, Any] = {
    **_COMMON,
    "marker": "D",
    "ms": 8,
    "mfc": PALETTE[4],
    "mec": "black",
    "mew": 1.2,
    "zorder": 8,
}
RUNNER_UP: dict[str, Any] = {**NEXT, "mfc": "white", "ms": 7}
PENDING: dict[str, Any] = {
    **_COMMON,
    "marker": "s",
    "ms": 7,
    "mfc": PALETTE[5],
    "mec": "black",
    "mew": 1.0,
    "zorder": 6,
}
INFEASIBLE: dict[str, Any] = {
    **_COMMON,
    "marker": "X",
    "ms": 9,
    "mfc": "black",
    "mec": "white",
    "mew": 1.0,
    "zorder": 5,
}


@dataclass(frozen=True)
class Names:
    """What the measured quantity is called, and the units of parameters and of the value (under its own name).

    ``others`` are further names that may have a unit: those of other fields and of coefficients.
    """

    space: Space
    value: str = "f"
    units: Mapping[str, str] = field(default_factory=dict)
    others: tuple[str, ...] = ()

    @classmethod
    def of(
        cls, optimizer: Optimizer, value: str | None = None, units: Mapping[str, str] | None = None
    ) -> Names:
        """For an optimizer; the measured quantity is called as in the equations unless said otherwise."""
        # constants and other names of a text may have units, too
        written = [str(pde) for pde in optimizer.physics if pde.equation is not None]
        named = [name for text in written for name in re.findall(r"[^\W\d]\w*", text)]
        others = (*optimizer.fields, *(unknown.name for unknown in optimizer.unknowns), *named)
        return cls(optimizer.space, value or measured(optimizer), units or {}, others)

    def __post_init__(self) -> None:
        if not isinstance(self.value, str):
            raise TypeError(f"value: expected the name of the measured quantity, got {self.value!r:.60}")
        if not isinstance(self.units, Mapping) or not all(isinstance(u, str) for u in self.units.values()):
            raise TypeError(f"units: expected texts by name such as {{'x': 'm'}}, got {self.units!r:.60}")
        known = list(dict.fromkeys([*self.space.names, self.value, *self.others]))
        unknown = sorted(set(self.units) - set(known))
        if unknown:
            raise ValueError(f"plots: units are expected for {known}, got {unknown[0]!r}")

    def axis(self, i: int) -> str:
        """Of a parameter, with its unit."""
        return self.with_unit(self.space.names[i])

    @property
    def field(self) -> str:
        """Of the measured quantity, with its unit."""
        return self.with_unit(self.value)

    @property
    def unit(self) -> str:
        """Of the measured quantity, with a blank before it."""
        return f" {self.units[self.value]}" if self.value in self.units else ""

    def called(self, value: str) -> Names:
        """The same for another field."""
        return replace(self, value=value, others=(*self.others, self.value))

    def with_unit(self, name: str) -> str:
        """A name with its unit, as Matplotlib shows it."""
        return plain(self.text(name))

    def text(self, name: str) -> str:
        """A name with its unit."""
        return f"{name} [{self.units[name]}]" if name in self.units else name

    def of_field(self, what: str) -> str:
        """Such as the mean of the measured quantity."""
        return f"{what} of {self.field}"


def measured(optimizer: Optimizer) -> str:
    """What the equations call the measured field; an operator in Python does not say it where there is only one."""
    written = [pde.equation.fields for pde in optimizer.physics if pde.equation is not None]
    if len(optimizer.fields) == 1 and written:
        return written[0][0]
    return optimizer.fields[0]


def plain(text: str) -> str:
    """Text that Matplotlib shows as it is."""
    return text.replace("$", r"\$")


def draw_map(axes: Axes, section: Section, values: ndarray, names: Names, label: str, **look: Any) -> None:
    """A map of two parameters with its colour bar, empty outside the space.

    ``look`` may give ``norm``, ``extend`` and ``cmap``.
    """
    inside = section.inside
    norm: Normalize = look.get("norm") or readable_norm(values[inside])
    grid = (*section.grids, values)
    mesh = axes.pcolormesh(
        *grid, norm=norm, cmap=look.get("cmap", "viridis"), shading="gouraud", rasterized=True
    )
    bar = draw_bar(axes.figure, [axes], norm, mesh.get_cmap(), label, extend=look.get("extend", "neither"))
    ticks = [float(t) for t in bar.get_ticks()]
    levels = [t for t in ticks if values.min() < t < values.max()]
    if levels and look.get("contours", True):
        lines = axes.contour(*grid, levels=levels, colors="white", linewidths=0.6, alpha=0.7)
        if sum(map(len, lines.allsegs)) <= _MOST_CONTOURS:
            axes.clabel(lines, fontsize=7, fmt="%g")
        else:
            lines.remove()
    draw_domain(axes, section)
    first, second = section.axes
    axes.set_xlabel(names.axis(first))
    axes.set_ylabel(names.axis(second))


def draw_bar(figure: Any, panels: Sequence[Axes], norm: Normalize, cmap: Any, label: str, **look: Any) -> Any:
    """A colour bar beside panels, with round numbers."""
    from matplotlib.cm import ScalarMappable

    ticks = norm_ticks(norm)
    bar = figure.colorbar(
        ScalarMappable(norm, cmap), ax=list(panels), extendfrac=0.03, label=label, ticks=ticks, **look
    )
    bar.ax.set_yticks(ticks, [f"{t:g}" for t in ticks])
    bar.ax.minorticks_off()
    return bar


def draw_band(axes: Axes, section: Section, mean: ndarray, std: ndarray, names: Names) -> None:
    """A curve of one parameter with its 95% band."""
    mean = np.where(section.inside, mean, np.nan)
    (at,), half = section.grids, NORMAL_95 * std
    axes.fill_between(at, mean - half, mean + half, color=BLUE, alpha=0.25, lw=0, label="95% interval")
    axes.plot(at, mean, color=BLUE, label="mean")
    axes.set_xlabel(names.axis(section.axes[0]))
    axes.set_ylabel(names.field)
    axes.margins(x=0.02)
    draw_domain(axes, section)


def mark(
    axes: Axes, section: Section, points: Float[ndarray, "n d"], label: str, look: dict[str, Any]
) -> None:
    """Points of a map; on a curve they stand on its lower edge."""
    if len(points) == 0:
        return
    if len(section.axes) == 2:
        axes.plot(*points[:, section.axes].T, label=label, **look)
    else:
        bottom = np.zeros(len(points))
        axes.plot(
            points[:, section.axes[0]], bottom, transform=axes.get_xaxis_transform(), label=label, **look
        )


def mark_measured(axes: Axes, section: Section, optimizer: Optimizer) -> None:
    """Measured points, later ones darker; whole markers on the edge of the box."""
    is_map = len(section.axes) == 2
    # readings of other sensors have places on a map, and no value on the curve of f
    data = optimizer.data if is_map else optimizer.data.direct
    if len(data.values) == 0:
        return
    from matplotlib.patheffects import withStroke

    order = np.arange(len(data.values))
    axes.scatter(
        data.points[:, section.axes[0]],
        data.points[:, section.axes[1]] if is_map else data.values,
        c=order,
        cmap="Greys",
        vmin=0,
        vmax=max(1, len(order) - 1),
        edgecolors="black",
        linewidths=0.8,
        s=24,
        zorder=4,
        clip_on=False,
        # black on a dark map needs a light ring
        path_effects=[withStroke(linewidth=2.4, foreground="white")],
        label="measured (first white, last black)" if len(order) > 1 else "measured",
    )


def mark_others(axes: Axes, section: Section, optimizer: Optimizer, following: Float[ndarray, "k d"]) -> None:
    """Walls with conditions, points that were impossible, that are under way, and that come next."""
    draw_walls(axes, section, optimizer)
    mark(axes, section, optimizer.data.infeasible, "impossible", INFEASIBLE)
    mark(axes, section, optimizer.pending, "under way", PENDING)
    mark(axes, section, following, "next", NEXT)


def legend_below(figure: Any, *panels: Axes) -> None:
    """One legend for all panels, each entry once, below them."""
    entries: dict[str, Any] = {}
    for axes in panels:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    if entries:
        columns = min(len(entries), max(1, int(figure.get_figwidth() // 2.2)))
        figure.legend(entries.values(), entries, loc="outside lower center", ncols=columns, frameon=False)


def head(figure: Any, text: str = "", equations: Sequence[str] = ()) -> None:
    """Lines above the panels' titles: typeset equations, and a text in small grey print, wrapped to the figure."""
    width = max(30, int(figure.get_figwidth() * 13))
    lines = [*equations, *textwrap.wrap(plain(text), width)]
    if lines:
        figure.suptitle("\n".join(lines), fontsize="medium" if equations else "small", color=GREY)


def whole_numbers(axes: Axes) -> None:
    """Measurements are counted in whole numbers."""
    from matplotlib.ticker import MaxNLocator

    axes.xaxis.set_major_locator(MaxNLocator(integer=True))


def strip(values: Sequence[float]) -> tuple[float, float]:
    """Limits that leave a tenth of room."""
    low, high = float(np.min(values)), float(np.max(values))
    margin = 0.1 * (high - low) or 0.1 * abs(high) or 1.0
    return low - margin, high + margin


def band_limits(mean: Float[ndarray, " n"], std: Float[ndarray, " m"]) -> tuple[float, float]:
    """Limits that show the curves, and the band as far as the curves can still be told apart."""
    low, high = strip(mean.tolist())
    room = min(NORMAL_95 * float(np.max(std)), high - low)
    return low - room, high + room
