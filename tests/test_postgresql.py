"""Many processes on one study in a real PostgreSQL server, undisturbed and with some of them killed."""

import json
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
import optuna
import pytest

from studies_help import PROBLEM

SCRIPT = Path(__file__).parents[1] / "scripts" / "postgresql"


@pytest.fixture(scope="module")
def server():
    """The URL of a server that is started for these tests; where there is no PostgreSQL, the script says what to do."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    folder = tempfile.mkdtemp(prefix="pinnbo-postgresql-")
    done = subprocess.run([SCRIPT, "start", folder, str(port)], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.fail(f"no PostgreSQL server: {done.stderr}")
    yield f"postgresql://pinnbo@127.0.0.1:{port}/pinnbo"
    subprocess.run([SCRIPT, "stop", folder], check=True)
    shutil.rmtree(folder)


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
    """All values that were told are there, and no two points that were under way together are the same."""
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
    spans = [(t.datetime_start, t.datetime_complete, t.params["x"]) for t in trials if "x" in t.params]
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


def test_a_password_is_never_shown_and_a_wrong_name_is_one_sentence(lab, server):
    wrong = server.replace("pinnbo@", "nobody:secret@")
    sentence = lab.refused("ask", "--storage", wrong, code=3)
    assert "has no such database or user" in sentence
    assert "secret" not in sentence
