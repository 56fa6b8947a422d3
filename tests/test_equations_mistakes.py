"""Natural mistakes in operators and sources: each is answered with a sentence that names the mistake and the cure."""

import math

import jax.numpy as jnp
import numpy as np
import pytest

from pinnbo import PDE, Optimizer, Space, maximize
from pinnbo.operators import gradient, hessian, laplacian, partial

PLANE = Space(x=(0.0, 1.0), y=(0.0, 2.0))


def no_return(f):
    def row(x):
        laplacian(f)(x)

    return row


def piecewise(f):
    def row(x):
        if x[0] > 0.5:
            return laplacian(f)(x)
        return f(x)

    return row


MISTAKES = {
    "NumPy of x": (lambda f: lambda x: np.sin(x[0]) * f(x), 0.0, "uses NumPy .* jnp.sin instead of np.sin"),
    "NumPy of f": (lambda f: lambda x: np.exp(f(x)), 0.0, "uses NumPy .* import jax.numpy as jnp"),
    "a NumPy array of values": (lambda f: lambda x: np.array([f(x), f(x)]), 0.0, "uses NumPy"),
    "math of x": (
        lambda f: lambda x: math.sin(x[0]) * f(x),
        0.0,
        "uses math, .* jnp.sin instead of math.sin",
    ),
    "float of x": (lambda f: lambda x: float(x[0]) * f(x), 0.0, "uses math, float or int"),
    "if on x": (piecewise, 0.0, "decides by if, .* jnp.where"),
    "max of Python": (lambda f: lambda x: max(f(x), 0.0), 0.0, "jnp.maximum"),
    "functions added": (lambda f: laplacian(f) + f, 0.0, r"calculates with functions .* add \(x\)"),
    "function times number": (
        lambda f: 3 * laplacian(f),
        0.0,
        r"calculates with functions .* laplacian\(f\)\(x\)",
    ),
    "minus a function": (lambda f: -laplacian(f), 0.0, "calculates with functions"),
    "forgotten (x) in the end": (lambda f: lambda x: laplacian(f), 0.0, r"gives a function .* add \(x\)"),
    "forgotten (x) in a sum": (lambda f: lambda x: laplacian(f) + f(x), 0.0, "calculates with functions"),
    "entry of a function": (
        lambda f: lambda x: gradient(f)[0],
        0.0,
        r"gradient\(f\)\(x\)\[0\], not gradient\(f\)\[0\]",
    ),
    "operator of x": (lambda x: x[0], 0.0, "takes the field f and returns a function of x"),
    "number instead of function": (lambda f: 3.0, 0.0, "operator must return a function of x"),
    "forgotten return": (no_return, 0.0, "is a return missing"),
    "partial of a value": (
        lambda f: lambda x: partial(f(x), 0),
        0.0,
        r"write directional\(f, ...\)\(x\), not",
    ),
    "axis by name": (lambda f: partial(f, "x"), 0.0, "expected the number of an axis, .* got 'x'"),
    "axis that does not exist": (lambda f: partial(f, 2), 0.0, "axis 2 is outside a space of dimension 2"),
    "coordinate by name": (lambda f: lambda x: x["x"] * f(x), 0.0, "takes a coordinate by name"),
    "two coordinates to f": (lambda f: lambda x: f(x[0], x[1]), 0.0, "f takes one point"),
    "name with a typo": (lambda f: lapalcian(f), 0.0, "uses a name that does not exist: .*lapalcian"),
    "matrix": (lambda f: hessian(f), 0.0, "must give a scalar or a vector at a point, got shape"),
    "source of two arguments": (
        laplacian,
        lambda x, y: x * y,
        r"one argument, the point x .* x\[0\] \* x\[1\]",
    ),
    "source of none": (laplacian, lambda: 3.0, "source must take one argument"),
    "source that is a text": (laplacian, "x", "source must be a number, an array or a function of x"),
    "operator that is no function": (3.0, 0.0, "operator must be a function of the field f"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_named_with_its_cure(name, unchecked):
    operator, source, said = MISTAKES[name]
    with pytest.raises((TypeError, ValueError), match=said) as error:
        Optimizer(PLANE, PDE(operator, source, name="mine"))
    assert str(error.value).startswith(("mine: ", "partial: ", "directional: "))
    assert "\n" not in str(error.value)
    assert "Tracer" not in str(error.value)


def test_the_shell_says_the_same_in_one_line(tmp_path, capsys):
    from pinnbo import cli

    (tmp_path / "mine.py").write_text(
        "import numpy as np\nfrom pinnbo import PDE\npde = PDE(lambda f: lambda x: np.sin(x[0]) * f(x), name='mine')\n"
    )
    file = tmp_path / "lab.toml"
    file.write_text('goal = "minimize"\nbudget = 3\npde = "mine.py:pde"\n[space]\nx = [0.0, 1.0]\n')
    assert cli.main(["ask", str(file)]) != 0
    said = capsys.readouterr().err.strip().splitlines()[-1]
    assert "jnp.sin instead of np.sin" in said
    assert cli.main(["check", str(file), "--quick"]) == 1
    assert "error: mine: operator uses NumPy on f or x" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("keywords", "said"),
    [
        ({"trials": 3}, "maximize: trials is unknown, did you mean n_trials"),
        ({"n_trials": 3, "nosie": 0.1}, "maximize: nosie is unknown, did you mean noise"),
        ({"n_trials": 3, "equation": None}, "maximize: equation is unknown; expected some of"),
    ],
)
def test_misspelt_keywords_are_answered_with_the_nearest_one(keywords, said):
    with pytest.raises(TypeError, match=said):
        maximize(lambda x: 0.0, PLANE, **keywords)


def test_what_is_right_stays_right():
    right = PDE(
        lambda f: lambda x: jnp.stack([laplacian(f)(x), f(x)]),
        source=lambda x: np.array([math.sin(x[0]), 1.0]),
    )
    right.validate(PLANE)
