"""Ask and tell: the one stateful class."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, Literal, NamedTuple

import numpy as np
from jaxtyping import Float
from numpy import ndarray
from numpy.typing import ArrayLike

from pinnbo import methods
from pinnbo.data import Data
from pinnbo.inference.mixture import Mixture
from pinnbo.methods import Method, Prediction, Task
from pinnbo.pde import PDE, as_physics
from pinnbo.space import Space

Goal = Literal["minimize", "maximize"]

_FORMAT = "pinnbo-optimizer"
_VERSION = 1
_NORMAL_95 = 1.959963984540054


class Best(NamedTuple):
    """The evaluated point with the best posterior mean: observed value, mean and 95% interval of f."""

    x: Float[ndarray, " d"]
    value: float
    mean: float
    interval: tuple[float, float]


@dataclass
class _Record:
    """One answer to a question, or one measurement nobody asked for."""

    x: ndarray
    y: float | None  # NaN: infeasible; None: lost
    noise: float | None
    dropped: bool = False
    replaced: list[float | None] = field(default_factory=list)  # earlier values, oldest first


class Optimizer:
    """Finds the optimum of a noisy black box that obeys a PDE, one question at a time.

    Parameters
    ----------
    space: the box.
    pde: a `PDE`, a list of them (a condition is a PDE with points of its own), or None.
    goal: ``"minimize"`` or ``"maximize"``.
    method: a name from `pinnbo.methods.available` or a settings object.
    seed: same seed and same data, same suggestions.
    noise: standard deviation of a measurement, if known.
    n_initial: number of space-filling points before the method takes over; measurements that are told count.
    """

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
    ) -> None:
        if not isinstance(space, Space):
            raise TypeError(f"Optimizer: space must be a Space, got {type(space).__name__}")
        if goal not in ("minimize", "maximize"):
            raise ValueError(f"Optimizer: goal must be 'minimize' or 'maximize', got {goal!r}")
        if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
            raise ValueError(f"Optimizer: seed must be an integer >= 0, got {seed!r}")
        if n_initial is not None and (not isinstance(n_initial, int | np.integer) or n_initial < 0):
            raise ValueError(f"Optimizer: n_initial must be an integer >= 0, got {n_initial!r}")
        known = None if noise is None else _checked_noise(noise)
        self.space, self.goal, self.seed = space, goal, int(seed)
        self.method = methods.get(method)
        sign = 1.0 if goal == "minimize" else -1.0
        self._task = Task(space, as_physics(pde), sign, self.seed, known)
        self._engine = self.method.start(self._task)
        self.n_initial = int(self.method.default_initial(self._task) if n_initial is None else n_initial)
        self._records: list[_Record] = []
        self._gathered: Data | None = None  # the records as arrays, until one is changed
        self._pending: list[ndarray] = []
        self._asked = 0

    def ask(self, n: int | None = None) -> ndarray:
        """The next point (d,), or n different points (n, d); points asked for and not told are avoided."""
        if n is not None and (isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1):
            raise ValueError(f"ask: n must be an integer >= 1 or None, got {n!r}")
        wanted = 1 if n is None else int(n)
        data = self._data()
        n_design = int(np.clip(self.n_initial - len(data.values) - len(self._pending), 0, wanted))
        points = self._design(n_design)
        if n_design < wanted:
            pending = np.array([*self._pending, *points]).reshape(-1, self.space.dim)
            index = self._asked + n_design
            points = np.vstack([points, self._engine.suggest(data, pending, wanted - n_design, index)])
        self._asked += wanted
        self._pending.extend(points.copy())
        return points[0].copy() if n is None else points

    def tell(self, x: ArrayLike, y: Any, noise: Any = None) -> int | list[int]:
        """Report a measurement: a number, NaN (infeasible there) or None (lost, may be tried again).

        Many at once: points (n, d), n values, and one noise or n of them. Points that nobody asked for are
        welcome. Returns the id of the measurement, or the list of ids, for `replace` and `drop`.
        """
        points = self.space.as_points(x, "tell")
        single = np.ndim(x) == 1
        values = [y] if single else _as_list(y, len(points), "values")
        noises = (
            [noise] * len(points) if single or np.ndim(noise) == 0 else _as_list(noise, len(points), "noises")
        )
        records = []
        for point, value, deviation in zip(points, values, noises, strict=True):
            margin = 1e-9 * self.space.half_width
            if np.any(point < self.space.lower - margin) or np.any(point > self.space.upper + margin):
                raise ValueError(f"tell: expected a point of {self.space}, got {point.tolist()}")
            clipped = np.clip(point, self.space.lower, self.space.upper)
            checked = None if deviation is None else _checked_noise(deviation)
            records.append(_Record(clipped, _checked_value(value, "tell"), checked))
        first = len(self._records)
        self._gathered = self._data().plus(self._gather(records))
        self._records.extend(records)
        for record in records:
            self._answered(record.x)
        return first if single else list(range(first, first + len(records)))

    def replace(self, id: int, y: Any) -> None:
        """Correct a measurement that was entered wrongly; the old value is kept in the record."""
        record, value = self._record(id, "replace"), _checked_value(y, "replace")
        record.replaced.append(record.y)
        record.y = value
        self._gathered = None

    def drop(self, id: int) -> None:
        """Withdraw a measurement; it stays in the record, marked."""
        self._record(id, "drop").dropped = True
        self._gathered = None

    def assume(self, points: ArrayLike, values: Any, noises: Any, pending: ArrayLike, asked: int) -> None:
        """Take what a storage holds for all that was told and asked: measurements, points under way, a count.

        What has been computed from the physics, and from measurements that are still the first ones, is kept.
        """
        self._records, self._gathered, self._pending = [], None, []
        measured = np.reshape(np.asarray(points, dtype=float), (-1, self.space.dim))
        self.tell(measured, values, noises)
        self._pending = list(np.reshape(np.asarray(pending, dtype=float), (-1, self.space.dim)))
        self._asked = int(asked)

    def predict(self, points: ArrayLike) -> Prediction:
        """Posterior mean and standard deviation of f at points (n, d)."""
        return self._engine.predict(self._data(), self.space.as_points(points, "predict"))

    def posterior(self) -> Mixture:
        """The posterior of f over scaled points, for adapters to other libraries; only ``auto`` has one."""
        found = self._engine.posterior(self._data())
        if found is None:
            raise TypeError(f"posterior: expected method 'auto', got {self.method.name!r}")
        return found

    @property
    def best(self) -> Best | None:
        """The recommendation: the evaluated point with the best posterior mean; None before any."""
        data = self._data()
        if len(data.values) == 0:
            return None
        mean, std = self._engine.predict(data, data.points)
        i = int(np.argmin(self._task.sign * mean))
        half = _NORMAL_95 * float(std[i])
        return Best(
            data.points[i].copy(),
            float(data.values[i]),
            float(mean[i]),
            (float(mean[i] - half), float(mean[i] + half)),
        )

    def diagnostics(self) -> dict[str, Any]:
        """How the surrogate stands: chosen model, evidence, information quantities, counts."""
        data = self._data()
        return {
            "method": self.method.name,
            "observations": len(data.values),
            "infeasible": len(data.infeasible),
            "pending": len(self._pending),
            **self._engine.diagnostics(data),
        }

    @property
    def pending(self) -> Float[ndarray, "q d"]:
        """Points that were asked for and not told yet."""
        return np.array(self._pending).reshape(-1, self.space.dim)

    def to_dict(self) -> dict[str, Any]:
        """The whole state as plain JSON; the PDE itself is not stored, but `from_dict` recognises it."""
        return {
            "format": _FORMAT,
            "version": _VERSION,
            "space": {
                "names": list(self.space.names),
                "lower": self.space.lower.tolist(),
                "upper": self.space.upper.tolist(),
            },
            "goal": self.goal,
            "method": methods.to_dict(self.method),
            "seed": self.seed,
            "noise": self._task.noise,
            "n_initial": self.n_initial,
            "asked": self._asked,
            "records": [_record_to_dict(record) for record in self._records],
            "pending": [point.tolist() for point in self._pending],
            "physics": [pde.fingerprint(self.space) for pde in self._task.physics],
            "engine": self._engine.state(),
        }

    @classmethod
    def from_dict(cls, stored: dict[str, Any], pde: PDE | Iterable[PDE] | None = None) -> Optimizer:
        """Take up a stored state; the PDE has to be the one it was stored with."""
        if not isinstance(stored, dict) or stored.get("format") != _FORMAT:
            raise ValueError("from_dict: expected what Optimizer.to_dict returned, got something else")
        if stored["version"] != _VERSION:
            raise ValueError(f"from_dict: expected version {_VERSION}, got {stored['version']}")
        box = stored["space"]
        pairs = zip(box["lower"], box["upper"], strict=True)
        space = Space(**dict(zip(box["names"], pairs, strict=True)))
        physics = as_physics(pde)
        _recognise(physics, stored["physics"], space)
        self = cls(
            space,
            physics,
            goal=stored["goal"],
            method=methods.from_dict(stored["method"]),
            seed=stored["seed"],
            noise=stored["noise"],
            n_initial=stored["n_initial"],
        )
        self._asked = stored["asked"]
        self._records = [_record_from_dict(entry) for entry in stored["records"]]
        self._pending = [np.array(point) for point in stored["pending"]]
        self._engine.restore(stored["engine"], self._data())
        return self

    def _design(self, n: int) -> Float[ndarray, "n d"]:
        if n == 0:
            return np.zeros((0, self.space.dim))
        return self._task.design(n, self._asked)

    def _data(self) -> Data:
        if self._gathered is None:
            self._gathered = self._gather(self._records)
        return self._gathered

    def _gather(self, records: Sequence[_Record]) -> Data:
        kept = [r for r in records if not r.dropped and r.y is not None]
        good = [r for r in kept if not math.isnan(r.y or 0.0)]
        bad = [r.x for r in kept if math.isnan(r.y or 0.0)]
        default = math.nan if self._task.noise is None else self._task.noise
        return Data(
            np.array([r.x for r in good]).reshape(-1, self.space.dim),
            np.array([r.y for r in good], dtype=float),
            np.array([default if r.noise is None else r.noise for r in good], dtype=float),
            np.array(bad).reshape(-1, self.space.dim),
        )

    def _answered(self, x: ndarray) -> None:
        for i, point in enumerate(self._pending):
            if np.allclose(point, x, rtol=0.0, atol=1e-9 * float(np.max(self.space.half_width))):
                del self._pending[i]
                return

    def _record(self, id: int, who: str) -> _Record:
        if isinstance(id, bool) or not isinstance(id, int | np.integer) or not 0 <= id < len(self._records):
            raise ValueError(f"{who}: expected an id from 0 to {len(self._records) - 1}, got {id!r}")
        return self._records[int(id)]


def _as_list(values: Any, n: int, what: str) -> Sequence[Any]:
    try:
        items = list(values)
    except TypeError:
        raise TypeError(f"tell: expected {n} {what} for {n} points, got {values!r:.60}") from None
    if len(items) != n:
        raise ValueError(f"tell: expected {n} {what} for {n} points, got {len(items)}")
    return items


def _checked_value(value: Any, who: str) -> float | None:
    if value is None:
        return None
    if isinstance(value, ndarray) and value.ndim == 0:
        value = value.item()
    elif hasattr(value, "__jax_array__") or type(value).__module__.startswith("jax"):
        value = np.asarray(value).item() if np.size(value) == 1 else value
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{who}: expected a number, NaN (infeasible) or None (lost), got {value!r:.60}")
    if math.isinf(value):
        raise ValueError(f"{who}: expected a finite value, NaN (infeasible) or None (lost), got {value}")
    return float(value)


def _checked_noise(noise: Any) -> float:
    if isinstance(noise, bool) or not isinstance(noise, Real) or not math.isfinite(noise) or noise < 0:
        raise ValueError(f"noise: expected a finite standard deviation >= 0, got {noise!r:.60}")
    return float(noise)


def _record_to_dict(record: _Record) -> dict[str, Any]:
    return {
        "x": record.x.tolist(),
        "y": _value_to_json(record.y),
        "noise": record.noise,
        "dropped": record.dropped,
        "replaced": [_value_to_json(y) for y in record.replaced],
    }


def _record_from_dict(entry: dict[str, Any]) -> _Record:
    return _Record(
        np.array(entry["x"], dtype=float),
        _value_from_json(entry["y"]),
        entry["noise"],
        entry["dropped"],
        [_value_from_json(y) for y in entry["replaced"]],
    )


def _value_to_json(y: float | None) -> float | str | None:
    # JSON has no NaN
    return "infeasible" if y is not None and math.isnan(y) else y


def _value_from_json(y: float | str | None) -> float | None:
    return math.nan if isinstance(y, str) else y


def _recognise(physics: Sequence[PDE], stored: Sequence[Sequence[float]], space: Space) -> None:
    if len(physics) != len(stored):
        raise ValueError(
            f"from_dict: the state was stored with {len(stored)} PDE(s), got {len(physics)}; pass them as pde"
        )
    for pde, fingerprint in zip(physics, stored, strict=True):
        now = pde.fingerprint(space)
        if len(now) != len(fingerprint) or not np.allclose(now, fingerprint, rtol=1e-6, atol=1e-9):
            raise ValueError(f"from_dict: {pde.name} is not the one that the state was stored with")
