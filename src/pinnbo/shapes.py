"""Shapes to build a domain from: box, disc, polygon; together, in common, one less another.

A shape lies in some of the axes of a `Space`, the first ones unless it says which, and extends over all of the others:
a plate with a hole at every time. It is known by its depth, the distance to its boundary, negative outside:

    depth(A | B) = max(depth A, depth B)
    depth(A & B) = min(depth A, depth B)
    depth(A - B) = min(depth A, -depth B)

whose signs are right everywhere and whose sizes are right near the boundary but for corners. Boundaries belong to all
of them, also to what is left when a shape is taken away.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float
from numpy import ndarray
from numpy.typing import ArrayLike

from pinnbo.sobol import sobol

_Points = Float[ndarray, "n d"]
Names = tuple[str, ...]


class Part(NamedTuple):
    """A piece of a boundary, in the coordinates of its axes: ``sample`` gives n points and the directions across it."""

    name: str
    of: str  # the shape that it is a side of
    axes: Names
    size: float
    sample: Callable[[int], tuple[Float[ndarray, "n k"], Float[ndarray, "n k"]]]


class Shape(ABC):
    """A closed part of a space."""

    @abstractmethod
    def depth(self, points: _Points, names: Names) -> Float[ndarray, " n"]:
        """Distance to the boundary at points of a space with these axes, negative outside."""

    @abstractmethod
    def parts(self, names: Names) -> list[Part]:
        """The pieces of which the boundary may consist."""

    @abstractmethod
    def extent(self, names: Names) -> dict[str, tuple[float, float]]:
        """From where to where it reaches on the axes that it is about."""

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """The shape in plain numbers and texts."""

    @property
    @abstractmethod
    def axes_named(self) -> Names:
        """The axes that it names."""

    def __or__(self, other: Shape) -> Shape:
        return union(self, other)

    def __and__(self, other: Shape) -> Shape:
        return Combined("intersection", (self, _shape(other, "intersection")))

    def __sub__(self, other: Shape) -> Shape:
        return difference(self, other)


class _Primitive(Shape):
    """A shape with axes and a name of its own."""

    name: str
    axes: Names | None
    dim: int

    def within(self, names: Names) -> Names:
        """The axes it lies in."""
        return names[: self.dim] if self.axes is None else self.axes

    def depth(self, points: _Points, names: Names) -> Float[ndarray, " n"]:
        """Of the coordinates on its own axes."""
        return self.own_depth(points[:, [names.index(axis) for axis in self.within(names)]])

    @abstractmethod
    def own_depth(self, points: Float[ndarray, "n k"]) -> Float[ndarray, " n"]:
        """In its own coordinates."""

    @property
    def axes_named(self) -> Names:
        """The axes that it names."""
        return self.axes or ()

    def extent(self, names: Names) -> dict[str, tuple[float, float]]:
        """On its own axes."""
        low, high = self.own_extent()
        pairs = zip(low.tolist(), high.tolist(), strict=True)
        return dict(zip(self.within(names), pairs, strict=True))

    @abstractmethod
    def own_extent(self) -> tuple[ndarray, ndarray]:
        """Lowest and highest coordinates."""

    def described(self) -> dict[str, Any]:
        """What all of them have."""
        return {"name": self.name, **({} if self.axes is None else {"axes": list(self.axes)})}


@dataclass(frozen=True)
class Box(_Primitive):
    """From ``low`` to ``high`` on every axis."""

    low: tuple[float, ...]
    high: tuple[float, ...]
    axes: Names | None
    name: str

    @property
    def dim(self) -> int:  # type: ignore[override]
        """Number of its axes."""
        return len(self.low)

    def own_depth(self, points: Float[ndarray, "n k"]) -> Float[ndarray, " n"]:
        """To the nearest face; outside the distance to the box."""
        beyond = np.maximum(np.array(self.low) - points, points - np.array(self.high))
        outside = np.linalg.norm(np.maximum(beyond, 0.0), axis=1)
        return np.where(outside > 0, -outside, -np.max(beyond, axis=1))

    def own_extent(self) -> tuple[ndarray, ndarray]:
        """Its corners."""
        return np.array(self.low), np.array(self.high)

    def parts(self, names: Names) -> list[Part]:
        """Faces, named such as x=0."""
        axes, found = self.within(names), []
        low, high = self.own_extent()
        for i, axis in enumerate(axes):
            others = np.delete(high - low, i)
            for value, direction in ((low[i], -1.0), (high[i], 1.0)):

                def sample(
                    n: int, i: int = i, value: float = value, direction: float = direction
                ) -> tuple[ndarray, ndarray]:
                    points = low + _evenly(n, self.dim, i) * (high - low)
                    points[:, i] = value
                    normals = np.zeros_like(points)
                    normals[:, i] = direction
                    return points, normals

                found.append(Part(f"{axis}={value:g}", self.name, axes, float(np.prod(others)), sample))
        return found

    def to_json(self) -> dict[str, Any]:
        """Corners."""
        return {"shape": "box", "low": list(self.low), "high": list(self.high), **self.described()}


@dataclass(frozen=True)
class Disc(_Primitive):
    """All within a radius of a centre: a disc in two coordinates, a ball in three."""

    centre: tuple[float, ...]
    radius: float
    axes: Names | None
    name: str

    @property
    def dim(self) -> int:  # type: ignore[override]
        """Number of its axes."""
        return len(self.centre)

    def own_depth(self, points: Float[ndarray, "n k"]) -> Float[ndarray, " n"]:
        """Radius less the distance from the centre."""
        return np.asarray(self.radius - np.linalg.norm(points - np.array(self.centre), axis=1))

    def own_extent(self) -> tuple[ndarray, ndarray]:
        """A radius to either side."""
        return np.array(self.centre) - self.radius, np.array(self.centre) + self.radius

    def parts(self, names: Names) -> list[Part]:
        """All of it."""

        def sample(n: int) -> tuple[ndarray, ndarray]:
            directions = _directions(n, self.dim)
            return np.array(self.centre) + self.radius * directions, directions

        size = 2.0 * np.pi * self.radius ** (self.dim - 1)
        return [Part(self.name, self.name, self.within(names), float(size), sample)]

    def to_json(self) -> dict[str, Any]:
        """Centre and radius."""
        return {"shape": "disc", "centre": list(self.centre), "radius": self.radius, **self.described()}


@dataclass(frozen=True)
class Polygon(_Primitive):
    """Corners in order, in two coordinates; ``sides`` are the names of the sides, the first from corner 0 to 1."""

    corners: tuple[tuple[float, float], ...]
    axes: Names | None
    name: str
    sides: Names
    dim = 2

    def own_depth(self, points: Float[ndarray, "n k"]) -> Float[ndarray, " n"]:
        """Distance to the nearest side; inside where a ray crosses an odd number of sides."""
        start = np.array(self.corners)
        end = np.roll(start, -1, axis=0)
        along, gap = end - start, points[:, None] - start
        share = np.clip(np.sum(gap * along, axis=2) / np.sum(along**2, axis=1), 0.0, 1.0)
        distance = np.min(np.linalg.norm(gap - share[..., None] * along, axis=2), axis=1)
        y = points[:, None, 1]
        crosses = (start[:, 1] > y) != (end[:, 1] > y)
        with np.errstate(divide="ignore", invalid="ignore"):
            at = start[:, 0] + (y - start[:, 1]) * along[:, 0] / along[:, 1]
        odd = np.sum(crosses & (points[:, None, 0] < at), axis=1) % 2 == 1
        return np.where(odd, distance, -distance)

    def own_extent(self) -> tuple[ndarray, ndarray]:
        """Of the corners."""
        return np.min(self.corners, axis=0), np.max(self.corners, axis=0)

    def parts(self, names: Names) -> list[Part]:
        """Sides."""
        start, found = np.array(self.corners), []
        end = np.roll(start, -1, axis=0)
        for name, a, b in zip(self.sides, start, end, strict=True):
            length = float(np.linalg.norm(b - a))
            normal = np.array([b[1] - a[1], a[0] - b[0]]) / length

            def sample(
                n: int, a: ndarray = a, b: ndarray = b, normal: ndarray = normal
            ) -> tuple[ndarray, ndarray]:
                return a + ((np.arange(n) + 0.5) / n)[:, None] * (b - a), np.tile(normal, (n, 1))

            found.append(Part(name, self.name, self.within(names), length, sample))
        return found

    def to_json(self) -> dict[str, Any]:
        """Corners and names."""
        corners = [list(corner) for corner in self.corners]
        return {"shape": "polygon", "corners": corners, "sides": list(self.sides), **self.described()}


@dataclass(frozen=True)
class Combined(Shape):
    """Several shapes together, in common, or the first less the others."""

    kind: str
    shapes: tuple[Shape, ...]

    def depth(self, points: _Points, names: Names) -> Float[ndarray, " n"]:
        """See the top of the file."""
        first, *others = (shape.depth(points, names) for shape in self.shapes)
        if self.kind == "difference":
            others = [-other for other in others]
        combine = np.max if self.kind == "union" else np.min
        return np.asarray(combine([first, *others], axis=0))

    def parts(self, names: Names) -> list[Part]:
        """Of all shapes."""
        return [part for shape in self.shapes for part in shape.parts(names)]

    @property
    def axes_named(self) -> Names:
        """By any of them."""
        return tuple(dict.fromkeys(axis for shape in self.shapes for axis in shape.axes_named))

    def extent(self, names: Names) -> dict[str, tuple[float, float]]:
        """At most."""
        extents = [shape.extent(names) for shape in self.shapes]
        if self.kind == "difference":
            return extents[0]
        outer, inner = (min, max) if self.kind == "union" else (max, min)
        every = [set(extent) for extent in extents]
        axes = set.intersection(*every) if self.kind == "union" else set.union(*every)
        return {
            axis: (
                outer(extent[axis][0] for extent in extents if axis in extent),
                inner(extent[axis][1] for extent in extents if axis in extent),
            )
            for axis in sorted(axes)
        }

    def to_json(self) -> dict[str, Any]:
        """The kind and the shapes."""
        return {"shape": self.kind, "of": [shape.to_json() for shape in self.shapes]}


# -------------------------------------------------------------------- building


def box(name: str = "box", /, **sides: tuple[float, float]) -> Shape:
    """A box on some axes, ``box(x=(0, 1), y=(0, 0.5))``; its faces are called x=0, x=1, y=0, y=0.5."""
    if not sides:
        raise ValueError("box: expected at least one side such as x=(0.0, 1.0), got none")
    for axis, pair in sides.items():
        if (
            np.shape(pair) != (2,)
            or not np.isfinite(_numbers(pair, f"box: {axis}")).all()
            or pair[0] >= pair[1]
        ):
            raise ValueError(f"box: {axis} must be a pair of numbers with lower < upper, got {pair!r:.60}")
    low, high = (tuple(float(pair[i]) for pair in sides.values()) for i in (0, 1))
    return Box(low, high, tuple(sides), _name(name, "box"))


def disc(centre: ArrayLike, radius: float, *, axes: Sequence[str] | None = None, name: str = "disc") -> Shape:
    """All points within a radius of a centre, on the first axes of the space or on those named."""
    place = _numbers(centre, "disc: centre")
    if place.ndim != 1 or len(place) == 0 or not np.isfinite(place).all():
        raise ValueError(f"disc: centre must be finite numbers such as (0.5, 0.5), got {centre!r:.60}")
    if isinstance(radius, bool) or not isinstance(radius, Real) or not (0 < radius < np.inf):
        raise ValueError(f"disc: radius must be a positive number, got {radius!r:.60}")
    return Disc(tuple(place.tolist()), float(radius), _axes(axes, len(place), "disc"), _name(name, "disc"))


def polygon(
    corners: ArrayLike,
    *,
    axes: Sequence[str] | None = None,
    name: str = "polygon",
    sides: Sequence[str] | None = None,
) -> Shape:
    """Corners in order, on the first two axes of the space or on those named.

    ``sides`` names the sides, the first from the first corner to the second; otherwise they are called polygon.0,
    polygon.1 and so on.
    """
    table = _numbers(corners, "polygon: corners")
    if table.ndim != 2 or table.shape[1] != 2 or len(table) < 3 or not np.isfinite(table).all():
        raise ValueError(f"polygon: expected at least three corners (x, y), got shape {table.shape}")
    if not (np.linalg.norm(np.roll(table, -1, axis=0) - table, axis=1) > 0).all():
        raise ValueError("polygon: expected corners that differ from the next one, got one twice")
    names = [f"{name}.{i}" for i in range(len(table))] if sides is None else list(sides)
    if len(names) != len(table) or any(not isinstance(side, str) for side in names):
        raise ValueError(
            f"polygon: sides must be {len(table)} names, one for every corner, got {sides!r:.60}"
        )
    pairs = tuple((float(x), float(y)) for x, y in table)
    return Polygon(pairs, _axes(axes, 2, "polygon"), _name(name, "polygon"), tuple(names))


def union(*shapes: Shape) -> Shape:
    """All that is in any of them."""
    return _combined("union", shapes)


def difference(shape: Shape, *others: Shape) -> Shape:
    """What is left of a shape without the others."""
    return _combined("difference", (shape, *others))


def from_json(stored: Any) -> Shape:
    """The shape that `Shape.to_json` wrote, or that a problem file says."""
    if not isinstance(stored, Mapping) or not isinstance(stored.get("shape"), str):
        raise ValueError(f"inside: expected a shape such as {{shape = 'disc', ...}}, got {stored!r:.60}")
    entries = dict(stored)
    kind = entries.pop("shape")
    if kind in ("union", "difference", "intersection"):
        if set(entries) != {"of"} or not isinstance(entries["of"], Sequence) or not entries["of"]:
            raise ValueError(f"inside: a {kind} has a list of shapes as its entry of, got {sorted(entries)}")
        return Combined(kind, tuple(from_json(shape) for shape in entries["of"]))
    if kind not in _KINDS:
        known = ", ".join([*_KINDS, "union", "difference", "intersection"])
        raise ValueError(f"inside: shape must be one of {known}, got {kind!r:.60}")
    build, needed, optional = _KINDS[kind]
    missing = [key for key in needed if key not in entries]
    unknown = [key for key in entries if key not in (*needed, *optional)]
    if missing or unknown:
        raise ValueError(
            f"inside: a {kind} has {', '.join(needed)} and may have {', '.join(optional)}, "
            f"got missing {missing} and unknown {unknown}"
        )
    return build(**entries)


def _box_from(low: Any, high: Any, axes: Any = None, name: Any = "box") -> Shape:
    ends = [_numbers(side, "box: low and high") for side in (low, high)]
    if ends[0].ndim != 1 or ends[0].shape != ends[1].shape or not (ends[0] < ends[1]).all():
        raise ValueError(f"box: expected low < high of one length, got {low!r:.40} and {high!r:.40}")
    corners = [tuple(side.tolist()) for side in ends]
    return Box(corners[0], corners[1], _axes(axes, len(ends[0]), "box"), _name(name, "box"))


_KINDS: dict[str, tuple[Callable[..., Shape], Names, Names]] = {
    "box": (_box_from, ("low", "high"), ("axes", "name")),
    "disc": (disc, ("centre", "radius"), ("axes", "name")),
    "polygon": (polygon, ("corners",), ("axes", "name", "sides")),
}


def _combined(kind: str, shapes: Sequence[Any]) -> Shape:
    if len(shapes) < 2:
        raise ValueError(f"{kind}: expected at least two shapes, got {len(shapes)}")
    return Combined(kind, tuple(_shape(shape, kind) for shape in shapes))


def _shape(shape: Any, who: str) -> Shape:
    if not isinstance(shape, Shape):
        raise TypeError(f"{who}: expected shapes such as disc((0, 0), 1), got {shape!r:.60}")
    return shape


def _numbers(values: Any, what: str) -> ndarray:
    try:
        return np.asarray(values, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise TypeError(f"{what} must be numbers, got {values!r:.60}") from None


def _axes(axes: Any, n: int, who: str) -> Names | None:
    if axes is None:
        return None
    names = (axes,) if isinstance(axes, str) else tuple(axes)
    if len(names) != n or len(set(names)) < n or any(not isinstance(name, str) for name in names):
        raise ValueError(f"{who}: axes must be {n} different names, got {axes!r:.60}")
    return names


def _name(name: Any, who: str) -> str:
    if not isinstance(name, str) or not name:
        raise ValueError(f"{who}: name must be a text, got {name!r:.60}")
    return name


def _evenly(n: int, dim: int, without: int) -> Float[ndarray, "n k"]:
    """n points of the unit cube, spread evenly over the axes but one."""
    found = np.zeros((n, dim))
    others = [axis for axis in range(dim) if axis != without]
    if len(others) == 1:
        found[:, others[0]] = (np.arange(n) + 0.5) / n
    elif others:
        found[:, others] = sobol(len(others), n, 31)
    return found


def _directions(n: int, dim: int) -> Float[ndarray, "n k"]:
    """n directions, spread evenly."""
    if dim == 1:
        return np.where(np.arange(n) % 2 == 0, -1.0, 1.0)[:, None]
    if dim == 2:
        angle = 2.0 * np.pi * (np.arange(n) + 0.5) / n
        return np.column_stack([np.cos(angle), np.sin(angle)])
    found = np.random.default_rng(dim).standard_normal((n, dim))
    return np.asarray(found / np.linalg.norm(found, axis=1, keepdims=True))


def holds(inside: Callable[[ndarray], Any] | Shape, points: _Points, names: Names) -> Bool[ndarray, " n"]:
    """Whether points are within a shape, or a function of a point says so."""
    if isinstance(inside, Shape):
        return np.asarray(inside.depth(points, names) >= 0.0)
    found = np.zeros(len(points), dtype=bool)
    for i, point in enumerate(points):
        found[i] = _truth(inside, point)
    return found


def _truth(inside: Callable[[ndarray], Any], point: ndarray) -> bool:
    try:
        said = inside(point.copy())
    except Exception as error:
        raise ValueError(
            f"inside: the function fails at {point.tolist()} with {type(error).__name__}: {str(error)[:120]}"
        ) from error
    if np.shape(said) != () or not (isinstance(said, bool) or np.asarray(said).dtype == bool):
        raise TypeError(f"inside: expected True or False at a point, got {said!r:.60}")
    return bool(said)
