"""Sound of one frequency in a room of side 1, from loudspeakers outside the part that is searched; closed forms."""

from __future__ import annotations

import numpy as np
from scipy.special import j0, y0

from physics.case import Case, Stated
from pinnbo import PDE, Space
from pinnbo.operators import laplacian


def _sources(seed: int, dim: int):
    """Loudspeakers around the box with their strengths, and their images behind a rigid floor."""
    rng = np.random.default_rng([seed, 150 + dim])
    direction = rng.normal(size=(5, dim))
    direction[:, -1] = np.abs(direction[:, -1])
    centres = 0.5 + rng.uniform(1.0, 1.5, (5, 1)) * direction / np.linalg.norm(
        direction, axis=1, keepdims=True
    )
    images = centres.copy()
    images[:, -1] = -0.6 - images[:, -1]
    strength = rng.normal(size=(5, 2))
    return np.concatenate([centres, images]), np.concatenate([strength, 0.7 * strength])


def _helmholtz(wavenumber: float, dim: int):
    """lap p + k^2 p = 0: the pressure at one phase, Bessel functions in a plane, spherical waves in space."""

    def build(seed: int, finer: float) -> Stated:
        centres, strength = _sources(seed, dim)

        def evaluate(points):
            total = np.zeros(len(points))
            for centre, (a, b) in zip(centres, strength, strict=True):
                kr = wavenumber * np.linalg.norm(points - centre, axis=1)
                waves = (j0(kr), y0(kr)) if dim == 2 else (np.sin(kr) / kr, np.cos(kr) / kr)
                total += a * waves[0] + b * waves[1]
            return total

        pde = PDE(lambda p: lambda x: laplacian(p)(x) + wavenumber**2 * p(x))
        return Stated(Space.box(np.zeros(dim), np.ones(dim)), pde, evaluate)

    return build


CASES = (
    Case("helmholtz-15", "closed form", _helmholtz(15.0, 2)),
    Case("helmholtz-25", "closed form", _helmholtz(25.0, 2)),
    Case("helmholtz-space-15", "closed form", _helmholtz(15.0, 3)),
)
