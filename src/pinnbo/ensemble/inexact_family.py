"""The kernel given equations that are nearly true."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pinnbo.data import Data
from pinnbo.ensemble.family import Family, Scales
from pinnbo.gp.process import Process

if TYPE_CHECKING:
    from pinnbo.ensemble.kernel_family import KernelGivenPDE, Unit


class KernelGivenInexactPDE(Family):
    """The kernel given PDEs that hold but for a smooth unknown: N[f] = g + e, e a share of their largest term."""

    def __init__(self, exact: KernelGivenPDE, misfit: float) -> None:
        super().__init__(exact.space)
        self._exact, self._misfit = exact, misfit
        self.name = f"rbf, equation within {misfit:.0%}"
        self._known: dict[tuple[Scales, Unit], Process | None] = {}

    @property
    def keeps(self) -> bool:
        """As of the exact one."""
        return self._exact.keeps

    @property
    def is_dear(self) -> bool:
        """As of the exact one."""
        return self._exact.is_dear

    @property
    def grid(self) -> list[Scales]:
        """As of the exact one."""
        return self._exact.grid

    def settings(self, data: Data) -> list[tuple[Scales, float]]:
        """As of the exact one, where coefficients count."""
        return self._exact.inexact_settings(data)

    def log_prior(self, scales: Scales) -> float:
        """As of the exact one."""
        return self._exact.log_prior(scales)

    def log_mass(self, used: Sequence[Scales]) -> float:
        """As of the exact one."""
        return self._exact.log_mass(used)

    def described(self, scales: Scales) -> str:
        """As of the exact one."""
        return f"{self.name}, {self._exact.described(scales)}".replace(", rbf,", ",")

    def process(self, scales: Scales, data: Data) -> Process | None:
        """Conditioned once, and again when the values' unit changes that the source's noise is measured in."""
        if not self.keeps:
            return self._exact.inexact(scales, data, self._misfit)
        key = scales, self._exact.unit(data)
        if key not in self._known:
            self._known[key] = self._exact.inexact(scales, data, self._misfit)
        return self._known[key]
