"""The validation set: every truth against its own equation, by values of the truth alone. No search is run here."""

import sys
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest

sys.path.append(str(Path(__file__).parent.parent / "benchmarks"))
import fields
import validation


def misfit(problem, seed):
    """The equation applied to polynomials through values of the truth around random points, minus its source, in
    units of what the equation makes of a wave of the same range.
    """
    rng, space = np.random.default_rng(seed), problem.space
    half = 0.5 * (space.upper - space.lower)
    degree = 8 if space.dim <= 2 else 4
    powers = np.stack(np.meshgrid(*[np.arange(degree + 1)] * space.dim), axis=-1).reshape(-1, space.dim)
    powers = powers[powers.sum(axis=1) <= degree]
    offsets = rng.uniform(-1.0, 1.0, (4 * len(powers), space.dim))
    reach = 0.05 * half
    worst, sizes = [], []
    for x in space.lower + half * (1.0 + 0.9 * rng.uniform(-1.0, 1.0, (8, space.dim))):
        matrix = np.prod(offsets[:, None, :] ** powers, axis=-1)
        fitted = np.linalg.lstsq(matrix, problem.truth(x + reach * offsets), rcond=None)[0]
        wave = 2.0 * rng.normal(size=space.dim) / half

        def near(y, x=x, fitted=fitted):
            # whole powers one by one: u**0 has a derivative at u = 0 only if the exponent is known to be 0
            table = jnp.stack([((y - x) / reach) ** k for k in range(degree + 1)])
            return jnp.prod(table[powers, np.arange(space.dim)], axis=-1) @ fitted

        def other(y, wave=wave):
            return problem.range * jnp.cos(jnp.dot(wave, y))

        source = problem.pde.source_at(x[None])[0]
        worst.append(np.max(np.abs(problem.pde.apply(near)(jnp.asarray(x)) - source)))
        sizes.append(np.max(np.abs(problem.pde.apply(other)(jnp.asarray(x)))))
    return max(worst) / np.median(sizes)


@pytest.mark.slow
@pytest.mark.parametrize("name", validation.TRUE)
def test_a_truth_obeys_its_equation(name):
    problem = validation.TRUE[name](validation.FIRST_SEED)
    assert misfit(problem, 1) < 1e-3
    assert problem.truth(problem.x_best)[0] == pytest.approx(problem.optimum, abs=1e-6 * problem.range)
    values = problem.truth(problem.space.sobol(1000, 3))
    sign = 1.0 if problem.goal == "minimize" else -1.0
    assert np.min(sign * (values - problem.optimum)) > -1e-9 * problem.range
    assert np.ptp(values) <= problem.range * (1 + 1e-9)


@pytest.mark.parametrize("name", validation.FALSE)
def test_a_false_equation_is_false(name):
    assert misfit(validation.FALSE[name](validation.FIRST_SEED), 1) > 0.05


def test_nothing_in_it_was_used_before():
    known = fields.TRUE | fields.NONLINEAR | fields.FALSE | fields.VARIANTS
    assert not (validation.TRUE | validation.FALSE).keys() & known.keys()
    note = (Path(__file__).parent.parent / "docs" / "notes" / "validation.md").read_text()
    assert all(f"| {name} |" in note for name in validation.TRUE | validation.FALSE)
