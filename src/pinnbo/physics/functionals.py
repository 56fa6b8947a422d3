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
    fields: Int[ndarray, " a"] | None = None  # which field a derivative is of; None: all of the first
    starts: Int[ndarray, " m"] | None = None  # the first place of each functional

    @classmethod
    def at(cls, points: Float[ndarray, "m d"], field: int = 0) -> Functionals:
        """Plain values of a field at points."""
        return cls.derivative(points, np.zeros(points.shape[1], dtype=int), field)

    @classmethod
    def derivative(
        cls, points: Float[ndarray, "m d"], index: Int[ndarray, " d"], field: int = 0
    ) -> Functionals:
        """One derivative of a field at points."""
        m = len(points)
        fields = np.full(1, field) if field else None
        return cls(points, np.ones((m, 1)), index[None], np.zeros(m), np.zeros(m), fields)

    @classmethod
    def none(cls, dim: int) -> Functionals:
        """No functional."""
        return cls.at(np.zeros((0, dim)))

    def sees_as(self, other: Functionals) -> bool:
        """Whether these are the same functionals, whatever their values and noise."""
        if self is other:
            return True
        pairs = (
            (self.points, other.points),
            (self.coefficients, other.coefficients),
            (self.derivatives, other.derivatives),
            (self.field_of, other.field_of),
        )
        starts = self.starts is other.starts or (
            self.starts is not None and other.starts is not None and np.array_equal(self.starts, other.starts)
        )
        return starts and all(a is b or np.array_equal(a, b) for a, b in pairs)

    def __len__(self) -> int:
        return len(self.values)

    @cached_property
    def field_of(self) -> Int[ndarray, " a"]:
        """The field of every derivative."""
        return np.zeros(len(self.derivatives), dtype=int) if self.fields is None else self.fields

    @cached_property
    def constants(self) -> Float[ndarray, "m f"]:
        """L_j[1] of every field."""
        of_value = ~self.derivatives.any(axis=1)
        columns = [
            self.coefficients[:, of_value & (self.field_of == field)].sum(axis=1)
            for field in range(int(self.field_of.max(initial=0)) + 1)
        ]
        return self.gathered(np.stack(columns, axis=1))

    @property
    def constant(self) -> Float[ndarray, " m"]:
        """L_j[1] of the first field, the one whose mean is taken off."""
        return self.constants[:, 0]

    @cached_property
    def terms(self) -> list[tuple[int, tuple[int, ...], Float[ndarray, " p"]]]:
        """The derivatives that are taken anywhere, each with its field and its coefficients."""
        columns = zip(self.field_of.tolist(), self.derivatives, self.coefficients.T, strict=True)
        return [(field, tuple(index.tolist()), column) for field, index, column in columns if column.any()]

    @cached_property
    def is_values(self) -> bool:
        """Whether only values of the first field are taken, no derivatives and no other field."""
        return all(field == 0 and not any(index) for field, index, _ in self.terms)

    @property
    def of_value(self) -> Float[ndarray, " p"]:
        """Coefficient of the first field's value at every place."""
        return sum((c for f, index, c in self.terms if f == 0 and not any(index)), np.zeros(len(self.points)))

    def of_plane(self, slope: Float[ndarray, " d"]) -> Float[ndarray, " m"]:
        """L_j of the first field being slope . s."""
        total = self.of_value * (self.points @ slope)
        for field, index, column in self.terms:
            if field == 0 and sum(index) == 1:
                total = total + column * slope[index.index(1)]
        return self.gathered(total)

    def taken(self, chosen: Int[ndarray, " k"]) -> Functionals:
        """Some of the functionals, in a given order."""
        if self.starts is None:
            place, starts = chosen, None
        else:
            counts = np.diff(self.starts, append=len(self.points))[chosen]
            starts = np.cumsum(counts) - counts
            place = np.repeat(self.starts[chosen] - starts, counts) + np.arange(counts.sum())
        return Functionals(
            self.points[place],
            self.coefficients[place],
            self.derivatives,
            self.values[chosen],
            self.noise[chosen],
            self.fields,
            starts,
        )

    def gathered(self, by_place: Float[ndarray, "p ..."]) -> Float[ndarray, "m ..."]:
        """Sums over the places of each functional."""
        return by_place if self.starts is None else np.add.reduceat(by_place, self.starts, axis=0)

    def targets(self) -> Float[ndarray, "m 2"]:
        """Two columns t with (1 / scale, -shift / scale) . t = L_j[h]."""
        return np.column_stack([self.values, self.constant])


def concatenate(parts: Sequence[Functionals]) -> Functionals:
    """All functionals of several lists, over the union of their derivatives."""
    keys = np.unique(np.concatenate([_keys(part) for part in parts]), axis=0)
    columns = []
    for part in parts:
        column = np.zeros((len(part.points), len(keys)))
        column[:, positions(_keys(part), keys)] = part.coefficients
        columns.append(column)
    points, values, noise = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("points", "values", "noise")
    )
    starts = None
    if any(part.starts is not None for part in parts):
        before = np.cumsum([0, *(len(part.points) for part in parts[:-1])])
        own = (np.arange(len(part)) if part.starts is None else part.starts for part in parts)
        starts = np.concatenate([first + offset for first, offset in zip(own, before, strict=True)])
    fields = keys[:, 0] if keys[:, 0].any() else None
    return Functionals(points, np.concatenate(columns), keys[:, 1:], values, noise, fields, starts)


def _keys(part: Functionals) -> Int[ndarray, "a e"]:
    """Field and multi-index of every derivative."""
    return np.column_stack([part.field_of, part.derivatives])


def positions(some: Int[ndarray, "k e"], keys: Int[ndarray, "a e"]) -> list[int]:
    """Where some of the multi-indices stand among all."""
    return [int(np.flatnonzero((keys == index).all(axis=1))[0]) for index in some]
