"""Equations in the notation that people use, and a catalogue of well-known ones: ``pinnbo.equations.get("heat")``."""

from pinnbo.equations.catalogue import Entry, available, get
from pinnbo.equations.errors import EquationError

__all__ = ["Entry", "EquationError", "available", "get"]
