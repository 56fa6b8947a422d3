"""``auto``: the closed-form engine. Condition on the physics once, let the evidence choose, measure what pays.

1. Whether to believe the physics is a comparison of hypotheses: the equations are *exact*, *nearly true* (but for a
   smooth unknown) or *wrong*. Each has prior odds and families of models (`pinnbo.ensemble.hypotheses`).
2. Under each model (a family with length scales) f is Gaussian: a prior given the physics, computed once, conditioned
   on the measurements in closed form (`pinnbo.gp`). Models are averaged with their evidence p(Y | U),

       P(hypothesis | Y) = odds Z / sum of odds Z,      Z the evidence averaged over families and length scales.

3. What the next measurement is for is decided by a policy, a list of rules (`pinnbo.acquisition.policy`); the point is
   found by one search (`pinnbo.acquisition.search`).

Models are chosen anew at stages (after 1, 2, ..., 10, 12, 14, 16, 19, ... measurements) and updated in between.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

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
from pinnbo.acquisition.policy import (
    FILL,
    SETTLED,
    Choice,
    Rule,
    Situation,
    as_policy,
    default_policy,
    to_json,
)
from pinnbo.acquisition.search import Effort, Objective
from pinnbo.acquisition.sensing import Option, best_reading
from pinnbo.data import Data
from pinnbo.ensemble.family import Group, Stated
from pinnbo.ensemble.hypotheses import (
    EXACT,
    LEAST_KEPT,
    MANY,
    NEARLY_TRUE,
    NEGLIGIBLE,
    NO_EQUATION,
    WRONG,
    Hypothesis,
    Model,
    Tried,
)
from pinnbo.ensemble.mixture import Mixture
from pinnbo.ensemble.plain_family import without_physics
from pinnbo.ensemble.registry import FAMILIES
from pinnbo.ensemble.simulated_family import with_simulation
from pinnbo.gp.posterior import condition
from pinnbo.gp.readings import Instrument
from pinnbo.knowledge import summary
from pinnbo.methods.base import SPACES, Engine, Method, Prediction, Task, stage_of
from pinnbo.methods.setup import candidates, fill, surroundings

_N_CANDIDATES, _N_PROBES, _N_DRAWS = 512, 32, 16
_SEARCHED = (
    5e-2  # weight beside the best's of models that the search looks at: half as many as those that predict
)
_N_READINGS, _N_PLACES = 64, 256  # where sensors are compared, and where f may be best
_SEARCH = Effort(starts=5, favourites=2, evaluations=30, sweeps=0, tolerance=1e-3)
_SEARCH_MANY = Effort(starts=8, favourites=8, evaluations=40, sweeps=1)  # candidates do not fill the box


class PhysicsWarning(UserWarning):
    """The measurements contradict the stated PDE: it is wrong beyond reasonable doubt."""


@dataclass(frozen=True)
class Auto(Method):
    """Settings of the closed-form engine.

    ``collocation`` rows are shared by the equations of the kernel family; ``row_noise`` is the standard deviation
    that a row is allowed relative to its prior one. ``odds`` are the prior odds that the stated PDE is exact and
    ``inexact_odds`` that it is nearly true, but for a smooth unknown of one of the sizes ``misfits`` (shares of the
    equation's largest term: log-uniform from 2 to 20%, in two pieces), both against it being wrong. A `PhysicsWarning`
    is given once the probability that it is wrong is above ``doubt``: an exact equation gets there at any time with a
    probability of at most (1 - doubt) / doubt / odds (Ville's inequality), 1.3% with these settings. Below ``least``
    measurements not even the unit of the values is known: nearly true cannot be told from exact, and nothing is warned
    about. ``families`` names those that may be used, of
    `pinnbo.ensemble.registry.FAMILIES`; ``policy`` says what to measure for (`pinnbo.acquisition.policy`); ``without``
    switches families or rules off by name.
    """

    name: ClassVar[str] = "auto"
    general: ClassVar[bool] = True
    handles: ClassVar[frozenset[str]] = frozenset(SPACES)

    collocation: int = 500
    row_noise: float = 1e-3
    odds: float = 4.0
    inexact_odds: float = 2.0
    misfits: Sequence[float] = (0.036, 0.112)
    doubt: float = 0.95
    least: int = 5
    families: Sequence[str] = tuple(FAMILIES)
    policy: Sequence[Rule] = field(default_factory=default_policy)
    without: Sequence[str] = ()

    def __post_init__(self) -> None:
        if self.collocation < 1:
            raise ValueError(f"auto: collocation must be at least 1, got {self.collocation}")
        for name in ("row_noise", "odds", "inexact_odds"):
            if not getattr(self, name) > 0:
                raise ValueError(f"auto: {name} must be positive, got {getattr(self, name)}")
        unknown = [name for name in self.families if name not in FAMILIES]
        if unknown:
            raise ValueError(f"auto: families must be among {list(FAMILIES)}, got {unknown}")
        # lists are what JSON makes of tuples
        object.__setattr__(self, "policy", as_policy(self.policy))
        object.__setattr__(
            self, "without", (self.without,) if isinstance(self.without, str) else tuple(self.without)
        )
        names = [*self.families, *(type(rule).__name__ for rule in self.policy)]
        if unknown := [name for name in self.without if name not in names]:
            raise ValueError(f"auto: without must name families or rules among {names}, got {unknown}")
        object.__setattr__(self, "misfits", tuple(self.misfits))
        object.__setattr__(self, "families", tuple(self.families))

    def to_json(self) -> dict[str, Any]:
        """The rules of the policy by name."""
        return {**super().to_json(), "policy": to_json(self.policy)}

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> Auto:
        """The rules of the policy by name."""
        rules = {"policy": as_policy(stored["policy"])} if "policy" in stored else {}
        return cls(**{**stored, **rules})

    def start(self, task: Task) -> Engine:
        """Check the task and begin; rows know f by its derivatives at a point, and nothing of it elsewhere."""
        for pde in task.physics:
            pde.check_local(task.space)
        return _AutoEngine(self, task)

    def default_initial(self, task: Task) -> int:
        """None with physics or a simulation, which know better where to look first."""
        return 0 if task.physics or task.simulation is not None else super().default_initial(task)


def hypotheses(settings: Auto, task: Task) -> list[Hypothesis]:
    """What may be true of the physics that is stated, if any; each with the families that can use it."""
    plain = with_simulation({"plain": without_physics(task.space)}, task.simulation)
    if not task.physics:
        return [Hypothesis(NO_EQUATION, 1.0, plain)]
    stated = Stated(
        task.space,
        task.physics,
        task.seed,
        settings.collocation,
        settings.row_noise,
        task.fields,
        task.unknowns,
    )
    entries = {name: FAMILIES[name] for name in settings.families if name not in settings.without}
    able = {name: e for name, e in entries.items() if e.spaces(task.space) and (e.general or stated.is_plain)}
    built = {} if stated.medium_jumps else {name: entry.build(stated) for name, entry in able.items()}
    exact: dict[str, Group] = {name: group for name, group in built.items() if group}
    nearly: dict[str, Group] = {
        name: [loose for family in group for loose in family.loosened(settings.misfits)]
        for name, group in exact.items()
    }
    exact, nearly = (with_simulation(groups, task.simulation) for groups in (exact, nearly))
    return [
        Hypothesis(WRONG, 1.0, plain),
        Hypothesis(EXACT, settings.odds, exact),
        Hypothesis(NEARLY_TRUE, settings.inexact_odds, nearly, settings.least),
    ]


@dataclass(frozen=True, eq=False)
class Belief:
    """All that is believed given some data."""

    data: Data
    models: list[Model]
    log_weights: Float[ndarray, " m"]
    hypothesis_of: list[str]
    log_z: dict[str, float]  # log(odds Z) by hypothesis

    @property
    def probabilities(self) -> dict[str, float]:
        """Of the hypotheses; empty where no equation is stated."""
        if NO_EQUATION in self.log_z:
            return {}
        total = np.logaddexp.reduce(list(self.log_z.values()))
        return {name: float(np.exp(log_z - total)) for name, log_z in self.log_z.items()}

    def mixture(
        self, counts: Callable[[str], bool] = lambda name: True, least: float = NEGLIGIBLE
    ) -> Mixture | None:
        """The average over the models of some hypotheses with at least a share of the best one's weight, or None."""
        chosen = np.array([i for i, name in enumerate(self.hypothesis_of) if counts(name)], dtype=int)
        if len(chosen) == 0:
            return None
        weights = self.log_weights[chosen]
        used = weights > np.max(weights) + np.log(least)
        posteriors = [self.models[i].posterior for i in chosen[used]]
        return Mixture(posteriors, weights[used] - np.logaddexp.reduce(weights[used]))

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


class _AutoEngine(Engine):
    def __init__(self, settings: Auto, task: Task) -> None:
        self._settings, self._task = settings, task
        self._candidates = candidates(task)[:_N_CANDIDATES]
        self._hypotheses = hypotheses(settings, task)
        self._stage: tuple[int, Data, list[Tried]] | None = (
            None  # what was chosen, and the data it was used with
        )
        self._belief: Belief | None = None
        self._warned = False

    # ---------------------------------------------------------------- tell: what is believed

    def _believe(self, data: Data) -> Belief:
        """Models are chosen at stages and updated in between; the same data are never fitted twice."""
        if self._belief is None or not (data.extends(self._belief.data) and self._belief.data.extends(data)):
            stage = stage_of(min(len(data.values), MANY))
            if self._stage is None or self._stage[0] != stage or not data.extends(self._stage[1]):
                probes = self._candidates[:_N_PROBES]
                tried = [hypothesis.tried(data.first(stage), probes) for hypothesis in self._hypotheses]
                self._stage = stage, data, thinned([found for found in tried if found is not None])
                for waiting in (h for h in self._hypotheses if len(data.values) < h.least):
                    waiting.prepare(data)
            updated = [tried.updated(data, lasting=len(data.values)) for tried in self._stage[2]]
            self._stage = stage, data, updated
            share = np.log(self._settings.inexact_odds / self._settings.odds)
            self._belief = _average(data, updated, share)
            self._warn(self._belief)
        return self._belief

    def _warn(self, belief: Belief) -> None:
        if belief.probabilities.get(WRONG, 0.0) <= self._settings.doubt or self._warned:
            return
        if len(belief.data.values) < self._settings.least:
            return
        believing = belief.mixture(lambda name: name != WRONG)
        if believing is None:
            return
        self._warned = True
        told = [name for name in belief.log_z if name != WRONG]
        odds = np.log(sum(self._odds(name) for name in told))
        believed = np.logaddexp.reduce([belief.log_z[name] for name in told]) - odds
        warnings.warn(
            f"the {len(belief.data.values)} measurements contradict the stated physics: they are "
            f"{_times(belief.log_z[WRONG] - believed)} times more likely without it "
            f"({in_words(belief.probabilities)}), most of all at {self._worst(believing, belief.data)}; "
            "check the equation's signs, units, coefficients and source",
            PhysicsWarning,
            stacklevel=4,
        )

    def _worst(self, mixture: Mixture, data: Data) -> str:
        """The measured point that a mixture explains least, in words."""
        measured = None if data.is_plain else mixture.measured()
        mean = mixture.predict(self._task.space.scale(data.points))[0] if measured is None else measured
        unit = 1.0 if data.is_plain else data.units
        noise = np.where(np.isnan(data.noise), unit, np.maximum(data.noise, 1e-12))
        x = data.points[int(np.argmax(np.abs(data.values - mean) / noise))]
        return ", ".join(
            f"{name} = {value:.4g}" for name, value in zip(self._task.space.names, x, strict=True)
        )

    # ---------------------------------------------------------------- ask: where to measure

    def suggest(
        self, data: Data, pending: Float[ndarray, "q d"], n: int, index: int
    ) -> Float[ndarray, "n d"]:
        """The policy's points one by one; points without an answer are imagined from the posterior."""
        belief, rng = self._believe(data), self._task.rng(5, index)
        for x in pending:
            belief = self._imagined(belief, x, rng)
        chosen = np.zeros((0, self._task.space.dim))
        for number in range(n):
            known = np.concatenate([pending, chosen])
            x = self._next(belief, data, known, index + number)
            chosen = np.vstack([chosen, x])
            if number + 1 < n:
                belief = self._imagined(belief, x, rng)
        return chosen

    def suggest_reading(
        self,
        data: Data,
        pending: Float[ndarray, "q d"],
        options: Sequence[tuple[Instrument | None, float]],
        index: int,
    ) -> tuple[Float[ndarray, " d"], int]:
        """The largest knowledge gradient by cost, at candidates and where the policy would measure the field."""
        belief, rng = self._believe(data), self._task.rng(5, index)
        for x in pending:
            belief = self._imagined(belief, x, rng)
        mixture = belief.mixture()
        assert mixture is not None
        space = self._task.space
        next_value = self._next(belief, data, pending, index)
        drawn = space.unscale(self._candidates[index % 2 :: 2][:_N_READINGS])
        points = np.vstack([next_value, drawn])
        taken = space.scale(np.concatenate([data.points, pending]))
        places = np.concatenate([taken, self._candidates[:_N_PLACES], space.scale(next_value[None])])
        stated = [Option(sensor, cost, self._variance(belief, sensor)) for sensor, cost in options]
        found = best_reading(mixture, self._task.sign, stated, points, space.scale(points), places)
        if found is None:
            raise ValueError("ask: none of the sensors fits into the space at any candidate")
        return points[found[1]], found[0]

    def _variance(self, belief: Belief, sensor: Instrument | None) -> float:
        """Of the noise of a reading: stated, or the same share of what its readings differ by as of the others."""
        value = self._noise(belief)
        if sensor is None:
            return value
        if sensor.sensor.noise is not None:
            return sensor.sensor.noise**2
        data = belief.data
        told = [kind for kind, known in enumerate(data.sensors, 1) if known.name == sensor.name]
        mine = np.isin(data.kinds, told) if told else np.zeros(len(data.values), dtype=bool)
        known = data.noise[mine]
        if len(known) and not np.isnan(known).any():
            return float(np.mean(known**2))
        unit = float(data.units[mine][0]) if mine.any() else data.standard.scale * sensor.size
        return float(value * (unit / data.standard.scale) ** 2)

    def _next(
        self, belief: Belief, data: Data, known: Float[ndarray, "q d"], index: int
    ) -> Float[ndarray, " d"]:
        """The first rule that applies says what for; a rule may reconsider when the best point is known."""
        now = self._situation(belief, index)
        policy = [rule for rule in self._settings.policy if type(rule).__name__ not in self._settings.without]
        objective = _first(rule.choose(now) for rule in policy)
        if objective is FILL or objective is None:
            return fill(self._task, data, known, 1, index)[0]
        assert isinstance(objective, Objective)
        s = self._search(objective, belief, data, known, index)
        other = _first(rule.reconsider(now, objective, s) for rule in policy)
        if isinstance(other, Objective):
            # a test needs no refinement: the best of the candidates will do
            s = self._search(other, belief, data, known, index, Effort(1, 1, 1, sweeps=0))
        return self._task.region.exact(s)

    def _situation(self, belief: Belief, index: int) -> Situation:
        mixture = belief.mixture(least=_SEARCHED)
        assert mixture is not None
        mixture.remember(self._candidates)
        return Situation(
            space=self._task.space,
            sign=self._task.sign,
            data=belief.data,
            noise=self._noise(belief),
            mixture=mixture,
            probabilities=belief.probabilities,
            enforced=belief.enforced,
            under=lambda hypothesis: belief.mixture(lambda name: name == hypothesis, _SEARCHED),
            relaxed=lambda: self._relaxed(belief),
            n_design=Method.default_initial(self._settings, self._task),
            candidates=self._candidates,
            rng=self._task.rng(8, index),
            other=self._other(belief) if self._task.target is not None or self._task.learn else None,
        )

    def _other(self, belief: Belief) -> Callable[[Mixture], Objective]:
        """What counts under a mixture where it is not the optimum of the measured field."""
        task, noise = self._task, self._noise(belief)

        def objective(mixture: Mixture) -> Objective:
            if task.learn:
                if task.unknowns:
                    return Telling(mixture, noise)
                return MapVariance(mixture, self._candidates, noise)
            assert task.target is not None
            fields = self._fields(mixture, belief.data)
            return KnowledgeGradient(fields, task.target, self._candidates, noise, task.limits)

        return objective

    def _fields(self, mixture: Mixture, data: Data) -> Fields:
        """Functions drawn from a mixture, of the models that know what the objective is made of."""
        task = self._task
        assert task.target is not None
        rng = task.rng(11, len(data.values))
        fields = Fields(mixture, data, task.space, task.sign, self._candidates, rng)
        return fields.able([task.target, *(limit.target for limit in task.limits)])

    def _search(
        self,
        objective: Objective,
        belief: Belief,
        data: Data,
        known: Float[ndarray, "q d"],
        index: int,
        effort: Effort | None = None,
    ) -> Float[ndarray, " d"]:
        """One search for all objectives; starts are the candidates, the best measurements, minima of mean and draws."""
        posterior, lowest = belief.best.posterior, None
        if posterior.process.features.has_minima:
            rng = self._task.rng(7, index)
            draws = [posterior.mean_of_features(), *(posterior.draw(rng) for _ in range(_N_DRAWS))]
            lowest = posterior.process.minima(np.stack(draws), posterior.standard, self._task.sign)
        around = surroundings(self._task, self._candidates, data, known, lowest)
        if self._task.limits:
            around = self._within_limits(around, belief)
        if effort is None:
            effort = _SEARCH if self._task.space.dim <= 3 else _SEARCH_MANY
        return choose(objective, around, 1, self._task.rng(6, index), effort)[0]

    def _within_limits(self, around: Surroundings, belief: Belief) -> Surroundings:
        """A measurement counts where the limits are likely to hold."""
        mixture = belief.mixture()
        assert mixture is not None
        limits = WithinLimits(self._fields(mixture, belief.data), self._task.limits)
        both = Both(around.possible, limits) if around.possible.is_learnt else limits
        return replace(around, possible=both)

    def _relaxed(self, belief: Belief) -> Mixture | None:
        """The models of the best one's family without its main assumption, equally likely."""
        if len(belief.data.values) > MANY:
            return None
        for group in (g for h in self._hypotheses if h.name == EXACT for g in h.groups.values()):
            processes = [p for family in group for p in family.alternatives(belief.data)]
            if processes:
                found = [condition(process, belief.data, self._task.space) for process in processes]
                return Mixture(found, np.full(len(found), -np.log(len(found))))
        return None

    def _imagined(self, belief: Belief, x: Float[ndarray, " d"], rng: np.random.Generator) -> Belief:
        """The belief if x were measured and gave a value drawn from the posterior."""
        mixture = belief.mixture()
        assert mixture is not None
        assert self._stage is not None
        (mean,), (std,) = mixture.predict(self._task.space.scale(x[None]))
        noise = np.nan if self._task.noise is None else self._task.noise
        value = mean + std * rng.standard_normal()
        more = Data(x[None], np.array([value]), np.array([noise]), np.zeros((0, self._task.space.dim)))
        data, lasting = belief.data.plus(more), len(self._stage[1].values)
        # what is imagined tells nothing about the models themselves: their weights stay
        # those that count under their hypothesis: a rule may ask what would be believed under it alone
        names = np.array(belief.hypothesis_of)
        best = {name: np.max(belief.log_weights[names == name]) for name in belief.hypothesis_of}
        counts = belief.log_weights > np.array([best[name] for name in names]) + np.log(NEGLIGIBLE)
        pairs = zip(belief.models, counts, strict=True)
        return replace(belief, data=data, models=[m.updated(data, lasting) if c else m for m, c in pairs])

    def _noise(self, belief: Belief) -> float:
        """Variance of a measurement: stated, or the mean of those that are known, or the most likely model's."""
        known = belief.data.direct.noise
        known = known[~np.isnan(known)]
        if self._task.noise is not None:
            found = self._task.noise**2
        elif len(known):
            found = float(np.mean(known**2))
        else:
            found = belief.best.posterior.noise
        return max(found, (1e-6 * belief.data.standard.scale) ** 2)

    # ---------------------------------------------------------------- what others may see

    def predict(self, data: Data, points: Float[ndarray, "n d"]) -> Prediction:
        """The averaged posterior."""
        return Prediction(*self._average(data).predict(self._task.space.scale(points)))

    def predict_of(self, data: Data, points: Float[ndarray, "n d"], sensor: Instrument) -> Prediction:
        """Under the models that know of what it reads.

        Fields that are not measured can be anything where the equations do not act.
        """
        belief = self._believe(data)
        measured = {
            0,
            *(field for kind in np.unique(data.kinds) if kind for field in data.sensors[kind - 1].sees),
        }
        tied = set(sensor.sees) <= measured
        processes = [model.posterior.process for model in belief.models]
        chosen = [
            i
            for i, process in enumerate(processes)
            if (tied or process.has_physics)
            and process.knows(sensor.functionals(points[:1], process.coordinates))
        ]
        if not chosen:
            raise ValueError(f"predict: no model ties {sensor.name!r} to what is measured")
        weights = belief.log_weights[chosen]
        mixture = Mixture(
            [belief.models[i].posterior for i in chosen], weights - np.logaddexp.reduce(weights)
        )
        return Prediction(*mixture.predict_of(lambda coordinates: sensor.functionals(points, coordinates)))

    def predict_objective(self, data: Data, points: Float[ndarray, "n d"]) -> Prediction:
        """By functions drawn from the averaged posterior."""
        assert self._task.target is not None
        fields = self._fields(self._average(data), data)
        return Prediction(*fields.moments(self._task.target, self._task.space.scale(points)))

    def recommended(self, data: Data) -> Float[ndarray, " d"]:
        """Where the mean of the objective is best of all that may be measured and is likely within the limits."""
        task = self._task
        assert task.target is not None
        fields = self._fields(self._average(data), data)
        objective: Objective = MeanOf(fields, task.target)
        nowhere = np.zeros((0, task.space.dim))
        around = surroundings(task, self._candidates, data, nowhere, task.space.scale(data.points))
        around = replace(around, known=nowhere)
        if task.limits:
            limits = WithinLimits(fields, task.limits)
            most = float(np.max(limits.probability(self._candidates)))
            objective = Allowed(objective, limits, min(0.5, most))
        return task.region.exact(choose(objective, around, 1, task.rng(12, len(data.values)))[0])

    def _chances(self, data: Data) -> dict[str, float]:
        """How likely each limit holds at the recommended point."""
        at = self._task.space.scale(self.recommended(data)[None])
        fields = self._fields(self._average(data), data)
        each = {limit.name: WithinLimits(fields, [limit]) for limit in self._task.limits}
        return {name: float(within.probability(at)[0]) for name, within in each.items()}

    def posterior(self, data: Data, hypothesis: str | None = None) -> Mixture | None:
        """The average itself, or that over the models of one hypothesis."""
        return self._believe(data).mixture(lambda name: hypothesis in (None, name))

    def _average(self, data: Data) -> Mixture:
        mixture = self.posterior(data)
        assert mixture is not None
        return mixture

    def diagnostics(self, data: Data) -> dict[str, Any]:
        """Which models were chosen and why, the trust in the physics, what it left open, unknown coefficients."""
        belief = self._believe(data)
        order = np.argsort(-belief.log_weights, kind="stable")
        stated, probabilities = bool(self._task.physics), belief.probabilities
        total = np.logaddexp.reduce(list(belief.log_z.values())) - np.log(
            sum(self._odds(name) for name in belief.log_z)
        )
        ratio = None
        if EXACT in belief.log_z:
            ratio = belief.log_z[EXACT] - np.log(self._settings.odds) - belief.log_z[WRONG]
        return {
            "model": belief.best.words,
            "physics": self._physics_in_words(belief) if stated else "not stated",
            "log_evidence": float(total),
            "trust": 1.0 - probabilities[WRONG] if ratio is not None else None,
            "hypotheses": probabilities,
            "belief": None if ratio is None else in_words(probabilities),
            "log_evidence_ratio": ratio,
            "enforced": belief.enforced,
            "open_directions": self._open_directions(belief.best),
            "unknowns": self._coefficients(belief.data),
            **({"limits": self._chances(data)} if self._task.limits else {}),
            "settings": [
                {
                    "model": belief.models[i].words,
                    "hypothesis": belief.hypothesis_of[i],
                    "scales": list(belief.models[i].scales),
                    "weight": float(np.exp(belief.log_weights[i])),
                    "log_evidence": belief.models[i].posterior.log_evidence,
                }
                for i in order
            ],
        }

    def _odds(self, name: str) -> float:
        return next(hypothesis.odds for hypothesis in self._hypotheses if hypothesis.name == name)

    def _physics_in_words(self, belief: Belief) -> str:
        if not any(h.groups for h in self._hypotheses if h.name == EXACT):
            return (
                "stated, but no family of models can use it (a medium that jumps, or many coupled coordinates): "
                "the search goes on without"
            )
        return f"in use, {belief.enforced:.0%} of the forecast obeys it"

    def _coefficients(self, data: Data) -> dict[str, dict[str, Any]]:
        """Mean and 95% interval of every unknown coefficient if the equations hold, beside what was stated."""
        families = [f for h in self._hypotheses if h.name == EXACT for g in h.groups.values() for f in g]
        cells = next((found for f in families if (found := f.coefficients(data)) is not None), None)
        if cells is None:
            return {}
        return {
            unknown.name: summary(unknown, *cells.distribution(axis))
            for axis, unknown in enumerate(self._task.unknowns)
        }

    def _open_directions(self, model: Model) -> int:
        """Directions in which f may still vary before any measurement: standard deviations above a thousandth."""
        space = self._task.space
        covariance = model.posterior.process.covariance_matrix(space.scale(space.sobol(128, seed=17)))
        eigenvalues = np.linalg.eigvalsh(covariance)
        return int(np.sum(eigenvalues > 1e-6 * eigenvalues[-1]))


def thinned(tried: list[Tried]) -> list[Tried]:
    """Of a hypothesis that is ruled out for now, only what tells whether it stays so until the next stage."""
    ruled_out = max(found.log_z for found in tried) + np.log(1.0 - SETTLED)
    return [found if found.log_z > ruled_out else found.best(LEAST_KEPT) for found in tried]


def in_words(probabilities: Mapping[str, float]) -> str:
    """Such as: exact 7%, nearly true 93%, wrong 0%."""
    return ", ".join(f"{name} {probabilities.get(name, 0.0):.0%}" for name in (EXACT, NEARLY_TRUE, WRONG))


def _average(data: Data, tried: list[Tried], nearly: float) -> Belief:
    """Models weighted by the probability of their hypothesis and their share in it.

    *Nearly true* is as likely as *exact*, but for its log odds ``nearly`` beside it, while it cannot be told from it or
    has no models of its own; the models of *exact* stand for both.
    """
    log_z = {found.name: found.log_z for found in tried}
    stands_for = dict(log_z)
    if EXACT in log_z and NEARLY_TRUE not in log_z:
        log_z[NEARLY_TRUE] = log_z[EXACT] + nearly
        stands_for[EXACT] = float(np.logaddexp(log_z[EXACT], log_z[NEARLY_TRUE]))
    total = np.logaddexp.reduce(list(log_z.values()))
    weights = np.concatenate([stands_for[found.name] - total + found.log_shares for found in tried])
    models = [model for found in tried for model in found.models]
    return Belief(data, models, weights, [found.name for found in tried for _ in found.models], log_z)


def _first(choices: Any) -> Choice:
    return next((choice for choice in choices if choice is not None), None)


def _times(log_ratio: float) -> str:
    return f"{np.exp(log_ratio):.3g}" if log_ratio < 700 else f"10^{log_ratio / np.log(10):.0f}"
