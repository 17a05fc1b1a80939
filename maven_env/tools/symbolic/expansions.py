"""Partial fractions, power series, and rewritings that remove cancellation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from maven_env.errors import ToolError
from maven_env.expressions import Node, to_text
from maven_env.expressions.tree import ZERO
from maven_env.tools.kinds import Count, Expr, Name, Range
from maven_env.tools.registry import tool
from maven_env.tools.results import ToolResult
from maven_env.tools.symbolic.fractions_apart import apart, exact_apart
from maven_env.tools.symbolic.power_series import exact_series, expand_by_sympy
from maven_env.tools.symbolic.rewriting import RULES, rewrite


def _apart_tier(arguments: Mapping[str, Any]) -> int:
    return 0 if not arguments.get("full") and exact_apart(arguments["expr"], arguments["wrt"]) is not None else 2


@tool(kind="symbolic", tier=_apart_tier, near=("integrate", "inverse_laplace"), backend=("python-flint", "sympy"))
def partial_fractions(expr: Expr, wrt: Name, full: bool = False) -> ToolResult:
    """Split a rational function into partial fractions.

    Poles that nearly coincide give residues of size 1/separation that cancel on evaluation: look at max_abs_residue
    before the sum is evaluated in double precision.

    Args:
        expr: rational function of the variable
        wrt: variable
        full: split over algebraic roots too; otherwise over the rationals

    Returns:
        expr (expr): the sum
        terms (list[expr]): its terms

    Diagnostics:
        simplified: always true
        max_abs_residue: largest coefficient over a linear denominator, where it is a number
        pole_separation: smallest distance of two poles, where they are numbers

    Raises:
        NOT_RATIONAL: it is no rational function of the variable
        UNSOLVED: the poles cannot be written
        LIMIT_EXCEEDED: too large

    Example:
        {"expr": "(3*s + 5)/(s^2 + 3*s + 2)", "wrt": "s"}
    """
    found = apart(expr, wrt, full)
    diagnostics: dict[str, Any] = {"simplified": True}
    if found.largest_residue is not None:
        diagnostics["max_abs_residue"] = found.largest_residue
    if found.separation is not None:
        diagnostics["pole_separation"] = found.separation
    return ToolResult({"expr": found.node, "terms": list(found.terms)}, diagnostics)


def _series_tier(arguments: Mapping[str, Any]) -> int:
    about = arguments.get("about", ZERO)
    return 0 if exact_series(arguments["expr"], arguments["wrt"], about, arguments.get("order", 6)) is not None else 2


@tool(
    kind="symbolic",
    tier=_series_tier,
    near=("symbolic_limit", "evaluate_high_precision"),
    backend=("python-flint", "sympy"),
)
def series_expansion(
    expr: Expr,
    wrt: Name,
    about: Expr = ZERO,
    order: Annotated[Count, Range(1, 40)] = 6,
    side: Literal["+", "-"] = "+",
) -> ToolResult:
    """Expand in a Taylor, Laurent or Puiseux series, or at infinity.

    `order` is the first power that is neglected; leading cancellation can leave no term at all. A truncated series
    means nothing beyond radius_estimate. The result is compared with the function close to the centre.

    Args:
        expr: expression
        wrt: variable
        about: centre; oo for an expansion in 1/x
        order: first neglected power, 1 to 40
        side: side from which a branch point is approached

    Returns:
        expr (expr): the truncated series
        terms (list[expr]): its terms, lowest order first
        order_term (text): the order of what is neglected, such as O(x^6)

    Diagnostics:
        leading_power: lowest power that occurs; null if no term is left
        is_laurent: whether negative powers occur
        radius_estimate: distance to the nearest singularity where it is known; oo if there is none

    Raises:
        NO_EXPANSION: there is no power expansion there
        UNSOLVED: none could be found or verified
        LIMIT_EXCEEDED: too large

    Example:
        {"expr": "1/(1 + x^2)", "wrt": "x", "order": 7}
    """
    found = exact_series(expr, wrt, about, order) or expand_by_sympy(expr, wrt, about, order, side)
    diagnostics: dict[str, Any] = {"leading_power": found.leading, "is_laurent": found.is_laurent}
    if found.radius is not None:
        diagnostics["radius_estimate"] = found.radius
    output = {"expr": found.node, "terms": list(found.terms), "order_term": found.order_term}
    return ToolResult(output, diagnostics)


@tool(kind="symbolic", tier=1, near=("symbolic_simplify", "evaluate_high_precision"), backend=("python-flint",))
def stable_rewrite(
    expr: Expr,
    rule: Literal["rationalize_difference", "half_angle", "expm1_log1p", "horner", "difference_of_squares"],
    wrt: Name | None = None,
) -> ToolResult:
    """Remove cancellation by one named identity, and check that the result is equal.

    rationalize_difference: sqrt(a) - sqrt(b) = (a - b)/(sqrt(a) + sqrt(b)). half_angle: 1 - cos(a) = 2*sin(a/2)^2.
    expm1_log1p: exp(a) - 1 = 2*exp(a/2)*sinh(a/2) and log(1 + a) = 2*atanh(a/(2 + a)). horner: nested form in wrt.
    difference_of_squares: a^2 - b^2 = (a - b)*(a + b). It helps only if the subtraction that cancels matches.

    Args:
        expr: expression
        rule: identity
        wrt: variable, for horner only

    Returns:
        expr (expr): the rewritten expression
        applied (int): number of places where the rule was applied
        equivalent (bool): whether the result is equal to the original

    Diagnostics:
        simplified: always true
        rule: the identity
        equivalence_method: how equality was decided

    Raises:
        RULE_NOT_APPLICABLE: the rule matches nowhere
        NOT_POLYNOMIAL: horner needs a polynomial in wrt
        UNSOLVED: the result could not be shown to be equal

    Example:
        {"expr": "sqrt(x + 1) - sqrt(x)", "rule": "rationalize_difference"}
    """
    if rule == "horner" and wrt is None:
        raise ToolError("BAD_INPUT", "wrt is missing", "horner needs the variable")
    node, applied = rewrite(expr, rule, wrt)
    if applied == 0:
        raise ToolError("RULE_NOT_APPLICABLE", f"{rule} matches nowhere in {to_text(expr)[:80]}", RULES[rule])
    method = _equivalence(expr, node)
    diagnostics = {"simplified": True, "rule": rule, "equivalence_method": method}
    return ToolResult({"expr": node, "applied": applied, "equivalent": True}, diagnostics)


def _equivalence(a: Node, b: Node) -> str:
    from maven_env.expressions.equality import compare

    found = compare(a, b)
    if found.verdict != "equal":
        raise ToolError("UNSOLVED", "the rewritten expression could not be shown to be equal", "simplify it first")
    return found.method
