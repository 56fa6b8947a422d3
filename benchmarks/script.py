"""What the scripts here share: where records and pages are, and the command line.

Records are lines of JSON (`pinnbo.bench.records`) in benchmarks/records/NAME.jsonl; a case that is recorded is not
computed again, take out the lines of those that should be.
"""

import argparse
import functools
from collections.abc import Callable, Sequence
from pathlib import Path

import fields

from pinnbo.bench import local, names, records, runner
from pinnbo.bench.records import Case, Record

Groups = dict[tuple[str, str], list[Record]]

ROOT = Path(__file__).parent.parent
# a process that computes cases imports the script, and with it this
names.add(fields.TRUE | fields.NONLINEAR | fields.FALSE | fields.VARIANTS)


def path_of(name: str) -> Path:
    return ROOT / "benchmarks" / "records" / f"{name}.jsonl"


def parser(doc: str, seeds: int) -> argparse.ArgumentParser:
    """The options that all have."""
    made = argparse.ArgumentParser(description=doc.splitlines()[0])
    made.add_argument("--report", action="store_true", help="only write the page from what has been run")
    made.add_argument("--first-seed", type=int, default=0)
    made.add_argument("--seeds", type=int, default=seeds)
    made.add_argument("--jobs", type=int, default=1)
    made.add_argument("--records", type=Path, help="another file of records; no page is written")
    return made


def seeds(arguments: argparse.Namespace) -> range:
    return range(arguments.first_seed, arguments.first_seed + arguments.seeds)


def run(
    arguments: argparse.Namespace,
    name: str,
    cases: Sequence[Case],
    compute: runner.Compute,
    page: Callable[[list[Record]], list[str]] | None = None,
) -> None:
    """Compute the missing cases, and write docs/benchmarks/NAME.md from the records that did not fail."""
    path = arguments.records or path_of(name)
    if not arguments.report:
        jobs = arguments.jobs
        backend = functools.partial(local.outcomes, jobs=jobs) if jobs > 1 else runner.here
        runner.complete(path, cases, compute, backend)
    if page is None or arguments.records is not None:
        return
    if not path.exists():
        raise SystemExit(f"{name}: nothing has been run yet, so there is nothing to report")
    written = ROOT / "docs" / "benchmarks" / f"{name}.md"
    written.write_text("\n".join(page([r for r in records.read(path) if r.error is None])) + "\n")
    print(written.relative_to(ROOT))


def commits(found: Sequence[Record]) -> str:
    return ", ".join(sorted({record.commit for record in found}))


def grouped(found: Sequence[Record]) -> Groups:
    """Searches by problem and method."""
    groups: Groups = {}
    for record in found:
        groups.setdefault((record.case["problem"], record.case["method"]), []).append(record)
    return groups


def last(by_evaluations: dict[str, float]) -> float:
    """What was found after the most evaluations."""
    return by_evaluations[max(by_evaluations, key=int)]
