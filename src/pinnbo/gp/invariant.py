"""Fields that do not change along given curves: first-order equations a(s) . grad f = 0, symmetries among them.

f is constant on every characteristic (`pinnbo.physics.curves`): one measurement fixes a whole curve. Between rows at
scattered points a kernel is free to break the equation at length scales below their spacing; here it holds at every
length scale. With phi the Hilbert-space basis of the box, products of sines whose prior variances S are the spectral
density of an RBF kernel, and the mean over the part of the curve that lies in the box,

    A(s) = mean over the curve through s of phi,      B(s) = S^1/2 A(s),      psi(s) . psi(t) = covariance.

For a group of symmetries that the kernel shares, as rotations, psi = B is the kernel *given* the equation: conditioning
projects on invariant functions, and the projection is that mean. Its variance is large on short curves (the centre of
rotations) and small on long ones. A curve is not short because the box ends: one of length T, of which t lies in the
box, has the variance of a mean over all of it,

    psi = B (v(T / l) / v(t / l))^1/2,      v(x) = (sqrt(2 pi) x erf(x / sqrt 2) - 2 (1 - exp(-x^2 / 2))) / x^2,

v being that of a mean over a straight line. With psi = B / |B| all curves vary alike. The data choose between the two
and the length scale; neither changes A, which is computed once per point.

References
----------
Ginsbourger, Roustant, Durrande, "On degeneracy and invariances of random fields paths with applications in Gaussian
process modelling", J. Stat. Plan. Inference 170 (2016).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from numpy import ndarray
from scipy.special import erf

from pinnbo.gp.kernels import CONSTANT
from pinnbo.gp.process import FeatureMap, Process
from pinnbo.gp.sines import frequencies, waves
from pinnbo.physics.curves import Characteristics

_SINES = {2: 56, 3: 12}  # per axis, by dimension
_STEP = 2.7  # radians of the highest frequency
_DIFFERENCE = 1e-6
_BATCH = 32
_REMEMBERED = 6
_SHORT = 1e-3  # times the length scale: as good as a point


class Means(NamedTuple):
    """A at points, and the lengths of the curves through them."""

    basis: Float[ndarray, "n q"]
    inside: Float[ndarray, " n"]
    whole: Float[ndarray, " n"]


class MeansOnCurves:
    """A: the means of the basis over the characteristics in the box, followed beyond it or not."""

    def __init__(self, characteristics: Characteristics, beyond: bool = False) -> None:
        self.characteristics, self.beyond = characteristics, beyond
        self.frequencies = frequencies(_SINES[characteristics.space.dim])
        self._latest: list[tuple[ndarray, Means]] = []

    @cached_property
    def continued(self) -> MeansOnCurves | None:
        """The same followed beyond the box; None if no curve comes back."""
        other, probes = MeansOnCurves(self.characteristics, beyond=True), self.characteristics.probes
        return None if np.allclose(self.at(probes).basis, other.at(probes).basis, atol=1e-6) else other

    def at(self, points: Float[ndarray, "n d"]) -> Means:
        """A at points; some of it is kept, since several models ask for the same: the latest, and what is dear."""
        for others, found in self._latest:
            if np.array_equal(others, points):
                return found
        found = self._all(points)
        if len(self._latest) == _REMEMBERED:
            self._latest.pop(int(np.argmin([len(others) for others, _ in self._latest])))
        self._latest.append((points.copy(), found))
        return found

    def _all(self, points: Float[ndarray, "n d"]) -> Means:
        parts = [self._some(points[i : i + _BATCH]) for i in range(0, len(points), _BATCH)]
        none = Means(np.zeros((0, len(self.frequencies) ** points.shape[1])), np.zeros(0), np.zeros(0))
        return Means(*(np.concatenate(part) for part in zip(none, *parts, strict=True)))

    def _some(self, points: Float[ndarray, "n d"]) -> Means:
        step = _STEP / self.frequencies[-1]
        places, weights, inside, whole = self.characteristics.curves(points, step, self.beyond)
        q = len(self.frequencies)
        first, *others = (waves(places[..., axis], q) for axis in range(points.shape[1]))
        table = others[0]
        for other in others[1:]:
            table = (table[:, None] * other).reshape(-1, *table.shape[1:])
        first *= weights
        means = np.matmul(first.transpose(1, 0, 2), table.transpose(1, 2, 0)).reshape(len(points), -1)
        return Means(means, inside, whole)


@dataclass(frozen=True, eq=False)
class ConstantOnCurves(FeatureMap):
    """psi at one length scale, and a constant."""

    quick_slopes = False

    means: MeansOnCurves
    length: float  # l
    alike: bool  # whether all curves vary alike

    def process(self) -> Process:
        """The process itself; a constant obeys the equation, so that its mean is zero."""
        r = len(self.root) + 1
        dim = self.means.characteristics.space.dim
        return Process(dim, self, np.ones(r), np.zeros((r, 2)))

    @cached_property
    def axis(self) -> Float[ndarray, " k"]:
        """S^1/2 of an axis, of the sines whose variance is more than the rounding of the largest."""
        radians = self.length * self.means.frequencies
        density = np.sqrt(2 * np.pi) * self.length * np.exp(-0.5 * radians**2)
        return np.sqrt(density[density > np.finfo(float).eps * density[0]])

    @cached_property
    def root(self) -> Float[ndarray, " q"]:
        """S^1/2 of their products."""
        root = np.ones(1)
        for _ in range(self.means.characteristics.space.dim):
            root = np.outer(root, self.axis).ravel()
        return root

    def __call__(
        self, points: Float[ndarray, "b d"], slopes: bool
    ) -> tuple[Float[ndarray, "b r"], Float[ndarray, "b d r"] | None]:
        """psi(s), and its slopes by differences."""
        if slopes:
            return self._values(points), self._differences(points)
        return self._values(points), None

    def _values(self, points: Float[ndarray, "b d"]) -> Float[ndarray, "b r"]:
        means = self.means.at(points)
        values = np.full((len(points), len(self.root) + 1), CONSTANT)
        weighted = values[:, :-1]
        d, k = points.shape[1], len(self.axis)
        every = means.basis.reshape(len(points), *d * (len(self.means.frequencies),))
        np.multiply(every[:, *d * (slice(k),)].reshape(weighted.shape), self.root, out=weighted)
        if self.alike:
            factor = 1.0 / np.sqrt(np.einsum("bq,bq->b", weighted, weighted))
        else:
            whole, inside = (_log_variance(lengths / self.length) for lengths in (means.whole, means.inside))
            factor = np.exp(0.5 * (whole - inside))
        weighted *= factor[:, None]
        return values

    def _differences(self, points: Float[ndarray, "b d"]) -> Float[ndarray, "b d r"]:
        steps = _DIFFERENCE * np.eye(points.shape[1])
        ends = [
            self._values((points[:, None] + sign * steps).reshape(-1, len(steps))) for sign in (1.0, -1.0)
        ]
        slopes = ((ends[0] - ends[1]) / (2.0 * _DIFFERENCE)).reshape(*points.shape, -1)
        # a mean over steps that begin elsewhere on the curve differs a little: nothing changes along it
        velocity = self.means.characteristics.velocity(points)
        speed = np.linalg.norm(velocity, axis=1, keepdims=True)
        along = velocity / np.where(speed > 0, speed, 1.0)
        return slopes - along[:, :, None] * np.einsum("bd,bdr->br", along, slopes)[:, None]


def _log_variance(x: Float[ndarray, " n"]) -> Float[ndarray, " n"]:
    """log v."""
    x = np.maximum(x, _SHORT)
    area = np.sqrt(2.0 * np.pi) * erf(x / np.sqrt(2.0))
    return np.asarray(np.log((x * area + 2.0 * np.expm1(-0.5 * x**2)) / x**2))
