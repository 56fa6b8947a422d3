"""Shapes are checked in every module that holds arrays, and the table of methods that every property is tested over."""

import dataclasses
import os
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path

# what is tested is what is compiled now, and the cache of whoever runs the tests is left alone
os.environ["PINNBO_COMPILATION_CACHE"] = "off"

import jaxtyping

import checking

# before anything imports the package; what holds arrays
_CHECKED = [
    *(
        "pinnbo.acquisition",
        "pinnbo.baselines",
        "pinnbo.data",
        "pinnbo.ensemble",
        "pinnbo.gp",
        "pinnbo.measurements",
        "pinnbo.methods",
    ),
    *(
        "pinnbo.network",
        "pinnbo.operators",
        "pinnbo.optimizer",
        "pinnbo.optuna",
        "pinnbo.pde",
        "pinnbo.physics",
    ),
    *("pinnbo.run", "pinnbo.space", "pinnbo.studies.record", "pinnbo.studies.stopping"),
]
jaxtyping.install_import_hook(_CHECKED, "checking.first_calls")

import jax  # noqa: E402
import numpy as np  # noqa: E402
import pytest  # noqa: E402

from pinnbo import methods  # noqa: E402

# sizes at which any method answers in a moment, for whichever of the settings it has
_SMALL = {"width": 20, "collocation": 40, "epochs": 20, "information_width": 8, "candidates": 100}
# settings that change how a method comes to its suggestion
_VARIANTS = {
    "ntk-mean": ("ntk", {"acquisition": "mean"}),
    "ntk-bound": ("ntk", {"acquisition": "bound"}),
    "pinn-bo-chained": ("pinn-bo", {"restart": False}),
    "pinn-bo-seldom": ("pinn-bo", {"restart": False, "update_every": 3}),
}


def small(name, **changes):
    """The method's settings object, with small sizes."""
    settings = methods.get(name)
    sizes = {f.name: _SMALL[f.name] for f in dataclasses.fields(settings) if f.name in _SMALL}
    return dataclasses.replace(settings, **{**sizes, **changes})


# they share their engine with one that is tested every time
_LIKE_ANOTHER = {"gp-ei", "gp-ucb", "neural-greedy", "optuna-gp"}
# a name that stands for the settings of another one is not tested twice
_DIFFERENT = [
    pytest.param(name, marks=pytest.mark.slow) if name in _LIKE_ANOTHER else name
    for name in {small(name): name for name in methods.available()}.values()
]


@pytest.fixture(autouse=True)
def _checked():
    """Every test has its own share of checks."""
    checking.begin()


@pytest.fixture(params=_DIFFERENT)
def method(request):
    """Every method that can be asked for by name."""
    return small(request.param)


@pytest.fixture(params=[*_DIFFERENT, *_VARIANTS])
def variant(request):
    """Every method, and every way of using it that keeps a state of its own."""
    name, changes = _VARIANTS.get(request.param, (request.param, {}))
    return small(name, **changes)


@pytest.fixture
def make_small():
    """The function that makes small settings: ``make_small("ntk", acquisition="mean")``."""
    return small


@pytest.fixture
def unchecked():
    """What a user sees who passes nonsense: the package's own checks without those of the annotations."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


@pytest.fixture
def strict_dtypes():
    """A silent cast is an error."""
    with jax.numpy_dtype_promotion("strict"):
        yield


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def lab(tmp_path, capsys):
    """A folder with a problem file, and ``pinnbo`` to run on it."""
    from studies_help import Lab

    lab = Lab(tmp_path, capsys)
    lab.problem()
    return lab


class Server:
    """A PostgreSQL server of the tests, which can be restarted."""

    script = Path(__file__).parents[1] / "scripts" / "postgresql"

    def __init__(self) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = str(free.getsockname()[1])
        self.folder = tempfile.mkdtemp(prefix="pinnbo-postgresql-")
        self.url = f"postgresql://pinnbo@127.0.0.1:{self.port}/pinnbo"
        done = self._script("start", self.folder, self.port)
        if done.returncode:
            pytest.fail(f"no PostgreSQL server: {done.stderr}")

    def stop(self) -> None:
        assert self._script("stop", self.folder).returncode == 0

    def again(self) -> None:
        assert self._script("again", self.folder, self.port).returncode == 0

    def _script(self, *arguments: str) -> subprocess.CompletedProcess:
        # the output goes to a file: the server would hold a pipe open
        with tempfile.TemporaryFile("w+") as said:
            done = subprocess.run([self.script, *arguments], stdout=said, stderr=said, check=False)
            said.seek(0)
            return subprocess.CompletedProcess(done.args, done.returncode, stderr=said.read())


@pytest.fixture(scope="session")
def postgresql():
    """A PostgreSQL server for these tests; where there is none, the script says what to do."""
    server = Server()
    yield server
    server.stop()
    shutil.rmtree(server.folder)


@pytest.fixture
def server(postgresql):
    """The URL of that server."""
    return postgresql.url


@pytest.fixture(scope="module")
def browser():
    """Chromium without a window; where there is none, the script says what to do."""
    from browser import Browser

    with tempfile.TemporaryDirectory(prefix="pinnbo-chromium-", ignore_cleanup_errors=True) as folder:
        found = Browser(folder)
        yield found
        found.close()
