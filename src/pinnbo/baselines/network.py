"""The network of the neural baselines: that of the paper, trained on measurements alone."""

from __future__ import annotations

from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from numpy import ndarray

from pinnbo.acquisition.compiled import Compiled
from pinnbo.data import Data, Standard
from pinnbo.methods.base import Task
from pinnbo.network.field import Units
from pinnbo.network.mlp import MLP, Theta
from pinnbo.network.train import Schedule, pad, train


@dataclass(frozen=True, eq=False)
class Network:
    """A trained network: shift + scale * h(theta, s) in the user's units."""

    model: MLP
    theta: Theta
    standard: Standard

    @classmethod
    def fit(
        cls,
        method: str,
        task: Task,
        model: MLP,
        data: Data,
        perturbation: Float[ndarray, " n"],
        schedule: Schedule,
        learning_rate: float,
        key: Array,
    ) -> Network:
        """Train from the initial weights of the key on the values plus the perturbation, in units of their
        spread.
        """
        standard = Standard.of(data.values)
        targets = data.values + standard.scale * perturbation
        trained = train(
            (),
            schedule,
            model,
            model.initial(key),
            Units.of(task.space, *standard),
            pad(data.points, targets),
            (),
            1.0,
            learning_rate,
            key,
        )
        if not np.isfinite(trained.losses[-1]):
            raise FloatingPointError(
                f"{method}: training diverged at {len(data.values)} observations; "
                f"learning_rate {learning_rate} is too large"
            )
        return cls(model, trained.theta, standard)

    def predict(self, scaled: Float[ndarray, "n d"]) -> Float[ndarray, " n"]:
        """Values at scaled points."""
        values = Compiled(network_value, (self.model, self.theta, 1.0)).values(scaled)
        return self.standard.shift + self.standard.scale * values


def network_value(parameters: tuple[MLP, Theta, float], s: Float[Array, " d"]) -> Float[Array, ""]:
    """sign * h(theta, s), an acquisition."""
    model, theta, sign = parameters
    return jnp.asarray(sign) * model(theta, s)
