"""What an instrument adds to its readings: an offset for every batch, and a slow drift.

    y_i = L_i[f] + o_b(i) + d(t_i) + noise,      o_b ~ N(0, s^2),      d a Wiener process from the first reading on,

that is cov(d(t), d(t')) = r^2 min(t, t') / T with times counted from the first and T the last of them. Both are fields
that readings see and nothing else does: with the fields of the problem they are Gaussian together, and their covariance

    L L^T,     columns of L: s in the rows of a batch; r sqrt((t_j - t_j-1) / T) in the rows from time t_j on,

is added to that of the readings and to no covariance with f. So f is predicted without them. Offsets are zero on
average: f is what batches agree on, and its level is as uncertain as that leaves it; readings without a batch have no
offset and settle the level. The drift is zero at the first reading. Sizes s and r are counted in amplitudes of f; they
are averaged over by evidence, on a grid (`levels`), like length scales.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray

Sizes = tuple[float, float]

_SIZES = (0.02, 0.1, 0.5, 2.5)  # in amplitudes of f: from nothing that matters to more than f itself
TYPICAL: Sizes = (0.5, 0.5)


@dataclass(frozen=True, eq=False)
class Loading:
    """L, and what offsets and the drift at the last time are in terms of its columns."""

    matrix: Float[ndarray, "n q"]
    batches: Float[ndarray, "k q"]
    drift: Float[ndarray, " q"] | None


def levels(taken: Float[ndarray, "n 2"] | None) -> list[Sizes]:
    """Sizes of offset and drift that are compared; one where there are none."""
    if taken is None:
        return [TYPICAL]
    has_batches, has_times = (~np.isnan(taken)).any(axis=0)
    return list(product(_SIZES if has_batches else TYPICAL[:1], _SIZES if has_times else TYPICAL[1:]))


def loading(
    taken: Float[ndarray, "n 2"],
    kinds: Int[ndarray, " n"],
    units: Float[ndarray, " n"],
    sizes: Sizes,
    root: float,
) -> Loading:
    """L at amplitude one; sensors have offsets and drifts of their own, in units of what each reads.

    ``taken`` holds the number of the batch and the time of every reading, NaN where it has none; ``root`` is the
    standard deviation of h over the box.
    """
    columns: list[ndarray] = []
    numbers = [int(number) for number in np.unique(taken[:, 0][~np.isnan(taken[:, 0])])]
    for kind in np.unique(kinds):
        for number in numbers:
            columns.append(np.where((kinds == kind) & (taken[:, 0] == number), units, 0.0))
    n_batches = len(columns)
    for kind in np.unique(kinds):
        times = np.where(kinds == kind, taken[:, 1], np.nan)
        moments = np.unique(times[~np.isnan(times)])
        if len(moments) > 1:
            shares = np.sqrt(np.diff(moments) / (moments[-1] - moments[0]))
            columns += [
                np.where(times >= moment, share * units, 0.0)
                for moment, share in zip(moments[1:], shares, strict=True)
            ]
    each = root * np.where(np.arange(len(columns)) < n_batches, *sizes)
    matrix = each * np.stack(columns, axis=1) if columns else np.zeros((len(units), 0))
    drift = _drift_at_the_end(taken, kinds, len(columns), n_batches)
    batches = each * np.eye(len(numbers), len(columns))
    return Loading(matrix, batches, None if drift is None else each * drift)


def _drift_at_the_end(
    taken: Float[ndarray, "n 2"], kinds: Int[ndarray, " n"], n_columns: int, n_batches: int
) -> Float[ndarray, " q"] | None:
    """Of the first sensor."""
    times = taken[kinds == kinds.min(initial=0), 1]
    moments = np.unique(times[~np.isnan(times)])
    if len(moments) < 2:
        return None
    found = np.zeros(n_columns)
    first = slice(n_batches, n_batches + len(moments) - 1)
    found[first] = np.sqrt(np.diff(moments) / (moments[-1] - moments[0]))
    return found


def names_of(records: Sequence[str | None]) -> list[str]:
    """Of batches, in the order in which they were first told."""
    return list(dict.fromkeys(name for name in records if name is not None))
