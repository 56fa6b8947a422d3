"""Empty figures, colours and colour scales, for all pictures alike; matplotlib is imported on first use."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

import numpy as np
from numpy import ndarray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Normalize
    from matplotlib.figure import Figure

# Okabe and Ito's colours stay apart for colour-blind readers
BLUE, VERMILLION, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#595959"
PALETTE = (BLUE, VERMILLION, GREEN, "#CC79A7", "#E69F00", "#56B4E9", "#000000")


def check_matplotlib() -> None:
    """Raise an ImportError that says what to install if there is no matplotlib."""
    try:
        importlib.import_module("matplotlib.figure")
    except ImportError as error:
        raise ImportError(
            "Pictures are drawn with matplotlib, which is not installed: pip install 'pinnbo[plots]'"
        ) from error


def new_figure(width: float, height: float) -> Figure:
    """An empty figure that no backend knows of."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), dpi=110, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def panels_of(figure: Figure, rows: int, columns: int, used: int) -> list[Axes]:
    """The first panels of a grid; the others are taken out."""
    panels = list(np.atleast_1d(figure.subplots(rows, columns)).ravel())
    for spare in panels[used:]:
        spare.remove()
    return panels[:used]


def readable_norm(values: ndarray) -> Normalize:
    """Linear colours; where a few extreme values would take them all, logarithmic beyond the bulk."""
    from matplotlib.colors import AsinhNorm, Normalize

    low, high = float(np.min(values)), float(np.max(values))
    if not high > low:
        return Normalize(low - 0.5, high + 0.5)
    quarter, three_quarters = np.quantile(values, [0.25, 0.75])
    bulk = float(three_quarters - quarter)
    if high - low < 10 * bulk or bulk == 0:
        return Normalize(low, high)
    return AsinhNorm(linear_width=bulk, vmin=low, vmax=high)


def norm_ticks(norm: Normalize) -> list[float]:
    """Round numbers for the colour bar; 1, 3, 10, 30 ... outside the linear part of an asinh scale."""
    from matplotlib.colors import AsinhNorm
    from matplotlib.ticker import MaxNLocator

    low, high = float(norm.vmin or 0.0), float(norm.vmax or 0.0)
    if isinstance(norm, AsinhNorm):
        decades = range(-300, 300)
        sizes = [
            m * 10.0**k
            for k in decades
            for m in (1, 3)
            if 0.3 * norm.linear_width <= m * 10.0**k <= high - low
        ]
        ticks = [-size for size in reversed(sizes)] + [0.0] + sizes
    else:
        ticks = [float(t) for t in MaxNLocator(7).tick_values(low, high)]
    return [t for t in ticks if low <= t <= high]


def extension(norm: Normalize, values: ndarray) -> str:
    """On which sides the values leave the colours."""
    below, above = bool(values.min() < norm.vmin), bool(values.max() > norm.vmax)
    return {(True, True): "both", (True, False): "min", (False, True): "max"}.get((below, above), "neither")
