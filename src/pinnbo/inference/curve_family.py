"""First-order equations without source: functions that are constant on their characteristics."""

from __future__ import annotations

import numpy as np

from pinnbo.data import Data
from pinnbo.inference.constant_on_curves import ConstantOnCurves, MeansOnCurves
from pinnbo.inference.families import Family, Scales, equal_scales, log_normal
from pinnbo.inference.kernel_prior import uninformed
from pinnbo.inference.prior import Informed
from pinnbo.models.kernels import Kernel

_RESOLVED = 2.9  # highest frequency times length scale
_LONGEST = 0.8  # length scale: beyond, the basis is felt to vanish outside the box


class CharacteristicPhysics(Family):
    """Functions that are constant along characteristics; a setting is a length scale and p."""

    name = "constant on characteristics"
    physics = True

    def __init__(self, means: MeansOnCurves) -> None:
        super().__init__(means.characteristics.space)
        self._means = means
        if means.beyond:
            self.name = "constant on characteristics, also beyond the box"
        self._root = float(np.sqrt(self.space.dim))
        self._known: dict[tuple[float, float], ConstantOnCurves] = {}

    @property
    def grid(self) -> list[Scales]:
        """What the basis resolves, and a length scale that it does not."""
        return [(0.5 * self.resolved[0][0], 0.0), *self.resolved]

    @property
    def resolved(self) -> list[Scales]:
        """Every length scale that the basis resolves, with both p."""
        finest = _RESOLVED / self._means.frequencies[-1]
        lengths = [scales[0] for scales in equal_scales(self.space, self._root, 1)]
        return [(length, p) for length in lengths if finest <= length <= _LONGEST for p in (0.0, 1.0)]

    def log_prior(self, scales: Scales) -> float:
        """As of a kernel."""
        return log_normal(scales[:1], self._root)

    def prior(self, scales: Scales, data: Data) -> Informed:
        """Nothing is left to condition on; below what the basis resolves the equation says nothing."""
        if scales in self.resolved:
            return self.constant(*scales)
        return uninformed(Kernel("rbf", np.full(self.space.dim, scales[0])))

    def constant(self, length: float, power: float) -> ConstantOnCurves:
        """Constant on the curves, with a length scale and p."""
        if (length, power) not in self._known:
            radians = length * self._means.frequencies
            density = np.sqrt(2 * np.pi) * length * np.exp(-0.5 * radians**2)
            root = np.ones(1)
            for _ in range(self.space.dim):
                root = np.outer(root, np.sqrt(density)).ravel()
            self._known[length, power] = ConstantOnCurves(self._means, root, power)
        return self._known[length, power]

    def described(self, scales: Scales) -> str:
        """With p in words."""
        alike = ", all alike" if scales[1] else ""
        return f"{self.name}{alike}, length scale {scales[0]:.2g}"
