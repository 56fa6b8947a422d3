"""Turn records of the formats before `pinnbo.bench.records` into lines of that format.

python benchmarks/convert.py OLD.jsonl NEW.jsonl
"""

import json
import sys
from pathlib import Path

from pinnbo.bench import records
from pinnbo.bench.records import Record


def converted(old: dict) -> Record:
    """A line of any former format; one of the present format as it is."""
    if "result" in old:
        return Record(**old)
    if "acquisition" in old:
        return _search(old)
    seconds = old.pop("seconds", None)
    commit = old.pop("commit")
    if "case" in old:
        kind, *rest = old.pop("case")
        names = ("pde", "seed") if kind == "draw" else ("problem", "n", "seed")
        case = {"kind": kind, **dict(zip(names, rest, strict=True))}
    else:
        case = {"problem": old.pop("problem"), "seed": old.pop("seed")}
    return Record(case, old, None, seconds, commit, "")


def _search(old: dict) -> Record:
    """One run of `auto`; its noise was the paper's ("variance") or 1% of the range ("sd")."""
    shifted = ":shifted" if old["box"] == "shifted" else ""
    noise = ":noise=0.01" if old["noise"] == "sd" else ""
    plain = "" if old["pde"] else ":plain"
    acquisition = old["acquisition"]
    setting = "" if acquisition == "improvement" else f":acquisition={acquisition}"
    n = len(old["regret"])
    case = {
        "problem": f"{old['problem']}{shifted}{noise}",
        "method": f"auto{plain}{setting}",
        "seed": old["seed"],
        "initial": None,
        "n": n,
    }
    result = {
        "regret": old["regret"],
        "recommended": {str(n): old["recommended"]},
        "coverage": old["coverage"],
        "trust": old["trusts"],
    }
    return Record(case, result, None, old["seconds"], old["commit"], "")


def read(path: Path) -> list[Record]:
    """The records of a file in whichever format; a last line that is still being written is left out."""
    lines = path.read_text().splitlines(keepends=True)
    return [converted(json.loads(line)) for line in lines if line.endswith("\n")]


def main() -> None:
    source, target = map(Path, sys.argv[1:])
    if target.exists():
        sys.exit(f"convert: {target} is there already")
    for record in read(source):
        records.append(target, record)


if __name__ == "__main__":
    main()
