"""The equation cookbook, written from `pinnbo.equations` when the site is built."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

from pinnbo import equations
from pinnbo.equations.catalogue import Entry

MARK = "<!-- the catalogue -->"
PAGE = "guide/cookbook"
_CONDITIONS = Path(__file__).with_name("conditions.toml")


def conditions() -> dict[str, dict[str, str]]:
    """By name of an equation: conditions in its notation, each with what it says."""
    return tomllib.loads(_CONDITIONS.read_text())


def text() -> str:
    """Every entry with its units, its conditions and the code that reads it."""
    known = conditions()
    listed = [f"- [{equations.get(n).title}](#{n})" for n in equations.available()]
    parts = ["\n".join(listed)]
    for name in equations.available():
        parts.append(_entry(equations.get(name), known.get(name, {})))
    return "\n\n".join(parts)


def _entry(entry: Entry, known: dict[str, str]) -> str:
    lines = [line.strip() for line in entry.text.replace(";", "\n").strip().splitlines()]
    axes = [f"{axis} in {entry.units[axis]}" if axis in entry.units else axis for axis in entry.space]
    fields = [f"{field} in {unit}" if unit != "1" else field for field, unit in entry.fields.items()]
    found = [
        f"({entry.name})=\n## {entry.name}",
        entry.title[0].upper()
        + entry.title[1:]
        + f". Axes: {', '.join(axes)}. Measured: {', '.join(fields)}.",
        _code(entry, lines, known),
    ]
    if entry.parameters:
        rows = [f"| `{n}` | {p.value:g} | {p.unit} | {p.meaning} |" for n, p in entry.parameters.items()]
        found.append("\n".join(["| constant | here | unit | meaning |", "|---|---|---|---|", *rows]))
    if known:
        rows = [f"| `{condition}` | {meaning} |" for condition, meaning in known.items()]
        found.append("\n".join(["| condition, if you know it | says |", "|---|---|", *rows]))
    solution = ", ".join(f"`{field} = {formula}`" for field, formula in entry.solution.items())
    found.append(f"A solution, to rehearse with: {solution}.")
    return "\n\n".join(found)


def _code(entry: Entry, lines: list[str], known: dict[str, str]) -> str:
    box = ", ".join(f"{axis}=({low}, {high})" for axis, (low, high) in entry.space.items())
    variable = entry.name.replace("-", "_")
    body = "\n".join([*lines, *known])
    constants = ", ".join(f"{json.dumps(name)}: {value!r}" for name, value in entry.constants.items())
    fields = f", fields={json.dumps(list(entry.fields))}" if len(entry.fields) > 1 else ""
    given = f", constants={{{constants}}}" if constants else ""
    return (
        f'```python\nspace = Space({box})\ntext = """\n{body}\n"""\n'
        f"{variable} = PDE.parse(text, space{fields}{given})\n```"
    )


def _fill(app: Any, docname: str, source: list[str]) -> None:
    if docname == PAGE:
        source[0] = source[0].replace(MARK, text())


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("source-read", _fill)
    return {"parallel_read_safe": True}
