"""The field as numbers, for the map that a browser draws."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray

from pinnbo.optimizer import Optimizer
from pinnbo.plots.canvas import Names
from pinnbo.plots.section import predict, section_through

_LINE, _PLANE = 161, 41
_DIGITS = 5
_MOST_POINTS = 2000  # more cannot be told apart on a screen


def field_data(optimizer: Optimizer, names: Names) -> dict[str, Any] | None:
    """Mean and uncertainty on a line, or on the plane of the two parameters that matter most; None before any value.

    Beyond two parameters other points than the best do not lie on the plane, and are left out.
    """
    best = optimizer.best
    if best is None:
        return None
    dim = optimizer.space.dim
    section = section_through(optimizer, best.x, _LINE if dim == 1 else _PLANE)
    mean, std = predict(optimizer, section.points)
    if dim > 1 and not optimizer.space.is_box:
        inside = section.inside.ravel()
        mean, std = np.where(inside, mean, np.nan), np.where(inside, std, np.nan)
    axes = list(section.axes)
    data = optimizer.data.direct

    def shown(points: ndarray) -> list[list[float]]:
        return rounded(points[-_MOST_POINTS:, axes]) if dim <= 2 else []

    return {
        "labels": [_label(names, names.space.names[i]) for i in axes],
        "value": _label(names, names.value),
        "grids": [rounded(grid) for grid in section.grids],
        "mean": rounded(mean),
        "std": rounded(std),
        "measured": shown(data.points),
        "values": rounded(data.values[-_MOST_POINTS:]),
        "infeasible": shown(data.infeasible),
        "pending": shown(optimizer.pending),
        "best": rounded(best.x[axes]),
        "best_mean": rounded(best.mean),
        "fixed": section.fixed,
    }


def rounded(numbers: Any) -> Any:
    """As plain lists, to the digits that a picture shows."""
    array = np.asarray(numbers, dtype=float)
    flat = [float(f"{number:.{_DIGITS}g}") if np.isfinite(number) else None for number in array.ravel()]
    return flat[0] if array.ndim == 0 else _nested(flat, array.shape)


def _nested(flat: list[Any], shape: tuple[int, ...]) -> list[Any]:
    if len(shape) == 1:
        return flat
    size = len(flat) // shape[0] if shape[0] else 0
    return [_nested(flat[i * size : (i + 1) * size], shape[1:]) for i in range(shape[0])]


def _label(names: Names, name: str) -> str:
    return f"{name} [{names.units[name]}]" if name in names.units else name
