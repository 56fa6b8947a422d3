"""What is believed given some data, and how it is kept up to date while data come.

A `Belief` is a value: the models of all hypotheses with their weights. `Comparison` makes it. At stages, after 1, 2,
..., 10, 12, 14, 16, 19, ... measurements, every hypothesis tries all of its models anew; between them the models that
were kept are updated. The same data are never fitted twice.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from pinnbo.data import Data, stage_of
from pinnbo.ensemble.coefficients import Averaged
from pinnbo.ensemble.hypotheses import (
    EXACT,
    LEAST_KEPT,
    MANY,
    NEARLY_TRUE,
    NO_EQUATION,
    WRONG,
    Hypothesis,
    Model,
    Tried,
)
from pinnbo.ensemble.mixture import Mixture
from pinnbo.gp.posterior import condition
from pinnbo.thresholds import CONFIDENT, NEGLIGIBLE, SETTLED


@dataclass(frozen=True, eq=False)
class Belief:
    """All that is believed given some data: models, and how likely each of them is."""

    data: Data
    n_real: int  # of the measurements: values at points under way are imagined and come after them
    models: list[Model]
    log_weights: Float[ndarray, " m"]
    hypothesis_of: list[str]
    log_z: Mapping[str, float]  # log(odds Z) by hypothesis
    odds: Mapping[str, float]

    @staticmethod
    def of(data: Data, tried: Sequence[Tried], odds: Mapping[str, float]) -> Belief:
        """Models weighted by the probability of their hypothesis and their share in it.

        *Nearly true* is as likely as *exact*, but for its prior odds, while it cannot be told from it or has no models
        of its own; the models of *exact* stand for both.
        """
        log_z = {found.name: found.log_z for found in tried}
        stands_for = dict(log_z)
        if EXACT in log_z and NEARLY_TRUE not in log_z:
            log_z[NEARLY_TRUE] = log_z[EXACT] + np.log(odds[NEARLY_TRUE] / odds[EXACT])
            stands_for[EXACT] = float(np.logaddexp(log_z[EXACT], log_z[NEARLY_TRUE]))
        total = np.logaddexp.reduce(list(log_z.values()))
        weights = np.concatenate([stands_for[found.name] - total + found.log_shares for found in tried])
        models = [model for found in tried for model in found.models]
        names = [found.name for found in tried for _ in found.models]
        return Belief(data, len(data.values), models, weights, names, log_z, odds)

    @property
    def probabilities(self) -> dict[str, float]:
        """Of the hypotheses; empty where no equation is stated."""
        if NO_EQUATION in self.log_z:
            return {}
        total = np.logaddexp.reduce(list(self.log_z.values()))
        return {name: float(np.exp(log_z - total)) for name, log_z in self.log_z.items()}

    def log_evidence(self, *hypotheses: str) -> float:
        """log p(Y | U) if one of some hypotheses is true, averaged by their prior odds; without names, of all."""
        names = hypotheses or tuple(self.log_z)
        odds = sum(self.odds[name] for name in names)
        return float(np.logaddexp.reduce([self.log_z[name] for name in names]) - np.log(odds))

    def mixture(
        self, counts: Callable[[str], bool] = lambda name: True, share: float = NEGLIGIBLE
    ) -> Mixture | None:
        """The average over the models of some hypotheses with at least a share of the best one's weight, or None."""
        chosen = np.array([i for i, name in enumerate(self.hypothesis_of) if counts(name)], dtype=int)
        if len(chosen) == 0:
            return None
        weights = self.log_weights[chosen]
        used = weights > np.max(weights) + np.log(share)
        posteriors = [self.models[i].posterior for i in chosen[used]]
        return Mixture(posteriors, weights[used] - np.logaddexp.reduce(weights[used]))

    def average(self, share: float = NEGLIGIBLE) -> Mixture:
        """The average over all models with at least a share of the best one's weight."""
        mixture = self.mixture(share=share)
        assert mixture is not None  # the best one has all of its own weight
        return mixture

    @property
    def enforced(self) -> float:
        """Weight of the models on which the equations act: less than the trust where they are too fine for that."""
        pairs = zip(self.models, self.log_weights, self.hypothesis_of, strict=True)
        acting = [w for m, w, name in pairs if name != WRONG and m.posterior.process.has_physics]
        return float(np.sum(np.exp(acting)))

    @property
    def best(self) -> Model:
        """The model with the largest weight."""
        return self.models[int(np.argmax(self.log_weights))]

    def noise(self, stated: float | None) -> float:
        """Variance of a measurement: stated, or the mean of those that are known, or the most likely model's."""
        known = self.data.direct.noise
        known = known[~np.isnan(known)]
        if stated is not None:
            found = stated**2
        elif len(known):
            found = float(np.mean(known**2))
        else:
            found = self.best.posterior.noise
        return max(found, (1e-6 * self.data.standard.scale) ** 2)

    def imagined(self, x: Float[ndarray, " d"], noise: float | None, rng: np.random.Generator) -> Belief:
        """As if x were measured and gave a value drawn from the posterior.

        What is imagined tells nothing about the models themselves: their weights stay. Those are updated that count
        under their hypothesis: a rule may ask what would be believed under it alone.
        """
        space = self.best.family.space
        (mean,), (std,) = self.average().predict(space.scale(x[None]))
        value = mean + std * rng.standard_normal()
        sd = np.nan if noise is None else noise
        data = self.data.plus(
            Data(x[None], np.array([value]), np.array([sd]), np.zeros((0, self.data.points.shape[1])))
        )
        names = np.array(self.hypothesis_of)
        best = {name: np.max(self.log_weights[names == name]) for name in self.hypothesis_of}
        counts = self.log_weights > np.array([best[name] for name in names]) + np.log(NEGLIGIBLE)
        pairs = zip(self.models, counts, strict=True)
        return replace(self, data=data, models=[m.updated(data, self.n_real) if c else m for m, c in pairs])


class Comparison:
    """The hypotheses, compared on data that grow."""

    def __init__(self, hypotheses: Sequence[Hypothesis], probes: Float[ndarray, "p d"]) -> None:
        self.hypotheses = hypotheses
        self._odds = {hypothesis.name: hypothesis.odds for hypothesis in hypotheses}
        self._probes = probes  # models that predict the same here are one
        # what was kept at the latest stage, and the data it was updated with
        self._stage: tuple[int, Data, list[Tried]] | None = None
        self._accused = False  # whether the equations were contradicted then
        self._belief: Belief | None = None
        self._cells: tuple[Belief, Averaged | None] | None = None

    def given(self, data: Data) -> Belief:
        """What is believed: models are chosen at stages and updated in between."""
        if self._belief is None or not (data.extends(self._belief.data) and self._belief.data.extends(data)):
            n = len(data.values)
            stage = stage_of(min(n, MANY))
            if self._stage is None or self._stage[0] != stage or not data.extends(self._stage[1]):
                first = data.first(stage)
                chosen = self._chosen(first)
                self._stage, self._accused = (
                    (stage, data, chosen),
                    _accuses(Belief.of(first, chosen, self._odds)),
                )
                for waiting in (h for h in self.hypotheses if n < h.least):
                    waiting.prepare(data)
            updated = [tried.updated(data, n) for tried in self._stage[2]]
            self._stage = stage, data, updated
            self._belief = Belief.of(data, updated, self._odds)
            if stage < n <= MANY and not self._accused and _accuses(self._belief):
                # models that were chosen before a surprise may lack the one that expected it
                self._belief = Belief.of(data, self._chosen(data), self._odds)
        return self._belief

    def _chosen(self, data: Data) -> list[Tried]:
        """The models of every hypothesis that there are measurements enough for."""
        tried = [hypothesis.tried(data, self._probes) for hypothesis in self.hypotheses]
        return _thinned([found for found in tried if found is not None])

    def in_hindsight(self, data: Data) -> Comparison:
        """The models that are chosen now, weighted given other data, as are hypotheses, amplitudes and noise.

        Nothing is linearised or searched for anew, so that nothing is said of unknown coefficients.
        """
        assert self._stage is not None
        other, given = copy.copy(self), [found.given(data) for found in self._stage[2]]
        other._stage = stage_of(min(len(data.values), MANY)), data, given
        other._belief = Belief.of(data, given, self._odds)
        other._cells = other._belief, None
        return other

    def coefficients(self, belief: Belief) -> Averaged | None:
        """What is believed of unknown coefficients if the equations hold.

        Searched for once: families are shared with copies that are asked about other data, and remember one answer.
        """
        if self._cells is None or self._cells[0] is not belief:
            families = [f for h in self.hypotheses if h.name == EXACT for g in h.groups.values() for f in g]
            each = (family.coefficients(belief.data) for family in families)
            self._cells = belief, next((found for found in each if found is not None), None)
        return self._cells[1]

    def relaxed(self, data: Data) -> Mixture | None:
        """The first family's processes without its main assumption, equally likely; None where it has none."""
        if len(data.values) > MANY:
            return None
        for group in (g for h in self.hypotheses if h.name == EXACT for g in h.groups.values()):
            found = [condition(p, data, family.space) for family in group for p in family.alternatives(data)]
            if found:
                return Mixture(found, np.full(len(found), -np.log(len(found))))
        return None


def _accuses(belief: Belief) -> bool:
    """Whether the equations are contradicted beyond reasonable doubt."""
    return belief.probabilities.get(WRONG, 0.0) > CONFIDENT


def _thinned(tried: list[Tried]) -> list[Tried]:
    """Of a hypothesis that is ruled out for now, only what tells whether it stays so until the next stage."""
    ruled_out = max(found.log_z for found in tried) + np.log(1.0 - SETTLED)
    return [found if found.log_z > ruled_out else found.best(LEAST_KEPT) for found in tried]
