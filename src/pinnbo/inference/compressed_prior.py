"""A Gaussian process on features: the same prior, for many rows or many observations.

Between inducing points M the covariance C of h, given the physics or not, is interpolated (Nystrom): with
C(M, M) = U diag(e) U^T,

    psi(s) = e^-1/2 U^T C(M, s),      psi(s) . psi(t) = C(s, M) C(M, M)^-1 C(M, t).

Given the physics C(M, s) = k(M, s) - L k(M, .) (G + D)^-1 L k(., s) (`pinnbo.inference.kernel_prior`), so that psi is
linear in the kernel and its rows at s: one matrix of m x r in place of one of m x m. The physics leaves few directions
open; where the features hold all of the variance they are as good as the kernel. Without physics, what they do not hold
is added to the variance, as noise of its own at every point that is predicted.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray
from scipy.stats import qmc

from pinnbo.inference.kernel_prior import InformedKernel, KernelAndRows, rows_at
from pinnbo.inference.prior import Codes, Features

_PRECISION = 1e-10
_SIZES = (128, 256, 512, 1024)
_LOST = 1e-3  # of the variation


@dataclass(frozen=True, eq=False)
class CompressedKernel(KernelAndRows, Features):
    """A kernel, given the physics or not, on features."""

    inducing: Float[ndarray, "i d"]
    maps: Float[ndarray, "i+m r+2"]  # from k(s, M) and L k(s, .) to the code

    @property
    def rank(self) -> int:
        """Number of features."""
        return self.maps.shape[1] - 2

    def codes(self, points: Float[ndarray, "b d"], slopes: bool = False) -> Codes:
        """The kernel and its rows, combined."""
        values, along = rows_at(self.kernel, points, self.rows, slopes)
        seen = np.concatenate([self.kernel.values(points, self.inducing), values], axis=1)
        if along is None:
            return Codes(points, seen @ self.maps, None)
        turning = np.concatenate([self.kernel.slopes(points, self.inducing), along], axis=2)
        together = np.concatenate([seen[:, None], turning], axis=1)  # one product for all
        code = (together.reshape(-1, seen.shape[1]) @ self.maps).reshape(*together.shape[:2], -1)
        return Codes(points, code[:, 0], code[:, 1:])

    def variance(self, at: Codes) -> tuple[Float[ndarray, " b"], Float[ndarray, "b d"] | None]:
        """|psi(s)|^2 given the physics, which leaves no more; all of the kernel's without it."""
        if self.has_physics:
            return super().variance(at)
        b, d = at.points.shape
        return np.full(b, self.kernel.variance), None if at.slopes is None else np.zeros((b, d))


def on_features(prior: InformedKernel, inducing: Float[ndarray, "i d"]) -> CompressedKernel:
    """The prior interpolated between inducing points."""
    codes = prior.codes(inducing)
    eigenvalues, vectors = np.linalg.eigh(prior.covariance_of_codes(codes))
    told = eigenvalues > _PRECISION * eigenvalues[-1]
    features = vectors[:, told] / np.sqrt(eigenvalues[told])
    m = len(prior.rows.own)
    through_rows, means = np.zeros((m, features.shape[1])), np.zeros((m, 2))
    if m:
        through_rows = -prior.back(codes.values.T @ features)
        means = prior.back(prior.whitened(np.column_stack([prior.rows.own, prior.rows.constant])))
    maps = np.block([[features, np.zeros((len(inducing), 2))], [through_rows, means]])
    return CompressedKernel(prior.kernel, prior.rows, inducing, maps)


def compressed(prior: InformedKernel) -> CompressedKernel | None:
    """On as many features as it takes to hold the variance that the physics left; None where that is too many."""
    probes = 2.0 * qmc.Sobol(prior.dim, rng=1).random(64) - 1.0
    variance = prior.variance(prior.codes(probes))[0]
    for size in _SIZES:
        if size > len(prior.rows.own):
            break  # nothing would be gained
        found = on_features(prior, _spread(prior.dim, size))
        lost = variance - found.variance(found.codes(probes))[0]
        if np.max(lost) < _LOST * prior.variation:
            return found
    return None


def _spread(dim: int, n: int) -> Float[ndarray, "n d"]:
    """Points that fill the box and its faces: a low-discrepancy sequence drawn towards the ends of the axes."""
    return np.asarray(np.cos(np.pi * qmc.Sobol(dim, rng=2).random(n)))
