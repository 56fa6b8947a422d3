"""``auto``: the closed-form engine. Condition on the physics once, let the evidence choose, improve.

Under each setting (family, length scales) f is Gaussian, given physics and observations in closed form. Settings are
averaged with their evidence p(Y | U). Whether to believe the physics is a comparison of hypotheses: it holds, it holds
but for a smooth unknown (odds' = 2), it does not,

    trust = odds Z_on / (odds Z_on + odds' Z_inexact + Z_off),

Z the evidence averaged over each hypothesis' families and length scales, with prior odds for what the user stated. The
next point is where the expected improvement of the average is largest.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from jaxtyping import Float
from numpy import ndarray
from scipy.special import logsumexp

from pinnbo.acquisition.choice import choose
from pinnbo.acquisition.search import Effort, Objective
from pinnbo.data import Data, Standard
from pinnbo.inference.additive_prior import InformedSum
from pinnbo.inference.belief import fit
from pinnbo.inference.constant_on_curves import MeansOnCurves
from pinnbo.inference.curve_family import CharacteristicPhysics
from pinnbo.inference.curves import Characteristics
from pinnbo.inference.families import (
    KERNEL_DIMENSIONS,
    Family,
    InexactPhysics,
    KernelPhysics,
    Plain,
)
from pinnbo.inference.hypotheses import MANY, NEGLIGIBLE, Candidate, Hypothesis, tried
from pinnbo.inference.information import confidence_width
from pinnbo.inference.interpolation import interpolated
from pinnbo.inference.mixture import Bound, Contest, Drawn, Gain, Gradient, Improvement, Mixture, Spread
from pinnbo.inference.stretch import StretchedSpace
from pinnbo.inference.sum_and_rest import SumAndFeatures, SumAndRest
from pinnbo.inference.sum_families import SumAndRestPhysics, SumPhysics
from pinnbo.methods.base import Engine, Method, Prediction, Task, stage_of
from pinnbo.methods.setup import candidates, collocate, surroundings
from pinnbo.models.kernels import FamilyName

_EFFORT = Effort(starts=8, evaluations=40)
_LITTLE = Effort(starts=1, evaluations=1, sweeps=0)  # the best of the candidates will do
_N_CANDIDATES = 512
_N_LOWEST = 512
_N_PROBES = 32
_N_DRAWS = 16
_N_INDUCING = 256
_STRETCHED_DIMENSIONS = 3
_DOUBT = 0.1
_FEW = 5  # measurements contradict nothing yet
_INEXACT_ODDS = 2.0  # prior odds that the stated PDE holds but for a smooth unknown
_MISFITS = (0.1, 0.4)
_FIRST_CHECK = 6  # the physics is checked after 6, 12, 24, ... measurements
_SETTLED = 0.9999  # unless the trust is above
_DROWNED, _MOST_DESIGNED = 2.0, 20  # spread of values over noise, and points that fill the box
_NO_GAIN = 0.1  # expected improvement, in standard deviations of the noise
_CREDIBLE = 0.95  # trust: below, every second point is chosen without the physics


AcquisitionName = Literal["improvement", "gradient", "bound", "draw"]


class PhysicsWarning(UserWarning):
    """The measurements contradict the stated PDE."""


@dataclass(frozen=True)
class Auto(Method):
    """Settings of the closed-form engine.

    ``collocation`` rows are shared by the equations of the kernel family; ``row_noise`` is the standard deviation that
    a row is allowed relative to its prior one; ``odds`` are the prior odds that the stated PDE is true.
    ``acquisition`` is the expected improvement, the knowledge gradient of a point and the incumbent, the confidence
    bound with the width of Lemma 3 at level 1 - ``delta``, or the minimum of a function drawn from the posterior.
    """

    name: ClassVar[str] = "auto"

    collocation: int = 500
    row_noise: float = 1e-3
    odds: float = 4.0
    acquisition: AcquisitionName = "improvement"
    delta: float = 0.1

    def __post_init__(self) -> None:
        if self.collocation < 1:
            raise ValueError(f"auto: collocation must be at least 1, got {self.collocation}")
        if not self.row_noise > 0:
            raise ValueError(f"auto: row_noise must be positive, got {self.row_noise}")
        if not self.odds > 0:
            raise ValueError(f"auto: odds must be positive, got {self.odds}")
        if self.acquisition not in get_args(AcquisitionName):
            names = ", ".join(get_args(AcquisitionName))
            raise ValueError(f"auto: acquisition must be one of {names}, got {self.acquisition!r}")
        if not 0 < self.delta < 1:
            raise ValueError(f"auto: delta must lie between 0 and 1, got {self.delta}")

    def start(self, task: Task) -> Engine:
        """Check the task and begin."""
        return _AutoEngine(self, task)

    def default_initial(self, task: Task) -> int:
        """None with physics, which knows better where to look first."""
        return 0 if task.physics else super().default_initial(task)


@dataclass(eq=False)
class _Chosen:
    """Settings chosen at a stage, and the data that they have been used with."""

    stage: int
    hypotheses: list[Hypothesis]
    seen: Data = field(init=False)


@dataclass(frozen=True, eq=False)
class _Belief:
    """All that is believed given some data."""

    data: Data
    mixture: Mixture
    candidates: list[Candidate]
    weights: Float[ndarray, " c"]
    trust: float | None
    log_odds: float | None  # log Z_on / Z_off


class _AutoEngine(Engine):
    def __init__(self, settings: Auto, task: Task) -> None:
        self._settings, self._task = settings, task
        self._candidates = candidates(task)[:_N_CANDIDATES]
        space = task.space
        self._hypotheses = hypotheses(settings, task)
        self._inexact: list[Family] = [
            family
            for kernel in self._hypotheses[-1]
            if isinstance(kernel, KernelPhysics)
            for misfit in _MISFITS
            if (family := kernel.inexact(misfit)) is not None
        ]
        self._chosen: _Chosen | None = None
        self._belief: _Belief | None = None
        self._warned = False
        self._n_exploring = int(np.clip(2 + space.dim // 4, 4, 10)) if task.physics else 1

    def suggest(
        self, data: Data, pending: Float[ndarray, "q d"], n: int, index: int
    ) -> Float[ndarray, "n d"]:
        """Maximisers of the expected improvement; points without an answer are imagined from the posterior.

        Where the equations are in doubt, or no model obeys them, the box is filled first, as if none were stated.
        """
        space = self._task.space
        imagined = self._believe(data)
        rng = self._task.rng(5, index)
        for x in pending:
            imagined = self._imagine(imagined, x, rng)
        chosen = np.zeros((0, space.dim))
        for number in range(n):
            if self._lacks_design(imagined):
                x = self._task.design(1, index + number)[0]
            else:
                known = np.concatenate([pending, chosen])
                x = self._sought(imagined, data, known, index + number)
            chosen = np.vstack([chosen, x])
            if number + 1 < n:
                imagined = self._imagine(imagined, x, rng)
        return chosen

    def _lacks_design(self, belief: _Belief) -> bool:
        """Whether fewer points are known than fill the box, and the equations act on no model that counts.

        In a few dimensions, whether their truth is not settled: a false equation leads to points that tell little. Only
        the very first point is where f is least known given the equations; it may be one that no other tells about, as
        the centre of a symmetry. There the box is also filled while the measurements differ no more than by their
        noise: none is better yet.
        """
        n, low = len(belief.data.values), self._task.space.dim <= KERNEL_DIMENSIONS
        settled = belief.trust is not None and belief.trust >= _SETTLED
        if low and not settled and 0 < n < _MOST_DESIGNED:
            spread = float(np.std(belief.data.values))
            if spread < _DROWNED * np.sqrt(self._noise(belief)):
                return True
        if belief.trust is None or n >= Method.default_initial(self._settings, self._task):
            return False
        return (low and not settled and n > 0) or self._enforced(belief) < NEGLIGIBLE

    def _sought(
        self, belief: _Belief, data: Data, known: Float[ndarray, "q d"], index: int
    ) -> Float[ndarray, " d"]:
        """Where the objective is best."""
        objective = self._objective(belief, index)
        starts = np.concatenate([self._candidates, self._lowest(belief, index)])

        def best(objective: Objective, effort: Effort) -> Float[ndarray, " d"]:
            around = surroundings(self._task, starts, data, known, self._strength(data, objective))
            return choose(objective, around, 1, self._task.rng(6, index), effort)[0]

        s = best(objective, _EFFORT)
        if isinstance(objective, Gain):
            gain = np.exp(-objective.values(s[None])[0])
            if (
                gain < _NO_GAIN * np.sqrt(objective.noise)
                and (test := self._test_of_sums(belief)) is not None
            ):
                s = best(test, _LITTLE)
        return self._task.space.unscale(s)

    def _test_of_sums(self, belief: _Belief) -> Contest | None:
        """Where a sum that obeys the equations foretells a measurement, and a sum with a large rest does not.

        For when nothing more is to be gained if f is such a sum.
        """
        rests = [family for family in self._hypotheses[-1] if isinstance(family, SumAndRestPhysics)]
        sums = _part(belief, lambda c: isinstance(c.family, SumPhysics | SumAndRestPhysics))
        if not rests or sums is None or len(belief.data.values) > MANY:
            return None
        beliefs = [fit(prior, belief.data, self._task.space) for prior in rests[0].largest(belief.data)]
        even = np.full(len(beliefs), -np.log(len(beliefs)))
        return Contest(sums, Mixture(beliefs, even), self._noise(belief))

    def _objective(self, belief: _Belief, index: int) -> Objective:
        """Where f is least known while there are few observations, the acquisition afterwards."""
        if len(belief.data.values) < self._n_exploring:
            return Spread(belief.mixture)
        if (check := self._check(belief)) is not None:
            return check
        if self._settings.acquisition == "bound":
            # in units of the prior's standard deviation, and of the noise that is assumed
            width = confidence_width(1.0, 1.0, belief.mixture.information, self._settings.delta)
            return Bound(belief.mixture, self._task.sign, width)
        if self._settings.acquisition == "draw":
            return self._drawn(belief, self._task.rng(8, index))
        return self._gain(belief, self._hedge(belief) or belief.mixture)

    def _gain(self, belief: _Belief, mixture: Mixture) -> Gain:
        """Over the measured point with the best mean of a mixture."""
        sign, data = self._task.sign, belief.data
        lowest = np.argsort(sign * data.values, kind="stable")[:_N_LOWEST]
        scaled = self._task.space.scale(data.points[lowest])
        means = sign * mixture.predict(scaled)[0]
        if self._settings.acquisition == "gradient":
            return Gradient(mixture, sign, scaled[int(np.argmin(means))], self._noise(belief))
        return Improvement(mixture, sign, float(np.min(means)), self._noise(belief))

    def _hedge(self, belief: _Belief) -> Mixture | None:
        """For every second point while the equations are in doubt, what is believed without them.

        In a few dimensions; in many, a search without physics has no hope to find out anything.
        """
        if belief.trust is None or belief.trust > _CREDIBLE or self._task.space.dim > KERNEL_DIMENSIONS:
            return None
        return None if len(belief.data.values) % 2 else _part(belief, lambda c: not c.family.physics)

    def _check(self, belief: _Belief) -> Contest | None:
        """Now and then, where the physics foretells a measurement and nothing else does, unless its truth is settled.

        The acquisition goes where the physics says: it would never see what contradicts it.
        """
        n = len(belief.data.values)
        due = n in _FIRST_CHECK * 2 ** np.arange(32)
        if not due or belief.trust is None or not _DOUBT < belief.trust < _SETTLED:
            return None
        exact = _part(belief, lambda c: c.obeys and not isinstance(c.family, InexactPhysics))
        without = _part(belief, lambda c: not c.family.physics)
        return None if exact is None or without is None else Contest(exact, without, self._noise(belief))

    def _noise(self, belief: _Belief) -> float:
        """Variance of a measurement: stated, or as of those so far that have one, or as the data let it seem."""
        known = belief.data.noise[~np.isnan(belief.data.noise)]
        if self._task.noise is not None:
            found = self._task.noise**2
        elif len(known):
            found = float(np.mean(known**2))
        else:
            best = belief.mixture.beliefs[int(np.argmax(belief.mixture.log_weights))]
            found = best.noise
        return max(found, (1e-6 * Standard.of(belief.data.values).scale) ** 2)

    def _drawn(self, belief: _Belief, rng: np.random.Generator) -> Drawn:
        """A function drawn from the posterior: of one of its beliefs, on features if the prior has none."""
        mixture = belief.mixture
        chosen = mixture.beliefs[rng.choice(len(mixture.beliefs), p=np.exp(mixture.log_weights))]
        if chosen.prior.rank is None:
            measured = self._task.space.scale(belief.data.points)
            inducing = np.concatenate([measured, self._candidates[:_N_INDUCING]])
            chosen = fit(interpolated(chosen.prior, inducing), belief.data, self._task.space)
        return Drawn(chosen, chosen.draw(rng), self._task.sign)

    def _lowest(self, belief: _Belief, index: int) -> Float[ndarray, "k d"]:
        """Minima of mean and draws of the best sum: its many valleys are found on every axis for itself."""
        best = belief.mixture.beliefs[int(np.argmax(belief.mixture.log_weights))]
        if isinstance(best.prior, SumAndRest | SumAndFeatures):
            best = fit(best.prior.sum, belief.data.first(MANY), self._task.space)
        if not isinstance(best.prior, InformedSum):
            return np.zeros((0, self._task.space.dim))
        rng = self._task.rng(7, index)
        draws = [best.mean_of_features(), *(best.draw(rng) for _ in range(_N_DRAWS))]
        return np.stack([best.prior.lowest(draw, best.standard, self._task.sign) for draw in draws])

    def _strength(self, data: Data, objective: Objective) -> float:
        """Of the guard around infeasible points: above the differences that the objective has over the box."""
        if len(data.infeasible) == 0:
            return 0.0
        values = objective.values(self._candidates)
        return 10.0 + 10.0 * float(np.median(values) - np.min(values))

    def predict(self, data: Data, points: Float[ndarray, "n d"]) -> Prediction:
        """The averaged posterior."""
        return Prediction(*self._believe(data).mixture.predict(self._task.space.scale(points)))

    def posterior(self, data: Data) -> Mixture:
        """The average itself."""
        return self._believe(data).mixture

    def diagnostics(self, data: Data) -> dict[str, Any]:
        """Which model was chosen and why, the trust in the physics, and how many unknowns it left."""
        belief = self._believe(data)
        order = np.argsort(-belief.weights, kind="stable")
        best = belief.candidates[order[0]]
        return {
            "model": _described(best),
            "log_evidence": best.belief.log_evidence,
            "trust": belief.trust,
            "log_evidence_ratio": belief.log_odds,
            "enforced": self._enforced(belief),
            "unknowns": self._unknowns(best),
            "settings": [
                {
                    "model": _described(belief.candidates[i]),
                    "scales": list(belief.candidates[i].scales),
                    "weight": float(belief.weights[i]),
                    "log_evidence": belief.candidates[i].belief.log_evidence,
                }
                for i in order
            ],
        }

    def _believe(self, data: Data) -> _Belief:
        if self._belief is None or not (data.extends(self._belief.data) and self._belief.data.extends(data)):
            stage = stage_of(min(len(data.values), MANY))
            if self._chosen is None or self._chosen.stage != stage or not data.extends(self._chosen.seen):
                head = data.first(stage)
                self._chosen = _Chosen(stage, self._compared(head))
            self._chosen.seen = data
            self._belief = self._average(data, self._chosen.hypotheses, lasting=len(data.values))
            self._warn(self._belief)
        return self._belief

    def _compared(self, data: Data) -> list[Hypothesis]:
        """Without the physics, with it, and with an inexact one once there are measurements to tell."""
        probes = self._candidates[:_N_PROBES]
        both = [tried(families, data, probes) for families in self._hypotheses]
        found = [hypothesis for hypothesis in both if hypothesis is not None]
        if len(found) == 2 and len(data.values) >= _FEW:
            inexact = tried(self._inexact, data, probes)
            found += [] if inexact is None else [inexact]
        return found

    def _average(self, data: Data, hypotheses: list[Hypothesis], lasting: int) -> _Belief:
        now = [hypothesis.updated(data, lasting) for hypothesis in hypotheses]
        log_z = np.array([hypothesis.log_z for hypothesis in now])
        log_z += np.log([1.0, self._settings.odds, _INEXACT_ODDS])[: len(now)]
        share = log_z - logsumexp(log_z)
        kept = [candidate for hypothesis in now for candidate in hypothesis.kept]
        log_weights = np.concatenate(
            [
                part + np.array([c.log_weight for c in h.kept]) - logsumexp([c.log_weight for c in h.kept])
                for part, h in zip(share, now, strict=True)
            ]
        )
        mixture = _mixture(kept, log_weights)
        trust = float(np.exp(share[1])) if len(now) > 1 else None
        ratio = float(now[1].log_z - now[0].log_z) if len(now) > 1 else None
        return _Belief(data, mixture, kept, np.exp(log_weights), trust, ratio)

    def _imagine(self, belief: _Belief, x: Float[ndarray, " d"], rng: np.random.Generator) -> _Belief:
        """The belief if x were measured and gave a value drawn from the posterior."""
        (mean,), (std,) = belief.mixture.predict(self._task.space.scale(x[None]))
        noise = np.nan if self._task.noise is None else self._task.noise
        value = mean + std * rng.standard_normal()
        points, values, noises, infeasible = belief.data
        data = Data(np.vstack([points, x]), np.append(values, value), np.append(noises, noise), infeasible)
        assert self._chosen is not None
        return self._average(data, self._chosen.hypotheses, lasting=len(self._chosen.seen.values))

    def _warn(self, belief: _Belief) -> None:
        doubtful = belief.trust is not None and belief.trust < _DOUBT and len(belief.data.values) >= _FEW
        if doubtful and not self._warned:
            self._warned = True
            warnings.warn(
                f"the {len(belief.data.values)} measurements contradict the stated physics: without it they are "
                f"{_times(-(belief.log_odds or 0.0))} times more likely; trust is down to {belief.trust:.2g}",
                PhysicsWarning,
                stacklevel=4,
            )

    def _enforced(self, belief: _Belief) -> float:
        """Weight of the models on which the equations act: less than the trust where they are too fine for that."""
        pairs = zip(belief.candidates, belief.weights, strict=True)
        return float(sum(weight for c, weight in pairs if c.obeys))

    def _unknowns(self, candidate: Candidate) -> int:
        """Directions in which f may still vary before any measurement: standard deviations above a thousandth."""
        space = self._task.space
        covariance = candidate.belief.prior.covariance_matrix(space.scale(space.sobol(128, seed=17)))
        eigenvalues = np.linalg.eigvalsh(covariance)
        return int(np.sum(eigenvalues > 1e-6 * eigenvalues[-1]))


def _part(belief: _Belief, counts: Callable[[Candidate], bool]) -> Mixture | None:
    """The average over some of the candidates alone, if any of them has weight."""
    chosen = [i for i, c in enumerate(belief.candidates) if belief.weights[i] > 0 and counts(c)]
    if not chosen:
        return None
    return _mixture([belief.candidates[i] for i in chosen], np.log(belief.weights[chosen]))


def _mixture(candidates: list[Candidate], log_weights: Float[ndarray, " c"]) -> Mixture:
    """The average over those candidates that count."""
    used = np.flatnonzero(log_weights > np.max(log_weights) + np.log(NEGLIGIBLE))
    return Mixture([candidates[i].belief for i in used], log_weights[used] - logsumexp(log_weights[used]))


def hypotheses(settings: Auto, task: Task) -> list[list[Family]]:
    """The families without physics, and those with it if any is stated."""
    names: tuple[FamilyName, ...] = ("rbf", "matern", "additive") if task.space.dim > 1 else ("rbf", "matern")
    plain: list[Family] = [Plain(task.space, name) for name in names]
    return [plain, _with_physics(settings, task)] if task.physics else [plain]


def _with_physics(settings: Auto, task: Task) -> list[Family]:
    """Sums where the operator separates, and the kernel; in many dimensions rows tell a kernel nothing."""
    space = task.space
    additive = SumPhysics.build(space, task.physics, task.seed)
    if additive is not None and space.dim > KERNEL_DIMENSIONS:
        return [additive, SumAndRestPhysics(additive), Plain(space, "rbf")]
    curves: list[CharacteristicPhysics] = []
    if (characteristics := Characteristics.of(space, task.physics)) is not None:
        means = MeansOnCurves(characteristics)
        curves = [CharacteristicPhysics(m) for m in (means, means.continued) if m is not None]
    equations = sum(pde.n_equations(space) for pde in task.physics if pde.points is None)
    per_pde = max(1, settings.collocation // max(1, equations))
    frames = [space]
    linear = all(pde.is_linear(space) for pde in task.physics)
    if 1 < space.dim <= _STRETCHED_DIMENSIONS and linear and not curves:
        frames.append(StretchedSpace.of(space))
    above = curves[0].longest if curves else 0.0
    kernels = (
        KernelPhysics(
            space, frame, partial(collocate, replace(task, space=frame)), per_pde, settings.row_noise, above
        )
        for frame in frames
    )
    return [*([] if additive is None else [additive]), *kernels, *curves]


def _described(candidate: Candidate) -> str:
    physics = "given the physics" if candidate.belief.prior.has_physics else "without physics"
    return f"{candidate.family.described(candidate.scales)}, {physics}"


def _times(log_ratio: float) -> str:
    return f"{np.exp(log_ratio):.3g}" if log_ratio < 700 else f"10^{log_ratio / np.log(10):.0f}"
