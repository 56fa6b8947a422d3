"""The report: numbers that were worked out by hand, and a page that says what is in the records."""

import math

import numpy as np
import pytest

from pinnbo import cli, problems
from pinnbo.bench import measures, pictures, report
from pinnbo.bench.measures import Reached, Traces, saving
from pinnbo.bench.records import Record
from pinnbo.bench.search import case


def told(records, problem, method, seed, regrets, initial=2):
    """A record of a run with the given regrets, as shares of the range."""
    found = problems.get(problem.split(":")[0])
    result = {
        "regret": list(regrets),
        "seconds": [n + 0.5 for n in range(1, len(regrets) + 1)],
        "points": found.space.sobol(len(regrets), seed).tolist(),
    }
    run = case(problem, method, seed, len(regrets), initial)
    records.append(Record(run, result, None, 1.0, "abc1234", "python 3.11, numpy 2"))


@pytest.fixture
def records():
    return []


def test_regret_is_that_of_the_true_values(records):
    told(records, "heat-1", "random", 0, [0.5, 0.2, 0.3, 0.05])
    (trace,) = Traces(records).of("heat-1", "random")
    np.testing.assert_allclose(trace.regret, [0.5, 0.2, 0.3, 0.05])
    np.testing.assert_allclose(trace.simple, [0.5, 0.2, 0.2, 0.05])
    np.testing.assert_allclose(trace.cumulative, [0.5, 0.7, 1.0, 1.05])


def test_evaluations_to_a_threshold_with_censoring(records):
    told(records, "beam-1", "gp-ei", 0, [0.5, 0.09, 0.005, 0.005])
    told(records, "beam-1", "gp-ei", 1, [0.5, 0.5, 0.05, 0.05])
    told(records, "beam-1", "gp-ei", 2, [0.5, 0.5, 0.5, 0.005])
    traces = Traces(records)
    assert traces.reached("beam-1", "gp-ei", 0.1) == Reached(3, False, 3, 3)
    assert traces.reached("beam-1", "gp-ei", 0.01) == Reached(4, False, 2, 3)
    assert traces.reached("beam-1", "gp-ei", 0.001) == Reached(4, True, 0, 3)
    assert str(traces.reached("beam-1", "gp-ei", 0.001)) == "> 4 (0/3)"
    assert str(traces.reached("beam-1", "gp-ei", 0.01)) == "4 (2/3)"


def test_half_of_the_seeds_is_not_enough(records):
    told(records, "beam-1", "gp-ei", 0, [0.001])
    told(records, "beam-1", "gp-ei", 1, [0.5])
    assert Traces(records).reached("beam-1", "gp-ei", 0.1).censored


@pytest.mark.parametrize(
    ("ours", "others", "expected"),
    [
        (Reached(10, False, 3, 3), {"a": Reached(60, False, 2, 3), "b": Reached(400, True, 0, 3)}, "6 (a)"),
        (
            Reached(10, False, 3, 3),
            {"a": Reached(60, True, 0, 3), "b": Reached(400, True, 1, 3)},
            "at least 40",
        ),
        (Reached(10, True, 1, 3), {"a": Reached(60, False, 3, 3)}, "-"),
        (Reached(50, False, 3, 3), {"a": Reached(20, False, 3, 3), "b": Reached(30, False, 3, 3)}, "0.4 (a)"),
    ],
)
def test_saving(ours, others, expected):
    assert saving(ours, others).startswith(expected)


def test_unequal_runs_are_compared_where_the_shorter_one_stops(records):
    told(records, "beam-1", "gp-ei", 0, [0.5, 0.4, 0.001])
    told(records, "beam-1", "gp-ei", 1, [0.5, 0.4, 0.001])
    told(records, "beam-1", "pinn-bo", 0, [0.5, 0.10])
    told(records, "beam-1", "pinn-bo", 1, [0.5, 0.12])
    traces = Traces(records)
    assert traces.at_equal_evaluations("beam-1", ["gp-ei", "pinn-bo"]) == pytest.approx(
        {"gp-ei": 0.4, "pinn-bo": 0.11}
    )
    assert traces.compared("beam-1", "pinn-bo", "gp-ei", "beam-1") == ("better", 2)
    assert traces.compared("beam-1", "gp-ei", "pinn-bo", "beam-1") == ("worse", 2)
    assert traces.compared("beam-1", "gp-ei", "gp-ei", "beam-1") == ("even", 3)
    told(records, "beam-1", "turbo", 0, [0.5, 0.01])
    assert Traces(records).compared("beam-1", "turbo", "pinn-bo", "beam-1") == ("too few seeds", 2)
    told(records, "beam-1", "gp-ucb", 0, [0.5, 0.01])
    told(records, "beam-1", "gp-ucb", 1, [0.5, 0.30])
    assert Traces(records).compared("beam-1", "gp-ucb", "pinn-bo", "beam-1") == ("even", 2)


def test_runs_that_failed_or_are_shorter_are_left_out(records):
    for seed, regrets in enumerate(([0.5, 0.4, 0.3], [0.5, 0.4, 0.1], [0.5])):
        told(records, "beam-1", "gp-ei", seed, regrets)
    records.append(Record(case("beam-1", "gp-ei", 3, 3, 2), None, "ValueError: no", 1.0, "abc", ""))
    traces = Traces(records)
    assert [trace.seed for trace in traces.of("beam-1", "gp-ei")] == [0, 1]
    np.testing.assert_allclose(traces.stacked("beam-1", "gp-ei", "simple")[:, -1], [0.3, 0.1])


def test_ranks_and_critical_difference(records):
    """Demsar's q of 2.343 for three methods; ranks 1, 2, 3 everywhere make Friedman's statistic 2 N."""
    everywhere = ["beam-1", "dropwave-2", "heat-1", "heat-2"]
    for problem in everywhere:
        for method, share in (("auto", 0.01), ("gp-ei", 0.2), ("random", 0.5)):
            told(records, problem, method, 0, [0.9, share])
    ranking = Traces(records).ranking(everywhere, ["auto", "gp-ei", "random"])
    assert ranking.ranks == {"auto": 1.0, "gp-ei": 2.0, "random": 3.0}
    assert ranking.critical_difference == pytest.approx(2.343 * math.sqrt(3 * 4 / (6 * 4)), rel=1e-3)
    assert ranking.p == pytest.approx(math.exp(-4.0))  # chi^2 with two degrees of freedom at 8
    assert pictures._cliques([1.0, 2.0, 3.0], 1.2) == [(1.0, 2.0), (2.0, 3.0)]
    assert pictures._cliques([1.0, 2.0, 3.0], 2.0) == [(1.0, 3.0)]
    assert pictures._cliques([1.0, 3.0, 5.0], 1.0) == []


def test_time_of_a_suggestion_leaves_out_the_common_points(records):
    told(records, "beam-1", "gp-ei", 0, [0.5] * 5, initial=3)
    told(records, "beam-1", "auto", 0, [0.5] * 5, initial=3)
    traces = Traces(records)
    assert traces.suggestion_seconds("beam-1", "gp-ei") == 5.0  # of 4.5 and 5.5
    assert traces.suggestion_seconds("beam-1", "auto") == 3.5


def test_standard_error():
    values = np.array([[1.0, 5.0], [3.0, 5.0]])
    np.testing.assert_allclose(measures.standard_error(values), [1.0, 0.0])
    np.testing.assert_allclose(measures.standard_error(values[:1]), [0.0, 0.0])


def test_labels_stay_apart_and_in_order():
    places = pictures._spread(np.array([0.2, 0.2, 0.21, 0.99, 1.0]), 0.05)
    np.testing.assert_allclose(places, [0.2, 0.25, 0.3, 0.95, 1.0])


def test_methods_can_be_told_apart():
    many = [f"method-{i}" for i in range(12)] + ["auto"]
    look = pictures.styles(many)
    assert len(set(look.values())) == 13
    assert len({(style.colour, style.marker) for style in look.values()}) == 13
    assert look["auto"] == (pictures.PALETTE[0], "-", "o")


def test_the_page(records, tmp_path):
    rng = np.random.default_rng(0)
    everywhere = ["beam-1", "heat-1", "rastrigin-3", "rastrigin-3:printed"]
    for problem in everywhere:
        for method, last in (("auto", 1e-4), ("pinn-bo", 0.05), ("gp-ei", 0.2), ("random", 0.4)):
            if ":printed" in problem and method in ("gp-ei", "random"):
                continue
            for seed in range(3):
                told(records, problem, method, seed, np.geomspace(0.9, last * rng.uniform(1, 1.1), 6))
    failure = "RuntimeError: a | b\nsecond line"
    records.append(Record(case("heat-1", "turbo", 2, 6, 2), None, failure, 1.0, "def5678", ""))
    page = report.write(records, tmp_path / "page")
    text = page.read_text()
    assert "| heat-1 | turbo | 2 | RuntimeError: a \\| b second line |" in text
    assert "42 runs, 252 evaluations. Regret" in text
    assert "at least 1.2 (none in 6)" in text  # auto reaches 0.1% at the fifth, nobody else in six
    assert "| rastrigin-3:printed | pinn-bo | better (n = 6) | - | - | - |" in text
    assert "| abc1234 | 42 | python 3.11, numpy 2 |" in text
    assert "critical difference" in text.lower()
    linked = {part.split(")")[0] for part in text.split("](")[1:]}
    assert linked == {path.name for path in page.parent.glob("*.png")}
    assert {"beam.png", "temperatures.png", "ranks.png", "regret-rastrigin-3-printed.png"} <= linked


def test_without_failures_the_page_says_so(records, tmp_path):
    told(records, "rastrigin-3", "random", 0, [0.5, 0.4, 0.3])
    text = report.write(records, tmp_path / "page").read_text()
    assert "No run failed." in text
    assert "critical difference" not in text.lower()
    assert "The paper's claim" not in text


def test_nothing_recorded_is_one_sentence(tmp_path, capsys):
    path = str(tmp_path / "records.jsonl")
    (tmp_path / "records.jsonl").touch()
    assert cli.main(["bench", "report", "--records", path, "--output", str(tmp_path / "page")]) == 2
    assert "nothing has been recorded yet" in capsys.readouterr().err
    assert not (tmp_path / "page").exists()
    assert cli.main(["bench", "report", "--records", str(tmp_path / "none")]) == 2
    assert capsys.readouterr().err.count("\n") == 1
