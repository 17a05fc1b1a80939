"""Definite integrals as numbers: certified where ball arithmetic can, otherwise by two rules that must agree."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise
from typing import Annotated, Any, Literal

from maven_env.errors import ToolError
from maven_env.expressions import Negative, Node, Sum, Symbol, free_symbols, number_node, replace, to_text
from maven_env.expressions.balls import nearest_double
from maven_env.expressions.numeric import compile_real
from maven_env.expressions.tree import ZERO
from maven_env.tools.kinds import (
    SYMBOL,
    TEXT_SCHEMA,
    Count,
    Exact,
    Expr,
    Kind,
    Name,
    Range,
    Resolve,
    Setting,
    bad_input,
    describe,
    or_reference,
    read_expr,
    whole,
)
from maven_env.tools.numeric.certify import Integration, is_infinite
from maven_env.tools.numeric.cubature import double_integral, two_rules
from maven_env.tools.registry import tool
from maven_env.tools.results import ToolResult
from maven_env.tools.weight import guarded_above
from maven_env.types import Json

_integrand_tier = guarded_above(12)  # nodes of integrand and limits that are treated in process
_DIGITS = 19  # so that the nearest double is right
_FEWER = 14  # aimed at where that fails

Span = tuple[str | None, Node, Node]  # variable (None: that of `wrt`), lower and upper limit


def _read_limits(value: Json, resolve: Resolve) -> tuple[Span, ...]:
    value = whole(value, resolve)
    form = 'write ["0", "oo"], or [["x", "0", "y"], ["y", "0", "1"]] with the innermost variable first'
    if not isinstance(value, list) or not value:
        raise bad_input(f"expected limits, got {describe(value)}", form)
    value = [whole(item, resolve) for item in value]
    if not any(isinstance(item, list) for item in value):
        if len(value) != 2:
            raise bad_input(f"expected two limits, got {len(value)}", form)
        return ((None, read_expr(value[0], resolve), read_expr(value[1], resolve)),)
    spans: list[Span] = []
    for item in value:
        if not isinstance(item, list) or len(item) not in (2, 3):
            raise bad_input(f"expected [variable, low, high], got {describe(item)}", form)
        name = SYMBOL.read(item[0], resolve) if len(item) == 3 else None
        spans.append((name, read_expr(item[-2], resolve), read_expr(item[-1], resolve)))
    if len(spans) > 2:
        raise bad_input(f"{len(spans)} variables; one or two are integrated", form)
    return tuple(spans)


def _write_limits(spans: tuple[Span, ...]) -> Json:
    if len(spans) == 1 and spans[0][0] is None:
        return [to_text(spans[0][1]), to_text(spans[0][2])]
    return [[*([name] if name else []), to_text(low), to_text(high)] for name, low, high in spans]


def _read_names(value: Json, resolve: Resolve) -> tuple[str, ...]:
    value = whole(value, resolve)
    names = [SYMBOL.read(item, resolve) for item in value] if isinstance(value, list) else [SYMBOL.read(value, resolve)]
    if not 1 <= len(names) <= 2 or len(set(names)) != len(names):
        raise bad_input(
            f"expected one variable, or two different ones, got {describe(value)}", 'write "x", or ["x", "y"]'
        )
    return tuple(names)


_LIMIT_SCHEMA = or_reference(
    {"type": "array", "items": {"anyOf": [TEXT_SCHEMA, {"type": "array", "items": TEXT_SCHEMA}]}}
)
LIMITS = Kind("limits", _LIMIT_SCHEMA, _read_limits, _write_limits)
NAMES = Kind(
    "symbol or list",
    {"anyOf": [TEXT_SCHEMA, {"type": "array", "items": TEXT_SCHEMA}]},
    _read_names,
    lambda names: names[0] if len(names) == 1 else list(names),
)
Limits = Annotated[tuple[Span, ...], LIMITS]
Names = Annotated[tuple[str, ...], NAMES]


def _tier(arguments: Mapping[str, Any]) -> int:
    return 2 if len(arguments["limits"]) > 1 else _integrand_tier(arguments)


def _checked(expr: Node, names: tuple[str, ...], limits: tuple[Span, ...]) -> tuple[tuple[str, Node, Node], ...]:
    """Return the limits with their variables. Raises BAD_INPUT, UNKNOWN_SYMBOL."""
    given = [name for name, _, _ in limits]
    if len(names) == 1 and len(limits) == 2 and all(given):
        names = tuple(name for name in given if name)
    if len(limits) != len(names):
        raise bad_input(
            f"{len(names)} variables have {len(limits)} pairs of limits", 'write limits as [["x", "0", "1"], ...]'
        )
    spans = tuple((name or names[i], low, high) for i, (name, low, high) in enumerate(limits))
    variables = [name for name, _, _ in spans]
    if len(names) == len(spans) and sorted(variables) != sorted(names):
        raise bad_input(f"limits are given for {', '.join(variables)}, the variables are {', '.join(names)}")
    allowed = [set(variables), *(set(variables[i + 1 :]) for i in range(len(spans)) for _ in (0, 1))]
    for node, known in zip((expr, *(end for _, low, high in spans for end in (low, high))), allowed, strict=True):
        missing = sorted(free_symbols(node) - known)
        if missing:
            hint = "put numbers for other symbols with substitute first; inner limits may hold the outer variable"
            raise ToolError("UNKNOWN_SYMBOL", f"no value for {', '.join(missing)} in {to_text(node)[:80]}", hint)
    return spans


@tool(
    kind="numeric",
    tier=_tier,
    near=("quadrature_singular", "integrate"),
    backend=("python-flint", "numpy", "scipy"),
)
def quadrature(
    expr: Expr,
    wrt: Names,
    limits: Limits,
    rel_tol: Annotated[Setting, Range(1e-15, 1e-2)] = 1e-10,
    points: list[Exact] | None = None,
) -> ToolResult:
    """Integrate numerically over a finite or infinite range, in one or two variables.

    The error is bounded by ball arithmetic where the integrand allows, so narrow peaks are not missed. A pole inside
    the range is DIVERGENT: for its principal value use quadrature_singular. Every other symbol needs a number first.

    Args:
        expr: integrand
        wrt: variable, or a list of two
        limits: [low, high], or [[x, low, high], [y, low, high]] with the innermost first; oo is infinity; inner
            limits may hold the outer variable
        rel_tol: relative tolerance wanted
        points: places where to break the range, such as corners and peaks

    Returns:
        value (number): the integral; [re, im] if it is complex

    Diagnostics:
        method: certified (proved error), or adaptive (two rules that agree)
        error_estimate: bound on the error
        n_evals: evaluations of the integrand
        subdivisions: pieces of the range
        converged: whether the tolerance was met

    Raises:
        DIVERGENT: the integral diverges
        NO_CONVERGENCE: no value could be made sure of
        UNKNOWN_SYMBOL: a symbol has no value

    Example:
        {"expr": "sqrt(4*t^2 + 9*0.8^2*t^4)", "wrt": "t", "limits": ["0.4", "1.5"]}
    """
    spans = _checked(expr, wrt, limits)
    breaks = points or []
    if len(spans) == 2:
        places = [nearest_double(point) for point in breaks]
        return _result(*double_integral(expr, spans, rel_tol, places), "adaptive", rel_tol)
    name, low, high = spans[0]
    found = _certified(expr, name, low, high, breaks, _DIGITS)
    if found is not None:
        return _result(*found, "certified", rel_tol)
    return _adaptive(expr, name, low, high, breaks, rel_tol)


def _result(
    value: float | complex, error: float, evaluations: int, pieces: int, method: str, rel_tol: float
) -> ToolResult:
    return ToolResult(
        {"value": value},
        {
            "method": method,
            "error_estimate": error,
            "n_evals": evaluations,
            "subdivisions": pieces,
            "converged": error <= max(rel_tol * abs(value), 1e-15),
        },
    )


Found = tuple[float | complex, float, int, int]  # value, error, evaluations, pieces


def _certified(expr: Node, name: str, low: Node, high: Node, breaks: list[Node], digits: int) -> Found | None:
    """Return the integral with a certified error, or None. Raises DIVERGENT."""
    if not _is_extendable(expr, name):
        return None
    for aim in (digits, min(digits, _FEWER)):
        found = _once(expr, name, _ordered(low, high, breaks), aim)
        if found is not None:
            return found
    return None


def _once(expr: Node, name: str, ends: list[Node], digits: int) -> Found | None:
    total: Any = None
    error, used = 0.0, 0
    for a, b in pairwise(ends):
        work = Integration(expr, name, a, b, digits)
        found = work.run()
        if found is True:
            raise _divergent(expr, name, a, b)
        if found is None or isinstance(found, bool):
            return None
        total = found[0] if total is None else total + found[0]
        error, used = error + found[1], used + work.used
    return as_number(total, error), error, used, len(ends) - 1


def _is_extendable(expr: Node, name: str) -> bool:
    from maven_env.expressions.analysis.analytic import compile_analytic

    try:
        compile_analytic(expr, name)
    except ToolError:
        return False
    return True


def _divergent(expr: Node, name: str, low: Node, high: Node) -> ToolError:
    where = f"from {to_text(low)} to {to_text(high)}"
    hint = "a principal value needs quadrature_singular with kind principal_value, and is no integral"
    return ToolError("DIVERGENT", f"the integral of {to_text(expr)[:80]} over {name} {where} diverges", hint)


def as_number(value: Any, error: float) -> float | complex:
    """Return the double, or the complex one; a part below the error is 0."""
    found = complex(value)
    re, im = (0.0 if abs(part) <= error else part for part in (found.real, found.imag))
    return re if im == 0 else complex(re, im)


def _ordered(low: Node, high: Node, breaks: list[Node]) -> list[Node]:
    """Return the ends with the break points between them, in the direction of the integral."""
    a, b = _end(low), _end(high)
    inside = sorted({p: nearest_double(p) for p in breaks}.items(), key=lambda item: item[1])
    between = [p for p, x in inside if min(a, b) < x < max(a, b)]
    return [low, *(between if a <= b else reversed(between)), high]


def _end(node: Node) -> float:
    sign = is_infinite(node)
    return sign * math.inf if sign else nearest_double(node)


def _adaptive(expr: Node, name: str, low: Node, high: Node, breaks: list[Node], rel_tol: float) -> ToolResult:
    f = compile_real(expr, (name,))
    value, error, evaluations, pieces = two_rules(f, [_end(node) for node in _ordered(low, high, breaks)])
    if not error <= max(rel_tol, 1e-9) * abs(value) + 1e-300:
        message = (
            f"the value is about {value:.6g}, but only to {error:.1g}" if math.isfinite(error) else "no value was found"
        )
        hint = "break the range at its difficult points, rescale, or try quadrature_singular or integrate"
        raise ToolError("NO_CONVERGENCE", message, hint)
    return _result(value, error, evaluations, pieces, "adaptive", max(rel_tol, 1e-9))


@tool(
    kind="numeric",
    tier=_tier,
    near=("quadrature", "integrate"),
    backend=("python-flint", "numpy", "scipy"),
)
def quadrature_singular(
    expr: Expr,
    wrt: Name,
    limits: Limits,
    kind: Literal["endpoint", "oscillatory", "principal_value"],
    omega: Setting | None = None,
    pole: Exact | None = None,
    digits: Annotated[Count, Range(10, 40)] = 20,
) -> ToolResult:
    """Integrate a function with endpoint singularities, oscillatory tails, or the principal value at a pole.

    A principal value is not the integral and must be reported as such. A singularity such as x^(p-1) with p < 0.02 is
    declined: substitute u = x^p. The integrand is given whole, its sine or cosine with it.

    Args:
        expr: integrand
        wrt: variable
        limits: [low, high]; oo is infinity
        kind: endpoint (singular at an end, or an infinite range), oscillatory (a tail that oscillates), principal_value
        omega: frequency of the oscillation; it is found from the integrand and only checked
        pole: place of the pole, for principal_value
        digits: working digits, 10 to 40

    Returns:
        value (number): the integral, or the principal value; [re, im] if it is complex

    Diagnostics:
        method: stretched ends, turned path, or symmetrised pole
        error_estimate: bound on the error
        n_evals: evaluations of the integrand
        converged: always true; otherwise the call fails
        is_principal_value: whether the value is a principal value

    Raises:
        DIVERGENT: the integral diverges
        NO_CONVERGENCE: no value could be made sure of
        UNKNOWN_SYMBOL: a symbol has no value

    Example:
        {"expr": "1/((x^2+1.3^2)*(x^2+2.9^2))", "wrt": "x", "limits": ["0", "oo"], "kind": "endpoint"}
    """
    if len(limits) != 1:
        raise bad_input(f"limits: expected one pair, got {len(limits)}", "use quadrature for two variables")
    (name, low, high) = _checked(expr, (wrt,), limits)[0]
    if kind == "principal_value":
        found = _principal_value(expr, name, low, high, pole, max(digits, _DIGITS))
        method = "symmetrised pole"
    else:
        found = _certified(expr, name, low, high, [], max(digits, _DIGITS))
        method = "turned path" if kind == "oscillatory" else "stretched ends"
    if found is None:
        hint = "cut the range, substitute to weaken the singularity, or try integrate"
        raise ToolError(
            "NO_CONVERGENCE", f"no value of the integral of {to_text(expr)[:80]} could be made sure of", hint
        )
    value, error, evaluations, _ = found
    diagnostics = {"method": method, "error_estimate": error, "n_evals": evaluations, "converged": True}
    if kind == "principal_value":
        diagnostics["is_principal_value"] = True
    return ToolResult({"value": value}, diagnostics)


def _principal_value(expr: Node, name: str, low: Node, high: Node, pole: Node | None, digits: int) -> Found | None:
    """Add f(pole+t) + f(pole-t) over a symmetric stretch, and the rest."""
    if pole is None:
        raise bad_input("principal_value needs the place of the pole", 'give pole, such as "1"')
    a, b, p = _end(low), _end(high), nearest_double(pole)
    if not min(a, b) < p < max(a, b):
        raise bad_input(f"the pole {to_text(pole)} is not inside the range", "give a pole between the limits")
    sign = 1 if a < b else -1
    left, right = (low, high) if sign > 0 else (high, low)
    reach = min(p - min(a, b), max(a, b) - p, 1.0)
    step: Node = number_node(reach)
    if reach == p - min(a, b):
        step = Sum((pole, Negative(left)))
    elif reach == max(a, b) - p:
        step = Sum((right, Negative(pole)))
    t = Symbol(name)
    pair = Sum((replace(expr, {name: Sum((pole, t))}), replace(expr, {name: Sum((pole, Negative(t)))})))
    pieces: list[tuple[Node, Node, Node]] = [(pair, ZERO, step)]
    if reach != p - min(a, b):
        pieces.append((expr, left, Sum((pole, Negative(step)))))
    if reach != max(a, b) - p:
        pieces.append((expr, Sum((pole, step)), right))
    total: float | complex = 0.0
    error, used = 0.0, 0
    for node, start, end in pieces:
        found = _certified(node, name, start, end, [], digits)
        if found is None:
            return None
        total, error, used = total + found[0], error + found[1], used + found[2]
    error += 4e-16 * abs(total)
    return as_number(total * sign, error), error, used, len(pieces)
