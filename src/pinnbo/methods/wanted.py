"""What is wanted where it is not the optimum of the measured field: an objective made of the fields, limits, the map of
the field or the unknown coefficients. Functions of the fields are evaluated on fields drawn from the posterior
(`pinnbo.acquisition.functional`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from pinnbo.acquisition.choice import Surroundings, choose
from pinnbo.acquisition.functional import (
    Allowed,
    Both,
    Fields,
    KnowledgeGradient,
    MapVariance,
    MeanOf,
    Telling,
    WithinLimits,
)
from pinnbo.acquisition.search import Objective
from pinnbo.ensemble.belief import Belief
from pinnbo.ensemble.mixture import Mixture
from pinnbo.methods.base import Prediction, Task
from pinnbo.methods.setup import surroundings
from pinnbo.objective import Target
from pinnbo.thresholds import LIKELY


@dataclass(frozen=True, eq=False)
class Wanted:
    """What is wanted, and what is believed of it."""

    task: Task
    candidates: Float[ndarray, "c d"]
    belief: Belief

    @property
    def _target(self) -> Target:
        assert self.task.target is not None
        return self.task.target

    def _fields(self, mixture: Mixture) -> Fields:
        """Functions drawn from a mixture, of the models that know what the objective is made of."""
        task, data = self.task, self.belief.data
        rng = task.rng(11, len(data.values))
        fields = Fields(mixture, data, task.space, task.sign, self.candidates, rng)
        return fields.able([self._target, *(limit.target for limit in task.limits)])

    def objective(self, mixture: Mixture) -> Objective:
        """What a measurement is worth under a mixture, in place of the improvement of the measured field."""
        task, noise = self.task, self.belief.noise(self.task.noise)
        if task.learn:
            told = Telling(mixture, noise) if task.unknowns else MapVariance(mixture, self.candidates, noise)
            return told
        return KnowledgeGradient(self._fields(mixture), self._target, self.candidates, noise, task.limits)

    def within_limits(self, around: Surroundings) -> Surroundings:
        """A measurement counts where the limits are likely to hold."""
        limits = WithinLimits(self._fields(self.belief.average()), self.task.limits)
        both = Both(around.possible, limits) if around.possible.is_learnt else limits
        return replace(around, possible=both)

    def predicted(self, points: Float[ndarray, "n d"]) -> Prediction:
        """The objective at points."""
        fields = self._fields(self.belief.average())
        return Prediction(*fields.moments(self._target, self.task.space.scale(points)))

    def recommended(self) -> Float[ndarray, " d"]:
        """Where the mean of the objective is best of all that may be measured and is likely within the limits."""
        task, data = self.task, self.belief.data
        fields = self._fields(self.belief.average())
        objective: Objective = MeanOf(fields, self._target)
        nowhere = np.zeros((0, task.space.dim))
        around = surroundings(task, self.candidates, data, nowhere, task.space.scale(data.points))
        around = replace(around, known=nowhere)
        if task.limits:
            limits = WithinLimits(fields, task.limits)
            most = float(np.max(limits.probability(self.candidates)))
            objective = Allowed(objective, limits, min(LIKELY, most))
        return task.region.exact(choose(objective, around, 1, task.rng(12, len(data.values)))[0])

    def chances(self) -> dict[str, float]:
        """How likely each limit holds at the recommended point."""
        at = self.task.space.scale(self.recommended()[None])
        fields = self._fields(self.belief.average())
        each = {limit.name: WithinLimits(fields, [limit]) for limit in self.task.limits}
        return {name: float(within.probability(at)[0]) for name, within in each.items()}
