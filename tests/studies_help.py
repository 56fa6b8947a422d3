"""A small problem in a folder, and the command line run on it."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

from pinnbo import cli

PROBLEM = """
goal = "minimize"
budget = 6
method = "random"
seed = 0
[space]
x = [0.0, 3.0]
"""
BY_PYTHON = '[evaluate]\npython = "lab.py:measure"\n'
LAB = "def measure(x):\n    return (x[0] - 1.0) ** 2\n"


class Lab:
    """A folder with a problem file."""

    def __init__(self, folder: Path, capsys) -> None:
        self.folder, self._capsys = folder, capsys
        self.file = folder / "lab.toml"
        (folder / "lab.py").write_text(LAB)

    def problem(self, *more: str, base: str = PROBLEM) -> None:
        self.file.write_text(base + "\n".join(more))

    def command(self, text: str, *more: str, **changes: str) -> None:
        self.problem(f"[evaluate]\ncommand = {json.dumps(text)}\n" + "\n".join(more), **changes)

    def pinnbo(self, name: str, *arguments: str) -> tuple[int, str, str]:
        """Exit code, output and errors of a command in this process."""
        try:
            code = cli.main([name, str(self.file), *arguments])
        except SystemExit as stop:
            code = stop.code
        return (code, *self._capsys.readouterr())

    def ok(self, name: str, *arguments: str) -> str:
        code, out, err = self.pinnbo(name, *arguments)
        assert code == 0, err
        return out

    def json(self, name: str, *arguments: str):
        out = self.ok(name, *arguments, "--json")
        lines = [json.loads(line) for line in out.splitlines()]
        return lines[0] if len(lines) == 1 else lines

    def refused(self, name: str, *arguments: str, code: int = 2) -> str:
        """The one sentence with which a command is refused."""
        got, _, err = self.pinnbo(name, *arguments)
        assert got == code, err
        said = [line for line in err.splitlines() if not line.startswith("pinnbo: began a new study")]
        assert len(said) == 1, err
        assert said[0].startswith("pinnbo: ")
        return said[0] + "\n"

    def rows(self, *arguments: str):
        return self.json("export", *arguments)

    def start(self, name: str, *arguments: str, interrupt=signal.SIG_DFL) -> subprocess.Popen:
        """A command in a process of its own."""
        # tests that run in the background of a shell have the signal ignored; a function to be called after a fork is
        # no way to change that, because forking a process that has used JAX may hang
        handler = "default_int_handler" if interrupt == signal.SIG_DFL else "SIG_IGN"
        begin = f"import runpy, signal; signal.signal(signal.SIGINT, signal.{handler}); "
        run = "runpy.run_module('pinnbo.cli', run_name='__main__', alter_sys=True)"
        return subprocess.Popen(
            [sys.executable, "-c", begin + run, name, str(self.file), *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        )
