"""BoTorch's Gaussian process, as the baselines use it.

Points live in the unit cube and values are standardised, with a sign that makes them to be minimised. Noise
that is known for all measurements is given to the model; otherwise the model finds it.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from pinnbo.acquisition.search import Objective
from pinnbo.data import Data
from pinnbo.methods.base import Prediction, Task

if TYPE_CHECKING:
    from torch import Tensor

Kernel = Literal["matern", "default"]

# smaller noise variances make the matrix singular
_LEAST_NOISE = 1e-6
_BATCH = 256


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """BoTorch and GPyTorch warn of jitter, of retries and of their own older functions."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@dataclass(frozen=True, eq=False)
class GaussianProcess:
    """A fitted model in the unit cube, with the location and the spread of its values."""

    task: Task
    model: Any  # a SingleTaskGP
    shift: float
    scale: float

    @classmethod
    def fit(cls, task: Task, data: Data, kernel: Kernel) -> GaussianProcess:
        """Maximise the marginal likelihood: BoTorch's ``default`` model, or a Matern-5/2 with Gamma
        priors.
        """
        import torch
        from botorch.fit import fit_gpytorch_mll
        from botorch.models import SingleTaskGP
        from botorch.models.utils.gpytorch_modules import get_matern_kernel_with_gamma_prior
        from gpytorch.mlls import ExactMarginalLogLikelihood

        values = task.sign * data.values
        shift, scale = float(np.mean(values)), _spread(values)
        x = torch.tensor(in_unit_cube(task, data.points))
        y = torch.tensor((values - shift) / scale)[:, None]
        noise = None
        if not np.isnan(data.noise).any():
            noise = torch.tensor(np.maximum((data.noise / scale) ** 2, _LEAST_NOISE))[:, None]
        with quiet(), torch.random.fork_rng(devices=[]):
            torch.manual_seed(task.seed)  # a fit that fails is tried again from random starts
            covariance = get_matern_kernel_with_gamma_prior(task.space.dim) if kernel == "matern" else None
            model = SingleTaskGP(x, y, noise, covar_module=covariance, outcome_transform=None)
            fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
            model.eval()
        return cls(task, model, shift, scale)

    def believing(self, x: Float[ndarray, " d"]) -> GaussianProcess:
        """As if x had been measured and had given its mean."""
        import torch

        point = torch.tensor(in_unit_cube(self.task, x[None]))
        with quiet(), torch.no_grad():
            mean = self.model.posterior(point).mean
            noise = self.model.likelihood.noise
            level = noise.mean().expand(1, 1) if noise.numel() > 1 else noise.reshape(1, 1)
            model = self.model.condition_on_observations(point, mean, noise=level)
        return GaussianProcess(self.task, model, self.shift, self.scale)

    def standardised(self, points: Float[ndarray, "n d"]) -> tuple[ndarray, ndarray]:
        """Mean and standard deviation in the model's units, to be minimised."""
        import torch

        with quiet(), torch.no_grad():
            posterior = self.model.posterior(torch.tensor(in_unit_cube(self.task, points)))
            variance = posterior.variance.clamp_min(1e-12)
            return posterior.mean.numpy()[:, 0], variance.sqrt().numpy()[:, 0]

    def sample(self, unit: Float[ndarray, "n d"], rng: np.random.Generator) -> Float[ndarray, " n"]:
        """A joint sample at points of the unit cube, in the model's units."""
        import gpytorch
        import torch

        exactly = gpytorch.settings.max_cholesky_size(len(unit) + 1)
        with quiet(), torch.no_grad(), torch.random.fork_rng(devices=[]), exactly:
            torch.manual_seed(int(rng.integers(2**31)))
            return self.model.posterior(torch.tensor(unit)).rsample().numpy()[0, :, 0]

    def predict(self, points: Float[ndarray, "n d"]) -> Prediction:
        """Mean and standard deviation of f."""
        mean, std = self.standardised(points)
        return Prediction(self.task.sign * (self.shift + self.scale * mean), self.scale * std)


@dataclass(frozen=True, eq=False)
class Negated(Objective):
    """Minus an acquisition function of BoTorch, over [-1, 1]^d."""

    acquisition: Callable[[Tensor], Tensor]
    of_log: bool = False

    @property
    def is_log(self) -> bool:
        """Whether the acquisition is a logarithm."""
        return self.of_log

    def values(self, points: Float[ndarray, "k d"]) -> Float[ndarray, " k"]:
        """In batches."""
        import torch

        with quiet(), torch.no_grad():
            parts = [
                -self.acquisition(_as_batch(points[start : start + _BATCH])).numpy()
                for start in range(0, len(points), _BATCH)
            ]
        return _finite(np.concatenate(parts), np.inf)

    def values_and_slopes(
        self, points: Float[ndarray, "k d"]
    ) -> tuple[Float[ndarray, " k"], Float[ndarray, "k d"]]:
        """By automatic differentiation."""
        import torch

        with quiet():
            scaled = torch.tensor(points, requires_grad=True)
            value = -self.acquisition((0.5 * (scaled + 1.0))[:, None, :])
            (slope,) = torch.autograd.grad(value.sum(), scaled)
        return _finite(value.detach().numpy(), np.inf), _finite(slope.numpy(), 0.0)


def in_unit_cube(task: Task, points: Float[ndarray, "n d"]) -> Float[ndarray, "n d"]:
    """User units to [0, 1]^d."""
    return 0.5 * (task.space.scale(points) + 1.0)


def _as_batch(points: Float[ndarray, "k d"]) -> Tensor:
    import torch

    return torch.tensor(0.5 * (points + 1.0))[:, None, :]


def _finite(values: ndarray, otherwise: float) -> ndarray:
    return np.where(np.isfinite(values), values, otherwise)


def _spread(values: Float[ndarray, " n"]) -> float:
    spread = float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
    return spread if spread > 1e-12 * float(np.max(np.abs(values))) else 1.0
