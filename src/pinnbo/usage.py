"""What the commands share: one sentence about arguments that make no sense."""

from __future__ import annotations

import argparse
from collections.abc import Callable


class UsageError(Exception):
    """Arguments that make no sense; the message is one sentence for the user."""


def at_least(lowest: int) -> Callable[[str], int]:
    """The type of an argument that is an integer from ``lowest`` on."""

    def integer(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            number = lowest - 1
        if number < lowest:
            raise argparse.ArgumentTypeError(f"expected an integer >= {lowest}, got {text!r}")
        return number

    return integer
