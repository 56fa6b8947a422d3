"""Texts that nobody means: each ends in one clear error, at once, and none of them is run."""

import json
import os
import random
import resource
import sys
import time

import pytest

from hostile_texts import ALL, BY_HAND, right, shuffled
from pinnbo import PDE, Space
from pinnbo.equations.errors import EquationError
from pinnbo.studies import problem_file
from pinnbo.studies.errors import StudyError

PLANE = Space(x=(0.0, 1.0), y=(0.0, 2.0))
QUICK = [*BY_HAND[::2], *ALL[len(BY_HAND) :][:40]]


def answer(text):
    """The complaint about a text, None if it makes sense; anything but a complaint is raised."""
    start = time.process_time()
    try:
        PDE.parse(text, PLANE)
    except EquationError as error:
        said = str(error)
        assert said.startswith("equation: ")
        assert "\n" not in said
        assert said.isprintable()
        assert len(said) < 700
        complaint = said
    else:
        complaint = None
    assert time.process_time() - start < 1.0, text[:200]
    return complaint


@pytest.fixture(scope="module", autouse=True)
def _warm():
    PDE.parse("laplacian(T) = x; T = 1 on y = 0 and x < 0.5", PLANE)


@pytest.fixture
def nothing_happens(tmp_path, monkeypatch):
    """No file is written, no module loaded, no memory taken."""
    monkeypatch.chdir(tmp_path)
    before, modules = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, set(sys.modules)
    yield
    assert os.listdir(tmp_path) == []
    assert not {
        name for name in set(sys.modules) - modules if not name.startswith(("jax", "pinnbo", "scipy"))
    }
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000  # kB


def test_there_are_five_hundred():
    assert len(set(ALL)) == 500
    assert len(set(QUICK)) >= 100


@pytest.mark.parametrize(
    "texts", [pytest.param(QUICK, id="100"), pytest.param(ALL, id="500", marks=pytest.mark.slow)]
)
def test_hostile_texts_end_in_one_clear_error(texts, nothing_happens):
    assert [text[:200] for text in texts if answer(text) is None] == []


@pytest.mark.parametrize(
    "texts", [pytest.param(QUICK, id="100"), pytest.param(ALL, id="500", marks=pytest.mark.slow)]
)
def test_hostile_texts_in_a_problem_file_end_in_one_clear_error(texts, tmp_path):
    file = tmp_path / "mine.toml"
    for text in texts:
        quoted = json.dumps(text).replace("\x7f", "\\u007f")
        head = f'goal = "minimize"\nbudget = 3\nequation = {quoted}\n'
        file.write_text(head + "[space]\nx = [0.0, 1.0]\ny = [0.0, 2.0]\n[unknowns]\nk = [1, 2]\n")
        start = time.process_time()
        with pytest.raises(StudyError) as error:
            _ = problem_file.read(file).physics
        assert time.process_time() - start < 1.0, text[:200]
        assert "\n" not in str(error.value)
        assert str(error.value).isprintable()


def test_what_is_broken_there_was_right_before():
    for seed in range(40):
        text = right(random.Random(seed))
        assert answer(text) is None, text


@pytest.mark.parametrize("block", [0, *(pytest.param(i, marks=pytest.mark.slow) for i in range(1, 20))])
def test_random_texts_are_understood_or_refused(block):
    refused = sum(answer(shuffled(1000 * block + seed)) is not None for seed in range(50))
    assert refused > 40
