import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
FILES = sorted((ROOT / "examples").glob("*.toml"))


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


def test_readme_links_and_names_the_examples():
    readme = (ROOT / "README.md").read_text()
    assert len(FILES) == 5
    for script in (*EXAMPLES, *FILES):
        assert f"examples/{script.name}" in readme
    prose = re.sub(r"```.*?```|`[^`]*`", "", readme, flags=re.DOTALL)
    local = [link for link in re.findall(r"\]\(([^)]+)\)", prose) if "://" not in link]
    missing = [link for link in local if not (ROOT / link).exists()]
    assert missing == []


@pytest.mark.slow
def test_readme_code_runs(tmp_path):
    readme = (ROOT / "README.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", readme, flags=re.DOTALL)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", "\n".join(blocks)],
        capture_output=True,
        text=True,
        timeout=900,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "surrogate.png").exists()


@pytest.mark.slow
def test_the_day_in_the_lab_works_line_by_line(tmp_path):
    readme = (ROOT / "README.md").read_text()
    (block,) = re.findall(r"```console\n(\$ pinnbo init.*?)```", readme, flags=re.DOTALL)
    said = {}
    for line in block.splitlines():
        words = shlex.split(line.removeprefix("$ "), comments=True)
        assert words[0] == "pinnbo"
        process = subprocess.Popen(
            [sys.executable, "-m", "pinnbo.cli", *words[1:]],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        first = ""
        if words[1] == "dashboard":
            first = process.stdout.readline()
            process.terminate()
        out, err = process.communicate(timeout=600)
        assert process.returncode == 0, (line, err)
        said[words[1], words[-1]] = first + out
    assert "trial 0: 0.94 instead of 9.4" in said["tell", "--replace"]
    assert "best point" in said["status", "plate.toml"]
    assert "3 of 20 (1 infeasible)" in said["status", "plate.toml"]
    assert "http://127.0.0.1:8080/" in said["dashboard", "plate.toml"]
    rows = (tmp_path / "plate.csv").read_text().splitlines()
    assert [row.split(",")[1] for row in rows[1:]] == ["measured", "infeasible", "measured"]
    assert rows[1].endswith(",0.94,,9.4,")


@pytest.mark.slow
def test_the_code_of_the_page_on_studies_runs(tmp_path):
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "studies.md").read_text(), flags=re.DOTALL)
    assert len(blocks) == 2
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(blocks)], capture_output=True, text=True, timeout=600, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert "Best(x=" in done.stdout
