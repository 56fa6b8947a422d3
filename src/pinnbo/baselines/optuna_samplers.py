"""``optuna-gp``, ``optuna-tpe``: Optuna's samplers with their default settings, on a study in memory.

The study is made anew from the measurements for each suggestion, so that nothing but them counts. Optuna
has no word for a point under way or an infeasible one that both samplers understand: the first are told as
if they had given the mean of all values, the second as if they had given the worst.

References
----------
T. Akiba, S. Sano, T. Yanase, T. Ohta, M. Koyama, "Optuna: a next-generation hyperparameter optimization
framework" (2019). J. Bergstra, R. Bardenet, Y. Bengio, B. Kegl, "Algorithms for hyper-parameter
optimization" (2011).
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from pinnbo.baselines.library import require
from pinnbo.baselines.proposals import set_apart
from pinnbo.data import Data
from pinnbo.methods.base import Engine, Method, Prediction, Task
from pinnbo.methods.nearest import nearest_measurement

if TYPE_CHECKING:
    from optuna.samplers import BaseSampler


@dataclass(frozen=True)
class OptunaGP(Method):
    """No settings."""

    name: ClassVar[str] = "optuna-gp"

    def start(self, task: Task) -> Engine:
        """Begin; the physics is not used."""
        require(self.name, "torch", "optuna")
        return _OptunaEngine(task, _gp_sampler)


@dataclass(frozen=True)
class OptunaTPE(Method):
    """No settings."""

    name: ClassVar[str] = "optuna-tpe"

    def start(self, task: Task) -> Engine:
        """Begin; the physics is not used."""
        require(self.name, "optuna")
        return _OptunaEngine(task, _tpe_sampler)


class _OptunaEngine(Engine):
    def __init__(self, task: Task, sampler: Callable[[int], BaseSampler]) -> None:
        self._task, self._sampler = task, sampler

    def suggest(
        self, data: Data, pending: Float[ndarray, "q d"], n: int, index: int
    ) -> Float[ndarray, "n d"]:
        """One ask of the sampler per point."""
        chosen = np.zeros((0, self._task.space.dim))
        for number in range(n):
            rng = self._task.rng(5, index + number)
            known = np.concatenate([pending, chosen])
            proposal = self._ask(data, known, int(rng.integers(2**31)))
            chosen = np.vstack([chosen, set_apart(self._task, proposal, data, known, rng)])
        return chosen

    def predict(self, data: Data, points: Float[ndarray, "n d"]) -> Prediction:
        """That of the nearest measurement."""
        return nearest_measurement(self._task.space, data, points)

    def diagnostics(self, data: Data) -> dict[str, Any]:
        """Nothing to tell."""
        return {"model": "Optuna's"}

    def _ask(self, data: Data, pending: Float[ndarray, "q d"], seed: int) -> Float[ndarray, " d"]:
        import optuna
        from optuna.distributions import BaseDistribution, FloatDistribution
        from optuna.trial import create_trial

        space = self._task.space
        bounds = zip(space.names, space.lower.tolist(), space.upper.tolist(), strict=True)
        distributions: dict[str, BaseDistribution] = {n: FloatDistribution(a, b) for n, a, b in bounds}
        values = self._task.sign * data.values
        told = [(data.points, values)]
        if len(values):
            told.append((pending, np.full(len(pending), np.mean(values))))
            told.append((data.infeasible, np.full(len(data.infeasible), np.max(values))))
        with _quiet():
            study = optuna.create_study(sampler=self._sampler(seed))
            study.add_trials(
                [
                    create_trial(params=space.to_dict(x), distributions=distributions, value=float(y))
                    for points, ys in told
                    for x, y in zip(points, ys, strict=True)
                ]
            )
            return space.from_dict(study.ask(distributions).params)


def _gp_sampler(seed: int) -> BaseSampler:
    from optuna.samplers import GPSampler

    return GPSampler(seed=seed)


def _tpe_sampler(seed: int) -> BaseSampler:
    from optuna.samplers import TPESampler

    return TPESampler(seed=seed)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Optuna announces every study, and warns that a sampler is new."""
    import optuna

    level = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        optuna.logging.set_verbosity(level)
