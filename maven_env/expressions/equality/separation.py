"""How small a closed expression in radicals can be without being zero.

The bound of Burnikel, Funke, Mehlhorn, Schirra and Schmitt (Algorithmica 55, 2009): an expression of rational
numbers, the imaginary unit, + - * / and roots is a quotient U/L of algebraic integers of degree at most D; if all
conjugates of U are at most u in modulus and those of L at most l, then it is zero or its modulus is at least
1/(u^(D-1) l). A value that is surely smaller than that is proven to be zero.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from maven_env.expressions.tree import (
    Call,
    Constant,
    Negative,
    Node,
    Number,
    Power,
    Product,
    Quotient,
    Sum,
    rational_value,
)

_DEGREE = 1_024


class NotRadical(Exception):
    """The expression is not built from rational numbers by radicals, or its degree is beyond the bound."""


@dataclass(frozen=True, slots=True)
class _Bound:
    """log2 of the bounds on the conjugates of U and of L, and the degree."""

    upper: float
    lower: float
    degree: int


def zero_bits(node: Node) -> float | None:
    """Return b so that |value| < 2^-b proves the closed value to be zero; None if no bound is known."""
    try:
        bound = _bound(node)
    except NotRadical:
        return None
    return (bound.degree - 1) * max(bound.upper, 0.0) + max(bound.lower, 0.0) + 1


def _bound(node: Node) -> _Bound:
    exact = rational_value(node)
    if exact is not None:
        top, bottom = abs(exact.numerator), exact.denominator
        return _Bound(top.bit_length(), bottom.bit_length() - 1 if bottom == 1 else bottom.bit_length(), 1)
    match node:
        case Constant("I"):
            return _Bound(0, 0, 2)
        case Negative(a):
            return _bound(a)
        case Sum(items):
            return _folded(items, add=True)
        case Product(items):
            return _folded(items, add=False)
        case Quotient(a, b):
            over, under = _bound(a), _bound(b)
            degree = _limited(over.degree * under.degree)
            return _Bound(over.upper + under.lower, over.lower + under.upper, degree)
        case Call("sqrt" | "cbrt" as name, (a,)):
            return _root(_bound(a), 2 if name == "sqrt" else 3)
        case Power(a, b):
            exponent = rational_value(b)
            if exponent is None or abs(exponent.numerator) > 1_000:
                raise NotRadical
            inner, times = _bound(a), abs(exponent.numerator)
            if exponent < 0:
                inner = _Bound(inner.lower, inner.upper, inner.degree)
            powered = _Bound(inner.upper * times, inner.lower * times, inner.degree)
            return powered if exponent.denominator == 1 else _root(powered, exponent.denominator)
        case Number() | _:
            raise NotRadical


def _folded(items: tuple[Node, ...], *, add: bool) -> _Bound:
    total = _bound(items[0])
    for item in items[1:]:
        other = _bound(item)
        upper = total.upper + other.upper
        if add:
            upper = max(total.upper + other.lower, other.upper + total.lower) + 1
        total = _Bound(upper, total.lower + other.lower, _limited(total.degree * other.degree))
    return total


def _root(bound: _Bound, k: int) -> _Bound:
    """The k-th root of U/L is (U L^(k-1))^(1/k) / L."""
    return _Bound((bound.upper + (k - 1) * bound.lower) / k, bound.lower, _limited(bound.degree * k))


def _limited(degree: int) -> int:
    if degree > _DEGREE or not math.isfinite(degree):
        raise NotRadical
    return degree
