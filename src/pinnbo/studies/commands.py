"""The commands of ``pinnbo`` that work on problem files.

Nothing heavy is imported before a command runs.
"""

from __future__ import annotations

import argparse
import json
import math
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pinnbo.studies import phrases, written
from pinnbo.studies.errors import StudyError

if TYPE_CHECKING:
    from wsgiref.simple_server import WSGIServer

    from pinnbo.studies.campaign import Asked, Campaign
    from pinnbo.studies.evaluation import Outcome


def init(arguments: argparse.Namespace) -> int:
    """Write a problem file to start from."""
    from pinnbo.studies import starter

    rehearse = arguments.rehearse
    for file in starter.write(arguments.file, arguments.equation, python=arguments.python, rehearse=rehearse):
        print(f"wrote {file}")
    following = "ask" if not rehearse else "run"
    print(f"next: look into it, then pinnbo check {arguments.file} and pinnbo {following} {arguments.file}")
    return 0


def run(arguments: argparse.Namespace) -> int:
    """Evaluate until the budget is used up."""
    from pinnbo.progress import progress
    from pinnbo.studies.record import ANSWERED
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
        answered = len(campaign.record().of(*ANSWERED))
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


def ask(arguments: argparse.Namespace) -> int:
    """Say which points to evaluate next."""
    with _campaign(arguments, create=True) as campaign:
        asked = campaign.ask_many(arguments.n)
    for question in asked:
        if arguments.json:
            _print_json({"trial": question.number, "point": question.point})
        else:
            print(f"trial {question.number}: {phrases.point(question.point, campaign.problem.units)}")
    return 0


def tell(arguments: argparse.Namespace) -> int:
    """Enter a value."""
    expected = 1 if arguments.at else 2
    if len(arguments.answer) != expected:
        what = "VALUE" if arguments.at else "TRIAL VALUE"
        such = f"pinnbo tell {arguments.file} " + ("1.23 --at x=0.5" if arguments.at else "0 1.23")
        raise StudyError(f"tell: expected {what}, such as {such}, got {' '.join(arguments.answer)!r}")
    value = written.value(arguments.answer[-1])
    from pinnbo import values

    if arguments.noise is not None and not 0 <= arguments.noise <= values.LARGEST:
        raise StudyError(f"--noise: expected a finite standard deviation >= 0, got {arguments.noise}")
    if arguments.at and arguments.replace:
        raise StudyError("--replace: expected the number of a trial, got --at")
    if arguments.replace and arguments.noise is not None:
        raise StudyError("--noise cannot be corrected: drop the trial and tell it --at its point")
    if arguments.replace and arguments.batch is not None:
        raise StudyError("--batch cannot be corrected: drop the trial and tell it --at its point")
    if arguments.replace and arguments.of is not None:
        raise StudyError("--of cannot be corrected: drop the trial and tell it --at its point")
    if arguments.at:
        point = written.point(arguments.at)
    else:
        number = written.trial(arguments.answer[0])
    from pinnbo.studies.evaluation import Outcome

    outcome, was = Outcome(value, "lost" if value is None else None), None
    with _campaign(arguments, create=bool(arguments.at)) as campaign:
        if arguments.at:
            number = campaign.add(point, outcome, arguments.noise, arguments.batch, arguments.of)
        elif arguments.replace:
            was = campaign.replace(number, value)
        else:
            campaign.tell(number, outcome, arguments.noise, arguments.batch, arguments.of)
        far = [entry for entry in campaign.record().set_aside() if entry.number == number]
        again = _told_before(campaign, number) if arguments.at else None
    for entry in far:
        _say(values.why_far(f"trial {number}", entry.value or 0.0))
    if again is not None:
        _say(
            f"trial {number} has the place and the value of trial {again}; if it is the same measurement, "
            f"pinnbo drop {arguments.file} {number} withdraws it"
        )
    return _told(arguments, number, outcome, was)


def _told_before(campaign: Campaign, number: int) -> int | None:
    """An earlier trial with the same value at the same place."""
    held = campaign.record().of("measured", "read")
    mine = next((entry for entry in held if entry.number == number), None)
    same = [
        entry.number
        for entry in held
        if mine
        and entry.number < number
        and (entry.x, entry.value, entry.of) == (mine.x, mine.value, mine.of)
    ]
    return same[0] if same else None


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


def drop(arguments: argparse.Namespace) -> int:
    """Withdraw a trial."""
    with _campaign(arguments, create=False) as campaign:
        had_value = campaign.drop(arguments.trial)
    if arguments.json:
        _print_json({"trial": arguments.trial, "meaning": "withdrawn"})
    else:
        print(
            f"trial {arguments.trial} is withdrawn" + ("; its value stays in the record" if had_value else "")
        )
    return 0


def status(arguments: argparse.Namespace) -> int:
    """Say how the study stands."""
    with _campaign(arguments, create=False) as campaign:
        _show_status(campaign, arguments.json)
    return 0


def enter(arguments: argparse.Namespace) -> int:
    """Enter measurements from a CSV file."""
    from pinnbo.studies import table

    with _campaign(arguments, create=True) as campaign:
        new, known = table.enter(campaign, arguments.data)
    if arguments.json:
        _print_json({"entered": new, "known": known})
    else:
        print(f"entered {new} measurements" + (f", {known} were known already" if known else ""))
    return 0


def export(arguments: argparse.Namespace) -> int:
    """Write all trials as CSV."""
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


def plot(arguments: argparse.Namespace) -> int:
    """Draw a picture."""
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


def report(arguments: argparse.Namespace) -> int:
    """Write a report."""
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
                phrases.meaning(row["meaning"], row.get("of")),
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


def dashboard(arguments: argparse.Namespace) -> int:
    """Serve Optuna's dashboard."""
    from pinnbo.studies import status
    from pinnbo.studies.dashboard import server_for

    with _campaign(arguments, create=False) as campaign, _ended_like_interrupted():
        note = status.as_note(status.of(campaign))
        server, address = server_for(
            campaign, note, arguments.host, arguments.port, writable=arguments.writable
        )
        kind = "" if arguments.writable else ", read-only,"
        _serve(server, f"the dashboard of {campaign.problem.name}{kind} is at {address} until Ctrl-C")
    return 0


def lab(arguments: argparse.Namespace) -> int:
    """Serve the lab page."""
    from pinnbo.studies import serving

    with _campaign(arguments, create=True) as campaign, _ended_like_interrupted():
        from pinnbo.studies.lab import LabPage

        page = LabPage(campaign)
        server, address = serving.server_for(page, "lab", arguments.host, arguments.port, writable=True)
        _serve(server, f"the lab page of {campaign.problem.name} is at {address} until Ctrl-C")
    return 0


def _serve(server: WSGIServer, announced: str) -> None:
    """Say where a page is and serve it; whoever reads that may end it at once."""
    with server, suppress(KeyboardInterrupt):
        print(announced, flush=True)
        server.serve_forever()


def check(arguments: argparse.Namespace) -> int:
    """Look at the equation before the first experiment."""
    from pinnbo.studies import checking, problem_file

    problem = problem_file.read(arguments.file)
    solution = checking.solution_of(problem, arguments.solution)
    return checking.check(problem, arguments.scale, print, quick=arguments.quick, solution=solution)


def amend(arguments: argparse.Namespace) -> int:
    """Go on with the equation of the file."""
    from pinnbo.studies import amending

    with _campaign(arguments, create=False) as campaign:
        for line in amending.amend(campaign):
            print(line)
    return 0


def show(arguments: argparse.Namespace) -> int:
    """Say what a problem file would run."""
    from pinnbo.studies import problem_file, show

    print(show.as_text(problem_file.read(arguments.file)))
    return 0


def check_storage(arguments: argparse.Namespace) -> int:
    """Look for damage in the storage."""
    from pinnbo.studies import maintenance, problem_file

    problem = problem_file.read(arguments.file)
    return maintenance.check(problem, _url(arguments) or problem.storage, arguments.salvage, print)


def backup(arguments: argparse.Namespace) -> int:
    """Copy the storage."""
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
