"""A PDE at a point, as a function of the derivatives of f there: its jet.

N[f](z) depends on f only through J_a = (d/du)^a f(z), |a| <= order, u being the coordinates of a prior. Hence

    n(z, J) = N[ u -> sum_a J_a (u - z)^a / a! ](z),       c_a(z) = dn/dJ_a,

and near a reference jet J' the equation N[f] = g is one row, linear in the jet of f:

    sum_a c_a(z) (d/du)^a f(z) = g(z) - n(z, J') + c(z) . J'.                                        (row)

The operator is traced for n and c alone; the derivatives of kernels and basis functions, which are needed at every
point and for every setting, have closed forms. With several fields J lists the jets of all of them.

For a PDE that is linear in f the rows do not depend on J', and for f = shift + scale * h they read

    c . J_h = (g - n(z, 0) - shift c_0) / scale.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from itertools import combinations_with_replacement
from math import comb, factorial, prod
from types import MappingProxyType
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int
from numpy import ndarray

from pinnbo.operators import Point
from pinnbo.pde import PDE
from pinnbo.physics.coordinates import BOX, Coordinates
from pinnbo.physics.functionals import Functionals, positions
from pinnbo.space import Space

_MOST_INDICES = 20_000
_CHUNK = 256
_FEW = 64  # derivatives: to compute those that an operator never takes costs less than to compile it without them

Coefficients = Mapping[str, float]
"""Values of the unknown coefficients, by name."""

NONE: Coefficients = MappingProxyType({})


class JetPDE:
    """A PDE on a box in terms of jets in some coordinates."""

    def __init__(self, space: Space, pde: PDE, coordinates: Coordinates = BOX) -> None:
        self.space, self.pde, self.coordinates = space, pde, coordinates
        order = pde.order(space)
        if comb(space.dim + order, order) > _MOST_INDICES:
            raise ValueError(
                f"{pde.name}: a field of {space.dim} coordinates has {comb(space.dim + order, order)} derivatives "
                f"up to order {order}, more than the {_MOST_INDICES} that auto can handle; use method='ntk'"
            )
        each, n = _multi_indices(space.dim, order), len(pde.indices)
        # the field, among its own, and the multi-index
        every = np.column_stack([np.repeat(np.arange(n), len(each)), np.tile(each, (n, 1))])
        self._latest: tuple[ndarray, list[_Places]] | None = None
        self._evaluated: tuple[ndarray, dict[str, Any], ndarray, tuple[ndarray, ndarray]] | None = None
        self._compiled = _Compiled.of(n, every, every)
        self._own: Int[ndarray, "a e"] = every[self._active(every)]
        self._compiled = _Compiled.of(n, self._own, every if len(every) <= _FEW else self._own)

    @property
    def derivatives(self) -> Int[ndarray, "a d"]:
        """Multi-indices of the derivatives that count."""
        return self._own[:, 1:]

    @property
    def fields(self) -> Int[ndarray, " a"]:
        """Of which field of the problem every derivative is."""
        return np.array(self.pde.indices)[self._own[:, 0]]

    @property
    def keys(self) -> Int[ndarray, "a e"]:
        """Field and multi-index of every derivative."""
        return np.column_stack([self.fields, self.derivatives])

    def _active(self, every: Int[ndarray, "a e"]) -> Bool[ndarray, " a"]:
        """Which derivatives the operator ever takes; a field's constant is counted in, its first."""
        points = self.coordinates.of(self.space.scale(self.space.sobol(_CHUNK, seed=13)))
        jets = np.random.default_rng(0).standard_normal((_CHUNK, len(every)))
        _, slopes = self._evaluate(points, jets)
        active = np.any(np.nan_to_num(slopes, nan=1.0) != 0.0, axis=(0, 1))
        return np.asarray(active | ~every[:, 1:].any(axis=1))

    def _evaluate(
        self, points: Float[ndarray, "r d"], jets: Float[ndarray, "r a"], coefficients: Coefficients = NONE
    ) -> tuple[ndarray, ndarray]:
        known = self._evaluated
        if known and known[0] is points and known[1] == coefficients and np.array_equal(known[2], jets):
            return known[3]  # a step of Gauss-Newton asks for rows and residual of the same function
        columns, monomials = self._compiled.columns, self._compiled.monomials
        every = np.zeros((len(jets), len(monomials.size)))
        every[:, columns] = jets
        values, slopes = [], []
        for places, some in self._chunks(points, every):
            n, c = _linearise(self.pde, monomials, self._matrix, dict(coefficients), places.with_jets(some))
            values.append(np.asarray(n)[: len(some)])
            slopes.append(np.asarray(c)[: len(some)][..., columns])
        found = np.concatenate(values), np.concatenate(slopes)
        self._evaluated = points, dict(coefficients), jets.copy(), found
        return found

    def _chunks(self, points: ndarray, jets: ndarray) -> Iterator[tuple[_Places, ndarray]]:
        """What n takes, by chunks of one shape; the places are kept, since an iteration asks for the same points."""
        if self._latest is None or self._latest[0] is not points:
            self._latest = points, self._places(points)
        starts = range(0, len(points), _CHUNK)
        return ((p, jets[i : i + _CHUNK]) for p, i in zip(self._latest[1], starts, strict=True))

    def _places(self, points: ndarray) -> list[_Places]:
        scaled = self.coordinates.back(points)
        order = self._compiled.monomials.factors.shape[1]
        place = self.space.unscale(scaled)
        if self.space.is_linear:
            # one shape for all coordinates, so that one function is compiled
            expansion = np.zeros((len(points), order, points.shape[1]))
            known = self.coordinates.expansion(scaled, order)
            expansion[:, : known.shape[1]] = known
            expansion /= self.space.half_width ** np.arange(1, order + 1)[:, None]
        else:
            assert self.coordinates is BOX  # families in other coordinates decline logarithmic axes
            expansion = self.space.expansion(place, order)
        arrays = place, expansion
        starts = range(0, len(points), _CHUNK)
        return [_Places(*(jnp.asarray(_padded(a[i : i + _CHUNK])) for a in arrays)) for i in starts]

    @property
    def _matrix(self) -> ndarray:
        matrix = self.coordinates.matrix
        return np.zeros((0, 0)) if matrix is None else matrix

    def values(
        self, points: Float[ndarray, "r d"], jets: Float[ndarray, "r a"], coefficients: Coefficients = NONE
    ) -> Float[ndarray, "r k"]:
        """n(z, J) at points."""
        return self._evaluate(points, jets, coefficients)[0]

    def linearised(
        self, points: Float[ndarray, "r d"], jets: Float[ndarray, "r a"]
    ) -> tuple[Float[ndarray, "r k"], Float[ndarray, "r k a"]]:
        """n(z, J) at points, and its derivatives in the jet."""
        return self._evaluate(points, jets)

    def curvature(
        self, points: Float[ndarray, "r d"], jets: Float[ndarray, "r a"], coefficients: Coefficients = NONE
    ) -> Float[ndarray, "m a a"]:
        """Second derivatives of n(z, J) in the jet, a matrix per row."""
        own = _Compiled.of(len(self.pde.indices), self._own, self._own).monomials
        found = []
        for places, some in self._chunks(points, jets):
            bent = _bend(self.pde, own, self._matrix, dict(coefficients), places.with_jets(some))
            found.append(np.asarray(bent)[: len(some)])
        return np.concatenate(found).reshape(-1, len(self.derivatives), len(self.derivatives))

    def rows(
        self,
        points: Float[ndarray, "r d"],
        source: Float[ndarray, "r k"],
        jets: Float[ndarray, "r a"] | None = None,
        coefficients: Coefficients = NONE,
    ) -> Functionals:
        """The rows at points, linearised at jets (of f in user units; at f = 0 without them)."""
        reference = np.zeros((len(points), len(self.derivatives))) if jets is None else jets
        n, c = self._evaluate(points, reference, coefficients)
        own = source - n + np.einsum("rka,ra->rk", c, reference)
        k = n.shape[1]
        return Functionals(
            np.repeat(points, k, axis=0),
            c.reshape(-1, c.shape[-1]),
            self.derivatives,
            own.ravel(),
            np.full(own.size, self.pde.noise),
            self.fields if self.fields.any() else None,
        )


def _multi_indices(dim: int, order: int) -> Int[ndarray, "a d"]:
    """All multi-indices with |a| <= order, by order."""
    found = []
    for total in range(order + 1):
        for axes in combinations_with_replacement(range(dim), total):
            found.append(np.bincount(axes, minlength=dim) if axes else np.zeros(dim, dtype=int))
    return np.array(found, dtype=int).reshape(-1, dim)


class _Monomials(NamedTuple):
    """Each monomial as a product of entries of (1, t_1, ..., t_d), 1 / a!, and the field that it is a term of."""

    factors: Int[ndarray, "a order"]
    size: Float[ndarray, " a"]
    owned: Float[ndarray, "f a"]


def _monomials(indices: Int[ndarray, "a d"], owned: Bool[ndarray, "f a"]) -> _Monomials:
    order = max(1, int(indices.sum(axis=1).max()))
    lists = np.zeros((len(indices), order), dtype=int)
    for row, index in zip(lists, indices, strict=True):
        axes = np.repeat(np.arange(1, len(index) + 1), index)
        row[: len(axes)] = axes
    size = np.array([1.0 / prod(factorial(int(p)) for p in index) for index in indices])
    return _Monomials(lists, size, owned.astype(float))


class _Compiled(NamedTuple):
    """The monomials that a function is compiled for, and which of them are the derivatives that count."""

    monomials: _Monomials
    columns: Int[ndarray, " a"]

    @classmethod
    def of(cls, n_fields: int, own: Int[ndarray, "a e"], every: Int[ndarray, "b e"]) -> _Compiled:
        owned = every[:, 0] == np.arange(n_fields)[:, None]
        return cls(_monomials(every[:, 1:], owned), np.array(positions(own, every), dtype=int))


def _padded(rows: Float[ndarray, "r ..."]) -> Float[ndarray, "c ..."]:
    return np.concatenate([rows, np.repeat(rows[-1:], _CHUNK - len(rows), axis=0)])


class _Places(NamedTuple):
    """A chunk of places in user units, and the derivatives of the coordinates there, axis by axis."""

    place: Float[Array, "r d"]
    coordinates: Float[Array, "r k d"]

    def with_jets(self, jets: Float[ndarray, "m a"]) -> _Local:
        return _Local(_padded(jets), *self)  # what is compiled takes it as it is


class _Local(NamedTuple):
    """A jet, its place in user units, and the derivatives of the coordinates there, axis by axis."""

    jet: Float[Array, "*r a"] | Float[ndarray, "*r a"]
    place: Float[Array, "*r d"]
    coordinates: Float[Array, "*r k d"]


def _of_jet(
    pde: PDE, monomials: _Monomials, matrix: Array | ndarray, coefficients: dict[str, Any], local: _Local
) -> Float[Array, " k"]:
    """n(z, J)."""
    jet, place, coordinates = local

    def f(x: Point, number: int) -> Array:
        # exactly zero at the place, or lower derivatives would seem to be taken
        step = power = x - place
        t = coordinates[0] * step
        for k in range(1, len(coordinates)):
            power = power * step
            t = t + coordinates[k] * power / factorial(k + 1)
        if len(matrix):
            t = jnp.asarray(matrix) @ t
        entries = jnp.concatenate([jnp.ones(1), t])
        product = jnp.asarray(monomials.size)
        for column in range(monomials.factors.shape[1]):
            product = product * entries[monomials.factors[:, column]]
        return jnp.dot(monomials.owned[number] * jet, product)

    fields = (partial(f, number=number) for number in range(len(monomials.owned)))
    return pde.apply(*fields, **coefficients)(place)


@partial(jax.jit, static_argnums=0)
def _linearise(
    pde: PDE, monomials: _Monomials, matrix: Array | ndarray, coefficients: dict[str, Any], local: _Local
) -> tuple[Float[Array, "r k"], Float[Array, "r k a"]]:
    def n(jet: Array, here: _Local) -> tuple[Array, Array]:
        value = _of_jet(pde, monomials, matrix, coefficients, here._replace(jet=jet))
        return value, value

    def both(here: _Local) -> tuple[Array, Array]:
        c, value = jax.jacrev(n, has_aux=True)(here.jet, here)
        return value, c

    return jax.vmap(both)(local)


@partial(jax.jit, static_argnums=0)
def _bend(
    pde: PDE, monomials: _Monomials, matrix: Array | ndarray, coefficients: dict[str, Any], local: _Local
) -> Float[Array, "r k a a"]:
    def n(jet: Array, here: _Local) -> Array:
        return _of_jet(pde, monomials, matrix, coefficients, here._replace(jet=jet))

    return jax.vmap(lambda here: jax.jacfwd(jax.jacrev(n))(here.jet, here))(local)
