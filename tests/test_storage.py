"""Storages that are damaged, emptied or replaced, how they are told apart, and how they are looked after."""

import os
import shutil
import sqlite3
import sys

import pytest

from pinnbo.studies import problem_file
from pinnbo.studies.campaign import open_campaign
from studies_help import BY_PYTHON, PROBLEM

PAGE = 4096


def truncated(size):
    return lambda file: os.truncate(file, size if size >= 0 else file.stat().st_size + size)


def overwritten(start, length, with_=b"\xa5"):
    def damage(file):
        content = bytearray(file.read_bytes())
        first = start if start >= 0 else len(content) + start
        content[first : first + length] = with_ * length
        file.write_bytes(bytes(content))

    return damage


def sql(*statements):
    def damage(file):
        connection = sqlite3.connect(file)
        connection.execute("PRAGMA writable_schema = ON")
        for statement in statements:
            connection.execute(statement)
        connection.commit()
        connection.close()

    return damage


def as_folder(file):
    file.unlink()
    file.mkdir()


def without_its_middle(file):
    content = file.read_bytes()
    file.write_bytes(content[: 4 * PAGE] + content[8 * PAGE :])


def swapped(file):
    content = file.read_bytes()
    pages = [content[i : i + PAGE] for i in range(0, len(content), PAGE)]
    pages[3], pages[7] = pages[7], pages[3]
    file.write_bytes(b"".join(pages))


DAMAGES = {
    "emptied": truncated(0),
    "one byte": truncated(1),
    "half a header": truncated(50),
    "a header": truncated(100),
    "a page": truncated(PAGE),
    "two pages": truncated(2 * PAGE),
    "half": truncated(-40_000),
    "its last page is missing": truncated(-PAGE),
    "its last bytes are missing": truncated(-100),
    "no magic": overwritten(0, 16),
    "a zero header": overwritten(0, 100, b"\0"),
    "a wrong page size": overwritten(16, 2),
    "a wrong schema format": overwritten(44, 4),
    "a damaged schema": overwritten(100, 400),
    "damaged pages": overwritten(2 * PAGE, 4 * PAGE),
    "zeros in the middle": overwritten(3 * PAGE, 10 * PAGE, b"\0"),
    "a hole": without_its_middle,
    "swapped pages": swapped,
    "another program's file": lambda file: file.write_text("a letter to my aunt\n" * 1000),
    "another program's database": lambda file: (file.unlink(), sql("CREATE TABLE songs (name TEXT)")(file)),
    "no trials": sql("DROP TABLE trials"),
    "a schema without values": sql("DELETE FROM sqlite_master WHERE name = 'trial_values'"),
    "a folder": as_folder,
    "a broken link": lambda file: (file.unlink(), file.symlink_to(file.parent / "gone" / "lab.db")),
}


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """A study with thirty measurements, made once."""
    folder = tmp_path_factory.mktemp("filled")
    (folder / "lab.toml").write_text(PROBLEM)
    with open_campaign(problem_file.read(folder / "lab.toml"), create=True) as campaign:
        from pinnbo.studies.campaign import Measurement
        from pinnbo.studies.evaluation import Outcome

        campaign.add_new([Measurement({"x": i / 10}, Outcome(float(i)), None) for i in range(30)])
    return folder / "lab.db"


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_file_is_said_to_be_so_and_left_alone(lab, filled, name):
    file = lab.folder / "lab.db"
    shutil.copy(filled, file)
    DAMAGES[name](file)
    before = file.read_bytes() if file.is_file() else None
    for command in (["ask"], ["status"], ["tell", "1", "--at", "x=0.5"], ["check-storage"]):
        code, out, err = lab.pinnbo(*command)
        assert code in (2, 3), (command, out, err)
        assert err.count("\n") == 1, err
        assert "Traceback" not in err
        assert "began a new study" not in err
    assert (file.read_bytes() if file.is_file() else None) == before


def test_what_can_be_read_from_a_damaged_file_is_saved(lab, filled):
    file, saved = lab.folder / "lab.db", lab.folder / "saved.csv"
    shutil.copy(filled, file)
    connection = sqlite3.connect(file)
    (root,) = connection.execute(
        "SELECT rootpage FROM sqlite_master WHERE name = 'trial_user_attributes'"
    ).fetchone()
    connection.close()
    overwritten((root - 1) * PAGE, PAGE)(file)
    assert "is damaged" in lab.refused("status", code=3)
    assert "wrote 30 measurements" in lab.ok("check-storage", "--salvage", str(saved))
    assert "exists already" in lab.refused("check-storage", "--salvage", str(saved))
    file.rename(lab.folder / "damaged.db")
    assert lab.json("import", str(saved)) == {"entered": 30, "known": 0}
    assert [row["value"] for row in lab.rows()] == [float(i) for i in range(30)]


def test_a_healthy_storage_and_its_copy(lab, filled):
    file, copy = lab.folder / "lab.db", lab.folder / "copy.db"
    shutil.copy(filled, file)
    assert "30 trials, 30 of them measured, no damage" in lab.ok("check-storage")
    assert "copied to" in lab.ok("backup", str(copy))
    assert "exists already, and is not overwritten" in lab.refused("backup", str(copy))
    assert len(lab.rows("--storage", f"sqlite:///{copy}")) == 30
    assert "cannot be written" in lab.refused("backup", str(lab.folder / "no" / "copy.db"))


def test_a_deleted_file_is_not_a_silent_new_study(lab):
    _, _, err = lab.pinnbo("ask")
    assert "began a new study 'lab' in storage sqlite:///" in err
    (lab.folder / "lab.db").unlink()
    assert "has not been started" in lab.refused("status")
    assert "began a new study" in lab.pinnbo("ask")[2]


@pytest.mark.parametrize("name", ["full-plate", "locked", "connect does not exist", "readonly"])
def test_errors_are_told_apart_by_their_codes_not_by_words(lab, name):
    lab.problem(base=f'name = "{name}"\n' + PROBLEM)
    lab.ok("ask")
    file = lab.folder / "lab.db"
    overwritten(2 * PAGE, 20 * PAGE)(file)
    assert "is damaged" in lab.refused("tell", "0", "1", code=3)


def test_a_study_remembers_the_version_of_what_is_written_into_it(lab):
    import json

    lab.ok("ask")
    connection = sqlite3.connect(lab.folder / "lab.db")

    def stored():
        query = "SELECT value_json FROM study_user_attributes WHERE key = 'pinnbo:problem'"
        return json.loads(connection.execute(query).fetchone()[0])

    def store(value):
        update = "UPDATE study_user_attributes SET value_json = ? WHERE key = 'pinnbo:problem'"
        connection.execute(update, [json.dumps(value)])
        connection.commit()

    current = stored()
    # what was written before there were versions is brought up to date
    store({key: value for key, value in current.items() if key != "version"})
    lab.ok("ask")
    assert stored() == current
    store({**current, "version": current["version"] + 1})
    sentence = lab.refused("tell", "0", "1")
    assert "was written by a newer pinnbo" in sentence
    connection.close()


# ---------------------------------------------------------------- orphans


def test_an_ask_that_fails_leaves_nothing_behind(lab, monkeypatch):
    from pinnbo.optuna import PINNSampler

    lab.ok("ask")
    sample, calls = PINNSampler.sample_relative, []

    def failing(self, *arguments):
        calls.append(1)
        if len(calls) == 3:
            raise RuntimeError("no point")
        return sample(self, *arguments)

    monkeypatch.setattr(PINNSampler, "sample_relative", failing)
    code, out, err = lab.pinnbo("ask", "-n", "4")
    assert (code, out) == (1, "")
    assert err == "pinnbo: RuntimeError: no point (--debug shows where)\n"
    assert [one["trial"] for one in lab.json("status")["under_way"]] == [0]
    lab.problem(BY_PYTHON)
    assert lab.json("run")[-1]["measured"] == 5  # and the one by hand


def test_a_trial_without_a_point_is_shown_freed_and_uses_no_budget(lab, monkeypatch):
    from datetime import timedelta

    from pinnbo.studies import workers

    lab.problem(BY_PYTHON)
    with open_campaign(problem_file.read(lab.file), create=True) as campaign:
        campaign.start(workers.BY_HAND, signs_of_life=False)
    assert lab.json("status")["without_a_point"] == [0]
    assert "trials [0] are under way without a point" in lab.pinnbo("check-storage")[1]
    assert "trial 0 has no point yet" in lab.refused("tell", "0", "1")
    monkeypatch.setattr(workers, "_STARTING", timedelta(0))
    assert lab.json("run")[-1]["measured"] == 6
    assert lab.json("status")["without_a_point"] == []


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("{", "is damaged and was left as it is"),
        ("[" * 100_000, "is damaged and was left as it is"),
        ('{"storage": 3}', "is damaged and was left as it is"),
        ("", "is damaged and was left as it is"),
    ],
)
def test_a_damaged_file_of_an_unsaved_value_blocks_nothing(lab, text, complaint):
    file = lab.folder / "lab.unsaved-0.json"
    file.write_text(text)
    code, _, err = lab.pinnbo("ask")
    assert code == 0
    assert f"lab.unsaved-0.json {complaint}" in err
    assert file.exists()


def test_an_unsaved_value_of_a_trial_that_is_answered_otherwise_can_be_entered(lab):
    import json
    import shlex

    lab.ok("ask")
    lab.ok("tell", "0", "5")
    kept = {
        "storage": f"sqlite:///{lab.folder / 'lab.db'}",
        "study": "lab",
        "trial": 0,
        "point": {"x": 1.25},
        "value": 7.5,
        "reason": None,
    }
    for number in (0, 9):
        (lab.folder / f"lab.unsaved-{number}.json").write_text(json.dumps({**kept, "trial": number}))
    code, _, err = lab.pinnbo("status")
    assert code == 0
    assert "trial 0 is measured (5.0) already" in err
    assert "trial 9 does not exist" in err
    said = err.split("pinnbo tell lab.toml ")[1].split(" enters it")[0]
    lab.ok("tell", *shlex.split(said))
    assert [(row["x"], row["value"]) for row in lab.rows()][-1] == (1.25, 7.5)


# ---------------------------------------------------------------- what a file may do


def test_a_reference_stays_in_the_folder_unless_it_is_allowed(lab, monkeypatch):
    (lab.folder / "elsewhere").mkdir()
    (lab.folder / "elsewhere" / "far.py").write_text("def measure(x):\n    return 1.0\n")
    home = lab.folder / "home"
    home.mkdir()
    lab.file = home / "lab.toml"
    for place in ("../elsewhere/far.py", str(lab.folder / "elsewhere" / "far.py")):
        lab.problem(f'[evaluate]\npython = "{place}:measure"\n')
        sentence = lab.refused("run")
        assert "expected a file in the folder of the problem file" in sentence
        assert "PINNBO_ALLOW_OUTSIDE=1 in the environment allows others" in sentence
    monkeypatch.setenv("PINNBO_ALLOW_OUTSIDE", "1")
    assert lab.json("run")[-1]["measured"] == 6


def test_show_says_what_would_run_and_runs_nothing(lab):
    (lab.folder / "lab.py").write_text("from pathlib import Path\nPath(__file__).with_name('ran').touch()\n")
    keys = ("pde", "inside", "objective", "limits", "mean")
    named = "".join(f'{key} = "lab.py:{key}"\n' for key in keys)
    lab.problem(BY_PYTHON, base=named + 'storage = "postgresql://me:secret@h/d"\n' + PROBLEM)
    text = lab.ok("show")
    for name in ("measure", *keys):
        assert f" all of {lab.folder / 'lab.py'}, then {name}\n" in text
    assert "secret" not in text
    lab.command(f'{sys.executable} -c \'open("ran", "w")\' {{x}}', "shell = true")
    text = lab.ok("show")
    assert 'open("ran", "w")\' {x} (by a shell, in ' in text
    assert not (lab.folder / "ran").exists()


def test_cells_cannot_carry_formulas(lab):
    from pinnbo.studies.evaluation import Outcome

    lab.ok("ask")
    with open_campaign(problem_file.read(lab.file), create=False) as campaign:
        campaign.tell(0, Outcome(None, "=HYPERLINK(1)"))
    assert ",'=HYPERLINK(1)" in lab.ok("export")
    lab.problem(base=PROBLEM.replace("x =", '"=x" ='))
    assert "expected a name such as" in lab.refused("ask")


def test_a_connection_that_broke_within_a_transaction_is_an_outage():
    """What SQLAlchemy raises on the next use: workers wait for the server and try again."""
    from sqlalchemy.exc import PendingRollbackError

    from pinnbo.studies.errors import OutageError
    from pinnbo.studies.storage_errors import clear_errors

    with pytest.raises(OutageError, match="storage lab cannot be reached"), clear_errors("lab"):
        raise PendingRollbackError("Can't reconnect until invalid transaction is rolled back.")
