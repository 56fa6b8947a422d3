"""Offsets of batches and drifts: against Gaussian algebra of their own, and end to end."""

from __future__ import annotations

import numpy as np
import pytest

from pinnbo import PDE, Optimizer, Space
from pinnbo.data import Data
from pinnbo.gp.conditioning import plain
from pinnbo.gp.instrument import loading
from pinnbo.gp.kernels import RBF
from pinnbo.gp.posterior import condition

SPACE = Space(x=(0.0, 3.0))
NOISE = 0.03
NAN = np.nan


def _taken(n):
    """Three batches (some readings have none), and times that are not sorted."""
    batch = np.array([NAN, 0, 1, 2])[np.arange(n) % 4]
    at = np.where(np.arange(n) % 5 == 4, NAN, (7.0 * np.arange(n)) % n)
    return np.column_stack([batch, at])


def test_the_loading_has_the_stated_covariance():
    taken = _taken(11)
    s, r, root = 0.4, 0.7, 1.3
    found = loading(taken, np.zeros(11, dtype=int), np.ones(11), (s, r), root)
    expected = np.zeros((11, 11))
    times = taken[:, 1]
    first, span = np.nanmin(times), np.nanmax(times) - np.nanmin(times)
    for i in range(11):
        for j in range(11):
            if taken[i, 0] == taken[j, 0]:
                expected[i, j] += (s * root) ** 2
            if not np.isnan(times[[i, j]]).any():
                expected[i, j] += (r * root) ** 2 * (min(times[i], times[j]) - first) / span
    np.testing.assert_allclose(found.matrix @ found.matrix.T, expected, atol=1e-12)


def test_sensors_have_offsets_of_their_own():
    kinds = np.array([0, 0, 1, 1])
    taken = np.column_stack([np.zeros(4), np.full(4, NAN)])
    found = loading(taken, kinds, np.array([1.0, 1.0, 5.0, 5.0]), (1.0, 1.0), 1.0)
    expected = np.kron(np.diag([1.0, 25.0]), np.ones((2, 2)))
    np.testing.assert_allclose(found.matrix @ found.matrix.T, expected, atol=1e-12)


@pytest.mark.parametrize("noise", [NOISE, NAN])
def test_the_posterior_is_that_of_gaussian_algebra(noise, rng):
    n = 12
    x = np.linspace(0.1, 2.9, n)[:, None]
    data = Data(
        x, rng.standard_normal(n), np.full(n, noise), np.zeros((0, 1)), taken=_taken(n), sizes=(0.5, 0.8)
    )
    process = plain(RBF(np.array([0.6])))
    posterior = condition(process, data, SPACE)
    grid = np.linspace(0.0, 3.0, 9)[:, None]
    moments = posterior.moments(SPACE.scale(grid))
    shift, scale = data.standard
    root = np.sqrt(process.expected_variation(data.standard))
    found = loading(data.taken, data.kinds, np.ones(n), data.sizes, root)
    kernel = process.kernel
    for j in range(2):
        square, ratio = posterior.samples.square[j], posterior.samples.ratio[j]
        if noise == NOISE and posterior.samples.rest[j] > 0:
            continue
        own = square * ratio * (1.0 if np.isnan(noise) else (NOISE / scale) ** 2)
        total = square * (kernel.values(SPACE.scale(x), SPACE.scale(x)) + found.matrix @ found.matrix.T)
        total += own * np.eye(n)
        across = square * kernel.values(SPACE.scale(grid), SPACE.scale(x))
        t = (data.values - shift) / scale
        mean = shift + scale * across @ np.linalg.solve(total, t)
        variance = scale**2 * (
            square * kernel.variance - np.einsum("ij,ij->i", across, np.linalg.solve(total, across.T).T)
        )
        np.testing.assert_allclose(moments.mean[:, j], mean, rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(moments.variance[:, j], variance, rtol=1e-6, atol=1e-9)
        # the offset of the second batch
        columns = found.batches[1]
        seen = found.matrix @ columns
        offset, spread = posterior.of_instrument(columns)
        assert offset[j] == pytest.approx(scale * square * seen @ np.linalg.solve(total, t), rel=1e-6)
        left = square * columns @ columns - square**2 * seen @ np.linalg.solve(total, seen)
        assert spread[j] == pytest.approx(scale**2 * left, rel=1e-5)


def test_draws_know_of_offsets(rng):
    """Draws of a process on features have the posterior's moments."""
    n = 14
    x = np.linspace(0.0, 3.0, n)[:, None]
    data = Data(x, np.sin(2 * x[:, 0]) + 0.7 * (np.arange(n) % 2), np.full(n, NOISE), np.zeros((0, 1)))
    data = data._replace(taken=np.column_stack([np.arange(n) % 2.0, np.full(n, NAN)]))
    process = plain(RBF(np.array([0.6]))).on_features(SPACE.scale(np.linspace(0, 3, 10)[:, None]))
    posterior = condition(process, data, SPACE)
    at = process.locate(SPACE.scale(np.array([[1.1]])))
    drawn = np.array([at.features[0, : process.n_features] @ posterior.draw(rng) for _ in range(4000)])
    moments, weights = posterior.moments(at.scaled), np.exp(posterior.samples.log_weight)
    mean = float(moments.mean[0] @ weights)
    std = np.sqrt(float((moments.variance[0] + (moments.mean[0] - mean) ** 2) @ weights))
    values = data.standard.shift + data.standard.scale * drawn
    assert np.mean(values) == pytest.approx(mean, abs=5 * std / np.sqrt(4000))
    assert np.std(values) == pytest.approx(std, rel=0.1)


BOX = Space(x=(0.0, 1.0), y=(0.0, 1.0))


def _field(x):
    return np.exp(1.5 * x[:, 0]) * np.cos(1.5 * x[:, 1])


def test_offsets_of_days_are_found_and_the_field_is_without_them():
    rng = np.random.default_rng(0)
    x = BOX.sobol(24, seed=0)
    y = _field(x) + 0.03 * rng.standard_normal(24)
    days = np.arange(24) // 8
    added = np.array([0.0, 0.8, -0.5])
    told = Optimizer(BOX, PDE.parse("laplacian(T) = 0", BOX), noise=0.03)
    blind = Optimizer(BOX, PDE.parse("laplacian(T) = 0", BOX), noise=0.03)
    for day, name in enumerate([None, "tuesday", "wednesday"]):
        mine = days == day
        told.tell(x[mine], y[mine] + added[day], batch=name)
        blind.tell(x[mine], y[mine] + added[day])
    grid = BOX.sobol(64, seed=3)
    mean, std = told.predict(grid)
    error = np.sqrt(np.mean((mean - _field(grid)) ** 2))
    assert error < 0.06
    assert np.mean(np.abs(mean - _field(grid)) < 2.5 * std) > 0.9
    without = np.sqrt(np.mean((blind.predict(grid)[0] - _field(grid)) ** 2))
    assert without > 3 * error
    found = told.diagnostics()["offsets"]
    for name, value in (("tuesday", 0.8), ("wednesday", -0.5)):
        middle, deviation = found[name]
        assert abs(middle - value) < 3 * deviation < 0.3
    again = Optimizer.from_dict(told.to_dict(), PDE.parse("laplacian(T) = 0", BOX))
    np.testing.assert_array_equal(again.ask(), told.ask())
    assert again.diagnostics()["offsets"] == told.diagnostics()["offsets"]


def test_a_drift_is_followed():
    rng = np.random.default_rng(1)
    x = SPACE.sobol(30, seed=2)
    hours = np.arange(30.0)
    y = np.sin(2 * x[:, 0]) + 0.06 * hours + NOISE * rng.standard_normal(30)
    told = Optimizer(SPACE, noise=NOISE)
    told.tell(x, y, at=hours)
    grid = np.linspace(0.1, 2.9, 20)[:, None]
    mean, std = told.predict(grid)
    middle, deviation = told.diagnostics()["drift"]
    assert abs(middle - 0.06 * 29) < 3 * deviation
    assert np.mean(np.abs(mean - np.sin(2 * grid[:, 0])) < 2.5 * std) > 0.9
    blind = Optimizer(SPACE, noise=NOISE)
    blind.tell(x, y)
    errors = [np.sqrt(np.mean((o.predict(grid)[0] - np.sin(2 * grid[:, 0])) ** 2)) for o in (told, blind)]
    assert errors[0] < 0.5 * errors[1]


def test_without_batches_nothing_changes_and_one_batch_changes_the_level_only():
    x = SPACE.sobol(8, seed=1)
    y = np.sin(2 * x[:, 0])
    plain_one, whole = Optimizer(SPACE, noise=NOISE), Optimizer(SPACE, noise=NOISE)
    plain_one.tell(x, y)
    whole.tell(x, y, batch="only")
    assert "offsets" not in plain_one.diagnostics()
    one, other = plain_one.predict(x), whole.predict(x)
    assert np.all(other.std > one.std)  # the level is less certain
    assert np.ptp(one.mean - other.mean) < 0.1


@pytest.mark.parametrize(
    ("keywords", "error", "sentence"),
    [
        ({"batch": 3}, TypeError, "batch must be a name such as 'monday', got 3"),
        ({"batch": ""}, TypeError, "batch must be a name such as 'monday', got ''"),
        ({"at": "noon"}, ValueError, "tell: at: expected a finite number such as hours, got 'noon'"),
        ({"at": np.inf}, ValueError, "tell: at: expected a finite number such as hours, got inf"),
    ],
)
def test_bad_input(keywords, error, sentence):
    optimizer = Optimizer(SPACE)
    with pytest.raises(error, match=sentence):
        optimizer.tell([0.5], 1.0, **keywords)
    assert optimizer.diagnostics()["observations"] == 0


def test_as_many_times_as_points():
    with pytest.raises(ValueError, match="expected 2 times for 2 points, got 3"):
        Optimizer(SPACE).tell([[0.5], [0.6]], [1.0, 2.0], at=[1, 2, 3])


def test_methods_that_cannot_refuse():
    with pytest.raises(
        ValueError, match="cannot handle batches and drifts of the instrument; expected one of"
    ):
        Optimizer(SPACE, method="random").tell([0.5], 1.0, batch="monday")
