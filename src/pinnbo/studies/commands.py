"""The commands of ``pinnbo`` that work on problem files.

Nothing heavy is imported before a command runs.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pinnbo.studies import phrases, written
from pinnbo.studies.errors import StudyError

if TYPE_CHECKING:
    from pinnbo.studies.campaign import Asked, Campaign
    from pinnbo.studies.evaluation import Outcome

# argparse takes -1e-3 for an option unless told otherwise
_NEGATIVE = re.compile(r"^-(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$")


_DIGITS = 9  # of a count that somebody may mean


def add_commands(commands: argparse._SubParsersAction) -> None:
    """Add the parsers."""
    init = _add(commands, _init, "write a commented problem file to start from", storage=False, json=False)
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

    run = _add(commands, _run, "evaluate until the budget is used up; may be stopped and started again")
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

    ask = _add(commands, _ask, "say which point to evaluate next")
    ask.add_argument(
        "-n", type=_at_least(1, 10_000), default=1, metavar="N", help="ask for N points (default: 1)"
    )

    tell = _add(commands, _tell, "enter a value: a number, nan (impossible there) or lost")
    tell.usage = "pinnbo tell FILE TRIAL VALUE [--replace], or pinnbo tell FILE VALUE --at x=0.5 y=0.1"
    tell.add_argument("answer", nargs="+", metavar="[TRIAL] VALUE", help="number of the trial, and its value")
    tell.add_argument(
        "--at", nargs="+", metavar="NAME=NUMBER", help="a measurement that nobody asked for, and where"
    )
    tell.add_argument("--noise", type=float, metavar="SD", help="standard deviation of this measurement")
    tell.add_argument(
        "--replace", action="store_true", help="correct a value; the old one stays in the record"
    )

    drop = _add(commands, _drop, "withdraw a trial; its value stays in the record")
    drop.add_argument("trial", type=_at_least(0), metavar="TRIAL", help="number of the trial")

    _add(
        commands, _status, "say how the study stands: best value, what may still be gained, what is under way"
    )

    enter = _add(commands, _import, "enter measurements from a CSV file")
    enter.add_argument(
        "data", type=Path, metavar="DATA.csv", help="columns: the parameters, value, noise if any"
    )

    export = _add(commands, _export, "write all trials as CSV")
    export.add_argument("--output", type=Path, metavar="DATA.csv", help="instead of the terminal")

    plot = _add(commands, _plot, "draw a picture of the study", json=False)
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

    report = _add(commands, _report, "write a report of the study, one HTML page", json=False)
    report.add_argument(
        "--output", type=Path, metavar="FILE.html", help="default: the name of the file, ending in .html"
    )

    dashboard = _add(commands, _dashboard, "show the study in a browser", json=False)
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
        commands, _lab, "run the study from a page in the browser: next point, values, map", json=False
    )
    lab.add_argument(
        "--host", default="127.0.0.1", help="who may use it (default: %(default)s, only this machine)"
    )
    lab.add_argument(
        "--port", type=_at_least(0, 65535), default=8081, help="default: %(default)s; 0 takes a free one"
    )

    check = _add(
        commands,
        _check,
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
        commands,
        _amend,
        "let the study go on with the equation of the file, after a mistake in it; the old one stays in the record",
        json=False,
    )

    _add(commands, _show, "say what a problem file would run, without running it", storage=False, json=False)

    storage = _add(
        commands,
        _check_storage,
        "look for damage in the storage, and for trials that lead nowhere",
        json=False,
    )
    storage.add_argument(
        "--salvage",
        type=Path,
        metavar="DATA.csv",
        help="write what can be read from a damaged file, for import",
    )

    backup = _add(commands, _backup, "copy the storage while it is in use", json=False)
    backup.add_argument("copy", type=Path, metavar="COPY.db", help="a file that does not exist yet")


def _add(
    commands: argparse._SubParsersAction,
    run: Callable[[argparse.Namespace], int],
    text: str,
    *,
    storage: bool = True,
    json: bool = True,
) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        run.__name__.removeprefix("_").replace("_", "-"),
        help=text,
        description=text[0].upper() + text[1:] + ".",
    )
    parser._negative_number_matcher = _NEGATIVE
    about = "to be written, ending in .toml" if run is _init else "problem file, see pinnbo init"
    parser.add_argument("file", type=Path, metavar="FILE", help=about)
    if storage:
        parser.add_argument("--storage", metavar="URL", help="instead of the storage of the file")
    if json:
        parser.add_argument("--json", action="store_true", help="print JSON, for scripts")
    parser.set_defaults(run=run)
    return parser


def _init(arguments: argparse.Namespace) -> int:
    from pinnbo.studies import starter

    rehearse = arguments.rehearse
    for file in starter.write(arguments.file, arguments.equation, python=arguments.python, rehearse=rehearse):
        print(f"wrote {file}")
    following = "ask" if not rehearse else "run"
    print(f"next: look into it, then pinnbo check {arguments.file} and pinnbo {following} {arguments.file}")
    return 0


def _run(arguments: argparse.Namespace) -> int:
    from pinnbo.progress import progress
    from pinnbo.studies.runner import Run

    with _campaign(arguments, create=True) as campaign, _ended_like_interrupted():
        problem = campaign.problem
        if arguments.budget:
            problem = replace(problem, budget=arguments.budget)
            campaign = replace(campaign, problem=problem)
        if problem.evaluation is None:
            raise StudyError(
                f"problem file {str(problem.path)!r} has no [evaluate] table: it is evaluated by hand, "
                "with pinnbo ask and pinnbo tell"
            )
        answered = len(campaign.record().of("measured", "infeasible"))
        with progress(problem.budget, answered, shown=not arguments.json) as bar:

            def say(sentence: str) -> None:
                bar.say(f"pinnbo: {sentence}")

            def report(asked: Asked, outcome: Outcome, complaint: str | None) -> None:
                if complaint is not None:
                    say(complaint)
                elif arguments.json:
                    _print_json({"trial": asked.number, "point": asked.point, **_as_json(outcome)})
                elif outcome.value is None:
                    place = phrases.point(asked.point, problem.units)
                    bar.say(f"trial {asked.number} at {place} is lost: {outcome.reason}")
                else:
                    bar.step(_best_reading(campaign))

            run = Run(campaign, problem.evaluation, arguments.until, report, say)
            run.execute(arguments.workers)
        if run.stopped:
            print(f"pinnbo: {run.stopped}; the study can be gone on with", file=sys.stderr)
        _show_status(campaign, arguments.json)
        return run.exit_code


def _ask(arguments: argparse.Namespace) -> int:
    with _campaign(arguments, create=True) as campaign:
        asked = campaign.ask_many(arguments.n)
    for question in asked:
        if arguments.json:
            _print_json({"trial": question.number, "point": question.point})
        else:
            print(f"trial {question.number}: {phrases.point(question.point, campaign.problem.units)}")
    return 0


def _tell(arguments: argparse.Namespace) -> int:
    expected = 1 if arguments.at else 2
    if len(arguments.answer) != expected:
        what = "VALUE" if arguments.at else "TRIAL VALUE"
        such = f"pinnbo tell {arguments.file} " + ("1.23 --at x=0.5" if arguments.at else "0 1.23")
        raise StudyError(f"tell: expected {what}, such as {such}, got {' '.join(arguments.answer)!r}")
    value = _value(arguments.answer[-1])
    from pinnbo import values

    if arguments.noise is not None and not 0 <= arguments.noise <= values.LARGEST:
        raise StudyError(f"--noise: expected a finite standard deviation >= 0, got {arguments.noise}")
    if arguments.at and arguments.replace:
        raise StudyError("--replace: expected the number of a trial, got --at")
    if arguments.replace and arguments.noise is not None:
        raise StudyError("--noise cannot be corrected: drop the trial and tell it --at its point")
    if arguments.at:
        point = _assigned(arguments.at)
    else:
        number = _number(arguments.answer[0])
    from pinnbo.studies.evaluation import Outcome

    outcome, was = Outcome(value, "lost" if value is None else None), None
    with _campaign(arguments, create=bool(arguments.at)) as campaign:
        if arguments.at:
            number = campaign.add(point, outcome, arguments.noise)
        elif arguments.replace:
            was = campaign.replace(number, value)
        else:
            campaign.tell(number, outcome, arguments.noise)
        far = [entry for entry in campaign.record().set_aside() if entry.number == number]
    for entry in far:
        _say(values.why_far(f"trial {number}", entry.value or 0.0))
    return _told(arguments, number, outcome, was)


def _told(arguments: argparse.Namespace, number: int, outcome: Outcome, was: float | None) -> int:
    if arguments.json:
        _print_json(
            {"trial": number, **_as_json(outcome), **({"was": _as_number(was)} if arguments.replace else {})}
        )
    elif arguments.replace:
        print(f"trial {number}: {_shown(outcome.value)} instead of {_shown(was)}")
    else:
        print(f"trial {number}: {_shown(outcome.value)}")
    return 0


def _drop(arguments: argparse.Namespace) -> int:
    with _campaign(arguments, create=False) as campaign:
        campaign.drop(arguments.trial)
    if arguments.json:
        _print_json({"trial": arguments.trial, "meaning": "withdrawn"})
    else:
        print(f"trial {arguments.trial} is withdrawn; its value stays in the record")
    return 0


def _status(arguments: argparse.Namespace) -> int:
    with _campaign(arguments, create=False) as campaign:
        _show_status(campaign, arguments.json)
    return 0


def _import(arguments: argparse.Namespace) -> int:
    from pinnbo.studies import table

    with _campaign(arguments, create=True) as campaign:
        new, known = table.enter(campaign, arguments.data)
    if arguments.json:
        _print_json({"entered": new, "known": known})
    else:
        print(f"entered {new} measurements" + (f", {known} were known already" if known else ""))
    return 0


def _export(arguments: argparse.Namespace) -> int:
    from pinnbo.studies import files, table

    with _campaign(arguments, create=False) as campaign:
        rows = table.rows(campaign)
        text = json.dumps(rows) + "\n" if arguments.json else table.as_csv(rows, campaign.problem.space.names)
        if arguments.output is not None:
            _refuse_to_overwrite(arguments.output, campaign)
    if arguments.output is None:
        print(text, end="")
        return 0
    try:
        files.write(arguments.output, text)
    except OSError as error:
        raise StudyError(f"--output: {str(arguments.output)!r} cannot be written: {error.strerror}") from None
    print(f"wrote {len(rows)} trials to {arguments.output}")
    return 0


_PICTURES, _FILM = (".png", ".svg", ".pdf"), ".gif"


def _plot(arguments: argparse.Namespace) -> int:
    given: Path | None = arguments.output
    ending, films = ".png" if given is None else given.suffix.lower(), arguments.kind == "time"
    if ending not in (*_PICTURES, *([_FILM] if films else [])):
        also = f", or {_FILM} for a film of --kind time" if not films else f" or {_FILM}"
        raise StudyError(
            f"--output: expected a file name that ends in {', '.join(_PICTURES)}{also}, got {str(given)!r}"
        )
    with _campaign(arguments, create=False) as campaign:
        from pinnbo import plots

        if arguments.kind not in plots.KINDS:
            raise StudyError(f"--kind: expected one of {', '.join(plots.KINDS)}, got {arguments.kind!r:.60}")
        output = given or arguments.file.with_name(f"{arguments.file.stem}-{arguments.kind}.png")
        _refuse_to_overwrite(output, campaign)
        optimizer, words = campaign.optimizer(), campaign.problem.words
        try:
            if ending == _FILM:
                plots.film(optimizer, output, **words)
            else:
                optimizer.plot(arguments.kind, **words).savefig(output)
        except plots.NothingToDraw as error:
            raise StudyError(str(error)) from None
        except OSError as error:
            raise StudyError(f"--output: {str(output)!r} cannot be written: {error.strerror}") from None
    print(f"wrote {output}")
    return 0


def _report(arguments: argparse.Namespace) -> int:
    output: Path | None = arguments.output
    if output is not None and output.suffix.lower() not in (".html", ".htm"):
        raise StudyError(f"--output: expected a file name that ends in .html, got {str(output)!r}")
    with _campaign(arguments, create=False) as campaign:
        from pinnbo import report
        from pinnbo.studies import table

        problem = campaign.problem
        output = output or arguments.file.with_suffix(".html")
        rows = [
            report.Row(
                row["trial"],
                [row[name] for name in problem.space.names],
                "impossible" if row["meaning"] == "infeasible" else row["meaning"],
                row["value"],
                row["noise"],
                "; ".join(
                    [*(f"was {old}" for old in row["was"]), *([row["reason"]] if row["reason"] else [])]
                ),
            )
            for row in table.rows(campaign)
        ]
        _refuse_to_overwrite(output, campaign)
        settings = [("Study", problem.name), ("Budget", f"{problem.budget} evaluations")]
        try:
            campaign.optimizer().report(
                output, title=problem.name, rows=rows, settings=settings, **problem.words
            )
        except OSError as error:
            raise StudyError(f"--output: {str(output)!r} cannot be written: {error.strerror}") from None
    print(f"wrote {output}")
    return 0


def _dashboard(arguments: argparse.Namespace) -> int:
    from pinnbo.studies import status
    from pinnbo.studies.dashboard import server_for

    with _campaign(arguments, create=False) as campaign, _ended_like_interrupted():
        note = status.as_note(status.of(campaign))
        server, address = server_for(
            campaign, note, arguments.host, arguments.port, writable=arguments.writable
        )
        with server:
            kind = "" if arguments.writable else ", read-only,"
            print(f"the dashboard of {campaign.problem.name}{kind} is at {address} until Ctrl-C", flush=True)
            try:
                server.serve_forever()
            except KeyboardInterrupt:
                return 0
    return 0


def _lab(arguments: argparse.Namespace) -> int:
    from pinnbo.studies import serving

    with _campaign(arguments, create=True) as campaign, _ended_like_interrupted():
        from pinnbo.studies.lab import LabPage

        page = LabPage(campaign)
        server, address = serving.server_for(page, "lab", arguments.host, arguments.port, writable=True)
        with server:
            print(f"the lab page of {campaign.problem.name} is at {address} until Ctrl-C", flush=True)
            try:
                server.serve_forever()
            except KeyboardInterrupt:
                return 0
    return 0


def _check(arguments: argparse.Namespace) -> int:
    from pinnbo.studies import checking, problem_file

    problem = problem_file.read(arguments.file)
    solution = checking.solution_of(problem, arguments.solution)
    return checking.check(problem, arguments.scale, print, quick=arguments.quick, solution=solution)


def _amend(arguments: argparse.Namespace) -> int:
    from pinnbo.studies import amending

    with _campaign(arguments, create=False) as campaign:
        for line in amending.amend(campaign):
            print(line)
    return 0


def _show(arguments: argparse.Namespace) -> int:
    from pinnbo.studies import problem_file, show

    print(show.as_text(problem_file.read(arguments.file)))
    return 0


def _check_storage(arguments: argparse.Namespace) -> int:
    from pinnbo.studies import maintenance, problem_file

    problem = problem_file.read(arguments.file)
    return maintenance.check(problem, _url(arguments) or problem.storage, arguments.salvage, print)


def _backup(arguments: argparse.Namespace) -> int:
    from pinnbo.studies import maintenance, problem_file

    problem = problem_file.read(arguments.file)
    maintenance.backup(_url(arguments) or problem.storage, arguments.copy)
    print(f"copied to {arguments.copy}")
    return 0


def _refuse_to_overwrite(output: Path, campaign: Campaign) -> None:
    """A slip in the name of a table must not cost the study."""
    from pinnbo.studies import storage

    own = {"the problem file": campaign.problem.path, "the storage": storage.file_of(campaign.url)}
    for what, file in own.items():
        if file is not None and output.exists() and file.exists() and output.samefile(file):
            raise StudyError(f"--output: {str(output)!r} is {what}, which is not overwritten")


def _url(arguments: argparse.Namespace) -> str | None:
    """The storage that was given; a password in it would be seen by everybody in the list of processes."""
    if arguments.storage is not None:
        from pinnbo.studies import storage

        if storage.has_password(arguments.storage):
            raise StudyError(
                f"--storage {storage.shown(arguments.storage)}: expected no password, which others see in the list of "
                "processes; put it into PGPASSWORD, ~/.pgpass or the problem file"
            )
    return arguments.storage


@contextmanager
def _campaign(arguments: argparse.Namespace, *, create: bool) -> Iterator[Campaign]:
    from pinnbo.studies import problem_file

    problem = problem_file.read(arguments.file)
    try:
        from pinnbo.studies.campaign import open_campaign
    except ModuleNotFoundError as error:
        raise ImportError(
            f"Studies are kept with Optuna, and {error.name} is not installed: pip install 'pinnbo[optuna]'"
        ) from error
    with open_campaign(problem, _url(arguments), create=create, say=_say) as campaign:
        yield campaign


def _say(sentence: str) -> None:
    print(f"pinnbo: {sentence}", file=sys.stderr)


@contextmanager
def _ended_like_interrupted() -> Iterator[None]:
    """A batch system's SIGTERM is treated like Ctrl-C, also in the background, where Ctrl-C is ignored."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _show_status(campaign: Campaign, as_json: bool) -> None:
    from pinnbo.studies import status

    now = status.of(campaign)
    if as_json:
        _print_json(now)
    else:
        print(status.as_text(now))


def _best_reading(campaign: Campaign) -> str:
    measured = campaign.record().of("measured")
    if not measured:
        return "nothing measured yet"
    sign = 1.0 if campaign.problem.goal == "minimize" else -1.0
    best = min(measured, key=lambda entry: sign * (entry.value or 0.0))
    word = "lowest" if campaign.problem.goal == "minimize" else "highest"
    return f"{word} reading {best.value:.4g} in trial {best.number}"


def _as_json(outcome: Outcome) -> dict[str, Any]:
    if outcome.value is None:
        return {"meaning": "lost", "reason": outcome.reason}
    return (
        {"meaning": "infeasible"}
        if math.isnan(outcome.value)
        else {"meaning": "measured", "value": outcome.value}
    )


def _as_number(value: float | None) -> float | str | None:
    return "infeasible" if value is not None and math.isnan(value) else value


def _print_json(value: Any) -> None:
    print(json.dumps(value, allow_nan=False), flush=True)


def _shown(value: float | None) -> str:
    return "lost" if value is None else "infeasible" if math.isnan(value) else repr(value)


def _value(text: str) -> float | None:
    if text.lower() == "lost":
        return None
    try:
        value = written.number(text)
    except ValueError:
        value = math.inf
    if math.isinf(value):
        raise StudyError(f"VALUE: expected a number, nan (impossible there) or lost, got {text!r:.60}")
    from pinnbo import values

    if not values.is_taken(value):
        raise StudyError(f"VALUE: expected a number of at most {values.LARGEST:g} in size, got {text!r:.60}")
    return value


def _number(text: str) -> int:
    if not text.isdecimal() or len(text) > _DIGITS:
        raise StudyError(f"TRIAL: expected the number of a trial, got {text!r:.60}")
    return int(text)


def _assigned(texts: list[str]) -> dict[str, float]:
    point: dict[str, float] = {}
    for text in texts:
        name, _, number = text.partition("=")
        if name in point:
            raise StudyError(f"--at: expected one number for {name}, got two")
        try:
            point[name] = written.number(number)
        except ValueError:
            raise StudyError(f"--at: expected NAME=NUMBER such as x=0.5, got {text!r:.60}") from None
    return point


def _at_least(lowest: int, highest: int = 10**_DIGITS) -> Callable[[str], int]:
    def integer(text: str) -> int:
        if not text.isdecimal() or len(text) > _DIGITS or not lowest <= int(text) <= highest:
            until = f" and <= {highest}" if highest < 10**_DIGITS else ""
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
