"""Do the 95% intervals of `auto` hold 95%? On functions drawn from its prior, and on fixed problems.

    python benchmarks/calibration.py                  # 200 draws with and 200 without a PDE, then the problems; resumes
    python benchmarks/calibration.py --report         # only write docs/calibration.md from what has been run

Draws: a family and a length scale from their priors, a function on a plane from that model (given Laplace's equation,
or nothing), a dozen noisy measurements, and the intervals at 100 other points.

Problems of one to three coordinates: measured at Sobol points, the intervals of f at 500 others, and the negative log
density of 500 *measurements* that were held out (noise added), beside BoTorch's default Gaussian process on the same
data. Equations that are false are among them. Lines of JSON go to benchmarks/records/calibration.jsonl.
"""

import argparse
import functools
import json
import warnings
from pathlib import Path

import auto
import fields
import numpy as np
from provenance import commit

from pinnbo import PDE, Optimizer, Space
from pinnbo.data import Data
from pinnbo.methods.auto import Auto, hypotheses
from pinnbo.methods.base import Task
from pinnbo.operators import laplacian

ROOT = Path(__file__).parent.parent
RECORDS = ROOT / "benchmarks" / "records" / "calibration.jsonl"
REPORT = ROOT / "docs" / "calibration.md"
BOX = Space(x=(0.0, 3.0), y=(-1.0, 1.0))
MEASURED, NOISE = 12, 0.03
SIZES = (10, 25)
PROBLEMS = [
    "dropwave-2",
    "beam-1",
    "heat-1",
    "heat-2",
    "heat-3",
    *fields.TRUE,
    *fields.NONLINEAR,
    *fields.FALSE,
    "ring",
]
NOTHING = Data(np.zeros((0, 2)), np.zeros(0), np.zeros(0), np.zeros((0, 2)))


@functools.cache
def settings_of_prior(with_pde: bool) -> list[tuple[object, float]]:
    """Priors of the engine's own families, those that the equation binds if it is stated, with their weights."""
    physics = (PDE(laplacian),) if with_pde else ()
    families = hypotheses(Auto(), Task(BOX, physics, 1.0, 0, NOISE))[-1]
    found = []
    for family in families:
        priors = [(family.prior(scales, NOTHING), family.log_prior(scales)) for scales in family.grid]
        usable = [(p, np.exp(w)) for p, w in priors if p is not None and p.has_physics == with_pde]
        total = sum(weight for _, weight in usable)
        found += [(prior, weight / total / len(families)) for prior, weight in usable]
    return found


def draw(with_pde: bool, seed: int) -> dict:
    """One function: how many of 100 values lie in their intervals."""
    rng = np.random.default_rng([seed, int(with_pde), 51])
    priors, weights = zip(*settings_of_prior(with_pde), strict=True)
    prior = priors[rng.choice(len(priors), p=np.array(weights) / sum(weights))]
    points = rng.uniform(BOX.lower, BOX.upper, (MEASURED + 100, 2))
    eigenvalues, vectors = np.linalg.eigh(prior.covariance_matrix(BOX.scale(points)))
    f = vectors @ (np.sqrt(np.maximum(eigenvalues, 0.0)) * rng.standard_normal(len(points)))
    f /= np.sqrt(prior.variation)
    optimizer = Optimizer(BOX, PDE(laplacian) if with_pde else None, seed=seed, noise=NOISE)
    optimizer.tell(points[:MEASURED], f[:MEASURED] + NOISE * rng.standard_normal(MEASURED))
    mean, std = optimizer.predict(points[MEASURED:])
    inside = np.abs(f[MEASURED:] - mean) <= 1.96 * std
    return {"inside": int(np.sum(inside)), "of": len(inside), "trust": optimizer.diagnostics()["trust"]}


def judged(optimizer: Optimizer, unseen, truth, measured, problem) -> dict:
    """Coverage of f, and the mean negative log density of measurements in units of the range."""
    mean, std = optimizer.predict(unseen)
    variance = std**2 + problem.noise**2
    density = 0.5 * (np.log(2 * np.pi * variance / problem.range**2) + (measured - mean) ** 2 / variance)
    return {"coverage": float(np.mean(np.abs(truth - mean) <= 1.96 * std)), "nlpd": float(np.mean(density))}


def fixed(name: str, n: int, seed: int) -> dict:
    """A problem after measurements at n Sobol points."""
    problem = auto.problem_of(name, "paper", "sd", seed)
    rng = np.random.default_rng([seed, 52])
    points, unseen = problem.space.sobol(n, [seed, 53]), problem.space.sobol(500, [seed, 54])
    truth = problem.truth(unseen)
    values, measured = (
        problem.truth(places) + problem.noise * rng.standard_normal(len(places))
        for places in (points, unseen)
    )
    found = {}
    for method in ("auto", "gp-logei"):
        optimizer = Optimizer(problem.space, problem.pde, method=method, seed=seed, noise=problem.noise)
        optimizer.tell(points, values)
        found[method] = judged(optimizer, unseen, truth, measured, problem)
        if method == "auto":
            found["trust"] = optimizer.diagnostics()["trust"]
    return found


def cases(draws: int, seeds: int) -> list[tuple]:
    """Draws first, then the problems, seed by seed."""
    drawn = [("draw", with_pde, seed) for seed in range(draws) for with_pde in (True, False)]
    return drawn + [("fixed", name, n, seed) for seed in range(seeds) for n in SIZES for name in PROBLEMS]


def compute(case: tuple) -> dict:
    kind, *rest = case
    found = draw(*rest) if kind == "draw" else fixed(*rest)
    return {"case": list(case), "commit": commit(), **found}


def recorded() -> dict[tuple, dict]:
    lines = RECORDS.read_text().splitlines() if RECORDS.exists() else []
    return {tuple(record["case"]): record for record in map(json.loads, lines)}


def report() -> None:
    records = recorded()
    lines = [
        "# Do the intervals hold?",
        "",
        "Share of values of f that lie in the 95% intervals of `auto`.",
        "",
        "Command: `python benchmarks/calibration.py`; commits "
        + ", ".join(sorted({r["commit"] for r in records.values()}))
        + ".",
        "",
        "## Functions drawn from the prior",
        "",
        f"{MEASURED} measurements of a function on a plane, 100 values elsewhere; pooled over the functions, with the",
        "standard error over functions.",
        "",
        "| equation | functions | coverage |",
        "|---|---|---|",
    ]
    for with_pde, label in ((True, "Laplace"), (False, "none")):
        shares = [r["inside"] / r["of"] for c, r in records.items() if c[:2] == ("draw", with_pde)]
        if shares:
            error = 100 * np.std(shares) / np.sqrt(len(shares))
            lines.append(f"| {label} | {len(shares)} | {100 * np.mean(shares):.1f}% ± {error:.1f} |")
    lines += [
        "",
        "## Fixed problems of one to three coordinates",
        "",
        "Measured at n Sobol points with noise of 1% of the range; means over the runs. NLPD is the negative log",
        "density of 500 held-out measurements in units of the range, lower is better; GP is BoTorch's default on the",
        "same data. Equations in the lower part are false.",
        "",
        "| problem | n | runs | coverage | coverage of GP | NLPD | NLPD of GP | trust |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name in PROBLEMS:
        for sizes in (*((n,) for n in SIZES), SIZES):
            found = [r for c, r in records.items() if c[:2] == ("fixed", name) and c[2] in sizes]
            if not found:
                continue
            mean = {
                (m, q): np.mean([r[m][q] for r in found])
                for m in ("auto", "gp-logei")
                for q in ("coverage", "nlpd")
            }
            lines.append(
                f"| {name} | {' and '.join(map(str, sizes))} | {len(found)} | {100 * mean['auto', 'coverage']:.0f}% "
                f"| {100 * mean['gp-logei', 'coverage']:.0f}% | {mean['auto', 'nlpd']:.2f} "
                f"| {mean['gp-logei', 'nlpd']:.2f} | {np.median([r['trust'] for r in found]):.2g} |"
            )
    REPORT.write_text("\n".join(lines) + "\n")
    print(REPORT.relative_to(ROOT))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--report", action="store_true")
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--seeds", type=int, default=5)
    arguments = parser.parse_args()
    if not arguments.report:
        warnings.filterwarnings("ignore", message="the .* measurements contradict")
        RECORDS.parent.mkdir(exist_ok=True)
        for case in cases(arguments.draws, arguments.seeds):
            if case not in recorded():
                record = compute(case)
                with RECORDS.open("a") as file:
                    file.write(json.dumps(record) + "\n")
    report()


if __name__ == "__main__":
    main()
