"""``ntk``: Lemma 1 in closed form.

The surrogate is the network linearised at its initial weights, f = shift + s * phi(x) . w with w ~ N(0, I). A
Thompson sample is a whole function: perturb the prior and the targets, solve for w (`LinearisedNetwork.draw`), and
evaluate phi(x) . w by one Jacobian-vector product. The greedy mean and the confidence bound are the
alternatives.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, get_args

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from numpy import ndarray

from pinnbo.acquisition.choice import choose
from pinnbo.acquisition.compiled import Acquisition, Compiled
from pinnbo.acquisition.search import Effort
from pinnbo.data import Data, Standard, stage_of
from pinnbo.ensemble.mixture import Mixture
from pinnbo.gp.posterior import Posterior, condition
from pinnbo.methods.base import SEARCHED, Engine, Method, Prediction, Task
from pinnbo.methods.setup import candidates, surroundings
from pinnbo.network.features import Linearised
from pinnbo.network.field import Units
from pinnbo.network.information import confidence_width, r_tilde
from pinnbo.network.mlp import MLP
from pinnbo.network.process import LinearisedNetwork
from pinnbo.network.setup import check_network, collocate

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
    handles: ClassVar[frozenset[str]] = SEARCHED

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


class _Fitted(NamedTuple):
    """The network given the physics, and the posterior after some data; hyper-parameters are those of a stage."""

    stage: int
    data: Data
    network: LinearisedNetwork
    posterior: Posterior


class _NTKEngine(Engine):
    def __init__(self, settings: NTK, task: Task, model: MLP) -> None:
        self._settings, self._task = settings, task
        self._physics = collocate(task, settings.collocation)
        self._is_linear = all(pde.is_linear(task.space) for pde in task.physics)
        self._candidates = candidates(task)
        theta = model.initial(jax.random.key(task.seed))
        self._linear = Linearised.at(model, theta, jnp.asarray(self._candidates[:64]))
        self._network: LinearisedNetwork | None = None
        self._fitted: _Fitted | None = None

    def suggest(
        self, data: Data, pending: Float[ndarray, "q d"], n: int, index: int
    ) -> Float[ndarray, "n d"]:
        """Minimisers of n draws, or the n best minima of the mean or of the bound."""
        space, fitted = self._task.space, self._fit(data)
        mean = fitted.network.mean_weights(fitted.posterior)
        if self._settings.acquisition == "bound":
            return self._choose(data, pending, n, index, _bounded, self._bound(fitted, mean))
        if self._settings.acquisition == "mean":
            return self._choose(data, pending, n, index, _linear, self._function(mean))
        chosen, rng = np.zeros((0, space.dim)), self._task.rng(5, index)
        for number in range(n):
            draw = fitted.network.draw(fitted.posterior, rng)
            sample = self._function(mean + self._settings.exploration * (draw - mean))
            known = np.concatenate([pending, chosen])
            chosen = np.vstack([chosen, self._choose(data, known, 1, index + number, _linear, sample)])
        return chosen

    def predict(self, data: Data, points: Float[ndarray, "n d"]) -> Prediction:
        """Lemma 1."""
        one = Mixture([self._fit(data).posterior], np.zeros(1))
        return Prediction(*one.predict(self._task.space.scale(points)))

    def diagnostics(self, data: Data) -> dict[str, Any]:
        """The quantities of Lemmas 1 to 3."""
        fitted = self._fit(data)
        return {
            "model": f"linearised network, width {self._settings.width}, depth {self._settings.depth}",
            "log_evidence": fitted.posterior.log_evidence,
            "spread": _spread(fitted.posterior),
            "noise": float(np.sqrt(fitted.posterior.noise)) if self._task.noise is None else self._task.noise,
            "collocation_rows": sum(c.source.size for _, c in self._physics),
            "conditional_information": fitted.posterior.information,
            "physics_information": fitted.network.information,
            "confidence_width": self._width(fitted),
        }

    def _fit(self, data: Data) -> _Fitted:
        """The shift of f is chosen anew when the data have grown by a fifth, with updates in between."""
        stage, fitted = stage_of(len(data.values)), self._fitted
        if fitted is None or fitted.stage != stage or not data.extends(fitted.data):
            head = data.first(stage)
            network = self._at(head)
            fitted = _Fitted(stage, head, network, condition(network.process(), head, self._task.space))
        if len(data.values) > len(fitted.data.values):
            process = fitted.posterior.process
            posterior = condition(process, data, self._task.space, fitted.posterior)
            fitted = fitted._replace(data=data, posterior=posterior)
        self._fitted = fitted
        return fitted

    def _at(self, head: Data) -> LinearisedNetwork:
        """Linearised around the mean of the values; rows are computed and factorised once if the PDE is linear."""
        shift, scale = Standard.of(head.values)
        units = Units.of(self._task.space, shift, 1.0)
        noisy = any(pde.noise > 0 for pde in self._task.physics)
        if self._network is not None and self._is_linear and not noisy:
            return self._network.shifted(units, self._physics)
        self._network = LinearisedNetwork.at(
            self._task.space,
            self._linear,
            jnp.zeros(self._linear.n_weights),
            units,
            self._physics,
            self._settings.row_noise,
            scale,
        )
        return self._network

    def _choose(
        self,
        data: Data,
        pending: Float[ndarray, "q d"],
        n: int,
        index: int,
        rule: Acquisition,
        parameters: Any,
    ) -> Float[ndarray, "n d"]:
        around = surroundings(self._task, self._candidates, data, pending)
        effort = _QUICK if rule is _bounded else Effort()
        return self._task.region.exact(
            choose(Compiled(rule, parameters), around, n, self._task.rng(6, index), effort)
        )

    def _function(self, weights: Float[ndarray, " p"]) -> tuple[Linearised, Array, float]:
        """Parameters of `_linear`: the whole function with the given weights."""
        return self._linear, jnp.asarray(weights), self._task.sign

    def _bound(self, fitted: _Fitted, mean: Float[ndarray, " p"]) -> tuple:
        """Parameters of `_bounded`."""
        explained = fitted.network.explained(fitted.posterior)
        # zero rows, so that growing data seldom recompiles
        rows = np.zeros((-(-len(explained) // 64) * 64, explained.shape[1]))
        rows[: len(explained)] = explained
        width = _spread(fitted.posterior) * self._width(fitted)
        return (
            *self._function(mean),
            jnp.asarray(rows),
            jnp.asarray(fitted.network.factor),
            jnp.asarray(width),
        )

    def _width(self, fitted: _Fitted) -> float:
        """Lemma 3 with the posterior's own noise: R1^2 = lambda1 and R2^2 = lambda2, so that each R~ term is one."""
        noisy = any(pde.noise > 0 for pde in self._task.physics)
        return confidence_width(
            self._settings.B,
            r_tilde(1.0, 1.0, 1.0 if noisy else 0.0),
            fitted.posterior.information,
            self._settings.delta,
            pde_information=fitted.network.information if noisy else 0.0,
        )


def _spread(posterior: Posterior) -> float:
    """Prior standard deviation of f around its reference, in the user's units, at the most likely amplitude."""
    return float(posterior.standard.scale * np.sqrt(posterior.samples.square[0]))


def _linear(parameters: tuple[Linearised, Array, float], s: Float[Array, " d"]) -> Float[Array, ""]:
    linear, weights, sign = parameters
    return sign * linear(weights, s)


def _bounded(parameters: tuple, s: Float[Array, " d"]) -> Float[Array, ""]:
    """sign * mean - width sqrt(|phi|^2 - |E phi|^2)."""
    linear, weights, sign, explained, factor, width = parameters
    phi = factor * jax.grad(linear)(weights, s)
    variance = jnp.dot(phi, phi) - jnp.sum((explained @ phi) ** 2)
    return sign * linear(weights, s) - width * jnp.sqrt(jnp.maximum(variance, 1e-18))
