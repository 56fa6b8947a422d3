"""Batches in studies: told, exported, imported once, and learnt with."""

from __future__ import annotations

import numpy as np
import pytest

from pinnbo.studies import problem_file
from pinnbo.studies.campaign import open_campaign
from studies_help import PROBLEM

AUTO = PROBLEM.replace("random", "auto")


def _told(lab):
    lab.problem(base=AUTO)
    for trial, (x, value, batch) in enumerate(
        [(0.2, 1.0, ()), (0.8, 1.4, ("--batch", "monday")), (1.2, 1.9, ("--batch", "monday"))]
    ):
        out = lab.ok("tell", str(value), "--at", f"x={x}", *batch)
        assert f"trial {trial}" in out


def test_a_batch_is_told_exported_and_imported_once(lab):
    _told(lab)
    table = lab.ok("export")
    lines = table.splitlines()
    assert lines[0] == "trial,meaning,x,value,noise,batch,was,reason"
    assert lines[2].split(",")[5] == "monday"
    assert lines[1].split(",")[5] == ""
    (lab.folder / "data.csv").write_text(table)
    assert "0 " in lab.ok("import", str(lab.folder / "data.csv"))
    assert len(lab.ok("export").splitlines()) == 4
    # the same value at the same place in another batch is another measurement
    (lab.folder / "more.csv").write_text("x,value,batch\n0.8,1.4,tuesday\n")
    lab.ok("import", str(lab.folder / "more.csv"))
    lab.ok("import", str(lab.folder / "more.csv"))
    assert len(lab.ok("export").splitlines()) == 5


def test_a_study_learns_with_its_batches(lab):
    _told(lab)
    with open_campaign(problem_file.read(lab.folder / "lab.toml"), create=False) as campaign:
        optimizer = campaign.optimizer()
        np.testing.assert_array_equal(optimizer.data.taken[:, 0], [np.nan, 0.0, 0.0])
        assert list(optimizer.diagnostics()["offsets"]) == ["monday"]


def test_without_batches_there_is_no_column(lab):
    lab.ok("tell", "1.0", "--at", "x=0.5")
    assert lab.ok("export").splitlines()[0] == "trial,meaning,x,value,noise,was,reason"


@pytest.mark.parametrize("name", ["", "=1", " x"])
def test_bad_names(lab, name):
    said = lab.refused("tell", "1.0", "--at", "x=0.5", f"--batch={name}")
    assert "batch: expected a name such as monday" in said


def test_a_batch_cannot_be_corrected_and_needs_auto(lab):
    _told(lab)
    assert "--batch cannot be corrected" in lab.refused("tell", "1", "2.0", "--replace", "--batch", "friday")
    lab.problem()
    said = lab.refused("tell", "1.0", "--at", "x=0.7", "--batch", "friday")
    assert "method 'random' knows no batches; expected method 'auto'" in said
