"""The names of a run: ``problem:variant`` and ``method:variant``.

A problem is one of the paper's or one that a script has added (`add`). Problems take ``printed`` (the PDE as
the paper prints it), ``shifted`` (a box of its own for every seed, so that no method profits from an optimum
in the middle) and ``noise=0.01`` (the standard deviation of a measurement as a share of the range; the
paper's noise otherwise), in this order.

Every method begins with the same points of a seed, except ``auto`` where it knows the physics: it chooses
its own first points, and ``auto:design`` takes the common ones. ``plain`` leaves the PDE away, and
``pinn-bo:paper`` has the settings of the paper's experiments. Settings of a method follow at the end, as in
``auto:plain:acquisition=bound``.
"""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from pinnbo import methods, problems
from pinnbo.methods import Method
from pinnbo.problems import Problem
from pinnbo.problems.problem import paper_noise
from pinnbo.space import Space

# their fields are known on the paper's box only: a smaller box in place of a shifted one
_BOUNDED = ("heat", "beam", "michalewicz")
_ADDED: dict[str, Callable[[int], Problem]] = {}


class Contender(NamedTuple):
    """A method as it takes part: its settings, whether it knows the PDE, whether it begins with the common
    points.
    """

    settings: Method
    physics: bool
    common_start: bool


def contender(name: str) -> Contender:
    """The method called ``name``."""
    method, *variants = name.split(":")
    if method not in methods.available():
        raise ValueError(f"bench: expected a method of {', '.join(methods.available())}, got {name!r}")
    given = [v for v in variants if "=" in v]
    allowed = ["design", "plain", *(["paper"] if method == "pinn-bo" else [])]
    _check(name, [v for v in variants if v not in given], allowed)
    settings = methods.get(method)
    if "paper" in variants:
        from pinnbo.methods.pinn_bo import PinnBO

        settings = PinnBO.paper()
    try:
        settings = _changed(settings, dict(map(_setting, given)))
    except (TypeError, ValueError) as error:
        raise ValueError(f"bench: expected settings of {method} in {name!r}: {error}") from None
    physics = "plain" not in variants
    return Contender(settings, physics, not (method == "auto" and physics and "design" not in variants))


@functools.lru_cache(maxsize=64)
def problem(name: str, seed: int) -> Problem:
    """The problem called ``name``, as the given seed has it."""
    family, *variants = name.split(":")
    noises = [v for v in variants if v.startswith("noise=")]
    printable = [] if family in _ADDED else ["printed"]
    _check(name, variants, [*printable, "shifted", *noises[:1]])
    make = _ADDED.get(family, lambda seed: problems.get(family, printed="printed" in variants))
    found = make(seed)
    if "shifted" in variants:
        found = shifted(found, seed)
    noise = _share(name, noises[0]) * found.range if noises else paper_noise(found.range)
    return dataclasses.replace(found, name=name, noise=noise)


def add(factories: Mapping[str, Callable[[int], Problem]]) -> None:
    """Let problems be called by name that are made from a seed, for this process."""
    _ADDED.update(factories)


def _changed(settings: Method, given: dict[str, Any]) -> Method:
    stored = methods.to_dict(settings)
    return methods.from_dict({**stored, "settings": {**stored["settings"], **given}})


def _setting(text: str) -> tuple[str, Any]:
    """``name=value``; the value as JSON has it, or else the text itself."""
    name, _, value = text.partition("=")
    try:
        return name, json.loads(value)
    except json.JSONDecodeError:
        return name, value


def _check(name: str, variants: list[str], allowed: list[str]) -> None:
    for variant in variants:
        if variant not in allowed or variants.count(variant) > 1:
            raise ValueError(f"bench: expected variants of {', '.join(allowed)}, each once, in {name!r}")
    if variants != sorted(variants, key=allowed.index):
        raise ValueError(f"bench: expected the variants in the order {', '.join(allowed)}, got {name!r}")


def _share(name: str, noise: str) -> float:
    try:
        share = float(noise.removeprefix("noise="))
    except ValueError:
        share = -1.0
    if not 0.0 <= share < 1.0:
        raise ValueError(f"bench: expected a noise from 0 to 1, such as noise=0.01, in {name!r}")
    return share


def shifted(found: Problem, seed: int) -> Problem:
    """A box moved by up to a quarter per axis, or cut by up to a tenth at each end."""
    space: Space = found.space
    rng = np.random.default_rng([seed, 7])
    width = space.upper - space.lower
    if found.name.startswith(_BOUNDED):
        low, high = rng.uniform(0.0, 0.1, (2, space.dim)) * width
        return found.shifted(space.lower + low, space.upper - high)
    move = rng.uniform(-0.25, 0.25, space.dim) * width
    return found.shifted(space.lower + move, space.upper + move)
