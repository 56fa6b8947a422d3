"""Importing the package is quick and quiet, and makes float64 the default whoever imports JAX first."""

import os
import subprocess
import sys
from pathlib import Path

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


def compiled(folder, first="pinnbo", **environment):
    """How many functions a new process takes from the cache, and where JAX looks for them."""
    code = (
        f"import {first}, pinnbo, jax, jax.numpy as jnp\n"
        "from jax import monitoring\n"
        "hits = []\n"
        "monitoring.register_event_listener(lambda name, **_: hits.append(name) if 'cache_hits' in name else None)\n"
        "jax.jit(lambda x: jnp.sin(x) + 1.0)(jnp.ones(5)).block_until_ready()\n"
        "print(len(hits), jax.config.jax_compilation_cache_dir)"
    )
    ours = {name: value for name, value in os.environ.items() if not name.startswith(("JAX_", "TF_"))}
    wanted = {**ours, "PINNBO_COMPILATION_CACHE": str(folder), **environment}
    done = subprocess.run(
        [sys.executable, "-c", code], env=wanted, capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    hits, where = done.stdout.split()
    return int(hits), where


def test_what_is_compiled_is_kept_for_the_next_process(tmp_path):
    hits, where = compiled(tmp_path / "cache")
    assert hits == 0
    assert Path(where).parent == tmp_path / "cache"
    assert list(Path(where).iterdir())
    assert compiled(tmp_path / "cache") == (len(list(Path(where).iterdir())), where)


def test_the_cache_is_kept_off_where_it_is_not_wanted(tmp_path):
    assert compiled("off") == (0, "None")
    assert compiled(tmp_path / "ours", JAX_COMPILATION_CACHE_DIR=str(tmp_path / "theirs"))[1].endswith(
        "theirs"
    )
    assert compiled(tmp_path / "ours", first="jax") == (0, "None")
    assert not (tmp_path / "ours").exists()
    (tmp_path / "file").touch()
    assert compiled(tmp_path / "file") == (0, "None")


def test_a_process_that_began_with_jax_does_not_make_its_children_noisy(tmp_path):
    # JAX leaves its own level in the environment, and XLA then complains of what it has compiled itself
    code = "import jax, os; print(os.environ.get('TF_CPP_MIN_LOG_LEVEL'))"
    ours = {name: value for name, value in os.environ.items() if not name.startswith(("JAX_", "TF_"))}
    left = subprocess.run([sys.executable, "-c", code], env=ours, capture_output=True, text=True, check=True)
    level = left.stdout.strip()
    for _ in range(2):
        compiled(tmp_path / "cache", TF_CPP_MIN_LOG_LEVEL=level)


def test_public_names():
    for name in (*pinnbo.__all__, "methods", "operators", "problems"):
        assert getattr(pinnbo, name) is not None
        assert name in dir(pinnbo)
    with pytest.raises(AttributeError, match="module 'pinnbo' has no attribute 'nonsense'"):
        _ = pinnbo.nonsense
