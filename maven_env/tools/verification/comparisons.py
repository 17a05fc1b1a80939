"""Checks that compare: two expressions, or two values from different sources."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Annotated, Any, Literal

from maven_env.artifacts import ArtifactStore
from maven_env.errors import BadReference, LimitExceeded, ToolError
from maven_env.expressions import Negative, Node, Number, Sum, free_symbols, rational_value, replace, to_text
from maven_env.expressions.balls import precision
from maven_env.expressions.equality import (
    Comparison,
    compare,
    compare_up_to_constant,
    equal,
    equal_up_to_scale,
    equal_up_to_sign,
    same_multiset,
)
from maven_env.expressions.equality.points import Bounds, Point
from maven_env.references import references_in
from maven_env.tools.kinds import Exact, JsonMap, Name, Operand, Range, Setting, Value, bad_input
from maven_env.tools.registry import tool
from maven_env.tools.results import ToolResult, verdict
from maven_env.tools.toolbox import ToolContext
from maven_env.tools.verification.evidence import closed, double, enclosed, judged, number_of, upper_double
from maven_env.types import Json

_REAL: Bounds = (None, None)
_ASSUMED: Mapping[str, Bounds] = {
    "positive": (Fraction(0), None),
    "nonnegative": (Fraction(0), None),
    "negative": (None, Fraction(0)),
    "nonpositive": (None, Fraction(0)),
    "real": _REAL,
    "nonzero": _REAL,
    "integer": _REAL,
}
_ENTRIES = 256
_HOLDS = {"equal": True, "different": False, "unknown": None}


@tool(kind="verification", tier=0, near=("cross_check_numeric",), backend=("python-flint",))
def check_equivalence(
    a: Operand,
    b: Operand,
    up_to: Literal["exact", "constant", "sign", "scale", "order"] = "exact",
    assumptions: JsonMap | None = None,
    domain: dict[str, list[Exact]] | None = None,
    wrt: Name | None = None,
) -> ToolResult:
    """Decide whether two expressions, or two lists of them, are equal under the stated assumptions.

    A difference is proven by a point; equality is exact for rational functions and radicals, else it rests on agreement
    at many points to 60 bits and more. Equality on the domain says nothing about other branches: choose a domain
    across suspected branch points. Symbols without assumption or domain are taken as real; what holds for positive
    values only is then inconclusive.

    Args:
        a: first expression or list
        b: second expression or list
        up_to: exact; constant (added, with respect to wrt); sign; scale (a nonzero factor, common to a list); order
        assumptions: symbol: positive, negative, nonnegative, nonpositive, nonzero, real or integer, or a list of these
        domain: symbol: [low, high], the values to compare on; oo is allowed
        wrt: the variable that the constant must not depend on

    Returns:
        verdict (passed | failed | inconclusive): whether they are equal in the sense asked for
        difference (expr): 0 if equal, else a - b as written where it is short
        counterexample (map): a point where they surely differ

    Diagnostics:
        method: how it was decided
        samples: number of points that agree
        evidence: what the verdict rests on

    Raises:
        BAD_INPUT: a list against an expression, constant without wrt, an unknown assumption
        ASSUMPTION_CONFLICT: assumptions that exclude each other
        LIMIT_EXCEEDED: the lists are too long

    Example:
        {"a": "sin(2*x)", "b": "2*sin(x)*cos(x)"}
    """
    first, second = as_list(a), as_list(b)
    if isinstance(a, tuple) != isinstance(b, tuple):
        raise bad_input("one side is a list, the other an expression", "give two lists or two expressions")
    if max(len(first), len(second)) > _ENTRIES:
        raise LimitExceeded("size", f"{max(len(first), len(second))} entries, the bound is {_ENTRIES}")
    if up_to == "constant" and wrt is None:
        raise bad_input("up_to constant needs wrt, the variable of the antiderivatives")
    names = sorted(frozenset().union(*map(free_symbols, (*first, *second))))
    stated, integers = _stated(names, assumptions or {}, domain or {})
    open_names = [name for name in names if name not in stated]
    found = _compared(first, second, up_to, wrt, {**stated, **dict.fromkeys(open_names, (Fraction(0), None))}, integers)
    holds, note = _HOLDS[found.verdict], ""
    if open_names and found.verdict == "equal" and found.method not in ("exact", "form"):
        wider = _compared(first, second, up_to, wrt, {**stated, **dict.fromkeys(open_names, _REAL)}, integers)
        if wider.verdict == "different":
            holds, note = None, f"equal for positive {', '.join(open_names)}, different elsewhere: state assumptions"
            found = Comparison("unknown", wider.method, found.samples, wider.counterexample)
    output: dict[str, Any] = {"verdict": verdict(holds), "difference": _difference(first, second, holds)}
    output["counterexample"] = None if found.counterexample is None else _shown(found.counterexample)
    evidence = note or f"{found.verdict} by {found.method}" + (f" at {found.samples} points" if found.samples else "")
    return ToolResult(output, {"method": found.method, "samples": found.samples, "evidence": evidence})


def as_list(value: Node | tuple[Node, ...]) -> tuple[Node, ...]:
    return value if isinstance(value, tuple) else (value,)


def _stated(
    names: Sequence[str], assumptions: Mapping[str, Any], domain: Mapping[str, list[Node]]
) -> tuple[dict[str, Bounds], list[str]]:
    """Return the declared domain and the symbols that are integers."""
    stated: dict[str, Bounds] = {}
    integers = []
    for name, given in assumptions.items():
        words = given if isinstance(given, list) else [given]
        for word in words:
            if not isinstance(word, str) or word not in _ASSUMED:
                raise bad_input(f"assumptions.{name}: {word!r} is not known", f"one of {', '.join(_ASSUMED)}")
            stated[name] = _meet(name, stated.get(name, _REAL), _ASSUMED[word])
        if "integer" in words:
            integers.append(name)
        if {"positive", "negative", "nonzero"} & set(words) and stated[name][0] == stated[name][1] == 0:
            raise _conflict(name)
    for name, ends in domain.items():
        if len(ends) != 2:
            raise bad_input(f"domain.{name}: expected [low, high], got {len(ends)} values")
        stated[name] = _meet(name, stated.get(name, _REAL), (_bound(ends[0]), _bound(ends[1])))
    return {name: bounds for name, bounds in stated.items() if name in names}, [n for n in integers if n in names]


def _bound(node: Node) -> Fraction | None:
    if to_text(node) in ("oo", "-oo"):
        return None
    exact = rational_value(node)
    if exact is None:
        exact = Fraction(double(enclosed(node, 128).real))
    return exact


def _meet(name: str, a: Bounds, b: Bounds) -> Bounds:
    lows, highs = [x[0] for x in (a, b) if x[0] is not None], [x[1] for x in (a, b) if x[1] is not None]
    low, high = max(lows, default=None), min(highs, default=None)
    if low is not None and high is not None and low > high:
        raise _conflict(name)
    return low, high


def _conflict(name: str) -> ToolError:
    return ToolError("ASSUMPTION_CONFLICT", f"no value of {name} satisfies all that is assumed", "leave one out")


def _compared(
    u: Sequence[Node], v: Sequence[Node], up_to: str, wrt: str | None, domain: dict[str, Bounds], integers: list[str]
) -> Comparison:
    if integers:
        return _at_integers(u, v, up_to, wrt, domain, integers)
    if up_to == "order":
        return Comparison(same_multiset(u, v, lambda x, y: equal(x, y, domain)), "pairing off")
    if len(u) != len(v):
        return Comparison("different", "lengths")
    if up_to == "scale":
        return Comparison(equal_up_to_scale(u, v, domain), "proportions")
    found = [_pair(x, y, up_to, wrt, domain) for x, y in zip(u, v, strict=True)]
    worst = next((c for c in found if c.verdict == "different"), None)
    worst = worst or next((c for c in found if c.verdict == "unknown"), None)
    return worst or min(
        found, key=lambda c: (c.method in ("exact", "form"), c.samples), default=Comparison("equal", "empty")
    )


def _pair(a: Node, b: Node, up_to: str, wrt: str | None, domain: dict[str, Bounds]) -> Comparison:
    if up_to == "constant":
        return compare_up_to_constant(a, b, wrt or "", domain)
    if up_to == "sign":
        return Comparison(equal_up_to_sign(a, b, domain), "both signs")
    return compare(a, b, domain)


def _at_integers(
    u: Sequence[Node], v: Sequence[Node], up_to: str, wrt: str | None, domain: dict[str, Bounds], integers: list[str]
) -> Comparison:
    """Integer symbols take integer values in their domain; agreement at all that are tried is evidence."""
    others = {name: bounds for name, bounds in domain.items() if name not in integers}
    samples = 0
    choices = [_integers(domain.get(name, _REAL)) for name in integers]
    for picked in itertools.islice(itertools.product(*choices), 48):
        values: dict[str, Node] = {n: _signed(k) for n, k in zip(integers, picked, strict=True)}
        left, right = [replace(x, values) for x in u], [replace(x, values) for x in v]
        found = _compared(left, right, up_to, wrt, others, [])
        if found.verdict == "different":
            point = {**(found.counterexample or {}), **_placed(integers, picked)}
            return Comparison("different", found.method, samples, point)
        samples += found.verdict == "equal"
    return Comparison("equal" if samples >= 4 else "unknown", "integer values", samples)


def _integers(bounds: Bounds) -> list[int]:
    low, high = bounds
    start = 1 if low is None or low < 1 else math.ceil(low)
    candidates = [start + k for k in (0, 1, 2, 3, 6, 9)]
    if low is None or low <= 0:
        candidates += [0]
    if low is None or low < 0:
        candidates += [-1, -2, -5]
    return [k for k in candidates if (low is None or k >= low) and (high is None or k <= high)]


def _placed(names: Sequence[str], values: Sequence[int]) -> Point:
    return {name: (Fraction(value), Fraction(0)) for name, value in zip(names, values, strict=True)}


def _signed(value: int) -> Node:
    return Number(Fraction(value)) if value >= 0 else Negative(Number(Fraction(-value)))


def _difference(u: Sequence[Node], v: Sequence[Node], holds: bool | None) -> str | None:
    if holds:
        return "0"
    if len(u) != 1 or len(v) != 1:
        return None
    text = to_text(Sum((u[0], Negative(v[0]))))
    return text if len(text) <= 500 else None


def _shown(point: Point) -> dict[str, Any]:
    return {name: str(re) if not im else f"{re} + {im}*I" for name, (re, im) in point.items()}


# ---- values ----------------------------------------------------------------------------------------------------------
@tool(kind="verification", tier=0, near=("check_equivalence", "check_convergence"), backend=("python-flint",))
def cross_check_numeric(
    a: Operand,
    b: Operand,
    subs: dict[str, Value] | None = None,
    rel_tol: Annotated[Setting, Range(0, 1)] = 1e-6,
    abs_tol: Annotated[Setting, Range(0, 1e300)] = 0.0,
    unordered: bool = False,
    context: ToolContext | None = None,
) -> ToolResult:
    """Compare two values, or two lists, that were obtained independently.

    same_source is true when both sides descend from the same step: agreement is then little evidence. Passed if the
    difference is below a tenth of a tolerance, failed above ten times both, inconclusive between.

    Args:
        a: first number, expression or list
        b: second number, expression or list
        subs: values of symbols in either
        rel_tol: tolerance relative to the largest modulus on either side
        abs_tol: absolute tolerance; either suffices
        unordered: compare lists as sets

    Returns:
        verdict (passed | failed | inconclusive): whether they agree
        a_value (number or list): first value
        b_value (number or list): second value
        relative_difference (number): largest difference over the largest modulus
        tolerance (number): rel_tol

    Diagnostics:
        digits_agreed: number of decimal digits that agree, 30 at most
        same_source: whether both sides descend from the same step other than given
        common_steps: the steps that both descend from
        evidence: what the verdict rests on

    Raises:
        UNKNOWN_SYMBOL: a symbol has no value
        DOMAIN_ERROR: a value is undefined

    Example:
        {"a": "exp(1)", "b": 2.718281828, "rel_tol": 1e-8}
    """
    bits = 192
    x, y = ([enclosed(closed(node, subs or {}), bits) for node in as_list(side)] for side in (a, b))
    source = _sources(context)
    output: dict[str, Any] = {"a_value": _values(x, a), "b_value": _values(y, b)}
    is_self_comparison = source.pop("self_comparison", False)
    if len(x) != len(y):
        output = {"verdict": verdict(False), **output, "relative_difference": None, "tolerance": rel_tol}
        return ToolResult(output, {**source, "evidence": f"{len(x)} values against {len(y)}"})
    if unordered:
        x, y = _paired(x, y)
    with precision(bits):
        scale = max((upper_double(abs(v)) for v in (*x, *y)), default=0.0)
        gap = max((gap_of(p, q) for p, q in zip(x, y, strict=True)), default=0.0)
    relative = gap / scale if scale else 0.0
    holds = _either(judged(relative, rel_tol), judged(gap, abs_tol))
    evidence = f"relative difference {relative:.3g}"
    if is_self_comparison:
        holds, evidence = (None if holds else holds), "both sides are the same reference: a value compared with itself"
    output = {"verdict": verdict(holds), **output, "relative_difference": relative, "tolerance": rel_tol}
    digits = 30.0 if relative < 1e-30 else -math.log10(relative)
    return ToolResult(output, {"digits_agreed": round(max(digits, 0.0), 2), **source, "evidence": evidence})


def _either(a: bool | None, b: bool | None) -> bool | None:
    return True if a or b else None if None in (a, b) else False


def gap_of(p: Any, q: Any) -> float:
    """Return the difference of two balls; 0 where they overlap, which is closer than any tolerance."""
    from flint import acb

    difference: acb = p - q
    return 0.0 if difference.contains(0) else double(abs(difference))


def _values(balls: list[Any], side: Node | tuple[Node, ...]) -> Any:
    values = [number_of(value) for value in balls]
    return values if isinstance(side, tuple) else values[0]


def _paired(x: list[Any], y: list[Any]) -> tuple[list[Any], list[Any]]:
    """Pair each value with the nearest one that is left, the closest pairs first."""
    if len(x) > _ENTRIES:
        raise LimitExceeded("size", f"{len(x)} unordered values, the bound is {_ENTRIES}")
    p, q = [number_of(v) for v in x], [number_of(v) for v in y]
    pairs = sorted((abs(u - w), i, j) for i, u in enumerate(p) for j, w in enumerate(q))
    used, taken, order = set(), set(), []
    for _, i, j in pairs:
        if i not in used and j not in taken:
            used.add(i)
            taken.add(j)
            order.append((i, j))
    order.sort()
    return [x[i] for i, _ in order], [y[j] for _, j in order]


def _sources(context: ToolContext | None) -> dict[str, Any]:
    """Return whether the two sides share an ancestor."""
    if context is None:
        return {"same_source": None, "common_steps": []}
    a, b = context.given.get("a"), context.given.get("b")
    common = sorted(_ancestors(context.store, a) & _ancestors(context.store, b))
    same = isinstance(a, str) and a == b and bool(references_in(a))
    return {"same_source": bool(common), "common_steps": common, "self_comparison": same}


def _ancestors(store: ArtifactStore, value: Json) -> set[str]:
    """Return the steps that a value descends from, `given` left out."""
    found: set[str] = set()
    stack = list(references_in(value))
    while stack:
        step = stack.pop()
        if step in found or step == "given":
            continue
        found.add(step)
        try:
            stack.extend(store.get(step).parents)
        except BadReference:
            continue
    return found
