"""Shape checking of the package, and the table of methods that every property is tested over."""

import dataclasses

import jaxtyping

# before anything imports the package. Not among them: `pinnbo.inference.gaussian` and `information`, whose
# annotations hold sums of axes, which jaxtyping cannot check on their own
_CHECKED = [
    "pinnbo.space",
    "pinnbo.operators",
    "pinnbo.pde",
    "pinnbo.data",
    "pinnbo.models",
    "pinnbo.inference.rows",
    "pinnbo.inference.descent",
    "pinnbo.inference.surrogate",
    "pinnbo.acquisition",
    "pinnbo.methods",
    "pinnbo.baselines",
    "pinnbo.optimizer",
    "pinnbo.run",
    "pinnbo.optuna",
    "pinnbo.studies.record",
    "pinnbo.studies.stopping",
]
jaxtyping.install_import_hook(_CHECKED, "beartype.beartype")

import jax  # noqa: E402
import numpy as np  # noqa: E402
import pytest  # noqa: E402

from pinnbo import methods  # noqa: E402

# sizes at which any method answers in a moment, for whichever of the settings it has
_SMALL = {"width": 20, "collocation": 40, "epochs": 20, "information_width": 8}
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
