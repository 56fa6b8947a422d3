"""What the sampler and a storage add to a suggestion: `PINNSampler` with file storage beside plain `Optimizer.ask`.

    python benchmarks/overhead.py      # writes docs/overhead.md

Both know the same 1,000 trials of a wave-like field in one dimension and are asked for the same next points, taking
turns; after each suggestion both are told its value. Creating the trial, choosing and storing its point, and telling
its value all count for the sampler; ask and tell for the optimizer.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import optuna
from optuna.distributions import FloatDistribution
from provenance import commit

from pinnbo import PDE, Optimizer, Space
from pinnbo.operators import laplacian
from pinnbo.optuna import PINNSampler

PAGE = Path(__file__).parent.parent / "docs" / "overhead.md"
SPACE = Space(x=(0.0, 3.0))
BOX = {name: FloatDistribution(0.0, 3.0) for name in SPACE.names}


def truth(x: np.ndarray) -> float:
    return float(np.cos(2.0 * x[0] + 0.5))


@contextmanager
def measured(times: list[tuple[float, float]]) -> Iterator[None]:
    clock, processor = time.perf_counter(), time.process_time()
    yield
    times.append((time.perf_counter() - clock, time.process_time() - processor))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=1000)
    parser.add_argument("--repetitions", type=int, default=5)
    arguments = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    pde = PDE(lambda f: lambda x: laplacian(f)(x) + 4.0 * f(x), name="Helmholtz")
    points = SPACE.sobol(arguments.trials, seed=3)
    values = [truth(x) for x in points]
    optimizer = Optimizer(SPACE, pde, noise=0.01, seed=0)
    optimizer.tell(points, values)
    times: dict[str, list[tuple[float, float]]] = {"optimizer": [], "sampler": []}
    with tempfile.TemporaryDirectory() as folder:
        storage = optuna.storages.RDBStorage(f"sqlite:///{folder}/study.db")
        study = optuna.create_study(sampler=PINNSampler(SPACE, pde, seed=0, noise=0.01), storage=storage)
        study.add_trials(
            [
                optuna.create_trial(params=SPACE.to_dict(x), distributions=BOX, value=y)
                for x, y in zip(points, values, strict=True)
            ]
        )
        for _ in range(arguments.repetitions + 1):
            with measured(times["optimizer"]):
                x = optimizer.ask()
                optimizer.tell(x, truth(x))
            with measured(times["sampler"]):
                trial = study.ask(BOX)
                study.tell(trial, truth(SPACE.from_dict(trial.params)))
        storage.engine.dispose()
    # the first suggestion chooses settings and compiles, in both
    pairs = list(zip(times["sampler"][1:], times["optimizer"][1:], strict=True))
    lines = [
        "# What the sampler adds to a suggestion",
        "",
        f"A suggestion through `PINNSampler` with an SQLite file that holds {arguments.trials} trials, as a multiple",
        "of plain `Optimizer.ask` and `tell` on the same measurements, in one process taking turns. The time on the",
        "clock includes waiting for the disk, and for other programs of the machine.",
        "",
        "| | median | least | most |",
        "|---|---|---|---|",
    ]
    for kind, name in enumerate(("on the clock", "of the processor")):
        ratios = [sampler[kind] / plain[kind] for sampler, plain in pairs]
        lines.append(
            f"| time {name} | {statistics.median(ratios):.2f} | {min(ratios):.2f} | {max(ratios):.2f} |"
        )
    lines += [
        "",
        f"Median of {arguments.repetitions}, seed 0. Command: `python benchmarks/overhead.py`, commit {commit()}.",
    ]
    PAGE.write_text("\n".join(lines) + "\n")
    print("\n".join(lines))
    print(times)


if __name__ == "__main__":
    main()
