"""Files that appear when they are complete, and not before."""

from __future__ import annotations

import errno
import os
from pathlib import Path

_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK)  # file systems of USB sticks and shares


def write(path: Path, text: str) -> None:
    """Write a file: whoever reads it, also after a kill or a full disk, finds all of the old text or of the new."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.unfinished")
    try:
        with unfinished.open("w", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def place(new: Path, path: Path) -> None:
    """Give a complete file its name; raises FileExistsError, and overwrites nothing, if there is one of that name."""
    try:
        os.link(new, path)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        with path.open("xb"):  # the name is taken from here on
            new.replace(path)
