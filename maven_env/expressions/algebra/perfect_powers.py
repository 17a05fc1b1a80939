"""Perfect powers among rationals, and common divisors of rationals."""

from __future__ import annotations

from fractions import Fraction
from math import gcd


def rational_gcd(a: Fraction, b: Fraction) -> Fraction:
    """Return the largest rational of which both are whole multiples."""
    return Fraction(gcd(a.numerator * b.denominator, b.numerator * a.denominator), a.denominator * b.denominator)


def exact_root(n: int, order: int) -> int | None:
    """Return the positive whole root of n, None where there is none or n is beyond 900 bits."""
    root = round(n ** (1 / order)) if n < 1 << 900 else 0
    return next((r for r in (root - 1, root, root + 1) if r > 0 and r**order == n), None)


def perfect_power(value: Fraction) -> tuple[Fraction, int]:
    """Return (b, n) with b^n = value and n as large as possible; b > 1."""
    if value < 1:
        base, power = perfect_power(1 / value)
        return base, -power
    for n in range(min(64, max(value.numerator.bit_length(), 1)), 1, -1):
        top = exact_root(value.numerator, n)
        bottom = exact_root(value.denominator, n)
        if top is not None and bottom is not None:
            return Fraction(top, bottom), n
    return value, 1
