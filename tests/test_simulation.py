"""A simulation as prior mean."""

import json

import numpy as np
import pytest

from pinnbo import PDE, Optimizer, Space
from pinnbo.data import Data, Standard
from pinnbo.gp.conditioning import given, plain
from pinnbo.gp.kernels import RBF
from pinnbo.gp.posterior import condition
from pinnbo.gp.simulation import Simulation
from pinnbo.methods.auto import Auto
from pinnbo.operators import laplacian
from pinnbo.physics.functionals import Functionals
from pinnbo.physics.jets import JetPDE

SPACE = Space(x=(0.0, 2.0), y=(-1.0, 1.0))
NOTHING = Data(np.zeros((0, 2)), np.zeros(0), np.zeros(0), np.zeros((0, 2)))


def truth(p):
    """A harmonic function."""
    return np.exp(p[..., 0]) * np.cos(p[..., 1]) + 3.0


def rough(x):
    """One with other boundary values."""
    return 1.2 * np.exp(x[0]) * np.cos(x[1]) + 0.4 * x[0] * x[1] + 3.0


def test_the_spline_is_the_function_and_its_derivatives():
    """Of a polynomial of degree three exactly, in coordinates of the box."""
    simulation = Simulation.of(SPACE, lambda x: x[0] ** 3 - 2.0 * x[0] * x[1] ** 2 + 5.0)
    points = SPACE.sobol(20, 1)
    x, y = points.T
    np.testing.assert_allclose(simulation.at(SPACE.scale(points)), x**3 - 2 * x * y**2 + 5, atol=1e-10)
    np.testing.assert_allclose(simulation.at(SPACE.scale(points), (1, 0)), 3 * x**2 - 2 * y**2, atol=1e-8)
    slope = Functionals(SPACE.scale(points), np.ones((20, 1)), np.array([[0, 1]]), np.zeros(20), np.zeros(20))
    np.testing.assert_allclose(simulation.of_functionals(slope), -4 * x * y, atol=1e-8)


def processes():
    """Without equations, and given Laplace's, exactly and on features."""
    rows = JetPDE(SPACE, PDE(laplacian)).rows(SPACE.scale(SPACE.sobol(200, 3)), np.zeros((200, 1)))
    found = given(RBF(np.array([0.8, 0.8])), rows, 1.0, 1e-3)
    return {
        "plain": plain(RBF(np.array([0.8, 0.8]))),
        "exact": found.process(),
        "compressed": found.compressed(),
    }


@pytest.mark.parametrize("name", ["plain", "exact", "compressed"])
def test_a_process_has_the_simulation_as_mean(name):
    """In user units whatever shift and scale; slopes and functionals of it too."""
    process = Simulation.of(SPACE, truth).as_mean(processes()[name])
    points = SPACE.scale(SPACE.sobol(30, 4))
    for shift, scale in ((0.0, 1.0), (50.0, 0.3)):
        standard = Standard(shift, scale)
        at = process.locate(points, slopes=True)
        mean = shift + scale * process.mean(at, standard)
        np.testing.assert_allclose(mean, truth(SPACE.unscale(points)), atol=5e-3)
        step = np.array([1e-5, 0.0])
        around = [process.mean(process.locate(points + move), standard) for move in (step, -step)]
        np.testing.assert_allclose(
            at.slopes[:, 0] @ process.mean_weights(standard),
            (around[0] - around[1]) / 2e-5,
            rtol=1e-3,
            atol=1e-4,
        )
    read = process.read(points, Functionals.at(points))
    np.testing.assert_allclose(read.features, process.locate(points).features, atol=1e-7)


def test_given_equations_the_mean_is_a_solution():
    """What the simulation says that no solution can do is left out."""
    wrong = Simulation.of(SPACE, lambda x: truth(x) + 0.5 * x[0] ** 2)
    process = wrong.as_mean(processes()["compressed"])
    step, h = SPACE.scale(SPACE.centre + 0.0)[None], 0.05

    def mean(move):
        return process.mean(process.locate(step + np.array(move)), Standard(0.0, 1.0))[0]

    bend = (mean([h, 0]) + mean([-h, 0]) + mean([0, h]) + mean([0, -h]) - 4 * mean([0, 0])) / h**2
    assert abs(bend) < 0.1  # 1.0 of the simulation


def test_a_simulation_in_other_units_is_scaled():
    """Half of the truth's variation, and an offset: five points are enough without any equation."""
    points = SPACE.sobol(5, 2)
    data = Data(points, truth(points), np.full(5, 1e-3), np.zeros((0, 2)))
    process = Simulation.of(SPACE, lambda x: 0.5 * truth(x) + 1.0).as_mean(plain(RBF(np.array([1.0, 1.0]))))
    posterior = condition(process, data, SPACE)
    probes = SPACE.sobol(50, 7)
    error = posterior.moments(SPACE.scale(probes)).mean[:, 0] - truth(probes)
    alone = condition(plain(RBF(np.array([1.0, 1.0]))), data, SPACE).moments(SPACE.scale(probes)).mean[:, 0]
    assert np.sqrt(np.mean(error**2)) < 0.25 * np.sqrt(np.mean((alone - truth(probes)) ** 2))


@pytest.mark.parametrize("pde", [None, PDE(laplacian)], ids=["none", "laplace"])
def test_a_rough_simulation_helps_and_a_wrong_one_is_given_up(pde):
    """Errors of the map after six points, beside those without."""
    probes = SPACE.sobol(100, 9)
    points = SPACE.sobol(6, 2)

    def error(mean):
        opt = Optimizer(SPACE, pde, noise=0.01, mean=mean, method=Auto(collocation=100))
        opt.tell(points, truth(points) + 0.01 * np.random.default_rng(0).normal(size=6))
        return np.sqrt(np.mean((opt.predict(probes).mean - truth(probes)) ** 2)), opt

    without, _ = error(None)
    with_rough, opt = error(rough)
    assert with_rough < 0.8 * without
    assert "around the simulation" in opt.diagnostics()["model"]
    with_wrong, opt = error(lambda x: 5.0 * np.sin(3.0 * x[0]) * np.cos(4.0 * x[1]))
    assert with_wrong < 1.3 * without


def test_the_first_point_is_where_the_simulation_is_best_or_unsure():
    """Before anything is measured."""
    assert SPACE.contains(Optimizer(SPACE, goal="maximize", mean=rough).ask())


def test_a_state_knows_its_simulation():
    """And is taken up with it alone."""
    opt = Optimizer(SPACE, mean=rough)
    opt.tell(SPACE.sobol(4, 1), truth(SPACE.sobol(4, 1)))
    stored = json.loads(json.dumps(opt.to_dict()))
    again = Optimizer.from_dict(stored, mean=rough)
    np.testing.assert_array_equal(opt.ask(), again.ask())
    with pytest.raises(ValueError, match="stored with a simulation"):
        Optimizer.from_dict(stored)
    with pytest.raises(ValueError, match="mean is not the simulation"):
        Optimizer.from_dict(stored, mean=lambda x: 0.0)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"mean": lambda x: [1.0, 2.0]}, "gives a number"),
        ({"mean": lambda x: np.nan}, "finite values on the whole space"),
        ({"mean": rough, "method": "random"}, "cannot use a simulation"),
    ],
)
def test_bad_input_gets_one_sentence(settings, sentence):
    """That names the thing."""
    with pytest.raises(ValueError, match=sentence):
        Optimizer(SPACE, **settings)
    with pytest.raises(ValueError, match="at most 5 coordinates"):
        Optimizer(Space.box(np.zeros(6), np.ones(6)), mean=rough)


def test_runs_studies_and_problem_files_take_it(tmp_path):
    """And hand it to the optimizer."""
    import optuna

    from pinnbo import maximize
    from pinnbo.optuna import PINNSampler
    from pinnbo.studies import problem_file

    result = maximize(truth, SPACE, n_trials=1, mean=rough, progress=False)
    assert result.optimizer._task.simulation is not None
    sampler = PINNSampler(SPACE, mean=rough)
    study = optuna.create_study(sampler=sampler)
    assert sampler.optimizer(study)._task.simulation is not None
    (tmp_path / "lab.py").write_text("def simulate(x): return float(x[0])\n")
    text = 'goal = "minimize"\nbudget = 6\nmean = "lab.py:simulate"\n[space]\nx = [0.0, 1.0]\n'
    (tmp_path / "lab.toml").write_text(text)
    problem = problem_file.read(tmp_path / "lab.toml")
    assert problem.options["mean"]([0.5]) == 0.5
