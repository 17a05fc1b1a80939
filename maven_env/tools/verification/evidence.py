"""What checks share: enclosing values rigorously, the size that cancellation is measured against, and the verdict."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from maven_env.errors import ToolError
from maven_env.expressions import (
    Call,
    Negative,
    Node,
    Number,
    Power,
    Product,
    Quotient,
    Relation,
    Sum,
    free_symbols,
    rational_value,
    replace,
)
from maven_env.expressions.balls import Undecided, ball, precision
from maven_env.expressions.numeric import unknown_symbols

MARGIN = 10  # between evidence and tolerance, for passed and for failed


def judged(evidence: float, tolerance: float) -> bool | None:
    """Return whether `evidence` is below `tolerance` by the margin, above it by the margin (False), or between."""
    if evidence == 0 or evidence * MARGIN <= tolerance:
        return True
    return False if evidence >= tolerance * MARGIN else None


def all_hold(verdicts: list[bool | None]) -> bool | None:
    """Return False if one fails, None if one is open, else True."""
    return False if False in verdicts else None if None in verdicts else True


def closed(node: Node, subs: Mapping[str, Node]) -> Node:
    """Put values for symbols. Raises UNKNOWN_SYMBOL if a symbol has none."""
    found = replace(node, subs)
    missing = unknown_symbols(found, ())
    if missing is not None:
        raise ToolError("UNKNOWN_SYMBOL", missing.message, f"known: {', '.join(subs) or 'none'}")
    return found


def enclosed(node: Node, bits: int) -> Any:
    """Return an acb that contains the closed value. Raises DOMAIN_ERROR where it is undefined or cannot be enclosed."""
    if node.__class__ is Relation:
        raise ToolError("BAD_INPUT", "a relation has no numeric value", "give one side of it")
    with precision(bits):
        try:
            found = ball(node, {})
        except (ValueError, ZeroDivisionError, OverflowError) as error:
            raise Undecided(str(error) or "no value here") from None
        if not found.is_finite():
            raise Undecided("no finite value here")
        return found


def terms_of(node: Node) -> list[Node]:
    """Return the terms of a sum, through nested sums and signs."""
    match node:
        case Sum(items):
            return [term for item in items for term in terms_of(item)]
        case Negative(inner):
            return terms_of(inner)
    return [node]


def size(node: Node, bits: int) -> Any:
    """Return an arb: the closed value with every term taken by its modulus, as if multiplied out.

    What the rounding of terms is measured against: (1 - 1.01)*2 has the size 4.02.
    """
    from flint import arb

    def of(part: Node) -> Any:
        match part:
            case Sum(items):
                total = arb(0)
                for item in items:
                    total += of(item)
                return total
            case Product(items):
                total = arb(1)
                for item in items:
                    total *= of(item)
                return total
            case Negative(inner):
                return of(inner)
            case Quotient(top, bottom):
                return of(top) / abs(ball(bottom, {}))
            case Power(base, exponent):
                n = rational_value(exponent)
                if n is not None and n.denominator == 1 and 0 < n <= 1_000:
                    return of(base) ** int(n)
            case Call("Abs" | "re" | "im" | "conjugate", (inner,)):
                return of(inner)
        return abs(ball(part, {}))

    with precision(bits):
        try:
            found = of(node)
        except (ValueError, ZeroDivisionError, OverflowError) as error:
            raise Undecided(str(error) or "no value here") from None
        return found


def largest_term(nodes: list[Node], bits: int) -> Any:
    """Return an arb of the largest size among the terms of `nodes`."""
    from flint import arb

    best = arb(0)
    for node in nodes:
        for term in terms_of(node):
            found = size(term, bits)
            with precision(bits):
                best = arb.max(best, found)
    return best


def double(value: Any) -> float:
    """Return the double nearest to the middle of an arb; beyond the range of doubles an infinity."""
    try:
        return float(value.mid())
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def upper_double(value: Any) -> float:
    """Return a double of the upper end of a nonnegative arb."""
    try:
        return float(value.abs_upper())
    except OverflowError:
        return math.inf


def number_of(value: Any) -> float | complex:
    """Return the double, or complex double, of an acb; parts that may be zero are."""
    parts = [0.0 if part.contains(0) else double(part) for part in (value.real, value.imag)]
    return complex(*parts) if parts[1] else parts[0]


def is_closed(node: Node) -> bool:
    return isinstance(node, Number) or not free_symbols(node)
