"""Gauss-Newton steps for a sum of squares of few terms in many weights.

With r(theta) the residuals, L = |r|^2, and J = dr/dtheta, a damped step is

    delta = -(J^T J + mu I)^-1 J^T r = -J^T (J J^T + mu I)^-1 r          (Woodbury)

so that a matrix of the number of terms is decomposed, however many weights there are. One eigendecomposition
J J^T = Q diag(e) Q^T gives the steps of all dampings mu; the loss itself, not its linearisation, decides between them,
and no step is taken that would raise it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

_DAMPINGS = 10.0 ** np.arange(2.0, -14.0, -1.5)  # of the largest eigenvalue


class Term(NamedTuple):
    """Residuals of one kind: a vector for every row of the columns."""

    residual: Callable[..., Float[Array, " k"]]  # of the weights and a row of every column
    columns: tuple[Array, ...]


class Descended(NamedTuple):
    """The weights after the last step and the sum of squares at the start of every step."""

    theta: Any
    losses: Float[Array, " steps"]


def gauss_newton(terms: Sequence[Term], theta: Any, steps: int) -> Descended:
    """Minimise the sum of the squares of all residuals."""
    flat, unravel = ravel_pytree(theta)

    def loss(weights: Array) -> Array:
        parts = [jax.vmap(lambda *row, t=t: t.residual(unravel(weights), *row))(*t.columns) for t in terms]
        return jnp.sum(jnp.stack([jnp.sum(part**2) for part in parts]))

    def rows(weights: Array, term: Term) -> tuple[Array, Array]:
        def both(*row: Array) -> tuple[Array, Array]:
            def residual(w: Array) -> tuple[Array, Array]:
                found = term.residual(unravel(w), *row)
                return found, found

            slope, value = jax.jacrev(residual, has_aux=True)(weights)
            return value, slope

        values, slopes = jax.vmap(both)(*term.columns)
        return values.ravel(), slopes.reshape(-1, flat.size)

    def step(weights: Array, _: None) -> tuple[Array, Array]:
        values, slopes = (jnp.concatenate(p) for p in zip(*(rows(weights, t) for t in terms), strict=True))
        eigenvalues, vectors = jnp.linalg.eigh(slopes @ slopes.T)
        eigenvalues = jnp.maximum(eigenvalues, 0.0)
        shrink = 1.0 / (eigenvalues[:, None] + eigenvalues[-1] * _DAMPINGS + 1e-300)
        moves = slopes.T @ (vectors @ (shrink * (vectors.T @ values)[:, None]))
        tried = jnp.concatenate([weights[None], weights - moves.T])
        losses = jax.lax.map(loss, tried)
        best = jnp.argmin(jnp.where(jnp.isfinite(losses), losses, jnp.inf))
        return tried[best], losses[0]

    last, losses = jax.lax.scan(step, flat, None, length=steps)
    return Descended(unravel(last), losses)
