"""The type checker of the tests: beartype, for the first calls of every test.

A search calls the same lines thousands of times. What the first calls have shown need not be shown by all of them,
which would take longer than the search.
"""

import functools

import jaxtyping
from beartype import beartype

_MOST = 10_000
_calls = 0


def first_calls(function):
    """Check a function's arguments until the test has had its share of checks."""
    checked = beartype(function)

    @functools.wraps(function)
    def counted(*args, **kwargs):
        global _calls
        _calls += 1
        if _calls > _MOST:
            jaxtyping.config.update("jaxtyping_disable", True)
        return checked(*args, **kwargs)

    return counted


def begin():
    """Of a test."""
    global _calls
    _calls = 0
    jaxtyping.config.update("jaxtyping_disable", False)
