"""The files that ``pinnbo init`` writes: a problem to change into one's own."""

from __future__ import annotations

from pathlib import Path

from pinnbo.studies.errors import StudyError

_PROBLEM = """\
# A problem for pinnbo. Change it, then:  pinnbo ask {stem}.toml   or   pinnbo run {stem}.toml

# "maximize" or "minimize"
goal = "maximize"
# how many evaluations
budget = 20
# the equation that the measured quantity obeys; leave it out if there is none
pde = "{stem}.py:pde"
# standard deviation of a measurement; leave it out if it is not known
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
x = [-1.0, 1.0]
y = [-1.0, 1.0]

# How a point is evaluated: by a Python function of a NumPy array, or by a command, of which the last line that it
# prints is the value (nan: impossible there). Without this table: by hand, with pinnbo ask and pinnbo tell.
# [evaluate]
# python = "{stem}.py:measure"
# command = "./measure.sh {{x}} {{y}}"
# timeout = 3600
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


def write(path: Path) -> list[Path]:
    """Write a problem file and its Python file; neither may exist."""
    if path.suffix != ".toml":
        raise StudyError(f"init: expected a file name that ends in .toml, got {str(path)!r}")
    if not path.parent.is_dir():
        raise StudyError(f"init: the folder {str(path.parent)!r} does not exist")
    files = [path, path.with_suffix(".py")]
    for file in files:
        if file.exists():
            raise StudyError(f"init: {str(file)!r} exists already and is left alone")
    texts = (_PROBLEM.format(stem=path.stem), _EQUATION.format(stem=path.stem))
    for file, text in zip(files, texts, strict=True):
        file.write_text(text, encoding="utf-8")
    return files
