"""Certified signs, and whether values lie in the domain that a formula needs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from maven_env.errors import ToolError
from maven_env.expressions import Negative, Node, Relation, Sum, free_symbols, replace, to_text
from maven_env.expressions.balls import Undecided, precision
from maven_env.expressions.equality import close, equal
from maven_env.expressions.tree import ZERO
from maven_env.tools.kinds import Condition, Exact, Expr, Name, Range, Setting, Value, bad_input
from maven_env.tools.registry import tool
from maven_env.tools.results import ToolResult, verdict
from maven_env.tools.verification.boundaries import is_infinite
from maven_env.tools.verification.enclosures import exact_sign, picture
from maven_env.tools.verification.evidence import all_hold, closed, double, enclosed, largest_term
from maven_env.tools.verification.rational_signs import SignPicture
from maven_env.tools.weight import guarded_above

_BITS = 256
_CLAIMS: Mapping[str, frozenset[int]] = {
    "positive": frozenset((1,)),
    "negative": frozenset((-1,)),
    "nonnegative": frozenset((0, 1)),
    "nonpositive": frozenset((-1, 0)),
    "zero": frozenset((0,)),
}


@tool(
    kind="verification",
    tier=guarded_above(12),
    near=("check_domain", "second_derivative_test"),
    backend=("python-flint",),
)
def check_sign(
    expr: Expr,
    expected: Literal["positive", "negative", "nonnegative", "nonpositive", "zero"],
    subs: dict[str, Value] | None = None,
    wrt: Name | None = None,
    interval: list[Exact] | None = None,
) -> ToolResult:
    """Certify the sign of an expression at a point, or over a closed interval.

    A double-precision value of 1e-17 has no sign: precision is raised until the value exceeds its error. Over an
    interval the whole range is enclosed, not sampled; what cannot be certified (a zero that is only touched, a pole)
    is inconclusive, unless a single point disproves the claim.

    Args:
        expr: expression; a number, or a function of wrt
        expected: the claim
        subs: values of symbols
        wrt: variable, if the claim is over an interval
        interval: [a, b], both ends included

    Returns:
        verdict (passed | failed | inconclusive): whether the claim holds
        sign (int | text): -1, 0, 1, or mixed
        signs (list of int): every sign that occurs for certain, ascending
        min (number): the value, or the smallest value that was met on the interval
        max (number): the value, or the largest value that was met
        sign_changes (list of number): where the sign changes on the interval

    Diagnostics:
        evidence: what the verdict rests on
        undecided: parts of the interval without a certain sign

    Raises:
        UNKNOWN_SYMBOL: a symbol has no value
        DOMAIN_ERROR: the value is not real, or undefined
        BAD_INPUT: wrt without interval, or an interval that is none

    Example:
        {"expr": "x^2 - 2*x + 2", "wrt": "x", "interval": [-1, 3], "expected": "positive"}
    """
    node = replace(expr, subs or {})
    if wrt is None and interval is None:
        value = closed(node, {})
        sign, evidence = exact_sign(value)
        shown = 0.0 if sign == 0 else double(enclosed(value, _BITS).real) if sign else None
        found = SignPicture(
            frozenset(() if sign is None else (sign,)), sign is not None, shown, shown, (), (), evidence
        )
    else:
        found = _over_interval(node, wrt, interval)
    claim = _CLAIMS[expected]
    holds = False if found.signs - claim else True if found.is_complete else None
    only = next(iter(found.signs)) if len(found.signs) == 1 and found.is_complete else None
    output: dict[str, Any] = {
        "verdict": verdict(holds),
        "sign": only if only is not None else "mixed" if len(found.signs) > 1 else None,
        "signs": sorted(found.signs),
        "min": found.low,
        "max": found.high,
    }
    if wrt is not None:
        output["sign_changes"] = list(found.changes)
    diagnostics: dict[str, Any] = {"evidence": found.evidence}
    if found.undecided:
        diagnostics["undecided"] = [list(part) for part in found.undecided]
    return ToolResult(output, diagnostics)


def _over_interval(node: Node, wrt: str | None, interval: list[Node] | None) -> SignPicture:
    if wrt is None or interval is None or len(interval) != 2:
        raise bad_input("a claim over an interval needs wrt and interval: [a, b]")
    unknown = free_symbols(node) - {wrt}
    if unknown:
        raise ToolError("UNKNOWN_SYMBOL", f"no value for {', '.join(sorted(unknown))}", "give them in subs")
    low, high = interval
    if is_infinite(low) or is_infinite(high):
        return picture(node, wrt, None if is_infinite(low) else low, None if is_infinite(high) else high)
    order, _ = exact_sign(Sum((high, Negative(low))))
    if order != 1:
        raise bad_input(f"the interval [{to_text(low)}, {to_text(high)}] is empty", "give the lower end first")
    return picture(node, wrt, low, high)


# ---- domain ----------------------------------------------------------------------------------------------------------
@tool(kind="verification", tier=0, near=("check_sign", "solve_inequality"), backend=("python-flint",))
def check_domain(
    values: dict[str, Value],
    conditions: list[Condition],
    margin: Annotated[Setting, Range(0, 1)] = 1e-9,
) -> ToolResult:
    """Ask whether values satisfy the conditions under which a formula or a solution is valid.

    Values within the relative margin of a boundary are inconclusive, not passed; with margin 0 the boundary is decided
    exactly. A side that is not real violates an inequality.

    Args:
        values: symbol: number or closed expression; exact values stay exact
        conditions: relations that must hold, such as x > a, x^2 + y^2 <= 1, im(z) = 0
        margin: relative to the largest term of the condition

    Returns:
        verdict (passed | failed | inconclusive): all conditions together
        violated (list of text): conditions that do not hold
        margins (list of number): signed relative distance of each condition from its boundary, positive inside
        tolerance (number): the margin used

    Diagnostics:
        evidence: what the verdict rests on

    Raises:
        BAD_INPUT: a condition is no relation
        UNKNOWN_SYMBOL: a symbol has no value
        DOMAIN_ERROR: a side is undefined

    Example:
        {"values": {"r": "0.3", "a": "1/4"}, "conditions": ["r > a"]}
    """
    if not conditions:
        raise bad_input("there is no condition to check", 'give relations such as "x > 0"')
    holding: list[bool | None] = []
    margins: list[float | None] = []
    violated: list[str] = []
    notes: list[str] = []
    for condition in conditions:
        if not isinstance(condition, Relation):
            raise bad_input(f"{to_text(condition)} is no relation", 'write one such as "x > 0"')
        holds, distance, note = _condition(condition, values, margin)
        holding.append(holds)
        margins.append(distance)
        if holds is False:
            violated.append(to_text(condition))
        if note:
            notes.append(f"{to_text(condition)}: {note}")
    output = {
        "verdict": verdict(all_hold(holding)),
        "violated": violated,
        "margins": margins,
        "tolerance": margin,
    }
    return ToolResult(output, {"evidence": "; ".join(notes) or f"every distance exceeds the margin {margin:g}"})


def _condition(relation: Relation, values: Mapping[str, Node], margin: float) -> tuple[bool | None, float | None, str]:
    """Return whether it holds, the signed relative distance, and a note."""
    left, right = closed(relation.left, values), closed(relation.right, values)
    infinite = _with_infinity(relation, left, right)
    if infinite is not None:
        return infinite, None, "an infinite side"
    equation = relation.operator in ("=", "!=")
    gap = Sum((left, Negative(right))) if relation.operator in (">", ">=", "=", "!=") else Sum((right, Negative(left)))
    value, scale = enclosed(gap, _BITS), largest_term([left, right], _BITS)
    if not equation and not value.imag.contains(0):
        return False, None, "a side is not real"
    if value.contains(0) and equal(gap, ZERO) == "equal":
        return _on_boundary(relation.operator, margin)
    with precision(_BITS):
        size = abs(value) if equation else value.real
        relative = size / scale
        distance = double(relative)
        surely_beyond, surely_below = bool(relative > margin), bool(relative < -margin)
        if margin == 0 and relative.contains(0):
            raise Undecided(f"the sign of {to_text(gap)} cannot be decided")
    if equation:
        apart = True if surely_beyond else None
        holds = apart if relation.operator == "!=" else None if apart is None else False
        return holds, -distance if relation.operator == "=" else distance, "" if apart else "within the margin"
    if surely_beyond or surely_below:
        return surely_beyond, distance, ""
    return None, distance, "within the margin of the boundary"


def _on_boundary(operator: str, margin: float) -> tuple[bool | None, float, str]:
    if operator == "=":
        return True, 0.0, "equal exactly"
    if operator == "!=":
        return False, 0.0, "equal exactly"
    if margin > 0:
        return None, 0.0, "on the boundary exactly; margin 0 decides it"
    return operator in ("<=", ">="), 0.0, "on the boundary exactly"


def _with_infinity(relation: Relation, left: Node, right: Node) -> bool | None:
    if not (is_infinite(left) or is_infinite(right)):
        return None
    same = close(left, right, 0.0) == "equal"
    sizes = {"oo": 1, "-oo": -1}
    less = sizes.get(to_text(left), 0) < sizes.get(to_text(right), 0)
    match relation.operator:
        case "=":
            return same
        case "!=":
            return not same
        case "<" | "<=":
            return less or (same and relation.operator == "<=")
    return not less and (not same or relation.operator == ">=")
