"""The files that ``pinnbo init`` writes: a problem to change into one's own, with an equation of the catalogue."""

from __future__ import annotations

from pathlib import Path

from pinnbo import equations
from pinnbo.equations import Entry
from pinnbo.studies.errors import StudyError

_PROBLEM = """\
# A problem for pinnbo. Change it, then:  pinnbo ask {stem}.toml   or   pinnbo run {stem}.toml

# "maximize" or "minimize"
goal = "maximize"
# how many evaluations
budget = 20
{equation}# standard deviation of a measurement; leave it out if it is not known
noise = 0.02
# the same seed and the same measurements give the same suggestions
seed = 0

# pinnbo methods lists them
# method = "auto"
# name of the study
# name = "{stem}"
# for many machines; by default it is {stem}.db beside this file
# storage = "postgresql://user@host/database"
# seconds between signs of life of a worker; after three missing ones it counts as dead
# heartbeat = 60

# what is varied, and between which bounds
[space]
{space}
{constants}
# How a point is evaluated: by a Python function of a NumPy array, or by a command, of which the last line that it
# prints is the value (nan: impossible there). Without this table: by hand, with pinnbo ask and pinnbo tell.
# [evaluate]
# python = "{stem}_measure.py:measure"
# command = "./measure.sh {placeholders}"
# timeout = 3600
# a formula to rehearse with:
# formula = "{formula}"
"""

_TEXT = """\
# The equation that the measured quantity obeys; leave it out if there is none. Here:
# {title}.
# Write derivatives as d(T, x), d2(T, x), laplacian(T), div(k*grad(T)), with the axes of [space] below; names of lines
# such as k = 0.3 are constants. pinnbo check {stem}.toml looks at it.
equation = {equation}
# what is known at the walls, each with its place
# conditions = ["{field} = 20 on {axis} = {value}"]
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


def write(path: Path, equation: str = "laplace", *, python: bool = False) -> list[Path]:
    """Write a problem file, and its Python file if the equation is to be in Python; neither may exist."""
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
    texts = {path: _problem(path.stem, entry, python)}
    if python:
        # not the name of the problem, which may be that of a module
        texts[path.with_name(f"{path.stem}_equation.py")] = _EQUATION.format(stem=path.stem)
    for file in texts:
        if file.exists():
            raise StudyError(f"init: {str(file)!r} exists already and is left alone")
    for file, text in texts.items():
        file.write_text(text, encoding="utf-8")
    return list(texts)


def _problem(stem: str, entry: Entry, python: bool) -> str:
    axes = list(entry.space)
    lines = [line.strip() for line in entry.text.replace(";", "\n").strip().splitlines()]
    quoted = f'"{lines[0]}"' if len(lines) == 1 else '"""\n' + "\n".join(lines) + '\n"""'
    text = _TEXT.format(
        stem=stem,
        title=entry.title[0].upper() + entry.title[1:],
        equation=quoted,
        field=next(iter(entry.fields)),
        axis=axes[0],
        value=f"{entry.space[axes[0]][0]:g}",
    )
    constants = [
        f"# {parameter.meaning}, in {parameter.unit}\n{name} = {float(parameter.value)!r}"
        for name, parameter in entry.parameters.items()
    ]
    bounds = [
        f"{axis} = [{float(low)!r}, {float(high)!r}]"
        + (f"  # {entry.units[axis]}" if axis in entry.units else "")
        for axis, (low, high) in entry.space.items()
    ]
    return _PROBLEM.format(
        stem=stem,
        equation=_CODE.format(stem=stem) if python else text,
        space="\n".join(bounds),
        constants="\n# numbers of the equation\n[constants]\n" + "\n".join(constants) + "\n"
        if constants
        else "",
        placeholders=" ".join(f"{{{axis}}}" for axis in axes),
        formula=f"{axes[0]}*(1 - {axes[0]})" if len(axes) == 1 else f"exp({axes[0]})*cos({axes[1]})",
    )
