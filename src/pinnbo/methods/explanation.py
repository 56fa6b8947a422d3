"""What a belief comes to, in numbers and words: the diagnostics of `auto`, and the sentence of its warning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pinnbo.ensemble.belief import Belief, Comparison
from pinnbo.ensemble.coefficients import Averaged
from pinnbo.ensemble.hypotheses import EXACT, NEARLY_TRUE, WRONG, Hypothesis, Model
from pinnbo.ensemble.mixture import Mixture
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
        "trust": 1.0 - probabilities[WRONG] if ratio is not None else None,
        "hypotheses": probabilities,
        "belief": None if ratio is None else in_words(probabilities),
        "log_evidence_ratio": ratio,
        "enforced": belief.enforced,
        "open_directions": _open_directions(task, belief.best),
        "unknowns": _coefficients(task, comparison.coefficients(belief)),
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


def contradiction(task: Task, belief: Belief, believing: Mixture) -> str:
    """That the measurements contradict the physics, how strongly and where: ``believing`` are the models with it."""
    told = [name for name in belief.log_z if name != WRONG]
    log_ratio = belief.log_evidence(WRONG) - belief.log_evidence(*told)
    times = f"{np.exp(log_ratio):.3g}" if log_ratio < _WRITTEN_OUT else f"10^{log_ratio / np.log(10):.0f}"
    return (
        f"the {len(belief.data.values)} measurements contradict the stated physics: they are "
        f"{times} times more likely without it ({in_words(belief.probabilities)}), "
        f"most of all at {_worst(task, belief, believing)}; "
        "check the equation's signs, units, coefficients and source"
    )


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
    return ", ".join(f"{name} {probabilities.get(name, 0.0):.0%}" for name in (EXACT, NEARLY_TRUE, WRONG))
