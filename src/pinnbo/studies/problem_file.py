"""Problem files: a TOML file that says what is optimised and how it is evaluated.

goal = "maximize"              # or "minimize"
budget = 30                    # number of evaluations
equation = "laplacian(T) = 0"  # optional; in the notation of docs/guide/equations.md, one or several lines
conditions = ["T = 20 on y = 0"]   # optional; each with its place
symmetries = ["even in x about 0.5"]   # optional; docs/guide/symmetries.md
fields = ["T"]                 # optional; where the text leaves open which names are fields, or in which order
measures = "T"                 # optional; which of several fields is measured
time = "t"                     # optional; the axis of time, which laplacian, grad and div leave out
value = "temperature"          # optional; what the measured quantity is called, by default as in the equation
pde = "plate.py:pde"           # instead of an equation; a PDE or a list of them, in Python
objective = "plate.py:flux"    # optional; what is optimised in place of the measured field, in Python
limits = "plate.py:limits"     # optional; what has to hold at the optimum, in Python
mean = "plate.py:simulate"     # optional; what a simulation says of the field, a function of x in Python
noise = 0.02                   # optional; standard deviation of a measurement
robust = true                  # optional; readings may be outliers; or the prior probability of one
method = "auto"                # optional
seed = 0                       # optional
name = "plate"                 # optional; of the study, by default the name of the file
storage = "postgresql://..."   # optional; by default a file beside the problem file
heartbeat = 60                 # optional; seconds between signs of life of a worker

[space]
x = [-1.0, 1.0]
k = {low = 1e-3, high = 1.0, log = true}     # or step = 0.1, or periodic = true

[sensors]                      # optional; what else can be read, docs/guide/sensors.md
flux = "-0.6*d(T, x)"          # or {reads = "T", over = {shape = "disc", radius = 0.1}, minus = {x = 0.0}, noise = 0.1}

[inside]                       # optional; a shape, or inside = "plate.py:inside", a shape or a function in Python
shape = "disc"                 # box, disc, polygon, union, difference; docs/guide/domains.md
centre = [0.0, 0.0]
radius = 1.0

[domain]                       # optional; a larger space on which the equations hold, as [space]
x = [-2.0, 2.0]

[units]                        # optional; of parameters, of the measured quantity, of other fields and coefficients
x = "m"
temperature = "K"

[constants]                    # optional; numbers that the equation names
k = 0.3                        # or with a unit of its own, "0.3 W/(m K)": it is brought into those of the axes

[unknowns]                     # optional; coefficients of the equation that are not known, with their ranges
alpha = [0.01, 1.0]

[places]                       # optional; names for places of conditions
wall = "y = 0"

[tables]                       # optional; functions that the equation names, by a cubic spline, k(x)
k = [[0.0, 0.5, 1.0], [1.0, 1.2, 3.0]]   # places and values, or the name of a CSV file with two columns

[evaluate]                     # without it: by hand
python = "plate.py:measure"    # or: command = "./measure {x}", timeout = 60, shell = false
                               # or: formula = "exp(x)*cos(y)", to rehearse
"""

from __future__ import annotations

import contextlib
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import quote

from pinnbo import methods, shapes, values
from pinnbo.axis import Axis
from pinnbo.equations import grammar
from pinnbo.equations.errors import EquationError
from pinnbo.space import Space
from pinnbo.studies.errors import StudyError
from pinnbo.studies.evaluation import CommandEvaluation, Evaluation, PythonEvaluation
from pinnbo.studies.references import load
from pinnbo.studies.toml_table import EITHER, Table
from pinnbo.studies.written_equation import Written, written
from pinnbo.studies.written_sensors import WrittenSensor, written_sensors

if TYPE_CHECKING:
    from pinnbo.pde import PDE

_HEARTBEAT = 60
_MOST = 10**9  # evaluations
_LONGEST_NAME = 500  # Optuna keeps 512 characters


@dataclass(frozen=True)
class Formula:
    """A formula of the axes that stands in for an experiment."""

    text: str


@dataclass(frozen=True)
class ProblemFile:
    """What a problem file says, checked.

    The Python objects that it names are loaded by ``physics`` and ``evaluation``, and not before: a value can be
    entered without waiting for JAX.
    """

    path: Path
    name: str
    goal: Literal["minimize", "maximize"]
    budget: int
    box: Space  # as far as it is known without running anything: `space` is what is searched
    outer: Space | None  # as the box; `domain` is where the equations hold
    inside: str | None  # references
    objective: str | None
    limits: str | None
    mean: str | None
    robust: bool | float
    pde: str | None  # a reference
    equation: Written | None
    measures: str | None
    evaluate: CommandEvaluation | Formula | str | None  # a command, a reference to a function, or by hand
    method: str
    noise: float | None
    seed: int | None
    storage: str
    heartbeat: int
    value: str | None
    units: dict[str, str]
    sensors: dict[str, WrittenSensor]

    @cached_property
    def space(self) -> Space:
        """What is searched."""
        return self._within(self.box)

    @cached_property
    def domain(self) -> Space | None:
        """A larger space on which the equations hold."""
        return None if self.outer is None else self._within(self.outer)

    def _within(self, box: Space) -> Space:
        """What a function in Python says is inside."""
        if self.inside is None:
            return box
        inside = self._loaded(self.inside)
        with _errors_of(self.path):
            return _space(dict(zip(box.names, box.axes, strict=True)), inside)

    @property
    def programs(self) -> dict[str, str]:
        """The Python that it runs: references by their keys."""
        named = [(key, getattr(self, key)) for key in ("pde", "inside", "objective", "limits", "mean")]
        named += [(f"sensors.{name}", sensor.reference) for name, sensor in self.sensors.items()]
        found = {key: reference for key, reference in named if reference is not None}
        return {**found, **({"evaluate": self.evaluate} if isinstance(self.evaluate, str) else {})}

    @property
    def words(self) -> dict[str, Any]:
        """What pictures and pages call things: the measured quantity, and units."""
        return {"value": self.value, "units": self.units}

    @property
    def unit(self) -> str:
        """Of the measured quantity; nothing where none is given."""
        names = [self.value, self.measures, *((self.equation and self.equation.fields) or ())]
        # without any of these names, what has a unit and is nothing else is what is measured
        others = {*self.box.names, *self.unknowns, *(self.equation.constants if self.equation else ())}
        left = [name for name in self.units if name not in others]
        found = next((name for name in names if name is not None), left[0] if len(left) == 1 else "")
        return self.units.get(found, "")

    @cached_property
    def physics(self) -> tuple[PDE, ...]:
        """The equations."""
        from pinnbo.stated import as_physics

        if self.equation is not None:
            return as_physics(self._parsed(self.equation))
        if self.pde is None:
            return ()
        with _errors_of(self.path):
            try:
                return as_physics(load(self.pde, _folder(self.path)))
            except TypeError as error:
                raise StudyError(f"{self.pde}: {error}") from None

    @property
    def unknowns(self) -> dict[str, tuple[float, float]]:
        """The ranges of unknown coefficients."""
        return {} if self.equation is None else self.equation.unknowns

    @property
    def options(self) -> dict[str, Any]:
        """What an `Optimizer` takes besides the equations, where there is any."""
        return {
            **({"unknowns": self.unknowns} if self.unknowns else {}),
            **({"measures": self.measures} if self.measures is not None else {}),
            **({"robust": self.robust} if self.robust else {}),
            **({"sensors": self._sensors} if self.sensors else {}),
            **({"domain": self.domain} if self.domain is not None else {}),
            **{
                name: self._loaded(reference)
                for name, reference in (
                    ("objective", self.objective),
                    ("limits", self.limits),
                    ("mean", self.mean),
                )
                if reference is not None
            },
        }

    @property
    def _sensors(self) -> dict[str, Any]:
        """As an `Optimizer` takes them."""
        domain, found = self.domain or self.space, {}
        for name, sensor in self.sensors.items():
            with _errors_of(self.path):
                if name in self.fields:
                    raise StudyError(f"sensors.{name}: expected another name than that of a field")
                try:
                    found[name] = sensor.sensor(domain, self.fields, self.equation, _folder(self.path))
                except (TypeError, ValueError, StudyError) as error:
                    raise StudyError(f"sensors.{name}: {error}") from None
        return found

    @cached_property
    def fields(self) -> tuple[str, ...]:
        """The names of the fields, the measured one first; one alone is called as in the text."""
        from pinnbo.stated import as_problem

        fields = as_problem(self.physics, self.measures, self.unknowns).fields
        named = [pde.equation.fields for pde in self.physics if pde.equation is not None]
        return named[0] if len(fields) == 1 and named else fields

    def _loaded(self, reference: str) -> Any:
        with _errors_of(self.path):
            return load(reference, _folder(self.path))

    def _parsed(self, written: Written) -> PDE | list[PDE]:
        from pinnbo.pde import PDE

        with _errors_of(self.path):
            try:
                return PDE.parse(
                    written.text,
                    self.domain or self.space,
                    fields=written.fields,
                    constants=written.constants,
                    unknowns=written.unknowns,
                    places=written.places,
                    units=written.units,
                    tables=written.tables,
                    time=written.time,
                )
            except EquationError as error:
                raise StudyError(str(error)) from None

    @cached_property
    def evaluation(self) -> Evaluation | None:
        """How a point is evaluated; None by hand."""
        if isinstance(self.evaluate, Formula):
            from pinnbo.equations.text import formula

            with _errors_of(self.path):
                try:
                    given = {} if self.equation is None else self.equation.constants
                    return PythonEvaluation(formula(self.evaluate.text, self.space, given), self.space)
                except EquationError as error:
                    raise StudyError(f"evaluate.formula: {error}") from None
        if not isinstance(self.evaluate, str):
            return self.evaluate
        with _errors_of(self.path):
            function = load(self.evaluate, _folder(self.path))
            if not callable(function):
                got = type(function).__name__
                raise StudyError(f"{self.evaluate}: expected a function of a point, got {got}")
        return PythonEvaluation(function, self.space)


def read(path: Path) -> ProblemFile:
    """Read and check a problem file."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        raise StudyError(
            f"problem file {str(path)!r}: expected a path in UTF-8, got bytes that are not"
        ) from None
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise StudyError(
            f"problem file {str(path)!r} cannot be read: {error.strerror}; pinnbo init makes one"
        ) from None
    except RecursionError:
        raise StudyError(f"problem file {str(path)!r} is nested too deeply") from None
    except ValueError as error:  # what tomllib and the decoding of text raise, and a NUL in the path
        raise StudyError(f"problem file {str(path)!r} is not TOML: {error}") from None
    with _errors_of(path):
        return _checked(path, table)


@contextlib.contextmanager
def _errors_of(path: Path) -> Iterator[None]:
    try:
        yield
    except StudyError as error:
        raise StudyError(f"problem file {str(path)!r}: {error}") from None


def _is_chance(stated: Any) -> bool:
    return isinstance(stated, bool) or (isinstance(stated, float) and 0 < stated < 0.5)


def _is_name(text: str) -> bool:
    return 0 < len(text) <= _LONGEST_NAME and text.isprintable()


def _folder(path: Path) -> Path:
    return path.resolve().parent


def _checked(path: Path, table: dict[str, Any]) -> ProblemFile:
    top = Table(table, "")
    bounds = top.get("space", dict, "a table such as x = [0.0, 1.0]")
    inside = top.get("inside", object, "a shape or a reference", default=None)
    is_program = isinstance(inside, str)
    shape = None if inside is None or is_program else _shape(inside)
    outer = top.get("domain", dict, "a table such as x = [0.0, 1.0]", default=None)
    space = _space(bounds, shape)
    goal = top.get("goal", str, "'minimize' or 'maximize'", lambda goal: goal in ("minimize", "maximize"))
    method = top.get(
        "method", str, f"one of {methods.available()}", lambda name: name in methods.available(), "auto"
    )
    units = Table(top.get("units", dict, 'a table such as x = "m"', default={}), "units.").all(
        str, "a text such as 'm/s'", _is_name
    )
    found = ProblemFile(
        path=path,
        name=top.get("name", str, f"a text of at most {_LONGEST_NAME} characters", _is_name, path.stem),
        goal=goal,
        budget=top.get("budget", int, f"an integer from 1 to {_MOST}", lambda n: 1 <= n <= _MOST),
        box=space,
        outer=None if outer is None else _space(outer, shape),
        inside=inside if is_program else None,
        objective=top.get("objective", str, "a reference such as 'plate.py:objective'", bool, None),
        limits=top.get("limits", str, "a reference such as 'plate.py:limits'", bool, None),
        mean=top.get("mean", str, "a reference such as 'plate.py:simulate'", bool, None),
        robust=top.get("robust", EITHER, "true, false or a probability between 0 and 0.5", _is_chance, False),
        pde=top.get("pde", str, "a reference such as 'plate.py:pde'", bool, None),
        evaluate=_evaluate(top.get("evaluate", dict, "a table", default={}), space, _folder(path)),
        method=method,
        noise=top.get(
            "noise", float, "a standard deviation >= 0", lambda sd: 0 <= sd <= values.LARGEST, None
        ),
        seed=top.get("seed", int, "an integer from 0 to 2^63 - 1", lambda n: 0 <= n < 2**63, None),
        storage=_storage(
            top.get("storage", str, "a URL", bool, f"sqlite:///{quote(path.stem)}.db"), _folder(path)
        ),
        heartbeat=top.get(
            "heartbeat", int, "seconds, an integer from 1 to 86400", lambda n: 1 <= n <= 86400, _HEARTBEAT
        ),
        equation=written(top, space, units, _folder(path)),
        measures=top.get("measures", str, "the name of a field such as 'T'", str.isidentifier, None),
        value=top.get("value", str, "a name such as 'temperature'", _is_name, None),
        units=units,
        sensors=written_sensors(
            top.get("sensors", dict, "a table such as flux = '-0.6*d(T, x)'", default={}), space
        ),
    )
    top.finish()
    _check_units(found)
    if found.pde is not None and found.equation is not None:
        raise StudyError("expected an equation or a pde, got both")
    return found


def _check_units(problem: ProblemFile) -> None:
    """Only what has a name has a unit."""
    written = problem.equation
    names = [*problem.box.names, *(name for name in (problem.value, problem.measures) if name)]
    if written is not None:
        # which of them are fields is known when the text is read with JAX
        texts = [written.text, *(sensor.reads or "" for sensor in problem.sensors.values())]
        names += [*written.unknowns, *re.findall(r"[^\W\d]\w*", "\n".join(texts))]
    elif problem.value is None:
        names.append("f")
    for name in problem.units:
        if name not in names:
            known = ", ".join(dict.fromkeys(problem.box.names))
            raise StudyError(
                f"units.{name}: expected a parameter ({known}), what is measured, a field or a coefficient"
            )


def _space(bounds: dict[str, Any], inside: Any) -> Space:
    try:
        if "inside" in bounds:
            raise StudyError(
                "space: no axis can be called inside; what is inside is a table or a key of its own"
            )
        return Space(inside=inside, **{name: _axis(name, stated) for name, stated in bounds.items()})
    except (TypeError, ValueError) as error:
        raise StudyError(str(error)) from None


def _axis(name: str, stated: Any) -> Any:
    """A pair of bounds, or a table with options."""
    if not isinstance(stated, dict):
        return tuple(stated) if isinstance(stated, list) else stated
    known = ("low", "high", "log", "step", "periodic")
    unknown = [key for key in stated if key not in known]
    if unknown or "low" not in stated or "high" not in stated:
        raise StudyError(f"space.{name}: expected low, high and some of {known[2:]}, got {sorted(stated)}")
    return Axis(**stated)


def _shape(stated: Any) -> Any:
    """A shape in text."""
    try:
        return shapes.from_json(stated)
    except (TypeError, ValueError) as error:
        raise StudyError(str(error)) from None


def _storage(url: str, folder: Path) -> str:
    """The URL with the folder in it, whose name may hold what means something in a URL."""
    prefix = "sqlite:///"
    file = url.removeprefix(prefix)
    if not url.startswith(prefix) or file.startswith("/"):
        return url
    return f"{prefix}{quote(str(folder), safe=' +/')}/{file}"


def _evaluate(
    entries: dict[str, Any], space: Space, folder: Path
) -> CommandEvaluation | Formula | str | None:
    table = Table(entries, "evaluate.")
    python = table.get("python", str, "a reference such as 'plate.py:measure'", bool, None)
    command = table.get("command", str, "a command such as './measure {x}'", bool, None)
    timeout = table.get("timeout", float, "seconds > 0", lambda seconds: seconds > 0, None)
    shell = table.get("shell", bool, "true or false", default=False)
    formula = table.get("formula", str, "a formula such as 'exp(x)*cos(y)'", bool, None)
    table.finish()
    if python and command:
        raise StudyError("evaluate: expected python or command, got both")
    if formula and (python or command):
        raise StudyError("evaluate: expected a formula, python or command, got two of them")
    if (timeout or shell) and not command:
        raise StudyError("evaluate: timeout and shell belong to a command, got no command")
    if formula:
        try:
            grammar.parse_expression(formula.partition(";")[0], space.names)
        except EquationError as error:
            raise StudyError(f"evaluate.formula: {error}") from None
        return Formula(formula)
    if command:
        return CommandEvaluation(command, space, folder, timeout, shell)
    return python
