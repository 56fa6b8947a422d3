"""Which problems may be worked on, and which are kept for the end.

HELD_OUT must not be run with an optimiser, by anybody, until the engine is finished; its results are then given alone.
The split was made before the engine was worked on, by a rule: within a kind of physics the problems that had been tried
before go to WORK, the others follow in the order of the SHA-256 digests of their names until WORK holds half of the
kind. Kinds of an odd size give the odd problem to WORK and to HELD_OUT in turn. The kinds were drawn twice: with the
first, coarser ones the rule put every piecewise coefficient and all acoustics into HELD_OUT, so that these became kinds
of their own. No problem had been run or written by then.
"""

import hashlib

KINDS: dict[str, tuple[str, ...]] = {
    "conduction": ("patch-heater", "nonlinear-conduction", "radiating-fin", "darcy-smooth"),
    "layers": ("layered-conduction", "darcy-block", "heat-two-materials"),
    "groundwater": ("theis-well", "leaky-aquifer"),
    "heat": ("heat-rod", "heat-moving-source", "heat-plate"),
    "convection": ("advection-diffusion-low", "advection-diffusion-high", "graetz", "vortex-convection"),
    "acoustics": ("helmholtz-15", "helmholtz-25", "helmholtz-space-15"),
    "waves": ("wave-string", "klein-gordon", "schroedinger"),
    "structures": ("plate-patch", "plate-point", "beam-step", "beam-point"),
    "ode": ("damped-oscillator", "pendulum", "kinetics", "kinetics-arrhenius"),
    "fronts": ("burgers", "allen-cahn", "porous-medium", "fisher-kpp", "eikonal", "korteweg-de-vries"),
    "symmetry": ("rotation", "similarity"),
}

# tried with an optimiser before the list was made, in one form or another: they cannot be held out
TRIED_BEFORE = ("patch-heater", "plate-patch", "burgers", "allen-cahn", "porous-medium")

WORK_NAMES = (
    *("patch-heater", "radiating-fin", "layered-conduction", "darcy-block", "theis-well", "heat-rod"),
    *("vortex-convection", "advection-diffusion-low", "helmholtz-space-15", "helmholtz-25", "klein-gordon"),
    *("plate-patch", "beam-point", "kinetics-arrhenius", "pendulum", "burgers", "allen-cahn"),
    *("porous-medium", "rotation"),
)
HELD_OUT_NAMES = (
    *("nonlinear-conduction", "darcy-smooth", "heat-two-materials", "leaky-aquifer", "heat-plate"),
    *("heat-moving-source", "advection-diffusion-high", "graetz", "helmholtz-15", "wave-string"),
    *("schroedinger", "plate-point", "beam-step", "kinetics", "damped-oscillator", "korteweg-de-vries"),
    *("fisher-kpp", "eikonal", "similarity"),
)


def split() -> tuple[list[str], list[str]]:
    """The two lists by the rule; a test compares them with those above."""
    work: list[str] = []
    held_out: list[str] = []
    odd_to_work = True
    for names in KINDS.values():
        size = len(names) // 2
        if len(names) % 2:
            size += odd_to_work
            odd_to_work = not odd_to_work
        tried = [name for name in names if name in TRIED_BEFORE]
        others = sorted(set(names) - set(tried), key=lambda name: hashlib.sha256(name.encode()).hexdigest())
        ordered = tried + others
        work += ordered[:size]
        held_out += ordered[size:]
    return work, held_out
