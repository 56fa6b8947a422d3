"""Other coordinates u of the scaled box s in [-1, 1]^d, in which a prior is simpler: stretched or rotated ones.

A prior is written in u. Its rows come from `pinnbo.physics.jets`, which expands the coordinates around a place; slopes
in u become slopes in s by the chain rule. The box itself, u = s, is the plainest of them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float
from numpy import ndarray
from numpy.polynomial import Polynomial

_B = 1.5
_SINE = float(np.sin(_B))
_N_CHORDS = 5

Chords = Callable[[int], tuple[Float[ndarray, "c d"], Float[ndarray, "c 2"]]]
"""Of an axis: the middle of every chord, and from where to where the axis' coordinate is on it."""


class Coordinates(ABC):
    """A one-to-one map of the scaled box."""

    words: str = ""
    """What a model in these coordinates is called besides its name."""

    @abstractmethod
    def of(self, s: Float[ndarray, "*n d"]) -> Float[ndarray, "*n d"]:
        """u of s."""

    @abstractmethod
    def back(self, u: Float[ndarray, "*n d"]) -> Float[ndarray, "*n d"]:
        """s of u, the nearest in the box."""

    @abstractmethod
    def pulled(self, slopes: Float[ndarray, "b d m"], s: Float[ndarray, "b d"]) -> Float[ndarray, "b d m"]:
        """Slopes in u as slopes in s."""

    def expansion(self, s: Float[ndarray, "n d"], order: int) -> Float[ndarray, "n k d"]:
        """Derivatives du_i / ds_i, d^2u_i / ds_i^2, ... as far as they do not vanish, before `matrix`."""
        return np.ones((len(s), 1, s.shape[1]))

    @property
    def matrix(self) -> Float[ndarray, "d d"] | None:
        """A linear map that follows the expansion of each axis for itself."""
        return None

    @property
    def chords(self) -> Chords | None:
        """Lines along the axes of u that stay in the box, where those through one point leave it soon."""
        return None

    def even(self, s: Float[ndarray, "n d"]) -> Float[ndarray, "n d"]:
        """Points of the box that are spread in u as those given are in s."""
        return s


class Box(Coordinates):
    """u = s."""

    def of(self, s: Float[ndarray, "*n d"]) -> Float[ndarray, "*n d"]:
        """The same."""
        return s

    def back(self, u: Float[ndarray, "*n d"]) -> Float[ndarray, "*n d"]:
        """The same."""
        return u

    def pulled(self, slopes: Float[ndarray, "b d m"], s: Float[ndarray, "b d"]) -> Float[ndarray, "b d m"]:
        """The same."""
        return slopes


BOX = Box()


class Stretched(Coordinates):
    """Finer towards the faces of the box.

        s = sin(b u) / sin b,      u = arcsin(s sin b) / b,      du/ds = sin b / (b sqrt(1 - s^2 sin^2 b)).

    A field that obeys an equation inside the box is often rough on its faces, where its unknown boundary values change
    quickly or jump, and smooth inside. A kernel of one length scale must be short everywhere to follow the former, and
    too few rows then bind the equation. A length scale in u is fourteen times shorter at the faces than in the middle,
    and collocation points drawn evenly in u lie where they are needed.
    """

    words = "finer towards the faces"

    def of(self, s: Float[ndarray, "*n d"]) -> Float[ndarray, "*n d"]:
        """arcsin(s sin b) / b."""
        return np.arcsin(_SINE * np.clip(s, -1.0, 1.0)) / _B

    def back(self, u: Float[ndarray, "*n d"]) -> Float[ndarray, "*n d"]:
        """sin(b u) / sin b."""
        return np.sin(_B * u) / _SINE

    def pulled(self, slopes: Float[ndarray, "b d m"], s: Float[ndarray, "b d"]) -> Float[ndarray, "b d m"]:
        """Times du/ds."""
        return slopes * (_SINE / (_B * np.sqrt(1.0 - (_SINE * np.clip(s, -1.0, 1.0)) ** 2)))[:, :, None]

    def expansion(self, s: Float[ndarray, "n d"], order: int) -> Float[ndarray, "n k d"]:
        """arcsin^(k)(a) = P_k(a) (1 - a^2)^(1/2 - k),    P_{k+1} = (1 - a^2) P_k' + (2k - 1) a P_k."""
        a = _SINE * s
        polynomial, found = Polynomial([1.0]), []
        for k in range(1, order + 1):
            found.append(polynomial(a) * (1.0 - a**2) ** (0.5 - k) * _SINE**k / _B)
            polynomial = (
                Polynomial([1.0, 0.0, -1.0]) * polynomial.deriv()
                + Polynomial([0.0, 2.0 * k - 1.0]) * polynomial
            )
        return np.stack(found, axis=1)

    def even(self, s: Float[ndarray, "n d"]) -> Float[ndarray, "n d"]:
        """Spread in u."""
        return self.back(s)


@dataclass(frozen=True, eq=False)
class Rotated(Coordinates):
    """u = A s, scaled such that the box is within [-1, 1]^d and touches its faces: the rows of A have unit 1-norm.

    The box is not all of that cube. A line along which only u_i changes leaves it soon; `chords` are lines that
    together reach most of what u_i is on the box, from corner to corner.
    """

    words = "in rotated coordinates"

    rotation: Float[ndarray, "d d"]

    @property
    def matrix(self) -> Float[ndarray, "d d"]:
        """A."""
        return self.rotation

    @cached_property
    def inverse(self) -> Float[ndarray, "d d"]:
        """A^-1."""
        return np.asarray(np.linalg.inv(self.rotation))

    def of(self, s: Float[ndarray, "*n d"]) -> Float[ndarray, "*n d"]:
        """A s."""
        return s @ self.rotation.T

    def back(self, u: Float[ndarray, "*n d"]) -> Float[ndarray, "*n d"]:
        """A^-1 u, moved into the box."""
        return np.clip(u @ self.inverse.T, -1.0, 1.0)

    def pulled(self, slopes: Float[ndarray, "b d m"], s: Float[ndarray, "b d"]) -> Float[ndarray, "b d m"]:
        """A^T times the slopes."""
        return np.einsum("ij,bim->bjm", self.rotation, slopes, optimize=True)

    @property
    def chords(self) -> Chords:
        """Through points between two corners."""
        return self._chords

    def _chords(self, axis: int) -> tuple[Float[ndarray, "c d"], Float[ndarray, "c 2"]]:
        through = np.linspace(-1.0, 1.0, _N_CHORDS)[:, None] * np.sign(self.rotation[axis])
        direction = self.inverse[:, axis]
        ends = (np.array([[-1.0], [1.0]]) - through[:, None]) / np.where(direction == 0, np.inf, direction)
        still = direction == 0
        low = np.where(still, -np.inf, ends.min(axis=1)).max(axis=1)
        high = np.where(still, np.inf, ends.max(axis=1)).min(axis=1)
        middle = (through + 0.5 * (low + high)[:, None] * direction) @ self.rotation.T
        half = 0.5 * (high - low)
        return middle, middle[:, [axis]] + half[:, None] * np.array([-1.0, 1.0])
