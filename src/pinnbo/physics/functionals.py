"""Linear functionals of the fields: measurements, rows of a PDE, conditions, fluxes, averages are all one thing.

    L_j[f] = sum over the places p of j, and over derivatives a, of  c_pa (d/ds)^a f(s_p),
    L_j[f] = value_j +- noise_j.

The places are in the coordinates of a prior (`pinnbo.physics.coordinates`), values and noise in the user's units. Most
functionals have one place; an average or a difference has several. With f = shift + scale * h they read

    L_j[h] = (value_j - shift * L_j[1]) / scale.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray


@dataclass(frozen=True, eq=False)
class Functionals:
    """m linear functionals. All share one list of derivatives; ``starts`` is None where each has one place."""

    points: Float[ndarray, "p d"]
    coefficients: Float[ndarray, "p a"]
    derivatives: Int[ndarray, "a d"]  # multi-indices
    values: Float[ndarray, " m"]
    noise: Float[ndarray, " m"]
    fields: Int[ndarray, " a"] | None = None  # which field a derivative is of; None: the first
    starts: Int[ndarray, " m"] | None = None  # the first place of each functional

    @classmethod
    def at(cls, points: Float[ndarray, "m d"]) -> Functionals:
        """Plain values at points."""
        m, d = points.shape
        return cls(points, np.ones((m, 1)), np.zeros((1, d), dtype=int), np.zeros(m), np.zeros(m))

    @classmethod
    def none(cls, dim: int) -> Functionals:
        """No functional."""
        return cls.at(np.zeros((0, dim)))

    def __len__(self) -> int:
        return len(self.values)

    @cached_property
    def constant(self) -> Float[ndarray, " m"]:
        """L_j[1]."""
        of_value = ~self.derivatives.any(axis=1)
        return self.gathered(self.coefficients[:, of_value].sum(axis=1))

    @cached_property
    def terms(self) -> list[tuple[tuple[int, ...], Float[ndarray, " p"]]]:
        """The derivatives that are taken anywhere, with their coefficients."""
        pairs = zip(self.derivatives, self.coefficients.T, strict=True)
        return [(tuple(index.tolist()), column) for index, column in pairs if column.any()]

    def gathered(self, by_place: Float[ndarray, "p ..."]) -> Float[ndarray, "m ..."]:
        """Sums over the places of each functional."""
        return by_place if self.starts is None else np.add.reduceat(by_place, self.starts, axis=0)

    def targets(self) -> Float[ndarray, "m 2"]:
        """Two columns t with (1 / scale, -shift / scale) . t = L_j[h]."""
        return np.column_stack([self.values, self.constant])


def concatenate(parts: Sequence[Functionals]) -> Functionals:
    """All functionals of several lists, over the union of their derivatives (of one field)."""
    derivatives = np.unique(np.concatenate([part.derivatives for part in parts]), axis=0)
    columns = []
    for part in parts:
        column = np.zeros((len(part.points), len(derivatives)))
        column[:, positions(part.derivatives, derivatives)] = part.coefficients
        columns.append(column)
    points, values, noise = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("points", "values", "noise")
    )
    starts = None
    if any(part.starts is not None for part in parts):
        before = np.cumsum([0, *(len(part.points) for part in parts[:-1])])
        own = (np.arange(len(part)) if part.starts is None else part.starts for part in parts)
        starts = np.concatenate([first + offset for first, offset in zip(own, before, strict=True)])
    return Functionals(points, np.concatenate(columns), derivatives, values, noise, starts=starts)


def positions(some: Int[ndarray, "k d"], derivatives: Int[ndarray, "a d"]) -> list[int]:
    """Where some of the multi-indices stand among all."""
    return [int(np.flatnonzero((derivatives == index).all(axis=1))[0]) for index in some]
