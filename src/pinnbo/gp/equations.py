"""All equations of a problem at their collocation points, as functions of one table of jets, and where to begin."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from pinnbo.data import Standard
from pinnbo.physics.functionals import Functionals, concatenate, positions
from pinnbo.physics.jets import NONE, Coefficients, JetPDE

_TILT = 0.3


class Equations:
    """All PDEs at their collocation points, as functions of one table of jets."""

    def __init__(
        self, equations: Sequence[tuple[JetPDE, ndarray, ndarray]], coefficients: Coefficients = NONE
    ) -> None:
        self._equations, self._given = equations, coefficients
        self.at_zero = concatenate(
            [pde.rows(points, source, coefficients=coefficients) for pde, points, source in equations]
        )
        keys = np.column_stack([self.at_zero.field_of, self.at_zero.derivatives])
        self._columns = [positions(pde.keys, keys) for pde, _, _ in equations]

    @cached_property
    def at_start(self) -> Functionals:
        """The rows at the function that Gauss-Newton begins with; those of a linear PDE are the same everywhere."""
        none = Functionals.none(self.at_zero.points.shape[1])
        return self.linearised(start(self, none, Standard(0.0, 1.0))[0])

    def linearised(self, jets: Float[ndarray, "m a"]) -> Functionals:
        """The rows at a function with these jets, one per row."""
        pairs = zip(self._equations, self._split(jets), strict=True)
        return concatenate(
            [pde.rows(points, source, mine, self._given) for (pde, points, source), mine in pairs]
        )

    def residual(self, jets: Float[ndarray, "m a"]) -> Float[ndarray, " m"]:
        """N[f] - g."""
        gaps = [
            (pde.values(points, mine, self._given) - source).ravel()
            for (pde, points, source), mine in zip(self._equations, self._split(jets), strict=True)
        ]
        return np.concatenate(gaps)

    def curvature(self, jets: Float[ndarray, "m a"]) -> Float[ndarray, "m a a"]:
        """H, the second derivatives of every row in the jet."""
        a = self.at_zero.coefficients.shape[1]
        found = []
        for (pde, points, source), mine, columns in zip(
            self._equations, self._split(jets), self._columns, strict=True
        ):
            hessian = np.zeros((source.size, a, a))
            hessian[:, np.array(columns)[:, None], columns] = pde.curvature(points, mine, self._given)
            found.append(hessian)
        return np.concatenate(found)

    def _split(self, jets: Float[ndarray, "m a"]) -> list[ndarray]:
        """The jets of each PDE: one per point, though a system has several rows there."""
        parts, start = [], 0
        for (_, _, source), columns in zip(self._equations, self._columns, strict=True):
            parts.append(jets[start : start + source.size : source.shape[1], columns])
            start += source.size
        return parts


def start(
    equations: Equations, measured: Functionals, standard: Standard
) -> tuple[Float[ndarray, "m a"], Float[ndarray, " n"]]:
    """The constant, or a tilted plane where the equation has no slope at a constant; jets of rows, and readings."""
    shift, scale = standard
    rows = equations.at_zero
    jets = np.zeros_like(rows.coefficients)
    jets[:, 0] = shift
    if np.any(equations.linearised(jets).coefficients):
        return jets, shift * measured.constant
    tilt = _TILT * scale * np.random.default_rng(0).standard_normal((rows.points.shape[1],))
    jets[:, 0] += rows.points @ tilt
    for column, index in enumerate(rows.derivatives):
        if index.sum() == 1 and rows.field_of[column] == 0:
            jets[:, column] = tilt[np.argmax(index)]
    return jets, shift * measured.constant + measured.of_plane(tilt)
