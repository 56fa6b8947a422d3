"""``pinnbo bench run`` and ``pinnbo bench report``."""

from __future__ import annotations

import argparse
import functools
import os
import shlex
import sys
from pathlib import Path

from pinnbo.bench.presets import PRESETS
from pinnbo.usage import UsageError, at_least


def add_bench(commands: argparse._SubParsersAction) -> None:
    """Add the command's parser."""
    text = "compare methods on the paper's problems"
    bench = commands.add_parser("bench", help=text, description=text)
    parts = bench.add_subparsers(title="commands", metavar="COMMAND", required=True, parser_class=type(bench))
    run = parts.add_parser(
        "run",
        help="compute and record what is missing; stop it and start it again as you like",
        description="Compute problems x methods x seeds and record every evaluation. Killed and started again with "
        "the same arguments it goes on where it stopped. Names may carry variants: rastrigin-20:printed, "
        "heat-1:shifted, dropwave-2:noise=0.01; auto:design (the common initial points), pinn-bo:plain (without the "
        "PDE), pinn-bo:paper.",
    )
    described = "; ".join(f"{name}: {preset.description}" for name, preset in PRESETS.items())
    run.add_argument(
        "--preset", choices=list(PRESETS), default="smoke", help=f"{described}; default: %(default)s"
    )
    run.add_argument("--problems", nargs="+", metavar="NAME", help="only these, see pinnbo problems")
    run.add_argument("--methods", nargs="+", metavar="NAME", help="only these, see pinnbo methods")
    run.add_argument("--seeds", type=at_least(1), metavar="N", help="seeds 0 to N-1 in place of the preset's")
    run.add_argument("--budget", type=at_least(1), metavar="N", help="evaluations per run")
    run.add_argument("--initial", type=at_least(1), metavar="N", help="common initial points per run")
    run.add_argument(
        "--jobs",
        type=at_least(1),
        default=os.cpu_count() or 1,
        metavar="N",
        help="processes (default: %(default)s)",
    )
    run.add_argument(
        "--dask", metavar="ADDRESS", help="a Dask scheduler, such as tcp://host:8786, in place of --jobs"
    )
    run.add_argument("--retry", action="store_true", help="try failed runs again")
    _add_records(run)
    run.set_defaults(run=_run)
    report = parts.add_parser(
        "report",
        help="write a page with pictures and tables from what is recorded",
        description="Write README.md and pictures into a folder, from what is recorded so far.",
    )
    report.add_argument(
        "--preset", choices=list(PRESETS), default="smoke", help="whose records (default: %(default)s)"
    )
    report.add_argument(
        "--output", type=Path, metavar="FOLDER", help="made where there is none (default: out/report-PRESET)"
    )
    _add_records(report)
    report.set_defaults(run=_report)


def _add_records(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--records", type=Path, metavar="FILE", help="the file of records (default: out/bench-PRESET.sqlite)"
    )


def _run(arguments: argparse.Namespace) -> int:
    from datetime import UTC, datetime

    from pinnbo.baselines.library import require
    from pinnbo.bench import cluster, local, names, presets, provenance, runner, store

    require("pinnbo bench", "threadpoolctl")
    path = _records(arguments)
    try:
        planned = presets.assignments(
            PRESETS[arguments.preset],
            arguments.problems,
            arguments.methods,
            arguments.seeds,
            arguments.budget,
            arguments.initial,
        )
        for run, *_ in planned:
            names.problem(run.problem, run.seed)
            names.contender(run.method)
        path.parent.mkdir(parents=True, exist_ok=True)
        with store.only_writer(path), store.opened(path, create=True) as records:
            if arguments.retry:
                records.forgive(run for run, *_ in planned)
            todo = runner.missing(planned, records)
            done = len(planned) - len(todo)
            print(f"{len(planned)} runs, {done} of them complete or failed; records in {path}")
            records.begin(
                datetime.now(UTC).isoformat(timespec="seconds"),
                provenance.commit(),
                shlex.join(["pinnbo", *sys.argv[1:]]),
                provenance.versions(),
            )
            if arguments.dask:
                backend: runner.Backend = functools.partial(cluster.events, address=arguments.dask)
                workers = cluster.workers(arguments.dask)
            else:
                backend, workers = functools.partial(local.events, jobs=arguments.jobs), arguments.jobs
            outcome = runner.compute(todo, records, backend, workers)
            failed = len(records.failures())
    except ValueError as error:
        raise UsageError(str(error)) from None
    print(f"{outcome.evaluations} evaluations recorded; {failed} failed runs in the records")
    return 1 if outcome.failures else 0


def _report(arguments: argparse.Namespace) -> int:
    from pinnbo import figures
    from pinnbo.bench import report, store

    figures.check_matplotlib()
    output: Path = arguments.output or Path("out") / f"report-{arguments.preset}"
    try:
        with store.opened(_records(arguments)) as records:
            page = report.write(records, output)
    except ValueError as error:
        raise UsageError(str(error)) from None
    print(page)
    return 0


def _records(arguments: argparse.Namespace) -> Path:
    return arguments.records or Path("out") / f"bench-{arguments.preset}.sqlite"
