"""Whether two expressions are equal: `equal`, `different` or `unknown`, in bounded time, without simplifying anything.

What the verdicts rest on:

- `different` is proven: residues of rational functions differ, or complex balls that contain the two values at one
  point of the domain have no point in common.
- `equal` of rational functions, and of trees that are the same rational function of the same functions: residues agree
  at two moduli of 128 bits (see `residues`). Closed numbers in radicals: proven by a separation bound (`separation`).
- `equal` of anything else rests on evidence: all points of the domain that could be judged agree to at least 60 bits
  more than the sizes of the numbers in the trees can hide; closed transcendental numbers agree to 500 bits.

Symbols are positive unless a domain is declared, so sqrt(x^2) equals x. Only where nothing is defined at positive
values are negative and complex ones tried. Without the imaginary unit in them, expressions are compared as real
functions: points where neither is real decide only if there are no others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Literal

from maven_env.errors import LimitExceeded
from maven_env.expressions.balls import MAX_BITS, Undecided, ball, can_evaluate, precision
from maven_env.expressions.functions import ARITIES
from maven_env.expressions.points import POSITIVE, Bounds, Domain, Point, Region, has_branches, literals, points
from maven_env.expressions.residues import NoResidue, Residues
from maven_env.expressions.separation import zero_bits
from maven_env.expressions.text import to_text
from maven_env.expressions.tree import (
    ZERO,
    Call,
    Constant,
    Negative,
    Node,
    Number,
    Power,
    Product,
    Quotient,
    Relation,
    Sum,
    Symbol,
    children,
    free_symbols,
    rational_value,
    rebuild,
    replace,
    walk,
)

Verdict = Literal["equal", "different", "unknown"]
Evaluator = Callable[[Node, dict[str, Any]], Any]  # tree and balls by symbol -> acb

MULTISET = 64
_BITS = 192
_CLOSED_BITS = 1_024
_MOST_BITS = 4 * MAX_BITS
_MARGIN = 60  # bits of agreement beyond what sizes can hide
_FEW, _MANY = 4, 8  # points that must agree: of analytic expressions, of those with branches


@dataclass(frozen=True, slots=True)
class Comparison:
    """A verdict, how it came about, the number of points that agree, and a point where the two surely differ."""

    verdict: Verdict
    method: str
    samples: int = 0
    counterexample: Point | None = None


def equal(a: Node, b: Node, domain: Domain | None = None) -> Verdict:
    """Return whether `a` and `b` are equal on `domain` (symbol -> (low, high)), by default all positive values."""
    return compare(a, b, domain).verdict


def compare(a: Node, b: Node, domain: Domain | None = None) -> Comparison:
    """Return the verdict on `a` = `b` with its evidence. Symmetric and deterministic."""
    domain = domain or {}
    fixed = {name: _number(low) for name, (low, high) in domain.items() if low is not None and low == high}
    if fixed:
        a, b = replace(a, fixed), replace(b, fixed)
    if isinstance(a, Relation) or isinstance(b, Relation):
        return _compare_relations(a, b, domain)
    x, y = rational_value(a), rational_value(b)
    if x is not None and y is not None:
        return Comparison("equal" if x == y else "different", "exact")
    infinite = _compare_infinite(a, b)
    if infinite is not None:
        return infinite
    opaque = _opaque_calls((a, b))
    if opaque:
        return _compare_opaque(a, b, domain, opaque)
    key = _key(a, b)
    exact, same_form = _by_residues(a, b, key)
    if exact is not None:
        return Comparison(exact, "exact")
    names = sorted(free_symbols(a) | free_symbols(b))
    if not names:
        return _compare_closed(a, b, same_form)
    if same_form:
        return _defined_somewhere(a, b, key, names, domain)
    return _by_points(a, b, key, names, domain, ball)


def _key(*nodes: Node) -> bytes:
    return "\n".join(sorted(map(to_text, nodes))).encode()


def _number(value: Fraction) -> Node:
    return Number(value) if value >= 0 else Negative(Number(-value))


# ---- exact part ------------------------------------------------------------------------------------------------------
def _by_residues(a: Node, b: Node, key: bytes, renamed: str | None = None) -> tuple[Verdict | None, bool]:
    """Return the verdict if the trees are rational, and else whether they have the same form."""
    agreed = 0
    for i in range(4):
        at = Residues(key + bytes([i]), None)
        other = at if renamed is None else Residues(key + bytes([i]), renamed)
        try:
            x, y = at.of(a), other.of(b)
        except NoResidue:
            continue
        is_rational = at.is_rational and other.is_rational
        if x != y:
            return ("different" if is_rational and other.modulus == at.modulus else None), False
        agreed += 1
        if agreed == 2:
            return ("equal" if is_rational else None), True
    return None, False


def _defined_somewhere(a: Node, b: Node, key: bytes, names: Sequence[str], domain: Domain) -> Comparison:
    """Trees of one form are equal if they have values at all."""
    for region in _regions(names, domain):
        for point in points(key, names, domain, region, 6):
            try:
                with precision(_BITS):
                    values = _balls(point)
                    if ball(a, values).is_finite() and ball(b, values).is_finite():
                        return Comparison("equal", "form", 1)
            except (Undecided, ValueError, ZeroDivisionError, OverflowError):
                continue
    return Comparison("unknown", "undefined at every point tried")


def _compare_infinite(a: Node, b: Node) -> Comparison | None:
    signs = [_infinity(node) for node in (a, b)]
    if signs == [0, 0]:
        return None if not any(_has_infinity(node) for node in (a, b)) else Comparison("unknown", "an infinity inside")
    if 0 in signs:
        finite = a if signs[0] == 0 else b
        if free_symbols(finite) or _has_infinity(finite):
            return Comparison("unknown", "an infinity")
        return Comparison("different" if _ball_at(finite, {}, _BITS) is not None else "unknown", "an infinity")
    return Comparison("equal" if signs[0] == signs[1] else "different", "infinities")


def _infinity(node: Node) -> int:
    match node:
        case Constant("oo"):
            return 1
        case Negative(a):
            return -_infinity(a)
        case Call("exp", (a,)) if _infinity(a) > 0:
            return 1
    return 0


def _has_infinity(node: Node) -> bool:
    return any(part == Constant("oo") for part in walk(node))


# ---- unknown functions -----------------------------------------------------------------------------------------------
def _opaque_calls(nodes: Sequence[Node]) -> list[Call]:
    found: dict[Call, None] = {}
    for node in nodes:
        for part in walk(node):
            if isinstance(part, Call) and not can_evaluate(part.function):
                found.setdefault(part)
    return list(found)


def _compare_opaque(a: Node, b: Node, domain: Domain, calls: list[Call]) -> Comparison:
    """Put a symbol for each unknown function at each argument; what is then equal is equal for every function."""
    certain = all(call.function not in ARITIES for call in calls) and len(calls) <= 8
    symbols: list[tuple[Call, str]] = []
    outer = [c for c in calls if not any(c is not other and c in set(walk(other)) for other in calls)]
    if len(outer) < len(calls):
        certain = False  # nested unknown functions are compared as they are written
    for call in outer[:8]:
        name = ""
        for known, symbol in symbols:
            if known.function == call.function and len(known.arguments) == len(call.arguments):
                verdict = _all([equal(p, q, domain) for p, q in zip(known.arguments, call.arguments, strict=True)])
                certain = certain and verdict != "unknown"
                name = symbol if verdict == "equal" else name
        symbols.append((call, name or f"{call.function}({len(symbols)})"))
    table = {call: Symbol(name) for call, name in symbols}

    def put(node: Node) -> Node:
        return table.get(node, rebuild(node, put)) if isinstance(node, Call) else rebuild(node, put)

    x, y = put(a), put(b)
    if _opaque_calls((x, y)):
        return Comparison("equal" if a == b else "unknown", "unknown functions")
    found = compare(x, y, {**domain, **{name: (None, None) for _, name in symbols}})
    if found.verdict == "different" and not certain:
        return Comparison("unknown", "unknown functions")
    return Comparison(found.verdict, found.method, found.samples)


# ---- closed numbers --------------------------------------------------------------------------------------------------
def _compare_closed(a: Node, b: Node, same_form: bool) -> Comparison:
    reach = _reach(a)[1] + _reach(b)[1]
    bits = _bits_for(reach)
    if bits > _MOST_BITS:
        return Comparison("unknown", "numbers too far apart in size")
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
        x, y = _ball_at(a, {}, more), _ball_at(b, {}, more)
        if x is None or y is None:
            continue
        with precision(more):
            if not x.overlaps(y):
                return Comparison("different", "balls", 1)
            if abs(x - y) < arb(2) ** -int(needed + 1):
                return Comparison("equal", "separation bound", 1)
    return Comparison("unknown", "the value cannot be enclosed")


def _overlap(a: Node, b: Node, bits: int, narrow: float = _MARGIN) -> bool | None:
    x, y = _ball_at(a, {}, bits), _ball_at(b, {}, bits)
    return None if x is None or y is None else _agree(x, y, bits, narrow)


def _agree(x: Any, y: Any, bits: int, narrow: float) -> bool | None:
    """Return False if the balls are apart, True if they overlap and are narrow enough to count, else None."""
    from flint import arb

    with precision(bits):
        if not x.overlaps(y):
            return False
        size = arb.max(abs(x), abs(y))
        return True if (x - y).abs_upper() <= size * arb(2) ** -int(narrow) + arb(2) ** -int(narrow + 40) else None


def _ball_at(node: Node, values: dict[str, Any], bits: int, evaluate: Evaluator = ball) -> Any | None:
    try:
        with precision(bits):
            found = evaluate(node, values)
    except (Undecided, ValueError, ZeroDivisionError, OverflowError):
        return None
    return found if found.is_finite() else None


def _bits_for(reach: float) -> int:
    return max(_BITS, int(128 + 2 * min(reach, 1e6)))


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
            return True, max(most, 1.5 * (2.0 ** min(most, 30) if exact is None else (float(abs(exact)) if abs(exact) < 10**9 else 1e9)))
        case Call("gamma" | "factorial", _) if closed:
            return True, most * 2.0 ** min(most, 30)
    return closed, most


# ---- points ----------------------------------------------------------------------------------------------------------
def _regions(names: Sequence[str], domain: Domain) -> tuple[Region, ...]:
    return ("positive",) if all(name in domain for name in names) else ("positive", "real", "complex")


def _balls(point: Point) -> dict[str, Any]:
    return {name: _exact(re, im) for name, (re, im) in point.items()}


def _exact(re: Fraction, im: Fraction) -> Any:
    from flint import acb, fmpq

    return (
        acb(fmpq(re.numerator, re.denominator), fmpq(im.numerator, im.denominator))
        if im
        else acb(fmpq(re.numerator, re.denominator))
    )


def _by_points(
    a: Node, b: Node, key: bytes, names: Sequence[str], domain: Domain, evaluate: Evaluator, chosen: Sequence[Node] = ()
) -> Comparison:
    nodes = (a, b, *chosen)
    branches = has_branches(nodes, domain)
    needed = _MANY if branches else _FEW
    reach = _reach(a)[1] + _reach(b)[1]
    bits = _bits_for(reach)
    if bits > _MOST_BITS:
        return Comparison("unknown", "numbers too far apart in size")
    complex_valued = any(part == Constant("I") for node in nodes for part in walk(node))
    for region in _regions(names, domain):
        tries = points(key, names, domain, region, 2 * needed, literals(nodes) if branches else ())
        found = _judge(
            a, b, tries, bits, reach, evaluate, None if branches else needed, complex_valued or region == "complex"
        )
        if found.verdict == "different" or found.samples >= needed or (branches and found.samples >= 3):
            return found
        if found.samples:
            return Comparison("unknown", "too few points where both are defined", found.samples)
    return Comparison("unknown", "undefined at every point tried")


def _judge(
    a: Node, b: Node, tries: Any, bits: int, reach: float, evaluate: Evaluator, enough: int | None, complex_valued: bool
) -> Comparison:
    real, other, apart = 0, 0, None
    for point in tries:
        agreed, is_real = _agree_at(a, b, point, bits, reach, evaluate)
        if agreed is None:
            continue
        if agreed is False:
            if is_real or complex_valued:
                return Comparison("different", "balls", real + other + 1, point)
            apart = apart or point
        elif is_real or complex_valued:
            real += 1
            if enough is not None and real >= enough:
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
            values = _balls(point)
        x, y = _ball_at(a, values, more, evaluate), _ball_at(b, values, more, evaluate)
        if x is None or y is None:
            return None, False
        agreed = _agree(x, y, more, _MARGIN + reach)
        if agreed is not None:
            return agreed, x.imag.contains(0) or y.imag.contains(0)
    return None, False


# ---- relations -------------------------------------------------------------------------------------------------------
def _compare_relations(a: Node, b: Node, domain: Domain) -> Comparison:
    """Relations of one sense are equal if both sides are, equations also if their differences are proportional."""
    if not (isinstance(a, Relation) and isinstance(b, Relation)):
        return Comparison("unknown", "a relation and a value")
    a, b = _oriented(a), _oriented(b)
    if a.operator != b.operator:
        return Comparison("unknown", "relations of different sense")
    names = free_symbols(a) | free_symbols(b)
    real = {name: domain.get(name, (None, None)) for name in names}  # |x| = |y| is not x = y
    sides = [_all([equal(a.left, b.left, d), equal(a.right, b.right, d)]) for d in (domain, real)]
    if sides[0] == "equal" and sides[1] != "different":
        return Comparison("equal", "both sides")
    u, v = Sum((a.left, Negative(a.right))), Sum((b.left, Negative(b.right)))
    if a.operator in ("=", "!="):
        scaled = [equal_up_to_scale((u,), (v,), d) for d in (domain, real)]
        if scaled[0] == "equal" and scaled[1] != "different":
            return Comparison("equal", "proportional")
    return Comparison("unknown", "relations")


def _oriented(relation: Relation) -> Relation:
    match relation.operator:
        case ">":
            return Relation("<", relation.right, relation.left)
        case ">=":
            return Relation("<=", relation.right, relation.left)
    return relation


# ---- tolerance -------------------------------------------------------------------------------------------------------
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
    infinite = _compare_infinite(a, b)
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

    x, y = _ball_at(a, {}, bits), _ball_at(b, {}, bits)
    if x is None or y is None:
        return None
    with precision(bits):
        gap = abs(x - y)
        allowed = abs(x) * arb(fmpq(relative.numerator, relative.denominator))
        allowed += arb(fmpq(absolute.numerator, absolute.denominator))
        return True if gap <= allowed else False if gap > allowed else None


# ---- looser sorts of equality ----------------------------------------------------------------------------------------
def equal_up_to_constant(a: Node, b: Node, variable: str, domain: Domain | None = None) -> Verdict:
    """Return whether a - b does not depend on `variable`: they are antiderivatives of the same function.

    The constant may differ between the pieces of the domain, as between log(x - 1) and log(1 - x).
    """
    return compare_up_to_constant(a, b, variable, domain).verdict


def compare_up_to_constant(a: Node, b: Node, variable: str, domain: Domain | None = None) -> Comparison:
    """Return the verdict of `equal_up_to_constant` with its evidence."""
    from maven_env.expressions.jets import derivative_ball

    domain = domain or {}
    if isinstance(a, Relation) or isinstance(b, Relation):
        return Comparison("unknown", "a relation")
    gap, key = Sum((a, Negative(b))), _key(a, b)
    exact, same_form = _by_residues(gap, gap, key, renamed=variable)
    if exact is not None or same_form:
        return Comparison(exact or "equal", "exact")
    names = sorted(free_symbols(gap))
    if variable not in names:
        return Comparison("equal", "no dependence")
    if _has_infinity(gap) or _opaque_calls((gap,)):
        return Comparison("unknown", "no derivative here")

    def slope(node: Node, values: dict[str, Any]) -> Any:
        return derivative_ball(node, values, variable)

    found = _by_points(a, b, key, names, domain, slope)
    if found.samples or found.verdict != "unknown":
        return found
    again = f"{variable} again"
    moved = {**domain, again: domain.get(variable, POSITIVE)}
    return compare(gap, replace(gap, {variable: Symbol(again)}), moved)


def equal_up_to_sign(a: Node, b: Node, domain: Domain | None = None) -> Verdict:
    """Return whether a = b or a = -b on the whole domain."""
    verdicts = (equal(a, b, domain), equal(a, Negative(b), domain))
    return "equal" if "equal" in verdicts else "different" if set(verdicts) == {"different"} else "unknown"


def equal_up_to_scale(u: Sequence[Node], v: Sequence[Node], domain: Domain | None = None) -> Verdict:
    """Return whether u = c v with c not zero.

    For vectors c may depend on the symbols (an eigenvector with parameters); for single expressions it is a number. Two
    zero vectors are equal, a zero and another one are not.
    """
    if len(u) != len(v):
        return "different"
    if len(u) == 1:
        return _proportional(u[0], v[0], domain)
    zeros = [[equal(item, ZERO, domain) for item in vector] for vector in (u, v)]
    both = [_all(verdicts) for verdicts in zeros]
    if "equal" in both:
        return "equal" if both == ["equal", "equal"] else "different" if "different" in both else "unknown"
    pivots = [k for k in range(len(u)) if zeros[1][k] == "different"]
    if not pivots:
        return "unknown"
    k = pivots[0]
    if zeros[0][k] != "different":
        return "different" if zeros[0][k] == "equal" else "unknown"
    return _all(
        [equal(Product((u[i], v[k])), Product((u[k], v[i])), domain) for i in range(len(u)) if i != k] or ["equal"]
    )


def _proportional(a: Node, b: Node, domain: Domain | None) -> Verdict:
    zeros = [equal(a, ZERO, domain), equal(b, ZERO, domain)]
    if "equal" in zeros:
        return "equal" if zeros == ["equal", "equal"] else "different" if "different" in zeros else "unknown"
    names = sorted(free_symbols(a) | free_symbols(b))
    if not names:
        return "equal" if zeros == ["different", "different"] else "unknown"
    again = {name: Symbol(f"{name} again") for name in names}
    moved: dict[str, Bounds] = dict(domain or {})
    moved.update({f"{name} again": bounds for name, bounds in (domain or {}).items()})
    return equal(Product((a, replace(b, again))), Product((replace(a, again), b)), moved)


def same_multiset(u: Sequence[Node], v: Sequence[Node], same: Callable[[Node, Node], Verdict] = equal) -> Verdict:
    """Return whether the elements of u and v can be paired off as equal, in any order.

    `same` judges a pair, for instance with a tolerance. Raises LimitExceeded beyond 64 elements.
    """
    if len(u) != len(v):
        return "different"
    if len(u) > MULTISET:
        raise LimitExceeded("size", f"{len(u)} elements to pair off, the bound is {MULTISET}")
    table = [[same(x, y) for y in v] for x in u]
    if _can_pair_off([[verdict == "equal" for verdict in row] for row in table]):
        return "equal"
    return "unknown" if _can_pair_off([[verdict != "different" for verdict in row] for row in table]) else "different"


def _can_pair_off(allowed: Sequence[Sequence[bool]]) -> bool:
    """Find a perfect matching by augmenting paths."""
    partner: dict[int, int] = {}

    def place(row: int, seen: set[int]) -> bool:
        for column, fits in enumerate(allowed[row]):
            if fits and column not in seen:
                seen.add(column)
                if column not in partner or place(partner[column], seen):
                    partner[column] = row
                    return True
        return False

    return all(place(row, set()) for row in range(len(allowed)))


def _all(verdicts: Sequence[Verdict]) -> Verdict:
    return "different" if "different" in verdicts else "unknown" if "unknown" in verdicts else "equal"
