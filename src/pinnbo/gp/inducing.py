"""Which measured places tell all the others: a long search returns to places whose value is already known.

In the order of measuring, x joins the inducing points M where its value is not yet told by theirs,

    k(x, x) - k(x, M) K(M, M)^-1 k(M, x) > tolerance,

by a Cholesky factor that grows with them. A reading elsewhere says nothing that M cannot hold but what lies below the
tolerance; where that is a small share of the noise, features between M (`Process.on_features`) stand for the exact
posterior, and its cost follows the number of different places, not of measurements (Csato and Opper, "Sparse on-line
Gaussian processes", Neural Comput. 14, 2002).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray
from scipy.linalg import solve_triangular

from pinnbo.gp.process import Located, Process


@dataclass(frozen=True, eq=False)
class Inducing:
    """Inducing points among the first measurements, for one process."""

    process: Process
    tolerance: float  # variance relative to that of an amplitude of one
    points: Located
    factor: Float[ndarray, "r r"]  # lower Cholesky factor of K(M, M)
    n_seen: int = 0

    @classmethod
    def none(cls, process: Process, tolerance: float) -> Inducing:
        """Before any measurement."""
        return cls(process, tolerance, process.locate(np.zeros((0, process.dim))), np.zeros((0, 0)))

    def extended(self, scaled: Float[ndarray, "n d"]) -> Inducing:
        """After all of these measurements, of which the first are known already.

        One by one, so that a restored study computes the same bits however many were told at once.
        """
        points, factor = self.points, self.factor
        for x in scaled[self.n_seen :]:
            at = self.process.locate(x[None])
            across = self.process.covariance(at, points)[0][0]
            row = solve_triangular(factor, across, lower=True, check_finite=False) if len(factor) else across
            left = float(self.process.variance(at)[0][0] - row @ row)
            if left > self.tolerance:
                factor = np.block([[factor, np.zeros((len(factor), 1))], [row, np.sqrt(left)]])
                points = points.joined(at)
        return Inducing(self.process, self.tolerance, points, factor, len(scaled))

    def __len__(self) -> int:
        return len(self.factor)
