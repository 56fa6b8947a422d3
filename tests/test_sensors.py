"""Measurements that are not values of the measured field: other fields, fluxes, averages, differences."""

import json

import numpy as np
import pytest
from scipy.integrate import dblquad, quad

from pinnbo import PDE, Optimizer, Sensor, Space
from pinnbo.data import Data
from pinnbo.ensemble.kernel_family import KernelGivenPDE, Stated
from pinnbo.gp.conditioning import plain
from pinnbo.gp.kernels import RBF, Matern
from pinnbo.gp.posterior import condition
from pinnbo.gp.readings import Instrument
from pinnbo.methods.auto import Auto
from pinnbo.operators import laplacian, partial
from pinnbo.physics.coordinates import BOX, Stretched
from pinnbo.sensors import box, disc, places, segment

SPACE = Space(x=(0.0, 2.0), y=(-1.0, 1.0))
POINTS = np.array([[0.6, -0.3], [1.2, 0.4], [1.5, 0.1]])
FIELDS = ("T", "psi")
FEW = Auto(collocation=100)


def exponential(a, b):
    """exp(a x + b y)."""
    return lambda x, y: np.exp(a * x + b * y)


def cubic(x, y):
    """A polynomial with all kinds of terms."""
    return 1.0 + 2.0 * x - y + 0.5 * x**2 * y - 0.3 * y**3 + x * y


def flux(T):
    """With a coefficient that varies, and an offset of the instrument."""
    return lambda x: -0.6 * (1.0 + x[1]) * partial(T, 0)(x) + 0.2


def mixed(T, psi):
    """Of two fields."""
    return lambda x: 2.0 * T(x) - x[0] * partial(psi, 1)(x)


def applied(functionals, fields):
    """Functionals of functions of the user's coordinates, by finite Taylor data: derivatives in closed form.

    ``fields`` has for every field a function (x, y, i, j) -> (d/dx)^i (d/dy)^j of it.
    """
    at = SPACE.unscale(functionals.points)
    half = SPACE.half_width
    total = np.zeros(len(at))
    for owner, index, column in functionals.terms:
        total += column * fields[owner](at[:, 0], at[:, 1], *index) * np.prod(half ** np.array(index))
    return functionals.gathered(total) - functionals.values


def of_exponential(a, b):
    """Its derivatives."""
    return lambda x, y, i, j: a**i * b**j * np.exp(a * x + b * y)


def of_cubic(x, y, i, j):
    """Its derivatives."""
    p = np.polynomial.polynomial
    table = np.zeros((4, 4))
    for value, power in (
        (1.0, (0, 0)),
        (2.0, (1, 0)),
        (-1.0, (0, 1)),
        (0.5, (2, 1)),
        (-0.3, (0, 3)),
        (1.0, (1, 1)),
    ):
        table[power] = value
    return p.polyval2d(x, y, p.polyder(p.polyder(table, i, axis=0), j, axis=1))


E1, E2 = (0.7, -0.4), (1.3, 0.9)
CASES = {"exponentials": (of_exponential(*E1), of_exponential(*E2)), "polynomials": (of_cubic, of_cubic)}


@pytest.mark.parametrize("name", CASES)
def test_rows_agree_with_closed_forms(name):
    """Of a flux, of an operator of two fields, of another field and of a difference, to 1e-8."""
    first, second = CASES[name]
    x, y = POINTS.T
    truths = {
        "flux": (Sensor(flux), -0.6 * (1.0 + y) * first(x, y, 1, 0) + 0.2),
        "mixed": (Sensor(mixed), 2.0 * first(x, y, 0, 0) - x * second(x, y, 0, 1)),
        "psi": (Sensor(of="psi"), second(x, y, 0, 0)),
        "difference": (Sensor(minus=(0.2, 0.5)), first(x, y, 0, 0) - first(0.2, 0.5, 0, 0)),
        "places": (
            Sensor(over=places([[0.1, 0.2], [0.3, -0.4]], [0.25, 2.0])),
            np.full(3, 0.25 * first(0.1, 0.2, 0, 0) + 2.0 * first(0.3, -0.4, 0, 0)),
        ),
    }
    for label, (sensor, truth) in truths.items():
        found = applied(Instrument(label, sensor, SPACE, FIELDS).functionals(POINTS), (first, second))
        np.testing.assert_allclose(found, truth, rtol=1e-8, err_msg=label)


def mean_over_disc(function, x, y, radius):
    """By adaptive quadrature."""
    value, _ = dblquad(
        lambda r, phi: r * function(x + r * np.cos(phi), y + r * np.sin(phi)),
        0,
        2 * np.pi,
        0,
        radius,
        epsabs=1e-12,
    )
    return value / (np.pi * radius**2)


@pytest.mark.parametrize("function", [exponential(2.1, -1.4), cubic], ids=["exponential", "polynomial"])
def test_averages_agree_with_adaptive_quadrature(function):
    """Over a disc, a box and a segment as large as half of the domain, to 1e-8."""
    (x, y), radius = (1.0, 0.1), 0.5
    at = np.array([[x, y]])

    def found(over):
        points, weights = over.places(at)
        return float(function(*points[0].T) @ weights)

    over_disc = mean_over_disc(function, x, y, radius)
    assert found(disc(radius)) == pytest.approx(over_disc, rel=1e-8)
    over_box, _ = dblquad(lambda v, u: function(u, v), x - 0.5, x + 0.5, y - 0.4, y + 0.4, epsabs=1e-12)
    assert found(box(1.0, 0.8)) == pytest.approx(over_box / 0.8, rel=1e-8)
    along, _ = quad(lambda t: function(x + 0.6 * t, y - 0.8 * t), -0.5, 0.5, epsabs=1e-12)
    assert found(segment(0.6, -0.8)) == pytest.approx(along, rel=1e-8)


def test_a_flux_in_stretched_coordinates_is_the_same_functional():
    """Covariances of h with it follow from the kernel's by finite differences in the user's coordinates."""
    instrument, coordinates = Instrument("flux", Sensor(flux), SPACE, FIELDS), Stretched()
    kernel = RBF(np.array([0.7, 0.9]), amplitudes=(1.0, 1.0))
    at = coordinates.of(SPACE.scale(SPACE.sobol(5, 2)))
    found = kernel.jets(at, instrument.functionals(POINTS, coordinates), False)[0]
    step = np.array([1e-5, 0.0])

    def value(points):
        return kernel.values(at, coordinates.of(SPACE.scale(points)))

    slope = (value(POINTS + step) - value(POINTS - step)) / 2e-5
    np.testing.assert_allclose(found, -0.6 * (1.0 + POINTS[:, 1]) * slope, atol=1e-8)


def told(sensors, n=9, noise=0.01):
    """Data of a mixture of sensors, values of the field among them."""
    instruments = tuple(Instrument(str(i), s, SPACE, ("T",)) for i, s in enumerate(sensors))
    rng = np.random.default_rng(3)
    points = SPACE.lower + (SPACE.upper - SPACE.lower) * rng.uniform(0.25, 0.75, (n, 2))
    of = np.arange(n) % (len(sensors) + 1)
    return Data(points, rng.normal(size=n), np.full(n, noise), np.zeros((0, 2)), of, instruments)


SENSORS = (Sensor(flux), Sensor(over=disc(0.2)), Sensor(minus=(0.5, 0.5)))


def test_the_posterior_is_that_of_a_gaussian_process_on_functionals():
    """Against the textbook's formula with covariances written down one by one, at the most likely amplitude."""
    data, kernel = told(SENSORS), RBF(np.array([0.8, 0.6]))
    posterior = condition(plain(kernel), data, SPACE)
    functionals = data.functionals(BOX, SPACE.scale(data.points))
    probes = SPACE.sobol(6, 5)
    shift, scale = data.standard
    square, ratio = posterior.samples.square[0], posterior.samples.ratio[0]
    deviation = data.noise / scale
    gram = np.array(
        [
            [
                kernel.covariance(functionals.taken(np.array([i])), functionals.taken(np.array([j])))[0, 0]
                for j in range(9)
            ]
            for i in range(9)
        ]
    )
    inverse = np.linalg.inv(gram + ratio * np.diag(deviation**2))
    across = kernel.jets(SPACE.scale(probes), functionals, False)[0]
    target = (data.values + functionals.values - shift * functionals.constant) / scale
    mean = shift + scale * across @ inverse @ target
    variance = scale**2 * square * (kernel.variance - np.sum(across @ inverse * across, axis=1))
    moments = posterior.moments(SPACE.scale(probes))
    np.testing.assert_allclose(moments.mean[:, 0], mean, rtol=1e-7)
    found = moments.variance[:, 0] - scale**2 * posterior.samples.rest[0]
    np.testing.assert_allclose(found, variance, rtol=1e-6)
    # and of the readings themselves
    np.testing.assert_allclose(
        posterior.of(functionals).mean, posterior.measured(), atol=1e-9 * np.max(np.abs(data.values))
    )


def test_slopes_agree_with_differences():
    """With readings of all kinds, and with a rough kernel for those without derivatives."""
    for kernel, sensors in (
        (RBF(np.array([0.8, 0.6])), SENSORS),
        (Matern(np.array([0.8, 0.6])), SENSORS[1:]),
    ):
        posterior = condition(plain(kernel), told(sensors), SPACE)
        s, step = np.array([[0.2, -0.3]]), 1e-6
        _, _, along, of_variance = posterior.moments(s, slopes=True)
        for axis, move in enumerate(step * np.eye(2)):
            up, down = posterior.moments(s + move), posterior.moments(s - move)
            np.testing.assert_allclose(
                (up.mean - down.mean) / (2 * step), along[:, axis], rtol=1e-4, atol=1e-6
            )
            np.testing.assert_allclose(
                (up.variance - down.variance) / (2 * step), of_variance[:, axis], rtol=1e-3, atol=1e-6
            )


def test_a_kernel_knows_what_it_can_read():
    """A rough one has no second derivatives, and no other field."""
    flux_, average = (Instrument("s", s, SPACE, FIELDS).functionals(POINTS) for s in SENSORS[:2])
    other = Instrument("s", Sensor(of="psi"), SPACE, FIELDS).functionals(POINTS)
    rough, smooth = Matern(np.ones(2)), RBF(np.ones(2), amplitudes=(1.0, 2.0))
    assert [rough.knows(part) for part in (flux_, average, other)] == [False, True, False]
    assert all(smooth.knows(part) for part in (flux_, average, other))


def test_compressed_processes_read_derivatives_as_the_exact_one():
    """Features that hold the variance of values hold that of fluxes, to a thousandth of it."""
    stated = Stated(SPACE, (PDE(laplacian),), 0, 300, 1e-3)
    family = KernelGivenPDE(stated)
    instrument = Instrument("flux", Sensor(flux), SPACE, ("T",))
    readings = instrument.functionals(SPACE.sobol(20, 4))
    data = Data(np.zeros((0, 2)), np.zeros(0), np.zeros(0), np.zeros((0, 2)))
    scales = next(s for s in family.grid if 0.5 < s[0] < 1.0)
    compressed = family.process(scales, data)
    assert compressed.kernel is None
    from pinnbo.gp.conditioning import given

    exact = given(RBF(np.array(scales)), family._rest(0), 1.0, 1e-3).process()
    both = [process.read(np.zeros((20, 2)), readings) for process in (compressed, exact)]
    one, other = (
        process.covariance(at, at)[0] for process, at in zip((compressed, exact), both, strict=True)
    )
    assert np.max(np.abs(one - other)) < 1e-3 * np.max(np.diag(other))


def harmonic(p):
    """A solution of Laplace's equation."""
    return np.exp(p[:, 0]) * np.cos(p[:, 1])


def measure(x):
    """Its flux as `flux` reads it."""
    return -0.6 * (1.0 + x[:, 1]) * harmonic(x) + 0.2


def informed(**settings):
    """Fluxes along both axes, one value."""
    opt = Optimizer(SPACE, PDE(laplacian), goal="maximize", **settings)
    x = SPACE.sobol(8, 1)
    opt.tell(x, measure(x), noise=1e-3, of=flux)
    opt.tell(x, -np.exp(x[:, 0]) * np.sin(x[:, 1]), noise=1e-3, of=across)
    opt.tell([1.0, 0.0], np.e, noise=1e-3)
    return opt


def across(T):
    """The other component of the gradient."""
    return partial(T, 1)


def test_fluxes_and_one_value_give_the_field():
    """With the equation to a thousandth of its range; what a sensor reads is predicted likewise."""
    opt, probes = informed(), SPACE.sobol(64, 9)
    inside = 0.1 + 0.8 * probes
    mean, std = opt.predict(probes)
    assert np.max(np.abs(mean - harmonic(probes))) < 0.02
    assert np.mean(np.abs(mean - harmonic(probes)) < 3 * std) > 0.9
    assert np.max(np.abs(opt.predict(probes, of=flux).mean - measure(probes))) < 0.03
    assert np.max(np.abs(opt.predict(inside, of=disc(0.01)).mean - harmonic(inside))) < 0.02
    said = opt.diagnostics()
    assert said["readings"] == {"f": 1, "flux": 8, "across": 8}
    assert said["trust"] > 0.99
    assert np.allclose(opt.ask(), [2.0, 0.0], atol=0.05)
    assert np.isnan(opt.best.value)


def test_a_state_is_taken_up_with_its_sensors():
    """Operators are given again and recognised; the same bits follow."""
    opt = informed(method=FEW)
    opt.tell([1.0, 0.2], 2.6641, of=disc(0.1))
    stored = json.loads(json.dumps(opt.to_dict()))
    again = Optimizer.from_dict(stored, PDE(laplacian), sensors={"flux": flux, "across": across})
    probes = SPACE.sobol(8, 2)
    np.testing.assert_array_equal(opt.predict(probes).mean, again.predict(probes).mean)
    np.testing.assert_array_equal(opt.ask(), again.ask())
    again.tell([1.1, 0.2], 2.944, of="sensor 3")
    with pytest.raises(ValueError, match="readings of a sensor 'across'"):
        Optimizer.from_dict(stored, PDE(laplacian), sensors={"flux": flux})
    with pytest.raises(ValueError, match="sensor 'flux' is not the one"):
        Optimizer.from_dict(stored, PDE(laplacian), sensors={"flux": across, "across": across})


def test_readings_one_by_one_or_at_once_say_the_same():
    """And a copy goes its own way."""
    one, many = (Optimizer(SPACE, None, seed=1) for _ in range(2))
    x = 0.5 + SPACE.sobol(6, 3) / 4
    many.tell(x, harmonic(x), of=disc(0.05))
    for point, value in zip(x, harmonic(x), strict=True):
        one.tell(point, value, of=disc(0.05))
    probes = SPACE.sobol(8, 2)
    np.testing.assert_allclose(one.predict(probes).mean, many.predict(probes).mean, rtol=1e-6)
    other = one.copy()
    other.tell([1.0, 0.0], 1.0, of=segment(0.1, 0.0))
    assert one.diagnostics()["readings"] == {"f": 0, "sensor 1": 6}


def test_results_do_not_depend_on_units():
    """The same experiment with values a thousand times as large, lengths a tenth."""
    small = Space(x=(0.0, 0.2), y=(-0.1, 0.1))
    found = []
    for space, size in ((SPACE, 1.0), (small, 1000.0)):
        stretch = SPACE.half_width[0] / space.half_width[0]
        opt = Optimizer(space, PDE(laplacian), seed=1, method=FEW)
        x = SPACE.sobol(8, 1)
        opt.tell(x / stretch, size * stretch * np.exp(x[:, 0]) * np.cos(x[:, 1]), of=lambda T: partial(T, 0))
        opt.tell(x[:2] / stretch, size * harmonic(x[:2]))
        found.append(opt.predict(SPACE.sobol(8, 2) / stretch).mean / size)
    np.testing.assert_allclose(found[0], found[1], rtol=1e-5)


def along_x(unit):
    """The slope in other units."""
    return lambda T: lambda x: unit * partial(T, 0)(x)


def test_noise_that_is_not_stated_is_found_for_every_sensor():
    """Fluxes in other units than the values do not change what is believed of the values."""
    found = []
    for unit in (1.0, 1e4):
        opt = Optimizer(SPACE, PDE(laplacian), seed=1, method=FEW)
        x, rng = SPACE.sobol(12, 1), np.random.default_rng(0)
        opt.tell(x, unit * (harmonic(x) + 0.02 * rng.normal(size=12)), of=along_x(unit))
        opt.tell(x[:4], harmonic(x[:4]) + 0.02 * rng.normal(size=4))
        found.append(opt.predict(SPACE.sobol(16, 2)))
    np.testing.assert_allclose(found[0].mean, found[1].mean, rtol=1e-6)
    np.testing.assert_allclose(found[0].std, found[1].std, rtol=1e-5)


def test_another_field_is_measured():
    """Of T'' = -m, m'' = 0 both are told at a few places; each is predicted where the other is known."""
    line = Space(x=(0.0, 1.0))
    physics = [
        PDE(lambda T, m: lambda x: partial(T, 0, 2)(x) + m(x)),
        PDE(lambda m: lambda x: partial(m, 0, 2)(x), fields=("m",)),
    ]
    opt = Optimizer(line, physics, measures="T", noise=1e-4)

    def truth(x):
        return -(20.0 * x**2 + 20.0 / 6 * x**3) + (0.5 + 20.0 + 20.0 / 6) * x

    opt.tell([[0.0], [0.3], [1.0]], [0.0, truth(0.3), 0.5])
    opt.tell([[0.0], [0.7]], [40.0, 40.0 + 0.7 * 20.0], of="m", noise=1e-3)

    x = np.linspace(0, 1, 21)
    found = opt.predict(x[:, None])
    assert np.max(np.abs(found.mean - truth(x))) < 0.01
    assert np.max(np.abs(opt.predict(x[:, None], of="m").mean - (40 + 20 * x))) < 0.3


def test_nonlinear_equations_take_readings():
    """u'' = u^2 with the slope at both ends and one value."""
    line = Space(x=(0.0, 1.0))

    def truth(x):
        return 6.0 / (1.0 + x) ** 2

    opt = Optimizer(line, PDE(lambda u: lambda x: partial(u, 0, 2)(x) - u(x) ** 2), noise=1e-3)
    slope = Sensor(lambda u: partial(u, 0))
    opt.tell([[0.0], [1.0]], [-12.0, -1.5], of=slope)
    opt.tell([[0.5], [0.2]], truth(np.array([0.5, 0.2])))
    x = np.linspace(0.0, 1.0, 11)
    assert np.max(np.abs(opt.predict(x[:, None]).mean - truth(x))) < 0.05
    assert opt.diagnostics()["trust"] > 0.5


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda o: o.tell([1.0, 0.0], 1.0, of="fluks"), "no field or sensor is called 'fluks'"),
        (lambda o: o.tell([1.0, 0.0], 1.0, of=3), "expected a Sensor, an operator"),
        (lambda o: o.tell([1.0, 0.0], 1.0, of=disc(1.5)), "larger than the domain"),
        (lambda o: o.tell([0.01, 0.0], 1.0, of=disc(0.1)), "reaches out of"),
        (lambda o: o.tell([1.0, 0.0], 1.0, of=box(1.0)), "expected 2 sides"),
        (lambda o: o.tell([1.0, 0.0], 1.0, of=segment(1.0)), "expected a vector of 2"),
        (lambda o: o.tell([1.0, 0.0], 1.0, of=disc(0.1, axes=(0, 2))), "two different axes"),
        (lambda o: o.tell([1.0, 0.0], 1.0, of=Sensor(minus=(1.0,))), "minus must be a point of 2"),
        (lambda o: o.tell([1.0, 0.0], 1.0, of=Sensor(minus=(3.0, 0.0))), "larger than the domain"),
        (lambda o: o.tell([1.0, 0.0], 1.0, of=lambda T: lambda x: T(x) ** 2), "linear in the fields"),
        (lambda o: o.tell([1.0, 0.0], 1.0, of=lambda T, q: lambda x: T(x) + q(x)), "must be one of the fields"),
        (lambda o: o.tell([1.0, 0.0], 1.0, of=lambda T, *, k: lambda x: k * T(x)), "without unknown coefficients"),
        (lambda o: o.tell([1.0, 0.0], 1.0, of=lambda T: lambda x: x[0]), "depends on the fields"),
        (lambda o: o.predict([[1.0, 0.0]], of="psi"), "no field or sensor is called 'psi'"),
        (lambda o: disc(-1.0), "positive radius"),
        (lambda o: box(-1.0, 1.0), "sides >= 0"),
        (lambda o: segment(0.0, 0.0), "not zero"),
        (lambda o: places([[0.0, 1.0]], [1.0, 2.0]), "expected 1 weights"),
        (lambda o: Sensor(over="disc"), "over must be"),
        (lambda o: Sensor(noise=-1.0), "noise"),
        (lambda o: Optimizer(SPACE, sensors={"f": disc(0.1)}), "other than the fields"),
        (lambda o: Optimizer(SPACE, method="random", sensors={"d": disc(0.1)}), "values of the measured field only"),
        (
            lambda o: Optimizer(Space.box(np.zeros(6), np.ones(6)), PDE(laplacian), sensors={"d": disc(0.1)}),
            "at most 5 coordinates",
        ),
    ],
)  # fmt: skip
def test_bad_input_gets_one_sentence(call, sentence):
    """That names the thing, and leaves the optimizer as it was."""
    opt = Optimizer(SPACE)
    with pytest.raises((ValueError, TypeError), match=sentence) as error:
        call(opt)
    assert "\n" not in str(error.value)
    assert len(opt.data.values) == 0


def test_other_methods_refuse():
    """They learn from values only."""
    with pytest.raises(ValueError, match="method 'random' can learn from values"):
        Optimizer(SPACE, method="random").tell([1.0, 0.0], 1.0, of=disc(0.1))


def test_the_cheaper_of_two_sensors_is_asked_for():
    """Of a value and the same value for a thousandth of the cost; a flux that is free beats nothing."""
    x = SPACE.sobol(5, 3)
    opt = Optimizer(
        SPACE, PDE(laplacian), goal="maximize", noise=0.01, method=FEW, sensors={"spot": places([[1.0, 0.0]])}
    )
    opt.tell(x, harmonic(x))
    dear = opt.copy().ask_sensor({"f": 1.0, "spot": 1e6})
    assert dear.of == "f"
    cheap = opt.ask_sensor({"f": 1e6, "spot": 1.0})
    assert cheap.of == "spot"
    assert len(opt.pending) == 1
    opt.tell(cheap.x, np.e, of=cheap.of)
    assert len(opt.pending) == 0
    for costs, sentence in (({"f": 0.0}, "must be positive"), ({"fluks": 1.0}, "no field or sensor")):
        with pytest.raises(ValueError, match=sentence):
            opt.ask_sensor(costs)


def test_the_gain_of_a_value_is_its_knowledge_gradient():
    """Against draws: the mean of the best mean after a reading, at one place, over many readings."""
    from pinnbo.acquisition.sensing import Option, _gain

    data, kernel = told(SENSORS), RBF(np.array([0.8, 0.6]))
    posterior = condition(plain(kernel), data, SPACE)
    places_, at = SPACE.scale(SPACE.sobol(40, 2)), np.array([[1.1, 0.2]])
    instrument = Instrument("flux", Sensor(flux), SPACE, ("T",))
    readings = instrument.functionals(at)
    option = Option(instrument, 1.0, 0.01**2)
    found = _gain(posterior, 1.0, option, SPACE.scale(at), readings, places_)[0]
    # by conditioning on the reading in a joint normal distribution, sample by sample
    both = np.concatenate([posterior.moments(places_).mean[:, 0], posterior.of(readings).mean[:, 0]])
    process, square = posterior.process, posterior.standard.scale**2 * posterior.samples.square[0]
    located, read = process.locate(places_), process.read(SPACE.scale(at), readings)
    seen = np.concatenate([posterior.across(located)[0], posterior.across(read)[0]]) @ posterior.basis
    prior = process.covariance(located, read)[0][:, 0]
    covariance = square * (prior - (seen[:-1] * posterior.shrink[0]) @ seen[-1])
    spread = posterior.of(readings).variance[0, 0] + 0.01**2
    z = np.random.default_rng(0).normal(size=200_000) * np.sqrt(spread)
    after = both[:-1, None] + covariance[:, None] / spread * z
    assert found == pytest.approx(np.min(both[:-1]) - np.mean(np.min(after, axis=0)), rel=0.05, abs=2e-3)
