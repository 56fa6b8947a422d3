"""Families around a simulation: those of every group once more, with what it says as their mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pinnbo.data import Data
from pinnbo.ensemble.coefficients import Averaged
from pinnbo.ensemble.family import Family, Group, Scales
from pinnbo.gp.process import Process
from pinnbo.gp.simulation import Simulation


class AroundSimulation(Family):
    """A family whose mean is a simulation, as far as the family can follow it."""

    def __init__(self, family: Family, simulation: Simulation) -> None:
        super().__init__(family.space)
        self._family, self._simulation = family, simulation
        self.name = f"{family.name}, around the simulation"
        self._known: dict[Scales, tuple[Process, Process | None]] = {}

    @property
    def grid(self) -> list[Scales]:
        """As without."""
        return self._family.grid

    def settings(self, data: Data) -> list[tuple[Scales, float]]:
        """As without."""
        return self._family.settings(data)

    def log_prior(self, scales: Scales) -> float:
        """As without."""
        return self._family.log_prior(scales)

    def log_mass(self, used: Sequence[Scales]) -> float:
        """As without."""
        return self._family.log_mass(used)

    def coefficients(self, data: Data) -> Averaged | None:
        """As without."""
        return self._family.coefficients(data)

    def described(self, scales: Scales) -> str:
        """With the simulation."""
        return f"{self._family.described(scales)}, around the simulation"

    def process(self, scales: Scales, data: Data) -> Process | None:
        """That of the family, moved; once for each that it returns."""
        process = self._family.process(scales, data)
        if process is None:
            return None
        if scales not in self._known or self._known[scales][0] is not process:
            self._known[scales] = process, self._simulation.as_mean(process)
        return self._known[scales][1]


def with_simulation(groups: Mapping[str, Group], simulation: Simulation | None) -> dict[str, Group]:
    """All groups, and then all of them around the simulation: the evidence of the best group counts."""
    if simulation is None:
        return dict(groups)
    around = {
        f"{name} around the simulation": [AroundSimulation(family, simulation) for family in group]
        for name, group in groups.items()
    }
    return {**groups, **around}
