"""The policy of `auto`: rules in an order, of which the first that applies says what the next measurement is for.

A rule is a small frozen object whose fields are its settings. It sees the `Situation` and returns an objective to
minimise, `FILL` for the next point of a space-filling design, or None where it does not apply. The default is
`default_policy()`; a user replaces it by ``Auto(policy=(Explore(), Improve()))``.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from pinnbo.acquisition.objectives import Discrimination, Draw, Improvement, Spread
from pinnbo.acquisition.search import Objective
from pinnbo.data import Data
from pinnbo.ensemble.hypotheses import EXACT, WRONG
from pinnbo.ensemble.mixture import Mixture
from pinnbo.gp.posterior import Posterior, condition
from pinnbo.space import Space
from pinnbo.thresholds import CONFIDENT, FEWEST, MOST, NEGLIGIBLE, ROWS_REACH, SETTLED, WITHIN_NOISE

_N_LOWEST = 128  # measurements among which the best mean is looked for


class Fill:
    """A point that fills the box, whatever is believed."""


FILL: Final = Fill()
Choice = Objective | Fill | None


@dataclass(frozen=True, eq=False)
class Situation:
    """What a rule may look at."""

    space: Space
    sign: float
    data: Data
    noise: float  # variance of a measurement
    mixture: Mixture
    probabilities: Mapping[str, float]  # of the hypotheses; empty where no physics is stated
    enforced: float  # weight of the models on which the equations act
    under: Callable[[str], Mixture | None]  # what is believed under one hypothesis, if that has any weight
    relaxed: Callable[
        [], Mixture | None
    ]  # the same without the main assumption of the models, where they have one
    n_design: int  # points that fill the box
    candidates: Float[ndarray, "c d"]
    rng: np.random.Generator
    other: Callable[[Mixture], Objective] | None = (
        None  # what counts where it is not the measured field's optimum
    )

    @property
    def n(self) -> int:
        """Measurements so far."""
        return len(self.data.values)

    @property
    def trust(self) -> float | None:
        """Probability that the equations are not wrong; None where none is stated or none can be used."""
        return 1.0 - self.probabilities[WRONG] if EXACT in self.probabilities else None

    @property
    def few_dimensions(self) -> bool:
        """Whether a search without physics has any hope: as many dimensions as a kernel can be given equations in."""
        return self.space.dim <= ROWS_REACH

    def improvement(self, mixture: Mixture) -> Objective:
        """Over the measured point with the best mean of a mixture; or of what else is wanted."""
        if self.other is not None:
            return self.other(mixture)
        means = mixture.measured() if self.data.is_plain else self._at_places(mixture)
        if means is None:  # of many measurements the lowest will do
            lowest = np.argsort(self.sign * self.data.values, kind="stable")[:_N_LOWEST]
            means = mixture.predict(self.space.scale(self.data.points[lowest]))[0]
        return Improvement(mixture, self.sign, float(np.min(self.sign * means)), self.noise)

    def _at_places(self, mixture: Mixture) -> Float[ndarray, " n"]:
        """Means of f where anything was measured, whatever the sensor."""
        return mixture.predict(self.space.scale(self.data.points))[0]


@dataclass(frozen=True)
class Rule(ABC):
    """One purpose of a measurement."""

    @abstractmethod
    def choose(self, now: Situation) -> Choice:
        """What the next measurement is for, or None."""

    def reconsider(self, now: Situation, objective: Objective, point: Float[ndarray, " d"]) -> Choice:
        """What to measure for in place of the best point that was found, or None."""
        return None


@dataclass(frozen=True)
class FillWhileNoisy(Rule):
    """Fill the box while the measurements differ no more than by their noise: none is better than another yet.

    Improvement would chase the noise, and a false physics could be believed on the strength of it. ``spread`` is the
    standard deviation of the values in units of the noise's; after ``most`` points the signal is not to be had so.
    """

    spread: float = WITHIN_NOISE
    most: int = MOST

    def choose(self, now: Situation) -> Choice:
        """In few dimensions, where a design can fill the box."""
        if not (now.few_dimensions and 0 < now.n < self.most) or (now.trust or 0.0) >= SETTLED:
            return None
        values = now.data.direct.values
        if len(values) == 0:  # other sensors: their readings say nothing of how f differs
            return None
        return FILL if float(np.std(values)) < self.spread * np.sqrt(now.noise) else None


@dataclass(frozen=True)
class FillWhileInDoubt(Rule):
    """Fill the box first, as if no equation were stated, while its truth is not settled or no model obeys it.

    A false equation leads to points that tell little. Only the very first point is where f is least known given the
    equations: it may be one that no other tells about, as the centre of a symmetry.
    """

    def choose(self, now: Situation) -> Choice:
        """While there are fewer points than fill the box."""
        if now.trust is None or now.n >= now.n_design:
            return None
        in_doubt = now.few_dimensions and now.trust < SETTLED and now.n > 0
        return FILL if in_doubt or now.enforced < NEGLIGIBLE else None


@dataclass(frozen=True)
class Explore(Rule):
    """Measure where f is least known while there are few observations.

    An improvement over the best of two or three values says little. With physics a few points fix most of what the
    equation leaves open; without, the design has done it.
    """

    points: int | None = None  # None: 2 and a quarter of the dimension, 4 to 10; 1 without physics

    def choose(self, now: Situation) -> Choice:
        """By the largest variance."""
        default = int(np.clip(2 + now.space.dim // 4, FEWEST, MOST // 2)) if now.probabilities else 1
        return Spread(now.mixture) if now.n < (default if self.points is None else self.points) else None


@dataclass(frozen=True)
class CheckPhysics(Rule):
    """Now and then measure where the physics predicts a value and nothing else does, unless its truth is settled.

    Improvement goes where the physics says: it would never see what contradicts it. ``first`` is when, then at twice as
    many measurements each time; not where the equation is given up already (below ``doubt``).
    """

    first: int = 6
    doubt: float = 1.0 - CONFIDENT

    def choose(self, now: Situation) -> Choice:
        """Exact physics against none."""
        due = now.n in self.first * 2 ** np.arange(32)
        if not due or now.trust is None or not self.doubt < now.trust < SETTLED:
            return None
        exact, wrong = now.under(EXACT), now.under(WRONG)
        return None if exact is None or wrong is None else Discrimination(exact, wrong, now.noise)


@dataclass(frozen=True)
class Hedge(Rule):
    """While the equations are in doubt, choose every second point by what is believed without them.

    If they are false, half of the measurements are as good as without; if they are true, trust soon rises above
    ``below`` and nothing is lost any more. In few dimensions: in many, a search without physics finds out nothing.
    """

    below: float = CONFIDENT

    def choose(self, now: Situation) -> Choice:
        """Improvement without physics."""
        if now.trust is None or now.trust > self.below or not now.few_dimensions or now.n % 2 or now.n == 0:
            return None
        without = now.under(WRONG)
        return None if without is None else now.improvement(without)


@dataclass(frozen=True)
class CheckStructure(Rule):
    """Where nothing more is to be gained under what is believed, put its main assumption to the test.

    Sums of functions of one coordinate can be sure of their optimum while f is no sum. ``gain`` is the expected
    improvement, in standard deviations of the noise, below which a measurement is better spent on the test.
    """

    gain: float = 0.1

    def choose(self, now: Situation) -> Choice:
        """Not before it is known what is to be gained."""
        return None

    def reconsider(self, now: Situation, objective: Objective, point: Float[ndarray, " d"]) -> Choice:
        """The models as they are against the same with large interactions."""
        if not objective.is_log_gain:
            return None
        gain = np.exp(-objective.values(point[None])[0])
        if gain >= self.gain * np.sqrt(now.noise) or (relaxed := now.relaxed()) is None:
            return None
        return Discrimination(now.mixture, relaxed, now.noise)


@dataclass(frozen=True)
class Improve(Rule):
    """Measure where the best posterior mean is expected to improve most; at first, where f is least known."""

    def choose(self, now: Situation) -> Choice:
        """Log expected improvement of the average over all models."""
        return now.improvement(now.mixture) if now.n else Spread(now.mixture)


@dataclass(frozen=True)
class Thompson(Rule):
    """Measure where a function drawn from the posterior is best, in place of `Improve`."""

    inducing: int = 256

    def choose(self, now: Situation) -> Choice:
        """Of one model of the average, on features if it has none."""
        mixture = now.mixture
        chosen: Posterior = mixture.posteriors[
            now.rng.choice(len(mixture.posteriors), p=np.exp(mixture.log_weights))
        ]
        if chosen.process.rank is None:
            inducing = np.concatenate([now.space.scale(now.data.points), now.candidates[: self.inducing]])
            chosen = condition(chosen.process.on_features(inducing), now.data, now.space)
        return Draw(chosen, chosen.draw(now.rng), now.sign)


def default_policy() -> tuple[Rule, ...]:
    """What `auto` does."""
    return (
        FillWhileNoisy(),
        FillWhileInDoubt(),
        Explore(),
        CheckPhysics(),
        Hedge(),
        CheckStructure(),
        Improve(),
    )


def as_policy(rules: Sequence[Rule | Mapping[str, Any]]) -> tuple[Rule, ...]:
    """Rules, or what `to_json` made of them."""
    found = []
    for rule in rules:
        if isinstance(rule, Mapping):
            settings = dict(rule)
            name = settings.pop("rule", None)
            if name not in _RULES:
                raise ValueError(f"policy: expected a rule, one of {sorted(_RULES)}, got {name!r}")
            rule = _RULES[name](**settings)
        if not isinstance(rule, Rule):
            raise TypeError(f"policy: expected rules such as Explore() and Improve(), got {rule!r:.60}")
        found.append(rule)
    if not found:
        raise ValueError("policy: expected at least one rule, got none")
    return tuple(found)


def to_json(rules: Sequence[Rule]) -> list[dict[str, Any]]:
    """Names and settings."""
    return [{"rule": type(rule).__name__, **dataclasses.asdict(rule)} for rule in rules]


_RULES: dict[str, type[Rule]] = {
    rule.__name__: rule
    for rule in (
        FillWhileNoisy,
        FillWhileInDoubt,
        Explore,
        CheckPhysics,
        Hedge,
        CheckStructure,
        Improve,
        Thompson,
    )
}
