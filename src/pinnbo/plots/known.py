"""What is known before anything is measured: the equation, walls with conditions, and the domain inside the box."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from pinnbo.optimizer import Optimizer
from pinnbo.pde import PDE
from pinnbo.plots.section import Section

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SAME = 1e-6  # of an axis
_FINE = 201  # grid points along an axis for the border of the domain
_MOST_LINES = 3  # of equations above a picture
_SIZE = 11  # points
_LABEL = "known (condition)"


def draw_domain(axes: Axes, section: Section) -> None:
    """Hatch what does not belong to the domain, and draw its border."""
    fine = Section(section.space, section.axes, section.through, _FINE)
    belongs = fine.inside.astype(float)
    if belongs.all():
        return
    if len(section.axes) == 1:
        grid = fine.grids[0]
        axes.fill_between(
            grid,
            0.0,
            1.0,
            where=belongs == 0,
            transform=axes.get_xaxis_transform(),
            facecolor="white",
            edgecolor="#8c8c8c",
            hatch="///",
            lw=0.0,
            zorder=3,
            label="outside the domain",
        )
        return
    axes.contourf(*fine.grids, belongs, levels=[-0.5, 0.5], colors="white", hatches=["///"], zorder=2)
    axes.contour(*fine.grids, belongs, levels=[0.5], colors="black", linewidths=1.4, zorder=3)


def draw_walls(axes: Axes, section: Section, optimizer: Optimizer) -> None:
    """Where conditions hold: lines along walls, points otherwise; black and white, to be seen on any colour."""
    for line in wall_lines(optimizer, section):
        if len(section.axes) == 1:
            for x in line[:, 0]:
                _railway(axes, [x, x], [0.0, 1.0], transform=axes.get_xaxis_transform(), lw=1.8)
        elif len(line) == 2:
            _railway(axes, *line.T)
        else:
            axes.plot(
                *line.T,
                ls="",
                marker="o",
                ms=3.5,
                mfc="black",
                mec="white",
                mew=0.6,
                zorder=3,
                label=_LABEL,
            )


def wall_lines(optimizer: Optimizer, section: Section) -> list[Float[ndarray, "m a"]]:
    """What a line or a plane shows of every condition: two ends of a wall, or three and more points."""
    conditions = [pde.points for pde in optimizer.physics if pde.points is not None]
    return [line for points in conditions for line in _lines(points, section)]


def _railway(axes: Axes, x: Any, y: Any, **look: Any) -> None:
    dashes = {"color": "black", "gapcolor": "white", "ls": (0, (2.0, 2.0)), "lw": 3.0}
    axes.plot(x, y, clip_on=False, zorder=3, label=_LABEL, **{**dashes, **look})


def _lines(points: Float[ndarray, "n d"], section: Section) -> list[Float[ndarray, "m a"]]:
    """What a line or a plane of the box shows of a set of points: the ends of a wall, or the points themselves.

    A set that is constant along some axes is a wall; the plane meets it if it has these constants, too.
    """
    space, axes = section.space, list(section.axes)
    width = space.upper - space.lower
    constant = np.ptp(points, axis=0) <= _SAME * width
    hidden = [i for i in range(space.dim) if constant[i] and i not in axes]
    if any(abs(points[0, i] - section.through[i]) > _SAME * width[i] for i in hidden):
        return []
    shown = points[:, axes]
    if len(axes) == 1:
        return [np.unique(shown, axis=0)] if constant[axes[0]] or space.dim == 1 else []
    if not constant[axes].any():
        return [shown if len(shown) > 2 else shown.repeat(3, axis=0)] if space.dim == 2 else []
    low, high = shown.min(axis=0), shown.max(axis=0)
    # a corner is a point, which two ends would make a line
    return [low[None].repeat(3, axis=0)] if constant[axes].all() else [np.stack([low, high])]


# ---------------------------------------------------------------- the equation


def typeset(optimizer: Optimizer, inches: float) -> list[str]:
    """The equations that were stated as text, as lines that Matplotlib typesets; conditions are left out."""
    stated = [pde for pde in optimizer.physics if pde.equation is not None and pde.points is None]
    lines = [line for pde in stated[:_MOST_LINES] for line in _typeset(pde, inches)]
    more = len(stated) - _MOST_LINES
    return lines + ([f"and {more} more equations"] if more > 0 else [])


def _typeset(pde: PDE, inches: float) -> list[str]:
    """As mathematics where Matplotlib can and the figure is wide enough, in the notation of the text otherwise."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.mathtext import MathTextParser

    assert pde.equation is not None
    formula = f"${pde.equation.latex()}$".replace(r"\frac", r"\dfrac")
    try:
        width = MathTextParser("path").parse(formula, dpi=72, prop=FontProperties(size=_SIZE))[0]
    except ValueError:  # such as cases, which it does not know
        width = np.inf
    if width <= 72 * inches:
        return [formula]
    text = "; ".join(str(pde).splitlines()).replace("$", r"\$")
    return textwrap.wrap(text, max(30, int(inches * 12)))
