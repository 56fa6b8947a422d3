"""Why this point is next: what a measurement is expected to gain, everywhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from pinnbo.figures import BLUE, check_matplotlib, new_figure
from pinnbo.optimizer import Optimizer
from pinnbo.plots import canvas
from pinnbo.plots.canvas import Names
from pinnbo.plots.field import best_of
from pinnbo.plots.known import draw_walls
from pinnbo.plots.section import Section, section_through
from pinnbo.replay import next_points
from pinnbo.studies.stopping import expected_improvement, outlook

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_NOTHING = 1e-3  # of the largest gain
_NEARLY = 0.9  # of it: as good as the largest, which is found on a grid


def reason(
    optimizer: Optimizer,
    *,
    value: str | None = None,
    units: Mapping[str, str] | None = None,
    resolution: int | None = None,
) -> Figure:
    """The expected gain of a measurement over the box, with the next point and the runner-up.

    The runner-up is the highest peak of the gain besides the one that the next point belongs to. A point may also be
    chosen for what it teaches; its gain then is not the largest, and the title says both.
    """
    from matplotlib.colors import Normalize

    check_matplotlib()
    best, now = best_of(optimizer), outlook(optimizer)
    assert now is not None
    names = Names.of(optimizer, value, units)
    (following,) = next_points(optimizer)
    section = section_through(optimizer, following, resolution)
    gain = expected_improvement(optimizer, section.points, best)
    shaped = section.shaped(gain)
    other = _runner_up(shaped, _nearest(section, following))
    (here,) = expected_improvement(optimizer, following[None], best)
    most = max(float(np.max(gain)), float(here), now.expected_improvement)
    # a plane where nothing is to be gained is dark, and not a picture of rounding errors
    top = max(float(np.max(gain)), _NOTHING * most) or 1.0
    counts = other is not None and gain[other] > _NOTHING * most
    runner_up = section.points[other] if counts else None
    is_map = len(section.axes) == 2
    figure = new_figure(6.4, 5.6) if is_map else new_figure(7.4, 4.4)
    axes = figure.subplots()
    if is_map:
        norm = Normalize(0.0, top)
        label = f"expected gain in {names.field}"
        canvas.draw_map(axes, section, shaped, names, label, norm=norm, contours=False)
        if optimizer.space.dim == 2:
            canvas.mark_measured(axes, section, optimizer)
            canvas.mark(axes, section, optimizer.data.infeasible, "impossible", canvas.INFEASIBLE)
            canvas.mark(axes, section, optimizer.pending, "under way", canvas.PENDING)
    else:
        axes.plot(section.grids[0], shaped, color=BLUE, label="expected gain")
        axes.set_ylim(0.0, 1.1 * top)
        axes.set_xlabel(names.axis(0))
        axes.set_ylabel(f"expected gain in {names.field}")
        for points, label, look in (
            (
                optimizer.data.points,
                "measured",
                {"marker": "o", "ls": "", "ms": 5, "mfc": "white", "mec": "black"},
            ),
            (optimizer.data.infeasible, "impossible", canvas.INFEASIBLE),
            (optimizer.pending, "under way", canvas.PENDING),
        ):
            canvas.mark(axes, section, points, label, {**look, "clip_on": False})
    draw_walls(axes, section, optimizer)
    if runner_up is not None:
        canvas.mark(axes, section, runner_up[None], "runner-up", canvas.RUNNER_UP)
    canvas.mark(axes, section, following[None], "next", canvas.NEXT)
    axes.set_title(_in_words(here, most, names, len(optimizer.pending)), fontsize="medium")
    if optimizer.space.dim > 2:
        canvas.head(figure, f"On a plane through the next point: {section.fixed}.")
    canvas.legend_below(figure, axes)
    return figure


def _in_words(here: float, most: float, names: Names, under_way: int) -> str:
    unit = canvas.plain(names.unit)
    if here >= _NEARLY * most:
        return f"Next point: the largest expected gain, {here:.3g}{unit}"
    # a rule of the method saw more in it than the gain; the map is that of the measurements alone
    why = "as if points under way were measured" if under_way else "for what it teaches"
    own = f"{here:.3g}{unit}" if here > _NOTHING * most else "next to none"
    return f"Next point: chosen {why},\nexpected gain {own}, largest in the box {most:.3g}{unit}"


def _nearest(section: Section, x: Float[ndarray, " d"]) -> tuple[int, ...]:
    """The node of the grid at a point, rows before columns."""
    places = [
        int(np.argmin(np.abs(grid - x[axis]))) for axis, grid in zip(section.axes, section.grids, strict=True)
    ]
    return tuple(reversed(places))


def _runner_up(gain: Float[ndarray, "*grid"], start: tuple[int, ...]) -> int | None:
    """The highest peak of a grid, as an index of the flat array, besides that whose slope the start lies on."""
    own = _top(gain, start)
    peak = np.ones(gain.shape, dtype=bool)
    for axis in range(gain.ndim):
        padded = np.pad(
            gain, [(int(k == axis), int(k == axis)) for k in range(gain.ndim)], constant_values=-np.inf
        )
        before, after = (np.take(padded, np.arange(gain.shape[axis]) + shift, axis) for shift in (0, 2))
        peak &= (gain > before) & (gain >= after)
    peak[own] = False
    peaks = np.flatnonzero(peak)
    return int(peaks[np.argmax(gain.ravel()[peaks])]) if len(peaks) else None


def _top(gain: Float[ndarray, "*grid"], at: tuple[int, ...]) -> tuple[int, ...]:
    """Where one arrives by going up from node to node."""
    while True:
        around = tuple(slice(max(i - 1, 0), i + 2) for i in at)
        step = np.unravel_index(int(np.argmax(gain[around])), gain[around].shape)
        there = tuple(int(s.start + k) for s, k in zip(around, step, strict=True))
        if gain[there] <= gain[at]:
            return at
        at = there
