"""How good the truths of benchmarks/physics are; no optimiser is run.

    python benchmarks/physics_truths.py         # writes the table of docs/notes/physics-problems.md

Every truth is put into the equation that is stated for it, and compared with one from half the number of cells.
"""

import argparse
from pathlib import Path

import numpy as np
from physics import HELD_OUT, PROBLEMS
from physics.case import Case
from physics.residual import inner_points, misfit

NOTE = Path(__file__).parent.parent / "docs" / "notes" / "physics-problems.md"
START = "## The truths"
SEEDS = (0, 1, 2)
POINTS = 400


def residual(case: Case, seed: int, points: int = POINTS) -> float:
    """The misfit of the stated equation where the truth is smooth, as a share of its largest term."""
    stated = case.stated(seed)
    inside = inner_points(stated.space, points, stated.reach)
    smooth = inside[stated.smooth(inside)]
    return misfit(stated.pde, stated.space, stated.evaluate, smooth, stated.reach)


def refinement(case: Case, seed: int) -> float:
    """The largest change of a numerical truth when its cells are twice as wide, as a share of the range."""
    points = case.stated(seed).space.sobol(4096, 3)
    fine, coarse = (case.stated(seed, finer).evaluate(points) for finer in (1.0, 0.5))
    return float(np.max(np.abs(fine - coarse)) / case(seed).range)


def row(case: Case) -> str:
    numerical = case.route != "closed form"
    coarse = f"{max(refinement(case, seed) for seed in SEEDS):.0e}" if numerical else "exact"
    rest = max(residual(case, seed) for seed in SEEDS)
    problem = case(0)
    where = "held out" if case.name in HELD_OUT else "work"
    best = ", ".join(f"{value:.3g}" for value in problem.x_best)
    return (
        f"| {case.name} | {where} | {problem.space.dim} | {case.route} | {coarse} | {rest:.0e} "
        f"| {problem.goal} | {problem.optimum:.4g} at ({best}) | {problem.range:.3g} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="print the rows of these problems only")
    names = parser.parse_args().names
    rows = []
    for case in PROBLEMS.values():
        if not names or case.name in names:
            rows.append(row(case))
            print(rows[-1], flush=True)
    if names:
        return
    lines = [
        START,
        "",
        "*Refined* is the largest change of a numerical truth between half its number of cells and all of them,",
        "in shares of the range; *equation* is what remains when the truth is put into the stated equation by",
        "finite differences, root mean square, in shares of the equation's largest term, where the truth is",
        "smooth. Both are the worst of seeds 0, 1, 2. Best value and range are those of seed 0. Command:",
        "`python benchmarks/physics_truths.py`.",
        "",
        "| problem | list | axes | truth | refined | equation | goal | best | range |",
        "|---|---|---|---|---|---|---|---|---|",
        *rows,
        "",
    ]
    text = NOTE.read_text().split(START)[0]
    NOTE.write_text(text + "\n".join(lines))


if __name__ == "__main__":
    main()
