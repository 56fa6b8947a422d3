"""A field of typical size that changes once over the box, which equations are looked at with before any experiment.

In scaled coordinates z in [-1, 1]^d

    f(z) = A cos(theta),   theta = sum_i s_i (pi/2) z_i + phase,   s_i = +-1,

so that along axis i of extent L_i, |df/dx_i| ~ A pi / L_i. Its derivatives are known in closed form,

    D^a f = A prod_i (s_i pi/2)^(a_i) cos(theta + |a| pi/2).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int
from numpy import ndarray

from pinnbo.operators import Point, ScalarField
from pinnbo.physics.jets import JetPDE
from pinnbo.space import Space

PHASES = 4


@dataclass(frozen=True)
class Wave:
    """One such field."""

    size: float
    signs: Float[ndarray, " d"]
    phase: float

    def derivatives(
        self, scaled: Float[ndarray, "n d"], indices: Int[ndarray, "a d"]
    ) -> Float[ndarray, "n a"]:
        """Derivatives in scaled coordinates at points, one column per multi-index."""
        factors = np.prod((0.5 * math.pi * self.signs) ** indices, axis=1)
        theta = 0.5 * math.pi * scaled @ self.signs + self.phase
        return self.size * factors * np.cos(theta[:, None] + 0.5 * math.pi * indices.sum(axis=1))

    def function(self, space: Space) -> ScalarField:
        """The field as a JAX function of a point in user units."""
        slope, centre = jnp.asarray(0.5 * math.pi * self.signs / space.half_width), jnp.asarray(space.centre)

        def field(x: Point) -> Float[Array, ""]:
            return self.size * jnp.cos(jnp.dot(slope, x - centre) + self.phase)

        return field


def waves(dim: int, size: float, number: int) -> list[Wave]:
    """The fields that stand for field ``number`` of a problem, with phases spread evenly."""
    rng = np.random.default_rng(number)
    return [
        Wave(size, rng.choice([-1.0, 1.0], dim), phase)
        for phase in np.linspace(0.0, math.pi, PHASES, endpoint=False).tolist()
    ]


def reference(
    jet: JetPDE, scaled: Float[ndarray, "n d"], size: float, phase: int = 0
) -> Float[ndarray, "n a"]:
    """The jets of typical fields at points, in the order of the derivatives of an equation."""
    found = np.zeros((len(scaled), len(jet.derivatives)))
    for number in set(jet.fields.tolist()):
        own = jet.fields == number
        wave = waves(scaled.shape[1], size, number)[phase]
        found[:, own] = wave.derivatives(scaled, jet.derivatives[own])
    return found
