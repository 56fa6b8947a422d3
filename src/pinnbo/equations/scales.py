"""Times, lengths and ratios of an equation that a physicist compares with the box."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy import ndarray

from pinnbo.equations.sizes import Rows
from pinnbo.space import Space


def scales(rows: Rows, space: Space, time: str | None, fields: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Labels with sentences, field by field."""
    for number, field in enumerate(fields):
        own = rows.fields == number
        whose = f" of {field}" if len(fields) > 1 else ""
        typical = {
            tuple(index.tolist()): _typical(column)
            for index, column in zip(rows.derivatives[own], rows.coefficients.T[own], strict=True)
        }
        yield from ((label, sentence + whose) for label, sentence in _of_field(typical, space, time))


def _typical(column: ndarray) -> float:
    """The median size of a coefficient, with the sign that it has at most points."""
    finite = column[np.isfinite(column)]
    return float(np.sign(np.median(finite)) or 1.0) * float(np.median(np.abs(finite))) if finite.size else 0.0


def _of_field(
    typical: dict[tuple[int, ...], float], space: Space, time: str | None
) -> Iterator[tuple[str, str]]:
    extent = dict(zip(space.names, (2 * space.half_width).tolist(), strict=True))

    def c(**orders: int) -> float:
        return typical.get(tuple(orders.get(name, 0) for name in space.names), 0.0)

    duration = f"{time} extends over {extent[time]:.4g}" if time is not None else ""
    for name, length in extent.items():
        if name == time:
            continue
        second, first, over = c(**{name: 2}), c(**{name: 1}), f"{name} extends over {length:.4g}"
        if time is not None and second and c(**{time: 1}):
            diffusion = length**2 * abs(c(**{time: 1}) / second)
            yield "diffusion", f"across {name} takes about L^2/D = {diffusion:.3g}; {duration}"
        if time is not None and second * c(**{time: 2}) < 0:
            speed = math.sqrt(-second / c(**{time: 2}))
            yield "waves", f"travel at {speed:.3g}: across {name} in {length / speed:.3g}; {duration}"
        if first and second:
            yield "Peclet number", f"(Reynolds number) along {name}: {abs(first / second) * length:.3g}"
        if second * c() > 0:
            yield "wavelength", f"along {name}: {2 * math.pi * math.sqrt(second / c()):.3g}; {over}"
        elif second and c():
            yield "decay length", f"along {name}: {math.sqrt(abs(second / c())):.3g}; {over}"
    if time is not None and c() and c(**{time: 1}):
        yield "time constant", f"{abs(c(**{time: 1}) / c()):.3g}; {duration}"
    if time is not None and c() * c(**{time: 2}) > 0:
        yield "period", f"{2 * math.pi * math.sqrt(c(**{time: 2}) / c()):.3g}; {duration}"
