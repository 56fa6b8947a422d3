"""What is compared: problems, methods, seeds, budgets."""

from __future__ import annotations

from dataclasses import dataclass

from pinnbo.bench.records import Case

LOW = ("dropwave-2", "beam-1", "heat-1", "heat-2", "heat-3")
HIGH = ("styblinski-tang-10", "rastrigin-20", "michalewicz-30", "cosine-mixture-50")
# the optimum of these lies in the middle of the box, where some methods happen to look
SHIFTED_LOW, SHIFTED_HIGH = ("dropwave-2:shifted",), ("rastrigin-20:shifted",)
PRINTED = ("rastrigin-20:printed", "michalewicz-30:printed")
PAPER = ("gp-ei", "gp-ucb", "neural-greedy", "neural-bo")


@dataclass(frozen=True)
class Block:
    """Every one of the problems with every one of the methods."""

    problems: tuple[str, ...]
    methods: tuple[str, ...]
    initial: int
    budget: int


@dataclass(frozen=True)
class Preset:
    """Blocks of runs, each with the seeds 0 to ``seeds`` - 1."""

    description: str
    seeds: int
    blocks: tuple[Block, ...]


PRESETS = {
    "smoke": Preset(
        "two problems, five methods, two seeds: a minute",
        2,
        (Block(("dropwave-2", "beam-1"), ("random", "cma-es", "gp-logei", "turbo", "auto"), 5, 12),),
    ),
    "laptop": Preset(
        "the nine problems, the core methods, three seeds: within three hours on two processors",
        3,
        (
            Block(LOW, ("auto",), 10, 40),
            Block(HIGH, ("auto",), 20, 60),
            Block(PRINTED, ("auto", "pinn-bo"), 20, 40),
            Block(SHIFTED_LOW, ("auto",), 10, 40),
            Block(SHIFTED_HIGH, ("auto",), 20, 60),
            Block(SHIFTED_LOW, ("pinn-bo", "gp-logei"), 10, 60),
            Block(SHIFTED_HIGH, ("pinn-bo", "gp-logei"), 20, 80),
            Block(LOW, ("pinn-bo", *PAPER, "gp-logei"), 10, 60),
            Block(HIGH, ("pinn-bo", *PAPER, "gp-logei"), 20, 80),
            Block(LOW, ("turbo",), 10, 200),
            Block(HIGH, ("turbo",), 20, 200),
            Block((*LOW, *SHIFTED_LOW), ("random", "cma-es", "optuna-tpe"), 10, 400),
            Block((*HIGH, *SHIFTED_HIGH), ("random", "cma-es", "optuna-tpe"), 20, 400),
        ),
    ),
    "paper": Preset(
        "the budgets of the paper's experiments, ten seeds: days",
        10,
        (
            Block(("heat-1", "heat-2", "heat-3"), ("pinn-bo", "pinn-bo:paper", *PAPER, "auto"), 10, 100),
            Block(("dropwave-2", "beam-1"), ("pinn-bo", "pinn-bo:paper", *PAPER, "auto"), 50, 250),
            Block(HIGH, ("pinn-bo", "pinn-bo:paper", *PAPER, "auto"), 50, 1000),
            Block(PRINTED, ("pinn-bo", "pinn-bo:paper", "auto"), 50, 1000),
        ),
    ),
}


def cases(
    preset: Preset,
    problems: list[str] | None = None,
    methods: list[str] | None = None,
    seeds: int | None = None,
    budget: int | None = None,
    initial: int | None = None,
) -> list[Case]:
    """The runs of a preset, seed by seed, so that what is done first is balanced.

    Problems and methods that are given select from the preset. What it does not have is added: a new
    problem with all methods, a new method on all problems but variants, and every pair where both are
    given.
    """
    known: dict[tuple[str, str], tuple[int, int]] = {
        (problem, method): (block.initial, block.budget)
        for block in preset.blocks
        for problem in block.problems
        for method in block.methods
    }
    known_problems = list(dict.fromkeys(problem for problem, _ in known))
    known_methods = list(dict.fromkeys(method for _, method in known))
    both = problems is not None and methods is not None
    pairs: list[tuple[str, str, int, int]] = []
    for problem in problems or known_problems:
        for method in methods or known_methods:
            new_problem, new_method = problem not in known_problems, method not in known_methods
            added = both or new_problem or (new_method and ":" not in problem)
            if (problem, method) in known or added:
                first, total = _numbers(known, problem, method)
                pairs.append((problem, method, budget or total, initial or first))
    return [
        {"problem": problem, "method": method, "seed": seed, "initial": first, "n": total}
        for seed in range(preset.seeds if seeds is None else seeds)
        for problem, method, total, first in pairs
    ]


def _numbers(known: dict[tuple[str, str], tuple[int, int]], problem: str, method: str) -> tuple[int, int]:
    """Initial points and budget; of a pair that is not known, the smallest of the same problem, or else
    method.
    """
    if (problem, method) in known:
        return known[problem, method]
    same_problem = [numbers for (p, _), numbers in known.items() if p == problem]
    same_method = [numbers for (_, m), numbers in known.items() if m == method]
    return min(same_problem or same_method or known.values(), key=lambda numbers: numbers[1])
