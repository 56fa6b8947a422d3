"""Features of a network: the derivative in theta of its value, and of a PDE's row, at theta_0.

An observation is the functional f(theta, x_i), a collocation point the functional N[f(theta, .)](z_j). Their
gradients in theta at theta_0 are the paper's phi(x_i) and omega(z_j) (section "Proposed method"). Because f
is h in user units, the rows are those of f: scale * phi, and omega of the scaled field.

The network linearised at theta_0 is a function that is linear in its weights (`Linearised`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float
from numpy import ndarray

from pinnbo.network.field import Parametrised, Units
from pinnbo.network.mlp import MLP, Theta
from pinnbo.pde import PDE

_CHUNK = 256
_SIZES = (1, 16, _CHUNK)


class Linearised(eqx.Module):
    """h_lin(w, s) = c * grad_theta h(s; theta_0) . w, by one Jacobian-vector product, without forming the p features.

    The offset h(s; theta_0) is left out: w ~ N(0, I) with fixed features is the prior of Lemma 1. The factor c makes
    the prior variance c^2 |phi(s)|^2 one on average over the box, whatever the width (erratum 10).
    """

    model: MLP
    theta: Theta
    factor: Float[Array, ""]

    @classmethod
    def at(cls, model: MLP, theta: Theta, points: Float[Array, "n d"]) -> Linearised:
        """Linearise at theta, with unit mean prior variance over the scaled points."""
        return cls(model, theta, 1.0 / jnp.sqrt(_mean_square_norm(model, theta, points)))

    def __call__(self, w: Float[Array, " p"], s: Float[Array, " d"]) -> Float[Array, ""]:
        """c grad_theta h(s; theta_0) . w."""
        unravel: Callable[[Array], Any] = ravel_pytree(self.theta)[1]
        return self.factor * jax.jvp(lambda theta: self.model(theta, s), (self.theta,), (unravel(w),))[1]

    @property
    def n_weights(self) -> int:
        """p."""
        return self.model.n_parameters


class Rows(NamedTuple):
    """Linearisation of functionals at theta_0: functional(theta) = values + matrix @ (theta - theta_0)."""

    matrix: Float[ndarray, "n p"]
    values: Float[ndarray, " n"]


def observation_rows(model: Parametrised, theta: Any, units: Units, points: ndarray) -> Rows:
    """phi(x_i) = grad_theta f(theta_0, x_i), and f(theta_0, x_i)."""
    return _in_chunks(_observation_rows, model, theta, units, points)


def physics_rows(model: Parametrised, pde: PDE, theta: Any, units: Units, points: ndarray) -> Rows:
    """omega(z_j) = grad_theta N[f(theta_0, .)](z_j), and N[f(theta_0, .)](z_j); k rows per point."""
    return _in_chunks(partial(_physics_rows, pde), model, theta, units, points)


def physics_values(
    model: Parametrised, pde: PDE, theta: Any, units: Units, points: ndarray
) -> Float[ndarray, " n"]:
    """N[f(theta, .)](z_j), without the rows."""
    return np.asarray(_physics_values(pde, model, theta, units, jnp.asarray(points))).ravel()


def row_sizes(
    model: Parametrised, pde: PDE, theta: Any, units: Units, points: ndarray
) -> Float[ndarray, "r k"]:
    """r_j: prior standard deviation of N[f](z_j) for a field f of unit prior standard deviation.

    |omega(z_j)| over the root mean square of |phi| at the same points, per equation; bounded from below at a
    hundredth of the largest, so that a row on which the operator is degenerate is not blown up.
    """
    phi = observation_rows(model, theta, units, points[:_CHUNK]).matrix
    amplitude = np.sqrt(np.mean(np.sum(phi**2, axis=1)))
    norms = [
        np.linalg.norm(physics_rows(model, pde, theta, units, points[i : i + _CHUNK]).matrix, axis=1)
        for i in range(0, len(points), _CHUNK)
    ]
    sizes = np.concatenate(norms).reshape(len(points), -1) / amplitude
    return np.maximum(sizes, 1e-2 * sizes.max(axis=0))


def _in_chunks(rows_of: Any, model: Parametrised, theta: Any, units: Units, points: ndarray) -> Rows:
    """Bounded memory, and few compilations for any number of points: the last chunk is padded."""
    matrices, values = [], []
    size = next(size for size in _SIZES if size >= min(len(points), _CHUNK))
    for start in range(0, len(points), size):
        chunk = points[start : start + size]
        padded = np.concatenate([chunk, np.repeat(chunk[-1:], size - len(chunk), axis=0)])
        matrix, value = rows_of(model, theta, units, jnp.asarray(padded))
        matrices.append(np.asarray(matrix[: len(chunk)]).reshape(-1, matrix.shape[-1]))
        values.append(np.asarray(value[: len(chunk)]).ravel())
    if not matrices:
        return Rows(np.zeros((0, ravel_pytree(theta)[0].size)), np.zeros(0))
    return Rows(np.concatenate(matrices), np.concatenate(values))


@jax.jit
def _observation_rows(
    model: Parametrised, theta: Any, units: Units, points: Float[Array, "n d"]
) -> tuple[Array, Array]:
    flat, unravel = ravel_pytree(theta)

    def functional(w: Array, x: Array) -> Array:
        return units.field(model, unravel(w))(x)

    value, row = jax.vmap(jax.value_and_grad(functional), (None, 0))(flat, points)
    return row, value


@partial(jax.jit, static_argnums=0)
def _physics_rows(
    pde: PDE, model: Parametrised, theta: Any, units: Units, points: Float[Array, "n d"]
) -> tuple[Array, Array]:
    flat, unravel = ravel_pytree(theta)

    def functional(w: Array, z: Array) -> tuple[Array, Array]:
        value = pde.apply(units.field(model, unravel(w)))(z)
        return value, value

    rows, values = jax.vmap(jax.jacrev(functional, has_aux=True), (None, 0))(flat, points)
    return rows, values


@partial(jax.jit, static_argnums=0)
def _physics_values(
    pde: PDE, model: Parametrised, theta: Any, units: Units, points: Float[Array, "n d"]
) -> Float[Array, "n k"]:
    return jax.vmap(pde.apply(units.field(model, theta)))(points)


@eqx.filter_jit
def _mean_square_norm(model: MLP, theta: Theta, points: Float[Array, "n d"]) -> Float[Array, ""]:
    def square_norm(s: Float[Array, " d"]) -> Float[Array, ""]:
        phi, _ = ravel_pytree(jax.grad(model)(theta, s))
        return jnp.dot(phi, phi)

    return jnp.mean(jax.vmap(square_norm)(points))
