"""``turbo``: TuRBO-1, Bayesian optimisation in one trust region that grows with success and shrinks with
failure.

The region is a box around the best point, its sides in proportion to the kernel's length scales. A point is
the minimiser of a Thompson sample over candidates in it, of which few coordinates differ from the centre
when there are many. When the region has become too small, everything is forgotten and a new one begins with
a design of its own.

The state of the region follows from the measurements in their order, and is found again from them.

Reference
---------
D. Eriksson, M. Pearce, J. R. Gardner, R. Turner, M. Poloczek, "Scalable global optimization via local
Bayesian optimization" (2019).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from pinnbo.baselines.gaussian_process import GaussianProcess, in_unit_cube
from pinnbo.baselines.library import require
from pinnbo.baselines.proposals import n_designed, set_apart
from pinnbo.data import Data
from pinnbo.methods.base import Engine, Method, Prediction, Task

_LONGEST, _SHORTEST = 1.6, 0.5**7
# an improvement by less than this share of the best value is none
_SUFFICIENT = 1e-3
# how many coordinates of a candidate differ from the centre, on average
_MOVED = 20


@dataclass(frozen=True)
class TuRBO(Method):
    """Settings of the region, as published: its first side ``length`` in a cube of side one, and the
    successes that double it.

    It is halved after as many failures as there are parameters, at least four. ``candidates`` is the
    largest number of points at which a sample is drawn, 100 per parameter up to then.
    """

    name: ClassVar[str] = "turbo"

    length: float = 0.8
    successes: int = 3
    candidates: int = 2000

    def __post_init__(self) -> None:
        if not _SHORTEST < self.length <= _LONGEST:
            raise ValueError(
                f"turbo: length must lie between {_SHORTEST:.2g} and {_LONGEST}, got {self.length}"
            )
        for name in ("successes", "candidates"):
            if getattr(self, name) < 1:
                raise ValueError(f"turbo: {name} must be at least 1, got {getattr(self, name)}")

    def start(self, task: Task) -> Engine:
        """Begin; the physics is not used."""
        return _TuRBOEngine(self, task)


@dataclass(frozen=True)
class Region:
    """A trust region: its first measurement, the size of its design, its side, and what it counts."""

    first: int
    design: int
    length: float
    successes: int = 0
    failures: int = 0
    best: float = math.inf

    def told(self, value: float, number: int, settings: TuRBO, dim: int) -> Region:
        """After the measurement with the given number, of a value to be minimised."""
        better = value < self.best - _SUFFICIENT * abs(self.best) if math.isfinite(self.best) else True
        now = replace(self, best=min(self.best, value))
        if number < self.first + self.design:
            return now
        now = replace(
            now, successes=self.successes + 1 if better else 0, failures=0 if better else self.failures + 1
        )
        if now.successes == settings.successes:
            return replace(now, length=min(2.0 * now.length, _LONGEST), successes=0)
        if now.failures == max(4, dim):
            now = replace(now, length=0.5 * now.length, failures=0)
        if now.length < _SHORTEST:
            return Region(number + 1, self.design, settings.length)
        return now


def replay(values: Float[ndarray, " n"], design: int, settings: TuRBO, dim: int) -> Region:
    """The region after the values, in their order; they are to be minimised."""
    region = Region(0, design, settings.length)
    for number, value in enumerate(values.tolist()):
        region = region.told(value, number, settings, dim)
    return region


class _TuRBOEngine(Engine):
    def __init__(self, settings: TuRBO, task: Task) -> None:
        require("turbo", "torch", "botorch")
        self._settings, self._task = settings, task
        self._fitted: tuple[Data, GaussianProcess] | None = None

    def suggest(
        self, data: Data, pending: Float[ndarray, "q d"], n: int, index: int
    ) -> Float[ndarray, "n d"]:
        """Design points while the region has too few, minimisers of samples afterwards."""
        region = self._region(data)
        chosen = np.zeros((0, self._task.space.dim))
        for number in range(n):
            known = np.concatenate([pending, chosen])
            place = len(data.values) - region.first + len(known)
            rng = self._task.rng(5, index + number)
            if place < region.design or len(data.values) == region.first:
                seed = [self._task.seed, 8, region.first]
                proposal = self._task.space.sobol(place + 1, seed)[place]
            else:
                proposal = self._sampled(region, data, rng)
            chosen = np.vstack([chosen, set_apart(self._task, proposal, data, known, rng)])
        return chosen

    def predict(self, data: Data, points: Float[ndarray, "n d"]) -> Prediction:
        """The posterior of all measurements, not only of those in the region."""
        if len(data.values) == 0:
            return Prediction(np.zeros(len(points)), np.ones(len(points)))
        return GaussianProcess.fit(self._task, data, "matern").predict(points)

    def diagnostics(self, data: Data) -> dict[str, Any]:
        """The region."""
        region = self._region(data)
        return {
            "model": "Matern-5/2 in a trust region",
            "region_side": region.length,
            "region_measurements": len(data.values) - region.first,
        }

    def _region(self, data: Data) -> Region:
        design = n_designed(self._task, data) or self._settings.default_initial(self._task)
        return replay(self._task.sign * data.values, design, self._settings, self._task.space.dim)

    def _sampled(self, region: Region, data: Data, rng: np.random.Generator) -> Float[ndarray, " d"]:
        """The minimiser of one sample over candidates in the region."""
        first = region.first
        inside = Data(data.points[first:], data.values[first:], data.noise[first:], data.infeasible)
        belief = self._fit(inside)
        best = int(np.argmin(self._task.sign * inside.values))
        centre = in_unit_cube(self._task, inside.points)[best]
        scales = belief.model.covar_module.base_kernel.lengthscale.detach().numpy().ravel()
        sides = region.length * scales / np.exp(np.mean(np.log(scales)))
        lower, upper = np.clip(centre - sides / 2, 0.0, 1.0), np.clip(centre + sides / 2, 0.0, 1.0)
        d = len(centre)
        count = min(100 * d, self._settings.candidates)
        candidates = lower + (upper - lower) * rng.random((count, d))
        moved = rng.random((count, d)) < min(1.0, _MOVED / d)
        still = ~moved.any(axis=1)
        moved[still, rng.integers(0, d, int(still.sum()))] = True
        candidates = np.where(moved, candidates, centre)
        sample = belief.sample(candidates, rng)
        return self._task.space.unscale(2.0 * candidates[int(np.argmin(sample))] - 1.0)

    def _fit(self, data: Data) -> GaussianProcess:
        if self._fitted is None or not (data.extends(self._fitted[0]) and self._fitted[0].extends(data)):
            self._fitted = (data, GaussianProcess.fit(self._task, data, "matern"))
        return self._fitted[1]
