"""What each command imports: a value is entered, and a mistake answered, without waiting for JAX."""

import json
import subprocess
import sys

import pytest

PROBLEM = """
goal = "minimize"
budget = 6
method = "auto"
pde = "lab.py:pde"
[space]
x = [0.0, 3.0]
"""
LAB = "from pinnbo import PDE\nfrom pinnbo.operators import partial\npde = PDE(lambda f: partial(f, 0, order=2))\n"
HEAVY = ("jax", "equinox", "optax", "scipy.stats", "matplotlib", "torch", "pandas", "sklearn")
STORAGE = ("optuna", "sqlalchemy", "alembic", "numpy")


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """A problem file whose study has one open trial and one measurement."""
    folder = tmp_path_factory.mktemp("lab")
    (folder / "lab.toml").write_text(PROBLEM)
    (folder / "lab.py").write_text(LAB)
    for arguments in (["ask"], ["tell", "1.0", "--at", "x=0.5"]):
        assert loaded_by([arguments[0], str(folder / "lab.toml"), *arguments[1:]])[0] == 0
    return str(folder / "lab.toml")


def loaded_by(arguments):
    """Exit code and the loaded modules of a command in a process of its own."""
    code = (
        "import json, sys\n"
        "from pinnbo import cli\n"
        f"try: code = cli.main({arguments!r})\n"
        "except SystemExit as stop: code = stop.code\n"
        "print('\\n' + json.dumps([code, sorted(sys.modules)]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=True
    )
    code, modules = json.loads(done.stdout.splitlines()[-1])
    return code, set(modules)


@pytest.mark.parametrize(
    ("expected", "arguments"),
    [
        (0, ["tell", "FILE", "1.5", "--at", "x=0.1"]),
        (0, ["tell", "FILE", "1", "2.5", "--replace"]),
        (0, ["tell", "FILE", "0", "lost"]),
        (0, ["drop", "FILE", "1"]),
        (0, ["export", "FILE"]),
        (2, ["tell", "FILE", "999", "1.0"]),
        (2, ["drop", "FILE", "999"]),
        (2, ["tell", "FILE", "1.5", "--at", "x=7"]),
    ],
)
def test_values_go_in_and_out_without_jax(study, expected, arguments):
    code, modules = loaded_by([study if word == "FILE" else word for word in arguments])
    assert code == expected
    assert not modules & set(HEAVY)
    assert modules >= set(STORAGE)


@pytest.mark.parametrize(
    ("expected", "arguments"),
    [
        (0, ["--help"]),
        (0, ["--version"]),
        (0, ["ask", "--help"]),
        (0, ["methods"]),
        (2, ["dance"]),
        (2, ["tell", "FILE", "0"]),
        (2, ["tell", "FILE", "0", "many"]),
        (2, ["init", "plate.txt"]),
    ],
)
def test_what_needs_no_study_imports_next_to_nothing(study, expected, arguments):
    code, modules = loaded_by([study if word == "FILE" else word for word in arguments])
    assert code == expected
    assert not modules & {*HEAVY, *STORAGE}


def test_a_mistake_in_the_problem_file_is_answered_without_jax_and_optuna(tmp_path):
    (tmp_path / "lab.toml").write_text(PROBLEM.replace('"auto"', '"magic"'))
    code, modules = loaded_by(["ask", str(tmp_path / "lab.toml")])
    assert code == 2
    assert not modules & {*HEAVY, "optuna", "sqlalchemy"}
