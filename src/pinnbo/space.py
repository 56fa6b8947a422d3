"""The box that is searched: named parameters with finite bounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy import ndarray
from numpy.typing import ArrayLike

_MOST_AXES = 500  # models hold matrices of the square of this size
_LARGEST = 1e70  # the fourth power of a width, and of its inverse, are numbers
_FINEST = 1e-10  # of the size of a coordinate: leaves five digits to tell points of the box apart
# `pinnbo export` writes these beside the parameters
_COLUMNS = frozenset({"trial", "meaning", "value", "noise", "was", "reason"})

Points = ArrayLike | Mapping[str, float] | Sequence[Mapping[str, float]]


class Space:
    """A named box, e.g. ``Space(x=(0.0, 6.28), y=(0.0, 6.28))``.

    Points are arrays of shape ``(d,)`` in the user's units, coordinates in the order of the names.
    """

    def __init__(self, **bounds: tuple[float, float]) -> None:
        if not bounds:
            raise ValueError("Space: expected at least one named bound such as x=(0.0, 1.0), got none")
        if len(bounds) > _MOST_AXES:
            raise ValueError(f"Space: expected at most {_MOST_AXES} parameters, got {len(bounds)}")
        pairs = [_checked_bound(name, pair) for name, pair in bounds.items()]
        self.names: tuple[str, ...] = tuple(bounds)
        self.lower: Float[ndarray, " d"] = np.array([low for low, _ in pairs])
        self.upper: Float[ndarray, " d"] = np.array([high for _, high in pairs])
        self.lower.flags.writeable = False
        self.upper.flags.writeable = False

    @classmethod
    def box(cls, lower: ArrayLike, upper: ArrayLike) -> Space:
        """A box with the names x0 .. x{d-1}."""
        try:
            low, high = (np.atleast_1d(np.asarray(side, dtype=float)) for side in (lower, upper))
        except (TypeError, ValueError, OverflowError):
            raise TypeError(
                f"Space.box: lower and upper must be numbers, got {lower!r:.60} and {upper!r:.60}"
            ) from None
        if low.shape != high.shape or low.ndim != 1:
            raise ValueError(
                f"Space.box: lower and upper must be 1-D of one length, got {low.shape} and {high.shape}"
            )
        return cls(**{f"x{i}": pair for i, pair in enumerate(zip(low.tolist(), high.tolist(), strict=True))})

    @property
    def dim(self) -> int:
        """Number of parameters d."""
        return len(self.names)

    @property
    def centre(self) -> Float[ndarray, " d"]:
        """Middle of the box."""
        return 0.5 * (self.lower + self.upper)

    @property
    def half_width(self) -> Float[ndarray, " d"]:
        """Half the extent of the box along each axis."""
        return 0.5 * (self.upper - self.lower)

    def scale(self, points: ArrayLike) -> ndarray:
        """Map user units to [-1, 1]^d."""
        return (np.asarray(points, dtype=float) - self.centre) / self.half_width

    def unscale(self, scaled: ArrayLike) -> ndarray:
        """Map [-1, 1]^d to user units; never leaves the box by rounding."""
        points = self.centre + np.asarray(scaled, dtype=float) * self.half_width
        return np.clip(points, self.lower, self.upper)

    def sobol(self, n: int, seed: int | Sequence[int]) -> Float[ndarray, "n d"]:
        """The first n points of a scrambled Sobol sequence over the box."""
        from pinnbo.sobol import sobol

        unit = sobol(self.dim, n, seed)
        return self.lower + unit * (self.upper - self.lower)

    def contains(self, x: ArrayLike) -> bool:
        """Whether the point lies in the closed box."""
        point = np.asarray(x, dtype=float)
        return bool(np.all(point >= self.lower) and np.all(point <= self.upper))

    def to_dict(self, x: ArrayLike) -> dict[str, float]:
        """Name the coordinates of one point."""
        point = self.as_points(x, "Space.to_dict")
        if len(point) != 1:
            raise ValueError(f"Space.to_dict: expected one point, got {len(point)}")
        return dict(zip(self.names, point[0].tolist(), strict=True))

    def from_dict(self, values: Mapping[str, float]) -> Float[ndarray, " d"]:
        """Order named coordinates into a point."""
        unknown = [name for name in values if name not in self.names]
        missing = [name for name in self.names if name not in values]
        if unknown or missing:
            raise ValueError(
                f"Space.from_dict: expected exactly the names {list(self.names)}, "
                f"got unknown {unknown} and missing {missing}"
            )
        return self.as_points([values[name] for name in self.names], "Space.from_dict")[0]

    def as_points(self, points: Points, who: str) -> Float[ndarray, "n d"]:
        """Validate one point or many as an array (n, d) of finite numbers, for the caller named ``who``.

        A point may be a mapping from names to coordinates, too.
        """
        if isinstance(points, Mapping):
            points = self.from_dict(points)
        elif (
            isinstance(points, list | tuple)
            and points
            and all(isinstance(point, Mapping) for point in points)
        ):
            points = [self.from_dict(point) for point in points]
        try:
            array = np.asarray(points, dtype=float)
        except (TypeError, ValueError, OverflowError):
            raise TypeError(
                f"{who}: expected numbers of shape ({self.dim},) or (n, {self.dim}), got {points!r:.80}"
            ) from None
        if array.ndim == 1:
            array = array[None, :]
        if array.ndim != 2 or array.shape[1] != self.dim:
            raise ValueError(
                f"{who}: expected points of shape ({self.dim},) or (n, {self.dim}) "
                f"for {list(self.names)[:6]}, got shape {np.shape(points)}"  # type: ignore[arg-type]
            )
        if not np.isfinite(array).all():
            bad = array[~np.isfinite(array).all(axis=1)][0]
            raise ValueError(f"{who}: expected finite coordinates, got {bad.tolist()}")
        return array

    def __eq__(self, other: object) -> bool:
        return (
            # a subclass has other scaled coordinates
            isinstance(other, Space)
            and type(self) is type(other)
            and self.names == other.names
            and np.array_equal(self.lower, other.lower)
            and np.array_equal(self.upper, other.upper)
        )

    def __hash__(self) -> int:
        return hash((self.names, self.lower.tobytes(), self.upper.tobytes()))

    def __repr__(self) -> str:
        bounds = zip(self.names, self.lower.tolist(), self.upper.tolist(), strict=True)
        return "Space(" + ", ".join(f"{name}=({low:g}, {high:g})" for name, low, high in bounds) + ")"

    def _repr_html_(self) -> str:
        from pinnbo.notebook import table

        bounds = zip(self.names, self.lower, self.upper, strict=True)
        return table([(name, f"{low:g}", f"{high:g}") for name, low, high in bounds], ("", "from", "to"))


def is_named(points: object) -> bool:
    """Whether points are given as a list of mappings."""
    return isinstance(points, list | tuple) and bool(points) and all(isinstance(p, Mapping) for p in points)


def _checked_bound(name: str, pair: Any) -> tuple[float, float]:
    _check_name(name)
    expected = (
        f"Space: bound of '{name}' must be a pair of finite numbers with lower < upper, got {pair!r:.80}"
    )
    try:
        low, high = pair
    except (TypeError, ValueError):
        raise ValueError(expected) from None
    if any(isinstance(bound, bool) or not isinstance(bound, Real) for bound in (low, high)):
        raise TypeError(expected)
    try:
        low, high = float(low), float(high)
    except OverflowError:
        raise ValueError(expected) from None
    if not (np.isfinite(low) and np.isfinite(high) and low < high):
        raise ValueError(expected)
    if max(abs(low), abs(high)) > _LARGEST or high - low < 1.0 / _LARGEST:
        raise ValueError(
            f"Space: bound of '{name}' must lie within {_LARGEST:g} and be wider than {1.0 / _LARGEST:g}, "
            f"got ({low:g}, {high:g}); use another unit"
        )
    if high - low < _FINEST * max(abs(low), abs(high)):
        raise ValueError(
            f"Space: bound of '{name}' must be wider than the rounding of its numbers, got ({low!r}, {high!r}); "
            "use the distance from one end as the parameter"
        )
    return low, high


def _check_name(name: str) -> None:
    if name in _COLUMNS:
        raise ValueError(
            f"Space: {name!r} is the name of a column in tables of trials; call the parameter otherwise"
        )
    if not name or not name.isprintable() or name != name.strip() or name[0] in "=+-@'":
        raise ValueError(f"Space: expected a name such as x or 'flow rate', got {name!r:.60}")
