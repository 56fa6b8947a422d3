"""The report's pictures: regret by problem, critical differences, temperature maps, the beam."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy import ndarray

from pinnbo.bench import names
from pinnbo.bench.measures import Ranking, Traces, standard_error
from pinnbo.figures import PALETTE, new_figure, norm_ticks, readable_norm

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_DASHES = ("-", "--", ":", "-.")
# what counts as no regret at all on a logarithmic axis, as a share of the range
_LEAST = 1e-6
# room of a label, as a share of the height
_LINE = 0.052
_MARKERS = "osD^vP"


class Style(NamedTuple):
    """How a method is drawn."""

    colour: str
    dash: str
    marker: str


Styles = Mapping[str, Style]


def styles(methods: Sequence[str]) -> Styles:
    """One for every method, the same in all pictures; ours come first."""
    ours = [m for m in methods if m.split(":")[0] in ("auto", "pinn-bo")]
    order = ours + [m for m in methods if m not in ours]
    colours, markers = len(PALETTE), len(_MARKERS)
    return {
        m: Style(PALETTE[i % colours], _DASHES[i // colours % len(_DASHES)], _MARKERS[i % markers])
        for i, m in enumerate(order)
    }


def regret(traces: Traces, problem: str, look: Styles) -> Figure:
    """Mean and standard error of simple regret, and of cumulative regret where all methods still ran."""
    figure = new_figure(12.6, 4.8)
    on_simple, on_sum = figure.subplots(1, 2, width_ratios=[1.25, 1.0])
    methods = traces.methods(problem)
    longest = max(traces.stacked(problem, m, "simple").shape[1] for m in methods)
    ends: dict[str, float] = {}
    for method in methods:
        curves = np.maximum(traces.stacked(problem, method, "simple"), _LEAST)
        ends[method] = _curve(on_simple, 100 * curves, look[method], longest, steps=True)
    on_simple.set(xscale="log", yscale="log", xlim=(1, longest), ylabel="simple regret [% of range]")
    on_simple.set_title(f"{problem}: best true value so far")
    _label(on_simple, ends, look)
    common = traces.common_budget(problem, methods)
    ends = {}
    for method in methods:
        curves = traces.stacked(problem, method, "cumulative")[:, :common]
        ends[method] = _curve(on_sum, curves, look[method], common)
    on_sum.set(xlim=(1, max(2, common)), ylabel="cumulative regret [ranges]")
    on_sum.set_ylim(bottom=0.0)
    on_sum.set_title(f"Sum of all regrets, to n = {common}")
    _label(on_sum, ends, look)
    for axes in (on_simple, on_sum):
        axes.set_xlabel("evaluations")
        axes.grid(alpha=0.25)
    _plain_ticks(on_simple)
    return figure


def critical_differences(ranking: Ranking) -> Figure:
    """Average ranks on an axis; methods that a bar joins do not differ at 5%."""
    order = sorted(ranking.ranks, key=lambda m: ranking.ranks[m])
    figure = new_figure(8.6, 1.4 + 0.3 * len(order))
    axes = figure.subplots()
    half = -(-len(order) // 2)
    highest = len(order)
    bars = _cliques([ranking.ranks[m] for m in order], ranking.critical_difference)
    depth = 0.35 * (len(bars) + 1)
    for number, method in enumerate(order):
        rank, left = ranking.ranks[method], number < half
        level = number if left else len(order) - 1 - number
        y = -depth - 0.6 * (level + 1)
        edge = 0.7 if left else highest + 0.3
        axes.plot([rank, rank, edge], [0.0, y, y], color="#595959", lw=0.9)
        axes.text(
            edge,
            y,
            f"{method} {rank:.2f} " if left else f" {rank:.2f} {method}",
            ha="right" if left else "left",
            va="center",
        )
    for number, (first, last) in enumerate(bars):
        y = -0.35 * (number + 1)
        axes.plot([first - 0.05, last + 0.05], [y, y], color=PALETTE[0], lw=4, solid_capstyle="butt")
    axes.plot([1, 1 + ranking.critical_difference], [0.75, 0.75], color=PALETTE[1], lw=3)
    axes.text(1, 0.95, f"critical difference {ranking.critical_difference:.2f}", color=PALETTE[1])
    axes.plot([1, highest], [0, 0], color="black", lw=1.2)
    for tick in range(1, highest + 1):
        axes.plot([tick, tick], [0, 0.12], color="black", lw=1.2)
        axes.text(tick, 0.2, str(tick), ha="center", fontsize="small")
    axes.set_xlim(-1.2, highest + 2.2)
    axes.set_ylim(-depth - 0.6 * (half + 1), 1.5)
    axes.axis("off")
    axes.set_title(f"Average rank on {len(ranking.problems)} problems (1 is best)", fontsize="medium")
    return figure


def temperatures(traces: Traces, heats: Sequence[str], look: Styles) -> Figure:
    """The temperature of each heat problem, with the best point that each method found with its first seed."""
    figure = new_figure(5.2 * len(heats), 4.9)
    panels = np.atleast_1d(figure.subplots(1, len(heats)))
    handles: dict[str, Artist] = {}
    for axes, name in zip(panels, heats, strict=True):
        problem = names.problem(name, 0)
        sides = [
            np.linspace(a, b, 161) for a, b in zip(problem.space.lower, problem.space.upper, strict=True)
        ]
        grid = np.stack(np.meshgrid(*sides, indexing="xy"), axis=-1).reshape(-1, 2)
        values = problem.truth(grid).reshape(161, 161)
        norm = readable_norm(values)
        mesh = axes.pcolormesh(*sides, values, norm=norm, cmap="viridis", shading="gouraud", rasterized=True)
        ticks = norm_ticks(norm)
        bar = figure.colorbar(mesh, ax=axes, label="T", ticks=ticks)
        bar.ax.set_yticks(ticks, [f"{t:g}" for t in ticks])
        bar.ax.minorticks_off()
        for method in traces.methods(name):
            trace = traces.of(name, method)[0]
            x = trace.points[int(np.argmin(trace.regret))]
            (handles[method],) = axes.plot(
                *x,
                look[method].marker,
                ls="",
                ms=8,
                mfc=look[method].colour,
                mec="white",
                clip_on=False,
                zorder=3,
            )
        (handles["true maximum"],) = axes.plot(
            *problem.x_best, "*", ms=15, mfc="white", mec="black", ls="", clip_on=False, zorder=2
        )
        axes.set(title=name, xlabel="x", ylabel="y")
        axes.set_box_aspect(1)
    figure.legend(
        list(handles.values()),
        list(handles),
        loc="outside lower center",
        ncols=6,
        frameon=False,
        fontsize="small",
    )
    return figure


def beam(traces: Traces, name: str, methods: Sequence[str], look: Styles) -> Figure:
    """The deflection, and where methods measured with their first seed; filled markers are their best points."""
    problem = names.problem(name, 0)
    x = np.linspace(problem.space.lower[0], problem.space.upper[0], 1501)
    figure = new_figure(11.0, 1.6 * len(methods) + 1.2)
    panels = np.atleast_1d(figure.subplots(len(methods), 1, sharex=True))
    for axes, method in zip(panels, methods, strict=True):
        trace = traces.of(name, method)[0]
        colour = look[method].colour
        axes.plot(x, problem.truth(x[:, None]), color="#595959", lw=1)
        at = trace.points[:, 0]
        values = problem.truth(trace.points)
        axes.plot(at, values, "o", ms=4.5, mfc="none", mec=colour)
        best = int(np.argmin(trace.regret))
        axes.plot(at[best], values[best], "o", ms=8, mfc=colour, mec="white")
        axes.plot(*problem.x_best, problem.optimum, "*", ms=12, mfc="white", mec="black", zorder=1)
        axes.set_ylabel("w")
        axes.set_title(f"{method}: {len(at)} evaluations", loc="left", fontsize="medium", color=colour)
    panels[-1].set_xlabel("x")
    return figure


def _curve(axes: Axes, curves: ndarray, style: Style, until: int, steps: bool = False) -> float:
    """Mean and standard error; a thin line goes on where a method has stopped. Returns the last mean."""
    colour, dash, _ = style
    mean, error = curves.mean(axis=0), standard_error(curves)
    n = np.arange(1, len(mean) + 1)
    lowest = np.maximum(
        mean - error, mean / 3.0
    )  # a band that is as wide as the mean would reach for minus infinity
    axes.fill_between(n, lowest, mean + error, color=colour, alpha=0.13, lw=0, step="post" if steps else None)
    axes.plot(n, mean, color=colour, ls=dash, lw=1.8, drawstyle="steps-post" if steps else "default")
    if len(mean) < until:
        axes.plot([len(mean), until], [mean[-1]] * 2, color=colour, lw=0.6, alpha=0.7)
        axes.plot(len(mean), mean[-1], "|", color=colour, ms=7)
    return float(mean[-1])


def _label(axes: Axes, ends: Mapping[str, float], look: Styles) -> None:
    """The names at the right, in the order of the curves' ends and apart from each other."""
    # ends in shares of the height, however the axis is scaled
    to_share = axes.transData + axes.transAxes.inverted()
    right = axes.get_xlim()[1]
    order = sorted(ends, key=lambda m: ends[m])
    wanted = np.array([to_share.transform((right, ends[m]))[1] for m in order])
    places = _spread(np.clip(wanted, 0.0, 1.0), _LINE)
    for method, wish, place in zip(order, wanted, places, strict=True):
        colour = look[method].colour
        axes.plot(
            [1.0, 1.03],
            [wish, place],
            transform=axes.transAxes,
            color=colour,
            ls=look[method].dash,
            lw=1.0,
            clip_on=False,
        )
        axes.text(1.035, place, method, transform=axes.transAxes, color=colour, va="center", fontsize="small")


def _spread(wanted: ndarray, gap: float) -> ndarray:
    """Places near the wanted ones, in their order and at least a gap apart, between 0 and 1 as far as they
    fit.
    """
    places = wanted.copy()
    for i in range(1, len(places)):
        places[i] = max(places[i], places[i - 1] + gap)
    over = places[-1] - 1.0
    if over > 0:
        places[-1] -= over
        for i in range(len(places) - 2, -1, -1):
            places[i] = min(places[i], places[i + 1] - gap)
    return places


def _plain_ticks(axes: Axes) -> None:
    from matplotlib.ticker import FuncFormatter

    plain = FuncFormatter(lambda value, _: f"{value:g}")
    axes.xaxis.set_major_formatter(plain)
    axes.yaxis.set_major_formatter(plain)


def _cliques(ranks: Sequence[float], difference: float) -> list[tuple[float, float]]:
    """The largest groups of ranks, sorted, that lie within the difference."""
    groups: list[tuple[int, int]] = []
    for first in range(len(ranks)):
        last = max(j for j in range(len(ranks)) if ranks[j] - ranks[first] <= difference)
        if last > first and not any(a <= first and last <= b for a, b in groups):
            groups.append((first, last))
    return [(ranks[a], ranks[b]) for a, b in groups]
