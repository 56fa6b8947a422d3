import subprocess
import sys

import pytest

import pinnbo
from pinnbo import cli, methods, problems

SUBCOMMANDS = (
    "demo",
    "methods",
    "problems",
    "bench",
    "init",
    "run",
    "ask",
    "tell",
    "drop",
    "status",
    "import",
    "export",
    "dashboard",
    "plot",
    "report",
    "lab",
    "equations",
    "check",
    "amend",
)


def pinnbo_command(*arguments, **options):
    return subprocess.run(
        [sys.executable, "-m", "pinnbo.cli", *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        **options,
    )


def test_version():
    done = pinnbo_command("--version")
    assert (done.returncode, done.stdout.strip()) == (0, f"pinnbo {pinnbo.__version__}")


def test_help_names_every_command_and_imports_nothing_heavy():
    code = (
        "import sys; from pinnbo.cli import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "assert not {'jax', 'numpy', 'matplotlib', 'scipy', 'optuna', 'sqlalchemy'} & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert all(name in done.stdout for name in SUBCOMMANDS)


@pytest.mark.parametrize("name", SUBCOMMANDS)
def test_every_command_has_help(name, capsys):
    with pytest.raises(SystemExit) as stop:
        cli.main([name, "--help"])
    assert stop.value.code == 0
    assert f"pinnbo {name}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("command", "names"), [("methods", methods.available()), ("problems", problems.available())]
)
def test_lists_are_complete_and_described(command, names, capsys):
    assert cli.main([command]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(names)
    assert all(len(line.split()) > 2 for line in lines)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ([], "required: COMMAND"),
        (["dance"], "dance"),
        (["demo", "--trials", "0"], "--trials: expected an integer >= 1, got '0'"),
        (["demo", "--trials", "many"], "--trials: expected an integer >= 1, got 'many'"),
        (["demo", "--seed", "-1"], "--seed: expected an integer >= 0, got '-1'"),
        (["demo", "--method", "magic"], "--method: expected one of auto, ntk, pinn-bo, random, got 'magic'"),
        (["demo", "--output", "picture.jpeg"], "--output: expected a file name that ends in .png"),
        (["demo", "--output", "no/such/folder/picture.png"], "the folder 'no/such/folder' does not exist"),
        (["methods", "extra"], "unrecognized arguments: extra"),
        (["bench"], "required: COMMAND"),
        (["bench", "run", "--preset", "weekend"], "--preset: invalid choice: 'weekend'"),
        (["bench", "run", "--jobs", "0"], "--jobs: expected an integer >= 1, got '0'"),
        (
            ["bench", "run", "--methods", "magic"],
            "expected a method of auto, ntk, pinn-bo, random, got 'magic'",
        ),
        (["bench", "run", "--problems", "chess-8"], "unknown problem 'chess-8'"),
        (["bench", "report", "--records", "no/such/file"], "there are no records in 'no/such/file'"),
    ],
)
def test_bad_arguments_are_one_sentence_and_exit_code_2(arguments, complaint, capsys, monkeypatch):
    monkeypatch.setattr(methods, "available", lambda: ["auto", "ntk", "pinn-bo", "random"])
    try:
        code = cli.main(arguments)
    except SystemExit as stop:
        code = stop.code
    out, err = capsys.readouterr()
    assert code == 2
    assert out == ""
    assert err.count("\n") == 1
    assert err.startswith("pinnbo")
    assert complaint in err


def test_demo_shows_progress_and_result_and_draws_the_picture(tmp_path):
    done = pinnbo_command("demo", "--method", "random", "--trials", "5", "--output", "here.png", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "5 of 5 trials" in done.stderr
    assert "highest reading" in done.stderr
    lines = done.stdout.splitlines()
    for word in ("highest reading", "recommended", "measured there", "95% interval", "regret", "picture"):
        assert any(word in line for line in lines), word
    assert lines[-1].split()[-1] == str(tmp_path / "here.png")
    assert (tmp_path / "here.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_demo_as_in_make_demo(tmp_path):
    done = pinnbo_command("demo", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "pinnbo-demo.png").exists()
    regrets = [line for line in done.stdout.splitlines() if line.startswith("regret")]
    assert len(regrets) == 2
    assert all(float(regret.split()[1].rstrip("%")) < 5 for regret in regrets)


def test_demo_compares_methods_on_the_same_budget(tmp_path):
    done = pinnbo_command("demo", "--method", "random", "auto", "--trials", "4", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("Measuring 4 times") == 2
    assert (tmp_path / "pinnbo-demo.png").exists()


def test_a_missing_library_is_one_sentence(capsys, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert cli.main(["demo", "--method", "random", "--output", str(tmp_path / "x.png")]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.strip().endswith("pip install 'pinnbo[plots]'")
    assert err.count("\n") == 1
