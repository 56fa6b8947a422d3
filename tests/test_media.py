"""Media that jump: a true equation in divergence form is not held against smooth kernels, and never accused."""

import jax.numpy as jnp
import numpy as np
import pytest

from pinnbo import PDE, Optimizer, Space
from pinnbo.operators import partial
from pinnbo.physics.averages import unresolved_medium
from pinnbo.physics.jets import JetPDE

WALL = Space(x=(0.0, 1.0), y=(0.0, 1.0))


def conduction(k):
    def operator(f):
        return lambda x: sum(partial(lambda z, i=i: k(z[0]) * partial(f, i)(z), i)(x) for i in range(2))

    return PDE(operator)


def layered(x):
    return jnp.where(x < 0.4, 1.0, 0.1)


def graded(x):
    return jnp.exp(-2.0 * x)


@pytest.mark.parametrize(("k", "jumps"), [(layered, True), (graded, False), (lambda x: 1.0 + 0.0 * x, False)])
def test_a_medium_that_jumps_between_the_rows_is_told_from_one_that_changes(k, jumps):
    assert (unresolved_medium(JetPDE(WALL, conduction(k)), 22) > 1e-2) == jumps


def test_a_true_equation_of_layers_is_not_accused(recwarn):
    """T = x / k continued: the flux is the same in both layers. Without a family that can use it, that is said."""
    optimizer = Optimizer(WALL, conduction(layered), seed=0, noise=0.01)
    points = WALL.sobol(15, 1)
    x = points[:, 0]
    optimizer.tell(points, np.where(x < 0.4, x, 0.4 + 10.0 * (x - 0.4)))
    found = optimizer.diagnostics()
    assert "a medium that jumps" in found["physics"]
    assert found["trust"] is None
    assert not recwarn.list
