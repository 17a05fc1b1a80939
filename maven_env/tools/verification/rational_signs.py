"""The signs of a rational function on an interval: exact, from its real roots and their multiplicities."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

from maven_env.errors import ToolError
from maven_env.expressions.algebra.algebraic import exact_fraction
from maven_env.expressions.algebra.flint_rationals import as_fmpq, fraction
from maven_env.expressions.balls import Undecided, precision
from maven_env.expressions.numeric import float_of
from maven_env.tools.verification.evidence import double
from maven_env.tools.verification.polynomial_values import real_roots

_FINE = 256


@dataclass(frozen=True, slots=True)
class SignPicture:
    """The signs that surely occur, whether these are all, the extreme values met, and where the sign changes."""

    signs: frozenset[int]
    is_complete: bool
    low: float | None
    high: float | None
    changes: tuple[float, ...]
    undecided: tuple[tuple[float, float], ...]
    evidence: str


def signs_of_rational(function: tuple[Any, Any], low: Fraction | None, high: Fraction | None) -> SignPicture:
    """The sign of p/q is that of p q, which changes at real roots of odd multiplicity."""
    top, bottom = function
    if top == 0:
        return SignPicture(frozenset((0,)), True, 0.0, 0.0, (), (), "zero identically")
    zeros = [(root, m, False) for root, m in (real_roots(top) if top.degree() > 0 else [])]
    poles = [(root, m, True) for root, m in (real_roots(bottom) if bottom.degree() > 0 else [])]
    inside, edges = [], []
    for root, multiplicity, is_pole in sorted([*zeros, *poles], key=lambda item: exact_fraction(item[0])):
        place = _place(root, low, high, bottom if is_pole else top)
        if place > 0:
            inside.append((root, multiplicity, is_pole))
        elif place == 0:
            edges.append(is_pole)
    if any(is_pole for _, _, is_pole in inside) or any(edges):
        places = [double(root) for root, _, is_pole in inside if is_pole]
        message = f"the function has poles in the interval: {places or 'at an end'}"
        raise ToolError("DOMAIN_ERROR", message, "take the pieces between the poles")
    signs = {0} if inside or edges else set()
    cuts = [low, *(exact_fraction(root) for root, _, _ in inside), high]
    samples = [_between(a, b) for a, b in pairwise(cuts)]
    product = top * bottom
    signs |= {_sign(product, x) for x in samples}
    changes = tuple(double(root) for root, m, _ in inside if m % 2)
    critical = (
        (top.derivative() * bottom - top * bottom.derivative()) if top.degree() + bottom.degree() > 0 else top * 0
    )
    stops = [exact_fraction(r) for r, _ in (real_roots(critical) if critical.degree() > 0 else [])]
    visited = [x for x in (low, high, *stops) if x is not None and _is_within(x, low, high)]
    values = [_value(top, bottom, x) for x in visited]
    if inside or edges:
        values.append(0.0)
    bounded = low is not None and high is not None
    least, most = (min(values), max(values)) if values and bounded else (None, None)
    return SignPicture(frozenset(signs), True, least, most, changes, (), "exact: real roots and their multiplicities")


def _place(root: Any, low: Fraction | None, high: Fraction | None, polynomial: Any) -> int:
    """Return 1 inside, 0 at an end, -1 outside."""
    from flint import arb

    for end, inward in ((low, 1), (high, -1)):
        if end is None:
            continue
        with precision(_FINE):
            gap = (root - arb(as_fmpq(end))) * inward
            if gap < 0:
                return -1
            if gap.contains(0):
                if polynomial(as_fmpq(end)) == 0:
                    return 0
                raise Undecided("a root lies too close to the end of the interval")
    return 1


def _between(a: Fraction | None, b: Fraction | None) -> Fraction:
    if a is None and b is None:
        return Fraction(0)
    if a is None:
        return (b or Fraction(0)) - 1
    return a + 1 if b is None else (a + b) / 2


def _is_within(x: Fraction, low: Fraction | None, high: Fraction | None) -> bool:
    return (low is None or x >= low) and (high is None or x <= high)


def _sign(polynomial: Any, x: Fraction) -> int:
    value = polynomial(as_fmpq(x))
    return int(value > 0) - int(value < 0)


def _value(top: Any, bottom: Any, x: Fraction) -> float:
    value = top(as_fmpq(x)) / bottom(as_fmpq(x))
    return float_of(fraction(value))
