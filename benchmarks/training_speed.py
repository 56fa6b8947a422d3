"""Training speed: 100 epochs of the same network, points and loss in pinnbo and in DeepXDE.

For heat (2-D Laplacian), the beam (4th order) and Rastrigin-20, both sides start from the same weights and
minimise the same function by Adam in float64. DeepXDE runs with its PyTorch and its JAX backend, the latter in
reverse mode (its default) and in forward mode. Every engine has a process of its own, the engines take turns,
and what counts is the ratio of medians to DeepXDE's fastest. Compilation and warm-up are reported apart.

    pip install -c constraints.txt -e '.[deepxde]'       # DeepXDE and Flax, which nothing else needs
    python benchmarks/training_speed.py                  # three minutes; writes docs/benchmarks/training-speed.md
    python benchmarks/training_speed.py --only beam-1    # one problem, writes nothing
    python benchmarks/training_speed.py --smoke          # small, writes nothing

A configuration that cannot start is reported and left out.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median
from typing import Any, Protocol

import numpy as np

from pinnbo.bench.provenance import commit

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "out" / "training-speed.json"
PAGE = ROOT / "docs" / "benchmarks" / "training-speed.md"

# problem, and the ratio to reach
TARGETS = {"heat-1": 1.2, "beam-1": 4.0, "rastrigin-20": 1.2}
LABELS = {"heat-1": "heat (2-D Laplacian)", "beam-1": "beam (4th order)", "rastrigin-20": "Rastrigin-20"}

OURS = "pinnbo"
# DeepXDE's forward mode is left out where it has no chance: 20 passes for a gradient in 20-D, and PyTorch, whose
# torch.func.jvp traces in every step (some hundred times slower)
RIVALS = {
    "heat-1": ("deepxde pytorch reverse", "deepxde jax reverse", "deepxde jax forward"),
    "beam-1": ("deepxde pytorch reverse", "deepxde jax reverse", "deepxde jax forward"),
    "rastrigin-20": ("deepxde pytorch reverse", "deepxde jax reverse"),
}
PACKAGES = ("jax", "jaxlib", "optax", "DeepXDE", "torch", "flax", "numpy")

# a DeepXDE engine that is slower than its fastest by more than this in a first warm run is not repeated
HOPELESS = 2.0
N_OBSERVATIONS = 50
LEARNING_RATE = 1e-3
INITIAL_TOLERANCE, FINAL_TOLERANCE = 1e-8, 1e-4


@dataclass(frozen=True)
class Size:
    """What is trained, for how long and how often."""

    collocation: int = 1000
    width: int = 100
    depth: int = 3
    epochs: int = 100
    repeats: int = 5


SMOKE = Size(collocation=64, width=16, epochs=10, repeats=1)


@dataclass(frozen=True)
class Outcome:
    """One engine on one problem; times in seconds."""

    engine: str
    preparation: float
    runs: list[float]
    first_loss: float
    last_loss: float

    @property
    def time(self) -> float:
        """Median over the runs."""
        return median(self.runs)


class Run(Protocol):
    """One warm training run."""

    def __call__(self) -> tuple[float, float, float]:
        """Seconds, and the loss before and after."""
        ...


# --- the problem, as arrays that both sides read


def write_setup(name: str, size: Size, path: Path) -> None:
    """Everything that defines the loss: weights, points, values, sources, row sizes, units."""
    import jax

    from pinnbo import problems
    from pinnbo.network.features import row_sizes
    from pinnbo.network.field import Units
    from pinnbo.network.mlp import MLP

    problem = problems.get(name)
    space, rng = problem.space, np.random.default_rng(0)
    model = MLP(space.dim, size.width, size.depth, gain=3.0)
    theta = model.initial(jax.random.key(0))
    observed = space.sobol(N_OBSERVATIONS, seed=1)
    values = problem.truth(observed) + problem.noise * rng.standard_normal(N_OBSERVATIONS)
    points, source = problem.pde.collocation(space, size.collocation, seed=2)
    arrays = {f"weight{i}": layer.weight for i, layer in enumerate(theta)}
    arrays |= {f"bias{i}": layer.bias for i, layer in enumerate(theta)}
    np.savez(
        path,
        lower=space.lower,
        upper=space.upper,
        centre=space.centre,
        half_width=space.half_width,
        observed=observed,
        values=values,
        points=points,
        source=source,
        row_size=row_sizes(model, problem.pde, theta, Units.of(space), points),
        shift=values.mean(),
        scale=values.std(),
        beam=_beam_coefficients(problem, np.concatenate([observed, points])) if name == "beam-1" else 0.0,
        **arrays,
    )


def _beam_coefficients(problem: Any, points: np.ndarray) -> np.ndarray:
    """Factors of w'', w''' and w'''' at points: N is linear, so they are N of s^k / k! around each point."""
    import jax
    import jax.numpy as jnp

    def factor(x: Any, k: int) -> Any:
        return problem.pde.operator(lambda p: (p[0] - x[0]) ** k / math.factorial(k))(x)

    return np.stack([jax.vmap(lambda x, k=k: factor(x, k))(jnp.asarray(points)) for k in (2, 3, 4)])


def read_setup(path: str) -> dict[str, np.ndarray]:
    with np.load(path, allow_pickle=False) as stored:
        return dict(stored)


# --- the engines, each in its own process


def prepare_pinnbo(name: str, size: Size, setup: dict[str, np.ndarray]) -> Run:
    import jax
    import jax.numpy as jnp

    from pinnbo import problems
    from pinnbo.network.field import Units
    from pinnbo.network.mlp import MLP, Layer
    from pinnbo.network.train import PhysicsData, Schedule, data_loss, pad, physics_loss, train

    problem = problems.get(name)
    model = MLP(problem.space.dim, size.width, size.depth, gain=3.0)
    theta = tuple(
        Layer(jnp.asarray(setup[f"weight{i}"]), jnp.asarray(setup[f"bias{i}"])) for i in range(size.depth)
    )
    units = Units.of(problem.space, float(setup["shift"]), float(setup["scale"]))
    data = pad(setup["observed"], setup["values"])
    physics = (PhysicsData(*(jnp.asarray(setup[key]) for key in ("points", "source", "row_size"))),)
    schedule = Schedule(size.epochs, "adam", decay=1.0)

    @jax.jit
    def loss(theta: Any) -> Any:
        total = data_loss(model, theta, units, 1.0, data)
        total += physics_loss(problem.pde, model, theta, units, 1.0, physics[0])
        return total / (len(setup["values"]) + setup["source"].size)

    def run() -> tuple[float, float, float]:
        start = time.perf_counter()
        trained = train(
            (problem.pde,),
            schedule,
            model,
            theta,
            units,
            data,
            physics,
            1.0,
            LEARNING_RATE,
            jax.random.key(0),
        )
        jax.block_until_ready(trained)
        seconds = time.perf_counter() - start
        return seconds, float(trained.losses[0]), float(loss(trained.theta))

    run()
    return run


def prepare_deepxde(backend: str, mode: str, name: str, size: Size, setup: dict[str, np.ndarray]) -> Run:
    import deepxde as dde

    dde.config.set_default_float("float64")
    dde.config.set_default_autodiff(mode)
    scale = float(setup["scale"])
    n, rows = len(setup["values"]), setup["source"].size
    observations = dde.icbc.PointSetBC(setup["observed"], setup["values"][:, None])
    data = dde.data.PDE(
        dde.geometry.Hypercube(setup["lower"], setup["upper"])
        if len(setup["lower"]) > 1
        else dde.geometry.Interval(float(setup["lower"][0]), float(setup["upper"][0])),
        _residual(dde, mode, name, setup),
        [observations],
        anchors=setup["points"],
    )
    dim = len(setup["lower"])
    net = dde.nn.FNN([dim] + [size.width] * (size.depth - 1) + [1], "tanh", "Glorot normal")
    centre, half = (dde.backend.as_tensor(setup[key]) for key in ("centre", "half_width"))
    net.apply_feature_transform(lambda x: (x - centre) / half)
    factor, shift = scale / np.sqrt(size.width), float(setup["shift"])
    net.apply_output_transform(lambda x, y: shift + factor * y)
    model = dde.Model(data, net)
    weights = [rows / (n + rows), n / (n + rows) / scale**2]
    model.compile("adam", lr=LEARNING_RATE, loss="MSE", loss_weights=weights, verbose=0)
    reset, wait = (_control_pytorch if backend == "pytorch" else _control_jax)(model, size, setup)

    class Stopwatch(dde.callbacks.Callback):
        """Time and loss after 0 and after `epochs` whole steps, without DeepXDE's own tests in between."""

        def on_train_begin(self) -> None:
            self.steps, self.losses = 0, [self.loss()]
            wait()
            self.start = time.perf_counter()

        def on_batch_begin(self) -> None:
            if self.steps == size.epochs:
                wait()
                self.seconds = time.perf_counter() - self.start
                self.losses.append(self.loss())
            self.steps += 1

        def loss(self) -> float:
            state = self.model.train_state
            arguments = state.X_train, state.y_train, state.train_aux_vars
            losses = self.model._outputs_losses(True, *arguments)[1]
            return float(np.sum(dde.backend.to_numpy(losses) if backend == "jax" else losses))

    def run() -> tuple[float, float, float]:
        reset()
        watch = Stopwatch()
        model.train(iterations=size.epochs + 1, display_every=10**9, callbacks=[watch], verbose=0)
        return watch.seconds, *watch.losses

    run()
    return run


def _control_pytorch(model: Any, size: Size, setup: dict[str, np.ndarray]) -> tuple[Callable, Callable]:
    """Put the initial weights back; wait for nothing."""
    import torch

    def reset() -> None:
        with torch.no_grad():
            for i, linear in enumerate(model.net.linears):
                linear.weight.copy_(torch.as_tensor(setup[f"weight{i}"]))
                linear.bias.copy_(torch.as_tensor(setup[f"bias{i}"]))
        model.opt.state.clear()
        model.train_state.step = 0

    return reset, lambda: None


def _control_jax(model: Any, size: Size, setup: dict[str, np.ndarray]) -> tuple[Callable, Callable]:
    """Put the initial weights back; wait until all dispatched steps are done."""
    import jax
    import jax.numpy as jnp

    def reset() -> None:
        layers = {
            f"denses_{i}": {
                "kernel": jnp.asarray(setup[f"weight{i}"].T),
                "bias": jnp.asarray(setup[f"bias{i}"]),
            }
            for i in range(size.depth)
        }
        model.params = [{"params": layers}, []]
        model.opt_state = model.opt.init(model.params)
        model.train_state.step = 0

    return reset, lambda: jax.block_until_ready(model.params)


def _residual(dde: Any, mode: str, name: str, setup: dict[str, np.ndarray]) -> Callable[[Any, Any], Any]:
    """(N[f] - u) / (scale r) as DeepXDE writes it; what depends on the points alone is computed beforehand.

    DeepXDE evaluates the residual at the observed points too, and drops it there: they come first.
    """
    blank = np.zeros((len(setup["values"]), 1))
    source = dde.backend.as_tensor(np.concatenate([blank, setup["source"]]))
    weight = dde.backend.as_tensor(np.concatenate([blank, 1 / (float(setup["scale"]) * setup["row_size"])]))

    def value(derivative: Any) -> Any:
        """The values alone, where DeepXDE carries a function along to differentiate it again."""
        return derivative[0] if isinstance(derivative, tuple) else derivative

    if name.startswith("heat"):

        def operator(x: Any, f: Any) -> Any:
            return value(dde.grad.hessian(f, x, i=0, j=0)) + value(dde.grad.hessian(f, x, i=1, j=1))

    elif name.startswith("beam"):
        coefficients = [dde.backend.as_tensor(c) for c in setup["beam"][:, :, None]]

        def operator(x: Any, f: Any) -> Any:
            second = dde.grad.hessian(f, x)
            third = dde.grad.jacobian(second, x)
            fourth = dde.grad.jacobian(third, x)
            terms = zip(coefficients, (second, third, fourth), strict=True)
            return sum(c * value(derivative) for c, derivative in terms)

    else:

        def operator(x: Any, f: Any) -> Any:
            if mode == "forward":
                slopes = (value(dde.grad.jacobian(f, x, j=j)) * x[:, j : j + 1] for j in range(x.shape[1]))
                return sum(slopes) - value(f)
            slope = value(dde.grad.jacobian(f, x, i=0))
            return (x * slope).sum(1)[:, None] - value(f)

    return lambda x, f: weight * (operator(x, f) - source)


# --- processes


def serve(engine: str) -> None:
    """Answer one JSON line per request; what libraries print goes to stderr."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    run: Run | None = None
    for line in sys.stdin:
        request = json.loads(line)
        if request["do"] == "prepare":
            name, size, setup = request["problem"], Size(**request["size"]), read_setup(request["setup"])
            start = time.perf_counter()
            if engine == OURS:
                run = prepare_pinnbo(name, size, setup)
            else:
                run = prepare_deepxde(*engine.split()[1:], name, size, setup)
            answer: Any = time.perf_counter() - start
        else:
            answer = run()
        print(json.dumps(answer), file=answers, flush=True)


class Worker:
    """An engine in its own process."""

    def __init__(self, engine: str, folder: Path) -> None:
        self.engine = engine
        environment = dict(os.environ, JAX_ENABLE_X64="1", JAX_PLATFORMS="cpu")
        if engine != OURS:
            environment["DDE_BACKEND"] = engine.split()[1]
        self._log = folder / f"{engine.replace(' ', '-')}.log"
        with self._log.open("w") as log:
            self._process = subprocess.Popen(
                [sys.executable, __file__, "--serve", engine],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env=environment,
            )

    def ask(self, **request: Any) -> Any:
        """Send a request and wait for the answer."""
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            last = self._log.read_text().strip().splitlines()[-1:]
            raise RuntimeError(f"{self.engine}: {last[0] if last else 'ended'}")
        return json.loads(line)

    def close(self) -> None:
        """End the process."""
        self._process.stdin.close()
        self._process.wait()


def measure(name: str, size: Size, folder: Path) -> tuple[list[Outcome], dict[str, str]]:
    """All engines on one problem, taking turns, and the reasons why some are missing."""
    setup = folder / f"{name}.npz"
    write_setup(name, size, setup)
    workers, preparation, missing = {}, {}, {}
    for engine in (OURS, *RIVALS[name]):
        worker = Worker(engine, folder)
        try:
            preparation[engine] = worker.ask(do="prepare", problem=name, size=asdict(size), setup=str(setup))
            workers[engine] = worker
        except RuntimeError as error:
            if engine == OURS:
                raise
            missing[engine] = str(error)
    answers: dict[str, list[list[float]]] = {engine: [workers[engine].ask(do="run")] for engine in workers}
    rivals = [engine for engine in workers if engine != OURS]
    if not rivals:
        raise SystemExit("\n".join(["DeepXDE does not start:", *missing.values()]))
    fastest = min(answers[engine][0][0] for engine in rivals)
    for engine in rivals:
        if answers[engine][0][0] > HOPELESS * fastest:
            workers.pop(engine).close()
    for engine in workers:
        answers[engine].clear()
    for _ in range(size.repeats):
        for engine, worker in workers.items():
            answers[engine].append(worker.ask(do="run"))
    for worker in workers.values():
        worker.close()
    outcomes = [
        Outcome(engine, preparation[engine], [run[0] for run in runs], *runs[-1][1:])
        for engine, runs in answers.items()
    ]
    return outcomes, missing


# --- the report


def check(name: str, outcomes: list[Outcome]) -> None:
    """All engines minimise the same function: the losses agree before and after."""
    ours = outcomes[0]
    for other in outcomes[1:]:
        for what, tolerance in (("first_loss", INITIAL_TOLERANCE), ("last_loss", FINAL_TOLERANCE)):
            a, b = getattr(ours, what), getattr(other, what)
            if not abs(a - b) <= tolerance * abs(a):
                raise SystemExit(f"{name}: {what} differs: {a!r} in pinnbo, {b!r} in {other.engine}")


def best_rival(outcomes: list[Outcome]) -> Outcome:
    return min(outcomes[1:], key=lambda o: o.time)


def table(results: dict[str, list[Outcome]]) -> str:
    lines = [
        "| problem | engine | time | least to most | preparation | first loss | last loss |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, outcomes in results.items():
        unit = outcomes[0].time
        for o in outcomes:
            spread = f"{min(o.runs) / unit:.2f} to {max(o.runs) / unit:.2f}" if len(o.runs) > 1 else "one run"
            lines.append(
                f"| {LABELS[name]} | {o.engine} | {o.time / unit:.2f} | {spread} | {o.preparation:.1f} s "
                f"| {o.first_loss:.10g} | {o.last_loss:.10g} |"
            )
    return "\n".join(lines)


def verdict(results: dict[str, list[Outcome]]) -> str:
    lines = ["| problem | DeepXDE's fastest | we are faster by | target |", "|---|---|---|---|"]
    for name, outcomes in results.items():
        rival = best_rival(outcomes)
        ratio = rival.time / outcomes[0].time
        lines.append(f"| {LABELS[name]} | {rival.engine} | {ratio:.2f} | {TARGETS[name]:g} |")
    return "\n".join(lines)


def page(results: dict[str, list[Outcome]], missing: dict[str, str], size: Size) -> str:
    left_out = "".join(f"\nLeft out: {reason}.\n" for reason in missing.values())
    return f"""# Training speed against DeepXDE

{size.epochs} epochs of Adam (learning rate {LEARNING_RATE:g}) on Eq. (1), full batch, float64, {os.cpu_count()} cores:
{size.depth - 1} hidden layers of {size.width} (tanh, with biases), {size.collocation} collocation points,
{N_OBSERVATIONS} observations.

{verdict(results)}

Both sides start from the same weights and have the same points, observations and loss: the PDE's rows divided
by their prior size, squares summed and divided by their number. DeepXDE's network gets pinnbo's scaling of
inputs and outputs as its transforms, and what depends on the points alone (sources, row sizes, the beam's
coefficients) is computed beforehand for it. The script stops if the losses before training differ by more
than {INITIAL_TOLERANCE:g} of their size, or those after it by more than {FINAL_TOLERANCE:g}.

Times are medians of {size.repeats} warm runs, relative to pinnbo's, each engine in a process of its own and
taking turns. DeepXDE's exclude its tests before and after training. A DeepXDE engine more than {HOPELESS:g} times
slower than the fastest one in a first warm run is not repeated. Preparation is everything before that:
building, compiling and one run.

{table(results)}
{left_out}
Where the difference comes from: [derivatives](operators.md).

    python benchmarks/training_speed.py

Commit {commit()}; {versions()}.
"""


def versions() -> str:
    found = []
    for package in PACKAGES:
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            found.append(f"{package} not installed")
    return ", ".join([f"Python {sys.version.split()[0]}", *found])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--smoke", action="store_true", help="small sizes, nothing is written")
    parser.add_argument("--only", choices=list(TARGETS), help="one problem")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve:
        serve(arguments.serve)
        return
    size = SMOKE if arguments.smoke else Size()
    names = [arguments.only] if arguments.only else list(TARGETS)
    results, missing = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            results[name], absent = measure(name, size, Path(folder))
            missing |= absent
            print(table({name: results[name]}), flush=True)
            check(name, results[name])
    for reason in missing.values():
        print(f"left out: {reason}")
    print(verdict(results))
    if size != SMOKE and not arguments.only:
        RESULTS.parent.mkdir(exist_ok=True)
        stored = {
            name: [asdict(o) | {"median": o.time} for o in outcomes] for name, outcomes in results.items()
        }
        RESULTS.write_text(
            json.dumps({"size": asdict(size), "versions": versions(), "results": stored}, indent=1)
        )
        PAGE.write_text(page(results, missing, size))


if __name__ == "__main__":
    main()
