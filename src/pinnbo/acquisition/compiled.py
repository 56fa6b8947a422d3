"""An acquisition written in JAX as an objective: compiled with its slope at a batch of points."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from numpy import ndarray

from pinnbo.acquisition.search import Objective

Acquisition = Callable[[Any, Float[Array, " d"]], Float[Array, ""]]
_Values = Float[ndarray, " k"]
_Points = Float[ndarray, "k d"]


@dataclass(frozen=True, eq=False)
class Compiled(Objective):
    """acquisition(parameters, s), compiled once per shape of the parameters; infinite where it is not finite."""

    acquisition: Acquisition
    parameters: Any

    @property
    def one_shape(self) -> bool:
        """Compiled for the size of a batch."""
        return True

    def values(self, points: _Points) -> _Values:
        """In bounded memory."""
        return np.asarray(_values(self.acquisition, self.parameters, jnp.asarray(points)))

    def values_and_slopes(self, points: _Points) -> tuple[_Values, _Points]:
        """By automatic differentiation; a slope that is not finite is zero."""
        values, slopes = _values_and_slopes(self.acquisition, self.parameters, jnp.asarray(points))
        return np.asarray(values), np.asarray(slopes)


@eqx.filter_jit
def _values(acquisition: Acquisition, parameters: Any, points: Float[Array, "c d"]) -> Float[Array, " c"]:
    values = jax.lax.map(lambda s: acquisition(parameters, s), points, batch_size=256)
    return jnp.where(jnp.isfinite(values), values, jnp.inf)


@eqx.filter_jit
def _values_and_slopes(
    acquisition: Acquisition, parameters: Any, points: Float[Array, "k d"]
) -> tuple[Float[Array, " k"], Float[Array, "k d"]]:
    values, slopes = jax.vmap(jax.value_and_grad(lambda s: acquisition(parameters, s)))(points)
    return jnp.where(jnp.isfinite(values), values, jnp.inf), jnp.where(jnp.isfinite(slopes), slopes, 0.0)
