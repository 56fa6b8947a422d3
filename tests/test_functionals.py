"""Linear functionals: their covariances against brute-force sums and finite differences, and lists of them joined."""

from dataclasses import replace

import numpy as np
import pytest

from pinnbo.data import Standard
from pinnbo.gp.conditioning import given
from pinnbo.gp.kernels import RBF
from pinnbo.physics.functionals import Functionals, concatenate
from test_jets import BOX, FIELDS, close, image_of, jet_of, jets_of, scaled_points

KERNEL = RBF(np.array([0.7, 0.9]))
VALUE, ALONG_X, ALONG_Y, TWIST = (0, 0), (1, 0), (0, 1), (1, 1)


def functionals(places, derivatives, coefficients, starts=None):
    """With values and noise of zero."""
    m = len(places) if starts is None else len(starts)
    return Functionals(
        np.array(places),
        np.array(coefficients, dtype=float),
        np.array(derivatives),
        np.zeros(m),
        np.zeros(m),
        starts=None if starts is None else np.array(starts),
    )


@pytest.fixture
def sensors(rng):
    """A mean over three places, a difference of two, one value, and a flux through two places."""
    places = rng.uniform(-1.0, 1.0, (8, 2))
    coefficients = np.zeros((8, 3))
    coefficients[:3, 0] = 1.0 / 3.0
    coefficients[3:5, 0] = 1.0, -1.0
    coefficients[5, 0] = 1.0
    coefficients[6:, 1:] = [[0.5, 2.0], [-1.5, 0.3]]
    return functionals(places, [VALUE, ALONG_X, ALONG_Y], coefficients, [0, 3, 5, 6])


def derivative(index, places, others, step):
    """Of the kernel in its first argument, by central differences."""
    if not any(index):
        return KERNEL.values(places, others)
    axis = int(np.flatnonzero(index)[0])
    lower = tuple(np.array(index) - np.eye(2, dtype=int)[axis])
    move = step * np.eye(2)[axis]
    up, down = (derivative(lower, places + sign * move, others, step) for sign in (1, -1))
    return (up - down) / (2 * step)


def kernel_of(one, other, place, its_place, step=3e-3):
    """(d/ds)^one (d/dt)^other k at a pair of places, by central differences in both."""
    if not any(other):
        return float(derivative(one, place[None], its_place[None], step)[0, 0])
    axis = int(np.flatnonzero(other)[0])
    lower = tuple(np.array(other) - np.eye(2, dtype=int)[axis])
    move = step * np.eye(2)[axis]
    up, down = (kernel_of(one, lower, place, its_place + sign * move, step) for sign in (1, -1))
    return (up - down) / (2 * step)


def brute_force(some, others, entry):
    """Sums over all places and derivatives of both."""

    def parts(rows):
        ends = [*(range(1, len(rows) + 1) if rows.starts is None else rows.starts[1:]), len(rows.points)]
        begins = range(len(rows)) if rows.starts is None else rows.starts
        return [range(begin, end) for begin, end in zip(begins, ends[: len(rows)], strict=True)]

    found = np.zeros((len(some), len(others)))
    for i, places in enumerate(parts(some)):
        for j, its_places in enumerate(parts(others)):
            for p in places:
                for q in its_places:
                    for one, c in zip(some.derivatives, some.coefficients[p], strict=True):
                        for other, e in zip(others.derivatives, others.coefficients[q], strict=True):
                            if c and e:
                                found[i, j] += c * e * entry(one, other, some.points[p], others.points[q])
    return found


# ---------------------------------------------------------------- covariances


def test_a_mean_and_a_difference_have_the_covariances_of_sums(rng):
    """No derivative is taken: exactly the sums of the kernel's values."""
    places = rng.uniform(-1.0, 1.0, (5, 2))
    some = functionals(places, [VALUE], [[1 / 3], [1 / 3], [1 / 3], [1.0], [-1.0]], [0, 3])
    values = KERNEL.values(places, places)
    maps = np.array([[1 / 3, 1 / 3, 1 / 3, 0, 0], [0, 0, 0, 1, -1]])
    np.testing.assert_allclose(KERNEL.covariance(some, some), maps @ values @ maps.T, rtol=1e-12, atol=1e-12)
    other = Functionals.at(rng.uniform(-1.0, 1.0, (4, 2)))
    across = maps @ KERNEL.values(places, other.points)
    np.testing.assert_allclose(KERNEL.covariance(some, other), across, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(KERNEL.covariance(other, some), across.T, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(some.constant, [1.0, 0.0], atol=1e-15)


def test_covariances_of_derivatives_are_finite_differences_of_the_kernel(sensors, rng):
    rows = functionals(rng.uniform(-1.0, 1.0, (3, 2)), [VALUE, TWIST, ALONG_Y], rng.normal(size=(3, 3)), None)
    for some, others in ((sensors, sensors), (sensors, rows), (rows, sensors), (rows, rows)):
        found = KERNEL.covariance(some, others)
        expected = brute_force(some, others, kernel_of)
        np.testing.assert_allclose(found, expected, rtol=3e-4, atol=3e-4 * np.max(np.abs(expected)))


def test_many_places_are_worked_through_in_pieces(rng):
    """A functional whose places are in two pieces is whole in the end."""
    places = rng.uniform(-1.0, 1.0, (600, 2))
    starts = np.array([0, 100, 300, 500])  # pieces of 256
    some = functionals(places, [VALUE, ALONG_X], rng.normal(size=(600, 2)), starts)
    plain = replace(some, starts=None, values=np.zeros(600), noise=np.zeros(600))
    by_place = KERNEL.covariance(plain, plain)
    expected = np.add.reduceat(np.add.reduceat(by_place, starts, axis=0), starts, axis=1)
    np.testing.assert_allclose(KERNEL.covariance(some, some), expected, rtol=1e-9, atol=1e-9)


def test_covariances_of_h_with_functionals_and_their_slopes(sensors, rng):
    points = rng.uniform(-1.0, 1.0, (6, 2))
    values, slopes = KERNEL.jets(points, sensors, True)
    np.testing.assert_allclose(
        values, KERNEL.covariance(Functionals.at(points), sensors), rtol=1e-10, atol=1e-10
    )
    moves = 1e-5 * np.eye(2)
    expected = [
        (KERNEL.jets(points + move, sensors, False)[0] - KERNEL.jets(points - move, sensors, False)[0]) / 2e-5
        for move in moves
    ]
    np.testing.assert_allclose(slopes, np.stack(expected, axis=1), rtol=1e-6, atol=1e-7)
    assert KERNEL.jets(points, sensors, False)[1] is None


def test_a_kernel_given_a_mean_and_a_flux_is_that_of_dense_algebra(sensors, rng):
    points = rng.uniform(-1.0, 1.0, (5, 2))
    told = replace(sensors, values=rng.normal(size=4), noise=np.array([0.1, 0.2, 0.0, 0.5]))
    shift, scale, row_noise = 3.0, 2.0, 1e-2
    prior = given(KERNEL, told, scale, row_noise).process()
    gram = KERNEL.covariance(told, told)
    noise = np.diag(row_noise**2 * np.diag(gram) + (told.noise / scale) ** 2)
    across = KERNEL.covariance(told, Functionals.at(points))
    solved = np.linalg.solve(gram + noise, across)
    np.testing.assert_allclose(
        prior.covariance_matrix(points), KERNEL.values(points, points) - across.T @ solved, atol=1e-8
    )
    mean = solved.T @ ((told.values - shift * told.constant) / scale)
    np.testing.assert_allclose(prior.mean(prior.locate(points), Standard(shift, scale)), mean, atol=1e-8)


# ---------------------------------------------------------------- lists of them


def test_lists_with_one_place_and_with_several_are_joined(sensors, rng):
    """Covariances of the union are those of the parts, whatever the order."""
    parts = [Functionals.at(rng.uniform(-1.0, 1.0, (3, 2))), sensors, sensors, Functionals.none(2)]
    for order in ([0, 1, 2, 3], [1, 0, 2], [2, 3, 0]):
        chosen = [parts[i] for i in order]
        found = KERNEL.covariance(concatenate(chosen), concatenate(chosen))
        expected = np.block([[KERNEL.covariance(a, b) for b in chosen] for a in chosen])
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)


def test_targets_are_the_functionals_of_h(sensors, rng):
    """f = shift + scale h: both columns together are L[h] if the values are L[f]."""
    shift, scale = 4.0, 2.5
    of_f = shift * sensors.constant + scale * (of_h := rng.normal(size=4))
    targets = replace(sensors, values=of_f).targets()
    np.testing.assert_allclose(targets @ [1.0 / scale, -shift / scale], of_h, rtol=1e-12)


def test_rows_of_two_equations_stand_over_the_union_of_their_derivatives(rng):
    field = FIELDS[BOX]
    parts = []
    for name, n, noise in (("system", 5, 0.0), ("mixed", 3, 0.5)):
        jets, points = jets_of(name), scaled_points(BOX, rng, n)
        part = jets.rows(points, image_of(jets.pde, field, BOX, points))
        parts.append(replace(part, noise=np.full(len(part), noise)))
    rows = concatenate(parts)
    kept = {tuple(index) for part in parts for index in part.derivatives.tolist()}
    assert {tuple(index) for index in rows.derivatives.tolist()} == kept
    assert len(rows.derivatives) == len(kept)
    assert not rows.derivatives[0].any()
    assert len(rows) == 5 * 3 + 3
    np.testing.assert_array_equal(rows.points, np.concatenate([part.points for part in parts]))
    np.testing.assert_array_equal(rows.constant, np.concatenate([part.constant for part in parts]))
    np.testing.assert_array_equal(rows.noise, [0.0] * 15 + [0.5] * 3)
    close(np.sum(rows.coefficients * jet_of(field, BOX, rows.points, rows.derivatives), axis=1), rows.values)


def test_one_part_comes_back_from_concatenate_as_the_same_functionals(rng):
    jets = jets_of("biharmonic")
    part = jets.rows(scaled_points(BOX, rng), np.ones((7, 1)))
    rows = concatenate([part])
    jet = jet_of(FIELDS[BOX], BOX, part.points, part.derivatives)
    reordered = jet_of(FIELDS[BOX], BOX, rows.points, rows.derivatives)
    close(np.sum(rows.coefficients * reordered, axis=1), np.sum(part.coefficients * jet, axis=1))
