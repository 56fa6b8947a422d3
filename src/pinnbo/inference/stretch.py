"""Coordinates that are finer towards the faces of the box, and priors that are smooth in them.

    s = sin(b u) / sin b,      u = arcsin(s sin b) / b,      du/ds = sin b / (b sqrt(1 - s^2 sin^2 b)).

A field that obeys an equation inside the box is often rough on its faces, where its unknown boundary values change
quickly or jump, and smooth inside. A kernel of one length scale must be short everywhere to follow the former, and too
few rows then bind the equation. A length scale in u is fourteen times shorter at the faces than in the middle, and
collocation points drawn evenly in u lie where they are needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray
from numpy.polynomial import Polynomial
from numpy.typing import ArrayLike

from pinnbo.inference.prior import Codes, Informed
from pinnbo.space import Space

_B = 1.5
_SINE = float(np.sin(_B))


def stretched(scaled: Float[ndarray, "*n d"]) -> Float[ndarray, "*n d"]:
    """u of s."""
    return np.arcsin(_SINE * np.clip(scaled, -1.0, 1.0)) / _B


def _slope(scaled: Float[ndarray, "*n d"]) -> Float[ndarray, "*n d"]:
    """du/ds."""
    return _SINE / (_B * np.sqrt(1.0 - (_SINE * np.clip(scaled, -1.0, 1.0)) ** 2))


class StretchedSpace(Space):
    """A box whose scaled coordinates are u."""

    @classmethod
    def of(cls, space: Space) -> StretchedSpace:
        """The same box."""
        bounds = zip(space.lower.tolist(), space.upper.tolist(), strict=True)
        return cls(**dict(zip(space.names, bounds, strict=True)))

    def scale(self, points: ArrayLike) -> ndarray:
        """User units to u."""
        return stretched(super().scale(points))

    def unscale(self, scaled: ArrayLike) -> ndarray:
        """u to user units."""
        return super().unscale(np.sin(_B * np.asarray(scaled, dtype=float)) / _SINE)

    def sobol(self, n: int, seed: int | Sequence[int]) -> Float[ndarray, "n d"]:
        """Points that are even in u."""
        return self.unscale(super().scale(super().sobol(n, seed)))

    def local(self, points: Float[ndarray, "n d"], order: int) -> Float[ndarray, "n k d"]:
        """Derivatives of u in the user's coordinates.

        arcsin^(k)(a) = P_k(a) (1 - a^2)^(1/2 - k),    P_{k+1} = (1 - a^2) P_k' + (2k - 1) a P_k.
        """
        a = _SINE * super().scale(points)
        polynomial, found = Polynomial([1.0]), []
        for k in range(1, order + 1):
            derivative = polynomial(a) * (1.0 - a**2) ** (0.5 - k)
            found.append(derivative * (_SINE / self.half_width) ** k / _B)
            polynomial = (
                Polynomial([1.0, 0.0, -1.0]) * polynomial.deriv()
                + Polynomial([0.0, 2.0 * k - 1.0]) * polynomial
            )
        return np.stack(found, axis=1)


@dataclass(frozen=True, eq=False)
class StretchedPrior(Informed):
    """A prior of functions of u, at points s."""

    inner: Informed

    @property
    def dim(self) -> int:
        """Number of coordinates."""
        return self.inner.dim

    @property
    def rank(self) -> int | None:
        """As of the functions of u."""
        return self.inner.rank

    @property
    def has_physics(self) -> bool:
        """Whether any equation acts on it."""
        return self.inner.has_physics

    def codes(self, points: Float[ndarray, "b d"], slopes: bool = False) -> Codes:
        """The same codes, with slopes in s."""
        codes = self.inner.codes(stretched(points), slopes)
        return codes._replace(points=points, slopes=_times(codes.slopes, _slope(points)))

    def mean_weights(self, shift: float, scale: float) -> Float[ndarray, " m"]:
        """As of the functions of u."""
        return self.inner.mean_weights(shift, scale)

    def covariance(
        self, at: Codes, anchors: Codes
    ) -> tuple[Float[ndarray, "b n"], Float[ndarray, "b d n"] | None]:
        """With slopes in s."""
        values, slopes = self.inner.covariance(_in_u(at), _in_u(anchors))
        return values, _times(slopes, _slope(at.points))

    def variance(self, at: Codes) -> tuple[Float[ndarray, " b"], Float[ndarray, "b d"] | None]:
        """With slopes in s."""
        values, slopes = self.inner.variance(_in_u(at))
        return values, None if slopes is None else slopes * _slope(at.points)


def _times(
    slopes: Float[ndarray, "b d m"] | None, factor: Float[ndarray, "b d"]
) -> Float[ndarray, "b d m"] | None:
    return None if slopes is None else slopes * factor[:, :, None]


def _in_u(codes: Codes) -> Codes:
    return Codes(stretched(codes.points), codes.values, _times(codes.slopes, 1.0 / _slope(codes.points)))
