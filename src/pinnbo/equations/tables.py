"""Functions that are given beside a text: callables of numbers, or values at points of one axis.

Values are interpolated by a cubic spline (not-a-knot), twice differentiable, which goes on with its last piece outside.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np

from pinnbo.equations.errors import EquationError


def as_table(name: str, table: Any) -> Callable[..., Any]:
    """A table as a JAX function of numbers."""
    if callable(table):
        return table
    try:
        places, values = (np.asarray(column, dtype=float) for column in table)
    except (TypeError, ValueError):
        raise EquationError(
            f"table {name}: expected a function, or two columns of numbers (places, values), got {table!r:.40}"
        ) from None
    if places.ndim != 1 or places.shape != values.shape or len(places) < 2:
        raise EquationError(
            f"table {name}: expected two columns of one length >= 2, got shapes {places.shape} and {values.shape}"
        )
    if not (np.isfinite(places).all() and np.isfinite(values).all() and np.all(np.diff(places) > 0)):
        raise EquationError(f"table {name}: expected finite values at ascending places")
    from scipy.interpolate import CubicSpline

    spline = CubicSpline(places, values)
    knots, coefficients = jnp.asarray(spline.x), jnp.asarray(spline.c)

    def interpolated(x: Any) -> Any:
        piece = jnp.clip(jnp.searchsorted(knots, x, side="right") - 1, 0, len(knots) - 2)
        return jnp.polyval(coefficients[:, piece], x - knots[piece])

    return interpolated
