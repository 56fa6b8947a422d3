"""A kernel given the physics: functionals applied to both arguments of the kernel, once and for all data.

=======  ==========================================================================================  ==========
symbol   meaning                                                                                     shape
=======  ==========================================================================================  ==========
k        kernel of h, its constant included
L_j      functional of row j (`pinnbo.physics.functionals`)
G        L_i L_j' k, the rows' covariance; r_j^2 = G_jj                                               (m, m)
D        noise variances of the rows, r_j^2 tau^2 + (noise_j / scale)^2                               (m,)
C        Cholesky factor of I + D^-1/2 G D^-1/2, whose eigenvalues are 1 to m / tau^2                  (m, m)
v(t)     C^-1 D^-1/2 L k(., t)                                                                        (m,)
=======  ==========================================================================================  ==========

Given the rows, h has mean v(t) . C^-1 D^-1/2 target and covariance k(s, t) - v(s) . v(t): no basis, no truncation.

The physics leaves few directions open. Between inducing points M the covariance can therefore be interpolated without
loss (`compressed`), and the features are linear in the kernel's functionals at s: one matrix of m x r in place of
m x m.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from numpy import ndarray
from scipy.linalg import cholesky, solve_triangular
from scipy.linalg.lapack import dpstrf

from pinnbo.gp.kernels import RBF, Kernel
from pinnbo.gp.process import FeatureMap, Process
from pinnbo.physics.coordinates import BOX, Coordinates
from pinnbo.physics.functionals import Functionals, concatenate
from pinnbo.sobol import sobol

_PRECISION = 1e-10
_SIZES = (128, 256, 512, 1024)
N_SPREAD, N_EVEN = _SIZES[-1], 64
_LOST = 1e-3  # of the variation


def plain(kernel: Kernel) -> Process:
    """A kernel without physics."""
    return Process(len(kernel.scale), kernel=kernel, has_physics=False, about_zero=kernel.about_zero)


class Filling(NamedTuple):
    """Points that fill a space evenly, and others on its boundary besides, in the coordinates of a process."""

    even: Float[ndarray, "p d"]
    spread: Float[ndarray, "i d"]


@dataclass(frozen=True, eq=False)
class KernelFeatures(FeatureMap):
    """Combinations of the kernel's functionals at a point."""

    kernel: RBF
    functionals: Functionals
    maps: Float[ndarray, "m r"]

    def __call__(
        self, points: Float[ndarray, "b d"], slopes: bool
    ) -> tuple[Float[ndarray, "b r"], Float[ndarray, "b d r"] | None]:
        """L k(., s) combined."""
        values, along = self.kernel.jets(points, self.functionals, slopes)
        if along is None:
            return values @ self.maps, None
        together = np.concatenate([values[:, None], along], axis=1)  # one product for all
        found = (together.reshape(-1, values.shape[1]) @ self.maps).reshape(*together.shape[:2], -1)
        return found[:, 0], found[:, 1:]

    def knows(self, functionals: Functionals) -> bool:
        """As the kernel."""
        return self.kernel.knows(functionals)

    def of(self, functionals: Functionals) -> Float[ndarray, "n r"]:
        """L' L k combined."""
        return np.asarray(self.kernel.covariance(functionals, self.functionals) @ self.maps)


@dataclass(frozen=True, eq=False)
class WhitenedRows(FeatureMap):
    """v(s)."""

    given: Given

    def __call__(
        self, points: Float[ndarray, "b d"], slopes: bool
    ) -> tuple[Float[ndarray, "b r"], Float[ndarray, "b d r"] | None]:
        """One triangular solve for values and slopes."""
        values, along = self.given.kernel.jets(points, self.given.rows, slopes)
        if along is None:
            return self.given.whitened(values.T).T, None
        together = np.concatenate([values[:, None], along], axis=1)
        found = self.given.whitened(together.reshape(-1, values.shape[1]).T).T.reshape(together.shape)
        return found[:, 0], found[:, 1:]

    def knows(self, functionals: Functionals) -> bool:
        """As the kernel."""
        return self.given.kernel.knows(functionals)

    def of(self, functionals: Functionals) -> Float[ndarray, "n r"]:
        """v of functionals."""
        return self.given.whitened(self.given.kernel.covariance(self.given.rows, functionals)).T


@dataclass(frozen=True, eq=False)
class Given:
    """A kernel and the rows it has been given."""

    kernel: RBF
    rows: Functionals
    factor: Float[ndarray, "m m"]  # C
    unit: Float[ndarray, " m"]  # D^1/2
    coordinates: Coordinates = BOX

    def whitened(self, right: Float[ndarray, "m ..."]) -> Float[ndarray, "m ..."]:
        """C^-1 D^-1/2 right."""
        scaled = (right.T / self.unit).T
        return np.asarray(solve_triangular(self.factor, scaled, lower=True, check_finite=False))

    def back(self, right: Float[ndarray, "m ..."]) -> Float[ndarray, "m ..."]:
        """D^-1/2 C^-T right."""
        solved = solve_triangular(self.factor, right, lower=True, trans="T", check_finite=False)
        return np.asarray((solved.T / self.unit).T)

    def process(self) -> Process:
        """The kernel given the rows, exactly."""
        m = len(self.rows)
        features = WhitenedRows(self)
        means = self.whitened(self.rows.targets())
        return Process(
            len(self.kernel.scale),
            features,
            np.full(m, -1.0),
            means,
            self.kernel,
            coordinates=self.coordinates,
            about_zero=self.kernel.about_zero,
        )

    def compressed(self, filling: Filling | None = None) -> Process | None:
        """On as many features as it takes to hold the variance that the physics left; None where that is too many.

        ``filling`` are points of the space, where that is not the box.
        """
        dim, fields = len(self.kernel.scale), range(len(self.kernel.amplitudes))
        even, spread = Filling(_even(dim), _spread(dim)) if filling is None else filling
        probes = [Functionals.at(even, field) for field in fields]
        at_probes = [self._seen(probe) for probe in probes]
        priors = [self.kernel.covariance(p, p) - a.T @ a for p, a in zip(probes, at_probes, strict=True)]
        known = [np.zeros((len(self.rows), 0)) for _ in fields]
        for size in _SIZES:
            if len(fields) * size > len(self.rows):
                break  # nothing would be gained
            points = spread[:size]
            more = points[known[0].shape[1] :]
            known = [np.hstack([known[f], self._seen(Functionals.at(more, f))]) for f in fields]
            inducing, seen = concatenate([Functionals.at(points, f) for f in fields]), np.hstack(known)
            covariance = self.kernel.covariance(inducing, inducing) - seen.T @ seen
            told = [
                self.kernel.covariance(inducing, p) - seen.T @ a
                for p, a in zip(probes, at_probes, strict=True)
            ]
            if all(_is_held(covariance, *pair) for pair in zip(told, priors, strict=True)):
                return self._interpolated(inducing, seen, covariance)
        return None

    def _seen(self, functionals: Functionals) -> Float[ndarray, "m n"]:
        """v of functionals."""
        return self.whitened(self.kernel.covariance(self.rows, functionals))

    def _interpolated(
        self, inducing: Functionals, seen: Float[ndarray, "m i"], covariance: Float[ndarray, "i i"]
    ) -> Process:
        """psi(s) = e^-1/2 V^T C(M, s), C(M, s) = k(M, s) - v(M) . v(s), as one map of k(M, s) and L k(., s).

        M are the values of every field at inducing points.
        """
        eigenvalues, vectors = np.linalg.eigh(0.5 * (covariance + covariance.T))
        counts = eigenvalues > _PRECISION * eigenvalues[-1]
        psi = vectors[:, counts] / np.sqrt(eigenvalues[counts])
        means = self.back(self.whitened(self.rows.targets()))
        r, i = psi.shape[1], len(inducing)
        maps = np.block([[psi, np.zeros((i, 2))], [-self.back(seen @ psi), means]])
        functionals = concatenate([inducing, self.rows])
        sign = np.append(np.ones(r), [0.0, 0.0])
        of_mean = np.concatenate([np.zeros((r, 2)), np.eye(2)])
        features = KernelFeatures(self.kernel, functionals, maps)
        return Process(
            len(self.kernel.scale),
            features,
            sign,
            of_mean,
            coordinates=self.coordinates,
            about_zero=self.kernel.about_zero,
        )

    def between(self, held_out: Functionals) -> tuple[float, float]:
        """How well the rows bind the equation between them, at functionals that were held out.

        The share of the prior variance that the equation keeps there, 0 where they bind it; and the error of the source
        predicted there relative to its size, 0 where it vanishes.
        """
        alone = np.diag(self.kernel.covariance(held_out, held_out))
        told = self.whitened(self.kernel.covariance(self.rows, held_out))
        counts = alone > 0
        free = 1.0 - np.sum(told**2, axis=0)[counts] / alone[counts]
        size = float(np.sqrt(np.mean(held_out.values**2)))
        gap = told.T @ self.whitened(self.rows.values) - held_out.values
        error = float(np.sqrt(np.mean(gap**2))) / size if size else 0.0
        return float(np.mean(free)) if len(free) else 0.0, error

    def largest_term(self, held_out: Functionals) -> float:
        """Standard deviation of the equations' largest term given the rows, as a share of what the rows could be.

        A term is one derivative with its coefficient, root mean square over functionals that were held out. Given a
        homogeneous equation h varies less than before, and a misfit that is a share of the equation's terms is smaller
        than the same share of what the equation's value could have been.
        """
        alone = self.kernel.covariance(held_out, held_out)
        size = np.mean(np.diag(alone))
        largest = 0.0
        for column in range(held_out.coefficients.shape[1]):
            only = np.zeros_like(held_out.coefficients)
            only[:, column] = held_out.coefficients[:, column]
            if not only.any():
                continue
            term = replace(held_out, coefficients=only)
            told = self.whitened(self.kernel.covariance(self.rows, term))
            left = np.diag(self.kernel.covariance(term, term)) - np.sum(told**2, axis=0)
            largest = max(largest, float(np.mean(np.maximum(left, 0.0))))
        return float(np.sqrt(largest / size)) if size > 0 else 1.0


def given(
    kernel: RBF,
    rows: Functionals,
    scale: float,
    row_noise: float,
    gram: Float[ndarray, "m m"] | None = None,
    misfit: float = 0.0,
    coordinates: Coordinates = BOX,
) -> Given | None:
    """Condition a kernel on the physics; ``row_noise`` is tau, relative to the rows' prior sizes.

    None if the rows say nothing about h. ``gram``, the rows' covariance, may be given if it is known; it is
    overwritten. With a ``misfit`` eps the equation is taken to be N[f] = g + e with a smooth unknown e, whose standard
    deviation is a share eps of what N[f] is expected to be: eps^2 r_i r_j exp(-|z_i - z_j|^2 / 2), distances in length
    scales, is added to G.
    """
    gram = kernel.covariance(rows, rows) if gram is None else gram
    size = np.sqrt(np.maximum(np.diag(gram), 0.0))
    if not size.any():
        return None
    # a row on which the operator is degenerate is not blown up
    size = np.maximum(size, 1e-6 * size.max())
    if misfit > 0:
        gram += misfit**2 * np.outer(size, size) * kernel.alike(rows.points, rows.points)
    unit = size * np.sqrt(row_noise**2 + (rows.noise / (scale * size)) ** 2)
    gram /= np.outer(unit, unit)
    gram[np.diag_indices_from(gram)] += 1.0
    factor = cholesky(gram, lower=True, overwrite_a=True, check_finite=False)
    return Given(kernel, rows, factor, unit, coordinates)


def _is_held(
    covariance: Float[ndarray, "i i"], across: Float[ndarray, "i p"], prior: Float[ndarray, "p p"]
) -> bool:
    """Whether interpolation holds the variances of probes, C(s, M) C(M, M)^-1 C(M, s), by a pivoted Cholesky factor."""
    factor, order, rank, _ = dpstrf(covariance, tol=_PRECISION * np.trace(covariance), lower=1)
    first = across[order[:rank] - 1]
    half = solve_triangular(factor[:rank, :rank], first, lower=True, check_finite=False)
    lost = np.diag(prior) - np.sum(half**2, axis=0)
    variation = (np.trace(prior) - prior.sum() / len(prior)) / (len(prior) - 1)
    return bool(np.max(lost) < _LOST * variation)


@cache
def _even(dim: int) -> Float[ndarray, "n d"]:
    """Points that fill the box."""
    return 2.0 * sobol(dim, N_EVEN, 1) - 1.0


@cache
def _spread(dim: int) -> Float[ndarray, "n d"]:
    """Points that fill the box and its faces: a low-discrepancy sequence drawn towards the ends of the axes."""
    return np.asarray(np.cos(np.pi * sobol(dim, _SIZES[-1], 2)))
