"""Gauss-Newton steps: against linear least squares, and on functions that are not linear."""

import jax.numpy as jnp
import numpy as np

from pinnbo.network.second_order import Term, gauss_newton


def test_a_linear_problem_is_solved_in_one_step(rng):
    """Fewer terms than weights: of all solutions the one nearest to the start."""
    matrix, target, start = rng.normal(size=(6, 20)), rng.normal(size=6), rng.normal(size=20)
    term = Term(lambda w, row, y: (y - row @ w)[None], (jnp.asarray(matrix), jnp.asarray(target)))
    found, losses = gauss_newton([term], jnp.asarray(start), 2)
    np.testing.assert_allclose(losses[0], np.sum((target - matrix @ start) ** 2), rtol=1e-12)
    assert losses[1] < 1e-18 * losses[0]
    nearest = start + np.linalg.lstsq(matrix, target - matrix @ start, rcond=None)[0]
    np.testing.assert_allclose(found, nearest, rtol=1e-6, atol=1e-8)


def test_terms_of_several_kinds_and_more_terms_than_weights(rng):
    matrix, target = rng.normal(size=(30, 4)), rng.normal(size=30)
    values = Term(
        lambda w, row, y: (y - row @ w["a"])[None], (jnp.asarray(matrix[:10]), jnp.asarray(target[:10]))
    )
    pairs = Term(
        lambda w, rows, y: y - rows @ w["a"],
        (jnp.asarray(matrix[10:].reshape(10, 2, 4)), jnp.asarray(target[10:].reshape(10, 2))),
    )
    found, _ = gauss_newton([values, pairs], {"a": jnp.zeros(4)}, 3)
    expected = np.linalg.lstsq(matrix, target, rcond=None)[0]
    np.testing.assert_allclose(found["a"], expected, rtol=1e-5)


def test_rosenbrock_falls_at_every_step_to_its_minimum():
    term = Term(lambda w, scale: scale * jnp.stack([10.0 * (w[1] - w[0] ** 2), 1.0 - w[0]]), (jnp.ones(1),))
    found, losses = gauss_newton([term], jnp.array([-1.2, 1.0]), 40)
    assert np.all(np.diff(losses) <= 0)
    np.testing.assert_allclose(found, 1.0, atol=1e-6)


def test_a_step_into_what_is_not_finite_is_not_taken():
    term = Term(lambda w, y: jnp.log(w) - y, (jnp.array([[-3.0]]),))
    found, losses = gauss_newton([term], jnp.array([0.5]), 60)
    assert np.all(np.isfinite(losses))
    np.testing.assert_allclose(found, np.exp(-3.0), rtol=1e-4)
