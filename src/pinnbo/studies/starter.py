"""The files that ``pinnbo init`` writes: a problem to change into one's own, with an equation of the catalogue."""

from __future__ import annotations

from pathlib import Path

from pinnbo import equations
from pinnbo.equations import Entry
from pinnbo.studies.errors import StudyError

_PROBLEM = """\
# A problem for pinnbo: what is searched for, and the equation that it obeys. Lines that start with # are not read.
# Change this file, then:
#   pinnbo check {stem}.toml         looks at the equation, before the first experiment
#   pinnbo ask {stem}.toml           says where to measure, as trial 0, 1, ...
#   pinnbo tell {stem}.toml 0 1.23   enters what trial 0 gave
#   pinnbo status {stem}.toml        says how things stand; pinnbo report {stem}.toml writes a page about it

# "maximize" or "minimize"
goal = "maximize"
# how many measurements
budget = 20
{equation}# standard deviation of a measurement, in the unit of the measured quantity, if it is known
# noise = 0.02
# the same seed and the same measurements give the same suggestions
seed = 0

# what is varied, and between which bounds
[space]
{space}
{units}{constants}
# How a point is measured. Without such a table: by hand, with pinnbo ask and pinnbo tell. With it
# pinnbo run {stem}.toml measures by itself. Keep one of the three lines below [evaluate]:
#   formula: stands in for the experiment, to rehearse with{solution}
#   command: the last line that it prints is the value (nan: impossible there); it may take timeout seconds
#   python:  a function of a NumPy array with one number per axis
{hash}[evaluate]
{hash}formula = {formula}
# command = "./measure.sh {placeholders}"
# timeout = 3600
# python = "{stem}_measure.py:measure"

# More, each a line above [space]: method = "auto" (pinnbo methods lists them), name = "{stem}" (of the study),
# storage = "postgresql://user@host/database" (for many machines; by default {stem}.db beside this file)
"""

_TEXT = """\
# The equation that the measured quantity obeys; leave it out if there is none. Here:
# {title}.
# Write derivatives as d(T, x), d2(T, x), laplacian(T), div(k*grad(T)), with the axes of [space] below. Names other than
# those of the axes and of the field need a number in [constants], or a range in [unknowns] if it is not known.
equation = {equation}
{fields}# What is known at walls or points, each with its place{normal}. Nothing else is assumed there.
# conditions = [{conditions}]
"""
_CODE = """\
# the equation that the measured quantity obeys; leave it out if there is none
pde = "{stem}_equation.py:pde"
"""

_EQUATION = '''\
"""The equation of {stem}.toml, and a stand-in for the experiment."""

import numpy as np

from pinnbo import PDE
from pinnbo.operators import laplacian

# a steady temperature without sources: laplacian T = 0
pde = PDE(lambda f: laplacian(f), source=0.0, name="steady heat")


def measure(x):
    """One measurement at x, a NumPy array with one number per parameter."""
    return float(np.exp(x[0]) * np.cos(x[1] - 0.8))
'''


def write(
    path: Path, equation: str = "laplace", *, python: bool = False, rehearse: bool = False
) -> list[Path]:
    """Write a problem file, and its Python file if the equation is to be in Python; neither may exist.

    With ``rehearse`` a known solution of the equation stands in for the experiment.
    """
    if path.suffix != ".toml":
        raise StudyError(f"init: expected a file name that ends in .toml, got {str(path)!r}")
    if not path.parent.is_dir():
        raise StudyError(f"init: the folder {str(path.parent)!r} does not exist")
    try:
        entry = equations.get(equation)
    except ValueError as error:
        raise StudyError(f"init: {error}") from None
    if python and entry.name != "laplace":
        raise StudyError("init: --python writes the equation of Laplace; leave --equation out")
    texts = {path: _problem(path.stem, entry, python, rehearse)}
    if python:
        # not the name of the problem, which may be that of a module
        texts[path.with_name(f"{path.stem}_equation.py")] = _EQUATION.format(stem=path.stem)
    for file in texts:
        if file.exists():
            raise StudyError(f"init: {str(file)!r} exists already and is left alone")
    for file, text in texts.items():
        file.write_text(text, encoding="utf-8")
    return list(texts)


def _problem(stem: str, entry: Entry, python: bool, rehearse: bool) -> str:
    constants = [
        f"# {parameter.meaning}, in {parameter.unit}\n{name} = {float(parameter.value)!r}"
        for name, parameter in entry.parameters.items()
    ]
    units = [f'{name} = "{unit}"' for name, unit in _units(entry, python).items()]
    measured = next(iter(entry.fields))
    return _PROBLEM.format(
        stem=stem,
        equation=_CODE.format(stem=stem) if python else _text(entry),
        space="\n".join(f"{axis} = [{low!r}, {high!r}]" for axis, (low, high) in _bounds(entry)),
        units="\n".join(["", "# units, for messages and pictures", "[units]", *units, ""]) if units else "",
        constants="\n".join(["", "# numbers of the equation", "[constants]", *constants, ""])
        if constants
        else "",
        hash="" if rehearse else "# ",
        solution="" if python else f"; here a known solution {measured} of the equation",
        formula=f'"{entry.solution[measured]}"',
        placeholders=" ".join(f"{{{axis}}}" for axis in entry.space),
    )


def _bounds(entry: Entry) -> list[tuple[str, tuple[float, float]]]:
    return [(axis, (float(low), float(high))) for axis, (low, high) in entry.space.items()]


def _units(entry: Entry, python: bool) -> dict[str, str]:
    """Of the axes and, where the equation names it, of the measured quantity."""
    found = dict(entry.units)
    measured, unit = next(iter(entry.fields.items()))
    if found and unit != "1" and not python:
        found[measured] = unit
    return found


def _text(entry: Entry) -> str:
    measured, (axis, (low, high)) = next(iter(entry.fields)), _bounds(entry)[0]
    level = 20 if measured == "T" else 0
    known = [f'"{measured} = {level} on {axis} = {low:g}"']
    if len(entry.space) > 1:
        known.append(f'"d({measured}, n) = 0 on {axis} = {high:g}"')
    names = ", ".join(f'"{name}"' for name in entry.fields)
    fields = f'# the fields, of which the first is measured\nfields = [{names}]\nmeasures = "{measured}"\n'
    return _TEXT.format(
        title=entry.title[0].upper() + entry.title[1:],
        equation=_quoted(entry.text.replace(";", "\n").strip().splitlines()),
        fields=fields if len(entry.fields) > 1 else "",
        normal="; n is the outward normal" if len(entry.space) > 1 else "",
        conditions=", ".join(known),
    )


def _quoted(lines: list[str]) -> str:
    """Lines as one text of TOML."""
    stripped = [line.strip() for line in lines]
    return f'"{stripped[0]}"' if len(stripped) == 1 else '"""\n' + "\n".join(stripped) + '\n"""'
