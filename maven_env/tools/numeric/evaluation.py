"""Values of expressions: in double precision as written, to any number of digits, and derivatives by differences."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from maven_env.errors import ToolError
from maven_env.expressions import Call, Constant, Node, free_symbols, replace, to_text, walk
from maven_env.expressions.balls import value_ball
from maven_env.expressions.functions import ARITIES, CONSTANTS
from maven_env.expressions.numeric import compile_complex, compile_real, unknown_symbols
from maven_env.tools.kinds import Count, Exact, Expr, Name, Range, Real, Setting
from maven_env.tools.numeric.differences import difference_derivative, has_corners
from maven_env.tools.numeric.digits import lost_digits, rounded_value
from maven_env.tools.registry import tool
from maven_env.tools.results import ToolResult

# Functions whose rigorous evaluation may take long at high precision: they run in the guarded process.
_SLOW = frozenset({"polylog", "zeta", "polygamma", "LambertW", "elliptic_f", "lowergamma", "uppergamma"}) | frozenset(
    {"besselj", "bessely", "besseli", "besselk"}
)
_QUICK_BITS = 640  # of the check beside a double evaluation


def check_names(subs: Mapping[str, Node]) -> None:
    """Refuse values for names that are no symbols. Raises UNKNOWN_SYMBOL."""
    for name in subs:
        if name in CONSTANTS or name in ARITIES:
            raise ToolError(
                "UNKNOWN_SYMBOL", f"subs: {name!r} is a constant or function, no symbol", "rename the symbol"
            )


def double_value(expr: Node, subs: Mapping[str, Node]) -> float | complex:
    """Return the value of `expr` in double precision as written; complex where it is not real.

    Values are rounded to doubles first. Raises DOMAIN_ERROR (a pole, no value), OVERFLOW, UNKNOWN_SYMBOL.
    """
    names = sorted(subs)
    missing = unknown_symbols(expr, names)
    if missing is not None:
        raise missing
    inputs = [double_value(subs[name], {}) for name in names]
    real = not any(isinstance(value, complex) for value in inputs)
    try:
        result = compile_real(expr, names)(*inputs) if real else compile_complex(expr, names)(*inputs)
        return _checked(result, expr)
    except ToolError as error:
        if error.code == "OVERFLOW" and _is_pole(expr, subs):
            raise ToolError("DOMAIN_ERROR", "a pole: there is no finite value", "take a limit") from None
        if error.code != "DOMAIN_ERROR" or error.message == "division by zero" or not real:
            raise
    return _checked(compile_complex(expr, names)(*inputs), expr)


def _is_pole(expr: Node, subs: Mapping[str, Node]) -> bool:
    """Tell a pole, where balls give no value either, from a value that is just too large."""
    try:
        value_ball(expr, subs, digits=18, max_bits=_QUICK_BITS)
    except ToolError:
        return not _is_slow(expr)
    return False


def _overflow() -> ToolError:
    hint = "rescale, take logarithms, or use evaluate_high_precision"
    return ToolError("OVERFLOW", "the value is beyond double precision", hint)


def _checked(result: float | complex, expr: Node) -> float | complex:
    parts = (result.real, result.imag)
    if any(math.isnan(part) for part in parts):
        raise ToolError("DOMAIN_ERROR", "the value is undefined (nan)", "take a limit, or rewrite the expression")
    if any(math.isinf(part) for part in parts) and not any(part == Constant("oo") for part in walk(expr)):
        raise _overflow()
    return result.real if isinstance(result, complex) and result.imag == 0 else result


def _tidied(expr: Node) -> Node:
    from maven_env.expressions.symbolic import from_sympy, to_sympy
    from maven_env.tools.tidy import tidy

    return from_sympy(tidy(to_sympy(expr))[0])


def _double_tier(arguments: Mapping[str, Any]) -> int:
    return 1 if arguments.get("simplify_first") else 0


@tool(
    kind="numeric",
    tier=_double_tier,
    near=("evaluate_high_precision", "quantity_eval"),
    backend=("numpy", "scipy", "python-flint"),
    evaluates=True,
)
def evaluate_numeric(expr: Expr, subs: dict[str, Exact] | None = None, simplify_first: bool = False) -> ToolResult:
    """Evaluate an expression in IEEE double precision exactly as written.

    Nothing protects against cancellation: where terms nearly cancel, use evaluate_high_precision or stable_rewrite.
    A value that is not real comes as [re, im]. Angles are radians.

    Args:
        expr: expression
        subs: values of its symbols, such as {"x": "0.1", "k": "2/3"}
        simplify_first: tidy the expression before it is evaluated

    Returns:
        value (number): value in double precision; [re, im] if it is complex

    Diagnostics:
        precision: always double
        finite: whether the value is finite
        cancellation_digits: decimal digits that double precision lost (0 to 16), where that is cheaply known
        warning: said if hardly a digit of the value is right

    Raises:
        DOMAIN_ERROR: a pole, or no value at all
        OVERFLOW: beyond double precision
        UNKNOWN_SYMBOL: a symbol has no value

    Example:
        {"expr": "2*pi*sqrt(L/g)", "subs": {"L": "0.25", "g": "9.81"}}
    """
    values = subs or {}
    check_names(values)
    if simplify_first:
        expr = _tidied(expr)
    value = double_value(expr, values)
    finite = math.isfinite(value.real) and math.isfinite(value.imag)
    diagnostics: dict[str, Any] = {"precision": "double", "finite": finite}
    lost = _lost(expr, values, value) if finite else None
    if lost is not None:
        diagnostics["cancellation_digits"] = lost
        if lost > 12:
            diagnostics["warning"] = "hardly a digit is right: use evaluate_high_precision or stable_rewrite"
    return ToolResult({"value": value}, diagnostics)


def _is_slow(expr: Node) -> bool:
    return any(isinstance(part, Call) and part.function in _SLOW for part in walk(expr))


def _lost(expr: Node, subs: Mapping[str, Node], value: float | complex) -> float | None:
    """Return the digits lost in `value`, or None where finding out would cost more than the value."""
    if _is_slow(expr) or any(_is_slow(node) for node in subs.values()):
        return None
    try:
        exact = value_ball(expr, subs, digits=18, max_bits=_QUICK_BITS)
    except ToolError:
        return None
    return lost_digits(value, exact)


def _precise_tier(arguments: Mapping[str, Any]) -> int:
    return 2 if any(_is_slow(node) for node in (arguments["expr"], *(arguments.get("subs") or {}).values())) else 0


@tool(
    kind="numeric",
    tier=_precise_tier,
    near=("evaluate_numeric", "stable_rewrite"),
    backend=("python-flint",),
    evaluates=True,
)
def evaluate_high_precision(
    expr: Expr, subs: dict[str, Exact] | None = None, digits: Annotated[Count, Range(15, 200)] = 30
) -> ToolResult:
    """Evaluate with surely right digits, and report how many of them double precision would have lost.

    Decimal text is exact (0.1 is 1/10). A value that an earlier step already rounded cannot be repaired: pass the exact
    or symbolic artifact. Interval arithmetic bounds the error; a value that cannot be told from 0 is given as 0.

    Args:
        expr: expression
        subs: values of its symbols; decimal strings are taken exactly
        digits: significant digits, 15 to 200

    Returns:
        value (number): the nearest double; [re, im] if it is complex; null beyond the range of doubles
        digits_string (text): the value correctly rounded to `digits` significant digits; can be parsed again
        double_value (number): what double precision gives for the expression as written; null if it fails

    Diagnostics:
        precision: significant digits
        cancellation_digits: decimal digits that double precision loses (0 to 16); null if it gives no value
        error_estimate: bound on the error of digits_string; 0 if it is exact
        note: said where the value cannot be told from 0

    Raises:
        DOMAIN_ERROR: a pole, no value, or a jump or branch cut that cannot be decided
        OVERFLOW: the value is too large or too small to be written
        UNKNOWN_SYMBOL: a symbol has no value

    Example:
        {"expr": "(1 - cos(x))/x^2", "subs": {"x": "1e-9"}, "digits": 30}
    """
    values = subs or {}
    check_names(values)
    error = unknown_symbols(expr, sorted(values))
    if error is not None:
        raise error
    found = rounded_value(replace(expr, dict(values)), digits)
    try:
        careless: float | complex | None = double_value(expr, values)
    except ToolError:
        careless = None
    if careless is not None and not (math.isfinite(careless.real) and math.isfinite(careless.imag)):
        careless = None
    diagnostics: dict[str, Any] = {
        "precision": digits,
        "cancellation_digits": None if careless is None else lost_digits(careless, found.ball),
        "error_estimate": found.error,
    }
    if found.note:
        diagnostics["note"] = found.note
    output = {"value": found.value, "digits_string": found.text, "double_value": careless}
    return ToolResult(output, diagnostics)


@tool(kind="numeric", tier=0, near=("symbolic_diff",), backend=("numpy", "scipy", "python-flint"))
def numeric_derivative(
    expr: Expr,
    wrt: Name,
    at: Real,
    order: Annotated[Count, Range(1, 4)] = 1,
    method: Literal["central", "forward", "complex_step", "richardson"] = "central",
    h: Setting | None = None,
) -> ToolResult:
    """Approximate a derivative at a point by finite differences.

    Order 2 and more with a small step is dominated by round-off (error about 1e-16/h^order): read error_estimate. Where
    a formula is at hand, symbolic_diff is exact.

    Args:
        expr: function of one variable
        wrt: variable
        at: point
        order: order of the derivative, 1 to 4
        method: central (error h^2), forward (h), complex_step (order 1 only, no round-off), richardson (extrapolated)
        h: step; chosen by the method if it is left out

    Returns:
        value (number): derivative

    Diagnostics:
        method: scheme
        step: step used (the largest one for richardson)
        error_estimate: bound that covers truncation and round-off; it is no less than the known error
        truncation_estimate: estimated error of the scheme
        roundoff_estimate: estimated error of double precision

    Raises:
        DOMAIN_ERROR: the function has no real value near the point, or a corner or jump there
        UNKNOWN_SYMBOL: the function has other symbols
        NO_CONVERGENCE: no digit of the difference quotient is right

    Example:
        {"expr": "exp(-x^2)", "wrt": "x", "at": "0.5", "method": "richardson"}
    """
    others = sorted(free_symbols(expr) - {wrt})
    if others:
        hint = "put numbers for them with substitute first"
        raise ToolError("UNKNOWN_SYMBOL", f"no value for {', '.join(others)}", hint)
    if not math.isfinite(at):
        raise ToolError("DOMAIN_ERROR", "a difference quotient needs a finite point", "use symbolic_limit")
    if h is not None and not (math.isfinite(h) and h > 0 and at + h != at):
        raise ToolError("BAD_INPUT", f"h: the step must be positive and change the point {at:g}", "leave h out")
    if method == "complex_step":
        if order != 1:
            raise ToolError("BAD_INPUT", "complex_step gives order 1 only", "use richardson, or symbolic_diff")
        if has_corners(expr):
            raise ToolError("DOMAIN_ERROR", "complex_step needs an analytic function", "use central or richardson")
    found = difference_derivative(expr, wrt, at, order, method, h)
    if not found.error <= 0.5 * abs(found.value) + 1e-6 * found.scale:
        message = f"no digit is right: the {method} quotient of {to_text(expr)[:80]} is {found.value:.3g}"
        raise ToolError("NO_CONVERGENCE", f"{message} with an error up to {found.error:.1g}", "use symbolic_diff")
    return ToolResult(
        {"value": found.value},
        {
            "method": method,
            "step": found.step,
            "error_estimate": found.error,
            "truncation_estimate": found.truncation,
            "roundoff_estimate": found.roundoff,
        },
    )
