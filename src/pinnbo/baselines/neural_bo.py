"""``neural-bo``: the network as the mean, its gradients at the initial weights as the features of the
uncertainty.

f~(x) = h(x; theta_t) + nu g(x) . w with w ~ N(0, lambda U_t^{-1}) and U_t = lambda I + sum_i g(x_i)
g(x_i)^T is a Thompson sample; its variance is the paper's nu^2 sigma_t^2(x) = nu^2 lambda g^T U_t^{-1} g.
The minimiser of it is measured, and the network is trained again. U is updated and never inverted
(`pinnbo.baselines.rank_one`). Features are scaled to a mean square of one, and values to a spread of one.

Reference
---------
D. Phan-Trong, H. Tran-The, S. Gupta, "NeuralBO: a black-box optimization algorithm using deep neural
networks" (2023).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from numpy import ndarray

from pinnbo.acquisition.choice import choose
from pinnbo.acquisition.compiled import Compiled
from pinnbo.baselines.network import Network
from pinnbo.baselines.rank_one import UpdatedInverse
from pinnbo.data import Data
from pinnbo.methods.base import SEARCHED, Engine, Method, Prediction, Task
from pinnbo.methods.setup import candidates, fill, surroundings
from pinnbo.network.features import Linearised
from pinnbo.network.mlp import MLP, Theta
from pinnbo.network.train import Schedule

_BATCH = 64


@dataclass(frozen=True)
class NeuralBO(Method):
    """The network, its training by Adam, the ``regularisation`` lambda and the ``exploration`` nu."""

    name: ClassVar[str] = "neural-bo"
    handles: ClassVar[frozenset[str]] = SEARCHED | {"log"}

    width: int = 100
    depth: int = 3
    gain: float = 3.0
    epochs: int = 200
    learning_rate: float = 5e-3
    regularisation: float = 0.1
    exploration: float = 1.0

    def __post_init__(self) -> None:
        for name in ("learning_rate", "regularisation"):
            if not getattr(self, name) > 0:
                raise ValueError(f"neural-bo: {name} must be positive, got {getattr(self, name)}")
        if self.exploration < 0:
            raise ValueError(f"neural-bo: exploration must not be negative, got {self.exploration}")

    def start(self, task: Task) -> Engine:
        """Begin; the physics is not used."""
        return _NeuralBOEngine(self, task)


class _NeuralBOEngine(Engine):
    def __init__(self, settings: NeuralBO, task: Task) -> None:
        self._settings, self._task = settings, task
        self._model = MLP(task.space.dim, settings.width, settings.depth, gain=settings.gain)
        self._schedule = Schedule(settings.epochs)
        self._candidates = candidates(task)
        self._key = jax.random.key(task.seed)
        theta = self._model.initial(self._key)
        self._linear = Linearised.at(self._model, theta, jnp.asarray(self._candidates[:64]))
        self._trained: tuple[Data, Network] | None = None
        # the points that have been added to U, in their order
        self._added = np.zeros((0, task.space.dim))
        self._inverse = UpdatedInverse.identity(self._linear.n_weights)

    def suggest(
        self, data: Data, pending: Float[ndarray, "q d"], n: int, index: int
    ) -> Float[ndarray, "n d"]:
        """Minimisers of Thompson samples; where points are under way the uncertainty is that after them."""
        if len(data.values) == 0:
            return fill(self._task, data, pending, n, index)
        network, inverse = self._fit(data), self._uncertainty(data)
        for x in pending:
            inverse = inverse.updated(self._feature(x))
        chosen = np.zeros((0, self._task.space.dim))
        for number in range(n):
            rng = self._task.rng(5, index + number)
            w = inverse.root(rng.standard_normal(self._linear.n_weights))
            weights = jnp.asarray(self._settings.exploration * w)
            parameters = (self._model, network.theta, self._linear, weights, self._task.sign)
            known = np.concatenate([pending, chosen])
            around = surroundings(self._task, self._candidates, data, known)
            (s,) = choose(Compiled(_sample, parameters), around, 1, rng)
            chosen = np.vstack([chosen, self._task.region.exact(s)])
            if number + 1 < n:
                inverse = inverse.updated(self._feature(chosen[-1]))
        return chosen

    def predict(self, data: Data, points: Float[ndarray, "n d"]) -> Prediction:
        """The network, and nu sigma_t."""
        scaled = self._task.space.scale(points)
        scale = 1.0
        mean = np.zeros(len(points))
        if len(data.values):
            network = self._fit(data)
            mean, scale = network.predict(scaled), network.standard.scale
        roots = self._uncertainty(data).root_transposed(self._features(scaled))
        deviation = np.sqrt(np.sum(roots**2, axis=1))
        return Prediction(mean, scale * self._settings.exploration * deviation)

    def diagnostics(self, data: Data) -> dict[str, Any]:
        """The architecture."""
        return {"model": f"network, width {self._settings.width}, depth {self._settings.depth}"}

    def _fit(self, data: Data) -> Network:
        if self._trained is None or not (data.extends(self._trained[0]) and self._trained[0].extends(data)):
            settings = self._settings
            network = Network.fit(
                settings.name,
                self._task,
                self._model,
                data,
                np.zeros(len(data.values)),
                self._schedule,
                settings.learning_rate,
                self._key,
            )
            self._trained = (data, network)
        return self._trained[1]

    def _uncertainty(self, data: Data) -> UpdatedInverse:
        """U with every measured point, updated by the new ones where the others have not changed."""
        seen = len(self._added)
        if not np.array_equal(data.points[:seen], self._added):
            seen, self._inverse = 0, UpdatedInverse.identity(self._linear.n_weights)
        for x in data.points[seen:]:
            self._inverse = self._inverse.updated(self._feature(x))
        self._added = data.points
        return self._inverse

    def _feature(self, x: Float[ndarray, " d"]) -> Float[ndarray, " p"]:
        """g(x) / sqrt(lambda), an update of U / lambda."""
        (row,) = self._features(self._task.space.scale(x[None]))
        return row / np.sqrt(self._settings.regularisation)

    def _features(self, scaled: Float[ndarray, "n d"]) -> Float[ndarray, "n p"]:
        starts = range(0, len(scaled), _BATCH)
        parts = [np.asarray(_rows(self._linear, jnp.asarray(scaled[i : i + _BATCH]))) for i in starts]
        return np.concatenate(parts)


@eqx.filter_jit
def _rows(linear: Linearised, points: Float[Array, "n d"]) -> Float[Array, "n p"]:
    origin = jnp.zeros(linear.n_weights)
    return jax.vmap(lambda s: jax.grad(linear)(origin, s))(points)


def _sample(
    parameters: tuple[MLP, Theta, Linearised, Array, float], s: Float[Array, " d"]
) -> Float[Array, ""]:
    model, theta, linear, weights, sign = parameters
    return sign * (model(theta, s) + linear(weights, s))
