"""How objects look in a notebook: small tables, everything escaped; and diagnostics, the few that matter first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

_FIRST = (
    *("method", "observations", "infeasible", "pending", "model"),
    *("trust", "belief", "log_evidence_ratio", "physics", "set_aside"),
)


class Diagnostics(dict[str, Any]):
    """All diagnostics by name; ``print`` shows the ten that matter, and how many more there are."""

    def __str__(self) -> str:
        rows = [f"{name:20}{shown(self[name])}" for name in self._shown]
        more = len(self) - len(rows)
        return "\n".join([*rows, *([f"and {more} more: {', '.join(self._rest)}"] if more else [])])

    def _repr_html_(self) -> str:
        first = table([(name, shown(self[name])) for name in self._shown])
        if not self._rest:
            return first
        rest = table([(name, shown(self[name])) for name in self._rest])
        return f"{first}<details><summary>{len(self._rest)} more</summary>{rest}</details>"

    @property
    def _shown(self) -> list[str]:
        return [name for name in _FIRST if name in self]

    @property
    def _rest(self) -> list[str]:
        return [name for name in self if name not in _FIRST]


def table(rows: Iterable[Sequence[str]], head: Sequence[str] = ()) -> str:
    """A table; the first cell of a row is its heading."""
    top = f"<tr>{''.join(f'<th>{escape(cell)}</th>' for cell in head)}</tr>" if head else ""
    lines = (
        f"<tr><th>{escape(first)}</th>{''.join(f'<td>{escape(cell)}</td>' for cell in rest)}</tr>"
        for first, *rest in rows
    )
    return f"<table>{top}{''.join(lines)}</table>"


def shown(value: Any) -> str:
    """A diagnostic in a few characters."""
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, dict):
        return ", ".join(f"{name} {shown(part)}" for name, part in value.items()) or "none"
    if isinstance(value, list | tuple):
        return f"{len(value)} entries" if value else "none"
    return "none" if value is None else str(value)
