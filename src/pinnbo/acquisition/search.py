"""The argmin of an acquisition over the box, by many starts and a projected quasi-Newton method.

One compiled call: the acquisition is evaluated at many Sobol points, the best of them and the points that the
caller names (the best observed ones) are refined together, each by L-BFGS on its free coordinates with a
search along the projected arc (Bertsekas 1982: a coordinate is bound when it sits on a face and the slope
pushes it out). Faces and corners are therefore reached exactly, and left again when that pays.

Coordinates are scaled: the box is [-1, 1]^d.

References
----------
D. P. Bertsekas, "Projected Newton methods for optimization problems with simple constraints",
SIAM J. Control Optim. 20 (1982).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

Acquisition = Callable[[Any, Float[Array, " d"]], Float[Array, ""]]


@dataclass(frozen=True)
class Effort:
    """How hard to search."""

    starts: int = 32
    iterations: int = 120
    memory: int = 8


class Minima(NamedTuple):
    """Local minimisers, best first."""

    points: Float[Array, "k d"]
    values: Float[Array, " k"]


class _State(NamedTuple):
    s: Float[Array, " d"]
    value: Float[Array, ""]
    slope: Float[Array, " d"]
    steps: Float[Array, "h d"]  # s_{k+1} - s_k, newest last, zeros while empty
    turns: Float[Array, "h d"]  # slope_{k+1} - slope_k
    length: Float[Array, ""]  # of a steepest step


# the first is the quasi-Newton step, the larger ones serve the first iterations
_STEPS = 4.0 ** jnp.arange(2.0, -9.0, -1.0)


@eqx.filter_jit
def minimise(
    acquisition: Acquisition,
    parameters: Any,
    candidates: Float[Array, "c d"],
    favourites: Float[Array, "b d"],
    effort: Effort,
) -> Minima:
    """Minimise acquisition(parameters, s) from the best candidates and from all favourites.

    Values that are not finite count as infinitely bad.
    """

    def value(s: Array) -> Array:
        out = acquisition(parameters, s)
        return jnp.where(jnp.isfinite(out), out, jnp.inf)

    scores = evaluate(acquisition, parameters, candidates)
    order = jnp.argsort(scores)[: effort.starts]
    starts = jnp.concatenate([candidates[order], favourites])
    points, values = jax.vmap(lambda s: _descend(value, s, effort))(starts)
    ranking = jnp.argsort(values)
    return Minima(points[ranking], values[ranking])


@eqx.filter_jit
def evaluate(acquisition: Acquisition, parameters: Any, points: Float[Array, "c d"]) -> Float[Array, " c"]:
    """Acquisition at many points, in bounded memory; infinite where it is not finite."""
    values = jax.lax.map(lambda s: acquisition(parameters, s), points, batch_size=1024)
    return jnp.where(jnp.isfinite(values), values, jnp.inf)


def _descend(value: Callable[[Array], Array], start: Array, effort: Effort) -> tuple[Array, Array]:
    value_and_slope = jax.value_and_grad(value)

    def safe(s: Array) -> tuple[Array, Array]:
        v, g = value_and_slope(s)
        return v, jnp.where(jnp.isfinite(g), g, 0.0)

    def step(state: _State, _: None) -> tuple[_State, None]:
        outward = ((state.s >= 1.0) & (state.slope < 0.0)) | ((state.s <= -1.0) & (state.slope > 0.0))
        slope = jnp.where(outward, 0.0, state.slope)
        direction = jnp.where(outward, 0.0, -_two_loop(slope, state.steps, state.turns))
        # a direction that does not descend, or rests on nothing, is replaced by the steepest one; its length is
        # one of the box, so that the units of the acquisition do not matter
        usable = (jnp.dot(direction, slope) < 0.0) & jnp.any(state.turns != 0.0)
        norm = jnp.linalg.norm(slope)
        steepest = -state.length * slope / jnp.where(norm > 0.0, norm, 1.0)
        direction = jnp.where(usable, direction, steepest)
        trials = jnp.clip(state.s + _STEPS[:, None] * direction, -1.0, 1.0)
        values = jax.vmap(value)(trials)
        best = jnp.argmin(values)
        better = values[best] < state.value
        s = jnp.where(better, trials[best], state.s)
        v, g = safe(s)
        moved, turned = s - state.s, g - state.slope
        distance = jnp.linalg.norm(moved)
        curved = jnp.dot(moved, turned) > 1e-12 * distance * jnp.linalg.norm(turned)
        keep = better & curved
        # when no step along the direction helps, the memory misleads, or the steepest step is too long
        return _State(
            s,
            jnp.where(better, v, state.value),
            g,
            _pushed(state.steps, moved, keep) * better,
            _pushed(state.turns, turned, keep) * better,
            jnp.where(better, jnp.maximum(distance, 1e-12), jnp.where(usable, 1.0, 1e-4) * state.length),
        ), None

    empty = jnp.zeros((effort.memory, start.size))
    initial = _State(start, *safe(start), empty, empty, jnp.asarray(1.0))
    final, _ = jax.lax.scan(step, initial, None, length=effort.iterations)
    return final.s, final.value


def _pushed(memory: Array, newest: Array, keep: Array) -> Array:
    return jnp.where(keep, jnp.roll(memory, -1, axis=0).at[-1].set(newest), memory)


def _two_loop(slope: Array, steps: Array, turns: Array) -> Array:
    """Apply the L-BFGS inverse Hessian to the slope, in the subspace where the slope is free."""
    free = slope != 0.0
    steps, turns = jnp.where(free, steps, 0.0), jnp.where(free, turns, 0.0)
    curvature = jnp.sum(steps * turns, axis=1)
    usable = curvature > 1e-300
    rho = jnp.where(usable, 1.0 / jnp.where(usable, curvature, 1.0), 0.0)

    def backward(q: Array, pair: tuple) -> tuple[Array, Array]:
        s, y, r = pair
        alpha = r * jnp.dot(s, q)
        return q - alpha * y, alpha

    q, alphas = jax.lax.scan(backward, slope, (steps, turns, rho), reverse=True)
    newest = jnp.dot(turns[-1], turns[-1])
    gamma = jnp.where(usable[-1], curvature[-1] / jnp.where(usable[-1], newest, 1.0), 1.0)

    def forward(r_vec: Array, pair: tuple) -> tuple[Array, None]:
        s, y, r, alpha = pair
        beta = r * jnp.dot(y, r_vec)
        return r_vec + s * (alpha - beta), None

    direction, _ = jax.lax.scan(forward, gamma * q, (steps, turns, rho, alphas))
    return direction
