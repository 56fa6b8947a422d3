"""Sensors in studies: in a problem file, from the shell, in tables, through Optuna."""

import jax.numpy as jnp
import numpy as np
import optuna
import pytest

from pinnbo import PDE, Optimizer, Sensor, Space
from pinnbo.equations.text import reading
from pinnbo.operators import partial
from pinnbo.optuna import PINNSampler
from pinnbo.sensors import box
from pinnbo.studies import problem_file
from pinnbo.studies.errors import StudyError

ROD = """
goal = "maximize"
budget = 8
equation = "d2(T, x) = T"
noise = 0.01
seed = 0
[space]
x = [0.0, 1.0]
[constants]
k = 0.6
[sensors]
flux = "-k*d(T, x)"
pyrometer = {reads = "T", over = {shape = "box", sides = [0.1]}, minus = {x = 0.5}, noise = 0.02}
"""


@pytest.fixture
def rod(lab):
    lab.problem(base=ROD)
    return lab


def told(lab):
    lab.ok("tell", str(np.exp(0.2)), "--at", "x=0.2")
    for x in (0.8, 0.1, 0.5):
        lab.ok("tell", str(-0.6 * np.exp(x)), "--at", f"x={x}", "--of", "flux", "--noise", "0.01")


def test_readings_are_learnt_from_as_the_optimizer_learns_from_them(rod):
    told(rod)
    with_study = rod.json("ask")
    space = Space(x=(0.0, 1.0))
    pde = PDE.parse("d2(T, x) = T", space)
    sensors = {
        "flux": lambda T: lambda x: -0.6 * partial(T, 0)(x),
        "pyrometer": Sensor(over=box(0.1), minus=[0.5], noise=0.02),
    }
    optimizer = Optimizer(space, pde, goal="maximize", noise=0.01, seed=0, sensors=sensors)
    optimizer.tell([0.2], np.exp(0.2))
    for x in (0.8, 0.1, 0.5):
        optimizer.tell([x], -0.6 * np.exp(x), of="flux", noise=0.01)
    suggested = space.from_dict(with_study["point"])
    optimizer._asked = 4  # trials that were entered count as asked for
    np.testing.assert_allclose(suggested, optimizer.ask(), atol=1e-5)


def test_a_reading_is_an_evaluation_and_no_value_of_what_is_optimised(rod):
    told(rod)
    now = rod.json("status")
    assert (now["measured"], now["read"], now["readings"]) == (1, 3, {"flux": 3})
    text = rod.ok("status")
    assert "4 of 8" in text
    assert "readings of flux      3" in text
    # Optuna sees one value
    study = optuna.load_study(study_name="lab", storage=f"sqlite:///{rod.folder}/lab.db")
    assert study.best_value == pytest.approx(np.exp(0.2))
    assert "reading of flux" in (rod.ok("report"), (rod.folder / "lab.html").read_text())[1]


def test_a_reading_answers_a_trial_and_is_corrected_and_withdrawn(rod):
    asked = rod.json("ask")
    rod.ok("tell", "0", "-0.5", "--of", "flux")
    assert "trial 0 is read (-0.5) already" in rod.refused("tell", "0", "1.0")
    rod.ok("tell", "0", "-0.4", "--replace")
    (row,) = rod.rows()
    assert (row["meaning"], row["of"], row["value"], row["was"]) == ("read", "flux", -0.4, [-0.5])
    assert row["x"] == asked["point"]["x"]
    assert "--of cannot be corrected" in rod.refused("tell", "0", "1.0", "--replace", "--of", "flux")
    rod.ok("drop", "0")
    assert [row["meaning"] for row in rod.rows()] == ["withdrawn"]


def test_an_export_is_imported_with_its_sensors(rod):
    told(rod)
    before = rod.ok("export")
    (rod.folder / "told.csv").write_text(before)
    assert rod.json("import", str(rod.folder / "told.csv")) == {"entered": 0, "known": 4}
    (rod.folder / "lab.db").unlink()
    assert rod.json("import", str(rod.folder / "told.csv")) == {"entered": 4, "known": 0}
    again = rod.rows()
    assert [row.get("of") for row in again] == [None, "flux", "flux", "flux"]
    assert [row["noise"] for row in again] == [None, 0.01, 0.01, 0.01]


def test_a_field_is_read_by_its_name(lab):
    beam = (
        'goal = "minimize"\nbudget = 8\nequation = ["d2(M, x) = -1", "d2(w, x) = M"]\nfields = ["w", "M"]\n'
    )
    lab.problem(base=beam + "noise = 0.001\n[space]\nx = [0.0, 1.0]\n")
    lab.ok("tell", "0.02", "--at", "x=0.3")
    lab.ok("tell", "-0.1", "--at", "x=0.5", "--of", "M")
    lab.ok("tell", "0.03", "--at", "x=0.6", "--of", "w")  # which is what is measured anyway
    assert [row["meaning"] for row in lab.rows()] == ["measured", "read", "measured"]
    assert "no field or sensor is called 'Q'; expected one of w, M" in lab.refused(
        "tell", "1", "--at", "x=0.1", "--of", "Q"
    )


def test_what_was_read_keeps_its_meaning(rod):
    told(rod)
    rod.problem(base=ROD.replace("-k*d(T, x)", "-k*d2(T, x)"))
    sentence = rod.refused("ask")
    assert "trial 1 was read by sensor 'flux'" in sentence
    assert "d2(T, x)" in sentence
    rod.problem(base=ROD.replace("flux =", "heat =") + 'flux = "-k*d(T, x)"\n')
    rod.ok("ask")


def test_a_sensor_that_does_not_fit_there_is_refused_before_it_is_stored(rod):
    sentence = "sensor 'pyrometer' at [0.02] reaches out of"
    assert sentence in rod.refused("tell", "1.0", "--at", "x=0.02", "--of", "pyrometer")
    (rod.folder / "told.csv").write_text("x,value,of\n0.5,1.0,pyrometer\n0.02,1.0,pyrometer\n")
    assert sentence in rod.refused("import", str(rod.folder / "told.csv"))
    assert rod.rows() == []


@pytest.mark.filterwarnings("ignore::pinnbo.values.OutlierWarning")
def test_a_value_far_from_those_of_its_own_sensor_is_kept_aside(rod):
    told(rod)
    said = rod.pinnbo("tell", "1e12", "--at", "x=0.4", "--of", "flux")[2]
    assert "too far from the others" in said
    assert rod.json("status")["set_aside"] == [{"trial": 4, "value": 1e12}]


@pytest.mark.parametrize(
    ("stated", "complaint"),
    [
        ("flux = 3", "sensors.flux: expected a text such as"),
        ("flux = {radius = 1}", r"sensors\.flux\.radius is unknown"),
        ('flux = {over = {shape = "star"}}', "expected a shape among point"),
        ('flux = {over = {shape = "disc"}}', "expected the sizes of a disc, got none"),
        ('flux = {over = {shape = "box", sides = [0.1, 0.1]}}', "expected 1 sides"),
        ("flux = {minus = {y = 0.1}}", "sensors.flux: "),
        ("flux = {noise = -1.0}", "sensors.flux.noise: expected a standard deviation"),
        ('flux = {reads = "lab.py:flux", noise = 1.0}', "belong to the Sensor in Python"),
        ('flux = "d(T, "', "sensors.flux: "),
        ('T = "T"', "sensors.T: expected another name than that of a field"),
        ('flux = "d(T, x) + 1"', r"sensors\.flux: .*expected a field \(T\) in every term"),
        ('flux = "d(T, x) = 1"', "sensors.flux: "),
        ('flux = "h*d(T, x)"', "sensors.flux: "),
        ('flux = "T**2"', "sensor 'flux'"),
        ('flux = "nothing.py:flux"', "there is no file"),
    ],
)
def test_mistakes_are_one_sentence(tmp_path, stated, complaint):
    file = tmp_path / "lab.toml"
    file.write_text(ROD.partition("[sensors]")[0] + "[sensors]\n" + stated + "\n")

    def read():
        problem = problem_file.read(file)
        Optimizer(problem.space, problem.physics, **problem.options)

    with pytest.raises((StudyError, ValueError), match=complaint) as said:
        read()
    assert "\n" not in str(said.value).strip()


def test_an_expression_is_an_operator_of_the_fields():
    space = Space(x=(0.0, 1.0), y=(0.0, 1.0))
    operator = reading("-k*d(T, x) + 2*psi", space, fields=["T", "psi"], constants={"k": 0.6})
    found = operator(lambda x: x[0] ** 2 * x[1], lambda x: x[1])(jnp.array([0.5, 0.25]))
    np.testing.assert_allclose(found, -0.6 * 2 * 0.5 * 0.25 + 2 * 0.25)


def test_a_sampler_knows_sensors():
    """A study that a problem file has made, and Optuna goes on with."""
    space = Space(x=(0.0, 1.0))
    pde = PDE(lambda f: lambda x: partial(f, 0, order=2)(x))
    sampler = PINNSampler(
        space, pde, seed=0, noise=0.01, sensors={"slope": lambda f: lambda x: partial(f, 0)(x)}
    )
    study = optuna.create_study(sampler=sampler)
    attributes = {"pinnbo:of": "slope", "pinnbo:reading": 3.0}
    distribution = {"x": optuna.distributions.FloatDistribution(0.0, 1.0)}
    failed = optuna.trial.TrialState.FAIL
    study.add_trial(
        optuna.create_trial(
            params={"x": 0.2}, distributions=distribution, state=failed, user_attrs=attributes
        )
    )
    study.add_trial(optuna.create_trial(params={"x": 0.5}, distributions=distribution, value=1.0))
    optimizer = sampler.optimizer(study)
    assert optimizer.diagnostics()["readings"] == {"f": 1, "slope": 1}
    assert optimizer.predict([[0.2]], of="slope").mean[0] == pytest.approx(3.0, abs=0.1)
