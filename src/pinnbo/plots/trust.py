"""Whether the equation is believed, and whether going on is worth it, against the number of measurements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from pinnbo.figures import BLUE, GREEN, PALETTE, VERMILLION, check_matplotlib, new_figure
from pinnbo.optimizer import Optimizer
from pinnbo.plots import canvas
from pinnbo.plots.canvas import Names
from pinnbo.plots.field import best_of
from pinnbo.replay import HINDSIGHT, Moment, is_quick, replay

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LOOKS = ((BLUE, "-", "o"), (PALETTE[4], "--", "s"), (VERMILLION, ":", "^"), (GREEN, "-.", "v"))
_ORDER = ("exact", "nearly true")  # the others, which deny the equation, come last


def trust(
    optimizer: Optimizer,
    *,
    value: str | None = None,
    units: Mapping[str, str] | None = None,
    moments: Sequence[Moment] | None = None,
) -> Figure:
    """The probabilities of the hypotheses about the equation, and the expected gain of one more measurement.

    ``moments`` are those of `pinnbo.replay`, if they are known. Without an equation there is only the gain.
    """
    check_matplotlib()
    best_of(optimizer)
    names = Names.of(optimizer, value, units)
    moments = replay(optimizer) if moments is None else moments
    stated = any(moment.hypotheses for moment in moments)
    figure = new_figure(7.4, 5.6 if stated else 3.4)
    panels = list(figure.subplots(2 if stated else 1, 1, sharex=True, squeeze=False)[:, 0])
    if stated:
        _hypotheses(panels[0], moments)
    _gain(panels[-1], moments, names)
    canvas.head(figure, "" if is_quick(optimizer) else HINDSIGHT)
    return figure


def _hypotheses(axes: Axes, moments: Sequence[Moment]) -> None:
    known = {name for moment in moments for name in moment.hypotheses}
    ordered = [name for name in _ORDER if name in known] + sorted(known - set(_ORDER))
    for name, (colour, line, marker) in zip(ordered, _LOOKS, strict=False):
        n = [m.n for m in moments if name in m.hypotheses]
        share = [m.hypotheses[name] for m in moments if name in m.hypotheses]
        axes.plot(n, share, color=colour, ls=line, marker=marker, ms=5, lw=1.8, label=name, clip_on=False)
    axes.set_ylim(0.0, 1.0)
    axes.set_ylabel("probability")
    axes.set_title("The equation is ...")
    axes.grid(alpha=0.25)
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False)


def _gain(axes: Axes, moments: Sequence[Moment], names: Names) -> None:
    n = [moment.n for moment in moments]
    gain = np.array([moment.expected_improvement for moment in moments])
    axes.plot(n, gain, color=BLUE, marker="o", ms=4, lw=1.8)
    if len(gain) and np.min(gain) > 0 and np.max(gain) > 30 * np.min(gain):
        axes.set_yscale("log")
    else:
        axes.set_ylim(0.0, 1.1 * float(np.max(gain, initial=0.0)) or 1.0)
    axes.set_xlim(0.5, n[-1] + 0.5)
    canvas.whole_numbers(axes)
    axes.set_xlabel("measurements")
    axes.set_ylabel(f"gain in {names.field}")
    axes.set_title("What one more measurement was expected to gain")
    axes.grid(alpha=0.25)
