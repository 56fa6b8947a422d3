"""Gauss-Newton steps for a sum of squares.

With r(theta) the residuals, L = |r|^2, and J = dr/dtheta, a damped step is

    delta = -(J^T J + mu I)^-1 J^T r = -J^T (J J^T + mu I)^-1 r          (Woodbury)

so that the smaller of two matrices is decomposed: that of the terms, or that of the weights. One eigendecomposition,
J J^T or J^T J = Q diag(e) Q^T, gives the steps of all dampings mu; the loss itself, not its linearisation, decides
between them, and no step is taken that would raise it (`pinnbo.physics.gauss_newton`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float
from numpy import ndarray

from pinnbo.physics.gauss_newton import Step, descend

_DAMPINGS = 10.0 ** np.arange(-13.0, 3.0, 1.5)  # of the largest eigenvalue


class Term(NamedTuple):
    """Residuals of one kind: a vector for every row of the columns.

    The function is compiled once; arrays that it holds have to be leaves of it (an `equinox.Module`).
    """

    residual: Callable[..., Float[Array, " k"]]  # of the weights and a row of every column
    columns: tuple[Array, ...]


class Descended(NamedTuple):
    """The weights after the last step and the sum of squares at the start of every step."""

    theta: Any
    losses: Float[ndarray, " steps"]


def gauss_newton(terms: Sequence[Term], theta: Any, steps: int) -> Descended:
    """Minimise the sum of the squares of all residuals."""
    flat, unravel = ravel_pytree(theta)

    def linearise(weights: Float[ndarray, " p"]) -> Step[None]:
        return Step(None, np.asarray(_moved(terms, theta, jnp.asarray(weights))))

    def misfit(weights: Float[ndarray, " p"]) -> float:
        return float(_loss(terms, theta, jnp.asarray(weights)))

    found = descend(linearise, misfit, np.asarray(flat), lambda *_: False, steps)
    losses = [*found.misfits, *[found.misfits[-1]] * (steps - len(found.misfits))]
    return Descended(unravel(jnp.asarray(found.state)), np.array(losses))


@eqx.filter_jit
def _loss(terms: Sequence[Term], theta: Any, weights: Float[Array, " p"]) -> Float[Array, ""]:
    at = ravel_pytree(theta)[1](weights)
    parts = [jax.vmap(lambda *row, t=t: t.residual(at, *row))(*t.columns) for t in terms]
    return jnp.sum(jnp.stack([jnp.sum(part**2) for part in parts]))


@eqx.filter_jit
def _moved(terms: Sequence[Term], theta: Any, weights: Float[Array, " p"]) -> Float[Array, "dampings p"]:
    """The weights after the step of every damping, the least damped first."""
    unravel = ravel_pytree(theta)[1]

    def rows(term: Term) -> tuple[Array, Array]:
        def both(*row: Array) -> tuple[Array, Array]:
            def residual(w: Array) -> tuple[Array, Array]:
                found = term.residual(unravel(w), *row)
                return found, found

            slope, value = jax.jacrev(residual, has_aux=True)(weights)
            return value, slope

        values, slopes = jax.vmap(both)(*term.columns)
        return values.ravel(), slopes.reshape(-1, weights.size)

    values, slopes = (jnp.concatenate(part) for part in zip(*map(rows, terms), strict=True))
    by_terms = len(values) <= weights.size
    eigenvalues, vectors = jnp.linalg.eigh(slopes @ slopes.T if by_terms else slopes.T @ slopes)
    eigenvalues = jnp.maximum(eigenvalues, 0.0)
    shrink = 1.0 / (eigenvalues[:, None] + eigenvalues[-1] * _DAMPINGS + 1e-300)
    solved = vectors @ (shrink * (vectors.T @ (values if by_terms else slopes.T @ values))[:, None])
    return weights - (slopes.T @ solved if by_terms else solved).T
