"""A sum given the physics, and a rest that couples its axes: h = sum + size * r.

That a sum of functions of one coordinate obeys an equation does not make f one: terms that couple axes may be hidden
from the operator, as sin(x_1 - x_2) is from d/dx_1 + d/dx_2. The rest is a Gaussian process without physics and
without a constant, independent of the sum, so that covariances add:

    C(s, t) = psi(s) . psi(t) + size^2 k(s, t).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from pinnbo.inference.additive_prior import InformedSum
from pinnbo.inference.compressed_prior import CompressedKernel, on_features
from pinnbo.inference.kernel_prior import uninformed
from pinnbo.inference.prior import Codes, Features, Informed
from pinnbo.models.kernels import Kernel


@dataclass(frozen=True, eq=False)
class SumAndRest(Informed):
    """The prior of h, in sample space; codes and mean are those of the sum."""

    sum: InformedSum
    kernel: Kernel
    size: float

    @property
    def dim(self) -> int:
        """Number of coordinates."""
        return self.sum.dim

    def codes(self, points: Float[ndarray, "b d"], slopes: bool = False) -> Codes:
        """psi(s) and the mean."""
        return self.sum.codes(points, slopes)

    def mean_weights(self, shift: float, scale: float) -> Float[ndarray, " m"]:
        """The rest has mean zero."""
        return self.sum.mean_weights(shift, scale)

    def covariance(
        self, at: Codes, anchors: Codes
    ) -> tuple[Float[ndarray, "b n"], Float[ndarray, "b d n"] | None]:
        """Of both, added."""
        values, slopes = self.sum.covariance(at, anchors)
        values = values + self.size**2 * self.kernel.values(at.points, anchors.points)
        if slopes is None:
            return values, None
        return values, slopes + self.size**2 * self.kernel.slopes(at.points, anchors.points)

    def variance(self, at: Codes) -> tuple[Float[ndarray, " b"], Float[ndarray, "b d"] | None]:
        """The rest's is the same everywhere."""
        values, slopes = self.sum.variance(at)
        return values + self.size**2 * self.kernel.variance, slopes

    def on_features(self, inducing: Float[ndarray, "i d"]) -> SumAndFeatures:
        """The same with the rest interpolated between inducing points."""
        return SumAndFeatures(self.sum, on_features(uninformed(self.kernel), inducing), self.size)


@dataclass(frozen=True, eq=False)
class SumAndFeatures(Features):
    """The same on features of both; what those of the rest do not hold is noise of its own at every point."""

    sum: InformedSum
    rest: CompressedKernel
    size: float

    @property
    def dim(self) -> int:
        """Number of coordinates."""
        return self.sum.dim

    @property
    def rank(self) -> int:
        """Number of features."""
        return self.sum.rank + self.rest.rank

    def codes(self, points: Float[ndarray, "b d"], slopes: bool = False) -> Codes:
        """psi of the sum, that of the rest, and the mean."""
        of_sum, of_rest = self.sum.codes(points, slopes), self.rest.codes(points, slopes)
        values = self._joined(of_sum.values, of_rest.values)
        if of_sum.slopes is None or of_rest.slopes is None:
            return Codes(points, values, None)
        return Codes(points, values, self._joined(of_sum.slopes, of_rest.slopes))

    def variance(self, at: Codes) -> tuple[Float[ndarray, " b"], Float[ndarray, "b d"] | None]:
        """|psi(s)|^2 of the sum, and all of the rest's."""
        kept = np.r_[: self.sum.rank, -2:0]
        of_sum = Codes(at.points, at.values[:, kept], None if at.slopes is None else at.slopes[:, :, kept])
        values, slopes = self.sum.variance(of_sum)
        return values + self.size**2 * self.rest.kernel.variance, slopes

    def _joined(
        self, of_sum: Float[ndarray, "... m"], of_rest: Float[ndarray, "... n"]
    ) -> Float[ndarray, "... r"]:
        parts = [of_sum[..., :-2], self.size * of_rest[..., :-2], of_sum[..., -2:]]
        return np.concatenate(parts, axis=-1)
