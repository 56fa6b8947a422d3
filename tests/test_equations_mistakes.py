"""Natural mistakes in operators and sources: each is answered with a sentence that names the mistake and the cure.

Every mistake is Python as somebody would type it, tried in Python and from the shell.
"""

import math
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pinnbo import PDE, Optimizer, Space, cli, maximize
from pinnbo.operators import derivatives, directional, laplacian, partial

PLANE = Space(x=(0.0, 1.0), y=(0.0, 2.0))

HEAD = """\
import math
import numpy as np
import jax.numpy as jnp
from pinnbo import PDE
from pinnbo.operators import gradient, hessian, laplacian, partial


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


"""

MISTAKES = {
    "NumPy of x": ("lambda f: lambda x: np.sin(x[0]) * f(x)", "uses NumPy .* jnp.sin instead of np.sin"),
    "NumPy of f": ("lambda f: lambda x: np.exp(f(x))", "uses NumPy .* import jax.numpy as jnp"),
    "a NumPy array of values": ("lambda f: lambda x: np.array([f(x), f(x)])", "uses NumPy"),
    "math of x": (
        "lambda f: lambda x: math.sin(x[0]) * f(x)",
        "uses math, .* jnp.sin instead of math.sin",
    ),
    "float of x": ("lambda f: lambda x: float(x[0]) * f(x)", "uses math, float or int"),
    "if on x": ("piecewise", "decides by if, .* jnp.where"),
    "max of Python": ("lambda f: lambda x: max(f(x), 0.0)", "jnp.maximum"),
    "functions added": ("lambda f: laplacian(f) + f", r"calculates with functions .* add \(x\)"),
    "function times number": (
        "lambda f: 3 * laplacian(f)",
        r"calculates with functions .* laplacian\(f\)\(x\)",
    ),
    "minus a function": ("lambda f: -laplacian(f)", "calculates with functions"),
    "forgotten (x) in the end": ("lambda f: lambda x: laplacian(f)", r"gives a function .* add \(x\)"),
    "forgotten (x) in a sum": ("lambda f: lambda x: laplacian(f) + f(x)", "calculates with functions"),
    "forgotten (x) in a NumPy function": ("lambda f: lambda x: jnp.sin(laplacian(f))", r"add \(x\)"),
    "entry of a function": (
        "lambda f: lambda x: gradient(f)[0]",
        r"gradient\(f\)\(x\)\[0\], not gradient\(f\)\[0\]",
    ),
    "operator of x": ("lambda x: x[0]", "takes the field f and returns a function of x"),
    "number instead of function": ("lambda f: 3.0", "operator must return a function of x"),
    "forgotten return": ("no_return", "is a return missing"),
    "partial of a value": ("lambda f: lambda x: partial(f(x), 0)", r"write directional\(f, ...\)\(x\), not"),
    "laplacian of a value": ("lambda f: lambda x: laplacian(f(x))", r"write laplacian\(f, ...\)\(x\), not"),
    "axis with a typo": ("lambda f: partial(f, 'z')", "'z' is no axis of the space; there are x, y"),
    "axis that does not exist": ("lambda f: partial(f, 2)", "axis 2 is outside a space of dimension 2"),
    "coordinate that does not exist": ("lambda f: lambda x: x[2] * f(x)", "index .* out of range"),
    "coordinate by name": ("lambda f: lambda x: x['x'] * f(x)", "takes a coordinate by name"),
    "two coordinates to f": ("lambda f: lambda x: f(x[0], x[1])", "f takes one point"),
    "name with a typo": ("lambda f: lapalcian(f)", "uses a name that does not exist: .*lapalcian"),
    "matrix": ("lambda f: hessian(f)", "must give a scalar or a vector at a point, got shape"),
    "seven derivatives": ("lambda f: partial(f, 0, 7)", "order must be at most 6, got 7"),
    "a complex number": ("lambda f: lambda x: 1j * f(x)", "must give real numbers, got complex128"),
    "operator that is no function": ("3.0", "operator must be a function of the field f"),
    "f elsewhere": ("lambda f: lambda x: f(x) - f(-x)", "at x alone, .* depends on f elsewhere"),
    "source of two arguments": (
        "laplacian, lambda x, y: x * y",
        r"one argument, the point x .* x\[0\] \* x\[1\]",
    ),
    "source of none": ("laplacian, lambda: 3.0", "source must take one argument"),
    "source that is a text": ("laplacian, 'x'", "source must be a number, an array or a function of x"),
    "source that decides": ("laplacian, lambda x: 1.0 if x['x'] > 0 else 0.0", "takes a coordinate by name"),
    "source of another length": (
        "laplacian, lambda x: [1.0, 2.0]",
        r"source must have the operator's shape \(1,\)",
    ),
}


def of_python(text):
    """What comes of the mistake in Python, which is as far as the Optimizer."""
    names = {}
    exec(HEAD, names)
    Optimizer(PLANE, eval(f"PDE({text}, name='mine')", names))


def check_sentence(said):
    assert "\n" not in said.strip()
    assert "Tracer" not in said
    assert "Traceback" not in said


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_named_with_its_cure_in_python(name, unchecked):
    text, sentence = MISTAKES[name]
    with pytest.raises((TypeError, ValueError), match=sentence) as error:
        of_python(text)
    assert str(error.value).startswith(("mine: ", "partial: ", "directional: ", "laplacian: "))
    check_sentence(str(error.value))


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_named_with_its_cure_from_the_shell(name, unchecked, tmp_path, capsys):
    text, sentence = MISTAKES[name]
    (tmp_path / "mine.py").write_text(f"{HEAD}pde = PDE({text}, name='mine')\n")
    file = tmp_path / "lab.toml"
    file.write_text(
        'goal = "minimize"\nbudget = 3\npde = "mine.py:pde"\n[space]\nx = [0.0, 1.0]\ny = [0.0, 2.0]\n'
    )
    for command in (["check", str(file), "--quick"], ["ask", str(file)]):
        assert cli.main(command) in (1, 2)
        out, err = capsys.readouterr()
        said = [line for line in (out + err).splitlines() if re.search(sentence, line)]
        assert len(said) == 1, out + err
        assert said[0].startswith(("error: ", "pinnbo: "))
        check_sentence(said[0])


def test_python_s_trace_is_there_on_demand(unchecked, tmp_path, capsys):
    (tmp_path / "mine.py").write_text(f"{HEAD}pde = PDE({MISTAKES['NumPy of x'][0]}, name='mine')\n")
    file = tmp_path / "lab.toml"
    file.write_text('goal = "minimize"\nbudget = 3\npde = "mine.py:pde"\n[space]\nx = [0.0, 1.0]\n')
    with pytest.raises(TypeError, match="uses NumPy") as error:
        cli.main(["ask", str(file), "--debug"])
    assert isinstance(error.value.__cause__, jax.errors.TracerArrayConversionError)


@pytest.mark.parametrize(
    ("operator", "numbered"),
    [
        (lambda f: partial(f, "y"), lambda f: partial(f, 1)),
        (lambda f: lambda x: partial(f, "y", 2)(x) + f(x), lambda f: lambda x: partial(f, 1, 2)(x) + f(x)),
        (lambda f: directional(f, "x", 3), lambda f: partial(f, 0, 3)),
        (lambda f: derivatives(f, "x", 2), lambda f: derivatives(f, jnp.array([1.0, 0.0]), 2)),
        (
            lambda f: partial(lambda z: z[0] * partial(f, "x")(z), "y"),
            lambda f: partial(lambda z: z[0] * partial(f, 0)(z), 1),
        ),
    ],
)
def test_axes_may_be_named_in_operators(operator, numbered):
    named, other = PDE(operator), PDE(numbered)
    assert named.fingerprint(PLANE) == other.fingerprint(PLANE)
    assert named.order(PLANE) == other.order(PLANE)


def test_an_operator_that_names_axes_belongs_to_one_space():
    pde, numbered = PDE(lambda f: partial(f, "y"), name="mine"), PDE(lambda f: partial(f, 1))
    for equation in (pde, numbered):
        equation.validate(PLANE)
    turned = Space(y=(0.0, 1.0), x=(0.0, 2.0))
    numbered.validate(turned)
    with pytest.raises(
        ValueError, match="mine: the operator names axes and was used with x, y; expected a PDE"
    ):
        pde.validate(turned)
    with pytest.raises(TypeError, match="expected the number of an axis"):
        partial(lambda x: x[0], "x")(jnp.zeros(2))
    with pytest.raises(ValueError, match=r"'hight' is no axis of the space, did you mean height\?"):
        PDE(lambda f: partial(f, "hight")).validate(Space(height=(0.0, 1.0)))


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
