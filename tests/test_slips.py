"""Slips of the hand and odd places: none costs a study, and none is taken for something else."""

import errno
import os
import subprocess
import sys
import threading

import pytest

from pinnbo import PDE
from pinnbo.operators import laplacian
from pinnbo.studies import files, fingerprint, problem_file
from pinnbo.studies.campaign import open_campaign
from studies_help import BY_PYTHON, PROBLEM, Lab


@pytest.mark.parametrize("name", ["lab.db", "lab.toml", "./nowhere/../lab.db", "link.csv"])
def test_a_table_does_not_overwrite_the_study(lab, name):
    lab.ok("ask")
    (lab.folder / "nowhere").mkdir()
    (lab.folder / "link.csv").symlink_to(lab.folder / "lab.db")
    before = (lab.folder / "lab.db").read_bytes(), lab.file.read_bytes()
    assert "which is not overwritten" in lab.refused("export", "--output", str(lab.folder / name))
    assert ((lab.folder / "lab.db").read_bytes(), lab.file.read_bytes()) == before


def test_a_picture_and_a_report_do_not_overwrite_the_study(lab):
    lab.problem(base='storage = "sqlite:///study.html"\n' + PROBLEM)
    lab.ok("ask")
    lab.ok("tell", "0", "1")
    assert "is the storage" in lab.refused("report", "--output", str(lab.folder / "study.html"))
    assert len(lab.rows()) == 1


def test_a_kind_of_picture_that_is_none_names_no_file(lab):
    lab.ok("ask")
    assert "--kind: expected one of field, " in lab.refused("plot", "--kind", "/etc/x")


@pytest.mark.parametrize("command", ["plot", "report"])
def test_no_file_at_all(lab, command, monkeypatch):
    monkeypatch.setattr(lab, "file", "")
    assert "problem file '.' cannot be read: Is a directory" in lab.refused(command)


@pytest.mark.parametrize("folder", ["50% done?", "a#b", "{x}", "a&b=c", "ü ß"])
def test_the_storage_lies_beside_the_file_whatever_the_folder_is_called(tmp_path, capsys, folder):
    (tmp_path / folder).mkdir()
    lab = Lab(tmp_path / folder, capsys)
    lab.problem()
    lab.ok("ask")
    lab.ok("tell", "0", "1")
    lab.ok("backup", str(tmp_path / folder / "copy.db"))
    assert [path.name for path in tmp_path.iterdir()] == [folder]
    assert {"lab.db", "copy.db"} <= {path.name for path in lab.folder.iterdir()}
    lab.file = lab.file.rename(lab.folder / "50%?.toml")
    lab.ok("ask")
    assert (lab.folder / "50%?.db").is_file()


def test_a_name_that_is_not_utf8(lab):
    file = os.fsdecode(os.fsencode(lab.folder) + b"/a\xff.toml")
    lab.file = lab.file.rename(file)
    assert "expected a path in UTF-8" in lab.refused("ask")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["tell", "0", "1_5"], "VALUE: expected a number, nan (impossible there) or lost, got '1_5'"),
        (["tell", "1", "--at", "x=1_5"], "--at: expected NAME=NUMBER such as x=0.5, got 'x=1_5'"),
        (["tell", "1", "--at", "x=1", "x=2"], "--at: expected one number for x, got two"),
    ],
)
def test_a_slip_is_not_taken_for_a_number(lab, arguments, complaint):
    lab.ok("ask")
    assert complaint in lab.refused(*arguments)
    assert [row["meaning"] for row in lab.rows()] == ["pending"]


def test_a_slip_in_a_table_or_an_output_is_not_taken_for_a_number(lab):
    table = lab.folder / "data.csv"
    table.write_text("x,value\n1.0,1_5\n")
    assert "value: expected a number, got '1_5'" in lab.refused("import", str(table))
    lab.command("echo {x} 1_5")
    lab.pinnbo("run")
    assert {row["meaning"] for row in lab.rows()} == {"lost"}


def test_output_that_cannot_be_written_is_one_sentence(lab):
    lab.ok("ask")
    command = [sys.executable, "-m", "pinnbo.cli", "export", str(lab.file)]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == "pinnbo: No space left on device\n"


def test_a_file_system_without_links(lab, monkeypatch):
    """As on many USB sticks and network shares."""

    def link(source, target):
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", link)
    lab.ok("ask")
    lab.ok("backup", str(lab.folder / "copy.db"))
    assert "exists already" in lab.refused("backup", str(lab.folder / "copy.db"))
    new = lab.folder / "new"
    new.write_text("new")
    with pytest.raises(FileExistsError):
        files.place(new, lab.file)
    assert lab.file.read_text() == PROBLEM
    assert len(lab.rows()) == 1


@pytest.mark.parametrize("value", ["1e999", "true", '"hot"', "1e300"])
def test_a_value_that_waited_and_makes_no_sense_is_not_entered(lab, value):
    lab.problem(BY_PYTHON)
    lab.ok("ask")
    (lab.folder / "lab.unsaved-0.json").write_text(
        f'{{"storage": "sqlite:///{lab.folder}/lab.db", "study": "lab", "trial": 0, '
        f'"point": {{"x": 1.0}}, "value": {value}, "reason": null}}'
    )
    _, _, err = lab.pinnbo("status")
    assert "lab.unsaved-0.json is damaged" in err
    assert [row["meaning"] for row in lab.rows()] == ["pending"]


def test_two_who_amend_at_once_are_both_in_the_record(lab):
    lab.ok("ask")
    started = threading.Barrier(2)

    def amend(source):
        with open_campaign(problem_file.read(lab.file), create=False) as campaign:
            started.wait()
            fingerprint.amend(campaign.study, campaign.problem.space, [PDE(laplacian, source=source)], 0)

    threads = [threading.Thread(target=amend, args=(source,)) for source in (1.0, 2.0)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with open_campaign(problem_file.read(lab.file), create=False) as campaign:
        assert len(campaign.study.user_attrs["pinnbo:problem"]["earlier"]) == 2


def test_a_method_that_cannot_do_with_the_equation_begins_no_study(lab):
    lab.file.write_text(
        PROBLEM.replace("[space]", 'equation = "d(T, x) = a*T"\n[space]') + "[unknowns]\na = [0.1, 1.0]\n"
    )
    assert "cannot infer coefficients that are not measured" in lab.refused("ask")
    assert not (lab.folder / "lab.db").exists()
