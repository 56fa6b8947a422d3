"""Fields that do not change along given curves: first-order equations a(s) . grad f = 0, symmetries among them.

f is constant on every characteristic (`pinnbo.inference.curves`): one measurement fixes a whole curve. Between rows at
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

There are fewer curves than points. For many observations psi is turned into the few hundred directions that count:
those of its values at 512 points.

References
----------
Ginsbourger, Roustant, Durrande, "On degeneracy and invariances of random fields paths with applications in Gaussian
process modelling", J. Stat. Plan. Inference 170 (2016).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from numpy import ndarray
from scipy.special import erf

from pinnbo.inference.curves import Characteristics
from pinnbo.inference.prior import Codes, Features, Informed
from pinnbo.inference.sines import Sines, frequencies
from pinnbo.models.kernels import CONSTANT

_SINES = {2: 56, 3: 12}  # per axis, by dimension
_STEP = 2.7  # radians of the highest frequency
_DIFFERENCE = 1e-6
_BATCH = 64
_REMEMBERED = 4
_SAMPLE = 512
_NEGLIGIBLE = 1e-10
_SHORT = 1e-3  # times the length scale: as good as a point


class Means(NamedTuple):
    """A at points, and the lengths of the curves through them; or the slopes of both."""

    basis: Float[ndarray, "n ... q"]
    inside: Float[ndarray, "n ..."]
    whole: Float[ndarray, "n ..."]


class MeansOnCurves:
    """A: the means of the basis over the characteristics in the box, followed beyond it or not."""

    def __init__(self, characteristics: Characteristics, beyond: bool = False) -> None:
        self.characteristics, self.beyond = characteristics, beyond
        n = _SINES[characteristics.space.dim]
        self._basis = Sines(np.ones(n + 2))
        self.frequencies = frequencies(n)
        self._latest: dict[str, list[tuple[ndarray, Means]]] = {"values": [], "slopes": []}

    @cached_property
    def continued(self) -> MeansOnCurves | None:
        """The same followed beyond the box; None if no curve comes back."""
        other, probes = MeansOnCurves(self.characteristics, beyond=True), self.characteristics.probes
        return None if np.allclose(self.at(probes).basis, other.at(probes).basis, atol=1e-6) else other

    def at(self, points: Float[ndarray, "n d"]) -> Means:
        """A at points."""
        return self._remembered("values", points, self._all)

    def slopes(self, points: Float[ndarray, "n d"]) -> Means:
        """Zero along the curves, finite differences across them."""
        return self._remembered("slopes", points, self._differences)

    def _remembered(
        self, what: str, points: Float[ndarray, "n d"], compute: Callable[[ndarray], Means]
    ) -> Means:
        """What is known of the latest points, since several settings ask for the same."""
        known = self._latest[what]
        for place, (others, found) in enumerate(known):
            if np.array_equal(others, points):
                known.insert(0, known.pop(place))
                return found
        found = compute(points)
        self._latest[what] = [(points.copy(), found), *known[: _REMEMBERED - 1]]
        return found

    def _differences(self, points: Float[ndarray, "n d"]) -> Means:
        middle = self.at(points)
        found = Means(*(np.zeros((*points.shape, *part.shape[1:])) for part in middle))
        for normal in _across(self.characteristics.velocity(points)):
            beside = self._all(points + _DIFFERENCE * normal)
            for total, here, there in zip(found, middle, beside, strict=True):
                change = (there - here) / _DIFFERENCE
                total += np.einsum("nd,n...->nd...", normal, change)
        return found

    def _all(self, points: Float[ndarray, "n d"]) -> Means:
        parts = [self._some(points[i : i + _BATCH]) for i in range(0, len(points), _BATCH)]
        none = Means(np.zeros((0, len(self.frequencies) ** points.shape[1])), np.zeros(0), np.zeros(0))
        return Means(*(np.concatenate(part) for part in zip(none, *parts, strict=True)))

    @property
    def sample(self) -> Float[ndarray, "n d"]:
        """Points all over the box, its faces included."""
        space = self.characteristics.space
        return np.sin(0.5 * np.pi * space.scale(space.sobol(_SAMPLE, 23)))

    def _some(self, points: Float[ndarray, "n d"]) -> Means:
        step = _STEP / self.frequencies[-1]
        places, weights, inside, whole = self.characteristics.curves(points, step, self.beyond)
        first, *others = (
            self._basis.derivative(places[..., axis], 0)[..., 2:] for axis in range(points.shape[1])
        )
        table = others[0]
        for other in others[1:]:
            table = (table[..., None] * other[..., None, :]).reshape(*table.shape[:2], -1)
        means = np.matmul((first * weights[..., None]).transpose(0, 2, 1), table).reshape(len(points), -1)
        return Means(means, inside, whole)


@dataclass(frozen=True, eq=False)
class ConstantOnCurves(Informed):
    """The prior of h at one length scale; the code of a point is psi(s)."""

    means: MeansOnCurves
    length: float  # l
    alike: bool  # whether all curves vary alike

    @property
    def dim(self) -> int:
        """Number of coordinates."""
        return self.means.characteristics.space.dim

    @cached_property
    def root(self) -> Float[ndarray, " q"]:
        """S^1/2."""
        radians = self.length * self.means.frequencies
        density = np.sqrt(2 * np.pi) * self.length * np.exp(-0.5 * radians**2)
        root = np.ones(1)
        for _ in range(self.dim):
            root = np.outer(root, np.sqrt(density)).ravel()
        return root

    def codes(self, points: Float[ndarray, "b d"], slopes: bool = False) -> Codes:
        """psi(s), and its slopes, zero along the curve."""
        means = self.means.at(points)
        weighted = means.basis * self.root
        (inside, inside_slope), (whole, whole_slope) = (
            _log_variance(lengths / self.length) for lengths in (means.inside, means.whole)
        )
        square = np.sum(weighted**2, axis=1)
        factor = (1.0 / np.sqrt(square) if self.alike else np.exp(0.5 * (whole - inside)))[:, None]
        if not slopes:
            return Codes(points, factor * weighted, None)
        change = self.means.slopes(points)
        turning = change.basis * self.root
        if self.alike:
            growth = -np.einsum("bq,bdq->bd", weighted, turning) / square[:, None]
        else:
            growth = whole_slope[:, None] * change.whole - inside_slope[:, None] * change.inside
            growth *= 0.5 / self.length
        along = factor[..., None] * (turning + growth[..., None] * weighted[:, None])
        return Codes(points, factor * weighted, along)

    def mean_weights(self, shift: float, scale: float) -> Float[ndarray, " m"]:
        """Zero: a constant obeys the equation."""
        return np.zeros(len(self.root))

    def covariance(
        self, at: Codes, anchors: Codes
    ) -> tuple[Float[ndarray, "b n"], Float[ndarray, "b d n"] | None]:
        """A constant, and psi(s) . psi(t)."""
        other = anchors.values.T
        return CONSTANT**2 + at.values @ other, None if at.slopes is None else at.slopes @ other

    def variance(self, at: Codes) -> tuple[Float[ndarray, " b"], Float[ndarray, "b d"] | None]:
        """A constant, and |psi(s)|^2."""
        slopes = None if at.slopes is None else 2.0 * np.einsum("bq,bdq->bd", at.values, at.slopes)
        return CONSTANT**2 + np.sum(at.values**2, axis=1), slopes

    @cached_property
    def on_features(self) -> FewOnCurves:
        """The same in the directions that count."""
        sample = self.codes(self.means.sample).values
        squares, vectors = np.linalg.eigh(sample @ sample.T)
        counts = squares > _NEGLIGIBLE * squares[-1]
        return FewOnCurves(self, sample.T @ (vectors[:, counts] / np.sqrt(squares[counts])))


@dataclass(frozen=True, eq=False)
class FewOnCurves(Features):
    """psi in orthonormal directions, and a constant."""

    whole: ConstantOnCurves
    directions: Float[ndarray, "q r"]

    @property
    def dim(self) -> int:
        """Number of coordinates."""
        return self.whole.dim

    @property
    def rank(self) -> int:
        """The directions, and a constant."""
        return self.directions.shape[1] + 1

    def codes(self, points: Float[ndarray, "b d"], slopes: bool = False) -> Codes:
        """psi, turned; a constant; no mean."""
        whole = self.whole.codes(points, slopes)
        told = whole.values @ self.directions
        rest = np.broadcast_to([CONSTANT, 0.0, 0.0], (len(points), 3))
        values = np.concatenate([told, rest], axis=1)
        if whole.slopes is None:
            return Codes(points, values, None)
        still = np.zeros((*points.shape, 3))
        return Codes(points, values, np.concatenate([whole.slopes @ self.directions, still], axis=2))


def _across(velocity: Float[ndarray, "n d"]) -> list[Float[ndarray, "n d"]]:
    """d - 1 directions at right angles to the velocity, and to each other."""
    n, d = velocity.shape
    frame = np.concatenate([velocity[:, :, None], np.broadcast_to(np.eye(d), (n, d, d))], axis=2)
    return list(np.linalg.qr(frame)[0][:, :, 1:].transpose(2, 0, 1))


def _log_variance(x: Float[ndarray, " n"]) -> tuple[Float[ndarray, " n"], Float[ndarray, " n"]]:
    """log v and its slope; 1 - x^2 / 12 where x is small."""
    x = np.maximum(x, _SHORT)
    area = np.sqrt(2.0 * np.pi) * erf(x / np.sqrt(2.0))
    v = (x * area + 2.0 * np.expm1(-0.5 * x**2)) / x**2
    return np.log(v), area / (v * x**2) - 2.0 / x
