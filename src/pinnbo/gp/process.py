"""A Gaussian process of h on the box, f = shift + scale * h: a prior, or a prior given the physics.

It has a kernel, features, or both:

    cov(h(s), h(t)) = weight k(s, t) + sum_i sign_i phi_i(s) phi_i(t),
    E h(s) = phi(s) . means (1 / scale, -shift / scale).

=========================================  ======  =====================  =============================================
process                                    kernel  sign                   phi
=========================================  ======  =====================  =============================================
without physics                            k       none                   none
kernel given rows (`gp.conditioning`)      k       -1                     whitened covariances with the rows
the same on features                       none    +1                     a few combinations of those
sums of functions of one coordinate        none    +1                     what the rows left of each axis
sums and an interaction term               k       +1                     the same
constant on curves                         none    +1                     basis functions averaged over curves
exact waves (`gp.waves`)                   none    +1                     exponentials that solve the equation
linearised network (Lemma 1)               none    +1, -1 of its rows     gradients in the weights, and their rows
=========================================  ======  =====================  =============================================

Columns of phi whose sign is 0 enter the mean only. Everything is NumPy on batches of points with slopes in closed form:
nothing has to be compiled when data grow, and the work is matrix products.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from pinnbo.data import Data, Standard
from pinnbo.gp.kernels import Kernel
from pinnbo.physics.coordinates import BOX, Coordinates
from pinnbo.physics.functionals import Functionals, concatenate
from pinnbo.physics.images import Images
from pinnbo.sobol import sobol

_N_BOX = 64
_PRECISION = 1e-10


class FeatureMap(ABC):
    """phi, a function of points in the coordinates of a process."""

    quick_slopes: bool = True
    """Whether slopes cost about as much as values."""

    has_minima: bool = False
    """Whether `minima` can tell where a combination of features is least."""

    @abstractmethod
    def __call__(
        self, points: Float[ndarray, "b d"], slopes: bool
    ) -> tuple[Float[ndarray, "b r"], Float[ndarray, "b d r"] | None]:
        """phi at points, and its slopes if asked for."""

    def knows(self, functionals: Functionals) -> bool:
        """Whether `of` has them."""
        return False

    def of(self, functionals: Functionals) -> Float[ndarray, "n r"]:
        """phi of functionals in the coordinates of the process, where they are known."""
        raise NotImplementedError(f"{type(self).__name__} has no features of functionals")

    def minima(self, weights: Float[ndarray, "k r"]) -> Float[ndarray, "k d"]:
        """Where phi . weights is least, if that can be found axis by axis."""
        raise NotImplementedError(f"{type(self).__name__} cannot tell where its features are least")


class NoFeatures(FeatureMap):
    """None."""

    def __call__(
        self, points: Float[ndarray, "b d"], slopes: bool
    ) -> tuple[Float[ndarray, "b r"], Float[ndarray, "b d r"] | None]:
        """Nothing."""
        return np.zeros((len(points), 0)), np.zeros((*points.shape, 0)) if slopes else None

    def knows(self, functionals: Functionals) -> bool:
        """Always."""
        return True

    def of(self, functionals: Functionals) -> Float[ndarray, "n r"]:
        """Nothing."""
        return np.zeros((len(functionals), 0))


@dataclass(frozen=True, eq=False)
class Reflected(FeatureMap):
    """P phi, in the coordinates of the box."""

    features: FeatureMap
    images: Images

    def __call__(
        self, points: Float[ndarray, "b d"], slopes: bool
    ) -> tuple[Float[ndarray, "b r"], Float[ndarray, "b d r"] | None]:
        """The average over the places that points are reflected to."""
        images = self.images
        found = [self.features(places, slopes) for places in images.places(points)]
        weights = images.weight_of(0)
        values = sum(w * own for w, (own, _) in zip(weights, found, strict=True))
        if not slopes:
            return np.asarray(values), None
        turned = zip(weights, images.flips, found, strict=True)
        return np.asarray(values), np.asarray(
            sum(w * flip[:, None] * along for w, flip, (_, along) in turned if along is not None)
        )

    def knows(self, functionals: Functionals) -> bool:
        """As of the features."""
        return self.features.knows(functionals)

    def of(self, functionals: Functionals) -> Float[ndarray, "n r"]:
        """L P phi."""
        return self.features.of(self.images.applied(functionals))


class Located(NamedTuple):
    """What is expensive about points: mean, variance and covariances follow from it. Slopes only where asked for."""

    scaled: Float[ndarray, "b d"]
    points: Float[ndarray, "b d"]  # in the coordinates of the process
    features: Float[ndarray, "b r"]
    slopes: Float[ndarray, "b d r"] | None  # in the scaled coordinates
    functionals: Functionals | None = None  # of readings that are not all values of h at the points

    @property
    def rows(self) -> Float[ndarray, "k r"]:
        """The features of each point, followed by their slopes if there are any."""
        if self.slopes is None:
            return self.features
        return _stacked(self.features, self.slopes)

    def joined(self, more: Located) -> Located:
        """With further points, without slopes."""
        scaled, points, features = (np.concatenate(pair) for pair in zip(self[:3], more[:3], strict=True))
        functionals = None
        if self.functionals is not None or more.functionals is not None:
            functionals = concatenate([self.as_functionals, more.as_functionals])
        return Located(scaled, points, features, None, functionals)

    @property
    def as_functionals(self) -> Functionals:
        """The readings, or the values at the points."""
        return Functionals.at(self.points) if self.functionals is None else self.functionals

    @property
    def constant(self) -> Float[ndarray, " b"]:
        """What they are for h = 1."""
        return np.ones(len(self.points)) if self.functionals is None else self.functionals.constant


@dataclass(frozen=True, eq=False)
class Process:
    """See the top of the file."""

    dim: int
    features: FeatureMap = field(default_factory=NoFeatures)
    sign: Float[ndarray, " r"] = field(default_factory=lambda: np.zeros(0))
    means: Float[ndarray, "r 2"] = field(default_factory=lambda: np.zeros((0, 2)))
    kernel: Kernel | None = None
    weight: float = 1.0
    coordinates: Coordinates = BOX
    has_physics: bool = True  # whether any equation acts on it
    spare: Kernel | None = (
        None  # whose variance predictions have besides: features stand in for it, but do not hold it
    )
    about_zero: bool = False  # whether f is scale * h alone: a constant is none of the functions
    holds: Float[ndarray, " r"] | None = None  # sign of features in variances, if not the same
    filling: Float[ndarray, "p d"] | None = (
        None  # scaled points that fill the space, where that is not the box
    )
    mean_counts: bool = False  # whether the mean given the physics is part of what the measurements vary by
    _known: list[Located] = field(default_factory=list, init=False, repr=False)

    @property
    def rank(self) -> int | None:
        """Number of features, where they are all of the covariance and come first; None otherwise."""
        return None if self.kernel is not None or np.any(self.sign < 0) else self.n_features

    @property
    def n_features(self) -> int:
        """Features that add to the covariance; they come first."""
        return int(np.sum(self.sign > 0))

    def minima(
        self, weights: Float[ndarray, "k r"], standard: Standard, sign: float
    ) -> Float[ndarray, "l d"]:
        """Scaled points where sign * (mean + features . weights) is least; only where the features can tell."""
        every = np.tile(self.mean_weights(standard), (len(weights), 1))
        every[:, : weights.shape[1]] += weights
        return self.coordinates.back(self.features.minima(sign * every))

    def locate(self, scaled: Float[ndarray, "b d"], slopes: bool = False) -> Located:
        """What follows from points; remembered for one array that is asked for again and again (the candidates)."""
        if self._known and self._known[0].scaled is scaled and not slopes:
            return self._known[0]
        points = self.coordinates.of(scaled)
        values, along = self.features(points, slopes)
        if along is not None:
            along = self.coordinates.pulled(along, scaled)
        return Located(scaled, points, values, along)

    def remember(self, scaled: Float[ndarray, "b d"]) -> None:
        """Keep what follows from points: they will be asked for again, as the same array."""
        if not (self._known and self._known[0].scaled is scaled):
            self._known[:] = [self.locate(scaled)]
        if self.kernel is not None:
            self.kernel.remember(self._known[0].points)

    def mean(self, at: Located, standard: Standard) -> Float[ndarray, " b"]:
        """Of h at points."""
        return at.features @ self.mean_weights(standard)

    def mean_weights(self, standard: Standard) -> Float[ndarray, " r"]:
        """u with mean of h = phi . u."""
        shift, scale = standard
        return self.means @ np.array([1.0 / scale, -shift / scale])

    def covariance(
        self, at: Located, others: Located
    ) -> tuple[Float[ndarray, "b n"], Float[ndarray, "b d n"] | None]:
        """Covariance of h at points with h at others, and its slopes in the points."""
        other = (others.features * self.sign).T
        values = at.features @ other
        slopes = None if at.slopes is None else at.slopes @ other
        if self.kernel is not None:
            own, along = self._by_kernel(self.kernel, at, others, slopes is not None)
            values = values + self.weight * own
            if slopes is not None and along is not None:
                slopes = slopes + self.weight * self.coordinates.pulled(along, at.scaled)
        return values, slopes

    @staticmethod
    def _by_kernel(
        kernel: Kernel, at: Located, others: Located, slopes: bool
    ) -> tuple[Float[ndarray, "b n"], Float[ndarray, "b d n"] | None]:
        """The kernel's part; readings that are values at points, as nearly all are, have covariances of their own."""
        if at.functionals is not None:
            return kernel.covariance(at.functionals, others.as_functionals), None
        if others.functionals is not None:
            return kernel.jets(at.points, others.functionals, slopes)
        values = kernel.values(at.points, others.points)
        return values, kernel.slopes(at.points, others.points) if slopes else None

    def kernel_rows(self, at: Located, others: Located) -> Float[ndarray, "k n"]:
        """The kernel at each point and others, followed by its slopes if the point has any; only with a kernel."""
        assert self.kernel is not None
        values, along = self._by_kernel(self.kernel, at, others, at.slopes is not None)
        return values if along is None else _stacked(values, self.coordinates.pulled(along, at.scaled))

    def read(self, scaled: Float[ndarray, "b d"], functionals: Functionals) -> Located:
        """What follows from readings at points: functionals in the coordinates of the process."""
        features = self.features.of(functionals)
        return Located(scaled, self.coordinates.of(scaled), features, None, functionals)

    def knows(self, functionals: Functionals) -> bool:
        """Whether readings of functionals can be conditioned on."""
        return self.features.knows(functionals) and (self.kernel is None or self.kernel.knows(functionals))

    def variance(self, at: Located) -> tuple[Float[ndarray, " b"], Float[ndarray, "b d"] | None]:
        """Variance of h at points, and its slopes."""
        signed = at.features * (self.sign if self.holds is None else self.holds)
        values = np.einsum("br,br->b", signed, at.features)
        slopes = None if at.slopes is None else 2.0 * np.einsum("br,bdr->bd", signed, at.slopes)
        for kernel in (self.kernel, self.spare):
            if kernel is None:
                continue
            own, along = kernel.variances(at.points, slopes is not None)
            values = values + self.weight * own
            if slopes is not None and along is not None and kernel.images is not None:
                slopes = slopes + self.weight * self.coordinates.pulled(along[:, :, None], at.scaled)[:, :, 0]
        return values, slopes

    def standard_of(self, data: Data) -> Standard:
        """Shift and scale of f = shift + scale * h; no shift, and the root mean square, about zero."""
        return data.standard.about_zero if self.about_zero else data.standard

    def symmetric(self, images: Images) -> Process:
        """The process of P f, of functions that know nothing of each other under reflections or obey them already."""
        return replace(
            self,
            features=Reflected(self.features, images),
            kernel=None if self.kernel is None else replace(self.kernel, images=images),
            about_zero=images.of_one != 1.0,
        )

    def covariance_matrix(self, scaled: Float[ndarray, "n d"]) -> Float[ndarray, "n n"]:
        """Covariance of h at points."""
        at = self.locate(scaled)
        matrix = self.covariance(at, at)[0]
        return np.asarray(0.5 * (matrix + matrix.T))

    @cached_property
    def variation(self) -> float:
        """Expected sample variance of h over the box; not below what rounding leaves where only a constant is open."""
        covariance = self.covariance_matrix(self._filling)
        n = len(covariance)
        centred = (np.trace(covariance) - covariance.sum() / n) / (n - 1)
        return float(max(centred, 1e-4 * np.trace(covariance) / n))

    @property
    def _filling(self) -> Float[ndarray, "p d"]:
        return _even(self.dim) if self.filling is None else self.filling

    def expected_variation(self, standard: Standard) -> float:
        """What the sample variance of h over the box is expected to be at amplitude one."""
        if not self.mean_counts:
            return self.variation
        at = self.locate(self._filling)
        return self.variation + float(np.var(self.mean(at, standard)))

    def on_features(self, inducing: Float[ndarray, "i d"]) -> Process:
        """The process on features alone, where it is not: interpolated between inducing points (Nystrom).

            psi(s) = e^-1/2 V^T C(M, s),   C(M, M) = V diag(e) V^T,   psi(s) . psi(t) = C(s, M) C(M, M)^-1 C(M, t).

        What the features do not hold of a kernel's variance is added to predictions, as noise of its own at every
        point.
        """
        if self.rank is not None and self.rank <= len(inducing):
            return self
        at = self.locate(inducing)
        covariance = self.covariance(at, at)[0]
        eigenvalues, vectors = np.linalg.eigh(0.5 * (covariance + covariance.T))
        counts = eigenvalues > _PRECISION * eigenvalues[-1]
        maps = vectors[:, counts] / np.sqrt(eigenvalues[counts])
        psi = Process(
            self.dim,
            _Interpolated(self, at, maps, False),
            np.ones(maps.shape[1]),
            has_physics=self.has_physics,
            about_zero=self.about_zero,
        )
        if self.kernel is None and not self.means.any():
            return replace(psi, means=np.zeros((maps.shape[1], 2)))
        own = len(self.sign)
        return replace(
            psi,
            features=_Interpolated(self, at, maps, True),
            sign=np.append(psi.sign, np.zeros(own)),
            means=np.concatenate([np.zeros((maps.shape[1], 2)), self.means]),
            weight=self.weight,
            spare=self.kernel,
            holds=np.append(np.zeros(maps.shape[1]), self.sign if self.holds is None else self.holds),
        )


def _stacked(values: Float[ndarray, "b r"], slopes: Float[ndarray, "b d r"]) -> Float[ndarray, "k r"]:
    """Those of one point after the other, its value before its slopes."""
    b, d, r = slopes.shape
    return np.concatenate([values[:, None], slopes], axis=1).reshape(b * (1 + d), r)


@cache
def _even(dim: int) -> Float[ndarray, "n d"]:
    """Points that fill the box."""
    return 2.0 * sobol(dim, _N_BOX, 0) - 1.0


@dataclass(frozen=True, eq=False)
class _Interpolated(FeatureMap):
    """psi of a process, and then its own features, if its mean or its variance is made of them."""

    process: Process
    inducing: Located
    maps: Float[ndarray, "i r"]
    with_own: bool

    def __call__(
        self, points: Float[ndarray, "b d"], slopes: bool
    ) -> tuple[Float[ndarray, "b r"], Float[ndarray, "b d r"] | None]:
        """C(s, M) combined."""
        at = self.process.locate(points, slopes)
        values, along = self.process.covariance(at, self.inducing)
        found = values @ self.maps
        moved = None if along is None else along @ self.maps
        if not self.with_own:
            return found, moved
        found = np.concatenate([found, at.features], axis=1)
        if moved is None or at.slopes is None:
            return found, None
        return found, np.concatenate([moved, at.slopes], axis=2)

    def knows(self, functionals: Functionals) -> bool:
        """As the process does, in the coordinates of the box."""
        return self.process.coordinates is BOX and self.process.knows(functionals)

    def of(self, functionals: Functionals) -> Float[ndarray, "n r"]:
        """cov(L[h], h(M)) combined."""
        process = self.process
        if not self.knows(functionals):
            raise NotImplementedError("functionals of this process are not known")
        at = process.read(np.zeros((len(functionals), process.dim)), functionals)
        found = process.covariance(at, self.inducing)[0] @ self.maps
        return np.concatenate([found, at.features], axis=1) if self.with_own else np.asarray(found)
