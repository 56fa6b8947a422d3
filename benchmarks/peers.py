"""`auto`, BoTorch and Optuna's GP sampler behind the same two calls, for benchmarks of time.

As a script it makes one suggestion from measurements on standard input, and says so when it has it:

    python benchmarks/peers.py BoTorch < measurements.json

Nothing is imported before it is needed: the script is timed from the start of its process.
"""

import json
import sys
import warnings


class Auto:
    """`pinnbo.Optimizer` with an equation."""

    def __init__(self, space, pde, goal: str, noise: float, method: str = "auto") -> None:
        from pinnbo import Optimizer

        self._optimizer = Optimizer(space, pde, goal=goal, method=method, noise=noise, seed=0)

    def tell(self, points, values) -> None:
        self._optimizer.tell(points, values)

    def ask(self):
        return self._optimizer.ask()

    def withdraw(self, x) -> None:
        """Let a suggestion go that will not be measured."""
        self._optimizer.tell(x, None)


class BoTorch:
    """SingleTaskGP with its defaults, LogEI, optimize_acqf with its documented effort."""

    def __init__(self, lower, upper, goal: str) -> None:
        self._lower, self._width = lower, upper - lower
        self._sign = 1.0 if goal == "maximize" else -1.0
        self._points, self._values = [], []

    def tell(self, points, values) -> None:
        self._points += list(points)
        self._values += list(values)

    def ask(self):
        import numpy as np
        import torch
        from botorch.acquisition import LogExpectedImprovement
        from botorch.fit import fit_gpytorch_mll
        from botorch.models import SingleTaskGP
        from botorch.optim import optimize_acqf
        from gpytorch.mlls import ExactMarginalLogLikelihood

        x = torch.tensor((np.array(self._points) - self._lower) / self._width)
        y = torch.tensor(self._sign * np.array(self._values))[:, None]
        model = SingleTaskGP(x, y)
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        acquisition = LogExpectedImprovement(model, best_f=y.max())
        bounds = torch.stack([torch.zeros_like(x[0]), torch.ones_like(x[0])])
        candidate, _ = optimize_acqf(acquisition, bounds, q=1, num_restarts=10, raw_samples=512)
        return self._lower + candidate[0].numpy() * self._width

    def withdraw(self, x) -> None:
        """It keeps no account of its suggestions."""


class OptunaGP:
    """`GPSampler` with its defaults on a study in memory; or another sampler and storage."""

    def __init__(self, lower, upper, goal: str, sampler=None, storage=None) -> None:
        import optuna
        from optuna.distributions import FloatDistribution

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        sampler = sampler or optuna.samplers.GPSampler(seed=0)
        self._study = optuna.create_study(sampler=sampler, direction=goal, storage=storage)
        self._box = {
            f"x{i}": FloatDistribution(float(a), float(b))
            for i, (a, b) in enumerate(zip(lower, upper, strict=True))
        }
        self._asked = None

    def tell(self, points, values) -> None:
        from optuna.trial import create_trial

        for x, y in zip(points, values, strict=True):
            named = dict(zip(self._box, map(float, x), strict=True))
            self._study.add_trial(create_trial(params=named, distributions=self._box, value=float(y)))

    def ask(self):
        self._asked = self._study.ask(self._box)
        return list(self._asked.params.values())

    def withdraw(self, x) -> None:
        """Let a suggestion go that will not be measured."""
        from optuna.trial import TrialState

        from pinnbo.studies.record import UNTRIED

        self._asked.set_user_attr(UNTRIED, True)
        self._study.tell(self._asked, state=TrialState.FAIL)


def main() -> None:
    """One suggestion for a field that obeys Laplace's equation."""
    import numpy as np

    warnings.filterwarnings("ignore")
    told = json.load(sys.stdin)
    lower, upper, points = (np.array(told[name]) for name in ("lower", "upper", "points"))
    if sys.argv[1] == "auto":
        from pinnbo import PDE, Space
        from pinnbo.operators import laplacian

        peer = Auto(Space.box(lower, upper), PDE(laplacian), "maximize", told["noise"])
    else:
        peer = {"BoTorch": BoTorch, "Optuna": OptunaGP}[sys.argv[1]](lower, upper, "maximize")
    peer.tell(points, told["values"])
    peer.ask()
    print("suggested", flush=True)


if __name__ == "__main__":
    main()
