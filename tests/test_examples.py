import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


def test_there_are_examples():
    assert len(EXAMPLES) >= 3


@pytest.mark.parametrize("script", EXAMPLES, ids=lambda path: path.stem)
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


def test_readme_links_and_names_the_examples():
    readme = (ROOT / "README.md").read_text()
    for script in EXAMPLES:
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
