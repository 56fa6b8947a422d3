"""One search: a method on a problem with a seed, and how well it did.

A case has the keys ``problem``, ``method`` (see `pinnbo.bench.names`), ``seed``, ``initial`` (the number of
common first points, None for the method's own) and ``n`` (evaluations). The noise of the i-th evaluation
depends on the seed and on i alone: every method sees the same.
"""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np

from pinnbo import Optimizer
from pinnbo.bench import names
from pinnbo.bench.records import Case
from pinnbo.problems import Problem

# the recommendation of other methods may cost a fit of its own: it is taken at the end only
_FOLLOWED = ("auto",)
_UNSEEN = 500


def case(problem: str, method: str, seed: int, n: int, initial: int | None = None) -> Case:
    """What `search` takes."""
    return {"problem": problem, "method": method, "seed": seed, "initial": initial, "n": n}


def search(case: Case) -> dict[str, Any]:
    """Search, and judge by what the method was not told.

    ``regret`` is the noise-free regret of every evaluation, as a share of the range; ``seconds`` the time of its
    ask, tell and recommendation. ``recommended`` is the regret of `Optimizer.best` and ``trust`` the trust in the
    equation, by the number of evaluations. ``coverage`` is the share of unseen points whose true value lies in its
    95% interval at the end, ``warnings`` the evaluations after which a warning came, with its text. ``points`` are
    kept where a picture can show them, in up to two dimensions.
    """
    problem, contender = names.problem(case["problem"], case["seed"]), names.contender(case["method"])
    optimizer = Optimizer(
        problem.space,
        problem.pde if contender.physics else None,
        goal=problem.goal,
        method=contender.settings,
        seed=case["seed"],
        noise=problem.noise,
        n_initial=case["initial"] if contender.common_start else None,
    )
    rng = np.random.default_rng([case["seed"], 99])
    followed = case["method"].split(":")[0] in _FOLLOWED
    points: list[np.ndarray] = []
    seconds: list[float] = []
    found: dict[str, Any] = {"recommended": {}, "trust": {}, "warnings": []}
    for n in range(1, case["n"] + 1):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            began = time.perf_counter()
            x = optimizer.ask()
            asked = time.perf_counter()
            y = problem.observe(x, rng)
            measured = time.perf_counter()
            optimizer.tell(x, y)
            if followed or n == case["n"]:
                _follow(optimizer, problem, contender.physics, n, found)
            seconds.append(time.perf_counter() - measured + asked - began)
        points.append(x)
        known = {text for _, text in found["warnings"]}
        texts = dict.fromkeys(f"{w.category.__name__}: {w.message}" for w in caught)
        found["warnings"] += [[n, text] for text in texts if text not in known]
    return {
        "regret": regret(problem, np.array(points)).tolist(),
        "seconds": seconds,
        **found,
        "coverage": coverage(optimizer, problem, problem.space.sobol(_UNSEEN, [case["seed"], 9])),
        **({"points": np.array(points).tolist()} if problem.space.dim <= 2 else {}),
    }


def regret(problem: Problem, points: np.ndarray) -> np.ndarray:
    """Of the true values, as a share of the range."""
    sign = 1.0 if problem.goal == "minimize" else -1.0
    return np.maximum(sign * (problem.truth(points) - problem.optimum), 0.0) / problem.range


def coverage(optimizer: Optimizer, problem: Problem, points: np.ndarray) -> float:
    """The share of points whose true value lies in its 95% interval."""
    mean, std = optimizer.predict(points)
    return float(np.mean(np.abs(problem.truth(points) - mean) <= 1.96 * std))


def _follow(optimizer: Optimizer, problem: Problem, physics: bool, n: int, found: dict[str, Any]) -> None:
    """The recommendation's regret, and the trust where the method has any."""
    best = optimizer.best
    if best is not None:
        found["recommended"][str(n)] = float(regret(problem, best.x[None])[0])
    trust = optimizer.diagnostics().get("trust") if physics else None
    if trust is not None:
        found["trust"][str(n)] = float(trust)
