"""Shapes are checked while tests run, in the whole package, until a test has had its share of checks."""

import jaxtyping
import numpy as np
import pytest

from pinnbo.gp.kernels import RBF
from pinnbo.physics.functionals import Functionals


def test_wrong_shapes_are_refused_in_functions_and_in_dataclasses():
    with pytest.raises(jaxtyping.TypeCheckError, match="parameter 't'"):
        RBF(np.ones(2)).values(np.ones((3, 2)), np.ones((3, 3)))
    with pytest.raises(jaxtyping.TypeCheckError, match="coefficients"):
        Functionals(np.ones((3, 2)), np.ones((2, 1)), np.zeros((1, 2), dtype=int), np.ones(3), np.ones(3))


def test_after_many_calls_there_are_no_more_checks():
    kernel, points = RBF(np.ones(2)), np.zeros((1, 2))
    for _ in range(6_000):
        kernel.values(points, points)
    with pytest.raises(ValueError, match="broadcast"):
        kernel.values(points, np.ones((3, 3)))
