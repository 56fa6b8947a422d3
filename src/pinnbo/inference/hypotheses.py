"""Settings that are tried on data: what is kept of a hypothesis, and how likely the hypothesis makes the data.

A hypothesis is a list of families, Z its evidence averaged over their grids of length scales; settings worth trying
beside the best of a grid take part in predictions, not in Z.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from jaxtyping import Float
from numpy import ndarray
from scipy.special import logsumexp

from pinnbo.data import Data
from pinnbo.inference.belief import Belief, fit
from pinnbo.inference.families import Family, Scales
from pinnbo.inference.interpolation import interpolated
from pinnbo.inference.stream import Stream

MANY = 500  # observations: more of them go through features, and settings stay as chosen
NEGLIGIBLE = (
    1e-2  # weight that does not count, of a setting beside the best or of all that obey the equations
)

_LEAST_KEPT, _MOST_KEPT = 4, 12
_ALIKE = 0.05  # of a standard deviation


@dataclass(frozen=True, eq=False)
class Candidate:
    """A setting that has been tried on some data."""

    family: Family
    scales: Scales
    belief: Belief
    log_weight: float  # log prior + log evidence, within its hypothesis

    @property
    def obeys(self) -> bool:
        """Whether the equations act on it."""
        return self.family.physics and self.belief.prior.has_physics

    def updated(self, data: Data, lasting: int) -> Candidate:
        """With more observations."""
        prior, space = self.belief.prior, self.family.space
        if prior.rank is None and len(data.values) > MANY:
            prior = self._stream.prior
        belief = fit(prior, data, space, None if prior.rank is None else self._stream, lasting)
        change = belief.log_evidence - self.belief.log_evidence
        return replace(self, belief=belief, log_weight=self.log_weight + change)

    @cached_property
    def _stream(self) -> Stream:
        """Features for many observations: those of the prior, or between the points that it was chosen with."""
        prior = self.belief.prior
        if self.belief.anchors is not None:
            prior = interpolated(prior, self.belief.anchors.points)
        return Stream(prior, self.family.space)


@dataclass(frozen=True, eq=False)
class Hypothesis:
    """The settings kept of one hypothesis, and log Z on the data they were chosen with."""

    kept: list[Candidate]
    log_z: float

    def updated(self, data: Data, lasting: int) -> Hypothesis:
        """With more observations: Z changes as the evidence of the kept settings does."""
        now = [candidate.updated(data, lasting) for candidate in self.kept]
        before, after = (logsumexp([c.log_weight for c in group]) for group in (self.kept, now))
        return Hypothesis(now, self.log_z + float(after - before))


def tried(families: Sequence[Family], data: Data, probes: Float[ndarray, "p d"]) -> Hypothesis | None:
    """Try the grid of every family, and what is worth trying beside its best; keep the best, if any works.

    Settings that predict the same at the ``probes`` are kept once.
    """
    found, averages = [], []
    for family in families:
        settings = [(scales, family.log_prior(scales)) for scales in family.grid]
        grid = [c for setting in settings if (c := _one(family, *setting, data)) is not None]
        if not grid:
            continue
        mass = logsumexp([family.log_prior(c.scales) for c in grid])
        averages.append(logsumexp([c.log_weight for c in grid]) - mass)
        best = max(grid, key=lambda c: c.log_weight)
        beside = [_one(family, *setting, data) for setting in family.refined(best.scales, data)]
        found += grid + [c for c in beside if c is not None]
    if not found:
        return None
    return Hypothesis(_distinct(found, probes), float(logsumexp(averages) - np.log(len(averages))))


def _distinct(found: list[Candidate], probes: Float[ndarray, "p d"]) -> list[Candidate]:
    """The best, those merged that predict the same: what the physics determines does not depend on the setting."""
    kept: list[Candidate] = []
    views: list[tuple[ndarray, ndarray]] = []
    best = max(c.log_weight for c in found)
    for candidate in sorted(found, key=lambda c: -c.log_weight):
        negligible = candidate.log_weight < best + np.log(NEGLIGIBLE)
        if len(kept) == _MOST_KEPT or (negligible and len(kept) >= _LEAST_KEPT):
            break
        moments = candidate.belief.moments(probes)
        mean, std = moments.mean[:, 0], np.sqrt(moments.variance[:, 0])
        for i, (other_mean, other_std) in enumerate(views):
            if np.all(np.abs(mean - other_mean) < _ALIKE * other_std) and np.all(
                np.abs(std - other_std) < _ALIKE * other_std
            ):
                weight = float(np.logaddexp(kept[i].log_weight, candidate.log_weight))
                kept[i] = replace(kept[i], log_weight=weight)
                break
        else:
            kept.append(candidate)
            views.append((mean, std))
    return kept


def _one(family: Family, scales: Scales, log_prior: float, data: Data) -> Candidate | None:
    prior = family.prior(scales, data)
    if prior is None:
        return None
    fitted = fit(prior, data, family.space)
    return Candidate(family, scales, fitted, log_prior + fitted.log_evidence)
