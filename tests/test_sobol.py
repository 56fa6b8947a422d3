"""Our Sobol points are those of SciPy."""

import numpy as np
import pytest
from scipy.stats import qmc

from pinnbo.sobol import sobol


@pytest.mark.parametrize("dim", [1, 2, 3, 7, 20, 500])
@pytest.mark.parametrize(("n", "seed"), [(1, 0), (2, 5), (64, [3, 8]), (512, 11), (1024, [7, 1, 0])])
def test_points_are_those_of_scipy(dim, n, seed):
    expected = qmc.Sobol(dim, scramble=True, rng=np.random.default_rng(seed)).random(n)
    np.testing.assert_array_equal(sobol(dim, n, seed), expected)


def test_the_points_of_a_smaller_number_are_the_first_of_a_larger_one():
    np.testing.assert_array_equal(sobol(4, 37, 2), sobol(4, 64, 2)[:37])
    assert sobol(3, 0, 0).shape == (0, 3)
