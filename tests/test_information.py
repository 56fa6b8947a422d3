"""Information, nu, confidence band and regret bound, against the paper's determinants and exact arithmetic."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import hilbert

from pinnbo.network.information import (
    Ledger,
    conditional_information,
    confidence_width,
    greedy_information_gain,
    i_zero,
    interaction_information,
    mutual_information,
    nu,
    pde_sample_size,
    r_tilde,
    regret_bound,
)

L1, L2 = 0.4, 0.07
# (observations, collocation points, weights)
SIZES = [(5, 4, 20), (5, 12, 20), (30, 4, 8), (4, 40, 8), (1, 1, 1)]


def rows_of(t, r, p, seed=0):
    rng = np.random.default_rng([t, r, p, seed])
    return rng.normal(size=(t, p)), 2.0 * rng.normal(size=(r, p))


def log_det(matrix):
    return np.linalg.slogdet(matrix)[1]


@pytest.mark.parametrize("size", SIZES)
def test_lemma_2_in_feature_space_as_printed(size):
    phi, omega = rows_of(*size)
    one, two, eye = phi.T @ phi / L1, omega.T @ omega / L2, np.eye(size[2])
    printed = 0.5 * (log_det(one + eye) + log_det(two + eye) - log_det(one + two + eye))
    assert interaction_information(phi, L1, omega, L2) == pytest.approx(printed, abs=1e-9)


@pytest.mark.parametrize("size", SIZES)
def test_information_quantities_in_sample_space(size):
    phi, omega = rows_of(*size)
    k_uu, k_ur, k_rr = phi @ phi.T, phi @ omega.T, omega @ omega.T
    given = k_uu - k_ur @ np.linalg.solve(k_rr + L2 * np.eye(size[1]), k_ur.T)
    unconditional = 0.5 * log_det(np.eye(size[0]) + k_uu / L1)
    conditional = 0.5 * log_det(np.eye(size[0]) + given / L1)
    assert mutual_information(phi, L1) == pytest.approx(unconditional, abs=1e-9)
    assert conditional_information(phi, L1, omega, L2) == pytest.approx(conditional, abs=1e-9)
    assert interaction_information(phi, L1, omega, L2) == pytest.approx(unconditional - conditional, abs=1e-9)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(
    st.integers(0, 10),
    st.integers(0, 10),
    st.integers(1, 8),
    st.floats(-6, 3),
    st.floats(-6, 3),
    st.floats(-3, 3),
    st.integers(0, 2**32 - 1),
)
def test_interaction_is_not_negative_and_at_most_either_information(t, r, p, log_l1, log_l2, log_size, seed):
    rng = np.random.default_rng(seed)
    phi, omega = rng.normal(size=(t, p)), 10.0**log_size * rng.normal(size=(r, p))
    l1, l2 = 10.0**log_l1, 10.0**log_l2
    ledger = Ledger.start(omega, l2).observe(phi, l1)
    for interaction in (interaction_information(phi, l1, omega, l2), ledger.interaction):
        assert interaction >= -1e-9
        assert interaction <= min(mutual_information(phi, l1), mutual_information(omega, l2)) + 1e-9


def test_interaction_vanishes_exactly_when_the_pde_sees_other_directions():
    phi, omega = np.eye(6)[:2], np.eye(6)[3:]
    assert interaction_information(phi, L1, omega, L2) == pytest.approx(0.0, abs=1e-12)
    omega[0, 0] = 0.5
    # the PDE now sees the first weight: its variance falls from 1 to 1 - 0.25/(1.25 + l2)
    left = 1.0 - 0.25 / (1.25 + L2)
    expected = 0.5 * math.log((1 + 1 / L1) / (1 + left / L1))
    assert interaction_information(phi, L1, omega, L2) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("size", SIZES)
def test_variances_along_a_run_add_up_to_the_conditional_information(size):
    phi, omega = rows_of(*size)
    covariance = np.linalg.inv(np.eye(size[2]) + omega.T @ omega / L2)
    total = 0.0
    for row in phi:
        variance = row @ covariance @ row
        total += 0.5 * math.log1p(variance / L1)
        covariance -= np.outer(covariance @ row, covariance @ row) / (L1 + variance)
    assert conditional_information(phi, L1, omega, L2) == pytest.approx(total, abs=1e-9)


class TestLinearKernel:
    """The remark after Lemma 3: k(x, x') = x . x' and N = sum_i d/dx_i send every PDE point to the ones.

    With G = I + X^T X / l1 the determinant lemma gives
    I = 1/2 log [(1 + N_r d/l2) / (1 + (N_r/l2) 1^T G^-1 1)].
    """

    d, t, l1, l2 = 5, 12, 0.8, 1.0

    def setup_method(self):
        self.x = np.random.default_rng(3).normal(size=(self.t, self.d))
        g = np.eye(self.d) + self.x.T @ self.x / self.l1
        self.q = float(np.ones(self.d) @ np.linalg.solve(g, np.ones(self.d)))

    def information(self, n_r):
        return interaction_information(self.x, self.l1, np.ones((n_r, self.d)), self.l2)

    @pytest.mark.parametrize("n_r", [1, 3, 5, 40, 1000])
    def test_the_determinant_is_exact(self, n_r):
        expected = 0.5 * math.log((1 + n_r * self.d / self.l2) / (1 + n_r * self.q / self.l2))
        assert self.information(n_r) == pytest.approx(expected, abs=1e-9)

    def test_it_grows_with_the_pde_points_to_a_finite_limit(self):
        found = [self.information(n_r) for n_r in (1, 10, 100, 1000, 10_000)]
        limit = 0.5 * math.log(self.d / self.q)
        assert all(np.diff(found) > 0)
        assert found[-1] < limit
        assert found[-1] == pytest.approx(limit, abs=1e-3)

    @pytest.mark.parametrize("n_r", [1, 10, 100])
    def test_it_is_above_the_papers_lower_bound(self, n_r):
        share = self.d * n_r / (self.d * n_r + 1)
        assert self.information(n_r) >= 0.5 * share * (1 - self.q / self.d)


class TestIZero:
    def test_it_is_the_printed_determinant_where_that_exists(self):
        for size in ((5, 4, 20), (6, 30, 12)):
            phi, omega = rows_of(*size)
            k_ru, noisy = omega @ phi.T, omega @ omega.T + L2 * np.eye(size[1])
            left = noisy - k_ru @ np.linalg.solve(phi @ phi.T, k_ru.T)
            assert i_zero(phi, omega, L2) == pytest.approx(0.5 * (log_det(noisy) - log_det(left)), abs=1e-8)

    def test_repeated_observations_change_nothing(self):
        phi, omega = rows_of(5, 4, 20)
        assert i_zero(np.concatenate([phi, phi[:3]]), omega, L2) == pytest.approx(
            i_zero(phi, omega, L2), abs=1e-9
        )

    def test_it_lies_between_the_interaction_and_the_information_in_the_pde_data(self):
        for size in SIZES:
            phi, omega = rows_of(*size)
            # noisy values tell less about U than f at the same points, and f there less than all of f
            assert interaction_information(phi, L1, omega, L2) <= i_zero(phi, omega, L2) + 1e-9
            assert i_zero(phi, omega, L2) <= mutual_information(omega, L2) + 1e-9

    def test_no_observations_no_information(self):
        assert i_zero(np.zeros((0, 20)), rows_of(5, 4, 20)[1], L2) == 0.0


@pytest.mark.parametrize("size", SIZES)
def test_ledger_kept_up_to_date_equals_the_ledger_computed_anew(size):
    phi, omega = rows_of(*size)
    ledger = Ledger.start(omega, L2)
    assert (ledger.mutual, ledger.conditional) == (0.0, 0.0)
    for s in range(size[0]):
        ledger = ledger.observe(phi[s : s + 1], L1)
        seen = phi[: s + 1]
        assert ledger.mutual == pytest.approx(mutual_information(seen, L1), abs=1e-10)
        assert ledger.conditional == pytest.approx(conditional_information(seen, L1, omega, L2), abs=1e-10)
        assert ledger.interaction == pytest.approx(interaction_information(seen, L1, omega, L2), abs=1e-10)
    assert ledger.total == pytest.approx(ledger.pde + ledger.conditional, abs=1e-10)


def test_ledger_does_not_grow_and_leaves_the_earlier_one_alone():
    phi, omega = rows_of(40, 10, 6)
    start = Ledger.start(omega, L2)
    ledger = start.observe(phi, L1)
    assert ledger.given.shape == ledger.alone.shape == (6, 6)
    assert (start.mutual, start.conditional) == (0.0, 0.0)


def exact_log_det(rows, variance):
    """log det(I + A A^T / variance) by Gaussian elimination in rational arithmetic."""
    a = [[Fraction(float(entry)) for entry in row] for row in rows]
    gram = [[sum(x * y for x, y in zip(one, two, strict=True)) for two in a] for one in a]
    log_det = 0.0
    for i in range(len(gram)):
        gram[i][i] += Fraction(variance)
    for i in range(len(gram)):
        log_det += math.log(float(gram[i][i] / Fraction(variance)))
        for j in range(i + 1, len(gram)):
            factor = gram[j][i] / gram[i][i]
            gram[j] = [x - factor * y for x, y in zip(gram[j], gram[i], strict=True)]
    return log_det


@pytest.mark.parametrize("variance", [1e-6, 1e-12, 1e-18])
@pytest.mark.parametrize("p", [12, 7])
def test_nearly_collinear_rows_with_little_noise_keep_their_digits(p, variance):
    """A A^T + variance I cannot do this: its smallest eigenvalues drown in rounding from 1e-16 on."""
    rows = hilbert(12)[:9, :p]
    expected = 0.5 * exact_log_det(rows, variance)
    assert mutual_information(rows, variance) == pytest.approx(expected, abs=1e-6)
    at_once = Ledger.start(rows[:0], 1.0).observe(rows, variance)
    one_by_one = Ledger.start(rows[:0], 1.0)
    for row in rows:
        one_by_one = one_by_one.observe(row[None], variance)
    for ledger in (at_once, one_by_one):
        assert ledger.mutual == pytest.approx(expected, abs=1e-6)
    # the same rows as the PDE's, before and after the others
    split = Ledger.start(rows[4:], variance).observe(rows[:4], variance)
    assert split.total == pytest.approx(expected, abs=1e-6)
    alone = 0.5 * exact_log_det(rows[4:], variance)
    assert split.conditional == pytest.approx(expected - alone, abs=1e-6)
    assert conditional_information(rows[:4], variance, rows[4:], variance) == pytest.approx(
        expected - alone, abs=1e-6
    )


@pytest.mark.parametrize(
    ("rows", "variances", "message"),
    [
        (np.ones(3), 1.0, r"expected rows of shape \(n, p\) with p >= 1, got \(3,\)"),
        (np.ones((2, 0)), 1.0, r"p >= 1, got \(2, 0\)"),
        (np.ones((2, 3)), np.ones(3), "expected one positive variance, or one per row"),
        (np.ones((2, 3)), np.array([1.0, 0.0]), "expected one positive variance, or one per row"),
        (np.ones((2, 3)), np.nan, "expected one positive variance, or one per row"),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_wrong_rows_are_named(rows, variances, message):
    for act in (mutual_information, Ledger.start):
        with pytest.raises(ValueError, match=message):
            act(rows, variances)


class TestGreedy:
    def test_bounds_enclose_the_maximum_over_all_multisets(self):
        candidates = np.random.default_rng(2).normal(size=(5, 3))
        found = greedy_information_gain(candidates, L1, 4)
        for t in range(1, 5):
            choices = itertools.combinations_with_replacement(range(5), t)
            best = max(mutual_information(candidates[list(choice)], L1) for choice in choices)
            assert found.lower[t - 1] <= best + 1e-9
            assert best <= found.upper[t - 1] + 1e-9

    def test_the_gain_is_the_information_in_the_picks(self):
        candidates = np.random.default_rng(4).normal(size=(50, 8))
        found = greedy_information_gain(candidates, L1, 30)
        for t in (1, 2, 17, 30):
            assert found.lower[t - 1] == pytest.approx(
                mutual_information(candidates[found.picks[:t]], L1), abs=1e-9
            )
        np.testing.assert_allclose(found.upper, found.lower / (1 - 1 / math.e))

    def test_a_single_candidate_is_repeated(self):
        found = greedy_information_gain(np.array([[2.0]]), 1.0, 6)
        np.testing.assert_allclose(found.lower, 0.5 * np.log1p(4.0 * np.arange(1, 7)))

    def test_wrong_input_is_named(self):
        with pytest.raises(ValueError, match="finite rows"):
            greedy_information_gain(np.array([[np.nan]]), 1.0, 2)
        with pytest.raises(ValueError, match="l1 > 0 and t >= 1"):
            greedy_information_gain(np.ones((1, 1)), 1.0, 0)


class TestNu:
    def test_it_is_the_formula_of_algorithm_1(self):
        assert nu(3.0, 2.0, 0.1) == pytest.approx(2.0 * math.sqrt(6.0 + math.log(10.0)))
        assert r_tilde(2.0, 4.0, 3.0, 9.0) == pytest.approx(math.sqrt(1.0 + 1.0))
        assert r_tilde(2.0, 4.0, 3.0, 9.0, printed=True) == pytest.approx(math.sqrt(0.25 + 1.0 / 9.0))

    def test_physics_shrink_it_and_gamma_makes_it_larger(self):
        phi, omega = rows_of(5, 12, 20)
        informed = Ledger.start(omega, L2).observe(phi, L1)
        blind = Ledger.start(omega[:0], L2).observe(phi, L1)
        gamma = greedy_information_gain(phi, L1, 5).upper[-1]
        assert informed.nu(1.0, 0.1) < blind.nu(1.0, 0.1)
        assert informed.nu(1.0, 0.1) == nu(informed.conditional, 1.0, 0.1)
        assert informed.nu(1.0, 0.1) < informed.nu(1.0, 0.1, gamma=gamma)
        assert informed.nu(1.0, 0.1, gamma=0.0) == pytest.approx(informed.nu(1.0, 0.1))

    def test_wrong_input_is_named(self):
        with pytest.raises(ValueError, match="delta"):
            nu(1.0, 1.0, 1.0)
        with pytest.raises(ValueError, match="information"):
            confidence_width(1.0, 1.0, -1.0, 0.1)


class TestConfidenceBand:
    """Coverage of Lemma 3's band over many draws of f, |f| = B, and of the noise.

    f(x) = sum_k w_k cos(k pi x) on [0, 1], with the PDE f' = g.
    """

    delta, draws, norm = 0.1, 300, 0.1
    waves = math.pi * np.arange(30)

    def phi(self, x):
        return 2.0 * np.cos(np.outer(x, self.waves))

    def omega(self, z):
        return -2.0 * self.waves * np.sin(np.outer(z, self.waves))

    def worst_ratios(self, rows, variances, deviations, rng):
        """sup of |f - mu| / sigma per draw: over x in [0, 1], and over all functionals of f."""
        p = len(self.waves)
        grid = self.phi(np.linspace(0.0, 1.0, 300))
        precision = np.eye(p) + rows.T @ (rows / variances[:, None])
        inverse = np.linalg.inv(precision)
        deviation = np.sqrt(np.einsum("gp,pq,gq->g", grid, inverse, grid))
        found = []
        for _ in range(self.draws):
            weights = rng.normal(size=p)
            weights *= self.norm / np.linalg.norm(weights)
            noise = deviations * rng.normal(size=len(rows))
            error = weights - inverse @ (rows.T @ ((rows @ weights + noise) / variances))
            ratio = np.abs(grid @ error) / deviation
            found.append((ratio.max(), np.sqrt(error @ precision @ error)))
        return np.transpose(found)

    def test_exact_pde_values_the_corrected_band_holds_and_the_printed_one_does_not(self):
        l1, r1, l2 = 25.0, 5.0, 1.0
        rng = np.random.default_rng(8)
        phi, omega = self.phi(rng.uniform(size=60)), self.omega(rng.uniform(size=4))
        over_x, over_all = self.worst_ratios(
            np.concatenate([omega, phi]), np.repeat([l2, l1], [4, 60]), np.repeat([0.0, r1], [4, 60]), rng
        )
        information = conditional_information(phi, l1, omega, l2)
        right = confidence_width(self.norm, r_tilde(r1, l1), information, self.delta)
        misprinted = confidence_width(self.norm, r_tilde(r1, l1, printed=True), information, self.delta)
        assert np.all(over_x <= over_all + 1e-9)
        assert np.mean(over_all > right) <= self.delta
        assert np.mean(over_x > misprinted) > 0.9
        assert np.mean(over_all > misprinted) > 0.99

    def test_noisy_pde_values_need_the_information_in_them(self):
        l1, l2 = 4.0, 0.25
        r1, r2 = math.sqrt(l1), math.sqrt(l2)
        rng = np.random.default_rng(9)
        phi, omega = self.phi(rng.uniform(size=1)), self.omega(rng.uniform(size=100))
        _, over_all = self.worst_ratios(
            np.concatenate([omega, phi]), np.repeat([l2, l1], [100, 1]), np.repeat([r2, r1], [100, 1]), rng
        )
        ledger = Ledger.start(omega, l2).observe(phi, l1)
        scale = r_tilde(r1, l1, r2, l2)
        right = confidence_width(self.norm, scale, ledger.conditional, self.delta, pde_information=ledger.pde)
        without = confidence_width(self.norm, scale, ledger.conditional, self.delta)
        assert np.mean(over_all > right) <= self.delta
        assert np.mean(over_all > without) > 0.99

    def test_the_rate_is_delta_for_all_t_at_once_and_not_with_the_printed_logarithm(self):
        """In one dimension, with many small steps, the self-normalised bound is all but an equality.

        There sigma^2 = 1/(1 + v) with v = sum phi^2/l1, and the band must hold at every v.
        """
        l1, r1, draws = 25.0, 5.0, 2500
        steps = np.diff(np.geomspace(1e-3, 1e8, 1200), prepend=0.0)
        phi = np.sqrt(l1 * steps)
        noise = r1 * np.random.default_rng(10).normal(size=(draws, len(phi)))
        v = np.cumsum(steps)
        # f = 0, so that mu / sigma is all noise and B plays no part
        ratio = np.abs(np.cumsum(phi * noise / l1, axis=1)) / np.sqrt(1.0 + v)
        ledger, information = Ledger.start(np.zeros((0, 1)), 1.0), []
        for row in phi:
            ledger = ledger.observe(np.array([[row]]), l1)
            information.append(ledger.conditional)
        np.testing.assert_allclose(information, 0.5 * np.log1p(v), rtol=1e-8)
        scale = r_tilde(r1, l1)
        right = np.array([confidence_width(0.0, scale, value, self.delta) for value in information])
        printed_logarithm = np.array([nu(value, scale, self.delta) for value in information])
        failures = np.mean(np.any(ratio > right, axis=1))
        # three standard errors of a rate of 0.1 are 0.018
        assert 0.06 < failures < self.delta + 0.018
        assert 0.2 < np.mean(np.any(ratio > printed_logarithm, axis=1)) < math.sqrt(self.delta) + 0.03


class TestRegretBound:
    def bound(self, gamma, interaction, i_zero):
        return regret_bound(100, 2, 1.0, 1.0, gamma, interaction, i_zero, 0.1)

    def test_it_is_theorem_1(self):
        log = math.log(20.0)
        expected = math.sqrt(100 * 2 * math.log(200.0)) * (
            math.sqrt(30.0 - 4.0 + log) + math.sqrt(30.0) * math.sqrt(30.0 - 10.0 - 4.0 + log)
        )
        assert self.bound(30.0, 10.0, 4.0) == pytest.approx(expected)

    def test_information_in_the_pde_lowers_it(self):
        without = self.bound(30.0, 0.0, 0.0)
        some = self.bound(30.0, 10.0, 4.0)
        much = self.bound(30.0, 29.0, 50.0)
        assert without > some > much > 0.0


class TestPdeSampleSize:
    def test_it_is_the_formula_of_lemma_3(self):
        phi = np.diag([3.0, 2.0])
        # rounded up from 0.999 * 576 and 1.999 * 576
        assert pde_sample_size(phi, 0.5, 0.125, c_r=0.999) == 64 * (1 + 4 * 2)
        assert pde_sample_size(phi, 0.5, 0.125, c_r=1.999) == 2 * 64 * (1 + 4 * 2)

    def test_more_observations_than_weights_make_the_kernel_matrix_singular(self):
        phi = np.random.default_rng(0).normal(size=(5, 2))
        assert pde_sample_size(phi, 0.5, 0.125) == 64
        assert pde_sample_size(phi, 0.5, 1e3) == 1
