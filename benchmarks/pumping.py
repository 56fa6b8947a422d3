"""A real pumping test: hydraulic conductivity of an aquifer from the heads in two piezometers (Oude Korendijk).

    python benchmarks/pumping.py FOLDER

FOLDER holds piezometer_h30.txt and piezometer_h90.txt: minutes and head change (m), 30 m and 90 m from a well that
pumps 788 m3/d from a confined aquifer of 7 m. In rho = ln r and tau = ln t the drawdown s obeys

    (Ss / k) exp(2 rho - tau) ds/dtau = d2s/drho2,    ds/drho = -Q / (2 pi 7 k) at the well,    s = 0 far away.

Least squares with the analytical solution on the same two files: k = 66.1 m/d, Ss = 2.5e-5 1/m, with residuals that are
systematic. 24 readings are used, evenly spread over the logarithm of time.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import jax.numpy as jnp
import numpy as np
from numpy import ndarray

from pinnbo import PDE, Optimizer, Space
from pinnbo.operators import partial

_Q, _THICKNESS = 788.0, 7.0
_NEAR, _FAR = 1.0, 3000.0  # m; at 1 m what is stored inside counts for a thousandth
_N = 12  # readings of each piezometer


def readings(folder: Path) -> tuple[ndarray, ndarray]:
    """Points (ln r, ln t in days) and drawdowns."""
    points, values = [], []
    for radius in (30, 90):
        table = np.loadtxt(folder / f"piezometer_h{radius}.txt")
        minutes, drawdown = table[:, 0], np.abs(table[:, 1])
        positive = minutes > 0
        tau = np.log(minutes[positive] / 1440.0)
        wanted = np.linspace(tau[0], tau[-1], _N)
        chosen = np.unique([int(np.argmin(np.abs(tau - t))) for t in wanted])
        points += [(np.log(radius), t) for t in tau[chosen]]
        values += drawdown[positive][chosen].tolist()
    return np.array(points), np.array(values)


def physics(space: Space) -> list[PDE]:
    """The equation, the well and the far end."""
    tau = np.linspace(space.lower[1], space.upper[1], 24)
    well, far = (np.column_stack([np.full(24, end), tau]) for end in (space.lower[0], space.upper[0]))
    return [
        PDE(
            lambda s, *, k, Ss: (
                lambda x: partial(s, 0, 2)(x) - Ss / k * jnp.exp(2.0 * x[0] - x[1]) * partial(s, 1)(x)
            ),
            name="flow",
        ),
        PDE(
            lambda s, *, k: lambda x: 2.0 * jnp.pi * _THICKNESS * k * partial(s, 0)(x),
            source=-_Q,
            points=well,
            name="well",
        ),
        PDE(lambda s: s, points=far, name="far away"),
    ]


def main(folder: Path) -> None:
    """The intervals, and what is believed of the equations."""
    points, values = readings(folder)
    space = Space(rho=(np.log(_NEAR), np.log(_FAR)), tau=(points[:, 1].min() - 0.5, points[:, 1].max()))
    begin = time.process_time()
    opt = Optimizer(space, physics(space), unknowns={"k": (10.0, 500.0), "Ss": (1e-6, 1e-3)})
    opt.tell(points, values)
    said = opt.diagnostics()
    for name in ("k", "Ss"):
        found = said["unknowns"][name]
        print(f"{name}: mean {found['mean']:.4g}, 95% interval {found['interval']}")
    print(said["belief"], said["model"], f"{time.process_time() - begin:.0f} s")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    main(parser.parse_args().folder)
