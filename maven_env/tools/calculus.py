"""Exact calculus: derivatives, integrals and limits in closed form."""

from __future__ import annotations

from typing import Annotated

from maven_env.expressions.symbolic import sympy_text, to_sympy
from maven_env.tools.kinds import Count, Expr, Name, Range
from maven_env.tools.registry import tool
from maven_env.tools.results import ToolResult, declining
from maven_env.tools.tidy import tidy


@tool(kind="symbolic", tier=1, near=("numeric_derivative", "implicit_diff"), backend=("sympy",))
def symbolic_diff(expr: Expr, wrt: Name, order: Annotated[Count, Range(1, 8)] = 1, simplify: bool = True) -> ToolResult:
    """Differentiate an expression exactly.

    Every other symbol is a constant: put a dependent quantity in first, or use implicit_diff. At the corner of Abs, sign
    or Piecewise the result is one-sided; diagnostics name such places.

    Args:
        expr: expression to differentiate
        wrt: variable
        order: order of the derivative, 1 to 8
        simplify: tidy the result; polynomials stand in descending powers of the variable

    Returns:
        expr (expr): the derivative

    Diagnostics:
        simplified: whether the result was tidied
        order: order of the derivative
        discontinuities: functions with corners or jumps that the expression contains

    Raises:
        LIMIT_EXCEEDED: the expression is too large

    Example:
        {"expr": "A*t^3 - B*t^2 + C*t", "wrt": "t"}
    """
    import sympy

    value = to_sympy(expr)
    with declining("no derivative in closed form"):
        result = sympy.diff(value, sympy.Symbol(wrt), order)
    done = False
    if simplify:
        result, done = tidy(result, wrt)
    corners = sorted({type(part).__name__ for part in value.atoms(sympy.Abs, sympy.sign, sympy.Heaviside, sympy.floor)})
    diagnostics: dict[str, object] = {"simplified": done}
    if order != 1:
        diagnostics["order"] = order
    if corners:
        diagnostics["discontinuities"] = corners
    return ToolResult({"expr": sympy_text(result, wrt)}, diagnostics)
