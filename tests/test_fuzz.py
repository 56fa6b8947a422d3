"""Hostile inputs: whatever is put in, out comes a result or one sentence, in time, in the box, and never NaN.

200 inputs in make test, more than 2,000 in make test-all.
"""

import contextlib
import copy
import io
import json
import math
import random
import time
import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pinnbo import Optimizer, Space, cli
from studies_help import PROBLEM

pytestmark = pytest.mark.usefixtures("unchecked")
SECONDS = 60.0

ODD_NUMBERS = [
    0,
    -0.0,
    1,
    -1,
    1e9,
    -1e9,
    1e12,
    1e155,
    -1e308,
    1e-300,
    5e-324,
    10**400,
    -(10**400),
    2**63,
    2**53 + 1,
]
ODD_NUMBERS += [
    math.nan,
    math.inf,
    -math.inf,
    1j,
    np.float32(3.5),
    np.int8(-3),
    np.float64("nan"),
    np.longdouble(2),
]
ODD_THINGS = [
    None,
    True,
    False,
    "",
    "1",
    "nan",
    "x\0y",
    "=1+1",
    b"1",
    [],
    [1.0],
    [[1.0]],
    {},
    {"x": 1},
    (),
    object(),
    len,
]
odd = st.sampled_from(ODD_NUMBERS + ODD_THINGS) | st.floats() | st.integers() | st.text(max_size=5)


def counts(quick, slow):
    """A test that is run on few inputs every time, and on many in make test-all."""
    return pytest.mark.parametrize(
        "n", [quick, pytest.param(slow, marks=pytest.mark.slow)], ids=["few", "many"]
    )


def each(n, **strategies):
    """Run a function on n inputs, the same in every run."""

    def run(function):
        limits = settings(
            max_examples=n,
            deadline=1000 * SECONDS,
            derandomize=True,
            database=None,
            suppress_health_check=list(HealthCheck),
        )
        limits(given(**strategies)(function))()

    return run


@contextlib.contextmanager
def sentence():
    """Refusals are one sentence of a kind that a caller can catch; what is thought odd is no error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # an outlier, for example
        refusal = None
        try:
            yield
        except (ValueError, TypeError) as error:
            refusal = str(error)
    assert refusal is None or (0 < len(refusal) < 1000 and "\n" not in refusal), refusal


# ---------------------------------------------------------------- Python


@counts(40, 500)
def test_any_box(n):
    @each(n, names=st.lists(st.text(max_size=4) | st.just("x"), max_size=3), low=odd, high=odd)
    def check(names, low, high):
        with sentence():
            space = Space(**dict.fromkeys(names, (low, high)))
            optimizer = Optimizer(space, method="random")
            for _ in range(3):
                x = optimizer.ask()
                assert np.isfinite(x).all()
                assert space.contains(x)
                optimizer.tell(x, 1.0)
            assert np.isfinite(optimizer.predict(x[None])).all()
            json.dumps(optimizer.to_dict(), allow_nan=False)


@counts(50, 700)
def test_any_value_noise_and_argument(n):
    @each(n, values=st.lists(odd, max_size=6), noise=odd, seed=odd, n_initial=odd, count=odd)
    def check(values, noise, seed, n_initial, count):
        space = Space(x=(0.0, 3.0), y=(-1.0, 1.0))
        optimizer = Optimizer(space, method="random")
        with sentence():
            optimizer = Optimizer(space, method="random", noise=noise, seed=seed, n_initial=n_initial)
        for value in values:
            with sentence():
                optimizer.tell(optimizer.ask(), value)
            with sentence():
                optimizer.tell(value, 1.0, noise)
            with sentence():
                optimizer.replace(value, value)
            with sentence():
                optimizer.drop(count)
            with sentence():
                optimizer.predict(value)
        with sentence():
            points = optimizer.ask(count) if not isinstance(count, int) or count < 100 else optimizer.ask()
            assert np.isfinite(points).all()
            assert all(space.contains(x) for x in np.atleast_2d(points))
        best = optimizer.best
        assert best is None or np.isfinite([best.value, best.mean, *best.interval]).all()
        stored = json.loads(json.dumps(optimizer.to_dict(), allow_nan=False))
        assert Optimizer.from_dict(stored).to_dict() == stored


@counts(4, 60)
def test_the_recommended_method_with_any_values(n):
    """Whatever was measured, the next point lies in the box and the predictions are numbers."""
    sizes = st.sampled_from([1e-30, 1e-9, 1.0, 1e6, 1e9, 1e12, 1e60])
    measured = st.builds(lambda size, number: size * number, sizes, st.floats(-1.0, 1.0))

    @each(n, values=st.lists(measured, min_size=4, max_size=9), offset=st.sampled_from([0.0, 1.0, 1e12]))
    def check(values, offset):
        space = Space(x=(0.0, 3.0))
        optimizer = Optimizer(space, goal="maximize")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            points = space.sobol(len(values), 0)
            optimizer.tell(points, [offset + value for value in values])
            x = optimizer.ask()
            assert space.contains(x)
            assert np.isfinite(optimizer.predict(space.sobol(16, 1))).all()
            assert np.isfinite(optimizer.best.interval).all()


@counts(40, 400)
def test_states_that_were_changed(n):
    optimizer = Optimizer(Space(x=(0.0, 1.0), y=(-1.0, 1.0)), method="random", noise=0.1)
    optimizer.ask()
    optimizer.tell([[0.1, 0.2], [0.3, 0.4]], [1.0, math.nan], noise=0.2)
    optimizer.replace(0, 2.0)
    original = optimizer.to_dict()
    moments = random.Random(n)
    for _ in range(n):
        stored = copy.deepcopy(original)
        for _ in range(moments.randint(1, 3)):
            mutate(stored, moments)
        started = time.monotonic()
        with sentence():
            restored = Optimizer.from_dict(stored)
            x = restored.ask()
            assert restored.space.contains(x)
            assert np.isfinite(x).all()
        assert time.monotonic() - started < SECONDS


def mutate(tree, moments):
    """Change, delete, add or exchange something somewhere in a tree of dicts and lists."""
    places = [(tree, key) for key in (tree if isinstance(tree, dict) else range(len(tree)))]
    for holder, key in places:
        inner = holder[key]
        if isinstance(inner, dict | list):
            places += [
                (inner, deeper) for deeper in (inner if isinstance(inner, dict) else range(len(inner)))
            ]
    if not places:
        return
    holder, key = moments.choice(places)
    kind = moments.random()
    if kind < 0.5:
        holder[key] = moments.choice([*ODD_NUMBERS, *ODD_THINGS])
    elif kind < 0.7:
        del holder[key]
    elif kind < 0.85:
        other, place = moments.choice(places)
        with contextlib.suppress(KeyError, IndexError):
            holder[key] = copy.deepcopy(other[place])
    elif isinstance(holder, dict):
        holder[moments.choice(["extra", "x", ""])] = 1
    else:
        holder.append(moments.choice(ODD_NUMBERS))


# ---------------------------------------------------------------- the shell


def pinnbo(*arguments):
    """Run a command; what it says on errors, after a check that it said it in sentences and in time."""
    out, err = io.StringIO(), io.StringIO()
    started = time.monotonic()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = cli.main(list(arguments))
        except SystemExit as stop:
            code = stop.code
    assert time.monotonic() - started < SECONDS, arguments
    assert code in (0, 1, 2, 3), (code, arguments)
    assert "Traceback" not in err.getvalue(), err.getvalue()
    assert arguments[0] not in ("ask", "status") or "nan" not in out.getvalue().lower(), out.getvalue()
    if code:
        lines = [line for line in err.getvalue().splitlines() if "began a new study" not in line]
        assert 1 <= len(lines) <= 3, err.getvalue()
    # a sentence that only the last resort could write is one that we forgot
    assert "(--debug shows where)" not in err.getvalue(), err.getvalue()
    return code


FILE = (
    PROBLEM
    + """
y = [-1.0, 1.0]
[evaluate]
command = "./measure {x} {y}"
timeout = 5.0
"""
)
ODD_TEXTS = [
    "nan",
    "inf",
    "-1",
    "1e400",
    "9" * 5000,
    '"a\\u0000b"',
    "[]",
    "[[[]]]",
    "{}",
    "true",
    "''",
    '"=1"',
    "1979-05-27",
]
ODD_LINES = [
    "[space]",
    "[[space]]",
    "x = [1, 0]",
    "storage = 'mysql://h/d'",
    "noise = 1e200",
    "name = ''",
    "seed = -1",
]
ODD_LINES += [
    "method = 'magic'",
    "pde = 'os:system'",
    "pde = '../../x.py:y'",
    "a = " + "[" * 5000,
    "\0",
    "name = 'é\\t'",
]
ODD_LINES += [
    "heartbeat = " + "9" * 400,
    "budget = 0",
    "value = [0, 1]",
    "'' = [0, 1]",
    "storage = 'sqlite:///.'",
]


def mutated(text, moments):
    """A text with characters, words or lines changed, doubled or left out."""
    for _ in range(moments.randint(1, 3)):
        lines = text.split("\n")
        i = moments.randrange(len(lines))
        kind = moments.randrange(6)
        if kind == 0:
            del lines[i]
        elif kind == 1:
            lines.insert(i, moments.choice(ODD_LINES))
        elif kind == 2:
            lines.insert(i, lines[moments.randrange(len(lines))])
        elif kind == 3 and "=" in lines[i]:
            lines[i] = lines[i].split("=")[0] + "= " + moments.choice(ODD_TEXTS)
        elif lines[i]:
            j = moments.randrange(len(lines[i]))
            lines[i] = (
                lines[i][:j]
                + chr(moments.choice([0, 10, 34, 39, 45, 61, 91, 93, 0xE9, 0x1F600]))
                + lines[i][j + 1 :]
            )
        text = "\n".join(lines)
    return text


@counts(32, 350)
def test_problem_files_that_were_changed(n, tmp_path):
    moments = random.Random(n)
    for number in range(n):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "lab.toml").write_text(mutated(FILE, moments), encoding="utf-8", errors="surrogatepass")
        if pinnbo("show", str(folder / "lab.toml")) == 0 and number % 3 == 0:
            pinnbo("ask", str(folder / "lab.toml"), "--json")
            pinnbo("export", str(folder / "lab.toml"), "--json")


@counts(24, 250)
def test_any_arguments(n, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # some of the words are names of files to write
    (tmp_path / "lab.toml").write_text(PROBLEM)
    file, moments = str(tmp_path / "lab.toml"), random.Random(n)
    words = [
        "0",
        "-1",
        "1e155",
        "1e400",
        "nan",
        "lost",
        "x=1",
        "x=nan",
        "x=1e400",
        "=",
        "x=",
        "9" * 5000,
        "",
        "é",
        "²",
    ]
    words += [
        "--at",
        "--noise",
        "--replace",
        "--json",
        "-n",
        "--storage",
        "sqlite://",
        "sqlite:///",
        "--budget",
        "3",
        "--",
    ]
    words += [
        "postgresql://u:p@127.0.0.1:1/d",
        "://@",
        "--output",
        str(tmp_path),
        "--salvage",
        "/proc/x",
        "/dev/null/x",
    ]
    commands = ["ask", "tell", "drop", "import", "export", "check-storage", "backup", "show"]
    pinnbo("ask", file)
    for _ in range(n):
        pinnbo(moments.choice(commands), file, *moments.choices(words, k=moments.randint(0, 4)))


@counts(10, 150)
def test_tables_that_were_changed(n, tmp_path):
    (tmp_path / "lab.toml").write_text(PROBLEM)
    moments = random.Random(n)
    for _ in range(n):
        table = mutated("x,value,noise\n1.0,2.0,\n2.0,nan,0.1\n0.5,1e9,\n", moments)
        (tmp_path / "data.csv").write_text(table)
        pinnbo("import", str(tmp_path / "lab.toml"), str(tmp_path / "data.csv"))
    assert pinnbo("export", str(tmp_path / "lab.toml")) in (0, 2)
