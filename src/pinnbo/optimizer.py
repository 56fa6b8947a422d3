"""Ask and tell: the one stateful class."""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from jaxtyping import Float
from numpy import ndarray
from numpy.typing import ArrayLike

from pinnbo import methods, state
from pinnbo import values as value_rules
from pinnbo.arguments import suggest_keywords
from pinnbo.asked import with_fixed
from pinnbo.data import Data
from pinnbo.declared import Sensors
from pinnbo.ensemble.mixture import Mixture
from pinnbo.knowledge import Unknown
from pinnbo.measurements import Measurements
from pinnbo.methods import Method, Prediction
from pinnbo.methods.setup import fill
from pinnbo.pde import PDE
from pinnbo.recognised import recognise, recognise_mean, recognise_objective
from pinnbo.region import Region
from pinnbo.space import Points, Space
from pinnbo.state import State
from pinnbo.stated import as_physics, as_problem
from pinnbo.tasks import Goal, as_task, is_count, refuse_sensors, refuse_unhandled
from pinnbo.threads import one_thread

if TYPE_CHECKING:
    from os import PathLike

    from matplotlib.figure import Figure

_MOST_AT_ONCE = 10_000  # a batch is chosen point by point
_NORMAL_95 = 1.959963984540054


class Best(NamedTuple):
    """The evaluated point with the best posterior mean: observed value, mean and 95% interval of f.

    Of an objective that is not the measured field nothing is observed, and ``value`` is its mean.
    The value is NaN where another sensor was read.
    """

    x: Float[ndarray, " d"]
    value: float
    mean: float
    interval: tuple[float, float]


class Question(NamedTuple):
    """Where to read, and which sensor or field."""

    x: Float[ndarray, " d"]
    of: str


class Optimizer:
    """Finds the optimum of a noisy black box that obeys a PDE, one question at a time.

    Parameters
    ----------
    space: what is searched.
    pde: a `PDE`, a list of them (a condition is a PDE with points of its own), or None.
    goal: ``"minimize"`` or ``"maximize"``; ``"learn"`` to measure where it tells most about the whole field, or about
        the unknown coefficients if there are any.
    method: a name from `pinnbo.methods.available` or a settings object.
    seed: same seed and same data, same suggestions.
    noise: standard deviation of a measurement, if known.
    n_initial: number of space-filling points before the method takes over; measurements that are told count.
    measures: which field `tell` is about, where the equations have several; the first one otherwise.
    unknowns: ranges of unknown coefficients, ``{"alpha": (0.01, 1.0)}``: log-uniform, or uniform where the range
        reaches zero; ``(low, high, "uniform")`` and ``(low, high, "log")`` say it.
    objective: what is optimised in place of the measured field: a function of the fields and of x written as the
        operator of a `PDE`, ``lambda T: lambda x: ...``, the name of a field, or `pinnbo.worst` over a coordinate.
    limits: what has to hold at the optimum, ``{"name": (objective, low, high)}``, either of which may be None.
    domain: a larger space on which the equations hold and measurements may be told; ``space`` is what is searched.
    sensors: what else can be read, by name: ``{"flux": lambda T: lambda x: -0.6 * partial(T, 0)(x)}``, `Sensor`s or
        footprints such as ``disc(0.1)``; then ``tell(x, y, of="flux")``.
    mean: what a simulation says of f, a function of x as `measure` is: evaluated once on a grid, corrected by the
        measurements, and given up where they contradict it.
    robust: whether readings may be outliers, gross errors of any size: True, or the prior probability of one (0.02).
        They are found, named, and count with a larger noise (`pinnbo.ensemble.outliers`).
    """

    @suggest_keywords
    def __init__(
        self,
        space: Space,
        pde: PDE | Iterable[PDE] | None = None,
        *,
        goal: Goal = "minimize",
        method: str | Method = "auto",
        seed: int = 0,
        noise: float | None = None,
        n_initial: int | None = None,
        measures: str | None = None,
        unknowns: Mapping[str, Sequence[Any]] | None = None,
        domain: Space | None = None,
        objective: Any = None,
        limits: Mapping[str, Sequence[Any]] | None = None,
        sensors: Mapping[str, Any] | None = None,
        mean: Callable[[Any], Any] | None = None,
        robust: bool | float = False,
    ) -> None:
        if n_initial is not None and not is_count(n_initial):
            raise ValueError(f"Optimizer: n_initial must be an integer >= 0, got {n_initial!r:.60}")
        self.method = methods.get(method)
        self._task = as_task(
            self.method,
            space,
            pde,
            goal=goal,
            seed=seed,
            noise=noise,
            measures=measures,
            unknowns=unknowns,
            domain=domain,
            objective=objective,
            limits=limits,
            mean=mean,
            robust=robust,
        )
        self.space, self.domain = space, self._task.space
        self.goal, self.seed = goal, self._task.seed
        self._engine = self.method.start(self._task)
        known = Sensors(self.domain, self._task.fields)
        for name, stated in known.stated(sensors):
            refuse_sensors(self.method, self._task)
            known.declare(name, stated)
        self.n_initial = int(self.method.default_initial(self._task) if n_initial is None else n_initial)
        self._measurements = Measurements(self.domain, known, self._task.noise)
        self._pending: list[ndarray] = []
        self._asked = 0

    def _is_value(self, of: Any) -> bool:
        """Whether the measured field itself is meant."""
        return of is None or (isinstance(of, str) and of == self._task.fields[0])

    def __repr__(self) -> str:
        from pinnbo.notebook import in_a_line

        return in_a_line(self, len(self._measurements.told.infeasible))

    def _repr_html_(self) -> str:
        from pinnbo.notebook import in_a_table

        return in_a_table(self)

    @one_thread
    def ask(self, n: int | None = None, *, fixed: Mapping[str, float] | None = None) -> ndarray:
        """The next point (d,), or n different points (n, d); points asked for and not told are avoided.

        ``fixed`` holds some coordinates, ``opt.ask(fixed={"t": 3.0})``: what is known elsewhere counts as ever.
        """
        whole = isinstance(n, int | np.integer) and not isinstance(n, bool)
        if n is not None and not (whole and 1 <= n <= _MOST_AT_ONCE):
            raise ValueError(f"ask: n must be an integer from 1 to {_MOST_AT_ONCE} or None, got {n!r:.60}")
        wanted = 1 if n is None else int(n)
        region = None
        if fixed:
            refuse_unhandled(self.method, "fixed", "ask")
            region = with_fixed(self.domain, self.space, fixed)
        data = self.data
        n_design = int(np.clip(self.n_initial - len(data.values) - len(self._pending), 0, wanted))
        points = self._design(n_design, region)
        if n_design < wanted:
            pending = np.array([*self._pending, *points]).reshape(-1, self.space.dim)
            index = self._asked + n_design
            more = (
                self._engine.suggest(data, pending, wanted - n_design, index)
                if region is None
                else self._engine.suggest_within(region, data, pending, wanted - n_design, index)
            )
            points = np.vstack([points, more])
        self._asked += wanted
        self._pending.extend(points.copy())
        return points[0].copy() if n is None else points

    @one_thread
    def ask_sensor(self, costs: Mapping[str, float]) -> Question:
        """Where to read which sensor next, if each costs so much: ``opt.ask_sensor({"T": 1.0, "flux": 0.2})``.

        The names are those of fields and of declared sensors. The answer is told as ``opt.tell(q.x, y, of=q.of)``.
        """
        refuse_sensors(self.method, self._task)
        if not isinstance(costs, Mapping) or not costs:
            raise TypeError(f"ask_sensor: expected a table such as {{'flux': 0.2}}, got {costs!r:.60}")
        names, options = list(costs), []
        for name, cost in costs.items():
            price = value_rules.number(cost, "ask_sensor")
            if not 0 < price < math.inf:
                raise ValueError(f"ask_sensor: the cost of {name!r} must be positive, got {cost!r:.60}")
            options.append((None if self._is_value(name) else self._sensors.found(name, "ask_sensor"), price))
        x, chosen = self._engine.suggest_reading(self.data, self.pending, options, self._asked)
        self._asked += 1
        self._pending.append(x.copy())
        return Question(x.copy(), names[chosen])

    def tell(
        self, x: Points, y: Any, noise: Any = None, of: Any = None, *, batch: Any = None, at: Any = None
    ) -> int | list[int]:
        """Report a measurement: a number, NaN (infeasible there) or None (lost, may be tried again).

        A point may be given by name, ``{"x": 0.5, "y": 0.1}``. Many at once: points (n, d), n values, and one noise or
        n of them. Points that nobody asked for are welcome. ``of`` says what was read there if it is not the measured
        field: another field or a sensor by name, a `Sensor`, an operator of the fields (a flux), a footprint to average
        over (``disc(0.1)``). ``batch`` is what was measured with the same offset of the instrument (``"monday"``), and
        ``at`` when (in any unit) where it drifts; one for all or one for each. Returns the id of the
        measurement, or the list of ids, for `replace` and `drop`.
        """
        kind = 0
        if not self._is_value(of):
            refuse_sensors(self.method, self._task)
            kind = self._sensors.number(of, "tell")
        if batch is not None or at is not None:
            refuse_unhandled(self.method, "instrument", "tell")
        ids = self._enter(x, y, noise, kind, batch, at)
        self._warn_of_outliers()
        return ids

    def _enter(
        self, x: Points, y: Any, noise: Any, kind: int = 0, batch: Any = None, at: Any = None
    ) -> int | list[int]:
        ids = self._measurements.enter(x, y, noise, kind, batch, at)
        for id in [ids] if isinstance(ids, int) else ids:
            self._answered(self._measurements.records[id].x)
        return ids

    def replace(self, id: int, y: Any) -> None:
        """Correct a measurement that was entered wrongly; the old value is kept in the record."""
        self._measurements.replace(id, y)
        self._warn_of_outliers()

    def drop(self, id: int) -> None:
        """Withdraw a measurement; it stays in the record, marked."""
        self._measurements.drop(id)

    def assume(
        self,
        points: ArrayLike,
        values: Any,
        noises: Any,
        pending: ArrayLike,
        asked: int,
        batches: Sequence[str | None] | None = None,
        of: Sequence[str | None] | None = None,
    ) -> None:
        """Take what a storage holds for all that was told and asked: measurements, points under way, a count.

        What has been computed from the physics, and from measurements that are still the first ones, is kept.
        """
        self._measurements.take([])
        self._pending = []
        measured = np.reshape(np.asarray(points, dtype=float), (-1, self.space.dim))
        start = 0
        for sensor, some in groupby([None] * len(measured) if of is None else of):
            end = start + len(list(some))
            mine = slice(start, end)
            kind = 0 if self._is_value(sensor) else self._sensors.number(sensor, "tell")
            own = None if batches is None else batches[mine]
            self._enter(measured[mine], values[mine], noises[mine], kind, batch=own)
            start = end
        self._pending = list(np.reshape(np.asarray(pending, dtype=float), (-1, self.space.dim)))
        self._asked = int(asked)

    @one_thread
    def predict(self, points: Points, of: Any = None) -> Prediction:
        """Posterior mean and standard deviation of f at points (n, d).

        ``of`` as of `tell`: what a sensor would read, without its noise; another field if the equations hold.
        """
        where = self.domain.as_points(points, "predict")
        if self._is_value(of):
            return self._engine.predict(self.data, where)
        refuse_sensors(self.method, self._task)
        sensor = self._sensors.found(of, "predict")
        sensor.refuse(where, "predict")
        return self._engine.predict_of(self.data, where, sensor)

    @one_thread
    def predict_objective(self, points: Points) -> Prediction:
        """Posterior mean and standard deviation of the objective at points (n, d)."""
        if self._task.target is None:
            return self.predict(points)
        return self._engine.predict_objective(self.data, self.domain.as_points(points, "predict_objective"))

    @one_thread
    def posterior(self, hypothesis: str | None = None) -> Mixture:
        """The posterior of f over scaled points, for adapters to other libraries; only ``auto`` has one.

        ``hypothesis`` is one of ``diagnostics()["hypotheses"]``: what is believed if it is true.
        """
        found = self._engine.posterior(self.data, hypothesis)
        if found is None and hypothesis is not None:
            raise ValueError(f"posterior: expected a hypothesis that has models, got {hypothesis!r:.60}")
        if found is None:
            raise TypeError(f"posterior: expected method 'auto', got {self.method.name!r}")
        return found

    @property
    @one_thread
    def best(self) -> Best | None:
        """The recommendation: the evaluated point with the best posterior mean; None before any.

        Of an objective that is not the measured field, the point with its best mean anywhere, within the limits. With
        the goal "learn" there is nothing to recommend, and it is the evaluated point with the highest mean.
        """
        data = self.data
        if len(data.values) == 0:
            return None
        if self._task.target is not None:
            return self._best_of_objective(data)
        mean, std = self._engine.predict(data, data.points)
        i = int(np.argmin(self._task.sign * mean))
        half = _NORMAL_95 * float(std[i])
        return Best(
            data.points[i].copy(),
            float(data.values[i]) if data.kinds[i] == 0 else math.nan,
            float(mean[i]),
            (float(mean[i] - half), float(mean[i] + half)),
        )

    def _best_of_objective(self, data: Data) -> Best:
        x = self._engine.recommended(data)
        mean, std = (float(part[0]) for part in self._engine.predict_objective(data, x[None]))
        half = _NORMAL_95 * std
        return Best(x, mean, mean, (mean - half, mean + half))

    @one_thread
    def diagnostics(self) -> dict[str, Any]:
        """How the surrogate stands: chosen model, evidence, information quantities, counts; print shows ten of them."""
        from pinnbo.notebook import Diagnostics

        data, records = self.data, self._measurements.records
        found = {
            "method": self.method.name,
            "observations": len(data.values),
            "infeasible": len(self._measurements.told.infeasible),
            "pending": len(self._pending),
            **({} if data.is_plain else {"readings": self._sensors.counts(data)}),
            "set_aside": [
                {"id": id, "x": records[id].x.tolist(), "value": records[id].y}
                for id in self._measurements.aside
            ],
            **self._engine.diagnostics(data),
        }
        for outlier in found.get("outliers", ()):
            outlier["id"] = self._measurements.ids[outlier.pop("number")]
        if "offsets" in found:
            names = self._measurements.batches
            found["offsets"] = {names[number]: offset for number, offset in found["offsets"].items()}
        return Diagnostics(found)

    @property
    def pending(self) -> Float[ndarray, "q d"]:
        """Points that were asked for and not told yet."""
        return np.array(self._pending).reshape(-1, self.space.dim)

    @property
    def data(self) -> Data:
        """What is learnt from: measured points, values and their noise, and the points that were impossible."""
        return self._measurements.learnt

    @property
    def physics(self) -> tuple[PDE, ...]:
        """The stated equations."""
        return self._task.physics

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields by name, the measured one first."""
        return self._task.fields

    @property
    def unknowns(self) -> tuple[Unknown, ...]:
        """The unknown coefficients of the equations."""
        return self._task.unknowns

    @property
    def noise(self) -> float | None:
        """The stated standard deviation of a measurement."""
        return self._task.noise

    def in_hindsight(self, data: Data) -> Optimizer:
        """A `copy` that has been told other data, for questions only, with the models that are chosen now.

        Where choosing models takes long this answers at once what they would have said; tell it nothing more.
        """
        other = self.copy(data)
        other._engine = self._engine.in_hindsight(self.data, other.data)
        return other

    def copy(self, data: Data | None = None) -> Optimizer:
        """An optimizer that goes its own way from here, for what-if questions; this one stays as it is.

        With ``data``, as in `Optimizer.data`, it has been told those instead, and nothing is under way.
        """
        other = copy.copy(self)
        other._engine, other._measurements = self._engine.copy(), self._measurements.copy()
        other._pending = list(self._pending)
        if data is not None:
            other._measurements.take_data(data)
            other._pending, other._asked = [], len(other._measurements.records)
        return other

    def plot(self, kind: str = "field", **options: Any) -> Figure:
        """A picture: one of `pinnbo.plots.KINDS`, e.g. ``optimizer.plot("trust").savefig("trust.png")``."""
        from pinnbo import plots

        return plots.draw(kind, self, **options)

    def report(self, path: str | PathLike[str], **options: Any) -> None:
        """Write a report, one HTML page that needs nothing else; see `pinnbo.report.write`."""
        from pinnbo.report import write

        write(self, path, **options)

    def to_dict(self) -> dict[str, Any]:
        """The whole state as plain JSON; the PDE itself is not stored, but `from_dict` recognises it."""
        return state.write(
            State(
                space=self.space,
                goal=self.goal,
                method=methods.to_dict(self.method),
                seed=self.seed,
                noise=self._task.noise,
                n_initial=self.n_initial,
                asked=self._asked,
                records=self._measurements.records,
                pending=self._pending,
                physics=[pde.fingerprint(self.domain) for pde in self._task.physics],
                engine=self._engine.state(),
                measures=self._task.fields[0] if len(self._task.fields) > 1 else None,
                unknowns={u.name: u.to_json() for u in self._task.unknowns},
                sensors=self._sensors.to_json(),
                mean=None
                if self._task.simulation is None
                else self._task.simulation.fingerprint(self.domain),
                domain=None if self._task.searched is None else self.domain,
                objective=self._prints(),
                robust=self._task.robust,
            )
        )

    def _prints(self) -> list[list[float]]:
        """What objective and limits are recognised by."""
        target, limits = self._task.target, self._task.limits
        own = [] if target is None else [target.fingerprint(self.domain)]
        return own + [limit.fingerprint(self.domain) for limit in limits]

    @classmethod
    def from_dict(
        cls,
        stored: dict[str, Any],
        pde: PDE | Iterable[PDE] | None = None,
        *,
        sensors: Mapping[str, Any] | None = None,
        mean: Callable[[Any], Any] | None = None,
        inside: Any = None,
        objective: Any = None,
        limits: Mapping[str, Sequence[Any]] | None = None,
    ) -> Optimizer:
        """Take up a stored state; the PDE has to be the one it was stored with, and so have operators and mean.

        So have ``objective`` and ``limits``, sensors with operators, ``mean``, and the function that says what is
        ``inside``, if it is one; shapes are in the state themselves.
        """
        found = state.read(stored, inside)
        physics = as_physics(pde)
        try:
            problem = as_problem(physics, found.measures, found.unknowns)
        except (TypeError, ValueError) as error:
            raise ValueError(f"from_dict: {error}") from None
        recognise(problem.physics, found.physics, found.domain or found.space)
        try:
            method = methods.from_dict(found.method)
        except (TypeError, ValueError, KeyError) as error:
            raise ValueError(f"from_dict: method: {error}") from None
        self = cls(
            found.space,
            physics,
            goal=found.goal,  # type: ignore[arg-type]
            method=method,
            seed=found.seed,
            noise=found.noise,
            n_initial=found.n_initial,
            measures=found.measures,
            unknowns=found.unknowns,
            mean=mean,
            domain=found.domain,
            objective=objective,
            limits=limits,
            robust=found.robust or False,
        )
        recognise_objective(self._prints(), found.objective)
        recognise_mean(self._task.simulation, found.mean, found.domain or found.space)
        self._sensors.restore(found.sensors, sensors)
        for record in found.records:
            if record.of is not None and not self._sensors.has(record.of):
                raise ValueError(f"from_dict: records: a reading of {record.of!r:.60}, which is no sensor")
        self._asked, self._pending = found.asked, found.pending
        self._measurements.take(found.records)
        try:
            self._engine.restore(found.engine, self.data)
        except Exception as error:
            # whatever an engine makes of a state that is not its own
            raise ValueError(f"from_dict: engine: {type(error).__name__}: {error}") from error
        return self

    @property
    def _sensors(self) -> Sensors:
        return self._measurements.sensors

    def _design(self, n: int, region: Region | None = None) -> Float[ndarray, "n d"]:
        if n == 0:
            return np.zeros((0, self.space.dim))
        task = self._task if region is None else replace(self._task, searched=region)
        return fill(task, self.data, self.pending, n, self._asked)

    def _warn_of_outliers(self) -> None:
        for sentence in self._measurements.sentences():
            warnings.warn(sentence, value_rules.OutlierWarning, stacklevel=3)

    def _answered(self, x: ndarray) -> None:
        for i, point in enumerate(self._pending):
            if np.all(np.abs(point - x) <= 1e-9 * self.space.half_width):
                del self._pending[i]
                return
