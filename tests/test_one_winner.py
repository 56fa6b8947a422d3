"""Of two who write the same thing at once exactly one is stored, and the other is told."""

import json
import multiprocessing
import queue
import threading

import pytest

from pinnbo.studies import problem_file
from pinnbo.studies.campaign import Measurement, open_campaign
from pinnbo.studies.errors import StudyError
from pinnbo.studies.evaluation import Outcome
from studies_help import BY_PYTHON, PROBLEM

FEW = 12
# pairs from threads, processes and the shell: 200 on each storage in make test-all
COUNTS = [(FEW, FEW, 2), pytest.param((80, 80, 40), marks=pytest.mark.slow)]


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request, lab):
    lab.problem(base=f'name = "{request.node.name}"\n' + PROBLEM)
    if request.param == "postgresql":
        return request.getfixturevalue("server")
    return f"sqlite:///{lab.folder / 'lab.db'}"


def asked(lab, url, n):
    with open_campaign(problem_file.read(lab.file), url, create=True) as campaign:
        return [campaign.ask().number for _ in range(n)]


def teller(file, url, numbers, mine, together, results):
    """Tell every trial my value, with my noise, at the same moment as the other."""
    with open_campaign(problem_file.read(file), url, create=False) as campaign:
        for number in numbers:
            together.wait()
            try:
                campaign.tell(number, Outcome(mine + number), noise=mine)
                results.put((number, mine, None))
            except BaseException as error:
                results.put((number, mine, f"{type(error).__name__}: {error}"))


def check(lab, url, results):
    """One winner for each trial, whose value and noise are stored; every loser got the sentence."""
    rows = {row["trial"]: row for row in lab.rows("--storage", url)}
    for number in {number for number, _, _ in results}:
        pair = [(mine, error) for told, mine, error in results if told == number]
        winners = [mine for mine, error in pair if error is None]
        assert (len(pair), len(winners)) == (2, 1), pair
        assert (rows[number]["value"], rows[number]["noise"]) == (winners[0] + number, winners[0])
        loser = next(error for _, error in pair if error is not None)
        assert f"trial {number} is measured ({winners[0] + number}) already" in loser


def in_pairs(lab, url, numbers, make, barrier, results):
    pair = [make(target=teller, args=(lab.file, url, numbers, m, barrier, results)) for m in (1.0, 1000.0)]
    for one in pair:
        one.start()
    said = [results.get(timeout=300) for _ in range(2 * len(numbers))]
    for one in pair:
        one.join(60)
    return said


@pytest.mark.parametrize("counts", COUNTS, ids=["few", "two hundred"])
def test_of_two_who_tell_at_once_one_is_stored(lab, url, counts):
    threads, processes, _ = counts
    numbers = asked(lab, url, sum(counts))
    spawn = multiprocessing.get_context("spawn")
    first, second = numbers[:threads], numbers[threads : threads + processes]
    said = in_pairs(lab, url, first, threading.Thread, threading.Barrier(2), queue.Queue())
    said += in_pairs(lab, url, second, spawn.Process, spawn.Barrier(2), spawn.Queue())
    for number in numbers[threads + processes :]:
        pair = {
            mine: lab.start(
                "tell", str(number), str(mine + number), "--noise", str(mine), "--storage", url, "--json"
            )
            for mine in (1.0, 1000.0)
        }
        for mine, process in pair.items():
            out, err = process.communicate(timeout=120)
            assert process.returncode in (0, 2), err
            assert (err.count("\n"), bool(out)) == ((0, True) if process.returncode == 0 else (1, False)), err
            said.append((number, mine, err if process.returncode else None))
    assert len(said) == 2 * sum(counts)
    check(lab, url, said)


def test_two_who_import_the_same_table_at_once_enter_it_once(lab, url):
    measurements = [Measurement({"x": i / 10}, Outcome(float(i)), None) for i in range(20)]
    asked(lab, url, 1)
    together, entered = threading.Barrier(2), []

    def enter():
        with open_campaign(problem_file.read(lab.file), url, create=False) as campaign:
            together.wait()
            entered.append(campaign.add_new(measurements))

    threads = [threading.Thread(target=enter) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(entered) == [0, 20]
    rows = lab.rows("--storage", url)
    assert sorted(row["value"] for row in rows if row["meaning"] == "measured") == [
        float(i) for i in range(20)
    ]
    assert [row["trial"] for row in rows] == list(range(21))


def test_an_import_that_fails_in_the_middle_enters_nothing(lab, monkeypatch):
    from pinnbo.studies import ledger

    data = lab.folder / "data.csv"
    data.write_text("x,value\n1,2\n1.5,2\n")
    add = ledger.add

    def failing(study, trials):
        add(study, trials)
        raise StudyError("the power fails")

    monkeypatch.setattr(ledger, "add", failing)
    assert "the power fails" in lab.refused("import", str(data))
    monkeypatch.undo()
    assert lab.rows() == []
    assert lab.json("import", str(data)) == {"entered": 2, "known": 0}


@pytest.mark.parametrize("meanwhile", ["replace", "drop"])
@pytest.mark.parametrize("mine", ["replace", "drop"])
def test_a_correction_does_not_overwrite_one_that_was_not_seen(lab, url, mine, meanwhile):
    """Both have read the trial; the second to write is told what the first did."""
    asked(lab, url, 1)
    lab.ok("tell", "0", "5", "--storage", url)
    others = {
        "replace": (["tell", "0", "6", "--replace"], "measured (6.0)"),
        "drop": (["drop", "0"], "withdrawn"),
    }
    arguments, described = others[meanwhile]
    with open_campaign(problem_file.read(lab.file), url, create=False) as campaign:
        entry = campaign._entry(0)
        lab.ok(*arguments, "--storage", url)
        with pytest.raises(StudyError, match="corrected by somebody else at the same moment") as refused:
            campaign._correct(entry, 7.0 if mine == "replace" else None)
    assert described in str(refused.value)
    (row,) = lab.rows("--storage", url)
    assert row["was"] == [5.0]


def test_a_trial_that_is_withdrawn_is_not_withdrawn_again(lab):
    lab.ok("ask", "-n", "2")
    lab.ok("tell", "0", "5")
    for trial in "01":
        lab.ok("drop", trial)
        assert f"trial {trial} is withdrawn already" in lab.refused("drop", trial)


def test_a_value_told_by_hand_while_the_machine_measures_is_not_overwritten(lab, url):
    lab.problem(BY_PYTHON, base=lab.file.read_text())
    lab.folder.joinpath("lab.py").write_text(
        "import subprocess, sys\n"
        "def measure(x):\n"
        f"    subprocess.run([sys.executable, '-m', 'pinnbo.cli', 'tell', {str(lab.file)!r}, '0', '77',"
        f" '--storage', {url!r}], check=True)\n"
        "    return 5.0\n"
    )
    code, out, err = lab.pinnbo("run", "--budget", "1", "--storage", url, "--json")
    assert code == 0
    assert "trial 0 is measured (77.0) already; its value 5.0 is not stored, tell --replace enters it" in err
    assert [json.loads(line).get("value") for line in out.splitlines()] == [None]
    assert [row["value"] for row in lab.rows("--storage", url)] == [77.0]
