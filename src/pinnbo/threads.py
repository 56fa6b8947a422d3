"""One thread for the algebra of a suggestion.

The matrices here have a few hundred rows: a second thread saves nothing on a quiet machine, and on one that is busy
(with the simulation that is being optimised, say) BLAS threads wait for each other by spinning, and a suggestion takes
ten times as long. Whoever has set the number of threads in the environment is left alone, and so is the user's own code
outside of a call.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, wraps
from typing import TYPE_CHECKING, ParamSpec, TypeVar

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

P = ParamSpec("P")
R = TypeVar("R")

_SAID = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS")


def one_thread(function: Callable[P, R]) -> Callable[P, R]:
    """The function, with one BLAS thread while it runs."""

    @wraps(function)
    def limited(*args: P.args, **kwargs: P.kwargs) -> R:
        with _one():
            return function(*args, **kwargs)

    return limited


@contextmanager
def _one() -> Iterator[None]:
    """Lifted at the end; of two Python threads at once the first says how many (threadpoolctl sees to that)."""
    if any(os.environ.get(name) for name in _SAID):
        yield
        return
    with _controller().limit(limits=1, user_api="blas"):
        yield


@cache
def _controller() -> ThreadpoolController:
    """Of the libraries that NumPy and SciPy have loaded by then."""
    import scipy.linalg  # noqa: F401
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
