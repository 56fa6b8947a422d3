"""The inverse of I + sum_i g_i g_i^T, updated by one g at a time, as the product of its square roots.

========  =====================================================  ======
symbol    meaning                                                shape
========  =====================================================  ======
A         (I + sum_i g_i g_i^T)^{-1}                             (p, p)
T         a square root, A = T T^T                               (p, p)
v, c      the update of T by g: v = T^T g                        (p,)
========  =====================================================  ======

Sherman and Morrison: A' = A - A g g^T A / (1 + g^T A g). In square roots (Potter 1963) T' = T (I - c v v^T)
with c = (1 - (1 + |v|^2)^{-1/2}) / |v|^2. T is a product of such factors, of which only the v and c are
kept: t updates take t p numbers, however large p^2 would be, and nothing is ever inverted.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray


@dataclass(frozen=True, eq=False)
class UpdatedInverse:
    """A, by the factors of T."""

    v: Float[ndarray, "t p"]
    c: Float[ndarray, " t"]

    @classmethod
    def identity(cls, p: int) -> UpdatedInverse:
        """Without any update."""
        return cls(np.zeros((0, p)), np.zeros(0))

    def updated(self, g: Float[ndarray, " p"]) -> UpdatedInverse:
        """With g g^T added."""
        v = self.root_transposed(g[None])[0]
        square = float(v @ v)
        # the limit of c at 0 is 1/2
        c = (1.0 - (1.0 + square) ** -0.5) / square if square > 1e-12 else 0.5
        return UpdatedInverse(np.vstack([self.v, v]), np.append(self.c, c))

    def root(self, z: Float[ndarray, " p"]) -> Float[ndarray, " p"]:
        """T z: a draw from N(0, A) if z is standard normal."""
        for v, c in zip(self.v[::-1], self.c[::-1], strict=True):
            z = z - c * (v @ z) * v
        return z

    def root_transposed(self, rows: Float[ndarray, "n p"]) -> Float[ndarray, "n p"]:
        """T^T g for every row g; its squared norm is g^T A g."""
        for v, c in zip(self.v, self.c, strict=True):
            rows = rows - c * np.outer(rows @ v, v)
        return rows
