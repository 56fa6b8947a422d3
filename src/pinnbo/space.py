"""What is searched: named parameters with finite bounds, and of the box the part that is inside."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Bool, Float
from numpy import ndarray
from numpy.typing import ArrayLike

from pinnbo.axis import Axis, as_axis

if TYPE_CHECKING:
    from pinnbo.boundary import Boundary
    from pinnbo.shapes import Shape

_MOST_AXES = 500  # models hold matrices of the square of this size
_HARDLY_ANY = 1e-3  # share of the box below which to look for places inside takes longer than all the rest
_LOOKED_AT = (256, 4096, 32768)
_NEAR = 1e-9  # half widths: a coordinate that was written down and read again
_N_TRUTHS = 64
# `pinnbo export` writes these beside the parameters
_COLUMNS = frozenset({"trial", "meaning", "value", "noise", "was", "reason"})

Points = ArrayLike | Mapping[str, float] | Sequence[Mapping[str, float]]


class Space:
    """A named box, e.g. ``Space(x=(0.0, 6.28), y=(0.0, 6.28))``, or a part of it.

    Points are arrays of shape ``(d,)`` in the user's units, coordinates in the order of the names. An axis is a pair of
    bounds, or an `Axis` that is logarithmic, stepped or periodic, ``k=Axis(1e-3, 1.0, log=True)``. ``inside`` is a
    shape of `pinnbo.shapes`, or a function of a point that says whether it belongs to the space; the box should fit it
    closely.
    """

    def __init__(self, *, inside: Any = None, **axes: Any) -> None:
        if not axes:
            raise ValueError("Space: expected at least one named bound such as x=(0.0, 1.0), got none")
        if len(axes) > _MOST_AXES:
            raise ValueError(f"Space: expected at most {_MOST_AXES} parameters, got {len(axes)}")
        for name in axes:
            _check_name(name)
        self.axes: tuple[Axis, ...] = tuple(as_axis(name, stated) for name, stated in axes.items())
        self.names: tuple[str, ...] = tuple(axes)
        self.lower: Float[ndarray, " d"] = np.array([axis.low for axis in self.axes])
        self.upper: Float[ndarray, " d"] = np.array([axis.high for axis in self.axes])
        self.lower.flags.writeable = False
        self.upper.flags.writeable = False
        self.inside: Shape | Callable[[ndarray], Any] | None = inside
        if inside is not None:
            self._check_inside()

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

    @cached_property
    def is_linear(self) -> bool:
        """Whether scaled coordinates are linear in the user's: no axis is logarithmic."""
        return not any(axis.log for axis in self.axes)

    @property
    def is_box(self) -> bool:
        """Whether all of the box belongs to it."""
        return self.inside is None

    @cached_property
    def periodic(self) -> tuple[int, ...]:
        """Numbers of the periodic axes."""
        return tuple(i for i, axis in enumerate(self.axes) if axis.periodic)

    @cached_property
    def is_plain(self) -> bool:
        """Whether it is a box without logarithmic or periodic axes, as most models take it to be."""
        return self.is_box and self.is_linear and not self.periodic

    @cached_property
    def is_stepped(self) -> bool:
        """Whether an axis has steps."""
        return any(axis.step is not None for axis in self.axes)

    def scale(self, points: ArrayLike) -> ndarray:
        """Map user units to [-1, 1]^d: linear, or linear in the logarithm."""
        array = np.asarray(points, dtype=float)
        if self.is_linear:
            return (array - self.centre) / self.half_width
        return np.stack([axis.scale(array[..., i]) for i, axis in enumerate(self.axes)], axis=-1)

    def unscale(self, scaled: ArrayLike) -> ndarray:
        """Map [-1, 1]^d to user units; never leaves the box by rounding."""
        array = np.asarray(scaled, dtype=float)
        if self.is_linear:
            return np.clip(self.centre + array * self.half_width, self.lower, self.upper)
        return np.stack([axis.unscale(array[..., i]) for i, axis in enumerate(self.axes)], axis=-1)

    def expansion(self, points: Float[ndarray, "n d"], order: int) -> Float[ndarray, "n k d"]:
        """Derivatives of the scaled coordinates in the user's at points, axis by axis."""
        columns = [axis.expansion(points[:, i], order) for i, axis in enumerate(self.axes)]
        return np.stack(columns, axis=2)

    def sobol(self, n: int, seed: int | Sequence[int]) -> Float[ndarray, "n d"]:
        """The first n points of a scrambled Sobol sequence that are inside: of the continuum, without steps."""
        from pinnbo.sobol import sobol

        if self.is_box and self.is_linear:
            return self.lower + sobol(self.dim, n, seed) * (self.upper - self.lower)
        if self.is_box:
            return self.unscale(2.0 * sobol(self.dim, n, seed) - 1.0)
        drawn = max(1, n)
        while True:
            points = self.unscale(2.0 * sobol(self.dim, drawn, seed) - 1.0)
            found = points[self.is_inside(points)]
            if len(found) >= n:
                return found[:n]
            drawn *= 2

    def is_inside(self, points: Float[ndarray, "n d"]) -> Bool[ndarray, " n"]:
        """Whether points of the box belong to the space."""
        if self.inside is None:
            return np.ones(len(points), dtype=bool)
        from pinnbo.shapes import holds

        return holds(self.inside, points, self.names)

    def contains(self, x: ArrayLike) -> bool:
        """Whether the point lies in the closed box, and inside."""
        point = np.asarray(x, dtype=float)
        in_box = bool(((point >= self.lower) & (point <= self.upper)).all())
        return in_box and (self.inside is None or bool(self.is_inside(point[None])[0]))

    def nearest(self, x: Float[ndarray, " d"]) -> Float[ndarray, " d"] | None:
        """A point as one of the space, up to rounding and to the period of a periodic axis; None if it is none."""
        point = np.array(x, dtype=float)
        if self.contains(point):  # most are
            return point
        margin = _NEAR * self.half_width
        for i in self.periodic:
            axis = self.axes[i]
            if not axis.low <= point[i] <= axis.high:
                point[i] = axis.low + np.mod(point[i] - axis.low, axis.high - axis.low)
        if np.any(point < self.lower - margin) or np.any(point > self.upper + margin):
            return None
        point = np.clip(point, self.lower, self.upper)
        if self.inside is None or self.is_inside(point[None])[0]:
            return point
        around = np.concatenate([np.diag(margin), np.diag(-margin), [margin, -margin]])
        near = np.clip(point + around, self.lower, self.upper)
        return point if self.is_inside(near).any() else None

    def boundary(self, *names: str, n: int = 40) -> Boundary:
        """About n points of the parts of the boundary with these names, on which conditions can be stated.

        Faces of the box are called such as ``"x=0"``; names of shapes and of their sides are those they were given.
        """
        from pinnbo.boundary import boundary

        return boundary(self, names, n)

    def _check_inside(self) -> None:
        from pinnbo.shapes import Shape

        inside = self.inside
        if isinstance(inside, Shape):
            self._check_shape(inside)
        elif not callable(inside):
            raise TypeError(
                "Space: inside must be a shape of pinnbo.shapes or a function of a point, and no axis can be called "
                f"inside, got {inside!r:.60}"
            )
        from pinnbo.sobol import sobol

        share, n = 0.0, 0
        for n in _LOOKED_AT:
            share = float(np.mean(self.is_inside(self.unscale(2.0 * sobol(self.dim, n, 37) - 1.0))))
            if share > 16.0 / n:
                break
        if share < _HARDLY_ANY:
            room = "no room" if share == 0 else f"hardly any room, {share:.2g} of the box,"
            raise ValueError(
                f"Space: inside leaves {room} as {n} points spread over {self._bounds_shown()} tell; "
                "choose bounds that fit it closely"
            )

    def _check_shape(self, shape: Shape) -> None:
        unknown = [axis for axis in shape.axes_named if axis not in self.names]
        if unknown:
            raise ValueError(
                f"Space: inside names the axis {unknown[0]!r}; expected some of {list(self.names)[:6]}"
            )
        try:
            extent = shape.extent(self.names)
        except ValueError:
            raise ValueError(
                f"Space: inside has more coordinates than the space, which has {self.dim}"
            ) from None
        for name, (low, high) in extent.items():
            i = self.names.index(name)
            if high <= self.lower[i] or low >= self.upper[i]:
                raise ValueError(
                    f"Space: inside lies outside the box: {name} from {low:g} to {high:g}, "
                    f"expected some of it within {self.lower[i]:g} to {self.upper[i]:g}"
                )

    @property
    def truths(self) -> str:
        """Whether points spread over the box are inside, as digits: what a function is recognised by later."""
        from pinnbo.sobol import sobol

        points = self.unscale(2.0 * sobol(self.dim, _N_TRUTHS, 41) - 1.0)
        return "".join("1" if inside else "0" for inside in self.is_inside(points))

    def to_json(self) -> dict[str, Any]:
        """The space as plain JSON; of a function that says what is inside only what it says at some points."""
        from pinnbo.shapes import Shape

        found: dict[str, Any] = {
            "names": list(self.names),
            "lower": self.lower.tolist(),
            "upper": self.upper.tolist(),
        }
        if any(not axis.is_plain for axis in self.axes):
            found["axes"] = {
                name: axis.to_json()
                for name, axis in zip(self.names, self.axes, strict=True)
                if not axis.is_plain
            }
        if isinstance(self.inside, Shape):
            found["inside"] = self.inside.to_json()
        elif self.inside is not None:
            found["inside"] = {"function": self.truths}
        return found

    @classmethod
    def from_json(cls, stored: Mapping[str, Any], inside: Any = None) -> Space:
        """The space that `to_json` wrote; a function that says what is inside has to be given again."""
        from pinnbo.shapes import from_json

        options = stored.get("axes", {})
        ends = zip(stored["names"], stored["lower"], stored["upper"], strict=True)
        axes = {name: Axis(low, high, **options.get(name, {})) for name, low, high in ends}
        kept = stored.get("inside")
        if kept is None:
            return cls(**axes)
        if "function" not in kept:
            return cls(inside=from_json(kept), **axes)
        if inside is None:
            raise ValueError(
                "the space was stored with a function that says what is inside; pass it as inside"
            )
        found = cls(inside=inside, **axes)
        if found.truths != kept["function"]:
            raise ValueError("inside is not the function that the space was stored with")
        return found

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
            said = [
                *(f"{name!r:.40} is none of them" for name in unknown[:3]),
                *(
                    [f"{', '.join(missing[:6])} {'is' if len(missing) == 1 else 'are'} missing"]
                    if missing
                    else []
                ),
            ]
            raise ValueError(f"expected a value of {', '.join(self.names[:8])}: {'; '.join(said)}")
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
            and self.axes == other.axes
            and self.inside == other.inside
        )

    def __hash__(self) -> int:
        return hash((self.names, self.axes, self.inside))

    def __repr__(self) -> str:
        return f"Space({self._bounds_shown()}{'' if self.inside is None else ', inside=...'})"

    def _bounds_shown(self) -> str:
        return ", ".join(f"{name}={axis!r}" for name, axis in zip(self.names, self.axes, strict=True))

    def _repr_html_(self) -> str:
        from pinnbo.notebook import table

        bounds = zip(self.names, self.lower, self.upper, strict=True)
        return table([(name, f"{low:g}", f"{high:g}") for name, low, high in bounds], ("", "from", "to"))


def is_named(points: object) -> bool:
    """Whether points are given as a list of mappings."""
    return isinstance(points, list | tuple) and bool(points) and all(isinstance(p, Mapping) for p in points)


def _check_name(name: str) -> None:
    if name in _COLUMNS:
        raise ValueError(
            f"Space: {name!r} is the name of a column in tables of trials; call the parameter otherwise"
        )
    if not name or not name.isprintable() or name != name.strip() or name[0] in "=+-@'":
        raise ValueError(f"Space: expected a name such as x or 'flow rate', got {name!r:.60}")
