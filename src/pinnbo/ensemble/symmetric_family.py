"""Families of exact solutions with symmetries: the part P h of every solution h that has them.

The equations are the same after a reflection (`pinnbo.physics.equivariance` has seen to that), so P h is a solution,
and for priors on solutions that do not tell one side from the other it is the solution given its symmetries. Families
that know functions on the box alone take reflections that map the box onto itself.
"""

from __future__ import annotations

from collections.abc import Sequence

from pinnbo.data import Data
from pinnbo.ensemble.family import Family, Scales
from pinnbo.gp.process import Process
from pinnbo.physics.coordinates import BOX
from pinnbo.physics.images import Images


class Symmetric(Family):
    """A family whose functions are replaced by what of them has the symmetries."""

    def __init__(self, family: Family, images: Images) -> None:
        super().__init__(family.space)
        self._family, self._images = family, images
        self.name = f"{family.name}, symmetric"
        self._known: dict[Scales, tuple[Process, Process]] = {}

    @property
    def keeps(self) -> bool:
        """As without."""
        return self._family.keeps

    @property
    def grid(self) -> list[Scales]:
        """As without."""
        return self._family.grid

    def log_prior(self, scales: Scales) -> float:
        """As without."""
        return self._family.log_prior(scales)

    def log_mass(self, used: Sequence[Scales]) -> float:
        """As without."""
        return self._family.log_mass(used)

    def loosened(self, misfits: Sequence[float]) -> list[Family]:
        """The equations are nearly true, the symmetries exact."""
        return [Symmetric(family, self._images) for family in self._family.loosened(misfits)]

    def described(self, scales: Scales) -> str:
        """With the symmetry."""
        return f"{self._family.described(scales)}, symmetric"

    def process(self, scales: Scales, data: Data) -> Process | None:
        """Once for each that the family returns; None in coordinates that reflections do not keep."""
        process = self._family.process(scales, data)
        if process is None or process.coordinates is not BOX:
            return None
        if scales not in self._known or self._known[scales][0] is not process:
            self._known[scales] = process, process.symmetric(self._images)
        return self._known[scales][1]
