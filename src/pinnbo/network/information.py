"""What the data tell about f: information, exploration coefficient, confidence band and regret bound.

All for the linear model f(x) = phi(x)^T w, g(z) = N[f](z) = omega(z)^T w, w ~ N(0, I). Determinants come from singular
values and orthogonal factors of the rows, never from products of them, which lose half the digits. Information is in
nats.

Notation
--------
=========  ==========================================================================  ============
symbol     meaning                                                                     shape
=========  ==========================================================================  ============
phi        rows of the observations Y, variance l1 (the paper's lambda1)               (t, p)
omega      rows of the PDE data U, variance l2 (lambda2)                               (N_r, p)
I(f;Y)     1/2 log det(I + phi phi^T / l1)
I(f;Y|U)   the same once the PDE data are known
I(f;Y;U)   interaction information I(f;Y) - I(f;Y|U) >= 0
gamma_t    largest I(f;Y) that t observations can have
I_0        information between f at the observed points and U
R1, R2     sub-Gaussian parameters of the noise in Y and in U
R~         sqrt(R1^2/l1 + R2^2/l2)
B          bound of |w|, the norm of f in the kernel's space
nu_t       factor by which the paper widens the posterior's standard deviation
=========  ==========================================================================  ============

The self-normalised bound behind Lemma 3
----------------------------------------
Whitened, a datum is b_s = B_s^T w + e_s with e_s sub-Gaussian of parameter R1/sqrt(l1) or R2/sqrt(l2). With
V = I + sum_s B_s B_s^T and S = sum_s B_s e_s, the posterior mean is off by

    f(x) - mu(x) = phi^T V^-1 w - phi^T V^-1 S,     |f(x) - mu(x)| <= sigma(x) (|w| + |S|_{V^-1}).

- PDE values exact (R2 = 0): only observations carry noise. The self-normalised bound (Abbasi-Yadkori et al.,
  Theorem 1) started from V_0 = I + omega^T omega / l2 gives, for all t at once with probability 1 - delta,
  |S|_{V^-1}^2 <= R1^2/l1 (log det V - log det V_0 + 2 log(1/delta)) = R1^2/l1 (2 I(f;Y|U) + 2 log(1/delta)).
- PDE values noisy: start from V_0 = I. The parameter is max(R1^2/l1, R2^2/l2) <= R~^2 and the information is
  all of it, I(f;Y|U) + I(f;U). The further term I(f;U) is what the paper hides in O(1); it grows with N_r.

The paper prints R1/l1 for R1/sqrt(l1) in R~, and log(1/delta) for 2 log(1/delta). The first fails outright
unless l1 = 1; with the second the band holds with probability 1 - sqrt(delta) only.

References
----------
Phan-Trong, Tran, Shilton, Gupta, "PINN-BO": Lemmas 2 and 3, Theorem 1.
Abbasi-Yadkori, Pal, Szepesvari (2011), "Improved algorithms for linear stochastic bandits", Theorem 1.
Nemhauser, Wolsey, Fisher (1978): greedy maximisation of submodular functions.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray
from scipy.linalg import svdvals
from scipy.linalg.lapack import dtpqrt

Variances = float | Float[ndarray, " n"]

_PANEL = 32  # columns that LAPACK reflects at once


def mutual_information(rows: Float[ndarray, "n p"], variances: Variances) -> float:
    """I(f;Y) = 1/2 log det(I + K_uu/l1), what data with these rows tell about f."""
    return 0.5 * float(np.sum(np.log1p(svdvals(_whitened(rows, variances)) ** 2)))


def conditional_information(
    phi: Float[ndarray, "t p"], l1: Variances, omega: Float[ndarray, "r p"], l2: Variances
) -> float:
    """I(f;Y|U), what the observations tell beyond the PDE data (proof of Lemma 2).

    1/2 log [det(I + phi^T phi/l1 + omega^T omega/l2) / det(I + omega^T omega/l2)]. It equals
    1/2 sum_s log(1 + sigma_{s-1}^2(x_s)/l1) along a run that knows U from the start.
    """
    both = np.concatenate([_whitened(phi, l1), _whitened(omega, l2)])
    return max(0.0, mutual_information(both, 1.0) - mutual_information(omega, l2))


def interaction_information(
    phi: Float[ndarray, "t p"], l1: Variances, omega: Float[ndarray, "r p"], l2: Variances
) -> float:
    """I(f;Y;U) of Lemma 2: how much of what Y tells about f the PDE data tell already.

    1/2 log [det(I + phi^T phi/l1) det(I + omega^T omega/l2) / det(I + phi^T phi/l1 + omega^T omega/l2)], not
    negative by Fischer's inequality.
    """
    return mutual_information(phi, l1) - conditional_information(phi, l1, omega, l2)


def i_zero(phi: Float[ndarray, "t p"], omega: Float[ndarray, "r p"], l2: Variances) -> float:
    """I_0 of Theorem 1, the information between f at the observed points and U.

    1/2 log [det(K_rr + l2 I) / det(K_rr + l2 I - K_ru K_uu^-1 K_ur)]. K_uu need not be invertible: to know
    f at the points is to know the projection of w on the span of phi, so that the second matrix is
    omega P omega^T + l2 I with P the projection on the complement. Directions of phi that are below rounding
    (relative to the largest) do not count as known.
    """
    phi, omega = np.asarray(phi, dtype=float), np.asarray(omega, dtype=float)
    _, singular, directions = np.linalg.svd(phi, full_matrices=False)
    threshold = max(phi.shape) * np.finfo(float).eps * np.max(singular, initial=0.0)
    known = directions[singular > threshold]
    unknown = omega - (omega @ known.T) @ known
    return mutual_information(omega, l2) - mutual_information(unknown, l2)


class Ledger(NamedTuple):
    """The information quantities of a run, kept up to date at O(p^2) per observation, however many there are.

    ``Ledger.start(omega, l2)``, then ``ledger = ledger.observe(phi, l1)`` as observations arrive. What is kept of the
    data is R with R^T R = I + B^T B, B their rows in units of the noise: log det R is the information in them.
    """

    given: Float[ndarray, "p p"]
    """R of the PDE's rows and the observations."""
    alone: Float[ndarray, "p p"]
    """R of the observations."""
    pde: float
    """I(f;U)."""

    @classmethod
    def start(cls, omega: Float[ndarray, "r p"], l2: Variances) -> Ledger:
        """The ledger before any observation."""
        white = _whitened(omega, l2)
        nothing = np.eye(white.shape[1])
        given = _extended(nothing, white)
        return cls(given, nothing, _log_det(given))

    def observe(self, phi: Float[ndarray, "k p"], l1: Variances) -> Ledger:
        """The ledger after k further observations."""
        white = _whitened(phi, l1)
        return Ledger(_extended(self.given, white), _extended(self.alone, white), self.pde)

    @property
    def mutual(self) -> float:
        """I(f;Y)."""
        return _log_det(self.alone)

    @property
    def conditional(self) -> float:
        """I(f;Y|U) = I(f;Y,U) - I(f;U)."""
        return max(0.0, self.total - self.pde)

    @property
    def total(self) -> float:
        """I(f;Y,U), all that the data tell."""
        return _log_det(self.given)

    @property
    def interaction(self) -> float:
        """I(f;Y;U) = I(f;Y) - I(f;Y|U) (Lemma 2)."""
        return self.mutual - self.conditional

    def nu(self, r_tilde: float, delta: float, gamma: float | None = None) -> float:
        """nu_t of Algorithm 1, from I(f;Y|U); or, with an estimate of gamma_t, from gamma_t - I(f;Y;U)."""
        if gamma is None:
            return nu(self.conditional, r_tilde, delta)
        # gamma_t is a maximum that I(f;Y) belongs to, whatever set of candidates it was estimated on
        return nu(max(gamma, self.mutual) - self.interaction, r_tilde, delta)


class GreedyGain(NamedTuple):
    """Bounds of the maximum information gain over a set of candidates, for s = 1..t observations."""

    lower: Float[ndarray, " t"]
    """What greedy selection reaches: at most gamma_s."""
    upper: Float[ndarray, " t"]
    """The same divided by 1 - 1/e: at least gamma_s."""
    picks: Int[ndarray, " t"]
    """The candidates in the order they were picked."""


def greedy_information_gain(candidates: Float[ndarray, "m p"], l1: float, t: int) -> GreedyGain:
    """Estimate gamma_1 .. gamma_t over candidate rows by picking the largest posterior variance each time.

    A candidate may be picked again: noise makes repeats useful. The gain is submodular, so greedy reaches
    at least 1 - 1/e of the maximum. O(m (p + s)) at step s, as in a pivoted Cholesky factorisation.
    """
    candidates = np.asarray(candidates, dtype=float)
    if candidates.ndim != 2 or len(candidates) == 0 or not np.isfinite(candidates).all():
        raise ValueError(f"greedy gain: expected finite rows of shape (m, p), m >= 1, got {candidates.shape}")
    if not (l1 > 0 and t >= 1):
        raise ValueError(f"greedy gain: expected l1 > 0 and t >= 1, got {l1!r} and {t!r}")
    variance = np.einsum("mp,mp->m", candidates, candidates)
    columns = np.zeros((len(candidates), t))
    picks, gains = np.zeros(t, dtype=int), np.zeros(t)
    for s in range(t):
        pick = int(np.argmax(variance))
        picks[s], gains[s] = pick, 0.5 * math.log1p(variance[pick] / l1)
        covariance = candidates @ candidates[pick] - columns[:, :s] @ columns[pick, :s]
        columns[:, s] = covariance / math.sqrt(l1 + variance[pick])
        variance = np.maximum(variance - columns[:, s] ** 2, 0.0)
    lower = np.cumsum(gains)
    return GreedyGain(lower, lower / (1.0 - math.exp(-1.0)), picks)


def r_tilde(R1: float, l1: float, R2: float = 0.0, l2: float = 1.0, *, printed: bool = False) -> float:
    """R~ = sqrt(R1^2/l1 + R2^2/l2), the noise in units of the model's.

    ``printed`` gives what Lemma 3 and Algorithm 1 print instead, sqrt((R1/l1)^2 + (R2/l2)^2): the proof
    divides sigma by l2 where sqrt(l2) is meant.
    """
    if printed:
        return math.hypot(R1 / l1, R2 / l2)
    return math.sqrt(R1 * R1 / l1 + R2 * R2 / l2)


def nu(information: float, r_tilde: float, delta: float) -> float:
    """nu_t = R~ sqrt(2 I + log(1/delta)) of Algorithm 1: how far the paper explores, in posterior deviations.

    ``information`` is I(f;Y|U) (Lemma 3, first line), or gamma_t - I(f;Y;U) with gamma_t from
    `greedy_information_gain` (its second line).
    """
    _check_probability(information, delta)
    return r_tilde * math.sqrt(2.0 * information + math.log(1.0 / delta))


def confidence_width(
    B: float, r_tilde: float, information: float, delta: float, *, pde_information: float = 0.0
) -> float:
    """Half width of Lemma 3's confidence band in units of sigma_t(x), with the constants put right.

    B + R~ sqrt(2 I(f;Y|U) + 2 I(f;U) + 2 log(1/delta)): |f - mu_t| <= width * sigma_t for all x and t, with
    probability 1 - delta. ``information`` is I(f;Y|U). ``pde_information`` is I(f;U): it has to be given when
    the PDE values are noisy (R2 > 0), and left out when they are exact (R2 = 0). See the top of the file.
    """
    _check_probability(information + pde_information, delta)
    return B + r_tilde * math.sqrt(2.0 * (information + pde_information) + 2.0 * math.log(1.0 / delta))


def regret_bound(
    T: int, dim: int, B: float, r_tilde: float, gamma: float, interaction: float, i_zero: float, delta: float
) -> float:
    """The right side of Theorem 1 without its constant, so that only ratios and growth mean anything.

    sqrt(T d log(B d T)) [B sqrt(gamma_T - I_0 + log(2/delta))
                          + R~ sqrt(gamma_T) sqrt(gamma_T - I(f;Y;U) - I_0 + log(2/delta))]

    gamma_T - I_0 and gamma_T - I(f;Y;U) - I_0 stand for quantities that are not negative, from which a
    multiple of N_r has been dropped as O(1); where that makes them negative they count as 0. The logarithm
    counts as at least 1.
    """
    _check_probability(gamma, delta)
    confidence = math.log(2.0 / delta)
    scale = math.sqrt(T * dim * max(1.0, math.log(max(B * dim * T, 1.0))))
    first = B * math.sqrt(max(0.0, gamma - i_zero) + confidence)
    second = r_tilde * math.sqrt(gamma) * math.sqrt(max(0.0, gamma - interaction - i_zero) + confidence)
    return scale * (first + second)


def pde_sample_size(phi: Float[ndarray, "t p"], l1: float, L: float, c_r: float = 1.0) -> int:
    """N_r = c_r (1 + rho_min(K_uu)/l1) / L^2 of Lemma 3, rounded up; L bounds |omega|.

    It is the number up to which the paper takes I(f;U|Y) for a constant, not one that is good in practice.
    """
    smallest = float(np.linalg.svd(phi, compute_uv=False)[-1]) if len(phi) <= np.shape(phi)[1] else 0.0
    return max(1, math.ceil(c_r * (1.0 + smallest**2 / l1) / L**2))


def _whitened(rows: Float[ndarray, "n p"], variances: Variances) -> Float[ndarray, "n p"]:
    """Rows divided by the standard deviation of their noise."""
    rows = np.asarray(rows, dtype=float)
    if rows.ndim != 2 or rows.shape[1] == 0:
        raise ValueError(f"information: expected rows of shape (n, p) with p >= 1, got {rows.shape}")
    if np.shape(variances) not in ((), (len(rows),)) or not np.all(np.asarray(variances) > 0):
        raise ValueError("information: expected one positive variance, or one per row")
    return rows / np.sqrt(np.broadcast_to(variances, (len(rows),)))[:, None]


def _extended(factor: Float[ndarray, "p p"], rows: Float[ndarray, "k p"]) -> Float[ndarray, "p p"]:
    """R' with R'^T R' = R^T R + rows^T rows, by reflections of R on top of the rows."""
    p = len(factor)
    for start in range(0, len(rows), p):
        factor = dtpqrt(0, min(_PANEL, p), factor, rows[start : start + p])[0]
    return factor


def _log_det(factor: Float[ndarray, "p p"]) -> float:
    return float(np.sum(np.log(np.abs(np.diag(factor)))))


def _check_probability(information: float, delta: float) -> None:
    if not 0.0 < delta < 1.0:
        raise ValueError(f"delta must be between 0 and 1, got {delta!r}")
    if not information >= 0.0:
        raise ValueError(f"information must be a number >= 0, got {information!r}")
