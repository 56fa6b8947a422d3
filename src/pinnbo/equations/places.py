"""Where a condition holds: a place in text as points of the box, and its outward normal.

One point where all axes are fixed, evenly spaced ones along an edge, a Sobol sequence over a face. Places have names:
``boundary`` is all faces of the box, others are given beside the text, as text or as points. A space with a shape of
its own can add the parts of its boundary there, as points.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float
from numpy import ndarray
from numpy.typing import ArrayLike

from pinnbo.equations import compiled, grammar
from pinnbo.equations.constants import constant_value
from pinnbo.equations.errors import EquationError, nearest
from pinnbo.equations.nodes import (
    Comparison,
    Derivative,
    Fixed,
    Located,
    Name,
    Node,
    Number,
)
from pinnbo.equations.scope import Scope
from pinnbo.equations.units import System
from pinnbo.space import Space

if TYPE_CHECKING:
    from pinnbo.equations.text import Equation

_POINTS = 32  # of a condition along an edge or over a face


def located(
    on: Located, equation: Equation, space: Space, places: Mapping[str, str | ArrayLike], units: System
) -> tuple[Float[ndarray, "n d"], compiled.Normal | None]:
    """The points of a place, and its outward normal if it is one face."""
    wants_normal = _uses_normal(equation)
    found: list[ndarray] = []
    normals: set[compiled.Normal | None] = set()
    for alternative in _resolved(on, space, places, units):
        if isinstance(alternative, ndarray):
            found.append(alternative)
            normals.add(None)
            continue
        fixed = {part.axis: part for part in alternative if isinstance(part, Fixed)}
        others = [part for part in alternative if not isinstance(part, Fixed)]
        found.append(_points_on(fixed, others, equation.scope, space))
        normals.add(_normal_of(fixed, equation.scope, space) if wants_normal else None)
    if wants_normal and (len(normals) != 1 or None in normals):
        raise EquationError("n: expected one face of the box, such as y = 1; write one condition per face")
    return np.concatenate(found), normals.pop() if wants_normal else None


def _uses_normal(equation: Equation) -> bool:
    if "n" in equation.scope.axes:
        return False
    sides = [equation.statement.left, equation.statement.right, *(d.body for d in equation.definitions)]
    parts = (part for side in sides for part in side.walk() if isinstance(part, Derivative))
    return any(isinstance(axis, Name) and axis.id == "n" for part in parts for axis in part.axes)


def _resolved(
    on: Located, space: Space, places: Mapping[str, str | ArrayLike], units: System
) -> list[tuple[Node | Fixed, ...] | Float[ndarray, "n d"]]:
    found: list[Any] = []
    for alternative in on.alternatives:
        names = [part for part in alternative if isinstance(part, Name)]
        if not names:
            found.append(alternative)
            continue
        name = names[0]
        if name.id == "boundary" and name.id not in places:
            faces = [
                Fixed(axis, Number(float(side)))
                for axis, low, high in zip(space.names, space.lower, space.upper, strict=True)
                for side in (low, high)
            ]
            inner: list[Any] = [(face,) for face in faces]
        elif name.id in places:
            place = places[name.id]
            if isinstance(place, str):
                inner = list(grammar.parse_place(place, space.names, units).alternatives)
                if any(isinstance(part, Name) for parts in inner for part in parts):
                    raise EquationError(
                        f"place {name.id}: expected axes, such as y = 0, got the name of a place"
                    )
            else:
                inner = [space.as_points(place, f"place {name.id}")]
        else:
            known = [*places, "boundary"]
            raise EquationError(
                f"place {name.id} is unknown{nearest(name.id, known)}; write an axis and a value such as y = 0",
                name.at,
            )
        rest = tuple(part for part in alternative if part is not name)
        if rest and any(isinstance(part, ndarray) for part in inner):
            raise EquationError(f"place {name.id}: points cannot be narrowed by comparisons", name.at)
        found += [part if isinstance(part, ndarray) else (*part, *rest) for part in inner]
    return found


def _value_of(node: Node, scope: Scope) -> float:
    value = constant_value(node)
    if value is None:
        if scope.has_field(node) or scope.unknowns_in(node) or _has_axis(node, scope):
            raise EquationError("expected a number as the value of an axis", node.at)
        value = float(compiled.function(node, compiled.Environment(scope, {}))(jnp.zeros(len(scope.axes))))
    if not np.isfinite(value):
        raise EquationError("expected a finite number as the value of an axis", node.at)
    return value


def _has_axis(node: Node, scope: Scope) -> bool:
    bodies = [node, *(definition.body for definition in scope.used([node]))]
    return any(isinstance(part, Name) and part.id in scope.axes for body in bodies for part in body.walk())


def _points_on(
    fixed: Mapping[str, Fixed], others: Sequence[Node], scope: Scope, space: Space
) -> Float[ndarray, "n d"]:
    for part in fixed.values():
        if part.axis not in space.names:
            hint = nearest(part.axis, space.names) or f"; there are {', '.join(space.names[:8])}"
            raise EquationError(f"{part.axis!r} is no axis{hint}", part.at)
    if not fixed:
        at = others[0].at if others else None
        raise EquationError("expected the value of an axis in a place, such as y = 0", at)
    values = {space.names.index(axis): _value_of(part.value, scope) for axis, part in fixed.items()}
    free = [i for i in range(space.dim) if i not in values]
    if not free:
        points = np.zeros((1, space.dim))
    elif len(free) == 1 and not others:
        points = np.zeros((_POINTS, space.dim))
        points[:, free[0]] = np.linspace(space.lower[free[0]], space.upper[free[0]], _POINTS)
    else:
        # more than are needed, of which those are kept where the comparisons hold
        points = space.sobol(_POINTS * (64 if others else 1), seed=17)
    points[:, list(values)] = list(values.values())
    for comparison in others:
        if not isinstance(comparison, Comparison):
            raise EquationError("expected a place such as y = 0 and x < 0.5", comparison.at)
        scope.kind(comparison)
        holds = compiled.function(comparison, compiled.Environment(scope, {}))
        points = points[np.asarray(jax.vmap(holds)(jnp.asarray(points)))]
    if len(points) == 0:
        raise EquationError("no point of the box lies in this place", others[0].at)
    return points[:_POINTS]


def _normal_of(fixed: Mapping[str, Fixed], scope: Scope, space: Space) -> compiled.Normal:
    if len(fixed) != 1:
        raise EquationError("n: expected one face of the box, such as y = 1")
    ((axis, part),) = fixed.items()
    i, value = space.names.index(axis), _value_of(part.value, scope)
    if value <= space.lower[i]:
        return compiled.Normal(i, -1)
    if value >= space.upper[i]:
        return compiled.Normal(i, 1)
    raise EquationError(
        f"n is the outward normal of a face of the box; {axis} = {value:g} lies inside: write d(..., {axis})",
        part.at,
    )
