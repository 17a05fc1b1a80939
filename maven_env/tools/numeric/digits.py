"""Correctly rounded decimals of closed values, and what double precision loses against them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from maven_env.expressions import Node, rational_value
from maven_env.expressions.balls import MAX_BITS, decimal, dyadic, precision, value_ball
from maven_env.expressions.numeric import float_of

_ZERO_DIGITS = 500  # a part that stays in a ball of 10^-500 of the whole is taken for 0
_DECIMAL_EXPONENT = 300  # beyond it the text is written with 10^n, which the parser reads


@dataclass(frozen=True)
class Rounded:
    """A closed value: the nearest double, its decimal text, a bound on the error of the text, and a ball around it."""

    value: float | complex | None
    text: str
    error: float | str  # text where it is beyond the range of doubles
    note: str
    ball: Any


def rounded_value(node: Node, digits: int) -> Rounded:
    """Return the closed value of `node` rounded to `digits`. Raises what `value_ball` raises."""
    exact = rational_value(node)
    if exact is not None:
        text, error = decimal_text(exact, digits)
        with precision(256):
            near = decimal(exact)
        return Rounded(_double(exact), text, _size(error), "", near)
    low_high, found, note = _enclose(node, digits)
    parts = [_part(*bounds, digits) for bounds in low_high]
    (value, text, error), (imaginary, imaginary_text, imaginary_error) = parts
    if imaginary == 0:
        return Rounded(value, text, _size(error), note, found)
    both = None if value is None or imaginary is None else complex(value, imaginary)
    sign, bare = ("-", imaginary_text[1:]) if imaginary_text.startswith("-") else ("+", imaginary_text)
    lead = "" if value == 0 else f"{text} "
    joined = f"{lead}{sign} {bare}*I" if lead else f"{imaginary_text}*I"
    return Rounded(both, joined, _size(max(error, imaginary_error)), note, found)


def _enclose(node: Node, digits: int) -> tuple[list[tuple[Fraction, Fraction]], Any, str]:
    """Return bounds of the real and the imaginary part that round to the same `digits`, a ball, and a note."""
    wanted = digits + 5
    while True:
        found = value_ball(node, digits=wanted)
        bounds = [_bounds(found.real), _bounds(found.imag)]
        whole = max(abs(b) for pair in bounds for b in pair)
        settled = all(_is_settled(low, high, whole, digits) for low, high in bounds)
        if settled or wanted * 4 * 3.33 > MAX_BITS or whole == 0:
            break
        if found.real.contains(0) and found.imag.contains(0):
            break  # value_ball went to its last precision
        wanted *= 2
    note = ""
    if all(low <= 0 <= high for low, high in bounds) and any(low != high for low, high in bounds):
        note = "the value cannot be told from 0: it is below 1e-300, or 0"
    return bounds, found, note


def _is_settled(low: Fraction, high: Fraction, whole: Fraction, digits: int) -> bool:
    if low == high:
        return True
    if low <= 0 <= high:
        return bool(high - low < whole / 10**_ZERO_DIGITS)
    return decimal_text(low, digits)[0] == decimal_text(high, digits)[0]


def _part(low: Fraction, high: Fraction, digits: int) -> tuple[float | None, str, Fraction]:
    if low <= 0 <= high:
        return 0.0, "0", max(-low, high)
    middle = (low + high) / 2
    text, error = decimal_text(middle, digits)
    return _double(middle), text, max(error, (high - low) / 2)


def _size(value: Fraction) -> float | str:
    """Return the double of an error, or its text where a double would say 0 or infinity."""
    number = float_of(value)
    return number if value == 0 or 0 < number < math.inf else decimal_text(value, 2)[0]


def _bounds(value: Any) -> tuple[Fraction, Fraction]:
    """Return exact lower and upper bounds of a real ball."""
    middle, radius = dyadic(value.mid()), dyadic(value.rad())
    return middle - radius, middle + radius


def _double(value: Fraction) -> float | None:
    number = float_of(value)
    return number if math.isfinite(number) else None


def decimal_text(value: Fraction, digits: int) -> tuple[str, Fraction]:
    """Return `value` rounded half to even to `digits` significant digits, and the error of that."""
    if value == 0:
        return "0", Fraction(0)
    sign = "-" if value < 0 else ""
    size = abs(value)
    exponent = _decimal_exponent(size)
    scaled = size * Fraction(10) ** (digits - 1 - exponent)
    whole = round(scaled)
    if whole == 10**digits:
        whole, exponent = 10 ** (digits - 1), exponent + 1
    figures = str(whole)
    error = Fraction(0) if whole == scaled else Fraction(10) ** (exponent - digits + 1) / 2
    return sign + _placed(figures, exponent), error


def _decimal_exponent(size: Fraction) -> int:
    guess = int((size.numerator.bit_length() - size.denominator.bit_length()) * 0.30103)
    while Fraction(10) ** guess > size:
        guess -= 1
    while Fraction(10) ** (guess + 1) <= size:
        guess += 1
    return guess


def _placed(figures: str, exponent: int) -> str:
    """Put the decimal point: plain from 1e-7 to the last digit, with an exponent elsewhere."""
    if 0 <= exponent < len(figures):
        rest = figures[exponent + 1 :]
        return figures[: exponent + 1] + ("." + rest if rest else "")
    if -7 <= exponent < 0:
        return "0." + "0" * (-exponent - 1) + figures
    mantissa = f"{figures[0]}.{figures[1:]}"
    return f"{mantissa}e{exponent}" if abs(exponent) <= _DECIMAL_EXPONENT else f"{mantissa}*10^({exponent})"


def lost_digits(value: float | complex, exact: Any) -> float | None:
    """Return the decimal digits by which `value` misses the value in the ball `exact`, beyond one rounding: 0 to 16."""
    with precision(max(128, 53 + 64)):
        from flint import acb, arb

        gap = abs(acb(value.real, value.imag) - exact)
        size = abs(exact)
        if size.contains(0):
            return 0.0 if value == 0 else 16.0
        ratio = gap / size * arb(2) ** 53
        if not ratio.is_finite():
            return None
        above = float(ratio.abs_upper())
    return round(min(16.0, math.log10(above)), 1) + 0.0 if above > 1 else 0.0
