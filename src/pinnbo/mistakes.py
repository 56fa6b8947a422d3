"""Mistakes that are often made in operators and sources, recognised by the error that they end in.

Each has a sentence that names the mistake and the cure. The error itself stays the cause of what is raised, so that
``--debug``, or Python, shows where it came from.
"""

from __future__ import annotations

import re
from typing import Any

import jax

_FIELD = "operator takes the field f and returns a function of x: PDE(lambda f: lambda x: ...)"
_BY_NAME = "{} takes a coordinate by name: x is an array, x[0] is its first entry"


def sentence(what: str, error: BaseException) -> str | None:
    """What was probably done wrong in an operator or a source, or None if the error is of another kind."""
    said = str(error).strip().split("\n")[0]
    if isinstance(error, jax.errors.TracerBoolConversionError):
        return (
            f"{what} decides by if, and, or, max or abs of Python on a value that depends on x: "
            "write jnp.where(x[0] > 0.5, a, b), jnp.maximum or jnp.abs"
        )
    if isinstance(error, jax.errors.TracerArrayConversionError):
        return f"{what} uses NumPy on f or x: write jnp.sin instead of np.sin, with import jax.numpy as jnp"
    if isinstance(error, jax.errors.ConcretizationTypeError | jax.errors.TracerIntegerConversionError):
        return (
            f"{what} uses math, float or int on a value that depends on x: write jnp.sin instead of math.sin, "
            "with import jax.numpy as jnp"
        )
    if isinstance(error, TypeError):
        return _of_types(what, said)
    if isinstance(error, NameError):
        return f"{what} uses a name that does not exist: {said}"
    if isinstance(error, AttributeError):
        return f"{what} uses something that does not exist: {said}"
    if isinstance(error, IndexError) and "only integers" in said:
        return _BY_NAME.format(what)
    if isinstance(error, IndexError):
        return f"{what} asks for a coordinate that does not exist ({said}): x has one entry per axis, from x[0] on"
    return None


def _of_types(what: str, said: str) -> str | None:
    operands = re.search(r"unsupported operand type\(s\) for (\S+): '([^']+)' and '([^']+)'", said)
    if (operands and "function" in operands.groups()) or re.search(
        r"bad operand type for \S+ \S+ 'function'", said
    ):
        return (
            f"{what} calculates with functions instead of their values: add (x), as in "
            "lambda x: laplacian(f)(x) + 3 * f(x)"
        )
    if "'function' object is not subscriptable" in said:
        return (
            f"{what} takes an entry of a function: {_FIELD}, and take gradient(f)(x)[0], not gradient(f)[0]"
        )
    if "not callable" in said:
        return f"{what} calls a number: {_FIELD}; of values of x there is x[0], not x(0)"
    if re.search(r"function|<class 'function'>", said) and re.search(
        r"valid JAX|JAX (array )?type|Cannot interpret|abstract array", said
    ):
        return f"{what} gives a function where a number is expected: add (x), as in laplacian(f)(x)"
    if "NoneType" in said:
        return f"{what} gives nothing: is a return missing?"
    if re.search(r"positional argument", said):
        if what == "source":
            return (
                "source must take one argument, the point x with one entry per axis, as in lambda x: x[0] * x[1]; "
                f"got {said}"
            )
        return f"{what} calls something with the wrong number of arguments ({said}): f takes one point, f(x)"
    if re.search("string indexing", said):
        return _BY_NAME.format(what)
    return None


def refuse_functions(what: str, value: Any) -> None:
    """Complain of a function, or nothing, where a number is expected."""
    if callable(value):
        raise TypeError(f"{what} gives a function where a number is expected: add (x), as in laplacian(f)(x)")
    if value is None:
        raise TypeError(f"{what} gives nothing: is a return missing?")
