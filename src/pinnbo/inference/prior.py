"""What a belief needs of a prior that has been given the physics.

Everything is NumPy on batches of points, with slopes in closed form: nothing has to be compiled when data grow, and the
work is matrix products.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from numpy import ndarray
from scipy.stats import qmc

_N_BOX = 64


class Codes(NamedTuple):
    """What is expensive about points: mean, variance and covariances follow from it. Slopes only where asked for."""

    points: Float[ndarray, "b d"]
    values: Float[ndarray, "b m"]
    slopes: Float[ndarray, "b d m"] | None


class Informed(ABC):
    """A Gaussian prior of h given the physics, f = shift + scale * h, on scaled points."""

    @property
    @abstractmethod
    def dim(self) -> int:
        """Number of coordinates."""

    @property
    def rank(self) -> int | None:
        """r, where the covariance is psi . psi with psi the first r columns of the codes; None where it is not."""
        return None

    @property
    def has_physics(self) -> bool:
        """Whether any equation acts on it."""
        return True

    @abstractmethod
    def codes(self, points: Float[ndarray, "b d"], slopes: bool = False) -> Codes:
        """The codes of points."""

    @abstractmethod
    def mean_weights(self, shift: float, scale: float) -> Float[ndarray, " m"]:
        """u with mean of h = code . u."""

    @abstractmethod
    def covariance(
        self, at: Codes, anchors: Codes
    ) -> tuple[Float[ndarray, "b n"], Float[ndarray, "b d n"] | None]:
        """Covariance of h at points with h at anchors, and its slopes in the points."""

    @abstractmethod
    def variance(self, at: Codes) -> tuple[Float[ndarray, " b"], Float[ndarray, "b d"] | None]:
        """Variance of h at points, and its slopes."""

    @cached_property
    def variation(self) -> float:
        """Expected sample variance of h over the box; not below what rounding leaves where only a constant is open."""
        covariance = self.covariance_matrix(2.0 * qmc.Sobol(self.dim, rng=0).random(_N_BOX) - 1.0)
        centred = (np.trace(covariance) - covariance.sum() / _N_BOX) / (_N_BOX - 1)
        return float(max(centred, 1e-4 * np.trace(covariance) / _N_BOX))

    def covariance_matrix(self, points: Float[ndarray, "n d"]) -> Float[ndarray, "n n"]:
        """Covariance of h at points."""
        return self.covariance_of_codes(self.codes(points))

    def covariance_of_codes(self, codes: Codes) -> Float[ndarray, "n n"]:
        """The same of points whose codes are known."""
        matrix = self.covariance(codes, codes)[0]
        return np.asarray(0.5 * (matrix + matrix.T))


class Features(Informed):
    """h(s) = psi(s) . w + mean, w ~ N(0, I); the code is psi(s), then m_own(s) and m_constant(s).

    The mean of h is (m_own - shift * m_constant) / scale.
    """

    @property
    @abstractmethod
    def rank(self) -> int:
        """Number of features."""

    def mean_weights(self, shift: float, scale: float) -> Float[ndarray, " m"]:
        """Only the two columns of the mean count."""
        weights = np.zeros(self.rank + 2)
        weights[-2:] = 1.0 / scale, -shift / scale
        return weights

    def covariance(
        self, at: Codes, anchors: Codes
    ) -> tuple[Float[ndarray, "b n"], Float[ndarray, "b d n"] | None]:
        """psi(s) . psi(t)."""
        other = anchors.values[:, :-2].T
        return at.values[:, :-2] @ other, None if at.slopes is None else at.slopes[:, :, :-2] @ other

    def variance(self, at: Codes) -> tuple[Float[ndarray, " b"], Float[ndarray, "b d"] | None]:
        """|psi(s)|^2."""
        psi = at.values[:, :-2]
        slopes = None if at.slopes is None else 2.0 * np.einsum("bm,bdm->bd", psi, at.slopes[:, :, :-2])
        return np.sum(psi**2, axis=1), slopes
