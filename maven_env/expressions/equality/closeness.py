"""Whether two closed numbers agree within a tolerance, rigorously."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from maven_env.expressions.balls import MAX_BITS, precision
from maven_env.expressions.equality.agreement import Verdict, ball_at
from maven_env.expressions.equality.comparing import compare_infinite, equal
from maven_env.expressions.tree import (
    Node,
    rational_value,
)


@lru_cache(maxsize=256)
def _tolerance(value: float) -> Fraction:
    return Fraction(repr(float(value)))


def close(a: Node, b: Node, rtol: float, atol: float = 0.0) -> Verdict:
    """Return whether |a - b| <= rtol |a| + atol for closed numbers; `a` is the reference.

    Both outcomes are rigorous; `unknown` where a value is undefined or lies on the edge within 2400 digits.
    """
    relative, absolute = _tolerance(rtol), _tolerance(atol)
    x, y = rational_value(a), rational_value(b)
    if x is not None and y is not None:
        return "equal" if abs(x - y) <= relative * abs(x) + absolute else "different"
    infinite = compare_infinite(a, b)
    if infinite is not None:
        return infinite.verdict
    for bits in (96, 384, 1_536, MAX_BITS):
        found = _close_at(a, b, relative, absolute, bits)
        if found is not None:
            return "equal" if found else "different"
    if not relative and not absolute:
        return equal(a, b)
    return "equal" if equal(a, b) == "equal" else "unknown"


def _close_at(a: Node, b: Node, relative: Fraction, absolute: Fraction, bits: int) -> bool | None:
    from flint import arb, fmpq

    x, y = ball_at(a, {}, bits), ball_at(b, {}, bits)
    if x is None or y is None:
        return None
    with precision(bits):
        gap = abs(x - y)
        allowed = abs(x) * arb(fmpq(relative.numerator, relative.denominator))
        allowed += arb(fmpq(absolute.numerator, absolute.denominator))
        return True if gap <= allowed else False if gap > allowed else None
