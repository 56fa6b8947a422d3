"""How a search stands, in plain words: the best point, how sure, whether the equation is believed, whether to go on.

Whether intervals hold is judged by a test: if each of n intervals holds with probability 0.95, the number of those that
do is binomial, and fewer than its 5% quantile are too few.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from pinnbo.ensemble.hypotheses import EXACT, NEARLY_TRUE
from pinnbo.knowledge import Unknown
from pinnbo.methods.auto import Auto
from pinnbo.optimizer import Optimizer
from pinnbo.plots.canvas import Names
from pinnbo.replay import LeftOut, noise_of
from pinnbo.studies.stopping import Outlook

_ORDER = (EXACT, NEARLY_TRUE)
_TESTED = (
    Auto.least
)  # measurements, from which on an equation that is nearly true can be told from an exact one
_DOUBT = 0.05
_UNSEEN = 0.7  # of the prior: an interval that is hardly narrower than the prior's own, 0.95
_LEAST = 3  # measurements of which each can be predicted from the others


class Sentence(NamedTuple):
    """What is said, and what about."""

    topic: str
    text: str


def summary(
    optimizer: Optimizer, names: Names, now: Outlook | None, left_out: LeftOut | None = None
) -> list[Sentence]:
    """The sentences; ``left_out`` lets them say whether the intervals can be relied on."""
    if now is None:
        said = "Nothing has been measured yet."
        bad = len(optimizer.data.infeasible)
        if bad:
            said += f" {_count(bad, 'point was', 'points were')} impossible to measure."
        return [Sentence("Best point", said), *_stated(optimizer)]
    return [
        Sentence("Best point", _best(optimizer, names, now)),
        Sentence("How sure", _sureness(optimizer, names, now, left_out)),
        Sentence("The equation", equation(optimizer)),
        *_coefficients(optimizer, names),
        Sentence("Going on", going_on(optimizer, names, now)),
    ]


def equation(optimizer: Optimizer) -> str:
    """Whether the stated equation is believed."""
    if not optimizer.physics:
        return "No equation is stated: the search learns from the measurements alone."
    shares: dict[str, Any] = optimizer.diagnostics().get("hypotheses") or {}
    if not shares:
        return f"The method {optimizer.method.name} uses the equation and does not test it."
    # what denies the equation comes last
    ordered = sorted(shares, key=lambda name: (_ORDER.index(name) if name in _ORDER else len(_ORDER), name))
    listed = ", ".join(f"{name} {shares[name]:.0%}" for name in ordered)
    exact, nearly = shares.get(EXACT, 0.0), shares.get(NEARLY_TRUE, 0.0)
    if len(optimizer.data.values) < _TESTED:
        verdict = "There are too few measurements to test the stated equation"
    elif exact + nearly < 0.5:
        verdict = "The measurements contradict the stated equation: check its signs, units and coefficients"
    elif exact >= 0.5:
        verdict = "The measurements agree with the stated equation"
    elif nearly >= 0.5:
        verdict = "The stated equation is nearly true, and still helps: something small is missing from it"
    else:
        verdict = (
            "The measurements do not tell yet whether the stated equation is exact, nearly true or wrong"
        )
    return f"{verdict} ({listed})."


def _coefficients(optimizer: Optimizer, names: Names) -> list[Sentence]:
    """What is known of unknown coefficients, and whether the measurements said anything about them."""
    found = optimizer.diagnostics().get("unknowns") or {}
    parts = []
    for unknown in optimizer.unknowns:
        if unknown.name not in found:
            continue
        said = found[unknown.name]
        (low, high), unit = said["interval"], names.units.get(unknown.name, "")
        text = f"{unknown.name} is {said['mean']:.4g}, with a 95% interval from {low:.4g} to {high:.4g} {unit}".rstrip()
        shares = [_share(unknown, end) for end in (low, high)]
        open_still = shares[1] - shares[0] > _UNSEEN
        parts.append(f"{text}{': the measurements hardly tell it yet' if open_still else ''}.")
    return [Sentence("Coefficients", f"If the equation holds, {' '.join(parts)}")] if parts else []


def _share(unknown: Unknown, value: float) -> float:
    """The share of the prior below a value."""
    low, high = unknown.low, unknown.high
    if unknown.scale == "log":
        return math.log(value / low) / math.log(high / low)
    return (value - low) / (high - low)


def going_on(optimizer: Optimizer, names: Names, now: Outlook) -> str:
    """What is to be gained, beside what can be seen."""
    gain = now.expected_improvement
    said = f"One more measurement is expected to gain {gain:.3g}{names.unit}"
    sd = float(noise_of(optimizer).mean())
    low, high = now.best.interval
    if sd > 0 and gain < sd:
        return f"{said}, less than the noise of a single one ({sd:.3g}{names.unit}): going on is hardly worth it."
    if gain < 0.5 * (high - low):
        return (
            f"{said}, less than what is open about the best point itself "
            f"(\u00b1{0.5 * (high - low):.3g}{names.unit}): little is to be gained."
        )
    return f"{said}: going on is worth it if that much is worth a measurement to you."


def _stated(optimizer: Optimizer) -> list[Sentence]:
    said = "It will be tested against the measurements." if optimizer.physics else equation(optimizer)
    return [Sentence("The equation", said)]


def _best(optimizer: Optimizer, names: Names, now: Outlook) -> str:
    best, n = now.best, len(optimizer.data.values)
    where = point(names, best.x)
    extreme = "lowest" if optimizer.goal == "minimize" else "highest"
    low, high = best.interval
    bad = len(optimizer.data.infeasible)
    beside = f" and {_count(bad, 'impossible point', 'impossible points')}" if bad else ""
    return (
        f"After {_count(n, 'measurement', 'measurements')}{beside} the best point is {where}, where {names.value} is "
        f"believed to be {extreme} among the measured points: {best.mean:.5g}{names.unit}, with a 95% interval from "
        f"{low:.5g} to {high:.5g}{names.unit}."
        + (f" {best.value:.5g}{names.unit} was measured there." if math.isfinite(best.value) else "")
    )


def _sureness(optimizer: Optimizer, names: Names, now: Outlook, left_out: LeftOut | None) -> str:
    low, high = now.best.interval
    values = optimizer.data.direct.values
    spread = float(np.ptp(values)) if len(values) else 0.0
    said = f"The best value is known to \u00b1{0.5 * (high - low):.3g}{names.unit}"
    said += f", {0.5 * (high - low) / spread:.1%} of the range of all readings." if spread > 0 else "."
    if left_out is None:
        few = " There are too few measurements to test such intervals." if len(values) < _LEAST else ""
        return said + few
    from scipy.stats import binom

    n = len(left_out.values)
    held = round(left_out.coverage * n)
    said += f" Predicted from the others, {held} of {n} measurements lay inside their 95% interval"
    if binom.cdf(held, n, 0.95) < _DOUBT:
        return f"{said}: too few, so the true uncertainty is larger than stated."
    return f"{said}, which is as it should be."


def point(names: Names, x: Any) -> str:
    """A point by names, with units."""
    units = names.units
    return ", ".join(
        f"{name} = {c:.5g}{' ' + units[name] if name in units else ''}"
        for name, c in zip(names.space.names, x, strict=True)
    )


def _count(n: int, one: str, many: str) -> str:
    return f"{n} {one if n == 1 else many}"
