"""How far a run has come, in a terminal, in a notebook and in a log file."""

import io
import sys
from types import SimpleNamespace

import pytest

from pinnbo import progress as module
from pinnbo.progress import progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def clock(monkeypatch):
    now = SimpleNamespace(time=0.0)
    monkeypatch.setattr(module.time, "monotonic", lambda: now.time)
    return now


def test_a_log_file_gets_whole_lines_now_and_then(monkeypatch, clock):
    file = io.StringIO()
    monkeypatch.setattr(sys, "stderr", file)
    with progress(200, 10) as bar:
        for k in range(100):
            clock.time += 1.0
            bar.step(f"lowest reading {k}")
            if k == 5:
                bar.say("trial 5 is lost")
    lines = file.getvalue().splitlines()
    assert lines == [
        "11 of 200 trials after 1 s, lowest reading 0",
        "trial 5 is lost",
        "41 of 200 trials after 31 s, lowest reading 30",
        "71 of 200 trials after 61 s, lowest reading 60",
        "101 of 200 trials after 2 min, lowest reading 90",
        "110 of 200 trials after 2 min, lowest reading 99",
    ]
    assert "\r" not in file.getvalue()


def test_a_terminal_gets_a_bar(monkeypatch):
    file = Terminal()
    monkeypatch.setattr(sys, "stderr", file)
    with progress(3, 1) as bar:
        bar.say("something")
        bar.step("highest reading 2")
        bar.step("highest reading 3")
    assert "something\n" in file.getvalue()
    assert "3/3" in file.getvalue()
    assert "highest reading 3" in file.getvalue()


def test_a_notebook_gets_a_bar(monkeypatch):
    """Without widgets a bar of text."""
    kernel = SimpleNamespace(config={"IPKernelApp": {}})
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: kernel))
    monkeypatch.setattr(module.importlib.util, "find_spec", lambda name: None)
    file = io.StringIO()
    monkeypatch.setattr(sys, "stderr", file)
    with progress(2, 0) as bar:
        bar.step("x")
        bar.step("x")
    assert "2/2" in file.getvalue()
    assert "\r" in file.getvalue()


def test_nothing_is_shown_but_what_has_to_be_said(monkeypatch):
    file = io.StringIO()
    monkeypatch.setattr(sys, "stderr", file)
    with progress(2, 0, shown=False) as bar:
        bar.step("x")
        bar.say("trial 1 failed")
    assert file.getvalue() == "trial 1 failed\n"


@pytest.mark.parametrize(("seconds", "said"), [(5.0, "5 s"), (600.0, "10 min"), (9000.0, "2.5 h")])
def test_durations(seconds, said):
    assert module._duration(seconds) == said
