"""The examples of the gallery, with their equation and without: how soon the best place is found, how good the map is.

    python benchmarks/gallery.py                     # 5 seeds of each, about an hour; resumes where it stopped
    python benchmarks/gallery.py --examples room     # one of them
    python benchmarks/gallery.py --report            # only write the tables of docs/gallery from what has been run
    python benchmarks/gallery.py --pictures          # draw the pictures of docs/gallery, at seed 0

*To 1%* is the evaluation from which on a point has been measured whose true value is within 1% of the range of the best
one, *recommended* the regret of the recommended point at the end in per cent of the range, *map* the root mean square
error of the mean over 1000 unseen points in per cent of the range, *intervals* the share of them in their intervals.
"""

import importlib
import statistics
import subprocess
import sys
import warnings

import numpy as np
import script

from pinnbo.bench import records
from pinnbo.bench.records import Case, Record
from pinnbo.figures import BLUE, VERMILLION, new_figure

EXAMPLES = {
    "room": "room: standing wave",
    "wafer": "wafer: a symmetry",
    "reactor": "reactor: kinetics",
    "beam": "bridge: a beam",
    "board": "board: heat sources",
    "river": "river: unknown dispersion",
    "draught": "draught: unknown flow",
    "weld": "weld: a wrong equation",
}
FOLDER = script.ROOT / "examples" / "gallery"
PAGES = script.ROOT / "docs" / "gallery"
UNSEEN, GRID = 1000, 100_000


def compute(case: Case) -> dict:
    sys.path.insert(0, str(FOLDER))
    example = importlib.import_module(case["example"])
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        result = example.search(case["trials"], case["seed"], equation=case["equation"])
    optimizer, space = result.optimizer, example.SPACE
    everywhere = example.truth(space.sobol(GRID, 0))
    unseen = space.sobol(UNSEEN, [case["seed"], 77])
    found = np.array([evaluation.x for evaluation in result.history])
    # the finest grid may miss the optimum, a measured point may have met it
    best = max(float(everywhere.max()), float(example.truth(found).max()))
    extent = float(np.ptp(everywhere))
    truth, (mean, std) = example.truth(unseen), optimizer.predict(unseen)
    measured = (best - example.truth(found)) / extent
    diagnostics = optimizer.diagnostics()
    return {
        "regret": np.minimum.accumulate(measured).tolist(),
        "recommended": float((best - example.truth(optimizer.best.x[None])[0]) / extent),
        "map": float(np.sqrt(np.mean((mean - truth) ** 2)) / extent),
        "coverage": float(np.mean(np.abs(mean - truth) < 1.96 * std)),
        "hypotheses": diagnostics.get("hypotheses") if case["equation"] else None,
        "unknowns": {
            name: [number["mean"], *number["interval"]]
            for name, number in (diagnostics.get("unknowns") or {}).items()
        }
        if case["equation"] and isinstance(diagnostics.get("unknowns"), dict)
        else {},
        "warnings": sorted({one.category.__name__ for one in said}),
    }


def evaluations(runs: list[dict]) -> list[int]:
    """Until a point within 1% of the range is measured; one more than there were where none is."""
    return [
        next((i + 1 for i, regret in enumerate(run["regret"]) if regret <= 0.01), len(run["regret"]) + 1)
        for run in runs
    ]


def table(found: list[Record]) -> list[str]:
    """Both ways side by side."""
    lines = [
        "| | seeds | to 1% | recommended | map | intervals | the equation is |",
        "|---|---|---|---|---|---|---|",
    ]
    middle = statistics.median
    for equation in (True, False):
        runs = [r.result for r in found if r.case["equation"] is equation]
        if not runs:
            continue
        n, reached = len(runs[0]["regret"]), evaluations(runs)
        missed = sum(i > n for i in reached)
        said = f"{middle(reached):g}" if middle(reached) <= n else f"more than {n}"
        lines.append(
            f"| {'with the equation' if equation else 'without'} | {len(runs)} "
            f"| {said}{f', {missed} never' if missed else ''} "
            f"| {100 * middle([run['recommended'] for run in runs]):.2g}% "
            f"| {100 * middle([run['map'] for run in runs]):.2g}% "
            f"| {100 * middle([run['coverage'] for run in runs]):.0f}% "
            f"| {_believed(runs) if equation else ''} |"
        )
    return lines


def _believed(runs: list[dict]) -> str:
    shares = [run["hypotheses"] for run in runs if run["hypotheses"]]
    if not shares:
        return ""
    order = ("exact", "nearly true", "wrong")
    return ", ".join(f"{name} {statistics.median(share[name] for share in shares):.0%}" for name in order)


def snippet(found: list[Record]) -> list[str]:
    """What the page of an example includes."""
    lines = table(found)
    unknown = [(name, run.result["unknowns"][name]) for run in found for name in run.result["unknowns"]]
    for name in dict(unknown):
        numbers = [number for other, number in unknown if other == name]
        listed = "; ".join(f"{mean:.3g} ({low:.3g} to {high:.3g})" for mean, low, high in numbers)
        lines += ["", f"{name} with its 95% interval, seed by seed: {listed}."]
    warned = sum("PhysicsWarning" in run.result["warnings"] for run in found)
    if warned:
        lines += ["", f"A `PhysicsWarning` came in {warned} of the runs with the equation."]
    slowest = max(run.seconds or 0.0 for run in found)
    trials, example = found[0].case["trials"], found[0].case["example"]
    lines += [
        "",
        f"Medians over the seeds, {trials} evaluations each. `python benchmarks/gallery.py --examples {example}`, "
        f"commit {script.commits(found)}; the slowest run took {slowest:.0f} s on a busy machine.",
    ]
    return lines


def overview(found: list[Record]) -> None:
    """Both ways in one picture: evaluations to 1%, and the error of the map; medians and all seeds."""
    figure = new_figure(11.0, 4.6)
    panels = figure.subplots(1, 2, sharey=True)
    rows = {name: -number for number, name in enumerate(EXAMPLES)}
    looks = ((False, VERMILLION, "s", "without the equation"), (True, BLUE, "o", "with the equation"))
    for equation, colour, marker, label in looks:
        for name, row in rows.items():
            of = [r.result for r in found if (r.case["example"], r.case["equation"]) == (name, equation)]
            if not of:
                continue
            soon, error = evaluations(of), [100 * run["map"] for run in of]
            for axes, values in zip(panels, (soon, error), strict=True):
                axes.plot(values, [row] * len(values), marker, ms=4, mfc="none", mec=colour, alpha=0.5)
                axes.plot(statistics.median(values), row, marker, ms=9, color=colour)
            if statistics.median(soon) > len(of[0]["regret"]):
                panels[0].annotate(
                    "not reached", (statistics.median(soon), row), (8, -3), textcoords="offset points"
                )
        panels[0].plot([], [], marker, color=colour, label=label)
    panels[0].set(title="evaluations until within 1% of the best", xlim=(0, 42), yticks=list(rows.values()))
    panels[0].set_yticklabels(EXAMPLES.values())
    panels[1].set(title="error of the map, % of the range (rms)", xscale="log")
    panels[1].xaxis.set_major_formatter(lambda x, _: f"{x:g}")
    for axes in panels:
        axes.grid(alpha=0.25)
    figure.legend(loc="outside lower center", ncols=2, frameon=False)
    figure.savefig(script.ROOT / "docs" / "pictures" / "gallery.png", dpi=110)


def write() -> None:
    found = [record for record in records.read(script.path_of("gallery")) if record.error is None]
    (PAGES / "tables").mkdir(parents=True, exist_ok=True)
    for example in EXAMPLES:
        runs = [record for record in found if record.case["example"] == example]
        if runs:
            (PAGES / "tables" / f"{example}.md").write_text("\n".join(snippet(runs)) + "\n")
    overview(found)


def main() -> None:
    parser = script.parser(__doc__, seeds=5)
    parser.add_argument("--examples", nargs="+", choices=list(EXAMPLES), default=list(EXAMPLES))
    parser.add_argument("--pictures", action="store_true")
    arguments = parser.parse_args()
    if arguments.pictures:
        (PAGES / "pictures").mkdir(parents=True, exist_ok=True)
        for example in arguments.examples:
            picture = PAGES / "pictures" / f"{example}.png"
            subprocess.run(
                [sys.executable, FOLDER / f"{example}.py", "--picture", picture], check=True, cwd=FOLDER
            )
        return
    sys.path.insert(0, str(FOLDER))
    cases = [
        {
            "example": example,
            "equation": equation,
            "seed": seed,
            "trials": importlib.import_module(example).TRIALS,
        }
        for seed in script.seeds(arguments)
        for example in arguments.examples
        for equation in (True, False)
    ]
    script.run(arguments, "gallery", cases, compute)
    if arguments.records is None:
        write()


if __name__ == "__main__":
    main()
