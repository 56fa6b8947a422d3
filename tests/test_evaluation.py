"""Evaluations have an outcome whatever happens: every failure is one sentence, and no value can be read as code."""

import math
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from pinnbo import Space
from pinnbo.studies.evaluation import CommandEvaluation, NotStartedError, Outcome, PythonEvaluation

SPACE = Space(x=(-3.0, 3.0), y=(0.0, 1.0))
POINT = {"x": -1e-7, "y": 0.25}


def run(command, tmp_path, point=POINT, stop=None, **options):
    evaluation = CommandEvaluation(command, SPACE, tmp_path, **options)
    return evaluation(point, 7, stop or threading.Event())


def python(code):
    return f'{sys.executable} -c "{code}" {{x}} {{y}}'


def test_the_last_line_is_the_value(tmp_path):
    assert run(python("print('warming up'); print(0.5); print()"), tmp_path) == Outcome(0.5)
    assert run("echo {trial} {x} {y} 1e3", tmp_path).value is None
    assert run("printf '%s\\n' {x} {y}", tmp_path) == Outcome(0.25)


def test_numbers_arrive_exactly_and_one_to_a_word(tmp_path):
    run(python("import sys; open('seen', 'w').write(repr(sys.argv[1:])); print(1)"), tmp_path)
    assert (tmp_path / "seen").read_text() == "['-1e-07', '0.25']"


@pytest.mark.parametrize("shell", [False, True])
def test_only_numbers_are_ever_put_in(tmp_path, shell):
    """Whatever the storage holds, what reaches the command is a number or an error."""
    hostile = {"x": "1; touch pwned", "y": 0.5}
    with pytest.raises(ValueError, match="could not convert string to float"):
        run("echo {x} {y}", tmp_path, hostile, shell=shell)
    assert not (tmp_path / "pwned").exists()


def test_without_a_shell_its_signs_mean_nothing(tmp_path):
    outcome = run("echo {x} {y} ; touch pwned > out $HOME `id`", tmp_path)
    assert "`id`" in outcome.reason
    assert list(tmp_path.iterdir()) == []


def test_with_a_shell_pipes_work(tmp_path):
    assert run("printf '%s %s' {x} {y} | cut -d' ' -f2", tmp_path, shell=True) == Outcome(0.25)


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("import sys; print(3); sys.exit(4)", "the command ended with exit status 4"),
        (
            "import sys; print('a'); print('the pump stopped', file=sys.stderr); sys.exit(1)",
            "the command ended with exit status 1; it said 'the pump stopped'",
        ),
        ("pass", "expected a number as the last line of the command's output, it printed nothing"),
        ("print('hot')", "expected a number as the last line of the command's output, got 'hot'"),
        ("print('inf')", "expected a finite number or NaN, the command printed inf"),
        ("import os; os.kill(os.getpid(), 9)", "the command was ended by SIGKILL"),
    ],
)
def test_failures_are_lost_with_a_reason(tmp_path, code, reason):
    assert run(python(code), tmp_path) == Outcome(None, reason)


def test_nan_is_infeasible(tmp_path):
    assert math.isnan(run(python("print('NaN')"), tmp_path).value)


def test_a_command_that_cannot_be_started_says_nothing_about_the_place(tmp_path):
    (tmp_path / "no-run-bit").write_text("#!/bin/sh\necho 1\n")
    for command, why in (("./no-such-program", "No such file"), ("./no-run-bit", "Permission denied")):
        with pytest.raises(NotStartedError, match=f"the command could not be started: {why}"):
            run(f"{command} {{x}} {{y}}", tmp_path)
        with pytest.raises(
            NotStartedError, match=r"the command could not be started: it said .*[Nn]ot found|denied"
        ):
            run(f"{command} {{x}} {{y}}", tmp_path, shell=True)


def test_a_module_that_is_missing_says_nothing_about_the_place(tmp_path):
    with pytest.raises(NotStartedError, match="ModuleNotFoundError: No module named 'no_such_module'"):
        run(python("import no_such_module"), tmp_path)

    def measure(x):
        import no_such_module  # noqa: F401

    with pytest.raises(NotStartedError, match="the function could not be started: ModuleNotFoundError"):
        PythonEvaluation(measure, SPACE)(POINT, 7, threading.Event())


def test_an_exit_status_of_the_command_itself_is_a_loss(tmp_path):
    assert (
        run(python("import sys; sys.exit(127)"), tmp_path).reason == "the command ended with exit status 127"
    )


def test_a_megabyte_is_read_to_its_end(tmp_path):
    assert (
        run(python("print('x' * 79 + '\\\\n' * 1, end=''); print('y' * 1048576); print(2.5)"), tmp_path).value
        == 2.5
    )
    outcome = run(python("print('y' * 1048576)"), tmp_path)
    assert outcome.value is None
    assert len(outcome.reason) < 300


def test_a_command_that_hangs_is_stopped_with_its_children(tmp_path):
    started = time.monotonic()
    outcome = run("sh -c 'sleep 60 & echo $! > child; echo 1; sleep 60' {x} {y}", tmp_path, timeout=0.5)
    assert outcome == Outcome(None, "the command was stopped after its time limit of 0.5 s")
    assert time.monotonic() - started < 10
    child = (tmp_path / "child").read_text().strip()
    for _ in range(40):
        state = subprocess.run(
            ["ps", "-o", "stat=", "-p", child], capture_output=True, text=True, check=False
        )
        if state.stdout.strip() in ("", "Z"):
            break
        time.sleep(0.1)
    else:
        pytest.fail("the command's child still runs")


def test_a_command_that_ignores_the_end_is_ended_all_the_same(tmp_path):
    started = time.monotonic()
    code = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(60)"
    assert "time limit" in run(python(code), tmp_path, timeout=0.5).reason
    assert time.monotonic() - started < 10


def test_what_a_command_leaves_behind_is_not_waited_for(tmp_path):
    started = time.monotonic()
    assert run("sh -c 'sleep 20 & echo 1.5' {x} {y}", tmp_path) == Outcome(1.5)
    assert time.monotonic() - started < 10


def test_a_command_is_given_up_when_the_run_is_interrupted(tmp_path):
    stop = threading.Event()
    threading.Timer(0.3, stop.set).start()
    assert run("sh -c 'sleep 60' {x} {y}", tmp_path, stop=stop) == Outcome(None, "interrupted", tried=False)


def test_a_function():
    def evaluate(function):
        return PythonEvaluation(function, SPACE)(POINT, 7, threading.Event())

    seen = []
    assert evaluate(lambda x: seen.append(x) or 1) == Outcome(1.0)
    np.testing.assert_array_equal(seen[0], [-1e-7, 0.25])
    assert evaluate(lambda x: np.float32(0.5)) == Outcome(0.5)
    assert evaluate(lambda x: np.array(0.5)) == Outcome(0.5)
    assert math.isnan(evaluate(lambda x: math.nan).value)
    assert evaluate(lambda x: None) == Outcome(None, "the function returned None")
    assert evaluate(lambda x: "hot") == Outcome(None, "expected a number from the function, got \"'hot'\"")
    assert evaluate(lambda x: -math.inf) == Outcome(
        None, "expected a finite number or NaN, the function returned -inf"
    )
    assert evaluate(lambda x: 1 / 0).reason == "the function raised ZeroDivisionError: 'division by zero'"
