"""Runs that are killed at random moments lose nothing and end with the number of evaluations that was asked for."""

import json
import random
import signal
import subprocess
import sys
import time
from datetime import timedelta

import numpy as np
import pytest

from pinnbo.studies import problem_file, workers
from pinnbo.studies.campaign import open_campaign
from pinnbo.studies.evaluation import Outcome
from studies_help import BY_PYTHON, PROBLEM


@pytest.fixture
def campaign(lab):
    with open_campaign(problem_file.read(lab.file), create=True) as campaign:
        yield campaign


# writes down what it measured before it says so
MEASURE = """\
import sys, time
x = float(sys.argv[1])
time.sleep({seconds})
with open("measured", "a") as file:
    file.write(f"{{x!r}} {{(x - 1.0) ** 2!r}}\\n")
print((x - 1.0) ** 2)
"""


def prepare(lab, budget, seconds=0.1, **changes):
    (lab.folder / "measure.py").write_text(MEASURE.format(seconds=seconds))
    base = PROBLEM.replace("budget = 6", f"budget = {budget}")
    for key, value in changes.items():
        base = f"{key} = {value}\n" + base
    lab.command(f"{sys.executable} measure.py {{x}}", base=base)


def killed_and_restarted(lab, kills, seed):
    """Kill a run that often at random moments; what all the runs said."""
    moments, said = random.Random(seed), []
    for _ in range(kills):
        process = lab.start("run", "--json")
        # begins to count when the run has begun, except when it dies before
        if moments.random() < 0.8:
            said.append(process.stdout.readline())
            time.sleep(moments.uniform(0.0, 1.0))
        else:
            time.sleep(moments.uniform(0.0, 4.0))
        process.send_signal(signal.SIGKILL)
        out, _ = process.communicate(timeout=60)
        said += out.splitlines()
    return [json.loads(line) for line in said if line.strip()]


def check_nothing_was_lost(lab, said, kills, budget):
    rows = {row["trial"]: row for row in lab.rows()}
    for report in said:
        if "trial" in report:
            assert rows[report["trial"]]["value"] == report["value"]
            assert rows[report["trial"]]["x"] == report["point"]["x"]
    measured = [row for row in rows.values() if row["meaning"] == "measured"]
    assert len(measured) == budget
    noted = [tuple(map(float, line.split())) for line in (lab.folder / "measured").read_text().splitlines()]
    assert {(row["x"], row["value"]) for row in measured} <= set(noted)
    # each kill costs at most the evaluation that was under way
    assert len(noted) - budget <= kills
    lost = [row["reason"] for row in rows.values() if row["meaning"] == "lost"]
    assert len(lost) <= kills
    assert set(lost) <= {"its worker died", "its worker died before it had a point"}


@pytest.mark.parametrize(
    ("kills", "budget"), [(3, 25), pytest.param(100, 400, marks=pytest.mark.slow)], ids=["three", "a hundred"]
)
def test_a_run_that_is_killed_and_restarted(lab, kills, budget):
    prepare(lab, budget)
    said = killed_and_restarted(lab, kills, seed=1)
    final = lab.json("run")
    said += final if isinstance(final, list) else [final]
    assert said[-1]["measured"] == budget
    assert said[-1]["under_way"] == []
    check_nothing_was_lost(lab, said, kills, budget)


def test_a_worker_on_another_machine_is_given_up_when_it_gives_no_sign_of_life(lab):
    lab.problem(BY_PYTHON, base="heartbeat = 1\n" + PROBLEM)
    with open_campaign(problem_file.read(lab.file), create=True) as campaign:
        gone = campaign.choose(campaign.start({"machine": "elsewhere", "process": 1, "started": ""}))
    status = lab.json("run", "--budget", "2")[-1]
    rows = lab.rows()
    assert rows[gone.number]["meaning"] == "lost"
    assert (status["measured"], status["lost"], status["under_way"]) == (2, 1, [])


def test_a_value_that_comes_after_its_trial_was_given_up_is_kept(lab, campaign):
    trial = campaign.start(workers.myself())
    asked = campaign.choose(trial)
    campaign.give_up(trial, "its worker died")
    assert campaign.store(asked, Outcome(0.5)) is None
    assert campaign.store(asked, Outcome(0.5)) is None, (
        "a second time, because the first answer was not heard"
    )
    assert [(row["meaning"], row["value"]) for row in lab.rows()] == [("lost", None), ("measured", 0.5)]
    assert lab.rows()[1]["x"] == asked.point["x"]


def test_only_the_dead_are_given_up(campaign):
    living = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    dead = subprocess.Popen([sys.executable, "-c", "pass"])
    dead.wait()
    me = workers.myself()
    others = [
        {**me, "process": dead.pid},
        {**me, "process": living.pid, "started": workers._started(living.pid)},
        {**me, "process": living.pid, "started": "an earlier process of this number"},
        {**me, "machine": "elsewhere", "process": dead.pid},
        me,
        workers.BY_HAND,
    ]
    for worker in others:
        campaign.choose(campaign.start(worker))
    assert workers.release_dead_trials(campaign.study) == [0, 2]
    assert workers.release_dead_trials(campaign.study) == []
    living.communicate(b"\n")
    assert workers.release_dead_trials(campaign.study) == [1]


def test_a_trial_that_nobody_took_charge_of(campaign, monkeypatch):
    """Killed between the beginning of a trial and the note of who works on it."""
    monkeypatch.setattr(workers, "WORKER", "forgotten")
    campaign.start("nobody")
    monkeypatch.undo()
    assert workers.release_dead_trials(campaign.study) == []
    monkeypatch.setattr(workers, "_STARTING", timedelta(0))
    assert workers.release_dead_trials(campaign.study) == [0]


def test_processes_that_take_the_last_place_together_keep_to_the_budget(lab):
    prepare(lab, 5, seconds=0.3)
    processes = [lab.start("run", "--workers", "2", "--json") for _ in range(2)]
    for process in processes:
        _, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
    rows = lab.rows()
    assert sum(row["meaning"] == "measured" for row in rows) == 5
    assert {row["reason"] for row in rows if row["meaning"] != "measured"} <= {"not needed"}
    assert len(np.unique([row["x"] for row in rows])) == len(rows)
