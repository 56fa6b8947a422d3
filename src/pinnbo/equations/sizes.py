"""How large the terms of an equation are over the box, for fields of typical size (`pinnbo.equations.typical`).

The terms of an equation add up to zero: the largest one needs a partner of about its size. Where there is none, the
field has to be about constant, or varies on another scale than the box, which is what a mistake in units looks like.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray

from pinnbo.equations import analysis, compiled
from pinnbo.equations.printer import as_text
from pinnbo.equations.typical import PHASES, reference, waves
from pinnbo.pde import PDE
from pinnbo.physics.jets import JetPDE
from pinnbo.space import Space

PARTNERLESS = 30.0  # a factor that no choice of the typical length (1/5 to 5 boxes, squared) explains
NEGLIGIBLE = (
    1e-4  # a second derivative of this share stays below 1% where the field varies over a tenth of the box
)
_CHANGES = 20.0  # times that a field may change over the box: ten wavelengths
_POINTS = 64
_MOST_TRIED = 3  # unknown coefficients of which all combinations of ends are tried


class Term(NamedTuple):
    """A term with its root mean square over the box, the order of its derivative (-1 without a field) and its axes."""

    text: str
    size: float
    order: int
    axes: frozenset[str]

    @property
    def of_field(self) -> bool:
        """Whether a field is in it."""
        return self.order >= 0


class Rows(NamedTuple):
    """An equation linearised at typical fields: field, multi-index and coefficient in user units at points."""

    fields: Int[ndarray, " a"]
    derivatives: Int[ndarray, "a d"]
    coefficients: Float[ndarray, "n a"]


def linearised(pde: PDE, space: Space, scale: float) -> Rows:
    """The rows of an equation of one component at points of the box."""
    jet = JetPDE(space, pde)
    scaled = space.scale(space.sobol(_POINTS, seed=23))
    parts = [
        jet.rows(scaled, np.zeros((len(scaled), 1)), reference(jet, scaled, scale, phase)).coefficients
        for phase in range(PHASES)
    ]
    units = np.prod(space.half_width**jet.derivatives, axis=1)
    return Rows(jet.fields, jet.derivatives, np.concatenate(parts) * units)


def terms(pde: PDE, space: Space, scale: float, coefficients: Mapping[str, float]) -> list[Term]:
    """The terms of an equation in text, as they are written."""
    equation = pde.equation
    assert equation is not None
    points = jnp.asarray(space.sobol(_POINTS, seed=23))
    known = [waves(space.dim, scale, number) for number in range(len(equation.fields))]
    found = []
    for of_field, part in ((True, equation.terms), (False, equation.source_terms)):
        for sign, term in part:
            sizes = []
            for phase in range(PHASES if of_field else 1):
                fields = {name: known[j][phase].function(space) for j, name in enumerate(equation.fields)}
                environment = compiled.Environment(equation.scope, fields, coefficients)
                sizes.append(np.asarray(jax.jit(jax.vmap(compiled.function(term, environment)))(points)))
            order = analysis.order_of(term, equation.scope) if of_field else -1
            axes = frozenset(analysis.axes_of(term, equation.scope))
            found.append(Term(("-" if sign < 0 else "") + as_text(term), rms(sizes), order, axes))
    return found


def python_terms(pde: PDE, space: Space, scale: float, rows: Rows, fields: Sequence[str]) -> list[Term]:
    """The coefficient of every derivative, times the typical size of this derivative."""
    wave = 0.5 * np.pi / space.half_width
    found = []
    for number, index, column in zip(rows.fields, rows.derivatives, rows.coefficients.T, strict=True):
        axes = [name for name, times in zip(space.names, index, strict=True) for _ in range(times)]
        size = rms([column]) * scale * float(np.prod(wave**index)) / math.sqrt(2)
        name = fields[number]
        if size > 0:
            text = f"d({', '.join([name, *axes])})" if axes else name
            found.append(Term(text, size, len(axes), frozenset(axes)))
    source = rms([pde.source_at(space.sobol(_POINTS, seed=23))])
    return [*found, *([Term("source", source, -1, frozenset())] if source else [])]


class Excess(NamedTuple):
    """The largest term with a field, how many times it is larger than any other with one, and what is usual."""

    text: str
    ratio: float
    usual: float

    @property
    def is_suspicious(self) -> bool:
        """Whether nothing balances the term."""
        return self.ratio > self.usual


def excess(found: Iterable[Term]) -> Excess:
    """Compare the two largest terms with a field.

    A term of lower order along the same axes is balanced by a field that changes oftener over the box, as waves do.
    """
    of_field = sorted((t for t in found if t.of_field and not math.isnan(t.size)), key=lambda t: -t.size)
    if len(of_field) < 2:
        return Excess("", 1.0, PARTNERLESS)
    first, second = of_field[:2]
    ratio = first.size / second.size if second.size else math.inf
    usual = PARTNERLESS
    if first.axes <= second.axes and first.order < second.order:
        usual = max(usual, _CHANGES ** (second.order - first.order))
    return Excess(first.text, ratio, usual)


def negligible(found: Sequence[Term]) -> list[tuple[str, float]]:
    """Terms with a field that make no difference, with their share of the largest."""
    sizes = [term.size for term in found if term.of_field and not math.isnan(term.size)]
    largest = max(sizes, default=0.0)
    return [(t.text, t.size / largest) for t in found if t.of_field and t.size < NEGLIGIBLE * largest]


def least_excess(pde: PDE, space: Space, scale: float, ranges: Mapping[str, tuple[float, float]]) -> Excess:
    """The one that is most usual at the ends of the ranges of unknown coefficients, of which one may balance it."""
    names = list(ranges)[:_MOST_TRIED]
    middles = {name: middle(*ranges[name]) for name in ranges}
    tried = product(*(ranges[name] for name in names))
    found = (
        excess(terms(pde, space, scale, {**middles, **dict(zip(names, ends, strict=True))})) for ends in tried
    )
    return min(found, key=lambda one: one.ratio / one.usual)


def middle(low: float, high: float) -> float:
    """Of a range: of the logarithm where it is positive."""
    return math.sqrt(low * high) if low > 0 else 0.5 * (low + high)


def rms(values: Iterable[ndarray]) -> float:
    """Root mean square of what is finite, NaN where nothing is."""
    array = np.concatenate([np.ravel(v) for v in values])
    array = array[np.isfinite(array)]
    largest = np.max(np.abs(array), initial=0.0)
    if largest == 0.0:
        return 0.0 if array.size else math.nan
    return float(largest * np.sqrt(np.mean((array / largest) ** 2)))
