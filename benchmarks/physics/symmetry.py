"""Symmetries: of turning about a point off the centre, and of scale."""

from __future__ import annotations

import numpy as np

from physics.case import Case, Stated
from pinnbo import PDE, Space
from pinnbo.operators import directional, partial


def rotation(seed: int, finer: float) -> Stated:
    """(x - a) f_y - (y - b) f_x = 0: rings of a spin coater whose axis (a, b) is known and stands off the centre."""
    rng = np.random.default_rng([seed, 201])
    centre, radius, waves = rng.uniform(0.2, 0.4, 2), rng.uniform(0.3, 0.5), rng.uniform(8.0, 11.0)

    def evaluate(points):
        r = np.linalg.norm(points - centre, axis=1)
        return np.exp(-6 * (r - radius) ** 2) * (1 + 0.4 * np.cos(waves * (r - radius))) - 0.3 * r

    def operator(f):
        return lambda x: (x[0] - centre[0]) * partial(f, 1)(x) - (x[1] - centre[1]) * partial(f, 0)(x)

    return Stated(Space(x=(0.0, 1.0), y=(0.0, 1.0)), PDE(operator), evaluate, reach=0.01)


def similarity(seed: int, finer: float) -> Stated:
    """x . grad f = 1.5 f in three variables: a quantity whose dimension fixes how it scales, and nothing else."""
    rng = np.random.default_rng([seed, 202])
    place, width, size = rng.uniform(0.4, 0.75, (3, 3)), rng.uniform(0.12, 0.25, 3), rng.uniform(0.4, 1.0, 3)

    def evaluate(points):
        length = np.linalg.norm(points, axis=1)
        direction = points / length[:, None]
        shape = sum(
            s * np.exp(-0.5 * np.sum((direction - p) ** 2, axis=1) / w**2)
            for s, p, w in zip(size, place, width, strict=True)
        )
        return length**1.5 * (0.3 + shape)

    pde = PDE(lambda f: lambda x: directional(f, lambda y: y)(x) - 1.5 * f(x))
    return Stated(Space.box(np.full(3, 0.5), np.full(3, 1.5)), pde, evaluate)


CASES = (
    Case("rotation", "closed form", rotation),
    Case("similarity", "closed form", similarity),
)
