"""Smooth functions to try an operator on, and its image of them, compiled once for an equation."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float
from numpy import ndarray

from pinnbo.operators import Point, ScalarField
from pinnbo.space import Space

if TYPE_CHECKING:
    from pinnbo.pde import PDE


def extent(space: Space) -> tuple[Array, Array]:
    """Centre and half-width of the box."""
    return jnp.asarray(space.centre), jnp.asarray(space.half_width)


def probes(n: int, box: tuple[Array, Array], shift: Array | float = 0.0) -> list[ScalarField]:
    """One probe function per field, all different."""
    return [probe_function(box, shift + 1.3 * number if number else shift) for number in range(n)]


def combined(a: Array | float, f: ScalarField, b: Array | float, g: ScalarField) -> ScalarField:
    """a f + b g."""
    return lambda x: a * f(x) + b * g(x)


def probe_function(box: tuple[Array, Array], shift: Array | float = 0.0) -> ScalarField:
    """A smooth function without symmetries, of unit size on the box."""
    centre, half = box
    dim = len(centre)
    weights = jnp.cos(1.0 + jnp.arange(dim, dtype=float)) + 1.3

    def probe(x: Point) -> Float[Array, ""]:
        s = (x - centre) / half
        return jnp.sin(jnp.dot(weights, s) / jnp.sqrt(dim) + shift) + 0.3 * jnp.cos(jnp.sum(s * s) + shift)

    return probe


@partial(jax.jit, static_argnums=0)
def probe_image(
    pde: PDE, box: tuple[Array, Array], points: Float[Array, "n d"], a: Array | float, b: Array | float
) -> Float[Array, "n k"]:
    """N of a combination of probe functions, compiled once for a PDE."""
    first, second = (probes(len(pde.indices), box, shift) for shift in (0.0, 0.7))
    pairs = zip(first, second, strict=True)
    return jax.vmap(pde.apply(*(combined(a, f, b, g) for f, g in pairs)))(points)


@partial(jax.jit, static_argnums=0)
def disturbed_image(
    pde: PDE, box: tuple[Array, Array], points: Array | ndarray, size: Array | float
) -> Float[Array, "n k"]:
    """N at points z of a probe function with the term size |s - s_z|^8 (1 + 0.3 sum(s - s_z)), s in scaled units."""
    probe = probe_function(box)

    def at(z: Point) -> Float[Array, " k"]:
        def disturbed(x: Point) -> Float[Array, ""]:
            step = (x - z) / box[1]
            square = jnp.sum(step * step)
            fourth = square * square
            return probe(x) + size * (fourth * fourth * (1.0 + 0.3 * jnp.sum(step)))

        return pde.all_as(disturbed)(z)

    return jax.vmap(at)(jnp.asarray(points))


def abstract_point(space: Space) -> jax.ShapeDtypeStruct:
    """A point of the space, for tracing."""
    return jax.ShapeDtypeStruct((space.dim,), jnp.dtype(float))
