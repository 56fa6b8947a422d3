"""Where records come from: the commit and the versions that made them."""

from __future__ import annotations

import importlib.metadata
import platform
import subprocess
from pathlib import Path

_LIBRARIES = ("jax", "numpy", "scipy", "botorch", "torch", "cmaes", "optuna")


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


def versions() -> str:
    """Of Python and the libraries that results rest on."""
    found = [f"python {platform.python_version()}"]
    for library in _LIBRARIES:
        try:
            found.append(f"{library} {importlib.metadata.version(library)}")
        except importlib.metadata.PackageNotFoundError:
            continue
    return ", ".join(found)
