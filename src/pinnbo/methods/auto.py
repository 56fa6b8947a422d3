"""``auto``: the closed-form engine. Condition on the physics once, let the evidence choose, measure what pays.

1. Whether to believe the physics is a comparison of hypotheses: the equations are *exact*, *nearly true* (but for a
   smooth unknown) or *wrong*. Each has prior odds and families of models (`pinnbo.ensemble.hypotheses`).
2. Under each model (a family with length scales) f is Gaussian: a prior given the physics, computed once, conditioned
   on the measurements in closed form (`pinnbo.gp`). Models are averaged with their evidence p(Y | U),

       P(hypothesis | Y) = odds Z / sum of odds Z,      Z the evidence averaged over families and length scales.

   Models are chosen anew after 1, 2, ..., 10, 12, 14, 16, 19, ... measurements and updated in between
   (`pinnbo.ensemble.belief`).
3. What the next measurement is for is decided by a policy, a list of rules (`pinnbo.acquisition.policy`); the point is
   found by one search (`pinnbo.acquisition.search`).

From top to bottom: the settings, the hypotheses, what is believed after a `tell`, what an `ask` comes to, and what
others may see. Points are in the user's units where they are called x or points, scaled to [-1, 1]^d where they are
called s or candidates.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from pinnbo.acquisition.choice import choose
from pinnbo.acquisition.policy import (
    FILL,
    Choice,
    Rule,
    Situation,
    as_policy,
    default_policy,
    to_json,
)
from pinnbo.acquisition.search import Effort, Objective
from pinnbo.data import Data
from pinnbo.ensemble.belief import Belief, Comparison
from pinnbo.ensemble.family import Group, Stated
from pinnbo.ensemble.hypotheses import (
    EXACT,
    NEARLY_TRUE,
    NO_EQUATION,
    NOT_SYMMETRIC,
    ONLY_SYMMETRIC,
    WRONG,
    Hypothesis,
)
from pinnbo.ensemble.mixture import Mixture
from pinnbo.ensemble.plain_family import without_physics
from pinnbo.ensemble.registry import FAMILIES
from pinnbo.ensemble.simulated_family import with_simulation
from pinnbo.gp.readings import Instrument
from pinnbo.methods import explanation, readings
from pinnbo.methods.base import SPACES, Engine, Method, Prediction, Task
from pinnbo.methods.robust import RobustEngine
from pinnbo.methods.setup import candidates, fill, surroundings
from pinnbo.methods.wanted import Wanted
from pinnbo.thresholds import CONFIDENT, POINTS_FILL

_N_CANDIDATES, _N_PROBES, _N_DRAWS = 512, 32, 16
_SEARCHED = 5e-2  # weight beside the best's of models that the search looks at: fewer than those that predict
_SEARCH = Effort(starts=5, favourites=2, evaluations=30, sweeps=0, tolerance=1e-3)
_SEARCH_MANY = Effort(starts=8, favourites=8, evaluations=40, sweeps=1)  # candidates do not fill the box
_TEST = Effort(starts=1, favourites=1, evaluations=1, sweeps=0)  # the best of the candidates will do
_APART = (
    0.5  # odds that of equations and symmetries one is wrong and the other exact: together those of wrong
)


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
    doubt: float = CONFIDENT
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
        engine = _AutoEngine(self, task)
        return engine if task.robust is None else RobustEngine(engine, engine.hypotheses, task)

    def default_initial(self, task: Task) -> int:
        """None with physics or a simulation, which know better where to look first."""
        return 0 if task.physics or task.simulation is not None else super().default_initial(task)


def hypotheses(settings: Auto, task: Task) -> list[Hypothesis]:
    """What may be true of the physics that is stated, if any; each with the families that can use it."""
    plain = with_simulation({"plain": without_physics(task.space)}, task.simulation)
    if not task.physics:
        return [Hypothesis(NO_EQUATION, 1.0, plain, 0)]
    equations, images = tuple(pde for pde in task.physics if not pde.reflections), task.images
    stated = Stated(
        task.space,
        equations,
        task.seed,
        settings.collocation,
        settings.row_noise,
        task.fields,
        task.unknowns,
        images,
    )
    exact = _able(settings, stated) if equations else {"symmetric": without_physics(task.space, images)}
    nearly: dict[str, Group] = {
        name: [loose for family in group for loose in family.loosened(settings.misfits)]
        for name, group in exact.items()
    }
    exact, nearly = (with_simulation(groups, task.simulation) for groups in (exact, nearly))
    found = [
        Hypothesis(WRONG, 1.0, plain, 0),
        Hypothesis(EXACT, settings.odds, exact, 0),
        Hypothesis(NEARLY_TRUE, settings.inexact_odds, nearly, settings.least),
    ]
    if not (equations and images):
        return found
    apart: dict[str, Mapping[str, Group]] = {
        NOT_SYMMETRIC: _able(settings, replace(stated, images=None)),
        ONLY_SYMMETRIC: {"symmetric": without_physics(task.space, images)},
    }
    found += [
        Hypothesis(name, _APART, with_simulation(groups, task.simulation), 0)
        for name, groups in apart.items()
    ]
    return found


def _able(settings: Auto, stated: Stated) -> dict[str, Group]:
    """The families that can use the equations."""
    entries = {name: FAMILIES[name] for name in settings.families if name not in settings.without}
    able = {
        name: e for name, e in entries.items() if e.spaces(stated.space) and (e.general or stated.is_plain)
    }
    built = {} if stated.medium_jumps else {name: entry.built(stated) for name, entry in able.items()}
    return {name: group for name, group in built.items() if group}


class _AutoEngine(Engine):
    def __init__(self, settings: Auto, task: Task) -> None:
        self._settings, self._task = settings, task
        self._candidates = candidates(task)[:_N_CANDIDATES]
        self._comparison = Comparison(hypotheses(settings, task), self._candidates[:_N_PROBES])
        self._warned = False

    @property
    def hypotheses(self) -> Sequence[Hypothesis]:
        """What may be true of the physics."""
        return self._comparison.hypotheses

    def copy(self) -> Engine:
        """What was computed from the physics is shared."""
        other = copy.copy(self)
        other._comparison = copy.copy(self._comparison)
        return other

    def in_hindsight(self, now: Data, data: Data) -> Engine:
        """With the models chosen now; what unknown coefficients are is not said."""
        self._believe(now)
        other = copy.copy(self)
        other._comparison, other._warned = self._comparison.in_hindsight(data), True
        return other

    # ---------------------------------------------------------------- tell: what is believed

    def _believe(self, data: Data) -> Belief:
        """The models with their weights; the same data are never fitted twice."""
        belief = self._comparison.given(data)
        if len(data.values) >= self._settings.least and not self._warned:
            said = explanation.contradiction(self._task, belief, self._settings.doubt)
            if said is not None:
                self._warned = True
                warnings.warn(said, PhysicsWarning, stacklevel=4)
        return belief

    def _with_pending(self, data: Data, pending: Float[ndarray, "q d"], rng: np.random.Generator) -> Belief:
        """What would be believed if points without an answer had given values drawn from the posterior."""
        belief = self._believe(data)
        for x in pending:
            belief = belief.imagined(x, self._task.noise, rng)
        return belief

    # ---------------------------------------------------------------- ask: where to measure

    def suggest(
        self, data: Data, pending: Float[ndarray, "q d"], n: int, index: int
    ) -> Float[ndarray, "n d"]:
        """The policy's points, each imagined before the next."""
        rng = self._task.rng(5, index)
        belief = self._with_pending(data, pending, rng)
        chosen = np.zeros((0, self._task.space.dim))
        for number in range(n):
            x = self._next(belief, data, np.concatenate([pending, chosen]), index + number)
            chosen = np.vstack([chosen, x])
            if number + 1 < n:
                belief = belief.imagined(x, self._task.noise, rng)
        return chosen

    def _next(
        self, belief: Belief, data: Data, pending: Float[ndarray, "q d"], index: int
    ) -> Float[ndarray, " d"]:
        """The first rule that applies says what for; a rule may reconsider when the best point is known."""
        now = self._situation(belief, index)
        policy = [rule for rule in self._settings.policy if type(rule).__name__ not in self._settings.without]
        objective = _first(rule.choose(now) for rule in policy)
        if objective is FILL or objective is None:
            return fill(self._task, data, pending, 1, index)[0]
        assert isinstance(objective, Objective)
        s = self._search(objective, belief, data, pending, index)
        other = _first(rule.reconsider(now, objective, s) for rule in policy)
        if isinstance(other, Objective):
            s = self._search(other, belief, data, pending, index, _TEST)
        return self._task.region.exact(s)

    def _situation(self, belief: Belief, index: int) -> Situation:
        """What the rules may look at."""
        task, mixture = self._task, belief.average(_SEARCHED)
        mixture.remember(self._candidates)
        return Situation(
            space=task.space,
            sign=task.sign,
            data=belief.data,
            noise=belief.noise(task.noise),
            mixture=mixture,
            probabilities=belief.probabilities,
            enforced=belief.enforced,
            under=lambda hypothesis: belief.mixture(lambda name: name == hypothesis, _SEARCHED),
            relaxed=lambda: self._comparison.relaxed(belief.data),
            n_design=Method.default_initial(self._settings, task),
            candidates=self._candidates,
            rng=task.rng(8, index),
            other=self._wanted(belief).objective if task.target is not None or task.learn else None,
        )

    def _search(
        self,
        objective: Objective,
        belief: Belief,
        data: Data,
        pending: Float[ndarray, "q d"],
        index: int,
        effort: Effort | None = None,
    ) -> Float[ndarray, " d"]:
        """One search for all objectives; starts are the candidates, the best measurements, minima of mean and draws."""
        posterior, lowest = belief.best.posterior, None
        if posterior.process.features.has_minima:
            rng = self._task.rng(7, index)
            draws = [posterior.mean_of_features(), *(posterior.draw(rng) for _ in range(_N_DRAWS))]
            lowest = posterior.process.minima(np.stack(draws), posterior.standard, self._task.sign)
        around = surroundings(self._task, self._candidates, data, pending, lowest)
        if self._task.limits:
            around = self._wanted(belief).within_limits(around)
        if effort is None:
            effort = _SEARCH if self._task.space.dim <= POINTS_FILL else _SEARCH_MANY
        return choose(objective, around, 1, self._task.rng(6, index), effort)[0]

    def suggest_reading(
        self,
        data: Data,
        pending: Float[ndarray, "q d"],
        options: Sequence[tuple[Instrument | None, float]],
        index: int,
    ) -> tuple[Float[ndarray, " d"], int]:
        """The sensor and the place of the largest knowledge gradient by cost."""
        belief = self._with_pending(data, pending, self._task.rng(5, index))
        next_value = self._next(belief, data, pending, index)
        known = np.concatenate([data.points, pending])
        return readings.best_question(self._task, belief, options, self._candidates, next_value, known, index)

    def _wanted(self, belief: Belief) -> Wanted:
        """What is wanted where it is not the optimum of the measured field."""
        return Wanted(self._task, self._candidates, belief)

    # ---------------------------------------------------------------- what others may see

    def predict(self, data: Data, points: Float[ndarray, "n d"]) -> Prediction:
        """The averaged posterior."""
        return Prediction(*self._believe(data).average().predict(self._task.space.scale(points)))

    def predict_of(self, data: Data, points: Float[ndarray, "n d"], sensor: Instrument) -> Prediction:
        """Under the models that know of what it reads."""
        return readings.predicted(self._believe(data), data, points, sensor)

    def predict_objective(self, data: Data, points: Float[ndarray, "n d"]) -> Prediction:
        """By functions drawn from the averaged posterior."""
        return self._wanted(self._believe(data)).predicted(points)

    def recommended(self, data: Data) -> Float[ndarray, " d"]:
        """Where the objective is best and likely within the limits."""
        return self._wanted(self._believe(data)).recommended()

    def posterior(self, data: Data, hypothesis: str | None = None) -> Mixture | None:
        """The average itself, or that over the models of one hypothesis."""
        return self._believe(data).mixture(lambda name: hypothesis in (None, name))

    def diagnostics(self, data: Data) -> dict[str, Any]:
        """Which models were chosen and why, the trust in the physics, what it left open, unknown coefficients."""
        belief = self._believe(data)
        found = explanation.diagnostics(self._task, self._comparison, belief)
        return {**found, **({"limits": self._wanted(belief).chances()} if self._task.limits else {})}


def _first(choices: Iterable[Choice]) -> Choice:
    return next((choice for choice in choices if choice is not None), None)
