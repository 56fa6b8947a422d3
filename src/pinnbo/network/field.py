"""The surrogate in the user's units, f(theta, x) = shift + scale * h(theta, (x - centre) / half).

Inputs and outputs are scaled inside f, so that the operator acts on the user's f of the user's x.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from pinnbo.operators import Point, ScalarField
from pinnbo.space import Space

Parametrised = Callable[[Any, Float[Array, " d"]], Float[Array, ""]]


class Units(NamedTuple):
    """The affine maps between user units and those of the parametrised function."""

    centre: Float[Array, " d"]
    half_width: Float[Array, " d"]
    shift: Float[Array, ""]
    scale: Float[Array, ""]

    @classmethod
    def of(cls, space: Space, shift: float = 0.0, scale: float = 1.0) -> Units:
        """Units of a box and of outputs shift + scale * h."""
        return cls(
            jnp.asarray(space.centre),
            jnp.asarray(space.half_width),
            jnp.asarray(shift, float),
            jnp.asarray(scale, float),
        )

    def field(self, model: Parametrised, theta: Any) -> ScalarField:
        """x -> f(theta, x)."""

        def f(x: Point) -> Float[Array, ""]:
            return self.shift + self.scale * model(theta, (x - self.centre) / self.half_width)

        return f
