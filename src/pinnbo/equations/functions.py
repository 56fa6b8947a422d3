"""The functions of numbers that a text may use, in JAX, with as many derivatives as equations take."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax.scipy import special


@jax.custom_jvp
def _exp1(x: Any) -> Any:
    return special.exp1(x)


@_exp1.defjvp
def _exp1_slope(primals: tuple[Any], tangents: tuple[Any]) -> tuple[Any, Any]:
    (x,), (dx,) = primals, tangents
    return _exp1(x), -jnp.exp(-x) / x * dx


def _lambertw(z: Any) -> Any:
    """w with w exp(w) = z >= 0, by Halley's method from a start that is never far off."""
    w = jnp.log1p(z) * (1 - jnp.log1p(jnp.log1p(z)) / (2 + jnp.log1p(z)))
    for _ in range(6):
        excess = w * jnp.exp(w) - z
        w = w - excess / (jnp.exp(w) * (w + 1) - (w + 2) * excess / (2 * w + 2))
    return w


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "sin": jnp.sin,
    "cos": jnp.cos,
    "tan": jnp.tan,
    "cot": lambda x: jnp.cos(x) / jnp.sin(x),
    "asin": jnp.arcsin,
    "acos": jnp.arccos,
    "atan": jnp.arctan,
    "atan2": jnp.arctan2,
    "sinh": jnp.sinh,
    "cosh": jnp.cosh,
    "tanh": jnp.tanh,
    "exp": jnp.exp,
    "log": jnp.log,
    "log10": jnp.log10,
    "sqrt": jnp.sqrt,
    "abs": jnp.abs,
    "sign": jnp.sign,
    "erf": special.erf,
    "erfc": special.erfc,
    "exp1": _exp1,
    "lambertw": _lambertw,
    "min": lambda *numbers: functools.reduce(jnp.minimum, numbers),
    "max": lambda *numbers: functools.reduce(jnp.maximum, numbers),
}
