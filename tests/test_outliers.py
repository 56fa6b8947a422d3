"""Outliers: against enumeration of all sets, against the evidence itself, and end to end."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from pinnbo import PDE, Optimizer, Space
from pinnbo.data import Data
from pinnbo.ensemble import outliers
from pinnbo.ensemble.family import Family
from pinnbo.ensemble.hypotheses import Hypothesis
from pinnbo.ensemble.outliers import Outliers, _Candidate, _View
from pinnbo.gp import posterior
from pinnbo.gp.conditioning import plain
from pinnbo.gp.kernels import RBF
from pinnbo.gp.posterior import condition
from pinnbo.studies.errors import StudyError
from pinnbo.studies.problem_file import read
from pinnbo.values import OutlierWarning

SPACE = Space(x=(0.0, 3.0))
NOISE = 0.05


class OneScale(Family):
    """A smooth kernel with one length scale."""

    name = "one scale"
    grid = ((0.6,),)

    def process(self, scales, data):
        """The same for all data."""
        return plain(RBF(np.array(scales)))


def _data(n, wrong, seed=0, noise=NOISE):
    rng = np.random.default_rng(seed)
    x = np.linspace(0.1, 2.9, n)[:, None]
    y = np.sin(2 * x[:, 0]) + NOISE * rng.standard_normal(n)
    for i, error in wrong.items():
        y[i] += error * NOISE
    return Data(x, y, np.full(n, noise), np.zeros((0, 1)))


def _inflated(data, which, k):
    times = np.ones(len(data.values))
    times[list(which)] = k
    return data._replace(times=times) if len(which) else data


def _exact_log_weights(data, k, prior):
    """log prior + log p(Y | S) of every set S, by multivariate normals of their own; sigma stated."""
    shift, scale = data.standard
    kernel = RBF(np.array([0.6]))
    scaled = SPACE.scale(data.points)
    covariance = kernel.values(scaled, scaled)
    process = plain(kernel)
    found = {}
    n = len(data.values)
    grid = np.geomspace(1 / 30, 30, 25)
    amplitudes = grid / np.sqrt(process.expected_variation(data.standard))
    weights = np.exp(-0.5 * (np.log(grid) / 1.2) ** 2)
    weights /= weights.sum()
    for which in itertools.chain.from_iterable(itertools.combinations(range(n), m) for m in range(3)):
        times = np.ones(n)
        times[list(which)] = k
        parts = []
        for amplitude, weight in zip(amplitudes, weights, strict=True):
            total = (scale * amplitude) ** 2 * covariance + np.diag((times * NOISE) ** 2)
            gap = data.values - shift
            parts.append(
                np.log(weight)
                - 0.5 * gap @ np.linalg.solve(total, gap)
                - 0.5 * np.linalg.slogdet(2 * np.pi * total)[1]
            )
        log_prior = len(which) * np.log(prior) + (n - len(which)) * np.log1p(-prior)
        found[which] = np.logaddexp.reduce(parts) + log_prior
    return found


@pytest.mark.parametrize("wrong", [{}, {2: 9.0}, {2: 30.0, 6: -7.0}])
def test_the_most_probable_of_all_sets_is_found(wrong, monkeypatch):
    monkeypatch.setattr(outliers, "_TIMES", np.array([16.0]))
    monkeypatch.setattr(outliers, "_PEAK", 0.0)
    data = _data(9, wrong)
    fixed = data.standard
    monkeypatch.setattr(Data, "standard", fixed)  # the unit stays, as in the enumeration
    prior = 0.02
    exact = _exact_log_weights(data, 16.0, prior)
    best = max(exact, key=exact.get)
    found = Outliers([Hypothesis("h", 1.0, {"one": [OneScale(SPACE)]}, 0)], SPACE, prior).found(data, data)
    assert set(np.flatnonzero(found.times > 1)) == set(best) == set(wrong)
    # with all others as they are
    for i in range(9):
        with_it, without = tuple(sorted({*best, i})), tuple(sorted({*best} - {i}))
        if with_it in exact:
            odds = np.exp(exact[with_it] - exact[without])
            assert found.probability[i] == pytest.approx(
                odds / (1 + odds), rel=2e-3
            )  # components below a thousandth are left out
    # summed over all sets of at most two: what the mode says is what the average says
    total = np.logaddexp.reduce(list(exact.values()))
    for i in range(9):
        marginal = np.exp(np.logaddexp.reduce([w for s, w in exact.items() if i in s]) - total)
        assert found.probability[i] == pytest.approx(marginal, abs=0.05)


@pytest.mark.parametrize("noise", [NOISE, np.nan])
def test_ratios_are_those_of_the_evidence(noise):
    data, process = _data(8, {3: 20.0}, noise=noise), plain(RBF(np.array([0.6])))
    view = _View(data, data.standard, [_Candidate(process, 0.0)], SPACE)
    times = np.ones(8)
    ratios = view.ratios(times)
    before = condition(process, data, SPACE).log_evidence
    for i, k in ((3, 4.0), (3, 256.0), (5, 16.0)):
        changed = _inflated(data, [i], k)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Data, "standard", data.standard)
            after = condition(process, changed, SPACE).log_evidence
        assert ratios[i, 1 + int(np.log2(k) / 2) - 1] == pytest.approx(after - before, abs=1e-3)


def _field(x):
    return np.exp(1.5 * x[:, 0]) * np.cos(1.5 * x[:, 1])


BOX = Space(x=(0.0, 1.0), y=(0.0, 1.0))


def _measured(seed, wrong):
    rng = np.random.default_rng(seed)
    x = BOX.sobol(22, seed=seed)
    y = _field(x) + 0.03 * rng.standard_normal(22)
    for i, error in wrong.items():
        y[i] += 0.03 * error
    return x, y


@pytest.mark.parametrize("noise", [0.03, None])
@pytest.mark.filterwarnings("ignore::pinnbo.values.OutlierWarning")
def test_three_gross_errors_are_found_and_harm_little(noise):
    x, y = _measured(0, {4: 12.0, 9: -40.0, 17: 25.0})
    clean = Optimizer(BOX, noise=noise)
    clean.tell(np.delete(x, [4, 9, 17], axis=0), np.delete(y, [4, 9, 17]))
    robust = Optimizer(BOX, noise=noise, robust=True)
    robust.tell(x, y)
    found = robust.diagnostics()["outliers"]
    assert {one["id"] for one in found} == {4, 9, 17}
    assert all(one["probability"] > 0.5 and one["times"] >= 4 for one in found)
    grid = BOX.sobol(64, seed=3)
    mean, std = clean.predict(grid)
    assert np.max(np.abs(robust.predict(grid)[0] - mean) / std) < 1.0


def test_without_outliers_nothing_changes():
    x, y = _measured(1, {})
    plain_one, robust = Optimizer(BOX, noise=0.03), Optimizer(BOX, noise=0.03, robust=True)
    for optimizer in (plain_one, robust):
        optimizer.tell(x, y)
    assert robust.diagnostics()["outliers"] == []
    np.testing.assert_array_equal(robust.predict(x)[0], plain_one.predict(x)[0])
    np.testing.assert_array_equal(robust.ask(), plain_one.ask())


def test_an_outlier_speaks_against_no_equation_and_is_named_once():
    pde = PDE.parse("laplacian(T) = 0", BOX)
    x, y = _measured(2, {7: 35.0})
    robust = Optimizer(BOX, pde, noise=0.03, robust=True)
    robust.tell(x[:10], y[:10])
    with pytest.warns(OutlierWarning, match=r"the reading .* is an outlier with a probability of 9\d%"):
        found = robust.diagnostics()
    assert [one["id"] for one in found["outliers"]] == [7]
    assert found["trust"] > 0.7
    with pytest.warns(OutlierWarning):
        again = Optimizer.from_dict(robust.to_dict(), pde)
    np.testing.assert_array_equal(again.ask(), robust.ask())
    robust.replace(7, float(_field(x[7:8])[0]))
    assert robust.diagnostics()["outliers"] == []


@pytest.mark.filterwarnings("ignore::pinnbo.values.OutlierWarning")
def test_what_a_second_reading_confirms_is_believed():
    rng = np.random.default_rng(5)
    x = BOX.sobol(24, seed=5)
    y = x[:, 0] + 0.03 * rng.standard_normal(24)
    y[11] += 1.0
    robust = Optimizer(BOX, noise=0.03, robust=True)
    robust.tell(x, y)
    assert [one["id"] for one in robust.diagnostics()["outliers"]] == [11]
    robust.tell(x[11], y[11] + 0.02)
    assert not {11, 24} & {one["id"] for one in robust.diagnostics()["outliers"]}
    assert robust.predict(x[11:12])[0][0] == pytest.approx(y[11], abs=0.1)


@pytest.mark.filterwarnings("ignore::pinnbo.values.OutlierWarning")
def test_one_of_three_replicates_is_wrong_and_the_others_count():
    x = np.repeat(np.linspace(0.0, 3.0, 8), 3)[:, None]
    y = np.sin(2 * x[:, 0]) + NOISE * np.random.default_rng(0).standard_normal(24)
    y[10] += 15 * NOISE
    robust = Optimizer(SPACE, noise=NOISE, robust=True)
    robust.tell(x, y)
    assert [one["id"] for one in robust.diagnostics()["outliers"]] == [10]
    others = np.mean(y[[9, 11]])
    assert robust.predict(x[10:11])[0][0] == pytest.approx(others, abs=NOISE)


def test_features_and_readings_say_the_same_of_outliers():
    """In feature space the noise is larger in the sums, in sample space in the covariance."""
    x = np.linspace(0.0, 3.0, 60)[:, None]
    y = np.sin(2 * x[:, 0])
    times = np.ones(60)
    times[[5, 40]] = 64.0
    y[[5, 40]] += 1.0
    for noise in (NOISE, np.nan):
        data = Data(x, y, np.full(60, noise), np.zeros((0, 1)), times=times)
        process = plain(RBF(np.array([0.6]))).on_features(SPACE.scale(x[::5]))
        by_features = condition(process, data, SPACE)
        assert by_features.anchors is None
        by_samples = posterior._in_sample_space(process, data, posterior.anchored(process, data, SPACE))
        assert by_features.log_evidence == pytest.approx(by_samples.log_evidence, rel=1e-6)


@pytest.mark.parametrize("robust", [0.0, 0.7, -1.0])
def test_bad_input(robust):
    with pytest.raises(ValueError, match="robust must be True, False or the probability"):
        Optimizer(SPACE, robust=robust)


def test_methods_that_cannot_refuse():
    with pytest.raises(ValueError, match="cannot handle readings that may be outliers; expected one of"):
        Optimizer(SPACE, method="random", robust=True)


def test_in_a_problem_file(tmp_path):
    path = tmp_path / "p.toml"
    text = 'goal = "minimize"\nbudget = 3\nrobust = {}\n[space]\nx = [0.0, 1.0]\n'
    path.write_text(text.format("true"))
    assert read(path).options == {"robust": True}
    path.write_text(text.format("0.9"))
    with pytest.raises(StudyError, match=r"robust: expected true, false or a probability between 0 and 0\.5"):
        read(path)
