"""Functions of one coordinate: a constant, a slope and q sines on a larger interval [-l, l], the Hilbert-space basis.

Their prior variances are the spectral density of a covariance function at their frequencies:

    h_i(t) = b_0 w_0 + b_1 t w_1 + sum_k sqrt(S(omega_k) / l) sin(omega_k (t + l)) w_k,    omega_k = k pi / (2 l).

References
----------
Solin, Sarkka, "Hilbert space methods for reduced-rank Gaussian process regression", Stat. Comput. 30 (2020).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Complex, Float
from numpy import ndarray

from pinnbo.gp.kernels import CONSTANT

_EXTENSION = 1.3  # l


@dataclass(frozen=True, eq=False)
class Sines:
    """The basis of one axis with its prior standard deviations: constant, slope, q sines."""

    deviation: Float[ndarray, " p"]

    def first(self, p: int) -> Sines:
        """The first p functions."""
        return Sines(self.deviation[:p])

    def derivative(self, t: Float[ndarray, "*n"], order: int) -> Float[ndarray, "*n p"]:
        """Derivatives of all basis functions."""
        q = len(self.deviation) - 2
        out = np.empty((*t.shape, q + 2))
        out[..., 0] = 1.0 if order == 0 else 0.0
        out[..., 1] = t if order == 0 else 1.0 if order == 1 else 0.0
        # sin(k a) and cos(k a) are the parts of powers of exp(i a): products are quicker than sines
        powers = np.cumprod(np.broadcast_to(_turn(t)[..., None], (*t.shape, q)), axis=-1)
        part = powers.imag if order % 2 == 0 else powers.real
        sign = 1.0 if order % 4 < 2 else -1.0
        np.multiply(part, sign * frequencies(q) ** order / np.sqrt(_EXTENSION), out=out[..., 2:])
        return out * self.deviation


def _turn(t: Float[ndarray, "*n"]) -> Complex[ndarray, "*n"]:
    """exp(i a), a = omega_1 (t + l)."""
    return np.exp(1j * frequencies(1)[0] * (t + _EXTENSION))


def waves(t: Float[ndarray, "*n"], q: int) -> Float[ndarray, " q *n"]:
    """sin(omega_k (t + l)) / sqrt(l) of q sines, by sin((k + 1) a) = 2 cos a sin(k a) - sin((k - 1) a).

    A sine a row, so that a step is one product of long rows; the angle a keeps away from 0 and pi, where the recursion
    would lose digits.
    """
    turn = _turn(t)
    twice = 2.0 * turn.real
    out = np.empty((q, *t.shape))
    out[0] = turn.imag / np.sqrt(_EXTENSION)
    for k in range(1, q):
        np.multiply(twice, out[k - 1], out=out[k])
        if k > 1:
            out[k] -= out[k - 2]
    return out


def frequencies(q: int) -> Float[ndarray, " q"]:
    """omega_1 to omega_q."""
    return np.arange(1, q + 1) * np.pi / (2 * _EXTENSION)


def sines(q: int, scale: float, dim: int) -> Sines:
    """q sines with the spectrum of a Matern covariance of smoothness 9/2 and unit variance over d axes."""
    density = (1.0 + (scale * frequencies(q)) ** 2 / 9.0) ** -5.0
    density *= _EXTENSION / np.sum(density)  # each sine has a mean square of 1/2 on its interval
    waves = np.sqrt(2.0 * density / dim)
    return Sines(np.concatenate([[CONSTANT / np.sqrt(dim), 1.0 / np.sqrt(dim)], waves]))


@dataclass(frozen=True, eq=False)
class Curves:
    """Functions of one coordinate on every axis, by quintic Hermite interpolation of a table.

    With four nodes per sine of the basis the error is a millionth of its last sine; a point costs six numbers per
    function, whatever the number of sines.
    """

    table: Float[ndarray, "d nodes 3 k"]  # value, slope and curvature in units of the spacing
    spacing: float

    @classmethod
    def of(cls, basis: Sines, maps: Float[ndarray, "d p k"]) -> Curves:
        """Combinations of a basis, one map per axis."""
        nodes = np.linspace(-1.0, 1.0, 4 * len(basis.deviation) + 1)
        spacing = float(nodes[1] - nodes[0])
        parts = [
            spacing**order * np.einsum("nq,dqk->dnk", basis.derivative(nodes, order), maps, optimize=True)
            for order in range(3)
        ]
        return cls(np.ascontiguousarray(np.stack(parts, axis=2)), spacing)

    def __call__(
        self, points: Float[ndarray, "b d"]
    ) -> tuple[Float[ndarray, "b d k"], Float[ndarray, "b d k"]]:
        """Values and slopes of all functions at the coordinates of points."""
        place = (points + 1.0) / self.spacing
        node = np.clip(place.astype(int), 0, self.table.shape[1] - 2)
        axes = np.arange(points.shape[1])
        ends = np.concatenate([self.table[axes, node], self.table[axes, node + 1]], axis=2)
        values, slopes = _quintic(place - node)
        return np.einsum("bds,bdsk->bdk", values, ends), np.einsum(
            "bds,bdsk->bdk", slopes, ends
        ) / self.spacing


def _quintic(t: Float[ndarray, "b d"]) -> tuple[Float[ndarray, "b d 6"], Float[ndarray, "b d 6"]]:
    """Quintic Hermite polynomials of value, slope, curvature at 0 and then at 1, and their derivatives."""
    powers = np.stack([np.ones_like(t), t, t**2, t**3, t**4, t**5], axis=-1)
    return powers @ _HERMITE, powers[..., :-1] @ (np.arange(1.0, 6.0)[:, None] * _HERMITE[1:])


# rows: powers of t; columns: value, slope, curvature at 0, value, slope, curvature at 1
_HERMITE = np.array(
    [
        [1.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        [0.0, 1.0, 0.0, 0.0, 0.0, 0.0],
        [0.0, 0.0, 0.5, 0.0, 0.0, 0.0],
        [-10.0, -6.0, -1.5, 10.0, -4.0, 0.5],
        [15.0, 8.0, 1.5, -15.0, 7.0, -1.0],
        [-6.0, -3.0, -0.5, 6.0, -3.0, 0.5],
    ]
)
