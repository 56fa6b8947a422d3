"""Could anything have told that an equation is false? The evidence of the true equation on the same measurements.

    python benchmarks/told_apart.py                  # 10 seeds; resumes
    python benchmarks/told_apart.py --report         # only write docs/benchmarks/told-apart.md from what has been run

A search with a false equation, as in benchmarks/auto.py; then the same measurements are told to an optimizer that is
given the true one, and so are as many at Sobol points. The difference of the two log Z_on / Z_off is the log evidence
of the true equation against the false one: what the best possible judge of these two would have to go by.
"""

import warnings

import fields
import numpy as np
import script

from pinnbo import Optimizer
from pinnbo.bench import names
from pinnbo.bench.records import Case, Record
from pinnbo.problems import Problem

TRUE = {"diffusion, conductivity + 10%": fields.diffusion, "helmholtz, frequency + 20%": fields.helmholtz}
SIZES = (15, 30)


def told(problem: Problem, pde, seed: int, points, values) -> dict:
    """log Z_on / Z_off and the trust, from measurements."""
    optimizer = Optimizer(problem.space, pde, goal=problem.goal, seed=seed, noise=problem.noise)
    optimizer.tell(points, values)
    found = optimizer.diagnostics()
    return {"log_ratio": found["log_evidence_ratio"], "trust": found["trust"]}


def compute(case: Case) -> dict:
    """Both equations on what a search with the false one has measured, and on Sobol points."""
    warnings.filterwarnings("ignore", message="the .* measurements contradict")
    name, seed = case["problem"], case["seed"]
    problem = names.problem(f"{name}:noise=0.01", seed)
    rng = np.random.default_rng([seed, 99])
    optimizer = Optimizer(problem.space, problem.pde, goal=problem.goal, seed=seed, noise=problem.noise)
    points, values = [], []
    for _ in range(max(SIZES)):
        points.append(optimizer.ask())
        values.append(problem.observe(points[-1], rng))
        optimizer.tell(points[-1], values[-1])
    sobol = problem.space.sobol(max(SIZES), [seed, 55])
    measured = {
        "searched": (np.array(points), values),
        "sobol": (sobol, [problem.observe(x, rng) for x in sobol]),
    }
    equations = {"false": problem.pde, "true": TRUE[name](seed).pde}
    return {
        where: {
            str(n): {key: told(problem, pde, seed, points[:n], values[:n]) for key, pde in equations.items()}
            for n in SIZES
        }
        for where, (points, values) in measured.items()
    }


def page(records: list[Record]) -> list[str]:
    lines = [
        "# Could it have been told that the equation is false?",
        "",
        "The same measurements, with noise of 1% of the range, given to `auto` with the true equation and with the",
        "false one. *Nats* is the log evidence of the true equation against the false one: median over the seeds",
        "(least to most); one nat is nearly nothing, five are a lot. *Searched* points were chosen by a search that",
        "was given the false equation.",
        "",
        "Command: `python benchmarks/told_apart.py`; commits " + script.commits(records) + ".",
        "",
        "| stated | points | n | seeds | nats | trust in the false equation | in the true one |",
        "|---|---|---|---|---|---|---|",
    ]
    for name in TRUE:
        runs = [record.result for record in records if record.case["problem"] == name]
        for where in ("searched", "sobol") if runs else ():
            for n in map(str, SIZES):
                found = [run[where][n] for run in runs]
                nats = [f["true"]["log_ratio"] - f["false"]["log_ratio"] for f in found]
                trusts = [f"{np.median([f[key]['trust'] for f in found]):.2g}" for key in ("false", "true")]
                lines.append(
                    f"| {name} | {where} | {n} | {len(runs)} "
                    f"| {np.median(nats):.1f} ({min(nats):.1f} to {max(nats):.1f}) | {' | '.join(trusts)} |"
                )
    return lines


def main() -> None:
    arguments = script.parser(__doc__, seeds=10).parse_args()
    cases = [{"problem": name, "seed": seed} for seed in script.seeds(arguments) for name in TRUE]
    script.run(arguments, "told-apart", cases, compute, page)


if __name__ == "__main__":
    main()
