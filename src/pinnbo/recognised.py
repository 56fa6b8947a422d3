"""Whether what is passed beside a stored state is what the state was stored with, by values at probe points."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pinnbo.gp.simulation import Simulation
from pinnbo.pde import PDE
from pinnbo.space import Space


def recognise(physics: Sequence[PDE], stored: Sequence[Sequence[float]], space: Space) -> None:
    """Raise unless the equations are those of the state."""
    if len(physics) != len(stored):
        raise ValueError(
            f"from_dict: the state was stored with {len(stored)} PDE(s), got {len(physics)}; pass them as pde"
        )
    for pde, fingerprint in zip(physics, stored, strict=True):
        if not _same(pde.fingerprint(space), fingerprint):
            raise ValueError(f"from_dict: {pde.name} is not the one that the state was stored with")


def recognise_mean(simulation: Simulation | None, stored: Sequence[float] | None, space: Space) -> None:
    """Raise unless there is the same simulation, or none."""
    now = None if simulation is None else simulation.fingerprint(space)
    if (now is None) != (stored is None):
        told = "without" if stored is None else "with"
        raise ValueError(f"from_dict: the state was stored {told} a simulation; pass the same as mean")
    if now is not None and stored is not None and not _same(now, stored, 0.0):
        raise ValueError("from_dict: mean is not the simulation that the state was stored with")


def recognise_objective(now: Sequence[Sequence[float]], stored: Sequence[Sequence[float]]) -> None:
    """Raise unless objective and limits are those of the state."""
    if len(now) != len(stored) or not all(_same(a, b) for a, b in zip(now, stored, strict=True)):
        raise ValueError("from_dict: objective and limits have to be those that the state was stored with")


def _same(now: Sequence[float], stored: Sequence[float], atol: float = 1e-9) -> bool:
    return len(now) == len(stored) and np.allclose(now, stored, rtol=1e-6, atol=atol)
