"""Where a figure comes from: the commit that made it."""

import subprocess
from pathlib import Path

ROOT = Path(__file__).parent.parent


def commit() -> str:
    """The short hash of the commit in use, marked if files differ from it."""
    found = subprocess.run(
        ["git", "describe", "--always", "--dirty=, with changes", "--abbrev=7", "--exclude=*"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return found.stdout.strip() or "unknown"
