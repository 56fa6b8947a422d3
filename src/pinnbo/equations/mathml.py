"""Trees into MathML: equations that a browser typesets by itself and a screen reader reads out."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Sequence
from html import escape

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
from pinnbo.equations.printer import GREEK, shown

_LOGIC, _COMPARISON, _SUM, _PRODUCT, _POWER, _PRIMARY = range(6)
_SIGNS = {"<": "<", ">": ">", "<=": "\u2264", ">=": "\u2265"}
_NABLA = {"laplacian": ("2", ""), "biharmonic": ("4", ""), "grad": ("", "")}
_NABLA |= {"div": ("", "\u22c5"), "curl": ("", "\u00d7")}
_NAMED = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "log": "ln"}
_DOT, _MINUS, _INVISIBLE_TIMES = "<mo>\u22c5</mo>", "<mo>\u2212</mo>", "<mo>\u2062</mo>"


def as_mathml(lines: Sequence[Statement | Definition], label: str) -> str:
    """Lines below each other; ``label`` is the same in text, for programs that know no MathML."""
    rows = "".join(f"<mtr><mtd>{_line(line)}</mtd></mtr>" for line in lines)
    return f'<math display="block" alttext="{escape(label)}"><mtable>{rows}</mtable></math>'


def _line(part: Statement | Definition) -> str:
    if isinstance(part, Statement):
        on = "" if part.on is None else f"<mspace width='1.5em'/>{_word('on')}{_place(part.on)}"
        return f"<mrow>{_at(part.left, _LOGIC)}{_sign('=')}{_at(part.right, _LOGIC)}{on}</mrow>"
    listed = _sign(",").join(_symbol(name) for name in part.parameters)
    parameters = _brackets(listed) if part.parameters else ""
    return f"<mrow>{_symbol(part.name)}{parameters}{_sign('=')}{_at(part.body, _LOGIC)}</mrow>"


def _place(place: Located) -> str:
    alternatives = (_sign(",").join(_at(c, _LOGIC) for c in parts) for parts in place.alternatives)
    return _word("or").join(alternatives)


def _at(node: Node, level: int) -> str:
    own, made = _made(node)
    return made if own >= level else _brackets(made)


def _made(node: Node) -> tuple[int, str]:
    """How tightly it holds together, and the element."""
    if isinstance(node, Number):
        return (_PRIMARY if node.value >= 0 else _SUM), _number(node.value)
    if isinstance(node, Name):
        return _PRIMARY, _symbol(node.id)
    if isinstance(node, Item):
        return _PRIMARY, f"<msub>{_symbol(node.base)}{_at(node.index, _SUM)}</msub>"
    if isinstance(node, Fixed):
        return _COMPARISON, f"{_symbol(node.axis)}{_sign('=')}{_at(node.value, _SUM)}"
    if isinstance(node, Sum):
        parts = [
            ("" if i == 0 and sign > 0 else _MINUS if sign < 0 else _sign("+")) + _at(term, _PRODUCT)
            for i, (sign, term) in enumerate(node.terms)
        ]
        return _SUM, f"<mrow>{''.join(parts)}</mrow>"
    if isinstance(node, Product):
        above = [factor for power, factor in node.factors if power > 0]
        below = [factor for power, factor in node.factors if power < 0]
        top = _beside(above) if above else "<mn>1</mn>"
        return _PRODUCT, f"<mfrac>{top}{_beside(below)}</mfrac>" if below else top
    if isinstance(node, Power):
        return _POWER, f"<msup>{_at(node.base, _PRIMARY)}{_at(node.exponent, _LOGIC)}</msup>"
    if isinstance(node, Comparison):
        made = _at(node.operands[0], _SUM)
        for operator, operand in zip(node.operators, node.operands[1:], strict=True):
            made += _sign(_SIGNS[operator]) + _at(operand, _SUM)
        return _COMPARISON, f"<mrow>{made}</mrow>"
    if isinstance(node, Logic):
        if node.operator == "not":
            return _COMPARISON, f"<mrow>{_word('not')}{_at(node.operands[0], _PRIMARY)}</mrow>"
        joined = _word(node.operator).join(_at(part, _COMPARISON) for part in node.operands)
        return _LOGIC, f"<mrow>{joined}</mrow>"
    if isinstance(node, Derivative):
        return _PRODUCT, _derivative(node)
    assert isinstance(node, Call)
    return _call(node)


def _beside(factors: Sequence[Node]) -> str:
    if len(factors) == 1:
        return _at(factors[0], _SUM)
    # two numbers side by side would be read as one
    made = [_at(factor, _PRODUCT) for factor in factors]
    between = [_DOT if later.startswith("<mn>") else _INVISIBLE_TIMES for later in made[1:]]
    return f"<mrow>{made[0]}{''.join(sign + later for sign, later in zip(between, made[1:], strict=True))}</mrow>"


def _derivative(node: Derivative) -> str:
    axes = Counter(_at(axis, _PRIMARY) for axis in node.axes)
    round_d = "<mo rspace='0'>\u2202</mo>"
    below = "".join(
        f"{round_d}{f'<msup>{axis}<mn>{n}</mn></msup>' if n > 1 else axis}" for axis, n in axes.items()
    )
    order = len(node.axes)
    above = f"<msup>{round_d}<mn>{order}</mn></msup>" if order > 1 else round_d
    if isinstance(node.of, Name):
        return f"<mfrac><mrow>{above}{_symbol(node.of.id)}</mrow><mrow>{below}</mrow></mfrac>"
    return f"<mrow><mfrac>{above}<mrow>{below}</mrow></mfrac>{_at(node.of, _PRIMARY)}</mrow>"


def _call(node: Call) -> tuple[int, str]:
    name, arguments = node.function, node.arguments
    inside = _sign(",").join(_at(argument, _LOGIC) for argument in arguments)
    if name in _NABLA:
        power, sign = _NABLA[name]
        nabla = f"<msup><mi>\u2207</mi><mn>{power}</mn></msup>" if power else "<mi>\u2207</mi>"
        of = _at(arguments[0], _PRIMARY) if len(arguments) == 1 else _brackets(inside)
        return _PRODUCT, f"<mrow>{nabla}{_sign(sign) if sign else ''}{of}</mrow>"
    if name == "vector":
        return _PRIMARY, _brackets(inside)
    if name == "sqrt":
        return _PRIMARY, f"<msqrt>{inside}</msqrt>"
    if name in ("abs", "norm"):
        bar = "|" if name == "abs" else "\u2016"
        return (
            _PRIMARY,
            f"<mrow><mo fence='true'>{bar}</mo>{inside}<mo fence='true'>{bar}</mo></mrow>",
        )
    if name == "dot":
        return (
            _PRODUCT,
            f"<mrow>{_DOT.join(_at(argument, _PRODUCT) for argument in arguments)}</mrow>",
        )
    if name == "sum":
        return (
            _PRODUCT,
            f"<mrow><munder><mo>\u2211</mo><mi>i</mi></munder>{_at(arguments[0], _PRODUCT)}</mrow>",
        )
    if name == "where":
        condition, yes, no = (_at(argument, _LOGIC) for argument in arguments)
        rows = "".join(
            f"<mtr><mtd>{value}</mtd><mtd>{when}</mtd></mtr>"
            for value, when in ((yes, condition), (no, _word("otherwise")))
        )
        return _PRIMARY, f"<mrow><mo fence='true'>{{</mo><mtable>{rows}</mtable></mrow>"
    return _PRIMARY, f"<mrow>{_symbol(_NAMED.get(name, name))}<mo>\u2061</mo>{_brackets(inside)}</mrow>"


def _symbol(name: str) -> str:
    head, _, tail = name.partition("_")
    letters = head.rstrip("0123456789")
    below = ",".join(part for part in (head[len(letters) :], tail) if part)
    symbol = f"<mi>{escape(_letter(letters))}</mi>"
    return f"<msub>{symbol}<mtext>{escape(below)}</mtext></msub>" if below else symbol


def _letter(name: str) -> str:
    """A Greek letter for its name."""
    if name not in GREEK:
        return name
    case = "CAPITAL" if name[0].isupper() else "SMALL"
    # the standard spells this one letter otherwise
    spelled = "LAMDA" if name.lower() == "lambda" else name.upper()
    return unicodedata.lookup(f"GREEK {case} LETTER {spelled}")


def _number(value: float) -> str:
    mantissa, _, exponent = shown(abs(value)).partition("e")
    made = f"<mn>{mantissa}</mn>"
    if exponent:
        made = f"<mrow>{made}{_DOT}<msup><mn>10</mn>{_whole(int(exponent))}</msup></mrow>"
    return f"<mrow>{_MINUS}{made}</mrow>" if value < 0 else made


def _whole(number: int) -> str:
    return f"<mrow>{_MINUS}<mn>{-number}</mn></mrow>" if number < 0 else f"<mn>{number}</mn>"


def _brackets(made: str) -> str:
    return f"<mrow><mo>(</mo>{made}<mo>)</mo></mrow>"


def _sign(text: str) -> str:
    return f"<mo>{escape(text)}</mo>"


def _word(text: str) -> str:
    return f"<mtext>\u00a0{escape(text)}\u00a0</mtext>"
