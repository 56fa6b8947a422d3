"""Scrambled Sobol points in the unit cube: those of `scipy.stats.qmc`, which takes as long to import as JAX.

Point i of an axis is, in binary digits, x_i = shift + sum of the columns v_b of a matrix over the digits b of i in Gray
code, all modulo 2. The columns follow from a primitive polynomial z^s + a_1 z^(s-1) + ... + 1 and s odd numbers m_k,

    m_k = 2 a_1 m_(k-1) + 2^2 a_2 m_(k-2) + ... + 2^s m_(k-s) + m_(k-s)  (mod 2),      v_k = m_k / 2^k,

and are scrambled by a random lower triangular matrix with ones on its diagonal (Matousek). SciPy's table of polynomials
and first numbers is read where SciPy keeps it.

References
----------
Joe, Kuo, "Constructing Sobol sequences with better two-dimensional projections", SIAM J. Sci. Comput. 30 (2008).
Matousek, "On the L2-discrepancy for anchored boxes", J. Complexity 14 (1998).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
import scipy
from jaxtyping import Float, UInt32
from numpy import ndarray

_BITS = 30


def sobol(dim: int, n: int, seed: int | Sequence[int]) -> Float[ndarray, "n d"]:
    """The first n points."""
    (rng,) = np.random.default_rng(seed).spawn(1)  # as SciPy does
    shift = rng.integers(2, size=(dim, _BITS), dtype=np.uint32) @ 2 ** np.arange(_BITS, dtype=np.uint32)
    mixing = np.tril(rng.integers(2, size=(dim, _BITS, _BITS), dtype=np.uint32))
    mixing[:, np.arange(_BITS), np.arange(_BITS)] = 1
    # digits of a column from the highest on
    digits = _columns(dim)[:, :, None] >> np.arange(_BITS - 1, -1, -1, dtype=np.uint32) & 1
    mixed = np.matmul(digits, mixing.transpose(0, 2, 1)) & 1
    columns = mixed @ 2 ** np.arange(_BITS - 1, -1, -1, dtype=np.uint32)
    # one digit of the Gray code changes from point to point: that of the lowest zero of the number before
    before = np.arange(n - 1)
    changed = np.log2((before + 1) & ~before).astype(int)
    steps = np.concatenate([shift[:, None], columns[:, changed]], axis=1)[:, :n]
    return np.asarray(np.bitwise_xor.accumulate(steps, axis=1).T / 2.0**_BITS)


@cache
def _columns(dim: int) -> UInt32[ndarray, "d b"]:
    """v of the axes before scrambling, as integers; the first axis has m_k = 1."""
    table = np.load(Path(scipy.__file__).parent / "stats" / "_sobol_direction_numbers.npz")
    polynomials, first = table["poly"][:dim].tolist(), table["vinit"][:dim].tolist()
    columns: list[list[int]] = []
    for polynomial, numbers in zip(polynomials, first, strict=True):
        degree = polynomial.bit_length() - 1
        m = numbers[:degree] if columns else [1] * _BITS
        for k in range(len(m), _BITS):
            new = m[k - degree]
            for i in range(1, degree + 1):
                if polynomial >> (degree - i) & 1:
                    new ^= m[k - i] << i
            m.append(new)
        columns.append([number << (_BITS - 1 - k) for k, number in enumerate(m)])
    return np.array(columns, dtype=np.uint32)
