"""Trees back into text, which gives the same tree when it is read again, and into LaTeX."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from pinnbo.equations.nodes import (
    Call,
    Comparison,
    Definition,
    Derivative,
    Fixed,
    Item,
    Located,
    Logic,
    Name,
    Node,
    Number,
    Power,
    Product,
    Statement,
    Sum,
)

_LOGIC, _COMPARISON, _SUM, _PRODUCT, _POWER, _PRIMARY = range(6)
GREEK = (
    *("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa", "lambda", "mu"),
    *("nu", "xi", "pi", "rho", "sigma", "tau", "upsilon", "phi", "chi", "psi", "omega"),
    *("Gamma", "Delta", "Theta", "Lambda", "Xi", "Pi", "Sigma", "Phi", "Psi", "Omega"),
)


def as_text(part: Node | Statement | Definition | Located | Fixed) -> str:
    """A node or a line in the notation of `pinnbo.equations`."""
    if isinstance(part, Statement):
        on = "" if part.on is None else f" on {as_text(part.on)}"
        return f"{_text(part.left, _LOGIC)} = {_text(part.right, _LOGIC)}{on}"
    if isinstance(part, Definition):
        parameters = f"({', '.join(part.parameters)})" if part.parameters else ""
        return f"{part.name}{parameters} = {_text(part.body, _LOGIC)}"
    if isinstance(part, Located):
        return " or ".join(" and ".join(as_text(c) for c in parts) for parts in part.alternatives)
    if isinstance(part, Fixed):
        return f"{part.axis} = {_text(part.value, _SUM)}"
    return _text(part, _LOGIC)


def shown(number: float) -> str:
    """A number with all its digits."""
    return str(int(number)) if number == int(number) and abs(number) < 1e15 else repr(number)


def _text(node: Node, level: int) -> str:
    own, text = _bare(node)
    return text if own >= level else f"({text})"


def _bare(node: Node) -> tuple[int, str]:
    if isinstance(node, Number):
        return (_PRIMARY if node.value >= 0 else _SUM), shown(node.value)
    if isinstance(node, Name):
        return _PRIMARY, node.id
    if isinstance(node, Item):
        return _PRIMARY, f"{node.base}[{_text(node.index, _SUM)}]"
    if isinstance(node, Sum):
        text = ""
        for i, (sign, term) in enumerate(node.terms):
            before = ("-" if sign < 0 else "") if i == 0 else (" - " if sign < 0 else " + ")
            text += before + _text(term, _PRODUCT)
        return _SUM, text
    if isinstance(node, Product):
        text = ""
        for i, (power, factor) in enumerate(node.factors):
            before = ("1/" if power < 0 else "") if i == 0 else ("/" if power < 0 else "*")
            text += before + _text(factor, _POWER)
        return _PRODUCT, text
    if isinstance(node, Power):
        return _POWER, f"{_text(node.base, _PRIMARY)}**{_text(node.exponent, _POWER)}"
    if isinstance(node, Comparison):
        text = _text(node.operands[0], _SUM)
        for operator, operand in zip(node.operators, node.operands[1:], strict=True):
            text += f" {operator} {_text(operand, _SUM)}"
        return _COMPARISON, text
    if isinstance(node, Logic):
        if node.operator == "not":
            return _COMPARISON, f"not {_text(node.operands[0], _COMPARISON)}"
        return _LOGIC, f" {node.operator} ".join(_text(part, _COMPARISON) for part in node.operands)
    if isinstance(node, Derivative):
        axes = [_text(axis, _PRIMARY) for axis in node.axes]
        of = _text(node.of, _LOGIC)
        if len(axes) > 1 and len(set(axes)) == 1:
            return _PRIMARY, f"d{len(axes)}({of}, {axes[0]})"
        return _PRIMARY, f"d({', '.join([of, *axes])})"
    assert isinstance(node, Call)
    inside = ", ".join(_text(argument, _LOGIC) for argument in node.arguments)
    return _PRIMARY, f"({inside})" if node.function == "vector" else f"{node.function}({inside})"


# --- LaTeX


def as_latex(part: Node | Statement | Definition | Located | Fixed) -> str:
    """A node or a line as LaTeX, without dollar signs."""
    if isinstance(part, Statement):
        on = "" if part.on is None else rf" \quad \text{{on }} {as_latex(part.on)}"
        return f"{_latex(part.left, _LOGIC)} = {_latex(part.right, _LOGIC)}{on}"
    if isinstance(part, Definition):
        parameters = f"({', '.join(map(_symbol, part.parameters))})" if part.parameters else ""
        return f"{_symbol(part.name)}{parameters} = {_latex(part.body, _LOGIC)}"
    if isinstance(part, Located):
        joined = (r",\ ".join(as_latex(c) for c in parts) for parts in part.alternatives)
        return r" \text{ or } ".join(joined)
    if isinstance(part, Fixed):
        return f"{_symbol(part.axis)} = {_latex(part.value, _SUM)}"
    return _latex(part, _LOGIC)


def _latex(node: Node, level: int) -> str:
    own, text = _bare_latex(node)
    return text if own >= level else rf"\left({text}\right)"


def _bare_latex(node: Node) -> tuple[int, str]:
    if isinstance(node, Number):
        return (_PRIMARY if node.value >= 0 else _SUM), _latex_number(node.value)
    if isinstance(node, Name):
        return _PRIMARY, _symbol(node.id)
    if isinstance(node, Item):
        return _PRIMARY, f"{node.base}_{{{_latex(node.index, _SUM)}}}"
    if isinstance(node, Sum):
        text = ""
        for i, (sign, term) in enumerate(node.terms):
            before = ("-" if sign < 0 else "") if i == 0 else (" - " if sign < 0 else " + ")
            text += before + _latex(term, _PRODUCT)
        return _SUM, text
    if isinstance(node, Product):
        return _latex_product(node)
    if isinstance(node, Power):
        return _POWER, f"{_latex(node.base, _PRIMARY)}^{{{_latex(node.exponent, _LOGIC)}}}"
    if isinstance(node, Comparison):
        signs = {"<": "<", ">": ">", "<=": r"\le", ">=": r"\ge"}
        text = _latex(node.operands[0], _SUM)
        for operator, operand in zip(node.operators, node.operands[1:], strict=True):
            text += f" {signs[operator]} {_latex(operand, _SUM)}"
        return _COMPARISON, text
    if isinstance(node, Logic):
        if node.operator == "not":
            return _COMPARISON, rf"\neg {_latex(node.operands[0], _PRIMARY)}"
        return _LOGIC, rf" \text{{ {node.operator} }} ".join(_latex(p, _COMPARISON) for p in node.operands)
    if isinstance(node, Derivative):
        return _PRODUCT, _latex_derivative(node)
    assert isinstance(node, Call)
    return _latex_call(node)


def _latex_product(node: Product) -> tuple[int, str]:
    above = [factor for power, factor in node.factors if power > 0]
    below = [factor for power, factor in node.factors if power < 0]
    if not below:
        return _PRODUCT, _side_by_side(above)
    top = _side_by_side(above) if above else "1"
    return _PRODUCT, rf"\frac{{{top}}}{{{_side_by_side(below)}}}"


def _side_by_side(factors: Sequence[Node]) -> str:
    if len(factors) == 1:
        return _latex(factors[0], _SUM)
    texts = [_latex(factor, _PRODUCT) for factor in factors]
    joined = texts[0]
    for text in texts[1:]:
        joined += (r" \cdot " if text[0].isdigit() else r" \, ") + text
    return joined


def _latex_derivative(node: Derivative) -> str:
    axes = Counter(_latex(axis, _PRIMARY) for axis in node.axes)
    below = r" \, ".join(rf"\partial {axis}" + (f"^{{{n}}}" if n > 1 else "") for axis, n in axes.items())
    power = f"^{{{len(node.axes)}}}" if len(node.axes) > 1 else ""
    if isinstance(node.of, Name):
        return rf"\frac{{\partial{power} {_symbol(node.of.id)}}}{{{below}}}"
    return rf"\frac{{\partial{power}}}{{{below}}} {_latex(node.of, _PRIMARY)}"


_NABLA = {
    "laplacian": r"\nabla^{2} ",
    "biharmonic": r"\nabla^{4} ",
    "grad": r"\nabla ",
    "div": r"\nabla \cdot ",
    "curl": r"\nabla \times ",
}
_NAMED = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "log": "ln"}
_KNOWN = (
    "sin",
    "cos",
    "tan",
    "cot",
    "sinh",
    "cosh",
    "tanh",
    "exp",
    "arcsin",
    "arccos",
    "arctan",
    "ln",
    "min",
    "max",
)


def _latex_call(node: Call) -> tuple[int, str]:
    name, arguments = node.function, node.arguments
    if name in _NABLA and len(arguments) == 1:
        return _PRODUCT, _NABLA[name] + _latex(arguments[0], _PRIMARY)
    if name in ("vector", "div", "curl"):
        inside = ", ".join(_latex(argument, _LOGIC) for argument in arguments)
        return _PRIMARY, _NABLA.get(name, "") + rf"\left({inside}\right)"
    if name == "sqrt":
        return _PRIMARY, rf"\sqrt{{{_latex(arguments[0], _LOGIC)}}}"
    if name == "abs":
        return _PRIMARY, rf"\left|{_latex(arguments[0], _LOGIC)}\right|"
    if name == "norm":
        return _PRIMARY, rf"\left\|{_latex(arguments[0], _LOGIC)}\right\|"
    if name == "dot":
        return _PRODUCT, " \\cdot ".join(_latex(argument, _PRODUCT) for argument in arguments)
    if name == "sum":
        return _PRODUCT, rf"\sum_{{i}} {_latex(arguments[0], _PRODUCT)}"
    if name == "where":
        condition, yes, no = (_latex(argument, _LOGIC) for argument in arguments)
        return _PRIMARY, rf"\begin{{cases}} {yes} & {condition} \\ {no} & \text{{otherwise}} \end{{cases}}"
    shown_name = _NAMED.get(name, name)
    function = rf"\{shown_name}" if shown_name in _KNOWN else _symbol(name)
    inside = ", ".join(_latex(argument, _LOGIC) for argument in arguments)
    return _PRIMARY, rf"{function}\left({inside}\right)"


def _symbol(name: str) -> str:
    head, _, tail = name.partition("_")
    letters = head.rstrip("0123456789")
    number = head[len(letters) :]
    symbol = (
        rf"\{letters}" if letters in GREEK else letters if len(letters) == 1 else rf"\mathrm{{{letters}}}"
    )
    below = ",".join(part for part in (number, tail.replace("_", r"\_")) if part)
    return symbol + (f"_{{{below}}}" if below else "")


def _latex_number(value: float) -> str:
    text: Any = shown(value)
    mantissa, _, exponent = text.partition("e")
    return rf"{mantissa} \cdot 10^{{{int(exponent)}}}" if exponent else text
