"""``ntk``: Lemma 1 in closed form.

The surrogate is the network linearised at its initial weights, f = shift + s * phi(x) . w with w ~ N(0, I). A
Thompson sample is a whole function: perturb the prior and the targets, solve for w (`Posterior.sample`), and
evaluate phi(x) . w by one Jacobian-vector product. The greedy mean and the confidence bound are the
alternatives.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, get_args

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from numpy import ndarray

from pinnbo.acquisition.choice import choose
from pinnbo.acquisition.search import Acquisition, Compiled, Effort
from pinnbo.data import Data, Standard
from pinnbo.inference.information import confidence_width, r_tilde
from pinnbo.inference.surrogate import PhysicsRows, Surrogate, unit_factor
from pinnbo.methods.base import Engine, Method, Prediction, Task, stage_of
from pinnbo.methods.setup import candidates, check_network, collocate, surroundings
from pinnbo.models.field import Units
from pinnbo.models.linear import Linearised
from pinnbo.models.mlp import MLP

Rule = Literal["thompson", "mean", "bound"]

# a variance costs as much as hundreds of means
_QUICK = Effort(starts=8, evaluations=50)


@dataclass(frozen=True)
class NTK(Method):
    """Settings of the closed-form method.

    ``acquisition``: ``"thompson"`` (a sample of the posterior, its deviation from the mean multiplied by
    ``exploration``), ``"mean"`` (greedy) or ``"bound"`` (mean -/+ the width of Lemma 3 times sigma, with the
    RKHS bound ``B`` and failure probability ``delta``). ``collocation`` points are drawn per PDE;
    ``row_noise`` is the standard deviation that a PDE row is allowed relative to its prior one.
    """

    name: ClassVar[str] = "ntk"

    width: int = 100
    depth: int = 3
    activation: str = "tanh"
    biases: bool = True
    gain: float = 3.0
    collocation: int = 400
    row_noise: float = 1e-2
    acquisition: Rule = "thompson"
    exploration: float = 1.0
    B: float = 1.0
    delta: float = 0.1

    def __post_init__(self) -> None:
        if self.acquisition not in get_args(Rule):
            raise ValueError(
                f"ntk: acquisition must be one of {list(get_args(Rule))}, got {self.acquisition!r}"
            )
        if self.collocation < 1:
            raise ValueError(f"ntk: collocation must be at least 1, got {self.collocation}")
        if not self.row_noise > 0:
            raise ValueError(f"ntk: row_noise must be positive, got {self.row_noise}")
        if not 0 < self.delta < 1:
            raise ValueError(f"ntk: delta must lie between 0 and 1, got {self.delta}")

    def start(self, task: Task) -> Engine:
        """Check the task and begin."""
        model = MLP(task.space.dim, self.width, self.depth, self.activation, self.biases, gain=self.gain)
        check_network(model, task)
        return _NTKEngine(self, task, model)


class _NTKEngine(Engine):
    def __init__(self, settings: NTK, task: Task, model: MLP) -> None:
        self._settings, self._task = settings, task
        self._physics = collocate(task, settings.collocation)
        self._candidates = candidates(task)
        theta = model.initial(jax.random.key(task.seed))
        self._linear = Linearised.at(model, theta, jnp.asarray(self._candidates[:64]))
        self._origin = jnp.zeros(self._linear.n_weights)
        self._factor = unit_factor(task.space, self._linear, self._origin, Units.of(task.space))
        self._rows: PhysicsRows | None = None
        self._fitted: tuple[int, Data, Surrogate] | None = None

    def suggest(
        self, data: Data, pending: Float[ndarray, "q d"], n: int, index: int
    ) -> Float[ndarray, "n d"]:
        """Minimisers of n samples, or the n best minima of the mean or of the bound."""
        space, surrogate = self._task.space, self._fit(data)
        mean = surrogate.posterior.weights
        if self._settings.acquisition == "bound":
            return self._choose(data, pending, n, index, _bounded, self._bound(surrogate), surrogate)
        if self._settings.acquisition == "mean":
            return self._choose(data, pending, n, index, _linear, self._function(surrogate, mean), surrogate)
        chosen = np.zeros((0, space.dim))
        for number, draw in enumerate(surrogate.posterior.sample(self._task.rng(5, index), n)):
            sample = self._function(surrogate, mean + self._settings.exploration * (draw - mean))
            known = np.concatenate([pending, chosen])
            x = self._choose(data, known, 1, index + number, _linear, sample, surrogate)
            chosen = np.vstack([chosen, x])
        return chosen

    def predict(self, data: Data, points: Float[ndarray, "n d"]) -> Prediction:
        """Lemma 1."""
        return Prediction(*self._fit(data).predict(points))

    def diagnostics(self, data: Data) -> dict[str, Any]:
        """The quantities of Lemmas 1 to 3."""
        surrogate = self._fit(data)
        return {
            "model": f"linearised network, width {self._settings.width}, depth {self._settings.depth}",
            "log_evidence": surrogate.log_evidence,
            "spread": surrogate.spread,
            "noise": surrogate.noise if self._task.noise is None else self._task.noise,
            "collocation_rows": sum(c.source.size for _, c in self._physics),
            "conditional_information": surrogate.conditional_information,
            "physics_information": 0.5 * surrogate.physics_log_det,
            "confidence_width": self._width(surrogate),
        }

    def _fit(self, data: Data) -> Surrogate:
        """Spread and noise are chosen anew when the data have grown by a fifth, with updates in between.

        Observations are added one by one, so that a restored study computes the same bits.
        """
        stage = stage_of(len(data.values))
        if self._fitted is None or self._fitted[0] != stage or not data.extends(self._fitted[1]):
            head = data.first(stage)
            units = Units.of(self._task.space, Standard.of(head.values).shift, 1.0)
            surrogate = Surrogate.fit(
                self._task.space,
                self._linear,
                self._origin,
                units,
                self._equations(units),
                self._factor,
                head,
            )
            self._fitted = (stage, head, surrogate)
        _, seen, surrogate = self._fitted
        for i in range(len(seen.values), len(data.values)):
            surrogate = surrogate.observed(
                data.points[i : i + 1], data.values[i : i + 1], data.noise[i : i + 1]
            )
        self._fitted = (stage, data, surrogate)
        return surrogate

    def _equations(self, units: Units) -> PhysicsRows | None:
        """The rows of the physics; computed and factorised once if the PDE is linear."""
        if not self._physics:
            return None
        rows = None if self._rows is None else self._rows.shifted(units)
        if rows is None:
            rows = PhysicsRows(
                self._task.space,
                self._linear,
                self._origin,
                units,
                self._physics,
                self._factor,
                self._settings.row_noise,
            )
            self._rows = rows
        return rows

    def _choose(
        self,
        data: Data,
        pending: Float[ndarray, "q d"],
        n: int,
        index: int,
        rule: Acquisition,
        parameters: Any,
        surrogate: Surrogate,
    ) -> Float[ndarray, "n d"]:
        around = surroundings(self._task, self._candidates, data, pending, strength=10.0 * surrogate.spread)
        effort = _QUICK if rule is _bounded else Effort()
        return self._task.space.unscale(
            choose(Compiled(rule, parameters), around, n, self._task.rng(6, index), effort)
        )

    def _function(self, surrogate: Surrogate, w: Float[ndarray, " p"]) -> tuple[Linearised, Array, float]:
        """Parameters of `_linear`: the whole function with the given weights."""
        return self._linear, jnp.asarray(surrogate.function_weights(w)), self._task.sign

    def _bound(self, surrogate: Surrogate) -> tuple:
        """Parameters of `_bounded`."""
        explained = surrogate.posterior.explained
        # zero rows, so that growing data seldom recompiles
        rows = np.zeros((-(-len(explained) // 64) * 64, explained.shape[1]))
        rows[: len(explained)] = explained
        width = surrogate.spread * self._width(surrogate)
        return (
            *self._function(surrogate, surrogate.posterior.weights),
            jnp.asarray(rows),
            jnp.asarray(surrogate.factor),
            jnp.asarray(width),
        )

    def _width(self, surrogate: Surrogate) -> float:
        """Lemma 3 with the posterior's own noise: R1^2 = lambda1 and R2^2 = lambda2, so that each R~ term is one."""
        noisy = any(pde.noise > 0 for pde in self._task.physics)
        return confidence_width(
            self._settings.B,
            r_tilde(1.0, 1.0, 1.0 if noisy else 0.0),
            surrogate.conditional_information,
            self._settings.delta,
            pde_information=0.5 * surrogate.physics_log_det if noisy else 0.0,
        )


def _linear(parameters: tuple[Linearised, Array, float], s: Float[Array, " d"]) -> Float[Array, ""]:
    linear, weights, sign = parameters
    return sign * linear(weights, s)


def _bounded(parameters: tuple, s: Float[Array, " d"]) -> Float[Array, ""]:
    """sign * mean - width sqrt(|phi|^2 - |E phi|^2)."""
    linear, weights, sign, explained, factor, width = parameters
    phi = factor * jax.grad(linear)(weights, s)
    variance = jnp.dot(phi, phi) - jnp.sum((explained @ phi) ** 2)
    return sign * linear(weights, s) - width * jnp.sqrt(jnp.maximum(variance, 1e-18))
