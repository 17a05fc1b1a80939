"""The numbers that are written in calls and answers, and whether they come from somewhere.

The largest closed parts of an input are folded into one constant: `3*(3/4)*(13/10)^2` is one. Exponents and options
are no constants. A literal comes from a value if it equals it, or is it rounded to the digits written, three at least.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from maven_env.errors import ToolError
from maven_env.expressions import (
    Negative,
    Node,
    Number,
    Power,
    Product,
    Quotient,
    Sum,
    number_node,
    parse_relation,
    rational_value,
)
from maven_env.expressions.tree import children
from maven_env.references import PATTERN
from maven_env.types import Json

SMALLEST_FREE = 12  # integers and parts of fractions up to this size need no source
SIGNIFICANT = 3  # digits that a rounded literal must have
OPTION_DIGITS = 3  # digits that an option may have without a source: more than that is a value in disguise
SMALL_LITERALS = 12  # free numbers in one expression: more than that spell out a value digit by digit
_NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?:[eE][-+]?\d+)?(?:/\d+)?")


@dataclass(frozen=True)
class Constant:
    """A closed part: its value, and the literals that it is written with. A fraction is one literal, with its parts."""

    value: Fraction
    literals: tuple[Constant, ...] = ()


def constants(value: Json, exempt: frozenset[str] = frozenset()) -> list[Constant]:
    """Return the constants of a JSON value; fields named in `exempt` are options and are passed over."""
    found: list[Constant] = []
    _collect(value, exempt, found)
    return found


def _collect(value: Json, exempt: frozenset[str], found: list[Constant]) -> None:
    kind = type(value)
    if kind is float or kind is int:
        if constant := _constant_of_number(value):
            found.append(constant)
    elif kind is str:
        found.extend(_constants_of_text(value))
    elif isinstance(value, Mapping):
        for key, item in value.items():
            if key not in exempt:
                _collect(item, exempt, found)
    elif isinstance(value, list | tuple):
        for item in value:
            _collect(item, exempt, found)


@lru_cache(maxsize=65_536, typed=True)
def _constant_of_number(value: int | float) -> Constant | None:
    if isinstance(value, float):
        return Constant(Fraction(repr(value))) if math.isfinite(value) else None
    return Constant(Fraction(value))


@lru_cache(maxsize=16_384)
def _constants_of_text(text: str) -> tuple[Constant, ...]:
    """Read text as mathematics, with a reference as a symbol; text that is none gives the numbers that stand in it."""
    stripped = text.strip()
    if PATTERN.fullmatch(stripped) or stripped.isidentifier():
        return ()
    try:
        return tuple(_folded(parse_relation(PATTERN.sub(" reference_ ", text))))
    except ToolError:
        return tuple(Constant(number) for number in numbers_in(PATTERN.sub(" ", text)))


def numbers_in(text: str) -> list[Fraction]:
    """Return the numbers of running text; `3/4` is one."""
    found = []
    for word in _NUMBER.findall(text):
        top, _, bottom = word.partition("/")
        if len(top) <= 400 and len(bottom) <= 400 and int(bottom or 1) != 0:
            found.append(Fraction(top) / int(bottom or 1))
    return found


def _folded(node: Node) -> Iterator[Constant]:
    closed = rational_value(node)
    if closed is not None:
        yield Constant(closed, tuple(_literals(node)))
        return
    if isinstance(node, Power):
        yield from _folded(node.base)
        if rational_value(node.exponent) is None:
            yield from _folded(node.exponent)
        return
    if isinstance(node, Sum | Product):
        yield from _folded_parts(node)
        return
    for child in children(node):
        yield from _folded(child)


def _folded_parts(node: Sum | Product) -> Iterator[Constant]:
    """Fold the closed terms or factors of a sum or product into one constant, wherever they stand."""
    parts = children(node)
    closed = [part for part in parts if rational_value(part) is not None]
    if closed:
        whole = type(node)(tuple(closed)) if len(closed) > 1 else closed[0]
        value = rational_value(whole)
        literals = tuple(number for part in closed for number in _literals(part))
        yield Constant(value if value is not None else Fraction(0), literals)
    for part in parts:
        if rational_value(part) is None:
            yield from _folded(part)


def _literals(node: Node) -> Iterator[Constant]:
    if isinstance(node, Number):
        yield Constant(node.value)
    elif isinstance(node, Quotient) and (fraction := _fraction(node)):
        yield fraction
    elif isinstance(node, Power):
        yield from _literals(node.base)
    else:
        for child in children(node):
            yield from _literals(child)


def _fraction(node: Quotient) -> Constant | None:
    top = node.numerator.operand if isinstance(node.numerator, Negative) else node.numerator
    bottom = node.denominator
    if not (isinstance(top, Number) and isinstance(bottom, Number)):
        return None
    return Constant(top.value / bottom.value, (Constant(top.value), Constant(bottom.value)))


def small_literals(value: Json, exempt: frozenset[str] = frozenset()) -> int:
    """Return the most free numbers in one expression of an input, exponents and options apart."""
    if isinstance(value, str):
        return _small_literals_of_text(value)
    if isinstance(value, Mapping):
        return max((small_literals(item, exempt) for key, item in value.items() if key not in exempt), default=0)
    return max((small_literals(item, exempt) for item in value), default=0) if isinstance(value, list | tuple) else 0


@lru_cache(maxsize=16_384)
def _small_literals_of_text(text: str) -> int:
    try:
        node = parse_relation(PATTERN.sub(" reference_ ", text))
    except ToolError:
        return 0
    return sum(is_structural(literal.value) for literal in _literals(node))


def is_structural(value: Fraction) -> bool:
    """Return whether a number is small enough to be part of a formula, such as 2 or 1/3."""
    return -SMALLEST_FREE <= value.numerator <= SMALLEST_FREE and value.denominator <= SMALLEST_FREE


@dataclass(frozen=True)
class Source:
    """The values that one artifact showed, ready for look-up: exact magnitudes, and the same sorted as doubles."""

    step_id: str
    exact: frozenset[Fraction]
    values: tuple[Fraction, ...]
    doubles: tuple[float, ...]

    def match(self, number: Fraction) -> Fraction | None:
        """Return the magnitude that `number` equals, or is one rounded to the digits written; None if there is none."""
        wanted = abs(number)
        if wanted in self.exact:
            return wanted
        size = _double(wanted)
        first, last = bisect_left(self.doubles, size * 0.98), bisect_right(self.doubles, size * 1.02)
        if first == last:
            return None
        digits = significant_digits(wanted)
        return next((value for value in self.values[first:last] if _is_rounded(wanted, value, digits)), None)

    def shows(self, number: Fraction) -> bool:
        return self.match(number) is not None


def source_of(step_id: str, values: Iterable[Fraction]) -> Source:
    exact = frozenset(abs(value) for value in values)
    magnitudes = tuple(sorted(exact))
    return Source(step_id, exact, magnitudes, tuple(_double(value) for value in magnitudes))


def _is_rounded(number: Fraction, value: Fraction, digits: int | None) -> bool:
    if value == 0 or abs(number - value) * 100 > value:
        return False
    if digits is None:  # no finite decimal: only the same number to twelve digits
        return abs(number - value) <= value / 10**12
    if digits < SIGNIFICANT:
        return False
    return float(f"{_double(value):.{min(digits, 16) - 1}e}") == _double(number)


def _double(value: Fraction) -> float:
    try:
        return value.numerator / value.denominator
    except OverflowError:
        return math.inf


@lru_cache(maxsize=8_192)
def significant_digits(number: Fraction) -> int | None:
    """Return the significant decimal digits of a number, or None if it has no finite decimal."""
    denominator, twos, fives = number.denominator, 0, 0
    while denominator % 2 == 0:
        denominator, twos = denominator // 2, twos + 1
    while denominator % 5 == 0:
        denominator, fives = denominator // 5, fives + 1
    if denominator != 1:
        return None
    scaled = number.numerator * 10 ** max(twos, fives) // number.denominator
    return len(str(scaled).rstrip("0")) if number.numerator.bit_length() + max(twos, fives) * 4 < 10_000 else None


def node_of(value: Json) -> Node | None:
    """Return a JSON value as a tree, or None if it is no expression."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        return parse_relation(value) if isinstance(value, str) else number_node(value)
    except ToolError:
        return None
