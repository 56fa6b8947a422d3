"""How objects look in a notebook: small tables, everything escaped; and diagnostics, the few that matter first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from pinnbo.optimizer import Optimizer

_FIRST = (
    *("method", "observations", "infeasible", "pending", "model"),
    *("trust", "belief", "log_evidence_ratio", "physics", "unknowns", "set_aside"),
)


class Diagnostics(dict[str, Any]):
    """All diagnostics by name; ``print`` shows the ten that matter, and how many more there are."""

    def __str__(self) -> str:
        rows = [f"{name:20}{self._text(name)}" for name in self._shown]
        more = len(self) - len(rows)
        return "\n".join([*rows, *([f"and {more} more: {', '.join(self._rest)}"] if more else [])])

    def _repr_html_(self) -> str:
        first = table([(name, self._text(name)) for name in self._shown])
        if not self._rest:
            return first
        rest = table([(name, self._text(name)) for name in self._rest])
        return f"{first}<details><summary>{len(self._rest)} more</summary>{rest}</details>"

    __repr__ = __str__

    def _text(self, name: str) -> str:
        if name != "unknowns" or not self[name]:
            return shown(self[name])
        each = ((of, said["mean"], *said["interval"]) for of, said in self[name].items())
        return "; ".join(
            f"{of} {mean:.4g}, 95% interval {low:.4g} to {high:.4g}" for of, mean, low, high in each
        )

    @property
    def _shown(self) -> list[str]:
        return [name for name in _FIRST if name in self and (name != "unknowns" or self[name])]

    @property
    def _rest(self) -> list[str]:
        return [name for name in self if name not in _FIRST]


def in_a_line(optimizer: Optimizer, infeasible: int) -> str:
    """What is searched, with what, and how far it is."""
    space, data, sign = optimizer.space, optimizer.data.direct, -1.0 if optimizer.goal == "maximize" else 1.0
    box = repr(space) if space.dim <= 4 else f"a Space of {space.dim} parameters"
    physics = ", ".join(pde.name for pde in optimizer.physics) or "no PDE"
    counts = [f"{len(optimizer.data.values)} measured"]
    for number, word in ((infeasible, "infeasible"), (len(optimizer.pending), "pending")):
        counts += [f"{number} {word}"] if number else []
    if len(data.values):
        word, extreme = "lowest" if sign > 0 else "highest", sign * float(np.min(sign * data.values))
        counts.append(f"{word} reading {extreme:.6g}")
    return f"<Optimizer: {optimizer.goal} on {box} with {physics} by {optimizer.method.name}; {', '.join(counts)}>"


def in_a_table(optimizer: Optimizer) -> str:
    """The same and the best point, for a notebook."""
    data, best = optimizer.data, optimizer.best
    under_way = f"{len(data.infeasible)} impossible, {len(optimizer.pending)} under way"
    rows = [
        ("goal", f"{optimizer.goal} by {optimizer.method.name}"),
        ("equation", ", ".join(pde.name for pde in optimizer.physics) or "none"),
        ("measured", f"{len(data.values)}, {under_way}"),
    ]
    if best is not None:
        low, high = best.interval
        named = zip(optimizer.space.names, best.x, strict=True)
        rows.append(("best point", ", ".join(f"{name} = {c:.5g}" for name, c in named)))
        rows.append(("there", f"{best.mean:.5g}, 95% interval {low:.5g} to {high:.5g}"))
    return table(rows)


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
