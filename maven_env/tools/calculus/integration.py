"""Integrals in closed form: indefinite, definite and iterated."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Annotated, Any, Literal

from maven_env.errors import ToolError
from maven_env.expressions import Node, free_symbols, rational_value, to_text
from maven_env.tools.calculus.antiderivatives import check_antiderivative, indefinite_proposals
from maven_env.tools.calculus.definite_integrals import Integral, Ranges, definite_integral
from maven_env.tools.calculus.exact_integrals import exact_antiderivative
from maven_env.tools.equations.assumed_signs import assumed
from maven_env.tools.kinds import EXPR, Expr, JsonMap, Kind, Name, Resolve, bad_input, describe, or_reference, whole
from maven_env.tools.registry import tool
from maven_env.tools.results import ToolResult
from maven_env.tools.symbolic.substitution import closed_value
from maven_env.types import Json

_MOST = 4  # iterated integrals


# ---- limits ----------------------------------------------------------------------------------------------------------
def _read_limits(value: Json, resolve: Resolve) -> tuple[tuple[str | None, Node, Node], ...]:
    value = whole(value, resolve)
    if not isinstance(value, list) or not value:
        raise bad_input(f"expected [a, b] or [[x, a, b], ...], got {describe(value)}", 'write ["0", "pi/2"]')
    if not any(isinstance(item, list) for item in value):
        if len(value) != 2:
            raise bad_input(f"expected two limits, got {len(value)}", 'write ["0", "pi/2"]')
        return ((None, EXPR.read(value[0], resolve), EXPR.read(value[1], resolve)),)
    if len(value) > _MOST:
        raise bad_input(f"at most {_MOST} iterated integrals, got {len(value)}")
    found = []
    for row in value:
        if not isinstance(row, list) or len(row) != 3 or not isinstance(row[0], str):
            raise bad_input(
                f"expected [variable, a, b], got {describe(row)}", 'write [["y", "0", "x"], ["x", "0", "1"]]'
            )
        found.append((row[0].strip(), EXPR.read(row[1], resolve), EXPR.read(row[2], resolve)))
    return tuple(found)


def _write_limits(value: tuple[tuple[str | None, Node, Node], ...]) -> Json:
    if value[0][0] is None:
        return [to_text(value[0][1]), to_text(value[0][2])]
    return [[name, to_text(a), to_text(b)] for name, a, b in value]


_LIMITS_SCHEMA = {
    "type": "array",
    "items": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]},
}
LIMITS = Kind("[a, b] or list of [x, a, b]", or_reference(_LIMITS_SCHEMA), _read_limits, _write_limits)
Limits = Annotated[tuple[tuple[str | None, Node, Node], ...], LIMITS]


def _tier(arguments: Mapping[str, Any]) -> int:
    """Polynomials and simple rational functions need no sympy."""
    limits = arguments.get("limits")
    if limits is not None and len(limits) > 1:
        return 2
    try:
        wrt = _variable(arguments["expr"], arguments.get("wrt"), limits)
        found = exact_antiderivative(arguments["expr"], wrt)
    except ToolError:
        return 0
    if found is None:
        return 2
    if limits is None:
        return 0
    closed = [expr for _, a, b in limits for expr in (a, b)]
    has_parameters = free_symbols(arguments["expr"]) - {wrt} or any(free_symbols(limit) for limit in closed)
    return 2 if has_parameters and found.bottom is not None else 1


@tool(
    kind="symbolic",
    tier=_tier,
    near=("quadrature", "quadrature_singular"),
    backend=("python-flint", "sympy"),
)
def integrate(
    expr: Expr,
    wrt: Name | None = None,
    limits: Limits | None = None,
    assumptions: JsonMap | None = None,
    conds: Literal["piecewise", "none"] = "piecewise",
) -> ToolResult:
    """Integrate in closed form, indefinite, definite or iterated, and check the result.

    Definite results are compared with a quadrature that does not use the closed form, so an antiderivative that jumps
    inside the range is caught; indefinite ones are differentiated again. A pole inside the range is DIVERGENT, also
    where a principal value exists. UNSOLVED means that no closed form was found: use quadrature then.

    Args:
        expr: integrand
        wrt: variable; needed unless limits name it or the integrand has one symbol only
        limits: [a, b] for one integral (oo allowed), or [[x, a, b], [y, c, d], ...] innermost first
        assumptions: what is known of parameters, such as {"a": ["positive"], "n": ["integer"]}
        conds: piecewise lists what the result needs; none leaves that out

    Returns:
        expr (expr): the integral; an indefinite one without its constant
        value (number): nearest double of a definite result without parameters, [re, im] if complex; else null
        conditions (list[text]): where the result holds, such as "a > 0"; empty if everywhere

    Diagnostics:
        closed_form: always true
        method: exact algebra, antiderivative, definite, or identified (an integer relation that holds to 60 digits)
        singular_points: places in the range where the integrand is unbounded
        branch_flags: what went wrong with results that were rejected
        cross_check_abs_diff: |closed form - quadrature|
        verified_points: for an indefinite result, points at which its derivative equals the integrand

    Raises:
        DIVERGENT: the integral diverges, or a pole lies in the range
        UNSOLVED: no closed form was found, or none could be verified
        BAD_INPUT: the variable is missing or the limits do not fit
        LIMIT_EXCEEDED: too large

    Example:
        {"expr": "3*t^2 - 2*t", "wrt": "t", "limits": ["0", "sqrt(2)"]}
    """
    words = assumed(assumptions)
    if limits is None:
        return _indefinite(expr, _variable(expr, wrt, None), words, conds)
    if len(limits) == 1:
        name = _variable(expr, wrt, limits)
        _check_limits(name, limits)
        found = definite_integral(expr, name, limits[0][1], limits[0][2], words)
    else:
        found = _iterated(expr, wrt, limits, words)
    return _result(found, conds)


def _variable(expr: Node, wrt: str | None, limits: Any) -> str:
    named = limits[0][0] if limits else None
    if named is not None:
        if wrt not in (None, named):
            raise bad_input(f"wrt is {wrt!r}, but the limits are for {named!r}", "leave wrt out")
        return str(named)
    if wrt is not None:
        return wrt
    names = sorted(free_symbols(expr))
    if len(names) != 1:
        raise bad_input(f"wrt is missing; the symbols are {', '.join(names) or 'none'}", 'give "wrt": "x"')
    return names[0]


def _check_limits(name: str, limits: Any) -> None:
    inner = [n for n, _, _ in limits]
    for i, (_, a, b) in enumerate(limits):
        done = {name, *inner[: i + 1]} - {None}
        clash = sorted((free_symbols(a) | free_symbols(b)) & done)
        if clash:
            raise bad_input(
                f"a limit contains {clash[0]}, which is integrated over already", "list the innermost first"
            )


def _result(found: Integral, conds: str) -> ToolResult:
    diagnostics: dict[str, Any] = {"closed_form": True, "method": found.method}
    if found.places:
        diagnostics["singular_points"] = list(found.places)
    if found.flags:
        diagnostics["branch_flags"] = list(dict.fromkeys(found.flags))
    if found.difference is not None:
        diagnostics["cross_check_abs_diff"] = float(f"{found.difference:.1e}")
    conditions = list(found.conditions) if conds == "piecewise" else []
    return ToolResult({"expr": found.node, "value": closed_value(found.node), "conditions": conditions}, diagnostics)


def _indefinite(expr: Node, wrt: str, words: Mapping[str, set[str]], conds: str) -> ToolResult:
    found = exact_antiderivative(expr, wrt)
    if found is not None:
        diagnostics = {"closed_form": True, "method": "exact"}
        return ToolResult({"expr": found.node, "value": None, "conditions": []}, diagnostics)
    flags = []
    best: tuple[Any, Any] | None = None
    for proposal in indefinite_proposals(expr, wrt, words):
        check = check_antiderivative(proposal.node, expr, wrt, words)
        if check is None:
            flags.append(f"a result by {proposal.method} was rejected: its derivative is not the integrand everywhere")
            continue
        if best is None or len(check.conditions) < len(best[1].conditions):
            best = (proposal, check)
        if not check.conditions:
            break
    if best is None:
        raise ToolError("UNSOLVED", "no antiderivative could be found and verified", "use limits and quadrature")
    proposal, check = best
    if proposal.method == "half angle":
        flags.append("the antiderivative jumps where tan of the half angle does: give limits for a definite integral")
    diagnostics = {"closed_form": True, "method": proposal.method, "verified_points": check.agreeing}
    if flags:
        diagnostics["branch_flags"] = flags
    conditions = list(check.conditions) if conds == "piecewise" else []
    return ToolResult({"expr": proposal.node, "value": None, "conditions": conditions}, diagnostics)


# ---- iterated --------------------------------------------------------------------------------------------------------
def _iterated(expr: Node, wrt: str | None, limits: Any, words: Mapping[str, set[str]]) -> Integral:
    from maven_env.tools.calculus.iterated_values import agrees

    _check_limits(limits[0][0], limits)
    if wrt is not None and wrt != limits[0][0]:
        raise bad_input("wrt is for a single integral", "leave it out; the limits name the variables")
    ranges = _ranges(limits)
    node = expr
    methods: list[str] = []
    conditions: list[str] = []
    gap = 0.0
    for i, (name, low, high) in enumerate(limits):
        outer = {n: r for n, r in ranges.items() if n in {m for m, _, _ in limits[i + 1 :]}}
        found = definite_integral(node, name, low, high, words, outer)
        node = found.node
        methods.append(found.method)
        conditions += found.conditions
        gap = max(gap, found.difference or 0.0)
    if not free_symbols(node) and agrees(node, expr, limits) is False:
        hint = "integrate step by step, splitting the ranges where the inner result changes its form"
        raise ToolError("UNSOLVED", "the iterated closed form disagrees with quadrature", hint)
    return Integral(node, ", ".join(dict.fromkeys(methods)), gap, tuple(dict.fromkeys(conditions)))


def _ranges(limits: Any) -> Ranges:
    """Return rational bounds of the variables, from the outermost in; infinite ones become large."""
    from maven_env.expressions.balls import nearest_double
    from maven_env.tools.calculus.definite_values import infinity

    found: dict[str, tuple[Fraction, Fraction]] = {}
    for name, low, high in reversed(limits):
        names = free_symbols(low) | free_symbols(high)
        if names:
            if names <= set(found) and not infinity(low) and not infinity(high):
                found[name] = _around(low, high, found)
            continue
        ends = []
        for limit in (low, high):
            exact = rational_value(limit)
            if infinity(limit):
                exact = Fraction(5 * infinity(limit))
            ends.append(exact if exact is not None else Fraction(repr(nearest_double(limit))))
        found[name] = (min(ends), max(ends))
    return found


def _around(low: Node, high: Node, outer: Ranges) -> tuple[Fraction, Fraction]:
    from maven_env.expressions import number_node, replace
    from maven_env.expressions.balls import nearest_double

    middle = {name: number_node((a + b) / 2) for name, (a, b) in outer.items()}
    ends = [Fraction(repr(nearest_double(replace(limit, middle)))) for limit in (low, high)]
    return min(ends), max(ends)
