"""Tokens into statements: a recursive descent over a small grammar, which knows no attribute, no string and no call of
anything but functions of numbers.

    text        line (break line)*
    line        expression "=" expression ["on" place]
    place       and-list ("or" and-list)*            of  axis = value, comparisons, or a name
    expression  comparisons joined by and, or, not
    sum         ["-"] product (("+" | "-") product)*
    product     power (("*" | "/") power)*
    power       ["-"] primary ["**" power]
    primary     number | name | name "(" arguments ")" | name "[" sum "]" | "(" expression ")" | derivative
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace

from pinnbo.equations.errors import EquationError, Place
from pinnbo.equations.lexer import HIGHEST, Token, tokens
from pinnbo.equations.nodes import (
    Call,
    Comparison,
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
from pinnbo.equations.units import System

DEEPEST = 40  # brackets in brackets
MOST_NODES = 5_000
_COMPARISONS = ("<", "<=", ">", ">=")
_KEYWORDS = ("on", "and", "or", "not")
SYNONYMS = {
    "Laplacian": "laplacian",
    "lap": "laplacian",
    "gradient": "grad",
    "divergence": "div",
    "bilaplacian": "biharmonic",
    "ln": "log",
    "arcsin": "asin",
    "arccos": "acos",
    "arctan": "atan",
    "arctan2": "atan2",
    "Abs": "abs",
    "Piecewise": "where",
}


def parse(
    text: str, axes: Collection[str], declared: Collection[str] = (), units: System | None = None
) -> list[Statement]:
    """The statements of a text, one per line that says something."""
    lines: list[list[Token]] = [[]]
    for token in tokens(text, axes, declared, units):
        if token.kind == "break":
            lines.append([])
        else:
            lines[-1].append(token)
    end = lines[-1].pop()
    found = [_Parser([*line, replace(end, at=_end_of(line))]) for line in lines if line]
    if not found:
        raise EquationError("expected an equation such as laplacian(T) = 0, got nothing")
    return [parser.statement() for parser in found]


def parse_place(text: str, axes: Collection[str], units: System | None = None) -> Located:
    """The place of a condition, such as ``y = 0``."""
    parser = _Parser(list(tokens(text, axes, (), units)))
    place = parser.place()
    parser.finish("the end")
    return place


def parse_expression(text: str, axes: Collection[str], units: System | None = None) -> Node:
    """One expression without an equals sign."""
    parser = _Parser([token for token in tokens(text, axes, (), units) if token.kind != "break"])
    node = parser.expression()
    parser.finish("the end of the formula")
    return node


def _end_of(line: list[Token]) -> Place:
    last = line[-1]
    return last.at._replace(column=last.at.column + len(last.text), rest="")


class _Parser:
    def __init__(self, line: list[Token]) -> None:
        self.line, self.next = line, 0
        self.depth = self.nodes = 0

    @property
    def token(self) -> Token:
        return self.line[self.next]

    def is_sign(self, *signs: str) -> bool:
        return self.token.kind == "sign" and self.token.text in signs

    def is_word(self, word: str) -> bool:
        return self.token.kind == "name" and self.token.text == word

    def take(self) -> Token:
        token = self.token
        self.next += 1
        return token

    def expect(self, sign: str, why: str) -> Token:
        if not self.is_sign(sign):
            raise self.unexpected(f"{sign!r} {why}")
        return self.take()

    def unexpected(self, expected: str) -> EquationError:
        got = "the end" if self.token.kind == "end" else repr(self.token.text[:20])
        return EquationError(f"expected {expected}, got {got}", self.token.at)

    def finish(self, expected: str) -> None:
        if self.token.kind == "end":
            return
        if self.is_sign(")", "]"):
            raise EquationError(f"{self.token.text!r} closes nothing", self.token.at)
        if self.is_sign("=", "=="):
            raise EquationError("expected one equals sign in a line, got another", self.token.at)
        if self.token.kind in ("name", "number", "derivative"):
            raise self.unexpected(f"{expected} or a sign such as *")
        raise self.unexpected(expected)

    def count(self, node: Node) -> Node:
        self.nodes += 1
        if self.nodes > MOST_NODES:
            raise EquationError(f"expected at most {MOST_NODES} names, numbers and signs in a line", node.at)
        return node

    # --- statements

    def statement(self) -> Statement:
        left = self.expression()
        if self.is_sign("=="):
            raise EquationError("write = instead of ==", self.token.at)
        if not self.is_sign("="):
            if self.token.kind == "end":
                raise EquationError("expected an equals sign, such as ... = 0, got an expression", left.at)
            self.finish("=")
        self.take()
        right = self.expression()
        on = None
        if self.is_word("on"):
            self.take()
            on = self.place()
        self.finish("the end of the line")
        return Statement(left, right, on)

    def place(self) -> Located:
        alternatives = [self.conjunction()]
        while self.is_word("or"):
            self.take()
            alternatives.append(self.conjunction())
        return Located(tuple(alternatives))

    def conjunction(self) -> tuple[Node | Fixed, ...]:
        parts = [self.constraint()]
        while self.is_word("and") or self.is_sign(","):
            self.take()
            parts.append(self.constraint())
        return tuple(parts)

    def constraint(self) -> Node | Fixed:
        node = self.comparison()
        if isinstance(node, Name | Item) and self.is_sign("="):
            self.take()
            if isinstance(node, Item):
                raise EquationError("expected the name of an axis, got a numbered one", node.at)
            return Fixed(node.id, self.sum(), at=node.at)
        if isinstance(node, Name | Comparison):
            return node
        raise EquationError("expected a place such as y = 0 or x < 0.5", node.at)

    # --- expressions

    def expression(self) -> Node:
        return self.logic("or", lambda: self.logic("and", self.negation))

    def logic(self, word: str, operand: Callable[[], Node]) -> Node:
        at = self.token.at
        parts = [operand()]
        while self.is_word(word):
            self.take()
            parts.append(operand())
        return parts[0] if len(parts) == 1 else self.count(Logic(word, tuple(parts), at=at))

    def negation(self) -> Node:
        at = self.token.at
        if self.is_word("not"):
            self.take()
            with self.deeper():
                return self.count(Logic("not", (self.negation(),), at=at))
        return self.comparison()

    def comparison(self) -> Node:
        at = self.token.at
        operands, operators = [self.sum()], []
        while self.is_sign(*_COMPARISONS):
            operators.append(self.take().text)
            operands.append(self.sum())
        if self.is_sign("!="):
            raise EquationError("expected <, <=, > or >=, got !=", self.token.at)
        if not operators:
            return operands[0]
        return self.count(Comparison(tuple(operators), tuple(operands), at=at))

    def sum(self) -> Node:
        at = self.token.at
        terms = []
        sign = self.sign()
        terms.append((sign, self.product()))
        while self.is_sign("+", "-"):
            sign = 1 if self.take().text == "+" else -1
            terms.append((sign, self.product()))
        if len(terms) == 1:
            sign, node = terms[0]
            if sign == 1:
                return node
            if isinstance(node, Number) and node.value > 0:
                return Number(-node.value, at=at)
        return self.count(Sum(tuple(terms), at=at))

    def sign(self) -> int:
        """The signs in front of a sum."""
        if self.is_sign("-"):
            self.take()
            return -1
        if self.is_sign("+"):
            self.take()
        return 1

    def product(self) -> Node:
        at = self.token.at
        factors = [(1, self.power())]
        while True:
            if self.is_sign("*", "/"):
                power = 1 if self.take().text == "*" else -1
                factors.append((power, self.power()))
            elif self.token.kind in ("nabla", "derivative") and self.token.at.rest[:1] in "∇Δ∆∂":
                factors.append((1, self.power()))  # k∇T
            else:
                break
        return factors[0][1] if len(factors) == 1 else self.count(Product(tuple(factors), at=at))

    def power(self) -> Node:
        at = self.token.at
        if self.is_sign("-"):
            self.take()
            with self.deeper():
                node = self.power()
            if isinstance(node, Number) and node.value > 0:
                return Number(-node.value, at=at)
            return self.count(Sum(((-1, node),), at=at))
        if self.is_sign("+"):
            self.take()
            with self.deeper():
                return self.power()
        base = self.primary()
        if not self.is_sign("**"):
            return base
        self.take()
        with self.deeper():
            return self.count(Power(base, self.power(), at=at))

    def primary(self) -> Node:
        token = self.token
        if token.kind == "number":
            return self.count(Number(self.number(self.take()), at=token.at))
        if token.kind == "nabla":
            self.take()
            with self.deeper():
                return self.count(Call(token.text, (self.primary(),), at=token.at))
        if token.kind == "derivative":
            return self.derivative()
        if token.kind == "name" and token.text not in _KEYWORDS:
            return self.name()
        if self.is_sign("("):
            self.take()
            with self.deeper():
                items = [self.expression()]
                while self.is_sign(","):
                    self.take()
                    items.append(self.expression())
                self.expect(")", "after an opening bracket")
            return items[0] if len(items) == 1 else self.count(Call("vector", tuple(items), at=token.at))
        raise self.unexpected("a number, a name or a bracket")

    def number(self, token: Token) -> float:
        value = float(token.text)
        if value in (float("inf"), float("-inf")):
            raise EquationError("expected a finite number", token.at)
        return value

    def derivative(self) -> Node:
        token = self.take()
        axes: tuple[Node, ...] = tuple(Name(axis, at=token.at) for axis in token.axes)
        if len(axes) > HIGHEST:
            raise EquationError(f"expected derivatives up to order {HIGHEST}, got {len(axes)}", token.at)
        if token.text:
            return self.count(Derivative(Name(token.text, at=token.at), axes, at=token.at))
        if not self.is_sign("("):
            raise self.unexpected("'(' after a derivative such as d/dx")
        return self.count(Derivative(self.primary(), axes, at=token.at))

    def name(self) -> Node:
        token = self.take()
        if self.is_sign("("):
            return self.call(token)
        if self.is_sign("["):
            self.take()
            with self.deeper():
                index = self.sum()
            self.expect("]", "after an index")
            return self.count(Item(token.text, index, at=token.at))
        return self.count(Name(token.text, at=token.at))

    def call(self, token: Token) -> Node:
        self.take()
        arguments: list[Node] = []
        with self.deeper():
            while not self.is_sign(")"):
                arguments.append(self.expression())
                if not self.is_sign(","):
                    break
                self.take()
            self.expect(")", f"after the arguments of {token.text}")
        order = _order_of(token.text)
        if order and len(arguments) == 1 and self.token.kind == "over":
            below = self.take()
            if len(below.axes) != order:
                raise EquationError(
                    f"expected a derivative of order {order} below as above, got order {len(below.axes)}",
                    below.at,
                )
            axes: tuple[Node, ...] = tuple(Name(axis, at=below.at) for axis in below.axes)
            return self.count(Derivative(arguments[0], axes, at=token.at))
        if order or token.text in ("Derivative", "diff"):
            return self.count(_derivative_of(token, arguments, order))
        name = SYNONYMS.get(token.text, token.text)
        return self.count(Call(name, tuple(arguments), at=token.at))

    def deeper(self) -> _Parser:
        return self

    def __enter__(self) -> None:
        self.depth += 1
        if self.depth > DEEPEST:
            raise EquationError(f"expected at most {DEEPEST} brackets in brackets", self.token.at)

    def __exit__(self, *_: object) -> None:
        self.depth -= 1


def _order_of(function: str) -> int:
    """1 for d, k for d2 .. d6, 0 for other functions."""
    if function in ("d", "∂"):
        return 1
    return int(function[1]) if len(function) == 2 and function[0] in "d∂" and function[1] in "123456" else 0


def _derivative_of(token: Token, arguments: list[Node], order: int) -> Node:
    """d(T, x, y), d2(T, x), Derivative(T, x, 2), Derivative(T, (x, 2))."""
    usage = f"{token.text}(T, x)"
    if len(arguments) < 2:
        raise EquationError(f"{token.text}: expected a field and an axis, such as {usage}", token.at)
    of, axes = arguments[0], _flat(arguments[1:])
    found: list[Node] = []
    for axis in axes:
        if isinstance(axis, Number):
            times = axis.value
            if not found or order > 1 or times != int(times) or not 1 <= times <= HIGHEST:
                raise EquationError(
                    f"{token.text}: expected a whole order from 1 to {HIGHEST} after an axis", axis.at
                )
            found.extend([found[-1]] * (int(times) - 1))
        elif isinstance(axis, Name | Item):
            found.append(axis)
        else:
            raise EquationError(f"{token.text}: expected the name of an axis, such as {usage}", axis.at)
    if order > 1:
        if len(found) != 1:
            raise EquationError(
                f"{token.text}: expected one axis, such as {usage}, got {len(found)}", token.at
            )
        found = found * order
    if len(found) > HIGHEST:
        raise EquationError(f"expected derivatives up to order {HIGHEST}, got {len(found)}", token.at)
    return Derivative(of, tuple(found), at=token.at)


def _flat(arguments: list[Node]) -> list[Node]:
    flat: list[Node] = []
    for argument in arguments:
        if isinstance(argument, Call) and argument.function == "vector":
            flat.extend(argument.arguments)
        else:
            flat.append(argument)
    return flat
