"""Studies whose equation is text: recognised again, told from others, corrected; and measurements by name."""

import json

import numpy as np
import pytest

from pinnbo import PDE, Optimizer, Space
from pinnbo.studies import problem_file
from pinnbo.studies.errors import StudyError
from studies_help import Lab

PROBLEM = """
goal = "minimize"
budget = 6
method = "random"
seed = 0
equation = "{equation}"
[space]
x = [0.0, 3.0]
[constants]
k = 2.0
[evaluate]
formula = "cos(k*x); k = 2"
"""
RIGHT, WRONG = "d2(f, x) = -k**2*f", "d2(f, x) = k**2*f"


def load(file):
    problem = problem_file.read(file)
    return problem.physics, problem.evaluation


@pytest.fixture
def lab(tmp_path, capsys):
    return Lab(tmp_path, capsys)


def test_a_study_runs_from_a_file_without_python(lab):
    lab.problem(base=PROBLEM.format(equation=RIGHT))
    assert lab.json("run")[-1]["goal"] == "minimize"
    rows = lab.rows()
    np.testing.assert_allclose([r["value"] for r in rows], np.cos([2 * r["x"] for r in rows]), rtol=1e-12)
    shown = lab.ok("show")
    assert RIGHT in shown
    assert "by the formula cos(k*x); k = 2" in shown


def test_a_wrong_equation_is_corrected_and_stays_in_the_record(lab):
    lab.problem(base=PROBLEM.format(equation=WRONG))
    lab.ok("ask")
    lab.ok("tell", "0", "0.5")
    lab.problem(base=PROBLEM.format(equation=RIGHT))
    assert "another equation than the present" in (said := lab.refused("ask"))
    assert "pinnbo amend adopts the present one" in said
    said = lab.ok("amend")
    assert "until now: k = 2; " + WRONG in said
    assert "from now on: k = 2; " + RIGHT in said
    assert "1 measurement stay" in said
    assert "the equation was k = 2; " + WRONG + " (1 measured by then)" in lab.ok("status")
    assert "nothing to amend" in lab.ok("amend")
    assert lab.json("ask")["trial"] == 1
    from pinnbo.studies.campaign import open_campaign

    with open_campaign(problem_file.read(lab.file), create=False) as campaign:
        stored = campaign.study.user_attrs["pinnbo:problem"]
    assert [WRONG in entry["equations"][0] for entry in stored["earlier"]] == [True]
    json.dumps(stored)


def test_amending_an_equation_with_unknown_coefficients(lab):
    text = PROBLEM.replace("[constants]\nk = 2.0", "[unknowns]\nm = [1, 3]").replace('"random"', '"auto"')
    lab.problem(base=text.format(equation="d2(f, x) = m**2*f"))
    lab.ok("tell", "0.5", "--at", "x=1")
    for _ in range(2):  # a second time there is nothing to do, so that the study knows itself again
        lab.problem(base=text.format(equation="d2(f, x) = -m**2*f"))
        lab.ok("amend")
    lab.ok("tell", "0.7", "--at", "x=2")
    assert len(lab.json("status")["earlier_equations"]) == 1
    lab.problem(base=text.format(equation="d2(f, x) = -n**2*f"))
    assert "n is neither an axis, a field" in lab.refused("amend")


def test_a_worker_notices_that_its_study_was_amended(lab):
    from pinnbo.studies.campaign import open_campaign

    lab.problem(base=PROBLEM.format(equation=WRONG))
    with open_campaign(problem_file.read(lab.file), create=True) as campaign:
        campaign.ask()
        lab.problem(base=PROBLEM.format(equation=RIGHT))
        lab.ok("amend")
        with pytest.raises(StudyError, match="was made for another equation than the present"):
            campaign.ask()
        assert len(campaign.record().of("pending")) == 1


def test_a_study_is_recognised_whether_its_equation_is_text_or_python(lab):
    lab.problem(base=PROBLEM.format(equation=RIGHT))
    lab.ok("ask")
    (lab.folder / "eq.py").write_text(
        "from pinnbo import PDE\nfrom pinnbo.operators import partial\n"
        "pde = PDE(lambda f: lambda x: partial(f, 0, 2)(x) + 4.0 * f(x))\n"
    )
    base = (
        PROBLEM.format(equation="")
        .replace('equation = ""', 'pde = "eq.py:pde"')
        .replace("[constants]\nk = 2.0\n", "")
    )
    lab.problem(base=base)
    assert lab.json("ask")["trial"] == 1


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (("d2(f, x) = -k**2*f", "d2(f, z) = 0"), "column 7: 'z' is no axis"),
        (("d2(f, x) = -k**2*f", "d2(f, x) = 0)"), "')' closes nothing"),
        (("d2(f, x) = -k**2*f", "d2(f, x) = m*f"), "m is neither an axis, a field, a constant nor one of"),
        (
            ("k = 2.0", 'k = "two"'),
            "constants.k: expected a number, or one with its unit such as '12 mm2/s', got 'two'",
        ),
        (("k = 2.0", "k = 2.0\n[unknowns]\nm = [2.0, 1.0]"), "unknowns.m: expected a range [low, high]"),
        (("k = 2.0", "k = 2.0\n[places]\nwall = 3"), "places.wall: expected a place such as 'y = 0'"),
        (("[space]", 'conditions = ["f = 1 on wall"]\n[space]'), "place wall is unknown"),
        (("[space]", "conditions = [3]\n[space]"), "conditions: expected a list such as"),
        (("[space]", 'fields = "f"\n[space]'), "fields: expected a list of names such as ['T'], got 'f'"),
        (("[space]", 'pde = "a.py:pde"\n[space]'), "expected an equation or a pde, got both"),
        (("cos(k*x); k = 2", "cos(k*x"), "evaluate.formula: equation: line 1, column 8"),
        (("cos(k*x); k = 2", "cos(m*x)"), "evaluate.formula: equation: line 1, column 5: m is unknown"),
        (
            ("[evaluate]", '[evaluate]\ncommand = "go {x}"'),
            "expected a formula, python or command, got two of them",
        ),
        (
            ('equation = "d2(f, x) = -k**2*f"', 'conditions = ["f = 1 on x = 0"]'),
            "conditions: expected an equation in text",
        ),
    ],
)
def test_what_is_wrong_in_the_file_is_said_in_one_sentence(lab, change, complaint):
    text = PROBLEM.format(equation=RIGHT)
    assert change[0] in text
    lab.problem(base=text.replace(*change))
    with pytest.raises(StudyError) as error:
        load(lab.file)
    assert complaint in str(error.value)
    assert "\n" not in str(error.value)


def test_unknown_coefficients_and_fields_are_handed_on(lab):
    text = PROBLEM.format(equation="d2(f, x) = -m**2*f").replace(
        "[constants]\nk = 2.0", "[unknowns]\nm = [1, 3]"
    )
    lab.problem(base=text.replace("[space]", 'measures = "f"\n[space]'))
    problem = problem_file.read(lab.file)
    assert problem.options == {"unknowns": {"m": (1.0, 3.0)}, "measures": "f"}
    assert problem.physics[0].equation.unknowns == ("m",)


def test_measurements_by_name():
    plane = Space(x=(0.0, 1.0), y=(0.0, 2.0))
    optimizer = Optimizer(plane, PDE.parse("laplacian(T) = 0", plane), method="random")
    assert optimizer.tell({"y": 1.5, "x": 0.5}, 3.0) == 0
    assert optimizer.tell([{"x": 0.1, "y": 0.2}, {"x": 0.3, "y": 0.4}], [1.0, 2.0]) == [1, 2]
    assert [record["x"] for record in optimizer.to_dict()["records"]] == [[0.5, 1.5], [0.1, 0.2], [0.3, 0.4]]


TABLE = PROBLEM.format(equation="d(k(x)*d(f, x), x) = 0").replace(
    "[constants]\nk = 2.0\n", "[tables]\nk = {}\n"
)


def test_tabulated_coefficients_in_the_file_and_beside_it(lab):
    x = np.linspace(0.0, 3.0, 12)
    (lab.folder / "k.csv").write_text("x,k\n" + "".join(f"{a},{1 + a**2}\n" for a in x))
    texts = [f"[{x.tolist()}, {(1 + x**2).tolist()}]", '"k.csv"']
    space = Space(x=(0.0, 3.0))
    expected = PDE.parse("d((1 + x**2)*d(f, x), x) = 0", space)
    for text in texts:
        lab.problem(base=TABLE.replace("{}", text))
        (pde,) = problem_file.read(lab.file).physics
        np.testing.assert_allclose(pde.fingerprint(space), expected.fingerprint(space), atol=1e-8)


@pytest.mark.parametrize(
    ("table", "complaint"),
    [
        ("3", "tables.k: expected two columns"),
        ("[[1, 2]]", "tables.k: expected two columns"),
        ('[[1, "2"], [1, 2]]', "tables.k: expected two columns"),
        ("[[1, 0], [1, 2]]", "expected finite values at ascending places"),
        ('"no.csv"', "tables.k: 'no.csv' cannot be read"),
        ('"../k.csv"', "tables.k: expected a file in the folder of the problem file"),
        ('"bad.csv"', "tables.k: expected two numbers in line 2 of 'bad.csv', got '1,2,3'"),
    ],
)
def test_what_is_wrong_with_a_table_is_said(lab, table, complaint):
    (lab.folder / "bad.csv").write_text("0,1\n1,2,3\n")
    lab.problem(base=TABLE.replace("{}", table))
    with pytest.raises(StudyError) as error:
        load(lab.file)
    assert complaint in str(error.value)


def test_the_axis_of_time_may_be_named(lab):
    text = 'goal = "minimize"\nbudget = 3\nequation = "d(T, tau) = laplacian(T)"\ntime = "tau"\n'
    text += "[space]\nx = [0.0, 1.0]\ntau = [0.0, 1.0]\n"
    lab.problem(base=text)
    assert problem_file.read(lab.file).physics[0].equation.scope.time == "tau"
    lab.problem(base=text.replace('"tau"', '"sigma"'))
    with pytest.raises(StudyError, match="time: expected one of the axes x, tau, got 'sigma'"):
        problem_file.read(lab.file)
