"""An equation tried on a box before it is used: every mistake that shows there is said in one sentence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import checkify
from numpy import ndarray

from pinnbo import mistakes
from pinnbo.knowledge import Unknown
from pinnbo.operators import OrderError, Point, ScalarField
from pinnbo.probes import abstract_point, disturbed_image, extent, probes
from pinnbo.space import Space

if TYPE_CHECKING:
    from pinnbo.pde import PDE

_N_PLACES, _LARGE = 4, 1e12
_INDEXING = ("gather", "dynamic_slice")  # what JAX makes of an index that it has to check
_OPERATORS = ("directional:", "derivatives:", "partial:", "laplacian:")


def validate(pde: PDE, space: Space) -> None:
    """Try the equation on a box: raises one sentence if operator or source cannot be used there."""
    pde.use_names(space)
    try:
        pde.order(space)
    except OrderError as error:
        raise ValueError(f"{pde.name}: {error}") from None
    except Exception:
        pass  # said more clearly of a plain evaluation, below
    try:
        operator = pde.apply(*probes(len(pde.indices), extent(space)))
        jax.eval_shape(operator, abstract_point(space))
    except Exception as error:
        raise _unusable(pde, "operator", error) from error
    _check_indices(pde, operator, space.centre, "operator")
    points = space.sobol(2, seed=3) if pde.points is None else pde.points[:2]
    if pde.points is not None:
        space.as_points(pde.points, f"{pde.name}: points")
    try:
        source = pde.source_at(points)
    except Exception as error:
        raise _unusable(pde, "source", error) from error
    _check_indices(pde, pde.source, points[0], "source")
    k = pde.n_equations(space)
    if source.shape[1] not in (1, k):
        raise ValueError(
            f"{pde.name}: source must have the operator's shape ({k},) at a point, got ({source.shape[1]},)"
        )


def _check_indices(pde: PDE, function: Callable[[Point], Any], point: ndarray, what: str) -> None:
    """Raise if an index is out of range: JAX would take the nearest that is there, without a word."""
    x = jnp.asarray(point)
    try:
        traced = str(jax.make_jaxpr(function)(x))
    except Exception:
        return  # a source that is not written in JAX complains itself
    if not any(name in traced for name in _INDEXING):
        return
    error, _ = checkify.checkify(function, errors=checkify.index_checks)(x)
    if (said := error.get()) is not None:
        where = said.split("\n")[0].split(". ")[0]
        raise ValueError(f"{pde.name}: {what} has an index that is out of range at x of {x.size}: {where}")


def check_local(pde: PDE, space: Space) -> None:
    """Raise if N[f](x) depends on f elsewhere than at x, as an average or a reflection does.

    A term is added to a probe function that is zero at x with all its derivatives up to the seventh, and large
    everywhere else: N must not change. A symmetry compares two places, and is used otherwise.
    """
    if pde.reflections:
        return
    points = space.sobol(_N_PLACES, seed=19) if pde.points is None else pde.points[:_N_PLACES]
    box = extent(space)
    plain, disturbed = (np.asarray(disturbed_image(pde, box, points, size)) for size in (0.0, _LARGE))
    usable = np.isfinite(plain)
    size = np.max(np.abs(plain), where=usable, initial=0.0)
    with np.errstate(invalid="ignore"):
        moved = usable & ~(np.abs(disturbed - plain) <= 1e-6 * size)
    if moved.any():
        where = np.round(points[int(np.flatnonzero(moved.any(axis=1))[0])], 6).tolist()
        raise ValueError(
            f"{pde.name}: operator must take f and its derivatives at x alone, but at x = {where} its value "
            "depends on f elsewhere"
        )


def _unusable(pde: PDE, what: str, error: Exception) -> Exception:
    said = str(error).strip().split("\n")[0]
    if isinstance(error, ValueError | TypeError) and said.startswith((pde.name, *_OPERATORS)):
        return type(error)(said)  # a sentence of ours
    kind = TypeError if isinstance(error, TypeError) else ValueError
    mistake = mistakes.sentence(what, error)
    if mistake is not None:
        return kind(f"{pde.name}: {mistake}")
    return kind(
        f"{pde.name}: {what} fails at a point of the box with {type(error).__name__}: {said[:200]}; "
        "write it with jax.numpy and pinnbo.operators, without if on values of x"
    )


def depends_on(pde: PDE, space: Space, fields: Sequence[str]) -> list[str]:
    """Which of the problem's fields change N, judged at probe functions and points."""
    points = jnp.asarray(space.sobol(8, seed=5))
    first, second = (probes(len(pde.indices), extent(space), shift) for shift in (0.0, 0.7))

    def image(some: Sequence[ScalarField]) -> ndarray:
        return np.asarray(jax.jit(jax.vmap(pde.apply(*some)))(points))

    usual = image(first)
    changed = [
        not np.array_equal(image([*first[:i], second[i], *first[i + 1 :]]), usual, equal_nan=True)
        for i in range(len(pde.indices))
    ]
    return [fields[index] for index, does in zip(pde.indices, changed, strict=True) if does]


def responds_to(pde: PDE, space: Space, unknown: Unknown) -> bool:
    """Whether a coefficient changes N or g, judged at a probe function and points."""
    if unknown.name not in pde.coefficients:
        return False
    points = space.sobol(8, seed=5) if pde.points is None else pde.points[:8]

    def image(value: float) -> ndarray:
        given = {unknown.name: value}
        operator = pde.apply(*probes(len(pde.indices), extent(space)), **given)
        return np.asarray(jax.vmap(operator)(jnp.asarray(points))) - pde.source_at(points, **given)

    values = [image(unknown.at(share)) for share in (0.0, 0.4, 1.0)]
    return any(not np.array_equal(values[0], other, equal_nan=True) for other in values[1:])
