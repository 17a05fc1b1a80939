"""Real zeros of one function with proofs: boxes that hold none are discarded by ball arithmetic, monotone ones decided.

A zero is certified by a change of sign over an interval where the function is continuous, and then refined until the
nearest double is known. What neither test settles is left as a cluster: a multiple zero, a corner, an edge of the
domain.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from maven_env.errors import ToolError
from maven_env.expressions import Node
from maven_env.expressions.analysis.jets import jet
from maven_env.expressions.balls import Undecided, ball, precision
from maven_env.expressions.tree import ONE, Call, Negative, Power, Product, Quotient, Sum, rational_value

BITS = 160
DEEP = 1_300
_SPLIT = 0.487  # no round fraction, so that zeros at round places do not fall on the ends of boxes
_FINEST = 2.0**-44  # width of a cluster relative to the interval


def value_at(node: Node, name: str, x: Any) -> Any | None:
    """Return an acb of the value over the arb `x`, None where it is undefined or undecided."""
    from flint import acb

    try:
        found = ball(node, {name: acb(x)})
    except Undecided:
        return None
    return found if found.is_finite() else None


def sign_at(node: Node, name: str, x: Callable[[], Any]) -> int | None:
    """Return the sign at a point, made afresh at each precision; 0 means zero to hundreds of digits, None undefined."""
    found = None
    for bits in (BITS, DEEP):
        with precision(bits):
            found = value_at(node, name, x())
            if found is None:
                continue
            if not found.imag.contains(0):
                return None
            if found.real > 0 or found.real < 0:
                return 1 if found.real > 0 else -1
    return None if found is None else 0


def cleared(node: Node) -> tuple[Node, Node]:
    """Return (numerator, denominator) trees; tangents and their kin become quotients of sines and cosines."""
    match node:
        case Negative(a):
            top, bottom = cleared(a)
            return Negative(top), bottom
        case Quotient(a, b):
            (p, q), (r, s) = cleared(a), cleared(b)
            return _product(p, s), _product(q, r)
        case Product(items):
            parts = [cleared(item) for item in items]
            return _product(*(p for p, _ in parts)), _product(*(q for _, q in parts))
        case Sum(items):
            top, bottom = cleared(items[0])
            for p, q in (cleared(item) for item in items[1:]):
                if q == bottom:
                    top = Sum((top, p))
                else:
                    top, bottom = Sum((_product(top, q), _product(p, bottom))), _product(bottom, q)
            return top, bottom
        case Power(a, b):
            n = rational_value(b)
            if n is not None and n.denominator == 1 and n != 0:
                p, q = cleared(a)
                if n < 0:
                    p, q, n = q, p, -n
                return _power(p, int(n)), _power(q, int(n))
        case Call(name, (a,)) if name in _QUOTIENTS:
            top_name, bottom_name = _QUOTIENTS[name]
            return (Call(top_name, (a,)) if top_name else ONE), Call(bottom_name, (a,))
    return node, ONE


_QUOTIENTS = {
    "tan": ("sin", "cos"), "cot": ("cos", "sin"), "sec": ("", "cos"), "csc": ("", "sin"),
    "coth": ("cosh", "sinh"), "csch": ("", "sinh"),
}  # fmt: skip


def _product(*factors: Node) -> Node:
    kept = tuple(f for f in factors if f != ONE)
    return ONE if not kept else kept[0] if len(kept) == 1 else Product(kept)


def _power(base: Node, n: int) -> Node:
    from fractions import Fraction

    from maven_env.expressions.tree import Number

    return base if n == 1 or base == ONE else Power(base, Number(Fraction(n)))


@dataclass(frozen=True)
class Box:
    low: Any  # arb
    high: Any  # arb


@dataclass
class Isolation:
    """What a search found: intervals with exactly one simple zero, points that are zeros, clusters left open."""

    simple: list[Box] = field(default_factory=list)
    points: list[Any] = field(default_factory=list)  # zeros that fell on the end of a box
    clusters: list[Box] = field(default_factory=list)
    boxes: int = 0
    exhausted: bool = False


def isolate(node: Node, name: str, low: Any, high: Any, most: int) -> Isolation:
    """Search [low, high] with at most `most` boxes. `low` and `high` are arbs."""
    found = Isolation()
    with precision(BITS):
        finest = (high - low) * _FINEST
        stack = [Box(low, high)]
        while stack:
            box = stack.pop()
            found.boxes += 1
            if found.boxes > most:
                found.exhausted = True
                found.clusters += [box, *reversed(stack)]
                break
            if _settled(node, name, box, found):
                continue
            if box.high - box.low < finest:
                found.clusters.append(box)
                continue
            middle = (box.low + (box.high - box.low) * _SPLIT).mid()
            stack += [Box(middle, box.high), Box(box.low, middle)]
    found.clusters = _joined(found.clusters)
    return found


def _settled(node: Node, name: str, box: Box, found: Isolation) -> bool:
    """Discard a box, or decide a monotone one."""
    whole = box.low.union(box.high)
    value = value_at(node, name, whole)
    if value is None:
        return False
    if not value.contains(0):
        return True
    model = _taylor(node, name, whole)
    if model is None:
        return False
    value, rate = model
    if not value.contains(0):
        return True
    if rate.real.contains(0) or not rate.imag.contains(0):
        return False
    left, right = sign_at(node, name, lambda: box.low), sign_at(node, name, lambda: box.high)
    if left is None or right is None:
        return False
    for sign, point in ((left, box.low), (right, box.high)):
        if sign == 0 and not any(point.overlaps(other) for other in found.points):
            found.points.append(point)
    if left * right < 0:
        found.simple.append(box)
    return True


def _taylor(node: Node, name: str, whole: Any) -> tuple[Any, Any] | None:
    """Enclose value and slope over a box by the cubic Taylor form; near multiple zeros nothing simpler will do."""
    from flint import acb

    one, middle = {name: acb(1)}, whole.mid()
    try:
        c = jet(node, {name: acb(middle)}, one, 2)
        last = jet(node, {name: acb(whole)}, one, 3)[3]
    except ToolError:
        return None
    h = whole - middle
    value = c[0] + h * (c[1] + h * (c[2] + h * last))
    slope = c[1] + h * (2 * c[2] + h * 3 * last)
    return value, slope


def _joined(boxes: list[Box]) -> list[Box]:
    joined: list[Box] = []
    for box in boxes:
        if joined and joined[-1].high.overlaps(box.low):
            joined[-1] = Box(joined[-1].low, box.high)
        else:
            joined.append(box)
    return joined


def is_continuous(node: Node, name: str, low: Any, high: Any) -> bool:
    """Return whether the value is finite and real all over an interval."""
    found = value_at(node, name, low.union(high))
    return found is not None and found.imag.contains(0)


def refined(node: Node, name: str, low: Any, high: Any, sign_low: int) -> tuple[float, Any, Any]:
    """Bisect a change of sign until the nearest double is known; return it and the last interval.

    A zero that is exactly 0 or a short fraction is hit by a test of the nearest double itself.
    """
    with precision(BITS):
        size = abs(low).union(abs(high)).upper()
        for _ in range(400):
            a, b = float(low.mid()), float(high.mid())
            if a == b and _both_round_to(low, high, a):
                break
            middle = _tried(low, high)
            sign = _sign_of_point(node, name, middle)
            if sign is None:
                raise ToolError("DOMAIN_ERROR", f"the function is undefined near {float(middle.mid())!r}")
            if sign == 0:
                return float(middle.mid()), middle, middle
            low, high = (middle, high) if sign == sign_low else (low, middle)
            if high - low < size * 2.0**-150:
                break
        middle = (low + high) / 2
        return float(middle.mid()), low, high


def _tried(low: Any, high: Any) -> Any:
    """Halve; a double within a narrow interval is tried first, because zeros often are doubles."""
    from flint import arb

    middle = ((low + high) / 2).mid()
    near = arb(float(middle))
    if near > low and near < high and high - low < abs(middle) * 2.0**-40 + 2.0**-1000:
        return near
    if low < 0 and high > 0 and high - low < 2.0**-20:
        return arb(0)
    return middle


def _sign_of_point(node: Node, name: str, x: Any) -> int | None:
    return sign_at(node, name, lambda: x)


def _both_round_to(low: Any, high: Any, x: float) -> bool:
    return float(low.lower()) == x and float(high.upper()) == x
