"""From what a user states to a `Task`: everything is checked, and what a method cannot handle is refused."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, get_args

import numpy as np

from pinnbo import methods, values
from pinnbo.asked import as_probability, check_places, checked_domain
from pinnbo.gp.simulation import Simulation
from pinnbo.methods import Method, Task
from pinnbo.methods.base import SPACES
from pinnbo.objective import as_limits, as_target
from pinnbo.pde import PDE
from pinnbo.region import Region
from pinnbo.space import Space
from pinnbo.stated import Problem, as_physics, as_problem
from pinnbo.thresholds import ROWS_REACH

Goal = Literal["minimize", "maximize", "learn"]


def as_task(
    method: Method,
    space: Space,
    pde: PDE | Iterable[PDE] | None,
    *,
    goal: str,
    seed: int,
    noise: float | None,
    measures: str | None,
    unknowns: Mapping[str, Sequence[Any]] | None,
    domain: Space | None,
    objective: Any,
    limits: Mapping[str, Sequence[Any]] | None,
    mean: Callable[[Any], Any] | None,
    robust: bool | float,
) -> Task:
    """The arguments of an `Optimizer` as a task for its method."""
    if not isinstance(space, Space):
        raise TypeError(f"Optimizer: space must be a Space, got {type(space).__name__}")
    if goal not in get_args(Goal):
        raise ValueError(f"Optimizer: goal must be 'minimize', 'maximize' or 'learn', got {goal!r}")
    if not is_count(seed):
        raise ValueError(f"Optimizer: seed must be an integer >= 0, got {seed!r:.60}")
    known = None if noise is None else values.deviation(noise)
    whole = space if domain is None else checked_domain(domain, space)
    problem = as_problem(as_physics(pde), measures, unknowns)
    for equation in problem.physics:
        equation.validate(whole)
        check_places(equation, whole)
    problem.check(whole)
    _refuse_general(method, problem)
    _refuse_spaces(method, space, domain)
    bounded = as_limits(limits, problem, whole)
    target = None if objective is None else as_target(objective, problem, whole)
    if bounded and target is None:
        target = as_target(problem.fields[0], problem, whole)
    learn, probability = goal == "learn", as_probability(robust)
    if learn and target is not None:
        raise ValueError("Optimizer: expected no objective and no limits with the goal 'learn', got some")
    asked = {"objective": target is not None, "learn": learn, "robust": probability is not None}
    for what, is_asked in asked.items():
        if is_asked:
            refuse_unhandled(method, what, "Optimizer")
    return Task(
        whole,
        problem.physics,
        1.0 if goal == "minimize" else -1.0,
        int(seed),
        known,
        problem.fields,
        problem.unknowns,
        None if mean is None else _simulation(method, whole, mean),
        None if domain is None else Region(whole, space),
        target,
        bounded,
        learn,
        probability,
    )


def is_count(number: Any) -> bool:
    """Whether something is an integer from 0 on."""
    whole = isinstance(number, int | np.integer) and not isinstance(number, bool)
    return whole and 0 <= int(number) < 2**63


def refuse_unhandled(method: Method, what: str, who: str) -> None:
    """Raise unless a method handles one of `SPACES`."""
    if what not in method.handles:
        able = [name for name in methods.available() if what in type(methods.get(name)).handles]
        raise ValueError(
            f"{who}: method {method.name!r} cannot handle {SPACES[what]}; expected one of {able}"
        )


def refuse_sensors(method: Method, task: Task) -> None:
    """Raise unless a method can learn from other sensors than the value of the measured field."""
    if not method.general:
        raise ValueError(
            f"Optimizer: method {method.name!r} can learn from values of the measured field only; "
            f"expected method 'auto' for other sensors"
        )
    if task.physics and task.space.dim > ROWS_REACH:
        raise ValueError(
            f"Optimizer: equations and other sensors go together in at most {ROWS_REACH} coordinates, "
            f"got {task.space.dim}"
        )


def _refuse_general(method: Method, problem: Problem) -> None:
    for what, names in (("fields", problem.fields[1:]), ("coefficients", problem.unknowns)):
        if names and not method.general:
            raise ValueError(
                f"Optimizer: method {method.name!r} cannot infer {what} that are not measured; "
                f"expected method 'auto'"
            )


def _refuse_spaces(method: Method, space: Space, domain: Space | None) -> None:
    whole = domain or space
    asked = {
        "inside": not (whole.is_box and space.is_box),
        "step": space.is_stepped,
        "log": not whole.is_linear,
        "periodic": any(axis.periodic for axis in whole.axes),
        "domain": domain is not None,
    }
    for what in (name for name, is_asked in asked.items() if is_asked):
        refuse_unhandled(method, what, "Optimizer")


def _simulation(method: Method, space: Space, mean: Callable[[Any], Any]) -> Simulation:
    if not method.general:
        raise ValueError(
            f"Optimizer: method {method.name!r} cannot use a simulation as mean; expected method 'auto'"
        )
    return Simulation.of(space, mean)
