"""Libraries that only the baselines and their benchmark need."""

from __future__ import annotations

import importlib
import warnings


def require(who: str, *libraries: str) -> None:
    """Import libraries, without what they warn of meanwhile; one that is missing is an ImportError that
    says so.
    """
    for library in libraries:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                importlib.import_module(library)
        except ImportError as error:
            raise ImportError(
                f"{who} needs {library}, which is not installed: pip install 'pinnbo[bench]'"
            ) from error
