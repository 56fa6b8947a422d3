"""Exact solutions as features: against the operator itself, closed forms of the covariance, differences, units."""

import dataclasses
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import j0

from pinnbo import PDE, Optimizer, Space
from pinnbo.data import Data, Standard
from pinnbo.ensemble.family import Stated
from pinnbo.ensemble.wave_family import EvolvingWaves, StandingWaves, wave_families
from pinnbo.gp.waves import Solutions
from pinnbo.methods.auto import Auto
from pinnbo.operators import biharmonic, laplacian, partial
from pinnbo.physics.jets import JetPDE
from pinnbo.physics.particular import Polynomial, particular
from pinnbo.physics.symbol import Symbol

PLANE = Space(x=(-1.0, 2.0), y=(0.0, 1.5))
ROOM = Space.box(np.zeros(3), np.array([1.0, 0.7, 1.2]))
LINE = Space(x=(0.0, 2.0), t=(-0.5, 1.0))
NOTHING = Data(np.zeros((0, 2)), np.zeros(0), np.zeros(0), np.zeros((0, 2)))


@cache
def helmholtz(wavenumber):
    return lambda f: lambda x: laplacian(f)(x) + wavenumber**2 * f(x)


def wave(f):
    return lambda x: partial(f, 1, order=2)(x) - partial(f, 0, order=2)(x)


def klein_gordon(f):
    return lambda x: wave(f)(x) + 30.0 * f(x)


def transport(f):
    return lambda x: partial(f, 1)(x) + 0.7 * partial(f, 0)(x)


def heat(f):
    return lambda x: partial(f, 1)(x) - 0.1 * partial(f, 0, order=2)(x)


def telegraph(f):
    return lambda x: wave(f)(x) + 1.3 * partial(f, 1)(x)


def vibrating_beam(f):
    return lambda x: partial(f, 1, order=2)(x) + 0.01 * partial(f, 0, order=4)(x)


def waves_in_a_membrane(f):
    return lambda x: partial(f, 2, order=2)(x) - partial(f, 0, order=2)(x) - partial(f, 1, order=2)(x)


EVOLUTIONS = {
    "wave": wave,
    "klein-gordon": klein_gordon,
    "transport": transport,
    "heat": heat,
    "telegraph": telegraph,
    "vibrating beam": vibrating_beam,
}
equation = cache(PDE)
symbol_of = cache(lambda space, operator: Symbol.of(space, equation(operator)))


def solutions(symbol):
    return Solutions(symbol, Polynomial.zero(symbol.dim))


def stated(space, *physics):
    return Stated(space, physics, seed=0, collocation=500, row_noise=1e-3)


def family(space, *physics):
    (found,) = wave_families(stated(space, *physics))
    return found


def setting(found):
    """One in the middle of the grid."""
    return found.grid[len(found.grid) // 2]


def terms(symbol, z):
    """Sizes of the terms of P(z)."""
    sizes = [np.abs(np.prod(z**index, axis=1)) for index in symbol.derivatives]
    return np.abs(symbol.coefficients) @ np.array(sizes)


class TestWhichEquations:
    @pytest.mark.parametrize("operator", EVOLUTIONS.values(), ids=EVOLUTIONS)
    def test_evolutions_are_found(self, operator):
        assert isinstance(family(LINE, equation(operator)), EvolvingWaves)

    def test_time_may_be_any_axis(self):
        turned = PDE(lambda f: lambda x: partial(f, 0)(x) - 0.1 * partial(f, 1, order=2)(x))
        assert symbol_of(LINE, heat).evolution_axis == 1
        assert Symbol.of(LINE, turned).evolution_axis == 0
        assert symbol_of(ROOM, waves_in_a_membrane).evolution_axis == 2

    def test_evolution_is_along_the_axis_of_least_growth(self):
        # along x, too, growth is bounded; but slow oscillations do not travel, they fade
        backwards = PDE(
            lambda f: lambda x: partial(f, 0, order=2)(x) - partial(f, 1, order=2)(x) + 30.0 * f(x)
        )
        assert symbol_of(LINE, klein_gordon).evolution_axis == 1
        assert Symbol.of(LINE, backwards).evolution_axis == 0

    @pytest.mark.parametrize("space", [PLANE, ROOM], ids=["plane", "room"])
    def test_standing_waves_are_found(self, space):
        assert isinstance(family(space, equation(helmholtz(5.0))), StandingWaves)

    @pytest.mark.parametrize(
        "operator",
        [
            lambda f: lambda x: wave(f)(x) + x[0] * f(x),
            lambda f: lambda x: partial(f, 1, order=2)(x) - (1 + (x[0] > 1.9)) * partial(f, 0, order=2)(x),
            lambda f: lambda x: wave(f)(x) + f(x) ** 3,
            lambda f: lambda x: jnp.stack([wave(f)(x), transport(f)(x)]),
            laplacian,
            lambda f: lambda x: laplacian(f)(x) - 9.0 * f(x),
            lambda f: lambda x: biharmonic(f)(x) - 81.0 * f(x),
            lambda f: lambda x: partial(f, 0)(x) * 0.0,
        ],
        ids=[
            "variable",
            "piecewise",
            "nonlinear",
            "system",
            "elliptic",
            "screened",
            "plate",
            "nothing",
        ],
    )
    def test_others_are_declined(self, operator):
        assert wave_families(stated(LINE, PDE(operator))) == []

    def test_sources_with_edges_are_declined(self):
        edge = PDE(wave, source=lambda x: jnp.where(x[0] > 1.9, 1.0, 0.0))
        assert wave_families(stated(LINE, edge)) == []

    def test_of_ordinary_equations_those_with_simple_roots_are_found(self):
        simple = PDE(lambda f: lambda x: partial(f, 0, order=2)(x) + 0.3 * partial(f, 0)(x) + 30.0 * f(x))
        assert isinstance(family(Space(t=(0.0, 4.0)), simple), StandingWaves)
        bent = PDE(lambda f: partial(f, 0, order=4), source=1.0)
        assert wave_families(stated(Space(t=(0.0, 4.0)), bent)) == []

    def test_two_equations_are_declined(self):
        assert wave_families(stated(LINE, PDE(wave), PDE(transport))) == []


class TestFeatures:
    @pytest.mark.parametrize("operator", EVOLUTIONS.values(), ids=EVOLUTIONS)
    def test_every_exponent_is_a_zero_of_the_symbol(self, operator):
        symbol = symbol_of(LINE, operator)
        for length in (0.1, 0.5, 2.0):
            z = solutions(symbol).evolving(symbol.evolution_axis, length).features.exponents
            assert np.max(np.abs(symbol(z))[1:] / terms(symbol, z)[1:]) < 1e-10

    @pytest.mark.parametrize(
        ("space", "operator"),
        [(LINE, wave), (LINE, heat), (LINE, telegraph), (PLANE, helmholtz(6.0)), (ROOM, helmholtz(5.0))],
        ids=["wave", "heat", "telegraph", "helmholtz", "helmholtz-3"],
    )
    def test_every_feature_obeys_the_operator(self, space, operator):
        found = family(space, equation(operator))
        waves = found.process(setting(found), NOTHING).features

        def feature(i):
            z, w = jnp.asarray(waves.exponents[i]), waves.weights[i]
            top = jnp.sum(jnp.abs(z.real))

            def f(x):
                s = (x - jnp.asarray(space.centre)) / jnp.asarray(space.half_width)
                return w * jnp.exp(s @ z.real - top) * jnp.cos(s @ z.imag)

            return f

        points = space.sobol(8, seed=1)
        values = waves(space.scale(points), False)[0]
        size = np.abs(symbol_of(space, operator).coefficients).max()
        for i in (0, len(waves.weights) // 2, len(waves.weights) - 1):
            f = feature(i)
            assert np.allclose(jax.vmap(f)(jnp.asarray(points)), values[:, i], atol=1e-12)
            image = jax.vmap(operator(f))(jnp.asarray(points))
            assert size == 1.0
            assert np.max(np.abs(image)) < 1e-8

    @pytest.mark.parametrize("operator", EVOLUTIONS.values(), ids=EVOLUTIONS)
    def test_slopes_are_those_of_differences(self, operator):
        found = family(LINE, equation(operator))
        process = found.process(setting(found), NOTHING)
        s = LINE.scale(LINE.sobol(4, seed=2))
        _, slopes = process.features(s, True)
        for axis, step in enumerate(1e-5 * np.eye(2)):
            ahead, behind = (process.features(s + sign * step, False)[0] for sign in (1.0, -1.0))
            assert np.allclose(slopes[:, axis], (ahead - behind) / 2e-5, atol=1e-6)

    @pytest.mark.parametrize("operator", [heat, telegraph, klein_gordon], ids=["heat", "telegraph", "kg"])
    def test_features_are_at_most_their_weight_in_the_box(self, operator):
        symbol = symbol_of(LINE, operator)
        waves = solutions(symbol).evolving(symbol.evolution_axis, 0.2).features
        s = 2.0 * np.random.default_rng(0).random((500, 2)) - 1.0
        assert np.all(np.abs(waves(s, False)[0][:, : len(waves.weights)]) <= waves.weights + 1e-12)


class TestCovariance:
    @pytest.mark.parametrize("wavenumber", [2.0, 12.0, 25.0])
    def test_in_the_plane_it_is_a_bessel_function(self, wavenumber):
        # the box is no square: distances are those of the user's units
        points = PLANE.sobol(64, seed=3)
        r = np.linalg.norm(points[:, None] - points, axis=2)
        process = solutions(symbol_of(PLANE, helmholtz(wavenumber))).standing()
        found = process.covariance_matrix(PLANE.scale(points))
        assert np.allclose(found, j0(wavenumber * r), atol=2e-4)

    def test_in_space_it_is_a_sinc(self):
        points = ROOM.sobol(64, seed=3)
        r = np.linalg.norm(points[:, None] - points, axis=2)
        process = solutions(symbol_of(ROOM, helmholtz(15.0))).standing()
        found = process.covariance_matrix(ROOM.scale(points))
        assert np.allclose(found, np.sinc(15.0 * r / np.pi), atol=2e-4)

    @pytest.mark.parametrize("length", [0.1, 0.5, 2.0])
    def test_of_waves_it_is_that_of_two_that_travel(self, length):
        points = LINE.sobol(64, seed=3)
        x, t = (points / LINE.half_width[0]).T
        symbol = symbol_of(LINE, wave)
        found = (
            solutions(symbol).evolving(symbol.evolution_axis, length).covariance_matrix(LINE.scale(points))
        )

        def rbf(u):
            return np.exp(-0.5 * ((u[:, None] - u) / length) ** 2)

        assert np.allclose(found - 9.0, 0.5 * (rbf(x - t) + rbf(x + t)), atol=2e-4)

    @pytest.mark.parametrize("operator", [wave, heat], ids=["wave", "heat"])
    def test_units_change_nothing(self, operator):
        factor, move = np.array([1e-3, 60.0]), np.array([0.4, -7.0])
        moved = Space.box(move + factor * LINE.lower, move + factor * LINE.upper)

        def in_other_units(f):
            inner = operator(lambda x: f(jnp.asarray(move) + jnp.asarray(factor) * x))
            return lambda x: 1e5 * inner((x - jnp.asarray(move)) / jnp.asarray(factor))

        s = LINE.scale(LINE.sobol(16, seed=4))
        one, other = (
            family(space, equation(n)).process((0.5,), NOTHING).covariance_matrix(s)
            for space, n in ((LINE, operator), (moved, in_other_units))
        )
        assert np.allclose(one, other, atol=1e-9)

    def test_what_starts_as_a_stationary_process_stays_one(self):
        # 2-D waves conserve energy: the variance is the same everywhere
        symbol = symbol_of(ROOM, waves_in_a_membrane)
        process = solutions(symbol).evolving(2, 1.0)
        assert np.allclose(np.diag(process.covariance_matrix(ROOM.scale(ROOM.sobol(32, 0)))), 10.0, atol=1e-3)


class TestMeans:
    @pytest.mark.parametrize(
        ("operator", "source"),
        [(wave, 2.5), (klein_gordon, 2.5), (heat, lambda x: jnp.exp(x[0]) * jnp.cos(4.0 * x[1]))],
        ids=["wave", "klein-gordon", "heat"],
    )
    def test_the_source_is_met_whatever_the_shift(self, operator, source):
        pde = PDE(operator, source=source)
        found = family(LINE, pde)
        process, (shift, scale) = found.process(setting(found), NOTHING), Standard(1.7, 0.6)
        jet = JetPDE(LINE, pde)
        points = LINE.sobol(32, seed=5)
        rows = jet.rows(LINE.scale(points), pde.source_at(points))
        # N of the mean of f = shift + scale h
        image = shift * rows.constant + scale * (
            process.features.of(rows) @ process.mean_weights(Standard(shift, scale))
        )
        assert np.allclose(image, rows.values, atol=1e-6 * np.max(np.abs(rows.values)))

    def test_a_particular_solution_is_no_larger_than_the_source_makes_it(self):
        # from nothing, and heated for as long as the box lasts, it is at most the highest source times that
        hot = PDE(heat, source=lambda x: jnp.exp(-20.0 * ((x[0] - 0.8) ** 2 + (x[1] - 0.1) ** 2)))
        symbol = Symbol.of(LINE, hot)
        psi = particular(symbol)
        of_rate = symbol.coefficients[(symbol.derivatives == [0, 1]).all(axis=1)]
        assert np.max(np.abs(psi(symbol.places))) < 2.0 * np.max(symbol.source) / of_rate
        assert particular(dataclasses.replace(symbol, source=np.sign(symbol.places[:, 0]))) is None

    def test_a_driven_oscillator_is_a_mean_and_two_features(self):
        space = Space(t=(0.0, 5.0))

        def ringing(f):
            return lambda t: partial(f, 0, order=2)(t) + 0.5 * partial(f, 0)(t) + 36.0 * f(t)

        def truth(t):
            return jnp.exp(-0.25 * t) * jnp.cos(jnp.sqrt(36.0 - 0.0625) * t + 0.4) + jnp.sin(
                2.0 * t + t**2 / 9
            )

        pde = PDE(ringing, source=ringing(lambda x: truth(x[0])))
        process = family(space, pde).process((), NOTHING)
        t = np.linspace(0.0, 5.0, 200)
        at = process.locate(space.scale(t[:, None]))
        assert process.rank == 2
        rest = np.asarray(truth(t)) - process.mean(at, Standard(0.0, 1.0))
        weights = np.linalg.lstsq(at.features[:, :2], rest, rcond=None)[0]
        assert np.max(np.abs(at.features[:, :2] @ weights - rest)) < 1e-6
        assert np.mean(process.variance(at)[0]) == pytest.approx(1.0, rel=0.05)

    def test_conditions_are_met(self):
        # a string that is held at both ends, and still at the beginning
        t = np.linspace(-0.5, 1.0, 20)
        ends = np.concatenate([np.column_stack([np.full(20, x), t]) for x in (0.0, 2.0)])
        start = np.column_stack([np.linspace(0.0, 2.0, 20), np.full(20, -0.5)])
        held = PDE(lambda f: f, source=1.5, points=ends)
        still = PDE(lambda f: partial(f, 1), points=start)
        process = family(LINE, equation(wave), held, still).process((0.5,), NOTHING)
        standard = Standard(-3.0, 2.0)
        at = process.locate(LINE.scale(ends), slopes=True)
        assert np.allclose(standard.shift + standard.scale * process.mean(at, standard), 1.5, atol=0.05)
        assert np.all(process.variance(at)[0] < 1e-3)
        rates = process.features(LINE.scale(start), True)[1][:, 1, :-2]
        assert np.all(np.sum(rates**2, axis=1) < 1e-3)
        middle = process.locate(np.array([[0.1, -0.8]]))
        assert process.variance(middle)[0] > 0.1

    def test_a_condition_that_is_not_linear_is_declined(self):
        squared = PDE(lambda f: lambda x: f(x) ** 2, source=1.0, points=[[0.0, 0.0]])
        assert wave_families(stated(LINE, PDE(wave), squared)) == []


class TestSearch:
    PDE = PDE(helmholtz(12.0))

    def run(self, seed=3):
        space = Space(x=(0.0, 1.0), y=(0.0, 1.0))
        method = Auto(families=["waves"])
        opt = Optimizer(space, self.PDE, goal="maximize", method=method, seed=seed, noise=0.01)
        k = 12.0 * np.array([[0.6, 0.8], [0.28, -0.96]])
        points = space.sobol(16, seed=1)
        opt.tell(points, np.cos(points @ k[0] + 1.0) + 0.7 * np.sin(points @ k[1]))
        return opt, lambda x: np.cos(x @ k[0] + 1.0) + 0.7 * np.sin(x @ k[1])

    def test_it_is_used_and_deterministic(self):
        (one, truth), (other, _) = self.run(), self.run()
        points = np.random.default_rng(0).random((200, 2))
        mean, std = one.predict(points)
        assert np.array_equal(mean, other.predict(points)[0])
        assert np.array_equal(one.ask(), other.ask())
        assert any("standing waves" in s["model"] for s in one.diagnostics()["settings"])
        assert one.diagnostics()["trust"] > 0.9
        assert np.mean(np.abs(mean - truth(points)) <= 1.96 * std) > 0.85


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_nearly_true_waves_are_exact_ones_of_an_equation_with_one_coefficient_off(sign):
    """lap f + k^2 f = 0: a misfit of a tenth of the largest term is a k^2 that is off by a tenth."""
    space = Space(x=(0.0, 1.0), y=(0.0, 2.0))
    stated = Stated(space, (PDE(lambda f: lambda x: laplacian(f)(x) + 60.0 * f(x)),), 0, 10, 1e-3)
    (exact,) = wave_families(stated)
    (nearly,) = exact.loosened([0.1])
    assert len(nearly.grid) == 6  # three terms, up and down
    changed = [s for s in nearly.grid if s[-1] == sign and not exact.symbol.derivatives[int(s[-2])].any()]
    (scales,) = changed
    sizes = exact.term_sizes(scales[:-2])
    off = 1.0 + sign * 0.1 * sizes.max() / sizes[int(scales[-2])]
    other = JetPDE(space, PDE(lambda f: lambda x: laplacian(f)(x) + 60.0 * off * f(x)))
    places = space.scale(space.sobol(20, 3))
    waves = nearly.process(
        scales, Data(np.zeros((0, 2)), np.zeros(0), np.zeros(0), np.zeros((0, 2)))
    ).features
    rows = waves.of(other.rows(places, np.zeros((20, 1))))[:, : waves.n_waves]
    assert np.max(np.abs(rows)) < 1e-9 * 60.0
    assert off == pytest.approx(1.0 + sign * 0.1)  # k^2 f is the largest term: lap f has it, too
