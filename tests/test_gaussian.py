from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import hilbert
from scipy.stats import chi2, multivariate_normal, norm

from pinnbo.inference.gaussian import FeatureSpace, Posterior, SampleSpace, condition, joint

L1, L2 = 0.3, 0.05
# (observations, collocation points, weights): sample space, the last size before it ends, feature space
SIZES = [(6, 9, 30), (8, 12, 20), (5, 16, 20), (20, 60, 12), (3, 0, 8), (0, 5, 8)]


class Data:
    """Observations and PDE data of a random linear model."""

    def __init__(self, t: int, r: int, p: int, seed: int = 0) -> None:
        rng = np.random.default_rng([t, r, p, seed])
        self.phi, self.omega = rng.normal(size=(t, p)), 3.0 * rng.normal(size=(r, p))
        self.y, self.u = rng.normal(size=t), rng.normal(size=r)
        self.rows = np.concatenate([self.phi, self.omega])
        self.targets = np.concatenate([self.y, self.u])
        self.variances = np.concatenate([np.full(t, L1), np.full(r, L2)])
        self.query_phi, self.query_omega = rng.normal(size=(4, p)), rng.normal(size=(3, p))

    def posterior(self) -> Posterior:
        return condition(self.rows, self.targets, self.variances)


def assert_same(a: Posterior, b: Posterior, rows: np.ndarray, atol: float = 1e-10) -> None:
    assert a.size == b.size
    assert a.log_det == pytest.approx(b.log_det, abs=atol)
    assert a.log_evidence == pytest.approx(b.log_evidence, abs=10 * atol)
    np.testing.assert_allclose(a.weights, b.weights, rtol=0, atol=atol)
    np.testing.assert_allclose(a.variance(rows), b.variance(rows), rtol=0, atol=atol)
    np.testing.assert_allclose(a.covariance(rows), b.covariance(rows), rtol=0, atol=atol)


def block_inverse(p, q, r, s):
    """The paper's A~, B~, C~, D~, with M = (S - R P^-1 Q)^-1."""
    p_inv = np.linalg.inv(p)
    m = np.linalg.inv(s - r @ p_inv @ q)
    return p_inv + p_inv @ q @ m @ r @ p_inv, -p_inv @ q @ m, -m @ r @ p_inv, m


def lemma_1(data: Data):
    """Mean and covariance of f and g written out block by block, as in the appendix."""
    phi, omega, f, g = data.phi, data.omega, data.query_phi, data.query_omega
    a, b, c, d = block_inverse(
        phi @ phi.T + L1 * np.eye(len(phi)),
        phi @ omega.T,
        omega @ phi.T,
        omega @ omega.T + L2 * np.eye(len(omega)),
    )
    sigma = {"a": phi @ f.T, "b": phi @ g.T, "c": omega @ f.T, "d": omega @ g.T}

    def mean(top, bottom):
        return top.T @ a @ data.y + bottom.T @ c @ data.y + top.T @ b @ data.u + bottom.T @ d @ data.u

    def explained(top, bottom, other_top, other_bottom):
        return (
            top.T @ a @ other_top
            + bottom.T @ c @ other_top
            + top.T @ b @ other_bottom
            + bottom.T @ d @ other_bottom
        )

    at_f, at_g = (sigma["a"], sigma["c"]), (sigma["b"], sigma["d"])
    return (
        mean(*at_f),
        mean(*at_g),
        f @ f.T - explained(*at_f, *at_f),
        f @ g.T - explained(*at_f, *at_g),
        g @ g.T - explained(*at_g, *at_g),
    )


@pytest.mark.parametrize("size", SIZES)
def test_lemma_1_by_both_spaces_and_by_block_inversion(size):
    data = Data(*size)
    exact = lemma_1(data)
    posterior = data.posterior()
    assert isinstance(posterior, SampleSpace if sum(size[:2]) <= size[2] else FeatureSpace)
    by_features = FeatureSpace.prior(size[2]).append(data.rows, data.targets, data.variances)
    for candidate in (posterior, by_features):
        for found, expected in zip(joint(candidate, data.query_phi, data.query_omega), exact, strict=True):
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8)
        np.testing.assert_allclose(
            candidate.variance(data.query_phi), np.diag(exact[2]), rtol=0, atol=1e-8, strict=True
        )
        np.testing.assert_allclose(
            candidate.covariance(data.query_phi, data.query_omega), exact[3], rtol=0, atol=1e-8
        )


@pytest.mark.parametrize("size", SIZES)
def test_evidence_is_the_density_of_the_targets(size):
    data = Data(*size)
    covariance = data.rows @ data.rows.T + np.diag(data.variances)
    expected = multivariate_normal.logpdf(data.targets, np.zeros(len(data.targets)), covariance)
    assert data.posterior().log_evidence == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("size", SIZES)
def test_log_det_by_sylvester_on_either_side(size):
    data = Data(*size)
    whitened = data.rows / np.sqrt(data.variances)[:, None]
    log_det = data.posterior().log_det
    assert log_det == pytest.approx(
        np.linalg.slogdet(np.eye(len(whitened)) + whitened @ whitened.T)[1], abs=1e-9
    )
    assert log_det == pytest.approx(np.linalg.slogdet(np.eye(size[2]) + whitened.T @ whitened)[1], abs=1e-9)


@pytest.mark.parametrize("blocks", [[1] * 15, [4, 1, 6, 4], [7, 1, 7], [3, 0, 12]])
def test_appending_equals_conditioning_at_once_across_the_conversion(blocks):
    p = 7
    data = Data(15, 0, p)
    posterior: Posterior = SampleSpace.prior(p)
    by_features: Posterior = FeatureSpace.prior(p)
    seen = 0
    for k in blocks:
        new = slice(seen, seen + k)
        arguments = data.rows[new], data.targets[new], data.variances[new]
        posterior, by_features = posterior.append(*arguments), by_features.append(*arguments)
        seen += k
        whole = condition(data.rows[:seen], data.targets[:seen], data.variances[:seen])
        assert isinstance(posterior, SampleSpace if seen <= p else FeatureSpace)
        assert_same(posterior, whole, data.query_phi)
        assert_same(by_features, whole, data.query_phi)
    assert isinstance(posterior, FeatureSpace)


def test_append_leaves_the_old_posterior_alone():
    for size in ((4, 4, 20), (20, 20, 8)):
        data = Data(*size)
        posterior, fresh = data.posterior(), data.posterior()
        posterior.append(data.query_phi, np.ones(4), 0.1)
        assert_same(posterior, fresh, data.query_omega, atol=0.0)
        with pytest.raises(ValueError, match="read-only"):
            posterior.weights[0] = 1.0


def test_feature_space_does_not_grow():
    def held(posterior):
        return sum(value.nbytes for value in vars(posterior).values() if isinstance(value, np.ndarray))

    few, many = Data(20, 0, 6).posterior(), Data(2000, 0, 6).posterior()
    assert held(few) == held(many) == 8 * 7 * 7


def test_no_rows_is_the_prior():
    posterior = condition(np.zeros((0, 5)), np.zeros(0), 1.0)
    rows = np.random.default_rng(0).normal(size=(3, 5))
    assert (posterior.size, posterior.dim, posterior.log_det, posterior.log_evidence) == (0, 5, 0.0, 0.0)
    np.testing.assert_array_equal(posterior.mean(rows), np.zeros(3))
    np.testing.assert_allclose(posterior.covariance(rows), rows @ rows.T)
    np.testing.assert_array_equal(posterior.variance(rows), np.einsum("mp,mp->m", rows, rows))
    assert posterior.sample(np.random.default_rng(0), 4).shape == (4, 5)
    assert posterior.append(np.zeros((0, 5)), np.zeros(0), np.zeros(0)).size == 0


@settings(max_examples=80, deadline=None, derandomize=True)
@given(st.integers(1, 12), st.integers(0, 16), st.floats(-12, 3), st.booleans(), st.integers(0, 2**32 - 1))
def test_variance_is_between_zero_and_the_prior_and_only_shrinks(p, n, log_noise, repeat, seed):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, p))
    if repeat and n > 1:
        rows[1:] = rows[0]
    queries = np.concatenate([rng.normal(size=(4, p)), rows, np.zeros((1, p))])
    before = np.einsum("mp,mp->m", queries, queries)
    posterior = condition(np.zeros((0, p)), np.zeros(0), 1.0)
    for row in rows:
        posterior = posterior.append(row[None], np.ones(1), 10.0**log_noise)
        after = posterior.variance(queries)
        assert np.all(after >= 0.0)
        assert np.all(after <= before * (1 + 1e-9) + 1e-14)
        before = after
    assert np.all(posterior.variance(queries) <= np.einsum("mp,mp->m", queries, queries))
    assert np.isfinite(posterior.weights).all()
    assert np.isfinite(posterior.log_evidence)


@pytest.mark.parametrize("size", [(6, 0, 9), (12, 0, 5)])
def test_evidence_grows_by_the_density_of_the_next_target(size):
    data = Data(*size)
    for n in range(size[0]):
        seen = condition(data.rows[:n], data.targets[:n], L1)
        row, target = data.rows[n : n + 1], data.targets[n : n + 1]
        predicted = norm.logpdf(target, seen.mean(row), np.sqrt(seen.variance(row) + L1)).item()
        assert seen.append(row, target, L1).log_evidence - seen.log_evidence == pytest.approx(
            predicted, abs=1e-9
        )


@pytest.mark.parametrize("size", [(3, 2, 8), (10, 20, 8), (0, 0, 8)])
def test_samples_have_the_mean_and_covariance_of_lemma_1(size):
    data = Data(*size)
    p, n = size[2], 40_000
    precision = np.eye(p) + data.rows.T @ (data.rows / data.variances[:, None])
    mean = np.linalg.solve(precision, data.rows.T @ (data.targets / data.variances))
    draws = data.posterior().sample(np.random.default_rng(5), n)
    white = (draws - mean) @ np.linalg.cholesky(precision)
    # n |mean|^2 and n/2 |S - I|^2 of standard normal vectors are chi-squared; the tails hold 1e-4
    assert n * np.sum(white.mean(axis=0) ** 2) < chi2.isf(1e-4, p)
    spread = white.T @ white / n - np.eye(p)
    assert 0.5 * n * np.sum(spread**2) < chi2.isf(1e-4, p * (p + 1) // 2)


def test_samples_are_reproducible():
    posterior = Data(3, 2, 8).posterior()
    first, second = (posterior.sample(np.random.default_rng(1), 2) for _ in range(2))
    np.testing.assert_array_equal(first, second)


def exact_log_det_and_variance(rows, variance, query):
    """By Gaussian elimination in rational arithmetic on [[A A^T + D, A q], [q^T A^T, q^T q]]."""
    a = [[Fraction(float(entry)) for entry in row] for row in np.vstack([rows, query])]
    n = len(rows)
    gram = [[sum(x * y for x, y in zip(one, two, strict=True)) for two in a] for one in a]
    for i in range(n):
        gram[i][i] += Fraction(variance)
    log_det = 0.0
    for i in range(n):
        log_det += float(np.log(float(gram[i][i] / Fraction(variance))))
        for j in range(i + 1, n + 1):
            factor = gram[j][i] / gram[i][i]
            gram[j] = [x - factor * y for x, y in zip(gram[j], gram[i], strict=True)]
    return log_det, float(gram[n][n])


@pytest.mark.parametrize("variance", [1e-6, 1e-12, 1e-18])
@pytest.mark.parametrize("space", [SampleSpace, FeatureSpace])
def test_nearly_collinear_rows_with_little_noise_keep_their_digits(space, variance):
    rows = hilbert(12)[:9]
    query = np.cos(np.arange(12.0))
    log_det, left = exact_log_det_and_variance(rows, variance, query)
    at_once = space.prior(12).append(rows, np.ones(9), variance)
    one_by_one = space.prior(12)
    for row in rows:
        one_by_one = one_by_one.append(row[None], np.ones(1), variance)
    for posterior in (at_once, one_by_one):
        # A A^T + D cannot do this: its smallest eigenvalues drown in rounding from 1e-16 on
        assert posterior.log_det == pytest.approx(log_det, abs=1e-6)
        assert posterior.variance(query[None])[0] == pytest.approx(left, rel=1e-6)


def test_repeated_rows_with_next_to_no_noise():
    for p in (9, 3):
        posterior = condition(np.ones((6, p)), np.full(6, 2.0), 1e-18)
        np.testing.assert_allclose(posterior.variance(np.ones((1, p))), 1e-18 / 6, rtol=1e-6)
        np.testing.assert_allclose(posterior.mean(np.ones((1, p))), 2.0, rtol=1e-12)


@pytest.mark.parametrize(
    ("rows", "targets", "variances", "message"),
    [
        (np.ones(3), np.ones(1), 1.0, r"expected rows of shape \(n, p\) with p >= 1, got \(3,\)"),
        (np.ones((2, 0)), np.ones(2), 1.0, r"p >= 1, got \(2, 0\)"),
        (np.ones((2, 3)), np.ones(3), 1.0, r"one target per row, shape \(2,\), got \(3,\)"),
        (np.ones((2, 3)), np.ones(2), np.ones(3), r"one per row \(2\), got \(3,\)"),
        (np.ones((2, 3)), np.ones(2), [1.0, 0.0], "variance of row 1 is not a positive"),
        (np.ones((2, 3)), np.ones(2), -1.0, "variance of row 0 is not a positive"),
        (np.ones((2, 3)), np.ones(2), np.nan, "variance of row 0 is not a positive"),
        ([[1.0, 2.0], [np.nan, 0.0]], np.ones(2), 1.0, "row 1 is not finite"),
        (np.ones((2, 3)), [0.0, np.inf], 1.0, "target of row 1 is not finite"),
        ([[1.0, 2.0], [1e200, 0.0]], np.ones(2), 1e-200, "row 1 overflows"),
    ],
)
def test_wrong_data_are_named(rows, targets, variances, message):
    with pytest.raises(ValueError, match=message):
        condition(rows, targets, variances)


def test_wrong_queries_are_named():
    for size in ((2, 0, 5), (9, 0, 5)):
        posterior = Data(*size).posterior()
        for query in (posterior.mean, posterior.variance, posterior.covariance):
            with pytest.raises(ValueError, match=r"expected rows of shape \(m, 5\), got \(2, 4\)"):
                query(np.ones((2, 4)))
            with pytest.raises(ValueError, match="row 1 is not finite"):
                query(np.array([[0.0] * 5, [np.inf] * 5]))
        with pytest.raises(ValueError, match=r"expected rows of shape \(n, 5\), got \(1, 4\)"):
            posterior.append(np.ones((1, 4)), np.ones(1), 1.0)
