"""An average over unknown coefficients, where the evidence is.

v in [0, 1]^k are shares of the prior (`pinnbo.knowledge`), p(Y | v) the evidence at a place. The average

    Z = integral of p(Y | v) dv  ~  sum over nodes of volume * p(Y | node)

is taken over cells that fill the cube while the evidence changes little in each (with few data, or data that do not see
a coefficient). Where it is sharper than that, it is close to a bell around its maximum v*: with the second differences
-H of log p there, taken over steps at which it falls by about one, nodes are put at v* + H^-1/2 xi, xi on a grid. Where
cells away from it count, there are further bells.

Cells are cut in three along the axis on which the evidence changes most, the one that counts most first (the rectangles
of DIRECT); their centres stay centres.

References
----------
Jones, Perttunen, Stuckman, "Lipschitzian optimization without the Lipschitz constant", JOTA 79, 1993.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float
from numpy import ndarray

from pinnbo.thresholds import NEGLIGIBLE

Node = tuple[float, ...]
LogEvidence = Callable[[Node], float]

_FIRST = {1: 2, 2: 1}  # cuts of every axis to begin with, by dimension: 9 cells, 3 x 3
_FINER = {1: 4, 2: 2}  # 81 cells: before it is concluded that no coefficients explain the measurements
_ENOUGH = 0.15  # share of the posterior that a cell may hold
_FLAT = 1.0  # of log evidence: as good as constant in a cell
_CELLS = 6  # cuts: where many would be needed there is a bell
_STEP = 1e-2  # of differences, to begin with
_GRID = {1: (5, 0.75), 2: (2, 1.2)}  # nodes on either side and their distance, by dimension
_FURTHER = (1, 1.5)
_NARROW = 0.1  # standard deviation of a bell that fits the cube
_CLIMBS = 12  # Newton steps
_MOST_BELLS = 4  # with more maxima than that, cells are as good
_GAIN = 0.05  # of log evidence, below which it is at the top
_EDGES = 201


@dataclass(frozen=True, eq=False)
class Averaged:
    """Places in the cube with their share of the prior and the evidence there."""

    nodes: list[Node]
    log_volumes: Float[ndarray, " c"]
    log_evidences: Float[ndarray, " c"]
    widths: Float[ndarray, "c k"]  # over which a node stands for its surroundings

    @cached_property
    def weights(self) -> Float[ndarray, " c"]:
        """Posterior probabilities."""
        found = self.log_volumes + self.log_evidences
        return np.asarray(np.exp(found - np.logaddexp.reduce(found)))

    @property
    def middle(self) -> Node:
        """The likeliest node."""
        return self.nodes[int(np.argmax(self.log_evidences))]

    @classmethod
    def together(cls, parts: Sequence[Averaged]) -> Averaged:
        """Of parts of the cube that do not overlap."""
        return cls(
            [node for part in parts for node in part.nodes],
            np.concatenate([part.log_volumes for part in parts]),
            np.concatenate([part.log_evidences for part in parts]),
            np.concatenate([part.widths for part in parts]),
        )

    def log_volume_of(self) -> dict[Node, float]:
        """Log prior probability that every node stands for."""
        return dict(zip(self.nodes, self.log_volumes.tolist(), strict=True))

    def distribution(self, axis: int) -> tuple[Float[ndarray, " e"], Float[ndarray, " e"]]:
        """Of one coordinate: shares of the prior, and the posterior probability below each."""
        middle, width = np.array(self.nodes)[:, axis], self.widths[:, axis]
        low = max(0.0, float(np.min(middle - 2.0 * width)))
        high = min(1.0, float(np.max(middle + 2.0 * width)))
        edges = np.linspace(low, high, _EDGES)
        inside = np.clip((edges[:, None] - middle) / width + 0.5, 0.0, 1.0) @ self.weights
        inside = (inside - inside[0]) / (inside[-1] - inside[0])
        return edges, inside


def average(
    log_evidence: LogEvidence,
    dim: int,
    changed_at: Callable[[Node], bool] | None = None,
    enough: float = -np.inf,
) -> Averaged:
    """Over cells that fill the cube, or around the maxima where it is sharp.

    ``changed_at`` is called with the likeliest place, and says whether the evidence is another from then on. With less
    than ``enough`` evidence at all places it is looked for between them: sharp maxima may have been missed.
    """
    known: dict[Node, float] = {}

    def at(node: Node) -> float:
        if node not in known:
            known[node] = log_evidence(node)
        return known[node]

    cells = _cells(at, dim, _FIRST)
    if max(known.values()) < enough:
        cells = _cells(at, dim, _FINER)
    top = max(known, key=lambda node: known[node])
    changed = changed_at is not None and changed_at(top)
    if changed:
        known.clear()
    return _bells(at, top, cells) or (_cells(at, dim, _FIRST) if changed else cells)


# -------------------------------------------------------------------- cells


class _Cell(NamedTuple):
    centre: Node
    width: Node
    change: Node  # of the evidence when it was cut last, halved by every cut


def _cells(at: LogEvidence, dim: int, first: Mapping[int, int]) -> Averaged:
    """Cells that fill the cube."""
    cells = [_Cell((0.5,) * dim, (1.0,) * dim, (np.inf,) * dim)]
    for _ in range(first.get(dim, 0)):
        for axis in range(dim):
            cells = [part for cell in cells for part in _cut(cell, axis, at)]
    for _ in range(_CELLS * dim):
        found = _averaged(cells, at)
        rough = [max(cell.change) > _FLAT for cell in cells]
        worth = np.where(np.array(rough) & (found.weights > _ENOUGH), found.weights, 0.0)
        chosen = int(np.argmax(worth))
        if worth[chosen] == 0.0:
            return found
        cell = cells.pop(chosen)
        cells[chosen:chosen] = _cut(cell, int(np.argmax(cell.change)), at)
    return _averaged(cells, at)


def _averaged(cells: list[_Cell], at: LogEvidence) -> Averaged:
    widths = np.array([cell.width for cell in cells])
    evidences = np.array([at(cell.centre) for cell in cells])
    return Averaged([cell.centre for cell in cells], np.sum(np.log(widths), axis=1), evidences, widths)


def _cut(cell: _Cell, axis: int, at: LogEvidence) -> list[_Cell]:
    """In three along an axis."""
    third = cell.width[axis] / 3.0
    sides = [_with(cell.centre, axis, cell.centre[axis] + step * third) for step in (-1, 1)]
    centres = [sides[0], cell.centre, sides[1]]
    values = [at(centre) for centre in centres]
    change = _with(cell.change, axis, 0.5 * (max(values) - min(values)))
    return [_Cell(centre, _with(cell.width, axis, third), change) for centre in centres]


def _with(values: Node, axis: int, value: float) -> Node:
    return (*values[:axis], float(value), *values[axis + 1 :])


# -------------------------------------------------------------------- a bell


def _bells(at: LogEvidence, top: Node, cells: Averaged) -> Averaged | None:
    """One around every maximum that counts, as cells that fill the cube tell; None if one of them is no bell."""
    found: list[Averaged] = []
    left, start = cells.weights.copy(), top
    while len(found) < _MOST_BELLS:
        bell = _bell(at, start)
        if bell is None:
            return None
        if any(_covers(other, np.array([bell.middle]), np.zeros((1, len(top))))[0] for other in found):
            left[cells.nodes.index(start)] = 0.0  # on the flank of one that is known
        else:
            found.append(bell)
            left[_covers(bell, np.array(cells.nodes), cells.widths)] = 0.0
        if np.sum(left) < NEGLIGIBLE:
            return Averaged.together(found)
        start = cells.nodes[int(np.argmax(left))]
    return None


def _covers(
    bell: Averaged, places: Float[ndarray, "c k"], widths: Float[ndarray, "c k"]
) -> Bool[ndarray, " c"]:
    """Whether places, or the cells around them, lie where the nodes of a bell are."""
    nodes = np.array(bell.nodes)
    low, high = np.min(nodes - bell.widths, axis=0), np.max(nodes + bell.widths, axis=0)
    return np.all((places >= low - 0.5 * widths) & (places <= high + 0.5 * widths), axis=1)


def _bell(at: LogEvidence, start: Node) -> Averaged | None:
    """Nodes around the maximum; None where the evidence is no bell, or too wide a one for the cube."""
    top, root = _climbed(at, start)
    if root is None or np.max(np.sqrt(np.sum(root**2, axis=1))) > _NARROW:
        return None
    dim = len(top)
    sides, distance = _GRID.get(dim, _FURTHER)
    offsets = distance * np.arange(-sides, sides + 1)
    grid = np.array(list(product(offsets, repeat=dim)))
    places = np.array(top) + grid @ root.T
    inside = np.all((places >= 0.0) & (places <= 1.0), axis=1)
    nodes = [tuple(place) for place in places[inside].tolist()]
    log_volume = dim * np.log(distance) + np.linalg.slogdet(root)[1]
    widths = distance * np.sqrt(np.sum(root**2, axis=1))
    return Averaged(
        nodes,
        np.full(len(nodes), min(log_volume, 0.0)),
        np.array([at(node) for node in nodes]),
        np.tile(widths, (len(nodes), 1)),
    )


def _climbed(at: LogEvidence, start: Node) -> tuple[Node, Float[ndarray, "k k"] | None]:
    """A maximum near a place by Newton's method on differences, and H^-1/2 there; None where log p bends upwards."""
    top, steps, root = start, np.full(len(start), _STEP), None
    for _ in range(_CLIMBS):
        slope, hessian = _differences(at, top, steps)
        eigenvalues, vectors = np.linalg.eigh(hessian)
        # what bends upwards, or hardly at all, is followed for a tenth of the cube at most
        firm = np.maximum(eigenvalues, 10.0)
        root = vectors / np.sqrt(firm) if eigenvalues[0] > 0 else None
        move = np.clip(vectors @ ((vectors.T @ slope) / firm), -0.2, 0.2)
        spread = np.sqrt(np.sum(vectors**2 / firm, axis=1))
        for length in (1.0, 0.5, 0.25, 0.1, 0.02):
            trial = tuple(np.clip(np.array(top) + length * move, 0.0, 1.0).tolist())
            if at(trial) > at(top):
                break
        else:
            trial = top
        gained = at(trial) - at(top)
        steps, top = np.clip(0.7 * spread, 1e-5, 0.1), trial
        if gained < _GAIN and np.allclose(steps, 0.7 * spread, rtol=0.5):
            slope, hessian = _differences(at, top, steps)
            eigenvalues, vectors = np.linalg.eigh(hessian)
            return top, vectors / np.sqrt(eigenvalues) if eigenvalues[0] > 0 else root
    return top, root


def _differences(at: LogEvidence, top: Node, steps: Float[ndarray, " k"]) -> tuple[ndarray, ndarray]:
    """Slope of log p and -H from differences; a place beside the cube counts as its mirror image."""

    def near(*moves: tuple[int, float]) -> float:
        node = top
        for axis, sign in moves:
            value = node[axis] + sign * steps[axis]
            node = _with(node, axis, value if 0.0 <= value <= 1.0 else node[axis] - sign * steps[axis])
        return at(node)

    dim, best = len(top), at(top)
    up, down = (np.array([near((axis, sign)) for axis in range(dim)]) for sign in (1.0, -1.0))
    slope = (up - down) / (2.0 * steps)
    hessian = np.diag((2.0 * best - up - down) / steps**2)
    for i in range(dim):
        for j in range(i):
            cross = near((i, 1.0), (j, 1.0)) - up[i] - up[j] + best
            hessian[i, j] = hessian[j, i] = -cross / (steps[i] * steps[j])
    return slope, hessian
