"""Ask and tell: the one stateful class."""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np
from jaxtyping import Bool, Float
from numpy import ndarray
from numpy.typing import ArrayLike

from pinnbo import methods, state
from pinnbo import values as value_rules
from pinnbo.arguments import suggest_keywords
from pinnbo.asked import check_places, checked_domain, with_fixed
from pinnbo.data import Data
from pinnbo.declared import Sensors
from pinnbo.ensemble.kernel_family import DIMENSIONS
from pinnbo.ensemble.mixture import Mixture
from pinnbo.gp.simulation import Simulation
from pinnbo.knowledge import Unknown
from pinnbo.methods import Method, Prediction, Task
from pinnbo.methods.base import SPACES
from pinnbo.methods.setup import fill
from pinnbo.objective import as_limits, as_target
from pinnbo.pde import PDE
from pinnbo.region import Region
from pinnbo.space import Points, Space, is_named
from pinnbo.state import Record, State
from pinnbo.stated import Problem, as_physics, as_problem

if TYPE_CHECKING:
    from os import PathLike

    from matplotlib.figure import Figure

Goal = Literal["minimize", "maximize", "learn"]

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
    ) -> None:
        if not isinstance(space, Space):
            raise TypeError(f"Optimizer: space must be a Space, got {type(space).__name__}")
        if goal not in get_args(Goal):
            raise ValueError(f"Optimizer: goal must be 'minimize', 'maximize' or 'learn', got {goal!r}")
        if not _is_count(seed):
            raise ValueError(f"Optimizer: seed must be an integer >= 0, got {seed!r:.60}")
        if n_initial is not None and not _is_count(n_initial):
            raise ValueError(f"Optimizer: n_initial must be an integer >= 0, got {n_initial!r:.60}")
        known = None if noise is None else value_rules.deviation(noise)
        self.space, self.goal, self.seed = space, goal, int(seed)
        self.method = methods.get(method)
        self.domain: Space = space if domain is None else checked_domain(domain, space)
        problem = as_problem(as_physics(pde), measures, unknowns)
        for equation in problem.physics:
            equation.validate(self.domain)
            check_places(equation, self.domain)
        problem.check(self.domain)
        self._refuse_general(problem)
        self._refuse_spaces(domain is not None)
        sign = 1.0 if goal == "minimize" else -1.0
        bounded = as_limits(limits, problem, self.domain)
        target = None if objective is None else as_target(objective, problem, self.domain)
        if bounded and target is None:
            target = as_target(problem.fields[0], problem, self.domain)
        if goal == "learn" and target is not None:
            raise ValueError("Optimizer: expected no objective and no limits with the goal 'learn', got some")
        for what, is_asked in (("objective", target is not None), ("learn", goal == "learn")):
            if is_asked:
                self._refuse_unhandled(what, "Optimizer")
        self._task = Task(
            self.domain,
            problem.physics,
            sign,
            self.seed,
            known,
            problem.fields,
            problem.unknowns,
            None if mean is None else self._simulation(mean),
            None if domain is None else Region(self.domain, space),
            target,
            bounded,
            goal == "learn",
        )
        self._engine = self.method.start(self._task)
        self._sensors = Sensors(self.domain, problem.fields)
        for name, stated in self._sensors.stated(sensors):
            self._refuse_sensors()
            self._sensors.declare(name, stated)
        self.n_initial = int(self.method.default_initial(self._task) if n_initial is None else n_initial)
        self._records: list[Record] = []
        self._gathered: Data | None = None  # the records as arrays, until one is changed
        self._learnt: Data | None = None  # those of them that the engine is given
        self._warned: set[int] = set()
        self._pending: list[ndarray] = []
        self._asked = 0

    def _refuse_general(self, problem: Problem) -> None:
        if self.method.general:
            return
        for what, names in (("fields", problem.fields[1:]), ("coefficients", problem.unknowns)):
            if names:
                raise ValueError(
                    f"Optimizer: method {self.method.name!r} cannot infer {what} that are not measured; "
                    f"expected method 'auto'"
                )

    def _refuse_spaces(self, has_domain: bool) -> None:
        axes = [axis for axis in self.domain.axes if not axis.is_plain]
        asked = {
            "inside": not (self.domain.is_box and self.space.is_box),
            "step": self.space.is_stepped,
            "log": not self.domain.is_linear,
            "periodic": any(axis.periodic for axis in axes),
            "domain": has_domain,
        }
        for what in (name for name, is_asked in asked.items() if is_asked):
            self._refuse_unhandled(what, "Optimizer")

    def _refuse_unhandled(self, what: str, who: str) -> None:
        if what not in self.method.handles:
            able = [name for name in methods.available() if what in type(methods.get(name)).handles]
            raise ValueError(
                f"{who}: method {self.method.name!r} cannot handle {SPACES[what]}; expected one of {able}"
            )

    def _simulation(self, mean: Callable[[Any], Any]) -> Simulation:
        if not self.method.general:
            raise ValueError(
                f"Optimizer: method {self.method.name!r} cannot use a simulation as mean; expected method 'auto'"
            )
        return Simulation.of(self.domain, mean)

    def _refuse_sensors(self) -> None:
        if not self.method.general:
            raise ValueError(
                f"Optimizer: method {self.method.name!r} can learn from values of the measured field only; "
                f"expected method 'auto' for other sensors"
            )
        if self._task.physics and self.space.dim > DIMENSIONS:
            raise ValueError(
                f"Optimizer: equations and other sensors go together in at most {DIMENSIONS} coordinates, "
                f"got {self.space.dim}"
            )

    def _is_value(self, of: Any) -> bool:
        """Whether the measured field itself is meant."""
        return of is None or (isinstance(of, str) and of == self._task.fields[0])

    def __repr__(self) -> str:
        data, word = self._data(), "lowest" if self.goal == "minimize" else "highest"
        box = repr(self.space) if self.space.dim <= 4 else f"a Space of {self.space.dim} parameters"
        physics = ", ".join(pde.name for pde in self._task.physics) or "no PDE"
        counts = [f"{len(data.values)} measured"]
        if len(self._told().infeasible):
            counts.append(f"{len(self._told().infeasible)} infeasible")
        if self._pending:
            counts.append(f"{len(self._pending)} pending")
        if len(data.direct.values):
            extreme = self._task.sign * float(np.min(self._task.sign * data.direct.values))
            counts.append(f"{word} reading {extreme:.6g}")
        return f"<Optimizer: {self.goal} on {box} with {physics} by {self.method.name}; {', '.join(counts)}>"

    def _repr_html_(self) -> str:
        from pinnbo.notebook import table

        data, best = self._data(), self.best
        rows = [
            ("goal", f"{self.goal} by {self.method.name}"),
            ("equation", ", ".join(pde.name for pde in self._task.physics) or "none"),
            (
                "measured",
                f"{len(data.values)}, {len(data.infeasible)} impossible, {len(self._pending)} under way",
            ),
        ]
        if best is not None:
            low, high = best.interval
            named = zip(self.space.names, best.x, strict=True)
            rows.append(("best point", ", ".join(f"{name} = {c:.5g}" for name, c in named)))
            rows.append(("there", f"{best.mean:.5g}, 95% interval {low:.5g} to {high:.5g}"))
        return table(rows)

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
            self._refuse_unhandled("fixed", "ask")
            region = with_fixed(self.domain, self.space, fixed)
        data = self._data()
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

    def ask_sensor(self, costs: Mapping[str, float]) -> Question:
        """Where to read which sensor next, if each costs so much: ``opt.ask_sensor({"T": 1.0, "flux": 0.2})``.

        The names are those of fields and of declared sensors. The answer is told as ``opt.tell(q.x, y, of=q.of)``.
        """
        self._refuse_sensors()
        if not isinstance(costs, Mapping) or not costs:
            raise TypeError(f"ask_sensor: expected a table such as {{'flux': 0.2}}, got {costs!r:.60}")
        names, options = list(costs), []
        for name, cost in costs.items():
            price = value_rules.number(cost, "ask_sensor")
            if not 0 < price < math.inf:
                raise ValueError(f"ask_sensor: the cost of {name!r} must be positive, got {cost!r:.60}")
            options.append((None if self._is_value(name) else self._sensors.found(name, "ask_sensor"), price))
        x, chosen = self._engine.suggest_reading(self._data(), self.pending, options, self._asked)
        self._asked += 1
        self._pending.append(x.copy())
        return Question(x.copy(), names[chosen])

    def tell(self, x: Points, y: Any, noise: Any = None, of: Any = None) -> int | list[int]:
        """Report a measurement: a number, NaN (infeasible there) or None (lost, may be tried again).

        A point may be given by name, ``{"x": 0.5, "y": 0.1}``. Many at once: points (n, d), n values, and one noise or
        n of them. Points that nobody asked for are welcome. ``of`` says what was read there if it is not the measured
        field: another field or a sensor by name, a `Sensor`, an operator of the fields (a flux), a footprint to average
        over (``disc(0.1)``). Returns the id of the measurement, or the list of ids, for `replace` and `drop`.
        """
        kind = 0
        if not self._is_value(of):
            self._refuse_sensors()
            kind = self._sensors.number(of, "tell")
        ids = self._enter(x, y, noise, kind)
        self._warn_of_outliers()
        return ids

    def _enter(self, x: Points, y: Any, noise: Any, kind: int = 0) -> int | list[int]:
        points = self.domain.as_points(x, "tell")
        single = isinstance(x, Mapping) or (not is_named(x) and np.ndim(x) == 1)  # type: ignore[arg-type]
        values = [y] if single else _as_list(y, len(points), "values")
        noises = (
            [noise] * len(points) if single or np.ndim(noise) == 0 else _as_list(noise, len(points), "noises")
        )
        records = []
        for point, value, deviation in zip(points, values, noises, strict=True):
            clipped = self.domain.nearest(point)
            if clipped is None:
                raise ValueError(f"tell: expected a point of {self.domain}, got {point.tolist()}")
            checked = None if deviation is None else value_rules.deviation(deviation)
            measured = value_rules.measured(value, "tell")
            records.append(Record(clipped, measured, checked, of=self._sensors.name(kind)))
        if kind:
            self._sensors.all[kind - 1].refuse(np.array([record.x for record in records]), "tell")
        first = len(self._records)
        self._changed(self._told().plus(self._gather(records)))
        self._records.extend(records)
        for record in records:
            self._answered(record.x)
        return first if single else list(range(first, first + len(records)))

    def replace(self, id: int, y: Any) -> None:
        """Correct a measurement that was entered wrongly; the old value is kept in the record."""
        record, value = self._record(id, "replace"), value_rules.measured(y, "replace")
        record.replaced.append(record.y)
        record.y = value
        self._changed(None)
        self._warned.discard(int(id))
        self._warn_of_outliers()

    def drop(self, id: int) -> None:
        """Withdraw a measurement; it stays in the record, marked."""
        self._record(id, "drop").dropped = True
        self._changed(None)

    def assume(self, points: ArrayLike, values: Any, noises: Any, pending: ArrayLike, asked: int) -> None:
        """Take what a storage holds for all that was told and asked: measurements, points under way, a count.

        What has been computed from the physics, and from measurements that are still the first ones, is kept.
        """
        self._records, self._pending = [], []
        self._changed(None)
        measured = np.reshape(np.asarray(points, dtype=float), (-1, self.space.dim))
        self._enter(measured, values, noises)
        self._pending = list(np.reshape(np.asarray(pending, dtype=float), (-1, self.space.dim)))
        self._asked = int(asked)

    def predict(self, points: Points, of: Any = None) -> Prediction:
        """Posterior mean and standard deviation of f at points (n, d).

        ``of`` as of `tell`: what a sensor would read, without its noise; another field if the equations hold.
        """
        where = self.domain.as_points(points, "predict")
        if self._is_value(of):
            return self._engine.predict(self._data(), where)
        self._refuse_sensors()
        sensor = self._sensors.found(of, "predict")
        sensor.refuse(where, "predict")
        return self._engine.predict_of(self._data(), where, sensor)

    def predict_objective(self, points: Points) -> Prediction:
        """Posterior mean and standard deviation of the objective at points (n, d)."""
        if self._task.target is None:
            return self.predict(points)
        return self._engine.predict_objective(
            self._data(), self.domain.as_points(points, "predict_objective")
        )

    def posterior(self, hypothesis: str | None = None) -> Mixture:
        """The posterior of f over scaled points, for adapters to other libraries; only ``auto`` has one.

        ``hypothesis`` is one of ``diagnostics()["hypotheses"]``: what is believed if it is true.
        """
        found = self._engine.posterior(self._data(), hypothesis)
        if found is None and hypothesis is not None:
            raise ValueError(f"posterior: expected a hypothesis that has models, got {hypothesis!r:.60}")
        if found is None:
            raise TypeError(f"posterior: expected method 'auto', got {self.method.name!r}")
        return found

    @property
    def best(self) -> Best | None:
        """The recommendation: the evaluated point with the best posterior mean; None before any.

        Of an objective that is not the measured field, the point with its best mean anywhere, within the limits. With
        the goal "learn" there is nothing to recommend, and it is the evaluated point with the highest mean.
        """
        data = self._data()
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

    def diagnostics(self) -> dict[str, Any]:
        """How the surrogate stands: chosen model, evidence, information quantities, counts; print shows ten of them."""
        from pinnbo.notebook import Diagnostics

        data = self._data()
        found = {
            "method": self.method.name,
            "observations": len(data.values),
            "infeasible": len(self._told().infeasible),
            "pending": len(self._pending),
            **({} if data.is_plain else {"readings": self._sensors.counts(data)}),
            "set_aside": [
                {"id": id, "x": self._records[id].x.tolist(), "value": self._records[id].y}
                for id in self._aside()
            ],
            **self._engine.diagnostics(data),
        }
        return Diagnostics(found)

    @property
    def pending(self) -> Float[ndarray, "q d"]:
        """Points that were asked for and not told yet."""
        return np.array(self._pending).reshape(-1, self.space.dim)

    @property
    def data(self) -> Data:
        """What is learnt from: measured points, values and their noise, and the points that were impossible."""
        return self._data()

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

    def copy(self, data: Data | None = None) -> Optimizer:
        """An optimizer that goes its own way from here, for what-if questions; this one stays as it is.

        With ``data``, as in `Optimizer.data`, it has been told those instead, and nothing is under way.
        """
        other = copy.copy(self)
        other._engine, other._warned = self._engine.copy(), set(self._warned)
        other._sensors = self._sensors.copy()
        if data is None:
            other._records = [replace(r, replaced=list(r.replaced)) for r in self._records]
            other._pending = list(self._pending)
            return other
        sds = [None if math.isnan(sd) else sd for sd in data.noise.tolist()]
        if data.sensors:
            other._sensors.adopt(data.sensors)
        names = [other._sensors.name(kind) for kind in data.kinds]
        told = zip(data.points, data.values.tolist(), sds, names, strict=True)
        good = [Record(x, y, sd, of=name) for x, y, sd, name in told]
        other._records = good + [Record(x, math.nan, None) for x in data.infeasible]
        other._pending, other._asked = [], len(other._records)
        other._changed(data)
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
                records=self._records,
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
        _recognise(problem.physics, found.physics, found.domain or found.space)
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
        )
        now = self._prints()
        if len(now) != len(found.objective) or any(
            len(a) != len(b) or not np.allclose(a, b, rtol=1e-6, atol=1e-9)
            for a, b in zip(now, found.objective, strict=False)
        ):
            raise ValueError(
                "from_dict: objective and limits have to be those that the state was stored with"
            )
        _recognise_mean(self._task.simulation, found.mean, found.domain or found.space)
        self._sensors.restore(found.sensors, sensors)
        for record in found.records:
            if record.of is not None and not self._sensors.has(record.of):
                raise ValueError(f"from_dict: records: a reading of {record.of!r:.60}, which is no sensor")
        self._asked, self._records, self._pending = found.asked, found.records, found.pending
        try:
            self._engine.restore(found.engine, self._data())
        except Exception as error:
            # whatever an engine makes of a state that is not its own
            raise ValueError(f"from_dict: engine: {type(error).__name__}: {error}") from error
        return self

    def _design(self, n: int, region: Region | None = None) -> Float[ndarray, "n d"]:
        if n == 0:
            return np.zeros((0, self.space.dim))
        task = self._task if region is None else replace(self._task, searched=region)
        return fill(task, self._data(), self.pending, n, self._asked)

    def _data(self) -> Data:
        """What the engine learns from: all that was told, except values that are too far from the others."""
        if self._learnt is None:
            told = self._told()
            far = _far_off(told)
            self._learnt = told.without(far) if far.any() else told
        return self._learnt

    def _told(self) -> Data:
        if self._gathered is None:
            self._gathered = self._gather(self._records)
        return self._gathered

    def _aside(self) -> list[int]:
        """The ids of the values that are too far from the others."""
        measured = [i for i, record in enumerate(self._records) if _is_measured(record)]
        return [measured[i] for i in np.flatnonzero(_far_off(self._told()))]

    def _changed(self, gathered: Data | None) -> None:
        self._gathered, self._learnt = gathered, None

    def _warn_of_outliers(self) -> None:
        for id in self._aside():
            if id not in self._warned:
                self._warned.add(id)
                sentence = value_rules.why_far(f"measurement {id}", self._records[id].y or 0.0)
                warnings.warn(sentence, value_rules.OutlierWarning, stacklevel=3)

    def _gather(self, records: Sequence[Record]) -> Data:
        good = [r for r in records if _is_measured(r)]
        bad = [r.x for r in records if not r.dropped and r.y is not None and math.isnan(r.y)]
        kinds = np.array([self._sensors.kind(r.of) for r in good], dtype=int)
        default = [math.nan if self._task.noise is None else self._task.noise, *self._sensors.noises]
        pairs = zip(good, kinds, strict=True)
        return Data(
            np.array([r.x for r in good]).reshape(-1, self.space.dim),
            np.array([r.y for r in good], dtype=float),
            np.array([default[kind] if r.noise is None else r.noise for r, kind in pairs], dtype=float),
            np.array(bad).reshape(-1, self.space.dim),
            kinds if kinds.any() else None,
            tuple(self._sensors.all),
        )

    def _answered(self, x: ndarray) -> None:
        for i, point in enumerate(self._pending):
            if np.all(np.abs(point - x) <= 1e-9 * self.space.half_width):
                del self._pending[i]
                return

    def _record(self, id: int, who: str) -> Record:
        if isinstance(id, bool) or not isinstance(id, int | np.integer) or not 0 <= id < len(self._records):
            raise ValueError(f"{who}: expected an id from 0 to {len(self._records) - 1}, got {id!r}")
        return self._records[int(id)]


def _far_off(data: Data) -> Bool[ndarray, " n"]:
    """Which values are too far from the others of the same sensor."""
    far = np.zeros(len(data.values), dtype=bool)
    for kind in np.unique(data.kinds):
        mine = data.kinds == kind
        far[mine] = value_rules.far_off(data.values[mine])
    return far


def _is_count(number: Any) -> bool:
    whole = isinstance(number, int | np.integer) and not isinstance(number, bool)
    return whole and 0 <= int(number) < 2**63


def _is_measured(record: Record) -> bool:
    return not record.dropped and record.y is not None and not math.isnan(record.y)


def _as_list(values: Any, n: int, what: str) -> Sequence[Any]:
    try:
        items = list(values)
    except TypeError:
        raise TypeError(f"tell: expected {n} {what} for {n} points, got {values!r:.60}") from None
    if len(items) != n:
        raise ValueError(f"tell: expected {n} {what} for {n} points, got {len(items)}")
    return items


def _recognise_mean(simulation: Simulation | None, stored: Sequence[float] | None, space: Space) -> None:
    now = None if simulation is None else simulation.fingerprint(space)
    if (now is None) != (stored is None):
        told = "without" if stored is None else "with"
        raise ValueError(f"from_dict: the state was stored {told} a simulation; pass the same as mean")
    if now is None or stored is None:
        return
    if len(now) != len(stored) or not np.allclose(now, stored, rtol=1e-6):
        raise ValueError("from_dict: mean is not the simulation that the state was stored with")


def _recognise(physics: Sequence[PDE], stored: Sequence[Sequence[float]], space: Space) -> None:
    if len(physics) != len(stored):
        raise ValueError(
            f"from_dict: the state was stored with {len(stored)} PDE(s), got {len(physics)}; pass them as pde"
        )
    for pde, fingerprint in zip(physics, stored, strict=True):
        now = pde.fingerprint(space)
        if len(now) != len(fingerprint) or not np.allclose(now, fingerprint, rtol=1e-6, atol=1e-9):
            raise ValueError(f"from_dict: {pde.name} is not the one that the state was stored with")
