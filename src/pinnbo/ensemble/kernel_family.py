"""The RBF kernel given the PDEs: smooth fields in a few dimensions; linear equations, nonlinear ones, systems.

A linear equation whose source is too sharp for the rows is solved once, and the kernel is given the rest, which has
none (`pinnbo.gp.particular`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy import ndarray

from pinnbo.data import Data, Standard
from pinnbo.ensemble.curve_family import LONGEST
from pinnbo.ensemble.family import Family, Scales, Stated, equal_scales, log_normal
from pinnbo.ensemble.plain_family import Plain
from pinnbo.gp.conditioning import given, plain
from pinnbo.gp.kernels import RBF, Matern
from pinnbo.gp.nonlinear import Equations, given_nonlinear
from pinnbo.gp.particular import N_CELLS, Particular, particular_solution
from pinnbo.gp.process import Process
from pinnbo.physics.averages import unresolved
from pinnbo.physics.coordinates import BOX, Coordinates, Stretched
from pinnbo.physics.functionals import Functionals, concatenate
from pinnbo.physics.jets import JetPDE

DIMENSIONS = 5  # in more of them as many rows as can be had bind an equation nowhere

_STRETCHED_DIMENSIONS = 3
_LEVELS = 3
_BOUND = 0.02  # of a row's variance may be left between the rows
_HOPELESS = 0.3  # twice as many rows will not do
_HELD_OUT = 64
_POOR = 1.5  # times the error of the source at the best length scale
_GOOD = 1e-2  # an error of the source that no length scale is refused for


class _Conditioned(NamedTuple):
    """A process, the error of the source that it predicts, and which number of rows it has been given, if any.

    ``term`` is the standard deviation of the equations' largest term given the rows, as a share of what a row could be.
    """

    process: Process
    error: float
    level: int | None
    term: float = 1.0


class KernelGivenPDE(Family):
    """The kernel given the PDEs, in the coordinates of the box or in stretched ones.

    Rows bind the equation between them only at length scales above their spacing; how far they do is seen at points
    that were held out. Below that a kernel is free to break the equation, and how well it then fits would count as
    evidence for the physics. Shorter scales are therefore given more rows, and where those do not suffice either none
    at all: the equation says nothing at that resolution. A length scale at which others predict the source better
    would be sure of a wrong mean, and is not used.
    """

    def __init__(self, stated: Stated, coordinates: Coordinates = BOX) -> None:
        super().__init__(stated.space)
        self._stated, self._coordinates = stated, coordinates
        self._jets = [JetPDE(stated.space, pde, coordinates) for pde in stated.physics]
        self._particular = self._solved() if stated.is_linear else None
        solved = "" if self._particular is None else "and a particular solution"
        self.name = ", ".join(filter(None, ["rbf", coordinates.words, solved]))
        self._noisy = any(pde.noise > 0 for pde in stated.physics)
        self._root = float(np.sqrt(stated.space.dim))
        self._rows: dict[tuple[int, int], Equations] = {}
        self._known: dict[tuple[Scales, float], _Conditioned] = {}

    @property
    def grid(self) -> list[Scales]:
        """Length scales by factors of two; those of curves are followed exactly (`curve_family`)."""
        above = 0.0 if self._stated.characteristics is None else LONGEST
        return [scales for scales in equal_scales(self.space, self._root, 1) if scales[0] > above]

    def log_prior(self, scales: Scales) -> float:
        """As without physics."""
        return log_normal(scales, self._root)

    def refined(self, scales: Scales, data: Data) -> list[tuple[Scales, float]]:
        """Each axis twice and half as long."""
        if self.space.dim == 1 or len(data.values) < 4:
            return []
        factors = np.concatenate([2.0 ** np.eye(self.space.dim), 0.5 ** np.eye(self.space.dim)])
        moves = [tuple(move.tolist()) for move in np.array(scales) * factors]
        return [(move, self.log_prior(move)) for move in moves]

    def process(self, scales: Scales, data: Data) -> Process | None:
        """Conditioned once for a linear PDE; linearised at the mean given the data otherwise."""
        unit = self.unit(data)
        process, error, _, _ = self.conditioned(scales, unit)
        least = min(self.conditioned(other, unit).error for other in self.grid)
        if error > max(_POOR * least, _GOOD):
            return None
        if not process.has_physics and self._coordinates is not BOX:
            # without the equation it would be another model, and count as evidence for the equation
            return None
        if self._stated.is_linear or not process.has_physics:
            return process
        kernel, noise = RBF(np.array(scales)), self._stated.row_noise
        found = given_nonlinear(self._equations(0), kernel, data, self.space, noise)
        return None if found is None else found.compressed() or found.process()

    def loosened(self, misfits: Sequence[float]) -> list[Family]:
        """In the coordinates of the box."""
        if self._coordinates is not BOX:
            return []
        return [KernelGivenInexactPDE(self, misfit) for misfit in misfits]

    def inexact(self, scales: Scales, data: Data, misfit: float) -> Process | None:
        """Given as many rows as bind an exact equation, with a misfit; None where they do not."""
        unit = self.unit(data)
        _, _, level, term = self.conditioned(scales, unit)
        if level is None:
            return None
        kernel, noise = RBF(np.array(scales)), self._stated.row_noise
        if self.keeps:
            found = given(kernel, self._rest(level), unit, noise, misfit=misfit * term)
        else:
            found = given_nonlinear(self._equations(0), kernel, data, self.space, noise, misfit * term)
        return None if found is None else self._whole(found.compressed() or found.process())

    def binds(self, scales: Scales, data: Data) -> bool:
        """Whether rows bind the equations at these length scales; beyond the grid as at its end."""
        nearest = min(self.grid, key=lambda known: abs(np.log(known[0] / scales[0])), default=None)
        return nearest is None or self.conditioned(nearest, self.unit(data)).level is not None

    @property
    def keeps(self) -> bool:
        """Whether what follows from the physics is the same for all data."""
        return self._stated.is_linear

    def unit(self, data: Data) -> float:
        """The source's noise is measured in units of the values: a power of two, so that it seldom changes."""
        return Standard.of(data.values).rounded.scale if self._noisy else 1.0

    def conditioned(self, scales: Scales, unit: float) -> _Conditioned:
        """Given as many rows as bind the equation, or none, with the error of the source that it predicts."""
        if (scales, unit) not in self._known:
            self._known[scales, unit] = self._try_rows(RBF(np.array(scales)), unit)
        return self._known[scales, unit]

    def _try_rows(self, kernel: RBF, unit: float) -> _Conditioned:
        linear = self._stated.is_linear
        for level in range(_LEVELS if linear else 1):
            rows = self._rest(level)
            found = given(kernel, rows, unit, self._stated.row_noise, coordinates=self._coordinates)
            if found is None:
                break
            if self._held_out is None:
                return _Conditioned(self._whole(found.process()), 0.0, level)
            free, error = found.between(self._held_out)
            if free < _BOUND:
                error = error if linear else 0.0
                process = found.compressed() if linear else None
                term = found.largest_term(self._held_out)
                return _Conditioned(self._whole(process or found.process()), error, level, term)
            if free > _HOPELESS:
                break
        return _Conditioned(plain(kernel), 0.0, None)

    @cached_property
    def _held_out(self) -> Functionals | None:
        """At other points, the equations that hold everywhere."""
        everywhere = any(jet.pde.points is None for jet in self._jets)
        return self._rest(0, stream=1) if everywhere else None

    def _solved(self) -> Particular | None:
        """A particular solution, where the source is too sharp for the rows: their spacing is the side of a cell."""
        everywhere = [jet for jet in self._jets if jet.pde.points is None]
        if not everywhere or self.space.dim not in N_CELLS:
            return None
        spacing = round(self._stated.per_equation ** (1 / self.space.dim))
        if max(unresolved(jet, max(1, spacing)) for jet in everywhere) <= _GOOD:
            return None
        return particular_solution(everywhere)

    def _whole(self, rest: Process) -> Process:
        """The process of f from that of what the rows are about."""
        return rest if self._particular is None else self._particular.added_to(rest)

    def _rest(self, level: int, stream: int = 0) -> Functionals:
        """The rows of what a particular solution leaves: no source, and conditions less what it has there."""
        if self._particular is None:
            return self._equations(level, stream).at_start
        parts = []
        for jet, points, source in self._collocated(level, stream):
            rows = jet.rows(points, source)
            left = 0.0 * rows.values if jet.pde.points is None else rows.values - self._particular.of(rows)
            parts.append(replace(rows, values=left))
        return concatenate(parts)

    def _equations(self, level: int, stream: int = 0) -> Equations:
        """The equations at collocation points, twice as many at every level; a stream of its own is held out."""
        if (level, stream) not in self._rows:
            self._rows[level, stream] = Equations(self._collocated(level, stream))
        return self._rows[level, stream]

    def _collocated(self, level: int, stream: int) -> list[tuple[JetPDE, ndarray, ndarray]]:
        """Every equation with its points and its source there."""
        # every step of Gauss-Newton costs the cube of the rows; half of them were measured to do as well
        rows = self._stated.per_equation // (1 if self._stated.is_linear else 2)
        n = _HELD_OUT if stream else max(1, rows) * 2**level
        drawn = zip(self._jets, self._stated.collocate(n, stream, self._coordinates), strict=True)
        return [
            (jet, self._coordinates.of(self.space.scale(c.points)), c.source)
            for jet, (pde, c) in drawn
            if pde.points is None or not stream
        ]


class KernelGivenInexactPDE(Family):
    """The kernel given PDEs that hold but for a smooth unknown: N[f] = g + e, e a share of their largest term."""

    def __init__(self, exact: KernelGivenPDE, misfit: float) -> None:
        super().__init__(exact.space)
        self._exact, self._misfit = exact, misfit
        self.name = f"rbf, equation within {misfit:.0%}"
        self._known: dict[tuple[Scales, float], Process | None] = {}

    @property
    def grid(self) -> list[Scales]:
        """As of the exact one."""
        return self._exact.grid

    def log_prior(self, scales: Scales) -> float:
        """As of the exact one."""
        return self._exact.log_prior(scales)

    def process(self, scales: Scales, data: Data) -> Process | None:
        """Conditioned once, and again when the values' unit changes that the source's noise is measured in."""
        if not self._exact.keeps:
            return self._exact.inexact(scales, data, self._misfit)
        key = scales, self._exact.unit(data)
        if key not in self._known:
            self._known[key] = self._exact.inexact(scales, data, self._misfit)
        return self._known[key]


class Unresolved(Family):
    """A rough kernel without physics, at length scales that are too fine for the equations to be enforced.

    The solution of a true equation may have a front, a layer or a kink that no row resolves. At such length scales the
    equation says nothing: how well a plain kernel explains the measurements speaks neither for it nor against it, and
    the setting belongs to the true equation as much as to none, with the prior that it has there. Otherwise a front
    would count as evidence against the equation that made it.
    """

    def __init__(self, plain: Family, given: KernelGivenPDE) -> None:
        super().__init__(plain.space)
        self._plain, self._given = plain, given
        self.name = plain.name

    @property
    def grid(self) -> list[Scales]:
        """As without physics."""
        return self._plain.grid

    def log_prior(self, scales: Scales) -> float:
        """As without physics."""
        return self._plain.log_prior(scales)

    def log_mass(self, used: Sequence[Scales]) -> float:
        """Of the whole grid: it is not certain beforehand that the solution is so fine."""
        return super().log_mass(self.grid)

    def process(self, scales: Scales, data: Data) -> Process | None:
        """The plain kernel, or None where the equations can be enforced."""
        return None if self._given.binds(scales, data) else self._plain.process(scales, data)


def kernel_families(stated: Stated) -> list[Family]:
    """In the box' coordinates; for linear equations of few coordinates also in stretched ones."""
    dim = stated.space.dim
    if dim > DIMENSIONS:
        return []
    in_box = KernelGivenPDE(stated)
    found: list[Family] = [in_box, Unresolved(Plain(stated.space, Matern), in_box)]
    if 1 < dim <= _STRETCHED_DIMENSIONS and stated.is_linear and stated.characteristics is None:
        found.append(KernelGivenPDE(stated, Stretched()))
    return found
