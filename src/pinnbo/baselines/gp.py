"""``gp-ei``, ``gp-ucb``, ``gp-logei``: Bayesian optimisation with BoTorch's Gaussian process.

``gp-ei`` and ``gp-ucb`` are the paper's baselines, with a Matern-5/2 kernel. ``gp-logei`` is what BoTorch
does today: its default model and LogEI. Hyperparameters are fitted to every new measurement. Acquisitions
are searched like those of every other method here (`pinnbo.acquisition`), so that methods differ by what
they believe and not by how well they search.

References
----------
D. R. Jones, M. Schonlau, W. J. Welch, "Efficient global optimization of expensive black-box functions"
(1998). N. Srinivas, A. Krause, S. M. Kakade, M. Seeger, "Gaussian process optimization in the bandit
setting" (2010). S. Ament, S. Daulton, D. Eriksson, M. Balandat, E. Bakshy, "Unexpected improvements to
expected improvement" (2023).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from pinnbo.acquisition.choice import choose
from pinnbo.acquisition.search import Effort, Objective
from pinnbo.baselines.gaussian_process import GaussianProcess, Kernel, Negated, quiet
from pinnbo.baselines.library import require
from pinnbo.data import Data
from pinnbo.methods.base import SEARCHED, Engine, Method, Prediction, Task
from pinnbo.methods.setup import candidates, fill, surroundings

# BoTorch's own documented effort: 512 raw samples, ten restarts
_N_CANDIDATES = 512
_EFFORT = Effort(starts=10, evaluations=60, sweeps=0)

# the model, its measurements and the number of the suggestion
Rule = Callable[[GaussianProcess, Data, int], Objective]


@dataclass(frozen=True)
class GPEI(Method):
    """Expected improvement on the best posterior mean, Matern-5/2 kernel. No settings."""

    name: ClassVar[str] = "gp-ei"
    handles: ClassVar[frozenset[str]] = SEARCHED | {"log"}

    def start(self, task: Task) -> Engine:
        """Begin; the physics is not used."""
        return _GPEngine(self.name, task, "matern", _improvement)


@dataclass(frozen=True)
class GPLogEI(Method):
    """The logarithm of the expected improvement, BoTorch's default model. No settings."""

    name: ClassVar[str] = "gp-logei"
    handles: ClassVar[frozenset[str]] = SEARCHED | {"log"}

    def start(self, task: Task) -> Engine:
        """Begin; the physics is not used."""
        return _GPEngine(self.name, task, "default", _log_improvement)


@dataclass(frozen=True)
class GPUCB(Method):
    """Confidence bound with beta_t = shrink * 2 log(d t^2 pi^2 / (6 delta)), Matern-5/2 kernel.

    The factor ``shrink`` of 1/5 is that of the experiments of Srinivas et al. (2010).
    """

    name: ClassVar[str] = "gp-ucb"
    handles: ClassVar[frozenset[str]] = SEARCHED | {"log"}

    delta: float = 0.1
    shrink: float = 0.2

    def __post_init__(self) -> None:
        if not 0 < self.delta < 1:
            raise ValueError(f"gp-ucb: delta must lie between 0 and 1, got {self.delta}")
        if not self.shrink > 0:
            raise ValueError(f"gp-ucb: shrink must be positive, got {self.shrink}")

    def start(self, task: Task) -> Engine:
        """Begin; the physics is not used."""
        return _GPEngine(self.name, task, "matern", self._bound)

    def beta(self, d: int, t: int) -> float:
        """beta_t in d dimensions."""
        return self.shrink * 2.0 * float(np.log(d * t**2 * np.pi**2 / (6.0 * self.delta)))

    def _bound(self, belief: GaussianProcess, data: Data, t: int) -> Objective:
        from botorch.acquisition import UpperConfidenceBound

        beta = self.beta(belief.task.space.dim, t)
        return Negated(UpperConfidenceBound(belief.model, beta, maximize=False))


class _GPEngine(Engine):
    def __init__(self, name: str, task: Task, kernel: Kernel, rule: Rule) -> None:
        require(name, "torch", "botorch")
        self._task, self._kernel, self._rule = task, kernel, rule
        self._candidates = candidates(task)[:_N_CANDIDATES]
        self._fitted: tuple[Data, GaussianProcess] | None = None

    def suggest(
        self, data: Data, pending: Float[ndarray, "q d"], n: int, index: int
    ) -> Float[ndarray, "n d"]:
        """Maximisers of the acquisition, one after the other; points under way are believed to give their
        mean.
        """
        if len(data.values) == 0:
            return fill(self._task, data, pending, n, index)
        belief = self._fit(data)
        for x in pending:
            belief = belief.believing(x)
        chosen = np.zeros((0, self._task.space.dim))
        for number in range(n):
            objective = self._rule(belief, data, len(data.values) + number)
            known = np.concatenate([pending, chosen])
            around = surroundings(self._task, self._candidates, data, known)
            (s,) = choose(objective, around, 1, self._task.rng(6, index + number), _EFFORT)
            chosen = np.vstack([chosen, self._task.region.exact(s)])
            if number + 1 < n:
                belief = belief.believing(chosen[-1])
        return chosen

    def predict(self, data: Data, points: Float[ndarray, "n d"]) -> Prediction:
        """The posterior; without data, that of standardised values."""
        if len(data.values) == 0:
            return Prediction(np.zeros(len(points)), np.ones(len(points)))
        return self._fit(data).predict(points)

    def diagnostics(self, data: Data) -> dict[str, Any]:
        """The kernel."""
        return {"model": "Matern-5/2" if self._kernel == "matern" else "BoTorch's default"}

    def _fit(self, data: Data) -> GaussianProcess:
        if self._fitted is None or not (data.extends(self._fitted[0]) and self._fitted[0].extends(data)):
            self._fitted = (data, GaussianProcess.fit(self._task, data, self._kernel))
        return self._fitted[1]


def _improvement(belief: GaussianProcess, data: Data, t: int) -> Objective:
    from botorch.acquisition import ExpectedImprovement

    with quiet():  # it warns that LogEI is better
        return Negated(ExpectedImprovement(belief.model, _best(belief, data), maximize=False))


def _log_improvement(belief: GaussianProcess, data: Data, t: int) -> Objective:
    from botorch.acquisition import LogExpectedImprovement

    return Negated(LogExpectedImprovement(belief.model, _best(belief, data), maximize=False), of_log=True)


def _best(belief: GaussianProcess, data: Data) -> float:
    """The lowest mean at a measured point: noise makes the lowest value too good to be true."""
    return float(np.min(belief.standardised(data.points)[0]))
