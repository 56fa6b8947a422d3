"""Sums of functions of one coordinate given the equations, with a term that couples pairs of axes or without.

They need an operator that separates (`pinnbo.physics.axes`), and take equations as exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from pinnbo.data import Data, Standard
from pinnbo.ensemble.family import Family, Scales, Stated
from pinnbo.ensemble.plain_family import Plain
from pinnbo.gp.additive import GivenSum, given_sum, solve_sum, truncation
from pinnbo.gp.kernels import RBF, Pairwise
from pinnbo.gp.process import Process
from pinnbo.gp.sines import Sines, sines
from pinnbo.physics.axes import AdditiveJets, AxisCollocation, AxisRows, Condition, contradicts_sums
from pinnbo.physics.coordinates import BOX, Coordinates
from pinnbo.physics.jets import JetPDE
from pinnbo.physics.rotation import separating_rotation
from pinnbo.thresholds import POOR, ROWS_REACH

_N_BETWEEN = 64
_PREDICTED = 0.1  # of the source: sums that cannot make it contradict the equation
_WITHOUT_SOURCE = 1024  # sines per axis, at most, where the equation is homogeneous,
_BESIDE_KERNEL = 256  # and where a kernel is there for what they do not resolve
_INTERACTION_LENGTHS, _INTERACTION_SHARES = (0.3, 1.0), (0.03, 0.1, 0.3, 1.0)
_EXACT = 1e-6  # row noise of the additive family, whose algebra is orthogonal


class SumGivenPDE(Family):
    """Sums of functions of one coordinate given the PDEs, in feature space."""

    @classmethod
    def build(cls, stated: Stated) -> SumGivenPDE | None:
        """In the coordinates that the sources ask for (`pinnbo.physics.rotation`), or in those of the box.

        None where an operator does not separate, or a source is noisy: the family takes equations as exact.
        """
        if any(pde.noise > 0 for pde in stated.physics):
            return None
        rotated = separating_rotation(stated.space, stated.physics) if stated.is_linear else None
        found = None if rotated is None else cls._in(rotated, stated)
        return cls._in(BOX, stated) if found is None else found

    @classmethod
    def _in(cls, coordinates: Coordinates, stated: Stated) -> SumGivenPDE | None:
        space, seed = stated.space, stated.seed
        jets = [JetPDE(space, pde, coordinates) for pde in stated.physics if pde.points is None]
        conditions = []
        for pde in stated.physics:
            if pde.points is not None:
                points, source = pde.collocation(space, len(pde.points), seed)
                at = coordinates.of(space.scale(points))
                conditions.append(Condition(JetPDE(space, pde, coordinates), at, source))
        best: tuple[float, SumGivenPDE | None] = (np.inf, None)
        for q in (32, 64, 128, 256) if jets else ():
            lines, usable = cls._drawn(jets, q, seed)
            if len(usable) < len(jets):
                return None
            if not stated.is_linear:
                # the first linearisation does not tell how fine a basis the solution needs
                return cls(stated, lines, conditions, 2 * q)
            if any(contradicts_sums(r) for r in usable):
                return None
            if not any(np.any(r.own) for r in usable):  # nothing is to be predicted: zero fits in any basis
                most = _BESIDE_KERNEL if space.dim <= ROWS_REACH else _WITHOUT_SOURCE
                lines, usable = cls._drawn(jets, most, seed)
                return cls(stated, lines, conditions, most) if len(usable) == len(jets) else None
            error = min(truncation(sines(q, step, space.dim), usable, _EXACT) for step in (0.05, 0.1))
            if error < 0.5 * best[0]:
                best = (error, cls(stated, lines, conditions, q))
            if error < 1e-4:
                break
        found = best[1] if best[0] < _PREDICTED else None
        return None if found is None or found._error_between_axes(seed) > _PREDICTED else found

    def _error_between_axes(self, seed: int) -> float:
        """Of the source predicted at points anywhere, relative to its size.

        Rows on the axes do not see what couples them.
        """
        scales = min(self._errors, key=self._errors.__getitem__)
        given = self._given(scales)
        assert given is not None
        mean = AdditiveJets(self._basis(scales), given.own, 0.0, 1.0)
        worst = 0.0
        for line in self._lines:
            points, source = line.pde.pde.collocation(self.space, _N_BETWEEN, [seed, 43])
            at = line.pde.coordinates.of(self.space.scale(points))
            rows = line.pde.rows(at, source)
            coefficients = rows.coefficients.reshape(*source.shape, -1)
            predicted = np.einsum("rka,ra->rk", coefficients, mean(at, line.pde.derivatives)).ravel()
            if np.any(rows.values):
                gap = np.linalg.norm(predicted - rows.values)
                worst = max(worst, float(gap / np.linalg.norm(rows.values)))
        return worst

    @staticmethod
    def _drawn(jets: Sequence[JetPDE], q: int, seed: int) -> tuple[list[AxisCollocation], list[AxisRows]]:
        """Collocation points for q sines, and those of their rows that separate."""
        drawn = [AxisCollocation.draw(jet, int(1.6 * q) + 8, seed) for jet in jets]
        lines = [line for line in drawn if line is not None]
        return lines, [r for line in lines if (r := line.rows()) is not None]

    def __init__(
        self, stated: Stated, lines: Sequence[AxisCollocation], conditions: Sequence[Condition], q: int
    ) -> None:
        super().__init__(stated.space)
        self._lines, self._conditions, self._q, self._linear = lines, conditions, q, stated.is_linear
        self._coordinates = lines[0].pde.coordinates
        self.name = ", ".join(filter(None, ["sum", self._coordinates.words]))
        self._known: dict[Scales, Process | None] = {}
        self._solved: tuple[Standard, Process | None] | None = None

    @property
    def grid(self) -> list[Scales]:
        """One scale for all axes; shorter ones where there are sines for them."""
        if not self._linear:
            return [(0.1,)]
        steps = (0.005, 0.02, 0.1, 0.4) if self._q == _WITHOUT_SOURCE else (0.02, 0.05, 0.1, 0.2, 0.4)
        return [(step,) for step in steps]

    def process(self, scales: Scales, data: Data) -> Process | None:
        """Conditioned once for a linear PDE, once per rounded shift and scale of the values otherwise."""
        if self._linear:
            if scales not in self._known:
                given = self._given(scales)
                self._known[scales] = None if given is None else given.process(self._coordinates)
            return self._known[scales]
        standard = Standard.of(data.values).rounded
        if self._solved is None or self._solved[0] != standard:
            found = solve_sum(self._basis(scales), self._lines, self._conditions, standard, _EXACT)
            self._solved = standard, None if found is None else found.process(self._coordinates)
        return self._solved[1]

    def _given(self, scales: Scales) -> GivenSum | None:
        """Linear PDEs; a length scale at which others predict the source better would be sure of a wrong mean."""
        if self._errors[scales] > POOR * min(self._errors.values()):
            return None
        conditions = [c.rows() for c in self._conditions]
        return given_sum(self._basis(scales), self._rows, conditions, self._errors[scales])

    @cached_property
    def _rows(self) -> list[AxisRows]:
        return [r for line in self._lines if (r := line.rows()) is not None]

    @cached_property
    def _errors(self) -> dict[Scales, float]:
        """Row noise at every scale: the truncation error, down to the precision of the algebra."""
        return {
            scales: max(_EXACT, truncation(self._basis(scales), self._rows, _EXACT)) for scales in self.grid
        }

    def _basis(self, scales: Scales) -> Sines:
        return sines(self._q, scales[0], self.space.dim)


class SumAndInteraction(Family):
    """The same sums beside a term that couples pairs of axes, and that the equation does not see: h = sum + size * r.

    That a sum of functions of one coordinate obeys an equation does not make f one: terms that couple axes may be
    hidden from the operator, as sin(x_1 - x_2) is from d/dx_1 + d/dx_2. r is a Gaussian process without physics and
    without a constant, independent of the sum, so that covariances add. A setting is the scale of the sum, the length
    scale of the interaction, and its size: a share of what the physics leaves of the sum.
    """

    name = "sum and interactions"

    def __init__(self, sums: SumGivenPDE) -> None:
        super().__init__(sums.space)
        self._sums = sums
        self._known: dict[Scales, tuple[Process, Process]] = {}
        self._kernels = {
            length: Pairwise(np.full(sums.space.dim, length), constant=0.0) for length in _INTERACTION_LENGTHS
        }

    @property
    def grid(self) -> list[Scales]:
        """Every scale of the sum with every interaction."""
        return [
            (*scales, length, share)
            for scales in self._sums.grid
            for length in _INTERACTION_LENGTHS
            for share in _INTERACTION_SHARES
        ]

    def process(self, scales: Scales, data: Data) -> Process | None:
        """Both."""
        own, length, share = scales[:-2], *scales[-2:]
        alone = self._sums.process(own, data)
        if alone is None:
            return None
        if scales not in self._known or self._known[scales][0] is not alone:
            weight = share**2 * alone.variation
            both = replace(alone, kernel=self._kernels[length], weight=weight)
            self._known[scales] = alone, both
        return self._known[scales][1]

    def alternatives(self, data: Data) -> list[Process]:
        """Those with the largest interaction, of every length scale."""
        most = [self.process(s, data) for s in self.grid if s[-1] == max(_INTERACTION_SHARES)]
        return [process for process in most if process is not None]

    def described(self, scales: Scales) -> str:
        """With the interaction."""
        own, length, share = scales[:-2], *scales[-2:]
        return f"{self._sums.described(own)}, and interactions of {100 * share:.2g}% at {length:.2g}"


def sum_families(stated: Stated) -> list[Family]:
    """Sums; where no kernel can be given the equation, also with interactions, and free of any such structure."""
    sums = SumGivenPDE.build(stated)
    if sums is None:
        return []
    if stated.space.dim <= ROWS_REACH:
        return [sums]
    return [sums, SumAndInteraction(sums), Plain(stated.space, RBF)]
