"""Symbolic algebra: substitution, simplification, expansion, factors and coefficients."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from maven_env.errors import ToolError
from maven_env.expressions import Node, free_symbols, replace, to_text
from maven_env.tools.equations.assumed_signs import assumed
from maven_env.tools.kinds import Count, Expr, Formula, JsonMap, Name, Range
from maven_env.tools.numeric.evaluation import check_names
from maven_env.tools.registry import tool
from maven_env.tools.results import ToolResult
from maven_env.tools.symbolic.multivariate import (
    expanded,
    factors_by_sympy,
    polynomial_coefficients,
    polynomial_factors,
)
from maven_env.tools.symbolic.simplification import simplest
from maven_env.tools.symbolic.substitution import closed_value, put, simplified
from maven_env.tools.weight import is_light


def _substitution_tier(arguments: Mapping[str, Any]) -> int:
    if not is_light(arguments, 1):
        return 2
    return 1 if is_light({"result": replace(arguments["expr"], arguments["subs"])}, 1) else 2


@tool(
    kind="symbolic",
    tier=_substitution_tier,
    near=("evaluate_numeric", "symbolic_limit", "evaluate_high_precision"),
    backend=("python-flint", "sympy"),
    evaluates=True,
)
def substitute(expr: Formula, subs: dict[str, Expr], simultaneous: bool = True) -> ToolResult:
    """Put values or expressions for symbols, exactly, and simplify what cancels.

    No floating point: decimals are exact rationals. In an equation both sides are treated. At a removable singularity
    the result is UNDEFINED_VALUE: take symbolic_limit. If values contain symbols that are replaced too, replacement one
    by one (simultaneous false) depends on the order.

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


@tool(
    kind="symbolic",
    tier=2,
    near=("symbolic_factor", "symbolic_expand", "stable_rewrite"),
    backend=("sympy", "python-flint"),
    evaluates=True,
)
def symbolic_simplify(
    expr: Expr,
    assumptions: JsonMap | None = None,
    strategy: Literal["auto", "trig", "rational", "powers", "logs"] = "auto",
) -> ToolResult:
    """Rewrite an expression in a simpler form that is equal under the declared assumptions.

    Nothing is assumed that is not declared: sqrt(x^2) becomes x only for nonnegative x, log(x^2) splits only for
    positive x. A wrong declaration selects a wrong branch silently, so branch_flags names what rests on a declaration.
    Every rewriting is compared with the original.

    Args:
        expr: expression
        assumptions: what is known of symbols, such as {"x": ["positive"], "n": ["integer"]}; words: positive, negative,
            nonnegative, nonzero, real, integer
        strategy: rules to use: auto, trig, rational, powers or logs

    Returns:
        expr (expr): the simplest equal form found
        ops_before (int): operations in the expression
        ops_after (int): operations in the result

    Diagnostics:
        simplified: whether anything became shorter
        assumptions_used: symbols with declared assumptions
        branch_flags: symbols whose declaration the result needs

    Raises:
        ASSUMPTION_CONFLICT: declarations exclude each other
        LIMIT_EXCEEDED: too large

    Example:
        {"expr": "sqrt(x^2)*sin(t)^2 + x*cos(t)^2", "assumptions": {"x": ["positive"]}}
    """
    words = assumed(assumptions)
    found = simplest(expr, words, strategy)
    diagnostics: dict[str, Any] = {"simplified": found.operations < found.before, "assumptions_used": sorted(words)}
    if found.flags:
        diagnostics["branch_flags"] = list(found.flags)
    output = {"expr": found.node, "ops_before": found.before, "ops_after": found.operations}
    return ToolResult(output, diagnostics)


@tool(kind="symbolic", tier=1, near=("symbolic_factor", "stable_rewrite"), backend=("python-flint", "sympy"))
def symbolic_expand(expr: Expr, trig: bool = False, max_terms: Annotated[Count, Range(1, 20_000)] = 2000) -> ToolResult:
    """Multiply out products and powers.

    An expanded polynomial is the worst form for evaluation near a multiple root: cancellation_risk is high then.

    Args:
        expr: expression
        trig: also expand sines and cosines of sums and multiples
        max_terms: largest number of terms

    Returns:
        expr (expr): the expanded form
        n_terms (int): number of terms

    Diagnostics:
        simplified: always true
        max_abs_coefficient: largest size of a coefficient
        cancellation_risk: high if coefficients exceed the value at symbols of size 1 by a factor 1e8, else low

    Raises:
        LIMIT_EXCEEDED: more than max_terms terms

    Example:
        {"expr": "(x - 1)^3*(x + 2)"}
    """
    node, terms, largest, risk = expanded(expr, trig, max_terms)
    diagnostics = {"simplified": True, "max_abs_coefficient": largest, "cancellation_risk": risk}
    return ToolResult({"expr": node, "n_terms": terms}, diagnostics)


def _factor_tier(arguments: Mapping[str, Any]) -> int:
    return 0 if not arguments.get("extension") and polynomial_factors(arguments["expr"], True) is not None else 2


@tool(
    kind="symbolic",
    tier=_factor_tier,
    near=("symbolic_expand", "polynomial_roots_exact"),
    backend=("python-flint", "sympy"),
)
def symbolic_factor(expr: Expr, extension: list[Expr] | None = None, rationalize: bool = True) -> ToolResult:
    """Factor a polynomial or rational function over the rationals, or with algebraic numbers adjoined.

    Args:
        expr: expression
        extension: algebraic numbers to adjoin, such as ["sqrt(2)", "I"]
        rationalize: take decimals as exact; false rounds coefficients to doubles first, which hides double factors

    Returns:
        expr (expr): the factored form
        factors (list[factor]): objects {base, multiplicity}; negative multiplicities stand in the denominator

    Diagnostics:
        simplified: whether there is more than one factor
        irreducible: whether nothing could be factored
        domain: QQ, or QQ with what was adjoined

    Raises:
        LIMIT_EXCEEDED: too large
        UNSOLVED: no factored form could be found

    Example:
        {"expr": "x^4 - 2*x^2 + 1"}
    """
    found = None if extension else polynomial_factors(expr, rationalize)
    if found is None:
        found = factors_by_sympy(expr, extension or [])
    node, factors = found
    bases = [f for f in factors if free_symbols(f.base)]
    single = len(bases) <= 1 and all(abs(f.multiplicity) == 1 for f in bases)
    domain = "QQ" if not extension else f"QQ<{', '.join(to_text(e) for e in extension)}>"
    listed = [{"base": f.base, "multiplicity": f.multiplicity} for f in factors]
    diagnostics = {"simplified": not single, "irreducible": single, "domain": domain}
    return ToolResult({"expr": node, "factors": listed}, diagnostics)


@tool(kind="exact", tier=0, near=("symbolic_expand",), backend=("python-flint",))
def collect_coefficients(
    expr: Expr, wrt: list[Name], order: Literal["descending", "ascending"] = "descending"
) -> ToolResult:
    """List the coefficients of a polynomial in one or more symbols; zeros between are listed for one symbol.

    A symbolic leading coefficient may vanish for some parameter: the degree drops then.

    Args:
        expr: polynomial in `wrt`; decimals are exact
        wrt: variables, such as ["x"]
        order: descending or ascending powers

    Returns:
        coefficients (list[expr]): coefficients
        degree (int): total degree in the variables
        monomials (list[expr]): the monomial of each coefficient

    Diagnostics:
        degree: total degree
        leading_coefficient_zero_possible: whether the leading coefficient has symbols

    Raises:
        NOT_POLYNOMIAL: it is no polynomial in these symbols
        UNSOLVED: the coefficients cannot be written in this arithmetic
        LIMIT_EXCEEDED: too large

    Example:
        {"expr": "a*x^2 + 3*x*(b - x) + 1", "wrt": ["x"]}
    """
    coefficients, monomials, degree = polynomial_coefficients(expr, wrt)
    if order == "ascending":
        coefficients, monomials = coefficients[::-1], monomials[::-1]
    leading = coefficients[0 if order == "descending" else -1]
    diagnostics = {"degree": degree, "leading_coefficient_zero_possible": bool(free_symbols(leading))}
    output = {"coefficients": coefficients, "degree": degree, "monomials": monomials}
    return ToolResult(output, diagnostics)
