"""Kernels without physics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from pinnbo.data import Data
from pinnbo.ensemble.family import Family, Scales, equal_scales, log_normal
from pinnbo.gp.conditioning import plain
from pinnbo.gp.kernels import RBF, Additive, Kernel, Matern
from pinnbo.gp.process import Process
from pinnbo.gp.scales import likely_scales
from pinnbo.physics.images import Images
from pinnbo.space import Space
from pinnbo.thresholds import FEWEST

_AROUND = (0.6, 1.0, 1.7)  # times the most likely scales


class Plain(Family):
    """A kernel of one kind."""

    def __init__(self, space: Space, kind: type[Kernel], images: Images | None = None) -> None:
        super().__init__(space)
        self._kind, self._images = kind, images
        self.name = kind.name if images is None else f"{kind.name}, symmetric"
        # a sum of functions of one coordinate does not grow rougher with every further axis
        self._root = 1.0 if kind is Additive else float(np.sqrt(space.dim))
        # in scaled coordinates, where the side of the box is 2
        self._centre = np.log(0.8) if kind is Additive else np.sqrt(2.0) + np.log(2.0 * self._root)

        self._known = {scales: self._built(scales) for scales in self.grid}

    @property
    def grid(self) -> list[Scales]:
        """Length scales by factors of two."""
        return equal_scales(self.space, self._root, 2)

    def log_prior(self, scales: Scales) -> float:
        """Log-normal."""
        return log_normal(scales, self._root)

    def process(self, scales: Scales, data: Data) -> Process:
        """Nothing to condition on; what is known of the settings of the grid is kept."""
        if not data.is_plain and self._kind is RBF and (others := data.other_amplitudes()):
            return self._of(RBF(np.array(scales), amplitudes=(1.0, *others)))
        if scales in self._known:
            return self._known[scales]
        return self._built(scales)

    def _built(self, scales: Scales) -> Process:
        return self._of(self._kind(np.array(scales)))

    def _of(self, kernel: Kernel) -> Process:
        """A symmetry is physics as an equation is."""
        whole = replace(kernel, periodic=self.space.periodic, images=self._images)
        return replace(plain(whole), has_physics=self._images is not None)

    def loosened(self, misfits: Sequence[float]) -> list[Family]:
        """With symmetries that are nearly true."""
        if self._images is None:
            return []
        return [Plain(self.space, self._kind, self._images.loosened(misfit)) for misfit in misfits]

    def refined(self, scales: Scales, data: Data) -> list[tuple[Scales, float]]:
        """The most likely scales per axis, longer and shorter ones: together as much as the grid a priori."""
        if self.space.dim == 1 or len(data.values) < FEWEST or not data.is_plain:
            return []
        likely, log_share = likely_scales(self._kind, self._centre, self.space, data, self._images)
        each = (
            log_share
            + float(np.logaddexp.reduce([self.log_prior(s) for s in self.grid]))
            - np.log(len(_AROUND))
        )
        return [(tuple((factor * likely).tolist()), each) for factor in _AROUND]


def without_physics(space: Space, images: Images | None = None) -> list[Family]:
    """Without equations: smooth, rough, and sums of functions of one coordinate, where none is an angle."""
    kinds: list[type[Kernel]] = (
        [RBF, Matern, Additive] if space.dim > 1 and not space.periodic else [RBF, Matern]
    )
    return [Plain(space, kind, images) for kind in kinds]
