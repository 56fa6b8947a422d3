"""The right-hand side g of an equation: a number, one per equation, a function of x, or a table at points."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float
from numpy import ndarray

_FEW = 4  # numbers that a repr shows


class Tabulated:
    """A source known only at the PDE's own points."""

    def __init__(self, points: ndarray, values: ndarray) -> None:
        self.points, self.values = points, values
        self._table = {point.tobytes(): value for point, value in zip(points, values, strict=True)}

    def __call__(self, x: Any) -> Any:
        """The value at one of the points."""
        return self._table[np.asarray(x, dtype=float).tobytes()]


def shown(source: Any) -> str:
    """A source in a few words, for people."""
    if callable(source):
        return "a function of x"
    size = np.size(source)
    return str(source) if size <= _FEW else f"a table of {size} values"


def as_function(
    source: Any, who: str, points: Float[ndarray, "r d"] | None, n_equations: Callable[[int], int]
) -> Callable[..., Any]:
    """A source as a function of x; ``n_equations`` says how many equations there are in a dimension."""
    if callable(source):
        return source
    try:
        values = np.asarray(source, dtype=float)
    except (TypeError, ValueError):
        raise TypeError(
            f"{who}: source must be a number, an array or a function of x, got {source!r:.60}"
        ) from None
    if not np.isfinite(values).all():
        raise ValueError(f"{who}: source must be finite, got {source!r:.60}")
    if points is None or values.ndim == 0 or _is_per_equation(values, who, points, n_equations):
        return lambda x: jnp.asarray(values)
    return Tabulated(points, values)


def _is_per_equation(
    values: ndarray, who: str, points: Float[ndarray, "r d"], n_equations: Callable[[int], int]
) -> bool:
    """Whether an array is one number per equation, and not a table with one row per point."""
    n = len(points)
    if values.ndim > 1:
        if len(values) == n:
            return False
        raise ValueError(f"{who}: source must have one value per point ({n}), got shape {values.shape}")
    k = n_equations(points.shape[1])
    if k == n and len(values) == k and not np.all(values == values[0]):
        raise ValueError(
            f"{who}: source may be one value per point or one per equation, of which there are {k} each; "
            f"expected shape ({n}, {k}) instead, got {values.shape}"
        )
    if len(values) not in (n, k):
        raise ValueError(
            f"{who}: source must have one value per point ({n}) or per equation ({k}), got shape {values.shape}"
        )
    return len(values) == k
