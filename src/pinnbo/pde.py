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
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import checkify
from jaxtyping import Array, Bool, Float
from numpy import ndarray
from numpy.typing import ArrayLike

from pinnbo import mistakes, values
from pinnbo.arguments import suggest_keywords
from pinnbo.knowledge import Unknown, named_fields, parameters, stated_unknowns
from pinnbo.operators import OrderError, Point, ScalarField, derivative_order
from pinnbo.space import Space

if TYPE_CHECKING:
    from pinnbo.equations.check import Report
    from pinnbo.equations.text import Equation

_MAX_REDRAWS = 8
_CHUNK = 256
_FEW = 4  # numbers that a repr shows
_N_PLACES, _LARGE = 4, 1e12
_INDEXING = ("gather", "dynamic_slice")  # what JAX makes of an index that it has to check
_OPERATORS = ("directional:", "derivatives:", "partial:", "laplacian:")


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
        self._source: Callable[..., Any] = source if callable(source) else self._constant_source(source)
        self._shown_source: str = _shown(source)

    @classmethod
    @suggest_keywords
    def parse(
        cls,
        text: Any,
        space: Space,
        *,
        fields: Sequence[str] | None = None,
        constants: Mapping[str, float] | None = None,
        tables: Mapping[str, Any] | None = None,
        unknowns: Iterable[str] | None = None,
        places: Mapping[str, Any] | None = None,
        time: str | None = None,
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
        laplacian, grad and div leave out; by default one called t or time. ``points``, ``noise`` and ``name`` are
        those of `PDE`. docs/equations.md has the notation.
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
        parts = self._known()
        parts.append(f"source {self._shown_source}")
        if self.noise:
            parts.append(f"noise {self.noise:g}")
        if self.points is not None:
            parts.append(f"at {len(self.points)} points of its own")
        return f"<PDE {self.name!r}: {', '.join(parts)}>"

    def __str__(self) -> str:
        return repr(self) if self.equation is None else str(self.equation)

    def _repr_latex_(self) -> str | None:
        return None if self.equation is None else f"$\\displaystyle {self.equation.latex()}$"

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
        image = self.operator(*fields, **given)
        if not callable(image):
            raise TypeError(
                f"{self.name}: operator must return a function of x, got {type(image).__name__}; "
                "write PDE(lambda f: lambda x: ...) or return one of pinnbo.operators"
            )

        def value(x: Point) -> Float[Array, " k"]:
            found = image(x)
            mistakes.refuse_functions(f"{self.name}: operator", found)
            out = jnp.asarray(found)
            if jnp.issubdtype(out.dtype, jnp.complexfloating):
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
        probes = _probes(len(self.indices), _extent(space))
        try:
            self.order(space)
        except OrderError as error:
            raise ValueError(f"{self.name}: {error}") from None
        except Exception:
            pass  # said more clearly of a plain evaluation, below
        try:
            jax.eval_shape(self.apply(*probes), _abstract_point(space))
            coefficients = self._of(self._own_keywords, {})
            image = jax.eval_shape(
                lambda x: jnp.asarray(self.operator(*probes, **coefficients)(x)), _abstract_point(space)
            )
        except Exception as error:
            raise self._unusable("operator", error) from error
        if not jnp.issubdtype(image.dtype, jnp.floating) and not jnp.issubdtype(image.dtype, jnp.integer):
            raise TypeError(f"{self.name}: operator must give real numbers, got {image.dtype}")
        if image.ndim > 1:
            raise ValueError(
                f"{self.name}: operator must give a scalar or a vector at a point, got shape {image.shape}"
            )
        k = self._once("n_equations", space, lambda _: image.size)
        self._check_indices(self.operator(*probes, **coefficients), space.centre, "operator")
        points = space.sobol(2, seed=3) if self.points is None else self.points[:2]
        if self.points is not None:
            space.as_points(self.points, f"{self.name}: points")
        try:
            source = self.source_at(points)
        except Exception as error:
            raise self._unusable("source", error) from error
        given = self._of(self._source_keywords, {})
        self._check_indices(lambda x: self._source(x, **given), points[0], "source")
        if source.shape[1] not in (1, k):
            raise ValueError(
                f"{self.name}: source must have the operator's shape ({k},) at a point, got ({source.shape[1]},)"
            )

    def _check_indices(self, function: Callable[[Point], Any], point: ndarray, what: str) -> None:
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
            raise ValueError(
                f"{self.name}: {what} has an index that is out of range at x of {x.size}: {where}"
            )

    def check_local(self, space: Space) -> None:
        """Raise if N[f](x) depends on f elsewhere than at x, as an average or a reflection does.

        A term is added to a probe function that is zero at x with all its derivatives up to the seventh, and large
        everywhere else: N must not change.
        """
        points = space.sobol(_N_PLACES, seed=19) if self.points is None else self.points[:_N_PLACES]
        box = _extent(space)
        plain, disturbed = (np.asarray(_disturbed_image(self, box, points, size)) for size in (0.0, _LARGE))
        usable = np.isfinite(plain)
        size = np.max(np.abs(plain), where=usable, initial=0.0)
        with np.errstate(invalid="ignore"):
            moved = usable & ~(np.abs(disturbed - plain) <= 1e-6 * size)
        if moved.any():
            where = np.round(points[int(np.flatnonzero(moved.any(axis=1))[0])], 6).tolist()
            raise ValueError(
                f"{self.name}: operator must take f and its derivatives at x alone, but at x = {where} its value "
                "depends on f elsewhere"
            )

    def _unusable(self, what: str, error: Exception) -> Exception:
        said = str(error).strip().split("\n")[0]
        if isinstance(error, ValueError | TypeError) and said.startswith((self.name, *_OPERATORS)):
            return type(error)(said)  # a sentence of ours
        kind = TypeError if isinstance(error, TypeError) else ValueError
        mistake = mistakes.sentence(what, error)
        if mistake is not None:
            return kind(f"{self.name}: {mistake}")
        return kind(
            f"{self.name}: {what} fails at a point of the box with {type(error).__name__}: {said[:200]}; "
            "write it with jax.numpy and pinnbo.operators, without if on values of x"
        )

    def n_equations(self, space: Space) -> int:
        """Number k of equations, found by tracing the operator."""
        return self._once("n_equations", space, self._count_equations)

    def order(self, space: Space) -> int:
        """How many times the operator differentiates f."""
        return self._once("order", space, lambda s: derivative_order(self.all_as, _abstract_point(s)))

    def is_linear(self, space: Space) -> bool:
        """Whether N[f + g] - N[f] does not depend on f, judged at probe functions and points."""
        return self._once("is_linear", space, self._judge_linear)

    def _once(self, what: str, space: Space, find: Callable[[Space], Any]) -> Any:
        if (what, space) not in self._found:
            self._found[what, space] = find(space)
        return self._found[what, space]

    def _count_equations(self, space: Space) -> int:
        return int(jax.eval_shape(self.all_as(_probe(_extent(space))), _abstract_point(space)).shape[0])

    def _judge_linear(self, space: Space) -> bool:
        points = space.sobol(16, seed=11)

        def value(a: float, b: float) -> ndarray:
            return self._of_probes(space, points, a, b)

        curvature = value(1.0, 1.0) - value(1.0, 0.0) - value(0.0, 1.0) + value(0.0, 0.0)
        size = np.abs(value(1.0, 1.0)) + np.abs(value(1.0, 0.0)) + np.abs(value(0.0, 1.0))
        usable = np.isfinite(curvature) & np.isfinite(size)
        return bool(np.all(np.abs(curvature[usable]) <= 1e-9 * (size[usable] + 1e-300)))

    def depends_on(self, space: Space, fields: Sequence[str]) -> list[str]:
        """Which of the problem's fields change N, judged at probe functions and points."""
        points = jnp.asarray(space.sobol(8, seed=5))
        first, second = (_probes(len(self.indices), _extent(space), shift) for shift in (0.0, 0.7))

        def image(probes: Sequence[ScalarField]) -> ndarray:
            return np.asarray(jax.jit(jax.vmap(self.apply(*probes)))(points))

        usual = image(first)
        changed = [
            not np.array_equal(image([*first[:i], second[i], *first[i + 1 :]]), usual, equal_nan=True)
            for i in range(len(self.indices))
        ]
        return [fields[index] for index, does in zip(self.indices, changed, strict=True) if does]

    def responds_to(self, space: Space, unknown: Unknown) -> bool:
        """Whether a coefficient changes N or g, judged at a probe function and points."""
        if unknown.name not in self.coefficients:
            return False
        points = space.sobol(8, seed=5) if self.points is None else self.points[:8]

        def image(value: float) -> ndarray:
            given = {unknown.name: value}
            operator = self.apply(*_probes(len(self.indices), _extent(space)), **given)
            return np.asarray(jax.vmap(operator)(jnp.asarray(points))) - self.source_at(points, **given)

        values = [image(unknown.at(share)) for share in (0.0, 0.4, 1.0)]
        return any(not np.array_equal(values[0], other, equal_nan=True) for other in values[1:])

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
        source = self.source_at(own if isinstance(self._source, _Tabulated) else points)
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

    def _tabulated_at(self, points: ndarray) -> ndarray | None:
        """The table of the source, if these are all of its points: a point that is there twice has two readings."""
        if isinstance(self._source, _Tabulated) and np.array_equal(points, self._source.points):
            return self._source.values
        return None

    def source_curvature(self, points: Float[ndarray, "n d"]) -> Float[ndarray, "m d d"]:
        """Second derivatives of g, a matrix per point and equation; none where the source is not written in JAX."""
        d = points.shape[1]
        try:
            given = self._of(self._source_keywords, {})
            curvature = jax.hessian(lambda x: jnp.asarray(self._source(x, **given), dtype=float))
            found = jax.jit(jax.vmap(curvature))(jnp.asarray(points))
        except (jax.errors.JAXTypeError, TypeError, AttributeError):
            return np.zeros((0, d, d))
        return np.asarray(found).reshape(-1, d, d)

    @cached_property
    def _compiled_source(self) -> Callable[[Array, dict[str, Any]], Array]:
        def source(x: Point, given: dict[str, Any]) -> Array:
            return jnp.asarray(self._source(x, **given), dtype=float)

        return jax.jit(jax.vmap(source, in_axes=(0, None)))

    def _constant_source(self, source: Any) -> Callable[[Point], Any]:
        try:
            values = np.asarray(source, dtype=float)
        except (TypeError, ValueError):
            raise TypeError(
                f"{self.name}: source must be a number, an array or a function of x, got {source!r:.60}"
            ) from None
        if not np.isfinite(values).all():
            raise ValueError(f"{self.name}: source must be finite, got {source!r:.60}")
        if self.points is None or values.ndim == 0 or self._is_per_equation(values, self.points):
            return lambda x: jnp.asarray(values)
        return _Tabulated(self.points, values)

    def _is_per_equation(self, values: ndarray, points: Float[ndarray, "r d"]) -> bool:
        """Whether an array is one number per equation, and not a table with one row per point."""
        n = len(points)
        if values.ndim > 1:
            if len(values) == n:
                return False
            raise ValueError(
                f"{self.name}: source must have one value per point ({n}), got shape {values.shape}"
            )
        k = self.n_equations(Space.box(-np.ones(points.shape[1]), np.ones(points.shape[1])))
        if k == n and len(values) == k and not np.all(values == values[0]):
            raise ValueError(
                f"{self.name}: source may be one value per point or one per equation, of which there are {k} each; "
                f"expected shape ({n}, {k}) instead, got {values.shape}"
            )
        if len(values) not in (n, k):
            raise ValueError(
                f"{self.name}: source must have one value per point ({n}) or per equation ({k}), "
                f"got shape {values.shape}"
            )
        return len(values) == k

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
        return in_chunks(lambda chunk: _probe_image(self, _extent(space), chunk, a, b), points)

    def _complaint(self, points: ndarray, source: ndarray, finite: ndarray) -> str:
        worst = int(np.flatnonzero(~finite)[0])
        what = "operator" if np.isfinite(source[worst]).all() else "source"
        return f"the {what} is not finite at collocation point {np.round(points[worst], 6).tolist()}"


class _Tabulated:
    """A source known only at the PDE's own points."""

    def __init__(self, points: ndarray, values: ndarray) -> None:
        self.points, self.values = points, values
        self._table = {point.tobytes(): value for point, value in zip(points, values, strict=True)}

    def __call__(self, x: Any) -> Any:
        return self._table[np.asarray(x, dtype=float).tobytes()]


def _shown(source: Any) -> str:
    """A source in a few words, for people."""
    if callable(source):
        return "a function of x"
    size = np.size(source)
    return str(source) if size <= _FEW else f"a table of {size} values"


def _as_table(points: ArrayLike, name: str) -> Float[ndarray, "r d"]:
    try:
        table = np.atleast_2d(np.asarray(points, dtype=float))
    except (TypeError, ValueError):
        raise TypeError(f"{name}: points must be numbers of shape (n, d), got {points!r:.60}") from None
    if table.ndim != 2 or len(table) == 0:
        raise ValueError(f"{name}: points must have shape (n, d), got {np.shape(points)}")
    return table


def as_physics(pde: PDE | Iterable[PDE] | None) -> tuple[PDE, ...]:
    """Normalise the `pde` argument: one PDE, several (a condition is a PDE with its own points), or none."""
    if not isinstance(pde, PDE | Iterable | None):
        raise TypeError(f"pde: expected a PDE, a list of PDEs or None, got {type(pde).__name__}")
    equations = () if pde is None else (pde,) if isinstance(pde, PDE) else tuple(pde)
    for equation in equations:
        if not isinstance(equation, PDE):
            raise TypeError(
                f"pde: expected a PDE, a list of PDEs or None, got {type(equation).__name__} in it"
            )
    return equations


class Problem(NamedTuple):
    """The equations with all of their fields, the measured one first, and the coefficients that are unknown."""

    physics: tuple[PDE, ...]
    fields: tuple[str, ...]
    unknowns: tuple[Unknown, ...]

    def check(self, space: Space) -> None:
        """Refuse a field, or a coefficient, that no equation depends on."""
        if len(self.fields) == 1 and not self.unknowns:
            return
        touched = {name for pde in self.physics for name in pde.depends_on(space, self.fields)}
        for name in self.fields:
            if name not in touched:
                raise ValueError(f"pde: expected an equation that depends on the field {name!r}, got none")
        for unknown in self.unknowns:
            if not any(pde.responds_to(space, unknown) for pde in self.physics):
                raise ValueError(
                    f"unknowns: expected an equation that depends on the coefficient {unknown.name!r}, got none"
                )


def as_problem(
    physics: tuple[PDE, ...], measures: str | None = None, unknowns: Mapping[str, Any] | None = None
) -> Problem:
    """Say of every equation which of the fields it is about, and which coefficients have which prior."""
    fields = named_fields([pde.fields for pde in physics], measures)
    needed = {name: pde.name for pde in physics for name, default in pde.coefficients.items() if not default}
    optional = [name for pde in physics for name in pde.coefficients if name not in needed]
    found = stated_unknowns(unknowns, needed, optional)
    return Problem(tuple(pde.among(fields, found) for pde in physics), fields, found)


def _abstract_point(space: Space) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct((space.dim,), jnp.dtype(float))


def in_chunks(function: Callable[[Array], Array], points: Float[ndarray, "n d"]) -> Float[ndarray, "n ..."]:
    """A function of many points by chunks of one size: compiled once, whatever their number."""
    found = []
    for start in range(0, max(1, len(points)), _CHUNK):
        chunk = points[start : start + _CHUNK]
        padded = np.concatenate([chunk, np.repeat(chunk[-1:], _CHUNK - len(chunk), axis=0)])
        found.append(np.asarray(function(jnp.asarray(padded)))[: len(chunk)])
    return np.concatenate(found)


@partial(jax.jit, static_argnums=0)
def _probe_image(
    pde: PDE, box: tuple[Array, Array], points: Float[Array, "n d"], a: Array | float, b: Array | float
) -> Float[Array, "n k"]:
    """N of a combination of probe functions, compiled once for a PDE."""
    first, second = (_probes(len(pde.indices), box, shift) for shift in (0.0, 0.7))
    pairs = zip(first, second, strict=True)
    return jax.vmap(pde.apply(*(_combined(a, f, b, g) for f, g in pairs)))(points)


@partial(jax.jit, static_argnums=0)
def _disturbed_image(
    pde: PDE, box: tuple[Array, Array], points: Array | ndarray, size: Array | float
) -> Float[Array, "n k"]:
    """N at points z of a probe function with the term size |s - s_z|^8 (1 + 0.3 sum(s - s_z)), s in scaled units."""
    probe = _probe(box)

    def at(z: Point) -> Float[Array, " k"]:
        def disturbed(x: Point) -> Float[Array, ""]:
            step = (x - z) / box[1]
            square = jnp.sum(step * step)
            fourth = square * square
            return probe(x) + size * (fourth * fourth * (1.0 + 0.3 * jnp.sum(step)))

        return pde.all_as(disturbed)(z)

    return jax.vmap(at)(jnp.asarray(points))


def _extent(space: Space) -> tuple[Array, Array]:
    return jnp.asarray(space.centre), jnp.asarray(space.half_width)


def _probes(n: int, box: tuple[Array, Array], shift: Array | float = 0.0) -> list[ScalarField]:
    """One probe function per field, all different."""
    return [_probe(box, shift + 1.3 * number if number else shift) for number in range(n)]


def _combined(a: Array | float, f: ScalarField, b: Array | float, g: ScalarField) -> ScalarField:
    return lambda x: a * f(x) + b * g(x)


def _probe(box: tuple[Array, Array], shift: Array | float = 0.0) -> ScalarField:
    """A smooth function without symmetries, of unit size on the box."""
    centre, half = box
    dim = len(centre)
    weights = jnp.cos(1.0 + jnp.arange(dim, dtype=float)) + 1.3

    def probe(x: Point) -> Float[Array, ""]:
        s = (x - centre) / half
        return jnp.sin(jnp.dot(weights, s) / jnp.sqrt(dim) + shift) + 0.3 * jnp.cos(jnp.sum(s * s) + shift)

    return probe
