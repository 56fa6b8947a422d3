"""Python objects that a problem file names: ``plate.py:pde`` or ``package.module:pde``."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from pinnbo.studies.errors import StudyError

OUTSIDE = "PINNBO_ALLOW_OUTSIDE"


def located(reference: str, folder: Path) -> tuple[str, str, Path | None]:
    """Place and name in a reference, and its file if it names one, which has to lie in the folder.

    A problem file may come from somebody else. The environment, which does not, may allow files elsewhere.
    """
    place, colon, name = reference.rpartition(":")
    if not colon or not place or not name.isidentifier():
        raise StudyError(f"expected a reference such as 'plate.py:pde', got {reference!r}")
    if not place.endswith(".py"):
        return place, name, None
    path = (folder / place).resolve()
    if not path.is_relative_to(folder.resolve()) and not os.environ.get(OUTSIDE):
        raise StudyError(
            f"{reference}: expected a file in the folder of the problem file, got {str(path)!r}; "
            f"{OUTSIDE}=1 in the environment allows others"
        )
    if not path.is_file():
        raise StudyError(f"{reference}: there is no file {place!r} beside the problem file")
    return place, name, path


def load(reference: str, folder: Path) -> Any:
    """The object behind a reference; files are found from the folder."""
    place, name, path = located(reference, folder)
    if path is not None:
        module = _run(place, lambda: _module_of(path))
    else:
        module = _run(place, lambda: importlib.import_module(place))
    try:
        return getattr(module, name)
    except AttributeError:
        raise StudyError(f"{reference}: {place} has no {name!r}") from None


def _run(place: str, load_module: Any) -> ModuleType:
    try:
        return load_module()
    except (Exception, SystemExit) as error:
        raise StudyError(f"{place} cannot be loaded: {type(error).__name__}: {error}") from error


@cache
def _module_of(path: Path) -> ModuleType:
    # a file may import its neighbours, as a script may
    if str(path.parent) not in sys.path:
        sys.path.insert(0, str(path.parent))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
