"""Small studies of every kind for the tests of pictures and pages."""

import numpy as np

from pinnbo import PDE, Optimizer, Space, problems
from pinnbo.methods.auto import Auto
from pinnbo.operators import laplacian
from pinnbo.shapes import box, disc

# few rows: pictures do not depend on how well the equation is enforced
FEW = Auto(collocation=60)


def measured(name, n, *, failing=False, pde=True, method=FEW, **options):
    problem, rng = problems.get(name), np.random.default_rng(0)
    optimizer = Optimizer(
        problem.space, problem.pde if pde else None, goal=problem.goal, method=method, **options
    )
    for k, x in enumerate(problem.space.sobol(max(n, 1), seed=3)[:n]):
        optimizer.tell(x, np.nan if failing and k % 2 else problem.observe(x, rng))
    return optimizer


def told(optimizer, n, truth, failing=False):
    points = optimizer.space.sobol(max(n, 1), seed=3)[:n]
    values = truth(*points.T)
    if failing:
        values[1::2] = np.nan
    optimizer.tell(points, values)
    return optimizer


def two_fields(n, failing=False):
    """A flow and the heat that it carries, with a diffusivity that is not known; T is measured."""
    space = Space(x=(0.0, 2.0), y=(0.0, 1.0))
    lines = [
        "d(psi, y)*d(T, x) - d(psi, x)*d(T, y) = alpha*laplacian(T)",
        *(
            "laplacian(psi) = 0",
            "psi = y on x = 0",
            "psi = 0 on y = 0",
            "psi = 1 on y = 1",
            "T = 20 on y = 0",
        ),
    ]
    pde = PDE.parse(lines, space, unknowns=["alpha"])
    unknowns = {"alpha": (0.05, 1.0)}
    # six equations share the rows
    method = Auto(collocation=150)
    optimizer = Optimizer(
        space, pde, measures="T", unknowns=unknowns, goal="maximize", method=method, noise=0.05
    )
    return told(optimizer, n, lambda x, y: 20 + 5 * np.exp(-1.405 * x) * np.sin(3 * y), failing)


def beam_of_two_fields(n, failing=False):
    """The bending moment is not measured."""
    space = Space(x=(0.0, 1.0))
    pde = [
        PDE.parse("d2(M, x) = -1", space, fields=["w", "M"]),
        PDE.parse("d2(w, x) = M", space, fields=["w", "M"]),
    ]
    optimizer = Optimizer(space, pde, measures="w", method=FEW, noise=1e-3)
    return told(optimizer, n, lambda x: x**2 * (1 - x) ** 2, failing)


def masked(n, failing=True):
    """Only where x + y < 1 can anything be measured."""
    space = Space(x=(0.0, 1.0), y=(0.0, 1.0))
    optimizer = Optimizer(space, PDE(laplacian), goal="maximize", method=FEW, noise=0.01)

    def truth(x, y):
        return np.where(x + y < 1.0, np.exp(x) * np.cos(y), np.nan)

    return told(optimizer, n, truth)


def in_time(n, failing=False):
    space = Space(x=(0.0, 1.0), t=(0.0, 2.0))
    pde = PDE.parse(["d(T, t) = 0.1*d2(T, x)", "T = 0 on x = 0", "T = 0 on x = 1"], space)
    optimizer = Optimizer(space, pde, goal="maximize", method=FEW, noise=0.01)
    return told(optimizer, n, lambda x, t: np.sin(np.pi * x) * np.exp(-0.1 * np.pi**2 * t), failing)


def in_the_plane_and_time(n, failing=False):
    space = Space(x=(0.0, 1.0), y=(0.0, 1.0), t=(0.0, 2.0))
    pde = PDE.parse(["d(T, t) = 0.1*laplacian(T)", "T = 0 on x = 0"], space)
    optimizer = Optimizer(space, pde, goal="maximize", method=FEW, noise=0.01)

    def truth(x, y, t):
        return np.sin(np.pi * x) * np.sin(np.pi * y) * np.exp(-0.2 * np.pi**2 * t)

    return told(optimizer, n, truth, failing)


def on_a_domain(n, failing=False):
    """A plate with a hole."""
    inside = box(x=(0.0, 1.0), y=(0.0, 1.0)) - disc((0.5, 0.5), 0.2)
    space = Space(x=(0.0, 1.0), y=(0.0, 1.0), inside=inside)
    optimizer = Optimizer(space, PDE(laplacian), goal="maximize", method=FEW, noise=0.01)
    return told(optimizer, n, lambda x, y: np.exp(x) * np.cos(y), failing)


OTHERS = [on_a_domain, two_fields, beam_of_two_fields, masked, in_time, in_the_plane_and_time]


def is_to_be_had(kind, optimizer):
    """Whether there is such a picture of what was measured."""
    n = len(optimizer.data.values)
    if kind == "misfit" and n:
        try:
            optimizer.posterior("nearly true")
        except ValueError:
            return False
    asked = {
        "pairs": optimizer.space.dim > 2,
        "time": optimizer.space.dim > 1 and "t" in optimizer.space.names,
        "fields": len(optimizer.fields) > 1,
        "unknowns": bool(optimizer.unknowns),
        "validation": n >= 3,
        "residual": bool(optimizer.physics),
        "misfit": bool(optimizer.physics),
        "contribution": bool(optimizer.physics),
    }
    return n > 0 and asked.get(kind, True)
