"""A sampler for Optuna that knows the physics.

    study = optuna.create_study(direction="maximize", sampler=PINNSampler(space, pde))
    study.optimize(objective, n_trials=30)

It learns from what the storage holds and from nothing else, so that other workers, the dashboard and a restart all
count; what it keeps in memory (the prior given the physics) is only there to be quick. How the states of a trial are
understood is said in `pinnbo.studies.record`.
"""

from __future__ import annotations

import hashlib
import math
import threading
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import numpy as np
from numpy import ndarray

try:
    from optuna.distributions import BaseDistribution, FloatDistribution
    from optuna.samplers import BaseSampler, RandomSampler
    from optuna.study import Study, StudyDirection
    from optuna.trial import FrozenTrial, Trial, TrialState
except ImportError as error:
    raise ImportError(
        "Studies are kept with Optuna, which is not installed: pip install 'pinnbo[optuna]'"
    ) from error

from pinnbo import methods, values
from pinnbo.methods import Method
from pinnbo.optimizer import Goal, Optimizer
from pinnbo.pde import PDE
from pinnbo.region import Region
from pinnbo.space import Space
from pinnbo.stated import as_physics, as_problem
from pinnbo.studies import fingerprint, record

_APART = 1e-6  # of scaled points that are under way at the same time
_MOST_ROUNDS = 8
_MOST_AHEAD = 16
_CHOOSING = timedelta(minutes=2)  # a trial without a point that is older than this has died


class PINNSampler(BaseSampler):
    """Suggests points of a box where a black box that obeys a PDE may be best.

    Parameters
    ----------
    space: the box; its parameters are asked for by ``trial.suggest_float(name, low, high)``. Parameters that are not in
        it are drawn at random.
    pde: a `PDE`, a list of them, or None.
    method: a name from `pinnbo.methods.available` or a settings object.
    seed: with the number of the trial it decides what is random; by default it is made from the name of the study.
    noise: standard deviation of a measurement, if known.
    n_initial: number of space-filling points before the method takes over.
    measures, unknowns, domain, objective, limits, sensors, mean, robust: as of `Optimizer`.

    The goal is the direction of the study. A study that was made for another box or PDE is refused.
    """

    def __init__(
        self,
        space: Space,
        pde: PDE | Iterable[PDE] | None = None,
        method: str | Method = "auto",
        *,
        seed: int | None = None,
        noise: float | None = None,
        n_initial: int | None = None,
        measures: str | None = None,
        unknowns: Mapping[str, Sequence[Any]] | None = None,
        domain: Space | None = None,
        objective: Any = None,
        limits: Mapping[str, Sequence[Any]] | None = None,
        sensors: Mapping[str, Any] | None = None,
        mean: Callable[[Any], Any] | None = None,
        robust: bool | float = False,
    ) -> None:
        self._robust, self._sensors = robust, sensors
        self._objective, self._limits, self._mean = objective, limits, mean
        self._domain = space if domain is None else domain
        self._space, self._method = space, methods.get(method)
        self._measures, self._unknowns = measures, unknowns
        self._physics = as_problem(as_physics(pde), measures, unknowns).physics
        self._seed, self._noise, self._n_initial = seed, noise, n_initial
        for equation in self._physics:
            equation.validate(self._domain)
        # complains of arguments now, while the physics waits for the goal, which the study knows
        Optimizer(
            space,
            method="random",
            seed=seed or 0,
            noise=noise,
            n_initial=n_initial,
            domain=self._given_domain,
        )
        self._kept: tuple[Goal, int, Optimizer] | None = None
        self._claimed: dict[str, Any] = {}  # what was found in a study when it was claimed
        self._named: set[int] = set()  # trials that were complained of
        self._lock = threading.RLock()

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        """The box."""
        bounds = zip(self._space.names, self._space.lower.tolist(), self._space.upper.tolist(), strict=True)
        return {name: FloatDistribution(low, high) for name, low, high in bounds}

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """The next point; it is announced in the storage before it is returned, so that no worker takes it too."""
        self._raise_error_if_multi_objective(study)
        with self._lock:
            self.claim(study)
            yielding = 0
            for _ in range(_MOST_ROUNDS):
                held = record.read(study, self._domain, without=(trial.number,))
                x = self._next_point(study, trial, held, yielding)
                self._announce(study, trial, x)
                rivals = self._rivals(study, trial, held, x)
                if not rivals:
                    return self._space.to_dict(x)
                # whoever sees a rival moves, and both may: each leaves the next points to those who were asked first
                yielding = sum(number < trial.number for number in rivals)
            x = Region(self._domain, self._given_domain and self._space).sobol(1, [9, trial.number])[0]
            self._announce(study, trial, x)
            return self._space.to_dict(x)

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        """A random value for a parameter that is not in the box."""
        self._raise_error_if_multi_objective(study)
        stream = _number([self._seed_for(study), trial.number, param_name])
        return RandomSampler(seed=stream % 2**32).sample_independent(
            study, trial, param_name, param_distribution
        )

    def claim(self, study: Study) -> None:
        """Mark the study as made for this problem; raise `OtherProblemError` if it was made for another one."""
        found = fingerprint.stamp(study)
        # a study may be amended while workers are at it
        if found is None or self._claimed.get(study.study_name) != found:
            fingerprint.claim(study, self._space, self._physics)
            self._claimed[study.study_name] = fingerprint.stamp(study)

    def optimizer(self, study: Study) -> Optimizer:
        """An `Optimizer` that knows what the study holds: for ``predict``, ``best``, ``diagnostics`` and pictures.

        It is the sampler's own and stays as it is until the sampler is asked again.
        """
        with self._lock:
            held = record.read(study, self._domain)
            return self._informed(study, held, len(study.get_trials(deepcopy=False)))

    @property
    def _given_domain(self) -> Space | None:
        return None if self._domain is self._space else self._domain

    def _next_point(self, study: Study, trial: FrozenTrial, held: record.Record, yielding: int) -> ndarray:
        # others may be choosing at this moment: leave them the points that they will find, who were asked first
        ahead = min(_MOST_AHEAD, self._choosing(study, trial))
        optimizer = self._informed(study, held, trial.number - ahead)
        return optimizer.ask(ahead + yielding + 1)[-1]

    def _announce(self, study: Study, trial: FrozenTrial, x: ndarray) -> None:
        study._storage.set_trial_system_attr(trial._trial_id, record.POINT, self._space.to_dict(x))

    def _rivals(self, study: Study, trial: FrozenTrial, held: record.Record, x: ndarray) -> list[int]:
        """Trials at the same point that are under way, or were answered since the record was read."""
        known = {entry.number for entry in held.entries if entry.meaning != "pending"}
        now = record.read(study, self._domain, without=known | {trial.number})
        scaled = self._space.scale(x)
        return [
            entry.number
            for entry in now.entries
            if np.linalg.norm(self._space.scale(np.array(entry.x)) - scaled) < _APART
        ]

    def _informed(self, study: Study, held: record.Record, asked: int) -> Optimizer:
        self._complain(held)
        goal: Goal = "maximize" if study.direction == StudyDirection.MAXIMIZE else "minimize"
        seed = self._seed_for(study)
        if self._kept is None or self._kept[:2] != (goal, seed):
            optimizer = Optimizer(
                self._space,
                self._physics,
                goal=goal,
                method=self._method,
                seed=seed,
                noise=self._noise,
                n_initial=self._n_initial,
                measures=self._measures,
                unknowns=self._unknowns,
                domain=self._given_domain,
                objective=self._objective,
                limits=self._limits,
                sensors=self._sensors,
                mean=self._mean,
                robust=self._robust,
            )
            self._kept = (goal, seed, optimizer)
        optimizer = self._kept[2]
        pending = held.points("pending")
        optimizer.assume(
            *held.told(), pending=pending, asked=asked, batches=held.batches(), of=held.sensors()
        )
        return optimizer

    def _choosing(self, study: Study, trial: FrozenTrial) -> int:
        since = datetime.now() - _CHOOSING
        running = study.get_trials(deepcopy=False, states=(TrialState.RUNNING,))
        return sum(
            other.number < trial.number
            and record.point_of(other, self._space) is None
            and (other.datetime_start or since) > since
            for other in running
        )

    def _seed_for(self, study: Study) -> int:
        return _number([study.study_name]) % 2**32 if self._seed is None else self._seed

    def _complain(self, held: record.Record) -> None:
        new = [number for number in held.outside if number not in self._named]
        if new:
            warnings.warn(f"trials {new} lie outside {self._domain} and are not learnt from", stacklevel=3)
        far = [entry for entry in held.set_aside() if entry.number not in self._named]
        for entry in far:
            sentence = values.why_far(f"trial {entry.number}", entry.value or 0.0)
            warnings.warn(sentence, values.OutlierWarning, stacklevel=3)
        self._named.update(new, (entry.number for entry in far))


def nan_is_infeasible(objective: Callable[[Trial], float]) -> Callable[[Trial], float]:
    """Make NaN, returned by an objective, mean: impossible here, stay away.

    Optuna keeps a trial that returns NaN as failed, like one that raised. The difference is kept as an attribute of the
    trial: ``study.optimize(nan_is_infeasible(objective), n_trials=30)``.
    """

    def marked(trial: Trial) -> float:
        value = objective(trial)
        if isinstance(value, float) and math.isnan(value):
            mark_infeasible(trial)
        return value

    return marked


def mark_infeasible(trial: Trial) -> None:
    """Say that the trial that is about to be told as failed is impossible, and not merely lost."""
    trial.set_user_attr(record.INFEASIBLE, True)


def _number(parts: list[Any]) -> int:
    return int.from_bytes(hashlib.sha256(repr(parts).encode()).digest()[:8], "little")
