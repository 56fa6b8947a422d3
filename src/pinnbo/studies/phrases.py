"""Points and values for people: six digits, and units where the problem file gives them."""

from __future__ import annotations

from collections.abc import Mapping


def point(coordinates: Mapping[str, float], units: Mapping[str, str]) -> str:
    """A point as ``tell --at`` takes it, and in which units it is."""
    where = " ".join(f"{name}={value:.6g}" for name, value in coordinates.items())
    known = [f"{name} in {units[name]}" for name in coordinates if name in units]
    return f"{where} ({', '.join(known)})" if known else where


def meaning(of_trial: str, sensor: str | None) -> str:
    """What an answer means, in a table for people."""
    if of_trial == "read":
        return f"reading of {sensor}"
    return "impossible" if of_trial == "infeasible" else of_trial


def value(number: float, unit: str) -> str:
    """A measured value."""
    return f"{number:.6g} {unit}".rstrip()
