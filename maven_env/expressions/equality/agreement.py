"""The evidence behind equality: balls that are apart or overlap, at enough precision and at enough points."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from typing import Any, Literal

from maven_env.expressions.balls import MAX_BITS, Undecided, ball, precision
from maven_env.expressions.equality.branches import crossings, has_branches, scales
from maven_env.expressions.equality.points import Domain, Point, Region, points
from maven_env.expressions.equality.separation import zero_bits
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
    Symbol,
    children,
    rational_value,
    walk,
)

Verdict = Literal["equal", "different", "unknown"]
Evaluator = Callable[[Node, dict[str, Any]], Any]  # tree and balls by symbol -> acb

BITS = 192
_CLOSED_BITS = 1_024
_MOST_BITS = 4 * MAX_BITS
ELEMENTARY = frozenset(
    {
        "sin", "cos", "tan", "cot", "sec", "csc", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "asinh",
        "acosh", "atanh", "exp", "log", "sqrt", "cbrt", "Abs", "sign", "Max", "Min", "re", "im", "conjugate", "floor",
        "Heaviside",
    }
)  # fmt: skip
_MARGIN = 60  # bits of agreement beyond what sizes can hide
_CROSSINGS = 48  # points across branches
_WORK = 4_000_000  # operations times bits at one point
_FEW, _MANY = 4, 8  # points that must agree: of analytic expressions, of those with branches


@dataclass(frozen=True, slots=True)
class Comparison:
    """A verdict, how it came about, the number of points that agree, and a point where the two surely differ."""

    verdict: Verdict
    method: str
    samples: int = 0
    counterexample: Point | None = None


# ---- closed numbers --------------------------------------------------------------------------------------------------
def compare_closed(a: Node, b: Node, same_form: bool) -> Comparison:
    reach = _reach(a)[1] + _reach(b)[1]
    bits = _bits_for(reach)
    if bits > _MOST_BITS or _work((a, b), bits) > _WORK:
        return Comparison("unknown", "numbers too large, or too far apart in size")
    overlap = _overlap(a, b, bits)
    if overlap is False:
        return Comparison("different", "balls", 1)
    if same_form:
        return Comparison("equal" if overlap else "unknown", "form")
    needed = zero_bits(Sum((a, Negative(b))))
    if needed is not None and needed < _MOST_BITS:
        return _by_separation(a, b, needed, int(needed + reach) + 64)
    for more in (max(_CLOSED_BITS, bits), max(4 * _CLOSED_BITS, bits)):
        overlap = _overlap(a, b, more, narrow=_CLOSED_BITS // 2 + reach)
        if overlap is not None:
            return Comparison("equal" if overlap else "different", "balls", 1)
    return Comparison("unknown", "the value cannot be enclosed")


def _by_separation(a: Node, b: Node, needed: float, bits: int) -> Comparison:
    from flint import arb

    for more in (bits, 2 * bits):
        x, y = ball_at(a, {}, more), ball_at(b, {}, more)
        if x is None or y is None:
            continue
        with precision(more):
            if not x.overlaps(y):
                return Comparison("different", "balls", 1)
            if abs(x - y) < arb(2) ** -int(needed + 1):
                return Comparison("equal", "separation bound", 1)
    return Comparison("unknown", "the value cannot be enclosed")


def _overlap(a: Node, b: Node, bits: int, narrow: float = _MARGIN) -> bool | None:
    x, y = ball_at(a, {}, bits), ball_at(b, {}, bits)
    return None if x is None or y is None else _agree(x, y, bits, narrow)


def _agree(x: Any, y: Any, bits: int, narrow: float) -> bool | None:
    """Return False if the balls are apart, True if they overlap and are narrow enough to count, else None."""
    from flint import arb

    with precision(bits):
        if not x.overlaps(y):
            return False
        size = arb.max(abs(x), abs(y))
        return True if (x - y).abs_upper() <= size * arb(2) ** -int(narrow) + arb(2) ** -int(narrow + 40) else None


def ball_at(node: Node, values: dict[str, Any], bits: int, evaluate: Evaluator = ball) -> Any | None:
    try:
        with precision(bits):
            found = evaluate(node, values)
    except (Undecided, ValueError, ZeroDivisionError, OverflowError):
        return None
    return found if found.is_finite() else None


def _bits_for(reach: float) -> int:
    return max(BITS, int(128 + 2 * min(reach, 1e6)))


def _reach(node: Node) -> tuple[bool, float]:
    """Return whether the tree is closed, and how many bits of size its numbers may span: what rounding could hide."""
    if isinstance(node, Number):
        return True, float(max(node.value.numerator.bit_length(), node.value.denominator.bit_length()))
    if isinstance(node, Symbol):
        return False, 0.0
    parts = [_reach(part) for part in children(node)]
    closed = all(part[0] for part in parts)
    most = max((part[1] for part in parts), default=2.0)
    match node:
        case Product() | Quotient():
            return closed, sum(bits for is_closed, bits in parts if is_closed) if closed else most
        case Power(_, exponent):
            value = rational_value(exponent)
            if value is not None:
                return closed, max(parts[0][1], 4.0 if not parts[0][0] else 1.0) * max(1.0, float(abs(value)))
            return closed, most if not closed else parts[0][1] * 2.0 ** min(parts[1][1], 30)
        case Call("exp" | "sinh" | "cosh", (argument,)) if closed:
            exact = rational_value(argument)
            return True, max(
                most,
                1.5 * (2.0 ** min(most, 30) if exact is None else (float(abs(exact)) if abs(exact) < 10**9 else 1e9)),
            )
        case Call("gamma" | "factorial", _) if closed:
            return True, most * 2.0 ** min(most, 30)
    return closed, most


def regions(names: Sequence[str], domain: Domain) -> tuple[Region, ...]:
    return ("positive",) if all(name in domain for name in names) else ("positive", "real", "complex")


def balls_at(point: Point) -> dict[str, Any]:
    return {name: _exact(re, im) for name, (re, im) in point.items()}


def _exact(re: Fraction, im: Fraction) -> Any:
    from flint import acb, fmpq

    return (
        acb(fmpq(re.numerator, re.denominator), fmpq(im.numerator, im.denominator))
        if im
        else acb(fmpq(re.numerator, re.denominator))
    )


def by_points(a: Node, b: Node, key: bytes, names: Sequence[str], domain: Domain, evaluate: Evaluator) -> Comparison:
    """Compare at points of the domain; symbols without one are positive, else real, else complex."""
    branches = has_branches((a, b), domain)
    needed = _MANY if branches else _FEW
    reach = _reach(a)[1] + _reach(b)[1]
    bits = _bits_for(reach)
    if bits > _MOST_BITS:
        return Comparison("unknown", "numbers too far apart in size")
    if _work((a, b), bits) > _WORK:
        return Comparison("unknown", "too large to compare by values")
    has_unit = any(part == Constant("I") for node in (a, b) for part in walk(node))
    for region in regions(names, domain):
        tries = _tries((a, b), key, names, domain, region, needed, branches)
        enough = None if branches else needed + len(scales((a, b)))
        found = _Judge(a, b, bits, reach, evaluate, has_unit or region == "complex", enough).verdict(tries)
        if found.verdict == "different" or found.samples >= (3 if branches else needed):
            return found
        if found.samples:
            return Comparison("unknown", "too few points where both are defined", found.samples)
    return Comparison("unknown", "undefined at every point tried")


def _tries(
    nodes: Sequence[Node], key: bytes, names: Sequence[str], domain: Domain, region: Region, needed: int, branches: bool
) -> Iterator[Point]:
    """Yield first the few points that analytic expressions need, then, with branches, those on all sides of them."""
    sizes = scales(nodes)
    if not branches:
        yield from points(key, names, domain, region, needed, scales=sizes)
        yield from islice(points(key, names, domain, region, 3 * needed), needed, None)
        return
    yield from points(key, names, domain, region, 2 * needed, wide=True, scales=sizes)
    bases = list(points(key + b"base", names, domain, region, 2))
    yield from islice(crossings(nodes, bases, domain), _CROSSINGS)


def _work(nodes: Sequence[Node], bits: int) -> float:
    """Return how costly one point is: special functions count as a hundred operations."""
    total = 0
    for node in nodes:
        for part in walk(node):
            total += 100 if isinstance(part, Call) and part.function not in ELEMENTARY else 1
    return float(total) * bits


@dataclass(slots=True)
class _Judge:
    """Counts points that agree; one that is surely apart ends it, unless neither value is real there."""

    a: Node
    b: Node
    bits: int
    reach: float
    evaluate: Evaluator
    is_complex: bool
    enough: int | None  # points after which nothing more is tried

    def verdict(self, tries: Iterable[Point]) -> Comparison:
        real, other, apart = 0, 0, None
        for point in tries:
            agreed, is_real = _agree_at(self.a, self.b, point, self.bits, self.reach, self.evaluate)
            if agreed is None:
                continue
            if agreed is False:
                if is_real or self.is_complex:
                    return Comparison("different", "balls", real + other + 1, point)
                apart = apart or point
            elif is_real or self.is_complex:
                real += 1
                if real == self.enough:
                    break
            else:
                other += 1
        if apart is None:
            return Comparison("equal", "balls", real + other)
        if not real:
            return Comparison("different", "balls", other + 1, apart)
        return Comparison("equal", "balls, as real functions", real)


def _agree_at(a: Node, b: Node, point: Point, bits: int, reach: float, evaluate: Evaluator) -> tuple[bool | None, bool]:
    """Compare at one point, at more precision if the balls are wide; also whether one of the values may be real."""
    for more in (bits, 4 * bits):
        with precision(more):
            values = balls_at(point)
        x, y = ball_at(a, values, more, evaluate), ball_at(b, values, more, evaluate)
        if x is None or y is None:
            return None, False
        agreed = _agree(x, y, more, _MARGIN + reach)
        if agreed is not None:
            return agreed, x.imag.contains(0) or y.imag.contains(0)
    return None, False
