"""Runs on a problem whose truth is known: what was believed beside what is true, and how the regret fell."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from pinnbo.figures import BLUE, GREY, PALETTE, VERMILLION, check_matplotlib, new_figure
from pinnbo.optimizer import Optimizer
from pinnbo.plots.canvas import Names
from pinnbo.plots.field import FieldPicture, best_of
from pinnbo.problems import Problem
from pinnbo.run import Evaluation, Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# what counts as no regret at all on a logarithmic axis, as a share of the range
_LEAST_REGRET = 1e-6


def regret(
    histories: Mapping[str, Sequence[Evaluation] | Sequence[Sequence[Evaluation]]] | Sequence[Evaluation],
    problem: Problem,
) -> Figure:
    """Simple regret against the number of evaluations, as a percentage of the range on a logarithmic axis.

    ``histories`` is the history of one run (``result.history``), or a mapping from a label to one history or
    to several, of which the median is drawn and the band from the lowest to the highest. Regret is that of
    the true values: noise counts neither for nor against.
    """
    check_matplotlib()
    named = histories if isinstance(histories, Mapping) else {"": histories}
    figure = new_figure(6.0, 4.2)
    axes = figure.subplots()
    for number, (label, runs) in enumerate(named.items()):
        _regret_curves(axes, _as_runs(runs), problem, label, PALETTE[number % len(PALETTE)])
    _finish_regret(axes, problem)
    return figure


def study(
    result: Result,
    problem: Problem,
    *,
    value: str | None = None,
    units: Mapping[str, str] | None = None,
    title: str | None = None,
    resolution: int | None = None,
) -> Figure:
    """A run on a problem whose truth is known, in one picture: truth, mean, uncertainty, points and regret.

    Two parameters: four panels (truth, mean, standard deviation, regret). One: two panels (curves, regret).
    More: slices through the best point, and the regret. See `field` for the other arguments.
    """
    check_matplotlib()
    picture = _picture(result.optimizer, problem, value, units)
    dim = problem.space.dim
    if dim == 1:
        figure = new_figure(11.0, 4.4)
        panels = list(figure.subplots(1, 2))
        picture.curve(panels[0], None, resolution)
    elif dim == 2:
        figure = new_figure(10.4, 8.6)
        panels = list(figure.subplots(2, 2).ravel())
        picture.maps(panels[:3], resolution, optimum=problem.x_best)
    else:
        figure = picture.slices(resolution, extra=1)
        panels = [axes for axes in figure.axes if axes.get_label() != "<colorbar>"]
    _study_regret(panels[-1], result, problem)
    if title:
        figure.suptitle(title, fontsize="x-large")
    return figure


def comparison(
    results: Mapping[str, Result],
    problem: Problem,
    *,
    value: str | None = None,
    units: Mapping[str, str] | None = None,
    title: str | None = None,
    resolution: int | None = None,
) -> Figure:
    """Runs of several methods on a problem of two parameters: a row of maps for each, the truth, and the regrets.

    See `study` for one run and for other numbers of parameters.
    """
    check_matplotlib()
    if problem.space.dim != 2 or len(results) < 2:
        raise ValueError(
            f"plots.comparison: expected several runs on two parameters, got {len(results)} on {problem.space.dim}"
        )
    figure = new_figure(14.6, 4.4 * len(results))
    panels = figure.subplots(len(results), 3)
    for row, (label, result) in enumerate(results.items()):
        picture = _picture(result.optimizer, problem, value, units)
        shown = list(panels[row][1:]) if row else list(panels[row])
        optimum = None if row else problem.x_best
        picture.maps(shown, resolution, label, optimum, legend=row == 0)
        if row:
            panels[row][0].set_visible(row == 1)
    for number, (label, result) in enumerate(results.items()):
        _regret_curves(panels[1][0], [result.history], problem, label, PALETTE[number % len(PALETTE)])
    _finish_regret(panels[1][0], problem)
    if title:
        figure.suptitle(title, fontsize="x-large")
    return figure


def _picture(
    optimizer: Optimizer, problem: Problem, value: str | None, units: Mapping[str, str] | None
) -> FieldPicture:
    names = Names.of(optimizer, value, units)
    return FieldPicture(optimizer, best_of(optimizer), names, problem.truth)


def simple_regret(history: Sequence[Evaluation], problem: Problem) -> Float[ndarray, " n"]:
    """The lowest true regret up to each evaluation, as a share of the range.

    An evaluation that gave no value is counted, but nothing is known to have been found there: NaN before the
    first measurement.
    """
    return np.fmin.accumulate(_regrets(history, problem)) if len(history) else np.zeros(0)


def _regrets(history: Sequence[Evaluation], problem: Problem) -> Float[ndarray, " n"]:
    """True regret of every evaluation, as a share of the range."""
    measured = np.array([e.value is not None and bool(np.isfinite(e.value)) for e in history])
    values = np.full(len(history), np.nan)
    if measured.any():
        points = np.array([e.x for e in history])[measured]
        sign = 1.0 if problem.goal == "minimize" else -1.0
        values[measured] = np.maximum(sign * (problem.truth(points) - problem.optimum), 0.0) / problem.range
    return values


def _as_runs(runs: Any) -> list[Sequence[Evaluation]]:
    several = list(runs)
    if not several:
        raise ValueError("plots.regret: expected at least one evaluation, got an empty history")
    return [several] if isinstance(several[0], Evaluation) else several


def _percent(share: ndarray) -> ndarray:
    return 100 * np.maximum(share, _LEAST_REGRET)


def _regret_curves(
    axes: Axes, runs: Iterable[Sequence[Evaluation]], problem: Problem, label: str, colour: str
) -> None:
    curves = [_percent(simple_regret(run, problem)) for run in runs]
    n = min(len(curve) for curve in curves)
    stacked = np.array([curve[:n] for curve in curves])
    t = np.arange(1, n + 1)
    if len(stacked) > 1:
        axes.fill_between(
            t, stacked.min(axis=0), stacked.max(axis=0), step="post", color=colour, alpha=0.15, lw=0
        )
        label = f"{label} (median of {len(stacked)})".strip()
    axes.step(t, np.median(stacked, axis=0), where="post", color=colour, lw=2, label=label or None)


def _study_regret(axes: Axes, result: Result, problem: Problem) -> None:
    history = result.history
    every, best = _regrets(history, problem), simple_regret(history, problem)
    t = np.arange(1, len(history) + 1)
    axes.plot(t, _percent(every), "o", ms=4, mfc="none", mec=GREY, alpha=0.8, label="each evaluation")
    axes.step(t, _percent(best), where="post", color=BLUE, lw=2, label="best so far")
    n_initial = min(result.optimizer.n_initial, len(history))
    if 0 < n_initial < len(history):
        axes.axvspan(0.5, n_initial + 0.5, color="black", alpha=0.06, lw=0, label="initial design")
    _finish_regret(axes, problem)


def _finish_regret(axes: Axes, problem: Problem) -> None:
    from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator

    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:g}"))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    noise = 100 * problem.noise / problem.range
    if noise > 0:
        axes.axhline(noise, color=VERMILLION, ls=":", lw=1.2, label="noise (1 sd)")
    axes.set_xlabel("evaluations")
    axes.set_ylabel("regret [% of range]")
    axes.set_title("Regret of the true values")
    axes.grid(alpha=0.25)
    axes.set_xlim(left=0.5)
    # nothing lies above 100%: room for the legend
    low = 0.7 * float(min(axes.dataLim.ymin, 50.0))
    axes.set_ylim(low, 100 * (100 / low) ** 0.25)
    axes.yaxis.set_major_locator(FixedLocator([10.0**k for k in range(int(np.ceil(np.log10(low))), 3)]))
    axes.legend(loc="upper center", ncols=2, fontsize="small", frameon=False)
