"""What a true equation brings: maps and searches with it, beside the same without, on problems with independent truths.

    python benchmarks/physics_gain.py                          # the problems of WORK, seeds 0 to 2; resumes
    python benchmarks/physics_gain.py --set held-out           # only when the engine is finished
    python benchmarks/physics_gain.py --problems burgers --only maps

*Maps*: 10, 20 and 30 Sobol points, the same with the equation and without; the error is the root mean square over 1000
unseen points as a share of the range, *density* the mean log predictive density there (of f, in units of the range),
*coverage* the share of them in their 95% intervals. *Searches*: 40 evaluations; *to 1%* is the evaluation from which on
the recommended point stays within 1% of the range of the optimum, 41 where it never does. The noise has a standard
deviation of 1% of the range, which the method is told.
"""

import warnings

import numpy as np
import physics
import script

from pinnbo import Optimizer
from pinnbo.bench import names
from pinnbo.bench.records import Case, Record
from pinnbo.bench.search import case, search

NAMES = {"work": "physics-gain", "held-out": "physics-gain-held-out"}
SETS = {"work": physics.WORK, "held-out": physics.HELD_OUT}
SIZES, N, UNSEEN, NOISE = (10, 20, 30), 40, 1000, 0.01
names.add(physics.PROBLEMS)


def compute(made: Case) -> dict:
    return mapped(made) if made["kind"] == "map" else search(made)


def mapped(made: Case) -> dict:
    problem = names.problem(made["problem"], made["seed"])
    contender = names.contender(made["method"])
    optimizer = Optimizer(
        problem.space,
        problem.pde if contender.physics else None,
        goal=problem.goal,
        method=contender.settings,
        seed=made["seed"],
        noise=problem.noise,
    )
    rng = np.random.default_rng([made["seed"], 402])
    points = problem.space.sobol(max(SIZES), [made["seed"], 403])
    values = problem.truth(points) + problem.noise * rng.standard_normal(len(points))
    unseen = problem.space.sobol(UNSEEN, [made["seed"], 404])
    truth, told, after, alarms = problem.truth(unseen), 0, {}, []
    for n in SIZES:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            optimizer.tell(points[told:n], values[told:n])
            mean, std = optimizer.predict(unseen)
            diagnostics = optimizer.diagnostics()
        told = n
        alarms += [[n, str(warning.message)] for warning in caught]
        gap, sd = (truth - mean) / problem.range, np.maximum(std / problem.range, 1e-6)
        after[str(n)] = {
            "error": float(np.sqrt(np.mean(gap**2))),
            "density": float(np.mean(-0.5 * (gap / sd) ** 2 - np.log(sd * np.sqrt(2 * np.pi)))),
            "coverage": float(np.mean(np.abs(gap) <= 1.96 * sd)),
            "hypotheses": diagnostics["hypotheses"],
            "model": diagnostics["model"],
        }
    return {"after": after, "warnings": alarms}


def until_good(result: dict) -> int:
    """The evaluation from which on the recommended point stays within 1%."""
    bad = [int(n) for n, regret in result["recommended"].items() if regret > 0.01]
    return max(bad, default=0) + 1


def pairs(records: list[Record], kind: str) -> dict[str, list[tuple[dict, dict]]]:
    """Results with and without the equation, by problem."""
    found: dict[tuple, dict] = {
        (r.case["problem"], r.case["seed"], r.case["method"]): r.result
        for r in records
        if r.case["kind"] == kind
    }
    made: dict[str, list[tuple[dict, dict]]] = {}
    for (problem, seed, method), result in sorted(found.items(), key=lambda item: item[0][:2]):
        other = found.get((problem, seed, "auto:plain"))
        if method == "auto" and other is not None:
            made.setdefault(problem.split(":")[0], []).append((result, other))
    return made


def map_lines(found: dict[str, list[tuple[dict, dict]]]) -> list[str]:
    lines = [
        "| problem | n | error | without | density | without | coverage | exact | nearly true | wrong | warned |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    ratios, warned, total = [], 0, 0
    for problem, both in found.items():
        for n in map(str, SIZES):
            with_it, without = ([result["after"][n] for result in some] for some in zip(*both, strict=True))
            ratios += [a["error"] / b["error"] for a, b in zip(with_it, without, strict=True)]
            cells = [
                *(f"{np.median([a['error'] for a in some]):.2%}" for some in (with_it, without)),
                *(f"{np.mean([a['density'] for a in some]):.2f}" for some in (with_it, without)),
                f"{np.mean([a['coverage'] for a in with_it]):.0%}",
                *(
                    f"{np.median([probability(a, name) for a in with_it]):.2f}"
                    for name in ("exact", "nearly true", "wrong")
                ),
                str(sum(any(at <= int(n) for at, _ in result["warnings"]) for result, _ in both)),
            ]
            lines.append(f"| {problem} | {n} | {' | '.join(cells)} |")
        warned += sum(bool(result["warnings"]) for result, _ in both)
        total += len(both)
    return [
        *lines,
        "",
        f"Median ratio of the errors with and without: {np.median(ratios):.2f} ({len(ratios)} pairs). "
        f"Warned: {warned} of {total} runs.",
    ]


def probability(after: dict, name: str) -> float:
    """Of a hypothesis; without the physics the equation counts as wrong."""
    found = after["hypotheses"]
    return found.get(name, found.get("none", 0.0) if name == "wrong" else 0.0)


def search_lines(found: dict[str, list[tuple[dict, dict]]]) -> list[str]:
    lines = [
        "| problem | to 1% | without | sooner | later | coverage | trust at the end | warned |",
        "|---|---|---|---|---|---|---|---|",
    ]
    sooner = later = warned = total = 0
    for problem, both in found.items():
        counts = [(until_good(a), until_good(b)) for a, b in both]
        first, last = sum(a < b for a, b in counts), sum(a > b for a, b in counts)
        alarms = sum(any("PhysicsWarning" in text for _, text in a["warnings"]) for a, _ in both)
        cells = [
            *(", ".join(str(count) for count in some) for some in zip(*counts, strict=True)),
            str(first),
            str(last),
            f"{np.mean([a['coverage'] for a, _ in both]):.0%}",
            ", ".join(f"{script.last(a['trust']):.2f}" for a, _ in both),
            str(alarms),
        ]
        lines.append(f"| {problem} | {' | '.join(cells)} |")
        sooner, later, warned, total = sooner + first, later + last, warned + alarms, total + len(both)
    return [*lines, "", f"Sooner {sooner}, later {later} of {total} pairs. Warned: {warned} runs."]


def page(records: list[Record]) -> list[str]:
    return [
        "# What a true equation brings",
        "",
        *(line for line in __doc__.split("\n\n")[-1].strip().splitlines()),
        "",
        f"Command: `python benchmarks/physics_gain.py`; commits {script.commits(records)}.",
        "",
        "## Maps",
        "",
        *map_lines(pairs(records, "map")),
        "",
        "## Searches",
        "",
        *search_lines(pairs(records, "search")),
    ]


def main() -> None:
    parser = script.parser(__doc__, seeds=3)
    parser.add_argument("--set", choices=list(SETS), default="work")
    parser.add_argument("--problems", nargs="+")
    parser.add_argument("--only", choices=["maps", "searches"])
    parser.add_argument("--methods", nargs="+", default=["auto", "auto:plain"])
    arguments = parser.parse_args()
    cases: list[Case] = []
    for seed in script.seeds(arguments):
        for problem in arguments.problems or SETS[arguments.set]:
            named = f"{problem}:noise={NOISE}"
            for method in arguments.methods:
                if arguments.only != "searches":
                    cases.append({"kind": "map", "problem": named, "method": method, "seed": seed})
                if arguments.only != "maps":
                    cases.append({"kind": "search", **case(named, method, seed, N)})
    script.run(arguments, NAMES[arguments.set], cases, compute, page)


if __name__ == "__main__":
    main()
