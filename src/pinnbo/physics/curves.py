"""The characteristics of a first-order equation a(s) . grad f = 0: through every point runs one curve dy/dt = a(y).

f does not change along them. They are traced by Runge-Kutta steps of one length, and cut to what of them lies in the
box. A curve may leave the box and come back elsewhere, as circles do that are larger than it: whether f is the same
there depends on whether the equation holds on the way, so curves can be followed beyond the box or not.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float
from numpy import ndarray

from pinnbo.chunks import in_chunks
from pinnbo.operators import Point
from pinnbo.pde import PDE
from pinnbo.space import Space

DIMENSIONS = (2, 3)

_REACH = 18.0  # of a curve in either direction: once round any circle whose centre lies in the box, of side 2
_FAR = 4.0  # from the middle of the box: curves end there
_SLOW = 0.05  # of the largest velocity: below, steps are shorter
_EDGE = 1.0 + 2e-6  # a step of finite differences beyond the face counts as inside
_PROBES = 64
_BATCH = 32  # one size, so that one function is compiled

Box = tuple[Array, Array]  # centre and half width
Number = float | Array


class Curves(NamedTuple):
    """Places on the characteristics through points, their weights in the mean, and how long the curves are."""

    places: Float[ndarray, "n k d"]
    weights: Float[ndarray, "n k"]
    inside: Float[ndarray, " n"]
    whole: Float[ndarray, " n"]


class Characteristics:
    """The characteristics of an equation, in the scaled coordinates of a box."""

    @classmethod
    def of(cls, space: Space, physics: Sequence[PDE]) -> Characteristics | None:
        """None unless the physics is one equation a . grad f = 0 in two or three coordinates."""
        if len(physics) != 1 or space.dim not in DIMENSIONS:
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
        self._box = jnp.asarray(space.centre), jnp.asarray(space.half_width)
        speeds = np.linalg.norm(self.velocity(self.probes), axis=1)
        self._slow = _SLOW * float(np.max(speeds))
        self._latest: tuple[ndarray, float, tuple[Curves, Curves]] | None = None

    @property
    def probes(self) -> Float[ndarray, "n d"]:
        """A few points all over the box."""
        return self.space.scale(self.space.sobol(_PROBES, 19))

    def velocity(self, points: Float[ndarray, "n d"]) -> Float[ndarray, "n d"]:
        """a at scaled points, in scaled coordinates."""
        return in_chunks(partial(_velocities, self._pde, self._box), points)

    def curves(self, points: Float[ndarray, "n d"], step: float, beyond: bool) -> Curves:
        """The parts in the box of the characteristics through points, followed beyond it or not."""
        known = self._latest
        if known is None or known[1] != step or not np.array_equal(known[0], points):
            known = self._latest = points.copy(), step, self._both(points, step)
        return known[2][int(beyond)]

    def _both(self, points: Float[ndarray, "n d"], step: float) -> tuple[Curves, Curves]:
        """Within the box, and beyond it: the paths are the same."""
        n_steps = int(np.ceil(_REACH / step))
        trace = partial(_traced, self._pde, n_steps, self._box, self._slow, step)
        padded = np.concatenate([points, np.repeat(points[-1:], -len(points) % _BATCH, axis=0)])
        found = [trace(batch) for batch in np.split(padded, len(padded) // _BATCH)]
        within, further = zip(*found, strict=True)
        return _gathered(within, len(points)), _gathered(further, len(points))


def _gathered(batches: Sequence[tuple[Array, ...]], n: int) -> Curves:
    """Of n points, without the places that have no weight on any curve."""
    places, weights, *lengths = (
        np.concatenate([np.asarray(part) for part in parts])[:n] for parts in zip(*batches, strict=True)
    )
    most = int(np.max(np.count_nonzero(weights, axis=1)))
    used = np.argsort(weights == 0.0, axis=1, kind="stable")[:, :most]
    kept = np.take_along_axis(places, used[..., None], 1), np.take_along_axis(weights, used, 1)
    return Curves(*kept, *lengths)


def _velocity(pde: PDE, box: Box, s: Float[Array, " d"]) -> Float[Array, " d"]:
    """The operator applied to the scaled coordinates."""
    centre, half = box

    def coordinate(axis: int, x: Point) -> Float[Array, ""]:
        return (x[axis] - centre[axis]) / half[axis]

    return jnp.concatenate([pde.apply(partial(coordinate, i))(centre + half * s) for i in range(len(half))])


@partial(jax.jit, static_argnums=0)
def _velocities(pde: PDE, box: Box, points: Float[Array, "n d"]) -> Float[Array, "n d"]:
    return jax.vmap(partial(_velocity, pde, box))(points)


_Found = tuple[Float[Array, "n k d"], Float[Array, "n k"], Float[Array, " n"], Float[Array, " n"]]


@partial(jax.jit, static_argnums=(0, 1))
def _traced(
    pde: PDE, n_steps: int, box: Box, slow: Number, step: Number, points: Float[Array, "n d"]
) -> tuple[_Found, _Found]:
    """Places on the curves in both directions, their weights in the mean, the lengths in the box and in all.

    In the box, and then with curves followed beyond it.
    """
    starts = jnp.concatenate([points, points])
    steps = jnp.repeat(jnp.array([step, -step]), len(points))
    paths = _paths(pde, n_steps, box, slow, steps, starts).reshape(2, len(points), n_steps + 1, -1)

    def curve(beyond: bool, paths: Array) -> tuple[Array, Array, Array, Array]:
        parts = jax.vmap(partial(_inside, beyond=beyond))(paths)
        # all of a closed curve has been seen in one direction
        shares = parts.shares.at[1].multiply(~parts.returned[0])
        followed = parts.followed.at[1].multiply(~parts.closed[0])
        weights = 0.5 * (jnp.pad(shares, ((0, 0), (0, 1))) + jnp.pad(shares, ((0, 0), (1, 0)))).ravel()
        weights = jnp.where(jnp.any(weights > 0), weights, jnp.zeros_like(weights).at[0].set(1.0))  # a point
        sizes = jnp.linalg.norm(jnp.nan_to_num(jnp.diff(paths, axis=1)), axis=2)
        lengths = jnp.sum(shares * sizes), jnp.sum(followed * sizes)
        return parts.places.reshape(-1, paths.shape[-1]), weights / jnp.sum(weights), *lengths

    within, further = (jax.vmap(partial(curve, beyond), in_axes=1)(paths) for beyond in (False, True))
    return within, further


def _paths(
    pde: PDE, n_steps: int, box: Box, slow: Number, steps: Float[Array, " p"], starts: Float[Array, "p d"]
) -> Float[Array, "p k d"]:
    """Runge-Kutta steps of one length in dy/dt = a / sqrt(|a|^2 + slow^2), until all paths have ended; then nan."""
    step = steps[:, None]

    @jax.vmap
    def direction(s: Array) -> Array:
        a = _velocity(pde, box, s)
        return a / jnp.sqrt(jnp.sum(a**2) + slow**2)

    def advanced(s: Array) -> Array:
        one = direction(s)
        two = direction(s + 0.5 * step * one)
        three = direction(s + 0.5 * step * two)
        four = direction(s + step * three)
        return s + step * (one + 2 * two + 2 * three + four) / 6

    def go_on(state: tuple[Array, Array, Array, Array]) -> Array:
        number, _, _, ended = state
        return (number < n_steps) & ~jnp.all(ended)

    def advance(state: tuple[Array, Array, Array, Array]) -> tuple[Array, Array, Array, Array]:
        number, paths, s, ended = state
        new = advanced(s)
        _, ends = jax.vmap(_end)(starts, first - starts, s, new - s)
        paths = jax.lax.dynamic_update_index_in_dim(paths, new, number + 1, 0)
        return number + 1, paths, new, ended | (ends < 1.0) | ~jnp.isfinite(new).all(axis=1)

    first = advanced(starts)
    empty = jnp.full((n_steps + 1, *starts.shape), jnp.nan).at[0].set(starts)
    begin = jnp.asarray(0), empty, starts, jnp.zeros(len(starts), dtype=bool)
    return jnp.moveaxis(jax.lax.while_loop(go_on, advance, begin)[1], 0, 1)


def _end(
    start: Float[Array, " d"], first: Float[Array, " d"], begin: Float[Array, " d"], move: Float[Array, " d"]
) -> tuple[Bool[Array, ""], Float[Array, ""]]:
    """Whether a step passes the start of its path, and at which share of it the path ends: there, or far away."""
    before, progress = (begin - start) @ first, move @ first
    near = jnp.sum((begin - start) ** 2) <= 1.5**2 * jnp.sum(move**2)
    passes = near & (before < 0) & (before + progress >= 0)
    to_start = jnp.where(passes, -before / jnp.where(passes, progress, 1.0), jnp.inf)
    return passes, jnp.minimum(to_start, _crossing(begin[None], move[None], _FAR)[1][0])


class _Part(NamedTuple):
    """What of a path lies in the box."""

    places: Float[Array, "k d"]
    shares: Float[Array, " s"]  # of its steps, in the box
    followed: Float[Array, " s"]  # the same, in the box or not
    returned: Bool[Array, ""]  # to its start, before it ended in the box
    closed: Bool[Array, ""]  # in the box or not


def _inside(path: Float[Array, "k d"], beyond: bool) -> _Part:
    """A path cut to what of it lies in the box.

    A step that crosses a face ends on it, or begins there if it comes back; one that passes the start of the path ends
    there. What comes after is left out, as is what comes after leaving the box, unless paths are followed ``beyond``.
    """
    known = jnp.isfinite(path).all(axis=1)
    path = jnp.where(known[:, None], path, path[0])
    begin, move = path[:-1], jnp.diff(path, axis=0)
    enter, leave = _crossing(begin, move, _EDGE)
    passes, to_end = jax.vmap(partial(_end, path[0], move[0]))(begin, move)

    ended = _earlier((to_end < 1.0) | ~known[1:])
    followed = jnp.where(ended | ~known[1:], 0.0, jnp.clip(to_end, 0.0, 1.0))
    left = ended if beyond else ended | _earlier(leave < 1.0)
    first, last = jnp.clip(enter, 0.0, 1.0), jnp.clip(jnp.minimum(leave, to_end), 0.0, 1.0)
    shares = jnp.where(left | ~known[1:], 0.0, jnp.maximum(last - first, 0.0))
    # out and in again at one place of the path: next to nothing
    shares = jnp.where((first > 0) & (jnp.pad(shares, (1, 0))[:-1] > 0), 0.0, shares)

    counts = (shares > 0)[:, None]
    places = jnp.concatenate([path[:1], jnp.where(counts, begin + last[:, None] * move, path[0])])
    comes_in = counts & (first > 0)[:, None]
    places = places.at[:-1].set(jnp.where(comes_in, begin + first[:, None] * move, places[:-1]))
    returned, closed = (jnp.any(passes & ~over) for over in (left, ended))
    return _Part(places, shares, followed, returned, closed)


def _crossing(
    begin: Float[Array, "k d"], move: Float[Array, "k d"], edge: float
) -> tuple[Float[Array, " k"], Float[Array, " k"]]:
    """At which shares of them steps enter and leave a cube."""
    moves = jnp.where(move == 0, 1.0, move)
    low, high = (-edge - begin) / moves, (edge - begin) / moves
    always = jnp.where(jnp.abs(begin) <= edge, jnp.inf, -jnp.inf)
    enter = jnp.max(jnp.where(move == 0, -always, jnp.minimum(low, high)), axis=1)
    return enter, jnp.min(jnp.where(move == 0, always, jnp.maximum(low, high)), axis=1)


def _earlier(ends: Bool[Array, " k"]) -> Bool[Array, " k"]:
    """Whether a path has ended before a step."""
    return jnp.cumsum(ends) - ends > 0
