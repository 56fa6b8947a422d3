"""Rows that are averages over cells, not values at points: a step inside a cell counts by its share of the cell.

A row at a point knows nothing of a source, or of a coefficient, that changes between the points. Its mean over a cell
C does:

    1/|C| int_C N[f] = 1/|C| int_C g.

The integral is a sum over places: Gauss' rule of three points an axis, on the cell or, where source or coefficients are
not smooth in it, on parts of it. A part is halved along every axis while Gauss' rule and Simpson's, whose places reach
to the faces, disagree on what it adds to the mean of source or coefficients, or to a first moment (means may agree by
chance), by more than a thousandth of their root mean square over the box. Averaged rows are functionals with many
places (`pinnbo.physics.functionals`).
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray

from pinnbo.physics.functionals import Functionals, concatenate
from pinnbo.physics.jets import JetPDE

_Line = tuple[Float[ndarray, " q"], Float[ndarray, " q"]]  # nodes and weights on [-1, 1]
Places = Callable[[Float[ndarray, "p d"]], Float[ndarray, "p q"]]


_TOLERANCE = 1e-3
_HALVINGS = 10
_MOST_PARTS = 20_000  # that are halved at once: a source that is rough everywhere is sampled, not resolved
_INSIDE = 1.0 - 1e-6  # what ends on a face is not across it
_GAUSS: _Line = np.polynomial.legendre.leggauss(3)
_SIMPSON: _Line = np.array([-_INSIDE, 0.0, _INSIDE]), np.array([1.0, 4.0, 1.0]) / 3.0


class Cubature(NamedTuple):
    """Places with weights that sum to one over each cell, by cell."""

    points: Float[ndarray, "p d"]
    weights: Float[ndarray, " p"]
    cell: Int[ndarray, " p"]


def cells(dim: int, n: int) -> tuple[Float[ndarray, "c d"], float]:
    """Centres of n^d equal cells of [-1, 1]^d, the last axis running first, and half their side."""
    centres = (2.0 * np.arange(n) + 1.0) / n - 1.0
    return np.stack(np.meshgrid(*[centres] * dim, indexing="ij"), axis=-1).reshape(-1, dim), 1.0 / n


def cubature(of: Places, centres: Float[ndarray, "c d"], half: float) -> Cubature:
    """Places in cells that average a vector-valued function well; not finite values count as not smooth."""
    rules = [_rule(line, centres.shape[1]) for line in (_SIMPSON, _GAUSS)]
    number, weight = np.arange(len(centres)), 1.0
    done: list[tuple[ndarray, ndarray, ndarray]] = []
    size: ndarray | None = None
    for level in range(_HALVINGS + 1):
        means = []
        for at, weights in rules:
            values = of((centres[:, None] + half * at).reshape(-1, centres.shape[1]))
            moments = weights * np.vstack([np.ones(len(at)), at.T])
            means.append(np.einsum("ip,cpq->ciq", moments, values.reshape(len(centres), len(at), -1)))
        if size is None:
            size = np.sqrt(np.nanmean(means[-1][:, 0] ** 2, axis=0))
        gap = np.abs(means[0] - means[1])
        rough = ~np.all(weight * gap <= _TOLERANCE * size, axis=(1, 2))
        last = level == _HALVINGS or np.sum(rough) > _MOST_PARTS
        kept = np.ones(len(centres), dtype=bool) if last else ~rough
        at, weights = rules[-1]
        done.append(
            (
                (centres[kept][:, None] + half * at).reshape(-1, centres.shape[1]),
                np.tile(weight * weights, int(kept.sum())),
                np.repeat(number[kept], len(at)),
            )
        )
        if kept.all():
            break
        parts = np.array(list(product((-0.5, 0.5), repeat=centres.shape[1])))
        centres = (centres[~kept][:, None] + half * parts).reshape(-1, centres.shape[1])
        number, half, weight = np.repeat(number[~kept], len(parts)), 0.5 * half, weight / len(parts)
    points, weights, cell = (np.concatenate(part) for part in zip(*done, strict=True))
    order = np.argsort(cell, kind="stable")
    return Cubature(points[order], weights[order], cell[order])


def averaged_rows(jet: JetPDE, n: int) -> Functionals:
    """The means of a linear PDE over n^d cells.

    Cells in which operator or source is not finite are left out.
    """
    k = jet.pde.n_equations(jet.space)

    def table(points: Float[ndarray, "p d"]) -> Float[ndarray, "p q"]:
        found = _rows(jet, points)
        both = np.concatenate([found.coefficients, found.values[:, None]], axis=1)
        return both.reshape(len(points), -1)

    places = cubature(table, *cells(jet.space.dim, n))
    found = _rows(jet, places.points)
    coefficients = found.coefficients.reshape(len(places.points), k, -1)
    values = found.values.reshape(-1, k)
    finite = np.isfinite(coefficients).all(axis=(1, 2)) & np.isfinite(values).all(axis=1)
    usable = np.isin(places.cell, np.unique(places.cell[~finite]), invert=True)
    points, weights, cell = places.points[usable], places.weights[usable], places.cell[usable]
    starts = np.flatnonzero(np.diff(cell, prepend=-1))
    parts = []
    for equation in range(k):
        mean = np.add.reduceat(weights * values[usable, equation], starts)
        parts.append(
            Functionals(
                points,
                weights[:, None] * coefficients[usable, equation],
                found.derivatives,
                mean,
                np.full(len(mean), jet.pde.noise),
                starts=starts,
            )
        )
    return concatenate(parts)


def unresolved(jet: JetPDE, n: int) -> float:
    """How far the source is from smooth in n^d cells: the error of its means over cells, relative to their size."""
    return _error_of_means(jet, n, lambda rows: rows.values)


def unresolved_medium(jet: JetPDE, n: int) -> float:
    """The same of the coefficients of the highest derivatives: a medium that jumps between the rows.

    A flux is continuous where the medium jumps, the slope of f is not; rows at points know nothing of either.
    """
    order = jet.derivatives.sum(axis=1)
    return _error_of_means(jet, n, lambda rows: rows.coefficients[:, order == order.max()])


def _error_of_means(jet: JetPDE, n: int, of: Callable[[Functionals], ndarray]) -> float:
    """The difference of Simpson's rule and Gauss'."""
    centres, half = cells(jet.space.dim, n)
    means = []
    for line in (_SIMPSON, _GAUSS):
        at, weights = _rule(line, jet.space.dim)
        values = of(_rows(jet, (centres[:, None] + half * at).reshape(-1, jet.space.dim)))
        means.append(np.einsum("p,cpk->ck", weights, values.reshape(len(centres), len(at), -1)))
    finite = np.isfinite(means).all(axis=(0, 2))
    gap, size = (np.linalg.norm(part[finite]) for part in (means[1] - means[0], means[1]))
    return float(gap / size) if size > 0 else 0.0


def _rows(jet: JetPDE, points: Float[ndarray, "p d"]) -> Functionals:
    """At points in the coordinates of the rows."""
    source = jet.pde.source_at(jet.space.unscale(jet.coordinates.back(points)))
    return jet.rows(points, np.broadcast_to(source, (len(points), jet.pde.n_equations(jet.space))))


def _rule(line: _Line, dim: int) -> tuple[Float[ndarray, "p d"], Float[ndarray, " p"]]:
    """The product on [-1, 1]^d of a rule on [-1, 1], its weights made to sum to one."""
    nodes, weights = line
    points = np.stack(np.meshgrid(*[nodes] * dim, indexing="ij"), axis=-1).reshape(-1, dim)
    products = np.prod(np.stack(np.meshgrid(*[weights / 2] * dim, indexing="ij"), axis=-1), axis=-1)
    return points, products.ravel()
