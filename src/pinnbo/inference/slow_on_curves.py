"""Fields that change slowly along given curves: first-order equations that hold but for an unknown, a . grad f = e.

A field that is constant on the characteristics (`pinnbo.inference.constant_on_curves`, all curves alike) is multiplied
by one that changes slowly, and many such products are added. The covariance is the product of theirs,

    k(s, t) = psi(s) . psi(t) exp(-|s - t|^2 / 2 L^2).

psi does not change along a curve: the slope of f there has the standard deviation 1 / L, and across curves about 1 / l,
l being the length scale of psi. With L = l / eps the unknown e is a share eps of what a . grad f could be, whatever the
shape of the curves. Unlike a kernel that is *given* an inexact equation, f varies alike all over the box, also on
curves that are short, and at every length scale.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from pinnbo.inference.constant_on_curves import ConstantOnCurves
from pinnbo.inference.prior import Codes, Features, Informed
from pinnbo.models.kernels import CONSTANT, Kernel

_PRECISION = 1e-10


@dataclass(frozen=True, eq=False)
class SlowOnCurves(Informed):
    """The prior of h; codes are those of the field that is constant on curves."""

    constant: ConstantOnCurves
    slow: Kernel  # without a constant

    @classmethod
    def of(cls, constant: ConstantOnCurves, length: float) -> SlowOnCurves:
        """Along the curves f changes over a length L."""
        return cls(constant, Kernel("rbf", np.full(constant.dim, length), constant=0.0))

    @property
    def dim(self) -> int:
        """Number of coordinates."""
        return self.constant.dim

    def codes(self, points: Float[ndarray, "b d"], slopes: bool = False) -> Codes:
        """psi(s)."""
        return self.constant.codes(points, slopes)

    def mean_weights(self, shift: float, scale: float) -> Float[ndarray, " m"]:
        """Zero: a constant obeys the equation."""
        return self.constant.mean_weights(shift, scale)

    def covariance(
        self, at: Codes, anchors: Codes
    ) -> tuple[Float[ndarray, "b n"], Float[ndarray, "b d n"] | None]:
        """A constant, and k(s, t)."""
        fixed, fixed_slope = self.constant.covariance(at, anchors)
        fixed = fixed - CONSTANT**2
        slow = self.slow.values(at.points, anchors.points)
        if fixed_slope is None:
            return CONSTANT**2 + fixed * slow, None
        turning = self.slow.slopes(at.points, anchors.points)
        return CONSTANT**2 + fixed * slow, fixed_slope * slow[:, None] + fixed[:, None] * turning

    def variance(self, at: Codes) -> tuple[Float[ndarray, " b"], Float[ndarray, "b d"] | None]:
        """As of the field that is constant on curves."""
        return self.constant.variance(at)

    def on_features(self, inducing: Float[ndarray, "i d"]) -> SlowBetween:
        """Interpolated between inducing points."""
        anchors = self.codes(inducing)
        eigenvalues, vectors = np.linalg.eigh(self.covariance_of_codes(anchors))
        told = eigenvalues > _PRECISION * eigenvalues[-1]
        return SlowBetween(self, anchors, vectors[:, told] / np.sqrt(eigenvalues[told]))


@dataclass(frozen=True, eq=False)
class SlowBetween(Features):
    """The same on features (Nystrom); what they do not hold is noise of its own at every point."""

    whole: SlowOnCurves
    anchors: Codes
    maps: Float[ndarray, "i r"]

    @property
    def dim(self) -> int:
        """Number of coordinates."""
        return self.whole.dim

    @property
    def rank(self) -> int:
        """Number of features."""
        return self.maps.shape[1]

    def codes(self, points: Float[ndarray, "b d"], slopes: bool = False) -> Codes:
        """Covariances with the inducing points, combined; no mean."""
        values, along = self.whole.covariance(self.whole.codes(points, slopes), self.anchors)
        maps = np.pad(self.maps, ((0, 0), (0, 2)))
        return Codes(points, values @ maps, None if along is None else along @ maps)

    def variance(self, at: Codes) -> tuple[Float[ndarray, " b"], Float[ndarray, "b d"] | None]:
        """All of it."""
        whole = self.whole.codes(at.points, at.slopes is not None)
        return self.whole.variance(whole)
