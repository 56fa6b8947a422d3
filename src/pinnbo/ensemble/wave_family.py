"""Linear equations with constant coefficients whose solutions are waves: a prior on exact solutions."""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property

import numpy as np

from pinnbo.data import Data
from pinnbo.ensemble.family import Family, Scales, Stated, equal_scales, log_normal
from pinnbo.gp.process import Process
from pinnbo.gp.waves import Solutions, given
from pinnbo.physics.functionals import Functionals, concatenate
from pinnbo.physics.jets import JetPDE
from pinnbo.physics.particular import particular
from pinnbo.physics.symbol import Symbol

_DIMENSIONS = 3  # in more of them a quadrature needs too many frequencies


class ExactWaves(Family):
    """Solutions of one equation, given what else is known of them: conditions at points."""

    def __init__(self, stated: Stated, solutions: Solutions) -> None:
        super().__init__(stated.space)
        self._stated, self._solutions = stated, solutions
        self._known: dict[Scales, Process | None] = {}

    def process(self, scales: Scales, data: Data) -> Process | None:
        """Built once; nothing is left to condition on but stated conditions."""
        if scales not in self._known:
            found = self._built(scales)
            conditions = self._conditions
            if found is not None and conditions is not None:
                found = given(found, conditions, self._stated.row_noise)
            self._known[scales] = found
        return self._known[scales]

    @abstractmethod
    def _built(self, scales: Scales) -> Process | None:
        """The solutions, before conditions."""

    @cached_property
    def _conditions(self) -> Functionals | None:
        """Rows of the PDEs that have points of their own."""
        rows = []
        for pde, collocation in self._stated.collocate(1, 0):
            if pde.points is not None:
                jet = JetPDE(self.space, pde)
                rows.append(jet.rows(self.space.scale(collocation.points), collocation.source))
        return concatenate(rows) if rows else None


class EvolvingWaves(ExactWaves):
    """Modes that evolve along an axis; a setting is a length scale on the other axes."""

    def __init__(self, stated: Stated, solutions: Solutions, axis: int) -> None:
        super().__init__(stated, solutions)
        self.name = f"exact solutions evolving along {stated.space.names[axis]}"
        self._axis = axis
        self._root = float(np.sqrt(stated.space.dim))

    @property
    def grid(self) -> list[Scales]:
        """By factors of two, as of a kernel."""
        return [scales[:1] for scales in equal_scales(self.space, self._root, 1)]

    def log_prior(self, scales: Scales) -> float:
        """As of a kernel."""
        return log_normal(scales, self._root)

    def _built(self, scales: Scales) -> Process | None:
        return self._solutions.evolving(self._axis, scales[0])


class StandingWaves(ExactWaves):
    """Waves of all directions alike, or the few solutions of an ordinary equation: there is one setting."""

    def __init__(self, stated: Stated, solutions: Solutions) -> None:
        super().__init__(stated, solutions)
        self.name = (
            "exact standing waves of all directions" if stated.space.dim > 1 else "all exact solutions"
        )

    @property
    def grid(self) -> list[Scales]:
        """The wavelength is the equation's: nothing is to be chosen."""
        return [()]

    def _built(self, scales: Scales) -> Process | None:
        return self._solutions.standing() if self.space.dim > 1 else self._solutions.all()

    def described(self, scales: Scales) -> str:
        """Its name."""
        return self.name


def wave_families(stated: Stated) -> list[Family]:
    """Of one equation with constant coefficients that holds everywhere, and linear conditions at points."""
    everywhere = [pde for pde in stated.physics if pde.points is None]
    if len(everywhere) != 1 or stated.space.dim > _DIMENSIONS or not stated.is_linear:
        return []
    symbol = Symbol.of(stated.space, everywhere[0])
    if symbol is None:
        return []
    axis = symbol.evolution_axis
    if axis is None and not symbol.has_shells:
        return []
    psi = particular(symbol)
    if psi is None:
        return []
    solutions = Solutions(symbol, psi)
    if axis is None or stated.space.dim == 1:
        return [StandingWaves(stated, solutions)]
    return [EvolvingWaves(stated, solutions, axis)]
