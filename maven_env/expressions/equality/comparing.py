"""The comparison of two trees: exact where that is possible, by evidence where it is not."""

from __future__ import annotations

from collections.abc import Sequence

from maven_env.expressions.balls import Undecided, ball, can_evaluate, precision
from maven_env.expressions.equality.agreement import (
    BITS,
    Comparison,
    Verdict,
    ball_at,
    balls_at,
    by_points,
    compare_closed,
    regions,
)
from maven_env.expressions.equality.points import Bounds, Domain, points
from maven_env.expressions.equality.residues import NoResidue, Residues
from maven_env.expressions.functions import ARITIES
from maven_env.expressions.parser import number_node
from maven_env.expressions.text import to_text
from maven_env.expressions.tree import (
    ZERO,
    Call,
    Constant,
    Negative,
    Node,
    Product,
    Relation,
    Sum,
    Symbol,
    free_symbols,
    rational_value,
    rebuild,
    replace,
    walk,
)


def equal(a: Node, b: Node, domain: Domain | None = None) -> Verdict:
    """Return whether `a` and `b` are equal on `domain` (symbol -> (low, high)), by default all positive values."""
    return compare(a, b, domain).verdict


def compare(a: Node, b: Node, domain: Domain | None = None) -> Comparison:
    """Return the verdict on `a` = `b` with its evidence. Symmetric and deterministic."""
    domain = domain or {}
    fixed = {name: number_node(low) for name, (low, high) in domain.items() if low is not None and low == high}
    if fixed:
        a, b = replace(a, fixed), replace(b, fixed)
    if isinstance(a, Relation) or isinstance(b, Relation):
        return _compare_relations(a, b, domain)
    x, y = rational_value(a), rational_value(b)
    if x is not None and y is not None:
        return Comparison("equal" if x == y else "different", "exact")
    infinite = compare_infinite(a, b)
    if infinite is not None:
        return infinite
    opaque = opaque_calls((a, b))
    if opaque:
        return _compare_opaque(a, b, domain, opaque)
    key = key_of(a, b)
    exact, same_form = by_residues(a, b, key)
    if exact is not None:
        return Comparison(exact, "exact")
    names = sorted(free_symbols(a) | free_symbols(b))
    if not names:
        return compare_closed(a, b, same_form)
    if same_form:
        return defined_somewhere(a, b, key, names, domain)
    return by_points(a, b, key, names, domain, ball)


def key_of(*nodes: Node) -> bytes:
    return "\n".join(sorted(map(to_text, nodes))).encode()


# ---- exact part ------------------------------------------------------------------------------------------------------
def by_residues(a: Node, b: Node, key: bytes, renamed: str | None = None) -> tuple[Verdict | None, bool]:
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


def defined_somewhere(a: Node, b: Node, key: bytes, names: Sequence[str], domain: Domain) -> Comparison:
    """Trees of one form are equal if they have values at all."""
    for region in regions(names, domain):
        for point in points(key, names, domain, region, 6):
            try:
                with precision(BITS):
                    values = balls_at(point)
                    if ball(a, values).is_finite() and ball(b, values).is_finite():
                        return Comparison("equal", "form", 1)
            except (Undecided, ValueError, ZeroDivisionError, OverflowError):
                continue
    return Comparison("unknown", "undefined at every point tried")


def compare_infinite(a: Node, b: Node) -> Comparison | None:
    signs = [_infinity(node) for node in (a, b)]
    if signs == [0, 0]:
        return None if not any(has_infinity(node) for node in (a, b)) else Comparison("unknown", "an infinity inside")
    if 0 in signs:
        finite = a if signs[0] == 0 else b
        if free_symbols(finite) or has_infinity(finite):
            return Comparison("unknown", "an infinity")
        return Comparison("different" if ball_at(finite, {}, BITS) is not None else "unknown", "an infinity")
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


def has_infinity(node: Node) -> bool:
    return any(part == Constant("oo") for part in walk(node))


# ---- unknown functions -----------------------------------------------------------------------------------------------
def opaque_calls(nodes: Sequence[Node]) -> list[Call]:
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
    if opaque_calls((x, y)):
        return Comparison("equal" if a == b else "unknown", "unknown functions")
    found = compare(x, y, {**domain, **{name: (None, None) for _, name in symbols}})
    if found.verdict == "different" and not certain:
        return Comparison("unknown", "unknown functions")
    return Comparison(found.verdict, found.method, found.samples)


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


# ---- a common factor -------------------------------------------------------------------------------------------------
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


def _all(verdicts: Sequence[Verdict]) -> Verdict:
    return "different" if "different" in verdicts else "unknown" if "unknown" in verdicts else "equal"
