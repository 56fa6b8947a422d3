"""Pictures of a study: what the surrogate believes, where it was measured, how the regret fell.

Every function returns a matplotlib ``Figure``; ``figure.savefig("picture.png")`` writes it. Figures are made
without pyplot: no window, no backend and no setting of the caller's is touched. matplotlib is imported on
first use (``pip install 'pinnbo[plots]'``).

One parameter gives curves, two give maps, and more give slices through the best point.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from pinnbo.figures import (
    BLUE,
    GREY,
    PALETTE,
    VERMILLION,
    check_matplotlib,
    extension,
    new_figure,
    norm_ticks,
    panels_of,
    readable_norm,
)
from pinnbo.optimizer import Optimizer
from pinnbo.problems import Problem
from pinnbo.run import Evaluation, Result
from pinnbo.space import Space

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Normalize
    from matplotlib.figure import Figure

Truth = Callable[[Float[ndarray, "n d"]], Float[ndarray, " n"]]

_NORMAL_95 = 1.96
# rows of a surrogate are as long as its weights are many: predict in batches
_BATCH = 500
# with the regret they fill three rows of three
_MOST_SLICES = 8
# beyond that lines and their labels hide the map
_MOST_CONTOURS = 30
# what counts as no regret at all on a logarithmic axis, as a share of the range
_LEAST_REGRET = 1e-6


def surrogate(
    optimizer: Optimizer,
    truth: Truth | None = None,
    *,
    value: str = "f",
    units: Mapping[str, str] | None = None,
    resolution: int | None = None,
) -> Figure:
    """What the optimizer believes of f: mean and uncertainty, with the measured points.

    ``truth`` gives the noise-free values at points (n, d), where they are known (``problem.truth``).
    ``value`` names f on the axes and ``units`` the units of parameters, e.g. ``{"x": "m"}``. ``resolution``
    is the number of grid points per axis.
    """
    check_matplotlib()
    picture = _Picture(optimizer, truth, value, units or {})
    dim = optimizer.space.dim
    if dim == 1:
        figure = new_figure(7.0, 4.2)
        picture.curve(figure.subplots(), resolution or 241)
    elif dim == 2:
        panels = 2 if truth is None else 3
        figure = new_figure(4.9 * panels, 4.2)
        picture.maps(list(figure.subplots(1, panels)), resolution or 60)
    else:
        shown = picture.slices(resolution or 61)
        columns = min(3, len(shown))
        rows = -(-len(shown) // columns)
        figure = new_figure(4.0 * columns, 3.1 * rows)
        picture.draw_slices(panels_of(figure, rows, columns, len(shown)), shown)
    return figure


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
    value: str = "f",
    units: Mapping[str, str] | None = None,
    title: str | None = None,
    resolution: int | None = None,
) -> Figure:
    """A run on a problem whose truth is known, in one picture: truth, mean, uncertainty, points and regret.

    Two parameters: four panels (truth, mean, standard deviation, regret). One: two panels (curves, regret).
    More: slices through the best point, and the regret. See `surrogate` for the other arguments.
    """
    check_matplotlib()
    picture = _Picture(result.optimizer, problem.truth, value, units or {}, problem)
    dim = problem.space.dim
    if dim == 1:
        figure = new_figure(11.0, 4.2)
        panels = list(figure.subplots(1, 2))
        picture.curve(panels[0], resolution or 241)
    elif dim == 2:
        figure = new_figure(10.4, 8.6)
        panels = list(figure.subplots(2, 2).ravel())
        picture.maps(panels[:3], resolution or 60)
    else:
        shown = picture.slices(resolution or 61)
        columns = 3
        rows = -(-(len(shown) + 1) // columns)
        figure = new_figure(4.0 * columns, 3.1 * rows)
        panels = panels_of(figure, rows, columns, len(shown) + 1)
        picture.draw_slices(panels[:-1], shown)
    _study_regret(panels[-1], result, problem)
    if title:
        figure.suptitle(title, fontsize="x-large")
    return figure


def comparison(
    results: Mapping[str, Result],
    problem: Problem,
    *,
    value: str = "f",
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
        picture = _Picture(result.optimizer, problem.truth, value, units or {}, problem)
        shown = list(panels[row][1:]) if row else list(panels[row])
        picture.maps(shown, resolution or 60, label, legend=row == 0)
        if row:
            panels[row][0].set_visible(row == 1)
    for number, (label, result) in enumerate(results.items()):
        _regret_curves(panels[1][0], [result.history], problem, label, PALETTE[number % len(PALETTE)])
    _finish_regret(panels[1][0], problem)
    if title:
        figure.suptitle(title, fontsize="x-large")
    return figure


def simple_regret(history: Sequence[Evaluation], problem: Problem) -> Float[ndarray, " n"]:
    """The lowest true regret up to each evaluation, as a share of the range.

    An evaluation that gave no value is counted, but nothing is known to have been found there: NaN before the
    first measurement.
    """
    return np.fmin.accumulate(_regrets(history, problem)) if len(history) else np.zeros(0)


class _Slice(NamedTuple):
    """A line through the best point along one parameter."""

    axis: int
    at: Float[ndarray, " r"]
    mean: Float[ndarray, " r"]
    std: Float[ndarray, " r"]
    truth: Float[ndarray, " r"] | None


class _Picture:
    """Draws one optimizer's surrogate onto axes."""

    def __init__(
        self,
        optimizer: Optimizer,
        truth: Truth | None,
        value: str,
        units: Mapping[str, str],
        problem: Problem | None = None,
    ) -> None:
        unknown = sorted(set(units) - set(optimizer.space.names))
        if unknown:
            raise ValueError(
                f"plots: units are expected for {list(optimizer.space.names)}, got {unknown[0]!r}"
            )
        best = optimizer.best
        if best is None:
            raise ValueError("plots: nothing has been measured yet, so there is nothing to draw")
        self._optimizer, self._truth, self._value, self._units = optimizer, truth, value, units
        self._problem, self._best = problem, best
        self._space: Space = optimizer.space
        data = optimizer._data()
        self._points, self._values, self._bad = data.points, data.values, data.infeasible

    def curve(self, axes: Axes, resolution: int) -> None:
        """One parameter: mean, band, truth and measurements."""
        at = np.linspace(self._space.lower[0], self._space.upper[0], resolution)
        mean, std = self._predict(at[:, None])
        truth = None if self._truth is None else self._truth(at[:, None])
        self._band(axes, _Slice(0, at, mean, std, truth))
        axes.scatter(
            self._points[:, 0],
            self._values,
            c=np.arange(len(self._points)),
            cmap="Greys",
            vmin=-0.3 * len(self._points),
            edgecolors="black",
            linewidths=0.7,
            s=26,
            zorder=3,
            label="measured (darker: later)",
        )
        if len(self._bad):
            low = axes.get_ylim()[0]
            axes.plot(self._bad[:, 0], np.full(len(self._bad), low), "x", color="black", label="infeasible")
        axes.plot(*_star(self._best.x[0], self._best.value), label="best", **_STAR)
        axes.set_title("Surrogate: mean and 95% band")
        axes.legend(frameon=False, fontsize="small")

    def maps(
        self, panels: Sequence[Axes], resolution: int, label: str = "Surrogate", legend: bool = True
    ) -> None:
        """Two parameters: maps of the truth (where there is a third panel for it), of the mean and of the sd."""
        axis_0, axis_1 = (
            np.linspace(low, high, resolution)
            for low, high in zip(self._space.lower, self._space.upper, strict=True)
        )
        grid = np.stack(np.meshgrid(axis_0, axis_1, indexing="xy"), axis=-1).reshape(-1, 2)
        shape = (resolution, resolution)
        mean, std = (part.reshape(shape) for part in self._predict(grid))
        truth = None if self._truth is None else np.asarray(self._truth(grid)).reshape(shape)
        # one scale of colours for truth and mean, set by the truth; what exceeds it is an arrow of the bar
        norm = readable_norm(mean if truth is None else truth)
        extend = extension(norm, mean)
        on_mean, on_std = panels[-2:]
        if truth is not None and len(panels) == 3:
            self._map(panels[0], (axis_0, axis_1, truth), norm, extend, "viridis", self._value)
            panels[0].set_title("Truth" if self._problem is None else "Truth, hidden from the optimiser")
        self._map(on_mean, (axis_0, axis_1, mean), norm, extend, "viridis", f"mean of {self._value}")
        on_mean.set_title(f"{label} after {len(self._points)} measurements: mean")
        self._map(
            on_std, (axis_0, axis_1, std), readable_norm(std), "neither", "cividis", f"sd of {self._value}"
        )
        on_std.set_title(f"{label}: uncertainty (1 sd)")
        for axes in (on_mean, on_std):
            self._scatter(axes)
        handles, labels = on_mean.get_legend_handles_labels()
        if self._problem is not None:
            handles += panels[0].plot(*_star(*self._problem.x_best), **_OPTIMUM)
            labels.append("true optimum")
        if not legend:
            return
        figure: Any = on_mean.figure
        figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)

    def slices(self, resolution: int) -> list[_Slice]:
        """Lines through the best point along the parameters over which the mean varies most."""
        found = []
        for i in range(self._space.dim):
            at = np.linspace(self._space.lower[i], self._space.upper[i], resolution)
            line = np.tile(self._best.x, (resolution, 1))
            line[:, i] = at
            mean, std = self._predict(line)
            found.append(_Slice(i, at, mean, std, None if self._truth is None else self._truth(line)))
        strongest = sorted(found, key=lambda s: -float(np.ptp(s.mean)))[:_MOST_SLICES]
        return sorted(strongest, key=lambda s: s.axis)

    def draw_slices(self, panels: Sequence[Axes], shown: Sequence[_Slice]) -> None:
        """One panel per slice, with one scale for all of them."""
        every = [s.mean for s in shown] + [s.truth for s in shown if s.truth is not None]
        low, high = min(float(np.min(v)) for v in every), max(float(np.max(v)) for v in every)
        margin = 0.15 * (high - low) or 1.0
        for axes, one in zip(panels, shown, strict=True):
            self._band(axes, one)
            axes.plot(*_star(self._best.x[one.axis], self._best.value), label="best", **_STAR)
            axes.set_ylim(low - margin, high + margin)
            axes.set_title(f"Slice along {self._space.names[one.axis]}", fontsize="medium")
        panels[0].legend(frameon=False, fontsize="small")
        left_out = self._space.dim - len(shown)
        if left_out:
            figure: Any = panels[0].figure
            note = f"{left_out} more parameters, over which the mean varies less, are not shown"
            figure.supxlabel(note, fontsize="small", color=GREY)

    def _predict(self, points: Float[ndarray, "n d"]) -> tuple[ndarray, ndarray]:
        starts = range(0, len(points), _BATCH)
        parts = [self._optimizer.predict(points[start : start + _BATCH]) for start in starts]
        return np.concatenate([p.mean for p in parts]), np.concatenate([p.std for p in parts])

    def _label(self, axis: int) -> str:
        name = self._space.names[axis]
        return f"{name} [{self._units[name]}]" if name in self._units else name

    def _band(self, axes: Axes, line: _Slice) -> None:
        half = _NORMAL_95 * line.std
        axes.fill_between(
            line.at, line.mean - half, line.mean + half, color=BLUE, alpha=0.2, lw=0, label="95% band"
        )
        axes.plot(line.at, line.mean, color=BLUE, label="mean")
        if line.truth is not None:
            axes.plot(line.at, line.truth, color=VERMILLION, ls="--", lw=1.2, label="truth")
        axes.set_xlabel(self._label(line.axis))
        axes.set_ylabel(self._value)
        axes.margins(x=0.02)

    def _map(
        self,
        axes: Axes,
        field: tuple[ndarray, ndarray, ndarray],
        norm: Normalize,
        extend: str,
        cmap: str,
        label: str,
    ) -> None:
        values = field[2]
        mesh = axes.pcolormesh(*field, norm=norm, cmap=cmap, shading="gouraud", rasterized=True)
        ticks = norm_ticks(norm)
        figure: Any = axes.figure
        bar = figure.colorbar(mesh, ax=axes, extend=extend, extendfrac=0.03, label=label, ticks=ticks)
        bar.ax.set_yticks(ticks, [f"{t:g}" for t in ticks])
        bar.ax.minorticks_off()
        levels = [t for t in ticks if values.min() < t < values.max()]
        if levels:
            lines = axes.contour(*field, levels=levels, colors="white", linewidths=0.6, alpha=0.7)
            if sum(map(len, lines.allsegs)) <= _MOST_CONTOURS:
                axes.clabel(lines, fontsize=7, fmt="%g")
            else:
                lines.remove()
        axes.set_xlabel(self._label(0))
        axes.set_ylabel(self._label(1))
        axes.set_box_aspect(1)

    def _scatter(self, axes: Axes) -> None:
        """Measured points, later ones darker; whole markers on the edge of the box."""
        order = np.arange(len(self._points))
        axes.scatter(
            self._points[:, 0],
            self._points[:, 1],
            c=order,
            cmap="Greys",
            vmin=0,
            vmax=max(1, len(order) - 1),
            edgecolors="black",
            linewidths=0.8,
            s=22,
            zorder=3,
            clip_on=False,
            label="measured (first white, last black)",
        )
        if len(self._bad):
            axes.plot(*self._bad.T, "x", color="white", mew=1.8, ms=7, clip_on=False, label="infeasible")
        axes.plot(*_star(*self._best.x), label="best found", **_STAR)


_STAR: dict[str, Any] = {
    "marker": "*",
    "ls": "",
    "ms": 13,
    "mfc": VERMILLION,
    "mec": "white",
    "mew": 1.0,
    "zorder": 5,
    "clip_on": False,
}
_OPTIMUM: dict[str, Any] = {**_STAR, "mfc": "white", "mec": "black"}


def _star(x: float, y: float) -> tuple[list[float], list[float]]:
    return [float(x)], [float(y)]


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
