"""Exact calculus: derivatives, integrals and limits in closed form."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Annotated, Any, Literal

from maven_env.errors import ToolError
from maven_env.expressions import Node, difference, free_symbols, replace, to_text
from maven_env.expressions.analysis.derivative import derivative
from maven_env.expressions.symbolic import sympy_text, to_sympy
from maven_env.expressions.tree import ZERO, Negative, Number, Power, Product, Quotient, Sum
from maven_env.tools.calculus.limits import (
    INFINITY,
    MINUS_INFINITY,
    exact_limit,
    indeterminate_form,
    one_sided_limit,
    same_value,
)
from maven_env.tools.kinds import Count, Equation, Exact, Expr, Name, Range
from maven_env.tools.registry import tool
from maven_env.tools.results import ToolResult, declining
from maven_env.tools.symbolic.substitution import closed_value, simplified
from maven_env.tools.tidy import tidy
from maven_env.tools.weight import is_light


def _diff_tier(arguments: Mapping[str, Any]) -> int:
    """High derivatives grow without measure, so only low ones run in process."""
    return 1 if arguments.get("order", 1) <= 3 else 2


@tool(kind="symbolic", tier=_diff_tier, near=("numeric_derivative", "implicit_diff"), backend=("sympy",))
def symbolic_diff(expr: Expr, wrt: Name, order: Annotated[Count, Range(1, 8)] = 1, simplify: bool = True) -> ToolResult:
    """Differentiate an expression exactly.

    Every other symbol is a constant: put a dependent quantity in first, or use implicit_diff. At the corner of Abs,
    sign or Piecewise the result is one-sided; diagnostics name such places.

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
        UNSOLVED: the derivative has no form in the functions that can be written
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


def _limit_tier(arguments: Mapping[str, Any]) -> int:
    if not is_light(arguments, 1):
        return 2
    try:
        return 1 if exact_limit(arguments["expr"], arguments["wrt"], arguments["to"]) is not None else 2
    except ToolError:
        return 1


@tool(
    kind="symbolic",
    tier=_limit_tier,
    near=("series_expansion", "evaluate_numeric", "substitute"),
    backend=("sympy", "python-flint"),
)
def symbolic_limit(expr: Expr, wrt: Name, to: Expr, side: Literal["+", "-", "both"] = "both") -> ToolResult:
    """Find a limit, and compare it with values ever closer to the point.

    With side both, the two sides must agree, else NO_LIMIT: ask for one side then. Plugging in a small number instead
    is a cancellation trap.

    Args:
        expr: expression
        wrt: variable
        to: point, or oo, or -oo
        side: side from which the point is approached

    Returns:
        expr (expr): the limit; oo or -oo if it is infinite
        left (expr): limit from the left; null if it was not asked for
        right (expr): limit from the right; null if it was not asked for
        value (number): nearest double of a finite limit without parameters

    Diagnostics:
        exists: always true
        indeterminate_form: what plain substitution gives where it gives no value, such as 0/0

    Raises:
        NO_LIMIT: the sides differ, or the values oscillate
        UNSOLVED: no limit could be found, or it disagrees with values nearby
        LIMIT_EXCEEDED: too large

    Example:
        {"expr": "(1 - cos(x))/x^2", "wrt": "x", "to": "0"}
    """
    if wrt in free_symbols(to):
        raise ToolError(
            "BAD_INPUT", f"to: the point contains the variable {wrt}", "give another symbol, a number or oo"
        )
    exact = exact_limit(expr, wrt, to)
    far = to in (INFINITY, MINUS_INFINITY)
    left: Node | None = None
    right: Node | None = None
    if side in ("-", "both") and not (far and to == MINUS_INFINITY):
        left = exact[0] if exact else one_sided_limit(expr, wrt, to, "-")
    if side in ("+", "both") and not (far and to == INFINITY):
        right = exact[1] if exact else one_sided_limit(expr, wrt, to, "+")
    if far:
        found = left if to == INFINITY else right
        if found is None:
            raise ToolError("BAD_INPUT", f"side: {to_text(to)} cannot be approached from that side", "leave side out")
    else:
        if left is not None and right is not None and not same_value(left, right):
            message = f"from the left it is {to_text(left)}, from the right {to_text(right)}"
            details = {"left": to_text(left), "right": to_text(right)}
            raise ToolError("NO_LIMIT", message, "ask for one side", **details)
        found = left if left is not None else right
    assert found is not None
    diagnostics: dict[str, object] = {"exists": True}
    form = indeterminate_form(expr, wrt, to)
    if form is not None:
        diagnostics["indeterminate_form"] = form
    value = None if found in (INFINITY, MINUS_INFINITY) else closed_value(found)
    return ToolResult({"expr": found, "left": left, "right": right, "value": value}, diagnostics)


@tool(kind="symbolic", tier=1, near=("symbolic_diff",), backend=("sympy", "python-flint"))
def implicit_diff(
    equation: Equation,
    x: Name,
    y: Name,
    order: Annotated[Count, Range(1, 2)] = 1,
    at: dict[str, Exact] | None = None,
) -> ToolResult:
    """Find dy/dx, or the second derivative, on the curve that an equation in x and y defines.

    At a point where dF/dy vanishes (a vertical tangent or a crossing) it is SINGULAR. residual_at_point other than 0
    means that the point is not on the curve.

    Args:
        equation: equation in x and y
        x: independent variable
        y: dependent variable
        order: 1 or 2
        at: point, such as {"x": "1", "y": "2"}; values of other symbols may stand there too

    Returns:
        expr (expr): the derivative, in x and y
        value (number): its nearest double at the point; null without a point
        partial_y (number): dF/dy at the point; null without a point

    Diagnostics:
        singular_point: whether dF/dy vanishes at the point
        residual_at_point: left minus right side of the equation at the point
        warning: said where the point is not on the curve

    Raises:
        SINGULAR: dF/dy is zero at the point, or everywhere
        DOMAIN_ERROR: the derivative has no value at the point
        UNKNOWN_SYMBOL: a variable does not occur, or the point lacks a value
        UNSOLVED: the derivative has no form in the functions that can be written

    Example:
        {"equation": "x^2 + y^2 = 25", "x": "x", "y": "y", "at": {"x": "3", "y": "4"}}
    """
    curve = difference(equation)
    if x == y:
        raise ToolError("BAD_INPUT", "x and y must be different symbols")
    if y not in free_symbols(curve):
        raise ToolError("UNKNOWN_SYMBOL", f"{y} does not occur in the equation", f"symbols: {_names(curve)}")
    partial_x, partial_y = derivative(curve, x), derivative(curve, y)
    if simplified(partial_y) == ZERO:
        raise ToolError("SINGULAR", f"the equation does not depend on {y}", "choose another dependent variable")
    slope: Node = Negative(Quotient(partial_x, partial_y))
    if order == 2:
        slope = _second(curve, x, y)
    output: dict[str, Any] = {"expr": _shortened(slope), "value": None, "partial_y": None}
    diagnostics: dict[str, object] = {"singular_point": False}
    if at is not None:
        missing = sorted(free_symbols(curve) - set(at))
        if missing:
            raise ToolError("UNKNOWN_SYMBOL", f"at: no value for {', '.join(missing)}", "give all symbols a value")
        below = simplified(replace(partial_y, at))
        output["partial_y"] = closed_value(below)
        if below == ZERO:
            raise ToolError("SINGULAR", f"dF/d{y} is zero at the point", f"differentiate {x} by {y} instead")
        try:
            output["value"] = closed_value(simplified(replace(slope, at)))
        except ToolError as error:
            raise ToolError("DOMAIN_ERROR", f"no value at the point: {error.message}", "check the point") from error
        residual = closed_value(simplified(replace(curve, at)))
        diagnostics["residual_at_point"] = residual
        if residual != 0:
            diagnostics["warning"] = "the point is not on the curve"
    return ToolResult(output, diagnostics)


def _names(node: Node) -> str:
    return ", ".join(sorted(free_symbols(node))) or "none"


def _second(curve: Node, x: str, y: str) -> Node:
    """Return -(Fxx Fy^2 - 2 Fxy Fx Fy + Fyy Fx^2)/Fy^3."""
    fx, fy = derivative(curve, x), derivative(curve, y)
    fxx, fxy, fyy = derivative(fx, x), derivative(fx, y), derivative(fy, y)
    two = Number(Fraction(2))
    top = Sum(
        (
            Product((fxx, Power(fy, two))),
            Negative(Product((two, fxy, fx, fy))),
            Product((fyy, Power(fx, two))),
        )
    )
    return Negative(Quotient(top, Power(fy, Number(Fraction(3)))))


def _shortened(node: Node) -> Node:
    return simplified(node)
