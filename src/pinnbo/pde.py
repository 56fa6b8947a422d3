"""The physics: a differential equation N[f](x) = g(x) that the black box obeys.

Notation
--------
=========  =====================================================  ============
symbol     meaning                                                shape
=========  =====================================================  ============
N          operator: takes f, gives a function of x
g          source, u_j = g(z_j) + eta_j its values                (k,) per point
z_j        collocation points                                     (N_r, d)
k          number of equations (1 unless N is vector valued)
=========  =====================================================  ============
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float
from numpy import ndarray
from numpy.typing import ArrayLike

from pinnbo import mistakes, naming, sources, trying, values
from pinnbo.arguments import suggest_keywords
from pinnbo.chunks import in_chunks
from pinnbo.knowledge import Unknown, parameters
from pinnbo.operators import Point, ScalarField, derivative_order
from pinnbo.probes import abstract_point, extent, probe_function, probe_image
from pinnbo.space import Space

if TYPE_CHECKING:
    from pinnbo.equations.check import Report
    from pinnbo.equations.text import Equation
    from pinnbo.symmetry import Reflection

_MAX_REDRAWS = 8


class Collocation(NamedTuple):
    """Collocation points with the source there: u_j = g(z_j), one column per equation."""

    points: Float[ndarray, "r d"]
    source: Float[ndarray, "r k"]


class PDE:
    """N[f](x) = g(x), e.g. ``PDE(lambda f: laplacian(f), source=0.0)``.

    ``operator`` takes the field f (a scalar function of a 1-D array) and returns a function of x that gives a
    scalar, or a vector for a system of equations. It may contain f itself and x, and need not be linear.
    ``source`` is a number, a vector (one number per equation), a callable of x, or, with ``points``, an array
    of values at these points, (n,) or (n, k). ``noise`` is the standard deviation of the source's values (the
    paper's R2). ``points`` fixes the collocation points (n, d); without it they are drawn from a Sobol sequence
    over the box. `PDE.parse` reads an equation in text instead.

    Several fields are the operator's required positional parameters, by name: ``PDE(lambda T, psi: lambda x: ...)``;
    one alone stands for the field that is measured. ``fields`` says otherwise. Keyword-only parameters of operator or
    source are unknown coefficients, ``PDE(lambda T, *, alpha: ...)``: the Optimizer is told their ranges.
    """

    equation: Equation | None = None  # what was parsed, if it came as text
    reflections: tuple[
        Reflection, ...
    ] = ()  # of a symmetry (`pinnbo.symmetry`), which compares f at two places

    @suggest_keywords
    def __init__(
        self,
        operator: Callable[..., Callable[[Point], Array]],
        source: float | ArrayLike | Callable[[Point], Any] = 0.0,
        *,
        noise: float = 0.0,
        points: ArrayLike | None = None,
        fields: Sequence[str] | None = None,
        name: str | None = None,
    ) -> None:
        self.name = name or "PDE"
        if not callable(operator):
            raise TypeError(f"{self.name}: operator must be a function of the field f, got {operator!r:.60}")
        deviation = values.deviation(noise, f"{self.name}: noise")
        self.operator: Callable[..., Callable[[Point], Array]] = operator
        self._axes = naming.AxisNames()
        signature = parameters(operator)
        self.fields: tuple[str, ...] | None = self._named(fields, signature.positional)
        self._own_keywords: dict[str, bool] = signature.keywords
        self._source_keywords: dict[str, bool] = parameters(source).keywords if callable(source) else {}
        self.indices: tuple[int, ...] = tuple(range(len(self.fields or ("f",))))  # among those of the problem
        self._typical: dict[str, float] = {
            name: 1.0 for name, default in self.coefficients.items() if not default
        }
        self.noise: float = deviation
        self._found: dict[tuple[str, Space], Any] = {}  # what tracing the operator has shown
        self.points: Float[ndarray, "r d"] | None = None if points is None else _as_table(points, self.name)
        self._source: Callable[..., Any] = sources.as_function(source, self.name, self.points, self._count_in)
        self._shown_source: str = sources.shown(source)

    @classmethod
    @suggest_keywords
    def parse(
        cls,
        text: Any,
        space: Space,
        *,
        fields: Sequence[str] | None = None,
        constants: Mapping[str, float | str] | None = None,
        tables: Mapping[str, Any] | None = None,
        unknowns: Iterable[str] | None = None,
        places: Mapping[str, Any] | None = None,
        time: str | None = None,
        units: Mapping[str, str] | None = None,
        points: ArrayLike | None = None,
        noise: float = 0.0,
        name: str | None = None,
    ) -> PDE | list[PDE]:
        """An equation in text, such as ``PDE.parse("laplacian(T) = 0", space)``.

        Several lines, or a list of texts or of SymPy equations, give a list: equations, and conditions with their
        place (``T = 20 on y = 0``). Further lines define constants (``k = 0.3``) and helper functions
        (``EI(x) = exp(x)/rho(x)``). Derivatives are taken of the ``fields``, which need naming only where the text
        leaves that open. ``constants`` are numbers, ``tables`` functions (or two columns, places and values) by
        name; every other name is an unknown coefficient, and has to be among ``unknowns`` if these are given.
        ``places`` names places of conditions: a text such as "y = 0", or points. ``time`` is the axis that
        laplacian, grad and div leave out; by default one called t or time. ``units`` are those of axes and fields,
        ``{"x": "m", "t": "s"}``: constants and numbers with units of their own (``"12 mm2/s"``, ``5[mm]`` in the text)
        are brought into them, and `check` compares the units of the terms. ``points``, ``noise`` and ``name`` are
        those of `PDE`. docs/guide/equations.md has the notation.
        """
        from pinnbo.equations import text as equations

        found = equations.parse(
            text,
            space,
            fields=fields,
            constants=constants,
            tables=tables,
            unknowns=unknowns,
            places=places,
            time=time,
            units=units,
            points=points,
            noise=noise,
            name=name,
        )
        return found[0] if len(found) == 1 else found

    def check(
        self,
        space: Space,
        *,
        scale: float = 1.0,
        solution: Callable[[Point], Any] | Mapping[str, Callable[[Point], Any]] | None = None,
        unknowns: Mapping[str, tuple[float, float]] | None = None,
    ) -> Report:
        """Look at the equation before the first experiment; prints as one screen.

        ``scale`` is the typical size of the field, ``solution`` a function that is known to obey the equation (one by
        name for several fields), ``unknowns`` the ranges of unknown coefficients.
        """
        from pinnbo.equations import check

        return check.check(self, space, scale=scale, solution=solution, unknowns=unknowns)

    def __repr__(self) -> str:
        return f"<PDE {self.name!r}: {self._properties}>"

    def __str__(self) -> str:
        if self.reflections:
            return self.name
        return repr(self) if self.equation is None else str(self.equation)

    def _repr_latex_(self) -> str | None:
        return None if self.equation is None else f"$\\displaystyle {self.equation.latex()}$"

    @property
    def in_words(self) -> str:
        """The equation as it was written; of one in Python its name and its properties."""
        if self.equation is None and not self.reflections:
            return f"{self.name} ({self._properties})"
        return str(self)

    @property
    def _properties(self) -> str:
        parts = self._known()
        parts.append(f"source {self._shown_source}")
        if self.noise:
            parts.append(f"noise {self.noise:g}")
        if self.points is not None:
            parts.append(f"at {len(self.points)} points of its own")
        return ", ".join(parts)

    def _known(self) -> list[str]:
        """Order, linear or not, fields and unknown coefficients, as far as they are known without a box."""
        equation = self.equation
        if equation is not None:
            parts = [f"order {equation.order}", "linear" if equation.is_linear else "nonlinear"]
            parts.append(("field " if len(equation.fields) == 1 else "fields ") + ", ".join(equation.fields))
            if equation.unknowns:
                parts.append(f"unknown {', '.join(equation.unknowns)}")
            return parts
        traced = {what: value for (what, _), value in self._found.items()}
        parts = [f"order {traced['order']}"] if "order" in traced else []
        if "is_linear" in traced:
            parts.append("linear" if traced["is_linear"] else "nonlinear")
        return parts

    def _named(self, fields: Sequence[str] | None, positional: tuple[str, ...]) -> tuple[str, ...] | None:
        """The operator's fields by name; None for one that stands for the measured field."""
        if fields is None:
            return positional if len(positional) > 1 else None
        names = (fields,) if isinstance(fields, str) else tuple(fields)
        if not names or any(not isinstance(n, str) for n in names) or len(set(names)) < len(names):
            raise ValueError(f"{self.name}: fields must be different names, got {fields!r:.60}")
        if len(positional) > 0 and len(names) != len(positional):
            raise ValueError(
                f"{self.name}: fields must name the operator's {len(positional)} parameters "
                f"{', '.join(positional)}, got {', '.join(names)}"
            )
        return names

    @property
    def coefficients(self) -> dict[str, bool]:
        """Keyword-only parameters of operator and source, and whether all that take it have a default."""
        names = [*self._own_keywords, *self._source_keywords]
        return {
            name: self._own_keywords.get(name, True) and self._source_keywords.get(name, True)
            for name in names
        }

    @property
    def unknowns(self) -> tuple[str, ...]:
        """The coefficients that have to be given, or are unknown."""
        return tuple(self._typical)

    def among(self, fields: Sequence[str], unknowns: Sequence[Unknown]) -> PDE:
        """The equation as one of a problem with these fields and unknowns."""
        mine = {u.name: u.typical for u in unknowns if u.name in self.coefficients}
        indices = (0,) if self.fields is None else tuple(fields.index(name) for name in self.fields)
        if not mine and indices == self.indices:
            return self
        found = copy.copy(self)
        found._found, found._typical, found.indices = {}, mine, indices
        return found

    def apply(self, *fields: ScalarField, **coefficients: Any) -> Callable[[Point], Float[Array, " k"]]:
        """N[f] as a function of x that always returns a vector (k,); typical coefficients where none are given."""
        given = self._of(self._own_keywords, coefficients)
        image = naming.under(self._axes, self.operator)(*fields, **given)
        if not callable(image):
            raise TypeError(
                f"{self.name}: operator must return a function of x, got {type(image).__name__}; "
                "write PDE(lambda f: lambda x: ...) or return one of pinnbo.operators"
            )

        def value(x: Point) -> Float[Array, " k"]:
            found = naming.under(self._axes, image)(x)
            mistakes.refuse_functions(f"{self.name}: operator", found)
            out = jnp.asarray(found)
            if not jnp.issubdtype(out.dtype, jnp.floating) and not jnp.issubdtype(out.dtype, jnp.integer):
                raise TypeError(f"{self.name}: operator must give real numbers, got {out.dtype}")
            out = out.astype(float)
            if out.ndim > 1:
                raise ValueError(
                    f"{self.name}: operator must give a scalar or a vector at a point, got shape {out.shape}"
                )
            return jnp.atleast_1d(out)

        return value

    def _of(self, names: Mapping[str, bool], coefficients: Mapping[str, Any]) -> dict[str, Any]:
        """The coefficients that a function takes."""
        return {n: coefficients.get(n, typical) for n, typical in self._typical.items() if n in names}

    def all_as(self, probe: ScalarField) -> Callable[[Point], Float[Array, " k"]]:
        """N of one function in place of every field."""
        return self.apply(*(probe for _ in self.indices))

    def validate(self, space: Space) -> None:
        """Try the equation on a box: raises one sentence if operator or source cannot be used there."""
        trying.validate(self, space)

    def check_local(self, space: Space) -> None:
        """Raise if N[f](x) depends on f elsewhere than at x, as an average or a reflection does."""
        trying.check_local(self, space)

    def n_equations(self, space: Space) -> int:
        """Number k of equations, found by tracing the operator."""
        return self._once("n_equations", space, self._count_equations)

    def order(self, space: Space) -> int:
        """How many times the operator differentiates f."""
        return self._once("order", space, lambda s: derivative_order(self.all_as, abstract_point(s)))

    def is_linear(self, space: Space) -> bool:
        """Whether N[f + g] - N[f] does not depend on f, judged at probe functions and points."""
        return self._once("is_linear", space, self._judge_linear)

    def use_names(self, space: Space) -> None:
        """Let the operator call the axes by the names of this space."""
        self._axes.learn(self.name, tuple(space.names))

    def _once(self, what: str, space: Space, find: Callable[[Space], Any]) -> Any:
        self.use_names(space)
        if (what, space) not in self._found:
            self._found[what, space] = find(space)
        return self._found[what, space]

    def _count_equations(self, space: Space) -> int:
        return int(jax.eval_shape(self.all_as(probe_function(extent(space))), abstract_point(space)).shape[0])

    def _count_in(self, dim: int) -> int:
        """Number of equations where no space is known yet."""
        return self.n_equations(Space.box(-np.ones(dim), np.ones(dim)))

    def _judge_linear(self, space: Space) -> bool:
        points = space.sobol(16, seed=11)

        def value(a: float, b: float) -> ndarray:
            return self._of_probes(space, points, a, b)

        curvature = value(1.0, 1.0) - value(1.0, 0.0) - value(0.0, 1.0) + value(0.0, 0.0)
        size = np.abs(value(1.0, 1.0)) + np.abs(value(1.0, 0.0)) + np.abs(value(0.0, 1.0))
        usable = np.isfinite(curvature) & np.isfinite(size)
        return bool(np.all(np.abs(curvature[usable]) <= 1e-9 * (size[usable] + 1e-300)))

    def collocation(
        self,
        space: Space,
        n: int,
        seed: int | Sequence[int],
        even: Callable[[ndarray], ndarray] | None = None,
    ) -> Collocation:
        """N_r = n collocation points; drawn ones whose row or source is not finite are drawn again.

        ``even`` moves points that are spread evenly over the scaled box to where they are wanted.
        """
        k = self.n_equations(space)
        if self.points is not None:
            points = space.as_points(self.points, f"{self.name}: points")
            source, finite = self.evaluate(space, points, k)
            if not finite.all():
                raise ValueError(f"{self.name}: {self._complaint(points, source, finite)}")
            return Collocation(points, source)
        seeds = [seed] if isinstance(seed, int) else list(seed)
        kept: list[tuple[ndarray, ndarray]] = []
        for redraw in range(_MAX_REDRAWS):
            points = space.sobol(n, [*seeds, redraw])
            if even is not None:
                points = space.unscale(even(space.scale(points)))
            source, finite = self.evaluate(space, points, k)
            if even is not None and not space.is_box:
                finite &= space.is_inside(points)
            kept.append((points[finite], source[finite]))
            if sum(len(points) for points, _ in kept) >= n:
                break
        else:
            complaint = self._complaint(points, source, finite)
            raise ValueError(f"{self.name}: too few of the drawn collocation points are usable: {complaint}")
        return Collocation(*(np.concatenate(parts)[:n] for parts in zip(*kept, strict=True)))

    def fingerprint(self, space: Space) -> list[float]:
        """What the PDE is recognised by after a restart.

        N of probe functions and g at probe points, the noise, and the points of its own.
        """
        points = space.sobol(8, seed=5)
        rows = [self._of_probes(space, points, *weights) for weights in ((1.0, 0.0), (0.0, 1.0))]
        own = np.zeros((0, space.dim)) if self.points is None else self.points
        source = self.source_at(own if isinstance(self._source, sources.Tabulated) else points)
        values = np.concatenate([np.asarray(rows).ravel(), source.ravel(), [self.noise], own.ravel()])
        named = [float(index) for index in self.indices] if self.fields is not None else []
        return [*named, *np.nan_to_num(values, nan=1e300, posinf=1e301, neginf=-1e301).tolist()]

    def source_at(
        self, points: Float[ndarray, "n d"] | Float[Array, "n d"], **coefficients: float
    ) -> Float[ndarray, "n k"]:
        """g at points, by vmap where the source is written in JAX and point by point otherwise."""
        table = self._tabulated_at(np.asarray(points))
        if table is not None:
            return table.reshape(len(points), -1)
        given = self._of(self._source_keywords, coefficients)
        try:
            values = in_chunks(lambda some: self._compiled_source(some, given), np.asarray(points))
        except (jax.errors.JAXTypeError, TypeError, AttributeError):
            values = np.array([np.asarray(self._source(x, **given), dtype=float) for x in points])
        array = np.asarray(values, dtype=float)
        return array.reshape(len(points), -1)

    def source(self, x: Point) -> Any:
        """g at one point, with typical coefficients."""
        return self._source(x, **self._of(self._source_keywords, {}))

    def _tabulated_at(self, points: ndarray) -> ndarray | None:
        """The table of the source, if these are all of its points: a point that is there twice has two readings."""
        if isinstance(self._source, sources.Tabulated) and np.array_equal(points, self._source.points):
            return self._source.values
        return None

    def source_curvature(self, points: Float[ndarray, "n d"]) -> Float[ndarray, "m d d"]:
        """Second derivatives of g, a matrix per point and equation; none where the source is not written in JAX."""
        d = points.shape[1]
        try:
            curvature = jax.hessian(lambda x: jnp.asarray(self.source(x), dtype=float))
            found = jax.jit(jax.vmap(curvature))(jnp.asarray(points))
        except (jax.errors.JAXTypeError, TypeError, AttributeError):
            return np.zeros((0, d, d))
        return np.asarray(found).reshape(-1, d, d)

    @cached_property
    def _compiled_source(self) -> Callable[[Array, dict[str, Any]], Array]:
        def source(x: Point, given: dict[str, Any]) -> Array:
            return jnp.asarray(self._source(x, **given), dtype=float)

        return jax.jit(jax.vmap(source, in_axes=(0, None)))

    def evaluate(
        self, space: Space, points: Float[ndarray, "n d"], k: int
    ) -> tuple[Float[ndarray, "n k"], Bool[ndarray, " n"]]:
        """The source at points, one column per equation, and where source and operator are finite."""
        source = self.source_at(points)
        if source.shape[1] != k:
            if source.shape[1] != 1:
                raise ValueError(
                    f"{self.name}: source must have the operator's shape ({k},) at a point, "
                    f"got ({source.shape[1]},)"
                )
            source = np.repeat(source, k, axis=1)
        image = self._of_probes(space, points, 1.0, 0.0)
        finite = np.isfinite(source).all(axis=1) & np.isfinite(image).all(axis=1)
        return source, finite

    def _of_probes(
        self, space: Space, points: Float[ndarray, "n d"], a: float, b: float
    ) -> Float[ndarray, "n k"]:
        """N of a combination of two probe functions."""
        self.use_names(space)
        return in_chunks(lambda chunk: probe_image(self, extent(space), chunk, a, b), points)

    def _complaint(self, points: ndarray, source: ndarray, finite: ndarray) -> str:
        worst = int(np.flatnonzero(~finite)[0])
        what = "operator" if np.isfinite(source[worst]).all() else "source"
        return f"the {what} is not finite at collocation point {np.round(points[worst], 6).tolist()}"


def _as_table(points: ArrayLike, name: str) -> Float[ndarray, "r d"]:
    try:
        table = np.atleast_2d(np.asarray(points, dtype=float))
    except (TypeError, ValueError):
        raise TypeError(f"{name}: points must be numbers of shape (n, d), got {points!r:.60}") from None
    if table.ndim != 2 or len(table) == 0:
        raise ValueError(f"{name}: points must have shape (n, d), got {np.shape(points)}")
    return table
