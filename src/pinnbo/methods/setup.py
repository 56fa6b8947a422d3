"""What the methods with a network have in common at their start."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float
from numpy import ndarray

from pinnbo.acquisition.choice import Surroundings
from pinnbo.data import Data
from pinnbo.inference.descent import PhysicsData
from pinnbo.inference.rows import row_sizes
from pinnbo.inference.surrogate import Physics
from pinnbo.methods.base import Task
from pinnbo.models.field import Units
from pinnbo.models.mlp import MLP, Theta
from pinnbo.space import Space

_N_CANDIDATES = 2048
_N_FAVOURITES = 8


def collocate(task: Task, n: int, stream: int = 0) -> Physics:
    """Collocation points of every PDE of the task, others in every stream."""
    return [
        (pde, pde.collocation(task.space, n, [task.seed, 1 if stream == 0 else 10 + stream, number]))
        for number, pde in enumerate(task.physics)
    ]


def training_physics(space: Space, model: MLP, theta: Theta, physics: Physics) -> tuple[PhysicsData, ...]:
    """The collocation data as Eq. (1) takes them, rows measured in their prior size at theta."""
    units = Units.of(space)
    return tuple(
        PhysicsData(
            jnp.asarray(data.points),
            jnp.asarray(data.source),
            jnp.asarray(row_sizes(model, pde, theta, units, data.points)),
        )
        for pde, data in physics
    )


def candidates(task: Task) -> Float[ndarray, "c d"]:
    """Scaled starting points of the search for the argmin."""
    return task.space.scale(task.space.sobol(_N_CANDIDATES, [task.seed, 2]))


def surroundings(
    task: Task, starts: Float[ndarray, "c d"], data: Data, pending: Float[ndarray, "q d"], strength: float
) -> Surroundings:
    """What the search has to know: where to start, what is known, what is infeasible."""
    space = task.space
    order = np.argsort(task.sign * data.values, kind="stable")[:_N_FAVOURITES]
    best = space.scale(data.points[order]) if len(order) else np.zeros((1, space.dim))
    return Surroundings(
        candidates=starts,
        favourites=np.resize(best, (_N_FAVOURITES, space.dim)),
        known=space.scale(np.concatenate([data.points, pending])),
        bad=space.scale(data.infeasible),
        strength=strength,
    )


def check_network(model: MLP, task: Task) -> None:
    """Reject an activation that the operator would differentiate away."""
    for pde in task.physics:
        model.check_smooth(pde.order(task.space), pde.name)
