"""How large the fields that nobody measures are expected to be: as large as lets the terms of the equations balance.

Let J_K be random jets of the size that a prior with given length scales allows, of the fields whose amplitudes are
known, and j those of a further field with amplitude one. Its amplitude is then

    A = median over rows of |n(J_K) - n(0)| / |n(J_K + j) - n(J_K)|,

taken over the rows in which both occur. The measured field is known to begin with, in units of its measured values.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from pinnbo.data import Standard
from pinnbo.gp.equations import Equations


def balanced(
    equations: Equations, lengths: Float[ndarray, " d"], n_fields: int, standard: Standard
) -> tuple[float, ...]:
    """Amplitudes of all fields in units of the measured one; one where no equation ties a field to those known."""
    rows = equations.at_zero
    size = np.prod(lengths ** -rows.derivatives.astype(float), axis=1)
    drawn = standard.scale * size * np.random.default_rng(0).standard_normal(rows.coefficients.shape)
    nothing = equations.residual(np.zeros_like(drawn))
    found = {0: 1.0}
    while len(found) < n_fields:
        known = sum(a * drawn * (rows.field_of == field) for field, a in found.items())
        before = equations.residual(known)
        fresh = {}
        for field in set(range(n_fields)) - set(found):
            change = np.abs(equations.residual(known + drawn * (rows.field_of == field)) - before)
            both = (change > 0) & (np.abs(before - nothing) > 0)
            if both.any():
                fresh[field] = float(np.exp(np.median(np.log(np.abs(before - nothing)[both] / change[both]))))
        if not fresh:
            break
        found |= fresh
    return tuple(found.get(field, 1.0) for field in range(n_fields))
