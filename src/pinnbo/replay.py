"""What an optimizer believed earlier, and what it would believe with other data; the optimizer itself stays as it is.

Beliefs depend on the data alone, so that every earlier state can be computed again from the first n measurements. The
infeasible points count from the beginning: they have no place in the order of the measurements.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from pinnbo.data import stage_of
from pinnbo.optimizer import Best, Optimizer
from pinnbo.studies.stopping import outlook

_FOLDS = 20  # as many fits as a reader has the patience for
_MOST = 40  # moments: more than a picture can show


# where choosing models takes long
HINDSIGHT = "Earlier beliefs are those of the models that are chosen now."


class Moment(NamedTuple):
    """How things stood after n measurements."""

    n: int
    best: Best
    hypotheses: dict[str, float]
    expected_improvement: float


class LeftOut(NamedTuple):
    """Measured values, and what was predicted for each from the measurements without it; ``folds`` fits in all."""

    values: Float[ndarray, " n"]
    mean: Float[ndarray, " n"]
    std: Float[ndarray, " n"]  # of a measurement, noise included
    folds: int

    @property
    def coverage(self) -> float:
        """The share of values inside their 95% interval."""
        return float(np.mean(np.abs(self.values - self.mean) <= 1.96 * self.std))


def replay(optimizer: Optimizer) -> list[Moment]:
    """How things stood after 1, 2, ..., 10, 12, 14, ... measurements, when models are chosen anew, and stand now.

    Where choosing models takes long, it is said of the models that are chosen now.
    """
    n = len(optimizer.data.values)
    stages = sorted({stage_of(k) for k in range(1, n + 1)} | ({n} if n else set()))
    if len(stages) > _MOST:
        stages = [stages[i] for i in np.unique(np.linspace(0, len(stages) - 1, _MOST).astype(int))]
    earlier, moments, quick = optimizer, [], is_quick(optimizer)
    with _quietly():
        for stage in stages:
            data = optimizer.data.first(stage)
            earlier = (
                optimizer if stage == n else earlier.copy(data) if quick else optimizer.in_hindsight(data)
            )
            now = outlook(earlier)
            assert now is not None
            hypotheses = earlier.diagnostics().get("hypotheses") if optimizer.physics else None
            moments.append(Moment(stage, now.best, dict(hypotheses or {}), now.expected_improvement))
    return moments


def left_out(optimizer: Optimizer) -> LeftOut:
    """Predict every measurement from the others: one by one, or in twenty groups where there are more of them.

    Where choosing models takes long, they are chosen with all measurements, and weighted without those that they
    predict. Readings of other sensors, which are in other units, are learnt from and not predicted.
    """
    data = optimizer.data
    direct = np.flatnonzero(data.kinds == 0)
    n = len(direct)
    folds, quick = min(n, _FOLDS), is_quick(optimizer)
    mean, std = np.zeros(n), np.zeros(n)
    with _quietly():
        for fold in range(folds):
            out = np.arange(n) % folds == fold
            kept = np.full(len(data.values), True)
            kept[direct[out]] = False
            others = data.where(kept)
            told = optimizer.copy(others) if quick else optimizer.in_hindsight(others)
            mean[out], std[out] = told.predict(data.points[direct[out]])
    return LeftOut(data.values[direct], mean, np.hypot(std, noise_of(optimizer)[direct]), folds)


def is_quick(optimizer: Optimizer) -> bool:
    """Whether models are chosen in closed form: nothing is linearised, and no coefficients are searched for."""
    return not optimizer.unknowns and all(pde.is_linear(optimizer.space) for pde in optimizer.physics)


def without_physics(optimizer: Optimizer) -> Optimizer:
    """An optimizer with the same measurements that has never heard of the equations."""
    fresh = Optimizer(
        optimizer.space,
        None,
        goal=optimizer.goal,
        method=optimizer.method,
        seed=optimizer.seed,
        noise=optimizer.noise,
        n_initial=optimizer.n_initial,
        domain=None if optimizer.domain is optimizer.space else optimizer.domain,
    )
    return fresh.copy(optimizer.data)


def next_points(optimizer: Optimizer, n: int = 1) -> Float[ndarray, "n d"]:
    """The points that the optimizer would ask for; it is not asked."""
    with _quietly():
        return optimizer.copy().ask(n)


def noise_of(optimizer: Optimizer) -> Float[ndarray, " n"]:
    """Standard deviation of each measurement: its own, or what the models make of it, or none."""
    known = optimizer.data.noise
    if not np.isnan(known).any():
        return known
    try:
        mixture = optimizer.posterior()
    except TypeError:  # only auto estimates it
        return np.nan_to_num(known)
    weights = np.exp(mixture.log_weights)
    estimate = np.sqrt(weights @ [posterior.noise for posterior in mixture.posteriors])
    return np.where(np.isnan(known), estimate, known)


@contextmanager
def _quietly() -> Iterator[None]:
    """What there is to say about the data has been said when they came."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
