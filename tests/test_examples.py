import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
FILES = sorted((ROOT / "examples").glob("*.toml"))
GALLERY = sorted(p for p in (ROOT / "examples" / "gallery").glob("*.py") if p.stem != "showing")


def test_there_are_examples():
    assert len(EXAMPLES) >= 3


@pytest.mark.parametrize(
    "script",
    [pytest.param(p, marks=[] if p.stem.startswith("heat") else pytest.mark.slow) for p in EXAMPLES],
    ids=lambda path: path.stem,
)
def test_example_runs(script, tmp_path):
    done = subprocess.run(
        [sys.executable, "-W", "error", script, "--trials", "5"],
        capture_output=True,
        text=True,
        timeout=600,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert "95% interval" in done.stdout
    assert list(tmp_path.iterdir()) == []


def _pinnbo(*arguments, folder):
    done = subprocess.run(
        [sys.executable, "-m", "pinnbo.cli", *arguments],
        capture_output=True,
        text=True,
        timeout=600,
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    "file",
    [pytest.param(p, marks=[] if p.stem == "beam" else pytest.mark.slow) for p in FILES],
    ids=lambda path: path.stem,
)
def test_problem_file_without_python_runs(file, tmp_path):
    shutil.copy(file, tmp_path)
    assert "nothing to complain of" in _pinnbo("check", file.name, "--quick", folder=tmp_path)
    assert "python" not in file.read_text().lower()
    assert "best point" in _pinnbo("run", file.name, "--budget", "5", folder=tmp_path)


@pytest.mark.parametrize(
    "script",
    [pytest.param(p, marks=[] if p.stem == "beam" else pytest.mark.slow) for p in GALLERY],
    ids=lambda path: path.stem,
)
def test_an_example_of_the_gallery_runs(script, tmp_path):
    picture = tmp_path / "picture.png"
    done = subprocess.run(
        [sys.executable, "-W", "error", script, "--trials", "4", "--picture", picture],
        capture_output=True,
        text=True,
        timeout=600,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert "95% interval" in done.stdout
    assert "exact" in done.stdout
    assert picture.stat().st_size > 10_000


def test_the_gallery_has_its_pages_pictures_and_tables():
    pages = ROOT / "docs" / "gallery"
    assert len(GALLERY) == 8
    for script in GALLERY:
        assert f"examples/gallery/{script.name}" in (pages / f"{script.stem}.md").read_text()
        assert (pages / "pictures" / f"{script.stem}.png").exists()
        assert "without" in (pages / "tables" / f"{script.stem}.md").read_text()


def test_the_examples_are_listed():
    listed = (ROOT / "examples" / "README.md").read_text()
    assert len(FILES) == 5
    for script in (*EXAMPLES, *FILES, *GALLERY):
        assert f"({script.relative_to(ROOT / 'examples')})" in listed
    links = re.findall(r"\]\(([^)]+)\)", listed)
    assert [link for link in links if not (ROOT / "examples" / link).exists()] == []
