"""How well a function of points obeys an equation: derivatives by finite differences, terms by linearisation.

The derivatives at a point come from polynomials through values around it, the operator acts on the Taylor polynomial
that has these derivatives, and its terms are those of the linearised operator: dN/d(D^a f) D^a f for every derivative
a. Nothing here knows how the truth was computed.
"""

from __future__ import annotations

import functools
import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float
from numpy import ndarray

from physics.case import Evaluate
from pinnbo import PDE, Space

_NODES = 9
_DEGREE = 6


def _weights(order: int) -> Float[ndarray, "k n"]:
    """Derivatives at 0 up to an order, from values at Chebyshev nodes of [-1, 1]."""
    nodes = np.cos(np.pi * (np.arange(_NODES) + 0.5) / _NODES)
    fit = np.linalg.pinv(np.vander(nodes, _DEGREE + 1, increasing=True))
    return np.array([math.factorial(k) * fit[k] for k in range(order + 1)])


def jets(
    evaluate: Evaluate, points: Float[ndarray, "n d"], order: int, reach: Float[ndarray, " d"]
) -> tuple[list[tuple[int, ...]], Float[ndarray, "n j"]]:
    """Multi-indices up to an order and the derivatives of these at points."""
    dim = points.shape[1]
    line = np.cos(np.pi * (np.arange(_NODES) + 0.5) / _NODES)
    stencil = np.stack(np.meshgrid(*[line] * dim, indexing="ij"), axis=-1).reshape(-1, dim) * reach
    around = (points[:, None, :] + stencil).reshape(-1, dim)
    values = evaluate(around).reshape(len(points), *[_NODES] * dim)
    weights = _weights(order)
    indices = [a for a in itertools.product(range(order + 1), repeat=dim) if sum(a) <= order]
    found = []
    for index in indices:
        slope = values
        for i in reversed(range(dim)):
            slope = np.tensordot(slope, weights[index[i]] / reach[i] ** index[i], axes=([1 + i], [0]))
        found.append(slope)
    return indices, np.stack(found, axis=1)


@functools.lru_cache(maxsize=64)
def _rows(pde: PDE, indices: tuple[tuple[int, ...], ...]):
    """N of the Taylor polynomials that have given derivatives, and its slopes in these; compiled once."""
    factorials = [math.prod(math.factorial(k) for k in index) for index in indices]

    def row(jet: jax.Array, at: jax.Array) -> jax.Array:
        def taylor(x: jax.Array) -> jax.Array:
            move = x - at
            return sum(
                jet[j] / factorials[j] * math.prod(move[i] ** k for i, k in enumerate(index) if k)
                for j, index in enumerate(indices)
            )

        return pde.apply(taylor)(at)

    return jax.jit(jax.vmap(lambda jet, at: (row(jet, at), jax.jacrev(row)(jet, at))))


def terms(
    pde: PDE,
    points: Float[ndarray, "n d"],
    indices: list[tuple[int, ...]],
    derivatives: Float[ndarray, "n j"],
) -> tuple[Float[ndarray, "n k"], Float[ndarray, "t n k"]]:
    """N[f] - g at points and the terms of the equation there, the source last, from the derivatives of f."""
    rows, slopes = map(np.asarray, _rows(pde, tuple(indices))(jnp.asarray(derivatives), jnp.asarray(points)))
    source = pde.source_at(points)
    linear = np.moveaxis(slopes * derivatives[:, None, :], 2, 0)
    return rows - source, np.concatenate([linear, np.broadcast_to(source, rows.shape)[None]])


def share(rest: Float[ndarray, "n k"], parts: Float[ndarray, "t n k"]) -> float:
    """Root mean square of what remains of an equation, as a share of that of its largest term."""
    return float(np.sqrt(np.mean(rest**2) / np.max(np.mean(parts**2, axis=(1, 2)))))


def misfit(pde: PDE, space: Space, evaluate: Evaluate, points: Float[ndarray, "n d"], reach: float) -> float:
    """Root mean square of N[f] - g over points, as a share of that of the equation's largest term."""
    indices, derivatives = jets(evaluate, points, pde.order(space), 2 * reach * space.half_width)
    return share(*terms(pde, points, indices, derivatives))


def inner_points(space: Space, n: int, reach: float, seed: int = 7) -> Float[ndarray, "n d"]:
    """Sobol points whose stencils stay in the box."""
    points = space.sobol(n, seed)
    return space.centre + (1.0 - 2 * reach) * (points - space.centre)
