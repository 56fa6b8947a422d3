"""Conditions on the boundary of a space: a value, the derivative across it, or a mixture of both.

    space = Space(x=(0, 2), y=(0, 2), inside=plate - disc((0.5, 0.5), 0.2, name="hole"))
    space.boundary("hole").value(20.0)                   T = 20
    space.boundary("x=0", "y=0").normal_derivative(0.0)  dT/dn = 0, n pointing outwards
    space.boundary("plate.1").robin(5.0, 1.0, 100.0)     5 T + dT/dn = 100

A condition is a `PDE` with points of its own, and goes into the list of equations.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from pinnbo.shapes import Box, Part, Shape
from pinnbo.sobol import sobol
from pinnbo.space import Space

if TYPE_CHECKING:
    from pinnbo.pde import PDE

_MORE = 8  # times as many points are tried: parts may be hidden by other shapes
_ON = 1e-9  # of the size of the box: the distance of a point that lies on a boundary
_ACROSS = 1e-6  # of the size of the box: how far to look for the outside


@dataclass(frozen=True, eq=False)
class Boundary:
    """Points on some parts of a boundary, and the outward directions there."""

    name: str
    points: Float[ndarray, "n d"]
    normals: Float[ndarray, "n d"]

    def value(self, given: float | Callable[..., Any], **options: Any) -> PDE:
        """f = given; ``field`` names one of several, other options are those of `PDE`."""
        return self._condition(1.0, 0.0, given, f"value on {self.name}", options)

    def normal_derivative(self, given: float | Callable[..., Any], **options: Any) -> PDE:
        """df/dn = given, n pointing outwards."""
        return self._condition(0.0, 1.0, given, f"normal derivative on {self.name}", options)

    def robin(self, a: float, b: float, given: float | Callable[..., Any], **options: Any) -> PDE:
        """a f + b df/dn = given, n pointing outwards."""
        return self._condition(float(a), float(b), given, f"Robin condition on {self.name}", options)

    def _condition(self, a: float, b: float, given: Any, name: str, options: dict[str, Any]) -> PDE:
        import jax.numpy as jnp

        from pinnbo.operators import gradient
        from pinnbo.pde import PDE

        points, normals = jnp.asarray(self.points), jnp.asarray(self.normals)
        field = options.pop("field", None)
        if field is not None:
            options["fields"] = [field]

        def condition(f: Any) -> Any:
            def value(x: Any) -> Any:
                found = a * f(x) if a else 0.0
                if b:
                    # the direction is that of the nearest point, and the condition is asked for at these alone
                    nearest = jnp.argmin(jnp.sum((points - x) ** 2, axis=1))
                    found = found + b * jnp.dot(normals[nearest], gradient(f)(x))
                return found

            return value

        return PDE(condition, given, points=self.points, **{"name": name, **options})


def boundary(space: Space, names: Sequence[str], n: int) -> Boundary:
    """See `Space.boundary`."""
    if not names or any(not isinstance(name, str) for name in names):
        raise ValueError(f"boundary: expected names of parts such as 'x=0', got {names!r:.60}")
    if isinstance(n, bool) or not isinstance(n, int) or n < 1:
        raise ValueError(f"boundary: n must be an integer >= 1, got {n!r:.60}")
    faces = Box(tuple(space.lower.tolist()), tuple(space.upper.tolist()), space.names, "box")
    open_faces = [
        part
        for i, axis in enumerate(space.axes)
        if not axis.periodic
        for part in faces.parts(space.names)[2 * i : 2 * i + 2]
    ]
    shape = space.inside if isinstance(space.inside, Shape) else None
    parts = [*open_faces, *(shape.parts(space.names) if shape is not None else [])]
    known = list(dict.fromkeys(name for part in parts for name in (part.name, part.of)))
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f", did you mean {near[0]!r}?" if near else f"; expected some of {known[:12]}"
            raise ValueError(f"boundary: no part is called {name!r}{hint}")
    chosen = [part for part in parts if part.name in names or part.of in names]
    whole = float(sum(part.size for part in chosen))
    found = [_sampled(space, part, max(1, round(_MORE * n * part.size / whole))) for part in chosen]
    points, normals = (np.concatenate(arrays) for arrays in zip(*found, strict=True))
    on, sign = _on_boundary(space, points, normals)
    if not on.any():
        raise ValueError(f"boundary: nothing of {', '.join(names)} is on the boundary of {space}")
    points, normals = points[on], (sign[:, None] * normals)[on]
    every = np.unique(np.linspace(0, len(points) - 1, min(n, len(points))).round().astype(int))
    return Boundary(", ".join(names), points[every], normals[every])


def _sampled(space: Space, part: Part, n: int) -> tuple[ndarray, ndarray]:
    """Points of a part with all coordinates of the space: others are spread over the box."""
    own, across = part.sample(n)
    points = space.unscale(2.0 * sobol(space.dim, n, 47) - 1.0)
    normals = np.zeros_like(points)
    columns = [space.names.index(axis) for axis in part.axes]
    points[:, columns], normals[:, columns] = own, across
    return points, normals


def _on_boundary(space: Space, points: ndarray, normals: ndarray) -> tuple[ndarray, ndarray]:
    """Which points lie on the boundary of the space, and the sign with which their directions point outwards."""
    size = float(np.max(space.half_width))

    def inside(at: ndarray) -> ndarray:
        margin = _ON * space.half_width
        in_box = np.all((at >= space.lower - margin) & (at <= space.upper + margin), axis=1)
        return in_box & (_depth(space, at) >= -_ON * size)

    step = _ACROSS * size * normals
    ahead, behind = inside(points + step), inside(points - step)
    return inside(points) & (ahead != behind), np.where(ahead, -1.0, 1.0)


def _depth(space: Space, points: ndarray) -> ndarray:
    if isinstance(space.inside, Shape):
        return space.inside.depth(points, space.names)
    return np.where(space.is_inside(np.clip(points, space.lower, space.upper)), 0.0, -np.inf)
