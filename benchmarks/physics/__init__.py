"""Problems with independent truths, by kind of physics: ``physics.WORK["patch-heater"](seed)`` gives a `Problem`.

`WORK` may be run at any time. `HELD_OUT` must not be run with an optimiser before the engine is finished (lists.py).
`IMPOSSIBLE` are fields with places where nothing can be measured. docs/notes/physics-problems.md has the figures.
"""

from __future__ import annotations

from physics import (
    acoustics,
    conduction,
    convection,
    fronts,
    groundwater,
    heat,
    impossible,
    layers,
    ode,
    structures,
    symmetry,
    waves,
)
from physics.case import Case
from physics.lists import HELD_OUT_NAMES, WORK_NAMES

_MODULES = (
    *(conduction, layers, groundwater, heat, convection, acoustics, waves, structures, ode, fronts, symmetry),
)

PROBLEMS: dict[str, Case] = {case.name: case for module in _MODULES for case in module.CASES}
WORK: dict[str, Case] = {name: PROBLEMS[name] for name in WORK_NAMES}
HELD_OUT: dict[str, Case] = {name: PROBLEMS[name] for name in HELD_OUT_NAMES}
IMPOSSIBLE: dict[str, impossible.Impossible] = {case.name: case for case in impossible.CASES}
