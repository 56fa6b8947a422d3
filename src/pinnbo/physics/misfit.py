"""By how much a function misses an equation: N[m] - g at points, from values of m alone.

N[m](z) depends on m only through its jet J_a = (d/ds)^a m(z) (`pinnbo.physics.jets`), whose entries are found by
central differences in the scaled coordinates s,

    (d/ds)^a m(z) ~ h^-|a| sum_k w_k m(z + h k),

w being the weights on the symmetric stencil that is exact for polynomials of six degrees more (Fornberg 1988), with
products of stencils for mixed derivatives. Rounding errors grow like h^-|a|, those of the differences like h^6: the
step is that of a few whose result changes least when it is changed. The equation, linearised at that jet, is exact
there: N[m] = c . J - (c . J - N[m]); its terms c_a J_a say what size a residual may be compared with. With several
fields J lists the jets of all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise, product
from math import factorial, prod
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from pinnbo.pde import PDE
from pinnbo.physics.jets import NONE, Coefficients, JetPDE
from pinnbo.space import Space

Mean = Callable[[Float[ndarray, "m d"]], Float[ndarray, " m"]]

_STEPS = (0.0025, 0.005, 0.01, 0.02, 0.03)
_PROBES = 24


class Misfit(NamedTuple):
    """The residual N[m] - g at points, a column per equation, and the size of the terms that should cancel.

    That is the largest of the terms c_a J_a and of g. Where all of them nearly vanish, as those of Laplace's equation
    do for a plane, a residual is compared with what they are for a function of the same spread that varies once across
    the box: |c_a| times the standard deviation of m.
    """

    residual: Float[ndarray, "n k"]
    size: float

    @property
    def share(self) -> float:
        """The residual (root of the mean square) as a share of the terms."""
        return float(np.sqrt(np.mean(self.residual**2))) / (self.size or 1.0)


class Differences:
    """Differences for one equation on a box, with the step that suits the functions: one for each field of the problem.

    ``coefficients`` are the values of unknown coefficients.
    """

    def __init__(
        self, pde: PDE, space: Space, means: Sequence[Mean], coefficients: Coefficients = NONE
    ) -> None:
        self._pde, self._space, self._means = pde, space, means
        self._coefficients = {name: c for name, c in coefficients.items() if name in pde.coefficients}
        self._jet = JetPDE(space, pde)
        self._offsets, self._weights = _stencils(self._jet.derivatives)
        self._step = self._best_step()

    @property
    def n_values(self) -> int:
        """How many values of functions a residual takes."""
        return len(self._offsets) * len(set(self._jet.fields))

    @property
    def reach(self) -> float:
        """How far they look, in scaled coordinates: points have to keep this distance from the faces."""
        return self._step * float(np.max(np.abs(self._offsets), initial=1.0))

    def misfit(self, points: Float[ndarray, "n d"]) -> Misfit:
        """How well the function solves the equation at points of the box."""
        return self._misfit(points, self._step)

    def _best_step(self) -> float:
        farthest = _STEPS[-1] * float(np.max(np.abs(self._offsets), initial=1.0))
        probes = self._space.unscale(
            (1.0 - farthest) * self._space.scale(self._space.sobol(_PROBES, seed=23))
        )
        found = [self._misfit(probes, step).residual for step in _STEPS]
        changes = [float(np.nanmax(np.abs(b - a))) for a, b in pairwise(found)]
        return _STEPS[int(np.argmin(changes)) + 1]

    def _misfit(self, points: Float[ndarray, "n d"], step: float) -> Misfit:
        space, k = self._space, self._pde.n_equations(self._space)
        scaled = space.scale(points)
        everywhere = (scaled[:, None] + step * self._offsets[None]).reshape(-1, space.dim)
        jets = np.zeros((len(scaled), len(self._weights)))
        orders = self._jet.derivatives.sum(axis=1)
        spread = np.zeros(len(orders))
        for field in sorted(set(self._jet.fields.tolist())):
            # without clipping: the stencil may touch the faces by rounding
            found = self._means[field](space.centre + everywhere * space.half_width)
            values = found.reshape(len(scaled), -1)
            # differences of numbers around zero are the most exact
            level = float(np.mean(values))
            own = self._jet.fields == field
            jets[:, own] = (values - level) @ self._weights[own].T / step ** orders[own]
            jets[:, own & (orders == 0)] += level
            spread[own & (orders > 0)] = np.std(values)
        source = np.broadcast_to(self._pde.source_at(points, **self._coefficients), (len(points), k))
        rows = self._jet.rows(scaled, source, jets, self._coefficients)
        terms = rows.coefficients * np.repeat(jets, k, axis=0)
        residual = terms.sum(axis=1) - rows.values
        parts = np.column_stack([terms, rows.coefficients * spread, source.ravel()])
        size = float(np.sqrt(np.mean(np.max(np.abs(parts), axis=1) ** 2)))
        return Misfit(residual.reshape(-1, k), size)


def _half_stencil(order: int) -> int:
    """Points on each side: exact up to degree order + 6 at least."""
    return (order + 1) // 2 + 3 if order else 0


def _weights(order: int) -> tuple[ndarray, ndarray]:
    """Offsets k and weights of the derivative of that order: sum_k w_k k^p = order! for p = order, else 0."""
    half = _half_stencil(order)
    k = np.arange(-half, half + 1)
    powers = k[None].astype(float) ** np.arange(len(k))[:, None]
    target = np.zeros(len(k))
    target[order] = factorial(order)
    return k, np.linalg.solve(powers, target)


def _stencils(derivatives: ndarray) -> tuple[Float[ndarray, "o d"], Float[ndarray, "a o"]]:
    """The offsets of all derivatives together in steps, and a row of weights for each at a step of 1."""
    place: dict[tuple[int, ...], int] = {}
    entries: list[dict[int, float]] = []
    for index in derivatives:
        row: dict[int, float] = {}
        for each in product(*(zip(*_weights(int(order)), strict=True) for order in index)):
            weight = prod(float(factor) for _, factor in each)
            if weight != 0.0:
                key = tuple(int(offset) for offset, _ in each)
                row[place.setdefault(key, len(place))] = weight
        entries.append(row)
    weights = np.zeros((len(entries), len(place)))
    for a, row in enumerate(entries):
        weights[a, list(row)] = list(row.values())
    return np.array(list(place), dtype=float), weights
