"""How long the commands take, beside the imports that they cannot do without.

A study of 20 trials is made in a temporary folder; then every command and every import has a process of its own, they
take turns, and what counts is the ratio of medians, in time of the processor: that of the process and its children,
which does not depend on what else the machine does. A first round, which is not counted, fills the cache of compiled
functions.

    python benchmarks/shell_speed.py               # a few minutes
    python benchmarks/shell_speed.py --rounds 3    # fewer
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

from pinnbo.bench.provenance import commit

IMPORTS = ("import jax", "import optuna", "import jax, optuna")
# command, the import that it is compared with, and the ratio to reach; OPEN is a trial that is under way
COMMANDS = (
    ("--help", "import jax", 0.3),
    ("tell FILE OPEN 1.0", "import optuna", 5.0),
    ("tell FILE 1.0 --at x=0.5 y=0.5", "import optuna", 5.0),
    ("drop FILE OPEN", "import optuna", 5.0),
    ("export FILE", "import optuna", 5.0),
    ("tell FILE 999 1.0", "import optuna", 5.0),
    ("ask FILE", "import jax, optuna", 3.0),
    ("status FILE", "import jax, optuna", 3.0),
)
REFUSED = "tell FILE 999 1.0"


def run(folder: Path, *arguments: str, code: int = 0) -> tuple[float, str]:
    """Seconds of the processor and output of a Python process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, *arguments], cwd=folder, capture_output=True, text=True, check=False
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    if done.returncode != code:
        raise SystemExit(f"{' '.join(arguments)} ended with {done.returncode}: {done.stderr}")
    return seconds, done.stdout


def pinnbo(folder: Path, command: str) -> float:
    """Seconds of a command on the study as it was before."""
    for file in folder.glob("plate.db*"):
        file.unlink()
    (folder / "plate.db").write_bytes((folder / "study").read_bytes())
    words = [{"FILE": "plate.toml", "OPEN": "20"}.get(word, word) for word in command.split()]
    return run(folder, "-m", "pinnbo.cli", *words, code=2 if command == REFUSED else 0)[0]


def make_study(folder: Path) -> None:
    """A study of 20 measurements, and one trial under way."""
    run(folder, "-m", "pinnbo.cli", "init", "plate.toml")
    file = folder / "plate.toml"
    file.write_text(file.read_text() + '[evaluate]\nformula = "exp(x)*cos(y) + x*y"\n')
    run(folder, "-m", "pinnbo.cli", "run", "plate.toml")
    run(folder, "-m", "pinnbo.cli", "ask", "plate.toml")
    (folder / "plate.db").rename(folder / "study")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=7, help="default: %(default)s")
    rounds: int = parser.parse_args().rounds
    seconds: dict[str, list[float]] = {name: [] for name in (*IMPORTS, *(c for c, _, _ in COMMANDS))}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["PINNBO_COMPILATION_CACHE"] = str(folder / "cache")
        make_study(folder)
        for number in range(rounds + 1):
            for work, times in seconds.items():
                taken = run(folder, "-c", work)[0] if work in IMPORTS else pinnbo(folder, work)
                if number:
                    times.append(taken)
    print(f"commit {commit()}, medians of {rounds}, in turns")
    for work in IMPORTS:
        print(f"{work:32} {median(seconds[work]):6.2f} s")
    for command, beside, target in COMMANDS:
        ratio = median(seconds[command]) / median(seconds[beside])
        print(
            f"{command:32} {median(seconds[command]):6.2f} s  {ratio:6.2f} of {beside!r}, at most {target:g}: "
            + ("yes" if ratio <= target else "no")
        )


if __name__ == "__main__":
    main()
