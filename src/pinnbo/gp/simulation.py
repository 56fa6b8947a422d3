"""A simulation as prior mean: f = m + delta, m what a simulation says and delta what it misses.

m is evaluated once, on a grid, and interpolated by cubic splines: a simulation may be slow, and need not be written in
JAX. What delta is depends on what else is known.

**Without equations** delta is a process of its own, and the simulation may be wrong by a factor:

    f = m + b (m - mean) / sd + delta,      b of the size of delta:

how far the measurements are from the simulation says how far its size can be relied on.

**Given equations** f is one of their solutions, and so is its mean: the solution that is nearest to m. For a process of
solutions with mean mu and covariance C that is, with points M that fill the box and a small lambda,

    mean(s) = mu(s) + C(s, M) (C(M, M) + lambda)^-1 (m(M) - mu(M)).

Whatever the simulation says that no solution can do is left out; what is left open is as open as before, and the
amplitude says how near the truth is to the simulation. Models with and without it are compared by their evidence
(`pinnbo.ensemble.simulated_family`), so that a wrong simulation is given up.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy import ndarray
from scipy.interpolate import make_interp_spline
from scipy.linalg import cho_factor, cho_solve
from scipy.spatial import cKDTree

from pinnbo.gp.process import FeatureMap, Located, Process
from pinnbo.gp.splines import Splines
from pinnbo.physics.functionals import Functionals
from pinnbo.space import Space

MOST_AXES = 5

_N_GRID = {1: 129, 2: 33, 3: 13, 4: 7, 5: 5}  # points along an axis
_DEGREE = 3
_N_NEAREST = 256
_RIDGE = 1e-6  # lambda, times the mean variance: what solutions miss of m by a thousandth is not followed
_FEATURES = 2


@dataclass(frozen=True, eq=False)
class Simulation:
    """m as a spline of the scaled box, in user units, and its mean and standard deviation over the box."""

    splines: Splines
    coefficients: Float[ndarray, " q"]
    points: Float[ndarray, "m d"]  # scaled, where the space is
    mean: float = 0.0
    spread: float = 1.0

    @classmethod
    def of(cls, space: Space, function: Callable[[Any], Any]) -> Simulation:
        """Evaluate a function of x, a 1-D array, on a grid of the box."""
        if not callable(function):
            raise TypeError(f"mean: expected a function of x that gives a number, got {function!r:.60}")
        if space.dim > MOST_AXES:
            raise ValueError(
                f"mean: a simulation can be used in at most {MOST_AXES} coordinates, got {space.dim}"
            )
        n = _N_GRID[space.dim]
        axis = np.linspace(-1.0, 1.0, n)
        grid = np.stack(np.meshgrid(*[axis] * space.dim, indexing="ij"), axis=-1).reshape(-1, space.dim)
        table = _evaluated(function, space, grid).reshape((n,) * space.dim)
        splines = Splines(space.dim, n - 1, _DEGREE)
        inverse = _to_coefficients(axis)
        for number in range(space.dim):
            table = np.moveaxis(np.tensordot(inverse, table, axes=(1, number)), 0, number)
        found = cls(splines, table.ravel(), space.scale(space.sobol(_N_NEAREST, seed=6)))
        values = found.at(found.points)
        return replace(found, mean=float(np.mean(values)), spread=float(np.std(values)))

    def at(self, scaled: Float[ndarray, "n d"], index: tuple[int, ...] | None = None) -> Float[ndarray, " n"]:
        """m at scaled points, or a derivative of it."""
        return self.splines.field(scaled, self.coefficients, index or (0,) * self.splines.dim)

    def of_functionals(self, functionals: Functionals) -> Float[ndarray, " n"]:
        """L_j[m]."""
        return np.asarray(self.splines.matrix(functionals) @ self.coefficients)

    def fingerprint(self, space: Space) -> list[float]:
        """What it is recognised by after a restart."""
        return self.at(space.scale(space.sobol(8, seed=5))).tolist()

    def as_mean(self, process: Process) -> Process | None:
        """The process with this mean; None where it cannot have it."""
        symmetric = process.kernel is not None and process.kernel.images is not None
        if not process.has_physics and not symmetric:
            return self._added(process)
        return self._nearest(process)

    def _added(self, process: Process) -> Process | None:
        """To a kernel alone: m, and b."""
        if process.kernel is None or len(process.sign):
            return None
        varies = [1.0] if self.spread > 0 else []
        none = np.zeros((len(varies), 2))
        return replace(
            process,
            features=_Simulated(self),
            sign=np.array([*varies, 0.0, 0.0]),
            means=np.concatenate([none, np.eye(2)]),
        )

    def _nearest(self, process: Process) -> Process:
        """The solution of the equations that is nearest to m, as mean."""
        points = self.points
        at = process.locate(points)
        covariance = process.covariance_matrix(points)
        covariance[np.diag_indices_from(covariance)] += _RIDGE * np.trace(covariance) / len(points)
        missing = np.column_stack([self.at(points), np.ones(len(points))]) - at.features @ process.means
        weights = cho_solve(cho_factor(covariance, lower=True), missing)
        on_features = process.means + (at.features * process.sign).T @ weights
        if process.kernel is None:
            return replace(process, means=on_features)
        return replace(
            process,
            features=_AndKernel(process, at, weights),
            sign=np.append(process.sign, np.zeros(_FEATURES)),
            means=np.concatenate([on_features, np.eye(_FEATURES)]),
            holds=None if process.holds is None else np.append(process.holds, np.zeros(_FEATURES)),
        )


@dataclass(frozen=True, eq=False)
class _Simulated(FeatureMap):
    """(m - mean) / sd, if it varies at all, then m and 1."""

    simulation: Simulation

    def __call__(
        self, points: Float[ndarray, "b d"], slopes: bool
    ) -> tuple[Float[ndarray, "b r"], Float[ndarray, "b d r"] | None]:
        """By the splines."""
        values = self._columns(self.simulation.at(points), np.ones(len(points)))
        if not slopes:
            return values, None
        axes = np.eye(points.shape[1], dtype=int).tolist()
        zero = np.zeros(len(points))
        along = [self._columns(self.simulation.at(points, tuple(axis)), zero) for axis in axes]
        return values, np.stack(along, axis=1)

    def knows(self, functionals: Functionals) -> bool:
        """Of one field, as smooth as the splines."""
        return all(field == 0 and sum(index) <= _DEGREE for field, index, _ in functionals.terms)

    def of(self, functionals: Functionals) -> Float[ndarray, "n r"]:
        """Of the splines."""
        return self._columns(self.simulation.of_functionals(functionals), functionals.constant)

    def _columns(self, m: Float[ndarray, " b"], one: Float[ndarray, " b"]) -> Float[ndarray, "b r"]:
        spread = self.simulation.spread
        varies = [(m - self.simulation.mean * one) / spread] if spread > 0 else []
        return np.column_stack([*varies, m, one])


@dataclass(frozen=True, eq=False)
class _AndKernel(FeatureMap):
    """The features of a process with a kernel, then k(s, M) W."""

    process: Process
    at: Located
    weights: Float[ndarray, "m 2"]

    def __call__(
        self, points: Float[ndarray, "b d"], slopes: bool
    ) -> tuple[Float[ndarray, "b r"], Float[ndarray, "b d r"] | None]:
        """Both."""
        kernel, weight = self.process.kernel, self.process.weight
        assert kernel is not None
        values, along = self.process.features(points, slopes)
        own = weight * kernel.values(points, self.at.points) @ self.weights
        values = np.concatenate([values, own], axis=1)
        if along is None:
            return values, None
        moved = weight * kernel.slopes(points, self.at.points) @ self.weights
        return values, np.concatenate([along, moved], axis=2)

    def knows(self, functionals: Functionals) -> bool:
        """As the process."""
        return self.process.knows(functionals)

    def of(self, functionals: Functionals) -> Float[ndarray, "n r"]:
        """Both."""
        kernel, weight = self.process.kernel, self.process.weight
        assert kernel is not None
        own = weight * kernel.covariance(functionals, Functionals.at(self.at.points)) @ self.weights
        return np.concatenate([self.process.features.of(functionals), own], axis=1)


def _evaluated(
    function: Callable[[Any], Any], space: Space, scaled: Float[ndarray, "n d"]
) -> Float[ndarray, " n"]:
    """One by one, as `measure` is called; beside a space that is no box, the value of the nearest place in it."""
    everywhere = space.unscale(scaled)
    inside = np.full(len(scaled), True) if space.is_box else space.is_inside(everywhere)
    if not inside.any():
        raise ValueError(f"mean: the grid that a simulation is evaluated on has no point in {space}")
    points = everywhere[inside]
    try:
        values = np.array([np.asarray(function(x), dtype=float).reshape(()) for x in points])
    except Exception as error:
        said = str(error).strip().split("\n")[0][:120]
        raise ValueError(
            f"mean: expected a function of x that gives a number, got {type(error).__name__}: {said}"
        ) from error
    if not np.isfinite(values).all():
        where = points[int(np.flatnonzero(~np.isfinite(values))[0])].tolist()
        raise ValueError(f"mean: expected finite values on the whole space, got one that is not at {where}")
    return np.asarray(values[cKDTree(scaled[inside]).query(scaled)[1]])


def _to_coefficients(axis: Float[ndarray, " n"]) -> Float[ndarray, "q n"]:
    """From values at the ends of equal cells to the coefficients of `Splines`: a linear map, not-a-knot.

    SciPy's interpolating spline is evaluated at q = n + 2 places and taken apart in our basis there.
    """
    n = len(axis)
    basis = Splines(1, n - 1, _DEGREE)
    size = n - 1 + _DEGREE
    # each function of the basis is the largest one somewhere: at the Greville points the matrix is well conditioned
    step = 2.0 / (n - 1)
    greville = np.clip(-1.0 + step * (np.arange(size) - 1.0), -1.0, 1.0)
    greville[0], greville[1] = -1.0, -1.0 + step / 3.0
    greville[-1], greville[-2] = 1.0, 1.0 - step / 3.0
    matrix = basis.matrix(Functionals.at(greville[:, None])).toarray()
    values = make_interp_spline(axis, np.eye(n), k=_DEGREE)(greville)
    return np.asarray(np.linalg.solve(matrix, values))
