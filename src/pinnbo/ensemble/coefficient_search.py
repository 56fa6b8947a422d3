"""The evidence of unknown coefficients, averaged over length scales.

One length scale for all axes is not enough. Given its equation a smooth kernel holds the faster of two decaying modes
exp(ikx - alpha k^2 t) for the rarer one, by a factor of about exp(-(alpha k^2 l_t)^2 / 2): a time scale l_t that is too
long for the field speaks for a smaller alpha. It was 8% of a diffusivity whose intervals were 9% wide; the evidence of
a shorter l_t was higher, and its alpha right. The evidence is therefore averaged over a length scale for every axis:
those within a twentieth of the likeliest, found from neighbour to neighbour at the likeliest coefficients. The others
count in the prior.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from pinnbo.data import Data
from pinnbo.ensemble.coefficients import Node
from pinnbo.ensemble.family import Scales
from pinnbo.gp.posterior import condition

if TYPE_CHECKING:
    from pinnbo.ensemble.kernel_family import KernelGivenPDE

_TRIED_WITH_ALL = 5  # coefficients; further ones with the length scales that were not ruled out by then
_RULED_OUT = 7.0  # of log evidence
_NEVER = -1e300  # log evidence of coefficients that no length scale can be used with
_UNLIKELY = 0.05  # beside the likeliest length scales: neither they nor those beside them are looked at
_MOST_LENGTHS, _MOST_LOOKED_AT = 12, 30


class Search:
    """The evidence at any coefficients; length scales that have been ruled out are not tried again."""

    def __init__(self, family: KernelGivenPDE, data: Data) -> None:
        self._family, self._data = family, data
        self._lengths, self._log_unseen = family.lengths, 0.0
        self._best: dict[Scales, float] = {}
        self.tried: dict[Scales, float] = {}
        self.masses: dict[Node, float] = {}

    def ranked(self, nodes: set[Node]) -> list[Scales]:
        """The settings at some nodes, the likeliest first."""
        found = [setting for setting in self.tried if self._family.shares_of(setting) in nodes]
        return sorted(found, key=lambda setting: -self.tried[setting])

    def log_evidence(self, shares: Node) -> float:
        """At one place of the prior."""
        found, mass = [], [_NEVER]
        most = max(self._best.values(), default=-np.inf)
        for each in self._lengths:
            log_prior = self._family.log_prior_of(each)
            if len(self.masses) >= _TRIED_WITH_ALL and self._best.get(each, -np.inf) < most - _RULED_OUT:
                mass.append(log_prior)
                continue
            evidence = self._at(each, shares)
            if evidence is None:
                continue
            self.tried[self._family.setting(each, 1.0, shares)] = evidence
            self._best[each] = max(self._best.get(each, -np.inf), evidence)
            found.append(log_prior + evidence)
            mass.append(log_prior)
        self.masses[shares] = float(np.logaddexp.reduce(mass)) + self._log_unseen
        return float(np.logaddexp.reduce(found) - self.masses[shares]) if found else _NEVER

    def widened(self, shares: Node) -> bool:
        """Take the likely length scales of every axis at some coefficients from now on; False if these are equal."""
        family = self._family
        steps = [each[0] for each in family.lengths]
        weights: dict[Scales, float] = {}

        def look(lengths: Scales) -> None:
            evidence = self._at(lengths, shares)
            weights[lengths] = -np.inf if evidence is None else evidence + family.log_prior_of(lengths)

        for each in family.lengths:
            look(each)
        left = set(weights)
        while left and len(weights) < len(family.lengths) + _MOST_LOOKED_AT:
            best = max(left, key=lambda s: (weights[s], s))
            if weights[best] < max(weights.values()) + np.log(_UNLIKELY):
                break
            left.remove(best)
            fresh = [beside for beside in _beside(best, steps) if beside not in weights]
            for beside in fresh:
                look(beside)
            left.update(fresh)
        least = max(weights.values()) + np.log(_UNLIKELY)
        likely = [lengths for lengths in weights if weights[lengths] > least]
        if all(len(set(lengths)) == 1 for lengths in likely):
            return False
        self._lengths = sorted(likely, key=lambda s: -weights[s])[:_MOST_LENGTHS]
        every = np.logaddexp.reduce(
            [family.log_prior_of(each) for each in product(steps, repeat=len(likely[0]))]
        )
        self._log_unseen = float(every - np.logaddexp.reduce([family.log_prior_of(s) for s in self._lengths]))
        self._best, self.tried, self.masses = {}, {}, {}
        return True

    def _at(self, lengths: Scales, shares: Node) -> float | None:
        """The evidence of one setting; None where it cannot be used."""
        setting = self._family.setting(lengths, 1.0, shares)
        process = self._family.process(setting, self._data)
        if process is None:
            return None
        return condition(process, self._data, self._family.space).log_evidence


def _beside(lengths: Scales, steps: list[float]) -> Iterator[Scales]:
    """A step longer or shorter on one axis."""
    for axis, length in enumerate(lengths):
        place = steps.index(length)
        for step in steps[max(0, place - 1) : place] + steps[place + 1 : place + 2]:
            yield (*lengths[:axis], step, *lengths[axis + 1 :])
