"""Pictures of a study: what is believed and how surely, where to measure next and why, what the physics is worth.

Every function returns a matplotlib ``Figure``; ``figure.savefig("picture.png")`` writes it. Figures are made
without pyplot: no window, no backend and no setting of the caller's is touched. matplotlib is imported on
first use (``pip install 'pinnbo[plots]'``). What cannot be drawn raises `NothingToDraw` with one sentence.

`KINDS` are the pictures of an `Optimizer`, also to be had as ``optimizer.plot(kind)`` and ``pinnbo plot FILE --kind``;
`study`, `comparison` and `regret` are for problems whose truth is known.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pinnbo.optimizer import Optimizer
from pinnbo.plots.contribution import contribution
from pinnbo.plots.convergence import convergence
from pinnbo.plots.errors import NothingToDraw
from pinnbo.plots.field import field
from pinnbo.plots.fields import fields
from pinnbo.plots.known_truth import comparison, regret, simple_regret, study
from pinnbo.plots.pairs import pairs
from pinnbo.plots.reason import reason
from pinnbo.plots.residual import misfit, residual
from pinnbo.plots.time import film, time
from pinnbo.plots.trust import trust
from pinnbo.plots.unknowns import unknowns
from pinnbo.plots.validation import validation

if TYPE_CHECKING:
    from matplotlib.figure import Figure

KINDS: dict[str, Callable[..., Figure]] = {
    "field": field,
    "pairs": pairs,
    "time": time,
    "fields": fields,
    "convergence": convergence,
    "trust": trust,
    "unknowns": unknowns,
    "reason": reason,
    "validation": validation,
    "residual": residual,
    "misfit": misfit,
    "contribution": contribution,
}

__all__ = [
    "KINDS",
    "NothingToDraw",
    "comparison",
    "contribution",
    "convergence",
    "draw",
    "field",
    "fields",
    "film",
    "misfit",
    "pairs",
    "reason",
    "regret",
    "residual",
    "simple_regret",
    "study",
    "time",
    "trust",
    "unknowns",
    "validation",
]


def draw(kind: str, optimizer: Optimizer, **options: Any) -> Figure:
    """The picture of that kind."""
    if kind not in KINDS:
        raise ValueError(f"plot: kind must be one of {', '.join(KINDS)}, got {kind!r}")
    return KINDS[kind](optimizer, **options)
