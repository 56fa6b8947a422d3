"""Smallest and largest value of a function over an interval, to rounding."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from numpy import ndarray

_GRID = 20_001
_BASINS = 16
_ZOOMS = 13
# the middle comes first: it wins a tie
_OFFSETS = np.array(sorted(range(-10, 11), key=abs)) / 10


class Extremes(NamedTuple):
    """Where a function of one variable is smallest and largest."""

    argmin: float
    argmax: float


def extremes(
    f: Callable[[Float[ndarray, " n"]], Float[ndarray, " n"]], lower: float, upper: float
) -> Extremes:
    """Global extremes of f, given elementwise, on [lower, upper]."""
    return Extremes(_argmin(f, lower, upper), _argmin(lambda s: -f(s), lower, upper))


def _argmin(f: Callable[[ndarray], ndarray], lower: float, upper: float) -> float:
    """A grid finds the lowest basins, then each is looked at ten times closer at a time.

    Several basins, because the best grid value need not lie in the best one (Michalewicz has lobes that are
    almost equal).
    """
    grid = np.linspace(lower, upper, _GRID)
    values = f(grid)
    padded = np.concatenate([[np.inf], values, [np.inf]])
    basins = np.flatnonzero((values <= padded[:-2]) & (values <= padded[2:]))
    centres = grid[basins[np.argsort(values[basins], kind="stable")[:_BASINS]]]
    width = grid[1] - grid[0]
    for _ in range(_ZOOMS):
        closer = np.clip(centres[:, None] + width * _OFFSETS, lower, upper)
        values = f(closer.ravel()).reshape(closer.shape)
        rows = np.arange(len(centres))
        best = np.argmin(values, axis=1)
        centres = closer[rows, best]
        width /= 10
    return float(centres[np.argmin(values[rows, best])])
