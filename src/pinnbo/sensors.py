"""What a measurement is of: the value of a field at x, or any linear functional of the fields there.

A reading is

    y = sum over places p of w_p A[f](x_p) + noise,

A being an operator of the fields (a value, a derivative with a coefficient, ...) and x_p with weights w_p the places of
a quadrature rule around x: the point itself, points that are given, a segment, a box, a disc; less the same at a fixed
place for a difference. The rules are Gauss' on a segment and a box,

    1/|C| int_C A[f] ~ sum w_p A[f](x_p),      exact for polynomials of degree 2n - 1 = 15 along every axis,

and on a disc Gauss' in the square of the radius (degree 11 in the radius) times equal angles (harmonics below 16).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy import ndarray
from numpy.typing import ArrayLike

_N_GAUSS = 8
_N_RADII, _N_ANGLES = 6, 16


class Footprint(ABC):
    """Places of a sensor around x, with weights."""

    @abstractmethod
    def places(self, points: Float[ndarray, "n d"]) -> tuple[Float[ndarray, "n q d"], Float[ndarray, " q"]]:
        """The places of a sensor at every point, and the weights that they share."""

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """As plain JSON."""

    def refuse(self, dim: int) -> None:  # noqa: B027
        """Raise where it cannot be used in so many coordinates."""


@dataclass(frozen=True)
class AtPoint(Footprint):
    """x itself."""

    def places(self, points: Float[ndarray, "n d"]) -> tuple[Float[ndarray, "n q d"], Float[ndarray, " q"]]:
        """One place."""
        return points[:, None], np.ones(1)

    def to_json(self) -> dict[str, Any]:
        """Its name."""
        return {"shape": "point"}


@dataclass(frozen=True)
class Places(Footprint):
    """Fixed places with weights, wherever x is."""

    points: tuple[tuple[float, ...], ...]
    weights: tuple[float, ...]

    def places(self, points: Float[ndarray, "n d"]) -> tuple[Float[ndarray, "n q d"], Float[ndarray, " q"]]:
        """The same for every x."""
        fixed = np.array(self.points)
        return np.broadcast_to(fixed, (len(points), *fixed.shape)), np.array(self.weights)

    def to_json(self) -> dict[str, Any]:
        """Points and weights."""
        return {"shape": "places", "points": [list(p) for p in self.points], "weights": list(self.weights)}

    def refuse(self, dim: int) -> None:
        """Points have as many coordinates as the box."""
        if len(self.points[0]) != dim:
            raise ValueError(f"places: expected points of {dim} coordinates, got {len(self.points[0])}")


@dataclass(frozen=True)
class Box(Footprint):
    """A box, or a segment along one axis, centred at x; a side of 0 is an axis along which it does not extend."""

    sides: tuple[float, ...]

    def places(self, points: Float[ndarray, "n d"]) -> tuple[Float[ndarray, "n q d"], Float[ndarray, " q"]]:
        """Gauss' rule on every axis that has an extent."""
        nodes, weights = np.polynomial.legendre.leggauss(_N_GAUSS)
        each = [
            (0.5 * side * nodes, 0.5 * weights) if side else (np.zeros(1), np.ones(1)) for side in self.sides
        ]
        offsets = np.stack(np.meshgrid(*(at for at, _ in each), indexing="ij"), axis=-1)
        product = np.prod(np.stack(np.meshgrid(*(w for _, w in each), indexing="ij"), axis=-1), axis=-1)
        return points[:, None] + offsets.reshape(-1, len(self.sides)), product.ravel()

    def to_json(self) -> dict[str, Any]:
        """Its sides."""
        return {"shape": "box", "sides": list(self.sides)}

    def refuse(self, dim: int) -> None:
        """As many sides as coordinates."""
        if len(self.sides) != dim:
            raise ValueError(f"box: expected {dim} sides, one for every coordinate, got {len(self.sides)}")


@dataclass(frozen=True)
class Segment(Footprint):
    """A segment from x - v/2 to x + v/2."""

    vector: tuple[float, ...]

    def places(self, points: Float[ndarray, "n d"]) -> tuple[Float[ndarray, "n q d"], Float[ndarray, " q"]]:
        """Gauss' rule along it."""
        nodes, weights = np.polynomial.legendre.leggauss(2 * _N_GAUSS)
        return points[:, None] + 0.5 * nodes[:, None] * np.array(self.vector), 0.5 * weights

    def to_json(self) -> dict[str, Any]:
        """Its vector."""
        return {"shape": "segment", "vector": list(self.vector)}

    def refuse(self, dim: int) -> None:
        """As many components as coordinates."""
        if len(self.vector) != dim:
            raise ValueError(f"segment: expected a vector of {dim} components, got {len(self.vector)}")


@dataclass(frozen=True)
class Disc(Footprint):
    """A disc around x in the plane of two coordinates."""

    radius: float
    axes: tuple[int, int] = (0, 1)

    def places(self, points: Float[ndarray, "n d"]) -> tuple[Float[ndarray, "n q d"], Float[ndarray, " q"]]:
        """1/(pi R^2) int f r dr dphi = 1/(2 pi) int f d(r^2/R^2) dphi."""
        nodes, weights = np.polynomial.legendre.leggauss(_N_RADII)
        radii = self.radius * np.sqrt(0.5 * (nodes + 1.0))
        angles = 2.0 * np.pi * np.arange(_N_ANGLES) / _N_ANGLES
        offsets = np.zeros((_N_RADII, _N_ANGLES, points.shape[1]))
        offsets[..., self.axes[0]] = radii[:, None] * np.cos(angles)
        offsets[..., self.axes[1]] = radii[:, None] * np.sin(angles)
        product = np.repeat(0.5 * weights / _N_ANGLES, _N_ANGLES)
        return points[:, None] + offsets.reshape(-1, points.shape[1]), product

    def to_json(self) -> dict[str, Any]:
        """Radius and plane."""
        return {"shape": "disc", "radius": self.radius, "axes": list(self.axes)}

    def refuse(self, dim: int) -> None:
        """Two different coordinates that there are."""
        if not (len(set(self.axes)) == 2 and all(0 <= axis < dim for axis in self.axes)):
            raise ValueError(f"disc: expected two different axes among 0 to {dim - 1}, got {self.axes}")


def places(points: ArrayLike, weights: ArrayLike | None = None) -> Places:
    """Given points (q, d), wherever x is, with weights: equal ones that sum to one unless given."""
    table = _numbers(points, "places: points")
    if table.ndim != 2 or len(table) == 0:
        raise ValueError(f"places: expected points of shape (q, d), got shape {table.shape}")
    each = np.full(len(table), 1.0 / len(table)) if weights is None else _numbers(weights, "places: weights")
    if each.shape != (len(table),):
        raise ValueError(
            f"places: expected {len(table)} weights, one for every point, got shape {each.shape}"
        )
    return Places(tuple(tuple(p) for p in table.tolist()), tuple(each.tolist()))


def segment(*vector: float) -> Segment:
    """From x - v/2 to x + v/2: ``segment(0.1, 0.0)`` is a tenth long, along the first coordinate."""
    found = _numbers(vector, "segment: vector")
    if found.ndim != 1 or not np.any(found):
        raise ValueError(f"segment: expected a vector that is not zero, got {vector!r:.60}")
    return Segment(tuple(found.tolist()))


def box(*sides: float) -> Box:
    """A box with these sides, centred at x; a side may be 0."""
    found = _numbers(sides, "box: sides")
    if found.ndim != 1 or not np.all(found >= 0) or not np.any(found):
        raise ValueError(f"box: expected sides >= 0, one of them positive, got {sides!r:.60}")
    return Box(tuple(found.tolist()))


def disc(radius: float, axes: Sequence[int] = (0, 1)) -> Disc:
    """A disc around x, in the plane of two coordinates where there are more."""
    found = _numbers(radius, "disc: radius")
    if found.ndim or not found > 0:
        raise ValueError(f"disc: expected a positive radius, got {radius!r:.60}")
    if len(tuple(axes)) != 2:
        raise ValueError(f"disc: expected two axes, got {axes!r:.60}")
    return Disc(float(found), (int(axes[0]), int(axes[1])))


@dataclass(frozen=True, eq=False)
class Sensor:
    """What an instrument reads: an operator of the fields, over a footprint, less the same at another place.

    ``Sensor(lambda T: lambda x: -0.6 * partial(T, 0)(x))`` is a flux, ``Sensor(of="psi")`` another field,
    ``Sensor(over=disc(0.1))`` an average, ``Sensor(minus=(0.0, 0.0))`` the difference to a fixed place. The operator is
    written as that of a `PDE`, and has to be linear in the fields. ``noise`` is the standard deviation of its readings.
    """

    operator: Callable[..., Any] | None = None
    of: str | None = None
    over: Footprint = AtPoint()
    minus: ArrayLike | None = None
    noise: float | None = None

    def __post_init__(self) -> None:
        if self.operator is not None and not callable(self.operator):
            raise TypeError(f"Sensor: expected an operator of the fields, got {self.operator!r:.60}")
        if self.of is not None and (not isinstance(self.of, str) or self.operator is not None):
            raise ValueError(f"Sensor: of is the name of a field, without an operator, got {self.of!r:.60}")
        if not isinstance(self.over, Footprint):
            raise TypeError(
                f"Sensor: over must be segment(...), box(...), disc(...) or places(...), got {self.over!r:.60}"
            )
        if self.minus is not None:
            object.__setattr__(self, "minus", _numbers(self.minus, "Sensor: minus"))
        if self.noise is not None:
            from pinnbo import values

            object.__setattr__(self, "noise", values.deviation(self.noise, "Sensor: noise"))

    def to_json(self) -> dict[str, Any] | None:
        """As plain JSON; None for an operator, which only its function knows."""
        if self.operator is not None:
            return None
        minus = None if self.minus is None else np.asarray(self.minus).tolist()
        return {"of": self.of, "over": self.over.to_json(), "minus": minus, "noise": self.noise}

    @classmethod
    def from_json(cls, stored: Any) -> Sensor:
        """What `to_json` wrote."""
        try:
            over = footprint(stored["over"])
            return cls(of=stored["of"], over=over, minus=stored["minus"], noise=stored["noise"])
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"expected a sensor as to_dict writes it, got {stored!r:.60}") from error


def footprint(stated: Mapping[str, Any]) -> Footprint:
    """From a table such as ``{"shape": "disc", "radius": 0.1}``."""
    known = dict(stated)
    shape = known.pop("shape", None)
    if shape not in _SHAPES:
        raise ValueError(f"over: expected a shape among {', '.join(_SHAPES)}, got {shape!r:.60}")
    try:
        return _SHAPES[shape](**known)
    except TypeError:
        raise ValueError(f"over: expected the sizes of a {shape}, got {', '.join(known) or 'none'}") from None


_SHAPES: dict[str, Callable[..., Footprint]] = {
    "point": AtPoint,
    "places": places,
    "segment": lambda vector: segment(*vector),
    "box": lambda sides: box(*sides),
    "disc": disc,
}


def as_sensor(stated: Any, who: str) -> Sensor:
    """A sensor from what a user may write in its place: a footprint, or an operator."""
    if isinstance(stated, Sensor):
        return stated
    if isinstance(stated, Footprint):
        return Sensor(over=stated)
    if callable(stated):
        return Sensor(stated)
    raise TypeError(
        f"{who}: expected a Sensor, an operator of the fields, a footprint such as disc(0.1) or the name of a field "
        f"or sensor, got {stated!r:.60}"
    )


def _numbers(given: Any, what: str) -> ndarray:
    try:
        found = np.asarray(given, dtype=float)
    except (TypeError, ValueError):
        raise TypeError(f"{what} must be numbers, got {given!r:.60}") from None
    if not np.isfinite(found).all():
        raise ValueError(f"{what} must be finite, got {given!r:.60}")
    return found
