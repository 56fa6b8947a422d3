"""Plain kernels at length scales at which an equation says nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pinnbo.data import Data
from pinnbo.ensemble.family import Family, Scales
from pinnbo.gp.process import Process

if TYPE_CHECKING:
    from pinnbo.ensemble.kernel_family import KernelGivenPDE


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
