"""All that is stated about a problem: its equations with their fields, and the coefficients that are unknown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from pinnbo.knowledge import Unknown, named_fields, stated_unknowns
from pinnbo.pde import PDE
from pinnbo.physics.equivariance import refuse_asymmetric
from pinnbo.space import Space
from pinnbo.trying import depends_on, responds_to


def as_physics(pde: PDE | Iterable[PDE] | None) -> tuple[PDE, ...]:
    """Normalise the `pde` argument: one PDE, several (a condition is a PDE with its own points), or none."""
    if not isinstance(pde, PDE | Iterable | None):
        raise TypeError(f"pde: expected a PDE, a list of PDEs or None, got {type(pde).__name__}")
    equations = () if pde is None else (pde,) if isinstance(pde, PDE) else tuple(pde)
    for equation in equations:
        if not isinstance(equation, PDE):
            raise TypeError(
                f"pde: expected a PDE, a list of PDEs or None, got {type(equation).__name__} in it"
            )
    return equations


class Problem(NamedTuple):
    """The equations with all of their fields, the measured one first, and the coefficients that are unknown."""

    physics: tuple[PDE, ...]
    fields: tuple[str, ...]
    unknowns: tuple[Unknown, ...]

    def check(self, space: Space) -> None:
        """Refuse a field, or a coefficient, that no equation depends on, and an equation without the symmetries."""
        refuse_asymmetric(self.physics, space)
        if len(self.fields) == 1 and not self.unknowns:
            return
        touched = {name for pde in self.physics for name in depends_on(pde, space, self.fields)}
        for name in self.fields:
            if name not in touched:
                raise ValueError(f"pde: expected an equation that depends on the field {name!r}, got none")
        for unknown in self.unknowns:
            if not any(responds_to(pde, space, unknown) for pde in self.physics):
                raise ValueError(
                    f"unknowns: expected an equation that depends on the coefficient {unknown.name!r}, got none"
                )


def as_problem(
    physics: tuple[PDE, ...], measures: str | None = None, unknowns: Mapping[str, Any] | None = None
) -> Problem:
    """Say of every equation which of the fields it is about, and which coefficients have which prior."""
    fields = named_fields([pde.fields for pde in physics], measures)
    needed = {name: pde.name for pde in physics for name, default in pde.coefficients.items() if not default}
    optional = [name for pde in physics for name in pde.coefficients if name not in needed]
    found = stated_unknowns(unknowns, needed, optional)
    return Problem(tuple(pde.among(fields, found) for pde in physics), fields, found)
