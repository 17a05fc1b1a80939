"""Values of definite integrals to many digits, and proof or strong evidence that they converge.

The range is cut at the places where the integrand is not bounded. Away from them python-flint integrates with rigorous
error bounds; towards each of them, or towards infinity, shells of half the width each are added, and the small rest is
taken by the tanh-sinh rule, whose terms must die away. The power of growth there decides on divergence first.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from maven_env.errors import ToolError
from maven_env.expressions import Constant, Negative, Node, Number, Power, Product, Quotient, Sum, Symbol, replace
from maven_env.expressions.analytic import compile_analytic
from maven_env.expressions.balls import ball, precision
from maven_env.expressions.tree import ONE
from maven_env.tools.singularities import Place, singular_places

SHELLS = 24  # halvings towards a singular end before the last rule
_EVALUATIONS = 30_000
_MOST_BITS = 12_000


class Unsettled(Exception):
    """The integral could not be computed with certainty; says why."""


class Diverges(Exception):
    """The integral diverges; says where and how."""


@dataclass(frozen=True)
class Value:
    """The value within a ball. `rigorous` if no rule without a proof was used. `places` are the singular points."""

    ball: Any  # acb
    rigorous: bool
    places: tuple[str, ...] = ()


@dataclass(frozen=True)
class _End:
    """A singular end: the integrand as a function of the distance s > 0 from it, and a name."""

    node: Node
    place: Place
    name: str


_S = "s__"


def definite_value(node: Node, wrt: str, low: Node, high: Node, bits: int = 80) -> Value:
    """Return the integral of `node` over the real range, limits possibly infinite, to about `bits`.

    Raises Diverges, or Unsettled where no certain answer is found.
    """
    try:
        compile_analytic(node, wrt)
    except ToolError as error:
        raise Unsettled(error.message) from error
    if low == high:
        from flint import acb

        return Value(acb(0), True)
    sign, a, b = _ordered(low, high, bits)
    total: Any = None
    rigorous, names = True, []
    for part, start, end in _finite_parts(node, wrt, a, b):
        value, exact, found = _over(part, wrt, start, end, bits)
        total = value if total is None else total + value
        rigorous = rigorous and exact
        names += found
    with precision(bits):
        return Value(total if sign > 0 else -total, rigorous, tuple(dict.fromkeys(names)))


def _ordered(low: Node, high: Node, bits: int) -> tuple[int, Node, Node]:
    ranks = [_infinity(low), _infinity(high)]
    if ranks[0] or ranks[1]:
        if ranks[0] == ranks[1]:
            raise Unsettled("both limits are the same infinity")
        return (1, low, high) if ranks[0] < 0 or ranks[1] > 0 else (-1, high, low)
    with precision(max(bits, 128)):
        try:
            gap = ball(high, {}) - ball(low, {})
        except (ToolError, ValueError, ZeroDivisionError) as error:
            raise Unsettled("a limit has no value") from error
        if gap.imag != 0:
            if not gap.imag.contains(0):
                raise Unsettled("the limits are not real")
            gap = gap.real
        else:
            gap = gap.real
        if gap > 0:
            return 1, low, high
        if gap < 0:
            return -1, high, low
    raise Unsettled("the limits cannot be told apart")


def _infinity(node: Node) -> int:
    match node:
        case Constant("oo"):
            return 1
        case Negative(Constant("oo")):
            return -1
        case _:
            return 0


def _finite_parts(node: Node, wrt: str, a: Node, b: Node) -> list[tuple[Node, Node, Node]]:
    """Map infinite ranges to finite ones, with x = c + 1/u - 1 beyond c."""
    x = Symbol(wrt)
    if not _infinity(a) and not _infinity(b):
        return [(node, a, b)]
    if _infinity(a) and _infinity(b):
        middle: Node = Number(Fraction(0))
        return [
            *_finite_parts(node, wrt, middle, b),
            *_finite_parts(replace(node, {wrt: Negative(x)}), wrt, middle, b),
        ]
    if _infinity(a):
        return _finite_parts(replace(node, {wrt: Negative(x)}), wrt, Negative(b), Constant("oo"))
    moved = replace(node, {wrt: Sum((a, Quotient(ONE, x), Negative(ONE)))})
    return [(Product((moved, Power(x, Negative(Number(Fraction(2)))))), Number(Fraction(0)), ONE)]


def _over(node: Node, wrt: str, low: Node, high: Node, bits: int) -> tuple[Any, bool, list[str]]:
    """Integrate over a finite range: pieces between singular places."""
    places = singular_places(node, wrt, low, high)
    if places is None:
        raise Unsettled("the places where the integrand is unbounded could not be located")
    names = [place.name for place in places]
    for place in places:
        for side in (1, -1):
            if (side > 0 and place.is_last) or (side < 0 and place.is_first):
                continue
            _classify(node, wrt, place, side, bits)
    total, exact = None, True
    inner = [Place.of(low, is_first=True), *(p for p in places if not (p.is_first or p.is_last)), Place.of(high, is_last=True)]
    singular = {id(p) for p in inner[1:-1]}
    if any(p.is_first for p in places):
        singular.add(id(inner[0]))
    if any(p.is_last for p in places):
        singular.add(id(inner[-1]))
    for left, right in zip(inner, inner[1:], strict=False):
        value, certain = _piece(node, wrt, left, right, id(left) in singular, id(right) in singular, bits)
        exact = exact and certain
        with precision(bits):
            total = value if total is None else total + value
    return total, exact, names


# ---- growth at a singular place --------------------------------------------------------------------------------------
def _shifted(node: Node, wrt: str, side: int) -> Callable[[Place, Any, int], Any]:
    def at(place: Place, s: Any, bits: int) -> Any:
        x = place.at(bits)
        return ball(node, {wrt: x + s if side > 0 else x - s})

    return at


def _log_size(node: Node, wrt: str, place: Place, side: int, depth: int) -> tuple[float, int]:
    """Return log2 |f| at the distance 2^-depth from the place, and the sign of its real part."""
    from flint import acb, arb

    function = _shifted(node, wrt, side)
    work = 2 * depth + 128
    while work <= _MOST_BITS:
        with precision(work):
            try:
                value = function(place, acb(arb(2) ** -depth), work)
            except (ToolError, ValueError, ZeroDivisionError, OverflowError):
                work *= 2
                continue
            if value.is_finite() and value.rel_accuracy_bits() > 60:
                if value == 0:
                    return -math.inf, 0
                size = abs(value).log() / arb(2).log()
                sign = 1 if value.real > 0 else -1 if value.real < 0 else 0
                return float(size.mid()), sign
        work *= 2
    raise Unsettled(f"the integrand has no certain values near {place.name}")


def _classify(node: Node, wrt: str, place: Place, side: int, bits: int) -> None:
    """Raise Diverges where the integrand surely grows as 1/s or faster, Unsettled where that stays open."""
    depths = (40, 80, 160, 320, 640)
    try:
        sizes = [_log_size(node, wrt, place, side, depth) for depth in depths]
    except Unsettled:
        depths = (20, 40, 80, 160)
        sizes = [_log_size(node, wrt, place, side, depth) for depth in depths]
    if all(size < 0 for size, _ in sizes[-2:]) and sizes[-1][0] <= sizes[-2][0]:
        return
    slopes = [(b[0] - a[0]) / (q - p) for a, b, p, q in zip(sizes, sizes[1:], depths, depths[1:], strict=False)]
    power = slopes[-1]  # |f| grows as s^-power
    if power < 0.99 and max(slopes[-2:]) < 0.995:
        return
    signs = {sign for _, sign in sizes[-3:]}
    if power >= 1 - 1e-9 and len(signs) == 1 and slopes[-2] >= 1 - 1e-6:
        raise Diverges(f"at {place.name} the integrand grows as the power -{_rounded(power)} of the distance")
    raise Unsettled(f"whether the integral converges at {place.name} could not be decided")


def _rounded(power: float) -> str:
    near = Fraction(power).limit_denominator(12)
    return str(near) if abs(float(near) - power) < 1e-6 else f"{power:.3g}"


# ---- one piece -------------------------------------------------------------------------------------------------------
def _piece(
    node: Node, wrt: str, left: Place, right: Place, left_singular: bool, right_singular: bool, bits: int
) -> tuple[Any, bool]:
    from flint import arb

    work = bits + 40
    with precision(work):
        a, b = left.at(work).real, right.at(work).real
        width = b - a
        cuts = [a]
        if left_singular:
            cuts += [a + width * arb(2) ** -k for k in range(SHELLS, 0, -1)]
        middle_right = [b - width * arb(2) ** -k for k in range(2, SHELLS + 1)] if right_singular else []
        if right_singular and not left_singular:
            cuts.append(a + width / 2)
        cuts += middle_right
        cuts.append(b)
        total = None
        budget = [_EVALUATIONS]
        first = 1 if left_singular else 0
        last = len(cuts) - 2 if right_singular else len(cuts) - 1
        # the largest shells set the scale of what may be neglected
        scale = arb(0)
        order = sorted(range(first, last), key=lambda i: -float((cuts[i + 1] - cuts[i]).mid()))
        for i in order:
            value = _smooth(node, wrt, cuts[i], cuts[i + 1], bits, scale, budget)
            total = value if total is None else total + value
            scale = arb.max(scale, abs(value).mid() if value.is_finite() else scale)
        assert_total = total
        exact = True
        for singular, place, side in ((left_singular, left, 1), (right_singular, right, -1)):
            if singular:
                exact = False
                rest = _tail(node, wrt, place, side, width * arb(2) ** -SHELLS, bits, scale)
                assert_total = rest if assert_total is None else assert_total + rest
    return assert_total, exact


def _smooth(node: Node, wrt: str, a: Any, b: Any, bits: int, scale: Any, budget: list[int]) -> Any:
    """Integrate rigorously where the integrand is bounded."""
    from flint import acb, arb

    extension = compile_analytic(node, wrt)

    def integrand(z: Any, analytic: bool) -> Any:
        budget[0] -= 1
        return acb("nan") if budget[0] < 0 else extension(z, analytic)

    goal = arb(2) ** -bits
    value = acb.integral(
        integrand,
        acb(a),
        acb(b),
        rel_tol=goal,
        abs_tol=goal * scale if scale > 0 else arb(2) ** (-4 * bits),
        eval_limit=_EVALUATIONS,
        depth_limit=2 * bits + 64,
    )
    if budget[0] < 0:
        raise Unsettled("the integral needs too many evaluations")
    if not value.is_finite():
        raise Unsettled("the integrand could not be bounded on a part of the range")
    if value.rel_accuracy_bits() < bits // 2 and not value.rad() < scale * goal * 2**20:
        if abs(value).upper() > arb(2) ** (-bits):
            raise Unsettled("the accuracy aimed at was not reached")
    return value


def _tail(node: Node, wrt: str, place: Place, side: int, width: Any, bits: int, scale: Any) -> Any:
    """Integrate over the last bit (0, width) of distance from a singular place by the tanh-sinh rule, step halved."""
    from flint import acb, arb

    function = _shifted(node, wrt, side)

    def term(t: Any) -> Any:
        # s = width/(1 + exp(pi sinh t)), which keeps full precision towards the singular end s = 0
        e = (arb.pi() * t.sinh()).exp()
        s = width / (1 + e)
        weight = width * arb.pi() * t.cosh() * e / (1 + e) ** 2
        depth = max(0, -int(float((s.log() / arb(2).log()).mid())))
        work = 2 * depth + bits + 64
        while work <= _MOST_BITS:
            with precision(work):
                try:
                    value = function(place, acb(s.mid()), work)
                    if value.is_finite() and (value.rel_accuracy_bits() > bits or value == 0 or abs(value * weight) < floor):
                        return value * weight
                except (ToolError, ValueError, ZeroDivisionError, OverflowError):
                    pass
            work *= 2
        raise Unsettled(f"the integrand has no certain values near {place.name}")

    with precision(bits + 32):
        floor = (scale if scale > 0 else arb(1)) * arb(2) ** -(bits + 8)
        known: dict[Fraction, Any] = {}
        before = None
        for level in range(2, 8):
            step = Fraction(1, 2**level)
            total: Any = acb(0)
            for direction in (1, -1):
                k = 0 if direction > 0 else 1
                small = 0
                while small < 3:
                    t = direction * k * step
                    if abs(t) > 7:
                        if direction > 0:
                            raise Unsettled(f"the integral converges too slowly at {place.name}")
                        break
                    if t not in known:
                        known[t] = term(arb(t.numerator) / t.denominator)
                    total += known[t]
                    small = small + 1 if abs(known[t]).upper() < floor else 0
                    k += 1
            total = total * (arb(step.numerator) / step.denominator)
            if before is not None:
                gap = abs(total - before).upper()
                if gap < floor * 2**10 or gap < abs(total).lower() * arb(2) ** -(bits - 4):
                    return total + acb(arb(0, gap.mid()), arb(0, gap.mid()))
            before = total
    raise Unsettled(f"the rule did not settle at {place.name}")
