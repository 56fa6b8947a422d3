"""Travelling waves and a bound state."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from scipy.interpolate import RectBivariateSpline
from scipy.sparse import diags, eye, kron
from scipy.sparse.linalg import eigsh

from physics.case import Case, Stated
from physics.conduction import cells
from pinnbo import PDE, Space
from pinnbo.operators import laplacian, partial


def wave_string(seed: int, finer: float) -> Stated:
    """u_tt = u_xx on a string with fixed ends, after d'Alembert: a pluck runs to and fro and is turned over."""
    rng = np.random.default_rng([seed, 161])
    place, width = rng.uniform([0.2, 0.5], [0.4, 0.8]), rng.uniform(0.08, 0.14, 2)
    size, right_going = rng.uniform(0.5, 1.0, 2), rng.uniform(0.2, 0.8, 2)

    def shape(s, i):
        images = 2.0 * np.arange(-4, 5)
        s = np.asarray(s)[:, None]
        bumps = np.exp(-0.5 * ((s - images - place[i]) / width[i]) ** 2)
        turned = np.exp(-0.5 * ((s - images + place[i]) / width[i]) ** 2)
        return size[i] * np.sum(bumps - turned, axis=1)

    def evaluate(points):
        # odd about both ends: a part that runs to the right and one that runs to the left, of unlike shares
        x, t = points.T
        there = sum(right_going[i] * (shape(x - t, i) - shape(-x - t, i)) for i in range(2))
        back = sum((1 - right_going[i]) * (shape(x + t, i) - shape(-x + t, i)) for i in range(2))
        return 0.5 * (there + back)

    pde = PDE(lambda f: lambda z: partial(f, 1, order=2)(z) - partial(f, 0, order=2)(z))
    return Stated(Space(x=(0.0, 1.0), t=(0.0, 1.6)), pde, evaluate)


def klein_gordon(seed: int, finer: float) -> Stated:
    """u_tt = u_xx - 100 u: a packet that spreads, by its Fourier modes on a line far longer than the box."""
    rng = np.random.default_rng([seed, 162])
    n, length = round(256 * finer), 10.0
    x = length * np.arange(n) / n - 0.5 * length + 0.5
    place, carrier, phase = rng.uniform(0.2, 0.5), rng.uniform(4.0, 10.0), rng.uniform(0, 2 * np.pi)
    start = np.exp(-0.5 * ((x - place) / 0.15) ** 2) * np.cos(carrier * x + phase)
    speed = 4.0 * np.exp(-0.5 * ((x - 0.8) / 0.15) ** 2)
    k = 2 * np.pi * np.fft.rfftfreq(n, length / n)
    omega = np.sqrt(k**2 + 100.0)
    share = np.where((k == 0) | (np.arange(len(k)) == n // 2), 1.0, 2.0) / n
    first, second = share * np.fft.rfft(start), share * np.fft.rfft(speed) / omega

    def evaluate(points):
        out = []
        for chunk in np.array_split(points, max(1, len(points) // 4096)):
            s, t = chunk[:, :1] - x[0], chunk[:, 1:]
            modes = np.exp(1j * s * k) * (first * np.cos(omega * t) + second * np.sin(omega * t))
            out.append(np.sum(modes.real, axis=1))
        return np.concatenate(out)

    pde = PDE(lambda f: lambda z: partial(f, 1, order=2)(z) - partial(f, 0, order=2)(z) + 100.0 * f(z))
    return Stated(Space(x=(0.0, 1.0), t=(0.0, 1.0)), pde, evaluate)


def schroedinger(seed: int, finer: float) -> Stated:
    """-lap psi / 2 + V psi = E psi: the eighth state in a trap with a bump, E known, psi not."""
    bump = np.random.default_rng([seed, 163]).uniform(-0.4, 0.4, 2)
    n, side = cells(finer, 160), 8.0
    nodes = np.linspace(-side / 2, side / 2, n + 1)[1:-1]
    h = side / n

    def potential(x, y, xp=np):
        return 4.0 * x**2 + 6.0 * y**2 + 15.0 * xp.exp(-4.0 * ((x - bump[0]) ** 2 + (y - bump[1]) ** 2))

    # fourth order; far outside the trap psi is 0, so that the stencil may simply end there
    bands = [(-1 / 12, 2), (16 / 12, 1), (-30 / 12, 0), (16 / 12, -1), (-1 / 12, -2)]
    line = diags([weight for weight, _ in bands], [i for _, i in bands], shape=(n - 1, n - 1)) / h**2
    one = eye(n - 1)
    x, y = np.meshgrid(nodes, nodes, indexing="ij")
    matrix = -0.5 * (kron(line, one) + kron(one, line)) + diags(potential(x, y).ravel())
    energies, states = eigsh(matrix.tocsc(), k=8, sigma=0.0, v0=np.ones((n - 1) ** 2))
    order = np.argsort(energies)
    energy, state = float(energies[order[-1]]), states[:, order[-1]].reshape(n - 1, n - 1)
    # the sign of an eigenvector is nobody's: the first of its values that is not small counts as positive
    flat = state.ravel()
    state = state * np.sign(flat[np.argmax(np.abs(flat) > 0.3 * np.max(np.abs(flat)))]) / h
    spline = RectBivariateSpline(nodes, nodes, state, kx=5, ky=5)

    def operator(f):
        return lambda z: -0.5 * laplacian(f)(z) + (potential(z[0], z[1], jnp) - energy) * f(z)

    space = Space(x=(-2.0, 2.0), y=(-2.0, 2.0))
    return Stated(space, PDE(operator), lambda points: spline.ev(points[:, 0], points[:, 1]))


CASES = (
    Case("wave-string", "closed form", wave_string),
    Case("klein-gordon", "Fourier modes", klein_gordon),
    Case("schroedinger", "finite differences", schroedinger),
)
