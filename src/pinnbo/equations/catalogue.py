"""Well-known equations, each with its parameters and units, a box to start from and a solution.

The solution is written in the notation of the equation itself, over the axes and the parameters.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pinnbo.pde import PDE


@dataclass(frozen=True)
class Parameter:
    """A number of an equation: its value in the example, its unit and what it is."""

    value: float
    unit: str
    meaning: str


@dataclass(frozen=True)
class Entry:
    """An equation of the catalogue; units are those of the example, and 1 where there is none."""

    name: str
    title: str
    text: str
    space: Mapping[str, tuple[float, float]]
    fields: Mapping[str, str]  # with units
    parameters: Mapping[str, Parameter]
    solution: Mapping[str, str]
    units: Mapping[str, str] = field(default_factory=dict)  # of the axes

    @property
    def constants(self) -> dict[str, float]:
        """The parameters as `PDE.parse` takes them."""
        return {name: parameter.value for name, parameter in self.parameters.items()}

    def pde(self) -> PDE | list[PDE]:
        """The equation with the numbers of the example."""
        from pinnbo.pde import PDE
        from pinnbo.space import Space

        return PDE.parse(self.text, Space(**self.space), fields=list(self.fields), constants=self.constants)

    def solutions(self) -> dict[str, Callable[[Any], Any]]:
        """The solution as JAX functions of a point, one per field."""
        from pinnbo.equations.text import function
        from pinnbo.space import Space

        space = Space(**self.space)
        return {name: function(text, space, self.constants) for name, text in self.solution.items()}

    def __str__(self) -> str:
        lines = [
            f"{self.name}: {self.title}",
            *(f"  {line.strip()}" for line in self.text.strip().splitlines()),
        ]
        for name, parameter in self.parameters.items():
            lines.append(f"  {name} = {parameter.value:g} {parameter.unit}  {parameter.meaning}")
        return "\n".join(lines)


def _p(value: float, unit: str, meaning: str) -> Parameter:
    return Parameter(value, unit, meaning)


_METRES = {"x": "m", "y": "m"}
_BOX = {"x": (0.0, 1.0), "y": (0.0, 1.0)}
_BAR = {"x": (0.0, 1.0), "t": (0.0, 1.0)}
_BAR_UNITS = {"x": "m", "t": "s"}

_ENTRIES = (
    Entry(
        "laplace",
        "a steady field without sources: temperature, potential, groundwater",
        "laplacian(T) = 0",
        _BOX,
        {"T": "K"},
        {},
        {"T": "exp(x)*cos(y) + x*y"},
        _METRES,
    ),
    Entry(
        "poisson",
        "a steady field with sources",
        "-k*laplacian(T) = q",
        _BOX,
        {"T": "K"},
        {"k": _p(0.6, "W/(m K)", "conductivity"), "q": _p(50.0, "W/m3", "heat source")},
        {"T": "exp(x)*cos(y) - q/(4*k)*(x**2 + y**2)"},
        _METRES,
    ),
    Entry(
        "helmholtz",
        "a standing wave of one frequency",
        "laplacian(p) + k**2*p = 0",
        _BOX,
        {"p": "Pa"},
        {"k": _p(9.0, "1/m", "wave number, 2 pi over the wavelength")},
        {"p": "sin(0.6*k*x)*cos(0.8*k*y)"},
        _METRES,
    ),
    Entry(
        "heat",
        "a temperature in a bar over time, with loss to the surroundings",
        "d(T, t) = alpha*d2(T, x) - h*(T - T0)",
        {"x": (0.0, 0.1), "t": (0.0, 500.0)},
        {"T": "degC"},
        {
            "alpha": _p(1.0e-5, "m2/s", "thermal diffusivity"),
            "h": _p(5.0e-4, "1/s", "rate of loss"),
            "T0": _p(20.0, "degC", "temperature of the surroundings"),
        },
        {"T": "T0 + 30*exp(-(h + alpha*40**2)*t)*sin(40*x)"},
        _BAR_UNITS,
    ),
    Entry(
        "wave",
        "a travelling wave on a string or in a tube",
        "d2(u, t) = c**2*d2(u, x)",
        _BAR,
        {"u": "mm"},
        {"c": _p(2.0, "m/s", "speed")},
        {"u": "sin(5*(x - c*t)) + exp(-(x + c*t))"},
        _BAR_UNITS,
    ),
    Entry(
        "advection-diffusion",
        "a concentration that is carried along and spreads",
        "d(c, t) + v*d(c, x) = D*d2(c, x)",
        _BAR,
        {"c": "mol/m3"},
        {"v": _p(1.0, "m/s", "speed of the flow"), "D": _p(0.05, "m2/s", "diffusivity")},
        {"c": "exp(-D*16*t)*sin(4*(x - v*t))"},
        _BAR_UNITS,
    ),
    Entry(
        "darcy",
        "the head in a porous medium whose conductivity varies",
        "div(K*grad(h)) = 0; K = K0*exp(x/L)",
        _BOX,
        {"h": "m"},
        {
            "K0": _p(1e-4, "m/s", "conductivity at x = 0"),
            "L": _p(0.7, "m", "length over which it grows by e"),
        },
        {"h": "3*exp(-x/L) + 2*y"},
        _METRES,
    ),
    Entry(
        "burgers",
        "a velocity that steepens and is smoothed",
        "d(u, t) + u*d(u, x) = nu*d2(u, x)",
        {"x": (-1.0, 1.0), "t": (0.0, 1.0)},
        {"u": "m/s"},
        {"nu": _p(0.1, "m2/s", "viscosity")},
        {"u": "0.5 - 0.5*tanh(0.25/nu*(x - 0.5*t))"},
        _BAR_UNITS,
    ),
    Entry(
        "reaction-diffusion",
        "a steady concentration that is consumed while it spreads",
        "D*d2(c, x) = k*c",
        {"x": (0.0, 1.0)},
        {"c": "mol/m3"},
        {"D": _p(0.1, "m2/s", "diffusivity"), "k": _p(0.9, "1/s", "rate")},
        {"c": "cosh(sqrt(k/D)*x)"},
        {"x": "m"},
    ),
    Entry(
        "allen-cahn",
        "a phase boundary that moves, in natural units",
        "d(u, t) = eps**2*d2(u, x) + u - u**3",
        {"x": (-1.0, 1.0), "t": (0.0, 1.0)},
        {"u": "1"},
        {"eps": _p(0.2, "1", "width of the boundary")},
        {"u": "0.5 + 0.5*tanh((x + 3/sqrt(2)*eps*t)/(2*sqrt(2)*eps))"},
    ),
    Entry(
        "fisher-kpp",
        "a population that grows and spreads",
        "d(u, t) = D*d2(u, x) + r*u*(1 - u)",
        {"x": (-1.0, 1.0), "t": (0.0, 1.0)},
        {"u": "1"},
        {"D": _p(0.02, "m2/s", "diffusivity"), "r": _p(3.0, "1/s", "growth rate")},
        {"u": "(1 + exp(sqrt(r/(6*D))*x - 5/6*r*t))**(-2)"},
        _BAR_UNITS,
    ),
    Entry(
        "schroedinger",
        "a stationary state in a harmonic potential, in natural units",
        "-0.5*d2(psi, x) + 0.5*omega**2*x**2*psi = E*psi",
        {"x": (-3.0, 3.0)},
        {"psi": "1"},
        {"omega": _p(1.0, "1", "frequency of the oscillator"), "E": _p(1.5, "1", "energy")},
        {"psi": "x*exp(-omega*x**2/2)"},
    ),
    Entry(
        "klein-gordon",
        "a wave with a mass",
        "d2(u, t) = c**2*d2(u, x) - m**2*u",
        _BAR,
        {"u": "1"},
        {"c": _p(1.0, "m/s", "speed"), "m": _p(2.0, "1/s", "frequency of the mass")},
        {"u": "cos(3*x - sqrt(9*c**2 + m**2)*t)"},
        _BAR_UNITS,
    ),
    Entry(
        "euler-bernoulli",
        "the deflection of a beam whose stiffness varies",
        "d2(EI(x)*d2(w, x), x) = q; EI(x) = EI0*(1 + x/L)**2",
        {"x": (0.0, 1.0)},
        {"w": "m"},
        {
            "EI0": _p(2000.0, "N m2", "stiffness at x = 0"),
            "L": _p(2.0, "m", "length over which it grows"),
            "q": _p(100.0, "N/m", "load"),
        },
        {"w": "q*L**4/EI0*(s**2/4 + s*log(s) - s); s = 1 + x/L"},
        {"x": "m"},
    ),
    Entry(
        "kirchhoff-plate",
        "the deflection of a thin plate",
        "D*biharmonic(w) = q",
        _BOX,
        {"w": "m"},
        {"D": _p(1000.0, "N m", "stiffness"), "q": _p(500.0, "N/m2", "load")},
        {"w": "q/(64*D)*(x**2 + y**2)**2 + 0.01*x*y"},
        _METRES,
    ),
    Entry(
        "plane-elasticity",
        "displacements in a plate under plane strain",
        """
        (lam + mu)*d(d(u, x) + d(v, y), x) + mu*laplacian(u) = 0
        (lam + mu)*d(d(u, x) + d(v, y), y) + mu*laplacian(v) = 0
        """,
        _BOX,
        {"u": "mm", "v": "mm"},
        {"lam": _p(1.2, "GPa", "first constant of Lame"), "mu": _p(0.8, "GPa", "shear modulus")},
        {"u": "x**2 + y**2", "v": "-(2 + 4*mu/(lam + mu))*x*y"},
        _METRES,
    ),
    Entry(
        "stokes",
        "a slow flow by its stream function",
        "biharmonic(psi) = 0",
        _BOX,
        {"psi": "m2/s"},
        {},
        {"psi": "x*exp(x)*sin(y) + y**3"},
        _METRES,
    ),
    Entry(
        "stokes-uvp",
        "a slow flow by its velocities and its pressure",
        """
        mu*laplacian(u) = d(p, x)
        mu*laplacian(v) = d(p, y)
        div(u, v) = 0
        """,
        _BOX,
        {"u": "m/s", "v": "m/s", "p": "Pa"},
        {"mu": _p(0.5, "Pa s", "viscosity")},
        {"u": "y*(1 - y)", "v": "0*x", "p": "-2*mu*x"},
        _METRES,
    ),
    Entry(
        "navier-stokes",
        "a steady plane flow by its stream function",
        "d(psi, y)*d(laplacian(psi), x) - d(psi, x)*d(laplacian(psi), y) = nu*biharmonic(psi)",
        {"x": (-0.5, 1.0), "y": (-0.5, 1.5)},
        {"psi": "m2/s"},
        {"nu": _p(0.025, "m2/s", "viscosity")},
        # Kovasznay's flow behind a grid
        {"psi": "y - exp(l*x)*sin(2*pi*y)/(2*pi); l = 1/(2*nu) - sqrt(1/(4*nu**2) + 4*pi**2)"},
        _METRES,
    ),
    Entry(
        "navier-stokes-uvp",
        "a steady plane flow by its velocities and its pressure",
        """
        u*d(u, x) + v*d(u, y) = -d(p, x)/rho + nu*laplacian(u)
        u*d(v, x) + v*d(v, y) = -d(p, y)/rho + nu*laplacian(v)
        div(u, v) = 0
        """,
        {"x": (-0.5, 1.0), "y": (-0.5, 1.5)},
        {"u": "m/s", "v": "m/s", "p": "Pa"},
        {"nu": _p(0.025, "m2/s", "viscosity"), "rho": _p(1.0, "kg/m3", "density")},
        {
            "u": "1 - exp(l*x)*cos(2*pi*y); l = 1/(2*nu) - sqrt(1/(4*nu**2) + 4*pi**2)",
            "v": "l/(2*pi)*exp(l*x)*sin(2*pi*y); l = 1/(2*nu) - sqrt(1/(4*nu**2) + 4*pi**2)",
            "p": "-rho*exp(2*l*x)/2; l = 1/(2*nu) - sqrt(1/(4*nu**2) + 4*pi**2)",
        },
        _METRES,
    ),
    Entry(
        "eikonal",
        "the time at which a front arrives",
        "grad(tau)**2 = s**2",
        _BOX,
        {"tau": "s"},
        {"s": _p(0.5, "s/m", "slowness")},
        {"tau": "s*sqrt((x + 1)**2 + (y + 2)**2)"},
        _METRES,
    ),
    Entry(
        "well",
        "the drawdown around a pumped well (Theis)",
        "S*d(s, t) = Tr*(d2(s, r) + d(s, r)/r)",
        {"r": (5.0, 200.0), "t": (600.0, 86400.0)},
        {"s": "m"},
        {"S": _p(2.0e-4, "1", "storativity"), "Tr": _p(1.0e-3, "m2/s", "transmissivity")},
        {"s": "0.01/(4*pi*Tr)*exp1(r**2*S/(4*Tr*t))"},
        {"r": "m", "t": "s"},
    ),
    Entry(
        "oscillator",
        "a mass on a spring with friction",
        "m*d2(u, t) + c*d(u, t) + k*u = 0",
        {"t": (0.0, 10.0)},
        {"u": "m"},
        {"m": _p(1.0, "kg", "mass"), "c": _p(0.3, "kg/s", "friction"), "k": _p(4.0, "N/m", "stiffness")},
        {"u": "exp(-c*t/(2*m))*cos(sqrt(k/m - (c/(2*m))**2)*t)"},
        {"t": "s"},
    ),
    Entry(
        "first-order-kinetics",
        "a concentration that decays at a constant rate",
        "d(c, t) = -k*c",
        {"t": (0.0, 60.0)},
        {"c": "mol/L"},
        {"k": _p(0.05, "1/min", "rate constant")},
        {"c": "2*exp(-k*t)"},
        {"t": "min"},
    ),
    Entry(
        "michaelis-menten",
        "a substrate that an enzyme consumes",
        "d(S, t) = -Vmax*S/(Km + S)",
        {"t": (0.0, 20.0)},
        {"S": "mmol/L"},
        {"Vmax": _p(1.0, "mmol/(L min)", "highest rate"), "Km": _p(2.0, "mmol/L", "Michaelis constant")},
        {"S": "Km*lambertw(10/Km*exp((10 - Vmax*t)/Km))"},
        {"t": "min"},
    ),
    Entry(
        "radial",
        "a symmetry: the same all around the origin",
        "x*d(f, y) - y*d(f, x) = 0",
        {"x": (-1.0, 1.0), "y": (-1.0, 1.0)},
        {"f": "1"},
        {},
        {"f": "cos(3*(x**2 + y**2))"},
    ),
    Entry(
        "scaling",
        "a symmetry: scaling both axes multiplies the value by a power",
        "x*d(f, x) + y*d(f, y) = n*f",
        {"x": (0.5, 2.0), "y": (0.5, 2.0)},
        {"f": "1"},
        {"n": _p(1.5, "1", "power")},
        {"f": "x**n*(y/x)**0.5"},
    ),
    Entry(
        "translation",
        "a symmetry: what comes later is what was elsewhere before",
        "d(f, t) + v*d(f, x) = 0",
        _BAR,
        {"f": "1"},
        {"v": _p(0.7, "m/s", "speed")},
        {"f": "exp(-(x - v*t)**2)"},
        _BAR_UNITS,
    ),
)
CATALOGUE = {entry.name: entry for entry in _ENTRIES}


def available() -> list[str]:
    """The names of the catalogue."""
    return list(CATALOGUE)


def get(name: str) -> Entry:
    """An equation by its name."""
    if name not in CATALOGUE:
        near = difflib.get_close_matches(name, CATALOGUE, n=1)
        hint = f", did you mean {near[0]}?" if near else ""
        raise ValueError(
            f"equation {name!r:.60} is not in the catalogue{hint}; there are {', '.join(CATALOGUE)}"
        )
    return CATALOGUE[name]
