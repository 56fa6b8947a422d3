"""The surrogate as a BoTorch model, so that BoTorch's acquisition functions work on it.

    optimizer = Optimizer(space, pde, goal="minimize")
    optimizer.tell(points, values)
    model = PINNModel(optimizer)
    acquisition = LogExpectedImprovement(model, best_f=optimizer.best.mean, maximize=False)

The posterior is an average of normal ones; BoTorch is given its mean and its covariance, with slopes in closed form:

    m(x) = sum_c w_c m_c(x),    C(x, x') = sum_c w_c [C_c(x, x') + (m_c(x) - m(x)) (m_c(x') - m(x'))].
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from numpy import ndarray

try:
    import torch
    from botorch.models.model import Model
    from botorch.posteriors import GPyTorchPosterior
    from gpytorch.distributions import MultivariateNormal
except ImportError as error:
    raise ImportError(
        "The adapter needs BoTorch, which is not installed: pip install 'pinnbo[botorch]'"
    ) from error

from pinnbo.ensemble.mixture import Mixture
from pinnbo.optimizer import Optimizer
from pinnbo.space import Space

_JITTER = 1e-10  # of the variance: the algebra's own precision


class PINNModel(Model):
    """f given the physics and the measurements of an `Optimizer`, at the time when the model is made.

    Points are those of the user's box, in the user's units.
    """

    def __init__(self, optimizer: Optimizer) -> None:
        super().__init__()
        self._space, self._mixture = optimizer.domain, optimizer.posterior()

    @property
    def num_outputs(self) -> int:
        """One."""
        return 1

    @property
    def batch_shape(self) -> torch.Size:
        """None: there is one surrogate."""
        return torch.Size()

    def posterior(
        self,
        X: torch.Tensor,
        output_indices: list[int] | None = None,
        observation_noise: bool | torch.Tensor = False,
        posterior_transform: Any = None,
    ) -> Any:
        """The joint posterior of f at points (..., q, d), differentiable once in the points."""
        if observation_noise is not False:
            raise NotImplementedError(
                "PINNModel.posterior: expected observation_noise=False: it is that of f itself"
            )
        *batch, q, d = X.shape
        mean, covariance = _Joint.apply(X.reshape(-1, q, d).double(), self._space, self._mixture)
        normal = MultivariateNormal(mean.reshape(*batch, q), covariance.reshape(*batch, q, q))
        posterior = GPyTorchPosterior(normal)
        return posterior if posterior_transform is None else posterior_transform(posterior)


class _Joint(torch.autograd.Function):
    """Mean (b, q) and covariance (b, q, q) at points (b, q, d)."""

    @staticmethod
    def forward(
        ctx: Any, X: torch.Tensor, space: Space, mixture: Mixture
    ) -> tuple[torch.Tensor, torch.Tensor]:
        scaled = space.scale(X.detach().numpy())
        blocks = [_joint(mixture, points) for points in scaled]
        mean, covariance, mean_slope, covariance_slope = (
            np.stack(parts) for parts in zip(*blocks, strict=True)
        )
        by_axis = np.stack([space.expansion(points, 1)[:, 0] for points in X.detach().numpy()])  # ds/dx
        ctx.save_for_backward(
            torch.from_numpy(mean_slope * by_axis), torch.from_numpy(covariance_slope * by_axis[..., None])
        )
        return torch.from_numpy(mean), torch.from_numpy(covariance)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(
        ctx: Any, by_mean: torch.Tensor, by_covariance: torch.Tensor
    ) -> tuple[torch.Tensor, None, None]:
        mean_slope, covariance_slope = ctx.saved_tensors
        both = by_covariance + by_covariance.transpose(-1, -2)
        slope = by_mean[..., None] * mean_slope + torch.einsum("bij,bidj->bid", both, covariance_slope)
        return slope, None, None


class _Moments(NamedTuple):
    """Moments at q points; ``covariance_slope`` differentiates C(x_i, x_j) in its first argument."""

    mean: Float[ndarray, " q"]
    covariance: Float[ndarray, "q q"]
    mean_slope: Float[ndarray, "q d"]
    covariance_slope: Float[ndarray, "q d q"]


def _joint(mixture: Mixture, points: Float[ndarray, "q d"]) -> _Moments:
    weights = np.exp(mixture.component_log_weights)
    means, _, slopes, _ = mixture.moments(points, slopes=True)
    assert slopes is not None
    parts = [posterior.covariance(points) for posterior in mixture.posteriors]
    covariances, covariance_slopes = (np.concatenate(part, axis=-1) for part in zip(*parts, strict=True))
    mean = means @ weights
    gaps = means - mean[:, None]
    covariance = covariances @ weights + (gaps * weights) @ gaps.T
    covariance[np.diag_indices(len(points))] *= 1.0 + _JITTER
    covariance_slope = covariance_slopes @ weights + np.einsum("idc,c,jc->idj", slopes, weights, gaps)
    return _Moments(mean, covariance, slopes @ weights, covariance_slope)
