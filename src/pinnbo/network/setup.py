"""What the methods with a network have in common at their start."""

from __future__ import annotations

import jax.numpy as jnp

from pinnbo.methods.base import Task
from pinnbo.network.features import row_sizes
from pinnbo.network.field import Units
from pinnbo.network.mlp import MLP, Theta
from pinnbo.network.process import Physics
from pinnbo.network.train import PhysicsData
from pinnbo.space import Space


def collocate(task: Task, n: int) -> Physics:
    """Collocation points of every PDE of the task."""
    return [
        (pde, pde.collocation(task.space, n, [task.seed, 1, number]))
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


def check_network(model: MLP, task: Task) -> None:
    """Reject an activation that the operator would differentiate away."""
    for pde in task.physics:
        model.check_smooth(pde.order(task.space), pde.name)
