"""pinnbo: optimise expensive, noisy black boxes that obey a known differential equation.

The names of the public interface are loaded on first use, so that ``import pinnbo`` stays quick.
"""

import importlib
import os
import sys
from typing import TYPE_CHECKING, Any

from pinnbo.compiled import keep_compiled

__version__ = "0.1.0"

# float32 loses the PDE; a JAX that is imported later reads the variable, an earlier one is told
if "jax" in sys.modules:
    sys.modules["jax"].config.update("jax_enable_x64", True)
else:
    os.environ.setdefault("JAX_ENABLE_X64", "1")
keep_compiled()

_HOME = {
    "Axis": "pinnbo.axis",
    "Space": "pinnbo.space",
    "PDE": "pinnbo.pde",
    "Optimizer": "pinnbo.optimizer",
    "Sensor": "pinnbo.sensors",
    "PhysicsWarning": "pinnbo.methods.auto",
    "Result": "pinnbo.run",
    "minimize": "pinnbo.run",
    "maximize": "pinnbo.run",
    "worst": "pinnbo.objective",
    "mean_over": "pinnbo.objective",
    "tabulated": "pinnbo.tables",
}
_SUBMODULES = ("equations", "methods", "operators", "plots", "problems", "sensors", "shapes", "symmetry")

__all__ = [
    "PDE",
    "Axis",
    "Optimizer",
    "PhysicsWarning",
    "Result",
    "Sensor",
    "Space",
    "maximize",
    "mean_over",
    "minimize",
    "tabulated",
    "worst",
]

if TYPE_CHECKING:
    from pinnbo.axis import Axis
    from pinnbo.methods.auto import PhysicsWarning
    from pinnbo.objective import mean_over, worst
    from pinnbo.optimizer import Optimizer
    from pinnbo.pde import PDE
    from pinnbo.run import Result, maximize, minimize
    from pinnbo.sensors import Sensor
    from pinnbo.space import Space
    from pinnbo.tables import tabulated


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    if name in _SUBMODULES:
        return importlib.import_module(f"pinnbo.{name}")
    raise AttributeError(f"module 'pinnbo' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME, *_SUBMODULES])
