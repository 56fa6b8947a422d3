"""Regret, intervals and trust of `auto`: on the paper's nine problems, and on problems made to find its limits.

    python benchmarks/auto.py                        # the paper's nine, both boxes, 10 seeds; resumes
    python benchmarks/auto.py --set own nonlinear false variants
    python benchmarks/auto.py --problems heat-1 --seeds 2
    python benchmarks/auto.py --first-seed 10            # seeds that no rule was chosen on
    python benchmarks/auto.py --paper-noise              # the paper's noise variance instead of a sd of 1% of the range
    python benchmarks/auto.py --without-pde              # the same engine with pde=None
    python benchmarks/auto.py --records after.jsonl --first-seed 100 --seeds 5     # for compare.py; writes no page
    python benchmarks/auto.py --short               # with the evaluations of docs/notes/validation.md
    python benchmarks/auto.py --report                   # only write its page from what has been run

Runs go to benchmarks/records/auto-results.jsonl (see script.py and `pinnbo.bench.search`).
"""

import fields
import numpy as np
import script

from pinnbo import problems
from pinnbo.bench.records import Case, Record
from pinnbo.bench.search import case, search

NAME = "auto-results"

# evaluations, and the regret in per cent that the median is to be below
TARGETS = {
    "dropwave-2": (10, 1.0),
    "beam-1": (14, 1.0),
    "styblinski-tang-10": (25, 1.0),
    "rastrigin-20": (40, 1.0),
    "cosine-mixture-50": (20, 1.0),
    "heat-1": (20, 1.0),
    "heat-2": (20, 1.0),
    "heat-3": (20, 1.0),
    "michalewicz-30": (100, None),
    **{name: (25, None) for name in fields.TRUE},
    **{name: (25, 1.0) for name in fields.NONLINEAR},
    **{name: (30, None) for name in fields.FALSE},
    **{name: (40, None) for name in fields.VARIANTS},
}
SETS = {
    "paper": [name for name in TARGETS if name in problems.available()],
    "own": list(fields.TRUE),
    "nonlinear": list(fields.NONLINEAR),
    "false": list(fields.FALSE),
    "variants": list(fields.VARIANTS),
}
FRESH = 10  # the first seed that no rule was chosen on
EARLIER = 15  # false equations are looked at twice


def problem_name(name: str, box: str, noise: str) -> str:
    return name + (":shifted" if box == "shifted" else "") + (":noise=0.01" if noise == "sd" else "")


# evaluations of a comparison of two engines, one of which is slow
SHORT = {
    **dict.fromkeys((*fields.TRUE, *fields.NONLINEAR), 20),
    **dict.fromkeys(fields.FALSE, 25),
    "michalewicz-30": 50,
}

# of the first engine, whose records are kept
ACQUISITIONS = ("improvement", "gradient", "bound", "draw")


def method_name(with_pde: bool, acquisition: str | None = None) -> str:
    return "auto" + ("" if with_pde else ":plain") + (f":acquisition={acquisition}" if acquisition else "")


def page(records: list[Record]) -> list[str]:
    groups = script.grouped([record for record in records if record.case["seed"] < FRESH])
    fresh = script.grouped([record for record in records if record.case["seed"] >= FRESH])
    commits = script.commits(records)
    run = {record.case["problem"].split(":")[0] for record in records}
    missing = ", ".join(name for name in TARGETS if name not in run)
    lines = [
        "# `auto` measured",
        "",
        "Noise-free simple regret of the best evaluated point as a share of the range, in per cent: median over the",
        "seeds (quartiles). n counts every evaluation, the initial ones included. *Recommended* is the median regret",
        "of `opt.best`, which uses no oracle; *to 1%* the median number of evaluations until the regret is below 1%;",
        "*coverage* the share of 500 unseen points whose true value lies in its 95% interval, mean over the seeds;",
        "*trust* the median final trust. Noise has a standard deviation of 1% of the range unless said otherwise.",
        "",
        f"Command: `python benchmarks/auto.py --set {' '.join(SETS)}`, also with `--without-pde` and `--paper-noise`;",
        f"commits {commits}. Not run yet: {missing or 'nothing'}.",
    ]
    lines += ["", "## The paper's nine problems", ""]
    lines += [
        "Shifted boxes are moved by up to a quarter of their width per axis and seed (heat, beam, Michalewicz: cut"
    ]
    lines += ["by up to a tenth at each end).", ""]
    lines += table(groups, SETS["paper"])
    lines += [
        "",
        "## Problems that are not separable in the axes",
        "",
        "Of our own making, another one with every seed.",
        "",
    ]
    lines += table(groups, SETS["own"])
    lines += ["", "## Nonlinear equations", ""]
    lines += table(groups, SETS["nonlinear"])
    lines += [
        "",
        "## Rotated, a ring of minima, a term that the PDE cannot see, the same equation in another form, no sums",
        "",
        "Rotated problems keep the range that they had before: in units of what they vary by over the turned box, the",
        "regret of Styblinski-Tang is 25 times smaller. Rosenbrock's function couples neighbouring coordinates; one",
        "equation tells little about a function of so many that is a sum in no coordinates.",
        "",
    ]
    lines += table(groups, SETS["variants"])
    lines += [
        "",
        "## Equations that are false",
        "",
        "The last four were made after the rules had been chosen.",
        "",
    ]
    lines += false_table(groups)
    lines += [
        "",
        "## Seeds that no rule was chosen on",
        "",
        f"Rules and thresholds of `auto` were chosen by looking at seeds below {FRESH} (DropWave: below 20, so that",
        "others are shown here; Hartmann-3 and camel: seeds 10 to 15 were looked at, too, for the first point's rule;",
        "rings whose centre is misplaced: seeds below 22, for the families that are used).",
        "Later seeds have other noise, first points, shifted boxes, and fields where they are drawn.",
        "",
    ]
    lines += table(fresh, [name for name in TARGETS if name not in SETS["false"]])
    lines += ["", *false_table(fresh)]
    lines += ["", "## Which acquisition", ""]
    return lines + acquisition_table(records)


def table(groups: script.Groups, names: list[str]) -> list[str]:
    lines = [
        "| problem | box | noise | PDE | seeds | n | regret | target | to 1% | recommended | coverage | trust |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for name in names:
        n, target = TARGETS[name]
        for box, noise, with_pde in [
            (box, noise, pde)
            for box in ("paper", "shifted")
            for noise in ("sd", "variance")
            for pde in (True, False)
        ]:
            found = groups.get((problem_name(name, box, noise), method_name(with_pde)), [])
            runs = [record.result for record in found]
            if not runs:
                continue
            low, middle, high = np.percentile([100 * min(r["regret"]) for r in runs], [25, 50, 75])
            reached = np.median([first_below(r["regret"], 0.01) for r in runs])
            level = "sd 1%" if noise == "sd" else "variance 1%"
            goal = f"< {target:g}" if target and noise == "sd" and with_pde else "-"
            trust = f"{np.median([script.last(r['trust']) for r in runs]):.2f}" if with_pde else "-"
            lines.append(
                f"| {name} | {box} | {level} | {'yes' if with_pde else 'no'} | {len(runs)} | {n} "
                f"| {middle:.2f} ({low:.2f} to {high:.2f}) | {goal} | {reached:g} "
                f"| {100 * np.median([script.last(r['recommended']) for r in runs]):.2f} "
                f"| {100 * np.mean([r['coverage'] for r in runs]):.0f}% | {trust} |"
            )
    return lines


def first_below(regret: list[float], level: float) -> float:
    below = np.flatnonzero(np.array(regret) < level)
    return float(below[0] + 1) if len(below) else np.inf


def false_table(groups: script.Groups) -> list[str]:
    lines = [
        "| stated | seeds | n | regret with the equation | without | difference | trust | coverage |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name in SETS["false"]:
        problem = problem_name(name, "paper", "sd")
        with_it, without = (
            {r.case["seed"]: r.result for r in groups.get((problem, method_name(pde)), [])}
            for pde in (True, False)
        )
        seeds = sorted(set(with_it) & set(without) or set(with_it))
        if not seeds:
            continue
        for n in (EARLIER, TARGETS[name][0]):
            mine, its = (
                100 * float(np.median([min(runs[s]["regret"][:n]) for s in seeds])) if runs else np.nan
                for runs in (with_it, without)
            )
            trust = np.median([with_it[s]["trust"][str(n)] for s in seeds])
            coverage = (
                f"{100 * np.mean([with_it[s]['coverage'] for s in seeds]):.0f}%" if n != EARLIER else ""
            )
            without_it = f"{its:.2f} | {mine - its:+.2f}" if without else "not run | -"
            lines.append(
                f"| {name} | {len(seeds)} | {n} | {mine:.2f} | {without_it} | {trust:.2g} | {coverage} |"
            )
    return lines


def acquisition_table(records: list[Record]) -> list[str]:
    """Where every acquisition has been run with the same seeds."""
    names, groups = ACQUISITIONS, script.grouped(records)
    lines = [
        "Median regret at n in per cent, on the seeds that all have been run with.",
        "",
        f"| problem | box | seeds | n | {' | '.join(names)} |",
        "|---|---|---|---|" + "---|" * len(names),
    ]
    for name in TARGETS:
        for box in ("paper", "shifted"):
            problem = problem_name(name, box, "sd")
            wanted = {a: method_name(True, a if a != names[0] else None) for a in names}
            runs = {
                a: {r.case["seed"]: min(r.result["regret"]) for r in groups.get((problem, method), [])}
                for a, method in wanted.items()
            }
            seeds = set.intersection(*(set(found) for found in runs.values()))
            if seeds:
                cells = [f"{100 * np.median([runs[a][s] for s in seeds]):.2f}" for a in names]
                lines.append(f"| {name} | {box} | {len(seeds)} | {TARGETS[name][0]} | {' | '.join(cells)} |")
    return lines if lines[-1].startswith("| ") else ["Not run on these commits."]


def cases(arguments) -> list[Case]:
    names = arguments.problems or [name for group in arguments.set for name in SETS[group]]
    noise = "variance" if arguments.paper_noise else "sd"
    method, lengths = method_name(not arguments.without_pde), SHORT if arguments.short else {}
    return [
        case(problem_name(name, box, noise), method, seed, lengths.get(name, TARGETS[name][0]))
        for seed in script.seeds(arguments)
        for name in names
        for box in (arguments.boxes if name in SETS["paper"] else ["paper"])
    ]


def main() -> None:
    parser = script.parser(__doc__, seeds=10)
    parser.add_argument("--set", nargs="+", default=["paper"], choices=SETS)
    parser.add_argument("--problems", nargs="+", choices=TARGETS, metavar="NAME")
    parser.add_argument("--boxes", nargs="+", default=["paper", "shifted"])
    parser.add_argument("--paper-noise", action="store_true")
    parser.add_argument("--without-pde", action="store_true")
    parser.add_argument("--short", action="store_true")
    arguments = parser.parse_args()
    script.run(arguments, NAME, cases(arguments), search, page)


if __name__ == "__main__":
    main()
