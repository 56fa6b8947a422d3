"""The families of models that ``auto`` chooses from: what a setting of each makes of the physics.

A setting is a family with length scales. Families with physics and families without it are two hypotheses, compared by
their evidence averaged over a grid of equal length scales on all axes under one prior: a comparison at the most likely
scales of each would reward the one that bends most, and switch true physics off while there are few observations.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from pinnbo.data import Data, Standard
from pinnbo.inference.compressed_prior import compressed
from pinnbo.inference.gauss_newton import Physics, at_start, solve
from pinnbo.inference.jets import JetPDE
from pinnbo.inference.kernel_prior import inform, source_error, unbound, uninformed
from pinnbo.inference.prior import Informed
from pinnbo.inference.scales import likely_scales
from pinnbo.inference.stretch import StretchedPrior, StretchedSpace
from pinnbo.models.kernels import FamilyName, Kernel
from pinnbo.pde import PDE, Collocation
from pinnbo.space import Space

Scales = tuple[float, ...]

KERNEL_DIMENSIONS = 5  # in more of them rows tell a kernel nothing
POOR = 1.5  # times the error of the best length scale

_AROUND = (0.6, 1.0, 1.7)  # times the most likely scales
_LEVELS = 3
_BOUND = 0.02  # of a row's variance may be left between the rows
_HOPELESS = 0.3  # twice as many rows will not do
_HELD_OUT = 64
_GOOD = 1e-2  # an error of the source that no length scale is refused for


class Family(ABC):
    """A way to model f, with a grid of settings."""

    name: str
    physics: bool

    def __init__(self, space: Space) -> None:
        self.space = space

    @property
    @abstractmethod
    def grid(self) -> list[Scales]:
        """Settings with equal length scales on all axes."""

    @abstractmethod
    def log_prior(self, scales: Scales) -> float:
        """Log prior of a setting, not normalised."""

    @abstractmethod
    def prior(self, scales: Scales, data: Data) -> Informed | None:
        """The prior given the physics, or None where the setting cannot be used."""

    def refined(self, scales: Scales, data: Data) -> list[tuple[Scales, float]]:
        """Settings worth trying beside the best of the grid, each with its log prior."""
        return []

    def described(self, scales: Scales) -> str:
        """A setting in words."""
        low, high = min(scales), max(scales)
        return f"{self.name}, length scale " + (f"{low:.2g}" if low == high else f"{low:.2g} to {high:.2g}")


def equal_scales(space: Space, root: float, longest: int) -> list[Scales]:
    """The same length scale on all axes, 2^-5 .. 2^longest times the root of the dimension."""
    return [(float(root * 2.0**power),) * space.dim for power in range(-5, longest + 1)]


def log_normal(scales: Scales, root: float) -> float:
    """Around a third of the root of the dimension: of the box' half diagonal."""
    return -0.5 * float(np.mean((np.log(np.array(scales) / (0.35 * root)) / 1.5) ** 2))


class Plain(Family):
    """A kernel without physics."""

    physics = False

    def __init__(self, space: Space, name: FamilyName) -> None:
        super().__init__(space)
        self.name: FamilyName = name
        self._root = 1.0 if name == "additive" else float(np.sqrt(space.dim))

    @property
    def grid(self) -> list[Scales]:
        """Length scales by factors of two."""
        return equal_scales(self.space, self._root, 2)

    def log_prior(self, scales: Scales) -> float:
        """Log-normal."""
        return log_normal(scales, self._root)

    def prior(self, scales: Scales, data: Data) -> Informed:
        """Nothing to condition on."""
        return uninformed(Kernel(self.name, np.array(scales)))

    def refined(self, scales: Scales, data: Data) -> list[tuple[Scales, float]]:
        """The most likely scales per axis, longer and shorter ones: together as much as the grid a priori."""
        if self.space.dim == 1 or len(data.values) < 3:
            return []
        likely, log_share = likely_scales(self.name, self.space, data)
        each = log_share + float(logsumexp([self.log_prior(s) for s in self.grid])) - np.log(len(_AROUND))
        return [(tuple((factor * likely).tolist()), each) for factor in _AROUND]


Equations = Sequence[tuple[PDE, Collocation]]


class _Conditioned(NamedTuple):
    """A prior, the error of the source that it predicts, and which number of rows it has been given, if any."""

    prior: Informed
    error: float
    level: int | None


class KernelPhysics(Family):
    """The RBF kernel given the PDEs, in sample space.

    Rows bind the equation between them only at length scales above their spacing; how far they do is seen at points
    that were held out. Below that a kernel is free to break the equation, and how well it then fits would count as
    evidence for the physics. Shorter scales are therefore given more rows, and where those do not suffice either none
    at all: the equation says nothing at that resolution. A length scale at which others predict the source better
    would be sure of a wrong mean, and is not used.

    In a stretched frame (`pinnbo.inference.stretch`) the kernel is finer towards the faces of the box.
    """

    physics = True

    def __init__(
        self,
        space: Space,
        frame: Space,
        draw: Callable[[int, int], Equations],
        n: int,
        row_noise: float,
        above: float = 0.0,
    ) -> None:
        """``draw(n, stream)`` makes n collocation points per PDE in the frame, others in every stream.

        Length scales up to ``above`` are left to another family.
        """
        super().__init__(space)
        self._frame, self._draw, self._n, self._row_noise = frame, draw, n, row_noise
        self._above = above
        self._is_stretched = isinstance(frame, StretchedSpace)
        self.name = "rbf, finer towards the faces" if self._is_stretched else "rbf"
        self._jets = [JetPDE(frame, pde) for pde, _ in draw(1, 0)]
        pdes = [jet.pde for jet in self._jets]
        self._linear = all(pde.is_linear(space) for pde in pdes)
        self._noisy = any(pde.noise > 0 for pde in pdes)
        self._root = float(np.sqrt(space.dim))
        self._physics: dict[int, Physics] = {}
        self._known: dict[tuple[Scales, float], _Conditioned] = {}

    @property
    def grid(self) -> list[Scales]:
        """Length scales by factors of two."""
        return [scales for scales in equal_scales(self.space, self._root, 1) if scales[0] > self._above]

    def log_prior(self, scales: Scales) -> float:
        """As without physics."""
        return log_normal(scales, self._root)

    def refined(self, scales: Scales, data: Data) -> list[tuple[Scales, float]]:
        """Each axis twice and half as long."""
        if self.space.dim == 1 or len(data.values) < 4:
            return []
        moves: list[Scales] = []
        for axis in range(self.space.dim):
            for factor in (0.5, 2.0):
                moved = list(scales)
                moved[axis] *= factor
                moves.append(tuple(moved))
        return [(move, self.log_prior(move)) for move in moves]

    def prior(self, scales: Scales, data: Data) -> Informed | None:
        """Conditioned once for a linear PDE; linearised at the mean given the data otherwise."""
        scale = self._unit(data)
        prior, error, _ = self._conditioned(scales, scale)
        if error > POOR * min(self._conditioned(other, scale).error for other in self.grid) and error > _GOOD:
            return None
        if self._is_stretched:
            # without the equation it would be another model, and count as evidence for the equation
            return StretchedPrior(prior) if prior.has_physics else None
        if self._linear or not prior.has_physics:
            return prior
        solved = solve(self._rows(0), Kernel("rbf", np.array(scales)), data, self.space, self._row_noise)
        return None if solved is None else compressed(solved) or solved

    def inexact(self, misfit: float) -> InexactPhysics | None:
        """The same equations, taken to hold but for a smooth unknown; only where they are linear, in the box itself."""
        return InexactPhysics(self, misfit) if self._linear and not self._is_stretched else None

    def loosened(self, scales: Scales, data: Data, misfit: float) -> Informed | None:
        """Given as many rows as bind an exact equation, with a misfit; None where they do not."""
        scale = self._unit(data)
        level = self._conditioned(scales, scale).level
        if level is None:
            return None
        kernel, rows = Kernel("rbf", np.array(scales)), at_start(self._rows(level))
        prior = inform(kernel, rows, scale, self._row_noise, misfit=misfit)
        return compressed(prior) or prior

    def _unit(self, data: Data) -> float:
        """The source's noise is measured in units of the values: a power of two, so that it seldom changes."""
        return Standard.of(data.values).rounded.scale if self._noisy else 1.0

    def _conditioned(self, scales: Scales, scale: float) -> _Conditioned:
        """Given as many rows as bind the equation, or none, with the error of the source that it predicts."""
        if (scales, scale) not in self._known:
            self._known[scales, scale] = self._try_rows(Kernel("rbf", np.array(scales)), scale)
        return self._known[scales, scale]

    def _try_rows(self, kernel: Kernel, scale: float) -> _Conditioned:
        for level in range(_LEVELS if self._linear else 1):
            prior = inform(kernel, at_start(self._rows(level)), scale, self._row_noise)
            if self._held_out is None:
                return _Conditioned(prior, 0.0, level)
            held_out = at_start(self._held_out)
            free = unbound(prior, held_out)
            if free < _BOUND:
                error = source_error(prior, held_out) if self._linear else 0.0
                return _Conditioned((compressed(prior) if self._linear else None) or prior, error, level)
            if free > _HOPELESS:
                break
        return _Conditioned(uninformed(kernel), 0.0, None)

    def _rows(self, level: int) -> Physics:
        """The equations at collocation points, twice as many at every level."""
        if level not in self._physics:
            self._physics[level] = self._equations(self._n * 2**level, 0, everywhere=False)
        return self._physics[level]

    @cached_property
    def _held_out(self) -> Physics | None:
        """At other points, the equations that hold everywhere."""
        return (
            self._equations(_HELD_OUT, 1, everywhere=True)
            if any(j.pde.points is None for j in self._jets)
            else None
        )

    def _equations(self, n: int, stream: int, everywhere: bool) -> Physics:
        drawn = zip(self._jets, self._draw(n, stream), strict=True)
        return Physics(
            [
                (jet, self._frame.scale(c.points), c.source)
                for jet, (pde, c) in drawn
                if pde.points is None or not everywhere
            ]
        )


class InexactPhysics(Family):
    """The kernel given PDEs that hold but for a smooth unknown: N[f] = g + e, e a share of what N[f] could be."""

    name = "rbf, inexact equation"
    physics = True

    def __init__(self, exact: KernelPhysics, misfit: float) -> None:
        super().__init__(exact.space)
        self._exact, self._misfit = exact, misfit
        self._known: dict[Scales, Informed | None] = {}

    @property
    def grid(self) -> list[Scales]:
        """As of the exact one."""
        return self._exact.grid

    def log_prior(self, scales: Scales) -> float:
        """As of the exact one."""
        return self._exact.log_prior(scales)

    def prior(self, scales: Scales, data: Data) -> Informed | None:
        """Conditioned once."""
        if scales not in self._known:
            self._known[scales] = self._exact.loosened(scales, data, self._misfit)
        return self._known[scales]
