"""nu_t and the other quantities of the paper's theory along a run, at constant cost per observation.

Rows are those of a narrow network of the same kind, because the factor that is updated has as many columns as the
network has weights (erratum 12). As long as these outnumber the collocation rows, the kernel, scaled to unit mean
variance, hardly depends on the width; with more rows than weights the information is underestimated.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np

from pinnbo.data import Data, Standard
from pinnbo.methods.base import Task
from pinnbo.network.features import Linearised, observation_rows
from pinnbo.network.field import Units
from pinnbo.network.information import (
    Ledger,
    confidence_width,
    greedy_information_gain,
    i_zero,
    r_tilde,
    regret_bound,
)
from pinnbo.network.mlp import MLP
from pinnbo.network.process import Physics, pde_rows

Information = Literal["conditional", "greedy"]

_N_CANDIDATES = 256
_BLOCK = 64


@dataclass(frozen=True)
class Constants:
    """The constants of Lemma 3 and Theorem 1; R1 in units of the values' sd, R2 of the rows' size."""

    information: Information
    R1: float | None
    R2: float | None
    lambda1: float
    lambda2: float
    B: float
    delta: float


class Theory:
    """Keeps the information quantities up to date as observations arrive."""

    def __init__(self, constants: Constants, task: Task, physics: Physics, twin: MLP) -> None:
        self._constants, self._task, self._physics = constants, task, physics
        theta = twin.initial(jax.random.key(task.seed))
        scaled = task.space.scale(task.space.sobol(_N_CANDIDATES, [task.seed, 3]))
        self._linear = Linearised.at(twin, theta, jnp.asarray(scaled))
        self._origin = jnp.zeros(self._linear.n_weights)
        self._units = Units.of(task.space)
        self._omega = np.zeros((0, self._linear.n_weights))
        self._source_noise = 0.0
        if physics:
            omega, norm, noise, _ = pde_rows(self._linear, self._origin, self._units, physics)
            self._omega = omega / norm[:, None]
            self._source_noise = float(np.sqrt(np.mean((noise / norm) ** 2)))
        self._start = Ledger.start(self._omega, constants.lambda2)
        nothing = Data(np.zeros((0, task.space.dim)), np.zeros(0), np.zeros(0), np.zeros((0, task.space.dim)))
        # after the last whole block, and after the last observation
        self._blocks = self._latest = (nothing, self._start)

    def ledger(self, data: Data) -> Ledger:
        """Information of the data, extended from the last call where possible.

        Whole blocks enter at once and the rest one by one, whatever the order of calls, so that a restored study
        computes the same bits.
        """
        whole = len(data.values) // _BLOCK * _BLOCK
        if not data.extends(self._blocks[0]):
            self._blocks = self._latest = (data.first(0), self._start)
        seen, ledger = self._blocks
        for i in range(len(seen.values), whole, _BLOCK):
            ledger = ledger.observe(self._phi(data.points[i : i + _BLOCK]), self._constants.lambda1)
        self._blocks = (data.first(whole), ledger)
        if len(self._latest[0].values) < whole or not data.extends(self._latest[0]):
            self._latest = self._blocks
        seen, ledger = self._latest
        for i in range(len(seen.values), len(data.values)):
            ledger = ledger.observe(self._phi(data.points[i : i + 1]), self._constants.lambda1)
        self._latest = (data, ledger)
        return ledger

    def nu(self, data: Data) -> float:
        """nu_t = R~ sqrt(2 I + log(1/delta)), Algorithm 1."""
        gamma = None
        if self._constants.information == "greedy":
            gamma = self._gamma(len(data.values))
        return self.ledger(data).nu(self._r_tilde(data), self._constants.delta, gamma)

    def report(self, data: Data) -> dict[str, Any]:
        """All quantities, as plain numbers; the bounds hold up to a constant."""
        c, ledger, t = self._constants, self.ledger(data), len(data.values)
        R = self._r_tilde(data)
        gamma = self._gamma(t)
        phi = self._phi(data.points)
        i0 = i_zero(phi, self._omega, c.lambda2) if t and len(self._omega) else 0.0
        return {
            "nu": self.nu(data),
            "R_tilde": R,
            "mutual_information": ledger.mutual,
            "conditional_information": ledger.conditional,
            "interaction_information": ledger.interaction,
            "greedy_information_gain": gamma,
            "I_0": i0,
            "confidence_width": confidence_width(
                c.B, R, ledger.conditional, c.delta, pde_information=ledger.pde if self._R2(data) > 0 else 0.0
            ),
            "regret_bound_up_to_constant": regret_bound(
                T=max(t, 1),
                dim=self._task.space.dim,
                B=c.B,
                r_tilde=R,
                gamma=gamma,
                interaction=ledger.interaction,
                i_zero=i0,
                delta=c.delta,
            ),
        }

    def _gamma(self, t: int) -> float:
        if t == 0:
            return 0.0
        points = self._task.space.sobol(_N_CANDIDATES, [self._task.seed, 3])
        return float(greedy_information_gain(self._phi(points), self._constants.lambda1, t).upper[-1])

    def _phi(self, points: np.ndarray) -> np.ndarray:
        return observation_rows(self._linear, self._origin, self._units, points).matrix

    def _r_tilde(self, data: Data) -> float:
        c = self._constants
        # the noise for which Lemma 1 is the Bayesian posterior
        R1 = math.sqrt(c.lambda1) if c.R1 is None else c.R1
        return r_tilde(R1, c.lambda1, self._R2(data), c.lambda2)

    def _R2(self, data: Data) -> float:
        stated = self._constants.R2
        return self._source_noise / Standard.of(data.values).scale if stated is None else stated
