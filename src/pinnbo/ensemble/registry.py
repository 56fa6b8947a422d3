"""The families that know what to do with equations. A new one is a file with a builder, and a line here.

A builder returns the families that can use the stated equations, none where it can use none of them. What it returns
shares one prior probability; the evidence of a hypothesis is that of its best entry, so that a further entry which does
not explain the measurements better changes no trust.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from pinnbo.ensemble.curve_family import curve_families
from pinnbo.ensemble.family import Family, Stated
from pinnbo.ensemble.kernel_family import kernel_families
from pinnbo.ensemble.sum_family import sum_families
from pinnbo.ensemble.symmetric_family import Symmetric
from pinnbo.ensemble.wave_family import wave_families
from pinnbo.space import Space


class Entry(NamedTuple):
    """A kind of family: what it can use, and what it costs."""

    build: Callable[[Stated], list[Family]]
    equations: str
    dimensions: str
    cost: str
    general: bool = False  # whether it can use several fields and unknown coefficients
    spaces: Callable[[Space], bool] = lambda space: space.is_plain  # which spaces it can handle
    beyond: bool = False  # whether it knows functions beyond the box, where reflections may lead

    def built(self, stated: Stated) -> list[Family]:
        """The families, with the symmetries that are stated; none that cannot have them."""
        images = stated.images
        if images is None or self.general:  # which takes them into its kernel
            return self.build(stated)
        if not (self.beyond or images.is_central):
            return []
        return [Symmetric(family, images) for family in self.build(stated)]


FAMILIES: dict[str, Entry] = {
    "kernel": Entry(
        kernel_families,
        "any; smooth fields",
        "1 to 5",
        "m^3 once for m rows, then n^3",
        True,
        lambda space: True,
    ),
    "sum": Entry(sum_families, "separable in the axes or in rotated ones", "any", "one small system an axis"),
    "curves": Entry(
        curve_families, "one, of first order, without source", "2 and 3", "a curve for every point"
    ),
    "waves": Entry(
        wave_families,
        "one, linear with constant coefficients, of evolution or with standing waves",
        "2 and 3",
        "some hundred exponentials for every point",
        spaces=lambda space: space.is_linear and not space.periodic,
        beyond=True,
    ),
}
