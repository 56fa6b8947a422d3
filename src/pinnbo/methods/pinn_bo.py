"""``pinn-bo``: Algorithm 1 of the paper, a physics-informed network trained by descent and used greedily.

For t = 1 .. T: nu_t from the information that observations add to the physics; x_t = argmin of the network;
the network is trained on Eq. (1) with nu_t. Settings that reproduce the paper's experiments are
`PinnBO.paper()`.

nu_t = R~ sqrt(2 I(f;Y_t|U_r) + log(1/delta)) needs rows of a network. Those of a narrow twin of the same depth are
used (`information_width`), so that the cost per observation stays constant however long the run (erratum 12).

Predictions are Lemma 1 linearised at the trained weights, around the trained network.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass, replace
from typing import Any, ClassVar, get_args

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float
from numpy import ndarray

from pinnbo.acquisition.choice import choose
from pinnbo.acquisition.compiled import Compiled
from pinnbo.data import Data, Standard
from pinnbo.ensemble.mixture import Mixture
from pinnbo.gp.posterior import Posterior, condition
from pinnbo.methods.base import SEARCHED, Engine, Method, Prediction, Task
from pinnbo.methods.setup import candidates, surroundings
from pinnbo.network.field import Units
from pinnbo.network.mlp import MLP, Init, Theta
from pinnbo.network.process import LinearisedNetwork
from pinnbo.network.setup import check_network, collocate, training_physics
from pinnbo.network.theory import Constants, Information, Theory
from pinnbo.network.train import Rule as DescentRule
from pinnbo.network.train import Schedule, pad, train

# what a PDE row may miss, relative to its prior size, in predictions
_ROW_NOISE = 1e-2


@dataclass(frozen=True)
class PinnBO(Method):
    """Settings of Algorithm 1.

    The network (``width``, ``depth``, ``activation``, ``biases``, ``init``, ``gain``) is trained for
    ``epochs`` by ``rule`` at ``learning_rate`` every ``update_every`` observations, on ``collocation`` points
    per PDE, in mini-batches of ``batch`` of them if given.
    ``restart`` draws new initial weights each time (a fresh Thompson draw); without it training goes on from the
    last weights, as in the paper.

    nu_t: ``information`` is ``"conditional"`` (I(f;Y|U), Lemma 3's first line) or ``"greedy"`` (an estimate
    of gamma_t minus the interaction information). ``lambda1`` and ``lambda2`` are the variances of Lemma 1 in
    units of the values' variance and of the rows' prior size, ``R1`` and ``R2`` the noise parameters in the
    same units (default: R1^2 = lambda1, for which Lemma 1 is the Bayesian posterior and R~ = 1; and the PDE's
    own noise), ``B`` the RKHS norm in the confidence band, ``delta`` its failure probability. ``nu`` replaces
    the formula by a number. Every ``exploit_every``-th network is trained with ``exploit_nu`` instead, so that
    what is known is used as well (0: never, as in the paper).
    """

    name: ClassVar[str] = "pinn-bo"
    handles: ClassVar[frozenset[str]] = SEARCHED

    width: int = 100
    depth: int = 3
    activation: str = "tanh"
    biases: bool = True
    init: Init = "fan-in"
    gain: float = 3.0
    collocation: int = 300
    epochs: int = 200
    batch: int | None = 50
    rule: DescentRule = "adam"
    learning_rate: float = 5e-3
    decay: float | None = None
    update_every: int = 1
    restart: bool = True
    information: Information = "conditional"
    information_width: int = 32
    R1: float | None = None
    R2: float | None = None
    lambda1: float = 0.1
    lambda2: float = 1.0
    B: float = 1.0
    delta: float = 0.1
    nu: float | None = None
    exploit_every: int = 2
    exploit_nu: float = 0.5

    def __post_init__(self) -> None:
        if self.information not in get_args(Information):
            raise ValueError(
                f"pinn-bo: information must be one of {list(get_args(Information))}, got {self.information!r}"
            )
        for name in ("update_every", "collocation", "epochs", "information_width"):
            if getattr(self, name) < 1:
                raise ValueError(f"pinn-bo: {name} must be at least 1, got {getattr(self, name)}")
        for name in ("lambda1", "lambda2", "learning_rate"):
            if not getattr(self, name) > 0:
                raise ValueError(f"pinn-bo: {name} must be positive, got {getattr(self, name)}")
        if not 0 < self.delta < 1:
            raise ValueError(f"pinn-bo: delta must lie between 0 and 1, got {self.delta}")

    @classmethod
    def paper(cls, **changes: Any) -> PinnBO:
        """The paper's experiments: SGD, factor 0.95 per epoch, 100 epochs every 10 iterations, one draw."""
        settings = cls(
            init="scaled",
            biases=False,
            epochs=100,
            batch=None,
            rule="sgd",
            learning_rate=0.05,
            decay=0.95,
            update_every=10,
            restart=False,
            exploit_every=0,
        )
        return replace(settings, **changes)

    def start(self, task: Task) -> Engine:
        """Check the task and begin."""
        model = MLP(
            task.space.dim, self.width, self.depth, self.activation, self.biases, self.init, self.gain
        )
        check_network(model, task)
        return _PinnBOEngine(self, task, model)

    def default_initial(self, task: Task) -> int:
        """At least ten: a greedy choice has to know more than where it starts."""
        return max(10, super().default_initial(task))


class _PinnBOEngine(Engine):
    def __init__(self, settings: PinnBO, task: Task, model: MLP) -> None:
        self._settings, self._task, self._model = settings, task, model
        self._physics = collocate(task, settings.collocation)
        self._candidates = candidates(task)
        self._key = jax.random.key(task.seed)
        self._training_physics = training_physics(task.space, model, model.initial(self._key), self._physics)
        self._schedule = Schedule(settings.epochs, settings.rule, settings.decay, settings.batch)
        constants = Constants(
            settings.information,
            settings.R1,
            settings.R2,
            settings.lambda1,
            settings.lambda2,
            settings.B,
            settings.delta,
        )
        twin = replace(model, width=min(settings.width, settings.information_width))
        self._theory = Theory(constants, task, self._physics, twin)
        # data that the networks below were trained on, and the networks by the number of their draw
        self._trained_on: Data | None = None
        self._networks: dict[int, Theta] = {}
        # where training goes on from: the network of the last suggestion, and what it had learnt from
        self._chain: tuple[str, Theta] | None = None
        self._fitted: tuple[Data, Posterior] | None = None

    def suggest(
        self, data: Data, pending: Float[ndarray, "q d"], n: int, index: int
    ) -> Float[ndarray, "n d"]:
        """The argmin of a network for each point; one draw per point where draws are fresh."""
        space, settings = self._task.space, self._settings
        fresh_draws = settings.restart and settings.update_every == 1
        chosen = np.zeros((0, space.dim))
        while len(chosen) < n:
            theta = self._network(data, len(pending) + len(chosen) if fresh_draws else 0)
            if not settings.restart:
                self._chain = (data.first(self._n_learnt(data)).digest(), theta)
            known = np.concatenate([pending, self._task.region.exact(chosen)])
            around = surroundings(self._task, self._candidates, data, known)
            parameters = (self._model, theta, self._task.sign)
            rng = self._task.rng(5, index + len(chosen))
            chosen = np.vstack(
                [chosen, choose(Compiled(_network_value, parameters), around, 1 if fresh_draws else n, rng)]
            )
        return self._task.region.exact(chosen)

    def predict(self, data: Data, points: Float[ndarray, "n d"]) -> Prediction:
        """Lemma 1 around the trained network."""
        if self._fitted is None or not (data.extends(self._fitted[0]) and self._fitted[0].extends(data)):
            self._fitted = (data, self._posterior(data))
        one = Mixture([self._fitted[1]], np.zeros(1))
        return Prediction(*one.predict(self._task.space.scale(points)))

    def diagnostics(self, data: Data) -> dict[str, Any]:
        """The quantities of Lemmas 2 and 3 and of Theorem 1."""
        settings = self._settings
        return {
            "model": f"network, width {settings.width}, depth {settings.depth}, {settings.activation}",
            "collocation_rows": sum(c.source.size for _, c in self._physics),
            **self._theory.report(data),
        }

    def state(self) -> dict[str, Any]:
        """The weights that training goes on from, where it does."""
        if self._chain is None:
            return {}
        learnt, theta = self._chain
        flat = np.asarray(ravel_pytree(theta)[0], dtype="<f8")
        return {"learnt": learnt, "weights": base64.b64encode(flat.tobytes()).decode()}

    def restore(self, state: dict[str, Any], data: Data) -> None:
        """Go on from stored weights."""
        if "weights" in state:
            unravel = ravel_pytree(self._model.initial(self._key))[1]
            flat = np.frombuffer(base64.b64decode(state["weights"]), dtype="<f8")
            self._chain = (state["learnt"], unravel(jnp.asarray(flat)))

    def _n_learnt(self, data: Data) -> int:
        every = self._settings.update_every
        return len(data.values) // every * every

    def _network(self, data: Data, draw: int) -> Theta:
        """The network trained on what is to be learnt now, from the initial weights of the given draw."""
        head = data.first(self._n_learnt(data))
        if self._trained_on is None or not (
            head.extends(self._trained_on) and self._trained_on.extends(head)
        ):
            self._trained_on, self._networks = head, {}
            if self._chain is not None and self._chain[0] == head.digest():
                self._networks[0] = self._chain[1]
        if draw not in self._networks:
            key = jax.random.fold_in(jax.random.fold_in(self._key, len(head.values)), draw)
            start = self._model.initial(key) if self._chain is None else self._chain[1]
            self._networks[draw] = self._train(head, start, key)
        return self._networks[draw]

    def _train(self, head: Data, start: Theta, key: Array) -> Theta:
        settings = self._settings
        trained = train(
            self._task.physics,
            self._schedule,
            self._model,
            start,
            self._units(head),
            pad(head.points, head.values, _weights(head)),
            self._training_physics,
            self._nu(head),
            settings.learning_rate,
            key,
        )
        if not np.isfinite(trained.losses[-1]):
            raise FloatingPointError(
                f"pinn-bo: training diverged at {len(head.values)} observations; "
                f"learning_rate {settings.learning_rate} is too large for rule '{settings.rule}'"
            )
        return trained.theta

    def _units(self, head: Data) -> Units:
        return Units.of(self._task.space, *Standard.of(head.values))

    def _nu(self, head: Data) -> float:
        settings = self._settings
        turn = len(head.values) // settings.update_every
        if settings.exploit_every and turn % settings.exploit_every == 0:
            return settings.exploit_nu
        return self._theory.nu(head) if settings.nu is None else settings.nu

    def _posterior(self, data: Data) -> Posterior:
        theta = self._network(data, 0)
        head = data.first(self._n_learnt(data))
        units = self._units(head)
        units = units._replace(scale=units.scale * self._nu(head))
        scale = Standard.of(data.values).scale
        network = LinearisedNetwork.at(
            self._task.space, self._model, theta, units, self._physics, _ROW_NOISE, scale
        )
        return condition(network.process(), data, self._task.space)


def _network_value(parameters: tuple[MLP, Theta, float], s: Float[Array, " d"]) -> Float[Array, ""]:
    model, theta, sign = parameters
    return sign * model(theta, s)


def _weights(data: Data) -> Float[ndarray, " n"]:
    """Inverse variances relative to the median one; 1 where the noise is not known."""
    known = data.noise[data.noise > 0]
    typical = np.median(known) if len(known) else 1.0
    noise = np.where(data.noise > 0, data.noise, typical)
    return np.clip((typical / noise) ** 2, 1e-4, 1e4)
