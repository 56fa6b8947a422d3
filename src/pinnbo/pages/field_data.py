"""The fields as numbers, for the map that a browser draws."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray

from pinnbo.optimizer import Optimizer
from pinnbo.plots.canvas import Names
from pinnbo.plots.known import wall_lines
from pinnbo.plots.section import Section, predict, section_through, strongest_axes, time_axis

_LINE, _PLANE, _FRAME = 161, 41, 31
_FINE = 101  # where a border runs through the map
_FRAMES = 13  # places of the slider
_DIGITS = 5
_MOST_POINTS = 2000  # more cannot be told apart on a screen


def field_data(optimizer: Optimizer, names: Names) -> dict[str, Any] | None:
    """Mean and uncertainty of all fields on a line, or on a plane of two parameters; None before any value.

    Beyond two parameters the plane is that of the two that matter most, and a slider moves it along a third one: time
    if there is one. Points that do not lie on the plane are left out.
    """
    best = optimizer.best
    if best is None:
        return None
    sections, slider = _sections(optimizer, best.x)
    first, data, dim = sections[0], optimizer.data.direct, optimizer.space.dim
    axes = list(first.axes)
    counted = dim <= len(axes) + (slider is not None)  # whether no coordinate is hidden

    def shown(points: ndarray) -> list[list[float]]:
        return rounded(points[-_MOST_POINTS:, axes]) if counted else []

    def frames(points: ndarray) -> list[int]:
        """The place of the slider that is nearest to each point."""
        if slider is None or not counted:
            return []
        return [_nearest(sections, slider, x) for x in points[-_MOST_POINTS:]]

    points = {"measured": data.points, "infeasible": data.infeasible, "pending": optimizer.pending}
    outside = [~section.inside.ravel() for section in sections]
    return {
        "axes": [names.space.names[i] for i in axes],
        "labels": [names.text(names.space.names[i]) for i in axes],
        "grids": [rounded(grid) for grid in first.grids],
        "fields": _fields(optimizer, names, sections),
        "slider": None if slider is None else _slider(names, slider, sections),
        "outside": [np.flatnonzero(mask).tolist() for mask in outside] if np.any(outside) else None,
        "walls": [[rounded(line) for line in wall_lines(optimizer, section)] for section in sections],
        **{name: shown(places) for name, places in points.items()},
        "frames": {name: frames(places) for name, places in points.items()},
        "values": rounded(data.values[-_MOST_POINTS:]),
        "best": rounded(best.x[axes]),
        "best_mean": rounded(best.mean),
        "best_frame": 0 if slider is None else _nearest(sections, slider, best.x),
        "fixed": _fixed(optimizer, first, slider),
    }


def _sections(optimizer: Optimizer, through: ndarray) -> tuple[list[Section], int | None]:
    """The line or plane, or one plane for every place of the slider, which goes along an axis."""
    space = optimizer.space
    if space.dim <= 2:
        fine = _LINE if space.dim == 1 else _PLANE if space.is_box else _FINE
        return [section_through(optimizer, through, fine)], None
    slider = time_axis(space)
    if slider is None:
        slider = strongest_axes(optimizer, through)[2]
    plane = section_through(optimizer, through, _FRAME, without=slider)
    places = Section(space, (slider,), through, _FRAMES).grids[0]
    # the best point is on its plane
    places[int(np.argmin(np.abs(places - through[slider])))] = through[slider]
    sections = []
    for place in places:
        moved = through.copy()
        moved[slider] = place
        sections.append(Section(space, plane.axes, moved, _FRAME))
    return sections, slider


def _fields(optimizer: Optimizer, names: Names, sections: list[Section]) -> list[dict[str, Any]]:
    found = []
    for number, name in enumerate(optimizer.fields):
        try:
            frames = [predict(optimizer, section.points, name) for section in sections]
        except ValueError:  # no model ties it to what is measured
            continue
        found.append(
            {
                "label": names.text(name if number else names.value),
                "mean": [rounded(frame.mean) for frame in frames],
                "std": [rounded(frame.std) for frame in frames],
            }
        )
    return found


def _slider(names: Names, axis: int, sections: list[Section]) -> dict[str, Any]:
    values = [rounded(section.through[axis]) for section in sections]
    return {"label": names.text(names.space.names[axis]), "values": values}


def _nearest(sections: list[Section], slider: int, x: ndarray) -> int:
    return int(np.argmin([abs(section.through[slider] - x[slider]) for section in sections]))


def _fixed(optimizer: Optimizer, section: Section, slider: int | None) -> str:
    """The values of the parameters that neither the map nor the slider shows."""
    axes = section.axes if slider is None else (*section.axes, slider)
    return Section(optimizer.space, axes, section.through, 1).fixed


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
