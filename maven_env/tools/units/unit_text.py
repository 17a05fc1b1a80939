"""Unit text in a bounded grammar, which never reaches pint's own parser: names are looked up one by one.

`J/mol/K`, `kg*m^2`, `m2.s-1` and `km/h` are read; what people read in two ways, such as `W/m^2 K`, is refused.
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache
from typing import Any

from maven_env.errors import LimitExceeded
from maven_env.tools.units.unit_registry import EXPONENT, LOCK, look_up, unknown_unit
from maven_env.tools.units.unit_values import ONE, UnitValue

_LENGTH = 200  # characters of unit text
_DEPTH = 8
_DECIMAL_EXPONENT = 60  # of a number in unit text
_SIGNS = str.maketrans(
    {
        "·": "*",
        "⋅": "*",
        "×": "*",
        "−": "-",
        "\u00a0": " ",
        "\u2009": " ",
        "\u202f": " ",
        "\u212b": "Å",
        "μ": "u",
        "µ": "u",
    }
)

_SUPERSCRIPTS = re.compile("[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+")
_PLAIN = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
_LETTERS = (
    ("°C", "degC"),
    ("℃", "degC"),
    ("°F", "degF"),
    ("℉", "degF"),
    ("°", "degree"),
    ("Ω", "ohm"),
    ("Å", "angstrom"),
)

_TOKEN = re.compile(
    r"\s*(?:(?P<ten>10\*\*?(?=[-+]?\d)|10\^(?=[-+]?\d))"
    r"|(?P<number>\d+(?:\.\d+)?(?:[eE][-+]?\d{1,3}(?![A-Za-z]))?)"
    r"|(?P<name>\[[A-Za-z_]+\]|m\[Hg\]|[%‰′″'\"]|[A-Za-zØø_][A-Za-z0-9Øø_]*)"
    r"|(?P<operator>\*\*|[-+*/.^()]))"
)


@lru_cache(maxsize=4_096)
def read_unit(text: str) -> UnitValue:
    """Read unit text; empty text and 1 are the pure number.

    Raises UNKNOWN_UNIT (no such unit, or text that can be read in two ways) and LimitExceeded.
    """
    if len(text) > _LENGTH:
        raise LimitExceeded("size", f"a unit of {len(text)} characters, the bound is {_LENGTH}")
    with LOCK:
        return _Reader(text).whole()


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        plain = _SUPERSCRIPTS.sub(lambda m: "^" + m[0].translate(_PLAIN), text.translate(_SIGNS)).strip()
        for sign, word in _LETTERS:
            plain = plain.replace(sign, word)
        self.tokens: list[tuple[str, str]] = []
        position = 0
        while position < len(plain):
            match = _TOKEN.match(plain, position)
            if match is None:
                raise unknown_unit(f"{text!r}: unexpected {plain[position]!r}")
            kind = match.lastgroup or ""
            space = " " if match.start(kind) > position else ""
            self.tokens.append((space + kind, match[kind]))
            position = match.end()
        self.tokens.append(("end", ""))
        self.index = 0
        self.depth = 0

    @property
    def kind(self) -> str:
        return self.tokens[self.index][0].strip()

    @property
    def word(self) -> str:
        return self.tokens[self.index][1]

    def whole(self) -> UnitValue:
        if self.kind == "end":
            return ONE
        unit = self.product()
        if self.kind != "end":
            raise unknown_unit(f"{self.text!r}: unexpected {self.word!r}")
        return unit

    def product(self) -> UnitValue:
        if self.kind == "operator" and self.word == "/":  # UCUM: /m is 1/m
            total = ONE
        else:
            total = self.factor()
        divided = False
        while True:
            if self.kind == "operator" and self.word in ("*", "."):
                if divided and self.word == ".":
                    raise unknown_unit(
                        f"{self.text!r}: a product after '/' can be read in two ways", "write J/(mol*K) or J/mol/K"
                    )
                self.index += 1
                total = total.times(self.factor())
            elif self.kind == "operator" and self.word == "/":
                self.index += 1
                divided = True
                total = total.times(self.factor().power(Fraction(-1)))
            elif self.kind in ("name", "number", "ten") or self.word == "(":
                if divided:
                    raise unknown_unit(
                        f"{self.text!r}: a product after '/' can be read in two ways", "write J/(mol*K) or J/mol/K"
                    )
                if self.word == "(" and not self.tokens[self.index][0].startswith(" "):
                    raise unknown_unit(f"{self.text!r}: a sign is missing before the bracket")
                if self.kind != "name" and self.word != "(":
                    raise unknown_unit(f"{self.text!r}: a number stands after a unit")
                total = total.times(self.factor())
            else:
                return total

    def factor(self) -> UnitValue:
        kind, word = self.kind, self.word
        self.index += 1
        if kind == "ten":
            return UnitValue(Fraction(10) ** self.exponent_digits(), ())
        if kind == "number":
            return UnitValue(self.number(word), ())
        if word == "(":
            self.depth += 1
            if self.depth > _DEPTH:
                raise LimitExceeded("depth", f"a unit nested deeper than {_DEPTH}")
            unit = self.product()
            if self.word != ")":
                raise unknown_unit(f"{self.text!r}: a bracket is not closed")
            self.index += 1
            self.depth -= 1
            return unit.power(self.exponent()) if self.has_exponent() else unit
        if kind != "name":
            raise unknown_unit(f"{self.text!r}: a unit was expected where {word or 'the end'!r} stands")
        unit, digits = look_up(word, self.text)
        if digits is not None:
            if self.has_exponent():
                raise unknown_unit(f"{self.text!r}: two exponents in a row")
            return unit.power(Fraction(digits))
        return unit.power(self.exponent()) if self.has_exponent() else unit

    def number(self, word: str) -> Fraction:
        if self.kind == "name" and not self.tokens[self.index][0].startswith(" ") and self.word[0] in "eE":
            raise unknown_unit(f"{self.text!r}: the number {word}{self.word} cannot be read")
        exponent = word.lower().partition("e")[2]
        if len(word) > 40 or abs(int(exponent or 0)) > _DECIMAL_EXPONENT:
            raise LimitExceeded(
                "size", f"the number {word[:20]} in a unit is beyond the bounds", "put it into the value"
            )
        value = Fraction(word)
        if value == 0:
            raise unknown_unit(f"{self.text!r}: a unit has no factor 0")
        if self.kind == "number" or (self.kind == "operator" and self.word in ("*", "^", "**", "+", "-")):
            following = self.tokens[self.index + 1][0].strip() if self.index + 1 < len(self.tokens) else ""
            if self.word != "*" or following in ("number", "ten"):
                raise unknown_unit(f"{self.text!r}: arithmetic with numbers is not read in a unit")
        return value

    def has_exponent(self) -> bool:
        kind, word = self.tokens[self.index]
        if kind == "operator" and word in ("^", "**"):
            return True
        return kind == "operator" and word in ("-", "+") and self.tokens[self.index + 1][0] == "number"

    def exponent(self) -> Fraction:
        if self.word in ("^", "**"):
            self.index += 1
        if self.word == "(":
            self.index += 1
            top = self.exponent_digits()
            bottom = 1
            if self.word == "/":
                self.index += 1
                bottom = self.exponent_digits()
            if self.word != ")" or not bottom:
                raise unknown_unit(f"{self.text!r}: an exponent is a number such as 2, -1 or (1/2)")
            self.index += 1
            return self.bounded(Fraction(top, bottom))
        return self.bounded(Fraction(self.exponent_digits(decimals=True)))

    def exponent_digits(self, *, decimals: bool = False) -> Any:
        sign = 1
        if self.word in ("-", "+"):
            sign = -1 if self.word == "-" else 1
            self.index += 1
        word = self.word
        if (
            self.kind != "number"
            or len(word) > 7
            or not (word.isdigit() or (decimals and word.replace(".", "").isdigit()))
        ):
            raise unknown_unit(f"{self.text!r}: an exponent is a number such as 2, -1 or (1/2)")
        self.index += 1
        value = sign * Fraction(word)
        self.bounded(value)
        return value if decimals else int(value)

    def bounded(self, value: Fraction) -> Fraction:
        if abs(value) > EXPONENT or value.denominator > 12:
            raise LimitExceeded("size", f"{self.text!r}: exponents go up to {EXPONENT}", "write plain units")
        return value
