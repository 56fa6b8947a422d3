"""Many processes on one study in a real PostgreSQL server, undisturbed and with some of them killed."""

import json
import random
import shutil
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import optuna
import pytest

from studies_help import PROBLEM

SCRIPT = Path(__file__).parents[1] / "scripts" / "postgresql"


@pytest.mark.parametrize("there", [True, False])
def test_a_server_that_is_there_is_not_installed_again(tmp_path, there):
    # a newer version of which only the client is installed does not hide it
    for program in ("15/bin/initdb", "15/bin/pg_ctl", "99/bin/psql", "tools/apt-get", "tools/id"):
        (tmp_path / program).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / program).write_text("#!/bin/sh\necho $0 $1\n")
        (tmp_path / program).chmod(0o755)
    (tmp_path / "tools/id").write_text("#!/bin/sh\necho 0\n")
    if not there:
        (tmp_path / "15/bin/pg_ctl").unlink()
    for tool in ("bash", "find", "sort", "dirname"):
        (tmp_path / "tools" / tool).symlink_to(shutil.which(tool))
    environment = {"PATH": str(tmp_path / "tools"), "POSTGRESQL_ROOT": str(tmp_path)}
    done = subprocess.run([SCRIPT, "install"], env=environment, capture_output=True, text=True, check=True)
    assert ("apt-get update" in done.stdout) is not there


def prepare(lab, budget, name, seconds):
    (lab.folder / "lab.py").write_text(
        "import time\nimport numpy as np\n"
        f"def measure(x):\n    time.sleep({seconds})\n    return float(np.cos(2.0 * x[0]) + 0.1 * x[0])\n"
    )
    base = PROBLEM.replace("budget = 6", f"budget = {budget}").replace('method = "random"', "noise = 0.01")
    lab.problem('[evaluate]\npython = "lab.py:measure"\n', base=f'name = "{name}"\nheartbeat = 20\n' + base)


def finished(processes):
    said = []
    for process in processes:
        out, err = process.communicate(timeout=900)
        assert process.returncode == 0, err
        said += [json.loads(line) for line in out.splitlines()]
    return said


def check(lab, server, name, budget, said):
    """All values that were told are there, and no two points that were under way together are the same.

    A trial whose worker died counts as under way until somebody notices. Its point is free from then on, for a trial
    that was started before, too: such a pair says nothing, and only measured trials are compared.
    """
    rows = {row["trial"]: row for row in lab.rows("--storage", server)}
    measured = [row for row in rows.values() if row["meaning"] == "measured"]
    assert len(measured) == budget
    assert all(row["meaning"] in ("measured", "lost") for row in rows.values())
    told = [report for report in said if report.get("meaning") == "measured"]
    for report in told:
        assert rows[report["trial"]]["value"] == report["value"]
    storage = optuna.storages.RDBStorage(server.replace("postgresql", "postgresql+psycopg"))
    trials = optuna.load_study(study_name=name, storage=storage).trials
    storage.engine.dispose()
    spans = [
        (t.datetime_start, t.datetime_complete, t.params["x"]) for t in trials if t.state.name == "COMPLETE"
    ]
    together = [
        abs(a - b)
        for i, (start, end, a) in enumerate(spans)
        for (begin, stop, b) in spans[:i]
        if start < stop and begin < end
    ]
    assert together, "the trials did not overlap in time"
    assert np.min(together) / 1.5 > 1e-6  # scaled to [-1, 1]
    return rows, told


@pytest.mark.parametrize(
    ("processes", "each"), [(3, 4), pytest.param(8, 20, marks=pytest.mark.slow)], ids=["small", "whole"]
)
def test_processes_share_a_study(lab, server, processes, each):
    name, budget = f"shared-{processes}", processes * each
    prepare(lab, budget, name, seconds=1.0)
    started = [lab.start("run", "--storage", server, "--json") for _ in range(processes)]
    rows, told = check(lab, server, name, budget, finished(started))
    assert len(told) == budget
    assert {row["reason"] for row in rows.values() if row["meaning"] == "lost"} <= {"not needed"}


@pytest.mark.parametrize(
    ("processes", "each", "kills"),
    [(2, 5, 2), pytest.param(8, 20, 10, marks=pytest.mark.slow)],
    ids=["small", "whole"],
)
def test_processes_are_killed_at_random(lab, server, processes, each, kills):
    name, budget = f"killed-{processes}", processes * each
    prepare(lab, budget, name, seconds=1.0)
    moments, said, killed = random.Random(2), [], []
    running = [lab.start("run", "--storage", server, "--json") for _ in range(processes)]
    said.append(json.loads(running[0].stdout.readline()))
    for _ in range(kills):
        time.sleep(moments.uniform(0.2, 2.0))
        victim = running.pop(moments.randrange(len(running)))
        victim.send_signal(signal.SIGKILL)
        killed.append(victim)
        running.append(lab.start("run", "--storage", server, "--json"))
    said += finished(running)
    for victim in killed:
        out, _ = victim.communicate(timeout=60)
        said += [json.loads(line) for line in out.splitlines()]
    rows, _ = check(lab, server, name, budget, said)
    lost = [row["reason"] for row in rows.values() if row["meaning"] == "lost"]
    assert {reason for reason in lost if reason != "not needed"} <= {"its worker died", None}
    assert lab.json("status", "--storage", server)["under_way"] == []


@pytest.mark.parametrize(
    ("kills", "restarts", "away"),
    [(1, 1, 3.0), pytest.param(20, 2, 45.0, marks=pytest.mark.slow)],
    ids=["small", "whole"],
)
def test_workers_are_killed_and_the_database_is_restarted(lab, postgresql, kills, restarts, away):
    """Nothing that was reported is lost or stored twice, and the study ends by itself."""
    name, budget, processes = f"restarted-{kills}", 10 + 5 * kills, 2
    prepare(lab, budget, name, seconds=0.5)
    lab.file.write_text(lab.file.read_text().replace("noise = 0.01", 'method = "random"'))
    url, moments, said, killed = postgresql.url, random.Random(3), [], []
    running = [lab.start("run", "--storage", url, "--json") for _ in range(processes)]
    said.append(json.loads(running[0].stdout.readline()))
    pauses = {kills * (i + 1) // (restarts + 1) for i in range(restarts)}
    for kill in range(kills):
        if kill in pauses:
            postgresql.stop()
            time.sleep(away)
            postgresql.again()
        time.sleep(moments.uniform(0.2, 2.0))
        victim = running.pop(moments.randrange(len(running)))
        victim.send_signal(signal.SIGKILL)
        killed.append(victim)
        running.append(lab.start("run", "--storage", url, "--json"))
    outputs = [process.communicate(timeout=900) for process in running + killed]
    assert [process.returncode for process in running] == [0] * processes, outputs
    said += [json.loads(line) for out, _ in outputs for line in out.splitlines()]
    assert not any("Traceback" in err for _, err in outputs), outputs
    rows = {row["trial"]: row for row in lab.rows("--storage", url)}
    assert sum(row["meaning"] == "measured" for row in rows.values()) == budget
    reported = [report for report in said if report.get("meaning") == "measured"]
    assert len({report["trial"] for report in reported}) == len(reported)
    for report in reported:
        assert rows[report["trial"]]["value"] == report["value"]
    stored = [(row["x"], row["value"]) for row in rows.values() if row["meaning"] == "measured"]
    assert len(set(stored)) == len(stored)
    assert not list(lab.folder.glob("*unsaved*"))


def test_a_password_is_never_shown_and_a_wrong_name_is_one_sentence(lab, server):
    wrong = server.replace("pinnbo@", "nobody:secret@")
    base = f'storage = "{wrong}?sslpassword=secret"\n' + PROBLEM
    lab.problem(base=base)
    sentence = lab.refused("ask", code=3)
    assert 'refuses the connection: role "nobody" does not exist' in sentence
    assert "secret" not in sentence + lab.ok("show")
    lab.problem()
    sentence = lab.refused("ask", "--storage", wrong)
    assert "expected no password, which others see in the list of processes" in sentence
    assert "secret" not in sentence


def test_the_password_is_taken_from_the_environment(lab, server, monkeypatch):
    """The server trusts everybody, so that it is enough to see what the driver is given."""
    import psycopg

    monkeypatch.setenv("PGPASSWORD", "secret")
    lab.ok("ask", "--storage", server)
    with psycopg.connect(server) as connection:
        assert connection.info.password == "secret"
    assert "secret" not in lab.ok("export", "--storage", server) + lab.ok("status", "--storage", server)
