"""Studies from the command line: ask, tell, corrections, tables, status, run, dashboard; and what is refused."""

import contextlib
import csv
import json
import signal
import socket
import sqlite3
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import psycopg
import pytest
import sqlalchemy
from optuna.storages import RDBStorage

from pinnbo import PDE, Optimizer, Space
from pinnbo.operators import laplacian
from pinnbo.studies import commands, problem_file, runner
from pinnbo.studies.campaign import open_campaign
from pinnbo.studies.evaluation import Outcome
from pinnbo.studies.stopping import outlook
from studies_help import BY_PYTHON, PROBLEM

# ---------------------------------------------------------------- by hand


def test_ask_and_tell(lab):
    first = lab.json("ask")
    assert first["trial"] == 0
    assert 0.0 <= first["point"]["x"] <= 3.0
    both = lab.json("ask", "-n", "2")
    assert [question["trial"] for question in both] == [1, 2]
    assert lab.ok("tell", "0", "-1e-3").strip() == "trial 0: -0.001"
    assert lab.json("tell", "1", "nan") == {"trial": 1, "meaning": "infeasible"}
    assert lab.json("tell", "2", "lost")["meaning"] == "lost"
    assert lab.json("tell", "0.5", "--noise", "0.1", "--at", "x=1.5")["trial"] == 3
    rows = lab.rows()
    assert [row["meaning"] for row in rows] == ["measured", "infeasible", "lost", "measured"]
    assert [row["value"] for row in rows] == [-0.001, None, None, 0.5]
    assert (rows[3]["x"], rows[3]["noise"]) == (1.5, 0.1)
    status = lab.json("status")
    assert (status["measured"], status["infeasible"], status["lost"], status["under_way"]) == (2, 1, 1, [])
    assert status["best"]["value"] == -0.001


def test_a_value_is_entered_whatever_happened_to_the_file_of_the_equation(lab):
    (lab.folder / "physics.py").write_text("from pinnbo import PDE\npde = PDE(lambda f: f)\n")
    lab.problem(base='pde = "physics.py:pde"\n' + PROBLEM)
    lab.ok("ask")
    (lab.folder / "physics.py").unlink()
    lab.ok("tell", "0", "1.5")
    assert lab.rows()[0]["value"] == 1.5
    assert "there is no file 'physics.py'" in lab.refused("status")


def test_an_equation_that_cannot_be_loaded_leaves_no_study_behind(lab):
    lab.problem(base='pde = "no.py:pde"\n' + PROBLEM)
    for arguments in (["ask"], ["tell", "1.0", "--at", "x=1"]):
        assert "there is no file 'no.py'" in lab.refused(*arguments)
        assert not list(lab.folder.glob("*.db"))


def test_what_is_asked_is_under_way_until_it_is_told(lab):
    lab.ok("ask", "-n", "2")
    text = lab.ok("status")
    assert "under way, trial 0" in text
    assert "under way, trial 1" in text
    assert "nothing measured yet" in text
    lab.ok("tell", "0", "1.0")
    assert [one["trial"] for one in lab.json("status")["under_way"]] == [1]


def test_a_wrong_value_is_corrected_and_the_old_one_kept(lab):
    lab.ok("ask", "-n", "3")
    for trial in "012":
        lab.ok("tell", trial, "50")
    assert lab.ok("tell", "0", "5", "--replace").strip() == "trial 0: 5.0 instead of 50.0"
    lab.ok("tell", "0", "6", "--replace")
    assert "its value stays in the record" in lab.ok("drop", "1")
    rows = lab.rows()
    assert (rows[0]["value"], rows[0]["was"]) == (6.0, [50.0, 5.0])
    assert (rows[1]["meaning"], rows[1]["value"], rows[1]["was"]) == ("withdrawn", None, [50.0])
    status = lab.json("status")
    assert (status["measured"], status["withdrawn"], status["corrected"]) == (2, 1, [0])
    assert status["best"]["value"] == 6.0
    assert lab.json("tell", "2", "nan", "--replace") == {"trial": 2, "meaning": "infeasible", "was": 50.0}
    assert lab.json("tell", "2", "7", "--replace")["was"] == "infeasible"
    # a withdrawn value may be entered after all
    lab.ok("tell", "1", "4", "--replace")
    assert lab.rows()[1]["value"] == 4.0


def test_a_question_can_be_withdrawn(lab):
    lab.ok("ask")
    lab.ok("drop", "0")
    assert lab.json("status")["under_way"] == []
    assert lab.rows()[0]["reason"] == "withdrawn"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (
            ["tell", "0", "7"],
            "trial 0 is measured (5.0) already; tell --replace corrects it, drop withdraws it",
        ),
        (["tell", "9", "7"], "trial 9 does not exist; there are trials 0 to 1"),
        (["tell", "1", "7", "--replace"], "trial 1 has no value yet; tell it without --replace"),
        (["tell", "0", "hot"], "VALUE: expected a number, nan (impossible there) or lost, got 'hot'"),
        (["tell", "0", "inf"], "VALUE: expected a number, nan (impossible there) or lost, got 'inf'"),
        (["tell", "zero", "1"], "TRIAL: expected the number of a trial, got 'zero'"),
        (["tell", "1"], "0 1.23, got '1'"),
        (["tell", "1", "2", "--at", "x=1"], "1.23 --at x=0.5, got '1 2'"),
        (["tell", "1", "--at", "x"], "--at: expected NAME=NUMBER such as x=0.5, got 'x'"),
        (["tell", "1", "--at", "z=1"], "expected a value of x: 'z' is none of them; x is missing"),
        (["tell", "1", "--at", "x=4"], "expected a point of Space(x=(0, 3)): x = 4 is outside 0 to 3"),
        (["tell", "1", "--at", "x=nan"], "expected finite coordinates"),
        (["tell", "1", "2", "--noise", "-1"], "--noise: expected a finite standard deviation >= 0, got -1.0"),
        (["drop", "5"], "trial 5 does not exist; there are trials 0 to 1"),
        (["run"], "has no [evaluate] table: it is evaluated by hand, with pinnbo ask and pinnbo tell"),
        (["import", "no.csv"], "'no.csv' cannot be read: No such file or directory"),
        (["export", "--output", "no/such/folder.csv"], "'no/such/folder.csv' cannot be written"),
        (
            ["status", "--storage", "mysql://host/x"],
            "expected sqlite:///FILE or postgresql://USER@HOST/DATABASE",
        ),
        (["status", "--storage", "nonsense"], "expected sqlite:///FILE or postgresql://USER@HOST/DATABASE"),
    ],
)
def test_what_makes_no_sense_is_one_sentence_and_changes_nothing(lab, arguments, complaint):
    lab.ok("ask", "-n", "2")
    lab.ok("tell", "0", "5")
    before = lab.rows()
    assert complaint in lab.refused(*arguments)
    assert lab.rows() == before


@pytest.mark.parametrize("command", ["status", "export", "drop", "dashboard", "tell"])
def test_a_study_that_has_not_been_started(lab, command):
    more = {"drop": ["0"], "tell": ["0", "1"]}.get(command, [])
    assert "study 'lab' has not been started; pinnbo ask, tell, import or run" in lab.refused(command, *more)
    assert not lab.folder.joinpath("lab.db").exists()


# ---------------------------------------------------------------- tables


def test_import_and_export(lab):
    data = lab.folder / "old.csv"
    data.write_text("x,value,noise\n1.0,0.5,\n2.0,nan,\n2.5,-3,0.2\n")
    assert lab.json("import", str(data)) == {"entered": 3, "known": 0}
    assert lab.ok("import", str(data)).strip() == "entered 0 measurements, 3 were known already"
    out = lab.folder / "out.csv"
    lab.ok("export", "--output", str(out))
    with out.open() as file:
        rows = list(csv.DictReader(file))
    assert [row["value"] for row in rows] == ["0.5", "nan", "-3.0"]
    # what was exported can be read by another study
    lab.problem('name = "copy"', base="")
    lab.file.write_text('name = "copy"\n' + PROBLEM)
    assert lab.json("import", str(out)) == {"entered": 3, "known": 0}
    assert [row["noise"] for row in lab.rows()] == [None, None, 0.2]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("x,y\n1,2\n", "expected a column 'value', got x, y"),
        ("", "expected a column 'x', got none"),
        ("x,value\n1,2\n1,hot\n", "line 3: value: expected a number, got 'hot'"),
        ("x,value\n1,2\n7,2\n", "line 3: expected a point of Space(x=(0, 3)): x = 7 is outside 0 to 3"),
        ("x,value\n1,inf\n", "line 2: value: expected a value of at most 1e+70 in size"),
        ("x,value,noise\n1,2,-1\n", "line 2: noise: expected a finite standard deviation >= 0, got -1.0"),
        ("x,value\n1\n", "line 2: value: expected a number, got None"),
    ],
)
def test_a_table_with_a_mistake_is_refused_as_a_whole(lab, text, complaint):
    data = lab.folder / "old.csv"
    data.write_text(text)
    assert complaint in lab.refused("import", str(data))
    assert lab.rows() == []


# ---------------------------------------------------------------- run


def test_run_to_the_budget_and_not_beyond(lab):
    lab.problem(BY_PYTHON)
    *reports, status = lab.json("run")
    assert [report["trial"] for report in reports] == list(range(6))
    assert all(report["value"] == (report["point"]["x"] - 1.0) ** 2 for report in reports)
    assert (status["measured"], status["budget"]) == (6, 6)
    assert lab.json("run")["measured"] == 6
    assert lab.json("run", "--budget", "8")[-1]["measured"] == 8
    assert len(lab.rows()) == 8


def test_progress_and_best_are_shown(lab):
    lab.problem(BY_PYTHON)
    code, out, err = lab.pinnbo("run")
    assert code == 0
    assert "6 of 6 trials" in err
    assert "lowest reading" in err
    assert "still to be gained" in out


def test_workers_share_the_budget(lab):
    lab.command("sh -c 'sleep 0.3; echo 1' {x}")
    started = time.monotonic()
    *reports, status = lab.json("run", "--workers", "3")
    assert len(reports) == status["measured"] == 6
    assert len({report["point"]["x"] for report in reports}) == 6
    assert time.monotonic() - started < 60


def test_a_run_that_leaves_a_rest_to_people_says_so(lab):
    lab.problem(BY_PYTHON)
    lab.ok("ask", "-n", "6")
    code, _, err = lab.pinnbo("run")
    assert (code, "the rest of the budget, 6 of 6, is under way by hand" in err) == (0, True)


def test_a_point_that_is_withdrawn_before_it_was_measured(lab):
    lab.ok("ask")
    assert lab.ok("drop", "0") == "trial 0 is withdrawn\n"
    status = lab.json("status")
    assert (status["lost"], status["withdrawn"]) == (0, 1)
    assert "is withdrawn already" in lab.refused("drop", "0")


def test_the_same_value_at_the_same_place_is_pointed_out(lab):
    lab.ok("tell", "1.5", "--at", "x=0.5")
    code, out, err = lab.pinnbo("tell", "1.5", "--at", "x=0.5")
    assert (code, out) == (0, "trial 1: 1.5\n")
    assert "trial 1 has the place and the value of trial 0" in err


def test_trials_that_are_under_way_by_hand_have_their_place_in_the_budget(lab):
    lab.problem(BY_PYTHON)
    lab.ok("ask", "-n", "2")
    status = lab.json("run")[-1]
    assert (status["measured"], len(status["under_way"])) == (4, 2)


@pytest.mark.parametrize("workers", ["1", "2"])
def test_three_losses_in_a_row_end_the_run(lab, workers):
    lab.command("sh -c 'exit 3' {x}", base=PROBLEM.replace("budget = 6", "budget = 30"))
    code, _, err = lab.pinnbo("run", "--workers", workers)
    assert code == 1
    assert "is lost: the command ended with exit status 3" in err
    assert "3 evaluations in a row were lost, the last because the command ended with exit status 3" in err
    assert 3 <= len(lab.rows()) <= 4
    assert {row["reason"] for row in lab.rows()} == {"the command ended with exit status 3"}


@pytest.mark.parametrize("workers", ["1", "3"])
def test_a_script_without_its_run_bit_costs_nothing_once_it_is_mended(lab, workers):
    script = lab.folder / "measure"
    script.write_text("#!/bin/sh\necho 1.5\n")
    lab.command("./measure {x}")
    for _ in range(4):  # more often than what counts as hopeless
        code, _, err = lab.pinnbo("run", "--workers", workers)
        assert code == 1
        assert err.count("the command could not be started: Permission denied: ") == 1
        assert "is lost" not in err
    record = _record(lab)
    assert record.points("pending", "measured", "infeasible").size == 0
    assert len(record.told()[0]) == 0
    script.chmod(0o755)
    lab.ok("run", "--workers", workers)
    status = lab.json("status")
    assert (status["measured"], status["infeasible"]) == (6, 0)


def test_what_was_never_tried_is_not_hopeless_and_what_failed_three_times_is(lab):
    lab.problem()
    with open_campaign(problem_file.read(lab.file), create=True) as campaign:
        for reason, tried in (("interrupted", False), ("crashed", True)):
            for _ in range(3):
                campaign.add({"x": 1.0}, Outcome(None, reason, tried))
            assert len(campaign.record().told()[0]) == (3 if tried else 0)


def _record(lab):
    with open_campaign(problem_file.read(lab.file), create=False) as campaign:
        return campaign.record()


def test_what_is_lost_is_tried_again_and_what_is_infeasible_counts(lab):
    (lab.folder / "lab.py").write_text(
        "import math\ncalls = []\n"
        "def measure(x):\n    calls.append(1)\n"
        "    if len(calls) == 2: raise RuntimeError('the pump stopped')\n"
        "    return math.nan if len(calls) == 4 else 1.0\n"
    )
    lab.problem(BY_PYTHON)
    code, _, err = lab.pinnbo("run")
    assert code == 0
    assert "trial 1 at x=" in err
    assert "is lost: the function raised RuntimeError: 'the pump stopped'" in err
    status = lab.json("status")
    assert (status["measured"], status["infeasible"], status["lost"]) == (5, 1, 1)


def test_until_stops_when_little_is_to_be_gained(lab):
    (lab.folder / "lab.py").write_text(
        "from pinnbo import PDE\nfrom pinnbo.operators import laplacian\nimport numpy as np\n"
        "pde = PDE(lambda f: lambda x: laplacian(f)(x) + 4.0 * f(x))\n"
        "def measure(x): return float(np.cos(2.0 * x[0] + 0.5))\n"
    )
    base = PROBLEM.replace('method = "random"', 'pde = "lab.py:pde"\nnoise = 0.001').replace("= 6", "= 30")
    lab.problem(BY_PYTHON, base=base)
    code, _, err = lab.pinnbo("run", "--until", "0.01")
    assert code == 0
    assert "one more evaluation is expected to gain" in err
    status = lab.json("status")
    assert status["measured"] < 15
    assert status["expected_improvement"] < 0.01
    low, high = status["best"]["interval"]
    assert low < -0.99
    assert high - low < 0.05


@pytest.mark.parametrize(
    "arguments", [["--until", "0"], ["--until", "soon"], ["--workers", "0"], ["--budget", "-1"]]
)
def test_bad_options_of_run(lab, arguments):
    code, _, err = lab.pinnbo("run", *arguments)
    assert code == 2
    assert f"{arguments[0]}: expected" in err


@pytest.mark.parametrize("workers", ["1", "2"])
@pytest.mark.parametrize(
    ("number", "interrupt"),
    [(signal.SIGINT, signal.SIG_DFL), (signal.SIGTERM, signal.SIG_DFL), (signal.SIGTERM, signal.SIG_IGN)],
    ids=["Ctrl-C", "SIGTERM", "SIGTERM in the background"],
)
def test_an_interrupted_run_can_be_gone_on_with(lab, workers, number, interrupt):
    lab.command(f"{sys.executable} -c 'import sys, time; time.sleep(0.5); print(sys.argv[1])' {{x}}")
    process = lab.start("run", "--workers", workers, "--json", interrupt=interrupt)
    for _ in range(2):
        assert json.loads(process.stdout.readline())["meaning"] == "measured"
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "interrupted; the study can be gone on with" in err
    status = lab.json("status")
    assert status["under_way"] == []
    assert status["measured"] >= 2
    assert {row["reason"] for row in lab.rows() if row["meaning"] == "lost"} <= {"interrupted"}
    assert lab.json("run", "--workers", workers)[-1]["measured"] == 6


def test_ctrl_c_while_a_value_is_being_stored_does_not_lose_it(lab, monkeypatch):
    lab.problem(BY_PYTHON)
    calls = []

    def interrupted():
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt

    before_storing(monkeypatch, interrupted)
    assert lab.pinnbo("run", "--json")[0] == 130
    assert [row["meaning"] for row in lab.rows()] == ["measured"] * 2


def before_storing(monkeypatch, happens):
    """Let something happen in the middle of the transaction that stores an outcome."""
    store = RDBStorage.set_trial_state_values

    def disturbed(self, *arguments, **options):
        happens()
        return store(self, *arguments, **options)

    monkeypatch.setattr(RDBStorage, "set_trial_state_values", disturbed)


# ---------------------------------------------------------------- storages that do not do as they should


def test_a_study_of_another_problem_is_refused(lab):
    lab.ok("ask")
    for changed, complaint in [
        (PROBLEM.replace("3.0", "4.0"), "was made for Space(x=(0, 3)), got Space(x=(0, 4))"),
        (PROBLEM.replace("minimize", "maximize"), "was made to minimize, got maximize"),
        ('pde = "lab.py:pde"\n' + PROBLEM, "was made with 0 equation(s), got 1"),
    ]:
        (lab.folder / "lab.py").write_text("from pinnbo import PDE\npde = PDE(lambda f: f)\n")
        lab.file.write_text(changed)
        sentence = lab.refused("ask")
        assert complaint in sentence
        assert "is of another problem" in sentence
        assert sentence.strip().endswith("give this one another name or storage")
    lab.problem()
    assert len(lab.rows()) == 1


def test_a_locked_file_is_waited_for_and_then_said_to_be_locked(lab, monkeypatch):
    from pinnbo.studies import storage

    monkeypatch.setattr(storage, "_PATIENCE", 1)
    lab.ok("ask")
    with sqlite3.connect(lab.folder / "lab.db") as held:
        held.execute("BEGIN EXCLUSIVE")
        assert "is locked by another program" in lab.refused("tell", "0", "1.0", code=3)
        held.rollback()
    held.close()
    assert lab.ok("tell", "0", "1.0") == "trial 0: 1.0\n"


@pytest.mark.parametrize(
    ("url", "complaint"),
    [
        ("postgresql://nobody@127.0.0.1:1/none", "cannot be reached; nothing was changed, try again"),
        (
            "sqlite:////no/such/folder/x.db",
            "cannot be opened: the folder does not exist or may not be written",
        ),
    ],
)
def test_a_storage_that_cannot_be_reached(lab, url, complaint):
    assert complaint in lab.refused("ask", "--storage", url, code=3)


def test_a_file_that_is_something_else(lab):
    (lab.folder / "lab.db").write_text("my notes of last summer " * 100)
    assert "is not a database" in lab.refused("ask", code=3)
    assert (lab.folder / "lab.db").read_text().startswith("my notes")


def test_a_full_disk_loses_nothing(lab):
    """A limit on the size of files stands for the disk; the value that could not be stored is entered later."""
    lab.problem(BY_PYTHON, base=PROBLEM.replace("budget = 6", "budget = 400"))
    lab.ok("ask")
    limit = (lab.folder / "lab.db").stat().st_size + 20_000
    limited = (
        "import resource, sys; from pinnbo import cli\n"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))\n"
        "sys.exit(cli.main(sys.argv[1:]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", limited, "run", str(lab.file), "--json"],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 3, done.stderr
    assert done.stderr.count("\n") == 1
    assert "cannot grow: the disk is full" in done.stderr or "cannot be written: the disk" in done.stderr
    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(told) > 3
    waiting = [json.loads(file.read_text()) for file in lab.folder.glob("lab.unsaved-*.json")]
    rows = {row["trial"]: row for row in lab.rows()}
    for report in [*told, *waiting]:
        assert rows[report["trial"]]["value"] == report["value"]
    assert not list(lab.folder.glob("lab.unsaved*"))


def test_a_value_that_could_not_be_stored_waits_for_the_next_start(lab, monkeypatch):
    lab.problem(BY_PYTHON)
    calls = []

    def failing():
        calls.append(1)
        if len(calls) >= 3:
            raise outage()

    monkeypatch.setattr(runner, "_OUTAGE", -1.0)
    before_storing(monkeypatch, failing)
    sentence = lab.pinnbo("run", "--json")[2]
    assert "cannot be reached; nothing was changed, try again; trial 2 gave" in sentence
    assert "which waits in lab.unsaved-2.json for the next start" in sentence
    monkeypatch.undo()
    line = json.loads((lab.folder / "lab.unsaved-2.json").read_text())
    _, _, err = lab.pinnbo("ask", "--storage", f"sqlite:///{lab.folder / 'other.db'}")
    assert "lab.unsaved-2.json holds a value of study 'lab' in storage sqlite:///" in err
    assert (lab.folder / "lab.unsaved-2.json").exists(), "it belongs to another storage"
    rows = lab.rows()
    assert (rows[2]["trial"], rows[2]["meaning"], rows[2]["value"]) == (2, "measured", line["value"])
    assert not list(lab.folder.glob("*unsaved*"))
    assert lab.json("run")[-1]["measured"] == 6


def outage():
    """What SQLAlchemy raises when a server has gone away."""
    return sqlalchemy.exc.OperationalError("UPDATE", {}, psycopg.OperationalError("the connection is closed"))


def test_a_storage_that_is_away_for_a_while_is_waited_for(lab, monkeypatch):
    lab.problem(BY_PYTHON)
    calls = []

    def failing():
        calls.append(1)
        if len(calls) in (3, 4):
            raise outage()

    monkeypatch.setattr(runner, "_PAUSE", 0.01)
    before_storing(monkeypatch, failing)
    code, out, err = lab.pinnbo("run", "--json")
    assert code == 0
    assert err.count("waiting for it for up to 10 minutes") == 1
    assert [json.loads(line).get("trial") for line in out.splitlines()] == [*range(6), None]
    assert [row["meaning"] for row in lab.rows()] == ["measured"] * 6
    assert not list(lab.folder.glob("*unsaved*"))


# ---------------------------------------------------------------- when to stop


def test_the_outlook_is_the_largest_expected_improvement():
    space = Space(x=(0.0, 3.0))
    optimizer = Optimizer(space, PDE(lambda f: lambda x: laplacian(f)(x) + 4.0 * f(x)), noise=0.01)
    assert outlook(optimizer) is None
    for x in (0.2, 1.1, 2.9):
        optimizer.tell([x], float(np.cos(2.0 * x)))
    now = outlook(optimizer)
    # by quadrature over the posterior at a fine grid, which is another route to the same number
    mean, std = optimizer.predict(np.linspace(0.0, 3.0, 2001)[:, None])
    nodes, weights = np.polynomial.hermite_e.hermegauss(201)
    samples = mean[:, None] + std[:, None] * nodes
    expected = np.maximum(0.0, now.best.mean - samples) @ weights / np.sqrt(2 * np.pi)
    assert now.expected_improvement == pytest.approx(expected.max(), rel=0.03)
    assert now.best == optimizer.best or now.best.value == optimizer.best.value


# ---------------------------------------------------------------- the dashboard


def test_the_dashboard_shows_the_study_to_this_machine_only(lab):
    lab.ok("ask")
    lab.ok("tell", "0", "1.5")
    process = lab.start("dashboard", "--port", "0")
    try:
        line = process.stdout.readline()
        address, token = line.split(" is at ")[1].split(" until")[0].split("?token=")
        assert address.startswith("http://127.0.0.1:")
        assert "read-only" in line
        browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        browser.open(f"{address}?token={token}", timeout=30)
        studies = json.loads(browser.open(f"{address}api/studies", timeout=30).read())
        (study,) = studies["study_summaries"]
        assert study["study_name"] == "lab"
        page = f"{address}api/studies/{study['study_id']}"
        detail = json.loads(browser.open(page, timeout=30).read())
        assert "still to be gained" in detail["note"]["body"]
        (artifact,) = detail["artifacts"]
        shown = f"{address}artifacts/{study['study_id']}/{artifact['artifact_id']}"
        picture = browser.open(shown, timeout=30).read()
        assert picture.startswith(b"\x89PNG")
        # neither a visitor without the token, nor a page elsewhere, nor its name for this machine, nor a change
        for opener, request, refusal in [
            (urllib.request.build_opener(), urllib.request.Request(page), 401),
            (urllib.request.build_opener(), urllib.request.Request(f"{page}?token=guess"), 401),
            (browser, urllib.request.Request(page, headers={"Origin": "http://evil.example"}), 403),
            (browser, urllib.request.Request(page, headers={"Host": "evil.example"}), 403),
            (browser, urllib.request.Request(page, method="DELETE"), 403),
            (browser, urllib.request.Request(page, data=b"{}"), 403),
        ]:
            with pytest.raises(urllib.error.HTTPError) as refused:
                opener.open(request, timeout=30)
            assert refused.value.code == refusal
            refused.value.close()
        # bound to the loopback address, not to all
        port = int(address.rstrip("/").rsplit(":", 1)[1])
        listening = Path("/proc/net/tcp").read_text().upper()
        assert f"0100007F:{port:04X}" in listening
        assert f"00000000:{port:04X}" not in listening
    finally:
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert token not in out + err
    assert len(lab.rows()) == 1


def test_a_server_may_be_ended_as_soon_as_it_is_announced(monkeypatch):
    closed = []
    server = contextlib.closing(SimpleNamespace(close=lambda: closed.append(True)))

    def ended(*said, **how):
        raise KeyboardInterrupt

    monkeypatch.setattr("builtins.print", ended)
    commands._serve(server, "it is at http://127.0.0.1:1")
    assert closed == [True]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of what the dashboard imports
def test_a_port_that_is_taken(lab):
    lab.ok("ask")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        assert f"127.0.0.1:{port} cannot be used: Address already in use" in lab.refused(
            "dashboard", "--port", port
        )
    code, _, err = lab.pinnbo("dashboard", "--port", "99999")
    assert code == 2
    assert "--port: expected an integer >= 0 and <= 65535, got '99999'" in err


# ---------------------------------------------------------------- init


def test_init_writes_files_that_work_and_overwrites_nothing(lab):
    lab.file = lab.folder / "plate.toml"
    assert lab.ok("init").count("wrote") == 1
    text = lab.file.read_text()
    assert "exists already and is left alone" in lab.refused("init")
    assert lab.file.read_text() == text
    lab.file.write_text(text.replace('# method = "auto"', 'method = "random"'))
    assert set(lab.json("ask")["point"]) == {"x", "y"}
    for switched in (
        'python = "plate_measure.py:measure"',
        'command = "./measure.sh {x} {y}"\ntimeout = 3600',
    ):
        lines = text + "\n[evaluate]\n" + switched
        for line in switched.splitlines():
            assert f"# {line}" in text
        lab.file.write_text(lines)
        assert lab.json("status")["goal"] == "maximize"
    lab.file = lab.folder / "python.toml"
    assert lab.ok("init", "--python").count("wrote") == 2
    assert 'pde = "python_equation.py:pde"' in lab.file.read_text()
    assert set(lab.json("ask")["point"]) == {"x", "y"}
    lab.file = lab.folder / "plate.txt"
    assert "expected a file name that ends in .toml" in lab.refused("init")
    lab.file = lab.folder / "no" / "plate.toml"
    assert "does not exist" in lab.refused("init")
