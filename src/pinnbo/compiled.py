"""Compiled functions, kept on disk between processes by JAX's own cache.

Without it every process that asks for a suggestion compiles the same functions again. They are in
``$XDG_CACHE_HOME/pinnbo/compiled`` (``~/.cache`` if that is not set), which may be deleted at any time.
``PINNBO_COMPILATION_CACHE`` names another folder, or says ``off``. Left alone are a JAX that was imported before
pinnbo, and whoever has set ``JAX_COMPILATION_CACHE_DIR``.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

_SWITCH = "PINNBO_COMPILATION_CACHE"
_LEVEL, _OF_JAX = "TF_CPP_MIN_LOG_LEVEL", "1"


def keep_compiled() -> None:
    """Make a JAX that is imported later keep what it compiles; a folder that cannot be made is no error."""
    folder = _folder()
    if folder is None or "jax" in sys.modules or "JAX_COMPILATION_CACHE_DIR" in os.environ:
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return
    # XLA takes preferences such as "prefer-no-gather" for missing instructions and prints pages of errors when it loads
    # what it compiled on the same machine (openxla/xla issue 44565); the folder tells machines apart, so that they are
    # not missing. A JAX that is imported already has read its level. A process that has imported JAX hands its level
    # down to its children
    if os.environ.get(_LEVEL, _OF_JAX) == _OF_JAX:
        os.environ[_LEVEL] = "3"
    os.environ["JAX_COMPILATION_CACHE_DIR"] = str(folder)
    # also what compiles in a moment: there are many of these
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")


def _folder() -> Path | None:
    said = os.environ.get(_SWITCH)
    if said == "off":
        return None
    root = Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser())
    return (Path(said) if said else root / "pinnbo" / "compiled") / _machine()


def _machine() -> str:
    """A name for machines that understand the same instructions: a home folder may be shared by others."""
    import hashlib

    told = [*os.uname()[4:]] if hasattr(os, "uname") else [sys.platform]
    try:
        with Path("/proc/cpuinfo").open() as lines:
            # the first processor stands for all
            told += next(([line] for line in lines if line.startswith(("flags", "Features"))), [])
    except OSError:
        pass
    return hashlib.sha256("\n".join(told).encode()).hexdigest()[:12]
