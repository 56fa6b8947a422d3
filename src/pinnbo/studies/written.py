"""Numbers as people write them; without NumPy, so that a slip is answered at once."""

from __future__ import annotations


def number(text: str) -> float:
    """A number that somebody wrote; Python would read 1_5 as 15, which nobody means in a laboratory."""
    if "_" in text:
        raise ValueError(f"expected a number, got {text!r:.60}")
    return float(text)
