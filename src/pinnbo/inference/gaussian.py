"""The Gaussian posterior of the weights given any set of linear functionals (Lemma 1).

An observation and a collocation point are both one row of A. Whatever the order in which rows arrive, the
posterior is the same; only its factor is kept, in the smaller of two spaces:

- `SampleSpace` (n <= p): the Cholesky factor L of the n x n matrix I + B B^T, bordered as rows arrive;
- `FeatureSpace` (n > p): the Cholesky factor R of the p x p matrix I + B^T B; memory does not depend on n.

Both factors come from orthogonal transformations of B stacked on I, never from B B^T or B^T B: those lose
half the digits (with 390 collocation rows of a smooth basis and a noise of 1e-6, log det was wrong by 9 and
the weights by a third; here they are right to 1e-7), and a Cholesky factorisation of them can fail.

Notation
--------
=========  ==============================================================================  ============
symbol     meaning                                                                         shape
=========  ==============================================================================  ============
w          weights, N(0, I) before any data (theta - theta_0 in the paper)                 (p,)
A          rows: phi(x_i) of observations, omega(z_j) of collocation points (xi)           (n, p)
t          targets: values y_i, u_j                                                        (n,)
D          noise variances, lambda1 of an observation, lambda2 of a collocation point      (n,) diagonal
B, b       whitened data D^-1/2 A and D^-1/2 t, so that b = B w + N(0, I)                   (n, p), (n,)
K^         A A^T + D = D^1/2 (I + B B^T) D^1/2, the paper's K_PINN with noise              (n, n)
L          lower Cholesky factor of I + B B^T                                              (n, n)
R          upper triangular factor, R^T R = I + B^T B                                      (p, p)
=========  ==============================================================================  ============

References
----------
Phan-Trong, Tran, Shilton, Gupta, "PINN-BO": Lemma 1 and its proof in the appendix.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, final

import numpy as np
from jaxtyping import Float
from numpy import ndarray
from scipy.linalg import lapack, qr, solve_triangular

_PANEL = 32


class Posterior(ABC):
    """N(weights, (I + A^T D^-1 A)^-1), the distribution of w given the rows seen so far.

    It never changes: `append` returns a new one.
    """

    size: int
    """Number n of rows conditioned on."""

    @property
    @abstractmethod
    def dim(self) -> int:
        """Number p of weights."""

    @abstractmethod
    def append(
        self,
        rows: Float[ndarray, "k p"],
        targets: Float[ndarray, " k"],
        variances: float | Float[ndarray, " k"],
    ) -> Posterior:
        """The posterior after k further rows: O(n^2) or O(p^2) for each, whichever space is in use."""

    @property
    @abstractmethod
    def weights(self) -> Float[ndarray, " p"]:
        """Posterior mean A^T K^^-1 t of the weights."""

    @abstractmethod
    def variance(self, rows: Float[ndarray, "m p"]) -> Float[ndarray, " m"]:
        """Posterior variance of the functionals a^T w (Lemma 1's sigma^2), in [0, |a|^2]."""

    @abstractmethod
    def covariance(
        self, rows_a: Float[ndarray, "m p"], rows_b: Float[ndarray, "k p"] | None = None
    ) -> Float[ndarray, "m k"]:
        """Posterior covariance between two sets of functionals, or of one set with itself."""

    @property
    @abstractmethod
    def explained(self) -> Float[ndarray, "k p"]:
        """E with variance(a) = |a|^2 - |E a|^2, for code that evaluates variances itself."""

    @abstractmethod
    def sample(self, rng: np.random.Generator, n: int = 1) -> Float[ndarray, "n p"]:
        """Independent draws of the weights; ``rows @ draw`` is a draw of the whole function."""

    @property
    @abstractmethod
    def log_det(self) -> float:
        """log det(I + D^-1/2 A A^T D^-1/2) = log det(I + A^T D^-1 A), twice the information in the rows."""

    @property
    @abstractmethod
    def log_evidence(self) -> float:
        """log N(t; 0, A A^T + D)."""

    def mean(self, rows: Float[ndarray, "m p"]) -> Float[ndarray, " m"]:
        """Posterior mean of the functionals a^T w (Lemma 1's mu)."""
        return _queries("mean", rows, self.dim) @ self.weights


def condition(
    rows: Float[ndarray, "n p"], targets: Float[ndarray, " n"], variances: float | Float[ndarray, " n"]
) -> Posterior:
    """Posterior of w ~ N(0, I_p) given targets = rows @ w + N(0, diag(variances)) (Lemma 1).

    Works in sample space while n <= p and in feature space beyond; ``rows`` of shape (0, p) gives the prior.
    """
    rows = np.asarray(rows, dtype=float)
    if rows.ndim != 2 or rows.shape[1] == 0:
        raise ValueError(f"posterior: expected rows of shape (n, p) with p >= 1, got {rows.shape}")
    return SampleSpace.prior(rows.shape[1]).append(rows, targets, variances)


@final
@dataclass(frozen=True, eq=False, repr=False)
class SampleSpace(Posterior):
    """The posterior by the n x n factor L: B = L W, with the rows of [W, L^-1] orthonormal.

    That is the orthogonal factorisation of the stacked [B^T; I]: it always exists, and needs no B B^T.
    """

    size: int
    _log_noise: float  # sum of log D
    _factor: Float[ndarray, "n n"]  # L
    _basis: Float[ndarray, "n p+n"]  # [W, L^-1], W = L^-1 B
    _scores: Float[ndarray, " n"]  # z = L^-1 b

    @classmethod
    def prior(cls, dim: int) -> SampleSpace:
        """N(0, I), before any row."""
        return cls(0, 0.0, np.zeros((0, 0)), np.zeros((0, dim)), np.zeros(0))

    @property
    def dim(self) -> int:
        """Number p of weights."""
        return self._basis.shape[1] - self.size

    def append(
        self,
        rows: Float[ndarray, "k p"],
        targets: Float[ndarray, " k"],
        variances: float | Float[ndarray, " k"],
    ) -> Posterior:
        """The posterior after k further rows; in feature space once there are more rows than weights."""
        new = _whiten(rows, targets, variances, self.dim)
        k, n = len(new.rows), self.size
        if k == 0:
            return self
        log_noise = self._log_noise + new.log_noise
        if n + k > self.dim:
            triangle = FeatureSpace.prior(self.dim)._triangle
            triangle = _absorb(triangle, self._factor @ self._directions, self._factor @ self._scores)
            triangle = _absorb(triangle, new.rows, new.targets)
            return FeatureSpace(n + k, log_noise, triangle)
        basis = np.zeros((n + k, self.dim + n + k))
        basis[:n, :-k] = self._basis
        across, corner, basis[n:] = _orthogonalise(self._basis, new.rows)
        factor = np.block([[self._factor, np.zeros((n, k))], [across, corner]])
        scores = _solve(corner, new.targets - across @ self._scores)
        return SampleSpace(n + k, log_noise, factor, basis, np.concatenate([self._scores, scores]))

    def with_targets(
        self, targets: Float[ndarray, " n"], variances: float | Float[ndarray, " n"]
    ) -> SampleSpace:
        """The same rows and variances with other targets: one triangular solve."""
        whitened = np.asarray(targets, dtype=float) / np.sqrt(variances)
        return replace(self, _scores=_solve(self._factor, whitened))

    @property
    def _directions(self) -> Float[ndarray, "n p"]:
        return self._basis[:, : self.dim]

    @cached_property
    def weights(self) -> Float[ndarray, " p"]:
        """Posterior mean B^T (I + B B^T)^-1 b = W^T z."""
        return _read_only(self._directions.T @ self._scores)

    def variance(self, rows: Float[ndarray, "m p"]) -> Float[ndarray, " m"]:
        """|a|^2 - |W a|^2 per row a, as the squared length of what is left of a: it cannot cancel."""
        rows = _queries("variance", rows, self.dim)
        left = self._unexplained(rows)
        return np.minimum(np.einsum("mk,mk->m", left, left), np.einsum("mp,mp->m", rows, rows))

    def covariance(
        self, rows_a: Float[ndarray, "m p"], rows_b: Float[ndarray, "k p"] | None = None
    ) -> Float[ndarray, "m k"]:
        """a^T a' - (W a)^T (W a') per pair of rows."""
        left = self._unexplained(_queries("covariance", rows_a, self.dim))
        if rows_b is None:
            return left @ left.T
        return left @ self._unexplained(_queries("covariance", rows_b, self.dim)).T

    @property
    def explained(self) -> Float[ndarray, "n p"]:
        """W."""
        return self._directions

    def sample(self, rng: np.random.Generator, n: int = 1) -> Float[ndarray, "n p"]:
        """Perturb and solve (Matheron): w0 + B^T (I + B B^T)^-1 (b - B w0 - e), w0 and e standard normal."""
        prior = rng.standard_normal((n, self.dim))
        noise = rng.standard_normal((n, self.size))
        gap = self._scores - prior @ self._directions.T - noise @ self._basis[:, self.dim :].T
        return prior + gap @ self._directions

    @cached_property
    def log_det(self) -> float:
        """2 sum log L_ii."""
        return 2.0 * float(np.sum(np.log(np.diag(self._factor))))

    @property
    def log_evidence(self) -> float:
        """log N(t; 0, A A^T + D), the quadratic form being |z|^2."""
        return _log_evidence(self.size, self._log_noise, self.log_det, float(self._scores @ self._scores))

    def _unexplained(self, rows: Float[ndarray, "m p"]) -> Float[ndarray, "m p+n"]:
        """[a, 0] minus its projection on the basis; inner products of these are posterior covariances."""
        left = -(rows @ self._directions.T) @ self._basis
        left[:, : self.dim] += rows
        return left


@final
@dataclass(frozen=True, eq=False, repr=False)
class FeatureSpace(Posterior):
    """The posterior by the p x p factor R; the rows are not kept.

    The triangular factor of [I 0; B b] holds everything: [[R, c], [0, s]] with R w = c at the posterior mean
    and s^2 = b^T (I + B B^T)^-1 b, the quadratic form of the evidence.
    """

    size: int
    _log_noise: float  # sum of log D
    _triangle: Float[ndarray, "p+1 p+1"]

    @classmethod
    def prior(cls, dim: int) -> FeatureSpace:
        """N(0, I), before any row."""
        return cls(0, 0.0, np.diag(np.append(np.ones(dim), 0.0)))

    @property
    def dim(self) -> int:
        """Number p of weights."""
        return len(self._triangle) - 1

    def append(
        self,
        rows: Float[ndarray, "k p"],
        targets: Float[ndarray, " k"],
        variances: float | Float[ndarray, " k"],
    ) -> Posterior:
        """The posterior after k further rows."""
        new = _whiten(rows, targets, variances, self.dim)
        triangle = _absorb(self._triangle, new.rows, new.targets)
        return FeatureSpace(self.size + len(new.rows), self._log_noise + new.log_noise, triangle)

    @property
    def _factor(self) -> Float[ndarray, "p p"]:
        return self._triangle[:-1, :-1]

    @cached_property
    def weights(self) -> Float[ndarray, " p"]:
        """Posterior mean R^-1 c."""
        return _read_only(_solve(self._factor, self._triangle[:-1, -1], lower=False))

    def variance(self, rows: Float[ndarray, "m p"]) -> Float[ndarray, " m"]:
        """|R^-T a|^2 per row a."""
        rows = _queries("variance", rows, self.dim)
        left = _solve(self._factor, rows.T, lower=False, transposed=True)
        # rounding may pass the prior's by an ulp
        return np.minimum(np.einsum("pm,pm->m", left, left), np.einsum("mp,mp->m", rows, rows))

    def covariance(
        self, rows_a: Float[ndarray, "m p"], rows_b: Float[ndarray, "k p"] | None = None
    ) -> Float[ndarray, "m k"]:
        """(R^-T a)^T (R^-T a') per pair of rows."""
        left = _solve(self._factor, _queries("covariance", rows_a, self.dim).T, lower=False, transposed=True)
        if rows_b is None:
            return left.T @ left
        right = _solve(self._factor, _queries("covariance", rows_b, self.dim).T, lower=False, transposed=True)
        return left.T @ right

    @property
    def explained(self) -> Float[ndarray, "p p"]:
        """(I - S^-2)^1/2 V^T, from the singular values S and right vectors V of R."""
        _, singular, right = np.linalg.svd(self._factor)
        return np.sqrt(np.maximum(1.0 - singular**-2, 0.0))[:, None] * right

    def sample(self, rng: np.random.Generator, n: int = 1) -> Float[ndarray, "n p"]:
        """R^-1 (c + z), z standard normal: what perturb and solve comes to when the rows are gone."""
        noise = rng.standard_normal((n, self.dim))
        return _solve(self._factor, (self._triangle[:-1, -1] + noise).T, lower=False).T

    @cached_property
    def log_det(self) -> float:
        """2 sum log |R_ii|."""
        return 2.0 * float(np.sum(np.log(np.abs(np.diag(self._factor)))))

    @property
    def log_evidence(self) -> float:
        """log N(t; 0, A A^T + D), the quadratic form being s^2."""
        return _log_evidence(self.size, self._log_noise, self.log_det, float(self._triangle[-1, -1] ** 2))


class Joint(NamedTuple):
    """Posterior of f at m points together with g = N[f] at k points (Lemma 1, the appendix' block form).

    The paper's trained network has nu_t^2 times these covariances.
    """

    mean_f: Float[ndarray, " m"]
    mean_g: Float[ndarray, " k"]
    cov_f: Float[ndarray, "m m"]
    cov_fg: Float[ndarray, "m k"]
    cov_g: Float[ndarray, "k k"]


def joint(posterior: Posterior, phi: Float[ndarray, "m p"], omega: Float[ndarray, "k p"]) -> Joint:
    """Joint posterior K_xx - K_x^T K^^-1 K_x of f (rows ``phi``) and g = N[f] (rows ``omega``)."""
    m = len(phi)
    cov = posterior.covariance(np.concatenate([np.asarray(phi), np.asarray(omega)]))
    return Joint(posterior.mean(phi), posterior.mean(omega), cov[:m, :m], cov[:m, m:], cov[m:, m:])


class _Whitened(NamedTuple):
    rows: Float[ndarray, "k p"]
    targets: Float[ndarray, " k"]
    log_noise: float


def _whiten(
    rows: Float[ndarray, "k p"],
    targets: Float[ndarray, " k"],
    variances: float | Float[ndarray, " k"],
    dim: int,
) -> _Whitened:
    """Check new data and divide each row by the standard deviation of its noise."""
    rows, targets = np.asarray(rows, dtype=float), np.asarray(targets, dtype=float)
    if rows.ndim != 2 or rows.shape[1] != dim:
        raise ValueError(f"posterior: expected rows of shape (n, {dim}), got {rows.shape}")
    if targets.shape != (len(rows),):
        raise ValueError(f"posterior: expected one target per row, shape ({len(rows)},), got {targets.shape}")
    if np.shape(variances) not in ((), (len(rows),)):
        raise ValueError(
            f"posterior: expected one variance, or one per row ({len(rows)}), got {np.shape(variances)}"
        )
    noise = np.broadcast_to(np.asarray(variances, dtype=float), (len(rows),))
    _raise_at_first(~np.isfinite(rows).all(axis=1), "posterior: row {} is not finite")
    _raise_at_first(~np.isfinite(targets), "posterior: the target of row {} is not finite")
    _raise_at_first(
        ~(np.isfinite(noise) & (noise > 0)),
        "posterior: the variance of row {} is not a positive finite number",
    )
    deviation = np.sqrt(noise)
    with np.errstate(over="ignore"):
        whitened_rows, whitened_targets = rows / deviation[:, None], targets / deviation
        power = np.einsum("kp,kp->k", whitened_rows, whitened_rows) + whitened_targets**2
    _raise_at_first(~np.isfinite(power), "posterior: row {} overflows when divided by the sd of its noise")
    return _Whitened(whitened_rows, whitened_targets, float(np.sum(np.log(noise))))


def _raise_at_first(bad: ndarray, message: str) -> None:
    if bad.any():
        raise ValueError(message.format(int(np.flatnonzero(bad)[0])))


def _queries(who: str, rows: Float[ndarray, "m p"], dim: int) -> Float[ndarray, "m p"]:
    rows = np.asarray(rows, dtype=float)
    if rows.ndim != 2 or rows.shape[1] != dim:
        raise ValueError(f"{who}: expected rows of shape (m, {dim}), got {rows.shape}")
    _raise_at_first(~np.isfinite(rows).all(axis=1), f"{who}: row {{}} is not finite")
    return rows


def _orthogonalise(
    basis: Float[ndarray, "n p+n"], rows: Float[ndarray, "k p"]
) -> tuple[Float[ndarray, "k n"], Float[ndarray, "k k"], Float[ndarray, "k p+n+k"]]:
    """(C, E, Q) with [rows, 0, I] = C [basis, 0] + E Q, Q orthonormal to the basis, E lower triangular."""
    n, k, p = len(basis), len(rows), rows.shape[1]
    across = rows @ basis[:, :p].T
    fresh = np.hstack([rows, np.zeros((k, n)), np.eye(k)])
    fresh[:, : p + n] -= across @ basis
    fresh, corner = _orthonormal(fresh)
    if n > 0:
        # what is left may be far smaller than the rows: their rounding errors have to go as well
        again = fresh[:, : p + n] @ basis.T
        fresh[:, : p + n] -= again @ basis
        fresh, correction = _orthonormal(fresh)
        across, corner = across + corner @ again, corner @ correction
    return across, corner, fresh


def _orthonormal(rows: Float[ndarray, "k m"]) -> tuple[Float[ndarray, "k m"], Float[ndarray, "k k"]]:
    """(Q, E) with rows = E Q, Q orthonormal, E lower triangular with a positive diagonal."""
    q, r = qr(rows.T, mode="economic", check_finite=False)
    signs = np.where(np.diag(r) < 0, -1.0, 1.0)
    return signs[:, None] * q.T, r.T * signs


def _absorb(
    triangle: Float[ndarray, "p+1 p+1"], rows: Float[ndarray, "k p"], targets: Float[ndarray, " k"]
) -> Float[ndarray, "p+1 p+1"]:
    """Triangular factor of [triangle; rows targets], by orthogonal reflections in blocks of about p rows."""
    width = len(triangle)
    for start in range(0, len(rows), width):
        block = slice(start, start + width)
        below = np.column_stack([rows[block], targets[block]])
        # QR of a triangle on top of a rectangle: 2 k p^2 operations, half or less of a QR of the whole
        triangle = lapack.dtpqrt(0, min(_PANEL, width), triangle, below)[0]
    return triangle


def _solve(
    triangle: Float[ndarray, "n n"],
    right: Float[ndarray, "n ..."],
    *,
    lower: bool = True,
    transposed: bool = False,
) -> Float[ndarray, "n ..."]:
    return solve_triangular(
        triangle, right, lower=lower, trans="T" if transposed else "N", check_finite=False
    )


def _read_only(array: ndarray) -> ndarray:
    array.flags.writeable = False
    return array


def _log_evidence(size: int, log_noise: float, log_det: float, quadratic: float) -> float:
    return -0.5 * (quadratic + log_det + log_noise + size * math.log(2.0 * math.pi))
