"""What the commands of ``pinnbo`` that work on problem files take, and say of themselves with ``--help``."""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Callable
from pathlib import Path

from pinnbo.studies import commands
from pinnbo.studies.written import MOST_DIGITS

# argparse takes -1e-3 for an option unless told otherwise
_NEGATIVE = re.compile(r"^-(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$")


def add_commands(known: argparse._SubParsersAction) -> None:
    """Add the parsers."""
    init = _add(
        known,
        "init",
        commands.init,
        "write a commented problem file to start from",
        storage=False,
        json=False,
    )
    init.description = (
        "Write a commented problem file FILE.toml, with an equation of the catalogue, to start from."
    )
    init.add_argument(
        "--equation", default="laplace", metavar="NAME", help="one of pinnbo equations (default: %(default)s)"
    )
    init.add_argument(
        "--rehearse",
        action="store_true",
        help="let a known solution of the equation stand in for the experiment, so that pinnbo run works at once",
    )
    init.add_argument(
        "--python", action="store_true", help="write the equation in Python, in a file of its own"
    )

    run = _add(
        known, "run", commands.run, "evaluate until the budget is used up; may be stopped and started again"
    )
    run.add_argument(
        "--workers", type=_at_least(1, 1000), default=1, metavar="N", help="evaluate N at a time (default: 1)"
    )
    run.add_argument("--budget", type=_at_least(1), metavar="N", help="instead of the budget of the file")
    run.add_argument(
        "--until",
        type=_positive,
        metavar="GAIN",
        help="stop when one more evaluation is expected to improve the value by less than GAIN",
    )

    ask = _add(known, "ask", commands.ask, "say which point to evaluate next")
    ask.add_argument(
        "-n", type=_at_least(1, 10_000), default=1, metavar="N", help="ask for N points (default: 1)"
    )

    tell = _add(known, "tell", commands.tell, "enter a value: a number, nan (impossible there) or lost")
    tell.usage = "pinnbo tell FILE TRIAL VALUE [--replace], or pinnbo tell FILE VALUE --at x=0.5 y=0.1"
    tell.add_argument("answer", nargs="+", metavar="[TRIAL] VALUE", help="number of the trial, and its value")
    tell.add_argument(
        "--at", nargs="+", metavar="NAME=NUMBER", help="a measurement that nobody asked for, and where"
    )
    tell.add_argument("--noise", type=float, metavar="SD", help="standard deviation of this measurement")
    tell.add_argument(
        "--batch",
        metavar="NAME",
        help="what was measured with the same offset of the instrument, such as monday",
    )
    tell.add_argument(
        "--of",
        metavar="SENSOR",
        help="what was read in place of the measured quantity: one of [sensors] of the file, or another field",
    )
    tell.add_argument(
        "--replace", action="store_true", help="correct a value; the old one stays in the record"
    )

    drop = _add(known, "drop", commands.drop, "withdraw a trial; its value stays in the record")
    drop.add_argument("trial", type=_at_least(0), metavar="TRIAL", help="number of the trial")

    _add(
        known,
        "status",
        commands.status,
        "say how the study stands: best value, what may still be gained, what is under way",
    )

    enter = _add(known, "import", commands.enter, "enter measurements from a CSV file")
    enter.add_argument(
        "data",
        type=Path,
        metavar="DATA.csv",
        help="columns: the parameters, value, and noise, batch and of (the sensor) if any",
    )

    export = _add(known, "export", commands.export, "write all trials as CSV")
    export.add_argument("--output", type=Path, metavar="DATA.csv", help="instead of the terminal")

    plot = _add(known, "plot", commands.plot, "draw a picture of the study", json=False)
    plot.add_argument(
        "--kind",
        default="field",
        metavar="KIND",
        help="field, pairs, time, fields, convergence, trust, unknowns, reason, validation, residual, misfit or "
        "contribution (default: %(default)s)",
    )
    plot.add_argument(
        "--output",
        type=Path,
        metavar="FILE.png",
        help="PNG, SVG or PDF, or GIF for a film of --kind time (default: the name of the file and the kind)",
    )

    report = _add(known, "report", commands.report, "write a report of the study, one HTML page", json=False)
    report.add_argument(
        "--output", type=Path, metavar="FILE.html", help="default: the name of the file, ending in .html"
    )

    dashboard = _add(known, "dashboard", commands.dashboard, "show the study in a browser", json=False)
    dashboard.add_argument(
        "--host", default="127.0.0.1", help="who may look (default: %(default)s, only this machine)"
    )
    dashboard.add_argument(
        "--port", type=_at_least(0, 65535), default=8080, help="default: %(default)s; 0 takes a free one"
    )
    dashboard.add_argument(
        "--writable", action="store_true", help="allow changes, and the deletion of studies, in the browser"
    )

    lab = _add(
        known,
        "lab",
        commands.lab,
        "run the study from a page in the browser: next point, values, map",
        json=False,
    )
    lab.add_argument(
        "--host", default="127.0.0.1", help="who may use it (default: %(default)s, only this machine)"
    )
    lab.add_argument(
        "--port", type=_at_least(0, 65535), default=8081, help="default: %(default)s; 0 takes a free one"
    )

    check = _add(
        known,
        "check",
        commands.check,
        "look at the equation before the first experiment; exit code 1 if there is something to look at again",
        storage=False,
        json=False,
    )
    check.add_argument(
        "--scale", type=_positive, default=1.0, metavar="SIZE", help="typical size of the field (default: 1)"
    )
    check.add_argument(
        "--solution",
        nargs="+",
        default=[],
        metavar="FORMULA",
        help="a formula that should obey the equation, e.g. 'exp(x)*cos(y)'; NAME=FORMULA for each of several fields",
    )
    check.add_argument("--quick", action="store_true", help="do not try how long the first suggestion takes")

    _add(
        known,
        "amend",
        commands.amend,
        "let the study go on with the equation of the file, after a mistake in it; the old one stays in the record",
        json=False,
    )

    _add(
        known,
        "show",
        commands.show,
        "say what a problem file would run, without running it",
        storage=False,
        json=False,
    )

    storage = _add(
        known,
        "check-storage",
        commands.check_storage,
        "look for damage in the storage, and for trials that lead nowhere",
        json=False,
    )
    storage.add_argument(
        "--salvage",
        type=Path,
        metavar="DATA.csv",
        help="write what can be read from a damaged file, for import",
    )

    backup = _add(known, "backup", commands.backup, "copy the storage while it is in use", json=False)
    backup.add_argument("copy", type=Path, metavar="COPY.db", help="a file that does not exist yet")


def _add(
    known: argparse._SubParsersAction,
    name: str,
    run: Callable[[argparse.Namespace], int],
    text: str,
    *,
    storage: bool = True,
    json: bool = True,
) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = known.add_parser(
        name,
        help=text,
        description=text[0].upper() + text[1:] + ".",
    )
    parser._negative_number_matcher = _NEGATIVE
    about = "to be written, ending in .toml" if name == "init" else "problem file, see pinnbo init"
    parser.add_argument("file", type=Path, metavar="FILE", help=about)
    if storage:
        parser.add_argument("--storage", metavar="URL", help="instead of the storage of the file")
    if json:
        parser.add_argument("--json", action="store_true", help="print JSON, for scripts")
    parser.set_defaults(run=run)
    return parser


def _at_least(lowest: int, highest: int = 10**MOST_DIGITS) -> Callable[[str], int]:
    def integer(text: str) -> int:
        if not text.isdecimal() or len(text) > MOST_DIGITS or not lowest <= int(text) <= highest:
            until = f" and <= {highest}" if highest < 10**MOST_DIGITS else ""
            raise argparse.ArgumentTypeError(f"expected an integer >= {lowest}{until}, got {text!r:.60}")
        return int(text)

    return integer


def _positive(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0.0 < number < math.inf:
        raise argparse.ArgumentTypeError(f"expected a number > 0, got {text!r}")
    return number
