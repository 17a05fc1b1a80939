"""Laplace transforms, their inverses, and Fourier series; each result is compared with its defining integral."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from maven_env.errors import ToolError
from maven_env.expressions import Node, free_symbols, rational_value, to_text
from maven_env.expressions.algebra.rational import rational_form
from maven_env.expressions.balls import nearest_double
from maven_env.tools.kinds import Count, Exact, Expr, Name, Ode, Range
from maven_env.tools.registry import tool
from maven_env.tools.results import ToolResult
from maven_env.tools.symbolic.substitution import closed_value
from maven_env.tools.transforms.fourier import (
    decay_rate,
    general_term,
    is_discontinuous,
    number,
    parseval_defect,
    partial_sum,
    waves,
)
from maven_env.tools.transforms.laplace import forward, has_residues, inverse, poles, talbot, transform_equation


@tool(kind="symbolic", tier=2, near=("inverse_laplace", "solve_ode_symbolic"), backend=("sympy", "python-flint"))
def laplace_transform(
    expr: Expr | None = None, t: Name = "t", s: Name = "s", ode: Ode | None = None, initial: list[Expr] | None = None
) -> ToolResult:
    """Transform a function of t, or a linear differential equation with constant coefficients.

    For an equation, initial holds y(0), y'(0), ...: they enter the rule for derivatives, and forgetting y(0) shifts the
    whole response. The transform is compared with its integral at points.

    Args:
        expr: function of t for t > 0; give this or ode
        t: time
        s: variable of the transform
        ode: equation such as y'' + 3*y' + 2*y = exp(-t), instead of expr
        initial: y(0), y'(0), ... for ode, as many as its order

    Returns:
        expr (expr): F(s), or Y(s) for an equation
        abscissa (expr): the transform converges where the real part of s is larger; -oo if everywhere

    Diagnostics:
        conditions: what parameters must satisfy
        verified: how the result was checked

    Raises:
        DIVERGENT: the transform does not exist
        UNSOLVED: none was found, or none could be verified
        BAD_INPUT: expr and ode are both given or both missing, or the initial values do not fit

    Example:
        {"expr": "t*exp(-2*t)"}
    """
    if (expr is None) == (ode is None):
        raise ToolError("BAD_INPUT", "give either expr or ode", 'such as {"expr": "t*exp(-2*t)"}')
    if t == s:
        raise ToolError("BAD_INPUT", "t and s must be different symbols")
    if ode is not None:
        found = transform_equation(ode, t, s, initial or [])
    else:
        if initial is not None:
            raise ToolError("BAD_INPUT", "initial: initial values belong to ode", "leave initial out")
        assert expr is not None
        if s in free_symbols(expr):
            raise ToolError("BAD_INPUT", f"expr: the function contains {s}", "name another variable in s")
        found = forward(expr, t, s)
    diagnostics: dict[str, Any] = {"conditions": list(found.conditions), "verified": "integral at two points"}
    return ToolResult({"expr": found.node, "abscissa": found.abscissa}, diagnostics)


@tool(
    kind="symbolic",
    tier=2,
    near=("laplace_transform", "partial_fractions", "solve_ode_symbolic"),
    backend=("sympy", "python-flint"),
)
def inverse_laplace(
    expr: Expr,
    s: Name = "s",
    t: Name = "t",
    method: Literal["exact", "talbot"] = "exact",
    at: Exact | None = None,
) -> ToolResult:
    """Find the function of t > 0 whose Laplace transform is given, exactly or at one time.

    The exact result is checked at points. talbot gives a number only: by residues where F is rational up to delays
    exp(-a*s), else on a contour, which fails for poles far from the real axis or discontinuous functions. Poles that
    nearly coincide give exponentials that cancel.

    Args:
        expr: F(s)
        s: variable
        t: time
        method: exact, or talbot for a number
        at: time for talbot, or to evaluate the exact result

    Returns:
        expr (expr): f(t); null for talbot
        value (number): f(at), if at is given; else null

    Diagnostics:
        method: exact, talbot, or residues for a number of a rational F
        poles: poles of a rational F, as numbers
        pole_separation: smallest distance of two of them
        error_estimate: estimated error of talbot
        conditions: what parameters must satisfy

    Raises:
        UNSOLVED: no inverse was found, or none could be verified
        NO_CONVERGENCE: talbot does not settle
        BAD_INPUT: at is missing or not positive
        UNKNOWN_SYMBOL: talbot needs numbers

    Example:
        {"expr": "1/(s^2 + 4*s + 13)"}
    """
    if t == s:
        raise ToolError("BAD_INPUT", "t and s must be different symbols")
    if t in free_symbols(expr):
        raise ToolError("BAD_INPUT", f"expr: the transform contains {t}", "name another symbol in t")
    diagnostics: dict[str, Any] = {"method": method, **_poles(expr, s)}
    time = None if at is None else _time(at)
    if method == "talbot":
        return _by_contour(expr, s, time, diagnostics)
    found = inverse(expr, s, t)
    if found.conditions:
        diagnostics["conditions"] = list(found.conditions)
    value = None
    if time is not None:
        from maven_env.expressions import number_node, replace

        value = closed_value(replace(found.node, {t: number_node(time)}))
    return ToolResult({"expr": found.node, "value": value}, diagnostics)


def _by_contour(expr: Node, s: str, time: Any, diagnostics: dict[str, Any]) -> ToolResult:
    missing = sorted(free_symbols(expr) - {s})
    if missing:
        raise ToolError("UNKNOWN_SYMBOL", f"no value for {', '.join(missing)}", "put numbers for parameters")
    if time is None:
        raise ToolError("BAD_INPUT", "at is missing", "talbot gives the value at one time")
    value, error = talbot(expr, s, time)
    diagnostics["error_estimate"] = float(f"{error:.1e}")
    if has_residues(expr, s):
        diagnostics["method"] = "residues"
    return ToolResult({"expr": None, "value": value}, diagnostics)


def _time(at: Node) -> Any:
    from fractions import Fraction

    exact = rational_value(at)
    time = exact if exact is not None else Fraction(nearest_double(at))
    if time <= 0:
        raise ToolError("BAD_INPUT", f"at: the time must be positive, got {to_text(at)}")
    return time


def _poles(expr: Node, s: str) -> dict[str, Any]:
    form = rational_form(expr, s)
    if form is None or form[1].degree() < 1:
        return {}
    found = sorted((_complex(root) for root in poles(form[1])), key=lambda z: (z.real, z.imag))
    gaps = [abs(p - q) for i, p in enumerate(found) for q in found[:i]]
    return {"poles": found, "pole_separation": min(gaps)} if gaps else {"poles": found}


def _complex(root: Any) -> complex:
    return complex(*(0.0 if part.contains(0) else float(part.mid()) for part in (root.real, root.imag)))


@tool(kind="numeric", tier=2, near=("sum_series", "integrate"), backend=("python-flint", "sympy"))
def fourier_series(
    expr: Expr,
    wrt: Name,
    interval: list[Exact],
    n_terms: Annotated[Count, Range(1, 40)] = 10,
    kind: Literal["full", "sine", "cosine"] = "full",
) -> ToolResult:
    """Compute the Fourier coefficients of a function on an interval, continued periodically.

    full has the period b - a and waves in 2*pi*n*x/(b - a). sine and cosine are half-range extensions with waves in
    pi*n*(x - a)/(b - a). f is a[0]/2 + sum of a[n]*cos + b[n]*sin; at a jump the sum converges to the mean and
    overshoots by about 9% nearby.

    Args:
        expr: function on the interval; Piecewise is allowed
        wrt: variable
        interval: [a, b], closed numbers
        n_terms: number of waves, 1 to 40
        kind: full, sine or cosine

    Returns:
        a (list[number]): cosine coefficients a_0, a_1, ...; empty for sine
        b (list[number]): sine coefficients b_1, b_2, ...; empty for cosine
        general_a (expr): a_n for n >= 1, if a form was found that reproduces the numbers; else null
        general_b (expr): b_n, likewise
        partial_sum (expr): the truncated series

    Diagnostics:
        decay_rate: power by which the coefficients fall, estimated
        discontinuous: whether the continuation jumps at the ends
        parseval_defect: share of the mean square that is left out

    Raises:
        DIVERGENT: a coefficient diverges
        UNSOLVED: a coefficient could not be made sure of
        BAD_INPUT: the interval is no [a, b] with a < b
        UNKNOWN_SYMBOL: the function has other symbols

    Example:
        {"expr": "x", "wrt": "x", "interval": ["-pi", "pi"], "n_terms": 4}
    """
    if len(interval) != 2 or not nearest_double(interval[0]) < nearest_double(interval[1]):
        raise ToolError("BAD_INPUT", "interval: expected [a, b] with a < b", 'write ["-pi", "pi"]')
    others = sorted(free_symbols(expr) - {wrt})
    if others:
        raise ToolError("UNKNOWN_SYMBOL", f"no value for {', '.join(others)}", "put numbers for them first")
    if wrt == "n":
        raise ToolError("BAD_INPUT", "wrt: n stands for the number of the wave", "rename the variable")
    series = waves(expr, wrt, interval[0], interval[1], kind)
    a = [number(series.coefficient("cos", n)) for n in range(n_terms + 1)] if kind != "sine" else []
    b = [number(series.coefficient("sin", n)) for n in range(1, n_terms + 1)] if kind != "cosine" else []
    forms = {
        "cos": general_term(series, "cos", a[1:]) if a else None,
        "sin": general_term(series, "sin", b) if b else None,
    }
    diagnostics: dict[str, Any] = {
        "decay_rate": decay_rate(a, b),
        "discontinuous": is_discontinuous(series, kind),
        "parseval_defect": parseval_defect(series, a, b),
    }
    output = {
        "a": a,
        "b": b,
        "general_a": forms["cos"],
        "general_b": forms["sin"],
        "partial_sum": partial_sum(series, a, b, forms),
    }
    return ToolResult(output, diagnostics)
