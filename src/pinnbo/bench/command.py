"""``pinnbo bench run`` and ``pinnbo bench report``."""

from __future__ import annotations

import argparse
import functools
import os
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
        description="Compute problems x methods x seeds and record every run. Killed and started again with "
        "the same arguments it goes on with the runs that are missing. Names may carry variants: rastrigin-20:printed, "
        "heat-1:shifted, dropwave-2:noise=0.01; auto:design (the common initial points), pinn-bo:plain (without the "
        "PDE), pinn-bo:paper, auto:acquisition=bound (a setting).",
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
        "--records", type=Path, metavar="FILE", help="the file of records (default: out/bench-PRESET.jsonl)"
    )


def _run(arguments: argparse.Namespace) -> int:
    from pinnbo.bench import cluster, local, names, presets, runner
    from pinnbo.bench.search import search

    if arguments.dask:
        backend: runner.Backend = functools.partial(cluster.outcomes, address=arguments.dask)
    else:
        backend = functools.partial(local.outcomes, jobs=arguments.jobs)
    try:
        planned = presets.cases(
            PRESETS[arguments.preset],
            arguments.problems,
            arguments.methods,
            arguments.seeds,
            arguments.budget,
            arguments.initial,
        )
        for case in planned:
            names.problem(case["problem"], case["seed"])
            names.contender(case["method"])
        made = runner.complete(_records(arguments), planned, search, backend, arguments.retry)
    except ValueError as error:
        raise UsageError(str(error)) from None
    failed = sum(record.error is not None for record in made)
    print(f"{len(made) - failed} runs recorded, {failed} failed")
    return 1 if failed else 0


def _report(arguments: argparse.Namespace) -> int:
    from pinnbo import figures
    from pinnbo.bench import records, report

    figures.check_matplotlib()
    output: Path = arguments.output or Path("out") / f"report-{arguments.preset}"
    try:
        page = report.write(records.read(_records(arguments)), output)
    except ValueError as error:
        raise UsageError(str(error)) from None
    print(page)
    return 0


def _records(arguments: argparse.Namespace) -> Path:
    return arguments.records or Path("out") / f"bench-{arguments.preset}.jsonl"
