"""Simulated experiments whose stated equation is exact, nearly true or wrong, to see whether a judge can tell.

No field is drawn from a prior of ours: they are closed forms, finite differences and Fourier modes. An experiment is
made from its seed: a family, a class in the prior odds, and a way to be false.

- *exact*: the equation of the family.
- *nearly true*: a coefficient of the stated equation is off, or a source that nobody knows of is at work; scaled to a
  misfit between 2 and 20%, log-uniform.
- *wrong*: the sign of a term, its units (factors of 10, 60, 100, 1000), a strong unknown source, or measurements that
  have nothing to do with the equation; the misfit is above 50%.

The misfit is N[f] - g, root mean square over the box, as a share of the equation's largest term (residual.py).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import NamedTuple

import fields
import numpy as np
from jaxtyping import Bool, Float
from numpy import ndarray
from scipy.optimize import brentq

from physics import WORK
from physics.case import Evaluate, Goal, Stated
from physics.residual import inner_points, jets, share, terms
from pinnbo import PDE, Space
from pinnbo.operators import partial

CLASSES = ("exact", "nearly true", "wrong")
NEARLY, WRONG = (0.02, 0.2), 0.5
_POINTS = 256
_MOST_DRAWS = 50
Term = Callable  # f -> function of x


class Family(NamedTuple):
    """Fields by seed, and the term of their equation whose coefficient, sign or unit may be got wrong."""

    build: Callable[[int], Stated]
    term: Term


def _case(name: str, term: Term) -> Family:
    return Family(lambda seed: WORK[name].stated(seed), term)


def _field(factory: fields.Factory, term: Term, reach: float = 0.02) -> Family:
    def build(seed: int) -> Stated:
        problem = factory(seed)
        return Stated(problem.space, problem.pde, problem.evaluate, problem.goal, reach=reach)

    return Family(build, term)


def _second(i: int, factor: float = 1.0) -> Term:
    return lambda f: lambda x: factor * partial(f, i, order=2)(x)


FAMILIES: dict[str, Family] = {
    "patch-heater": _case("patch-heater", _second(0, -1.0)),
    "radiating-fin": _case("radiating-fin", _second(0)),
    "theis-well": _case("theis-well", lambda f: partial(f, 1)),
    "heat-rod": _case("heat-rod", lambda f: partial(f, 1)),
    "vortex-convection": _case("vortex-convection", _second(1, -1 / 40)),
    "advection-diffusion-low": _case("advection-diffusion-low", _second(0, -1 / 5)),
    "helmholtz-25": _case("helmholtz-25", lambda f: lambda x: 625.0 * f(x)),
    "klein-gordon": _case("klein-gordon", lambda f: lambda x: 100.0 * f(x)),
    "kinetics-arrhenius": _case("kinetics-arrhenius", _second(0)),
    "pendulum": _case("pendulum", _second(0)),
    "beam-point": _case("beam-point", lambda f: partial(f, 0, order=4)),
    "harmonic": _field(fields.harmonic, _second(0)),
    "wave": _field(fields.wave, _second(1)),
    "diffusion": _field(fields.diffusion, lambda f: partial(f, 1)),
    "plate": _field(fields.plate, lambda f: partial(f, 0, order=4), reach=0.05),
}


@dataclasses.dataclass(frozen=True)
class Experiment:
    """What is measured, what is stated of it, and what is true."""

    family: str
    true_class: str
    error: str
    misfit: float
    space: Space
    pde: PDE
    evaluate: Evaluate
    goal: Goal
    smooth: Callable[[Float[ndarray, "n d"]], Bool[ndarray, " n"]]  # as of the family (`case.Stated`)
    reach: float


class _Probe:
    """A field with its derivatives at points where it is smooth."""

    def __init__(self, stated: Stated, term: Term) -> None:
        self.stated = stated
        self.term = PDE(term)
        self.order = max(stated.pde.order(stated.space), self.term.order(stated.space))
        points = inner_points(stated.space, _POINTS, stated.reach)
        self.points = points[stated.smooth(points)]
        self.indices, self.jet = self.derivatives(stated.evaluate)
        self.rest, self.parts = terms(stated.pde, self.points, self.indices, self.jet)

    def derivatives(self, evaluate: Evaluate):
        reach = 2 * self.stated.reach * self.stated.space.half_width
        return jets(evaluate, self.points, self.order, reach)

    def misfit_of(self, jet: Float[ndarray, "n j"]) -> float:
        """Of another field, in the same equation."""
        return share(*terms(self.stated.pde, self.points, self.indices, jet))

    def misfit_with(self, change: float) -> float:
        """Of the same field, in the equation with change times the term added."""
        rest, parts = terms(self.term, self.points, self.indices, self.jet)
        return share(self.rest + change * rest, self.parts + change * parts)

    def changed(self, change: float) -> PDE:
        """The equation with change times the term added."""
        stated, term = self.stated.pde, self.term

        def operator(f):
            first, second = stated.apply(f), term.apply(f)
            return lambda x: (first(x) + change * second(x))[0]

        return PDE(operator, source=stated._source)


def experiment(seed: int, odds: tuple[float, float, float]) -> Experiment:
    """The experiment of a seed; ``odds`` are those of exact, nearly true and wrong before anything is measured."""
    rng = np.random.default_rng([seed, 301])
    true_class = CLASSES[rng.choice(3, p=np.array(odds) / sum(odds))]
    family = sorted(FAMILIES)[rng.integers(len(FAMILIES))]
    build, term = FAMILIES[family]
    for _ in range(_MOST_DRAWS):
        probe = _Probe(build(int(rng.integers(1000, 2**31))), term)
        found = _drawn(probe, true_class, rng)
        if found is not None:
            error, misfit, pde, evaluate = found
            s = probe.stated
            return Experiment(
                family, true_class, error, misfit, s.space, pde, evaluate, s.goal, s.smooth, s.reach
            )
    raise RuntimeError(f"experiment {seed}: {family} gave none that is {true_class} in {_MOST_DRAWS} draws")


def _drawn(
    probe: _Probe, true_class: str, rng: np.random.Generator
) -> tuple[str, float, PDE, Evaluate] | None:
    """A way to be of that class: the error, its misfit, what is stated and what is measured; None if it is not."""
    pde, evaluate = probe.stated.pde, probe.stated.evaluate
    if true_class == "exact":
        return "none", share(probe.rest, probe.parts), pde, evaluate
    if true_class == "nearly true":
        target = float(np.exp(rng.uniform(*np.log(NEARLY))))
        if rng.random() < 0.5:
            size = _solved(lambda s: probe.misfit_with(s), target)
            return None if size is None else ("coefficient", target, probe.changed(size), evaluate)
        return _with_source(probe, target, rng)
    error = ("sign", "units", "unknown source", "another field")[rng.integers(4)]
    if error == "unknown source":
        return _with_source(probe, float(rng.uniform(0.55, 0.9)), rng)
    if error == "another field":
        measured = _another(probe.stated, rng)
        misfit = probe.misfit_of(probe.derivatives(measured)[1])
        return (error, misfit, pde, measured) if misfit > WRONG else None
    change = (
        -2.0 if error == "sign" else float(rng.choice([10, 60, 100, 1000]) ** rng.choice([-1.0, 1.0])) - 1.0
    )
    misfit = probe.misfit_with(change)
    return (error, misfit, probe.changed(change), evaluate) if misfit > WRONG else None


def _with_source(probe: _Probe, target: float, rng: np.random.Generator):
    """Something adds to the field what the equation does not know of."""
    evaluate, bump = probe.stated.evaluate, _bumps(probe.stated.space, rng)
    jet = probe.derivatives(bump)[1]
    size = _solved(lambda s: probe.misfit_of(probe.jet + s * jet), target)
    if size is None:
        return None
    return "unknown source", target, probe.stated.pde, lambda points: evaluate(points) + size * bump(points)


def _another(stated: Stated, rng: np.random.Generator) -> Evaluate:
    """A field that has nothing to do with the equation, of the size of the one that has."""
    size = float(np.ptp(stated.evaluate(stated.space.sobol(512, 1))))
    bumps = [_bumps(stated.space, rng) for _ in range(3)]
    return lambda points: size * sum(bump(points) for bump in bumps)


def _bumps(space: Space, rng: np.random.Generator) -> Evaluate:
    """A hill or a hollow anywhere, a fifth to a half of the box wide, with a wave across it."""
    place, width = rng.uniform(-0.8, 0.8, space.dim), rng.uniform(0.4, 1.0)
    wave, phase, sign = rng.normal(size=space.dim), rng.uniform(0, 2 * np.pi), rng.choice([-1.0, 1.0])

    def evaluate(points: Float[ndarray, "n d"]) -> Float[ndarray, " n"]:
        scaled = space.scale(points)
        hill = np.exp(-0.5 * np.sum((scaled - place) ** 2, axis=1) / width**2)
        return sign * hill * (1 + 0.5 * np.cos(scaled @ wave + phase))

    return evaluate


def _solved(misfit: Callable[[float], float], target: float) -> float | None:
    """The smallest size at which the misfit reaches the target; None if it does not within twelve decades."""
    previous = -6.0
    for exponent in np.linspace(-6.0, 6.0, 49):
        if misfit(10.0**exponent) >= target:
            if exponent == previous:
                return None
            return float(10 ** brentq(lambda e: misfit(10.0**e) - target, previous, exponent, xtol=1e-4))
        previous = float(exponent)
    return None
