"""What is compared: problems, methods, seeds, budgets."""

from __future__ import annotations

from dataclasses import dataclass

from pinnbo.bench.records import Assignment, Run

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


def assignments(
    preset: Preset,
    problems: list[str] | None = None,
    methods: list[str] | None = None,
    seeds: int | None = None,
    budget: int | None = None,
    initial: int | None = None,
) -> list[Assignment]:
    """The runs of a preset, seed by seed, so that what is done first is balanced.

    Names that are given select from the preset; one that it does not have is added, with the largest budget
    that the preset has for the other part of its name (or the numbers that are given).
    """
    chosen: dict[Run, tuple[int, int]] = {}
    for block in preset.blocks:
        for problem in block.problems:
            for method in block.methods:
                chosen[Run(problem, method, 0)] = (block.initial, block.budget)
    known = list(chosen)
    wanted_problems = problems or list(dict.fromkeys(run.problem for run in known))
    wanted_methods = methods or list(dict.fromkeys(run.method for run in known))
    pairs: list[Assignment] = []
    for problem in wanted_problems:
        for method in wanted_methods:
            numbers = chosen.get(Run(problem, method, 0))
            if numbers is None:
                if problems is None and methods is None:
                    continue
                alike = [v for run, v in chosen.items() if problem == run.problem or method == run.method]
                numbers = max(alike or chosen.values(), key=lambda v: v[1])
            pairs.append(Assignment(Run(problem, method, 0), initial or numbers[0], budget or numbers[1]))
    count = preset.seeds if seeds is None else seeds
    return [
        Assignment(run._replace(seed=seed), first, total)
        for seed in range(count)
        for run, first, total in pairs
    ]
