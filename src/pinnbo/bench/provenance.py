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


def commit(folder: Path = Path(__file__).parent) -> str:
    """The short hash of the commit in use, marked if files differ from it that runs do not write: pages and records."""
    head = _git(folder, "rev-parse", "--short=7", "HEAD")
    if not head:
        return "unknown"
    written = (":(exclude,top)docs", ":(exclude,top)benchmarks/records")
    changed = _git(folder, "status", "--porcelain", "--untracked-files=no", "--", ":/", *written)
    return f"{head}, with changes" if changed else head


def _git(folder: Path, *arguments: str) -> str:
    """What git says; nothing where there is no git, or no repository."""
    try:
        found = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return found.stdout.strip()


def versions() -> dict[str, str]:
    """Python, the libraries that the benchmark rests on, and the number of processors."""
    found = {"python": platform.python_version(), "processors": str(os.cpu_count())}
    for library in _LIBRARIES:
        try:
            found[library] = importlib.metadata.version(library)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found
