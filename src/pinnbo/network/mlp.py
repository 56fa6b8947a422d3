"""The paper's network, h(x; theta) = m^{-1/2} W_L phi(W_{L-1} phi(... phi(W_1 x))).

=========  ============================================  =================
symbol     meaning                                       where
=========  ============================================  =================
m          width                                         `MLP.width`
L          depth: number of weight matrices, >= 2        `MLP.depth`
phi        activation                                    `MLP.activation`
theta      weights, and biases unless ``biases=False``   a tuple of `Layer`
s          input, scaled to [-1, 1]^d                    (d,)
=========  ============================================  =================

Without biases an odd activation makes h an odd function, h(-s) = -h(s) (erratum 9), so biases are on by
default.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Literal, NamedTuple, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from pinnbo.operators import directional

Init = Literal["fan-in", "standard", "scaled"]

ACTIVATIONS: dict[str, Callable[[Array], Array]] = {
    "tanh": jnp.tanh,
    "sin": jnp.sin,
    "softplus": jax.nn.softplus,
    "swish": jax.nn.swish,
    "gelu": lambda u: jax.nn.gelu(u, approximate=False),
    "gaussian": lambda u: jnp.exp(-0.5 * u * u),
    "relu": jax.nn.relu,
}


class Layer(NamedTuple):
    """One affine map."""

    weight: Float[Array, "out in"]
    bias: Float[Array, " out"] | None


Theta = tuple[Layer, ...]


class MLP(eqx.Module):
    """Architecture and initialisation law of the network; it holds no arrays, theta is passed beside it.

    ``init``: ``"standard"`` draws weights from N(0, 1) (the paper's theory; a deep tanh network saturates),
    ``"scaled"`` from N(0, 1/m) (the paper's experiments; the kernel shrinks with m), ``"fan-in"`` from N(0,
    gain^2 / number of inputs) in the first layer and N(0, 1 / number of inputs) in the others, which makes
    pre-activations of size one at every width. Biases, where there are any, have the law of the first layer's
    pre-activations.
    """

    dim: int = eqx.field(static=True)
    width: int = eqx.field(static=True, default=100)
    depth: int = eqx.field(static=True, default=3)
    activation: str = eqx.field(static=True, default="tanh")
    biases: bool = eqx.field(static=True, default=True)
    init: Init = eqx.field(static=True, default="fan-in")
    gain: float = eqx.field(static=True, default=1.0)

    def __check_init__(self) -> None:
        if self.activation not in ACTIVATIONS:
            raise ValueError(f"MLP: activation must be one of {list(ACTIVATIONS)}, got {self.activation!r}")
        if self.init not in get_args(Init):
            raise ValueError(f"MLP: init must be one of {list(get_args(Init))}, got {self.init!r}")
        for name, least in (("dim", 1), ("width", 1), ("depth", 2)):
            if not isinstance(getattr(self, name), int) or getattr(self, name) < least:
                raise ValueError(f"MLP: {name} must be an integer >= {least}, got {getattr(self, name)!r}")

    @property
    def n_parameters(self) -> int:
        """p = m d + m^2 (L - 2) + m, and the biases."""
        m = self.width
        weights = m * self.dim + m * m * (self.depth - 2) + m
        return weights + (m * (self.depth - 1) + 1 if self.biases else 0)

    def initial(self, key: Array) -> Theta:
        """Draw theta_0."""
        sizes = [self.dim] + [self.width] * (self.depth - 1) + [1]
        layers = []
        for index, (fan_in, fan_out) in enumerate(itertools.pairwise(sizes)):
            weight_key, bias_key = jax.random.split(jax.random.fold_in(key, index))
            weight = self._spread(index, fan_in) * jax.random.normal(
                weight_key, (fan_out, fan_in), dtype=float
            )
            is_output = index == len(sizes) - 2
            bias_spread = 0.0 if is_output else self._bias_spread(index)
            bias = bias_spread * jax.random.normal(bias_key, (fan_out,), dtype=float) if self.biases else None
            layers.append(Layer(weight, bias))
        return tuple(layers)

    def __call__(self, theta: Theta, s: Float[Array, " d"]) -> Float[Array, ""]:
        """h(s; theta)."""
        phi = ACTIVATIONS[self.activation]
        hidden = s
        for layer in theta[:-1]:
            hidden = phi(_affine(layer, hidden))
        return _affine(theta[-1], hidden)[0] / math.sqrt(self.width)

    def check_smooth(self, order: int, who: str) -> None:
        """Reject an activation whose derivative of the operator's order vanishes (ReLU in a Laplacian)."""
        phi = ACTIVATIONS[self.activation]
        derivative = directional(lambda u: phi(u[0]), jnp.ones(1), order)
        values = jax.vmap(derivative)(jnp.linspace(-2.9, 3.1, 64)[:, None])
        if not bool(jnp.any(jnp.abs(values) > 1e-12)):
            smooth = [name for name in ACTIVATIONS if name != "relu"]
            raise ValueError(
                f"{who}: activation '{self.activation}' is not smooth enough "
                f"for an operator of order {order}: its derivative of that order is zero; use one of {smooth}"
            )

    def _spread(self, index: int, fan_in: int) -> float:
        if self.init == "standard":
            return 1.0
        if self.init == "scaled":
            return 1.0 / math.sqrt(self.width)
        if index == self.depth - 1:
            return 1.0
        return (self.gain if index == 0 else 1.0) / math.sqrt(fan_in)

    def _bias_spread(self, index: int) -> float:
        if self.init == "standard":
            return 1.0
        if self.init == "scaled":
            return 1.0 / math.sqrt(self.width)
        return self.gain if index == 0 else 0.3


def _affine(layer: Layer, u: Float[Array, " in"]) -> Float[Array, " out"]:
    image = layer.weight @ u
    return image if layer.bias is None else image + layer.bias
