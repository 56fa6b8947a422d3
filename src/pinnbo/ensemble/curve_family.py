"""First-order equations without source, symmetries among them: functions that are constant on their characteristics."""

from __future__ import annotations

import numpy as np

from pinnbo.data import Data
from pinnbo.ensemble.family import Family, Scales, Stated, equal_scales, log_normal
from pinnbo.gp.conditioning import plain
from pinnbo.gp.invariant import ConstantOnCurves, MeansOnCurves
from pinnbo.gp.kernels import RBF
from pinnbo.gp.process import Process

LONGEST = 0.8  # length scale: beyond, the basis is felt to vanish outside the box

_RESOLVED = 2.9  # highest frequency times length scale


class ConstantOnCharacteristics(Family):
    """Functions that are constant along characteristics; a setting is a length scale, and one if all vary alike."""

    def __init__(self, means: MeansOnCurves) -> None:
        super().__init__(means.characteristics.space)
        self._means = means
        self.name = "constant on characteristics" + (", also beyond the box" if means.beyond else "")
        self._root = float(np.sqrt(self.space.dim))
        self._known: dict[Scales, Process] = {}

    @property
    def grid(self) -> list[Scales]:
        """What the basis resolves, and a length scale that it does not."""
        return [(0.5 * self._resolved[0][0], 0.0), *self._resolved]

    @property
    def _resolved(self) -> list[Scales]:
        """Every length scale that the basis resolves, with curves that vary alike and curves that do not."""
        finest = _RESOLVED / self._means.frequencies[-1]
        lengths = [scales[0] for scales in equal_scales(self.space, self._root, 1)]
        return [(length, alike) for length in lengths if finest <= length <= LONGEST for alike in (0.0, 1.0)]

    def log_prior(self, scales: Scales) -> float:
        """As of a kernel."""
        return log_normal(scales[:1], self._root)

    def process(self, scales: Scales, data: Data) -> Process:
        """Nothing is left to condition on; below what the basis resolves the equation says nothing."""
        length, alike = scales
        if scales not in self._resolved:
            return plain(RBF(np.full(self.space.dim, length)))
        if scales not in self._known:
            self._known[scales] = ConstantOnCurves(self._means, length, bool(alike)).process()
        return self._known[scales]

    def described(self, scales: Scales) -> str:
        """Whether all vary alike in words."""
        alike = ", all alike" if scales[1] else ""
        return f"{self.name}{alike}, length scale {scales[0]:.2g}"


def curve_families(stated: Stated) -> list[Family]:
    """Along the curves in the box, and beyond it if they come back."""
    if stated.characteristics is None:
        return []
    means = MeansOnCurves(stated.characteristics)
    return [ConstantOnCharacteristics(m) for m in (means, means.continued) if m is not None]
