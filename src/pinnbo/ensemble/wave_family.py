"""Linear equations with constant coefficients whose solutions are waves: a prior on exact solutions.

An equation that is nearly true has a coefficient that is off: the waves are then the exact ones of another equation, in
which one term is a little larger or smaller. A misfit of a share eps of the largest term is a change of term a by
eps times the largest over the size of a, sizes being root mean squares over the box and the prior.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from pinnbo.data import Data
from pinnbo.ensemble.family import Family, Scales, Stated, equal_scales, log_normal
from pinnbo.gp.process import Process
from pinnbo.gp.waves import Solutions, Waves, given
from pinnbo.physics.functionals import Functionals, concatenate
from pinnbo.physics.jets import JetPDE
from pinnbo.physics.particular import particular
from pinnbo.physics.symbol import Symbol
from pinnbo.sobol import sobol
from pinnbo.thresholds import POINTS_FILL

_PROBES = 64


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

    @abstractmethod
    def of(self, solutions: Solutions) -> ExactWaves:
        """The same for another equation."""

    @property
    def symbol(self) -> Symbol:
        """Of the equation."""
        return self._solutions.symbol

    def loosened(self, misfits: Sequence[float]) -> list[Family]:
        """The exact waves of equations with one coefficient that is off, for each size."""
        return [NearlyWaves(self, misfit) for misfit in misfits]

    def term_sizes(self, scales: Scales) -> Float[ndarray, " a"]:
        """Root mean square of every term of the equation, over the box and the solutions."""
        process = self._built(scales)
        if process is None:
            return np.zeros(len(self.symbol.coefficients))
        waves = process.features
        assert isinstance(waves, Waves)
        points = 2.0 * sobol(self.space.dim, _PROBES, 5) - 1.0
        found = []
        for index, coefficient in zip(self.symbol.derivatives, self.symbol.coefficients, strict=True):
            values = waves.of(Functionals.derivative(points, index))[:, : waves.n_waves]
            found.append(abs(coefficient) * np.sqrt(np.mean(np.sum(values**2, axis=1))))
        return np.array(found)

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

    def of(self, solutions: Solutions) -> EvolvingWaves:
        """Along the same axis."""
        return EvolvingWaves(self._stated, solutions, self._axis)


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

    def of(self, solutions: Solutions) -> StandingWaves:
        """Of another length."""
        return StandingWaves(self._stated, solutions)

    def described(self, scales: Scales) -> str:
        """Its name."""
        return self.name


class NearlyWaves(Family):
    """Exact waves of the equation with one coefficient changed; a setting is that of the waves, the term and a sign."""

    def __init__(self, exact: ExactWaves, misfit: float) -> None:
        super().__init__(exact.space)
        self._exact, self._misfit = exact, misfit
        self.name = f"{exact.name}, a coefficient off by {misfit:.0%}"
        self._known: dict[Scales, Process | None] = {}

    @property
    def grid(self) -> list[Scales]:
        """Every term up and down."""
        terms = range(len(self._exact.symbol.coefficients))
        return [(*s, float(term), sign) for s in self._exact.grid for term in terms for sign in (-1.0, 1.0)]

    def log_prior(self, scales: Scales) -> float:
        """That of the waves."""
        return self._exact.log_prior(scales[:-2])

    def described(self, scales: Scales) -> str:
        """The waves, and by how much a coefficient is off."""
        return f"{self._exact.described(scales[:-2])}, a coefficient off by {self._misfit:.0%}"

    def process(self, scales: Scales, data: Data) -> Process | None:
        """Built once; None where a term is so small that it would have to change its sign, or has no such waves."""
        if scales not in self._known:
            self._known[scales] = self._changed(scales[:-2], int(scales[-2]), scales[-1], data)
        return self._known[scales]

    def _changed(self, scales: Scales, term: int, sign: float, data: Data) -> Process | None:
        sizes, symbol = self._exact.term_sizes(scales), self._exact.symbol
        if not sizes.all() or self._misfit * sizes.max() >= sizes[term]:
            return None
        coefficients = symbol.coefficients.copy()
        coefficients[term] *= 1.0 + sign * self._misfit * sizes.max() / sizes[term]
        other = replace(symbol, coefficients=coefficients)
        psi = particular(other)
        return None if psi is None else self._exact.of(Solutions(other, psi)).process(scales, data)


def wave_families(stated: Stated) -> list[Family]:
    """Of one equation with constant coefficients that holds everywhere, and linear conditions at points."""
    everywhere = [pde for pde in stated.physics if pde.points is None]
    if len(everywhere) != 1 or stated.space.dim > POINTS_FILL or not stated.is_linear:
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
