"""What a belief comes to, in numbers and words: the diagnostics of `auto`, and the sentence of its warning."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from pinnbo.ensemble.belief import Belief, Comparison
from pinnbo.ensemble.coefficients import Averaged
from pinnbo.ensemble.hypotheses import (
    DENIES,
    EXACT,
    NEARLY_TRUE,
    NOT_SYMMETRIC,
    ONLY_SYMMETRIC,
    WRONG,
    Hypothesis,
    Model,
    denied,
)
from pinnbo.ensemble.mixture import Mixture
from pinnbo.gp.instrument import Loading
from pinnbo.knowledge import summary
from pinnbo.methods.base import Task

_WRITTEN_OUT = 700.0  # log of a ratio: e^700 is the last that a float holds


def diagnostics(task: Task, comparison: Comparison, belief: Belief) -> dict[str, Any]:
    """Which models were chosen and why, the trust in the physics, what it left open, unknown coefficients."""
    probabilities, ratio = belief.probabilities, None
    if EXACT in belief.log_z:
        ratio = belief.log_evidence(EXACT) - belief.log_evidence(WRONG)
    return {
        "model": belief.best.words,
        "physics": _physics(comparison.hypotheses, belief) if task.physics else "not stated",
        "log_evidence": belief.log_evidence(),
        "trust": 1.0 - denied(probabilities, "equation") if ratio is not None else None,
        **({"symmetry": 1.0 - denied(probabilities, "symmetry")} if task.images else {}),
        "hypotheses": probabilities,
        "belief": None if ratio is None else in_words(probabilities),
        "log_evidence_ratio": ratio,
        "enforced": belief.enforced,
        "open_directions": _open_directions(task, belief.best),
        "unknowns": _coefficients(task, comparison.coefficients(belief)),
        **_instrument(belief),
        "settings": [
            {
                "model": belief.models[i].words,
                "hypothesis": belief.hypothesis_of[i],
                "scales": list(belief.models[i].scales),
                "weight": float(np.exp(belief.log_weights[i])),
                "log_evidence": belief.models[i].posterior.log_evidence,
            }
            for i in np.argsort(-belief.log_weights, kind="stable")
        ],
    }


def _physics(hypotheses: Sequence[Hypothesis], belief: Belief) -> str:
    if not any(h.groups for h in hypotheses if h.name == EXACT):
        return (
            "stated, but no family of models can use it (a medium that jumps, or many coupled coordinates): "
            "the search goes on without"
        )
    return f"in use, {belief.enforced:.0%} of the forecast obeys it"


def _instrument(belief: Belief) -> dict[str, Any]:
    """What the instrument added, mean and standard deviation: by number of the batch, and by the end of the drift."""
    if belief.data.taken is None:
        return {}
    posteriors = [model.posterior for model in belief.models]
    weights = np.concatenate(
        [
            np.exp(weight + p.samples.log_weight)
            for weight, p in zip(belief.log_weights, posteriors, strict=True)
        ]
    )

    def average(columns_of: Callable[[Loading], Any]) -> tuple[float, float]:
        found = [p.of_instrument(columns_of(p.instrument)) for p in posteriors if p.instrument is not None]
        means, variances = (np.concatenate(part) for part in zip(*found, strict=True))
        mean = float(weights @ means / weights.sum())
        return mean, float(np.sqrt(weights @ (variances + (means - mean) ** 2) / weights.sum()))

    batches = np.unique(belief.data.taken[:, 0])
    numbers = [int(number) for number in batches[~np.isnan(batches)]]
    offsets = {number: average(_of_batch(i)) for i, number in enumerate(numbers)}
    has_drift = all(p.instrument is not None and p.instrument.drift is not None for p in posteriors)
    drift = {"drift": average(lambda loading: loading.drift)} if has_drift else {}
    return {**({"offsets": offsets} if offsets else {}), **drift}


def _of_batch(i: int) -> Callable[[Loading], Any]:
    return lambda loading: loading.batches[i]


def _open_directions(task: Task, model: Model) -> int:
    """Directions in which f may still vary before any measurement: standard deviations above a thousandth."""
    space = task.space
    covariance = model.posterior.process.covariance_matrix(space.scale(space.sobol(128, seed=17)))
    eigenvalues = np.linalg.eigvalsh(covariance)
    return int(np.sum(eigenvalues > 1e-6 * eigenvalues[-1]))


def _coefficients(task: Task, cells: Averaged | None) -> dict[str, dict[str, Any]]:
    """Mean and 95% interval of every unknown coefficient if the equations hold, beside what was stated."""
    if cells is None:
        return {}
    return {
        unknown.name: summary(unknown, *cells.distribution(axis))
        for axis, unknown in enumerate(task.unknowns)
    }


def contradiction(task: Task, belief: Belief, doubt: float) -> str | None:
    """That the measurements contradict what is stated, how strongly and where; None if doubt is not above a level."""
    for what, denying in DENIES.items():
        believing = belief.mixture(lambda hypothesis, denying=denying: hypothesis not in denying)  # type: ignore[misc]
        if believing is None or denied(belief.probabilities, what) <= doubt:
            continue
        against, told = ([n for n in belief.log_z if (n in denying) == side] for side in (True, False))
        log_ratio = belief.log_evidence(*against) - belief.log_evidence(*told)
        times = f"{np.exp(log_ratio):.3g}" if log_ratio < _WRITTEN_OUT else f"10^{log_ratio / np.log(10):.0f}"
        look = (
            "where the symmetry is about"
            if what == "symmetry"
            else "the equation's signs, units, coefficients and source"
        )
        return (
            f"the {len(belief.data.values)} measurements contradict the stated {what}: they are "
            f"{times} times more likely without it ({in_words(belief.probabilities)}), "
            f"most of all at {_worst(task, belief, believing)}; check {look}"
        )
    return None


def _worst(task: Task, belief: Belief, mixture: Mixture) -> str:
    """The measured point that a mixture explains least, in words."""
    data = belief.data
    measured = None if data.is_plain else mixture.measured()
    mean = mixture.predict(task.space.scale(data.points))[0] if measured is None else measured
    unit = 1.0 if data.is_plain else data.units
    noise = np.where(np.isnan(data.noise), unit, np.maximum(data.noise, 1e-12))
    x = data.points[int(np.argmax(np.abs(data.values - mean) / (noise * data.noise_times)))]
    return ", ".join(f"{name} = {value:.4g}" for name, value in zip(task.space.names, x, strict=True))


def in_words(probabilities: Mapping[str, float]) -> str:
    """Such as: exact 7%, nearly true 93%, wrong 0%."""
    apart = [name for name in (NOT_SYMMETRIC, ONLY_SYMMETRIC) if name in probabilities]
    names = (EXACT, NEARLY_TRUE, *apart, WRONG)
    return ", ".join(f"{name} {probabilities.get(name, 0.0):.0%}" for name in names)
