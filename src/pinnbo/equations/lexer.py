"""Text into tokens, in the notations that people use.

Besides names, numbers and signs there are three kinds of tokens of their own:

- a derivative written as a fraction, ``dT/dx``, ``d2T/dx2``, ``∂²T/∂x∂y``, which needs the names of the axes;
- one in front of brackets, ``d/dx (k*dT/dx)``;
- what such a fraction divides by, after brackets: ``d(k*T)/dx``.

A number may carry a unit in square brackets, ``5[mm]``: it is brought into the units of the axes and fields here.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from pinnbo.equations.errors import EquationError, Place
from pinnbo.equations.units import System

LONGEST = 20_000  # characters of a text
_LONGEST_NAME = 60
HIGHEST = 6  # order of a derivative, as in pinnbo.operators

_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
_SIGNS = {"−": "-", "–": "-", "×": "*", "⋅": "*", "·": "*", "•": "*", "≤": "<=", "≥": ">=", "^": "**"}
_NUMBER = re.compile(r"(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
_UNIT = re.compile(r"\s*\[([^\]\n]{0,60})\]")
_WORD = re.compile(r"[^\W⁰¹²³⁴⁵⁶⁷⁸⁹]+")
_RAISED = re.compile(r"[⁰¹²³⁴⁵⁶⁷⁸⁹]+")
_ORDER = r"(?:\^?(\d)|([²³⁴⁵⁶]))?"
_FRACTION = re.compile(rf"[d∂]{_ORDER}\s*([^\W\d]\w*?)?\s*/\s*([d∂]\w[\w∂^²³⁴⁵⁶]*)")
_DENOMINATOR = re.compile(r"\s*/\s*([d∂]\w[\w∂^²³⁴⁵⁶]*)")
_OPERATORS = ("**", "<=", ">=", "==", "!=", "+", "-", "*", "/", "(", ")", "[", "]", ",", "=", "<", ">")
_NABLA = "∇"
_DELTAS = "Δ∆"


@dataclass(frozen=True)
class Token:
    """``kind`` is number, name, sign, nabla, derivative, over, break or end."""

    kind: str
    text: str
    at: Place
    axes: tuple[str, ...] = ()  # of a derivative


def tokens(
    text: str, axes: Collection[str], declared: Collection[str], units: System | None = None
) -> Iterator[Token]:
    """The tokens of a text; ``declared`` are names that are not read as derivatives."""
    if not isinstance(text, str):
        raise TypeError(f"equation: expected a text, got {type(text).__name__}")
    if len(text) > LONGEST:
        raise EquationError(f"expected at most {LONGEST} characters, got {len(text)}")
    yield from _Lexer(text, axes, declared, units).run()


class _Lexer:
    def __init__(
        self, text: str, axes: Collection[str], declared: Collection[str], units: System | None
    ) -> None:
        self.text, self.axes, self.declared, self.units = text, axes, declared, units
        self.position = 0
        self.line, self.start = 1, 0

    def place(self, position: int | None = None) -> Place:
        position = self.position if position is None else position
        end = self.text.find("\n", position)
        rest = self.text[position : end if end >= 0 else len(self.text)]
        return Place(self.line, position - self.start + 1, rest)

    def run(self) -> Iterator[Token]:
        text = self.text
        while self.position < len(text):
            character = text[self.position]
            if character in "\n;":
                yield Token("break", character, self.place())
                self.position += 1
                if character == "\n":
                    self.line, self.start = self.line + 1, self.position
            elif character in " \t\r":
                self.position += 1
            elif character == "#":
                end = text.find("\n", self.position)
                self._check_characters(text[self.position : end if end >= 0 else len(text)])
                self.position = end if end >= 0 else len(text)
            else:
                yield from self._token(character)
        yield Token("end", "", self.place())

    def _token(self, character: str) -> Iterator[Token]:
        text, at = self.text, self.place()
        if number := _NUMBER.match(text, self.position):
            token = self._take("number", number.group(), at)
            if unit := _UNIT.match(text, self.position):
                self.position = unit.end()
                token = Token("number", self._in_units(number.group(), unit.group(1), at), at)
            yield token
            following = _WORD.match(text, self.position)
            if following and _NUMBER.match(text, self.position) is None:
                raise EquationError(
                    f"expected a sign between {number.group()[:20]} and {following.group()[:20]}, "
                    f"such as {number.group()[:20]}*{following.group()[:20]}",
                    at,
                )
            return
        if raised := _RAISED.match(text, self.position):
            self.position = raised.end()
            yield Token("sign", "**", at)
            yield Token("number", raised.group().translate(_SUPERSCRIPTS), at)
            return
        if character == _NABLA:
            yield from self._nabla(at)
            return
        if character in _DELTAS:
            self.position += 1
            yield Token("nabla", "laplacian", at)
            return
        if character in "d∂" and (derivative := self._fraction(at)) is not None:
            yield derivative
            return
        if character == "/" and (over := self._denominator(at)) is not None:
            yield over
            return
        if word := _WORD.match(text, self.position):
            yield self._take("name", self._checked_name(word.group(), at), at, len(word.group()))
            return
        if character in _SIGNS:
            yield self._take("sign", _SIGNS[character], at, 1)
            return
        for sign in _OPERATORS:
            if text.startswith(sign, self.position):
                yield self._take("sign", sign, at)
                return
        self._check_characters(character)
        hint = {
            ".": "; write a number such as 0.5, attributes do not exist here",
            ":": "; write an equation such as laplacian(T) = 0",
            '"': "; names stand without quotation marks",
            "'": "; write a derivative as d(T, x)",
            "|": "; write abs(...) or norm(...)",
        }
        raise EquationError(f"unexpected {character!r}{hint.get(character, '')}", at)

    def _in_units(self, number: str, unit: str, at: Place) -> str:
        self._check_characters(unit)
        try:
            return repr(float(number) * (self.units or System({})).factor(unit))
        except EquationError as error:
            raise EquationError(error.complaint, at) from None

    def _take(self, kind: str, text: str, at: Place, length: int | None = None) -> Token:
        self.position += len(text) if length is None else length
        return Token(kind, text, at)

    def _check_characters(self, characters: str) -> None:
        for character in characters:
            if not character.isprintable() and character not in "\t\r":
                name = unicodedata.name(character, f"U+{ord(character):04X}")
                raise EquationError(f"unexpected invisible character {name}", self.place()._replace(rest=""))

    def _checked_name(self, word: str, at: Place) -> str:
        if len(word) > _LONGEST_NAME:
            raise EquationError(f"expected names of at most {_LONGEST_NAME} characters", at)
        if not word.isidentifier() or unicodedata.normalize("NFKC", word) != word:
            raise EquationError("expected a name of letters and digits", at)
        if word.startswith("_"):
            raise EquationError("expected a name that starts with a letter", at)
        return "pi" if word == "π" else word

    def _nabla(self, at: Place) -> Iterator[Token]:
        """∇², ∇^2, ∇**2, ∇· or ∇."""
        operators = {
            "laplacian": r"\s*(²|\^\s*2|\*\*\s*2)",
            "biharmonic": r"\s*(⁴|\^\s*4|\*\*\s*4)",
            "div": r"\s*[·⋅•.]",
        }
        for function, pattern in operators.items():
            if found := re.compile(pattern).match(self.text, self.position + 1):
                self.position = found.end()
                yield Token("nabla", function, at)
                return
        self.position += 1
        yield Token("nabla", "grad", at)

    def _fraction(self, at: Place) -> Token | None:
        """dT/dx, or d/dx in front of brackets."""
        found = _FRACTION.match(self.text, self.position)
        if found is None:
            return None
        digit, raised, name, below = found.groups()
        whole = self.text[self.position : found.start(4)].split("/")[0].strip()
        if whole in self.declared or whole in self.axes or below in self.declared:
            return None
        order = int(digit or (raised or "1").translate(_SUPERSCRIPTS))
        axes = self._below(below, order, found.start(4))
        if axes is None:
            return None
        self.position = found.end()
        if name is not None:
            self._checked_name(name, at)
        return Token("derivative", name or "", at, axes)

    def _denominator(self, at: Place) -> Token | None:
        """``/dx2`` after brackets, where d(...) may stand before it."""
        found = _DENOMINATOR.match(self.text, self.position)
        if found is None or found.group(1) in self.declared:
            return None
        before = self.text[: self.position].rstrip()
        if not before.endswith(")"):
            return None
        for order in range(1, HIGHEST + 1):
            axes = _decomposed(found.group(1), order, self.axes)
            if axes is not None:
                self.position = found.end()
                return Token("over", found.group(1), at, axes)
        return None

    def _below(self, text: str, order: int, position: int) -> tuple[str, ...] | None:
        for other in (order, *range(1, HIGHEST + 1)):
            axes = _decomposed(text, other, self.axes)
            if axes is not None and other != order:
                complaint = f"expected a derivative of order {order} below as above, got order {other}"
                raise EquationError(complaint, self.place(position))
            if axes is not None:
                return axes
        return None


def _decomposed(text: str, order: int, axes: Collection[str]) -> tuple[str, ...] | None:
    """``dx2dy`` as (x, x, y), if that is of the given order; longer names of axes are preferred."""
    if not text:
        return () if order == 0 else None
    if order <= 0 or text[0] not in "d∂":
        return None
    for axis in sorted(axes, key=len, reverse=True):
        if not text.startswith(axis, 1):
            continue
        rest = text[1 + len(axis) :]
        power = re.match(r"\^?(\d)|([²³⁴⁵⁶])", rest)
        if power:
            times = int(power.group().lstrip("^").translate(_SUPERSCRIPTS))
            below = _decomposed(rest[power.end() :], order - times, axes) if times else None
            if below is not None:
                return (axis,) * times + below
        below = _decomposed(rest, order - 1, axes)
        if below is not None:
            return (axis, *below)
    return None
