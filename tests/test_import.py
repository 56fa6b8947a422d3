"""Importing the package is quick and quiet, and makes float64 the default whoever imports JAX first."""

import subprocess
import sys

import pytest

import pinnbo

HEAVY = ("torch", "optuna", "matplotlib", "sympy", "botorch", "deepxde", "pde", "cmaes", "distributed")


def python(code):
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_import_loads_nothing_heavy():
    assert (
        python(f"import sys, pinnbo; print([m for m in {(*HEAVY, 'jax', 'numpy')} if m in sys.modules])")
        == "[]"
    )


def test_the_whole_public_interface_loads_nothing_heavy():
    code = (
        "import sys\n"
        "from pinnbo import PDE, Optimizer, Result, Space, maximize, minimize\n"
        "from pinnbo import methods, operators, problems\n"
        "for name in methods.available(): methods.get(name)\n"
        f"print([m for m in {HEAVY} if m in sys.modules])"
    )
    assert python(code) == "[]"


@pytest.mark.parametrize(
    "imports",
    [
        "import pinnbo, jax",
        "import jax, pinnbo",
        "import jax.numpy as jnp, pinnbo.operators, jax",
        "from pinnbo import PDE; import jax",
    ],
)
def test_float64_is_the_default(imports):
    assert (
        python(f"{imports}\nimport jax.numpy as jnp\nprint(jnp.zeros(1).dtype, jnp.asarray(0.1).dtype)")
        == "float64 float64"
    )


def test_public_names():
    for name in (*pinnbo.__all__, "methods", "operators", "problems"):
        assert getattr(pinnbo, name) is not None
        assert name in dir(pinnbo)
    with pytest.raises(AttributeError, match="module 'pinnbo' has no attribute 'nonsense'"):
        _ = pinnbo.nonsense
