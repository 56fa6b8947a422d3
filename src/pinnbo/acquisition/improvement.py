"""Expected improvement of a mixture of normal distributions, on the log scale.

EI(x) = sum_k w_k sigma_k h(z_k),   z_k = (y* - mu_k) / sigma_k,   h(z) = phi(z) + z Phi(z),

for minimisation, y* being the best posterior mean at a measured point. EI underflows where no improvement is
likely, and its slope with it; its logarithm does not. d EI_k / d mu_k = -Phi(z_k), d EI_k / d sigma_k = phi(z_k).

References
----------
Ament, Daulton, Eriksson, Balandat, Bakshy, "Unexpected improvements to expected improvement for Bayesian
optimization", NeurIPS 2023.
"""

from __future__ import annotations

import math

import numpy as np
from jaxtyping import Float
from numpy import ndarray
from scipy.special import erfc

_TAIL = -4.0
_DEPTH = 24
_LOG_ROOT = 0.5 * math.log(2.0 * math.pi)


def log_expected_improvement(
    log_weights: Float[ndarray, " k"], mean: Float[ndarray, "b k"], std: Float[ndarray, "b k"], best: float
) -> tuple[Float[ndarray, " b"], Float[ndarray, "b k"], Float[ndarray, "b k"]]:
    """log EI below ``best``, and its derivatives in the means and in the standard deviations."""
    z = (best - mean) / std
    value, slope, density = log_h(z)
    parts = log_weights + np.log(std) + value
    total = np.logaddexp.reduce(parts, axis=1)
    with np.errstate(invalid="ignore"):
        share = np.exp(parts - total[:, None])
    return total, -share * slope / std, share * density / std


def log_h(
    z: Float[ndarray, "*k"],
) -> tuple[Float[ndarray, "*k"], Float[ndarray, "*k"], Float[ndarray, "*k"]]:
    """log h = log(phi(z) + z Phi(z)), its derivative Phi / h, and phi / h.

    Below -4 the two terms cancel. With x = -z and the continued fraction of Mills' ratio,
    Phi(z) / phi(z) = 1 / (x + K), K = 1 / (x + 2 / (x + 3 / ...)): h = phi(z) K / (x + K), Phi / h = 1 / K, and
    phi / h = 1 + x / K.
    """
    tail = z < _TAIL
    near = np.where(tail, 0.0, z)
    below = 0.5 * erfc(-near * math.sqrt(0.5))
    bell = np.exp(-0.5 * near**2 - _LOG_ROOT)
    direct = bell + near * below
    value, slope, density = np.log(direct), below / direct, bell / direct
    x = -z[tail]
    fraction = x
    for k in range(_DEPTH, 1, -1):
        fraction = x + k / fraction
    # K / (x + K) = 1 / (1 + x / K)
    value[tail] = -0.5 * x**2 - _LOG_ROOT - np.log1p(x * fraction)
    slope[tail], density[tail] = fraction, 1.0 + x * fraction
    return value, slope, density
