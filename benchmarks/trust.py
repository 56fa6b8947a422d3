"""Do the probabilities that an equation is exact, nearly true or wrong mean what they say?

    python benchmarks/trust.py                       # 1,000 experiments; resumes
    python benchmarks/trust.py --first-seed 1000 --seeds 20 --records trial.jsonl
    python benchmarks/trust.py --report              # only write docs/benchmarks/trust.md from what has been run

An experiment (physics/experiments.py) is measured at Sobol points with noise of 1% of the range. After 10, 20 and 30
measurements `Optimizer.diagnostics` is kept; for warnings it is asked more often, from 5 on, because early ones are the
likely false alarms. The three classes come in the prior odds of `auto`, so that a probability can be compared with how
often it comes true.
"""

import warnings

import numpy as np
import script
from physics.experiments import CLASSES, Experiment, experiment

from pinnbo import Optimizer, PhysicsWarning
from pinnbo.bench.records import Case, Record

NAME = "trust"
SIZES = (10, 20, 30)
LOOKS = (5, 6, 8, 10, 12, 15, 20, 25, 30)
# exact, nearly true, wrong: the odds that `auto` gives to its hypotheses
ODDS = (4.0, 2.0, 1.0)
NOISE = 0.01
BINS = np.linspace(0.0, 1.0, 6)


def measured(made: Experiment, seed: int):
    """Sobol points, what is read there, and the standard deviation of a reading."""
    rng = np.random.default_rng([seed, 302])
    deviation = NOISE * float(np.ptp(made.evaluate(made.space.sobol(4096, 1))))
    points = made.space.sobol(max(SIZES), [seed, 303])
    return points, made.evaluate(points) + deviation * rng.standard_normal(len(points)), deviation


def plain(found: dict) -> dict:
    """The numbers, words and tables of numbers among the diagnostics."""
    kept = {
        key: value
        for key, value in found.items()
        if value is None or isinstance(value, bool | int | float | str)
    }
    tables = {key: value for key, value in found.items() if isinstance(value, dict)}
    return kept | {key: {k: float(v) for k, v in value.items()} for key, value in tables.items()}


def compute(case: Case) -> dict:
    seed = case["seed"]
    made = experiment(seed, tuple(case["odds"]))
    points, values, deviation = measured(made, seed)
    optimizer = Optimizer(made.space, made.pde, goal=made.goal, seed=seed, noise=deviation)
    after, alarms, told = {}, [], 0
    for n in LOOKS:
        with warnings.catch_warnings(record=True) as raised:
            warnings.simplefilter("always", PhysicsWarning)
            optimizer.tell(points[told:n], values[told:n])
            diagnostics = optimizer.diagnostics()
        sentences = [str(w.message) for w in raised if issubclass(w.category, PhysicsWarning)]
        alarms += [{"n": n, "sentence": sentence} for sentence in sentences]
        if n in SIZES:
            after[str(n)] = plain(diagnostics)
        told = n
    return {
        "family": made.family,
        "class": made.true_class,
        "error": made.error,
        "misfit": made.misfit,
        "after": after,
        "warnings": alarms,
    }


def probabilities(after: dict) -> dict[str, float]:
    """Of the three classes; without the physics the equation counts as wrong."""
    found = dict(after["hypotheses"])
    if "none" in found:
        found["wrong"] = found.pop("none")
    return {name: found.get(name, 0.0) for name in CLASSES}


def warned(result: dict, n: int) -> bool:
    """Whether there had been a warning after n measurements."""
    return any(alarm["n"] <= n for alarm in result["warnings"])


def by_class(results: list[dict]) -> list[str]:
    lines = [
        "| true class | n | experiments | most probable | P(wrong) > 0.9 | warned |",
        "|---|---|---|---|---|---|",
    ]
    for name in CLASSES:
        of_class = [result for result in results if result["class"] == name]
        for n in SIZES if of_class else ():
            found = [probabilities(result["after"][str(n)]) for result in of_class]
            right = np.mean([max(p, key=p.__getitem__) == name for p in found])
            sure = np.mean([p["wrong"] > 0.9 for p in found])
            alarm = np.mean([warned(result, n) for result in of_class])
            lines.append(f"| {name} | {n} | {len(of_class)} | {right:.0%} | {sure:.0%} | {alarm:.1%} |")
    return lines


def by_error(results: list[dict]) -> list[str]:
    lines = [
        "| error | true class | experiments | most probable at n = 30 | warned |",
        "|---|---|---|---|---|",
    ]
    for name, error in sorted({(result["class"], result["error"]) for result in results}):
        group = [result for result in results if (result["class"], result["error"]) == (name, error)]
        found = [probabilities(result["after"][str(SIZES[-1])]) for result in group]
        right = np.mean([max(p, key=p.__getitem__) == name for p in found])
        alarm = np.mean([warned(result, SIZES[-1]) for result in group])
        lines.append(f"| {error} | {name} | {len(group)} | {right:.0%} | {alarm:.1%} |")
    return lines


def reliability(results: list[dict], n: int) -> list[str]:
    """How often what was given a probability came true: all three probabilities of every experiment."""
    stated, true = [], []
    for result in results:
        for name, p in probabilities(result["after"][str(n)]).items():
            stated.append(p)
            true.append(result["class"] == name)
    chosen = np.clip(np.digitize(stated, BINS) - 1, 0, len(BINS) - 2)
    lines = ["| stated between | how many | mean stated | came true |", "|---|---|---|---|"]
    for i in range(len(BINS) - 1):
        inside = chosen == i
        if inside.any():
            mean, rate = np.mean(np.array(stated)[inside]), np.mean(np.array(true)[inside])
            lines.append(
                f"| {BINS[i]:.1f} and {BINS[i + 1]:.1f} | {inside.sum()} | {mean:.2f} | {rate:.2f} |"
            )
    return lines


def page(records: list[Record]) -> list[str]:
    results = [record.result for record in records]
    seeds = [record.case["seed"] for record in records]
    return [
        "# Do the probabilities of the physics mean what they say?",
        "",
        *(line.strip() for line in __doc__.split("\n\n")[-1].splitlines()),
        "",
        f"Command: `python benchmarks/trust.py`; {len(results)} experiments, seeds {min(seeds)} to {max(seeds)};",
        f"commits {script.commits(records)}.",
        "",
        "## By true class",
        "",
        *by_class(results),
        "",
        "## By error",
        "",
        *by_error(results),
        "",
        *(line for n in SIZES for line in (f"## Reliability at n = {n}", "", *reliability(results, n), "")),
    ]


def main() -> None:
    arguments = script.parser(__doc__, seeds=1000).parse_args()
    cases = [{"seed": seed, "odds": list(ODDS)} for seed in script.seeds(arguments)]
    script.run(arguments, NAME, cases, compute, page)


if __name__ == "__main__":
    main()
