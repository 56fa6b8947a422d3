"""Where the equation is missed: the map of N[mean] - g, as it is believed and if the equation is nearly true."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from pinnbo.ensemble.hypotheses import NEARLY_TRUE
from pinnbo.figures import BLUE, GREY, check_matplotlib, new_figure, panels_of
from pinnbo.optimizer import Optimizer
from pinnbo.physics.functionals import Functionals
from pinnbo.plots import canvas
from pinnbo.plots.canvas import Names
from pinnbo.plots.errors import NothingToDraw
from pinnbo.plots.field import best_of
from pinnbo.plots.known import draw_walls, typeset
from pinnbo.plots.section import Section, predict, section_through

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Mean = Callable[[Float[ndarray, "n d"]], Float[ndarray, " n"]]

# values of the mean for a picture, and what that may come to in grid points along an axis
_MOST_VALUES = 8_000
_RESOLUTIONS = {1: (61, 181), 2: (9, 33)}
_MOST = 6  # equations that a picture can show
_TITLE = 52  # letters above a panel
_FAINT = 0.01  # a share of the terms below which an equation is met


class _Panel(NamedTuple):
    title: str
    section: Section
    share: ndarray  # of the terms, on the grid of the section


def residual(
    optimizer: Optimizer,
    *,
    value: str | None = None,
    units: Mapping[str, str] | None = None,
    resolution: int | None = None,
) -> Figure:
    """By how much the mean misses each stated equation, as a share of the size of its terms.

    Conditions, which hold at points of their own only, are left out.
    """
    _check(optimizer, "residual")
    means: list[Mean] = [_mean_of(optimizer, name) for name in optimizer.fields]
    return _picture(optimizer, means, Names.of(optimizer, value, units), resolution, "is missed by")


def misfit(
    optimizer: Optimizer,
    *,
    value: str | None = None,
    units: Mapping[str, str] | None = None,
    resolution: int | None = None,
) -> Figure:
    """Where and by how much each equation is missed if it is only nearly true: what seems to be lacking in it."""
    _check(optimizer, "misfit")
    shares = optimizer.diagnostics().get("hypotheses") or {}
    try:
        mixture = optimizer.posterior(NEARLY_TRUE)
    except (TypeError, ValueError):
        raise NothingToDraw(
            "plots.misfit: whether the equation is nearly true has not been compared yet, or cannot be by this method"
        ) from None
    space = optimizer.space

    def of(number: int) -> Mean:
        if number == 0:
            return lambda points: mixture.predict(space.scale(points))[0]
        return lambda points: mixture.predict_of(
            lambda coordinates: Functionals.at(coordinates.of(space.scale(points)), number)
        )[0]

    means = [of(number) for number in range(len(optimizer.fields))]
    how_likely = (
        f"If the equation is nearly true, which has a probability of {shares.get(NEARLY_TRUE, 0.0):.0%}"
    )
    return _picture(
        optimizer, means, Names.of(optimizer, value, units), resolution, "lacks", f"{how_likely}. "
    )


def _check(optimizer: Optimizer, kind: str) -> None:
    check_matplotlib()
    if all(pde.points is not None or pde.reflections for pde in optimizer.physics):
        what = (
            "only symmetries and conditions at points of their own are stated"
            if optimizer.physics
            else "no equation is stated"
        )
        raise NothingToDraw(f"plots.{kind}: {what}, so there is no residual over the box")


def _mean_of(optimizer: Optimizer, name: str) -> Mean:
    return lambda points: predict(optimizer, points, name).mean


def _picture(
    optimizer: Optimizer,
    means: list[Mean],
    names: Names,
    resolution: int | None,
    verb: str,
    said: str = "",
) -> Figure:
    try:
        panels = _panels(optimizer, means, resolution, verb)
    except NothingToDraw:
        raise
    except ValueError as error:  # no model ties a field to what is measured
        raise NothingToDraw(f"plots.residual: {str(error).removeprefix('predict: ')}") from None
    shown, dim = panels[:_MOST], optimizer.space.dim
    columns = min(3, len(shown))
    rows = -(-len(shown) // columns)
    figure = new_figure((7.4 if dim == 1 else 5.6) * columns, (4.0 if dim == 1 else 4.8) * rows + 0.4)
    used = panels_of(figure, rows, columns, len(shown))
    for axes, panel in zip(used, shown, strict=True):
        _draw(axes, panel, names)
        axes.set_title(panel.title, fontsize="medium")
        draw_walls(axes, panel.section, optimizer)
        if dim == 2:
            canvas.mark_measured(axes, panel.section, optimizer)
    fixed = shown[0].section.fixed
    said += f"Through the best point: {fixed}. " if fixed else ""
    if len(panels) > _MOST:
        said += f"{len(panels) - _MOST} more equations are not shown."
    canvas.head(figure, said, typeset(optimizer, figure.get_figwidth()))
    canvas.legend_below(figure, *used)
    return figure


def _panels(optimizer: Optimizer, means: list[Mean], resolution: int | None, verb: str) -> list[_Panel]:
    from pinnbo.physics.misfit import Differences

    best, space = best_of(optimizer), optimizer.space
    coefficients = {
        name: said["mean"] for name, said in (optimizer.diagnostics().get("unknowns") or {}).items()
    }
    panels = []
    for pde in optimizer.physics:
        if pde.points is not None or pde.reflections:
            continue
        differences = Differences(pde, space, means, coefficients)
        away = differences.reach
        through = space.unscale(np.clip(space.scale(best.x), -1 + away, 1 - away))
        rough = section_through(optimizer, through, resolution)
        fine = resolution or _fineness(len(rough.axes), differences.n_values)
        section = Section(space, rough.axes, through, fine, margin=away / 2)
        found = differences.misfit(section.points)
        share = found.residual / (found.size or 1.0)
        for number, column in enumerate(share.T):
            part = f", equation {number + 1}" if share.shape[1] > 1 else ""
            size = float(np.sqrt(np.mean(column**2)))
            title = textwrap.fill(f"{canvas.plain(pde.name)}{part}: {verb} {size:.1%} of its terms", _TITLE)
            panels.append(_Panel(title, section, section.shaped(column)))
    return panels


def _fineness(n_axes: int, n_values: int) -> int:
    return int(np.clip((_MOST_VALUES / n_values) ** (1 / n_axes), *_RESOLUTIONS[n_axes]))


def _draw(axes: Axes, panel: _Panel, names: Names) -> None:
    label = "(N[mean] - g) / size of its terms"
    section, share = panel.section, panel.share
    # what is met to a hundredth is shown as met, and not as a picture of rounding errors
    most = max(float(np.max(np.abs(share))), _FAINT)
    if len(section.axes) == 1:
        axes.plot(section.grids[0], share, color=BLUE)
        axes.axhline(0.0, color=GREY, lw=1.0, ls="--")
        axes.set_xlabel(names.axis(section.axes[0]))
        axes.set_ylabel(label)
        axes.set_ylim(-1.1 * most, 1.1 * most)
        axes.grid(alpha=0.25)
        return
    from matplotlib.colors import Normalize

    # symmetric, so that the middle colour means that the equation holds
    canvas.draw_map(
        axes, section, share, names, label, norm=Normalize(-most, most), cmap="PuOr", contours=False
    )
