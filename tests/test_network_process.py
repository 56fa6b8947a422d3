"""Lemma 1: the linearised network given PDE data and measurements, against the appendix' block inversion and against
least squares by orthogonal factors, which keep their digits where the inverses of the appendix lose them.
"""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import chi2, norm

from pinnbo import PDE, Space
from pinnbo.data import Data
from pinnbo.gp import posterior as averages
from pinnbo.gp.posterior import condition
from pinnbo.network.features import observation_rows, physics_rows
from pinnbo.network.field import Units
from pinnbo.network.mlp import MLP
from pinnbo.network.process import LinearisedNetwork
from pinnbo.operators import gradient, laplacian
from pinnbo.pde import Collocation

BOX = Space(x=(10.0, 13.0), y=(-0.5, 0.0))
NETWORK = MLP(2, 4)
WEIGHTS = NETWORK.initial(jax.random.key(3))
UNITS = Units.of(BOX, shift=7.0, scale=3.0)
P = NETWORK.n_parameters
ROW_NOISE = 0.1
# an equation whose source is exact, a system whose source is noisy, and one that is not linear in f
EXACT = PDE(lambda f: lambda x: laplacian(f)(x) + x[0] * f(x))
NOISY = PDE(lambda f: lambda x: gradient(f)(x) / 10.0, noise=0.7)
SQUARE = PDE(lambda f: lambda x: f(x) ** 2 + gradient(f)(x)[0], noise=0.2)
# (observations, collocation points, equation): sample space, without physics, and feature space
CASES = {
    "more rows": (4, 9, EXACT),
    "noisy system": (7, 4, NOISY),
    "not linear": (6, 5, SQUARE),
    "only rows": (0, 6, NOISY),
    "one of each": (1, 1, EXACT),
    "no physics": (9, 0, EXACT),
    "feature space": (P + 12, 0, EXACT),
    "more of all than weights": (P + 5, P + 8, EXACT),
    "nothing": (0, 0, EXACT),
}


class Case:
    """Measurements and PDE data, what the package makes of them, and the rows that brute force needs."""

    def __init__(self, name: str, noise: str = "known") -> None:
        t, r, pde = CASES[name]
        rng = np.random.default_rng([t, r])
        self.points = BOX.sobol(t, 1)
        values = 20.0 + 4.0 * rng.normal(size=t)
        deviations = {
            "known": rng.uniform(0.5, 2.0, t),
            "alike": np.full(t, 1.5),
            "unknown": np.full(t, np.nan),
        }
        self.told = Data(self.points, values, deviations[noise], np.zeros((0, 2)))
        at = BOX.sobol(r, 2)
        source = 5.0 * rng.normal(size=(r, pde.n_equations(BOX)))
        self.physics = [(pde, Collocation(at, source))] if r else []
        scale = self.scale = float(np.std(values)) if t > 1 else 20.0
        self.network = LinearisedNetwork.at(BOX, NETWORK, WEIGHTS, UNITS, self.physics, ROW_NOISE, scale)
        self.posterior = condition(self.network.process(), self.told, BOX)

        everywhere = observation_rows(NETWORK, WEIGHTS, UNITS, BOX.sobol(64, 3)).matrix
        self.factor = 1.0 / np.sqrt(np.mean(np.sum(everywhere**2, axis=1)))
        self.queries = BOX.sobol(5, 4)
        self.phi, self.at_points = self.features(self.points)
        self.query_phi, self.at_queries = self.features(self.queries)
        found = physics_rows(NETWORK, pde, WEIGHTS, UNITS, at)
        self.omega = self.factor * found.matrix
        self.query_omega = self.factor * physics_rows(NETWORK, pde, WEIGHTS, UNITS, BOX.sobol(3, 5)).matrix
        self.u = source.ravel() - found.values
        self.y = values - self.at_points
        self.row_variance = (ROW_NOISE * np.linalg.norm(self.omega, axis=1)) ** 2 + (pde.noise / scale) ** 2

    def features(self, points):
        rows = observation_rows(NETWORK, WEIGHTS, UNITS, points)
        return self.factor * rows.matrix, rows.values

    def variances(self, square, ratio):
        """Of the noise in y and in u, the amplitude included: both are relative to it in the model."""
        unit = self.posterior.standard.scale
        relative = np.where(np.isnan(self.told.noise), 1.0, self.told.noise / unit) ** 2
        return unit**2 * square * ratio * relative, unit**2 * square * self.row_variance

    def data(self, sample):
        """Rows, targets, noise variances and the weights' prior variance of one hyper-parameter sample."""
        square, ratio = self.posterior.samples.square[sample], self.posterior.samples.ratio[sample]
        variances = np.concatenate(self.variances(square, ratio))
        rows, targets = np.concatenate([self.phi, self.omega]), np.concatenate([self.y, self.u])
        return rows, targets, variances, self.posterior.standard.scale**2 * square


def by_block_inversion(case, sample, queries):
    """Mean and covariance of functionals of f, block by block as in the appendix."""
    rows, targets, variances, square = case.data(sample)
    t, covariance = len(case.y), square * rows @ rows.T + np.diag(variances)
    inverse = np.block(
        block_inverse(covariance[:t, :t], covariance[:t, t:], covariance[t:, :t], covariance[t:, t:])
    )
    across = square * rows @ queries.T
    return across.T @ inverse @ targets, square * queries @ queries.T - across.T @ inverse @ across


def block_inverse(p, q, r, s):
    """The paper's A~, B~, C~, D~, with M = (S - R P^-1 Q)^-1."""
    p_inv = np.linalg.inv(p)
    m = np.linalg.inv(s - r @ p_inv @ q)
    return [[p_inv + p_inv @ q @ m @ r @ p_inv, -p_inv @ q @ m], [-m @ r @ p_inv, m]]


def by_least_squares(case, sample, queries):
    """The same from all rows at once, the prior being p more of them."""
    factor, weights, _ = least_squares(*case.data(sample))
    roots = np.linalg.solve(factor.T, queries.T)
    return queries @ weights, roots.T @ roots


def least_squares(rows, targets, variances, square):
    """Triangular factor of the weights' precision, their mean, and the log density of the targets."""
    p = rows.shape[1]
    stacked = np.concatenate([np.eye(p) / np.sqrt(square), rows / np.sqrt(variances)[:, None]])
    right = np.concatenate([np.zeros(p), targets / np.sqrt(variances)])
    q, factor = np.linalg.qr(stacked)
    weights = np.linalg.solve(factor, q.T @ right)
    log_det = 2.0 * np.sum(np.log(np.abs(np.diag(factor)))) + p * np.log(square) + np.sum(np.log(variances))
    misfit = np.sum((stacked @ weights - right) ** 2)
    return factor, weights, -0.5 * (misfit + log_det + len(targets) * np.log(2.0 * np.pi))


# where its inverses are well conditioned
BY_BLOCKS = ["more rows", "noisy system", "only rows", "one of each", "no physics", "nothing"]
ROUTES = [(name, by_least_squares) for name in CASES] + [(name, by_block_inversion) for name in BY_BLOCKS]


@pytest.mark.parametrize("noise", ["known", "unknown"])
@pytest.mark.parametrize(("name", "route"), ROUTES)
def test_mean_and_variance(name, route, noise):
    case = Case(name, noise)
    found = case.posterior.moments(BOX.scale(case.queries))
    in_features = case.posterior.anchors is None
    assert in_features == (name == "feature space")
    for sample in range(len(case.posterior.samples.square)):
        mean, covariance = route(case, sample, case.query_phi)
        deviation = np.sqrt(np.diag(covariance))
        # products of features, of which feature space is made, have half the digits
        allowed = (1e-6 if in_features else 1e-8) * (1.0 + deviation.max())
        np.testing.assert_allclose(found.mean[:, sample], case.at_queries + mean, rtol=0, atol=allowed)
        rest = case.posterior.standard.scale**2 * case.posterior.samples.rest[sample]
        np.testing.assert_allclose(found.variance[:, sample], np.diag(covariance) + rest, rtol=1e-7)


@pytest.mark.parametrize(("name", "route"), ROUTES)
def test_weights_and_what_is_explained_hold_the_joint_posterior_of_f_and_its_image(name, route):
    case = Case(name)
    both = np.concatenate([case.query_phi, case.query_omega])
    mean, covariance = route(case, 0, both)
    found = both @ case.network.mean_weights(case.posterior) / case.factor
    sizes = np.linalg.norm(both, axis=1)
    allowed = 1e-6 if case.posterior.anchors is None else 1e-8
    np.testing.assert_allclose(found / sizes, mean / sizes, rtol=0, atol=allowed)
    explained = case.network.explained(case.posterior)
    left = both @ both.T - (both @ explained.T) @ (explained @ both.T)
    prior = np.outer(sizes, sizes)
    np.testing.assert_allclose(left / prior, covariance / case.data(0)[3] / prior, rtol=0, atol=1e-11)


def exact_log_density(case, square, ratio):
    """log p(y | u) of one amplitude and noise, as the density of both over that of u."""
    of_y, of_u = case.variances(square, ratio)
    a2 = case.posterior.standard.scale**2 * square
    rows, targets = np.concatenate([case.phi, case.omega]), np.concatenate([case.y, case.u])
    both = least_squares(rows, targets, np.concatenate([of_y, of_u]), a2)[2]
    return both - least_squares(case.omega, case.u, of_u, a2)[2]


@pytest.mark.parametrize("noise", ["known", "unknown"])
@pytest.mark.parametrize("name", ["more rows", "noisy system", "one of each", "no physics", "feature space"])
def test_evidence_is_the_density_of_the_measurements_given_the_physics(name, noise):
    case = Case(name, noise)
    unit = np.sqrt(case.posterior.process.variation)
    noises = averages._NOISES if noise == "unknown" else np.ones(1)
    prior, density = [], []
    for amplitude in averages._AMPLITUDES:
        for sigma in noises:
            square = (amplitude / unit) ** 2
            prior.append(norm.logpdf(np.log(amplitude), 0.0, averages._AMPLITUDE_SD))
            if noise == "unknown":
                prior[-1] += norm.logpdf(np.log(sigma / averages.NOISE_CENTRE), 0.0, averages._NOISE_SD)
            density.append(exact_log_density(case, square, sigma**2 / square))
    expected = logsumexp(np.add(prior, density)) - logsumexp(prior)
    assert case.posterior.log_evidence == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("name", CASES)
def test_information_is_the_log_determinant_of_all_rows(name):
    case = Case(name, "alike")
    whitened = case.omega / np.sqrt(case.row_variance)[:, None]
    expected = 0.5 * np.linalg.slogdet(np.eye(P) + whitened.T @ whitened)[1]
    assert case.network.information == pytest.approx(expected, abs=1e-8)
    samples, gained = case.posterior.samples, []
    for square, ratio in zip(samples.square, samples.ratio, strict=True):
        of_y = case.variances(square, ratio)[0] / (case.posterior.standard.scale**2 * square)
        rows = np.concatenate([whitened, case.phi / np.sqrt(of_y)[:, None]])
        gained.append(0.5 * np.linalg.slogdet(np.eye(P) + rows.T @ rows)[1] - expected)
    assert case.posterior.information == pytest.approx(np.exp(samples.log_weight) @ gained, abs=1e-7)


@pytest.mark.parametrize("name", ["noisy system", "no physics", "feature space", "nothing"])
def test_draws_have_the_mean_and_covariance_of_lemma_1(name):
    """Of the weights, and so of every functional, at one amplitude and noise."""
    case = Case(name)
    samples, n = case.posterior.samples, 3_000
    one = samples._replace(log_weight=np.log(np.eye(len(samples.square))[1] + 1e-300))
    posterior = replace(case.posterior, samples=one)
    factor, mean, _ = least_squares(*case.data(1))
    rng = np.random.default_rng(5)
    draws = np.array([case.network.draw(posterior, rng) for _ in range(n)]) / case.factor
    white = (draws - mean) @ factor.T
    # n |mean|^2 and n/2 |S - I|^2 of standard normal vectors are chi-squared; the tails hold 1e-4
    assert n * np.sum(white.mean(axis=0) ** 2) < chi2.isf(1e-4, P)
    spread = white.T @ white / n - np.eye(P)
    assert 0.5 * n * np.sum(spread**2) < chi2.isf(1e-4, P * (P + 1) // 2)


def test_draws_choose_amplitudes_by_their_weights_and_repeat_with_the_seed():
    case = Case("nothing")
    weights = np.exp(case.posterior.samples.log_weight)
    rng = np.random.default_rng(0)
    squares = [np.sum(case.network.draw(case.posterior, rng) ** 2) for _ in range(1000)]
    expected = P * case.factor**2 * (weights @ case.posterior.samples.square)
    assert np.mean(squares) == pytest.approx(expected * case.posterior.standard.scale**2, rel=0.2)
    first, second = (case.network.draw(case.posterior, np.random.default_rng(1)) for _ in range(2))
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("blocks", [[1] * 9, [4, 1, 4], [9]])
@pytest.mark.parametrize("name", ["noisy system", "no physics"])
def test_measurements_one_by_one_are_the_measurements_at_once(name, blocks):
    case = Case(name)
    process, n = case.network.process(), len(case.told.values)
    seen, posterior = 0, condition(process, case.told.first(0), BOX)
    for size in blocks:
        seen = min(n, seen + size)
        posterior = condition(process, case.told.first(seen), BOX, posterior)
    for found, expected in zip(
        posterior.moments(BOX.scale(case.queries))[:2],
        case.posterior.moments(BOX.scale(case.queries))[:2],
        strict=True,
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-9)
    assert posterior.log_evidence == pytest.approx(case.posterior.log_evidence, abs=1e-9)


def test_rows_are_kept_when_the_shift_of_a_linear_equation_moves():
    case = Case("noisy system")
    moved = Units.of(BOX, shift=-50.0, scale=3.0)
    kept = case.network.shifted(moved, case.physics)
    anew = LinearisedNetwork.at(BOX, NETWORK, WEIGHTS, moved, case.physics, ROW_NOISE, case.scale)
    scaled = BOX.scale(case.queries)
    for found, expected in zip(
        condition(kept.process(), case.told, BOX).moments(scaled)[:2],
        condition(anew.process(), case.told, BOX).moments(scaled)[:2],
        strict=True,
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-9)
    assert kept.triangle is case.network.triangle


@pytest.mark.parametrize("row_noise", [1e-2, 1e-4])
def test_nearly_collinear_rows_keep_their_digits(row_noise):
    """Rows at points that nearly coincide: the variance against what extended precision would say."""
    at = np.array([[11.0, -0.2]]) + 1e-5 * np.arange(6)[:, None]
    physics = [(EXACT, Collocation(at, np.zeros((6, 1))))]
    network = LinearisedNetwork.at(BOX, NETWORK, WEIGHTS, UNITS, physics, row_noise, 1.0)
    process = network.process()
    query = np.array([[11.3, -0.3]])
    found = process.variance(process.locate(BOX.scale(query)))[0][0]
    phi = network.factor * observation_rows(NETWORK, WEIGHTS, UNITS, query).matrix[0]
    # orthogonal factors of the rows stacked on the identity: nothing is squared
    factor = np.linalg.qr(np.concatenate([np.eye(P), network.rows]), mode="r")
    expected = np.sum(np.linalg.solve(factor.T, phi) ** 2)
    assert found == pytest.approx(expected, rel=1e-7)
    assert network.information == pytest.approx(np.sum(np.log(np.abs(np.diag(factor)))), abs=1e-7)


def test_slopes_of_all_features_are_refused():
    case = Case("one of each")
    with pytest.raises(TypeError, match="expected slopes of a drawn function, not of all features"):
        case.posterior.moments(BOX.scale(case.queries), slopes=True)


def test_the_mean_is_a_function_of_the_user_s_x():
    """f_ref + (d f / d theta) . weights, evaluated by a Jacobian-vector product."""
    case = Case("not linear")
    weights = case.network.mean_weights(case.posterior)
    flat, unravel = jax.flatten_util.ravel_pytree(WEIGHTS)

    def f(w, x):
        return UNITS.field(NETWORK, unravel(w))(x)

    values, slopes = jax.vmap(lambda x: jax.jvp(lambda w: f(w, x), (flat,), (jnp.asarray(weights),)))(
        jnp.asarray(case.queries)
    )
    expected = case.posterior.moments(BOX.scale(case.queries)).mean[:, 0]
    np.testing.assert_allclose(values + slopes, expected, rtol=1e-7)
