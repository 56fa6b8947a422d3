"""The pages of the documentation and their code blocks, for the tests."""

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
# what a block may be: code that is run, files, commands for a person, Sphinx's own
RUN, SHOWN = ("python", "console", "toml"), ("", "sh")
_FENCE = re.compile(r"^(`{3,})([^\n`]*)\n(.*?)^\1\s*$", flags=re.DOTALL | re.MULTILINE)
# what a library that a page imports says about itself
_OF_GPYTORCH = "ignore:`torch.jit.script` is deprecated:DeprecationWarning"
_SERVERS = ("dashboard", "lab")  # they stay until they are ended


class Block(NamedTuple):
    """A code block with what is written after its fence."""

    language: str
    code: str

    @property
    def file(self):
        """The name that the first line gives, if the block is a file."""
        found = re.match(r"# ([\w-]+\.(?:toml|py|csv))\n", self.code)
        return found[1] if found else None


def all_pages():
    """README and the site, with what is written when it is built."""
    return [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]


def text_of(page):
    text = page.read_text()
    if page.name == "cookbook.md":
        sys.path.insert(0, str(DOCS / "_site"))
        import catalogue

        text = text.replace(catalogue.MARK, catalogue.text())
    return text


def blocks(page):
    return [Block(language.strip(), code) for _, language, code in _FENCE.findall(text_of(page))]


def name(page):
    return str(page.relative_to(ROOT)).removeprefix("docs/").removesuffix(".md")


def commands(block):
    """Every command of a console block, with the output that is shown below it."""
    found = []
    for line in block.code.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        else:
            found[-1][1].append(line)
    return found


def run(page, folder):
    """Everything on a page, as a reader would: files first, then the shell, then Python; what each command said."""
    found = blocks(page)
    for block in found:
        if block.file:
            (folder / block.file).write_text(block.code)
    said = {}
    for block in found:
        if block.language == "console":
            for command, shown in commands(block):
                said[command] = _shell(command, folder)
                missing = [line for line in shown if line != "..." and not _is_in(line, said[command])]
                assert missing == [], (command, said[command])
    code = "\n".join(block.code for block in found if block.language == "python" and not block.file)
    if code:
        done = subprocess.run(
            [sys.executable, "-W", "error", "-W", _OF_GPYTORCH, "-c", code],
            capture_output=True,
            text=True,
            timeout=900,
            cwd=folder,
        )
        assert done.returncode == 0, done.stderr
        said["python"] = done.stdout
    return said


def _shell(command, folder):
    words = shlex.split(command, comments=True)
    assert words[0] == "pinnbo", command
    serves = words[1] in _SERVERS
    # a page may be run twice at once, and others may use the port
    free = ["--port", "0"] if serves else []
    process = subprocess.Popen(
        [sys.executable, "-m", "pinnbo.cli", *words[1:], *free],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    first = ""
    if serves:
        first = process.stdout.readline()
        process.terminate()
    out, err = process.communicate(timeout=600)
    assert process.returncode == 0, (command, err)
    return first + out


def _is_in(line, said):
    """Whether a line was said, whatever its numbers and the white space between its words."""
    return _words(line) in [_words(other) for other in said.splitlines()]


def _words(line):
    return re.sub(r"-?\d[\d.e+-]*", "#", " ".join(line.split()))
