"""Where the next measurement may be: the searched part of a space, exactly.

The search works in scaled coordinates of the space that the models live on. A region says what of it may be measured:

- bounds, in which the searched box, fixed coordinates (both bounds the same) and periodic axes (no bounds) are all one;
- what is inside. A point outside is pulled to the boundary, on the line from the nearest of many known places inside,
  by bisection; the inner end is taken, so that boundaries are reached and never crossed. Along a boundary the
  projected steps of the search slide, since the place from which a point is pulled changes with it;
- steps. The search is continuous, and what it has found is moved to the grid afterwards, with its neighbours on it.

`exact` gives the user's coordinates: fixed ones and those on a grid to the last bit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import product

import numpy as np
from jaxtyping import Bool, Float
from numpy import ndarray

from pinnbo.sobol import sobol
from pinnbo.space import Space

_N_ANCHORS = 512
_HALVINGS = 40
_MOST_DRAWN = 2**17
_NEIGHBOURS = 4  # stepped axes along which both neighbours are tried together

_Points = Float[ndarray, "n d"]


class Region:
    """The part of ``space`` that is searched: of a smaller one, if it is given, with some coordinates fixed."""

    def __init__(
        self, space: Space, searched: Space | None = None, fixed: Mapping[str, float] | None = None
    ) -> None:
        self.space, self.searched = space, space if searched is None else searched
        self.fixed: dict[int, float] = {space.names.index(name): x for name, x in (fixed or {}).items()}
        self.is_plain: bool = (
            searched is None
            and not self.fixed
            and space.is_box
            and not space.is_stepped
            and not space.periodic
        )
        self.lower: Float[ndarray, " d"] = np.maximum(space.scale(self.searched.lower), -1.0)
        self.upper: Float[ndarray, " d"] = np.minimum(space.scale(self.searched.upper), 1.0)
        for i in space.periodic:
            if self.searched.axes[i].periodic:
                self.lower[i], self.upper[i] = -np.inf, np.inf
        if self.fixed:
            at = space.scale(np.array([self.fixed.get(i, x) for i, x in enumerate(self.searched.lower)]))
            held = list(self.fixed)
            self.lower[held], self.upper[held] = at[held], at[held]

    # ---------------------------------------------------------------- points of the user

    def exact(self, scaled: Float[ndarray, "*n d"]) -> Float[ndarray, "*n d"]:
        """In the user's coordinates."""
        if self.is_plain:
            return self.space.unscale(scaled)
        points = np.array(self._wrapped(np.asarray(scaled)))
        points = self.space.unscale(points)
        for i, axis in enumerate(self.searched.axes):
            points[..., i] = axis.on_grid(np.clip(points[..., i], axis.low, axis.high))
        for i, value in self.fixed.items():
            points[..., i] = value
        return points

    def _wrapped(self, scaled: Float[ndarray, "*n d"]) -> Float[ndarray, "*n d"]:
        """Within one period."""
        found = scaled
        for i in self.space.periodic:
            column = found[..., i]
            if np.any(np.abs(column) > 1.0):
                found = np.array(found)
                found[..., i] = np.mod(column + 1.0, 2.0) - 1.0
        return found

    def sobol(self, n: int, seed: int | Sequence[int]) -> _Points:
        """n points that may be measured, spread evenly; those of a small grid come again and again."""
        if self.is_plain:
            return self.space.sobol(n, seed)
        drawn = max(16, n)
        while True:
            points = self.exact(
                self.space.scale(self.searched.unscale(2.0 * sobol(self._dim, drawn, seed) - 1.0))
            )
            found = points[self._is_inside(points)]
            if self.searched.is_stepped:
                _, first = np.unique(found, axis=0, return_index=True)
                found = found[np.sort(first)]
            if len(found) >= n:
                return found[:n]
            if drawn >= _MOST_DRAWN:
                break
            drawn *= 4
        if len(found) == 0:
            fixed = ", ".join(f"{self.space.names[i]} = {value:g}" for i, value in self.fixed.items())
            where = f" with {fixed}" if fixed else " on the grid of its steps"
            raise ValueError(f"ask: no point of {self.searched} is inside{where}, as {drawn} points tell")
        return np.resize(found, (n, self._dim))

    def candidates(self, n: int, seed: int | Sequence[int]) -> _Points:
        """n scaled points to begin a search from, on the boundary of what is inside a quarter of them."""
        points = self.space.scale(self.sobol(n, seed))
        if self.is_box:
            return points
        rest = len(points) - n // 4
        rng = np.random.default_rng(n)
        # to the boundary in a random direction
        beyond = points[:-rest] if rest < len(points) else points[:0]
        beyond = beyond + rng.standard_normal(beyond.shape)
        return np.concatenate([points[:rest], self.project(beyond)])

    @property
    def _dim(self) -> int:
        return self.space.dim

    def _is_inside(self, points: _Points) -> Bool[ndarray, " n"]:
        if len(points) == 0:
            return np.zeros(0, dtype=bool)
        found = self.searched.is_inside(points)
        return found if self.searched is self.space else found & self.space.is_inside(points)

    @property
    def is_box(self) -> bool:
        """Whether bounds are all there is, besides steps."""
        return self.searched.is_box and self.space.is_box

    # ---------------------------------------------------------------- the search

    def project(self, scaled: _Points) -> _Points:
        """Points within the bounds, and inside; a continuum also where there are steps."""
        found = np.clip(scaled, self.lower, self.upper)
        if self.is_box or len(found) == 0:
            return found
        outside = ~self._seen_inside(found)
        if outside.any():
            found[outside] = self._pulled(found[outside])
        return found

    def _seen_inside(self, scaled: _Points) -> Bool[ndarray, " n"]:
        """Whether the points of the continuum are inside."""
        points = self.space.unscale(self._wrapped(scaled))
        points = np.clip(points, self.searched.lower, self.searched.upper)
        for i, value in self.fixed.items():
            points[:, i] = value
        return self._is_inside(points)

    def _pulled(self, outside: _Points) -> _Points:
        """To the boundary, from the nearest anchor."""
        square = np.sum((outside[:, None] - self._anchors) ** 2, axis=2)
        inner = self._anchors[np.argmin(square, axis=1)]
        outer = outside
        for _ in range(_HALVINGS):
            middle = 0.5 * (inner + outer)
            good = self._seen_inside(middle)[:, None]
            inner, outer = np.where(good, middle, inner), np.where(good, outer, middle)
        return inner

    @cached_property
    def _anchors(self) -> _Points:
        """Places inside, as the search sees them."""
        found = self.space.scale(self.sobol(_N_ANCHORS, [43]))
        found = np.clip(found, self.lower, self.upper)
        inside = found[self._seen_inside(found)]
        if len(inside) == 0:
            raise ValueError(f"ask: no point of {self.searched} could be found inside")
        return inside

    def settled(self, scaled: _Points) -> Float[ndarray, "m d"]:
        """Points that may be measured among those found and, where there are steps, their neighbours on the grid."""
        if self.is_plain:
            return scaled
        found = self._neighbours(scaled) if self.searched.is_stepped else scaled
        points = self.exact(found)
        points = points[self._is_inside(points)]
        if self.searched.is_stepped:
            _, first = np.unique(points, axis=0, return_index=True)
            points = points[np.sort(first)]
        elif len(points) == len(found):
            return self._wrapped(found)
        return self.space.scale(points)

    def _neighbours(self, scaled: _Points) -> Float[ndarray, "m d"]:
        """The nearest of the grid first, then those one step to either side on its axes."""
        points = self.exact(scaled)
        stepped = [
            i for i, axis in enumerate(self.searched.axes) if axis.step is not None and i not in self.fixed
        ]
        moves = (
            list(product((0, -1, 1), repeat=len(stepped)))
            if len(stepped) <= _NEIGHBOURS
            else [(0,) * len(stepped), *map(tuple, np.vstack([np.eye(len(stepped)), -np.eye(len(stepped))]))]
        )
        found = []
        for move in moves:
            moved = points.copy()
            for i, by in zip(stepped, move, strict=True):
                axis = self.searched.axes[i]
                assert axis.step is not None
                moved[:, i] = axis.on_grid(points[:, i] + by * axis.step)
            found.append(np.clip(moved, self.searched.lower, self.searched.upper))
        return self.space.scale(np.concatenate(found))

    def distance(self, some: _Points, other: Float[ndarray, " d"]) -> Float[ndarray, " n"]:
        """Between scaled points; on a periodic axis the shorter way round."""
        gap = some - other
        for i in self.space.periodic:
            gap[:, i] = np.mod(gap[:, i] + 1.0, 2.0) - 1.0
        return np.linalg.norm(gap, axis=1)
