"""Do the 95% intervals of `auto` hold 95%? On functions drawn from its prior, and on fixed problems.

    python benchmarks/calibration.py                  # 200 draws with and 200 without a PDE, then the problems; resumes
    python benchmarks/calibration.py --report         # only write docs/benchmarks/calibration.md from what has been run

Draws: a family and a length scale from their priors, a function on a plane from that model (given Laplace's equation,
or nothing), a dozen noisy measurements, and the intervals at 100 other points.

Problems of one to three coordinates: measured at Sobol points, the intervals of f at 500 others, and the negative log
density of 500 *measurements* that were held out (noise added), beside BoTorch's default Gaussian process on the same
data. Equations that are false are among them.
"""

import functools
import warnings

import fields
import numpy as np
import script

from pinnbo import PDE, Optimizer, Space
from pinnbo.bench import names
from pinnbo.bench.records import Case, Record
from pinnbo.bench.search import coverage
from pinnbo.data import Data
from pinnbo.methods.auto import Auto, hypotheses
from pinnbo.methods.base import Task
from pinnbo.operators import laplacian

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


def draw(pde: bool, seed: int) -> dict:
    """One function: how many of 100 values lie in their intervals."""
    rng = np.random.default_rng([seed, int(pde), 51])
    priors, weights = zip(*settings_of_prior(pde), strict=True)
    prior = priors[rng.choice(len(priors), p=np.array(weights) / sum(weights))]
    points = rng.uniform(BOX.lower, BOX.upper, (MEASURED + 100, 2))
    eigenvalues, vectors = np.linalg.eigh(prior.covariance_matrix(BOX.scale(points)))
    f = vectors @ (np.sqrt(np.maximum(eigenvalues, 0.0)) * rng.standard_normal(len(points)))
    f /= np.sqrt(prior.variation)
    optimizer = Optimizer(BOX, PDE(laplacian) if pde else None, seed=seed, noise=NOISE)
    optimizer.tell(points[:MEASURED], f[:MEASURED] + NOISE * rng.standard_normal(MEASURED))
    mean, std = optimizer.predict(points[MEASURED:])
    inside = np.abs(f[MEASURED:] - mean) <= 1.96 * std
    return {"inside": int(np.sum(inside)), "of": len(inside), "trust": optimizer.diagnostics()["trust"]}


def judged(optimizer: Optimizer, unseen, measured, problem) -> dict:
    """Coverage of f, and the mean negative log density of measurements in units of the range."""
    mean, std = optimizer.predict(unseen)
    variance = std**2 + problem.noise**2
    density = 0.5 * (np.log(2 * np.pi * variance / problem.range**2) + (measured - mean) ** 2 / variance)
    return {"coverage": coverage(optimizer, problem, unseen), "nlpd": float(np.mean(density))}


def fixed(problem: str, n: int, seed: int) -> dict:
    """A problem after measurements at n Sobol points."""
    problem = names.problem(f"{problem}:noise=0.01", seed)
    rng = np.random.default_rng([seed, 52])
    points, unseen = problem.space.sobol(n, [seed, 53]), problem.space.sobol(500, [seed, 54])
    values, measured = (
        problem.truth(places) + problem.noise * rng.standard_normal(len(places))
        for places in (points, unseen)
    )
    found = {}
    for method in ("auto", "gp-logei"):
        optimizer = Optimizer(problem.space, problem.pde, method=method, seed=seed, noise=problem.noise)
        optimizer.tell(points, values)
        found[method] = judged(optimizer, unseen, measured, problem)
        if method == "auto":
            found["trust"] = optimizer.diagnostics()["trust"]
    return found


def cases(draws: int, seeds: range) -> list[Case]:
    """Draws first, then the problems, seed by seed."""
    drawn = [{"kind": "draw", "pde": pde, "seed": seed} for seed in range(draws) for pde in (True, False)]
    return drawn + [
        {"kind": "fixed", "problem": name, "n": n, "seed": seed}
        for seed in seeds
        for n in SIZES
        for name in PROBLEMS
    ]


def compute(case: Case) -> dict:
    warnings.filterwarnings("ignore", message="the .* measurements contradict")
    rest = {name: value for name, value in case.items() if name != "kind"}
    return draw(**rest) if case["kind"] == "draw" else fixed(**rest)


def page(records: list[Record]) -> list[str]:
    lines = [
        "# Do the intervals hold?",
        "",
        "Share of values of f that lie in the 95% intervals of `auto`.",
        "",
        "Command: `python benchmarks/calibration.py`; commits " + script.commits(records) + ".",
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
        drawn = [r.result for r in records if r.case["kind"] == "draw" and r.case["pde"] == with_pde]
        shares = [r["inside"] / r["of"] for r in drawn]
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
            found = [r.result for r in records if r.case.get("problem") == name and r.case["n"] in sizes]
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
    return lines


def main() -> None:
    parser = script.parser(__doc__, seeds=5)
    parser.add_argument("--draws", type=int, default=200)
    arguments = parser.parse_args()
    planned = cases(arguments.draws, script.seeds(arguments))
    script.run(arguments, "calibration", planned, compute, page)


if __name__ == "__main__":
    main()
