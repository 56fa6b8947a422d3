"""Sufficient statistics: all that a posterior in feature space needs of the observations, however many there are.

With the features e(x) of a point every term of the posterior is a weighted sum over observations of products of
(e(x), 1, y). Whole blocks are added once and in one order, so that the sums do not depend on when they were asked for;
the last block, which is not whole, is added anew each time.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from pinnbo.data import Data, Standard
from pinnbo.gp.process import Process
from pinnbo.space import Space

_BLOCK = 32  # the last one is added anew at every suggestion
_LEAST_NOISE = 1e-6


class Sums(NamedTuple):
    """Sums of w E E^T, E = (e(x), 1, y - reference): w = 1 / noise^2 where the noise is known, 1 where it is not."""

    known: Float[ndarray, "p p"]
    unknown: Float[ndarray, "p p"]
    n_known: float
    n_unknown: float
    log_noise: float
    square_noise: float

    def plus(self, other: Sums) -> Sums:
        """Of both."""
        return Sums(
            self.known + other.known,
            self.unknown + other.unknown,
            self.n_known + other.n_known,
            self.n_unknown + other.n_unknown,
            self.log_noise + other.log_noise,
            self.square_noise + other.square_noise,
        )


class Statistics:
    """The sums of one process over data that grow."""

    def __init__(self, process: Process, space: Space) -> None:
        self.process, self._space = process, space
        self._whole: Sums | None = None
        self._n_whole = 0

    def sums(self, data: Data, lasting: int) -> tuple[Sums, float]:
        """The sums and their reference; only blocks of the first ``lasting`` observations are remembered."""
        reference, scale = Standard.of(data.values[:_BLOCK])
        total, done = self._whole, self._n_whole * _BLOCK
        for start in range(done, len(data.values), _BLOCK):
            part = self._of(data, slice(start, start + _BLOCK), reference, scale)
            total = part if total is None else total.plus(part)
            if start + _BLOCK <= lasting:
                self._whole, self._n_whole = total, start // _BLOCK + 1
        assert total is not None
        return total, reference

    def _of(self, data: Data, block: slice, reference: float, scale: float) -> Sums:
        features = self.process.locate(self._space.scale(data.points[block])).features
        values, noise = data.values[block], np.maximum(data.noise[block], _LEAST_NOISE * scale)
        rows = np.column_stack([features, np.ones(len(features)), values - reference])
        known, times = ~np.isnan(noise), data.noise_times[block]
        rows /= times[:, None]
        certain = rows[known] / noise[known, None]
        return Sums(
            certain.T @ certain,
            rows[~known].T @ rows[~known],
            float(np.sum(known)),
            float(np.sum(~known)),
            float(np.sum(np.log(noise[known])) + np.sum(np.log(times))),
            float(np.sum(noise[known] ** 2)),
        )
