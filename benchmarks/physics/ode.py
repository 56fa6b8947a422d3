"""Oscillators and kinetics."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from scipy.integrate import solve_ivp

from physics.case import Case, Stated
from pinnbo import PDE, Space
from pinnbo.operators import partial


def damped_oscillator(seed: int, finer: float) -> Stated:
    """x'' + x' / 2 + 36 x = 10 sin(4 t): ringing on top of the answer to a known force; the start is not known."""
    rng = np.random.default_rng([seed, 181])
    size, phase = rng.uniform(0.5, 1.5), rng.uniform(0, 2 * np.pi)
    damping, stiffness, force, drive = 0.5, 36.0, 10.0, 4.0
    ringing = np.sqrt(stiffness - damping**2 / 4)
    answer = force / (stiffness - drive**2 + 1j * damping * drive)

    def evaluate(points):
        t = points[:, 0]
        driven = (answer * np.exp(1j * drive * t)).imag
        return size * np.exp(-damping * t / 2) * np.cos(ringing * t + phase) + driven

    def operator(f):
        return lambda t: partial(f, 0, order=2)(t) + damping * partial(f, 0)(t) + stiffness * f(t)

    pde = PDE(operator, source=lambda t: force * jnp.sin(drive * t[0]))
    return Stated(Space(t=(0.0, 6.0)), pde, evaluate)


def pendulum(seed: int, finer: float) -> Stated:
    """theta'' + 0.2 theta' + 9 sin(theta) = 0, let go from far up with a push that is not known."""
    angle, push = np.random.default_rng([seed, 182]).uniform([1.8, -2.0], [2.6, 2.0])

    def rate(t, state):
        return [state[1], -0.2 * state[1] - 9.0 * np.sin(state[0])]

    tolerance = 1e-10 if finer >= 1 else 1e-8
    run = solve_ivp(
        rate, (0.0, 6.0), [angle, push], method="DOP853", rtol=tolerance, atol=tolerance, dense_output=True
    )

    def operator(f):
        return lambda t: partial(f, 0, order=2)(t) + 0.2 * partial(f, 0)(t) + 9.0 * jnp.sin(f(t))

    return Stated(
        Space(t=(0.0, 6.0)), PDE(operator), lambda points: run.sol(points[:, 0])[0], goal="minimize"
    )


def _amount(t, k1, k2, start, product):
    """B(t) of A -> B -> C with A(0) = start and B(0) = product."""
    made = start * k1 / (k2 - k1) * (np.exp(-k1 * t) - np.exp(-k2 * t))
    return made + product * np.exp(-k2 * t)


def kinetics(seed: int, finer: float) -> Stated:
    """A -> B -> C with known rates, B measured: B'' + (k1 + k2) B' + k1 k2 B = 0."""
    start, product = np.random.default_rng([seed, 183]).uniform([0.8, 0.0], [1.2, 0.3])
    k1, k2 = 2.0, 0.7

    def operator(f):
        return lambda t: partial(f, 0, order=2)(t) + (k1 + k2) * partial(f, 0)(t) + k1 * k2 * f(t)

    space = Space(t=(0.0, 5.0))
    return Stated(space, PDE(operator), lambda points: _amount(points[:, 0], k1, k2, start, product))


def kinetics_arrhenius(seed: int, finer: float) -> Stated:
    """The same at every temperature: time and temperature of the best yield, rates known by their Arrhenius laws."""
    start, product, spoiled = np.random.default_rng([seed, 184]).uniform([0.8, 0.0, 0.0], [1.2, 0.2, 0.3])

    def rates(temperature, xp=np):
        # time in minutes, temperature in kelvin; activation energies over R of 6000 K and 9500 K
        warmer = 1.0 / 350.0 - 1.0 / temperature
        return 0.5 * xp.exp(6000.0 * warmer), 0.1 * xp.exp(9500.0 * warmer)

    def evaluate(points):
        t, temperature = points.T
        k1, k2 = rates(temperature)
        # part of what is put in is lost on warming up, the more the hotter: nobody told the optimiser
        left = start * (1 - spoiled * (temperature - 330.0) / 40.0)
        return _amount(t, k1, k2, left, product)

    def operator(f):
        def row(x):
            k1, k2 = rates(x[1], jnp)
            return partial(f, 0, order=2)(x) + (k1 + k2) * partial(f, 0)(x) + k1 * k2 * f(x)

        return row

    return Stated(Space(t=(0.0, 5.0), T=(330.0, 370.0)), PDE(operator), evaluate)


CASES = (
    Case("damped-oscillator", "closed form", damped_oscillator),
    Case("pendulum", "Runge-Kutta", pendulum),
    Case("kinetics", "closed form", kinetics),
    Case("kinetics-arrhenius", "closed form", kinetics_arrhenius),
)
