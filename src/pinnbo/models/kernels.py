"""Covariance functions of the scaled coordinates s in [-1, 1]^d, of unit variance besides their constant.

Every kernel is c^2 + k(s, t): a function drawn from it is an unknown constant (standard deviation c, in units of the
variation) plus a variation of unit size. With u_i = (s_i - t_i) / l_i and r = |u|:

=========  ===================================================  =============================================
family     k(s, t)                                              dk / du_i
=========  ===================================================  =============================================
rbf        exp(-r^2 / 2)                                        -u_i k
matern     (1 + q + q^2 / 3) exp(-q),  q = sqrt(5) r            -(5/3) u_i (1 + q) exp(-q)
additive   1/d sum_i e_i,  e_i = exp(-u_i^2 / 2)                -u_i e_i / d
pairwise   2/(d (d - 1)) sum_{i<j} e_i e_j                      -2/(d (d - 1)) u_i e_i (sum_j e_j - e_i)
=========  ===================================================  =============================================

The sum over pairs is ((sum_i e_i)^2 - sum_i e_i^2) / 2.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from jaxtyping import Float
from numpy import ndarray

CONSTANT = 3.0

FamilyName = Literal["rbf", "matern", "additive", "pairwise"]


@dataclass(frozen=True, eq=False)
class Kernel:
    """A covariance function of a family with a length scale per axis."""

    family: FamilyName
    scale: Float[ndarray, " d"]
    constant: float = CONSTANT  # c

    def values(self, s: Float[ndarray, "b d"], t: Float[ndarray, "n d"]) -> Float[ndarray, "b n"]:
        """c^2 + k(s, t)."""
        if self.family in ("additive", "pairwise"):
            return self._sums(s, t)
        square = np.sum(self._gaps(s, t) ** 2, axis=2)
        if self.family == "rbf":
            return self.constant**2 + np.exp(-0.5 * square)
        q = np.sqrt(5.0 * square)
        return self.constant**2 + (1.0 + q + q**2 / 3.0) * np.exp(-q)

    def slopes(self, s: Float[ndarray, "b d"], t: Float[ndarray, "n d"]) -> Float[ndarray, "b d n"]:
        """dk / ds."""
        gaps = self._gaps(s, t)
        if self.family in ("additive", "pairwise"):
            along = np.exp(-0.5 * gaps**2)
            others = np.sum(along, axis=2, keepdims=True) - along
            slope = (
                -gaps * along * (1.0 / s.shape[1] if self.family == "additive" else others / self._n_pairs)
            )
        else:
            square = np.sum(gaps**2, axis=2)
            if self.family == "rbf":
                slope = -gaps * np.exp(-0.5 * square)[..., None]
            else:
                q = np.sqrt(5.0 * square)
                slope = -(5.0 / 3.0) * gaps * ((1.0 + q) * np.exp(-q))[..., None]
        return np.moveaxis(slope / self.scale, 2, 1)

    def log_scale_slopes(
        self, s: Float[ndarray, "n d"], weights: Float[ndarray, "n n"]
    ) -> Float[ndarray, " d"]:
        """sum_nm weights_nm dk(s_n, s_m) / d log l_i for symmetric weights; du_i / d log l_i = -u_i."""
        gaps = self._gaps(s, s)
        if self.family in ("additive", "pairwise"):
            along = np.exp(-0.5 * gaps**2)
            others = np.sum(along, axis=2, keepdims=True) - along
            share = 1.0 / s.shape[1] if self.family == "additive" else others / self._n_pairs
            return np.einsum("nm,nmi->i", weights, gaps**2 * along * share, optimize=True)
        square = np.sum(gaps**2, axis=2)
        if self.family == "rbf":
            factor = np.exp(-0.5 * square)
        else:
            q = np.sqrt(5.0 * square)
            factor = (5.0 / 3.0) * (1.0 + q) * np.exp(-q)
        # sum_nm M_nm (s_n - s_m)^2 = 2 sum_n M_n. s_n^2 - 2 s^T M s
        scaled, matrix = s / self.scale, weights * factor
        return 2.0 * (matrix.sum(axis=1) @ scaled**2 - np.sum(scaled * (matrix @ scaled), axis=0))

    def _sums(self, s: Float[ndarray, "b d"], t: Float[ndarray, "n d"]) -> Float[ndarray, "b n"]:
        """Axis by axis: one table for all of them would leave the cache."""
        total, squares = np.zeros((len(s), len(t))), np.zeros((len(s), len(t)))
        for i, length in enumerate(self.scale):
            gap = np.subtract.outer(s[:, i] / length, t[:, i] / length)
            along = np.exp(-0.5 * gap * gap)
            total += along
            if self.family == "pairwise":
                squares += along * along
        if self.family == "additive":
            return self.constant**2 + total / len(self.scale)
        return self.constant**2 + 0.5 * (total * total - squares) / self._n_pairs

    @property
    def variance(self) -> float:
        """c^2 + k(s, s)."""
        return self.constant**2 + 1.0

    @property
    def _n_pairs(self) -> float:
        d = len(self.scale)
        return 0.5 * d * (d - 1)

    def _gaps(self, s: Float[ndarray, "b d"], t: Float[ndarray, "n d"]) -> Float[ndarray, "b n d"]:
        return (s[:, None, :] - t[None, :, :]) / self.scale


@dataclass(frozen=True, eq=False)
class RememberedKernel(Kernel):
    """A kernel that several settings share: the latest values and slopes are kept until other points come."""

    _latest: dict[str, tuple[ndarray, ndarray, ndarray]] = field(default_factory=dict, init=False, repr=False)

    def values(self, s: Float[ndarray, "b d"], t: Float[ndarray, "n d"]) -> Float[ndarray, "b n"]:
        """c^2 + k(s, t)."""
        return self._remembered("values", super().values, s, t)

    def slopes(self, s: Float[ndarray, "b d"], t: Float[ndarray, "n d"]) -> Float[ndarray, "b d n"]:
        """dk / ds."""
        return self._remembered("slopes", super().slopes, s, t)

    def _remembered(
        self, what: str, compute: Callable[[ndarray, ndarray], ndarray], s: ndarray, t: ndarray
    ) -> ndarray:
        known = self._latest.get(what)
        if known is None or not (np.array_equal(known[0], s) and np.array_equal(known[1], t)):
            known = self._latest[what] = (s.copy(), t.copy(), compute(s, t))
        return known[2]
