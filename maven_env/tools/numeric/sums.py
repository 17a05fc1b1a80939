"""Sums: finite ones exactly, infinite ones with acceleration, closed forms verified against the number."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from maven_env.errors import LimitExceeded, ToolError
from maven_env.expressions import Constant, Node, free_symbols, rational_value
from maven_env.expressions.algebra.rational import rational_form
from maven_env.tools.kinds import Count, Expr, Index, Name, Range
from maven_env.tools.numeric.closed_sums import fraction_sum
from maven_env.tools.numeric.series_values import series_value
from maven_env.tools.numeric.summation import closed_sum, direct_sum, finite_value
from maven_env.tools.registry import tool
from maven_env.tools.results import ToolResult
from maven_env.tools.symbolic.substitution import closed_value

_BITS = 64
_QUICK_TERMS = 2_000


def _tier(arguments: Any) -> int:
    """Long sums and closed forms by sympy run guarded."""
    last = rational_value(arguments["stop"])
    if last is not None:
        has_parameters = bool(free_symbols(arguments["term"]) - {arguments["index"]})
        return 2 if has_parameters or last - arguments["start"] > _QUICK_TERMS else 1
    if arguments.get("method") in ("exact", "direct"):
        return 2
    return 1 if rational_form(arguments["term"], arguments["index"]) is not None else 2


@tool(
    kind="numeric",
    tier=_tier,
    near=("integrate", "series_expansion", "solve_recurrence"),
    backend=("python-flint", "sympy"),
)
def sum_series(
    term: Expr,
    index: Name,
    start: Index,
    stop: Expr,
    method: Literal["direct", "levin", "euler_maclaurin", "exact"] = "levin",
    max_terms: Annotated[Count, Range(1, 200_000)] = 100_000,
) -> ToolResult:
    """Sum a finite or infinite series; convergence is decided before anything is summed.

    direct adds terms and refuses where the tail is not small: 1/n^2 is far from converged when its terms look small.
    levin accelerates series that fall as a power or alternate; euler_maclaurin uses the integral of the term; exact
    finds a closed form and compares it with the number. Finite sums are added up whatever the method.

    Args:
        term: general term
        index: index of summation
        start: first index
        stop: last index, or oo; a symbol such as n with method exact
        method: direct, levin, euler_maclaurin or exact
        max_terms: largest number of terms to add, up to 200000

    Returns:
        value (number): the sum, right to double precision; null with parameters
        expr (expr): closed form for exact and for finite sums that are exact; else null
        n_terms (int): terms used
        conditions (list[text]): what a closed form with parameters needs

    Diagnostics:
        method: the way that gave the value
        converged: always true; a sum that does not converge is an error
        tail_estimate: estimated error of the value
        checked_at: number of parameter values at which a form with digamma functions was compared with the sum

    Raises:
        DIVERGENT: the series diverges
        NO_CONVERGENCE: the accuracy cannot be reached, or convergence is not certain
        UNSOLVED: no closed form was found and verified
        DOMAIN_ERROR: a term has no value
        UNKNOWN_SYMBOL: the term has parameters, and the method is not exact
        LIMIT_EXCEEDED: more than max_terms terms

    Example:
        {"term": "1/n^2", "index": "n", "start": 1, "stop": "oo"}
    """
    others = sorted((free_symbols(term) | free_symbols(stop)) - {index})
    if index in free_symbols(stop):
        raise ToolError("BAD_INPUT", "stop: the last index contains the index", "use another symbol, a number or oo")
    last = rational_value(stop)
    if last is not None:
        return _finite(term, index, start, last, max_terms, others)
    infinite = stop == Constant("oo")
    if not infinite and not free_symbols(stop):
        raise ToolError("BAD_INPUT", "stop: expected an integer, oo, or a symbol")
    if method == "exact":
        fractions = fraction_sum(term, index, start, max_terms) if infinite and others else None
        if fractions is not None:
            checks = {"method": "partial fractions", "converged": True, "checked_at": fractions.checks}
            conditions = ["no term has a pole"]
            return ToolResult({"value": None, "expr": fractions.node, "n_terms": 0, "conditions": conditions}, checks)
        node, value, conditions, how = closed_sum(term, index, start, stop)
        diagnostics: dict[str, Any] = {"method": how, "converged": True}
        output = {"value": value, "expr": node, "n_terms": 0, "conditions": conditions}
        return ToolResult(output, diagnostics)
    if others:
        hint = "put numbers in, or use method exact"
        raise ToolError("UNKNOWN_SYMBOL", f"no value for {', '.join(others)}", hint)
    found = series_value(term, index, start, _BITS, max_terms, method)
    size = max(abs(complex(found.ball)), 1e-300)
    if found.tail > 1e-12 * size and found.tail > 1e-18:
        raise ToolError("NO_CONVERGENCE", f"the error is about {found.tail:.1g}", "use another method")
    diagnostics = {"method": found.method, "converged": True, "tail_estimate": float(f"{found.tail:.1e}")}
    value = complex(found.ball)
    shown: float | complex = value.real if found.ball.imag.contains(0) else value
    return ToolResult({"value": shown, "expr": None, "n_terms": found.n_terms, "conditions": []}, diagnostics)


def _finite(term: Node, index: str, start: int, last: Any, most: int, others: list[str]) -> ToolResult:
    if last.denominator != 1:
        raise ToolError("BAD_INPUT", f"stop: expected an integer or oo, got {last}")
    count = int(last) - start + 1
    if count <= 0:
        return ToolResult(
            {"value": 0.0, "expr": "0", "n_terms": 0, "conditions": []}, {"method": "direct", "converged": True}
        )
    if count > most:
        raise LimitExceeded("size", f"{count} terms, the bound is {most}", "raise max_terms, or use a symbol for stop")
    diagnostics = {"method": "direct", "converged": True, "tail_estimate": 0.0}
    node = direct_sum(term, index, start, int(last))
    if node is not None:
        value = closed_value(node)
        return ToolResult({"value": value, "expr": node, "n_terms": count, "conditions": []}, diagnostics)
    if others:
        raise LimitExceeded("size", f"{count} terms with parameters are too many", "use a symbol for stop and exact")
    value = finite_value(term, index, start, int(last))
    return ToolResult({"value": value, "expr": None, "n_terms": count, "conditions": []}, diagnostics)
