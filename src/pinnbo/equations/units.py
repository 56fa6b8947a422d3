"""Units: what a text such as ``mm2/s`` stands for, and numbers in the units of a problem's axes and fields.

A unit is a factor and powers of the seven base units of the SI. A problem states its quantities in some units; a number
with a unit of its own is brought into them. The problem's own base units are e^(s_j) SI units each, with

    log factor_k = sum_j power_kj s_j        for every axis and field k that has a unit;

the smallest solution s changes no more than it has to (Moore-Penrose), and if there is none, numbers with units cannot
be brought into them. A number in another unit is then factor / exp(sum_j power_j s_j) of the problem's own.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from pinnbo.equations.errors import EquationError

_BASES = ("m", "kg", "s", "A", "K", "mol", "cd")
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
_PREFIXES = {
    "n": 1e-9,
    "u": 1e-6,
    "µ": 1e-6,
    "μ": 1e-6,
    "m": 1e-3,
    "c": 1e-2,
    "d": 1e-1,
    "h": 1e2,
    "k": 1e3,
    "M": 1e6,
    "G": 1e9,
}
_SIGNS = ("*", "·", "⋅", "/")
_LONGEST = 60
_TOLERANCE = 1e-9
_PART = re.compile(
    r"\s*(?:(?P<sign>[*·⋅/()])|(?P<one>1(?![\d.]))"
    r"|(?P<name>[^\W\d_]+)(?:(?:\^|\*\*)?(?P<power>-?\d+(?:\.\d+)?))?)"
)


@dataclass(frozen=True)
class Unit:
    """So many SI units, with the powers of the base units."""

    factor: float
    powers: tuple[float, ...] = (0.0,) * len(_BASES)

    def __mul__(self, other: Unit) -> Unit:
        return Unit(
            self.factor * other.factor, tuple(a + b for a, b in zip(self.powers, other.powers, strict=True))
        )

    def __pow__(self, exponent: float) -> Unit:
        return Unit(self.factor**exponent, tuple(exponent * a for a in self.powers))

    def __truediv__(self, other: Unit) -> Unit:
        return self * other**-1.0

    @property
    def is_number(self) -> bool:
        """Whether it is a plain number, whatever the factor."""
        return not any(self.powers)

    def is_same(self, other: Unit) -> bool:
        """Whether both are one unit, up to rounding."""
        return np.allclose(self.powers, other.powers) and math.isclose(
            self.factor, other.factor, rel_tol=_TOLERANCE
        )

    def __str__(self) -> str:
        parts = [
            name + ("" if p == 1 else f"{p:g}") for name, p in zip(_BASES, self.powers, strict=True) if p
        ]
        factor = "" if math.isclose(self.factor, 1.0, rel_tol=_TOLERANCE) else f"{self.factor:.4g} "
        return (factor + " ".join(parts)).strip() or "1"


def _base(**powers: float) -> tuple[float, ...]:
    return tuple(float(powers.get(name, 0.0)) for name in _BASES)


NUMBER = Unit(1.0)
_PREFIXED = {
    "m": Unit(1.0, _base(m=1)),
    "g": Unit(1e-3, _base(kg=1)),
    "s": Unit(1.0, _base(s=1)),
    "A": Unit(1.0, _base(A=1)),
    "K": Unit(1.0, _base(K=1)),
    "mol": Unit(1.0, _base(mol=1)),
    "N": Unit(1.0, _base(kg=1, m=1, s=-2)),
    "Pa": Unit(1.0, _base(kg=1, m=-1, s=-2)),
    "J": Unit(1.0, _base(kg=1, m=2, s=-2)),
    "W": Unit(1.0, _base(kg=1, m=2, s=-3)),
    "V": Unit(1.0, _base(kg=1, m=2, s=-3, A=-1)),
    "C": Unit(1.0, _base(A=1, s=1)),
    "Ohm": Unit(1.0, _base(kg=1, m=2, s=-3, A=-2)),
    "Hz": Unit(1.0, _base(s=-1)),
    "L": Unit(1e-3, _base(m=3)),
    "l": Unit(1e-3, _base(m=3)),
    "bar": Unit(1e5, _base(kg=1, m=-1, s=-2)),
    "eV": Unit(1.602176634e-19, _base(kg=1, m=2, s=-2)),
    "T": Unit(1.0, _base(kg=1, s=-2, A=-1)),
}
_PLAIN = {
    "cd": Unit(1.0, _base(cd=1)),
    "degC": Unit(1.0, _base(K=1)),
    "min": Unit(60.0, _base(s=1)),
    "h": Unit(3600.0, _base(s=1)),
    "d": Unit(86400.0, _base(s=1)),
    "day": Unit(86400.0, _base(s=1)),
    "rad": NUMBER,
    "deg": Unit(math.pi / 180.0),
}
_TEMPERATURES = ("degC", "K")


def parse(text: str) -> Unit:
    """A unit such as ``m2/s``, ``W/(m K)`` or ``1/min``."""
    if not text.strip() or len(text) > _LONGEST:
        raise EquationError(f"expected a unit such as m2/s, got {text!r:.40}")
    unit, rest = _product(text.translate(_SUPERSCRIPTS).replace("°C", "degC"), text)
    if rest.strip():
        raise EquationError(f"expected a unit such as m2/s, got {text!r:.60}")
    return unit


def _product(rest: str, whole: str) -> tuple[Unit, str]:
    found, divides, after_slash, first, sign = NUMBER, False, False, True, ""
    while (match := _PART.match(rest)) is not None:
        before, sign = sign, match["sign"] or ""
        if sign == ")":
            break
        if sign in _SIGNS:
            if first or before in _SIGNS:
                break
            divides, rest = sign == "/", rest[match.end() :]
            after_slash = after_slash or divides
            continue
        if after_slash and not divides and not first:
            raise EquationError(f"unit {whole!r:.60}: what is below the line? write W/(m K) or W/m/K")
        if sign == "(":
            part, rest = _product(rest[match.end() :], whole)
            if not rest.lstrip().startswith(")"):
                raise EquationError(f"unit {whole!r:.60}: expected a closing bracket")
            rest = rest.lstrip()[1:]
        else:
            part = NUMBER if match["one"] else _named(match["name"], whole) ** float(match["power"] or 1)
            rest = rest[match.end() :]
        found, divides, first = (found / part if divides else found * part), False, False
    if first or sign in _SIGNS:
        raise EquationError(f"expected a unit such as m2/s, got {whole!r:.60}")
    return found, rest


def _named(name: str, whole: str) -> Unit:
    if name in _PLAIN:
        return _PLAIN[name]
    if name in _PREFIXED:
        return _PREFIXED[name]
    prefix, stem = name[:1], name[1:]
    if prefix in _PREFIXES and stem in _PREFIXED:
        return Unit(_PREFIXES[prefix]) * _PREFIXED[stem]
    known = ", ".join([*_PREFIXED, *_PLAIN])
    raise EquationError(
        f"unit {whole!r:.60}: {name!r:.20} is unknown; there are {known}, and prefixes such as m and k"
    )


_QUANTITY = re.compile(r"\s*([-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?)\s*(.*?)\s*$")


class System:
    """The units in which the axes and fields of a problem are stated."""

    def __init__(self, units: Mapping[str, str]) -> None:
        self._texts = dict(units)
        self.units = {name: parse(text) for name, text in units.items()}
        stated = [unit for unit in self.units.values() if not unit.is_number]
        powers = np.array([unit.powers for unit in stated]).reshape(-1, len(_BASES))
        logs = np.log([unit.factor for unit in stated])
        self._scales = np.linalg.lstsq(powers, logs, rcond=None)[0] if stated else np.zeros(len(_BASES))
        self._fit = not np.any(np.abs(powers @ self._scales - logs) > 1e-6)

    def value(self, name: str, given: Any) -> Any:
        """A number, or a text with a number and its unit such as ``12 mm2/s``, in the units of the problem."""
        if not isinstance(given, str):
            return given
        match = _QUANTITY.match(given)
        if match is None or not match[2]:
            raise EquationError(
                f"{name}: expected a number, or one with its unit such as '12 mm2/s', got {given!r:.40}"
            )
        try:
            return float(match[1]) * self.factor(match[2])
        except EquationError as error:
            raise EquationError(f"{name}: {error.complaint}") from None

    def factor(self, unit: str) -> float:
        """How many of the problem's own units a unit is."""
        found = parse(unit)
        if not self.units:
            raise EquationError(f"a number in {unit}: expected the units of the axes with it, in units")
        if not self._fit:
            shown = ", ".join(f"{name} in {text}" for name, text in self._texts.items())
            raise EquationError(
                f"a number in {unit} beside {shown}: expected one unit for all lengths, one for all times"
            )
        temperatures = [text for text in self._texts.values() if text in _TEMPERATURES]
        if unit in _TEMPERATURES and temperatures and unit not in temperatures:
            raise EquationError(
                f"a temperature in {unit} beside one in {temperatures[0]}: expected one of them, 0 degC is 273.15 K"
            )
        return found.factor / math.exp(float(np.dot(found.powers, self._scales)))


def readable(units: Mapping[str, str]) -> dict[str, str]:
    """Those that are known here; pictures may show others, such as counts."""
    return {name: text for name, text in units.items() if _is_known(text)}


def _is_known(text: str) -> bool:
    try:
        parse(text)
    except EquationError:
        return False
    return True
