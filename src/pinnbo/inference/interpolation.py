"""Any prior on features: what it takes to draw whole functions, and for many observations."""

from __future__ import annotations

from jaxtyping import Float
from numpy import ndarray

from pinnbo.inference.compressed_prior import on_features
from pinnbo.inference.constant_on_curves import ConstantOnCurves
from pinnbo.inference.kernel_prior import InformedKernel
from pinnbo.inference.prior import Informed
from pinnbo.inference.stretch import StretchedPrior, stretched
from pinnbo.inference.sum_and_rest import SumAndRest


def interpolated(prior: Informed, inducing: Float[ndarray, "i d"]) -> Informed:
    """The prior on features between inducing points, unless it has features already."""
    match prior:
        case StretchedPrior():
            return StretchedPrior(interpolated(prior.inner, stretched(inducing)))
        case InformedKernel():
            return on_features(prior, inducing)
        case SumAndRest():
            return prior.on_features(inducing)
        case ConstantOnCurves():
            return prior.on_features
        case _:
            return prior
