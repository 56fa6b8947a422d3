"""A parametrised function linearised at theta_0: the NTK features as a function linear in its weights.

h_lin(w, s) = c * grad_theta h(s; theta_0) . w, evaluated by one Jacobian-vector product, without forming the
p features. The offset h(s; theta_0) is left out: w ~ N(0, I) with fixed features is the prior of Lemma 1. The
factor c makes the prior variance c^2 |phi(s)|^2 one on average over the box, whatever the width (erratum 10).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

from pinnbo.models.mlp import MLP, Theta


class Linearised(eqx.Module):
    """h_lin, a function of its weights w (p,) and of the scaled point s."""

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


@eqx.filter_jit
def _mean_square_norm(model: MLP, theta: Theta, points: Float[Array, "n d"]) -> Float[Array, ""]:
    def square_norm(s: Float[Array, " d"]) -> Float[Array, ""]:
        phi, _ = ravel_pytree(jax.grad(model)(theta, s))
        return jnp.dot(phi, phi)

    return jnp.mean(jax.vmap(square_norm)(points))
