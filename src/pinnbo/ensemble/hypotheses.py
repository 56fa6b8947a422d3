"""Hypotheses about the physics, and models that are tried on data: what is kept of them, and how likely they make it.

A hypothesis has prior odds and groups of families. Its evidence Z is that of its best group, a group's the mean over
its families, a family's the mean over its grid of settings under their prior: a comparison at the most likely setting
of each would reward the one that bends most, and switch true physics off while there are few observations. Settings
worth trying beside the best of a grid take part in predictions, not in Z.

===========  ==========================================================================================================
exact        the equations hold; at length scales too fine for any model of them they say nothing
nearly true  N[f] = g + e with a smooth unknown e, root mean square 2 to 20% of the equations' largest term
wrong        the equations say nothing about f
===========  ==========================================================================================================

Trust is P(exact) + P(nearly true) = 1 - P(wrong). Symmetries (`pinnbo.symmetry`) are physics as equations are, and the
three hypotheses are about all that is stated. Where both are stated two more keep them apart:

==============  =======================================================================================================
not symmetric   the equations hold, the symmetries do not
only symmetric  the symmetries hold, the equations do not
==============  =======================================================================================================

Trust is then that in the equations, 1 - P(wrong) - P(only symmetric); in the symmetries it is
1 - P(wrong) - P(not symmetric).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from pinnbo.data import Data
from pinnbo.ensemble.family import Family, Group, Scales
from pinnbo.gp.inducing import Inducing
from pinnbo.gp.instrument import TYPICAL, Sizes, levels
from pinnbo.gp.posterior import Posterior, condition
from pinnbo.gp.process import Process
from pinnbo.gp.statistics import Statistics
from pinnbo.thresholds import NEGLIGIBLE

EXACT, NEARLY_TRUE, WRONG = "exact", "nearly true", "wrong"
NOT_SYMMETRIC, ONLY_SYMMETRIC = "not symmetric", "only symmetric"
NO_EQUATION = "no equation"  # where none is stated

MANY = 500  # observations: more of them go through features, and settings stay as chosen
FEW = 64  # observations up to which exact algebra costs less than the rest of a suggestion
BELOW_NOISE = 1e-4  # of a reading's noise variance: a value known so well needs no direction of its own

DENIES = {
    "physics": (WRONG,),
    "equation": (WRONG, ONLY_SYMMETRIC),
    "symmetry": (WRONG, NOT_SYMMETRIC),
}
"""Under which hypotheses what is stated is false: all of it; the equations; the symmetries."""


def denied(probabilities: Mapping[str, float], what: str) -> float:
    """The probability that it is false."""
    return sum(probabilities.get(name, 0.0) for name in DENIES[what])


LEAST_KEPT, _MOST_KEPT = 2, 12
_ALIKE = 0.05  # of a standard deviation


@dataclass(frozen=True)
class Hypothesis:
    """What may be true of the equations, with its prior odds."""

    name: str
    odds: float
    groups: Mapping[str, Group]
    least: int  # measurements below which it cannot be told from the others

    def tried(self, data: Data, probes: Float[ndarray, "p d"]) -> Tried | None:
        """Every family of every group on data; None if none of them can be used, or there are too few."""
        if len(data.values) < self.least:
            return None
        found, evidences = [], []
        for group in self.groups.values():
            models, evidence = _tried(group, data)
            found += models
            evidences += [evidence] if models else []
        if not found:
            return None
        models = _distinct(found, probes)
        return Tried(self.name, models, max(evidences) + float(np.log(self.odds)) - _total(models))

    def prepare(self, data: Data) -> None:
        """Do a share of the work that waits until there are enough measurements, so that no suggestion takes all."""
        settings = [(f, s) for group in self.groups.values() for f in group if f.keeps for s in f.grid]
        for family, scales in settings[len(data.values) :: max(1, self.least)]:
            family.process(scales, data)


@dataclass(frozen=True, eq=False)
class Model:
    """A family with a setting, given some data."""

    family: Family
    scales: Scales
    posterior: Posterior
    log_prior: float  # within its hypothesis; stays as it is when data come, however many at once
    # handed on, so that a model that is updated knows the sums and places of before
    statistics: Statistics | None = None
    inducing: Inducing | None = None
    sizes: Sizes = TYPICAL  # of what the instrument adds

    @property
    def log_weight(self) -> float:
        """Log prior + log evidence."""
        return self.log_prior + self.posterior.log_evidence

    def given(self, data: Data) -> Model:
        """With other observations, which need not include those it was chosen with."""
        posterior = condition(self.posterior.process, data, self.family.space)
        return replace(self, posterior=posterior, statistics=None, inducing=None)

    def updated(self, data: Data, lasting: int) -> Model:
        """With more observations."""
        process, statistics, inducing = self.posterior.process, self.statistics, self.inducing
        many = len(data.values) > MANY or (process.rank is not None and len(data.values) > process.rank)
        data = data._replace(sizes=self.sizes)
        if data.is_summable and not process.has_physics and FEW < len(data.values) <= MANY:
            inducing, statistics = self._between_places(data)
            process = inducing.process if statistics is None else statistics.process
        elif many and data.is_summable:  # all others stay in sample space
            statistics = statistics or self._on_features()
            process = statistics.process
        posterior = condition(process, data, self.family.space, self.posterior, statistics, lasting)
        return replace(self, posterior=posterior, statistics=statistics, inducing=inducing)

    def _between_places(self, data: Data) -> tuple[Inducing, Statistics | None]:
        """The places that tell the others, and features between them where they are few enough to save work.

        A prior given the physics has few open directions and needs this less.
        """
        before, space = self.inducing, self.family.space
        if before is None:  # the posterior is that of the stage: the same in a restored study
            posterior = self.posterior
            before = Inducing.none(posterior.process, BELOW_NOISE * float(np.min(posterior.samples.ratio)))
        inducing = before.extended(space.scale(data.points))
        if 2 * len(inducing) > len(data.values):
            return inducing, None
        if self.statistics is not None and len(inducing) == len(before):
            return inducing, self.statistics
        return inducing, Statistics(inducing.process.on_features(inducing.points.scaled), space)

    def _on_features(self) -> Statistics:
        """Features for many observations: those of the process, or between the points that it was chosen with."""
        process = self.posterior.process
        if self.posterior.anchors is not None:
            process = process.on_features(self.posterior.anchors.scaled)
        return Statistics(process, self.family.space)

    @property
    def words(self) -> str:
        """In words."""
        physics = "given the physics" if self.posterior.process.has_physics else "without physics"
        return f"{self.family.described(self.scales)}, {physics}"


@dataclass(frozen=True, eq=False)
class Tried:
    """The models kept of one hypothesis."""

    name: str
    models: list[Model]
    log_scale: float  # log(odds Z) beside the weight of the kept models, on the data they were chosen with

    def given(self, data: Data) -> Tried:
        """The same models with other observations."""
        return replace(self, models=[model.given(data) for model in self.models])

    def updated(self, data: Data, lasting: int) -> Tried:
        """With more observations."""
        return replace(self, models=[model.updated(data, lasting) for model in self.models])

    def best(self, n: int) -> Tried:
        """Its likeliest models alone stand for all of them."""
        models = self.models[:n]
        return Tried(self.name, models, self.log_z - _total(models))

    @property
    def log_z(self) -> float:
        """log(odds Z): Z changes as the evidence of the kept models does."""
        return self.log_scale + _total(self.models)

    @property
    def log_shares(self) -> Float[ndarray, " k"]:
        """Of the models within the hypothesis."""
        weights = np.array([model.log_weight for model in self.models])
        return np.asarray(weights - np.logaddexp.reduce(weights))


def _total(models: Sequence[Model]) -> float:
    return float(np.logaddexp.reduce([model.log_weight for model in models]))


def _tried(group: Sequence[Family], data: Data) -> tuple[list[Model], float]:
    """Try the grid of every family, and what is worth trying beside its best; the group's log evidence."""
    grids, averages, sizes = [], [], levels(data.taken)
    for family in group:
        grid, usable = _compared(family, data, sizes)
        if not grid:
            continue
        # a family's prior is one however many settings it has, or the one with the longest grid would be believed most
        mass = family.log_mass(usable) + float(np.log(len(sizes)))
        averages.append(_total(grid) - mass)
        grids.append((family, mass, grid, max(grid, key=lambda m: m.log_weight)))
    if not grids:
        return [], -np.inf
    counts = max(best.log_weight - mass for _, mass, _, best in grids) + np.log(NEGLIGIBLE)
    found = []
    for family, mass, grid, best in grids:
        settings = family.refined(best.scales, data) if best.log_weight - mass > counts else []
        beside = [_one(family, *setting, best.sizes, data) for setting in settings]
        found += [replace(m, log_prior=m.log_prior - mass) for m in (*grid, *beside) if m is not None]
    families = np.log(len(averages))
    found = [replace(m, log_prior=m.log_prior - families) for m in found]
    return found, float(np.logaddexp.reduce(averages) - families)


def _compared(family: Family, data: Data, sizes: Sequence[Sizes]) -> tuple[list[Model], list[Scales]]:
    """The models of a family's grid, and which settings could be used.

    Where each of them is dear, smoother ones are left out beyond the first that has no solution, and then have none
    either, or that is negligible.
    """
    grid: list[Model] = []
    usable: list[Scales] = []
    settings = family.settings(data)
    for number, (scales, log_prior) in enumerate(settings):
        found = [m for size in sizes if (m := _one(family, scales, log_prior, size, data)) is not None]
        enough = family.is_dear and bool(grid)
        if not found and enough:
            break
        grid += found
        usable += [scales] if found else []
        if enough and _total(found) < max(m.log_weight for m in grid) + np.log(NEGLIGIBLE):
            return grid, [*usable, *(scales for scales, _ in settings[number + 1 :])]
    return grid, usable


def _distinct(found: list[Model], probes: Float[ndarray, "p d"]) -> list[Model]:
    """The best, those merged that predict the same: what the physics determines does not depend on the setting."""
    kept: list[Model] = []
    views: list[tuple[ndarray, ndarray]] = []
    best = max(m.log_weight for m in found)
    for model in sorted(found, key=lambda m: -m.log_weight):
        negligible = model.log_weight < best + np.log(NEGLIGIBLE)
        if len(kept) == _MOST_KEPT or (negligible and len(kept) >= LEAST_KEPT):
            break
        moments = model.posterior.moments(probes)
        mean, std = moments.mean[:, 0], np.sqrt(moments.variance[:, 0])
        for i, (other_mean, other_std) in enumerate(views):
            if np.all(np.abs(mean - other_mean) < _ALIKE * other_std) and np.all(
                np.abs(std - other_std) < _ALIKE * other_std
            ):
                more = float(np.logaddexp(0.0, model.log_weight - kept[i].log_weight))
                kept[i] = replace(kept[i], log_prior=kept[i].log_prior + more)
                break
        else:
            kept.append(model)
            views.append((mean, std))
    return kept


def _one(family: Family, scales: Scales, log_prior: float, sizes: Sizes, data: Data) -> Model | None:
    process = family.process(scales, data)
    if process is None or not knows(process, data, family):
        return None
    posterior = condition(process, data._replace(sizes=sizes), family.space)
    return Model(family, scales, posterior, log_prior, sizes=sizes)


def knows(process: Process, data: Data, family: Family) -> bool:
    """Whether a process can be given all readings."""
    if data.is_plain:
        return True
    return process.knows(data.functionals(process.coordinates, family.space.scale(data.points)))
