"""Training a network: the loss of Eq. (1), minimised by gradient descent in one compiled scan, or by Gauss-Newton.

Eq. (1), with f(theta, x) = shift + scale * nu_t * h(theta, x) in the user's units:

    L = sum_i [ (y_i - f(x_i)) / scale ]^2 + sum_j [ (u_j - N[f](z_j)) / (scale * r_j) ]^2

With shift = 0, scale = 1, r_j = 1 this is the paper's Eq. (1) to the letter. r_j is the prior size of the
row, so that the equation's units and the poles of its coefficients do not decide what is learnt. Gradients
are those of L divided by the number of terms: the minimiser is the same, and a learning rate keeps its
meaning as data grow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float
from numpy import ndarray

from pinnbo.network.field import Parametrised, Units
from pinnbo.network.second_order import Term, gauss_newton
from pinnbo.pde import PDE

Rule = Literal["adam", "sgd", "gauss-newton"]


class Observations(NamedTuple):
    """Measured values, padded with rows of weight zero so that growing data seldom recompiles."""

    points: Float[Array, "n d"]
    values: Float[Array, " n"]
    weights: Float[Array, " n"]


class PhysicsData(NamedTuple):
    """Collocation points z_j, source values u_j and row sizes r_j of one PDE."""

    points: Float[Array, "r d"]
    source: Float[Array, "r k"]
    size: Float[Array, "r k"]


@dataclass(frozen=True)
class Schedule:
    """How to descend.

    ``epochs`` passes over the collocation points, in one full batch or in mini-batches of ``batch`` of them.
    The learning rate is multiplied by ``decay`` after each epoch (the paper: SGD, 100 epochs, 0.95);
    ``decay=None`` lets it fall to a hundredth over the run. ``"gauss-newton"`` takes one step per epoch with
    all collocation points; it has no learning rate and no batches.
    """

    epochs: int = 100
    rule: Rule = "adam"
    decay: float | None = None
    batch: int | None = None

    def __post_init__(self) -> None:
        if self.rule not in get_args(Rule):
            raise ValueError(f"Schedule: rule must be one of {list(get_args(Rule))}, got {self.rule!r}")
        if self.rule == "gauss-newton" and self.batch is not None:
            raise ValueError(f"Schedule: gauss-newton takes all points at once, got batch {self.batch}")
        for name, number in (("epochs", self.epochs), ("batch", self.batch)):
            if number is not None and number < 1:
                raise ValueError(f"Schedule: {name} must be at least 1, got {number}")

    def rates(self, learning_rate: Array | float) -> Float[Array, " epochs"]:
        """The learning rate of every epoch."""
        decay = 0.01 ** (1.0 / self.epochs) if self.decay is None else self.decay
        return learning_rate * decay ** jnp.arange(self.epochs)


class Trained(NamedTuple):
    """Weights after the last epoch and the loss (per term) at the start of every epoch."""

    theta: Any
    losses: Float[Array, " epochs"]


def pad(points: ndarray, values: ndarray, weights: ndarray | None = None) -> Observations:
    """Pad to the next power of two (at least 16)."""
    n = len(points)
    size = max(16, 1 << max(0, n - 1).bit_length())
    filled = np.zeros((size, points.shape[1])), np.zeros(size), np.zeros(size)
    filled[0][:n], filled[1][:n], filled[2][:n] = points, values, 1.0 if weights is None else weights
    return Observations(*map(jnp.asarray, filled))


def data_loss(
    model: Parametrised, theta: object, units: Units, nu: Float[Array, ""] | float, data: Observations
) -> Float[Array, ""]:
    """The first sum of Eq. (1)."""
    f = jax.vmap(_scaled(units, nu).field(model, theta))(data.points)
    return jnp.sum(data.weights * ((data.values - f) / units.scale) ** 2)


def physics_loss(
    pde: PDE,
    model: Parametrised,
    theta: object,
    units: Units,
    nu: Float[Array, ""] | float,
    physics: PhysicsData,
) -> Float[Array, ""]:
    """The second sum of Eq. (1)."""
    image = jax.vmap(pde.apply(_scaled(units, nu).field(model, theta)))(physics.points)
    return jnp.sum(((physics.source - image) / (units.scale * physics.size)) ** 2)


class _DataResidual(eqx.Module):
    model: Parametrised
    units: Units
    nu: Float[Array, ""]

    def __call__(self, theta: object, x: Array, y: Array, weight: Array) -> Float[Array, " 1"]:
        f = _scaled(self.units, self.nu).field(self.model, theta)(x)
        return jnp.sqrt(weight)[None] * (y - f) / self.units.scale


class _PhysicsResidual(eqx.Module):
    pde: PDE = eqx.field(static=True)
    model: Parametrised
    units: Units
    nu: Float[Array, ""]

    def __call__(self, theta: object, z: Array, source: Array, size: Array) -> Float[Array, " k"]:
        image = self.pde.apply(_scaled(self.units, self.nu).field(self.model, theta))(z)
        return (source - image) / (self.units.scale * size)


def _scaled(units: Units, nu: Float[Array, ""] | float) -> Units:
    return units._replace(scale=units.scale * nu)


def train(
    pdes: tuple[PDE, ...],
    schedule: Schedule,
    model: Parametrised,
    theta: object,
    units: Units,
    data: Observations,
    physics: Sequence[PhysicsData],
    nu: Float[Array, ""] | float,
    learning_rate: Float[Array, ""] | float,
    key: Array,
) -> Trained:
    """Minimise Eq. (1) from theta; one compilation serves all data of the same padded shape.

    ``units`` are those of the standardised observations; the network's output enters as nu * h.
    """
    if schedule.rule != "gauss-newton":
        return by_gradients(pdes, schedule, model, theta, units, data, physics, nu, learning_rate, key)
    network = model, units, jnp.asarray(nu, float)
    terms = [Term(_DataResidual(*network), tuple(data))]
    for pde, part in zip(pdes, physics, strict=True):
        terms.append(Term(_PhysicsResidual(pde, *network), tuple(part)))
    last, squares = gauss_newton(terms, theta, schedule.epochs)
    return Trained(last, jnp.asarray(squares) / _n_terms(data, physics))


@partial(jax.jit, static_argnums=(0, 1))
def by_gradients(
    pdes: tuple[PDE, ...],
    schedule: Schedule,
    model: Parametrised,
    theta: object,
    units: Units,
    data: Observations,
    physics: Sequence[PhysicsData],
    nu: Float[Array, ""] | float,
    learning_rate: Float[Array, ""] | float,
    key: Array,
) -> Trained:
    """`train` by the rules that need a gradient only, all epochs in one program."""
    n_terms = _n_terms(data, physics)
    rule = optax.scale_by_adam() if schedule.rule == "adam" else optax.identity()
    batches = [_n_batches(schedule, p) for p in physics]
    steps = max(batches, default=1)

    def loss(theta: object, chosen: Sequence[PhysicsData]) -> Array:
        total = data_loss(model, theta, units, nu, data)
        for pde, part, whole in zip(pdes, chosen, physics, strict=True):
            share = whole.points.shape[0] / part.points.shape[0]
            total = total + share * physics_loss(pde, model, theta, units, nu, part)
        return total / n_terms

    def step(state: tuple, chosen_and_rate: tuple) -> tuple[tuple, Array]:
        theta, memory = state
        chosen, rate = chosen_and_rate
        value, slope = jax.value_and_grad(loss)(theta, chosen)
        direction, memory = rule.update(slope, memory, theta)
        theta = jax.tree.map(lambda w, v: w - rate * v, theta, direction)
        return (theta, memory), value

    def epoch(state: tuple, rate_and_key: tuple) -> tuple[tuple, Array]:
        rate, epoch_key = rate_and_key
        if steps == 1:
            return step(state, (tuple(physics), rate))
        chosen = tuple(
            _shuffled(part, steps, n, jax.random.fold_in(epoch_key, i))
            for i, (part, n) in enumerate(zip(physics, batches, strict=True))
        )
        state, values = jax.lax.scan(lambda s, c: step(s, (c, rate)), state, chosen)
        return state, jnp.mean(values)

    keys = jax.random.split(key, schedule.epochs)
    state = (theta, rule.init(theta))
    (theta, _), losses = jax.lax.scan(epoch, state, (schedule.rates(learning_rate), keys))
    return Trained(theta, losses)


def _n_terms(data: Observations, physics: Sequence[PhysicsData]) -> Float[Array, ""]:
    return jnp.maximum(1.0, jnp.sum(data.weights > 0) + sum(part.source.size for part in physics))


def _n_batches(schedule: Schedule, physics: PhysicsData) -> int:
    n = physics.points.shape[0]
    return 1 if schedule.batch is None else max(1, n // schedule.batch)


def _shuffled(physics: PhysicsData, steps: int, n_batches: int, key: Array) -> PhysicsData:
    """Cut a random order of the points into n_batches and cycle through them for the given steps."""
    size = physics.points.shape[0] // n_batches
    order = jax.random.permutation(key, physics.points.shape[0])[: size * n_batches].reshape(n_batches, size)
    chosen = order[jnp.arange(steps) % n_batches]
    return PhysicsData(*(column[chosen] for column in physics))
