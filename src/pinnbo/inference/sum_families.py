"""Families of sums of functions of one coordinate that know the equation, with a rest that couples axes or without.

They need an operator that separates (`pinnbo.inference.star`), and take equations as exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from pinnbo.data import Data, Standard
from pinnbo.inference.additive_prior import InformedSum, inform_sum, solve_sum, truncation
from pinnbo.inference.families import KERNEL_DIMENSIONS, POOR, Family, Scales
from pinnbo.inference.jets import JetPDE
from pinnbo.inference.prior import Informed
from pinnbo.inference.sines import Sines, sines
from pinnbo.inference.star import AdditiveJets, Condition, Star, StarRows, contradicts_sums
from pinnbo.inference.sum_and_rest import SumAndRest
from pinnbo.inference.turn import Turn, TurnedSpace
from pinnbo.models.kernels import RememberedKernel
from pinnbo.pde import PDE
from pinnbo.space import Space

_N_BETWEEN = 64
_PREDICTED = 0.1  # of the source: sums that cannot make it contradict the equation
_WITHOUT_SOURCE = 1024  # sines per axis, at most, where the equation is homogeneous,
_BESIDE_KERNEL = 256  # and where a kernel is there for what they do not resolve
_REST_LENGTHS, _REST_SHARES = (0.3, 1.0), (0.03, 0.1, 0.3, 1.0)
_EXACT = 1e-6  # row noise of the additive family, whose algebra is orthogonal


class SumPhysics(Family):
    """Sums of functions of one coordinate given the PDEs, in feature space."""

    physics = True

    @classmethod
    def build(cls, space: Space, physics: Sequence[PDE], seed: int) -> SumPhysics | None:
        """In the coordinates that the sources ask for (`pinnbo.inference.turn`), or in those of the box.

        None where an operator does not separate, or a source is noisy: the family takes equations as exact.
        """
        if any(pde.noise > 0 for pde in physics):
            return None
        linear = all(pde.is_linear(space) for pde in physics)
        if linear and (turn := Turn.of(space, physics)) is not None:
            coordinates = turn.coordinates(space)
            turned = [pde.in_coordinates(coordinates) for pde in physics]
            if (found := cls._built(space, TurnedSpace.of(turn), turned, linear, seed)) is not None:
                return found
        return cls._built(space, space, physics, linear, seed)

    @classmethod
    def _built(
        cls, box: Space, space: Space, physics: Sequence[PDE], linear: bool, seed: int
    ) -> SumPhysics | None:
        jets = [JetPDE(space, pde) for pde in physics if pde.points is None]
        conditions = []
        for pde in physics:
            if pde.points is not None:
                points, source = pde.collocation(space, len(pde.points), seed)
                conditions.append(Condition(JetPDE(space, pde), space.scale(points), source))
        best: tuple[float, SumPhysics | None] = (np.inf, None)
        for q in (32, 64, 128, 256) if jets else ():
            stars, usable = cls._drawn(jets, q, seed)
            if len(usable) < len(jets):
                return None
            if not linear:  # the first linearisation does not tell how fine a basis the solution needs
                return cls(box, stars, conditions, 2 * q, linear)
            if any(contradicts_sums(r) for r in usable):
                return None
            if not any(np.any(r.own) for r in usable):  # nothing is to be predicted: zero fits in any basis
                most = _BESIDE_KERNEL if space.dim <= KERNEL_DIMENSIONS else _WITHOUT_SOURCE
                stars, usable = cls._drawn(jets, most, seed)
                return cls(box, stars, conditions, most, linear) if len(usable) == len(jets) else None
            error = min(truncation(sines(q, step, space.dim), usable, _EXACT) for step in (0.05, 0.1))
            if error < 0.5 * best[0]:
                best = (error, cls(box, stars, conditions, q, linear))
            if error < 1e-4:
                break
        found = best[1] if best[0] < _PREDICTED else None
        return None if found is None or found._error_between_axes(seed) > _PREDICTED else found

    def _error_between_axes(self, seed: int) -> float:
        """Of the source predicted at points anywhere, relative to its size.

        Rows on the axes do not see what couples them.
        """
        scales = min(self._errors, key=self._errors.__getitem__)
        informed = self._informed(scales)
        assert informed is not None
        mean = AdditiveJets(self._basis(scales), informed.own, 0.0, 1.0)
        worst = 0.0
        for star in self._stars:
            points, source = star.pde.pde.collocation(star.pde.space, _N_BETWEEN, [seed, 43])
            scaled = star.pde.space.scale(points)
            rows = star.pde.rows(scaled, source)
            coefficients = rows.coefficients.reshape(*source.shape, -1)
            predicted = np.einsum("rka,ra->rk", coefficients, mean(scaled, star.pde.indices)).ravel()
            if np.any(rows.own):
                worst = max(worst, float(np.linalg.norm(predicted - rows.own) / np.linalg.norm(rows.own)))
        return worst

    @staticmethod
    def _drawn(jets: Sequence[JetPDE], q: int, seed: int) -> tuple[list[Star], list[StarRows]]:
        """Collocation points for q sines, and those of their rows that separate."""
        drawn = [Star.draw(jet, int(1.6 * q) + 8, seed) for jet in jets]
        stars = [star for star in drawn if star is not None]
        return stars, [r for star in stars if (r := star.rows()) is not None]

    def __init__(
        self, space: Space, stars: Sequence[Star], conditions: Sequence[Condition], q: int, linear: bool
    ) -> None:
        super().__init__(space)
        self._stars, self._conditions, self._q, self._linear = stars, conditions, q, linear
        frame = stars[0].pde.space
        self._turn = frame.turn if isinstance(frame, TurnedSpace) else None
        self.name = "sum" if self._turn is None else "sum in turned coordinates"
        self._known: dict[Scales, InformedSum | None] = {}
        self._solved: tuple[Standard, InformedSum | None] | None = None

    @property
    def grid(self) -> list[Scales]:
        """One scale for all axes; shorter ones where there are sines for them."""
        if not self._linear:
            return [(0.1,)]
        steps = (0.005, 0.02, 0.1, 0.4) if self._q == _WITHOUT_SOURCE else (0.02, 0.05, 0.1, 0.2, 0.4)
        return [(step,) for step in steps]

    def log_prior(self, scales: Scales) -> float:
        """Flat."""
        return 0.0

    def prior(self, scales: Scales, data: Data) -> InformedSum | None:
        """Conditioned once for a linear PDE, once per rounded shift and scale of the values otherwise."""
        if self._linear:
            return self._informed(scales)
        standard = Standard.of(data.values).rounded
        if self._solved is None or self._solved[0] != standard:
            found = solve_sum(self._basis(scales), self._stars, self._conditions, standard, _EXACT)
            self._solved = standard, found
        return self._solved[1]

    def _informed(self, scales: Scales) -> InformedSum | None:
        """Given linear PDEs."""
        if scales not in self._known:
            noise, conditions = self._errors[scales], [c.rows() for c in self._conditions]
            # a length scale at which others predict the source better would be sure of a wrong mean
            poor = noise > POOR * min(self._errors.values())
            informed = None if poor else inform_sum(self._basis(scales), self._rows, conditions, noise)
            self._known[scales] = informed and replace(informed, turn=self._turn)
        return self._known[scales]

    @cached_property
    def _rows(self) -> list[StarRows]:
        return [r for star in self._stars if (r := star.rows()) is not None]

    @cached_property
    def _errors(self) -> dict[Scales, float]:
        """Row noise at every scale: the truncation error, down to the precision of the algebra."""
        return {
            scales: max(_EXACT, truncation(self._basis(scales), self._rows, _EXACT)) for scales in self.grid
        }

    def _basis(self, scales: Scales) -> Sines:
        return sines(self._q, scales[0], self.space.dim)


class SumAndRestPhysics(Family):
    """The same sums beside a rest that couples pairs of axes, and that the equation does not see.

    A setting is the scale of the sum, the length scale of the rest, and its size: a share of what the physics leaves of
    the sum.
    """

    name = "sum and a rest"
    physics = True

    def __init__(self, sums: SumPhysics) -> None:
        super().__init__(sums.space)
        self._sums = sums
        self._known: dict[Scales, SumAndRest] = {}
        self._kernels = {
            length: RememberedKernel("pairwise", np.full(sums.space.dim, length), constant=0.0)
            for length in _REST_LENGTHS
        }

    @property
    def grid(self) -> list[Scales]:
        """Every scale of the sum with every rest."""
        return [
            (*scales, length, share)
            for scales in self._sums.grid
            for length in _REST_LENGTHS
            for share in _REST_SHARES
        ]

    def log_prior(self, scales: Scales) -> float:
        """Flat."""
        return 0.0

    def prior(self, scales: Scales, data: Data) -> Informed | None:
        """Both."""
        own, length, share = scales[:-2], *scales[-2:]
        given = self._sums.prior(own, data)
        if given is None:
            return None
        if scales not in self._known or self._known[scales].sum is not given:
            size = share * float(np.sqrt(given.variation))
            self._known[scales] = SumAndRest(given, self._kernels[length], size)
        return self._known[scales]

    def largest(self, data: Data) -> list[Informed]:
        """Those with the largest rest, of every length scale."""
        most = [self.prior(s, data) for s in self.grid if s[-1] == max(_REST_SHARES)]
        return [prior for prior in most if prior is not None]

    def described(self, scales: Scales) -> str:
        """With the rest."""
        own, length, share = scales[:-2], *scales[-2:]
        return f"{self._sums.described(own)}, and a rest of {100 * share:.2g}% at {length:.2g}"
