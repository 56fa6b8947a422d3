"""Eight workers beside one on an experiment of ten seconds: wall time and evaluations until the target is reached.

    python benchmarks/parallel.py                    # 3 seeds, 1 and 8 workers; resumes where it stopped
    python benchmarks/parallel.py --seconds 1        # quicker: a shorter experiment; the page shows the longest
    python benchmarks/parallel.py --report           # only write docs/benchmarks/parallel.md from what has been run

The field is a random sum of plane waves that obeys laplacian f + 64 f = 0 on a square: the equation leaves some thirty
unknowns, so that many evaluations are needed. The target is reached when a point has been measured whose noise-free
value is within 1% of the range of the optimum. The time until the first suggestion is there, in which the physics is
conditioned on, is reported apart.
"""

import statistics
import time

import numpy as np
import optuna
import script

from pinnbo import PDE, Space
from pinnbo.bench.records import Case, Record
from pinnbo.operators import laplacian
from pinnbo.optuna import PINNSampler

SPACE = Space(x=(0.0, 2.0), y=(0.0, 2.0))
WAVE_NUMBER = 8.0
WORKERS = (1, 8)
MOST_TRIALS = 200


class Field:
    """A random sum of plane waves, with its optimum and range on a fine grid."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng([seed, 11])
        angles = rng.uniform(0.0, 2.0 * np.pi, 24)
        self._waves = WAVE_NUMBER * np.column_stack([np.cos(angles), np.sin(angles)])
        self._phases, self._sizes = rng.uniform(0.0, 2.0 * np.pi, 24), rng.standard_normal(24)
        axis = np.linspace(0.0, 2.0, 301)
        grid = np.column_stack([c.ravel() for c in np.meshgrid(axis, axis)])
        values = self.truth(grid)
        self.optimum, self.range = float(values.max()), float(np.ptp(values))

    def truth(self, points: np.ndarray) -> np.ndarray:
        return np.cos(points @ self._waves.T + self._phases) @ self._sizes


def compute(case: Case) -> dict:
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    workers, seconds, seed = (case[name] for name in ("workers", "seconds", "seed"))
    field, rng = Field(seed), np.random.default_rng([seed, 12])
    noise = 0.01 * field.range
    pde = PDE(lambda f: lambda x: laplacian(f)(x) + WAVE_NUMBER**2 * f(x), name="Helmholtz")
    sampler = PINNSampler(SPACE, pde, noise=noise, seed=seed)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    started = time.perf_counter()
    sampler.optimizer(study).ask()
    start_up = time.perf_counter() - started
    reached: list[float] = []

    def objective(trial: optuna.Trial) -> float:
        x = np.array([trial.suggest_float(name, 0.0, 2.0) for name in SPACE.names])
        time.sleep(seconds)
        return float(field.truth(x)) + noise * float(rng.standard_normal())

    def stop(study: optuna.Study, trial: optuna.trial.FrozenTrial) -> None:
        value = float(field.truth(SPACE.from_dict(trial.params)))
        if value >= field.optimum - 0.01 * field.range:
            reached.append(time.perf_counter() - started - start_up)
            study.stop()

    study.optimize(objective, n_trials=MOST_TRIALS, n_jobs=workers, callbacks=[stop])
    done = [trial for trial in study.trials if trial.state.is_finished()]
    return {
        "reached": bool(reached),
        "wall": min(reached, default=time.perf_counter() - started - start_up),
        # what was under way when the target was reached was spent as well
        "evaluations": len(done),
        "start_up": start_up,
    }


def page(records: list[Record]) -> list[str]:
    seconds = max(record.case["seconds"] for record in records)
    records = [record for record in records if record.case["seconds"] == seconds]
    runs = {(r.case["workers"], r.case["seed"]): r.result for r in records}
    seeds = sorted(seed for workers, seed in runs if workers == WORKERS[0] and (WORKERS[1], seed) in runs)
    lines = [
        "# Eight workers beside one",
        "",
        f"An experiment of {seconds:g} s, a field with laplacian f + 64 f = 0 on a square, 1% noise. Wall time and",
        "evaluations until a measured point is within 1% of the range of the optimum. Start-up is the time until the",
        "first suggestion, as a share of the wall time of one worker, and is not in the wall time.",
        "",
        "| seed | evaluations, 1 worker | 8 workers | wall time of 8 / of 1 | evaluations of 8 / of 1 | start-up |",
        "|---|---|---|---|---|---|",
    ]
    ratios = []
    for seed in seeds:
        one, many = (runs[workers, seed] for workers in WORKERS)
        ratios.append((many["wall"] / one["wall"], many["evaluations"] / one["evaluations"]))
        counts = [f"{r['evaluations']}" + ("" if r["reached"] else " (not reached)") for r in (one, many)]
        lines.append(
            f"| {seed} | {counts[0]} | {counts[1]} | {ratios[-1][0]:.2f} | {ratios[-1][1]:.2f} "
            f"| {many['start_up'] / one['wall']:.2f} |"
        )
    if ratios:
        wall, evaluations = (statistics.median(column) for column in zip(*ratios, strict=True))
        lines += ["", f"Median: {wall:.2f} of the wall time with {evaluations:.2f} times the evaluations."]
    lines += [
        "",
        f"Command: `python benchmarks/parallel.py --seconds {seconds:g}`, commit {script.commits(records)}.",
    ]
    return lines


def main() -> None:
    parser = script.parser(__doc__, seeds=3)
    parser.add_argument("--seconds", type=float, default=10.0)
    arguments = parser.parse_args()
    cases = [
        {"workers": workers, "seconds": arguments.seconds, "seed": seed}
        for seed in script.seeds(arguments)
        for workers in WORKERS
    ]
    script.run(arguments, "parallel", cases, compute, page)


if __name__ == "__main__":
    main()
