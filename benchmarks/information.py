"""Information and nu_t against the number of collocation points N_r.

For each problem, networks are drawn and linearised, the same 30 Sobol points are observed, and N_r grows.
Prints the table of docs/theory/information.md and draws its picture:

    python benchmarks/information.py            # two to three minutes, 1.6 GB
    python benchmarks/information.py --smoke    # one small network per problem, no picture
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from pinnbo import problems
from pinnbo.network.features import Linearised, observation_rows, physics_rows
from pinnbo.network.field import Units
from pinnbo.network.information import (
    conditional_information,
    greedy_information_gain,
    i_zero,
    mutual_information,
    nu,
    r_tilde,
)
from pinnbo.network.mlp import MLP

PROBLEMS = ("dropwave-2", "heat-1", "beam-1", "rastrigin-20")
PICTURE = Path(__file__).parents[1] / "docs" / "pictures" / "information.png"

N_OBSERVATIONS = 30
R1 = 0.05  # noise of an observation, in prior standard deviations of f
L1, L2 = R1**2, 1e-4  # L2 in units of a row's prior variance
DELTA = 0.1

# Okabe and Ito's colours stay apart for colour-blind readers; line styles repeat the distinction
BLUE, VERMILLION, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#666666"


class Curves(NamedTuple):
    """One value per N_r."""

    mutual: np.ndarray
    conditional: np.ndarray
    interaction: np.ndarray
    i_zero: np.ndarray
    nu: np.ndarray
    nu_greedy: np.ndarray


def curves(name: str, width: int, counts: list[int], seed: int) -> Curves:
    """One network's information quantities as the PDE data grow."""
    problem = problems.get(name)
    space = problem.space
    model = MLP(space.dim, width=width, depth=3)
    candidates = space.sobol(256, seed=0)
    linear = Linearised.at(model, model.initial(jax.random.key(seed)), jnp.asarray(space.scale(candidates)))
    origin, units = jnp.zeros(linear.n_weights), Units.of(space)
    phi = observation_rows(linear, origin, units, space.sobol(N_OBSERVATIONS, seed=1)).matrix
    points = problem.pde.collocation(space, counts[-1], seed=2).points
    omega = physics_rows(linear, problem.pde, origin, units, points).matrix
    size = np.linalg.norm(omega, axis=1)
    omega /= np.maximum(size, 1e-6 * size.max())[:, None]
    gamma = greedy_information_gain(
        observation_rows(linear, origin, units, candidates).matrix, L1, N_OBSERVATIONS
    ).upper[-1]

    scale, mutual, found = r_tilde(R1, L1), mutual_information(phi, L1), []
    for count in counts:
        conditional = conditional_information(phi, L1, omega[:count], L2)
        interaction = mutual - conditional
        known = i_zero(phi, omega[:count], L2)
        nus = nu(conditional, scale, DELTA), nu(max(gamma, mutual) - interaction, scale, DELTA)
        found.append((mutual, conditional, interaction, known, *nus))
    return Curves(*np.transpose(found))


def draw(
    axes: Axes, counts: list[int], runs: list[Curves], quantity: str, colour: str, style: str, label: str
) -> None:
    values = np.array([getattr(run, quantity) for run in runs])
    axes.plot(counts, values.mean(axis=0), style, color=colour, label=label, linewidth=2.0, markersize=4)
    axes.fill_between(counts, values.min(axis=0), values.max(axis=0), color=colour, alpha=0.2, linewidth=0)


def picture(results: dict[str, list[Curves]], counts: list[int]) -> None:
    figure, grid = plt.subplots(
        2, len(results), figsize=(3.1 * len(results), 6.2), sharex=True, layout="constrained"
    )
    for (name, runs), (top, bottom) in zip(results.items(), grid.T, strict=True):
        top.set_title(name)
        draw(top, counts, runs, "mutual", GREY, "--", "I(f;Y)")
        draw(top, counts, runs, "conditional", BLUE, "o-", "I(f;Y|U)")
        draw(top, counts, runs, "interaction", VERMILLION, "s-", "I(f;Y;U)")
        draw(bottom, counts, runs, "nu", BLUE, "o-", r"$\nu_t$ from I(f;Y|U)")
        draw(bottom, counts, runs, "nu_greedy", GREEN, "^-", r"$\nu_t$ from greedy $\gamma_t$ - I(f;Y;U)")
        blind = float(np.mean([run.nu[0] for run in runs]))
        bottom.axhline(blind, color=GREY, linestyle="--", linewidth=2.0, label=r"$\nu_t$ without the PDE")
        bottom.set_xlabel(r"collocation points $N_r$")
        for axes in (top, bottom):
            axes.set_xscale("symlog", base=2, linthresh=1)
            axes.set_xticks([0, 1, 4, 16, 64, 256, 1024], ["0", "1", "4", "16", "64", "256", "1k"])
            axes.set_xlim(0, counts[-1])
            axes.set_ylim(bottom=0)
            axes.grid(alpha=0.3)
    grid[0, 0].set_ylabel("information (nats)")
    grid[1, 0].set_ylabel(rf"exploration $\nu_t$, t = {N_OBSERVATIONS}")
    lines = [*grid[0, 0].get_lines(), *grid[1, 0].get_lines()]
    figure.legend(handles=lines, loc="outside lower center", ncols=len(lines), frameon=False)
    PICTURE.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(PICTURE, dpi=130)


def table(results: dict[str, list[Curves]], counts: list[int]) -> None:
    print("| problem | N_r | I(f;Y) | I(f;Y\\|U) | I(f;Y;U) | I_0 | nu_t | nu_t, greedy |")
    print("|---|---|---|---|---|---|---|---|")
    for name, runs in results.items():
        mean = Curves(*np.mean(runs, axis=0))
        for index, count in enumerate(counts):
            if count in (0, 16, counts[-1]):
                numbers = " | ".join(f"{values[index]:.1f}" for values in mean)
                print(f"| {name} | {count} | {numbers} |")


def main() -> None:
    parser = argparse.ArgumentParser(description="Information and nu_t against the number of PDE points")
    parser.add_argument("--smoke", action="store_true", help="one small network per problem, no picture")
    smoke = parser.parse_args().smoke
    counts = [0, 1, 4, 16] if smoke else [0, *(2**k for k in range(11))]
    seeds, width = (1, 8) if smoke else (3, 100)
    results = {name: [curves(name, width, counts, seed) for seed in range(seeds)] for name in PROBLEMS}
    table(results, counts)
    if not smoke:
        picture(results, counts)


if __name__ == "__main__":
    main()
