"""Before and after: a loss is found, a tie is a tie, and records of the former format count as well."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from pinnbo.bench import records
from pinnbo.bench.records import Record

sys.path.append(str(Path(__file__).parent.parent / "benchmarks"))
import compare
import convert

RNG = np.random.default_rng(5)
CURVES = {(p, s): np.exp(-RNG.uniform(0.1, 6.0, 20)) for p in ("easy", "hard", "odd") for s in range(8)}


def line(problem, seed, regret, method="auto", coverage=0.95, seconds=2.0):
    case = {"problem": problem, "method": method, "seed": seed, "initial": None, "n": len(regret)}
    result = {"regret": list(regret), "recommended": {}, "coverage": coverage, "trust": {}}
    return Record(case, result, None, seconds, "abc", "")


def written(path, factor, **more):
    for (problem, seed), regret in CURVES.items():
        records.append(path, line(problem, seed, factor(problem) * regret, **more))
    return path


def old(problem, seed, regret, box="paper", pde=True, acquisition="improvement", noise="sd"):
    return {
        "problem": problem,
        "box": box,
        "noise": noise,
        "pde": pde,
        "acquisition": acquisition,
        "seed": seed,
        "commit": "abc",
        "regret": list(regret),
        "recommended": 0.25,
        "coverage": 0.9,
        "trusts": {"2": 0.5},
        "seconds": 3.0,
    }


def test_the_score_is_the_mean_log_of_the_best_so_far_and_stops_at_a_thousandth():
    result = {"regret": [0.1, 1.0, 0.001, 1e-9], "coverage": 0.9}
    score, final, reached, coverage, seconds = compare.measured(result, 4.0, 4)
    assert score == pytest.approx((-1 - 1 - 3 - 3) / 4)
    assert (final, reached, coverage, seconds) == (1e-3, 3.0, 0.9, 4.0)
    assert compare.measured(result, 4.0, 2)[2] == np.inf


def test_a_loss_is_found_and_named(tmp_path):
    before = written(tmp_path / "before", lambda p: 1.0, seconds=2.0)
    after = written(tmp_path / "after", lambda p: 3.0 if p != "odd" else 0.5, coverage=0.85, seconds=1.0)
    made = compare.pairs(before, after)
    assert len(made) == 24
    text = compare.report(made)
    assert "24 pairs: 8 better, 16 worse, 0 the same; a loss at 5%" in text
    assert "Median worse: 2 of 3 problems" in text
    named = text.split("## All")[0]
    assert "easy auto" in named
    assert "hard auto" in named
    assert "odd auto" not in named
    assert "95.0% before, 85.0% after." in text
    assert "Time after / before: median 0.50" in text
    # the other way round it is a gain, apart from one problem
    back = compare.report(compare.pairs(after, before))
    assert "16 better, 8 worse, 0 the same; no loss at 5%" in back
    assert "Median worse: 1 of 3 problems" in back


def test_ties_are_ties(tmp_path):
    one = written(tmp_path / "one", lambda p: 1.0)
    text = compare.report(compare.pairs(one, one))
    assert "0 better, 0 worse, 24 the same; no loss at 5%" in text
    assert "None." in text
    # both below a thousandth of the range
    records.append(tmp_path / "a", line("near", 0, [1e-4, 1e-5]))
    records.append(tmp_path / "b", line("near", 0, [9e-4, 9e-4]))
    (pair,) = compare.pairs(tmp_path / "a", tmp_path / "b")
    assert pair.difference == 0.0


def test_unequal_lengths_and_failures(tmp_path):
    records.append(tmp_path / "a", line("p", 0, [0.5, 0.4, 0.001]))
    records.append(tmp_path / "b", line("p", 0, [0.5, 0.4]))
    records.append(tmp_path / "a", line("p", 1, [0.5]))
    records.append(tmp_path / "b", line("p", 1, [0.5])._replace(result=None, error="ValueError: no"))
    (pair,) = compare.pairs(tmp_path / "a", tmp_path / "b")
    assert pair.difference == 0.0
    assert pair.final == (0.4, 0.4)


def test_two_methods_of_one_file(tmp_path):
    path = written(tmp_path / "runs", lambda p: 1.0)
    written(path, lambda p: 2.0, method="auto:plain")
    made = compare.pairs(path, path, ["auto", "auto:plain"])
    assert len(made) == 24
    assert all(pair.difference > 0 for pair in made if pair.score[0] > -2.5)


def test_the_former_format_is_read(tmp_path):
    lines = [
        old("heat-1", 3, [0.5, 0.1], box="shifted"),
        old("heat-1", 3, [0.5, 0.1], pde=False, noise="variance"),
        old("camel, wave", 4, [0.5, 0.1], acquisition="bound"),
    ]
    path = tmp_path / "old.jsonl"
    path.write_text("".join(json.dumps(entry) + "\n" for entry in lines) + '{"problem": "cut sh')
    first, second, third = convert.read(path)
    assert first.case == {
        "problem": "heat-1:shifted:noise=0.01",
        "method": "auto",
        "seed": 3,
        "initial": None,
        "n": 2,
    }
    assert first.result == {
        "regret": [0.5, 0.1],
        "recommended": {"2": 0.25},
        "coverage": 0.9,
        "trust": {"2": 0.5},
    }
    assert (first.seconds, first.commit) == (3.0, "abc")
    assert (second.case["problem"], second.case["method"]) == ("heat-1", "auto:plain")
    assert (third.case["problem"], third.case["method"]) == (
        "camel, wave:noise=0.01",
        "auto:acquisition=bound",
    )
    drawn = {"case": ["draw", True, 7], "commit": "abc", "inside": 3, "of": 4, "trust": 0.5}
    assert convert.converted(drawn) == (
        {"kind": "draw", "pde": True, "seed": 7},
        {"inside": 3, "of": 4, "trust": 0.5},
        None,
        None,
        "abc",
        "",
    )
    # a line of the present format stays as it is
    assert convert.converted(first._asdict()) == first
