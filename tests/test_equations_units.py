"""Units: what they stand for, numbers with units of their own, and terms that do not fit together."""

import numpy as np
import pytest

from pinnbo import PDE, Space, equations
from pinnbo.equations import dimensions, units
from pinnbo.equations.errors import EquationError
from pinnbo.studies import problem_file
from pinnbo.studies.errors import StudyError

BAR = Space(x=(0.0, 100.0), t=(0.0, 10.0))
IN_MM = {"x": "mm", "t": "min", "T": "degC"}


@pytest.mark.parametrize(
    ("text", "factor", "powers"),
    [
        ("m2/s", 1.0, {"m": 2, "s": -1}),
        ("mm²/s", 1e-6, {"m": 2, "s": -1}),
        ("W/(m K)", 1.0, {"kg": 1, "m": 1, "s": -3, "K": -1}),
        ("W/m/K", 1.0, {"kg": 1, "m": 1, "s": -3, "K": -1}),
        ("1/min", 1 / 60, {"s": -1}),
        ("mol/(L min)", 1000 / 60, {"mol": 1, "m": -3, "s": -1}),
        ("kg m-1 s-2", 1.0, {"kg": 1, "m": -1, "s": -2}),
        ("kPa", 1e3, {"kg": 1, "m": -1, "s": -2}),
        ("km/h", 1 / 3.6, {"m": 1, "s": -1}),
        ("m*s**-0.5", 1.0, {"m": 1, "s": -0.5}),
        ("°C", 1.0, {"K": 1}),
        ("1", 1.0, {}),
    ],
)
def test_what_a_unit_stands_for(text, factor, powers):
    found = units.parse(text)
    assert found.factor == pytest.approx(factor, rel=1e-12)
    names = ("m", "kg", "s", "A", "K", "mol", "cd")
    assert found.powers == tuple(float(powers.get(name, 0)) for name in names)
    assert units.parse(str(found).removeprefix(f"{found.factor:.4g} ")).powers == found.powers


@pytest.mark.parametrize(
    "text", ["", "furlong", "W/m K", "m/", "/s", "m2)", "(m", "2 m", "m\0", "m" * 99, "m**m", "__m"]
)
def test_what_is_no_unit(text):
    with pytest.raises(EquationError, match="unit"):
        units.parse(text)


def test_numbers_are_brought_into_the_units_of_the_problem():
    system = units.System(IN_MM)
    assert system.value("alpha", "1e-5 m2/s") == pytest.approx(600.0)
    assert system.value("L", "5 cm") == pytest.approx(50.0)
    assert system.value("T0", "20 degC") == 20.0
    assert system.value("plain", 3.0) == 3.0
    # mass is free: all that is stated with it is brought into one system
    ratio = system.value("k", "0.6 W/(m K)") / system.value("rho_c", "4e6 J/(m3 K)")
    assert ratio == pytest.approx(system.value("alpha", "1.5e-7 m2/s"))
    for text, said in [("3", "or one with its unit"), ("m2/s", "or one with its unit"), ("3 K", "273.15 K")]:
        with pytest.raises(EquationError, match=said):
            system.value("k", text)
    with pytest.raises(EquationError, match="one unit for all lengths"):
        units.System({"x": "m", "y": "mm"}).value("k", "3 m")
    with pytest.raises(EquationError, match="expected the units of the axes"):
        units.System({}).value("k", "3 m")


def test_numbers_with_units_in_a_text_and_among_the_constants():
    heat = PDE.parse(
        "d(T, t) = alpha*d2(T, x); T = 20 on x = 5[cm]", BAR, constants={"alpha": "1e-5 m2/s"}, units=IN_MM
    )
    assert "alpha = 600" in str(heat[0])
    np.testing.assert_allclose(heat[1].points[:, 0], 50.0)
    assert PDE.parse(str(heat[0]), BAR).equation.statement == heat[0].equation.statement
    with pytest.raises(
        EquationError, match="line 1, column 10: a number in cm: expected the units of the axes"
    ):
        PDE.parse("d2(T, x)/3[cm]**2 = 0", BAR)
    with pytest.raises(EquationError, match="'parsec' is unknown"):
        PDE.parse("d2(T, x) = 3[parsec]", BAR, units=IN_MM)
    with pytest.raises(EquationError, match="alpha: unit 'ells': 'ells' is unknown"):
        PDE.parse("d(T, t) = alpha*d2(T, x)", BAR, constants={"alpha": "3 ells"}, units=IN_MM)


@pytest.mark.parametrize("name", equations.available())
def test_the_units_of_the_catalogue_fit(name):
    entry = equations.get(name)
    if not entry.units:
        return
    known = {**entry.units, **entry.fields, **{k: p.unit for k, p in entry.parameters.items()}}
    found = PDE.parse(
        entry.text, Space(**entry.space), fields=list(entry.fields), constants=entry.constants, units=known
    )
    for pde in found if isinstance(found, list) else [found]:
        assert dimensions.complaints(pde.equation) == []


@pytest.mark.parametrize(
    ("text", "more", "said"),
    [
        (
            "d(T, t) = alpha*d2(T, x)",
            {"alpha": "m2/s"},
            "d(T, t) is in 0.01667 s-1 K, and alpha*d2(T, x) in 1e+06 s-1 K",
        ),
        ("d(T, t) = alpha*d2(T, x)", {"alpha": "mm2/min"}, None),
        ("d(T, t) = alpha*d2(T, x)", {"alpha": "1/min"}, "terms that are added need one unit"),
        (
            "d(T, t) = alpha*laplacian(T) - h*(T - T0)",
            {"alpha": "mm2/min", "h": "1/s", "T0": "degC"},
            "need one unit",
        ),
        ("d(T, t) = alpha*laplacian(T) - h*(T - 20)", {"alpha": "mm2/min", "h": "1/min"}, None),
        (
            "d(T, t) = alpha*d2(T, x)*exp(x)",
            {"alpha": "mm2/min"},
            "exp of x, which is in 0.001 m: expected a plain number",
        ),
        ("d(T, t) = alpha*d2(T, x)*exp(x/L)", {"alpha": "mm2/min", "L": "mm"}, None),
        ("d(T, t) = d(k(x)*d(T, x), x); k(z) = k0*(1 + z/L)", {"k0": "mm2/min", "L": "mm"}, None),
        ("d(T, t) = d(k(x)*d(T, x), x); k(z) = k0*(1 + z/L)", {"k0": "mm2/min", "L": "m"}, "need one unit"),
        ("d(T, t) = d(k(x)*d(T, x), x); k(z) = k0 + z", {"k0": "mm2/min"}, "k0 is in"),
        ("d(T, t) = sqrt(a)*d2(T, x)", {"a": "mm4/min2"}, None),
        ("d(T, t) = unknown_to_all*d2(T, x)", {}, None),
    ],
)
def test_terms_that_do_not_fit_are_named(text, more, said):
    pde = PDE.parse(text, BAR, constants=dict.fromkeys(more, 1.0), units={**IN_MM, **more})
    found = dimensions.complaints(pde.equation)
    assert (found == []) if said is None else (said in found[0])


FILE = """
goal = "maximize"
budget = 9
equation = "d(T, t) = alpha*d2(T, x)"
[space]
x = [0.0, 100.0]
t = [0.0, 10.0]
[units]
x = "mm"
t = "min"
T = "degC"
"""


def test_lengths_that_an_operator_adds_need_one_unit():
    space = Space(x=(0.0, 40.0), y=(0.0, 0.3), t=(0.0, 9.0))
    units = {"x": "mm", "y": "m", "t": "s", "T": "K"}
    mixed = str(PDE.parse("laplacian(T) = 0", space, units=units).check(space))
    assert "laplacian needs one unit for all axes of space, got x in 0.001 m, y in m" in mixed
    alike = str(PDE.parse("laplacian(T) = 0", space, units={**units, "y": "mm"}).check(space))
    assert "one unit" not in alike


def test_a_problem_file_with_units(tmp_path):
    file = tmp_path / "bar.toml"
    file.write_text(FILE + '[constants]\nalpha = "1e-5 m2/s"\n')
    problem = problem_file.read(file)
    assert problem.equation.constants == {"alpha": pytest.approx(600.0)}
    assert problem.unit == "degC"
    assert dimensions.complaints(problem.physics[0].equation) == []
    file.write_text(FILE + 'alpha = "m2/s"\n[constants]\nalpha = 1e-5\n')
    assert "need one unit" in dimensions.complaints(problem_file.read(file).physics[0].equation)[0]
    file.write_text(FILE + '[unknowns]\nalpha = ["1e-6 m2/s", "1e-4 m2/s"]\n')
    assert problem_file.read(file).unknowns == {"alpha": (pytest.approx(60.0), pytest.approx(6000.0))}
    # what is shown need not be known here
    file.write_text(FILE.replace("degC", "counts") + "[constants]\nalpha = 600.0\n")
    assert problem_file.read(file).physics
    file.write_text(FILE + '[constants]\nalpha = "1e-5 parsec"\n')
    with pytest.raises(StudyError, match=r"constants\.alpha: unit 'parsec': 'parsec' is unknown"):
        problem_file.read(file)
