"""Hostile inputs on equations in text, several fields, unknown coefficients, the lab page, pictures and reports.

They count among the inputs of `test_fuzz`, whose words and checks these tests use.
"""

import copy
import io
import json
import random
import time
import warnings
from functools import cache

import pytest
from hypothesis import strategies as st

from pinnbo import PDE, Optimizer, Space
from pinnbo.operators import laplacian, partial
from pinnbo.studies import problem_file
from pinnbo.studies.campaign import open_campaign
from pinnbo.studies.lab import LabPage
from studies_help import PROBLEM
from test_fuzz import SECONDS, counts, each, mutate, mutated, odd, pinnbo, sentence

pytestmark = pytest.mark.usefixtures("unchecked")
PLANE = Space(x=(0.0, 1.0), y=(0.0, 2.0))


# ---------------------------------------------------------------- equations


WRITTEN = """
goal = "minimize"
budget = 6
method = "random"
equation = "d(T, x) = a*d2(T, y) + k*psi"
conditions = ["T = 20 on wall", "d(T, x) = 0 on x = 0"]
fields = ["T", "psi"]
measures = "T"
[space]
x = [0.0, 3.0]
y = [-1.0, 1.0]
[constants]
k = 0.3
[unknowns]
a = [0.01, 1.0]
[places]
wall = "y = 1"
[evaluate]
formula = "exp(x)*cos(y)"
"""


@counts(6, 60)
def test_problem_files_with_equations_that_were_changed(n, tmp_path):
    moments = random.Random(n)
    for number in range(n):
        folder = tmp_path / str(number)
        folder.mkdir()
        file = str(folder / "lab.toml")
        (folder / "lab.toml").write_text(mutated(WRITTEN, moments), encoding="utf-8", errors="surrogatepass")
        if pinnbo("show", file) == 0 and number % 3 == 0:
            pinnbo("check", file, "--quick")
            pinnbo("ask", file)
            pinnbo("run", file, "--budget", "2", "--json")


PIECES = [
    "d(",
    "d2(",
    "laplacian(",
    "div(",
    "grad(",
    "T",
    "psi",
    "x",
    "y",
    ",",
    ")",
    "(",
    "=",
    "+",
    "-",
    "*",
    "/",
    "**",
]
PIECES += [
    "0",
    "1e308",
    "-1",
    "2",
    "sin(",
    "where(",
    "<",
    "on",
    "and",
    "\n",
    ";",
    "a",
    "k",
    "[",
    "]",
    "é",
    "1e-320",
    "T(x, y)",
]


@counts(20, 250)
def test_any_equation(n):
    @each(n, pieces=st.lists(st.sampled_from(PIECES), max_size=12), unknowns=odd, constants=odd, fields=odd)
    def check(pieces, unknowns, constants, fields):
        started = time.monotonic()
        given = {}
        for name, thing in (("unknowns", unknowns), ("constants", constants), ("fields", fields)):
            if thing is not None and thing is not True:
                given[name] = {"a": thing} if isinstance(thing, float | int) and name != "fields" else thing
        with sentence():
            PDE.parse(" ".join(pieces), PLANE)
        with sentence():
            PDE.parse("d(T, x) = a*d(T, y)", PLANE, **given)
        assert time.monotonic() - started < SECONDS


# ---------------------------------------------------------------- several fields, unknown coefficients


@cache
def rod():
    """Two fields and an unknown coefficient."""
    return PDE(lambda T, psi, *, a: lambda x: a * partial(T, 0)(x) - psi(x))


@counts(10, 150)
def test_any_fields_and_unknowns(n):
    space = Space(x=(0.0, 1.0))
    ranges = odd | st.tuples(odd, odd)
    names = st.sampled_from(["a", "T", "psi", "x", "", "é", "a b"])

    @each(
        n,
        unknowns=st.dictionaries(names, ranges, max_size=2) | odd,
        measures=names | odd,
        pde=st.booleans() | odd,
        thing=st.sampled_from(["", "x", None, 1, 1j, b"T", [], {}]),
    )
    def check(unknowns, measures, pde, thing):
        equation = rod() if pde is True else None if pde is False else pde
        with sentence():
            Optimizer(space, equation, unknowns=unknowns)
        with sentence():
            Optimizer(space, equation, measures=measures, unknowns={"a": (0.1, 2.0)})
        with sentence():
            Optimizer(space, rod(), unknowns={"a": (0.1, 2.0)}, measures="T").predict([[0.5]], field=thing)


@counts(8, 100)
def test_states_with_fields_and_unknowns_that_were_changed(n):
    optimizer = Optimizer(Space(x=(0.0, 1.0)), rod(), unknowns={"a": (0.1, 2.0)}, measures="T", noise=0.1)
    optimizer.tell([[0.1], [0.3]], [1.0, 2.0])
    original, moments = optimizer.to_dict(), random.Random(n)
    for _ in range(n):
        stored = copy.deepcopy(original)
        mutate(stored, moments)
        with sentence():
            restored = Optimizer.from_dict(stored, rod())
            json.dumps(restored.to_dict(), allow_nan=False)


# ---------------------------------------------------------------- the lab page


def requested(page, method, path, body, **headers):
    """Status and JSON of an answer."""
    said = []
    environ = {
        "REQUEST_METHOD": method,
        "PATH_INFO": path,
        "CONTENT_TYPE": "application/json",
        "CONTENT_LENGTH": str(len(body)),
        "wsgi.input": io.BytesIO(body),
        **headers,
    }
    text = b"".join(page(environ, lambda status, _: said.append(int(status.split()[0])))).decode()
    (status,) = said
    return status, text


@counts(40, 400)
def test_any_request_to_the_lab_page(n, tmp_path):
    (tmp_path / "lab.toml").write_text(PROBLEM)
    moments = random.Random(n)
    numbers = [0, 1, -1, 2**63, 10**400, 1e155, -1e308, 1e9, 0.5, 5e-324]
    things = [*numbers, None, True, "", "1", "nan", "lost", "impossible", "x\0y", [], [1.0], {}, {"trial": 0}]
    with open_campaign(problem_file.read(tmp_path / "lab.toml"), create=True) as campaign:
        page = LabPage(campaign)
        for _ in range(n):
            path = moments.choice(
                ["/ask", "/tell", "/tell", "/tell", "/correct", "/withdraw", "/state", "/belief", "/x"]
            )
            given = {"trial": moments.choice([*range(4), *things])} if moments.random() < 0.9 else {}
            for name in ("value", "noise"):
                if moments.random() < 0.7:
                    given[name] = moments.choice(things)
            body = json.dumps(given).encode()
            kind = moments.random()
            if kind < 0.1:
                body = mutated(body.decode(), moments).encode()
            elif kind < 0.15:
                body = moments.choice(
                    [b"", b"[" * 9000, b"\xff", b"NaN", b"9" * 6000, b'{"trial": ' + b"9" * 5000 + b"}"]
                )
            headers = {"CONTENT_LENGTH": moments.choice(["", "-1", "x", "99999999"])} if kind > 0.97 else {}
            method = "GET" if path in ("/state", "/belief") and moments.random() < 0.9 else "POST"
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                status, text = requested(page, method, path, body, **headers)
            assert status in (200, 404, 409), text
            answer = json.loads(text, parse_constant=pytest.fail)
            assert status == 200 or 0 < len(answer["error"]) < 500, text
        answers = json.loads(requested(page, "GET", "/state", b"")[1])["answers"]
        assert all(abs(row["value"]) <= 1e70 for row in answers if row["value"] is not None)


# ---------------------------------------------------------------- pictures, reports and the commands for them


@counts(6, 80)
def test_any_arguments_of_pictures_and_reports(n, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lab.toml").write_text(PROBLEM)
    pinnbo("tell", "lab.toml", "1", "--at", "x=1")
    moments = random.Random(n)
    words = [
        "--kind",
        "field",
        "convergence",
        "trust",
        "../x",
        "",
        "é",
        "--output",
        "a.png",
        "a.html",
        "/proc/x.png",
    ]
    words += [
        "/dev/null/x.html",
        str(tmp_path),
        "lab.db",
        "lab.toml",
        "--scale",
        "nan",
        "0",
        "1e308",
        "--quick",
        "--storage",
    ]
    words += [
        "sqlite:///a.db",
        "--port",
        "99999",
        "-1",
        "--host",
        "256.1.1.1",
        "--equation",
        "heat",
        "--python",
    ]
    for _ in range(n):
        command = moments.choice(["plot", "report", "check", "amend", "show", "lab", "init", "equations"])
        given = moments.choices(words, k=moments.randint(0, 4))
        if command == "lab":
            given += ["--host", "256.1.1.1"]  # which cannot be served, so that the command ends
        pinnbo(command, moments.choice(["lab.toml", "lab.toml", "no.toml", "", str(tmp_path)]), *given)
    assert pinnbo("status", "lab.toml") == 0


@counts(6, 60)
def test_any_argument_of_a_picture_or_a_report(n, tmp_path):
    optimizer = Optimizer(Space(x=(0.0, 1.0)), method="random")
    optimizer.tell([[0.1], [0.3], [0.7]], [1.0, 2.0, 3.0])

    # not texts, with which a report would be written
    @each(n, thing=odd.filter(lambda thing: not isinstance(thing, str)))
    def check(thing):
        with sentence():
            optimizer.plot(thing)
        for wrong in ({"title": thing}, {"value": thing or 1}, {"units": {"x": thing}}, {"units": [thing]}):
            with sentence():
                optimizer.report(tmp_path / "a.html", **wrong)
            assert not (tmp_path / "a.html").exists()
        with sentence():
            PDE(laplacian).check(PLANE, scale=thing)
