"""The paper's choice of architecture and learning rate: a grid of 54 tuples, judged at held-out points.

Every tuple is trained on Eq. (1) with part of the measured points; the mean square error at the others decides. All
learning rates of one architecture train together in one batched call.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from numpy import ndarray
from numpy.typing import ArrayLike

from pinnbo.data import Standard
from pinnbo.methods.pinn_bo import PinnBO
from pinnbo.network.field import Units
from pinnbo.network.mlp import MLP
from pinnbo.network.process import Physics
from pinnbo.network.setup import training_physics
from pinnbo.network.train import Schedule, pad, train
from pinnbo.pde import PDE
from pinnbo.space import Space
from pinnbo.stated import as_physics

WIDTHS = (100, 200, 500)
DEPTHS = (2, 3, 4)
LEARNING_RATES = (0.001, 0.005, 0.01, 0.02, 0.05, 0.1)


class Trial(NamedTuple):
    """One tuple and its mean square error at the held-out points, in units of the values' variance."""

    width: int
    depth: int
    learning_rate: float
    error: float


class GridSearch(NamedTuple):
    """All trials, best first, and the settings with the best tuple."""

    trials: list[Trial]
    settings: PinnBO


def grid_search(
    space: Space,
    pde: PDE | Iterable[PDE] | None,
    points: ArrayLike,
    values: ArrayLike,
    *,
    settings: PinnBO | None = None,
    widths: Sequence[int] = WIDTHS,
    depths: Sequence[int] = DEPTHS,
    learning_rates: Sequence[float] = LEARNING_RATES,
    held_out: float = 0.2,
    seed: int = 0,
) -> GridSearch:
    """Train every tuple on measured points (the paper: 50 of them) and rank by the error at those held out.

    ``held_out`` is the share of points that only judge. Training that diverges has an infinite error.
    """
    base = settings or PinnBO()
    x = space.as_points(points, "grid_search")
    y = np.asarray(values, dtype=float)
    if y.shape != (len(x),) or not np.isfinite(y).all():
        raise ValueError(f"grid_search: expected {len(x)} finite values, one per point, got shape {y.shape}")
    n_judging = round(held_out * len(x))
    if not 0 < n_judging < len(x):
        raise ValueError(
            f"grid_search: held_out must leave points on both sides, got {held_out} of {len(x)} points"
        )
    physics = as_physics(pde)
    order = np.random.default_rng([seed, 7]).permutation(len(x))
    judging, learning = order[:n_judging], order[n_judging:]
    collocated = [(p, p.collocation(space, base.collocation, [seed, 1, i])) for i, p in enumerate(physics)]
    learnt, judged = (x[learning], y[learning]), (x[judging], y[judging])
    rates = jnp.asarray(learning_rates, dtype=float)
    trials = []
    for width in widths:
        for depth in depths:
            model = MLP(space.dim, width, depth, base.activation, base.biases, base.init, base.gain)
            errors = _errors(base, space, model, collocated, learnt, judged, rates, seed)
            trials += [Trial(width, depth, float(r), float(e)) for r, e in zip(rates, errors, strict=True)]
    trials.sort(key=lambda trial: trial.error)
    best = trials[0]
    chosen = replace(base, width=best.width, depth=best.depth, learning_rate=best.learning_rate)
    return GridSearch(trials, chosen)


def _errors(
    settings: PinnBO,
    space: Space,
    model: MLP,
    physics: Physics,
    learnt: tuple[ndarray, ndarray],
    judged: tuple[ndarray, ndarray],
    rates: Float[Array, " r"],
    seed: int,
) -> Float[ndarray, " r"]:
    """Mean square error of one architecture at the held-out points, for every learning rate at once."""
    key = jax.random.key(seed)
    theta = model.initial(key)
    equations = tuple(pde for pde, _ in physics)
    schedule = Schedule(settings.epochs, settings.rule, settings.decay, settings.batch)
    units = Units.of(space, *Standard.of(learnt[1]))
    data = training_physics(space, model, theta, physics)
    nu = 1.0 if settings.nu is None else settings.nu
    observed = pad(*learnt)

    def predictions(rate: Float[Array, ""]) -> Float[Array, " h"]:
        trained = train(equations, schedule, model, theta, units, observed, data, nu, rate, key)
        field = units._replace(scale=units.scale * nu).field(model, trained.theta)
        return jax.vmap(field)(jnp.asarray(judged[0]))

    if schedule.rule == "gauss-newton":  # which has no learning rate
        found = jnp.tile(predictions(rates[0]), (len(rates), 1))
    else:
        found = jax.vmap(predictions)(rates)
    misfit = (np.asarray(found) - judged[1]) / float(units.scale)
    errors = np.mean(misfit**2, axis=1)
    return np.where(np.isfinite(errors), errors, np.inf)
