"""Fields that do not change along given curves: first-order equations a(s) . grad f = 0, symmetries among them.

Through every point s runs one curve dy/dt = a(y), its characteristic, and f is constant on it: one measurement fixes a
whole curve. Between rows at scattered points a kernel is free to break the equation at length scales below their
spacing; here it holds at every length scale. With phi the Hilbert-space basis of the box, products of sines whose prior
variances S are the spectral density of an RBF kernel, and the mean over the part of the curve that lies in the box,

    A(s) = mean over the curve through s of phi,      B(s) = S^1/2 A(s),      psi(s) = B(s) / |B(s)|^p.

For a group of symmetries that the kernel shares, as rotations, psi . psi with p = 0 is the kernel *given* the equation:
conditioning projects on invariant functions, and the projection is that mean. Its variance is large on short curves
(the centre of rotations) and small on long ones; with p = 1 all curves vary alike. The data choose p and the length
scale; neither changes A, which is computed once per point.

There are fewer curves than points, and psi has a few hundred directions that count: those of its values at 512 points.

References
----------
Ginsbourger, Roustant, Durrande, "On degeneracy and invariances of random fields paths with applications in Gaussian
process modelling", J. Stat. Plan. Inference 170 (2016).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from numpy import ndarray

from pinnbo.data import Data
from pinnbo.inference.families import Family, Scales, equal_scales, log_normal
from pinnbo.inference.prior import Codes, Features
from pinnbo.inference.sines import Sines, frequencies
from pinnbo.models.kernels import CONSTANT
from pinnbo.operators import Point
from pinnbo.pde import PDE, in_chunks
from pinnbo.space import Space

_SINES = {2: 56, 3: 12}  # per axis, by dimension
_RESOLVED = 2.9  # highest frequency times length scale
_LONGEST = 0.8  # length scale: beyond, the basis is felt to vanish outside the box
_STEP = 2.7  # radians of the highest frequency
_REACH = 6.4  # of a curve in either direction; the box has side 2
_SLOW = 0.05  # of the largest velocity: below, steps are shorter
_EDGE = 1.0 + 2e-6  # a step of finite differences beyond the face counts as inside
_DIFFERENCE = 1e-6
_BATCH = 64
_REMEMBERED = 4
_PROBES = 64
_SAMPLE = 512
_NEGLIGIBLE = 1e-10


class Curves(NamedTuple):
    """Places on the characteristics through points, and their weights in the mean."""

    places: Float[ndarray, "n k d"]
    weights: Float[ndarray, "n k"]


class Characteristics:
    """The characteristics of a first-order equation in a box, and the means of the basis over them."""

    @classmethod
    def of(cls, space: Space, physics: Sequence[PDE]) -> Characteristics | None:
        """None unless the physics is one equation a . grad f = 0 in two or three coordinates."""
        if len(physics) != 1 or space.dim not in _SINES:
            return None
        (pde,) = physics
        if pde.points is not None or pde.noise > 0 or pde.n_equations(space) != 1 or pde.order(space) != 1:
            return None
        probes = space.sobol(_PROBES, 19)
        source, finite = pde.evaluate(space, probes, 1)
        of_one, of_zero = (
            np.asarray(jax.vmap(pde.apply(f))(jnp.asarray(probes)))
            for f in (lambda x: jnp.ones(()), lambda x: jnp.zeros(()))
        )
        unfit = np.any(source) or not finite.all() or np.any(of_one) or np.any(of_zero)
        return None if unfit or not pde.is_linear(space) else cls(space, pde)

    def __init__(self, space: Space, pde: PDE) -> None:
        self.space, self._pde = space, pde
        n = _SINES[space.dim]
        self._basis = Sines(np.ones(n + 2))
        self.frequencies = frequencies(n)
        self._step = _STEP / self.frequencies[-1]
        self._n_steps = int(np.ceil(_REACH / self._step))
        self._box = jnp.asarray(space.centre), jnp.asarray(space.half_width)
        speeds = np.linalg.norm(self.velocity(space.scale(space.sobol(_PROBES, 19))), axis=1)
        self._slow = _SLOW * float(np.max(speeds))
        self._latest: list[tuple[ndarray, ndarray]] = []

    def velocity(self, points: Float[ndarray, "n d"]) -> Float[ndarray, "n d"]:
        """a at scaled points, in scaled coordinates."""
        return in_chunks(partial(_velocities, self._pde, self._box), points)

    def curves(self, points: Float[ndarray, "n d"]) -> Curves:
        """The parts in the box of the characteristics through points."""
        sides = []
        closed = np.zeros(len(points), dtype=bool)
        for sign in (1.0, -1.0):
            path = self._paths(points, sign)
            places, shares, returned = _inside(path)
            shares[closed] = 0.0  # all of it has been seen
            closed |= returned
            weights = np.zeros(places.shape[:2])
            weights[:, :-1] += 0.5 * shares
            weights[:, 1:] += 0.5 * shares
            used = max(1, int(np.count_nonzero(weights.any(axis=0))))
            sides.append((places[:, :used], weights[:, :used]))
        places, weights = (np.concatenate(parts, axis=1) for parts in zip(*sides, strict=True))
        weights[weights.sum(axis=1) == 0.0, 0] = 1.0  # a curve that is a point
        return Curves(places, weights / weights.sum(axis=1, keepdims=True))

    def means(self, points: Float[ndarray, "n d"]) -> Float[ndarray, "n q"]:
        """A at points; remembered for the latest ones, since several settings ask for the same."""
        for known, found in self._latest:
            if np.array_equal(known, points):
                return found
        parts = [self._means(points[i : i + _BATCH]) for i in range(0, len(points), _BATCH)]
        found = np.concatenate([np.zeros((0, len(self.frequencies) ** self.space.dim)), *parts])
        self._latest = [(points.copy(), found), *self._latest[: _REMEMBERED - 1]]
        return found

    @cached_property
    def sample(self) -> Float[ndarray, "n q"]:
        """A all over the box, its faces included."""
        spread = np.sin(0.5 * np.pi * self.space.scale(self.space.sobol(_SAMPLE, 23)))
        return self.means(spread)

    def _means(self, points: Float[ndarray, "n d"]) -> Float[ndarray, "n q"]:
        places, weights = self.curves(points)
        first, *others = (
            self._basis.derivative(places[..., axis], 0)[..., 2:] for axis in range(self.space.dim)
        )
        table = others[0]
        for other in others[1:]:
            table = (table[..., None] * other[..., None, :]).reshape(*table.shape[:2], -1)
        return np.matmul((first * weights[..., None]).transpose(0, 2, 1), table).reshape(len(points), -1)

    def _paths(self, points: Float[ndarray, "n d"], sign: float) -> Float[ndarray, "n k d"]:
        """Steps along the characteristics, in batches of one shape."""
        padded = np.concatenate([points, np.repeat(points[-1:], -len(points) % _BATCH, axis=0)])
        found = [
            np.asarray(
                _trace(self._pde, self._n_steps, self._box, self._slow, sign * self._step, jnp.asarray(batch))
            )
            for batch in np.split(padded, len(padded) // _BATCH)
        ]
        return np.concatenate(found)[: len(points)]


def _velocity(pde: PDE, box: tuple[Array, Array], s: Float[Array, " d"]) -> Float[Array, " d"]:
    """The operator applied to the scaled coordinates."""
    centre, half = box

    def coordinate(axis: int, x: Point) -> Float[Array, ""]:
        return (x[axis] - centre[axis]) / half[axis]

    return jnp.concatenate([pde.apply(partial(coordinate, i))(centre + half * s) for i in range(len(half))])


@partial(jax.jit, static_argnums=0)
def _velocities(pde: PDE, box: tuple[Array, Array], points: Float[Array, "n d"]) -> Float[Array, "n d"]:
    return jax.vmap(partial(_velocity, pde, box))(points)


@partial(jax.jit, static_argnums=(0, 1))
def _trace(
    pde: PDE, n_steps: int, box: tuple[Array, Array], slow: float, step: float, points: Float[Array, "n d"]
) -> Float[Array, "n k d"]:
    """Runge-Kutta steps of one length in dy/dt = a / sqrt(|a|^2 + slow^2)."""

    def direction(s: Array) -> Array:
        a = _velocity(pde, box, s)
        return a / jnp.sqrt(jnp.sum(a**2) + slow**2)

    def advance(s: Array, _: None) -> tuple[Array, Array]:
        one = direction(s)
        two = direction(s + 0.5 * step * one)
        three = direction(s + 0.5 * step * two)
        four = direction(s + step * three)
        s = s + step * (one + 2 * two + 2 * three + four) / 6
        return s, s

    def path(s: Array) -> Array:
        return jnp.concatenate([s[None], jax.lax.scan(advance, s, None, length=n_steps)[1]])

    return jax.vmap(path)(points)


def _inside(
    path: Float[ndarray, "n k d"],
) -> tuple[Float[ndarray, "n k d"], Float[ndarray, "n k-1"], ndarray]:
    """Paths cut where they leave the box or return to their start, the shares of their steps that count, who returned.

    A step that crosses a face ends on it; one that passes the start ends there.
    """
    path = np.nan_to_num(path, nan=np.inf)
    with np.errstate(invalid="ignore", divide="ignore"):
        begin, move = path[:, :-1], np.diff(path, axis=1)
        room = np.where(move > 0, _EDGE - begin, np.where(move < 0, -_EDGE - begin, np.inf))
        to_face = np.min(np.where(move == 0, np.inf, room / move), axis=2)
        towards = move[:, :1]
        before = np.sum((begin - begin[:, :1]) * towards, axis=2)
        progress = np.sum(move * towards, axis=2)
        near = np.linalg.norm(begin - begin[:, :1], axis=2) <= 1.5 * np.linalg.norm(move, axis=2)
        passes = near & (before < 0) & (before + progress >= 0)
        to_start = np.where(passes, -before / progress, np.inf)
    shares = np.clip(np.nan_to_num(np.minimum(to_face, to_start), nan=0.0, posinf=1.0), 0.0, 1.0)
    ends = (to_face < 1.0) | passes | ~np.isfinite(path[:, 1:]).all(axis=2)
    after = np.cumsum(ends, axis=1) - ends > 0
    returned = np.any(passes & (to_start <= to_face) & ~after, axis=1)
    shares[after] = 0.0
    places = path.copy()
    with np.errstate(invalid="ignore"):
        cut = begin + shares[..., None] * move
    places[:, 1:] = np.where((shares > 0)[..., None], cut, path[:, :1])
    return places, shares, returned


@dataclass(frozen=True, eq=False)
class ConstantOnCurves(Features):
    """The prior of h at one length scale."""

    characteristics: Characteristics
    root: Float[ndarray, " q"]  # S^1/2
    power: float  # p

    @property
    def dim(self) -> int:
        """Number of coordinates."""
        return self.characteristics.space.dim

    @property
    def rank(self) -> int:
        """The directions that count, and a constant."""
        return self._directions.shape[1] + 1

    def codes(self, points: Float[ndarray, "b d"], slopes: bool = False) -> Codes:
        """psi(s) and the constant; the slope along the curve is zero, those across it are finite differences."""
        psi = self._psi(points)
        if not slopes:
            return Codes(points, psi, None)
        along = np.zeros((*points.shape, psi.shape[1]))
        for normal in _across(self.characteristics.velocity(points)):
            change = (self._psi(points + _DIFFERENCE * normal) - psi) / _DIFFERENCE
            along += normal[:, :, None] * change[:, None]
        return Codes(points, psi, along)

    def _psi(self, points: Float[ndarray, "b d"]) -> Float[ndarray, "b r+2"]:
        told = self._whole(self.characteristics.means(points)) @ self._directions
        b = len(points)
        return np.concatenate([told, np.full((b, 1), CONSTANT), np.zeros((b, 2))], axis=1)

    def _whole(self, means: Float[ndarray, "b q"]) -> Float[ndarray, "b q"]:
        """psi in all directions."""
        weighted = means * self.root
        return weighted / np.linalg.norm(weighted, axis=1, keepdims=True) ** self.power

    @cached_property
    def _directions(self) -> Float[ndarray, "q r"]:
        """Orthonormal directions of psi that count."""
        sample = self._whole(self.characteristics.sample)
        squares, vectors = np.linalg.eigh(sample @ sample.T)
        counts = squares > _NEGLIGIBLE * squares[-1]
        return sample.T @ (vectors[:, counts] / np.sqrt(squares[counts]))


def _across(velocity: Float[ndarray, "n d"]) -> list[Float[ndarray, "n d"]]:
    """d - 1 directions at right angles to the velocity, and to each other."""
    n, d = velocity.shape
    frame = np.concatenate([velocity[:, :, None], np.broadcast_to(np.eye(d), (n, d, d))], axis=2)
    return list(np.linalg.qr(frame)[0][:, :, 1:].transpose(2, 0, 1))


class CharacteristicPhysics(Family):
    """Functions that are constant along characteristics; a setting is a length scale and p."""

    name = "constant on characteristics"
    physics = True

    def __init__(self, characteristics: Characteristics) -> None:
        super().__init__(characteristics.space)
        self._characteristics = characteristics
        self._root = float(np.sqrt(self.space.dim))
        self._known: dict[Scales, ConstantOnCurves] = {}

    @property
    def grid(self) -> list[Scales]:
        """Every length scale that the basis resolves, with both p."""
        shortest = _RESOLVED / self._characteristics.frequencies[-1]
        lengths = [scales[0] for scales in equal_scales(self.space, self._root, 1)]
        return [(length, p) for length in lengths if shortest <= length <= _LONGEST for p in (0.0, 1.0)]

    def log_prior(self, scales: Scales) -> float:
        """As of a kernel."""
        return log_normal(scales[:1], self._root)

    def prior(self, scales: Scales, data: Data) -> ConstantOnCurves:
        """Nothing is left to condition on."""
        if scales not in self._known:
            length, power = scales
            radians = length * self._characteristics.frequencies
            density = np.sqrt(2 * np.pi) * length * np.exp(-0.5 * radians**2)
            root = np.ones(1)
            for _ in range(self.space.dim):
                root = np.outer(root, np.sqrt(density)).ravel()
            self._known[scales] = ConstantOnCurves(self._characteristics, root, power)
        return self._known[scales]

    def described(self, scales: Scales) -> str:
        """With p in words."""
        alike = ", all alike" if scales[1] else ""
        return f"{self.name}{alike}, length scale {scales[0]:.2g}"
