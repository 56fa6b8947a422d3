"""Routes of differentiation, measured where they are used: inside a training step.

Prints how much slower than the fastest each route is, and what compiling costs; writes the table into
docs/benchmarks/operators.md. The default of `pinnbo.operators` follows from it.

    python benchmarks/operators.py            # about two minutes
    python benchmarks/operators.py --smoke    # small, writes nothing
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from pinnbo.network.field import Units
from pinnbo.network.mlp import MLP
from pinnbo.network.train import PhysicsData, Schedule, by_gradients, pad
from pinnbo.operators import biharmonic, derivatives, directional, hessian, laplacian, partial
from pinnbo.pde import PDE
from pinnbo.space import Space

PAGE = Path(__file__).parents[1] / "docs" / "benchmarks" / "operators.md"
BEGIN, END = "<!-- table: benchmarks/operators.py -->", "<!-- end of table -->"
ROUTES = ("forward", "taylor", "reverse")
COLUMNS = (*ROUTES, "hessian")


@dataclass(frozen=True)
class Size:
    """What is trained, and how often it is timed."""

    collocation: int = 1000
    width: int = 100
    epochs: int = 20
    repeats: int = 5


SMOKE = Size(collocation=64, width=16, epochs=5, repeats=1)


def by_route(operator: Callable[[Any, str], Any]) -> dict[str, Callable[[Any], Any]]:
    return {route: lambda f, route=route: operator(f, route) for route in ROUTES}


def trace(f: Any) -> Any:
    return lambda x: jnp.trace(hessian(f)(x))


def reaction(f: Any, route: str) -> Any:
    """x . grad f - f."""

    def row(x: Any) -> Any:
        value, slope = derivatives(f, x, 1, route)(x)
        return slope - value

    return row


def beam(f: Any, route: str) -> Any:
    """w'' + w''' + w''''."""
    return lambda x: jnp.sum(derivatives(f, jnp.ones(1), 4, route)(x)[2:])


# name: dimension and the operator by every route
CASES: dict[str, tuple[int, dict[str, Callable[[Any], Any]]]] = {
    "x . grad f, 20-D": (20, by_route(lambda f, route: directional(f, lambda x: x, 1, route))),
    "x . grad f - f, 20-D": (20, by_route(reaction)),
    "Laplacian, 2-D": (2, by_route(laplacian) | {"hessian": trace}),
    "Laplacian, 10-D": (10, by_route(laplacian) | {"hessian": trace}),
    "4th derivative, 1-D": (1, by_route(lambda f, route: partial(f, 0, 4, route))),
    "2nd + 3rd + 4th, 1-D": (1, by_route(beam)),
    "biharmonic, 2-D": (2, by_route(biharmonic)),
}


def compiled(operator: Callable[[Any], Any], dim: int, size: Size) -> tuple[Callable[[], None], float]:
    """A training run, and the seconds it took to compile."""
    space = Space.box([-1.0] * dim, [1.0] * dim)
    model = MLP(dim, size.width, 3)
    points = space.sobol(size.collocation, seed=0)
    ones = jnp.ones((size.collocation, 1))
    start = time.perf_counter()
    program = by_gradients.lower(
        (PDE(operator),),
        Schedule(size.epochs, "adam", 1.0),
        *(arguments := _arguments(model, space, points, ones)),
    ).compile()
    seconds = time.perf_counter() - start
    return lambda: jax.block_until_ready(program(*arguments)), seconds


def _arguments(model: MLP, space: Space, points: np.ndarray, ones: Any) -> tuple:
    theta = model.initial(jax.random.key(0))
    data = pad(space.sobol(16, seed=1), np.zeros(16))
    physics = (PhysicsData(jnp.asarray(points), 0 * ones, ones),)
    return model, theta, Units.of(space), data, physics, 1.0, 1e-3, jax.random.key(0)


def measure(
    dim: int, operators: dict[str, Callable[[Any], Any]], size: Size
) -> dict[str, tuple[float, float]]:
    """Median seconds of a run, the routes taking turns, and seconds of compilation."""
    programs = {route: compiled(operator, dim, size) for route, operator in operators.items()}
    times: dict[str, list[float]] = {route: [] for route in programs}
    for run, _ in programs.values():
        run()
    for _ in range(size.repeats):
        for route, (run, _) in programs.items():
            start = time.perf_counter()
            run()
            times[route].append(time.perf_counter() - start)
    return {route: (median(times[route]), programs[route][1]) for route in programs}


def line(name: str, found: dict[str, tuple[float, float]]) -> str:
    fastest = min(seconds for seconds, _ in found.values())
    cells = [
        f"{found[route][0] / fastest:.2f} ({found[route][1]:.1f} s)" if route in found else ""
        for route in COLUMNS
    ]
    return f"| {name} | {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--smoke", action="store_true", help="small sizes, nothing is written")
    size = SMOKE if parser.parse_args().smoke else Size()
    lines = [f"| operator | {' | '.join(COLUMNS)} |", "|---" * (1 + len(COLUMNS)) + "|"]
    print("\n".join(lines), flush=True)
    for name, (dim, operators) in CASES.items():
        lines.append(line(name, measure(dim, operators, size)))
        print(lines[-1], flush=True)
    if size != SMOKE:
        before, rest = PAGE.read_text().split(BEGIN)
        PAGE.write_text("\n".join([before + BEGIN, *lines, END]) + rest.split(END)[1])


if __name__ == "__main__":
    main()
