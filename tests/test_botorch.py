"""The surrogate in BoTorch: joint posterior, its slopes, and acquisition functions at work on it."""

import numpy as np
import pytest

from pinnbo import PDE, Optimizer, Space
from pinnbo.methods.auto import Auto
from pinnbo.operators import laplacian

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of what BoTorch imports

SPACE = Space(x=(0.0, 3.0))
HELMHOLTZ = PDE(lambda f: lambda x: laplacian(f)(x) + 4.0 * f(x))


@pytest.fixture(scope="module")
def optimizer():
    optimizer = Optimizer(SPACE, HELMHOLTZ, method=Auto(collocation=20), noise=0.05)
    points = np.array([[0.2], [1.0], [2.8]])
    optimizer.tell(points, np.cos(2.0 * points[:, 0] + 0.5))
    return optimizer


@pytest.fixture
def model(optimizer):
    from pinnbo.botorch import PINNModel

    return PINNModel(optimizer)


def points(*shape):
    import torch

    return torch.tensor(3.0 * np.random.default_rng(3).random((*shape, 1)), dtype=torch.float64)


def test_means_and_variances_are_those_of_predict(model, optimizer):
    at = points(4, 1)
    posterior = model.posterior(at)
    mean, std = optimizer.predict(at[:, 0].numpy())
    np.testing.assert_allclose(posterior.mean[:, 0, 0].detach(), mean, rtol=1e-9)
    np.testing.assert_allclose(posterior.variance[:, 0, 0].detach(), std**2, rtol=1e-6)


def test_covariances_are_those_of_conditioning(model, optimizer):
    """Gaussian conditioning in observation space, per component and averaged, is another route to the same matrix."""
    at = points(5)
    mixture = optimizer.posterior()
    scaled, anchors = SPACE.scale(at.numpy()), SPACE.scale(np.array([[0.2], [1.0], [2.8]]))
    expected, means, weights = [], [], []
    for posterior, log_weight in zip(mixture.posteriors, mixture.log_weights, strict=True):
        k = posterior.process.covariance_matrix(np.vstack([scaled, anchors]))
        scale = posterior.standard.scale
        moments = posterior.moments(scaled).mean
        for sample, (share, square, ratio, rest) in enumerate(zip(*posterior.samples, strict=True)):
            noise = ratio * square * (0.05 / scale) ** 2 / square
            gram = k[5:, 5:] + noise * np.eye(3)
            left = square * (k[:5, :5] - k[:5, 5:] @ np.linalg.solve(gram, k[5:, :5]))
            expected.append(scale**2 * (left + rest * np.eye(5)))
            means.append(moments[:, sample])
            weights.append(np.exp(log_weight + share))
    means, weights = np.array(means), np.array(weights)
    gaps = means - weights @ means
    total = np.einsum("c,cij->ij", weights, expected) + np.einsum("c,ci,cj->ij", weights, gaps, gaps)
    found = model.posterior(at).distribution.covariance_matrix.detach().numpy()
    np.testing.assert_allclose(found, total, rtol=0, atol=1e-6 * np.max(total))
    assert np.linalg.eigvalsh(found).min() > -1e-9 * np.max(found)


@pytest.mark.parametrize("shape", [(2, 1), (1, 3)])
def test_slopes(model, shape):
    import torch

    def moments(at):
        normal = model.posterior(at).distribution
        return normal.mean, normal.covariance_matrix

    assert torch.autograd.gradcheck(moments, points(*shape).requires_grad_(), eps=1e-6, atol=1e-5, rtol=1e-4)


def test_slopes_with_two_parameters():
    import torch

    from pinnbo.botorch import PINNModel

    space = Space(x=(0.0, 3.0), y=(-5.0, 5.0))
    optimizer = Optimizer(space, method="auto", noise=0.05)
    table = space.sobol(5, 3)
    optimizer.tell(table, np.sin(table).sum(axis=1))
    model = PINNModel(optimizer)
    at = torch.tensor(space.sobol(2, 4)[None]).requires_grad_()
    assert torch.autograd.gradcheck(
        lambda at: model.posterior(at).distribution.covariance_matrix, at, atol=1e-5, rtol=1e-4
    )


def test_log_expected_improvement_finds_where_the_improvement_is_largest(model, optimizer):
    import torch
    from botorch.acquisition import LogExpectedImprovement
    from botorch.optim import optimize_acqf
    from scipy.stats import norm

    torch.manual_seed(0)
    acquisition = LogExpectedImprovement(model, best_f=optimizer.best.mean, maximize=False)
    bounds = torch.tensor([[0.0], [3.0]], dtype=torch.float64)
    # the model is smooth to eleven digits: a slope below 1e-4 promises less than rounding
    found, value = optimize_acqf(
        acquisition, bounds, q=1, num_restarts=3, raw_samples=32, options={"gtol": 1e-4}
    )
    grid = np.linspace(0.0, 3.0, 1001)[:, None]
    mean, std = optimizer.predict(grid)
    gain = optimizer.best.mean - mean
    improvement = gain * norm.cdf(gain / std) + std * norm.pdf(gain / std)
    assert float(value) == pytest.approx(np.log(improvement.max()), abs=1e-2)
    assert float(found) == pytest.approx(float(grid[np.argmax(improvement), 0]), abs=0.02)


def test_several_points_at_once(model, optimizer):
    import torch
    from botorch.acquisition import qLogExpectedImprovement
    from botorch.acquisition.objective import GenericMCObjective
    from botorch.optim import optimize_acqf
    from botorch.sampling import SobolQMCNormalSampler

    torch.manual_seed(0)
    acquisition = qLogExpectedImprovement(
        model,
        best_f=-optimizer.best.mean,
        sampler=SobolQMCNormalSampler(torch.Size([32]), seed=0),
        objective=GenericMCObjective(lambda samples, X=None: -samples[..., 0]),
    )
    bounds = torch.tensor([[0.0], [3.0]], dtype=torch.float64)
    found, _ = optimize_acqf(acquisition, bounds, q=2, num_restarts=2, raw_samples=8)
    assert found.shape == (2, 1)
    assert abs(float(found[0] - found[1])) > 1e-3


def test_refusals(model, optimizer):
    with pytest.raises(NotImplementedError, match="observation_noise=False"):
        model.posterior(points(1), observation_noise=True)
    with pytest.raises(TypeError, match="posterior: expected method 'auto', got 'random'"):
        Optimizer(SPACE, method="random").posterior()
