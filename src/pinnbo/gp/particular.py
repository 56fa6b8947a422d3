"""A particular solution of linear PDEs with a sharp source, so that what is left has none: f = f_p + h, N[h] = 0.

A heater on a patch, a load on a part of a beam: rows at points know nothing of a source between them, and a kernel that
is smooth enough for the rows is too smooth for the field. What is sharp in f comes from the source alone, for equations
whose coefficients are smooth. Any solution f_p takes it away, whatever its values on the boundary; the rest obeys the
equation without source and is as smooth as the kernel expects. f_p is the spline (`pinnbo.gp.splines`) whose means over
the cells obey the equations (`pinnbo.physics.averages`) and which is the smoothest of them: it minimises

    |D c|^2 + h^2k |c|^2   subject to   A c = b,

A being the averaged rows on the basis, b the averaged sources, D the differences of order k of the coefficients along
every axis and h the side of a cell: a discrete Sobolev norm. With multipliers m that is one sparse system that does not
square the condition of A,

    [ Q  A^T ] [ c ]   [ 0 ]
    [ A  -e  ] [ m ] = [ b ],      Q = D^T D + h^2k,   e tiny, for rows that say the same twice.

As a process: f_p is one more feature that enters the mean of h, f_p / scale, and no variance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np
from jaxtyping import Float
from numpy import ndarray
from scipy.sparse import block_array, csr_array, diags_array, eye_array, kron, vstack
from scipy.sparse.linalg import splu

from pinnbo.gp.process import FeatureMap, Process
from pinnbo.gp.splines import Splines
from pinnbo.physics.averages import averaged_rows
from pinnbo.physics.functionals import Functionals, concatenate
from pinnbo.physics.images import Images
from pinnbo.physics.jets import JetPDE

N_CELLS = {1: 128, 2: 48, 3: 10}  # along an axis, by dimension

_SMOOTHNESS = 2  # k
_TWICE = 1e-18  # e
_SOLVED = 1e-3  # of the source may be missed


@dataclass(frozen=True, eq=False)
class Particular:
    """f_p, in the user's units."""

    splines: Splines
    coefficients: Float[ndarray, " q"]

    def of(self, functionals: Functionals) -> Float[ndarray, " m"]:
        """L_j[f_p]."""
        return np.asarray(self.splines.matrix(functionals) @ self.coefficients)

    def symmetric(self, images: Images) -> Particular:
        """P f_p, of reflections of the box onto itself: the splines change places."""
        table = self.coefficients.reshape((self.splines.size,) * self.splines.dim)
        pairs = zip(images.weight_of(0).tolist(), images.flips, strict=True)
        total = sum(
            weight * np.flip(table, tuple(np.flatnonzero(flip < 0).tolist())) for weight, flip in pairs
        )
        return replace(self, coefficients=np.ravel(total))

    def added_to(self, process: Process) -> Process:
        """The process of the rest with f_p added to its mean."""
        return replace(
            process,
            features=_AndParticular(process.features, self),
            sign=np.append(process.sign, 0.0),
            means=np.concatenate([process.means, [[1.0, 0.0]]]),
            holds=None if process.holds is None else np.append(process.holds, 0.0),
        )


@dataclass(frozen=True, eq=False)
class _AndParticular(FeatureMap):
    """The features of a process, and then f_p."""

    features: FeatureMap
    particular: Particular

    def __call__(
        self, points: Float[ndarray, "b d"], slopes: bool
    ) -> tuple[Float[ndarray, "b r"], Float[ndarray, "b d r"] | None]:
        """Both."""
        values, along = self.features(points, slopes)
        splines, c = self.particular.splines, self.particular.coefficients
        zero = np.zeros(points.shape[1], dtype=int)
        own = splines.field(points, c, tuple(zero.tolist()))
        values = np.concatenate([values, own[:, None]], axis=1)
        if along is None:
            return values, None
        axes = np.eye(len(zero), dtype=int)
        slope = np.stack([splines.field(points, c, tuple(axis.tolist())) for axis in axes], axis=1)
        return values, np.concatenate([along, slope[:, :, None]], axis=2)

    def knows(self, functionals: Functionals) -> bool:
        """Where the features of the rest do."""
        return self.features.knows(functionals)

    def of(self, functionals: Functionals) -> Float[ndarray, "n r"]:
        """Both."""
        own = self.particular.of(functionals)
        return np.concatenate([self.features.of(functionals), own[:, None]], axis=1)


def particular_solution(jets: Sequence[JetPDE]) -> Particular | None:
    """Of linear PDEs that hold everywhere; None where the splines cannot make the source."""
    dim = jets[0].space.dim
    order = max(int(jet.derivatives.sum(axis=1).max()) for jet in jets)
    splines = Splines(dim, N_CELLS[dim], max(3, order + 1 + order % 2))
    rows = concatenate([averaged_rows(jet, splines.n_cells) for jet in jets])
    matrix = splines.matrix(rows)
    size = np.sqrt(matrix.power(2).sum(axis=1))
    size = np.maximum(size, 1e-6 * size.max(initial=0.0))
    if not size.any():
        return None
    matrix, target = diags_array(1.0 / size) @ matrix, rows.values / size
    found = _smoothest(matrix, target, _penalty(splines))
    missed = np.linalg.norm(matrix @ found - target)
    return Particular(splines, found) if missed <= _SOLVED * np.linalg.norm(target) else None


def _smoothest(matrix: csr_array, target: Float[ndarray, " m"], penalty: csr_array) -> Float[ndarray, " q"]:
    """c with A c = b that minimises c . Q c; one step of iterative refinement."""
    system = block_array([[penalty, matrix.T], [matrix, -_TWICE * eye_array(len(target))]]).tocsc()
    right = np.concatenate([np.zeros(matrix.shape[1]), target])
    factor = splu(system)
    solved = factor.solve(right)
    solved += factor.solve(right - system @ solved)
    return np.asarray(solved[: matrix.shape[1]])


def _penalty(splines: Splines) -> csr_array:
    """Q, in units of h^k, so that it is neither small nor large beside A."""
    size, step = splines.size, (2.0 / splines.n_cells) ** _SMOOTHNESS
    differences = csr_array(np.diff(np.eye(size), _SMOOTHNESS, axis=0))
    parts = []
    for axis in range(splines.dim):
        each = [differences if i == axis else eye_array(size) for i in range(splines.dim)]
        parts.append(reduce(kron, each))
    stacked = vstack(parts).tocsr()
    return csr_array(stacked.T @ stacked / step + step * eye_array(size**splines.dim))
