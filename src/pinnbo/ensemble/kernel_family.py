"""The RBF kernel given the PDEs: smooth fields in a few dimensions; linear equations, nonlinear ones, systems.

A linear equation whose source is too sharp for the rows is solved once, and the kernel is given the rest, which has
none (`pinnbo.gp.particular`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from pinnbo.data import Data, Standard
from pinnbo.ensemble.coefficient_search import Search
from pinnbo.ensemble.coefficients import Averaged, Node, average
from pinnbo.ensemble.curve_family import LONGEST
from pinnbo.ensemble.family import Family, Scales, Stated, equal_scales, log_normal
from pinnbo.ensemble.inexact_family import KernelGivenInexactPDE
from pinnbo.ensemble.plain_family import Plain
from pinnbo.ensemble.unresolved_family import Unresolved
from pinnbo.gp.amplitudes import balanced
from pinnbo.gp.conditioning import N_EVEN, N_SPREAD, Filling, given, plain
from pinnbo.gp.equations import Equations
from pinnbo.gp.kernels import RBF, Matern
from pinnbo.gp.nonlinear import Linearised, given_nearly, given_nonlinear
from pinnbo.gp.particular import N_CELLS, Particular, particular_solution
from pinnbo.gp.posterior import condition
from pinnbo.gp.process import Process
from pinnbo.pde import PDE, Collocation
from pinnbo.physics.averages import unresolved
from pinnbo.physics.coordinates import BOX, Coordinates, Stretched
from pinnbo.physics.functionals import Functionals, concatenate
from pinnbo.physics.jets import Coefficients, JetPDE
from pinnbo.region import Region
from pinnbo.space import Space
from pinnbo.thresholds import BOUND, CONFIDENT, FEWEST, POINTS_FILL, POOR, RESOLVED, ROWS_REACH

_LEVELS = 3
_HOPELESS = 0.3  # twice as many rows will not do
_HELD_OUT = 64
_N_INEXACT = 12  # settings with unknown coefficients that are tried with an inexact equation
_TIGHTER = 1e-2  # times the noise of rows: coefficients are told apart by what rows do not allow
_SLACK = 1e-3  # of a row's variance that may be left, if f were as large as what is measured


class _Conditioned(NamedTuple):
    """A process, the error of the source that it predicts, and which number of rows it has been given, if any.

    ``term`` is the standard deviation of the equations' largest term given the rows, as a share of what a row could be.
    """

    process: Process
    error: float
    level: int | None
    term: float = 1.0


class Unit(NamedTuple):
    """What the physics is measured in: the size of the values, and that of other fields that are measured beside it."""

    scale: float
    hidden: tuple[float | None, ...] = ()


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
        self._has_hidden = len(stated.fields) > 1
        self._filling = None if stated.space.is_box else _filling(stated.space, coordinates)
        self._particular = self._solved() if stated.is_linear and stated.is_plain else None
        solved = "" if self._particular is None else "and a particular solution"
        symmetric = "" if stated.images is None else "symmetric"
        self.name = ", ".join(filter(None, ["rbf", coordinates.words, symmetric, solved]))
        self._noisy = any(pde.noise > 0 for pde in stated.physics)
        self._root = float(np.sqrt(stated.space.dim))
        self._kernels: dict[Scales, RBF] = {}
        self._points: dict[tuple[int, int], list[tuple[PDE, Collocation]]] = {}
        self._rows: dict[tuple[int, int, Node], Equations] = {}
        self._known: dict[tuple[Scales, Unit], _Conditioned] = {}
        self._searched: _Tried | None = None
        self._solutions: tuple[Data, dict[Scales, Linearised | None]] | None = None

    # ---------------------------------------------------------------- settings

    @property
    def lengths(self) -> list[Scales]:
        """Length scales by factors of two; those of curves are followed exactly (`curve_family`)."""
        above = 0.0 if self._stated.characteristics is None else LONGEST
        return [scales for scales in equal_scales(self.space, self._root, 1) if scales[0] > above]

    @property
    def grid(self) -> list[Scales]:
        """Length scales, in the middle of what is unknown besides."""
        return [self.setting(lengths, 1.0, (0.5,) * len(self._stated.unknowns)) for lengths in self.lengths]

    def settings(self, data: Data) -> list[tuple[Scales, float]]:
        """The grid; with unknown coefficients, at every cell of their prior."""
        if not self._stated.unknowns:
            return super().settings(data)
        return [(setting, self.log_prior(setting)) for setting in self._average(data).tried]

    def log_prior(self, scales: Scales) -> float:
        """As without physics; hidden fields within a factor of ten of balance; coefficients by the cell's volume."""
        lengths, factor, shares = self._parts(scales)
        volume = 0.0 if self._searched is None else self._searched.log_priors.get(shares, 0.0)
        return log_normal(lengths, self._root) - 0.5 * float(np.log10(factor)) ** 2 + volume

    def log_mass(self, used: Sequence[Scales]) -> float:
        """One with unknown coefficients, whose cells fill their prior."""
        return 0.0 if self._stated.unknowns else super().log_mass(used)

    def log_prior_of(self, lengths: Scales) -> float:
        """Of length scales."""
        return log_normal(lengths, self._root)

    def refined(self, scales: Scales, data: Data) -> list[tuple[Scales, float]]:
        """Each axis twice and half as long; hidden fields ten times and a tenth as large."""
        if len(data.values) < FEWEST:
            return []
        lengths, factor, shares = self._parts(scales)
        moves: list[Scales] = []
        if self.space.dim > 1 and not shares:  # coefficients are averaged over with all of these
            factors = np.concatenate([2.0 ** np.eye(self.space.dim), 0.5 ** np.eye(self.space.dim)])
            moves = [tuple(move.tolist()) for move in np.array(lengths) * factors]
        found = [self.setting(move, factor, shares) for move in moves]
        if self._has_hidden:
            found += [self.setting(lengths, factor * by, shares) for by in (0.1, 10.0)]
        return [(setting, self.log_prior(setting)) for setting in found]

    def coefficients(self, data: Data) -> Averaged | None:
        """The unknowns' prior in cells, with what the data say of each."""
        return self._average(data).cells if self._stated.unknowns else None

    def described(self, scales: Scales) -> str:
        """With the values of unknown coefficients."""
        lengths, factor, shares = self._parts(scales)
        pairs = zip(self._stated.unknowns, shares, strict=True)
        hidden = [f"hidden fields {factor:g} times as large as balances"] if factor != 1.0 else []
        return ", ".join(
            [super().described(lengths), *hidden, *(f"{u.name} = {u.at(v):.4g}" for u, v in pairs)]
        )

    def setting(self, lengths: Scales, factor: float, shares: Node) -> Scales:
        """Length scales; the factor of the hidden fields' amplitudes, if any; shares of the unknowns' priors."""
        return (*lengths, *((factor,) if self._has_hidden else ()), *shares)

    def _parts(self, setting: Scales) -> tuple[Scales, float, Node]:
        rest = setting[self.space.dim :]
        return setting[: self.space.dim], rest[0] if self._has_hidden else 1.0, rest[int(self._has_hidden) :]

    def shares_of(self, setting: Scales) -> Node:
        """Of the unknowns' priors."""
        return self._parts(setting)[2]

    def _average(self, data: Data) -> _Tried:
        """Divide the unknowns' prior by the evidence averaged over length scales; once for the same data."""
        if self._searched is None or not (
            data.extends(self._searched.data) and self._searched.data.extends(data)
        ):
            search = Search(self, data)
            widened = search.widened if len(data.values) >= FEWEST else None
            # with less the equation would be accused
            enough = self._without(data) + float(np.log((1.0 - CONFIDENT) / CONFIDENT))
            cells = average(search.log_evidence, len(self._stated.unknowns), widened, enough)
            volumes = cells.log_volume_of()
            self._searched = _Tried(
                data,
                cells,
                search.ranked(set(volumes)),
                {shares: volume - search.masses[shares] for shares, volume in volumes.items()},
            )
        return self._searched

    def _without(self, data: Data) -> float:
        """The evidence of the same kernels without the equations."""
        if self._has_hidden:
            return -np.inf
        kernels = {each: RBF(np.array(each), periodic=self.space.periodic) for each in self.lengths}
        found = [
            self.log_prior_of(each) + condition(plain(kernel), data, self.space).log_evidence
            for each, kernel in kernels.items()
        ]
        return float(
            np.logaddexp.reduce(found) - np.logaddexp.reduce([self.log_prior_of(e) for e in kernels])
        )

    # ---------------------------------------------------------------- processes

    def process(self, scales: Scales, data: Data) -> Process | None:
        """Conditioned once for a linear PDE; linearised at the mean given the data otherwise."""
        unit = self.unit(data)
        process, error, _, _ = self.conditioned(scales, unit)
        if error == np.inf:
            return None
        if error > RESOLVED and error > POOR * min(
            self.conditioned(other, unit).error for other in self._other_lengths(scales)
        ):
            return None
        if not process.has_physics and self._coordinates is not BOX:
            # without the equation it would be another model, and count as evidence for the equation
            return None
        if self._stated.is_linear or not process.has_physics:
            return process
        found = self._linearised(scales, data)
        if found is None:
            return None
        return self._whole(found.given.compressed(self._filling) or found.given.process())

    def _linearised(self, scales: Scales, data: Data) -> Linearised | None:
        """At the mean given the data, once for the same data."""
        known = self._solved_with(data)
        if scales not in known:
            equations = self._equations(0, self._parts(scales)[2])
            kernel = self._kernel(scales, equations, self.unit(data).hidden, data.standard)
            found = {other: solution for other, solution in known.items() if solution is not None}
            near = found[min(found, key=partial(self._apart, scales))] if found else None
            known[scales] = given_nonlinear(
                equations, kernel, data, self.space, self._stated.row_noise, near=near
            )
        return known[scales]

    def _apart(self, setting: Scales, other: Scales) -> float:
        """How far apart two settings' length scales are."""
        ratios = np.divide(self._parts(setting)[0], self._parts(other)[0])
        return float(np.sum(np.abs(np.log(ratios))))

    def _solved_with(self, data: Data) -> dict[Scales, Linearised | None]:
        """What has been linearised for these data."""
        if self._solutions is None or not (
            data.extends(self._solutions[0]) and self._solutions[0].extends(data)
        ):
            self._solutions = data, {}
        return self._solutions[1]

    def _other_lengths(self, setting: Scales) -> list[Scales]:
        _, factor, shares = self._parts(setting)
        return [self.setting(lengths, factor, shares) for lengths in self.lengths]

    def loosened(self, misfits: Sequence[float]) -> list[Family]:
        """A family for each size, in the same coordinates."""
        return [KernelGivenInexactPDE(self, misfit) for misfit in misfits]

    def inexact_settings(self, data: Data) -> list[tuple[Scales, float]]:
        """With unknown coefficients the likeliest, which are told apart by the exact equation."""
        return self.settings(data)[: _N_INEXACT if self._stated.unknowns else None]

    def inexact(self, scales: Scales, data: Data, misfit: float) -> Process | None:
        """Given as many rows as bind an exact equation, with a misfit; None where they do not."""
        unit = self.unit(data)
        _, _, level, term = self.conditioned(scales, unit)
        if level is None:
            return None
        noise, shares = self._stated.row_noise, self._parts(scales)[2]
        if self.keeps:
            kernel = self._kernel(scales, self._equations(level, shares), unit.hidden, misfit=misfit)
            rows = self._rest(level, shares)
            found = given(
                kernel, rows, unit.scale, noise, misfit=misfit * term, coordinates=self._coordinates
            )
        else:
            exact, equations = self._linearised(scales, data), self._equations(0, shares)
            if exact is None and any(self._solved_with(data).values()):
                return None  # too smooth for the solutions that there are
            kernel = self._kernel(scales, equations, unit.hidden, data.standard, misfit)
            found = given_nearly(equations, kernel, data, self.space, noise, misfit * term, exact)
        return None if found is None else self._whole(found.compressed(self._filling) or found.process())

    def binds(self, scales: Scales, data: Data) -> bool:
        """Whether rows bind the equations at these length scales; beyond the grid as at its end."""
        nearest = min(self.grid, key=lambda known: abs(np.log(known[0] / scales[0])), default=None)
        return nearest is None or self.conditioned(nearest, self.unit(data)).level is not None

    @property
    def keeps(self) -> bool:
        """Whether what follows from the physics is the same for all data."""
        return self._stated.is_linear

    @property
    def is_dear(self) -> bool:
        """For nonlinear equations, unless coefficients are searched for."""
        return not (self._stated.is_linear or self._stated.unknowns)

    def unit(self, data: Data) -> Unit:
        """The source's noise is measured in units of the values: a power of two, so that it seldom changes.

        Other fields that are measured are as large as they were found, to a power of two.
        """
        scale = data.standard.rounded.scale if self._noisy or self._stated.unknowns else 1.0
        if data.is_plain or not self._has_hidden:
            return Unit(scale)
        sizes = [data.amplitude(field) for field in range(1, len(self._stated.fields))]
        own = data.standard.scale
        return Unit(scale, tuple(None if s is None else 2.0 ** round(float(np.log2(s / own))) for s in sizes))

    def conditioned(self, scales: Scales, unit: Unit) -> _Conditioned:
        """Given as many rows as bind the equation, or none, with the error of the source that it predicts."""
        if (scales, unit) not in self._known:
            self._known[scales, unit] = self._try_rows(scales, unit)
        return self._known[scales, unit]

    def _try_rows(self, setting: Scales, unit: Unit) -> _Conditioned:
        linear, shares = self._stated.is_linear, self._parts(setting)[2]
        # many coefficients are tried: with the fewest rows
        for level in range(_LEVELS if linear and not shares else 1):
            equations = self._equations(level, shares)
            kernel, rows = self._kernel(setting, equations, unit.hidden), self._rest(level, shares)
            noise = self._stated.row_noise * (_TIGHTER if shares else 1.0)
            found = given(kernel, rows, unit.scale, noise, coordinates=self._coordinates)
            if found is None:
                break
            held_out = self._held_out(shares)
            if held_out is None:
                return _Conditioned(self._whole(found.process()), 0.0, level)
            free, error = found.between(held_out)
            if free < BOUND:
                error = error if linear else 0.0
                process = (found.compressed(self._filling) if linear else None) or found.process()
                process = replace(self._whole(process), mean_counts=bool(shares))
                if shares and free > _SLACK * process.expected_variation(Standard(0.0, unit.scale)):
                    # too smooth for any solution: what is left are the errors that rows are allowed, and in the
                    # size of the measurements these would fit an equation with any coefficient
                    error = np.inf
                return _Conditioned(process, error, level, found.largest_term(held_out))
            if free > _HOPELESS:
                break
        kernel = self._kernel(setting, self._equations(0, shares), unit.hidden)
        return _Conditioned(plain(kernel), 0.0, None)

    def _kernel(
        self,
        setting: Scales,
        equations: Equations,
        measured: tuple[float | None, ...],
        standard: Standard | None = None,
        misfit: float = 0.0,
    ) -> RBF:
        """Hidden fields as large as balances the equations, or as they were measured, times the factor.

        Symmetries hold as exactly as the equations.
        """
        lengths, factor, _ = self._parts(setting)
        scale, images = np.array(lengths), self._stated.images
        if misfit and images is not None:
            images = images.loosened(misfit)
        if not self._has_hidden:  # one for all that differ in their rows alone: it remembers what they share
            key = (*lengths, 0.0 if images is None else misfit)
            return self._kernels.setdefault(key, RBF(scale, periodic=self.space.periodic, images=images))
        hidden = balanced(equations, scale, len(self._stated.fields), standard or Standard(0.0, 1.0))[1:]
        if measured:
            pairs = zip(hidden, measured, strict=True)
            hidden = tuple(guess if known is None else known for guess, known in pairs)
        amplitudes = (1.0, *(factor * amplitude for amplitude in hidden))
        return RBF(scale, periodic=self.space.periodic, images=images, amplitudes=amplitudes)

    def _held_out(self, shares: Node) -> Functionals | None:
        """At other points, the equations that hold everywhere."""
        everywhere = any(jet.pde.points is None for jet in self._jets)
        return self._rest(0, shares, stream=1) if everywhere else None

    def _solved(self) -> Particular | None:
        """A particular solution, where the source is too sharp for the rows: their spacing is the side of a cell."""
        everywhere = [jet for jet in self._jets if jet.pde.points is None]
        # splines are those of a box in the user's coordinates
        if self.space.dim not in N_CELLS or self.space.periodic or not self.space.is_linear:
            return None
        if not everywhere or not self._is_central:
            return None
        if max(unresolved(jet, self._stated.per_axis) for jet in everywhere) <= RESOLVED:
            return None
        found = particular_solution(everywhere)
        return found if found is None or self._stated.images is None else found.symmetric(self._stated.images)

    @property
    def _is_central(self) -> bool:
        return self._stated.images is None or self._stated.images.is_central

    def _whole(self, rest: Process) -> Process:
        """The process of f from that of what the rows are about."""
        if self._filling is not None:
            rest = replace(rest, filling=self._coordinates.back(self._filling.even))
        return rest if self._particular is None else self._particular.added_to(rest)

    def _rest(self, level: int, shares: Node = (), stream: int = 0) -> Functionals:
        """The rows of what a particular solution leaves: no source, and conditions less what it has there."""
        if self._particular is None:
            return self._equations(level, shares, stream).at_start
        parts = []
        for jet, points, source in self._collocated(level, stream, {}):
            rows = jet.rows(points, source)
            left = 0.0 * rows.values if jet.pde.points is None else rows.values - self._particular.of(rows)
            parts.append(replace(rows, values=left))
        return concatenate(parts)

    def _equations(self, level: int, shares: Node = (), stream: int = 0) -> Equations:
        """The equations at collocation points, twice as many at every level; a stream of its own is held out."""
        if (level, stream, shares) not in self._rows:
            given = {u.name: u.at(v) for u, v in zip(self._stated.unknowns, shares, strict=True)}
            self._rows[level, stream, shares] = Equations(self._collocated(level, stream, given), given)
        return self._rows[level, stream, shares]

    def _collocated(
        self, level: int, stream: int, given: Coefficients
    ) -> list[tuple[JetPDE, ndarray, ndarray]]:
        """Every equation with its points and its source there."""
        drawn = zip(self._jets, self._collocation(level, stream), strict=True)
        return [
            (jet, self._coordinates.of(self.space.scale(c.points)), _source(pde, c, given))
            for jet, (pde, c) in drawn
            if pde.points is None or not stream
        ]

    def _collocation(self, level: int, stream: int) -> list[tuple[PDE, Collocation]]:
        if (level, stream) not in self._points:
            # every step of Gauss-Newton costs the cube of the rows; half of them were measured to do as well
            rows = self._stated.per_equation // (1 if self._stated.is_linear else 2)
            n = _HELD_OUT if stream else max(1, rows) * 2**level
            self._points[level, stream] = self._stated.collocate(n, stream, self._coordinates)
        return self._points[level, stream]


def _filling(space: Space, coordinates: Coordinates) -> Filling:
    """Of a space that is not a box."""
    even = space.scale(space.sobol(N_EVEN, 1))
    # the first of them are used, some of which are to be on the boundary
    spread = np.random.default_rng(0).permutation(Region(space).candidates(N_SPREAD, 2))
    return Filling(coordinates.of(even), coordinates.of(spread))


def _source(pde: PDE, at: Collocation, given: Coefficients) -> Float[ndarray, "r k"]:
    """The source at collocation points, for some coefficients."""
    mine = {name: value for name, value in given.items() if name in pde.unknowns}
    return np.broadcast_to(pde.source_at(at.points, **mine), at.source.shape) if mine else at.source


class _Tried(NamedTuple):
    """The unknowns' prior in cells on some data, the settings that were tried for it, the likeliest first, and priors.

    A length scale that cannot be used with some coefficients does not count against them: ``log_priors`` are the
    cells' volumes over the prior of the length scales that could.
    """

    data: Data
    cells: Averaged
    tried: list[Scales]
    log_priors: dict[Node, float]


def kernel_families(stated: Stated) -> list[Family]:
    """In the box' coordinates; for linear equations of few coordinates also in stretched ones."""
    dim = stated.space.dim
    if dim > ROWS_REACH:
        return []
    in_box = KernelGivenPDE(stated)
    found: list[Family] = [in_box, Unresolved(Plain(stated.space, Matern, stated.images), in_box)]
    few = 1 < dim <= POINTS_FILL and not stated.unknowns
    faces = stated.space.is_linear and not stated.space.periodic
    # stretched coordinates are turned round as those of the box are, about its middle
    faces &= stated.images is None or stated.images.is_central
    if few and faces and stated.is_linear and stated.characteristics is None:
        found.append(KernelGivenPDE(stated, Stretched()))
    return found
