"""A study of many months: neither memory nor the time of a suggestion may grow with it."""

import resource
import time
from pathlib import Path

import numpy as np
import pytest

from pinnbo import PDE, Optimizer, Space
from pinnbo.operators import laplacian


def resident():
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


PHYSICS = (Space(x=(0.0, 3.0)), PDE(lambda f: lambda x: laplacian(f)(x) + 4.0 * f(x)))
PLAIN = (Space(x=(-1.0, 1.0), y=(-1.0, 1.0)), None)


def field(x):
    return float(np.cos(2.0 * x[0]) + np.sum(x[1:] ** 2))


@pytest.mark.slow
@pytest.mark.parametrize("problem", [PHYSICS, PLAIN], ids=["equation", "no equation"])
def test_three_hundred_cycles(problem):
    """From the 50th to the 300th at most 5% more memory; the last 50 asks at most 1.5 times the 50 after the 50th."""
    rng = np.random.default_rng(0)
    optimizer = Optimizer(*problem, noise=0.01)
    memory, seconds = [], []
    for _ in range(300):
        started = time.process_time()
        x = optimizer.ask()
        seconds.append(time.process_time() - started)
        optimizer.tell(x, field(x) + 0.01 * rng.standard_normal())
        memory.append(resident())
    growth, slowdown = memory[299] / memory[49], np.sum(seconds[250:]) / np.sum(seconds[50:100])
    print(
        f"memory grows by {growth - 1:.1%}, {memory[299] / 2**20:.0f} MB; an ask takes {slowdown:.2f} times as long"
    )
    assert growth <= 1.05
    assert slowdown <= 1.5
