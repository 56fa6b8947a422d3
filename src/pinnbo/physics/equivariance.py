"""Whether equations stay the same if a symmetric field is reflected; those that do not contradict the symmetry.

With f' = sigma f(g .), the residual R[f](x) = N[f](x) - source(x) at g x has to be tied to that of f' at x,

    R[f'](x) = M(x) R[f](g x)      for all f, with one matrix M(x),

or f and f' do not obey the equation together. M(x) is +-1 as a rule; it is fitted to a few functions f at every place,
and others are held against it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import jax
import numpy as np
from jaxtyping import Array, Float
from numpy import ndarray

from pinnbo.operators import Point, ScalarField
from pinnbo.pde import PDE
from pinnbo.physics.images import Images
from pinnbo.probes import extent, probes
from pinnbo.space import Space

_N_PLACES = 8
_TOLERANCE = 1e-6


def refuse_asymmetric(physics: Sequence[PDE], space: Space) -> None:
    """Raise if an equation that holds everywhere contradicts a symmetry that is stated beside it."""
    for symmetry in (pde for pde in physics if pde.reflections):
        for one in symmetry.reflections:
            along = space.axes[space.names.index(one.axis)]
            if along.log:
                raise ValueError(f"{symmetry.name}: expected a linear axis, got {one.axis}, which is log")
            if not along.low <= one.about <= along.high:
                raise ValueError(
                    f"{symmetry.name}: about must lie on the axis from {along.low:g} to {along.high:g}, "
                    f"got {one.about:g}"
                )
    images = Images.of(space, physics)
    if images is None:
        return
    for pde in physics:
        if pde.reflections or pde.points is not None:
            continue
        for flip, weights in zip(images.flips[1:], images.weights[1:], strict=True):
            signs = np.sign([weights[i] if i < len(weights) else 0.0 for i in pde.indices])
            if signs.all():
                _refuse(pde, space, images.centre, flip, signs, physics)


def _refuse(
    pde: PDE, space: Space, centre: ndarray, flip: ndarray, signs: ndarray, physics: Sequence[PDE]
) -> None:
    """One reflection of one equation."""
    here = space.scale(space.sobol(8 * _N_PLACES, seed=29))
    there = centre + flip * (here - centre)
    inside = np.all(np.abs(there) <= 1.0, axis=1)
    points, images = space.unscale(here[inside]), space.unscale(there[inside])
    if not space.is_box:
        both = space.is_inside(points) & space.is_inside(images)
        points, images = points[both], images[both]
    points, images = points[:_N_PLACES], images[:_N_PLACES]
    if len(points) == 0:
        return
    middle = space.unscale(centre[None])[0]
    shifts = 0.9 * np.arange(2 * pde.n_equations(space) + 3)
    still = np.ones_like(flip), np.ones_like(signs)
    one, other = (
        np.asarray(_images(pde, extent(space), at, shifts, middle, *turned)) - pde.source_at(at)
        for at, turned in ((points, (flip, signs)), (images, still))
    )  # (functions, places, k)
    for place in range(len(points)):
        a, b = one[:, place], other[:, place]
        usable = np.isfinite(a).all(axis=1) & np.isfinite(b).all(axis=1)
        fitted = b[usable] @ np.linalg.lstsq(b[usable], a[usable], rcond=1e-9)[0]
        if np.max(np.abs(fitted - a[usable]), initial=0.0) > _TOLERANCE * np.max(
            np.abs(a[usable]), initial=0.0
        ):
            words = ", ".join(p.name for p in physics if p.reflections)
            at = ", ".join(
                f"{name} = {value:.3g}" for name, value in zip(space.names, points[place], strict=True)
            )
            raise ValueError(
                f"{pde.name}: does not have the symmetry that is stated beside it ({words}): operator or source "
                f"differ between {at} and the place that it is reflected to"
            )


@partial(jax.jit, static_argnums=0)
def _images(
    pde: PDE,
    box: tuple[Array, Array],
    points: Float[Array, "p d"],
    shifts: Float[Array, " q"],
    middle: Float[Array, " d"],
    turn: Float[Array, " d"],
    signs: Float[Array, " f"],
) -> Float[Array, "q p k"]:
    """N of reflected functions."""

    def at(shift: Array, x: Point) -> Float[Array, " k"]:
        functions = [
            _reflected(f, middle, turn, signs[i]) for i, f in enumerate(probes(len(signs), box, shift))
        ]
        return pde.apply(*functions)(x)

    return jax.vmap(lambda shift: jax.vmap(lambda x: at(shift, x))(points))(shifts)


def _reflected(f: ScalarField, middle: Array, turn: Array, sign: Array) -> ScalarField:
    return lambda x: sign * f(middle + turn * (x - middle))
