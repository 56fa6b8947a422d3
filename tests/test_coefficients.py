"""Unknown coefficients: inferred by evidence, averaged over, reported with an interval."""

import json
from itertools import product

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

from pinnbo import PDE, Optimizer, Space
from pinnbo.data import Data
from pinnbo.ensemble.coefficients import average
from pinnbo.ensemble.family import Stated
from pinnbo.ensemble.kernel_family import KernelGivenPDE
from pinnbo.gp.posterior import condition
from pinnbo.knowledge import Unknown, summary
from pinnbo.operators import laplacian, partial


def bell(centre, precision):
    """A Gaussian log evidence."""
    centre, precision = np.array(centre), np.array(precision)
    return lambda v: float(-0.5 * (np.array(v) - centre) @ precision @ (np.array(v) - centre))


def test_two_maxima_count_both():
    """Of widths 0.03 and 0.04 at 0.25 and 0.8, the second with twice the mass."""

    def log_evidence(v):
        centre, width, mass = np.array([[0.25, 0.8], [0.03, 0.04], [1.0, 2.0]])
        return float(np.logaddexp.reduce(np.log(mass / width) - 0.5 * ((v[0] - centre) / width) ** 2))

    found = average(log_evidence, 1)
    edges, below = found.distribution(0)
    assert np.interp(0.5, edges, below) == pytest.approx(1 / 3, abs=0.02)
    total = np.logaddexp.reduce(found.log_volumes + found.log_evidences)
    assert total == pytest.approx(np.log(3.0 * np.sqrt(2 * np.pi)), abs=0.05)
    # beside one that is a thousand times as likely the other does not count
    alone = average(lambda v: log_evidence(v) + (7.0 if v[0] > 0.5 else 0.0), 1)
    assert min(alone.nodes)[0] > 0.5


def test_a_sharp_maximum_is_looked_for_where_nothing_else_explains_the_data():
    asked = []

    def log_evidence(v):
        asked.append(v)
        return float(np.logaddexp(-0.5 * ((v[0] - 0.772) / 0.006) ** 2, -20.0))

    assert max(average(log_evidence, 1, enough=-25.0).log_evidences) < -19.0
    quick = len(asked)
    found = average(log_evidence, 1, enough=-5.0)
    edges, below = found.distribution(0)
    np.testing.assert_allclose(np.interp([0.16, 0.84], below, edges), [0.766, 0.778], atol=1e-3)
    assert len(asked) - quick < 160


@pytest.mark.parametrize("width", [1.0, 0.1, 0.02, 1e-3])
@pytest.mark.parametrize("centre", [0.37, 0.02])
def test_an_average_over_one_coefficient(centre, width):
    """Evidence, mean and interval of a bell that the prior cuts off, by dense quadrature."""
    found = average(bell([centre], [[width**-2]]), 1)
    dense = np.linspace(0.0, 1.0, 400_001)
    density = np.exp(-0.5 * ((dense - centre) / width) ** 2)
    log_z = np.logaddexp.reduce(found.log_volumes + found.log_evidences)
    assert log_z == pytest.approx(np.log(np.mean(density)), abs=0.25)
    edges, below = found.distribution(0)
    truth = np.interp([0.025, 0.5, 0.975], np.cumsum(density) / np.sum(density), dense)
    mine = np.interp([0.025, 0.5, 0.975], below, edges)
    assert np.max(np.abs(mine - truth)) < 0.35 * (truth[2] - truth[0]) / 2
    assert below[0] == 0.0
    assert below[-1] == 1.0


def test_an_average_over_two_correlated_coefficients():
    """A ridge a thousandth wide is found, and its marginals are those of the bell."""
    covariance = np.array([[4e-6, 3e-6], [3e-6, 4e-6]])
    found = average(bell([0.613, 0.274], np.linalg.inv(covariance)), 2)
    log_z = np.logaddexp.reduce(found.log_volumes + found.log_evidences)
    assert log_z == pytest.approx(np.log(2 * np.pi) + 0.5 * np.linalg.slogdet(covariance)[1], abs=0.3)
    for axis, centre in ((0, 0.613), (1, 0.274)):
        edges, below = found.distribution(axis)
        low, high = np.interp([0.025, 0.975], below, edges)
        np.testing.assert_allclose([low, high], [centre - 3.92e-3, centre + 3.92e-3], atol=1e-3)


def test_what_the_data_cannot_see_keeps_its_prior():
    """Flat evidence: the interval of the prior, in both scales."""
    found = average(lambda v: 3.0, 1)
    for unknown in (Unknown.of("k", (0.01, 1.0)), Unknown.of("k", (-1.0, 1.0))):
        said = summary(unknown, *found.distribution(0))
        np.testing.assert_allclose(said["interval"], [unknown.at(0.025), unknown.at(0.975)], rtol=1e-6)


def decay():
    """u' = -k u."""
    return PDE(lambda u, *, k: lambda x: partial(u, 0)(x) + k * u(x), name="decay")


def test_a_rate_is_found_and_reported():
    """From eight readings with 1% noise; the state is taken up again."""
    box, rng = Space(t=(0.0, 2.0)), np.random.default_rng(0)
    t = box.sobol(8, 1)
    opt = Optimizer(box, decay(), unknowns={"k": (0.1, 10.0)}, noise=0.03, seed=1)
    opt.tell(t, 3.0 * np.exp(-1.5 * t[:, 0]) + 0.03 * rng.standard_normal(8))
    said = opt.diagnostics()["unknowns"]["k"]
    assert said["mean"] == pytest.approx(1.5, rel=0.1)
    low, high = said["interval"]
    assert low < 1.5 < high
    assert high / low < 1.3
    assert said["prior"] == (0.1, 10.0)
    assert opt.diagnostics()["trust"] > 0.8
    stored = json.loads(json.dumps(opt.to_dict()))
    again = Optimizer.from_dict(stored, decay())
    np.testing.assert_array_equal(again.ask(), opt.ask())
    assert again.diagnostics()["unknowns"] == opt.diagnostics()["unknowns"]


def test_nothing_is_known_before_the_first_measurement():
    """The interval is the prior's."""
    opt = Optimizer(Space(t=(0.0, 2.0)), decay(), unknowns={"k": (0.1, 10.0)})
    low, high = opt.diagnostics()["unknowns"]["k"]["interval"]
    assert low == pytest.approx(0.1 * 100**0.025, rel=0.05)
    assert high == pytest.approx(0.1 * 100**0.975, rel=0.05)
    assert Optimizer(Space(t=(0.0, 2.0))).diagnostics()["unknowns"] == {}


def test_a_source_may_have_an_unknown():
    """Its strength, q in u'' = q, with known ends."""
    box = Space(x=(-1.0, 1.0))
    pde = PDE(lambda u: partial(u, 0, 2), source=lambda x, *, q: q * (1.0 + 0.0 * x[0]))
    ends = PDE(lambda u: u, points=[[-1.0], [1.0]])
    opt = Optimizer(box, [pde, ends], unknowns={"q": (-10.0, 10.0)}, noise=0.02)
    opt.tell([[0.0], [0.5]], [-1.5, -1.5 * 0.75])
    said = opt.diagnostics()["unknowns"]["q"]
    assert said["mean"] == pytest.approx(3.0, abs=0.15)
    assert said["interval"][0] < 3.0 < said["interval"][1]


def test_bad_unknowns_are_refused_in_a_sentence():
    """Without a range, with a wrong one, of nobody, without effect, with a method that cannot."""
    box = Space(t=(0.0, 2.0))
    with pytest.raises(ValueError, match="'k' is an unknown coefficient of decay; expected its range"):
        Optimizer(box, decay())
    with pytest.raises(ValueError, match="no equation has a keyword-only parameter 'kk', did you mean k"):
        Optimizer(box, decay(), unknowns={"kk": (1.0, 2.0)})
    for wrong in ((2.0, 1.0), (1.0,), "ab", (0.0, 1.0, "log"), (1.0, np.inf), (1.0, 2.0, "normal")):
        with pytest.raises(ValueError, match="the range of 'k' must be"):
            Optimizer(box, decay(), unknowns={"k": wrong})
    with pytest.raises(ValueError, match="depends on the coefficient 'q', got none"):
        Optimizer(box, PDE(lambda u, *, q: laplacian(u)), unknowns={"q": (1.0, 2.0)})
    with pytest.raises(ValueError, match="method 'pinn-bo' cannot infer coefficients"):
        Optimizer(box, decay(), unknowns={"k": (1.0, 2.0)}, method="pinn-bo")


def test_a_coefficient_with_a_default_is_known_unless_a_range_is_given():
    """Then it is inferred."""
    box = Space(t=(0.0, 2.0))
    pde = PDE(lambda u, *, k=1.5: lambda x: partial(u, 0)(x) + k * u(x))
    assert Optimizer(box, pde).diagnostics()["unknowns"] == {}
    assert set(Optimizer(box, pde, unknowns={"k": (0.1, 10.0)}).diagnostics()["unknowns"]) == {"k"}


def conduction():
    """Diffusivity 0.1 in a rod, three modes; 16 readings with 1% noise."""
    box, order = Space(x=(0.0, 1.0), t=(0.0, 1.0)), np.pi * np.arange(3)
    sizes, x = np.array([0.3, 0.8, -1.2]), box.sobol(16, 2)
    y = np.cos(order * x[:, :1]) * np.exp(-0.1 * order**2 * x[:, 1:]) @ sizes
    y += 0.02 * np.random.default_rng(4).standard_normal(16)
    pde = PDE(lambda T, *, alpha: lambda z: partial(T, 1)(z) - alpha * partial(T, 0, 2)(z))
    return box, pde, x, y


def test_coefficients_are_averaged_over_a_length_scale_for_every_axis():
    """As by brute force, over all pairs of length scales at a dense row of coefficients."""
    box, pde, x, y = conduction()
    alpha = Unknown.of("alpha", (0.01, 1.0))
    stated = Stated(box, (pde,), 0, 150, 1e-3, unknowns=(alpha,))
    data = Data(x, y, np.full(16, np.nan), np.zeros((0, 2)))
    family = KernelGivenPDE(stated)
    found = family.coefficients(data)
    edges, below = found.distribution(0)
    mine = np.interp([0.025, 0.5, 0.975], below, edges)

    brute = KernelGivenPDE(stated)
    steps = [lengths[0] for lengths in brute.lengths]
    shares = np.linspace(mine[1] - 0.08, mine[1] + 0.08, 9)
    log_p = {True: [], False: []}
    for share in shares:
        weights = {}
        for lengths in product(steps, repeat=2):
            process = brute.process(brute.setting(lengths, 1.0, (float(share),)), data)
            if process is not None:
                evidence = condition(process, data, box).log_evidence
                weights[lengths] = evidence + brute.log_prior_of(lengths)
        for equal, rows in log_p.items():
            rows.append(np.logaddexp.reduce([w for s, w in weights.items() if not equal or s[0] == s[1]]))
    dense = np.linspace(shares[0], shares[-1], 1001)

    def quantiles(rows):
        density = np.exp(CubicSpline(shares, np.array(rows) - max(rows))(dense))
        return np.interp([0.025, 0.5, 0.975], np.cumsum(density) / np.sum(density), dense)

    every, equal = quantiles(log_p[False]), quantiles(log_p[True])
    width = every[2] - every[0]
    assert np.max(np.abs(mine - every)) < 0.1 * width
    assert abs(equal[1] - every[1]) > 0.1 * width  # one length scale for both axes is another answer
