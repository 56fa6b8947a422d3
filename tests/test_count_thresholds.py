"""The count of thresholds: what decides is found, what is arithmetic is not taken for it."""

import importlib.util
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent.parent / "scripts" / "count_thresholds.py"
CODE = """
from pinnbo.space import Space

LIMIT: float = 0.3
LOW, HIGH = 3, 17


class Settings:
    share: float = 0.25


def act(x, settings, items):
    y = 5 * x + 7
    if x[4] > LIMIT and len(items) > 0 and x.sum(axis=3) < 12:
        y = np.clip(y, 0.0, HIGH)
    while y > 1e-12:
        y = max(y**8, -0.75)
    return [z for z in items if z > settings.share] if y == -1 else y * 99
"""


@pytest.fixture
def script():
    spec = importlib.util.spec_from_file_location("count_thresholds", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_what_decides(script, tmp_path, monkeypatch):
    monkeypatch.setattr(script, "SOURCE", tmp_path)
    (tmp_path / "code.py").write_text(CODE)
    found = script.numbers(tmp_path / "code.py")
    decide = {(n.kind, n.name, n.value) for n in found if n.rank == 0}
    assert decide == {
        ("test", "LIMIT", 0.3),
        ("test", "", 12),
        ("clip", "HIGH", 17),
        ("clip", "", -0.75),
        ("test", "share", 0.25),
    }
    assert [n.value for n in found if n.rank == 1] == [1e-12]
    assert {n.value for n in found if n.rank == 2} == {4, 0, 3, 8, -1}


def test_a_constant_of_another_module_is_a_constant(script, tmp_path, monkeypatch):
    monkeypatch.setattr(script, "SOURCE", tmp_path)
    (tmp_path / "pinnbo").mkdir()
    (tmp_path / "pinnbo" / "other.py").write_text("MOST = 40\n")
    (tmp_path / "pinnbo" / "code.py").write_text(
        "from pinnbo.other import MOST\n\nbig = [] if n > MOST else [n]\n"
    )
    (number,) = script.numbers(tmp_path / "pinnbo" / "code.py")
    assert (number.name, number.value) == ("MOST", 40)


def test_a_setting_whose_default_is_a_constant_is_that_constant(script, tmp_path):
    """It is counted once, under the name that has the reason."""
    code = tmp_path / "code.py"
    code.write_text(
        "SURE = 0.95\n\n\nclass Rule:\n    below: float = SURE\n    doubt: float = 1.0 - SURE\n\n"
        "    def applies(self, p):\n        return self.doubt < p < self.below\n"
    )
    script.SOURCE, before = tmp_path, script.SOURCE
    try:
        found = script.numbers(code)
    finally:
        script.SOURCE = before
    assert [(number.name, number.value) for number in found] == [("SURE", 0.95)] * 2


def test_the_path_of_auto(script):
    found = script.reachable("pinnbo.methods.auto")
    assert {"pinnbo.methods.auto", "pinnbo.space", "pinnbo.pde"} <= set(found)
    assert not any(
        module.startswith(("pinnbo.bench", "pinnbo.baselines", "pinnbo.studies")) for module in found
    )
    assert script.code_lines() > 1000
