"""The methods by name. ``Optimizer(method=NAME)`` takes the default settings, or pass a settings object."""

from __future__ import annotations

import dataclasses
import importlib
from typing import Any

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


def available() -> list[str]:
    """Names that `Optimizer` accepts as its method."""
    return sorted(_HOME)


def get(method: str | Method) -> Method:
    """The settings object of a method given by name; a settings object is returned as it is."""
    if isinstance(method, Method):
        return method
    if not isinstance(method, str) or method not in available():
        raise ValueError(f"method: expected one of {available()} or a settings object, got {method!r}")
    module, name = _HOME[method]
    return getattr(importlib.import_module(module), name)()


def to_dict(method: Method) -> dict[str, Any]:
    """Name and settings as plain JSON."""
    return {"name": method.name, "settings": dataclasses.asdict(method)}  # type: ignore[call-overload]


def from_dict(stored: dict[str, Any]) -> Method:
    """The settings object that `to_dict` wrote."""
    return dataclasses.replace(get(stored["name"]), **stored["settings"])  # type: ignore[type-var]
