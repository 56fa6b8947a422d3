"""Where records come from: the commit, the versions and the machine that made them."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import subprocess
from pathlib import Path

_LIBRARIES = (
    "pinnbo",
    "jax",
    "numpy",
    "scipy",
    "botorch",
    "gpytorch",
    "torch",
    "cmaes",
    "optuna",
    "distributed",
)


def commit() -> str:
    """The short hash of the commit in use, marked if files differ from it."""
    try:
        found = subprocess.run(
            ["git", "describe", "--always", "--dirty=, with changes", "--abbrev=7", "--exclude=*"],
            cwd=Path(__file__).parent,
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError:
        return "unknown"
    return found.stdout.strip() or "unknown"


def versions() -> dict[str, str]:
    """Python, the libraries that the benchmark rests on, and the number of processors."""
    found = {"python": platform.python_version(), "processors": str(os.cpu_count())}
    for library in _LIBRARIES:
        try:
            found[library] = importlib.metadata.version(library)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found
