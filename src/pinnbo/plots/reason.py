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
from pinnbo.plots.section import section_through
from pinnbo.replay import next_points
from pinnbo.studies.stopping import expected_improvement, outlook

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_NOTHING = 1e-3  # of the largest gain


def reason(
    optimizer: Optimizer,
    *,
    value: str = "f",
    units: Mapping[str, str] | None = None,
    resolution: int | None = None,
) -> Figure:
    """The expected gain of a measurement over the box, with the next point and the runner-up.

    The runner-up is the highest peak of the gain away from the next point. A point may also be chosen for what it
    teaches; its gain then is not the largest, and the title says both.
    """
    from matplotlib.colors import Normalize

    check_matplotlib()
    best, now = best_of(optimizer), outlook(optimizer)
    assert now is not None
    names = Names(optimizer.space, value, units or {})
    (following,) = next_points(optimizer)
    section = section_through(optimizer, following, resolution)
    gain = expected_improvement(optimizer, section.points, best)
    shaped, other = section.shaped(gain), _runner_up(section.shaped(gain))
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
        canvas.draw_map(axes, section, shaped, names, f"expected gain in {names.field}", norm=norm)
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
    if runner_up is not None:
        canvas.mark(axes, section, runner_up[None], "runner-up", canvas.RUNNER_UP)
    canvas.mark(axes, section, following[None], "next", canvas.NEXT)
    said = (
        f"expected gain {here:.3g}" if here > _NOTHING * most else "chosen for what it teaches, not for gain"
    )
    axes.set_title(f"Next point: {said}\nlargest expected gain in the box: {most:.3g}", fontsize="medium")
    if optimizer.space.dim > 2:
        canvas.note(figure, f"On a plane through the next point: {section.fixed}.")
    canvas.legend_below(figure, axes)
    return figure


def _runner_up(gain: Float[ndarray, "*grid"]) -> int | None:
    """The second highest peak of a grid, as an index of the flat array."""
    peak = np.ones(gain.shape, dtype=bool)
    for axis in range(gain.ndim):
        padded = np.pad(
            gain, [(int(k == axis), int(k == axis)) for k in range(gain.ndim)], constant_values=-np.inf
        )
        before, after = (np.take(padded, np.arange(gain.shape[axis]) + shift, axis) for shift in (0, 2))
        peak &= (gain > before) & (gain >= after)
    peaks = np.flatnonzero(peak)
    order = peaks[np.argsort(-gain.ravel()[peaks], kind="stable")]
    return int(order[1]) if len(order) > 1 else None
