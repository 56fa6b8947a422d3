"""The methods by name. ``Optimizer(method=NAME)`` takes the default settings, or pass a settings object.

The names are known without JAX, for commands that only check them; the classes are loaded on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pinnbo.methods.base import Data, Engine, Method, Prediction, Task

__all__ = ["Data", "Engine", "Method", "Prediction", "Task", "available", "from_dict", "get", "to_dict"]

_HOME = {
    "auto": ("pinnbo.methods.auto", "Auto"),
    "cma-es": ("pinnbo.baselines.cma_es", "CMAES"),
    "gp-ei": ("pinnbo.baselines.gp", "GPEI"),
    "gp-logei": ("pinnbo.baselines.gp", "GPLogEI"),
    "gp-ucb": ("pinnbo.baselines.gp", "GPUCB"),
    "neural-bo": ("pinnbo.baselines.neural_bo", "NeuralBO"),
    "neural-greedy": ("pinnbo.baselines.neural_greedy", "NeuralGreedy"),
    "ntk": ("pinnbo.methods.ntk", "NTK"),
    "optuna-gp": ("pinnbo.baselines.optuna_samplers", "OptunaGP"),
    "optuna-tpe": ("pinnbo.baselines.optuna_samplers", "OptunaTPE"),
    "pinn-bo": ("pinnbo.methods.pinn_bo", "PinnBO"),
    "random": ("pinnbo.methods.random_search", "RandomSearch"),
    "turbo": ("pinnbo.baselines.turbo", "TuRBO"),
}


_BASE = ("Data", "Engine", "Method", "Prediction", "Task")


def __getattr__(name: str) -> Any:
    if name in _BASE:
        return getattr(importlib.import_module("pinnbo.methods.base"), name)
    raise AttributeError(f"module 'pinnbo.methods' has no attribute {name!r}")


def available() -> list[str]:
    """Names that `Optimizer` accepts as its method."""
    return sorted(_HOME)


def get(method: str | Method) -> Method:
    """The settings object of a method given by name; a settings object is returned as it is."""
    from pinnbo.methods.base import Method

    if isinstance(method, Method):
        return method
    if not isinstance(method, str) or method not in available():
        raise ValueError(f"method: expected one of {available()} or a settings object, got {method!r}")
    module, name = _HOME[method]
    return getattr(importlib.import_module(module), name)()


def to_dict(method: Method) -> dict[str, Any]:
    """Name and settings as plain JSON."""
    return {"name": method.name, "settings": method.to_json()}


def from_dict(stored: dict[str, Any]) -> Method:
    """The settings object that `to_dict` wrote."""
    return get(stored["name"]).from_json(stored["settings"])
