"""Equations looked at before the first experiment: slips of units, poles, solutions, in Python and from the shell."""

import jax.numpy as jnp
import pytest

from pinnbo import PDE, Space, cli, equations
from pinnbo.equations import remaining, sizes
from pinnbo.operators import laplacian, partial

HEAT = 'equation = "d(T, t) = alpha*d2(T, x)"\n[space]\nx = [0.0, {x}]\nt = [0.0, {t}]\n[constants]\nalpha = {alpha}\n'
WAVE = (
    'equation = "d2(u, t) = c**2*d2(u, x)"\n[space]\nx = [0.0, {x}]\nt = [0.0, {t}]\n[constants]\nc = {c}\n'
)
HELMHOLTZ = (
    'equation = "laplacian(p) + k**2*p = 0"\n[space]\nx = [0.0, {x}]\ny = [0.0, {x}]\n[constants]\nk = {k}\n'
)
FLOW = 'equation = "v*d(c, x) = D*d2(c, x) - k*c"\n[space]\nx = [0.0, {x}]\n[constants]\nv = {v}\nD = {D}\nk = {k}\n'
DECAY = 'equation = "d(c, t) = -k*c"\n[space]\nt = [0.0, {t}]\n[constants]\nk = {k}\n'

RIGHT = {
    "steel bar, m and s": HEAT.format(x=0.1, t=600.0, alpha=1.2e-5),
    "copper bar, cm and s": HEAT.format(x=10.0, t=60.0, alpha=1.1),
    "soil over days, m and h": HEAT.format(x=0.5, t=240.0, alpha=1.8e-3),
    "string, m and s": WAVE.format(x=0.65, t=0.005, c=200.0),
    "tube, mm and ms": WAVE.format(x=800.0, t=5.0, c=343.0),
    "room, m": HELMHOLTZ.format(x=1.0, k=9.2),
    "ultrasound, mm": HELMHOLTZ.format(x=3.0, k=4.2),
    "reactor, m and s": FLOW.format(x=2.0, v=0.01, D=1e-3, k=5e-3),
    "decay, min": DECAY.format(t=60.0, k=0.05),
    "decay, s": DECAY.format(t=3600.0, k=8.0e-4),
}
SLIPS = {
    "box in mm, diffusivity in m2/s": HEAT.format(x=100.0, t=600.0, alpha=1.2e-5),
    "box in m, diffusivity in mm2/s": HEAT.format(x=0.1, t=600.0, alpha=12.0),
    "box in minutes, speed in m/s": WAVE.format(x=0.65, t=0.005 / 60, c=200.0),
    "box in m, wave number per mm": HELMHOLTZ.format(x=1.0, k=9.2e-3),
    "time in minutes, rate per second": DECAY.format(t=60.0, k=8.0e-4),
}
BAR = 'equation = "d(T, t) = alpha*d2(T, x) - h*(T - 20)"\n[space]\nx = {x}\nt = {t}\n[units]\nx = "m"\nt = "s"\n'
# slips that sizes cannot show, because the terms of the wrong equation balance as well: units do
WITH_UNITS = {
    "rate per minute": BAR.format(x="[0.0, 0.1]", t="[0.0, 500.0]")
    + 'T = "degC"\nalpha = "m2/s"\nh = "1/min"\n[constants]\nalpha = 1e-5\nh = 0.03\n',
    "diffusivity in cm2/s": BAR.format(x="[0.0, 0.1]", t="[0.0, 500.0]")
    + 'T = "degC"\nalpha = "cm2/s"\nh = "1/s"\n[constants]\nalpha = 1e-4\nh = 5e-4\n',
}


def checked(tmp_path, capsys, text):
    file = tmp_path / "lab.toml"
    file.write_text('goal = "minimize"\nbudget = 9\n' + text)
    code = cli.main(["check", str(file), "--quick"])
    return code, capsys.readouterr().out


_QUICK = (
    "steel bar, m and s",
    "room, m",
    "decay, s",
    "box in mm, diffusivity in m2/s",
    "time in minutes, rate per second",
    "rate per minute",
)


def some_quick(names):
    return [pytest.param(name, marks=[] if name in _QUICK else pytest.mark.slow) for name in names]


@pytest.mark.parametrize("name", some_quick(RIGHT))
def test_right_files_are_not_warned_of(tmp_path, capsys, name):
    code, said = checked(tmp_path, capsys, RIGHT[name])
    assert code == 0, said
    assert "nothing to complain of" in said
    assert len(said.splitlines()) < 24


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=[] if n == "oscillator" else [pytest.mark.slow]) for n in equations.available()],
)
def test_nothing_is_said_of_the_sizes_in_the_catalogue(name):
    entry = equations.get(name)
    found, space = entry.pde(), Space(**entry.space)
    for pde in found if isinstance(found, list) else [found]:
        terms = sizes.terms(pde, space, 1.0, {})
        assert not sizes.excess(terms).is_suspicious
        assert sizes.negligible(terms) == []


@pytest.mark.parametrize("name", some_quick(WITH_UNITS))
def test_units_that_do_not_fit_are_warned_of(tmp_path, capsys, name):
    code, said = checked(tmp_path, capsys, WITH_UNITS[name])
    assert code == 1, said
    assert "terms that are added need one unit" in said


@pytest.mark.parametrize("name", some_quick(SLIPS))
def test_slips_of_units_are(tmp_path, capsys, name):
    code, said = checked(tmp_path, capsys, SLIPS[name])
    assert code == 1, said
    assert "in the same units?" in said


@pytest.mark.slow
def test_the_numbers_that_are_compared_with_the_box():
    bar, plane = Space(x=(0.0, 0.1), t=(0.0, 500.0)), Space(x=(0.0, 1.0), y=(0.0, 1.0))
    said = str(PDE.parse("d(T, t) = 1e-5*d2(T, x) - 1e-3*T", bar).check(bar))
    assert "L^2/D = 1e+03; t extends over 500" in said
    assert "decay length  along x: 0.1" in said
    assert "time constant 1e+03" in said
    assert "travel at 20: across x in 0.005" in str(PDE.parse("d2(u, t) = 400*d2(u, x)", bar).check(bar))
    said = str(
        PDE(lambda f: lambda x: laplacian(f)(x) + 4 * jnp.pi**2 * f(x) + 3 * partial(f, 0)(x)).check(plane)
    )
    assert "wavelength    along y: 1; y extends over 1" in said
    assert "(Reynolds number) along x: 3" in said


def test_a_function_that_is_known_to_obey():
    plane = Space(x=(0.1, 1.0), y=(0.0, 1.0))
    pde = PDE.parse("laplacian(T) = 0", plane)
    assert pde.check(plane, solution=lambda x: jnp.exp(x[0]) * jnp.cos(x[1])).ok
    report = pde.check(plane, solution=lambda x: jnp.exp(x[0]) * jnp.cos(2 * x[1]))
    assert "does not obey" in report.warnings[0]


def test_poles_and_axes_without_a_derivative():
    plane = Space(x=(0.0, 1.0), y=(0.0, 1.0))
    report = PDE.parse("d(T, x)/x = 1", plane).check(plane)
    assert (
        "not finite at 2 of 260 points, such as x = 0, y = 0 (corners of the box only)" in report.warnings[0]
    )
    assert "no derivative along y" in str(report)
    assert "outside the box" in PDE.parse("T = 1 on y = 20", plane).check(plane).warnings[0]


def test_unknown_coefficients_and_several_fields_are_looked_at_too():
    plane = Space(x=(0.0, 1.0), y=(0.0, 1.0))
    pde = PDE.parse("d(psi, y)*d(T, x) - d(psi, x)*d(T, y) = alpha*laplacian(T)", plane)
    said = str(pde.check(plane, unknowns={"alpha": (0.01, 1.0)}))
    assert "for the fields psi, T" in said
    assert "alpha unknown: expect one or two more measurements" in said
    assert "nonlinear" in said


def test_what_an_equation_leaves_open():
    line, plane = Space(x=(0.0, 1.0)), Space(x=(0.0, 1.0), y=(0.0, 1.0))

    def left(text, space):
        found = PDE.parse(text, space)
        return remaining.count(found if isinstance(found, list) else [found], space, 1, 1.0).given

    # as many numbers as the order of an ordinary equation, less those that conditions give
    assert left("d2(f, x) = -4*f", line) == pytest.approx(2, abs=0.02)
    assert left("d4(f, x) = 1; f = 0 on x = 0", line) == pytest.approx(3, abs=0.02)
    beam = "d2((1 + x/2)**2*d2(w, x), x) = 1; w = 0 on x = 0; d(w, x) = 0 on x = 0; d2(w, x) = 3 on x = 0"
    assert left(beam, line) == pytest.approx(1, abs=0.3)  # equations are weighed more softly
    # all of a harmonic function is in its values at the walls
    assert left("laplacian(T) = 0; T = 0 on boundary", plane) < 0.1
    # 2 K + 1 harmonic polynomials of (K + 1)(K + 2)/2 up to the degree K that counts, 42 = 8 * 9 / 2 + 6
    assert left("laplacian(T) = 0", plane) == pytest.approx(18.5, abs=0.5)
    # a function of one coordinate
    assert left("d(T, x) = 0", plane) == pytest.approx(8.6, abs=0.5)


def test_a_solution_from_the_shell(tmp_path, capsys):
    file = tmp_path / "wave.toml"
    file.write_text('goal = "minimize"\nbudget = 9\n' + DECAY.format(t=60.0, k=0.05))
    assert cli.main(["check", str(file), "--quick", "--solution", "3*exp(-k*t)"]) == 0
    assert "leaves a residual of at most" in capsys.readouterr().out
    assert cli.main(["check", str(file), "--quick", "--solution", "c=3*exp(-2*k*t)"]) == 1
    assert "does not obey the equation" in capsys.readouterr().out
    assert cli.main(["check", str(file), "--quick", "--solution", "b=3*exp(-2*k*t)"]) == 2
    assert "expected a function for each of c" in capsys.readouterr().err
    assert cli.main(["check", str(file), "--quick", "--solution", "3*exp("]) == 2
    assert "--solution: equation: line 1" in capsys.readouterr().err
