"""Functions that are known by their values on a grid: coefficients, sources, velocities, simulations.

    k = tabulated((x, y), values)  # values[i, j] at (x[i], y[j]); also of a SciPy interpolator or an xarray table
    PDE(lambda h: lambda x: k(x) * laplacian(h)(x) + gradient(k)(x) @ gradient(h)(x))

A tensor-product cubic spline (not-a-knot) as a JAX function of x: in each cell a polynomial,

    f(x) = sum over powers a in {0..3}^d of  c_a(cell) prod_i (x_i - left_i)^a_i,

twice differentiable, and continued by its last polynomials outside the grid.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from numpy import ndarray
from scipy.interpolate import CubicSpline, RegularGridInterpolator

_MOST_AXES = 3  # 4^d numbers a cell

Function = Callable[[Any], Array]


def tabulated(grid: Any, values: Any = None) -> Function:
    """A differentiable function of x from values on a grid.

    ``grid`` holds the places along every coordinate, all ascending; ``values`` has one axis for each. In their stead a
    `scipy.interpolate.RegularGridInterpolator` or an `xarray.DataArray` may be given. The result is a function of a
    point x (its coordinates in the order of the grid), to be used in operators and sources as any other.
    """
    axes, table = _checked(*_parts(grid, values))
    coefficients = table
    for number, places in enumerate(axes):
        # every axis becomes (cell, power): moved to the end in turn, so that the order stays
        coefficients = _pieces(places, coefficients, 2 * number)
    d = len(axes)
    order = [*range(0, 2 * d, 2), *range(1, 2 * d, 2)]
    cells = jnp.asarray(np.transpose(coefficients, order))
    knots = [jnp.asarray(places) for places in axes]

    def function(x: Any) -> Array:
        place = jnp.atleast_1d(x)
        if place.shape[0] != d:
            raise ValueError(f"tabulated: expected a point of {d} coordinates, got {place.shape[0]}")
        found = cells
        steps = []
        for i, places in enumerate(knots):
            piece = jnp.clip(jnp.searchsorted(places, place[i], side="right") - 1, 0, len(places) - 2)
            steps.append(place[i] - places[piece])
            found = jnp.take(found, piece, axis=0)
        for step in reversed(steps):
            # Horner's rule on the last axis, whose highest power comes first
            total = found[..., 0]
            for power in range(1, 4):
                total = total * step + found[..., power]
            found = total
        return found

    return function


def _pieces(places: Float[ndarray, " n"], table: ndarray, axis: int) -> ndarray:
    """The pieces of cubic splines along an axis, which becomes two: cells, then powers, the highest first."""
    spline = CubicSpline(places, np.moveaxis(table, axis, 0)) if len(places) > 2 else None
    if spline is None:  # two places: a straight line
        first, last = (np.take(table, i, axis=axis) for i in (0, 1))
        slope = (last - first) / (places[1] - places[0])
        pieces = np.stack([0 * slope, 0 * slope, slope, first])[:, None]
    else:
        pieces = spline.c
    return np.moveaxis(pieces, (1, 0), (axis, axis + 1))


def _parts(grid: Any, values: Any) -> tuple[Any, Any]:
    """Places and values out of what holds them."""
    if isinstance(grid, RegularGridInterpolator):
        return grid.grid, grid.values
    if (
        values is None and hasattr(grid, "dims") and hasattr(grid, "coords")
    ):  # xarray, which need not be there
        return [np.asarray(grid.coords[name]) for name in grid.dims], np.asarray(grid)
    if values is None:
        raise TypeError(f"tabulated: expected a grid and values, got {type(grid).__name__} alone")
    return grid, values


def _checked(grid: Any, values: Any) -> tuple[list[Float[ndarray, " n"]], ndarray]:
    try:
        table = np.asarray(values, dtype=float)
        listed = list(grid)
        flat = all(
            np.ndim(places) == 0 for places in listed
        )  # one coordinate needs no list around its places
        axes = [np.asarray(places, dtype=float) for places in ([listed] if flat else listed)]
    except (TypeError, ValueError):
        raise TypeError(
            "tabulated: expected numbers: the places along every coordinate, and values"
        ) from None
    if not 1 <= len(axes) <= _MOST_AXES:
        raise ValueError(f"tabulated: expected a grid of 1 to {_MOST_AXES} coordinates, got {len(axes)}")
    for number, places in enumerate(axes):
        if places.ndim != 1 or len(places) < 2 or not np.all(np.diff(places) > 0):
            raise ValueError(f"tabulated: expected at least two ascending places along axis {number}")
    shape = tuple(len(places) for places in axes)
    if table.shape != shape:
        raise ValueError(f"tabulated: expected values of shape {shape} as the grid, got {table.shape}")
    if not (np.isfinite(table).all() and all(np.isfinite(places).all() for places in axes)):
        raise ValueError("tabulated: expected finite places and values")
    return axes, table
