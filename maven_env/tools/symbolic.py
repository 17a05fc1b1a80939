"""Symbolic algebra: substitution, simplification, expansion, factors and coefficients."""

from __future__ import annotations

from typing import Any

from maven_env.errors import ToolError
from maven_env.expressions import Node, free_symbols
from maven_env.tools.kinds import Expr, Formula
from maven_env.tools.numeric import check_names
from maven_env.tools.registry import tool
from maven_env.tools.results import ToolResult
from maven_env.tools.substitution import closed_value, put, simplified


@tool(
    kind="symbolic",
    tier=1,
    near=("evaluate_numeric", "symbolic_limit", "evaluate_high_precision"),
    backend=("python-flint", "sympy"),
    evaluates=True,
)
def substitute(expr: Formula, subs: dict[str, Expr], simultaneous: bool = True) -> ToolResult:
    """Put values or expressions for symbols, exactly, and simplify what cancels.

    No floating point: decimals are exact rationals. In an equation both sides are treated. At a removable singularity the
    result is UNDEFINED_VALUE: take symbolic_limit. If values contain symbols that are replaced too, one-by-one replacement
    (simultaneous false) depends on the order.

    Args:
        expr: expression or equation
        subs: what to put for symbols, such as {"x": "1/2", "v": "3*t^2 - 1"}
        simultaneous: replace all at once; false replaces one after the other in the order given

    Returns:
        expr (expr): the result, exact
        free_symbols (list[symbol]): symbols left, sorted
        value (number): nearest double if no symbols are left, [re, im] if it is complex; else null

    Diagnostics:
        simplified: always true
        unused: names in subs that do not occur

    Raises:
        UNDEFINED_VALUE: a division by zero, 0/0 or an infinite value
        UNKNOWN_SYMBOL: a name in subs is a constant or function
        LIMIT_EXCEEDED: the result is too large
        UNSOLVED: the result cannot be written

    Example:
        {"expr": "m*v^2/2", "subs": {"m": "3.2", "v": "sqrt(2)*t"}}
    """
    check_names(subs)
    known = _names(expr, subs, simultaneous)
    result = simplified(put(expr, subs, simultaneous))
    diagnostics: dict[str, Any] = {"simplified": True}
    unused = sorted(set(subs) - known)
    if unused:
        diagnostics["unused"] = unused
    output = {"expr": result, "free_symbols": sorted(free_symbols(result)), "value": closed_value(result)}
    return ToolResult(output, diagnostics)


def _names(expr: Node, subs: dict[str, Node], simultaneous: bool) -> set[str]:
    """Return the names that are met while values are put in; refuse names that are no symbols."""
    for name in subs:
        if not name.isidentifier():
            raise ToolError(
                "UNKNOWN_SYMBOL", f"subs: {name!r} is no symbol", "replace symbols only; subs is name: value"
            )
    known = set(free_symbols(expr))
    if not simultaneous:
        for name, value in subs.items():
            if name in known:
                known |= free_symbols(value)
    return known
