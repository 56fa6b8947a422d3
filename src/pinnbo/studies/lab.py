"""The lab page: a study run by people, from browsers on this machine.

The page is one HTML file that asks for JSON. Everything is kept in the storage of the study and nothing here, so that
reloading the page, a second browser or a restart of the server lose nothing; a trial is answered once, and whoever
comes second is told. Python's own HTTP server carries it, behind the guard of the dashboard: a web framework would
bring a stack of packages for six requests.

=======================  ==========================================================================================
GET /                    the page
GET /state               what the storage holds: the queue, the answers, a version
GET /belief              what is believed of it, in words and as a map; takes a moment
POST /ask                {who}: choose a point, for somebody with a name or nobody in particular
POST /take               {trial, who}: somebody takes over a point that is under way
POST /tell               {trial, value: number | "impossible" | "lost", noise}
POST /correct            {trial, value}: another value for an answered trial; the old one stays in the record
POST /withdraw           {trial}
=======================  ==========================================================================================
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import threading
from collections.abc import Callable, Iterable
from html import escape
from typing import Any

from optuna.trial import TrialState

from pinnbo import values
from pinnbo.equations import grammar, symmetries
from pinnbo.equations.mathml import as_mathml
from pinnbo.equations.units import System
from pinnbo.pages import html
from pinnbo.studies import phrases
from pinnbo.studies.campaign import Campaign
from pinnbo.studies.errors import StorageError, StudyError
from pinnbo.studies.evaluation import Outcome
from pinnbo.studies.problem_file import ProblemFile
from pinnbo.studies.record import ANSWERED, Record

_LONGEST = 10_000  # bytes of a request
_MOST_ANSWERS = 200  # on the page; all of them are in the storage
_HIGHEST = 10**9  # number of a trial that somebody may mean
_WHO = "pinnbo:who"  # attribute of a trial
_LONGEST_NAME = 40
_NAMED = {"impossible": math.nan, "lost": None}


class LabPage:
    """The page and what it asks for, as a WSGI application."""

    def __init__(self, campaign: Campaign) -> None:
        self._campaign = campaign
        # there is one optimizer, which must not learn while it is asked
        self._thinking = threading.Lock()
        self._belief: tuple[str, dict[str, Any]] | None = None
        name = campaign.problem.name
        parts = {"name": escape(name), "equation": _equation(campaign.problem), "map": html.field_map()}
        # at once: what is put in is not looked at again
        body = re.sub(r"\{(\w+)\}", lambda found: parts[found[1]], html.asset("lab.html"))
        self._page = html.page(f"{name}: lab", body, ["map.js", "lab.js"], more="connect-src 'self'")

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        """Answer one request; what goes wrong is one sentence."""
        asked = (environ.get("REQUEST_METHOD", ""), environ.get("PATH_INFO", ""))
        if asked == ("GET", "/"):
            start_response("200 OK", [("Content-Type", "text/html; charset=utf-8")])
            return [self._page.encode()]
        actions: dict[tuple[str, str], Callable[[dict[str, Any]], Any]] = {
            ("GET", "/state"): lambda _: self.state(),
            ("GET", "/belief"): lambda _: self.belief(),
            ("POST", "/ask"): self._ask,
            ("POST", "/take"): self._take,
            ("POST", "/tell"): self._tell,
            ("POST", "/correct"): self._correct,
            ("POST", "/withdraw"): self._withdraw,
        }
        if asked not in actions:
            return _answer(start_response, "404 Not Found", {"error": "there is no such page"})
        try:
            return _answer(
                start_response, "200 OK", actions[asked](_body(environ) if asked[0] == "POST" else {})
            )
        except StorageError as error:
            return _answer(
                start_response, "503 Service Unavailable", {"error": f"nothing is stored: {error}"}
            )
        except (StudyError, ValueError, TypeError) as error:
            return _answer(start_response, "409 Conflict", {"error": str(error)})
        except Exception as error:  # the page says it, and the server goes on
            said = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
            return _answer(start_response, "500 Internal Server Error", {"error": said})

    def state(self) -> dict[str, Any]:
        """What the storage holds."""
        problem, held = self._campaign.problem, self._campaign.record()
        names, units, holders = problem.space.names, problem.units, self._holders()
        answered = [entry for entry in held.entries if entry.meaning != "pending"]
        return {
            "version": _version(held, holders),
            "goal": problem.goal,
            "budget": problem.budget,
            "units": {name: units[name] for name in names if name in units},
            "evaluations": len(held.of(*ANSWERED)),
            "sensors": list(problem.sensors),
            "queue": [
                {
                    "trial": entry.number,
                    "point": _named(names, entry.x),
                    "who": holders.get(entry.number, ""),
                }
                for entry in sorted(held.of("pending"))
            ],
            "answered": len(answered),
            "answers": [
                {
                    "trial": entry.number,
                    "point": _named(names, entry.x),
                    "meaning": phrases.meaning(entry.meaning, entry.of),
                    "value": None if entry.value is None or math.isnan(entry.value) else entry.value,
                    "noise": entry.noise,
                    "was": list(entry.was),
                }
                for entry in sorted(answered, key=lambda entry: -entry.number)[:_MOST_ANSWERS]
            ],
        }

    def belief(self) -> dict[str, Any]:
        """What is believed of it, in words and as a map."""
        from pinnbo.pages import words
        from pinnbo.pages.field_data import field_data
        from pinnbo.plots.canvas import Names
        from pinnbo.studies.stopping import outlook

        with self._thinking:
            version = _version(self._campaign.record(), self._holders())
            if self._belief is None or self._belief[0] != version:
                optimizer = self._campaign.optimizer()
                names = Names.of(optimizer, **self._campaign.problem.words)
                said = [
                    sentence._asdict() for sentence in words.summary(optimizer, names, outlook(optimizer))
                ]
                self._belief = (
                    version,
                    {
                        "version": version,
                        "value": names.text(names.value),
                        "words": said,
                        "field": field_data(optimizer, names),
                    },
                )
            return self._belief[1]

    def _holders(self) -> dict[int, str]:
        """Who has which of the points that are under way, as far as they said."""
        running = self._campaign.study.get_trials(deepcopy=False, states=(TrialState.RUNNING,))
        return {trial.number: str(trial.user_attrs[_WHO]) for trial in running if _WHO in trial.user_attrs}

    def _ask(self, given: dict[str, Any]) -> dict[str, Any]:
        who = _who(given)
        with self._thinking:
            asked = self._campaign.ask()
        self._hand_to(asked.number, who)
        return {"trial": asked.number, "point": asked.point}

    def _take(self, given: dict[str, Any]) -> dict[str, Any]:
        number, who = _trial(given), _who(given)
        if number not in [entry.number for entry in self._campaign.record().of("pending")]:
            raise StudyError(f"trial {number} is not under way")
        self._hand_to(number, who)
        return {"trial": number}

    def _hand_to(self, number: int, who: str) -> None:
        study = self._campaign.study
        (trial,) = [t for t in study.get_trials(deepcopy=False) if t.number == number]
        if who != trial.user_attrs.get(_WHO, ""):
            study._storage.set_trial_user_attr(trial._trial_id, _WHO, who)

    def _tell(self, given: dict[str, Any]) -> dict[str, Any]:
        number, value = _trial(given), _value(given)
        noise = given.get("noise")
        checked = None if noise is None else values.deviation(noise)
        of = given.get("of")
        if of is not None and not isinstance(of, str):
            raise StudyError(f"of: expected the name of a sensor, got {of!r:.60}")
        outcome = Outcome(value, "lost" if value is None else None)
        self._campaign.tell(number, outcome, checked, of=of or None)
        return {"trial": number}

    def _correct(self, given: dict[str, Any]) -> dict[str, Any]:
        number, value = _trial(given), _value(given)
        if value is None:
            raise StudyError("a value that was lost after all is withdrawn")
        self._campaign.replace(number, value)
        return {"trial": number}

    def _withdraw(self, given: dict[str, Any]) -> dict[str, Any]:
        number = _trial(given)
        self._campaign.drop(number)
        return {"trial": number}


def _version(held: Record, holders: dict[int, str]) -> str:
    """Of what a page is shown and of nothing that came meanwhile: it draws again when this changes."""
    entries = [(e.number, e.x, e.meaning, e.value, len(e.was)) for e in held.entries]
    said = repr((sorted(entries), sorted(holders.items())))
    return hashlib.sha256(said.encode()).hexdigest()[:16]


def _equation(problem: ProblemFile) -> str:
    """The equation as mathematics, read without loading what computes with it; empty where there is none in text."""
    written = problem.equation
    if written is None:
        return ""
    given = (*written.constants, *written.unknowns)
    system = System({name: unit for name, unit in written.units.items() if name not in given})
    text, stated = symmetries.split(written.text)
    lines = grammar.parse(text, problem.space.names, given, system) if text else []
    label = "; ".join(line for line in written.text.split("\n") if line)
    shown = (as_mathml(lines, label) if lines else "") + "".join(
        f"<p>{escape(str(one))}</p>" for one in stated
    )
    return f'<div class="scroll" tabindex="0" role="group" aria-label="Equations">{shown}</div>'


def _who(given: dict[str, Any]) -> str:
    who = given.get("who", "")
    if not isinstance(who, str) or len(who) > _LONGEST_NAME or not (who.isprintable() or not who):
        raise StudyError(f"expected a name of at most {_LONGEST_NAME} letters, got {who!r:.60}")
    return who.strip()


def _named(names: tuple[str, ...], x: tuple[float, ...]) -> dict[str, float]:
    return dict(zip(names, x, strict=True))


def _body(environ: dict[str, Any]) -> dict[str, Any]:
    """The JSON of a request; a form of another page cannot send this type."""
    if environ.get("CONTENT_TYPE", "").partition(";")[0].strip() != "application/json":
        raise StudyError("expected a request of type application/json")
    try:
        length = int(environ.get("CONTENT_LENGTH") or 0)
    except ValueError:
        length = -1
    if not 0 <= length <= _LONGEST:
        raise StudyError(f"expected a request of at most {_LONGEST} bytes")
    try:
        given = json.loads(environ["wsgi.input"].read(length) or b"{}")
    except (ValueError, RecursionError):
        raise StudyError("expected a request in JSON") from None
    if not isinstance(given, dict):
        raise StudyError("expected a JSON object")
    return given


def _trial(given: dict[str, Any]) -> int:
    number = given.get("trial")
    if isinstance(number, bool) or not isinstance(number, int) or abs(number) > _HIGHEST:
        raise StudyError(f"expected the number of a trial, got {number!r:.60}")
    return number


def _value(given: dict[str, Any]) -> float | None:
    value = given.get("value")
    if isinstance(value, str) and value in _NAMED:
        return _NAMED[value]
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise StudyError(f"expected a number, impossible or lost, got {value!r:.60}")
    return values.measured(value, "value")


def _answer(start_response: Callable[..., Any], status: str, value: Any) -> Iterable[bytes]:
    text = json.dumps(value, allow_nan=False)  # before anything is sent, because it may fail
    start_response(status, [("Content-Type", "application/json; charset=utf-8")])
    return [text.encode()]
