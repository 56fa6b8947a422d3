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
    """Functions that are constant along characteristics; a setting is a length scale, and one if all vary alike."""

    name = "constant on characteristics"
    physics = True

    def __init__(self, means: MeansOnCurves) -> None:
        super().__init__(means.characteristics.space)
        self._means = means
        if means.beyond:
            self.name = "constant on characteristics, also beyond the box"
        self._root = float(np.sqrt(self.space.dim))
        self._known: dict[Scales, ConstantOnCurves] = {}

    @property
    def grid(self) -> list[Scales]:
        """What the basis resolves, and a length scale that it does not."""
        return [(0.5 * self.resolved[0][0], 0.0), *self.resolved]

    @property
    def resolved(self) -> list[Scales]:
        """Every length scale that the basis resolves, with curves that vary alike and curves that do not."""
        finest = _RESOLVED / self._means.frequencies[-1]
        lengths = [scales[0] for scales in equal_scales(self.space, self._root, 1)]
        return [(length, alike) for length in lengths if finest <= length <= _LONGEST for alike in (0.0, 1.0)]

    @property
    def longest(self) -> float:
        """The longest length scale; above, a kernel knows as much of the equation, and does not vanish anywhere."""
        return self.resolved[-1][0]

    def log_prior(self, scales: Scales) -> float:
        """As of a kernel."""
        return log_normal(scales[:1], self._root)

    def prior(self, scales: Scales, data: Data) -> Informed:
        """Nothing is left to condition on; below what the basis resolves the equation says nothing."""
        length, alike = scales
        if scales not in self.resolved:
            return uninformed(Kernel("rbf", np.full(self.space.dim, length)))
        if scales not in self._known:
            self._known[scales] = ConstantOnCurves(self._means, length, bool(alike))
        return self._known[scales]

    def described(self, scales: Scales) -> str:
        """Whether all vary alike in words."""
        alike = ", all alike" if scales[1] else ""
        return f"{self.name}{alike}, length scale {scales[0]:.2g}"
